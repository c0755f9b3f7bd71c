//! What was measured, in one run or several: cells with the median of their runs' medians, and how far these are apart.

use crate::command::bench::cell::Record;
use anyhow::{Context, ensure};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A cell of one run or of several.
pub struct Cell {
    /// The cell, as the first run has it.
    first: Record,
    /// Each run's median, in microseconds; a file may have those of several, as `bench --rounds` starts ranks again.
    medians_us: Vec<f64>,
    /// In how many files it is.
    files: usize,
    /// How many runs other cells have at most.
    most_runs: usize,
    /// By how much the first run's is uncertain: half of an interval that holds in 95 of 100 cases (McGill, Tukey, Larsen 1978).
    within_us: f64,
}

impl Cell {
    /// The cell, with the median of the runs.
    pub fn record(&self) -> Record {
        Record {
            median_us: self.us(),
            ..self.first.clone()
        }
    }

    /// The median of the runs' medians, in microseconds.
    pub fn us(&self) -> f64 {
        median(self.medians_us.clone())
    }

    /// By which part of it the time is uncertain: how far several runs are apart, or what one run says of itself. All of it, where nothing says
    /// that: where the time was up before as many runs as others had, or before a third call.
    pub fn uncertain(&self) -> f64 {
        /// The fewest calls of which there is a spread.
        const LEAST_CALLS: usize = 3;
        if self.medians_us.len() < self.most_runs || self.first.iterations < LEAST_CALLS {
            return 1.0;
        }
        let least = self
            .medians_us
            .iter()
            .copied()
            .fold(f64::INFINITY, f64::min);
        let most = self.medians_us.iter().copied().fold(0.0, f64::max);
        match self.medians_us.len() {
            1 => self.within_us / self.us(),
            _ => (most - least) / self.us(),
        }
    }

    /// For each run, by how much its median errs of the other runs' median: what nobody who has measured before could predict better.
    pub fn errors_of_runs(&self) -> Vec<f64> {
        let runs = 0..self.medians_us.len();
        let error = |run: usize| {
            let mut others = self.medians_us.clone();
            let own = others.remove(run);
            (!others.is_empty()).then(|| {
                let rest = median(others);
                (own - rest).abs() / rest
            })
        };
        runs.filter_map(error).collect()
    }
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    let middle = times.len() / 2;
    match times.len() % 2 {
        0 => (times[middle - 1] + times[middle]) / 2.0,
        _ => times[middle],
    }
}

/// The cells that are in all of the files, as `allhands bench --json` writes them.
///
/// # Errors
/// Which file cannot be read, or is no such file, or that no cell is in all.
pub fn read(paths: &[PathBuf]) -> anyhow::Result<Vec<Cell>> {
    let runs = paths.iter().map(|path| {
        let text = std::fs::read_to_string(path);
        let text = text.with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_str(&text).with_context(|| {
            format!(
                "{}: right would be a file that allhands bench --json has written",
                path.display()
            )
        })
    });
    let cells = of_runs(runs.collect::<anyhow::Result<_>>()?);
    ensure!(!cells.is_empty(), "no cell is in every file of --measured");
    Ok(cells)
}

/// The cells that are in all of the runs.
pub fn of_runs(runs: Vec<Vec<Record>>) -> Vec<Cell> {
    let many = runs.len();
    let mut places = BTreeMap::new();
    let mut cells: Vec<Cell> = Vec::new();
    for record in runs.into_iter().flatten().filter(|record| record.correct) {
        let key = (
            record.collective.clone(),
            record.algorithm.clone(),
            (record.ranks, record.bytes, record.root),
            record.layout.clone(),
            (record.element.clone(), record.operator.clone()),
        );
        let place = *places.entry(key).or_insert(cells.len());
        let medians_us = match record.rounds_us.len() {
            0 | 1 => vec![record.median_us],
            _ => record.rounds_us.clone(),
        };
        match cells.get_mut(place) {
            Some(cell) => {
                cell.medians_us.extend(medians_us);
                cell.files += 1;
            }
            None => cells.push(Cell {
                medians_us,
                files: 1,
                most_runs: 1,
                within_us: 1.57 * (record.q3_us - record.q1_us) / (record.iterations as f64).sqrt(),
                first: record,
            }),
        }
    }
    cells.retain(|cell| cell.files == many);
    let runs = cells.iter().map(|cell| cell.medians_us.len());
    let most_runs = runs.max().unwrap_or(0);
    cells.iter_mut().for_each(|cell| cell.most_runs = most_runs);
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("allhands-measured-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("there is room");
        folder
    }

    fn write(folder: &std::path::Path, name: &str, cells: &[(&str, f64)]) -> PathBuf {
        let records: Vec<_> = cells
            .iter()
            .map(|(algorithm, us)| {
                serde_json::json!({
                    "collective": "barrier", "algorithm": algorithm, "ranks": 2, "bytes": 0, "total_bytes": 0, "root": 0,
                    "iterations": 100, "min_us": us, "median_us": us, "p99_us": us, "q1_us": us * 0.99, "q3_us": us * 1.01,
                    "rank_min_us": us, "rank_avg_us": us, "rank_max_us": us, "correct": true, "transport": "shm",
                    "machine": "any", "version": "0"
                })
            })
            .collect();
        let path = folder.join(name);
        std::fs::write(&path, serde_json::Value::from(records).to_string()).expect("it is written");
        path
    }

    fn records(path: &std::path::Path) -> Vec<Record> {
        let text = std::fs::read_to_string(path).expect("it is there");
        serde_json::from_str(&text).expect("it is right")
    }

    #[test]
    fn several_runs_are_one() {
        let folder = folder("several");
        let runs = [1.0, 1.2, 3.0].map(|us| {
            let lone = format!("only-{us}");
            write(&folder, &lone, &[("direct", us), (&lone, 1.0)])
        });
        let cells = read(&runs).expect("they are right");
        assert_eq!(cells.len(), 1, "only what all have");
        assert!((cells[0].us() - 1.2).abs() < 1e-9);
        assert!((cells[0].uncertain() - 2.0 / 1.2).abs() < 1e-9);
        let errors = cells[0].errors_of_runs();
        assert!((errors[0] - (2.1 - 1.0) / 2.1).abs() < 1e-9 && errors.len() == 3);
        // One of which there are fewer says nothing.
        let lone = records(&runs[0]).remove(0);
        let few = Record {
            iterations: 2,
            ..lone.clone()
        };
        let uncertain = |records| of_runs(vec![records])[0].uncertain();
        assert!(uncertain(vec![lone.clone()]) < 0.01 && uncertain(vec![few]) == 1.0);
        let several = Record {
            bytes: 8,
            rounds_us: vec![1.0, 1.0, 1.1],
            ..lone.clone()
        };
        let cells = of_runs(vec![vec![several, lone]]);
        assert!(cells[0].uncertain() < 0.11 && cells[1].uncertain() == 1.0);
        // One says of itself what it knows, and there is no other to err of.
        let alone = read(&runs[..1]).expect("it is right");
        assert!(
            (alone[0].uncertain() - 0.00314).abs() < 1e-9 && alone[0].errors_of_runs().is_empty()
        );
    }

    #[test]
    fn what_is_no_such_file_is_named() {
        let folder = folder("wrong");
        let wrong = folder.join("wrong.json");
        std::fs::write(&wrong, "{}").expect("it is written");
        let said = read(&[wrong]).err().expect("it is wrong").to_string();
        assert!(
            said.contains("wrong.json") && said.contains("bench --json"),
            "{said}"
        );
        let (one, other) = (
            write(&folder, "one", &[("a", 1.0)]),
            write(&folder, "other", &[("b", 1.0)]),
        );
        assert!(
            read(&[one, other])
                .err()
                .expect("nothing in both")
                .to_string()
                .contains("every file")
        );
    }
}
