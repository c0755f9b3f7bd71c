//! Routes: where a rank stands in the spanning trees and the Hamiltonian paths of a torus.

use crate::algorithm::phase::torus::grid::torus;
use crate::algorithm::phase::torus::reduce::Ends;
use crate::algorithm::phase::torus::streams::Place;
use crate::machine::Direction;
use crate::pattern::hamiltonian::Hamiltonian;
use crate::pattern::spanning_trees::SpanningTrees;
use crate::schedule::Shape;
use alloc::vec;
use alloc::vec::Vec;

/// The way that a spanning tree takes first.
#[must_use]
pub fn way_of_tree(shape: &Shape, tree: usize) -> Option<Direction> {
    SpanningTrees::new(torus(shape), shape.call.root).way(tree)
}

/// A rank's places in the spanning trees of `root` (B 3.1, figure 1): each rank gets from its neighbour, or, with `deposit`, copies
/// of what passes on the line.
#[must_use]
pub fn trees(shape: &Shape, root: u32, rank: u32, deposit: bool) -> Vec<Place> {
    let trees = SpanningTrees::new(torus(shape), root);
    let place = |tree| match deposit {
        true => Place {
            parent: trees.source(tree, rank),
            lines: trees.lines(tree, rank).collect(),
        },
        false => Place {
            parent: trees.parent(tree, rank),
            lines: trees
                .children(tree, rank)
                .map(|(_, child)| vec![child])
                .collect(),
        },
    };
    (0..trees.count()).map(place).collect()
}

/// A rank's places in the Hamiltonian paths that end at `root`, or as near as can be: two in opposite directions where there is a
/// cycle and `both` are asked for, one otherwise (B 3.1, figure 2).
#[must_use]
pub fn paths(shape: &Shape, root: u32, rank: u32, both: bool) -> (Vec<Place>, Ends) {
    let p = shape.ranks();
    let path = Hamiltonian::new(torus(shape), root);
    let end = if path.is_cycle() {
        root
    } else {
        path.at(p - 1)
    };
    // On a cycle the path begins behind its end.
    let (here, last) = (path.place(rank), path.place(end));
    let left = if here > last {
        p - (here - last)
    } else {
        last - here
    };
    let at = |left: u32| {
        path.at(if left > last {
            p - (left - last)
        } else {
            last - left
        })
    };
    let place = |left: u32, at: &dyn Fn(u32) -> u32| Place {
        parent: (left > 0).then(|| at(left - 1)),
        lines: (left + 1 < p)
            .then(|| vec![at(left + 1)])
            .into_iter()
            .collect(),
    };
    let mut places = Vec::new();
    if p > 1 {
        places.push(place(left, &at));
    }
    if both && path.is_cycle() {
        let backwards = |left: u32| at((p - left) % p);
        places.push(place((p - left) % p, &backwards));
    }
    let ends = match end == root {
        true => Ends::AtRoot,
        false => Ends::At { end, root },
    };
    (places, ends)
}
