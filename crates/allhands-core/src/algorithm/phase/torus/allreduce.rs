//! Allreduce along streams: segments go up every tree and come down again.

use crate::algorithm::phase::torus::prefix;
use crate::algorithm::phase::torus::streams::{Place, combine, send_on, strands};
use crate::schedule::Builder;

/// Reduces up every stream and broadcasts down again: what has come to the root goes back while more still comes.
pub fn allreduce(b: &mut Builder, places: &[Place]) {
    prefix::emit(b);
    let (input, output, segments) = (b.input(), b.output(), b.get("segments"));
    strands(b, places, &|b, place, first| {
        let output = output.at(first).advancing(1);
        let own = input.at(first).advancing(1);
        b.repeat(segments, 0, |b| {
            let sum = combine(b, place, own, output);
            if let Some(parent) = place.parent {
                b.send(parent, sum);
                b.recv(parent, output);
            }
            send_on(b, &place.lines, output);
        });
    });
}
