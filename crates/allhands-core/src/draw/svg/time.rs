//! The time-rank chart: a row for each rank, time from left to right, what is done and waited for, and messages as arrows.

use super::canvas::{
    Anchor, COMBINED, Canvas, GREY, HEAD, INK, MARGIN, OVERHEAD, PLAIN, RECEIVED, RULE, SENT,
    text_width,
};
use crate::draw::chart::{Bar, Doing, TimeChart};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// The width of the time axis.
const WIDTH: f64 = 1000.0;
/// The height of a row, and how much of it is its bar.
const ROW: f64 = 22.0;
const BAR: f64 = 0.64;
/// Where there are many rows, the height of all, and the least of one.
const MOST_HEIGHT: f64 = 1400.0;
const LEAST_ROW: f64 = 2.5;
/// From so many arrows on they are faint, and have no heads.
const MANY_ARROWS: usize = 300;
/// The space for the legend and the numbers of the axis.
const FOOT: f64 = 62.0;

/// Draws a time-rank chart.
#[must_use]
pub fn time_chart(chart: &TimeChart) -> String {
    let mut canvas = Canvas::default();
    let widths = chart.rows.iter().map(|name| text_width(name, 12.0));
    let left = MARGIN + widths.fold(0.0, f64::max) + 10.0;
    let rows = chart.rows.len();
    let row = (MOST_HEIGHT / rows.max(1) as f64).clamp(LEAST_ROW, ROW);
    let bottom = HEAD + row * rows as f64;
    let end = chart.end.max(f64::MIN_POSITIVE);
    let x = |time: f64| left + time / end * WIDTH;
    let y = |number: usize| HEAD + row * (number as f64 + 0.5);
    for tick in ticks(end) {
        canvas.line((x(tick), HEAD), (x(tick), bottom), RULE);
        let words = format!("{tick}");
        canvas.text((x(tick), bottom + 16.0), 11.0, Anchor::Middle, GREY, &words);
    }
    canvas.text((left + WIDTH, bottom + 32.0), 11.0, Anchor::End, GREY, "µs");
    // Names that would touch are left out.
    let apart = every(row);
    for (number, name) in chart.rows.iter().enumerate().step_by(apart) {
        canvas.text((left - 8.0, y(number) + 4.0), 12.0, Anchor::End, INK, name);
    }
    let width = |bar: &Bar| (x(bar.to) - x(bar.from)).max(0.3);
    for bar in &chart.bars {
        let corner = (x(bar.from), y(bar.row) - row * BAR / 2.0);
        let size = (width(bar), row * BAR);
        canvas.rect(corner, size, colour(bar.what), ("none", 0.0));
    }
    let many = chart.arrows.len() >= MANY_ARROWS;
    for arrow in &chart.arrows {
        let (from, to) = (arrow.from, arrow.to);
        let path = format!(
            "M{:.1},{:.1} L{:.1},{:.1}",
            x(from.1),
            y(from.0),
            x(to.1),
            y(to.0)
        );
        match many {
            true => canvas.faint(&path, RECEIVED),
            false => canvas.arrow(&path, RECEIVED, (false, true)),
        }
    }
    // Words are on top, each on the ground of its bar.
    let has_room = |bar: &&Bar| text_width(&bar.words, 9.0) + 4.0 < width(bar);
    for bar in chart
        .bars
        .iter()
        .filter(|_| row * BAR >= 11.0)
        .filter(has_room)
    {
        let middle = (x(bar.from) + width(bar) / 2.0, y(bar.row) + 3.2);
        canvas.haloed(middle, 9.0, (ink(bar.what), colour(bar.what)), &bar.words);
    }
    let mut at = (left, bottom + 50.0);
    let is_there = |what: &Doing| chart.bars.iter().any(|bar| bar.what == *what);
    for what in Doing::ALL.into_iter().filter(is_there) {
        at.0 = canvas.legend(at, colour(what), ("none", 0.0), what.words());
    }
    let size = (left + WIDTH + MARGIN, bottom + FOOT);
    canvas.finish((&chart.title, &chart.subtitle), size)
}

fn colour(what: Doing) -> &'static str {
    match what {
        Doing::Sends => SENT,
        Doing::Receives => "#56b4e9",
        Doing::Copies => "#cc79a7",
        Doing::Combines => COMBINED,
        Doing::Waits => PLAIN,
        Doing::Other => OVERHEAD,
    }
}

fn ink(what: Doing) -> &'static str {
    match what {
        Doing::Waits => GREY,
        Doing::Sends | Doing::Receives | Doing::Copies | Doing::Combines | Doing::Other => INK,
    }
}

/// Every how many rows of this height are named.
fn every(row: f64) -> usize {
    let apart = [1, 2, 4, 8, 16];
    let fits = apart.into_iter().find(|n| *n as f64 * row >= 14.0);
    fits.unwrap_or(32)
}

/// Round times from 0 to `end`, five to ten of them.
fn ticks(end: f64) -> Vec<f64> {
    let mut step = 1.0;
    while step * 10.0 <= end {
        step *= 10.0;
    }
    while step > end {
        step /= 10.0;
    }
    let step = [10.0, 5.0, 2.0, 1.0].map(|part| step / part);
    let step = step.into_iter().find(|step| end / step <= 10.0);
    let step = step.unwrap_or(end);
    (0..=10)
        .map(|n| f64::from(n) * step)
        .filter(|time| *time <= end)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_rows_are_low_and_few_are_named() {
        let chart = |rows: usize| TimeChart {
            title: String::new(),
            subtitle: String::new(),
            rows: (0..rows).map(|row| format!("rank {row}")).collect(),
            bars: (0..rows)
                .map(|row| Bar {
                    row,
                    from: 0.0,
                    to: 9.0,
                    what: Doing::Copies,
                    words: "copy".into(),
                })
                .collect(),
            arrows: Vec::new(),
            end: 9.0,
        };
        let names = |svg: &str| svg.matches(">rank ").count();
        let few = time_chart(&chart(16));
        assert_eq!((names(&few), few.matches(">copy<").count()), (16, 16));
        let many = time_chart(&chart(512));
        assert_eq!((names(&many), many.matches(">copy<").count()), (64, 0));
    }

    #[test]
    fn an_axis_has_a_few_round_times() {
        for end in [0.03, 0.9, 1.0, 7.0, 10.0, 99.0, 4321.0] {
            let ticks = ticks(end);
            assert!((4..=11).contains(&ticks.len()), "{end}: {ticks:?}");
            assert!(ticks.last().is_some_and(|last| *last <= end));
        }
    }
}
