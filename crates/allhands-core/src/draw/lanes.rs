//! Lanes: by which stream a message of a torus travels, or along which dimension.

use crate::algorithm::{Algorithm, Requirement};
use crate::machine::Torus;
use crate::schedule::Shape;
use crate::symbolic::Delivery;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// The lanes of a run.
pub(super) struct Lanes {
    kind: Kind,
    /// What they are called.
    pub names: Vec<String>,
}

enum Kind {
    /// No torus: all messages are alike.
    One,
    /// Streams of so many parts of the vector each; two lanes for each, of what is combined and of what is passed on, and one of
    /// messages without data.
    Streams(u32),
    /// A lane for each dimension, and one of messages that leave their line.
    Dimensions(Torus),
}

impl Lanes {
    /// The lanes of `algorithm` where its ranks are on a torus.
    pub(super) fn new(algorithm: &Algorithm, shape: &Shape) -> Lanes {
        let Some(torus) = shape.torus else {
            return Lanes {
                kind: Kind::One,
                names: Vec::from([String::new()]),
            };
        };
        let segments = shape.get("segments");
        if !algorithm.requires.contains(&Requirement::Torus) || segments == 0 {
            let along = ["x", "y", "z"].map(|name| format!("along {name}"));
            let across = ["across several dimensions".to_string()];
            return Lanes {
                kind: Kind::Dimensions(torus),
                names: along.into_iter().chain(across).collect(),
            };
        }
        let streams = (algorithm.parts)(shape) / segments;
        let name = |stream: u32| match (algorithm.stream_way)(shape, stream as usize) {
            Some(way) => format!("stream {} ({way})", stream + 1),
            None => format!("stream {}", stream + 1),
        };
        let both = |stream| [format!("{}, combined", name(stream)), name(stream)];
        let names = (0..streams).flat_map(both);
        Lanes {
            kind: Kind::Streams(segments),
            names: names.chain(["without data".to_string()]).collect(),
        }
    }

    /// The number of a message's lane.
    pub(super) fn of(&self, message: &Delivery) -> usize {
        match &self.kind {
            Kind::One => 0,
            Kind::Streams(segments) => match message.values.first() {
                None => self.names.len() - 1,
                Some(value) => {
                    let stream = value.unit() / u64::from(*segments);
                    2 * stream as usize + usize::from(!message.reduced)
                }
            },
            Kind::Dimensions(torus) => {
                let [from, to] = [message.from, message.to].map(|rank| torus.coordinates(rank));
                let mut apart = (0..3).filter(|d| from[*d] != to[*d]);
                match (apart.next(), apart.next()) {
                    (Some(dimension), None) => dimension,
                    _ => 3,
                }
            }
        }
    }
}
