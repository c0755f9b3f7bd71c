//! Links: that no link of a torus carries two streams.

use crate::machine::Torus;
use crate::schedule::{OpKind, Schedule};
use crate::symbolic::{Failure, Law};
use alloc::format;
use alloc::vec;

/// Proves that each link carries the messages of one operation at most, on the deterministic route (along x, then y, then z).
///
/// An operation of a pipeline sends all segments of its stream, so this says more than that streams share no link: no
/// stream uses a link twice either.
///
/// # Errors
/// A [`Law::Claim`] that names the link and both messages.
pub fn check(torus: &Torus, schedules: &[Schedule]) -> Result<(), Failure> {
    let mut carries = vec![[None; 6]; schedules.len()];
    for schedule in schedules {
        for (strand, items) in schedule.strands.iter().enumerate() {
            for op in items
                .items
                .iter()
                .flat_map(|item| &schedule.ops[item.ops()])
            {
                let Some((from, to)) = message(schedule.rank, op.kind) else {
                    continue;
                };
                for link in torus.route(from, to) {
                    let direction = 2 * link.direction.dimension + usize::from(!link.direction.up);
                    let other = carries[link.from as usize][direction].replace((strand, from, to));
                    if let Some((other, a, b)) = other {
                        return Err(Failure {
                            law: Law::Claim,
                            rank: link.from,
                            what: format!(
                                "the link {} carries strand {other}'s messages from rank {a} to rank {b} and strand {strand}'s from rank {from} to rank {to}",
                                link.direction
                            ),
                        });
                    }
                }
            }
        }
    }
    Ok(())
}

/// From whom to whom an operation's data goes; a message is its sender's.
fn message(rank: u32, kind: OpKind) -> Option<(u32, u32)> {
    match kind {
        OpKind::Send { to, .. } | OpKind::Put { to, .. } | OpKind::PutReduce { to, .. } => {
            Some((rank, to))
        }
        OpKind::Get { from, .. } | OpKind::GetReduce { from, .. } => Some((from, rank)),
        OpKind::Recv { .. }
        | OpKind::RecvReduce { .. }
        | OpKind::Copy
        | OpKind::Reduce
        | OpKind::Notify { .. }
        | OpKind::Wait { .. }
        | OpKind::Await { .. } => None,
    }
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
        check(&torus, &algorithm.world(&shape))
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
    fn a_mesh_has_fewer_links_than_a_torus() {
        // What shares no link on the torus does on the mesh: the second stream goes round the edge.
        let torus: Torus = "4x1x1:torus".parse().unwrap();
        let mesh: Torus = "4x1x1:mesh".parse().unwrap();
        let algorithm = find(Collective::Broadcast, "torus-trees").unwrap();
        let call = Call::new(Collective::Broadcast, 4);
        let shape = algorithm.shape(call, "").unwrap().on_torus(Some(torus));
        assert_eq!(check(&torus, &algorithm.world(&shape)), Ok(()));
        assert!(check(&mesh, &algorithm.world(&shape)).is_err());
    }
}
