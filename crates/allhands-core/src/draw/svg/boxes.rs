//! Boxes: a row for each rank, a column for each step; in each box the parts that the rank holds and whose contributions they combine.

use super::canvas::{
    Anchor, COMBINED, Canvas, GREY, HEAD, INK, MARGIN, PAPER, PLAIN, RECEIVED, RULE, SENT,
    labels_width, port_colour,
};
use crate::draw::runs::{Run, labels, runs};
use crate::draw::{State, Step, Story, Table};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

const SIZE: f64 = 12.0;
const BOX: f64 = 32.0;
const PITCH: f64 = 44.0;
/// The room between columns, for the messages.
const GAP: f64 = 46.0;
const SIDE: f64 = 40.0;

/// A column of the picture: what is held at one time, and the step that led to it.
struct Column<'a> {
    table: &'a Table,
    step: &'a Step,
    first: bool,
    x: f64,
    width: f64,
}

pub(super) fn draw(story: &Story) -> String {
    let mut columns: Vec<Column<'_>> = Vec::new();
    let mut x = MARGIN + SIDE;
    for step in &story.steps {
        for (number, table) in step.tables.iter().enumerate() {
            let widths =
                (0..story.ranks as usize).map(|rank| labels_width(&labels(table, rank), SIZE));
            let width = widths.fold(66.0, f64::max);
            columns.push(Column {
                table,
                step,
                first: number == 0,
                x,
                width,
            });
            x += width + GAP;
        }
    }
    let mut canvas = Canvas::default();
    let mut at = MARGIN;
    let y = HEAD + 16.0;
    at = canvas.legend((at, y), SENT, (RULE, 1.0), "sent in the next step");
    at = canvas.legend((at, y), RECEIVED, (RULE, 0.0), "just received");
    if story.collective.reduces() {
        at = canvas.legend((at, y), COMBINED, (RULE, 0.0), "just combined");
    }
    if story.has_overhead() {
        at = canvas.overhead_legend((at, y));
    }
    let top = HEAD + 58.0;
    for rank in 0..story.ranks {
        let middle = top + f64::from(rank) * PITCH + BOX / 2.0 + 4.0;
        canvas.text(
            (MARGIN, middle),
            13.0,
            Anchor::Start,
            INK,
            &format!("P{rank}"),
        );
    }
    for (number, column) in columns.iter().enumerate() {
        if let Some(before) = number.checked_sub(1).filter(|_| column.first) {
            messages(&mut canvas, &columns[before], column, top);
        }
        draw_column(&mut canvas, column, story.ranks as usize, top);
    }
    let width = x - GAP + MARGIN;
    let width = width.max(at);
    canvas.finish(
        (&story.title, &story.subtitle),
        (width, top + f64::from(story.ranks) * PITCH + MARGIN),
    )
}

fn draw_column(canvas: &mut Canvas, column: &Column<'_>, ranks: usize, top: f64) {
    let Column {
        table,
        step,
        x,
        width,
        ..
    } = *column;
    canvas.text(
        (x + width / 2.0, top - 16.0),
        12.5,
        Anchor::Middle,
        GREY,
        &table.title,
    );
    for rank in 0..ranks {
        draw_box(canvas, column, rank, top + rank as f64 * PITCH);
    }
    // One frame around neighbours that do overhead.
    let mut start = None;
    for rank in 0..=ranks {
        let does = column.first && rank < ranks && step.overhead[rank];
        match (start, does) {
            (None, true) => start = Some(rank),
            (Some(first), false) => {
                let corner = (x - 7.0, top + first as f64 * PITCH - 6.0);
                let height = (rank - first) as f64 * PITCH;
                canvas.dotted(corner, (width + 14.0, height - (PITCH - BOX) + 12.0));
                start = None;
            }
            (None, false) | (Some(_), true) => {}
        }
    }
}

fn draw_box(canvas: &mut Canvas, column: &Column<'_>, rank: usize, y: f64) {
    let Column {
        table, x, width, ..
    } = *column;
    let names = labels(table, rank);
    if names.is_empty() {
        canvas.rect((x, y), (width, BOX), PAPER, ("#e4e6ea", 1.0));
        return;
    }
    canvas.rect((x, y), (width, BOX), PLAIN, (GREY, 1.0));
    canvas.indexed((x + width / 2.0, y + 14.0), SIZE, INK, &names);
    // Below the words the vector itself: a slot for each part, those that are held filled.
    let slots = table.rows.len().max(1) as f64;
    let slot = (width - 10.0) / slots;
    let bar = y + BOX - 11.0;
    canvas.rect((x + 5.0, bar), (width - 10.0, 7.0), PAPER, (RULE, 0.8));
    let same = |a: &crate::draw::Cell, b: &crate::draw::Cell| {
        (&a.ranks, a.state, a.sent_next) == (&b.ranks, b.state, b.sent_next)
    };
    for Run { cells, first } in runs(table, rank, same) {
        let state = match cells[0].state {
            State::Received => RECEIVED,
            State::Combined => COMBINED,
            State::Unchanged => GREY,
        };
        let fill = if cells[0].sent_next { SENT } else { state };
        let corner = (x + 5.0 + first as f64 * slot, bar);
        canvas.rect(corner, (cells.len() as f64 * slot, 7.0), fill, (state, 1.6));
    }
}

/// The messages between two columns.
fn messages(canvas: &mut Canvas, before: &Column<'_>, column: &Column<'_>, top: f64) {
    for message in &column.step.messages {
        let y = |rank: u32| top + f64::from(rank) * PITCH + BOX / 2.0;
        let (x1, x2) = (before.x + before.width + 2.0, column.x - 3.0);
        let path = format!(
            "M{x1:.1},{:.1} L{x2:.1},{:.1}",
            y(message.from),
            y(message.to)
        );
        canvas.arrow(&path, port_colour(message.port), (false, true));
    }
}
