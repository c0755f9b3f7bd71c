//! The whole of a composed algorithm: what follows from its phases for its parts, its order and its costs.

use super::among::Among;
use super::phases::{Phase, part};
use crate::algorithm::phase::division;
use crate::algorithm::{Algorithm, Claims};
use crate::call::Collective;
use crate::pattern::division::cut;
use crate::schedule::Shape;
use alloc::vec;
use alloc::vec::Vec;

/// The algorithm of each phase, with the call of its largest group: with root 0, and with the roots of all shares and of the
/// group that has the whole call's.
fn parts_of<'a>(
    shape: &'a Shape,
    phases: &'a [Phase],
) -> impl Iterator<Item = Vec<(&'static Algorithm, Shape)>> + 'a {
    let (sizes, shares) = (division::sizes(shape), division::shares(shape));
    let (mut node, mut inside) = (0, shape.call.root);
    while sizes.get(node).is_some_and(|size| inside >= *size) {
        inside -= sizes[node];
        node += 1;
    }
    phases.iter().map(move |phase| {
        let largest = sizes.iter().copied().max().unwrap_or(1);
        let mut roots = vec![0];
        let ranks = match phase.among {
            Among::Node => {
                roots.push(inside);
                roots.extend((1..shares).map(|share| cut(largest, share, shares)));
                largest
            }
            Among::Share => largest.div_ceil(shares),
            Among::Leaders => {
                roots.push(node as u32);
                sizes.len() as u32
            }
        };
        if !phase.collective().rooted() {
            roots.truncate(1);
        }
        let of_root = |root| part(shape, phase, ranks, root);
        roots.into_iter().map(of_root).collect()
    })
}

/// In how many parts a vector is cut, so that every phase can cut its share in equally long pieces.
#[must_use]
pub fn parts(shape: &Shape, phases: &[Phase]) -> u32 {
    let cuts = parts_of(shape, phases).map(|roots| {
        let (part, shape) = &roots[0];
        (part.parts)(shape)
    });
    cuts.fold(1, least_common_multiple) * division::shares(shape)
}

/// Whether all phases keep rank order; the ranks of a node follow one another, and so do the nodes.
#[must_use]
pub fn keep_order(shape: &Shape, phases: &[Phase]) -> bool {
    let mut parts = parts_of(shape, phases).flatten();
    parts.all(|(part, shape)| (part.ordered)(&shape))
}

/// What the phases cost together at most: the ports of the widest, for each share and for what is done before or after all
/// shares, and the steps of all of them, one phase after another.
/// It can be less, as ranks go on to the next phase as soon as theirs is over. What a scatter's root sends and a gather's gets is
/// each other rank's block, once. Of all others no volume is claimed, and of reductions no work: an algorithm's claims say the most of
/// any of its ranks and not of which, and it is seldom the same rank that has the most in all phases.
#[must_use]
pub fn claims(shape: &Shape, phases: &[Phase]) -> Claims {
    let none = Claims {
        ports: 0,
        steps: 0,
        volume: match shape.call.collective {
            Collective::Barrier => 0,
            Collective::Scatter | Collective::Gather => u64::from(shape.ranks() - 1),
            Collective::Broadcast
            | Collective::Allgather
            | Collective::Alltoall
            | Collective::ReduceScatter
            | Collective::Reduce
            | Collective::Allreduce
            | Collective::Scan
            | Collective::Exscan => Claims::UNCLAIMED,
        },
        work: match shape.call.collective.reduces() {
            true => Claims::UNCLAIMED,
            false => 0,
        },
    }
    .with_steps_at_most();
    let mut side_by_side = 0;
    let all = parts_of(shape, phases).fold(none, |all, roots| {
        let claims: Vec<Claims> = roots.iter().map(|(a, shape)| (a.claims)(shape)).collect();
        let most = |of: fn(&Claims) -> u32| claims.iter().map(of).max().unwrap_or(0);
        let ports = most(|c| c.ports);
        // Streams that do not start together may come together where they did not, and with what is done before or after them.
        match streams(&roots[0]) {
            0 | 1 => {}
            several => side_by_side += ports * several,
        }
        Claims {
            ports: all.ports.max(ports),
            steps: all.steps + most(|c| c.steps),
            ..all
        }
    });
    let times = match division::shares(shape) {
        1 => 1,
        shares => shares + 1,
    };
    Claims {
        ports: (all.ports + side_by_side) * times,
        ..all
    }
}

/// How many streams an algorithm has side by side.
fn streams((part, shape): &(&Algorithm, Shape)) -> u32 {
    let strands = part.schedule(shape, 0).strands.len();
    let ways = shape.torus.map_or(1, |torus| torus.ways().count());
    strands.max(ways) as u32
}

fn least_common_multiple(a: u32, b: u32) -> u32 {
    let (mut x, mut y) = (a, b);
    while y > 0 {
        (x, y) = (y, x % y);
    }
    a / x * b
}
