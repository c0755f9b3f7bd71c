//! The list of guidelines: what each collective may take, by what others take that do its work.

use crate::command::bench::spread::Spread;
use allhands_core::call::Collective;

/// Calls, each with its size as users type it.
pub type Calls = Vec<(Collective, usize)>;

/// A guideline at a size: the left side takes no longer than the right one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guideline {
    pub name: String,
    pub bytes: usize,
    pub left: Calls,
    pub right: Calls,
    pub how: How,
}

/// How the calls of a right side are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// As those of a left side.
    Alike,
    /// Each rank then combines its own vector with what they have given it.
    Combined,
    /// In their irregular forms, with blocks of such lengths.
    Irregular(Spread),
}

impl Guideline {
    /// What no other one has: its name, the collective, the size.
    pub fn key(&self) -> (String, String, usize) {
        let collective = self.left[0].0.name().to_string();
        (self.name.clone(), collective, self.bytes)
    }
}

/// The size of a call by that of the left side.
#[derive(Clone, Copy, Debug)]
enum Size {
    /// As long.
    Same,
    /// As long as all ranks' blocks together.
    All,
    /// A rank's part of it, rounded up to whole elements.
    Part,
}

/// The length of an element.
const ELEMENT_BYTES: usize = 8;

impl Size {
    fn of(self, bytes: usize, ranks: usize) -> usize {
        match self {
            Size::Same => bytes,
            Size::All => bytes * ranks,
            Size::Part => bytes.div_ceil(ELEMENT_BYTES * ranks) * ELEMENT_BYTES,
        }
    }
}

use Collective::{
    Allgather, Allreduce, Alltoall, Barrier, Broadcast, Exscan, Gather, Reduce, ReduceScatter,
    Scan, Scatter,
};
use Size::{All, Part, Same};

/// The patterns of PGMPI, as far as they are regular and of calls alone; with an irregular form for the right side's last call most would
/// be the same pattern again. Those of barrier and of exscan, which needs no more than scan, are ours.
const PATTERNS: &[(Collective, &[(Collective, Size)])] = &[
    (Allgather, &[(Gather, Same), (Broadcast, All)]),
    (Allgather, &[(Allreduce, All)]),
    (Allgather, &[(Alltoall, Same)]),
    (Allreduce, &[(Reduce, Same), (Broadcast, Same)]),
    (Allreduce, &[(ReduceScatter, Same), (Allgather, Part)]),
    (Barrier, &[(Allreduce, Same)]),
    (Broadcast, &[(Scatter, Part), (Allgather, Part)]),
    (Gather, &[(Allgather, Same)]),
    (Gather, &[(Reduce, All)]),
    (Reduce, &[(Allreduce, Same)]),
    (Reduce, &[(ReduceScatter, Same), (Gather, Part)]),
    (ReduceScatter, &[(Allreduce, Same)]),
    (ReduceScatter, &[(Reduce, Same), (Scatter, Part)]),
    (Scatter, &[(Broadcast, All)]),
    (Exscan, &[(Scan, Same)]),
];

/// PGMPI's patterns whose right side is an irregular form that does the regular one's work.
const IRREGULAR: &[(Collective, Collective, Spread)] = &[
    (Allgather, Allgather, Spread::Equal),
    (Alltoall, Alltoall, Spread::Equal),
    (Broadcast, Allgather, Spread::First),
    (Gather, Gather, Spread::Equal),
    (ReduceScatter, ReduceScatter, Spread::Equal),
    (Scatter, Scatter, Spread::Equal),
];

/// All guidelines of some collectives at these sizes, in order, among so many ranks.
pub fn all(collectives: &[Collective], sizes: &[usize], ranks: u32) -> Vec<Guideline> {
    let mut all = by_others(collectives, sizes, ranks as usize);
    all.extend(by_irregular(collectives, sizes));
    if collectives.contains(&Scan) {
        all.extend(sizes.iter().map(|&bytes| Guideline {
            name: "scan <= exscan + reduction".to_string(),
            bytes,
            left: vec![(Scan, bytes)],
            right: vec![(Exscan, bytes)],
            how: How::Combined,
        }));
    }
    let mut rising = sizes.to_vec();
    rising.sort_unstable();
    rising.dedup();
    for &collective in collectives
        .iter()
        .filter(|collective| **collective != Barrier)
    {
        all.extend(by_sizes(collective, &rising));
    }
    all
}

/// What a collective may take by others that do its work.
fn by_others(collectives: &[Collective], sizes: &[usize], ranks: usize) -> Vec<Guideline> {
    let mut all = Vec::new();
    for (left, right) in PATTERNS
        .iter()
        .filter(|pattern| collectives.contains(&pattern.0))
    {
        let names: Vec<&str> = right.iter().map(|call| call.0.name()).collect();
        let name = format!("{} <= {}", left.name(), names.join(" + "));
        // Nothing goes through a barrier; an element is what its counterpart has.
        let sizes = match left {
            Barrier => &[ELEMENT_BYTES],
            _ => sizes,
        };
        all.extend(sizes.iter().map(|&bytes| {
            Guideline {
                name: name.clone(),
                bytes,
                left: vec![(*left, bytes)],
                right: right
                    .iter()
                    .map(|(call, size)| (*call, size.of(bytes, ranks)))
                    .collect(),
                how: How::Alike,
            }
        }));
    }
    all
}

/// What a collective may take by an irregular form.
fn by_irregular<'a>(
    collectives: &'a [Collective],
    sizes: &'a [usize],
) -> impl Iterator<Item = Guideline> + 'a {
    let patterns = IRREGULAR.iter();
    let asked = patterns.filter(|pattern| collectives.contains(&pattern.0));
    asked.flat_map(move |&(left, right, spread)| {
        sizes.iter().map(move |&bytes| Guideline {
            name: format!("{} <= {}-v", left.name(), right.name()),
            bytes,
            left: vec![(left, bytes)],
            right: vec![(right, bytes)],
            how: How::Irregular(spread),
        })
    })
}

/// Monotony and split-robustness of a collective at rising sizes.
fn by_sizes(collective: Collective, rising: &[usize]) -> impl Iterator<Item = Guideline> {
    let monotony = rising.windows(2).map(move |pair| Guideline {
        name: "monotony".to_string(),
        bytes: pair[0],
        left: vec![(collective, pair[0])],
        right: vec![(collective, pair[1])],
        how: How::Alike,
    });
    let can_be_halved = rising.iter().filter(|bytes| **bytes >= 2 * ELEMENT_BYTES);
    let split = can_be_halved.map(move |&bytes| {
        let half = bytes.div_ceil(2 * ELEMENT_BYTES) * ELEMENT_BYTES;
        Guideline {
            name: "split-robustness".to_string(),
            bytes,
            left: vec![(collective, bytes)],
            right: vec![(collective, half); 2],
            how: How::Alike,
        }
    });
    monotony.chain(split)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_do_the_same_work() {
        let all = all(&Collective::ALL, &[8, 1024], 4);
        let of = |name: &str| {
            let found = all.iter().filter(|guideline| guideline.name == name);
            found
                .map(|guideline| guideline.right.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            of("allgather <= gather + broadcast"),
            [
                vec![(Gather, 8), (Broadcast, 32)],
                vec![(Gather, 1024), (Broadcast, 4096)]
            ]
        );
        // No block is shorter than an element.
        assert_eq!(
            of("broadcast <= scatter + allgather"),
            [
                vec![(Scatter, 8), (Allgather, 8)],
                vec![(Scatter, 256), (Allgather, 256)]
            ]
        );
        assert_eq!(of("barrier <= allreduce"), [vec![(Allreduce, 8)]]);
        let by_exscan = all
            .iter()
            .filter(|guideline| guideline.how == How::Combined);
        let by_exscan: Vec<_> = by_exscan.map(|one| (&one.left, &one.right)).collect();
        let sides = |bytes| (vec![(Scan, bytes)], vec![(Exscan, bytes)]);
        let expected = [sides(8), sides(1024)];
        assert!(
            by_exscan
                .into_iter()
                .eq(expected.iter().map(|(left, right)| (left, right)))
        );
        assert_eq!(
            of("broadcast <= allgather-v"),
            [[(Allgather, 8)], [(Allgather, 1024)]]
        );
        let irregular = all
            .iter()
            .filter(|guideline| matches!(guideline.how, How::Irregular(_)));
        assert_eq!(irregular.count(), 12);
        let halves = of("split-robustness");
        assert_eq!(
            halves.len(),
            10,
            "one for each but the barrier, of the longer size"
        );
        assert!(halves.contains(&vec![(Scan, 512); 2]));
        assert_eq!(of("monotony").len(), 10);
    }
}
