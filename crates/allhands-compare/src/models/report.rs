//! The report: the rows of all parts from the files that they have written, as a table, Markdown and JSON.

use super::parts::{Kind, Part, Place};
use super::steps::{MACHINES, PAPERS};
use super::verdict::{self, Finding, LONG, Row, Verdict};
use crate::cell::COLLECTIVES;
use crate::error::{Error, at};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// What of a paper's entries is read.
#[derive(Deserialize)]
struct Entry {
    row: String,
    column: String,
    paper: Option<f64>,
    ours: f64,
}

/// The rows of these parts; those that failed say why.
pub(super) fn rows(into: &Path, parts: &[Part], failed: &[(String, Error)]) -> Vec<Row> {
    let mut rows = Vec::new();
    for part in parts {
        let error = failed.iter().find(|(name, _)| *name == part.name);
        let found = match error {
            Some((_, error)) => vec![("to run".into(), error.to_string(), Verdict::Absent)],
            None => findings(&into.join(&part.name), part.kind),
        };
        rows.extend(found.into_iter().map(|(asked, measured, verdict)| Row {
            part: part.name.clone(),
            asked,
            measured,
            verdict,
        }));
    }
    rows
}

/// A step's records.
fn read<T: DeserializeOwned>(folder: &Path, name: &str) -> Result<Vec<T>, Finding> {
    let path = folder.join(name);
    let absent = |why: String| (name.to_owned(), why, Verdict::Absent);
    let text = fs::read_to_string(&path).map_err(|_| absent("not measured yet".into()))?;
    serde_json::from_str(&text).map_err(|error| absent(format!("{}: {error}", path.display())))
}

/// What a step's records come to, or that there are none.
fn judged<T: DeserializeOwned>(
    folder: &Path,
    name: &str,
    judge: impl FnOnce(Vec<T>) -> Vec<Finding>,
) -> Vec<Finding> {
    read(folder, name).map_or_else(|absent| vec![absent], judge)
}

fn findings(folder: &Path, kind: Kind) -> Vec<Finding> {
    match kind {
        Kind::Simulated => MACHINES
            .iter()
            .map(|name| simulated(folder, name))
            .collect(),
        Kind::Reproduce => PAPERS.iter().flat_map(|name| paper(folder, name)).collect(),
        Kind::Errors { place, .. } => errors(folder, place),
        Kind::Choices { .. } => choices(folder),
        Kind::Mpi { .. } => judged(folder, "evaluation.json", |places: Vec<_>| {
            verdict::evaluation(&places).to_vec()
        }),
    }
}

fn simulated(folder: &Path, machine: &str) -> Finding {
    let predicted = match read(folder, &format!("{machine}-predict.json")) {
        Ok(predicted) => predicted,
        Err(absent) => return absent,
    };
    let mut simulated = Vec::new();
    for collective in COLLECTIVES {
        match read(folder, &format!("{machine}-{collective}.json")) {
            Ok(cells) => simulated.extend::<Vec<_>>(cells),
            Err(absent) => return absent,
        }
    }
    let errors = verdict::of_simulated(&predicted, &simulated);
    verdict::errors(machine, &errors, 0, verdict::OF_MODELS)
}

fn errors(folder: &Path, place: Place) -> Vec<Finding> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    judged(folder, "predict.json", |cells: Vec<verdict::Predicted>| {
        let of = |what: &str, range: std::ops::Range<usize>, marks| {
            let (errors, unsure) = verdict::certain(&cells, |cell| range.contains(&cell.bytes));
            let errors = verdict::errors(what, &errors, unsure, marks);
            let ceiling = judged(folder, "bench.json", |cells: Vec<verdict::Measured>| {
                vec![verdict::ceiling(what, &cells, |cell| {
                    range.contains(&cell.bytes)
                })]
            });
            [vec![errors], ceiling].concat()
        };
        let all = 0..usize::MAX;
        match place {
            Place::Here { ranks } if ranks as usize <= cores => {
                of("a core a rank", all, verdict::OF_SHM)
            }
            Place::Here { .. } => of("fewer cores than ranks", all, &[]),
            Place::Hosts { .. } => [
                of("from 128 KB", LONG..usize::MAX, verdict::OF_MODELS),
                of("below 128 KB", 0..LONG, verdict::OF_SHORT),
            ]
            .concat(),
        }
    })
}

fn choices(folder: &Path) -> Vec<Finding> {
    let tuned = judged(folder, "tune.json", |all: Vec<verdict::Tuned>| {
        all.iter().map(verdict::tuned).collect()
    });
    let regret = judged(folder, "regret.json", |cells: Vec<_>| {
        vec![verdict::regret(&cells)]
    });
    let guidelines = judged(folder, "guidelines.json", |all: Vec<_>| {
        vec![verdict::guidelines(&all)]
    });
    [tuned, regret, guidelines].concat()
}

/// What a reproduction says of itself: how many of the text's statements hold, and the errors of models beside the paper's.
fn paper(folder: &Path, name: &str) -> Vec<Finding> {
    judged(folder, &format!("{name}.json"), |entries: Vec<Entry>| {
        let shares = entries
            .iter()
            .filter(|e| e.column.starts_with("errors below"));
        let mut found: Vec<Finding> = shares
            .map(|entry| {
                let asked = format!("{name}: {}, {}", entry.column, entry.row);
                let paper = entry.paper.unwrap_or(f64::NAN);
                let measured = format!("{:.0}; the paper's {paper:.0}", entry.ours);
                (asked, measured, Verdict::Told)
            })
            .collect();
        let log = fs::read_to_string(folder.join(format!("{name}.json.log"))).unwrap_or_default();
        let line = log.lines().find(|line| line.contains("nothing was chosen"));
        found.extend(line.map(|line| {
            let asked = format!("{name}: the statements of the text");
            (asked, line.trim_end_matches(':').to_owned(), Verdict::Told)
        }));
        let share = log.lines().find_map(verdict::winners_and_crossings);
        found.extend(share.map(|(percent, verdict)| {
            let asked =
                format!("{name}: 80 % of the text's winners and crossings within a size step");
            (asked, format!("{percent:.0} %"), verdict)
        }));
        found
    })
}

/// The verdict as the table has it.
fn say(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "HOLDS",
        Verdict::Missed => "MISSED",
        Verdict::Told => "told",
        Verdict::Absent => "ABSENT",
    }
}

/// Prints all rows.
pub(super) fn print(rows: &[Row]) {
    println!();
    for row in rows {
        println!("{:<7} {:<20} {}", say(row.verdict), row.part, row.asked);
        println!("{:<28} {}", "", row.measured);
    }
    let count = |verdict| rows.iter().filter(|row| row.verdict == verdict).count();
    println!(
        "\n{} hold, {} missed, {} absent",
        count(Verdict::Holds),
        count(Verdict::Missed),
        count(Verdict::Absent)
    );
}

/// Writes all rows, as Markdown and as JSON.
pub(super) fn write(into: &Path, rows: &[Row], is_quick: bool) -> Result<(), Error> {
    let quick = match is_quick {
        true => "\nEvery step had a tenth of its time: this shows that all run, and little else.\n",
        false => "",
    };
    let mut text = format!(
        "# Models and choices\n{quick}\n| part | asked | measured | |\n| --- | --- | --- | --- |\n"
    );
    for row in rows {
        let cell = |text: &str| text.replace('|', "\\|").replace('\n', " ");
        let (asked, measured) = (cell(&row.asked), cell(&row.measured));
        // A string takes all that is written.
        let _ = writeln!(
            text,
            "| {} | {asked} | {measured} | {} |",
            row.part,
            say(row.verdict)
        );
    }
    let path = into.join("models.md");
    fs::write(&path, text).map_err(at(&path))?;
    let json = serde_json::to_string_pretty(rows);
    let json = json.map_err(|error| Error::Models(error.to_string()))?;
    let path = into.join("models.json");
    fs::write(&path, json).map_err(at(&path))
}
