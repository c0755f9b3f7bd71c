//! Places: which ranks of a communicator share a node.

use crate::transport::Waits;
use allhands_core::machine::Nodes;

/// On which node each rank is, and where among the ranks of that node: in the order of all ranks.
///
/// ```
/// use allhands::transport::net::Places;
///
/// let places = Places::new(&[7, 3, 7, 3, 3])?;
/// assert_eq!((places.node(2), places.local(2)), (0, 1));
/// assert_eq!(places.members(1), [1, 3, 4]);
/// assert_eq!(places.runs().to_string(), "1,1,1,2");
/// # Ok::<(), allhands::transport::net::PlacesError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// By rank: its node, numbered in the order of the nodes' first ranks, and its number there.
    ranks: Box<[(u32, u32)]>,
    nodes: Box<[Box<[u32]>]>,
    /// What people call the nodes, if that is known.
    hosts: Box<[String]>,
}

/// Why numbers say no places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no rank to be on any node; right would be a node for each of one rank or more")]
pub struct PlacesError;

impl Places {
    /// Rank `r` is on the node that is called `node_of[r]`: any number, the same for ranks that share one.
    ///
    /// # Errors
    /// [`PlacesError`] if there are no ranks.
    pub fn new(node_of: &[u32]) -> Result<Places, PlacesError> {
        let mut nodes: Vec<Vec<u32>> = Vec::new();
        let mut known = std::collections::BTreeMap::new();
        let mut ranks = Vec::with_capacity(node_of.len());
        for (rank, name) in (0..).zip(node_of) {
            let node = *known.entry(*name).or_insert_with(|| {
                nodes.push(Vec::new());
                nodes.len() - 1
            });
            ranks.push((node as u32, nodes[node].len() as u32));
            nodes[node].push(rank);
        }
        if ranks.is_empty() {
            return Err(PlacesError);
        }
        Ok(Places {
            ranks: ranks.into(),
            nodes: nodes.into_iter().map(Into::into).collect(),
            hosts: Box::default(),
        })
    }

    /// The same where rank `r` is on the host that people call `host_of[r]`.
    #[must_use]
    pub fn on_hosts(mut self, host_of: &[String]) -> Places {
        let firsts = self.nodes.iter().map(|members| members[0] as usize);
        let hosts: Option<Box<[String]>> = firsts.map(|at| host_of.get(at).cloned()).collect();
        self.hosts = hosts.unwrap_or_default();
        self
    }

    /// What people call the host of a rank, if that is known.
    #[must_use]
    pub fn host(&self, rank: u32) -> Option<&str> {
        let host = self.hosts.get(self.node(rank) as usize);
        host.map(String::as_str)
    }

    /// What is said when the host of a rank answers no more.
    pub(crate) fn describe_loss(&self, rank: u32) -> String {
        let members = self.members(self.node(rank));
        let ranks = Waits::list(members);
        let are = if members.len() == 1 { "is" } else { "are" };
        match self.host(rank) {
            Some(host) => format!("host {host} does not answer any more; {ranks} {are} lost"),
            None => format!("the host of {ranks} does not answer any more"),
        }
    }

    /// The places where the ranks of each innermost node share one.
    pub(crate) fn of(nodes: &Nodes, ranks: u32) -> Places {
        let sizes = nodes.innermost(ranks);
        let node = |(node, size): (u32, &u32)| std::iter::repeat_n(node, *size as usize);
        let node_of: Vec<u32> = (0..).zip(&sizes).flat_map(node).collect();
        Places::new(&node_of).expect("nodes have ranks")
    }

    /// The number of ranks.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        self.ranks.len() as u32
    }

    /// The number of nodes.
    #[must_use]
    pub fn nodes(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// The node of a rank, numbered in the order of the nodes' first ranks.
    #[must_use]
    pub fn node(&self, rank: u32) -> u32 {
        self.ranks[rank as usize].0
    }

    /// The number of a rank among those of its node.
    #[must_use]
    pub fn local(&self, rank: u32) -> u32 {
        self.ranks[rank as usize].1
    }

    /// The ranks of a node, in their order.
    #[must_use]
    pub fn members(&self, node: u32) -> &[u32] {
        &self.nodes[node as usize]
    }

    /// The longest runs of ranks that follow one another on a node, as nodes: the nodes themselves where the ranks of each follow
    /// one another, and smaller ones otherwise. So every rank of such a node really shares it.
    #[must_use]
    pub fn runs(&self) -> Nodes {
        let runs = self.ranks.chunk_by(|a, b| a.0 == b.0);
        let sizes: Vec<u32> = runs.map(|run| run.len() as u32).collect();
        match sizes.len() {
            1 => Nodes::one(),
            _ => Nodes::of_sizes(&sizes),
        }
    }

    /// Whether every innermost node of `nodes` lies inside one of these.
    #[must_use]
    pub fn contain(&self, nodes: &Nodes) -> bool {
        let mut first = 0;
        nodes.innermost(self.ranks()).iter().all(|size| {
            let ranks = &self.ranks[first..first + *size as usize];
            first += *size as usize;
            ranks.iter().all(|rank| rank.0 == ranks[0].0)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_nodes_whose_ranks_share_one() {
        let runs = |node_of: &[u32]| Places::new(node_of).unwrap().runs().to_string();
        assert_eq!(runs(&[4, 4, 4]), "one");
        assert_eq!(runs(&[0, 0, 1, 1, 1]), "2,3");
        assert_eq!(runs(&[0, 1, 0, 1]), "1,1,1,1");
        assert_eq!(runs(&[5, 5, 2, 5]), "2,1,1");
        assert_eq!(Places::new(&[]), Err(PlacesError));
    }

    #[test]
    fn a_lost_host_is_named_with_its_ranks() {
        let places = Places::new(&[4, 4, 9]).unwrap();
        let says = "the host of ranks 0 and 1 does not answer any more";
        assert_eq!(places.describe_loss(1), says);
        let hosts = ["a", "a", "b"].map(String::from);
        let places = places.on_hosts(&hosts);
        let says = "host a does not answer any more; ranks 0 and 1 are lost";
        assert_eq!(places.describe_loss(0), says);
        let says = "host b does not answer any more; rank 2 is lost";
        assert_eq!(places.describe_loss(2), says);
        assert_eq!(places.on_hosts(&hosts[..2]).host(0), None);
    }

    #[test]
    fn nodes_that_reach_over_places_are_found() {
        let places = Places::new(&[0, 0, 0, 1, 1, 1]).unwrap();
        let contain = |text: &str| places.contain(&text.parse().unwrap());
        assert!(contain("3,3") && contain("2,1,3") && contain("6x1") && contain("2x3x1"));
        assert!(!contain("one") && !contain("2,2,2") && !contain("3x2"));
    }
}
