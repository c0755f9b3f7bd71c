//! The closed forms of Almási and others 2005: short messages on lines of a torus (3.2), and what an alltoall can reach there (5.3).

use crate::machine::Torus;

/// What a packet takes on a line all of whose nodes broadcast one (B 3.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packet {
    /// S: a constant overhead, the messaging library's processor time and the network's latency, in microseconds.
    pub overhead_us: f64,
    /// ‖P‖/BW: to traverse a link, in microseconds.
    pub link_us: f64,
    /// Tpkt: processor time for a packet that is received, in microseconds.
    pub processing_us: f64,
}

impl Packet {
    /// max(‖P‖/BW, Tpkt): a further packet.
    fn further_us(&self) -> f64 {
        self.link_us.max(self.processing_us)
    }

    /// B 3.2: L = S + (n − 1) max(‖P‖/BW, Tpkt), for n nodes on a line, in microseconds.
    ///
    /// A walk of the line-broadcast barrier in LogGP with copies that packets leave takes exactly that with S = os + L + min(g, or), ‖P‖/BW = g
    /// and Tpkt = or: of the first packet, S has what its later ones overlap. Of the allreduce it takes (n − 1)γ(m) more, as ours combines when
    /// all packets are there: where the processor is slower than the link that is the printed form with or + γ(m) for Tpkt, and where it is
    /// not, up to (n − 1)γ(m) above it.
    #[must_use]
    pub fn line_us(&self, nodes: u32) -> f64 {
        self.overhead_us + f64::from(nodes.saturating_sub(1)) * self.further_us()
    }

    /// B 3.2: L = 2 S + (m − 1 + n − 1) max(‖P‖/BW, Tpkt), for n groups of m nodes each on a line, in microseconds.
    #[must_use]
    pub fn two_phases_us(&self, group: u32, groups: u32) -> f64 {
        self.line_us(group) + self.line_us(groups)
    }

    /// The same in rounds, one for each dimension in which there is more than one node (B 3.2), in groups of so many nodes, or on whole
    /// lines if that is 0, in microseconds. A last group that is not full counts as one that is.
    #[must_use]
    pub fn rounds_us(&self, extents: [u32; 3], group: u32) -> f64 {
        let round = |nodes: u32| match group {
            _ if nodes < 2 => 0.0,
            1.. if group < nodes => self.two_phases_us(group, nodes.div_ceil(group)),
            _ => self.line_us(nodes),
        };
        extents.into_iter().map(round).sum()
    }
}

/// B 5.3: the most that each node can send in an alltoall, 4L/max(m, n, p) on a mesh and 8L/max(m, n, p) on a torus, with L the bandwidth of a
/// link each way; in the link's unit.
///
/// Where some dimensions are closed and others not, the least of what they allow. It counts what a node keeps as sent too. Half of the
/// nodes send half of what they send across the middle of the longest dimension: exact for even extents, and m²/(m² − 1) times as much
/// is possible where it is odd, as no link is in the middle then.
#[must_use]
pub fn alltoall_bandwidth(torus: &Torus, link: f64) -> f64 {
    let across = |dimension: usize| {
        let ways = if torus.wraps(dimension) { 8.0 } else { 4.0 };
        ways * link / f64::from(torus.extents()[dimension])
    };
    (0..3).map(across).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm;
    use crate::call::{Call, Collective};
    use crate::cost::logp::LogGp;
    use crate::cost::{Sizes, walk};
    use alloc::collections::BTreeMap;
    use alloc::format;

    const BYTES: f64 = 256.0;

    /// A link that is slower than the processor, and one that is faster.
    const MACHINES: [LogGp; 2] = [
        LogGp {
            latency_us: 4.0,
            send_us: 0.5,
            receive_us: 0.6,
            gap_us: 1.5,
            gap_us_per_byte: 0.0,
            gamma_us_per_byte: 0.001,
            copy_us_per_byte: 0.0,
            deposits: true,
        },
        LogGp {
            latency_us: 4.0,
            send_us: 0.5,
            receive_us: 2.25,
            gap_us: 1.5,
            gap_us_per_byte: 0.0,
            gamma_us_per_byte: 0.001,
            copy_us_per_byte: 0.0,
            deposits: true,
        },
    ];

    fn packet(m: &LogGp) -> Packet {
        Packet {
            overhead_us: m.send_us + m.latency_us + m.gap_us.min(m.receive_us),
            link_us: m.gap_us,
            processing_us: m.receive_us,
        }
    }

    fn walked_us(collective: Collective, extents: [u32; 3], group: u32, machine: &LogGp) -> f64 {
        let torus = Torus::new(extents, [false; 3]).unwrap();
        let call = Call::new(collective, torus.ranks());
        let algorithm = algorithm::find(collective, "line-broadcast").unwrap();
        let shape = algorithm.shape(call, &format!("group={group}")).unwrap();
        let shape = shape.on_torus(Some(torus));
        let sizes = Sizes::Ideal { bytes: BYTES };
        let walked = walk(&call, &algorithm.world(&shape), sizes, machine, 1);
        walked.unwrap().last().time_us
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9 * a.max(b)
    }

    #[test]
    fn barriers_take_what_is_printed() {
        for machine in &MACHINES {
            for (extents, group) in [
                ([2, 1, 1], 0),
                ([5, 1, 1], 0),
                ([8, 1, 1], 0),
                ([8, 1, 1], 4),
                ([8, 1, 1], 2),
                ([12, 1, 1], 3),
                ([4, 3, 2], 0),
                ([8, 4, 4], 0),
                ([8, 8, 1], 4),
            ] {
                let walked = walked_us(Collective::Barrier, extents, group, machine);
                let printed = packet(machine).rounds_us(extents, group);
                assert!(
                    close(walked, printed),
                    "{extents:?} {group}: {walked} {printed}"
                );
            }
        }
        let packet = packet(&MACHINES[0]);
        assert_eq!(packet.rounds_us([8, 1, 1], 4), packet.two_phases_us(4, 2));
        assert_eq!(packet.rounds_us([1, 9, 1], 0), packet.line_us(9));
    }

    #[test]
    fn allreduces_combine_when_all_is_there() {
        for machine in &MACHINES {
            for nodes in 2..=9 {
                let walked = walked_us(Collective::Allreduce, [nodes, 1, 1], 0, machine);
                let printed = packet(machine).line_us(nodes);
                let combining = f64::from(nodes - 1) * BYTES * machine.gamma_us_per_byte;
                assert!(
                    close(walked, printed + combining),
                    "{nodes}: {walked} {printed}"
                );
            }
        }
        let [_, slow] = &MACHINES;
        let with_combining = Packet {
            processing_us: slow.receive_us + BYTES * slow.gamma_us_per_byte,
            ..packet(slow)
        };
        let walked = walked_us(Collective::Allreduce, [7, 1, 1], 0, slow);
        assert!(close(walked, with_combining.line_us(7)));
    }

    /// How many blocks the busiest link of a dimension has; where a torus is closed, the mean of its links, since those halfway may go
    /// either way.
    fn busiest(torus: &Torus, dimension: usize) -> f64 {
        let mut blocks = BTreeMap::<_, u32>::new();
        for from in 0..torus.ranks() {
            for to in 0..torus.ranks() {
                for link in torus.route(from, to) {
                    if link.direction.dimension == dimension {
                        *blocks.entry((link.from, link.direction.up)).or_default() += 1;
                    }
                }
            }
        }
        match torus.wraps(dimension) {
            true => f64::from(blocks.values().sum::<u32>()) / f64::from(2 * torus.ranks()),
            false => f64::from(blocks.values().copied().max().unwrap_or(0)),
        }
    }

    #[test]
    fn no_link_has_more_than_the_bound_lets_it() {
        for wraps in [false, true] {
            for extents in [[4, 4, 2], [6, 3, 3], [8, 4, 4], [5, 4, 3], [7, 3, 1]] {
                let torus = Torus::new(extents, [wraps; 3]).unwrap();
                // The first one is the longest.
                let longest = f64::from(extents[0]);
                let counted = f64::from(torus.ranks()) / busiest(&torus, 0);
                let odd = match extents[0] % 2 {
                    0 => 1.0,
                    _ => longest * longest / (longest * longest - 1.0),
                };
                let bound = alltoall_bandwidth(&torus, 1.0);
                let printed = if torus.wraps(0) { 8.0 } else { 4.0 } / longest;
                assert_eq!(bound, printed, "{extents:?}");
                assert!(
                    close(counted, bound * odd),
                    "{extents:?} {wraps}: {counted} {bound}"
                );
            }
        }
    }
}
