//! Stories as SVG: tables of blocks, circles and arcs, boxes of partial results.

mod arcs;
mod boxes;
mod canvas;
mod tables;

use super::{Story, Style};
use alloc::string::String;

/// Renders a story as an SVG document.
#[must_use]
pub fn svg(story: &Story, style: Style) -> String {
    match style {
        Style::Tables => tables::draw(story),
        Style::Arcs => arcs::draw(story),
        Style::Boxes => boxes::draw(story),
    }
}
