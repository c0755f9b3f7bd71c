//! Decision maps: which algorithm is the fastest, by size and number of ranks; T's figure 14 for any collective and machine.

use super::cells::{Cell, Side, fastest, file_name, leaders, point, values};
use super::svg::{Anchor, SERIES, Svg, WIDTH, width};
use super::{Figure, Table, number};
use crate::sizes::say;

/// Where the fields begin.
const LEFT: f64 = 46.0;
const TOP: f64 = 6.0;
/// The height of a row of fields, and of one of the legend.
const HIGH: f64 = 30.0;
const ROW: f64 = 15.0;
/// The narrowest field that has words below its letter.
const WORDY: f64 = 27.0;

/// A letter for each algorithm; two beyond the alphabet.
fn letter(place: usize) -> String {
    let one = |place: usize| char::from(b'A' + (place % 26) as u8);
    match place / 26 {
        0 => one(place).to_string(),
        more => format!("{}{}", one(more - 1), one(place)),
    }
}

/// The maps of one collective in one place: as measured, and as predicted, as far as there is one.
pub fn maps(cells: &[&Cell]) -> Vec<Figure> {
    // The same letters in both.
    let mut names = leaders(cells, Side::Measured);
    let mut predicted = leaders(cells, Side::Predicted);
    let winners = |side| {
        let points = values(cells, |cell| (cell.ranks, cell.bytes)).into_iter();
        let best = points.filter_map(move |at| fastest(cells, at, side).first().copied());
        best.map(|cell| cell.algorithm.clone())
    };
    let all: Vec<String> = winners(Side::Measured)
        .chain(winners(Side::Predicted))
        .collect();
    predicted.retain(|name| !names.contains(name));
    names.extend(predicted);
    names.retain(|name| all.contains(name));
    let sides = [Side::Measured, Side::Predicted];
    let maps = sides
        .into_iter()
        .filter_map(|side| map(cells, side, &names));
    maps.collect()
}

fn map(cells: &[&Cell], side: Side, names: &[String]) -> Option<Figure> {
    let first = cells.first()?;
    let ranks = values(cells, |cell| cell.ranks);
    let sizes = values(cells, |cell| cell.bytes);
    let title = format!("{}: the fastest, {}", first.collective, side.name());
    let mut svg = Svg::new(&title);
    let wide = (WIDTH - LEFT - 4.0) / sizes.len().max(1) as f64;
    let mut head = vec!["ranks", "bytes", "fastest", "µs", "next", "µs"];
    if side == Side::Predicted {
        head.push("measured time of the fastest as predicted, by that of the fastest");
    }
    let mut table = Table::new(&head);
    let mut shown: Vec<&str> = Vec::new();
    for (row, ranks) in ranks.iter().rev().enumerate() {
        let y = TOP + row as f64 * HIGH;
        let words = format!("{ranks}");
        svg.words(
            (LEFT - 6.0, y + HIGH / 2.0 + 4.0),
            Anchor::End,
            "soft",
            &words,
        );
        for (column, bytes) in sizes.iter().enumerate() {
            let here = fastest(cells, (*ranks, *bytes), side);
            let Some(best) = here.first() else { continue };
            let place = names.iter().position(|name| *name == best.algorithm)?;
            let cost = cost(cells, best, side);
            field(
                &mut svg,
                (LEFT + column as f64 * wide, y),
                wide,
                (place, best, cost),
                side,
            );
            shown.push(&best.algorithm);
            let us = |cell: &&Cell| number(side.us(cell).unwrap_or(f64::NAN));
            let (next, next_us) = match here.get(1) {
                Some(next) => (next.algorithm.clone(), us(next)),
                None => ("–".to_string(), "–".to_string()),
            };
            let mut line = vec![
                ranks.to_string(),
                say(*bytes),
                best.algorithm.clone(),
                us(best),
            ];
            line.extend([next, next_us]);
            if side == Side::Predicted {
                line.push(cost.map_or("–".to_string(), number));
            }
            table.rows.push(line);
        }
    }
    if shown.is_empty() {
        return None;
    }
    let y = TOP + ranks.len() as f64 * HIGH;
    columns(&mut svg, &sizes, wide, y);
    svg.upright((10.0, (TOP + y) / 2.0), "ranks");
    let shown = (0..)
        .zip(names)
        .filter(|(_, name)| shown.contains(&name.as_str()));
    legend(&mut svg, &shown.collect::<Vec<_>>(), y + 44.0);
    Some(Figure {
        name: file_name(&format!("decision {} {}", first.collective, side.name())),
        title: format!("{title} ({})", first.place),
        svg,
        table,
    })
}

/// How much longer what a prediction takes for the fastest was measured to take than what was measured to be it.
fn cost(cells: &[&Cell], best: &Cell, side: Side) -> Option<f64> {
    if side == Side::Measured {
        return None;
    }
    let measured = fastest(cells, (best.ranks, best.bytes), Side::Measured);
    Some(best.measured?.us / measured.first()?.measured?.us)
}

fn field(
    svg: &mut Svg,
    (x, y): (f64, f64),
    wide: f64,
    (place, best, cost): (usize, &Cell, Option<f64>),
    side: Side,
) {
    let us = side.us(best).unwrap_or(f64::NAN);
    let at = point(best.ranks, best.bytes);
    let mut says = format!("{at}: {} {} µs", best.algorithm, number(us));
    let costs = cost.filter(|cost| *cost > 1.0);
    if let Some(cost) = costs {
        says += &format!("; measured, it takes {cost:.2} times as long as the fastest");
    }
    svg.field(
        (x, y),
        (wide, HIGH),
        &format!("field f{}", place % SERIES),
        &says,
    );
    let words = costs.map(|cost| format!("×{cost:.2}"));
    let middle = x + wide / 2.0;
    match words {
        Some(words) if wide >= WORDY => {
            svg.words((middle, y + 12.5), Anchor::Middle, "strong", &letter(place));
            svg.words((middle, y + 25.0), Anchor::Middle, "soft", &words);
        }
        Some(_) => {
            let words = format!("{}*", letter(place));
            svg.words((middle, y + 19.0), Anchor::Middle, "strong", &words);
        }
        None => svg.words((middle, y + 19.0), Anchor::Middle, "strong", &letter(place)),
    }
}

/// The sizes below the fields, as many as do not touch.
fn columns(svg: &mut Svg, sizes: &[usize], wide: f64, y: f64) {
    let mut free = f64::NEG_INFINITY;
    for (column, bytes) in sizes.iter().enumerate() {
        let (middle, words) = (LEFT + (column as f64 + 0.5) * wide, say(*bytes));
        let half = width(&words) / 2.0;
        if middle - half >= free {
            free = middle + half + 3.0;
            svg.words((middle, y + 13.0), Anchor::Middle, "soft", &words);
        }
    }
    let middle = f64::midpoint(LEFT, WIDTH);
    svg.words((middle, y + 27.0), Anchor::Middle, "soft", "bytes");
}

fn legend(svg: &mut Svg, names: &[(usize, &String)], top: f64) {
    let widest = names.iter().map(|(_, name)| width(name));
    let widest = widest.fold(0.0, f64::max) + 32.0;
    let columns = if widest * 2.0 <= WIDTH { 2 } else { 1 };
    for (at, (place, name)) in names.iter().enumerate() {
        let x = 6.0 + (at % columns) as f64 * WIDTH / columns as f64;
        let y = top + (at / columns) as f64 * ROW;
        let class = format!("field f{}", place % SERIES);
        svg.field((x, y - 7.0), (20.0, 13.0), &class, name);
        svg.words(
            (x + 10.0, y + 3.5),
            Anchor::Middle,
            "strong",
            &letter(*place),
        );
        svg.words((x + 26.0, y + 3.5), Anchor::Start, "", name);
    }
    svg.set_height(top + names.len().div_ceil(columns) as f64 * ROW - 4.0);
}

#[cfg(test)]
mod tests {
    use super::super::cells::tests::cell;
    use super::*;

    #[test]
    fn a_map_has_the_winners_and_what_a_wrong_prediction_costs() {
        let cells = [
            cell("ring", (2, 8), [Some(3.0), Some(1.0)]),
            cell("tree", (2, 8), [Some(2.0), Some(2.0)]),
            cell("ring", (4, 8), [Some(1.0), Some(1.0)]),
            cell("tree", (4, 8), [Some(5.0), Some(2.0)]),
        ];
        let all: Vec<&Cell> = cells.iter().collect();
        let [measured, predicted] = &maps(&all)[..] else {
            panic!("a map of each side");
        };
        let rows = |figure: &Figure| figure.table.rows.iter().map(|r| r[2].clone()).collect();
        let (one, other): (Vec<String>, Vec<String>) = (rows(measured), rows(predicted));
        // The most ranks are on top.
        assert_eq!(
            (one, other),
            (
                vec!["ring".into(), "tree".into()],
                vec!["ring".to_string(); 2]
            )
        );
        assert_eq!(
            predicted.table.rows[1].last().map(String::as_str),
            Some("1.50")
        );
        let svg = predicted.svg.embedded();
        assert!(
            svg.contains("×1.50") && svg.contains("it takes 1.50 times as long"),
            "{svg}"
        );
        assert_eq!(
            (letter(0), letter(25), letter(26)),
            ("A".into(), "Z".into(), "AA".into())
        );
        let never = [cell("ring", (2, 8), [None, Some(1.0)])];
        assert_eq!(maps(&never.iter().collect::<Vec<_>>()).len(), 1);
    }
}
