//! What streams cost: the rounds of the deepest tree, and what the busiest rank sends, receives and combines.

use crate::algorithm::Claims;
use crate::algorithm::phase::torus::prefix;
use crate::algorithm::phase::torus::reduce::Ends;
use crate::algorithm::phase::torus::streams::Place;
use crate::schedule::Shape;
use alloc::vec;
use alloc::vec::Vec;

/// What streams carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carries {
    /// A broadcast: down.
    Down,
    /// A reduction: up.
    Up,
    /// An allreduce: up and down again.
    UpAndDown,
}

/// What an algorithm costs that is streams alone, after its prefix, with the segments that its key says.
#[must_use]
pub fn claims(
    shape: &Shape,
    carries: Carries,
    ends: Ends,
    places: impl Fn(u32) -> Vec<Place>,
) -> Claims {
    let places: Vec<Vec<Place>> = (0..shape.ranks()).map(places).collect();
    let segments = shape.get("segments");
    prefix::claims(shape, of_streams(segments, &places, carries, ends))
}

/// What streams cost; `places` are those of every rank.
fn of_streams(segments: u32, places: &[Vec<Place>], carries: Carries, ends: Ends) -> Claims {
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
