//! What the links between a torus's nodes did.

use super::grid::{DIRECTIONS, Grid, NOBODY};
use crate::simulate::links::{Gauges, Link, Place};
use alloc::format;
use alloc::vec::Vec;

/// What every link did that is there, in the order of the nodes that it leaves and of its direction.
pub(super) fn all(grid: &Grid, gauges: &Gauges) -> Vec<Link> {
    let mut links = Vec::new();
    for (at, load) in gauges.loads().iter().enumerate() {
        let (node, direction) = ((at / DIRECTIONS) as u32, at % DIRECTIONS);
        if grid.neighbour(node, direction) == NOBODY {
            continue;
        }
        let [x, y, z] = grid.coordinates(node);
        let (dimension, up) = (direction / 2, direction % 2 == 0);
        let way = if up { '+' } else { '-' };
        links.push(Link {
            name: format!("{x},{y},{z} {way}{}", ["x", "y", "z"][dimension]),
            place: Some(Place {
                at: [x, y, z].into(),
                dimension: Some(dimension as u8),
                forward: up,
            }),
            load: load.clone(),
        });
    }
    links
}
