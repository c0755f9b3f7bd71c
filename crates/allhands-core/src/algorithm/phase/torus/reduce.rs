//! Reduction along streams: segments go up every tree and are combined on the way.

use crate::algorithm::phase::torus::prefix;
use crate::algorithm::phase::torus::streams::{Place, combine, strands};
use crate::schedule::Builder;

/// Where a reduction along streams ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// At the streams' root.
    AtRoot,
    /// At `end`, the streams' root, which sends each segment on to `root`, the root of the call.
    At {
        /// The root of the streams.
        end: u32,
        /// The root of the call.
        root: u32,
    },
}

/// Reduces up every stream.
pub fn reduce(b: &mut Builder, places: &[Place], ends: Ends) {
    prefix::emit(b);
    let (rank, root, input, segments) = (b.rank(), b.root(), b.input(), b.get("segments"));
    let sums = match ends {
        Ends::AtRoot if rank == root => b.output(),
        _ if places.iter().any(|place| !place.lines.is_empty()) => b.vector(),
        _ => input,
    };
    let output = b.output();
    strands(b, places, &|b, place, first| {
        let own = input.at(first).advancing(1);
        b.repeat(segments, 0, |b| {
            let sum = combine(b, place, own, sums.at(first).advancing(1));
            if let Some(parent) = place.parent {
                b.send(parent, sum);
            }
            if let Ends::At { end, root } = ends {
                if rank == end {
                    b.send(root, sum);
                } else if rank == root {
                    b.recv(end, output.at(first).advancing(1));
                }
            }
        });
    });
}
