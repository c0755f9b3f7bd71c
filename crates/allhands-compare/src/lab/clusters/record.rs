//! Records: what a cell's turns say about us and each peer, beside the bound.

use crate::cell::{COLLECTIVES, Cell};
use crate::lab::bound::bound_us;
use crate::statistics::{Estimate, estimate_of_pairs, median};
use serde::Serialize;

use super::arguments::vector_bytes;

/// Whose times these are.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Whose {
    pub(super) name: String,
    pub(super) is_ours: bool,
}

/// The network of a number of hosts, as it was measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Network {
    pub(super) hosts: u32,
    /// Ranks of each host.
    pub(super) each: u32,
    pub(super) rails: u32,
    /// Whether the last of them has half its rate.
    pub(super) has_half_rail: bool,
    /// A message of next to no bytes one way.
    pub(super) l_us: f64,
    /// What a byte takes over all rails.
    pub(super) g_us: f64,
    /// What ranks that share the processors take to begin and end a call in which nothing happens.
    pub(super) empty_us: f64,
}

impl Network {
    pub(super) fn ranks(&self) -> u32 {
        self.hosts * self.each
    }

    /// The least time of a cell, if nothing takes time inside hosts.
    pub(super) fn bound_us(&self, cell: Cell) -> f64 {
        let collective = COLLECTIVES[cell.collective];
        let of_rank = vector_bytes(cell, self.ranks());
        let bytes = match collective {
            // Each rank has its own for every other one.
            "alltoall" => of_rank * u64::from(self.each),
            _ => of_rank,
        };
        bound_us(collective, bytes, self.hosts, [self.l_us, self.g_us])
    }
}

/// One contender in one cell.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Times {
    #[serde(flatten)]
    pub(super) whose: Whose,
    /// By round, the medians of turns.
    pub(super) rounds_us: Vec<f64>,
    pub(super) us: f64,
    pub(super) of_bound: f64,
}

/// A peer's time by ours.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Ratio {
    pub(super) peer: String,
    pub(super) ratio: f64,
    pub(super) interval: [f64; 2],
}

/// One cell.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Record {
    pub(super) hosts: u32,
    /// Ranks of each host.
    pub(super) each: u32,
    pub(super) rails: u32,
    /// Whether the last of them has half its rate.
    pub(super) has_half_rail: bool,
    pub(super) collective: &'static str,
    /// What was asked for.
    pub(super) bytes: u64,
    /// What is gathered, or what one rank sends, in all: blocks have whole elements.
    pub(super) vector_bytes: u64,
    pub(super) l_us: f64,
    pub(super) g_ns: f64,
    pub(super) bound_us: f64,
    /// The bound and what ranks that share the processors take besides.
    pub(super) floor_us: f64,
    /// Those that did not fail: the first is ours, and what is compared.
    pub(super) times: Vec<Times>,
    /// Every peer, the fastest first.
    pub(super) ratios: Vec<Ratio>,
}

impl Record {
    /// A cell's record, if we did not fail: the first of the contenders is what is compared.
    pub(super) fn of(
        (asked, cell): (usize, Cell),
        network: Network,
        turns: Vec<(Whose, Vec<f64>)>,
    ) -> Option<Record> {
        let Network {
            hosts,
            each,
            rails,
            has_half_rail,
            l_us,
            g_us,
            empty_us,
        } = network;
        let collective = COLLECTIVES[cell.collective];
        let vector_bytes = vector_bytes(cell, network.ranks());
        let bound_us = network.bound_us(cell);
        let (_, ours) = turns
            .first()
            .filter(|(_, rounds)| !rounds.is_empty())?
            .clone();
        let times = |(whose, rounds_us): (Whose, Vec<f64>)| {
            let us = median(&rounds_us);
            Times {
                whose,
                rounds_us,
                us,
                of_bound: us / bound_us,
            }
        };
        let there = turns.into_iter().filter(|(_, rounds)| !rounds.is_empty());
        let times: Vec<Times> = there.map(times).collect();
        let ratio = |peer: &Times| {
            let pairs = peer.rounds_us.iter().zip(&ours);
            let ratios: Vec<f64> = pairs.map(|(peer, ours)| peer / ours).collect();
            let Estimate {
                median: ratio,
                interval,
            } = estimate_of_pairs(&ratios);
            Ratio {
                peer: peer.whose.name.clone(),
                ratio,
                interval,
            }
        };
        let mut ratios: Vec<Ratio> = times
            .iter()
            .filter(|t| !t.whose.is_ours)
            .map(ratio)
            .collect();
        ratios.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
        Some(Record {
            hosts,
            each,
            rails,
            has_half_rail,
            collective,
            bytes: asked as u64,
            vector_bytes,
            l_us,
            g_ns: 1e3 * g_us,
            bound_us,
            floor_us: bound_us + empty_us,
            times,
            ratios,
        })
    }

    /// What is compared.
    pub(super) fn ours(&self) -> &Times {
        &self.times[0]
    }

    /// The peer that is the fastest here.
    pub(super) fn best(&self) -> Option<&Ratio> {
        self.ratios.first()
    }

    pub(super) fn named(&self, name: &str) -> Option<&Times> {
        self.times.iter().find(|times| times.whose.name == name)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn record(
        (collective, bytes): (&str, usize),
        hosts: u32,
        times: &[(&str, &[f64])],
    ) -> Record {
        let at = COLLECTIVES
            .iter()
            .position(|known| *known == collective)
            .expect("is one");
        let cell = Cell {
            collective: at,
            bytes,
        };
        let network = Network {
            hosts,
            each: 1,
            rails: 1,
            has_half_rail: false,
            l_us: 500.0,
            g_us: 0.04,
            empty_us: 100.0,
        };
        let whose = |name: &str| Whose {
            name: name.to_owned(),
            is_ours: ["tcp", "ofi", "one rail"].contains(&name),
        };
        let turns = times
            .iter()
            .map(|(name, rounds)| (whose(name), rounds.to_vec()));
        Record::of((bytes, cell), network, turns.collect()).expect("ours has times")
    }

    #[test]
    fn ratios_are_of_pairs_and_the_fastest_peer_comes_first() {
        let record = record(
            ("scan", 100_000),
            8,
            &[
                ("tcp", &[4500.0, 9000.0, 4500.0]),
                ("ofi", &[1.0, 1.0, 1.0]),
                ("mpich-ucx", &[9000.0, 18_000.0, 9000.0]),
                ("openmpi", &[]),
                ("mpich-ofi", &[2250.0, 4500.0, 2250.0]),
            ],
        );
        assert_eq!((record.bound_us, record.floor_us), (4500.0, 4600.0));
        assert_eq!((record.ours().us, record.ours().of_bound), (4500.0, 1.0));
        let names: Vec<_> = record.ratios.iter().map(|ratio| &*ratio.peer).collect();
        assert_eq!(names, ["mpich-ofi", "mpich-ucx"]);
        let best = record.best().expect("there are peers");
        assert!((best.ratio - 0.5).abs() < 1e-12 && (best.interval[1] - 0.5).abs() < 1e-12);
        assert!(record.named("openmpi").is_none());
    }

    #[test]
    fn the_bound_is_that_of_hosts() {
        let network = Network {
            hosts: 4,
            each: 3,
            rails: 1,
            has_half_rail: false,
            l_us: 500.0,
            g_us: 0.04,
            empty_us: 0.0,
        };
        let of = |name, bytes| {
            let collective = COLLECTIVES.iter().position(|known| *known == name);
            let collective = collective.expect("is one");
            network.bound_us(Cell { collective, bytes })
        };
        // Three quarters of 12 blocks come to a host, and of an alltoall's three times as much.
        assert!((of("allgather", 1000) - 860.0).abs() < 1e-9);
        assert!((of("alltoall", 1000) - 1580.0).abs() < 1e-9);
        assert!((of("allreduce", 1000) - 560.0).abs() < 1e-9);
    }

    #[test]
    fn there_is_no_record_without_ours() {
        let cell = Cell {
            collective: 1,
            bytes: 8,
        };
        let network = Network {
            hosts: 8,
            each: 1,
            rails: 1,
            has_half_rail: false,
            l_us: 1.0,
            g_us: 1.0,
            empty_us: 1.0,
        };
        let whose = Whose {
            name: "tcp".into(),
            is_ours: true,
        };
        assert!(Record::of((8, cell), network, vec![(whose, Vec::new())]).is_none());
    }
}
