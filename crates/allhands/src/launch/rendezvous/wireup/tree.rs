//! The tree: by which the table goes to all ranks, and back that they are ready.

use super::words;
use super::{Action, Frame, REACH, Role, To, WireUp};
use crate::launch::rendezvous::card::Table;
use crate::launch::rendezvous::link::identity;
use std::time::Duration;

/// A rank's place in the tree, from when it has the table.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// The ranks below that have not said that they are ready.
    awaited: Vec<u32>,
    /// Those of them that have not even been reached.
    unreached: Vec<u32>,
    /// When those must have been.
    pub(super) until: Option<Duration>,
    /// Whether this rank itself could have its place.
    is_prepared: bool,
    /// Whether it and all below are.
    pub(super) is_ready: bool,
    table: Vec<u8>,
}

/// The rank above.
pub(super) fn parent(rank: u32) -> u32 {
    match rank {
        0 => 0,
        rank => rank & !(1 << rank.ilog2()),
    }
}

/// The ranks right below, with the most below them first.
fn children(rank: u32, ranks: u32) -> impl Iterator<Item = u32> {
    let first = if rank == 0 { 0 } else { rank.ilog2() + 1 };
    let children = (first..32).map_while(move |bit| rank.checked_add(1_u32.checked_shl(bit)?));
    children.take_while(move |child| *child < ranks)
}

impl WireUp {
    /// The table has come from above.
    pub(super) fn take_table(&mut self, bytes: &[u8]) {
        let ranks = self.card.ranks as usize;
        let table = Table::decode(bytes).filter(|table| {
            let own = table.cards.get(self.card.rank as usize);
            table.cards.len() == ranks && own.is_some_and(|card| card.node == self.card.node)
        });
        match table {
            Some(table) if self.table.is_none() => self.have_table(table, bytes.to_vec()),
            _ => {
                let says = format!("{} was handed a table of other ranks", self.card.name());
                self.fail(says);
            }
        }
    }

    /// This rank knows all others: hands it on to those below.
    pub(super) fn have_table(&mut self, table: Table, bytes: Vec<u8>) {
        let below: Vec<u32> = children(self.card.rank, self.card.ranks).collect();
        let to: Vec<_> = below
            .iter()
            .map(|c| table.cards[*c as usize].wiring)
            .collect();
        self.tree.until = (!below.is_empty()).then_some(self.now + REACH);
        (self.tree.awaited, self.tree.unreached) = (below.clone(), below.clone());
        self.tree.table = Frame::Table(bytes).encode();
        self.table = Some(table);
        for (child, address) in below.into_iter().zip(to) {
            self.ask(To::Rank(address), identity(child), Role::Child(child));
        }
    }

    /// A rank below has proved itself.
    pub(super) fn hand_on(&mut self, at: u32, child: u32) {
        let bytes = self.tree.table.clone();
        self.send(at, bytes);
        self.tree.unreached.retain(|other| *other != child);
        if self.tree.unreached.is_empty() {
            self.tree.until = None;
        }
    }

    /// This rank has seen the table, and could have its place.
    pub(in crate::launch::rendezvous) fn ready(&mut self) {
        self.tree.is_prepared = true;
        self.say_ready();
    }

    /// A rank below, and all below that, could have their places.
    pub(super) fn below_is_ready(&mut self, child: u32) {
        self.tree.awaited.retain(|other| *other != child);
        self.say_ready();
    }

    fn say_ready(&mut self) {
        let tree = &mut self.tree;
        if self.outcome.is_some()
            || self.trouble.is_some()
            || !tree.awaited.is_empty()
            || !tree.is_prepared
            || tree.is_ready
        {
            return;
        }
        tree.is_ready = true;
        if self.point.is_some() {
            return self.go();
        }
        let mut above = self.connections.iter();
        if let Some((at, _)) = above.find(|(_, c)| matches!(c.role, Role::Parent)) {
            let at = *at;
            self.send(at, Frame::Ready.encode());
        }
    }

    /// All have their places: says so to those below, and rank 0 then to all, as others than it may end before they do.
    pub(super) fn go(&mut self) {
        let all = || self.connections.iter();
        let below = all().filter(|(_, c)| matches!(c.role, Role::Child(_)));
        let star = all().filter(|(_, c)| matches!(c.role, Role::Joined(_)));
        let told: Vec<u32> = below.chain(star).map(|(at, _)| *at).collect();
        for at in told {
            self.actions.push_back(Action::Send {
                at,
                bytes: Frame::Go.encode(),
            });
        }
        self.end(Ok(()));
    }

    /// A connection to a rank below is lost, or could not be made.
    pub(super) fn child_lost(&mut self, child: u32, why: &str) {
        let Some(table) = &self.table else { return };
        let below = &table.cards[child as usize];
        let says = match self.tree.unreached.contains(&child) {
            true => words::unreachable(&self.card, below, why),
            false => words::gone(below),
        };
        self.fail(says);
    }

    /// Those below could not be reached in time.
    pub(super) fn nobody_below(&self) -> String {
        let child = self.tree.unreached.first().copied().unwrap_or(0);
        let why = format!("nothing has answered for {} s", REACH.as_secs());
        let below = self
            .table
            .as_ref()
            .and_then(|t| t.cards.get(child as usize));
        below.map_or(why.clone(), |b| words::unreachable(&self.card, b, &why))
    }

    pub(super) fn another_below(&self, child: u32) -> String {
        let below = self
            .table
            .as_ref()
            .and_then(|t| t.cards.get(child as usize));
        let why = "somebody else answers there";
        below.map_or(why.into(), |b| words::unreachable(&self.card, b, why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_has_one_above_and_is_below_it() {
        for ranks in [1, 2, 3, 7, 8, 9, 1000, 1024] {
            let mut seen = vec![0; ranks as usize];
            for rank in 0..ranks {
                for child in children(rank, ranks) {
                    assert_eq!(parent(child), rank);
                    seen[child as usize] += 1;
                }
            }
            assert_eq!(seen[0], 0);
            assert!(seen[1..].iter().all(|times| *times == 1), "{ranks}");
        }
        assert!(children(u32::MAX - 1, u32::MAX).next().is_none());
    }
}
