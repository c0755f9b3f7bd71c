//! Keys: an algorithm's parameters as the user types them, `NAME:key=value,…`.

use crate::parameters::Parameters;
use alloc::string::{String, ToString};
use core::fmt::{self, Write};

/// What a key may be set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// A number.
    Range {
        /// The least.
        min: u32,
        /// The greatest.
        max: u32,
    },
    /// 0, which stands for what follows from the other keys, or a number.
    ZeroOr {
        /// The least.
        min: u32,
        /// The greatest.
        max: u32,
    },
    /// One of these names; its number is its place.
    Names(&'static [&'static str]),
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Values::Range { min, max } => write!(f, "{min}..{max}"),
            Values::ZeroOr { min, max } => write!(f, "0|{min}..{max}"),
            Values::Names(names) => f.write_str(&names.join("|")),
        }
    }
}

/// A parameter of an algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// As typed.
    pub name: &'static str,
    /// What it may be set to.
    pub values: Values,
    /// What it is when nothing is said.
    pub default: u32,
    /// One phrase.
    pub about: &'static str,
}

impl Key {
    /// `ports`: how many messages at once.
    pub const PORTS: Key = Key {
        name: "ports",
        values: Values::Range { min: 1, max: 16 },
        default: 1,
        about: "messages that a rank sends (and receives) at once",
    };

    /// `window`: how many messages each way are under way, where none waits for another.
    pub const WINDOW: Key = Key {
        name: "window",
        values: Values::Range { min: 0, max: 32 },
        default: 0,
        about: "messages each way under way at a time, each followed by the next one; 0: all that may be",
    };

    /// `radix`: 0 stands for ports + 1.
    pub const RADIX: Key = Key {
        name: "radix",
        values: Values::ZeroOr {
            min: 2,
            max: 1 << 20,
        },
        default: 0,
        about: "the base of the tree or of the digits; 0: ports + 1",
    };

    /// `aggregation`: the most blocks in a message.
    pub const AGGREGATION: Key = Key {
        name: "aggregation",
        values: Values::Range {
            min: 1,
            max: 1 << 20,
        },
        default: 8,
        about: "the most blocks that a message holds",
    };

    /// `reduce-scatter`: what a ring begins with.
    pub const REDUCE_SCATTER: Key = Key {
        name: "reduce-scatter",
        values: Values::Names(&["pairwise", "ring"]),
        default: 0,
        about: "how parts are combined: straight to where they belong, or once round the ring of neighbours",
    };

    /// `leaders`: how many leaders a node has.
    pub const LEADERS: Key = Key {
        name: "leaders",
        values: Values::Range { min: 1, max: 64 },
        default: 1,
        about: "leaders of each node, each for a share of the data",
    };

    /// `inter`: what serves the leaders of nodes, the first of these names if nothing is said.
    #[must_use]
    pub const fn inter(names: &'static [&'static str]) -> Key {
        Key {
            name: "inter",
            values: Values::Names(names),
            default: 0,
            about: "the algorithm among the nodes' leaders",
        }
    }

    /// `segments`: in how many pieces a pipeline cuts the vector.
    pub const SEGMENTS: Key = Key {
        name: "segments",
        values: Values::Range {
            min: 1,
            max: 1 << 20,
        },
        default: 8,
        about: "pieces in which the pipeline cuts the vector",
    };

    /// `segments`, of which all are under way at once.
    pub const SEGMENTS_AT_ONCE: Key = Key {
        values: Values::Range { min: 1, max: 16 },
        default: 1,
        about: "pieces of the vector that go side by side: while one is combined, the next is on its way",
        ..Key::SEGMENTS
    };
}

/// A parameter text that an algorithm does not understand.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParameterError {
    /// Not of the form `key=value`.
    NotAPair {
        /// What was typed.
        text: String,
    },
    /// The algorithm has no such key.
    UnknownKey {
        /// What was typed.
        key: String,
        /// The keys that there are.
        known: String,
    },
    /// The key cannot have this value.
    BadValue {
        /// The key.
        key: &'static str,
        /// What was typed.
        value: String,
        /// What would be right.
        values: Values,
    },
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParameterError::NotAPair { text } => {
                write!(f, "a parameter is key=value, not '{text}'")
            }
            ParameterError::UnknownKey { key, known } if known.is_empty() => {
                write!(f, "unknown key '{key}': this algorithm has no parameters")
            }
            ParameterError::UnknownKey { key, known } => {
                write!(f, "unknown key '{key}'; the keys are {known}")
            }
            ParameterError::BadValue { key, value, values } => {
                write!(f, "{key} cannot be '{value}'; it is one of {values}")
            }
        }
    }
}

impl core::error::Error for ParameterError {}

/// Reads `key=value,…`; keys that are not named have their defaults.
///
/// # Errors
/// A [`ParameterError`] that names what was wrong and what would be right.
pub fn parse_parameters(keys: &[Key], text: &str) -> Result<Parameters, ParameterError> {
    let mut parameters = Parameters::new();
    for key in keys {
        parameters.set(key.name, key.default);
    }
    for pair in text
        .split(',')
        .map(str::trim)
        .filter(|pair| !pair.is_empty())
    {
        let (name, value) = pair
            .split_once('=')
            .ok_or_else(|| ParameterError::NotAPair {
                text: pair.to_string(),
            })?;
        let key = keys.iter().find(|k| k.name == name).ok_or_else(|| {
            let known: alloc::vec::Vec<&str> = keys.iter().map(|k| k.name).collect();
            ParameterError::UnknownKey {
                key: name.to_string(),
                known: known.join(", "),
            }
        })?;
        let number = match key.values {
            Values::Range { min, max } => value.parse().ok().filter(|n| (min..=max).contains(n)),
            Values::ZeroOr { min, max } => {
                let number = value.parse().ok();
                number.filter(|n| *n == 0 || (min..=max).contains(n))
            }
            Values::Names(names) => names.iter().position(|n| *n == value).map(|n| n as u32),
        };
        let bad = || ParameterError::BadValue {
            key: key.name,
            value: value.to_string(),
            values: key.values,
        };
        parameters.set(key.name, number.ok_or_else(bad)?);
    }
    Ok(parameters)
}

/// The text that [`parse_parameters`] reads back: every key with its value, `key=value,…`.
#[must_use]
pub fn print_parameters(keys: &[Key], parameters: &Parameters) -> String {
    let mut text = String::new();
    for key in keys {
        let value = parameters.get(key.name).unwrap_or(key.default);
        let comma = if text.is_empty() { "" } else { "," };
        let done = match key.values {
            Values::Range { .. } | Values::ZeroOr { .. } => {
                write!(text, "{comma}{}={value}", key.name)
            }
            Values::Names(names) => write!(text, "{comma}{}={}", key.name, names[value as usize]),
        };
        debug_assert!(done.is_ok(), "writing to a string does not fail");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: &[Key] = &[
        Key::PORTS,
        Key {
            name: "order",
            values: Values::Names(&["simple", "ordered"]),
            default: 0,
            about: "",
        },
    ];

    #[test]
    fn text_round_trips() {
        for text in ["ports=3,order=ordered", "ports=1,order=simple"] {
            assert_eq!(
                print_parameters(KEYS, &parse_parameters(KEYS, text).unwrap()),
                text
            );
        }
        assert_eq!(
            print_parameters(KEYS, &parse_parameters(KEYS, "").unwrap()),
            "ports=1,order=simple"
        );
    }

    #[test]
    fn mistakes_are_named() {
        let error = |text| parse_parameters(KEYS, text).unwrap_err().to_string();
        assert_eq!(
            error("port=2"),
            "unknown key 'port'; the keys are ports, order"
        );
        assert_eq!(error("ports=0"), "ports cannot be '0'; it is one of 1..16");
        assert_eq!(
            error("order=none"),
            "order cannot be 'none'; it is one of simple|ordered"
        );
        assert_eq!(error("ports"), "a parameter is key=value, not 'ports'");
    }
}
