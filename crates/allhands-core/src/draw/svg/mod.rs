//! Stories as SVG, as tables of blocks, circles and arcs, boxes of partial results or grids of nodes; and charts.

mod arcs;
mod boxes;
mod canvas;
mod grid;
mod heat;
mod tables;
mod time;

pub use heat::heat_map;
pub use time::time_chart;

use super::{Story, Style};
use alloc::string::String;

/// Renders a story as an SVG document.
#[must_use]
pub fn svg(story: &Story, style: Style) -> String {
    match style {
        Style::Tables => tables::draw(story),
        Style::Arcs => arcs::draw(story),
        Style::Boxes => boxes::draw(story),
        Style::Grid => grid::draw(story),
    }
}
