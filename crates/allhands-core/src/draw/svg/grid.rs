//! Grids: the nodes of a mesh or torus where they are, its links, and the messages on them, each in the colour of its stream.
//!
//! A picture a step, or one of all steps where there are many; the third dimension goes back to the right. A message that goes round
//! the end of a line leaves the picture and comes in again.

use super::canvas::{
    Anchor, Canvas, GREY, HEAD, INK, MARGIN, PLAIN, RULE, port_colour, text_width,
};
use crate::draw::{Message, Step, Story};
use crate::machine::{Direction, Torus};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

const RADIUS: f64 = 10.0;
const SIZE: f64 = 9.0;
/// From a node to the next behind it, at the least.
const BACK: (f64, f64) = (24.0, -16.0);
/// The least from a node to the next beside or below it.
const PITCH: f64 = 50.0;
/// How far links lead beyond the nodes at the end of a line.
const STUB: f64 = 20.0;
/// The most pictures of single steps.
const MOST_STEPS: usize = 12;
/// Pictures stand beside one another up to this width.
const WIDTH: f64 = 1300.0;

type Point = (f64, f64);

/// Where the nodes of a picture are.
struct Grid {
    torus: Torus,
    corner: Point,
    /// From a node to the next beside and below it.
    pitch: Point,
    /// From a node to the next behind it.
    back: Point,
}

/// An arrow: a message in the colour of its lane, and the step in which the first of its kind travels, if that is to be said.
struct Arrow<'a> {
    message: &'a Message,
    colour: &'static str,
    first: Option<u32>,
}

impl Grid {
    /// At a corner; `wide` where numbers are to stand at arrows.
    fn new(torus: Torus, corner: Point, wide: bool) -> Grid {
        let scale = if wide { 1.6 } else { 1.0 };
        let back = (scale * BACK.0, scale * BACK.1);
        let deep = f64::from(torus.extents()[2] - 1);
        let room = 2.0 * RADIUS + 8.0;
        let pitch = (
            (back.0 * deep + room).max(scale * PITCH),
            (-back.1 * deep + room).max(scale * PITCH),
        );
        Grid {
            torus,
            corner,
            pitch,
            back,
        }
    }

    fn size(&self) -> Point {
        let [x, y, z] = self.torus.extents().map(|n| f64::from(n - 1));
        let room = 2.0 * (RADIUS + STUB);
        (
            x * self.pitch.0 + z * self.back.0 + room,
            y * self.pitch.1 - z * self.back.1 + room,
        )
    }

    fn at(&self, rank: u32) -> Point {
        let [x, y, z] = self.torus.coordinates(rank).map(f64::from);
        let deep = f64::from(self.torus.extents()[2] - 1);
        let edge = RADIUS + STUB;
        (
            self.corner.0 + edge + x * self.pitch.0 + z * self.back.0,
            self.corner.1 + edge + y * self.pitch.1 + (z - deep) * self.back.1,
        )
    }

    /// The way that a direction leads in the picture, of length 1.
    fn towards(&self, way: Direction) -> Point {
        let length = length(self.back);
        let (x, y) = match way.dimension {
            0 => (1.0, 0.0),
            1 => (0.0, 1.0),
            _ => (self.back.0 / length, self.back.1 / length),
        };
        let sign = if way.up { 1.0 } else { -1.0 };
        (sign * x, sign * y)
    }

    /// The links, those round the ends of lines as stubs.
    fn links(&self, canvas: &mut Canvas) {
        for rank in 0..self.torus.ranks() {
            for way in Direction::all() {
                let (d, own) = (way.dimension, self.torus.coordinates(rank));
                let Some(next) = self.torus.neighbour(rank, way) else {
                    continue;
                };
                let ends = self.torus.coordinates(next)[d] > own[d];
                let from = self.at(rank);
                if ends == way.up && way.up {
                    canvas.line(from, self.at(next), RULE);
                } else if ends != way.up {
                    let to = moved(from, self.towards(way), RADIUS + STUB);
                    canvas.line(from, to, RULE);
                }
            }
        }
    }

    fn nodes(&self, canvas: &mut Canvas) {
        for rank in 0..self.torus.ranks() {
            let (x, y) = self.at(rank);
            canvas.circle((x, y), RADIUS, PLAIN, false);
            let name = format!("{rank}");
            canvas.text((x, y + 3.2), SIZE, Anchor::Middle, INK, &name);
        }
    }

    /// The direction and hops of a message that keeps to a line.
    fn line(&self, message: &Message) -> Option<(Direction, u32)> {
        let [from, to] = [message.from, message.to].map(|rank| self.torus.coordinates(rank));
        let mut apart = (0..3).filter(|d| from[*d] != to[*d]);
        match (apart.next(), apart.next()) {
            (Some(d), None) => Some(self.torus.way(message.from, message.to, d)),
            _ => None,
        }
    }

    fn arrow(&self, canvas: &mut Canvas, arrow: &Arrow<'_>) {
        let Message { from, to, .. } = *arrow.message;
        let (start, end) = (self.at(from), self.at(to));
        let colour = arrow.colour;
        if let Some((way, hops)) = self.line(arrow.message) {
            let at = self.torus.coordinates(from)[way.dimension];
            let there = self.torus.coordinates(to)[way.dimension];
            let along = self.towards(way);
            let (aside, beside) = ((-along.1, along.0), 2.5 + 1.5 * f64::from(hops - 1));
            if (there > at) != way.up {
                let [out, back] = [(start, 1.0), (end, -1.0)].map(|(node, sign)| {
                    let near = moved(node, aside, beside);
                    let edge = moved(near, along, sign * RADIUS);
                    (edge, moved(near, along, sign * (RADIUS + STUB)))
                });
                canvas.arrow(&straight(out.0, out.1), colour, (false, false));
                canvas.arrow(&straight(back.1, back.0), colour, (false, true));
                self.number(canvas, out.1, arrow);
                return;
            }
        }
        let (dx, dy) = (end.0 - start.0, end.1 - start.1);
        let long = length((dx, dy)).max(1.0);
        let (along, aside) = ((dx / long, dy / long), (-dy / long, dx / long));
        // What passes a node bends round it.
        let far = match self.line(arrow.message) {
            Some((_, hops)) => hops > 1,
            None => long > 1.3 * self.pitch.0.max(self.pitch.1),
        };
        let (beside, bend) = match far {
            true => (4.0, 0.12 * long + 6.0),
            false => (2.5, 0.0),
        };
        let begin = moved(moved(start, aside, beside), along, RADIUS);
        let stop = moved(moved(end, aside, beside), along, -RADIUS);
        let middle = ((begin.0 + stop.0) / 2.0, (begin.1 + stop.1) / 2.0);
        let control = moved(middle, aside, bend);
        let path = format!(
            "M{:.1},{:.1} Q{:.1},{:.1} {:.1},{:.1}",
            begin.0, begin.1, control.0, control.1, stop.0, stop.1
        );
        canvas.arrow(&path, colour, (false, true));
        self.number(canvas, moved(middle, aside, bend / 2.0 + 7.0), arrow);
    }

    /// The step of an arrow, if that is to be said.
    fn number(&self, canvas: &mut Canvas, at: Point, arrow: &Arrow<'_>) {
        if let Some(step) = arrow.first {
            let colour = arrow.colour;
            canvas.haloed(
                (at.0, at.1 + 3.0),
                8.0,
                (colour, "#ffffff"),
                &format!("{step}"),
            );
        }
    }
}

pub(super) fn draw(story: &Story) -> String {
    let line = || Torus::new([story.ranks, 1, 1], [false; 3]);
    let torus = story.torus.or_else(line).unwrap_or_default();
    let steps: Vec<&Step> = story
        .steps
        .iter()
        .filter(|s| !s.messages.is_empty())
        .collect();
    let mut canvas = Canvas::default();
    let mut y = HEAD + 14.0;
    let used = used(story);
    let width = legend(&mut canvas, story, &used, y);
    y += 14.0;
    let pictures = pictures(&steps, &used);
    let numbers = steps.len() > MOST_STEPS;
    let (wide, high) = Grid::new(torus, (0.0, 0.0), numbers).size();
    let wide = wide.max(120.0) + 16.0;
    let in_row = ((WIDTH / wide) as usize).clamp(1, pictures.len().max(1));
    for row in pictures.chunks(in_row) {
        for (column, (title, arrows)) in row.iter().enumerate() {
            let x = MARGIN + column as f64 * wide;
            canvas.text((x, y + 14.0), 13.0, Anchor::Start, INK, title);
            let grid = Grid::new(torus, (x, y + 20.0), numbers);
            grid.links(&mut canvas);
            for arrow in arrows {
                grid.arrow(&mut canvas, arrow);
            }
            grid.nodes(&mut canvas);
        }
        y += high + 34.0;
    }
    let width = width.max(MARGIN + in_row as f64 * wide);
    canvas.finish((&story.title, &story.subtitle), (width, y + MARGIN))
}

/// The pictures with their titles: one a step, or one of all, in which messages of the same kind are one arrow.
fn pictures<'a>(steps: &[&'a Step], used: &[usize]) -> Vec<(String, Vec<Arrow<'a>>)> {
    if steps.len() <= MOST_STEPS {
        let one = |step: &&'a Step| {
            let arrow = |message| Arrow {
                message,
                colour: colour(message.lane, used),
                first: None,
            };
            let arrows = step.messages.iter().map(arrow).collect();
            (format!("step {}", step.number), arrows)
        };
        return steps.iter().map(one).collect();
    }
    let mut arrows: Vec<Arrow<'a>> = Vec::new();
    for step in steps {
        for message in &step.messages {
            let ends = |m: &Message| (m.from, m.to, m.lane);
            if !arrows.iter().any(|a| ends(a.message) == ends(message)) {
                arrows.push(Arrow {
                    message,
                    colour: colour(message.lane, used),
                    first: Some(step.number),
                });
            }
        }
    }
    let title = format!("all {} steps; at each arrow: the first", steps.len());
    Vec::from([(title, arrows)])
}

/// The numbers of the lanes that are used.
fn used(story: &Story) -> Vec<usize> {
    let is_used = |lane: &usize| {
        let mut messages = story.steps.iter().flat_map(|step| &step.messages);
        messages.any(|message| message.lane == *lane)
    };
    (0..story.lanes.len()).filter(is_used).collect()
}

/// The lanes that are used, in their colours; returns how far right they reach.
fn legend(canvas: &mut Canvas, story: &Story, used: &[usize], y: f64) -> f64 {
    let mut x = MARGIN;
    let names = used.iter().map(|lane| (*lane, &story.lanes[*lane]));
    for (lane, name) in names.filter(|(_, name)| !name.is_empty()) {
        let path = straight((x, y - 4.0), (x + 22.0, y - 4.0));
        canvas.arrow(&path, colour(lane, used), (false, true));
        canvas.text((x + 28.0, y), 12.0, Anchor::Start, GREY, name);
        x += 28.0 + text_width(name, 12.0) + 18.0;
    }
    x + MARGIN
}

/// The colour of a lane, by its place among those that are used.
fn colour(lane: usize, used: &[usize]) -> &'static str {
    let place = used.iter().position(|own| *own == lane).unwrap_or(0);
    port_colour((place % 256) as u8)
}

fn straight(from: Point, to: Point) -> String {
    format!("M{:.1},{:.1} L{:.1},{:.1}", from.0, from.1, to.0, to.1)
}

fn moved((x, y): Point, (dx, dy): Point, by: f64) -> Point {
    (x + dx * by, y + dy * by)
}

/// The length of a vector, by Newton's method: there is no square root without std.
fn length((x, y): Point) -> f64 {
    let square = x * x + y * y;
    let mut root = square.max(1.0);
    for _ in 0..40 {
        root = (root + square / root) / 2.0;
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::find;
    use crate::call::{Call, Collective};
    use crate::draw::{self, Style};

    fn story(collective: Collective, name: &str, torus: &str) -> Story {
        let (name, parameters) = name.split_once(':').unwrap_or((name, ""));
        let found = find(collective, name).expect("it is there");
        let torus: Torus = torus.parse().expect("it is a torus");
        let call = Call::new(collective, torus.ranks());
        let shape = found.shape(call, parameters).expect("they are its own");
        draw::story(found, &shape.on_torus(Some(torus))).expect("it can be told")
    }

    #[test]
    fn figure_4_of_almasi_is_drawn() {
        let story = story(Collective::Allreduce, "line-broadcast:group=4", "8x8");
        assert_eq!(story.style, Style::Grid);
        let svg = draw::svg(&story, story.style);
        let steps = story
            .steps
            .iter()
            .filter(|s| !s.messages.is_empty())
            .count();
        // All nodes in each picture; two dimensions, two phases each.
        assert_eq!(svg.matches("<circle").count(), 64 * steps);
        assert!(svg.contains("along x") && svg.contains("along y") && !svg.contains("along z"));
        let messages: usize = story.steps.iter().map(|s| s.messages.len()).sum();
        assert_eq!(svg.matches("<path d=\"M").count(), 6 + 2 + messages);
    }

    #[test]
    fn streams_are_named_and_wrap() {
        let story = story(Collective::Broadcast, "torus-trees:segments=1", "3x3:torus");
        let svg = draw::svg(&story, story.style);
        for name in ["stream 1 (+x)", "stream 4 (-y)"] {
            assert!(svg.contains(name), "{name}: {:?}", story.lanes);
        }
        // The links round the ends: both ways of three lines in each of two dimensions, in every picture.
        let steps = story
            .steps
            .iter()
            .filter(|s| !s.messages.is_empty())
            .count();
        assert_eq!(svg.matches("<line").count(), steps * (12 + 12));
    }

    #[test]
    fn lengths_are_roots() {
        assert!((length((3.0, 4.0)) - 5.0).abs() < 1e-9);
        assert!(length((0.0, 0.0)) < 1e-9);
    }
}
