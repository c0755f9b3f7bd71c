//! Tables: a panel for each table, a column for each rank, arcs above for the messages that led to it.

use super::canvas::{
    Anchor, COMBINED, Canvas, GREY, HEAD, INK, MARGIN, PLAIN, RECEIVED, RULE, SENT, fill, frame,
    port_colour, text_width,
};
use crate::draw::{Cell, Message, State, Story, Table};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

const ROW: f64 = 21.0;
/// The room left of a panel's columns for the numbers of the rows.
const SIDE: f64 = 22.0;
/// The rules between empty cells.
const FAINT: &str = "#eceef1";
const SIZE: f64 = 12.0;
/// The room above a panel for the arcs.
const ARCS: f64 = 52.0;
const GAP: f64 = 34.0;
/// The width to which panels fill a line.
const LINE: f64 = 1180.0;

struct Panel<'a> {
    table: &'a Table,
    messages: &'a [Message],
}

pub(super) fn draw(story: &Story) -> String {
    let mut panels: Vec<Panel<'_>> = Vec::new();
    for step in &story.steps {
        for (number, table) in step.tables.iter().enumerate() {
            let messages = if number == 0 {
                step.messages.as_slice()
            } else {
                &[]
            };
            panels.push(Panel { table, messages });
        }
    }
    let cells = || panels.iter().flat_map(|p| p.table.rows.iter().flatten());
    let widest = cells()
        .map(|c| text_width(&c.text, SIZE))
        .fold(20.0, f64::max);
    let column = widest + 10.0;
    let rows = panels.iter().map(|p| p.table.rows.len()).max().unwrap_or(0);
    let size = (
        SIDE + column * f64::from(story.ranks) + GAP,
        ARCS + ROW * (rows as f64 + 1.0) + 40.0,
    );
    let in_line = ((LINE + GAP) / size.0) as usize;
    // As few lines as fit, of equal length.
    let lines = panels.len().div_ceil(in_line.max(1)).max(1);
    let in_line = panels.len().div_ceil(lines).max(1);
    let mut canvas = Canvas::default();
    let mut at = MARGIN;
    at = canvas.legend(
        (at, HEAD + 16.0),
        SENT,
        (RULE, 1.0),
        "sent in the next step",
    );
    at = canvas.legend((at, HEAD + 16.0), PLAIN, (RECEIVED, 2.0), "just received");
    if story.collective.reduces() {
        at = canvas.legend((at, HEAD + 16.0), PLAIN, (COMBINED, 2.0), "just combined");
    }
    for (number, panel) in panels.iter().enumerate() {
        let corner = (
            MARGIN + (number % in_line) as f64 * size.0,
            HEAD + 34.0 + (number / in_line) as f64 * size.1,
        );
        draw_panel(&mut canvas, corner, column, panel);
    }
    let lines = lines as f64;
    let width = MARGIN * 2.0 + size.0 * in_line as f64 - GAP;
    let width = width.max(at);
    canvas.finish(
        (&story.title, &story.subtitle),
        (width, HEAD + 34.0 + lines * size.1),
    )
}

fn draw_panel(canvas: &mut Canvas, (x, y): (f64, f64), column: f64, panel: &Panel<'_>) {
    let left = x + SIDE;
    let head = y + ARCS + 12.0;
    let ranks = panel.table.rows.first().map_or(0, Vec::len);
    let middle = |rank: u32| left + (f64::from(rank) + 0.5) * column;
    for message in panel.messages {
        let ends = (middle(message.from), middle(message.to));
        arc(canvas, ends, head - 13.0, message);
    }
    for rank in 0..ranks as u32 {
        canvas.text(
            (middle(rank), head),
            SIZE,
            Anchor::Middle,
            INK,
            &format!("P{rank}"),
        );
    }
    let corner =
        |row: usize, rank: usize| (left + rank as f64 * column, head + 7.0 + row as f64 * ROW);
    for (row, cells) in panel.table.rows.iter().enumerate() {
        let (_, top) = corner(row, 0);
        canvas.text(
            (left - 6.0, top + 15.0),
            10.0,
            Anchor::End,
            GREY,
            &row.to_string(),
        );
        for (rank, cell) in cells.iter().enumerate() {
            let rule = if cell.unit.is_some() { RULE } else { FAINT };
            canvas.rect(corner(row, rank), (column, ROW), fill(cell), (rule, 1.0));
        }
    }
    // Frames and words over the cells, so that no neighbour covers them.
    for (row, cells) in panel.table.rows.iter().enumerate() {
        for (rank, cell) in cells.iter().enumerate().filter(|(_, c)| c.unit.is_some()) {
            contents(canvas, corner(row, rank), column, cell);
        }
    }
    let foot = corner(panel.table.rows.len(), 0).1 + 19.0;
    let centre = left + column * ranks as f64 / 2.0;
    canvas.text(
        (centre, foot),
        13.0,
        Anchor::Middle,
        INK,
        &panel.table.title,
    );
}

fn contents(canvas: &mut Canvas, (x, y): (f64, f64), column: f64, cell: &Cell) {
    let stroke = frame(cell.state);
    if cell.state != State::Unchanged {
        canvas.rect(
            (x + 1.5, y + 1.5),
            (column - 3.0, ROW - 3.0),
            "none",
            stroke,
        );
    }
    canvas.text(
        (x + column / 2.0, y + 15.0),
        SIZE,
        Anchor::Middle,
        INK,
        &cell.text,
    );
}

/// A message from the column at `from` to that at `to`: an arc above the heads, as high as it is long.
fn arc(canvas: &mut Canvas, (from, to): (f64, f64), base: f64, message: &Message) {
    let length = (from - to).max(to - from);
    let height = (8.0 + length * 0.12).min(46.0);
    let colour = port_colour(message.port);
    let top = base - height * 1.3;
    // What leaves a column stands beside what arrives there.
    let lean = if from < to { 4.0 } else { -4.0 };
    let (from, to) = (from + lean, to - lean);
    canvas.arrow(
        &format!("M{from:.1},{base:.1} C{from:.1},{top:.1} {to:.1},{top:.1} {to:.1},{base:.1}"),
        colour,
        (false, true),
    );
}
