//! The links of a multi-rail cluster as they are shown: the bus of each node's interface on each rail, out and in together.

use crate::simulate::links::{Gauges, Link, Place};
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

/// All of them: their places are (node, rail).
pub(super) fn all(rails: u32, gauges: &Gauges) -> Vec<Link> {
    let link = |(number, load): (usize, &crate::simulate::links::LinkLoad)| {
        let (node, rail) = (number as u32 / rails, number as u32 % rails);
        Link {
            name: format!("rail {rail} of node {node}"),
            place: Some(Place {
                at: vec![node, rail],
                dimension: None,
                forward: true,
            }),
            load: load.clone(),
        }
    };
    gauges.loads().iter().enumerate().map(link).collect()
}
