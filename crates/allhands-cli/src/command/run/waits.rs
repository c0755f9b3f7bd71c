//! Who waits for whom, as the roll has it: what the launcher says when it is asked, or ends what does not end by itself.

use allhands::launch::{Roll, Standing};
use allhands::transport::Waits;

/// A line for each wait: for all ranks that wait in the same call for the same ranks.
pub fn all(roll: &Roll, name: impl Fn(u32) -> u32) -> Vec<String> {
    let mut waits: Vec<(Vec<u32>, Waits)> = Vec::new();
    for (rank, wait) in (0..roll.ranks()).filter_map(|r| roll.waits(r).map(|wait| (name(r), wait)))
    {
        let same = |(_, other): &&mut (_, Waits)| {
            other.collective == wait.collective
                && other.missing_in_all == wait.missing_in_all
                && other.missing == wait.missing
        };
        match waits.iter_mut().find(same) {
            Some((ranks, other)) => {
                ranks.push(rank);
                other.since = other.since.max(wait.since);
            }
            None => waits.push((vec![rank], wait)),
        }
    }
    let line =
        |(ranks, wait): &(Vec<u32>, Waits)| wait.describe(ranks) + &absent(roll, wait, &name);
    waits.iter().map(line).collect()
}

/// What is known of the first rank that is waited for, if it is not even a rank yet.
fn absent(roll: &Roll, wait: &Waits, name: impl Fn(u32) -> u32) -> String {
    let first = wait.missing.first();
    let is_absent = |rank: &&u32| {
        let here = (0..roll.ranks()).find(|here| name(*here) == **rank);
        here.is_some_and(|here| roll.standing(here) == Standing::Absent)
    };
    let absent = first.filter(is_absent);
    absent.map_or_else(String::new, |rank| {
        format!("; rank {rank} has not come to Communicator::world")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use allhands::launch::Segment;

    #[test]
    fn nobody_waits_in_a_new_world() {
        let segment = Segment::create().expect("a segment");
        let roll = Roll::begin(segment, 3).expect("a roll");
        assert_eq!(all(&roll, |rank| rank), Vec::<String>::new());
    }
}
