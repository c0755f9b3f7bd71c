//! Streams: a vector goes, or is combined, along several trees at once, in segments one behind the other.
//!
//! Each stream has a part of the vector of its own and is a strand: a segment goes on when it is there. Which trees these are, and
//! where this rank stands in them, the caller says.

use crate::algorithm::phase::torus::prefix;
use crate::schedule::{Blocks, Builder, Shape, Side};
use alloc::vec::Vec;

/// Where a rank stands in a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The rank nearer to the root; `None` at the root.
    pub parent: Option<u32>,
    /// The ranks further away to which this one sends, by the straight lines on which they are: all but the last of a line get
    /// copies that the packets for the last leave behind.
    pub lines: Vec<Vec<u32>>,
}

impl Place {
    /// The ranks on all lines.
    pub fn children(&self) -> impl Iterator<Item = u32> + '_ {
        self.lines.iter().flatten().copied()
    }
}

/// In how many parts the vector is cut: segments for each stream.
#[must_use]
pub fn parts(shape: &Shape, streams: usize) -> u32 {
    shape.get("segments") * streams.max(1) as u32
}

/// Gives each stream a strand: `each` is called with this rank's place and the number of the stream's first part. All of them begin
/// when the prefix is done, if there is one.
pub fn strands(b: &mut Builder, places: &[Place], each: &dyn Fn(&mut Builder, &Place, u32)) {
    let segments = b.parts() / places.len().max(1) as u32;
    let before = prefix::items(b);
    for (number, place) in places.iter().enumerate() {
        let first = number as u32 * segments;
        if number == 0 {
            each(b, place, first);
        } else {
            b.strand(|b| {
                prefix::hold(b, before);
                each(b, place, first);
            });
        }
    }
}

/// Sends to the last rank of each line, and copies on the way to the others.
pub fn send_on(b: &mut Builder, lines: &[Vec<u32>], source: Blocks) {
    for (port, line) in lines.iter().enumerate() {
        let mut backwards = line.iter().rev();
        b.port(port as u32);
        if let Some(last) = backwards.next() {
            b.send(*last, source);
        }
        backwards.for_each(|passed| b.send_deposited(*passed, source));
    }
}

/// Combines what comes from the children with the own vector; says where the sum is.
pub fn combine(b: &mut Builder, place: &Place, own: Blocks, into: Blocks) -> Blocks {
    let mut sum = own;
    for (port, child) in place.children().enumerate() {
        b.port(port as u32)
            .recv_reduce(child, Side::Right, sum, into);
        sum = into;
    }
    sum
}
