//! The law of windows where nodes share no memory, and a network carries what is put from one to another.

use crate::schedule::{OpKind, Schedule, Shape};
use crate::symbolic::{self, Failure, Law, World};
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

/// Law 5 over two consecutive calls where nodes share no memory: what is put to another one is there for whoever knows of a later
/// notification to the same rank, and for nobody else.
///
/// # Errors
/// That the law is broken, and where.
pub fn verify_apart(shape: &Shape, schedules: &[Schedule]) -> Result<(), Failure> {
    let sizes = shape.nodes.innermost(shape.ranks());
    let on_node = |(node, size): (u32, &u32)| vec![node; *size as usize];
    let node_of: Vec<u32> = (0..).zip(&sizes).flat_map(on_node).collect();
    windows_are_mutual(schedules, &node_of)?;
    let world = World {
        call: &shape.call,
        schedules,
    };
    symbolic::run_apart(&[world, world], &node_of).map(|_| ())
}

/// Whether of two ranks on different nodes both put to the other, or raise its flags, or neither does: each waits for the other's window
/// before it begins. And nothing else is done to windows of other nodes.
fn windows_are_mutual(schedules: &[Schedule], node_of: &[u32]) -> Result<(), Failure> {
    let fail = |rank: u32, what| Failure {
        law: Law::Window,
        rank,
        what,
    };
    let are_apart = |one: u32, other: u32| node_of[one as usize] != node_of[other as usize];
    let mut pairs = BTreeSet::new();
    for (rank, schedule) in (0..).zip(schedules) {
        for op in &schedule.ops {
            match op.kind {
                kind if kind.is_two_sided() => {}
                OpKind::Put { to, .. } | OpKind::Notify { to, .. } => {
                    pairs.insert((rank, to));
                }
                OpKind::PutReduce { to: other, .. }
                | OpKind::Get { from: other, .. }
                | OpKind::GetReduce { from: other, .. }
                    if are_apart(rank, other) =>
                {
                    return Err(fail(
                        rank,
                        format!("it reaches into the window of rank {other} on another node"),
                    ));
                }
                _ => {}
            }
        }
    }
    let is_alone =
        |(rank, to): &&(u32, u32)| are_apart(*rank, *to) && !pairs.contains(&(*to, *rank));
    match pairs.iter().find(is_alone) {
        Some((rank, to)) => Err(fail(
            *rank,
            format!("rank {to} on another node never puts to it, nor raises a flag of it"),
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm;
    use crate::call::{Call, Collective};
    use crate::machine::Nodes;
    use crate::schedule::Builder;

    /// What the law says of a schedule in which each of these ranks, one on each of three nodes, raises a flag of the next one.
    fn raised(ranks: &[u32]) -> Result<(), Failure> {
        let algorithm = algorithm::find(Collective::Barrier, "dissemination").unwrap();
        let shape = algorithm.shape(Call::new(Collective::Barrier, 3), "");
        let shape = shape.unwrap().on(Nodes::even(3, 1));
        let schedule = |rank| {
            let mut builder = Builder::new(shape.clone(), rank, 1, false);
            if ranks.contains(&rank) {
                builder.notify((rank + 1) % 3, 0);
            }
            builder.finish()
        };
        let schedules: Vec<Schedule> = (0..3).map(schedule).collect();
        windows_are_mutual(&schedules, &[0, 1, 2])
    }

    #[test]
    fn windows_of_other_nodes_are_of_use_both_ways_or_neither() {
        assert_eq!(raised(&[]), Ok(()));
        let failure = raised(&[1]).unwrap_err();
        assert_eq!((failure.law, failure.rank), (Law::Window, 1));
        assert!(failure.what.contains("rank 2 on another node"), "{failure}");
    }
}
