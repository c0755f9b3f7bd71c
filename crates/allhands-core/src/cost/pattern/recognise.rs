//! Recognition: which of the three patterns the messages of a world of schedules make.

use super::{Fan, Pattern};
use crate::call::Call;
use crate::cost::{Hockney, Sizes, WalkError, walk_observed};
use crate::schedule::Schedule;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

/// From one rank to another.
type Message = (u32, u32);

/// The pattern of a call's schedules, one a rank, on chips of `spes` ranks each, if they make one; ranks may serve any number at once.
///
/// A tree has one message to each rank but one; it is ordered where nobody ever sends two at once. A butterfly has rounds in which every
/// rank that sends also hears from the same one.
///
/// # Errors
/// If the schedules cannot be walked.
pub fn recognise(call: &Call, world: &[Schedule], spes: u32) -> Result<Option<Pattern>, WalkError> {
    let rounds = rounds(call, world)?;
    let crosses = |(from, to): &Message| from / spes != to / spes;
    let far = rounds.iter().filter(|round| round.iter().any(crosses));
    let far = far.count() as u32;
    let near = rounds.len() as u32 - far;
    if rounds.is_empty() {
        return Ok(None);
    }
    if rounds.iter().all(|round| is_exchange(round)) {
        let crossing = |round: &Vec<Message>| round.iter().filter(|m| crosses(m)).count() as u32;
        let crossing = rounds.iter().map(crossing).max().unwrap_or(0);
        return Ok(Some(Pattern::Butterfly {
            near,
            far,
            crossing,
        }));
    }
    if !is_tree(&rounds) {
        return Ok(None);
    }
    let levels: Vec<Fan> = rounds.iter().map(|round| widest(round, spes)).collect();
    let ordered = levels.iter().all(|fan| fan.near + fan.far == 1);
    Ok(Some(match ordered {
        true => Pattern::OrderedTree { near, far },
        false => Pattern::OneToAll(levels),
    }))
}

/// The messages by when they start, where each takes as long as any other.
fn rounds(call: &Call, world: &[Schedule]) -> Result<Vec<Vec<Message>>, WalkError> {
    let mut rounds: BTreeMap<u64, Vec<Message>> = BTreeMap::new();
    let (sizes, machine) = (Sizes::Ideal { bytes: 1.0 }, Hockney::new(1.0, 0.0, 0.0));
    walk_observed(call, world, sizes, &machine, call.ranks, &mut |sent| {
        let messages = rounds.entry(sent.start_us as u64).or_default();
        messages.push((sent.from, sent.to));
    })?;
    Ok(rounds.into_values().collect())
}

/// Whether everybody who sends does so once, and hears from the same one.
fn is_exchange(round: &[Message]) -> bool {
    let sent: BTreeMap<u32, u32> = round.iter().copied().collect();
    sent.len() == round.len() && round.iter().all(|(from, to)| sent.get(to) == Some(from))
}

/// Whether nobody gets two messages, nor any who sent before it got one, but for the root.
fn is_tree(rounds: &[Vec<Message>]) -> bool {
    let Some(&(root, _)) = rounds.first().and_then(|round| round.first()) else {
        return false;
    };
    let mut reached = BTreeSet::from([root]);
    rounds.iter().all(|round| {
        let senders_know = round.iter().all(|(from, _)| reached.contains(from));
        senders_know && round.iter().all(|(_, to)| reached.insert(*to))
    })
}

/// The children of the rank that has the most in a round.
fn widest(round: &[Message], spes: u32) -> Fan {
    let mut fans: BTreeMap<u32, Fan> = BTreeMap::new();
    for (from, to) in round {
        let fan = fans.entry(*from).or_insert(Fan { near: 0, far: 0 });
        match from / spes == to / spes {
            true => fan.near += 1,
            false => fan.far += 1,
        }
    }
    let most = fans
        .into_values()
        .max_by_key(|fan| (fan.near + fan.far, fan.far));
    most.unwrap_or(Fan { near: 0, far: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm;
    use crate::call::Collective::{self, Allgather, Allreduce, Broadcast};
    use alloc::vec;

    fn found(collective: Collective, name: &str, text: &str, ranks: u32) -> Option<Pattern> {
        let algorithm = algorithm::find(collective, name).expect("it is there");
        let shape = algorithm.shape(Call::new(collective, ranks), text);
        let shape = shape.expect("keys of it");
        recognise(&shape.call, &algorithm.world(&shape), 8).expect("it can be walked")
    }

    fn fan(near: u32, far: u32) -> Fan {
        Fan { near, far }
    }

    /// The algorithms that C builds of the patterns alone, on one Cell and on two.
    #[test]
    fn the_papers_algorithms_make_the_patterns_that_it_says() {
        let one_to_all = |levels| Some(Pattern::OneToAll(levels));
        let flat = |ranks| found(Broadcast, "one-to-all", "", ranks);
        assert_eq!(flat(8), one_to_all(vec![fan(7, 0)]));
        assert_eq!(flat(16), one_to_all(vec![fan(7, 8)]));
        let simple = |ranks| found(Broadcast, "binomial", "order=simple", ranks);
        let three = [fan(3, 0), fan(2, 0), fan(1, 0)];
        assert_eq!(simple(8), one_to_all(three.to_vec()));
        let four = [fan(3, 1), fan(3, 0), fan(2, 0), fan(1, 0)];
        assert_eq!(simple(16), one_to_all(four.to_vec()));
        let ordered = |near, far| Some(Pattern::OrderedTree { near, far });
        let opt = |ranks| found(Broadcast, "binomial", "", ranks);
        assert_eq!((opt(8), opt(16)), (ordered(3, 0), ordered(3, 1)));
        let butterfly = |near, far, crossing| {
            Some(Pattern::Butterfly {
                near,
                far,
                crossing,
            })
        };
        for collective in [Allgather, Allreduce] {
            let doubling = |ranks| found(collective, "recursive-doubling", "", ranks);
            assert_eq!(doubling(8), butterfly(3, 0, 0), "{collective}");
            assert_eq!(doubling(16), butterfly(3, 1, 16), "{collective}");
        }
    }

    #[test]
    fn what_makes_no_pattern_is_none() {
        assert_eq!(found(Allgather, "ring", "", 8), None);
        assert_eq!(found(Allgather, "gather-broadcast", "", 8), None);
        assert_eq!(found(Broadcast, "binomial", "", 1), None);
    }
}
