//! Cells: one algorithm at one size among so many ranks somewhere, as it was measured, as it is predicted, or both.

use crate::command::bench::cell::Record as Measured;
use crate::sizes::say;
use std::collections::BTreeSet;

/// A cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Where, in words: machine, transport, and what else tells these cells from those of the same name.
    pub place: String,
    pub collective: String,
    pub algorithm: String,
    pub ranks: u32,
    pub bytes: usize,
    pub measured: Option<Time>,
    pub predicted_us: Option<f64>,
}

/// A median, with the ends of the interval that has it in 95 of 100 cases.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Time {
    pub us: f64,
    pub ends_us: [f64; 2],
}

impl Time {
    /// What a record says, by its quartiles (McGill, Tukey, Larsen 1978); nothing, if it says nothing that is right.
    pub fn of(record: &Measured) -> Option<Time> {
        let us = record.median_us;
        let half = 1.57 * (record.q3_us - record.q1_us) / (record.iterations as f64).sqrt();
        let is_time = record.correct && us.is_finite() && us > 0.0 && half.is_finite();
        is_time.then(|| Time {
            us,
            ends_us: [(us - half).max(0.0), us + half],
        })
    }
}

/// Which of two times of a cell is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Measured,
    Predicted,
}

impl Side {
    /// As titles say it.
    pub const fn name(self) -> &'static str {
        match self {
            Side::Measured => "measured",
            Side::Predicted => "predicted",
        }
    }

    /// That time, in microseconds.
    pub fn us(self, cell: &Cell) -> Option<f64> {
        match self {
            Side::Measured => cell.measured.map(|time| time.us),
            Side::Predicted => cell.predicted_us,
        }
    }
}

/// Where a record was measured, in words.
pub fn place(record: &Measured) -> String {
    let mut words = vec![record.machine.to_string(), record.transport.to_string()];
    words.extend(record.hosts.iter().map(|hosts| format!("hosts {hosts}")));
    words.extend(record.nodes.iter().map(|nodes| format!("nodes {nodes}")));
    words.extend(record.torus.iter().map(|torus| format!("torus {torus}")));
    words.extend(
        record
            .layout
            .iter()
            .map(|layout| format!("layout {layout}")),
    );
    words.extend(
        record
            .element
            .iter()
            .map(|element| format!("type {element}")),
    );
    words.extend(
        record
            .operator
            .iter()
            .map(|operator| format!("operator {operator}")),
    );
    words.extend((record.root > 0).then(|| format!("root {}", record.root)));
    words.extend(record.fresh.then(|| "new buffers".to_string()));
    words.join(", ")
}

/// The different values of something, in their order.
pub fn values<T: Ord>(cells: &[&Cell], of: impl Fn(&Cell) -> T) -> Vec<T> {
    let all: BTreeSet<T> = cells.iter().map(|cell| of(cell)).collect();
    all.into_iter().collect()
}

/// The cells by place and collective, in the order in which they come.
pub fn by_collective(cells: &[Cell]) -> Vec<Vec<&Cell>> {
    let mut groups: Vec<Vec<&Cell>> = Vec::new();
    let of = |cell: &Cell| (cell.place.clone(), cell.collective.clone());
    for cell in cells {
        match groups.iter_mut().find(|group| of(group[0]) == of(cell)) {
            Some(group) => group.push(cell),
            None => groups.push(vec![cell]),
        }
    }
    groups
}

/// The algorithms of cells that are the fastest at a point, those that are so most often first, and then the others.
pub fn leaders(cells: &[&Cell], side: Side) -> Vec<String> {
    let mut wins: Vec<(String, usize)> = Vec::new();
    for name in values(cells, |cell| cell.algorithm.clone()) {
        wins.push((name, 0));
    }
    for (ranks, bytes) in values(cells, |cell| (cell.ranks, cell.bytes)) {
        let best = fastest(cells, (ranks, bytes), side).first().copied();
        let best = best.and_then(|best| wins.iter_mut().find(|win| win.0 == best.algorithm));
        best.into_iter().for_each(|win| win.1 += 1);
    }
    wins.sort_by_key(|win| std::cmp::Reverse(win.1));
    wins.into_iter().map(|win| win.0).collect()
}

/// The cells of one point, the fastest first.
pub fn fastest<'a>(cells: &[&'a Cell], (ranks, bytes): (u32, usize), side: Side) -> Vec<&'a Cell> {
    let here = cells
        .iter()
        .filter(|cell| (cell.ranks, cell.bytes) == (ranks, bytes));
    let mut here: Vec<&Cell> = here
        .copied()
        .filter(|cell| side.us(cell).is_some())
        .collect();
    let us = |cell: &Cell| side.us(cell).unwrap_or(f64::INFINITY);
    here.sort_by(|a, b| us(a).total_cmp(&us(b)).then(a.algorithm.cmp(&b.algorithm)));
    here
}

/// A part of a file's name: letters, digits and hyphens.
pub fn file_name(words: &str) -> String {
    let one = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let plain: String = words.chars().map(one).collect();
    let parts: Vec<&str> = plain.split('-').filter(|part| !part.is_empty()).collect();
    parts.join("-").to_lowercase()
}

/// Ranks and size in words.
pub fn point(ranks: u32, bytes: usize) -> String {
    format!("{ranks} ranks, {} bytes", say(bytes))
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A cell of an allreduce.
    pub fn cell(algorithm: &str, (ranks, bytes): (u32, usize), us: [Option<f64>; 2]) -> Cell {
        Cell {
            place: "m, shm".into(),
            collective: "allreduce".into(),
            algorithm: algorithm.into(),
            ranks,
            bytes,
            measured: us[0].map(|us| Time {
                us,
                ends_us: [us * 0.9, us * 1.1],
            }),
            predicted_us: us[1],
        }
    }

    #[test]
    fn leaders_come_first() {
        let cells = [
            cell("a", (2, 8), [Some(2.0), Some(1.0)]),
            cell("b", (2, 8), [Some(1.0), Some(2.0)]),
            cell("a", (2, 64), [Some(4.0), None]),
            cell("b", (2, 64), [Some(3.0), Some(2.0)]),
        ];
        let all: Vec<&Cell> = cells.iter().collect();
        assert_eq!(leaders(&all, Side::Measured), ["b", "a"]);
        assert_eq!(leaders(&all, Side::Predicted), ["a", "b"]);
        let at = fastest(&all, (2, 64), Side::Predicted);
        assert_eq!((at.len(), at[0].algorithm.as_str()), (1, "b"));
        assert_eq!(by_collective(&cells).len(), 1);
        assert_eq!(file_name("all/Reduce: x=1,"), "all-reduce-x-1");
    }
}
