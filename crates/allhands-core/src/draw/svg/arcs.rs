//! Arcs: a row of circles for each step, an arc for each message or exchange, labelled with its amount.

use super::canvas::{
    Anchor, Canvas, GREY, HEAD, INK, MARGIN, PLAIN, RULE, labels_width, port_colour,
};
use crate::draw::runs::labels;
use crate::draw::{Message, Step, Story};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

const RADIUS: f64 = 15.0;
/// Where the circle is met by arcs, below or above its middle.
const EDGE: f64 = RADIUS * 0.92;
const SIZE: f64 = 11.0;
/// The room left of the circles for the number of the step.
const SIDE: f64 = 74.0;

/// One arc: a message, or two that go both ways.
struct Arc<'a> {
    message: &'a Message,
    both: bool,
}

impl Arc<'_> {
    /// Whether it stands above the circles; what goes back alone stands below.
    fn above(&self) -> bool {
        self.both || self.message.from < self.message.to
    }

    fn rise(&self, pitch: f64) -> f64 {
        let length = f64::from(self.message.from.abs_diff(self.message.to)) * pitch;
        (16.0 + length * 0.16).min(110.0)
    }
}

/// The messages of a step, those that answer one another as one arc.
fn arcs(step: &Step) -> Vec<Arc<'_>> {
    let answered = |m: &Message| {
        let back = |o: &Message| o.from == m.to && o.to == m.from && o.amount == m.amount;
        step.messages.iter().any(back)
    };
    let shown = step
        .messages
        .iter()
        .filter(|m| m.from < m.to || !answered(m));
    let arc = |message| Arc {
        message,
        both: answered(message),
    };
    shown.map(arc).collect()
}

/// What a rank holds after a step.
fn held(step: &Step, rank: u32) -> Vec<(String, String)> {
    step.tables
        .last()
        .map_or_else(Vec::new, |table| labels(table, rank as usize))
}

pub(super) fn draw(story: &Story) -> String {
    let of_step = |step| (0..story.ranks).map(move |rank| labels_width(&held(step, rank), SIZE));
    let widest = story.steps.iter().flat_map(of_step).fold(0.0, f64::max);
    let pitch = (widest + 4.0).max(52.0);
    let right = MARGIN + SIDE + pitch * f64::from(story.ranks);
    let mut canvas = Canvas::default();
    let meeting = story.meets_in;
    let meeting =
        meeting.map(|fabric| format!("all ranks meet in the machine's {}", fabric.name()));
    let note = match story.steps.iter().any(|s| !s.tables.is_empty()) {
        _ if meeting.is_some() => meeting.as_deref().unwrap_or_default(),
        true => "on each arc: how much travels; under each circle: what the rank then holds",
        false => "an arc for each signal",
    };
    canvas.text((MARGIN, HEAD + 14.0), 12.0, Anchor::Start, INK, note);
    let mut y = HEAD + 26.0;
    if story.has_overhead() {
        canvas.overhead_legend((MARGIN, HEAD + 33.0));
        y += 20.0;
    }
    for step in story
        .steps
        .iter()
        .filter(|s| s.number > 0 || !s.tables.is_empty())
    {
        y = draw_step(&mut canvas, story.ranks, step, pitch, y);
        canvas.line((MARGIN, y), (right, y), RULE);
        y += 4.0;
    }
    if story.meets_in.is_some() {
        y = draw_meeting(&mut canvas, story.ranks, pitch, y);
    }
    canvas.finish((&story.title, &story.subtitle), (right + MARGIN, y + 12.0))
}

/// Draws a step from `y` on down; returns where it ends.
fn draw_step(canvas: &mut Canvas, ranks: u32, step: &Step, pitch: f64, y: f64) -> f64 {
    let arcs = arcs(step);
    let highest = |up: bool| {
        let rises = arcs
            .iter()
            .filter(|a| a.above() == up)
            .map(|a| a.rise(pitch));
        rises.fold(0.0, f64::max)
    };
    let line = y + highest(true) + RADIUS + 14.0;
    let title = match step.number {
        0 => String::from("initially"),
        number => format!("step {number}"),
    };
    canvas.text((MARGIN, line + 5.0), 14.0, Anchor::Start, INK, &title);
    arcs.iter()
        .for_each(|arc| draw_arc(canvas, arc, line, pitch));
    arcs.iter().for_each(|arc| label(canvas, arc, line, pitch));
    let foot = line + RADIUS + highest(false) + 14.0;
    for rank in 0..ranks {
        let middle = x(rank, pitch);
        canvas.circle((middle, line), RADIUS, PLAIN, step.overhead[rank as usize]);
        canvas.text(
            (middle, line + 4.0),
            SIZE,
            Anchor::Middle,
            INK,
            &format!("P{rank}"),
        );
        canvas.indexed((middle, foot), SIZE, GREY, &held(step, rank));
    }
    foot + 12.0
}

/// Draws all ranks with the hardware that joins them from `y` on down; returns where it ends.
fn draw_meeting(canvas: &mut Canvas, ranks: u32, pitch: f64, y: f64) -> f64 {
    let (joint, line) = (y + 14.0, y + 36.0 + RADIUS);
    canvas.text((MARGIN, line + 5.0), 14.0, Anchor::Start, INK, "all meet");
    let ends = (x(0, pitch), x(ranks - 1, pitch));
    canvas.line((ends.0, joint), (ends.1, joint), INK);
    for rank in 0..ranks {
        let middle = x(rank, pitch);
        canvas.line((middle, joint), (middle, line - RADIUS), INK);
        canvas.circle((middle, line), RADIUS, PLAIN, false);
        let name = format!("P{rank}");
        canvas.text((middle, line + 4.0), SIZE, Anchor::Middle, INK, &name);
    }
    line + RADIUS + 12.0
}

fn x(rank: u32, pitch: f64) -> f64 {
    MARGIN + SIDE + pitch * (f64::from(rank) + 0.5)
}

fn draw_arc(canvas: &mut Canvas, arc: &Arc<'_>, line: f64, pitch: f64) {
    let (from, to) = (x(arc.message.from, pitch), x(arc.message.to, pitch));
    // Arcs leave and arrive a little beside the middle, so that heads do not lie on one another.
    let lean = if from < to {
        RADIUS * 0.45
    } else {
        -RADIUS * 0.45
    };
    let (from, to) = (from + lean, to - lean);
    let up = if arc.above() { -1.0 } else { 1.0 };
    let edge = line + up * EDGE;
    let bend = edge + up * arc.rise(pitch) * 1.3;
    let path =
        format!("M{from:.1},{edge:.1} C{from:.1},{bend:.1} {to:.1},{bend:.1} {to:.1},{edge:.1}");
    canvas.arrow(&path, port_colour(arc.message.port), (arc.both, true));
}

/// The amount at the top of the arc.
fn label(canvas: &mut Canvas, arc: &Arc<'_>, line: f64, pitch: f64) {
    let amount = &arc.message.amount;
    let words = amount
        .trim_end_matches(" blocks")
        .trim_end_matches(" block");
    if words.is_empty() {
        return;
    }
    let up = if arc.above() { -1.0 } else { 1.0 };
    let top = line + up * (EDGE + arc.rise(pitch) * 0.975);
    let middle = (x(arc.message.from, pitch) + x(arc.message.to, pitch)) / 2.0;
    canvas.label((middle, top + 4.0), 10.5, INK, words);
}

#[cfg(test)]
mod tests {
    use crate::algorithm::find;
    use crate::call::{Call, Collective};
    use crate::draw;

    #[test]
    fn a_meeting_in_hardware_is_drawn() {
        let found = find(Collective::Barrier, "global-interrupt").expect("it is there");
        let call = Call::new(Collective::Barrier, 4);
        let shape = found.shape(call, "").expect("it has no parameters");
        let story = draw::story(found, &shape.with(found.fabrics())).expect("it can be told");
        let words = "all ranks meet in the machine's interrupt";
        assert!(draw::text(&story).contains(words));
        let svg = draw::svg(&story, draw::Style::Arcs);
        assert!(svg.contains("all meet") && svg.contains("meet in the machine"));
        assert_eq!(svg.matches("<circle").count(), 4);
    }
}
