//! Latency by size, as measured and as predicted, for each number of ranks.

use super::cells::{Cell, Side, fastest, file_name, leaders, values};
use super::chart::{Axis, Chart, Point, Scale, Series};
use super::{Figure, Table, number};
use crate::sizes::say;

/// How many algorithms a chart has; the table has all.
const MOST: usize = 5;

/// A figure for each number of ranks of one collective in one place.
pub fn figures(cells: &[&Cell]) -> Vec<Figure> {
    let of = |ranks: u32| -> Vec<&Cell> {
        let own = cells.iter().copied().filter(|cell| cell.ranks == ranks);
        own.collect()
    };
    let all = values(cells, |cell| cell.ranks).into_iter();
    all.filter_map(|ranks| figure(&of(ranks))).collect()
}

fn figure(cells: &[&Cell]) -> Option<Figure> {
    let first = cells.first()?;
    let side = match cells.iter().any(|cell| cell.measured.is_some()) {
        true => Side::Measured,
        false => Side::Predicted,
    };
    let mut names = leaders(cells, side);
    let more = names.len().saturating_sub(MOST);
    names.truncate(MOST);
    let has_sizes = cells.iter().any(|cell| cell.bytes > 0);
    let mut series = Vec::new();
    for (at, name) in names.iter().enumerate() {
        for side in [Side::Measured, Side::Predicted] {
            let own = cells.iter().filter(|cell| cell.algorithm == *name);
            let point = |cell: &&Cell| {
                let ends = cell.measured.filter(|_| side == Side::Measured);
                let x = if has_sizes { cell.bytes as f64 } else { 1.0 };
                Some(Point {
                    x,
                    y: side.us(cell)?,
                    ends: ends.map(|time| time.ends_us),
                })
            };
            let mut points: Vec<Point> = own.filter_map(point).collect();
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
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
    let title = format!("{}, {} ranks", first.collective, first.ranks);
    let chart = Chart {
        title: &title,
        x: Axis {
            words: if has_sizes { "bytes" } else { "no bytes" },
            scale: Scale::Bytes,
        },
        y: Axis {
            words: "median time, µs",
            scale: Scale::Log,
        },
        series,
        across: None,
    };
    let words = match more {
        0 => String::new(),
        more => format!("; the {MOST} that win most, {more} more in the table"),
    };
    Some(Figure {
        name: file_name(&format!("latency {title}")),
        svg: chart.draw(),
        title: format!("{title} ({}{words})", first.place),
        table: table(cells, side),
    })
}

/// All algorithms, the fastest of each size first.
fn table(cells: &[&Cell], side: Side) -> Table {
    let has = |side: Side| cells.iter().any(|cell| side.us(cell).is_some());
    let (is_measured, is_predicted) = (has(Side::Measured), has(Side::Predicted));
    let mut head = vec!["bytes", "algorithm"];
    head.extend(
        is_measured
            .then_some(["median µs", "95 % of it"])
            .into_iter()
            .flatten(),
    );
    head.extend(is_predicted.then_some("predicted µs"));
    head.extend((is_measured && is_predicted).then_some("off by"));
    let mut table = Table::new(&head);
    let ranks = cells.first().map_or(0, |cell| cell.ranks);
    for bytes in values(cells, |cell| cell.bytes) {
        for cell in fastest(cells, (ranks, bytes), side) {
            let mut row = vec![say(bytes), cell.algorithm.clone()];
            if is_measured {
                let ends = |ends: [f64; 2]| format!("{} to {}", number(ends[0]), number(ends[1]));
                row.push(cell.measured.map_or("–".into(), |time| number(time.us)));
                row.push(cell.measured.map_or("–".into(), |time| ends(time.ends_us)));
            }
            if is_predicted {
                row.push(cell.predicted_us.map_or("–".into(), number));
            }
            if is_measured && is_predicted {
                let off = cell.predicted_us.zip(cell.measured);
                let off = off.map(|(us, time)| 100.0 * (us / time.us - 1.0));
                row.push(off.map_or("–".into(), |off| format!("{off:+.0} %")));
            }
            table.rows.push(row);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::super::cells::tests::cell;
    use super::*;

    #[test]
    fn a_chart_has_both_sides_and_a_table_all_algorithms() {
        let names = ["a", "b", "c", "d", "e", "f"];
        let cells: Vec<Cell> = names
            .iter()
            .zip(1..)
            .map(|(name, us)| cell(name, (2, 64), [Some(f64::from(us)), Some(2.0)]))
            .collect();
        let all: Vec<&Cell> = cells.iter().collect();
        let [figure] = &figures(&all)[..] else {
            panic!("one number of ranks, one figure");
        };
        assert!(
            figure.title.contains("1 more in the table"),
            "{}",
            figure.title
        );
        assert_eq!(figure.table.rows.len(), 6);
        assert_eq!(
            figure.table.rows[0][1..],
            ["a", "1.00", "0.900 to 1.10", "2.00", "+100 %"]
        );
        let svg = figure.svg.embedded();
        assert!(
            svg.contains(">a, measured<") && svg.contains(">a, predicted<"),
            "{svg}"
        );
    }
}
