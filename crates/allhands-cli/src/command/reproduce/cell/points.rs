//! The points at which a line of C's tables is held against the simulated machine: SPEs, sizes, rounds in which a hybrid switches.

use super::measure::{BLADE, SPES};
use allhands_core::call::Collective;
use allhands_core::cost::formula::Ranks;
use allhands_core::cost::formula::ali::{Cells, Model};

/// The shortest vectors, each of which doubles up to [`LONGEST_BYTES`]: C 7.2's sizes, and those half way between.
const SHORTEST_BYTES: [usize; 2] = [64, 96];
const LONGEST_BYTES: usize = 32 << 10;

/// Of an allgather a size is that of a rank's block; all of them fit in half a local store.
const MOST_GATHERED_BYTES: usize = 128 << 10;

/// The rounds in which the hybrids switch.
const SWITCHES: [u32; 3] = [2, 3, 4];

/// What a model is asked, and the simulator.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// p.
    pub ranks: u32,
    /// The vector, or the block of an allgather.
    pub bytes: usize,
    /// x of a hybrid.
    pub x: u32,
}

/// All sizes, by rising length.
pub fn sizes() -> Vec<usize> {
    let doubled = |shortest: usize| {
        let sizes = std::iter::successors(Some(shortest), |bytes| Some(2 * bytes));
        sizes.take_while(|bytes| *bytes <= LONGEST_BYTES)
    };
    let mut sizes: Vec<usize> = SHORTEST_BYTES.into_iter().flat_map(doubled).collect();
    sizes.sort_unstable();
    sizes
}

/// Where a model is held against the simulator: barriers of 2 to 16 SPEs, everything else on 2, 4, 8 and 16 at all sizes.
pub fn points(model: &Model) -> Vec<Point> {
    if model.collective == Collective::Barrier {
        return barriers(model);
    }
    let all: &[u32] = match model.cells {
        Cells::One => &[2, 4, SPES],
        Cells::Two => &[BLADE],
    };
    let switches: &[u32] = if model.hybrid { &SWITCHES } else { &[0] };
    let longest = |ranks: u32| match model.collective {
        Collective::Allgather => MOST_GATHERED_BYTES / ranks as usize,
        _ => usize::MAX,
    };
    let mut points = Vec::new();
    for ranks in all.iter().copied() {
        for bytes in sizes().into_iter().filter(|bytes| *bytes <= longest(ranks)) {
            points.extend(switches.iter().map(|x| Point {
                ranks,
                bytes,
                x: *x,
            }));
        }
    }
    points
}

fn barriers(model: &Model) -> Vec<Point> {
    let spes = match model.cells {
        Cells::One => 2..=SPES,
        Cells::Two => SPES + 1..=BLADE,
    };
    let fits = |ranks: &u32| match model.domain {
        Ranks::PowersOfTwo => ranks.is_power_of_two(),
        Ranks::NotPowersOfTwo => !ranks.is_power_of_two(),
        _ => true,
    };
    let (bytes, x) = (0, 0);
    let point = |ranks| Point { ranks, bytes, x };
    spes.filter(fits).map(point).collect()
}
