//! Nodes to pretend: `4x8` is four nodes of eight ranks, filled in the order of the ranks.

use super::{LaunchError, NODES};
use std::fmt;
use std::str::FromStr;

/// Nodes to pretend on one machine, so that what is made for clusters can be tried on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nodes {
    /// How many nodes.
    pub count: u32,
    /// How many ranks each of them has; ranks 0 to this are on the first node, and so on.
    pub ranks_each: u32,
}

impl Nodes {
    /// The number of ranks on all of them.
    #[must_use]
    pub fn ranks(self) -> u64 {
        u64::from(self.count) * u64::from(self.ranks_each)
    }

    /// The node that a rank is on.
    #[must_use]
    pub fn of(self, rank: u32) -> u32 {
        rank / self.ranks_each.max(1)
    }
}

impl FromStr for Nodes {
    type Err = String;

    fn from_str(text: &str) -> Result<Nodes, String> {
        let parts = text.split_once('x');
        let number = |text: &str| text.trim().parse::<u32>().ok().filter(|n| *n > 0);
        let parts = parts.and_then(|(count, each)| Some((number(count)?, number(each)?)));
        let (count, ranks_each) = parts.ok_or_else(|| {
            format!("'{text}' is no number of nodes; 4x8 is four nodes of eight ranks each")
        })?;
        Ok(Nodes { count, ranks_each })
    }
}

impl fmt::Display for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.count, self.ranks_each)
    }
}

/// The nodes to pretend among so many ranks.
pub(super) fn read(value: Option<String>, ranks: u32) -> Result<Option<Nodes>, LaunchError> {
    let Some(text) = value else { return Ok(None) };
    let nodes = text.parse::<Nodes>().ok();
    match nodes.filter(|nodes| nodes.ranks() == u64::from(ranks)) {
        Some(nodes) => Ok(Some(nodes)),
        None => Err(LaunchError::Variable {
            name: NODES,
            value: Some(text),
            right: format!("NODESxRANKS with a product of {ranks}"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_read_and_printed() {
        let nodes: Nodes = "4x8".parse().unwrap();
        assert_eq!((nodes.ranks(), nodes.to_string()), (32, "4x8".into()));
        assert_eq!([0, 7, 8, 31].map(|rank| nodes.of(rank)), [0, 0, 1, 3]);
        for text in ["", "4", "x", "0x4", "4x0", "4x-1", "4x4x4"] {
            assert!(text.parse::<Nodes>().is_err(), "{text}");
        }
        assert!(read(Some("4x8".into()), 31).is_err());
    }
}
