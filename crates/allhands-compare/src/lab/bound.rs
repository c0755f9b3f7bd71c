//! The bound: what no algorithm can go below among hosts with one port each, in microseconds.

/// The least time of a call, given the whole vector (what is gathered, or what is sent, in all) and the network: the time of a message
/// of no bytes one way, and what a byte takes. Collectives have our names, or MPI's.
pub(super) fn bound_us(collective: &str, bytes: u64, hosts: u32, [l, g]: [f64; 2]) -> f64 {
    let (m, p) = (bytes as f64, f64::from(hosts));
    match collective {
        "allreduce" => l + 2.0 * (p - 1.0) / p * m * g,
        // Short: each host has all from the root, or gives it all. Long: through the others.
        "broadcast" | "bcast" | "reduce" => {
            (l + (p - 1.0) * m * g).min(2.0 * l + m * g - l / (p - 1.0))
        }
        "scan" | "exscan" => l + m * g,
        // allgather, alltoall, reduce-scatter, gather, scatter
        _ => l + (p - 1.0) / p * m * g,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_those_of_one_port() {
        let of = |collective, bytes, hosts| bound_us(collective, bytes, hosts, [500.0, 0.04]);
        for collective in [
            "allgather",
            "alltoall",
            "reduce-scatter",
            "reduce_scatter",
            "gather",
            "scatter",
        ] {
            assert_eq!(of(collective, 1000, 4), 530.0);
        }
        assert_eq!(of("allreduce", 1000, 4), 560.0);
        assert_eq!((of("scan", 1000, 4), of("exscan", 1000, 4)), (540.0, 540.0));
        for collective in ["broadcast", "bcast", "reduce"] {
            assert_eq!(of(collective, 0, 6), 500.0);
            assert_eq!(of(collective, 100_000, 6), 4900.0);
        }
    }
}
