//! What was measured, printed as the benchmarks of others print it: OSU's latencies, nccl-tests' bandwidths; or comma-separated.

use super::cell::Record;
use allhands_core::call::Collective;
use std::io::Write;

/// What comes before latencies.
pub fn latency_head(
    out: &mut dyn Write,
    csv: bool,
    ranks: &str,
    kind: &str,
) -> std::io::Result<()> {
    if csv {
        return writeln!(
            out,
            "collective,algorithm,ranks,bytes,avg_us,min_us,max_us,iterations"
        );
    }
    writeln!(
        out,
        "# Allhands {}, latencies among ranks {ranks} as {kind}: of all ranks' mean times the mean, the least, the most",
        env!("CARGO_PKG_VERSION")
    )?;
    writeln!(
        out,
        "{:<14} {:>5} {:>10} {:>16} {:>16} {:>16} {:>11}  Algorithm",
        "# Collective",
        "Ranks",
        "Size",
        "Avg Latency(us)",
        "Min Latency(us)",
        "Max Latency(us)",
        "Iterations"
    )
}

/// Latencies of what was right.
pub fn latency_rows(out: &mut dyn Write, csv: bool, row: &[Record]) -> std::io::Result<()> {
    row.iter().filter(|r| r.correct).try_for_each(|record| {
        let Record {
            collective,
            algorithm,
            ranks,
            bytes,
            rank_avg_us: avg,
            rank_min_us: min,
            rank_max_us: max,
            iterations,
            ..
        } = record;
        match csv {
            true => writeln!(
                out,
                "{collective},{},{ranks},{bytes},{avg:.3},{min:.3},{max:.3},{iterations}",
                quoted(algorithm)
            ),
            false => writeln!(
                out,
                "{collective:<14} {ranks:>5} {bytes:>10} {avg:>16.2} {min:>16.2} {max:>16.2} {iterations:>11}  {algorithm}"
            ),
        }
    })
}

/// What comes before bandwidths.
pub fn bandwidth_head(
    out: &mut dyn Write,
    csv: bool,
    ranks: &str,
    kind: &str,
) -> std::io::Result<()> {
    if csv {
        return writeln!(
            out,
            "collective,algorithm,ranks,size_bytes,count,type,redop,root,time_us,algbw_gbs,busbw_gbs,wrong"
        );
    }
    writeln!(
        out,
        "# Allhands {}, bandwidths among ranks {ranks} as {kind}: median times; sizes as nccl-tests count them",
        env!("CARGO_PKG_VERSION")
    )?;
    let line = |out: &mut dyn Write, words: [&str; 11]| {
        let [
            collective,
            ranks,
            size,
            count,
            kind,
            op,
            root,
            time,
            algbw,
            busbw,
            wrong,
        ] = words;
        writeln!(
            out,
            "{collective:<14} {ranks:>5} {size:>11} {count:>11} {kind:>7} {op:>5} {root:>4} {time:>11} {algbw:>7} {busbw:>7} {wrong:>6}"
        )
    };
    line(
        out,
        [
            "# collective",
            "ranks",
            "size",
            "count",
            "type",
            "redop",
            "root",
            "time",
            "algbw",
            "busbw",
            "#wrong",
        ],
    )?;
    let units = ["#", "", "(B)", "(elements)", "", "", "", "(us)", "(GB/s)"];
    let mut all = [""; 11];
    all[..units.len()].copy_from_slice(&units);
    all[9] = "(GB/s)";
    line(out, all)
}

/// Bandwidths, also of what was wrong, which is counted.
pub fn bandwidth_rows(out: &mut dyn Write, csv: bool, row: &[Record]) -> std::io::Result<()> {
    row.iter().try_for_each(|record| {
        let Some(collective) = Collective::ALL
            .into_iter()
            .find(|c| c.name() == record.collective)
        else {
            return Ok(());
        };
        let (size, ranks, us) = (record.total_bytes, record.ranks, record.median_us);
        let algbw = size as f64 / us / 1e3;
        let busbw = bus_factor(collective, ranks).map(|factor| factor * algbw);
        let redop = if collective.reduces() { "sum" } else { "none" };
        let root = match collective.rooted() {
            true => record.root.to_string(),
            false => "-1".to_string(),
        };
        let (count, wrong) = (count(collective, size, ranks), u32::from(!record.correct));
        let name = &record.collective;
        match csv {
            true => writeln!(
                out,
                "{name},{},{ranks},{size},{count},uint64,{redop},{root},{us:.3},{algbw:.4},{},{wrong}",
                quoted(&record.algorithm),
                busbw.map_or_else(String::new, |b| format!("{b:.4}"))
            ),
            false => writeln!(
                out,
                "{name:<14} {ranks:>5} {size:>11} {count:>11} {:>7} {redop:>5} {root:>4} {us:>11.2} {algbw:>7.2} {:>7} {wrong:>6}",
                "uint64",
                busbw.map_or_else(|| "N/A".to_string(), |b| format!("{b:.2}"))
            ),
        }
    })
}

/// The count that a call of so many bytes of eight-byte elements is given, as nccl-tests print it (`paramcount` of each
/// `GetCollByteCount` there): that of a block where ranks send or receive one each.
fn count(collective: Collective, size: usize, ranks: u32) -> usize {
    match collective {
        Collective::ReduceScatter
        | Collective::Allgather
        | Collective::Alltoall
        | Collective::Gather
        | Collective::Scatter => size / 8 / ranks as usize,
        Collective::Allreduce
        | Collective::Broadcast
        | Collective::Reduce
        | Collective::Scan
        | Collective::Exscan
        | Collective::Barrier => size / 8,
    }
}

/// By how much the rate at which links carry bytes differs from the size over the time, as nccl-tests define it: the summary of
/// doc/PERFORMANCE.md there, and for gather and scatter, which are not in it, `GetBw` in src/gather.cu and src/scatter.cu. Nothing,
/// where they have no such collective. As there, the size is that of the whole: all ranks' blocks together.
fn bus_factor(collective: Collective, ranks: u32) -> Option<f64> {
    let n = f64::from(ranks);
    match collective {
        Collective::Allreduce => Some(2.0 * (n - 1.0) / n),
        Collective::ReduceScatter
        | Collective::Allgather
        | Collective::Alltoall
        | Collective::Gather
        | Collective::Scatter => Some((n - 1.0) / n),
        Collective::Broadcast | Collective::Reduce => Some(1.0),
        Collective::Scan | Collective::Exscan | Collective::Barrier => None,
    }
}

/// A field that may have commas in it.
fn quoted(text: &str) -> String {
    match text.contains(',') {
        true => format!("\"{text}\""),
        false => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For each collective, the factor of nccl-tests' doc/PERFORMANCE.md and src/*.cu written out for 2, 4 and 8 ranks, and into
    /// how many counts the size goes among 4.
    const TABLE: [(Collective, Option<[f64; 3]>, usize); 11] = [
        (Collective::Allreduce, Some([1.0, 1.5, 1.75]), 1),
        (Collective::ReduceScatter, Some([0.5, 0.75, 0.875]), 4),
        (Collective::Allgather, Some([0.5, 0.75, 0.875]), 4),
        (Collective::Alltoall, Some([0.5, 0.75, 0.875]), 4),
        (Collective::Gather, Some([0.5, 0.75, 0.875]), 4),
        (Collective::Scatter, Some([0.5, 0.75, 0.875]), 4),
        (Collective::Broadcast, Some([1.0; 3]), 1),
        (Collective::Reduce, Some([1.0; 3]), 1),
        (Collective::Scan, None, 1),
        (Collective::Exscan, None, 1),
        (Collective::Barrier, None, 1),
    ];

    #[test]
    fn factors_and_counts_are_those_of_nccl_tests() {
        assert!(
            Collective::ALL
                .iter()
                .all(|c| TABLE.iter().any(|row| row.0 == *c))
        );
        for (collective, factors, counts) in TABLE {
            for (index, ranks) in [2, 4, 8].into_iter().enumerate() {
                let want = factors.map(|factors| factors[index]);
                assert_eq!(
                    bus_factor(collective, ranks),
                    want,
                    "{collective:?} {ranks}"
                );
            }
            assert_eq!(count(collective, 4096, 4), 512 / counts, "{collective:?}");
        }
    }
}
