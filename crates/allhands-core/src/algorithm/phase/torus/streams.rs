//! Streams: a vector goes, or is combined, along several trees at once, in segments one behind the other.
//!
//! Each stream has a part of the vector of its own and is a strand: a segment goes on when it is there. Which trees these are, and
//! where this rank stands in them, the caller says.

use crate::algorithm::Claims;
use crate::algorithm::phase::torus::prefix;
use crate::schedule::{Blocks, Builder, Shape, Side};
use alloc::vec;
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

/// Broadcasts along every stream.
pub fn down(b: &mut Builder, places: &[Place]) {
    prefix::emit(b);
    let (input, output) = (b.input(), b.output());
    let root = b.rank() == b.root();
    if root {
        b.copy(input, output);
        b.step();
    }
    let segments = b.get("segments");
    strands(b, places, &|b, place, first| {
        let output = output.at(first).advancing(1);
        let source = if root {
            input.at(first).advancing(1)
        } else {
            output
        };
        let deposits = place.lines.iter().any(|line| line.len() > 1);
        match place.parent {
            Some(parent) if deposits => pass_on(b, parent, &place.lines, output),
            parent => b.repeat(segments, 0, |b| {
                if let Some(parent) = parent {
                    b.recv(parent, output);
                }
                send_on(b, &place.lines, source);
                if deposits {
                    b.step();
                }
            }),
        }
    });
}

/// Receives segments from `parent` and sends each on along lines while the next comes. A segment's messages start together, because
/// copies belong to the message before them.
fn pass_on(b: &mut Builder, parent: u32, lines: &[Vec<u32>], segment: Blocks) {
    let segments = b.get("segments");
    let at = |number: u32| Blocks {
        first: segment.first + number,
        ..segment
    };
    b.recv(parent, at(0).advancing(0));
    b.repeat(segments - 1, 0, |b| {
        b.recv(parent, at(1));
        send_on(b, lines, at(0));
        b.step();
    });
    send_on(b, lines, at(segments - 1).advancing(0));
    b.step();
}

/// Sends to the last rank of each line, and copies on the way to the others.
fn send_on(b: &mut Builder, lines: &[Vec<u32>], source: Blocks) {
    for (port, line) in lines.iter().enumerate() {
        let mut backwards = line.iter().rev();
        b.port(port as u32);
        if let Some(last) = backwards.next() {
            b.send(*last, source);
        }
        backwards.for_each(|passed| b.send_deposited(*passed, source));
    }
}

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
pub fn up(b: &mut Builder, places: &[Place], ends: Ends) {
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

/// Combines what comes from the children with the own vector; says where the sum is.
fn combine(b: &mut Builder, place: &Place, own: Blocks, into: Blocks) -> Blocks {
    let mut sum = own;
    for (port, child) in place.children().enumerate() {
        b.port(port as u32)
            .recv_reduce(child, Side::Right, sum, into);
        sum = into;
    }
    sum
}

/// Reduces up every stream and broadcasts down again: what has come to the root goes back while more still comes.
pub fn up_and_down(b: &mut Builder, places: &[Place]) {
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

/// What streams carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carries {
    /// [`down`].
    Down,
    /// [`up`].
    Up,
    /// [`up_and_down`].
    UpAndDown,
}

/// What streams cost; `places` are those of every rank.
#[must_use]
pub fn claims(segments: u32, places: &[Vec<Place>], carries: Carries, ends: Ends) -> Claims {
    let mut claims = Claims {
        ports: 0,
        steps: 0,
        volume: 0,
        work: 0,
    };
    let streams = places.first().map_or(0, Vec::len);
    for stream in 0..streams {
        let rounds = rounds(places, stream, carries) + u32::from(ends != Ends::AtRoot);
        claims.steps = claims.steps.max(rounds + segments - 1);
    }
    let (goes_up, goes_down) = (carries != Carries::Down, carries != Carries::Up);
    for (rank, places) in places.iter().enumerate() {
        let lines: u32 = places.iter().map(|place| place.lines.len() as u32).sum();
        let children: u32 = places
            .iter()
            .map(|place| place.children().count() as u32)
            .sum();
        let parents = places.iter().filter(|place| place.parent.is_some()).count() as u32;
        let (on, last) = match ends {
            Ends::AtRoot => (0, 0),
            Ends::At { end, root } => {
                let is = |other| u32::from(other as usize == rank);
                (is(end), is(root))
            }
        };
        let sent = lines * u32::from(goes_down) + parents * u32::from(goes_up) + on;
        let received = parents * u32::from(goes_down) + children * u32::from(goes_up) + last;
        claims.ports = claims.ports.max(sent.max(received));
        let most = u64::from(sent.max(received) * segments);
        claims.volume = claims.volume.max(most);
        if goes_up {
            claims.work = claims.work.max(u64::from(children * segments));
        }
    }
    claims
}

/// The rounds until the first segment of a stream is everywhere where it goes.
fn rounds(places: &[Vec<Place>], stream: usize, carries: Carries) -> u32 {
    let Some(root) = places.iter().position(|of| of[stream].parent.is_none()) else {
        return 0;
    };
    // Parents before their children.
    let mut order = vec![root];
    let mut depth = vec![0; places.len()];
    let mut next = 0;
    while let Some(&node) = order.get(next) {
        for child in places[node][stream].children() {
            depth[child as usize] = depth[node] + 1;
            order.push(child as usize);
        }
        next += 1;
    }
    // A rank combines what its children send one by one.
    let mut ready = vec![0u32; places.len()];
    for &node in order.iter().rev() {
        let children = places[node][stream].children();
        ready[node] = children.fold(0, |t, child| t.max(ready[child as usize]) + 1);
    }
    let deepest = depth.into_iter().max().unwrap_or(0);
    match carries {
        Carries::Down => deepest,
        Carries::Up => ready[root],
        Carries::UpAndDown => ready[root] + deepest,
    }
}
