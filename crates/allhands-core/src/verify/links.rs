//! Links: that no link of a torus carries two streams, and that packets leave copies only where they pass.

use crate::machine::Torus;
use crate::schedule::{Op, OpKind, Schedule};
use crate::symbolic::{Failure, Law};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

/// Proves that each link carries the messages of one strand from one rank to one other at most, on the deterministic route
/// (along x, then y, then z).
///
/// `node_of` says on which node of the torus each rank is. Messages without data, by which ranks meet before streams begin, are
/// no part of any. A strand sends a rank the segments of its stream, so this says more than that streams share no link: no
/// stream uses a link twice either. Copies that packets leave behind use no link; [`deposits`] says that packets pass there.
///
/// # Errors
/// A [`Law::Claim`] that names the link and both messages.
pub fn check(torus: &Torus, node_of: &[u32], schedules: &[Schedule]) -> Result<(), Failure> {
    let mut carries = vec![[None; 6]; torus.ranks() as usize];
    let stream = |(_, message): &(usize, Message)| message.data && !message.deposited;
    for (strand, message) in messages(schedules).filter(stream) {
        let Message { from, to, .. } = message;
        for link in torus.route(node_of[from as usize], node_of[to as usize]) {
            let direction = 2 * link.direction.dimension + usize::from(!link.direction.up);
            let other = carries[link.from as usize][direction].replace((strand, from, to));
            if let Some((other, a, b)) = other.filter(|other| *other != (strand, from, to)) {
                let what = format!(
                    "the link {} carries strand {other}'s messages from rank {a} to rank {b} and strand {strand}'s from rank {from} to rank {to}",
                    link.direction
                );
                let first = node_of.iter().position(|node| *node == link.from);
                return fail(first.unwrap_or(0) as u32, what);
            }
        }
    }
    Ok(())
}

/// Proves that packets pass every rank at which they are to leave a copy.
///
/// # Errors
/// A [`Law::Claim`] that names the rank and the message.
pub fn deposits(torus: &Torus, node_of: &[u32], schedules: &[Schedule]) -> Result<(), Failure> {
    let node = |rank: u32| node_of[rank as usize];
    let mut carrier = Message::default();
    for (_, message) in messages(schedules) {
        if !message.deposited {
            carrier = message;
            continue;
        }
        let mut route = torus
            .route(node(carrier.from), node(carrier.to))
            .into_iter();
        let to = node(message.to);
        if !route.any(|link| link.from == to) || to == node(carrier.from) {
            let what = format!(
                "a copy is to be left at rank {}, which the message to rank {} does not pass",
                message.to, carrier.to
            );
            return fail(message.from, what);
        }
    }
    Ok(())
}

fn fail(rank: u32, what: String) -> Result<(), Failure> {
    Err(Failure {
        law: Law::Claim,
        rank,
        what,
    })
}

/// From whom to whom an operation's data goes.
#[derive(Clone, Copy, Default)]
struct Message {
    from: u32,
    to: u32,
    deposited: bool,
    data: bool,
}

/// All messages, with their strands.
fn messages(schedules: &[Schedule]) -> impl Iterator<Item = (usize, Message)> {
    let of_strand = |schedule: &'_ Schedule, number: usize| {
        let items = schedule.strands[number].items.iter();
        let ops: Vec<Op> = items
            .flat_map(|item| &schedule.ops[item.ops()])
            .copied()
            .collect();
        let rank = schedule.rank;
        ops.into_iter()
            .filter_map(move |op| Some((number, message(rank, &op)?)))
    };
    schedules.iter().flat_map(move |schedule| {
        (0..schedule.strands.len()).flat_map(move |number| of_strand(schedule, number))
    })
}

/// The message of an operation; it is its sender's.
fn message(rank: u32, op: &Op) -> Option<Message> {
    let (from, to, deposited) = match op.kind {
        OpKind::Send { to, deposited, .. } => (rank, to, deposited),
        OpKind::Put { to, .. } | OpKind::PutReduce { to, .. } => (rank, to, false),
        OpKind::Get { from, .. } | OpKind::GetReduce { from, .. } => (from, rank, false),
        OpKind::Recv { .. }
        | OpKind::RecvReduce { .. }
        | OpKind::Combine { .. }
        | OpKind::Copy
        | OpKind::Reduce
        | OpKind::Notify { .. }
        | OpKind::Wait { .. }
        | OpKind::Await { .. } => return None,
    };
    Some(Message {
        from,
        to,
        deposited,
        data: op.from.len + op.into.len > 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::find;
    use crate::call::{Call, Collective};
    use alloc::string::ToString;

    /// What the check says of an algorithm on a torus, whatever it claims.
    fn say(collective: Collective, name: &str, torus: &str) -> Result<(), Failure> {
        let torus: Torus = torus.parse().unwrap();
        let algorithm = find(collective, name).unwrap();
        let call = Call::new(collective, torus.ranks());
        let shape = algorithm.shape(call, "").unwrap().on_torus(Some(torus));
        check(&torus, &one_a_node(&torus), &algorithm.world(&shape))
    }

    fn one_a_node(torus: &Torus) -> Vec<u32> {
        (0..torus.ranks()).collect()
    }

    #[test]
    fn trees_pass() {
        assert_eq!(
            say(Collective::Broadcast, "torus-trees", "4x3x2:torus"),
            Ok(())
        );
    }

    #[test]
    fn a_shared_link_is_named() {
        // 0 sends to 1 and to 2, each on its own, but all on the one link of the line.
        let failure = say(Collective::Broadcast, "one-to-all", "3x1x1:mesh").unwrap_err();
        assert_eq!((failure.law, failure.rank), (Law::Claim, 0));
        assert_eq!(
            failure.what,
            "the link +x carries strand 0's messages from rank 0 to rank 1 and strand 0's from rank 0 to rank 2"
        );
        // Two trees that know nothing of the torus.
        let failure = say(Collective::Broadcast, "double-tree", "4x4x1:mesh").unwrap_err();
        assert!(failure.to_string().contains("strand 1's"), "{failure}");
    }

    #[test]
    fn copies_are_left_where_packets_pass() {
        let algorithm = find(Collective::Broadcast, "torus-trees").unwrap();
        let [mesh, other]: [Torus; 2] = ["4x3x1:mesh", "3x4x1:mesh"].map(|t| t.parse().unwrap());
        let call = Call::new(Collective::Broadcast, 12);
        let shape = algorithm.shape(call, "").unwrap().on_torus(Some(mesh));
        let world = algorithm.world(&shape);
        assert_eq!(deposits(&mesh, &one_a_node(&mesh), &world), Ok(()));
        let failure = deposits(&other, &one_a_node(&other), &world).unwrap_err();
        assert!(
            failure.what.starts_with("a copy is to be left at rank"),
            "{failure}"
        );
    }

    #[test]
    fn a_mesh_has_fewer_links_than_a_torus() {
        // What shares no link on the torus does on the mesh: the second stream goes round the edge.
        let torus: Torus = "4x1x1:torus".parse().unwrap();
        let mesh: Torus = "4x1x1:mesh".parse().unwrap();
        let algorithm = find(Collective::Broadcast, "torus-trees").unwrap();
        let call = Call::new(Collective::Broadcast, 4);
        let shape = algorithm.shape(call, "").unwrap().on_torus(Some(torus));
        assert_eq!(
            check(&torus, &one_a_node(&torus), &algorithm.world(&shape)),
            Ok(())
        );
        assert!(check(&mesh, &one_a_node(&mesh), &algorithm.world(&shape)).is_err());
    }

    #[test]
    fn ranks_of_a_node_share_its_links() {
        // Two ranks a node: what is disjoint for one of each is not when both send.
        let line: Torus = "3x1x1:mesh".parse().unwrap();
        let nodes = [0, 0, 1, 1, 2, 2];
        let algorithm = find(Collective::Alltoall, "pairwise").unwrap();
        let call = Call::new(Collective::Alltoall, 6);
        let shape = algorithm.shape(call, "").unwrap();
        let failure = check(&line, &nodes, &algorithm.world(&shape)).unwrap_err();
        assert!(failure.what.contains("carries"), "{failure}");
        // On one node no link is used.
        let one: Torus = "1x1x1:mesh".parse().unwrap();
        assert_eq!(check(&one, &[0; 6], &algorithm.world(&shape)), Ok(()));
    }
}
