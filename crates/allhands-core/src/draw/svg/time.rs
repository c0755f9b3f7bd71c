//! The time-rank chart: a row for each rank, time from left to right, what is done and waited for, and messages as arrows.

use super::canvas::{
    Anchor, COMBINED, Canvas, GREY, HEAD, INK, MARGIN, OVERHEAD, PLAIN, RECEIVED, RULE, SENT,
    text_width,
};
use crate::draw::chart::{Doing, TimeChart};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// The width of the time axis.
const WIDTH: f64 = 1000.0;
/// The height of a row and of its bar.
const ROW: (f64, f64) = (22.0, 14.0);
/// The space for the legend and the numbers of the axis.
const FOOT: f64 = 62.0;

/// Draws a time-rank chart.
#[must_use]
pub fn time_chart(chart: &TimeChart) -> String {
    let mut canvas = Canvas::default();
    let widths = chart.rows.iter().map(|name| text_width(name, 12.0));
    let left = MARGIN + widths.fold(0.0, f64::max) + 10.0;
    let bottom = HEAD + ROW.0 * chart.rows.len() as f64;
    let end = chart.end.max(f64::MIN_POSITIVE);
    let x = |time: f64| left + time / end * WIDTH;
    let y = |row: usize| HEAD + ROW.0 * (row as f64 + 0.5);
    for tick in ticks(end) {
        canvas.line((x(tick), HEAD), (x(tick), bottom), RULE);
        let words = format!("{tick}");
        canvas.text((x(tick), bottom + 16.0), 11.0, Anchor::Middle, GREY, &words);
    }
    canvas.text((left + WIDTH, bottom + 32.0), 11.0, Anchor::End, GREY, "µs");
    for (row, name) in chart.rows.iter().enumerate() {
        canvas.text((left - 8.0, y(row) + 4.0), 12.0, Anchor::End, INK, name);
    }
    for bar in &chart.bars {
        let width = (x(bar.to) - x(bar.from)).max(0.3);
        let corner = (x(bar.from), y(bar.row) - ROW.1 / 2.0);
        canvas.rect(corner, (width, ROW.1), colour(bar.what), ("none", 0.0));
        let words = &bar.words;
        if text_width(words, 9.0) + 4.0 < width {
            let middle = (x(bar.from) + width / 2.0, y(bar.row) + 3.2);
            canvas.text(middle, 9.0, Anchor::Middle, ink(bar.what), words);
        }
    }
    for arrow in &chart.arrows {
        let (from, to) = (arrow.from, arrow.to);
        let path = format!(
            "M{:.1},{:.1} L{:.1},{:.1}",
            x(from.1),
            y(from.0),
            x(to.1),
            y(to.0)
        );
        canvas.arrow(&path, RECEIVED, (false, true));
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
    fn an_axis_has_a_few_round_times() {
        for end in [0.03, 0.9, 1.0, 7.0, 10.0, 99.0, 4321.0] {
            let ticks = ticks(end);
            assert!((4..=11).contains(&ticks.len()), "{end}: {ticks:?}");
            assert!(ticks.last().is_some_and(|last| *last <= end));
        }
    }
}
