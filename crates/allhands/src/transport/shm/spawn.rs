//! Spawning: a thread for each rank, and what becomes of them.

use super::segment::shared_segment::SharedSegment;
use crate::transport::TransportError;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Runs `rank_main(rank, segment)` on a thread for each of `ranks` ranks and gives what they return, by rank.
///
/// A rank whose function returns without having opened an endpoint, or panics, has left for its peers.
///
/// # Errors
/// [`TransportError::NoRanks`], or [`TransportError::RankPanicked`] with the rank that panicked first.
///
/// # Panics
/// If the system gives no further thread.
pub fn spawn<R: Send>(
    ranks: u32,
    rank_main: impl Fn(u32, Arc<SharedSegment>) -> R + Sync,
) -> Result<Vec<R>, TransportError> {
    let segment = SharedSegment::new(ranks)?;
    let place = |rank| (Arc::clone(&segment), rank);
    spawn_on(ranks, place, rank_main)
}

/// The same for ranks on several nodes: `place` gives a rank's segment and its number there.
///
/// # Errors
/// [`TransportError::RankPanicked`] with the rank that panicked first.
pub(crate) fn spawn_on<R: Send>(
    ranks: u32,
    place: impl Fn(u32) -> (Arc<SharedSegment>, u32) + Sync,
    rank_main: impl Fn(u32, Arc<SharedSegment>) -> R + Sync,
) -> Result<Vec<R>, TransportError> {
    let first_panicked = AtomicU32::new(u32::MAX);
    let run = |rank: u32| {
        let (segment, number) = place(rank);
        // Nothing that a panic left half-done is used again: the peers of this rank only get errors.
        let result = catch_unwind(AssertUnwindSafe(|| rank_main(rank, Arc::clone(&segment))));
        match result {
            Ok(value) => {
                if segment.member(number).take() {
                    segment.leave(number, false);
                }
                Some(value)
            }
            Err(_) => {
                let order = Ordering::Relaxed;
                // Whoever comes second is not the first.
                let _ = first_panicked.compare_exchange(u32::MAX, rank, order, order);
                segment.leave(number, true);
                None
            }
        }
    };
    let values: Vec<Option<R>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..ranks)
            .map(|rank| scope.spawn(move_rank(&run, rank)))
            .collect();
        // A rank's own panic is caught above; a panic payload that panics when dropped counts as one.
        threads
            .into_iter()
            .map(|t| t.join().unwrap_or(None))
            .collect()
    });
    match first_panicked.into_inner() {
        u32::MAX => Ok(values.into_iter().flatten().collect()),
        rank => Err(TransportError::RankPanicked { rank }),
    }
}

fn move_rank<R>(run: &(impl Fn(u32) -> R + Sync), rank: u32) -> impl FnOnce() -> R {
    move || run(rank)
}
