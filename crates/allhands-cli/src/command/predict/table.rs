//! The table of predictions: who is predicted to be the fastest chooses, as who was measured to be in a table of `allhands tune`.

use super::{Machine, Record};
use crate::command::tune;
use crate::names;
use allhands::policy;
use allhands_core::algorithm::Requirement;
use allhands_core::call::{Call, Collective};
use allhands_core::choose::{Cell, Entry, Row, Table};
use std::path::Path;

/// What stands before the table.
const HEAD: &str = "\
# What is predicted to be the fastest among ranks that share memory, written by `allhands predict --table`; nothing of it was measured.
# A number is a size in bytes; behind it algorithms, the best first, each with its predicted microseconds.
";

/// Writes the table of what was predicted, of each cell the fastest first.
///
/// # Errors
/// That ranks of the machine share no memory, or that the file cannot be written.
pub fn write(file: &Path, machine: &Machine, records: &[Record]) -> anyhow::Result<()> {
    anyhow::ensure!(
        machine.shares_memory(),
        "--table is for ranks that share memory, which those of {} do not: between hosts a world predicts by itself, with the times that it measures at its start",
        machine.name
    );
    let table = of(&file.display().to_string(), records)?;
    tune::store::write(file, (HEAD, &table))
}

fn of(name: &str, records: &[Record]) -> anyhow::Result<Table> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut table = Table::new(name, &policy::machine(), env!("CARGO_PKG_VERSION"));
    let same = |one: &Record, other: &Record| {
        (one.collective, one.ranks, one.bytes) == (other.collective, other.ranks, other.bytes)
    };
    for cell in records.chunk_by(same) {
        let collective = names::collective(cell[0].collective).map_err(anyhow::Error::msg)?;
        let (ranks, oversubscribed) = (cell[0].ranks, cell[0].ranks as usize > cores);
        let known = table.row(collective, ranks, oversubscribed).cloned();
        let mut row = known.unwrap_or_else(|| Row::new(collective, ranks, oversubscribed));
        row.insert(Cell {
            bytes: cell[0].bytes as u64,
            ranking: ranking(collective, cell)?,
        });
        table.insert(row);
    }
    Ok(table)
}

/// The few fastest, and at their end one that serves every call, if none of them does.
fn ranking(collective: Collective, cell: &[Record]) -> anyhow::Result<Vec<Entry>> {
    let mut all = Vec::new();
    for record in cell {
        let (algorithm, parameters) = names::algorithm(collective, &record.algorithm)?;
        let shape = names::shape(algorithm, Call::new(collective, record.ranks), parameters)?;
        // On one node such an algorithm is only a part of itself.
        if !algorithm.requires.contains(&Requirement::Nodes) {
            all.push((record, tune::serves_all(algorithm, &shape)));
        }
    }
    let (few, others) = all.split_at(all.len().min(tune::RANKED));
    let last = match few.iter().any(|(_, serves_all)| *serves_all) {
        true => None,
        false => others.iter().find(|(_, serves_all)| *serves_all),
    };
    let entry = |(record, _): &(&Record, bool)| Entry {
        name: record.algorithm.clone(),
        parameters: String::new(),
        time_ns: Some((record.predicted_us * 1e3).round() as u64),
    };
    Ok(few.iter().chain(last).map(entry).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::predict::record;

    #[test]
    fn the_fastest_comes_first_and_what_is_written_is_read() {
        let machine = Machine::find("loggp").expect("it is built in");
        let cell = |(name, us): (&str, f64), bytes: usize| {
            let call = Call::new(Collective::Allreduce, 4);
            record(&machine, (name, &call), bytes, us)
        };
        let names = [
            ("shared-memory", 1.0),
            ("recursive-doubling", 2.0),
            ("ring", 3.5),
        ];
        let records: Vec<Record> = [8, 64]
            .iter()
            .flat_map(|bytes| names.map(|name| cell(name, *bytes)))
            .collect();
        let table = of("a table", &records).expect("they are known");
        let again = Table::parse("a table", &table.to_string()).expect("it is read");
        assert_eq!(table.rows(), again.rows());
        let cells = again.rows()[0].cells();
        assert_eq!(cells.len(), 2);
        assert_eq!(cells[1].ranking[0].name, "shared-memory");
        assert_eq!(cells[1].ranking[2].time_ns, Some(3500));
        let said = write(Path::new("nowhere.toml"), &machine, &records).unwrap_err();
        assert!(said.to_string().contains("loggp"), "{said}");
    }

    #[test]
    fn one_that_serves_every_call_is_there_if_none_of_the_fastest_does() {
        let machine = Machine::find("loggp").expect("it is built in");
        // These four combine in an order of their own, which operators that do not commute forbid.
        let names = [
            "ring",
            "circulant",
            "hybrid-a",
            "hybrid-b",
            "recursive-doubling",
            "direct",
        ];
        let call = Call::new(Collective::Allreduce, 4);
        let cell = |(us, name): (usize, &&str)| record(&machine, (name, &call), 8, us as f64 + 1.0);
        let ranked = |names: &[&str]| {
            let records: Vec<Record> = names.iter().enumerate().map(cell).collect();
            let ranking = ranking(Collective::Allreduce, &records).expect("they are known");
            let names = ranking.into_iter().map(|entry| entry.name);
            names.collect::<Vec<_>>()
        };
        assert_eq!(ranked(&names), names[..5]);
        assert_eq!(ranked(&names[..4]), names[..4]);
        assert_eq!(ranked(&names[3..]), names[3..]);
    }
}
