//! The fold around a power of two: which steps are its overhead, and where the ranks outside it stand meanwhile.
//!
//! In a run every rank starts at once. The papers' figures draw the ranks that do not fold waiting until the fold is
//! done, so that all ranks do the same step of the algorithm proper in one column (T figure 12).

use crate::call::{Call, Collective};
use crate::symbolic::Delivery;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

/// Where the rounds of a run stand in its picture.
#[derive(Default)]
pub(super) struct Lines {
    /// A rank that folds, and the rank that it folds into.
    hosts: BTreeMap<u32, u32>,
    /// (rank, round in the run) → round in the picture, where they differ.
    moved: BTreeMap<(u32, u32), u32>,
}

impl Lines {
    /// Where a round of a rank stands.
    pub(super) fn round(&self, rank: u32, round: u32) -> u32 {
        self.moved.get(&(rank, round)).copied().unwrap_or(round)
    }
}

/// Finds the fold of a run, if it has one, and moves what runs beside it to where it is needed.
pub(super) fn align(call: &Call, messages: &[Delivery]) -> Lines {
    let hosts = hosts(call, messages);
    let mut lines = Lines {
        hosts,
        moved: BTreeMap::new(),
    };
    let folded = fold_rounds(&lines.hosts, messages);
    let beside = |m: &&Delivery| m.round <= folded && !of_fold(&lines.hosts, m);
    let mut early: Vec<&Delivery> = messages.iter().filter(beside).collect();
    early.sort_by_key(|m| core::cmp::Reverse(m.round));
    // From the last to the first: just before what follows on both ends.
    for round in (1..=folded).rev() {
        let of_round: Vec<&&Delivery> = early.iter().filter(|m| m.round == round).collect();
        let next = |rank: u32| {
            let own = messages.iter().filter(|m| m.from == rank || m.to == rank);
            let later = own.map(|m| m.round).filter(|r| *r > round).min();
            later.map(|later| lines.round(rank, later))
        };
        let mut limits: BTreeMap<u32, u32> = BTreeMap::new();
        for message in &of_round {
            for rank in [message.from, message.to] {
                limits.insert(rank, next(rank).map_or(round, |later| later - 1));
            }
        }
        // Ranks that meet in a round move together, by as much as the tightest of them can.
        for _ in 0..of_round.len() {
            for message in &of_round {
                let both = limits[&message.from].min(limits[&message.to]);
                limits.insert(message.from, both);
                limits.insert(message.to, both);
            }
        }
        lines.moved.extend(
            limits
                .into_iter()
                .map(|(rank, to)| ((rank, round), to.max(round))),
        );
    }
    lines
}

/// The ranks that talk to one other rank alone, if they are as many as there are ranks beyond a power of two.
fn hosts(call: &Call, messages: &[Delivery]) -> BTreeMap<u32, u32> {
    let folds = match call.collective {
        Collective::Barrier => true,
        collective => collective.reduces(),
    };
    let extra = call.ranks - (1 << call.ranks.max(1).ilog2());
    if !folds || extra == 0 {
        return BTreeMap::new();
    }
    let partners = |rank: u32| {
        let mut all: Vec<u32> = messages
            .iter()
            .filter(|m| m.from == rank || m.to == rank)
            .map(|m| m.from + m.to - rank)
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    let found: BTreeMap<u32, u32> = (0..call.ranks)
        .filter_map(|rank| match partners(rank)[..] {
            [host] if partners(host).len() > 1 => Some((rank, host)),
            _ => None,
        })
        .collect();
    let gives = |rank: u32| messages.iter().any(|m| m.from == rank);
    let whole = found.len() == extra as usize && found.keys().all(|rank| gives(*rank));
    if whole { found } else { BTreeMap::new() }
}

fn of_fold(hosts: &BTreeMap<u32, u32>, message: &Delivery) -> bool {
    hosts.contains_key(&message.from) || hosts.contains_key(&message.to)
}

/// The last round before the algorithm proper in which a rank folds.
fn fold_rounds(hosts: &BTreeMap<u32, u32>, messages: &[Delivery]) -> u32 {
    let proper = |host: u32| {
        let own = messages.iter().filter(|m| m.from == host || m.to == host);
        own.filter(|m| !of_fold(hosts, m)).map(|m| m.round).min()
    };
    let before = |m: &&Delivery| {
        let host = hosts.get(&m.from).or_else(|| hosts.get(&m.to));
        host.and_then(|host| proper(*host))
            .is_some_and(|first| m.round < first)
    };
    messages
        .iter()
        .filter(before)
        .map(|m| m.round)
        .max()
        .unwrap_or(0)
}

/// For each round, the ranks that fold or unfold in it.
pub(super) fn overhead(
    lines: &Lines,
    messages: &[Delivery],
    rounds: u32,
    ranks: u32,
) -> Vec<Vec<bool>> {
    let mut overhead = vec![vec![false; ranks as usize]; rounds as usize + 1];
    for message in messages.iter().filter(|m| of_fold(&lines.hosts, m)) {
        let row = &mut overhead[message.round as usize];
        row[message.from as usize] = true;
        row[message.to as usize] = true;
    }
    overhead
}
