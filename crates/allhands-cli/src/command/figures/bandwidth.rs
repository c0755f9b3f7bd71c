//! Bandwidth against the number of ranks, at one size; T's figure 15 for any collective and machine.

use super::cells::{Cell, Side, Time, file_name, leaders, values};
use super::chart::{Axis, Chart, Point, Scale, Series};
use super::{Figure, Table, number};
use crate::sizes::say;

/// The size that is taken, or what is nearest to it: that of T's figure.
const BYTES: f64 = 32768.0;
/// How many algorithms a chart has.
const MOST: usize = 6;

/// The chart of one collective in one place, where there are two numbers of ranks at least.
pub fn chart(cells: &[&Cell]) -> Option<Figure> {
    let sizes = values(cells, |cell| cell.bytes)
        .into_iter()
        .filter(|bytes| *bytes > 0);
    let far = |bytes: &usize| (*bytes as f64 / BYTES).ln().abs();
    let bytes = sizes.min_by(|a, b| far(a).total_cmp(&far(b)))?;
    let here = cells.iter().copied().filter(|cell| cell.bytes == bytes);
    let here: Vec<&Cell> = here.collect();
    let ranks = values(&here, |cell| cell.ranks);
    if ranks.len() < 2 {
        return None;
    }
    let first = here.first()?;
    let mut names = leaders(&here, Side::Measured);
    if here.iter().all(|cell| cell.measured.is_none()) {
        names = leaders(&here, Side::Predicted);
    }
    names.truncate(MOST);
    let mut series = Vec::new();
    for (at, name) in names.iter().enumerate() {
        for side in [Side::Measured, Side::Predicted] {
            let own = here.iter().filter(|cell| cell.algorithm == *name);
            let points: Vec<Point> = own.filter_map(|cell| bandwidth(cell, side)).collect();
            if !points.is_empty() {
                series.push(Series {
                    name: format!("{name}, {}", side.name()),
                    number: at,
                    is_predicted: side == Side::Predicted,
                    points,
                });
            }
        }
    }
    let title = format!("{}: bandwidth, {} bytes", first.collective, say(bytes));
    let x = Axis {
        words: "ranks",
        scale: Scale::Count,
    };
    let y = Axis {
        words: "size by time, MB/s",
        scale: Scale::Even,
    };
    let chart = Chart {
        title: &title,
        x,
        y,
        series,
        across: None,
    };
    Some(Figure {
        name: file_name(&format!("bandwidth {} {}", first.collective, say(bytes))),
        svg: chart.draw(),
        title: format!("{title} ({})", first.place),
        table: table(&here),
    })
}

/// A million bytes a second are a byte a microsecond.
fn bandwidth(cell: &Cell, side: Side) -> Option<Point> {
    let rate = |us: f64| cell.bytes as f64 / us;
    // An interval that reaches down to no time says nothing of a rate.
    let says = |time: &Time| side == Side::Measured && time.ends_us[0] > 0.0;
    let ends = cell.measured.filter(says);
    Some(Point {
        x: f64::from(cell.ranks),
        y: rate(side.us(cell)?),
        ends: ends.map(|time| [rate(time.ends_us[1]), rate(time.ends_us[0])]),
    })
}

fn table(cells: &[&Cell]) -> Table {
    let mut table = Table::new(&["algorithm", "ranks", "measured MB/s", "predicted MB/s"]);
    let mut cells = cells.to_vec();
    cells.sort_by(|a, b| (&a.algorithm, a.ranks).cmp(&(&b.algorithm, b.ranks)));
    for cell in cells {
        let rate = |side| bandwidth(cell, side).map_or("–".to_string(), |point| number(point.y));
        let rates = [rate(Side::Measured), rate(Side::Predicted)];
        let mut row = vec![cell.algorithm.clone(), cell.ranks.to_string()];
        row.extend(rates);
        table.rows.push(row);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::super::cells::tests::cell;
    use super::*;

    #[test]
    fn bandwidth_is_size_by_time_at_the_size_of_the_figure() {
        let cells = [
            cell("ring", (2, 8), [Some(1.0), None]),
            cell("ring", (2, 65536), [Some(64.0), Some(32.0)]),
            cell("ring", (4, 65536), [Some(128.0), None]),
        ];
        let all: Vec<&Cell> = cells.iter().collect();
        let figure = chart(&all).expect("there are two numbers of ranks");
        assert!(figure.title.contains("64K bytes"), "{}", figure.title);
        assert_eq!(figure.table.rows[0], ["ring", "2", "1024", "2048"]);
        assert_eq!(figure.table.rows[1], ["ring", "4", "512", "–"]);
        assert!(figure.svg.embedded().contains("ring, predicted: 2048 at 2"));
        assert_eq!(chart(&all[..2]), None);
    }
}
