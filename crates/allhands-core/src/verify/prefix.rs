//! Prefixes: that no strand of an algorithm begins before what all ranks are to do first.

use crate::algorithm::phase::torus::prefix;
use crate::schedule::{Item, OpKind, Schedule, Shape};
use crate::symbolic::{Failure, Law};
use alloc::format;

/// Proves that every strand but the first, which does the prefix, begins by awaiting all of it, where the call asks for a prefix.
/// That the prefix itself is a barrier is proved where it is registered as one.
///
/// # Errors
/// A [`Law::Claim`] that names the rank and the strand.
pub fn check(shape: &Shape, schedules: &[Schedule]) -> Result<(), Failure> {
    for schedule in schedules.iter().filter(|s| s.strands.len() > 1) {
        let first = prefix::alone(shape, schedule.rank).strands[0].items.len();
        let awaits = |item: &Item| {
            let mut ops = schedule.ops[item.ops()].iter();
            ops.any(|op| matches!(op.kind, OpKind::Await { strand: 0, items } if items as usize >= first))
        };
        let others = schedule.strands.iter().enumerate().skip(1);
        let mut early = others.filter(|(_, strand)| !strand.items.first().is_none_or(awaits));
        if let Some((number, _)) = early.next().filter(|_| first > 0) {
            return Err(Failure {
                law: Law::Claim,
                rank: schedule.rank,
                what: format!("strand {number} begins before the prefix is done"),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::find;
    use crate::call::{Call, Collective};

    #[test]
    fn a_strand_that_does_not_wait_is_named() {
        let algorithm = find(Collective::Broadcast, "torus-trees").expect("it is there");
        let torus = "2x2x2:mesh".parse().expect("it is a torus");
        let shape = |text| {
            let shape = algorithm.shape(Call::new(Collective::Broadcast, 8), text);
            shape.expect("it has the key").on_torus(Some(torus))
        };
        let (plain, asked) = (shape(""), shape("prefix=barrier"));
        assert_eq!(check(&asked, &algorithm.world(&asked)), Ok(()));
        assert_eq!(check(&plain, &algorithm.world(&plain)), Ok(()));
        let failure = check(&asked, &algorithm.world(&plain)).unwrap_err();
        assert_eq!((failure.law, failure.rank), (Law::Claim, 0));
        assert_eq!(failure.what, "strand 1 begins before the prefix is done");
    }
}
