//! Pictures of a schedule in the style of the papers' figures: what every rank holds after each step, and who sends what to whom.
//!
//! [`story`] runs a world symbolically and tells it as data; [`text`] and [`svg`] render the story.
//! The four styles are those of the papers: tables of blocks (T 2, T 7, Q 5, Q 6), circles and arcs (T 1, T 9, Q 4),
//! boxes of partial results (T 12, T 13) and grids of the nodes of a torus (B 1 to 4). [`time_chart`] and [`heat_map`] draw what somebody else measured or simulated.

mod align;
pub mod chart;
mod label;
mod lanes;
mod live;
mod runs;
mod story;
mod svg;
mod tell;
mod text;
mod timeline;

pub use story::{Cell, Message, State, Step, Story, Table};
pub use svg::{heat_map, svg, time_chart};
pub use tell::story;
pub use text::text;

use crate::algorithm::Unsuitable;
use crate::call::Collective;
use crate::symbolic::Failure;
use core::fmt;

/// The most ranks in a picture.
pub const MAX_RANKS: u32 = 32;
/// The most ranks in a picture of a mesh or torus.
pub const MAX_NODES: u32 = 128;
/// The most parts of a vector, or blocks of a rank, in a picture.
pub const MAX_PARTS: u32 = 64;

/// How a picture is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Style {
    /// A table for each step: a column for each rank, a row for each block.
    Tables,
    /// A row of circles for each step, arcs between partners.
    Arcs,
    /// A row for each rank, a column of boxes for each step.
    Boxes,
    /// The nodes of a mesh or torus in a grid for each step, arrows on its links.
    Grid,
}

impl Style {
    /// All four.
    pub const ALL: [Style; 4] = [Style::Tables, Style::Arcs, Style::Boxes, Style::Grid];

    /// The name as typed.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Style::Tables => "tables",
            Style::Arcs => "arcs",
            Style::Boxes => "boxes",
            Style::Grid => "grid",
        }
    }

    /// The style that [`Style::name`] calls `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Style> {
        Style::ALL.into_iter().find(|style| style.name() == name)
    }

    /// The style of the papers' figures for a collective; `rearranged` says that the algorithm keeps its blocks in an
    /// order of its own, which only tables show.
    #[must_use]
    pub const fn of(collective: Collective, rearranged: bool) -> Style {
        match collective {
            Collective::Alltoall => Style::Tables,
            Collective::Allgather | Collective::Gather | Collective::Scatter if rearranged => {
                Style::Tables
            }
            Collective::Barrier
            | Collective::Broadcast
            | Collective::Scatter
            | Collective::Gather
            | Collective::Allgather
            | Collective::ReduceScatter => Style::Arcs,
            Collective::Reduce | Collective::Allreduce | Collective::Scan | Collective::Exscan => {
                Style::Boxes
            }
        }
    }
}

/// Why there is no picture.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DrawError {
    /// More than a picture can show.
    TooLarge {
        /// Of what: `ranks` or `parts`.
        what: &'static str,
        /// How many there are.
        found: u32,
        /// How many there may be.
        limit: u32,
    },
    /// The algorithm does not serve the call.
    Unsuitable(Unsuitable),
    /// The schedule breaks a law, so there is no run to draw.
    Broken(Failure),
}

impl fmt::Display for DrawError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DrawError::TooLarge { what, found, limit } => {
                write!(
                    f,
                    "a picture has at most {limit} {what}, not {found}; draw a smaller call"
                )
            }
            DrawError::Unsuitable(why) => write!(f, "nothing to draw: the algorithm {why}"),
            DrawError::Broken(failure) => {
                write!(f, "nothing to draw: the schedule breaks {failure}")
            }
        }
    }
}

impl core::error::Error for DrawError {}
