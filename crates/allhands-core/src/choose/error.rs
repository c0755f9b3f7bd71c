//! Errors of choosing: why no algorithm was found for a call.

use super::Policy;
use crate::algorithm::{self, ParameterError, Unsuitable};
use crate::call::Collective;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// Why nothing was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChooseError {
    /// The collective has no algorithm of this name.
    NoSuchAlgorithm {
        /// The collective.
        collective: Collective,
        /// What was typed.
        name: String,
    },
    /// The algorithm that the user fixed does not have these parameters.
    Parameters(ParameterError),
    /// The algorithm that the user fixed does not serve the call.
    Unsuitable {
        /// Its name.
        name: &'static str,
        /// Why not.
        why: Unsuitable,
    },
    /// The algorithm that the user fixed passes blocks through ranks that do not know their lengths.
    NeedsAllCounts {
        /// Its name.
        name: &'static str,
    },
    /// No rule's algorithm serves the call.
    NoRule {
        /// The collective.
        collective: Collective,
    },
}

impl fmt::Display for ChooseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChooseError::NoSuchAlgorithm { collective, name } => {
                let known: Vec<&str> = algorithm::of(*collective).map(|a| a.name).collect();
                let presets = Policy::NAMES.join(", ");
                write!(
                    f,
                    "{collective} has no algorithm '{name}'; it has {} (and the policies {presets})",
                    known.join(", ")
                )
            }
            ChooseError::Parameters(error) => error.fmt(f),
            ChooseError::Unsuitable { name, why } => write!(f, "{name} {why}"),
            ChooseError::NeedsAllCounts { name } => write!(
                f,
                "{name} passes blocks through ranks that do not know their lengths; it needs equal blocks"
            ),
            ChooseError::NoRule { collective } => {
                write!(f, "no rule's algorithm serves this {collective}")
            }
        }
    }
}

impl core::error::Error for ChooseError {}
