//! Records: what a cell's turns say about us and each setting of a peer.

use crate::cell::Cell;
use crate::group::{Name, Times};
use crate::statistics::{Estimate, estimate, median};
use serde::Serialize;

/// One group's times in a cell, by round.
#[derive(Clone, Debug)]
pub struct Column {
    /// Whose.
    pub name: Name,
    /// The times that there are; none from the round on in which it failed.
    pub rounds: Vec<Times>,
    /// Why it failed.
    pub failure: Option<String>,
}

impl Column {
    /// No times yet.
    pub fn new(name: Name) -> Self {
        Self {
            name,
            rounds: Vec::new(),
            failure: None,
        }
    }
}

/// Us and one setting of a peer in one cell.
#[derive(Clone, Debug, Serialize)]
pub struct Record {
    /// The collective.
    pub collective: &'static str,
    /// The size as the user types it.
    pub bytes: usize,
    /// The number of ranks.
    pub ranks: usize,
    /// The peer's name.
    pub peer: &'static str,
    /// The setting's name.
    pub setting: &'static str,
    /// The median over rounds of our turns' medians.
    pub ours_us: f64,
    /// The same for the peer.
    pub peer_us: f64,
    /// The median over rounds of the peer's median by ours: above 1 we are faster.
    pub ratio: f64,
    /// The 95 % interval of the ratio.
    pub spread: [f64; 2],
    /// The median over rounds of our turns' 99th percentile.
    pub ours_p99_us: f64,
    /// The same for the peer.
    pub peer_p99_us: f64,
    /// The median over turns of a cache line's round trip between two cores.
    pub line_ns: Option<f64>,
}

/// The records of a cell: one for each setting that did not fail, none if we did.
pub fn records(
    (cell, ranks, line_ns): (Cell, usize, Option<f64>),
    ours: &Column,
    peers: &[Column],
) -> Vec<Record> {
    let ok = |column: &&Column| column.failure.is_none() && !column.rounds.is_empty();
    if !ok(&ours) {
        return Vec::new();
    }
    let medians = |c: &Column| median(&c.rounds.iter().map(|t| t.median_us).collect::<Vec<_>>());
    let tails = |c: &Column| median(&c.rounds.iter().map(|t| t.p99_us).collect::<Vec<_>>());
    let record = |peer: &Column| {
        let pairs = peer.rounds.iter().zip(&ours.rounds);
        let ratios: Vec<f64> = pairs.map(|(p, o)| p.median_us / o.median_us).collect();
        let Estimate { median, interval } = estimate(&ratios);
        Record {
            collective: cell.name(),
            bytes: cell.bytes,
            ranks,
            peer: peer.name.library,
            setting: peer.name.setting,
            ours_us: medians(ours),
            peer_us: medians(peer),
            ratio: median,
            spread: interval,
            ours_p99_us: tails(ours),
            peer_p99_us: tails(peer),
            line_ns,
        }
    };
    peers.iter().filter(ok).map(record).collect()
}

/// The record with the least ratio: the fastest of the peers, beside us.
pub fn best<'a>(records: impl Iterator<Item = &'a Record>) -> Option<&'a Record> {
    records.min_by(|a, b| a.ratio.total_cmp(&b.ratio))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(library: &'static str, medians: &[f64]) -> Column {
        let name = Name {
            library,
            setting: "default",
        };
        let times = |&median_us| Times {
            median_us,
            p99_us: 2.0 * median_us,
        };
        let rounds = medians.iter().map(times).collect();
        Column {
            name,
            rounds,
            failure: None,
        }
    }

    #[test]
    fn ratios_are_of_pairs_and_the_best_peer_is_the_fastest() {
        let cell = Cell {
            collective: 8,
            bytes: 8,
        };
        let ours = column("allhands", &[1.0, 10.0, 1.0, 1.0, 1.0, 1.0]);
        let slow = column("mpich", &[4.0, 40.0, 4.0, 4.0, 4.0, 4.0]);
        let mut fast = column("intel", &[0.5, 5.0, 0.5, 0.5, 0.5, 0.5]);
        let found = records((cell, 2, None), &ours, &[slow.clone(), fast.clone()]);
        assert_eq!((found[0].ratio, found[0].spread), (4.0, [4.0, 4.0]));
        let best_peer = best(found.iter()).expect("there are two");
        assert_eq!((best_peer.peer, best_peer.ratio), ("intel", 0.5));
        assert_eq!(best_peer.peer_p99_us, 1.0);
        fast.failure = Some("late".to_owned());
        assert_eq!(
            records((cell, 2, None), &ours, &[slow.clone(), fast.clone()]).len(),
            1
        );
        assert!(records((cell, 2, None), &fast, &[slow]).is_empty());
    }
}
