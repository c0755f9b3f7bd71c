//! What an all-gather among nodes costs.

use super::{BETWEEN, Passage, Steps};
use crate::algorithm::Claims;
use crate::schedule::Shape;

/// A leader gives its node's blocks, and those that have come to it, where the steps say, and each other rank of its
/// node gets all but its own from its window. Ports at most, what is copied out at once, at the end all blocks of other nodes; steps
/// at most, three rounds on a node, to fill, copy out and say so, and one a step; where leaders send, a round more, in which they say
/// that all is there.
#[must_use]
pub fn claims(shape: &Shape, steps: impl Fn(u32) -> Steps) -> Claims {
    let sizes = shape.nodes.innermost(shape.ranks());
    let alone = sizes.iter().all(|size| *size == 1);
    let steps = steps(sizes.len() as u32);
    let others = u64::from(shape.ranks() - 1);
    let volume = |(node, size): (usize, &u32)| {
        let from_node = sizes.iter().cycle().skip(node);
        let carried = |p: &Passage| from_node.clone().take(p.nodes as usize).sum::<u32>();
        let given: u32 = steps.iter().flatten().map(carried).sum();
        u64::from(size - 1) * others + u64::from(given)
    };
    let among_nodes = steps.len() as u32;
    // By messages, 1.
    let told = shape.get(BETWEEN.name);
    Claims {
        ports: shape.ranks() - 1,
        steps: if alone {
            among_nodes
        } else {
            3 + told + among_nodes
        },
        volume: sizes.iter().enumerate().map(volume).max().unwrap_or(0),
        work: 0,
    }
    .with_steps_at_most()
}
