//! Combining in windows: what others have left there is combined where it is read, all of it by one rank, or by each a part.
//!
//! ```text
//! 3 ranks, by parts      r: part r of its own ⊕ those in the other windows, into its own window      then get the other parts
//! ```
//!
//! Source: Q 4.2.

use crate::algorithm::Claims;
use crate::algorithm::phase::shared_memory::window::{Turns, all_but, vector};
use crate::schedule::{Blocks, Builder, Shape, Side};

/// Combines a block of every other rank's window with `own` into `into`, from this rank downwards and then upwards, so that
/// ranks which do this at once begin at different windows. Nobody else reads these blocks.
pub fn around(b: &mut Builder, window: Blocks, own: Blocks, into: Blocks) {
    let (p, rank) = (b.ranks(), b.rank());
    let lower = (0..rank).rev().map(|from| (from, Side::Left));
    let higher = (rank + 1..p).map(|from| (from, Side::Right));
    let mut sum = own;
    for (from, side) in lower.chain(higher) {
        b.get_reduce_last(from, side, window, sum, into);
        b.step();
        sum = into;
    }
    if p == 1 {
        b.copy(own, into);
        b.step();
    }
}

/// Two phases in which rank r combines part r of all vectors in `sum` and leaves it in its own window; then a second counter
/// tells who wants the result, one rank or all, that it may get the parts.
pub fn by_parts(b: &mut Builder, root: Option<u32>, sum: Blocks) {
    let (p, rank, input) = (b.ranks(), b.rank(), b.input());
    let (serves, reads) = (root != Some(rank), root.is_none_or(|root| root == rank));
    let (at, servers) = root.map_or((0, p), |root| (root, p - 1));
    let window = vector(b);
    // Where all watch the second counter it says that all have read the windows but for the own parts, and those are written
    // when all have entered the next call. Otherwise the root gives the windows back at once.
    let turns = match root {
        Some(_) => Turns::new(b, [0, 0], 1),
        None => Turns::unguarded(b, 0),
    };
    let summed = b.flag(0);
    turns.take(b);
    turns.fill(b, &all_but(rank, input, window));
    around(b, window.at(rank), input.at(rank), sum);
    if serves {
        b.copy(sum, window.at(rank));
        b.step();
        b.notify(at, summed);
    }
    if reads {
        b.watch(at, summed, servers);
        b.step();
        get_parts(b, window, root.is_some());
        turns.give_back(b);
    }
}

/// Gets the parts of all others; alone, this rank is the only one that reads them.
fn get_parts(b: &mut Builder, window: Blocks, alone: bool) {
    let (rank, output) = (b.rank(), b.output());
    for from in (0..b.ranks()).filter(|from| *from != rank) {
        let (part, into) = (window.at(from), output.at(from));
        match alone {
            true => b.get_last(from, part, into),
            false => b.get_from(from, part, into),
        }
    }
}

/// What it costs to combine all vectors at once, or by parts and then to get them.
#[must_use]
pub fn claims(shape: &Shape, by_parts: bool) -> Claims {
    let others = shape.ranks() - 1;
    // The counter and one window after another; for parts a second counter, and the parts of the others.
    let (ends, passes) = if by_parts { (3, 2) } else { (1, 1) };
    Claims {
        ports: others,
        steps: if others > 0 { others + ends } else { 0 },
        volume: passes * u64::from(others),
        work: u64::from(others),
    }
}
