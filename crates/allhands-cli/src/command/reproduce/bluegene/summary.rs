//! B's tables 3 and 4: bandwidths and latencies on 512 nodes.

use super::super::{Entry, Standing};
use super::laboratory::{Experiment, Laboratory, Taken};
use allhands_core::call::Collective::{self, Allreduce, Alltoall, Barrier, Broadcast};
use allhands_core::machine::Torus;
use std::io::Write;

/// The machine of both tables.
const SHAPE: &str = "8x8x8:torus";

/// What a full packet carries.
const PAYLOAD_BYTES: u64 = 240;

/// B 3.2: a group of four for allreduce, the whole line for a barrier.
const LINES: Taken<'_> = Taken::Named("line-broadcast:group=4");

const TREE: Taken<'_> = Taken::Named("combining-tree");

/// B 5.1: all agree first.
const AGREED_TREE: Taken<'_> = Taken::Named("combining-tree:prefix=agreement");

/// A latency of table 4.
struct Latency {
    collective: Collective,
    column: &'static str,
    algorithm: Taken<'static>,
    /// Bytes and microseconds.
    paper: &'static [(u64, f64)],
    /// The bytes of which the entry set a constant, or was looked at when one was set.
    fitted: &'static [u64],
}

const LATENCIES: [Latency; 9] = [
    Latency {
        collective: Allreduce,
        column: "MPICH2",
        algorithm: Taken::Mpich,
        paper: &[(16, 42.3), (256, 78.4)],
        fitted: &[16],
    },
    Latency {
        collective: Allreduce,
        column: "torus",
        algorithm: LINES,
        paper: &[(16, 19.7), (256, 52.8)],
        fitted: &[16],
    },
    Latency {
        collective: Allreduce,
        column: "tree",
        algorithm: TREE,
        paper: &[(16, 4.22), (256, 4.75)],
        fitted: &[16],
    },
    Latency {
        collective: Broadcast,
        column: "MPICH2",
        algorithm: Taken::Mpich,
        paper: &[(16, 15.9), (256, 24.0)],
        fitted: &[16, 256],
    },
    Latency {
        collective: Broadcast,
        column: "torus",
        algorithm: Taken::Named("torus-trees:segments=1,prefix=agreement-barrier"),
        paper: &[(16, 73.8), (256, 78.5)],
        fitted: &[],
    },
    Latency {
        collective: Broadcast,
        column: "tree",
        algorithm: AGREED_TREE,
        paper: &[(16, 45.2), (256, 45.7)],
        fitted: &[],
    },
    Latency {
        collective: Barrier,
        column: "MPICH2",
        algorithm: Taken::Mpich,
        paper: &[(0, 40.0)],
        fitted: &[0],
    },
    Latency {
        collective: Barrier,
        column: "torus",
        algorithm: Taken::Named("line-broadcast"),
        paper: &[(0, 8.72)],
        fitted: &[0],
    },
    Latency {
        collective: Barrier,
        column: "GI",
        algorithm: Taken::Named("global-interrupt"),
        paper: &[(0, 0.82)],
        fitted: &[],
    },
];

/// Simulates table 4. Its barrier on the tree is cut off in the paper.
pub fn latencies(laboratory: &Laboratory, out: &mut dyn Write) -> anyhow::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for latency in LATENCIES {
        for &(bytes, paper) in latency.paper {
            let experiment = experiment(latency.collective, latency.algorithm, bytes)?;
            let ours = match latency.algorithm {
                // All agree first, so it overlaps with no call before it.
                Taken::Named(name) if name.contains("prefix=") => {
                    laboratory.time_us(&experiment)?
                }
                _ => laboratory.each_us(&experiment)?,
            };
            let column = format!("{} {bytes}", latency.column);
            let fitted = latency.fitted.contains(&bytes);
            let entry = Entry::new(
                "table 4",
                (latency.collective, column),
                (paper, ours),
                fitted,
            );
            tell(out, &entry)?;
            entries.push(entry);
        }
    }
    Ok(entries)
}

fn tell(out: &mut dyn Write, entry: &Entry) -> anyhow::Result<()> {
    let Entry {
        table,
        row,
        column,
        paper,
        ours,
        ratio,
        ..
    } = entry;
    writeln!(out, "{table} {row} {column}: {paper} {ours:.2} {ratio:.2}")?;
    Ok(())
}

fn experiment(
    collective: Collective,
    algorithm: Taken<'_>,
    bytes: u64,
) -> anyhow::Result<Experiment<'_>> {
    Ok(Experiment {
        collective,
        algorithm,
        torus: SHAPE.parse::<Torus>()?,
        bytes,
    })
}

/// A bandwidth of table 3, in MB/s, and the length with half of it, in bytes.
struct Bandwidth {
    collective: Collective,
    row: &'static str,
    column: &'static str,
    measured: Measured,
    paper: (f64, f64),
    /// What the bandwidth says of the model, and what the length with half of it does.
    standings: [Standing; 2],
}

/// How a bandwidth is measured.
enum Measured {
    /// The most of these lengths by MPICH2, and the first with half of it.
    Most(&'static [u64]),
    /// By how much longer a pipeline of packets takes with more of them; so many streams.
    Pipeline {
        name: &'static str,
        floating: bool,
        streams: u64,
    },
    /// By how much longer the tree takes with more packets.
    Tree(Taken<'static>),
}

const KB: f64 = 1024.0;

/// The lengths at which MPICH2's collectives are measured.
const SWEEP: &[u64] = &[
    512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536, 262_144, 1_048_576,
];

/// The lengths at which MPICH2's alltoall is measured: up to 32 KB it posts all messages, beyond it goes pairwise, from one
/// packet more on.
const POSTED_AND_PAIRWISE: &[u64] = &[512, 1024, 2048, 4096, 8192, 16_384, 33_008];

const BANDWIDTHS: [Bandwidth; 10] = [
    bandwidth(
        Allreduce,
        "allreduce (int)",
        "MPICH2",
        Measured::Most(SWEEP),
        (40.0, 4.0),
    ),
    bandwidth(
        Allreduce,
        "allreduce (double)",
        "MPICH2",
        Measured::Most(SWEEP),
        (40.5, 4.0),
    ),
    Bandwidth {
        standings: [Standing::Fitted, Standing::Predicted],
        ..bandwidth(
            Broadcast,
            "broadcast",
            "MPICH2",
            Measured::Most(SWEEP),
            (66.0, 16.0),
        )
    },
    Bandwidth {
        standings: [Standing::Predicted, Standing::Fitted],
        ..bandwidth(
            Alltoall,
            "alltoall",
            "MPICH2",
            Measured::Most(POSTED_AND_PAIRWISE),
            (58.3, 8.0),
        )
    },
    bandwidth(
        Allreduce,
        "allreduce (int)",
        "torus",
        pipeline("hamiltonian:", false, 1),
        (79.6, 512.0),
    ),
    bandwidth(
        Allreduce,
        "allreduce (double)",
        "torus",
        pipeline("hamiltonian:", true, 1),
        (119.4, 1024.0),
    ),
    bandwidth(
        Broadcast,
        "broadcast",
        "torus",
        pipeline("torus-trees:prefix=agreement-barrier,", false, 6),
        (243.8, 64.0),
    ),
    // The tree's rate is the machine's, from B 2.1.
    Bandwidth {
        standings: [Standing::Given, Standing::Predicted],
        ..bandwidth(
            Allreduce,
            "allreduce (int)",
            "tree",
            Measured::Tree(TREE),
            (336.7, 2.0),
        )
    },
    Bandwidth {
        standings: [Standing::Fitted, Standing::Fitted],
        ..bandwidth(
            Allreduce,
            "allreduce (double)",
            "tree",
            Measured::Tree(Taken::Named("combining-tree:passes=2")),
            (25.5, 0.25),
        )
    },
    Bandwidth {
        standings: [Standing::Given, Standing::Predicted],
        ..bandwidth(
            Broadcast,
            "broadcast",
            "tree",
            Measured::Tree(AGREED_TREE),
            (336.1, 16.0),
        )
    },
];

const fn bandwidth(
    collective: Collective,
    row: &'static str,
    column: &'static str,
    measured: Measured,
    (mb_s, half_kb): (f64, f64),
) -> Bandwidth {
    Bandwidth {
        collective,
        row,
        column,
        measured,
        paper: (mb_s, half_kb * KB),
        standings: [Standing::Predicted; 2],
    }
}

const fn pipeline(name: &'static str, floating: bool, streams: u64) -> Measured {
    Measured::Pipeline {
        name,
        floating,
        streams,
    }
}

/// Simulates table 3.
pub fn bandwidths(laboratory: &Laboratory, out: &mut dyn Write) -> anyhow::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for bandwidth in BANDWIDTHS {
        let Bandwidth {
            collective,
            row,
            column,
            paper,
            standings,
            ..
        } = bandwidth;
        let (mb_s, half) = match bandwidth.measured {
            Measured::Most(bytes) => most(laboratory, collective, bytes)?,
            Measured::Pipeline {
                name,
                floating,
                streams,
            } => {
                let line = |packets: u64| {
                    let text = format!("{name}segments={packets}");
                    let algorithm = match floating {
                        true => Taken::Floating(&text),
                        false => Taken::Named(&text),
                    };
                    let bytes = packets * streams * PAYLOAD_BYTES;
                    let time_us = laboratory.time_us(&experiment(collective, algorithm, bytes)?)?;
                    anyhow::Ok((bytes as f64, time_us))
                };
                let mb_s = slope(line(200)?, line(400)?);
                // In packets of all streams, next to a power of two of bytes.
                let of = |bytes: u64| line(bytes.div_ceil(streams * PAYLOAD_BYTES));
                (mb_s, half_at(mb_s / 2.0, of)?)
            }
            Measured::Tree(algorithm) => {
                let line = |bytes: u64| {
                    let time_us = laboratory.time_us(&experiment(collective, algorithm, bytes)?)?;
                    anyhow::Ok((bytes as f64, time_us))
                };
                let mb_s = slope(line(65_536)?, line(1_048_576)?);
                (mb_s, half_at(mb_s / 2.0, line)?)
            }
        };
        for (what, paper, ours, standing) in [
            ("MB/s", paper.0, mb_s, standings[0]),
            ("half at bytes", paper.1, half, standings[1]),
        ] {
            let column = format!("{column} {what}");
            let entry = Entry::new("table 3", (row, column), (paper, ours), false);
            let entry = entry.standing(standing);
            tell(out, &entry)?;
            entries.push(entry);
        }
    }
    Ok(entries)
}

/// The bandwidth of a line through two times.
fn slope(short: (f64, f64), long: (f64, f64)) -> f64 {
    (long.0 - short.0) / (long.1 - short.1)
}

/// The first power of two of bytes at which a bandwidth is reached; no number if none up to 4 MB does.
fn half_at(mb_s: f64, of: impl Fn(u64) -> anyhow::Result<(f64, f64)>) -> anyhow::Result<f64> {
    for power in 6..=22 {
        let (bytes, time_us) = of(1 << power)?;
        if bytes / time_us >= mb_s {
            return Ok(f64::from(1 << power));
        }
    }
    Ok(f64::NAN)
}

/// The most of some lengths by MPICH2, and the first with half of it.
fn most(
    laboratory: &Laboratory,
    collective: Collective,
    bytes: &[u64],
) -> anyhow::Result<(f64, f64)> {
    let mut all = Vec::new();
    for &bytes in bytes {
        let experiment = experiment(collective, Taken::Mpich, bytes)?;
        let blocks = match collective {
            Alltoall => experiment.torus.ranks(),
            _ => 1,
        };
        let time_us = laboratory.time_us(&experiment)?;
        all.push((bytes as f64, f64::from(blocks) * bytes as f64 / time_us));
    }
    let most = all.iter().map(|(_, mb_s)| *mb_s).fold(0.0, f64::max);
    let half = all.iter().find(|(_, mb_s)| *mb_s >= most / 2.0);
    Ok((most, half.map_or(0.0, |(bytes, _)| *bytes)))
}
