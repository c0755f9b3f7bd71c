//! Views: which blocks are the rows of an algorithm's figure after a step.

use crate::schedule::{Blocks, Builder};
use alloc::vec;

/// Says, for pictures, that the rows from `first` on are the blocks of `held`, in order; the others are empty.
pub fn rows(b: &mut Builder, held: &[(u32, &[Blocks])]) {
    let count = b.parts() as usize;
    b.view(|| {
        let mut rows = vec![None; count];
        for &(first, sets) in held {
            let blocks = sets
                .iter()
                .flat_map(|set| (0..set.run).map(|index| set.at(index)));
            for (row, block) in rows[first as usize..].iter_mut().zip(blocks) {
                *row = Some(block);
            }
        }
        rows
    });
}

/// Says that all rows are the blocks of one vector.
pub fn whole(b: &mut Builder, vector: Blocks) {
    rows(b, &[(0, &[vector])]);
}
