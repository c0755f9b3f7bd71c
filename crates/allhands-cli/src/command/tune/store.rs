//! The store: the table that is being made, in its file from cell to cell.

use allhands::policy;
use allhands_core::choose::{Cell, Row, Table};
use anyhow::Context;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

const HEAD: &str = "\
# What is fastest on this machine, among ranks that share memory or on the nodes that a row names, measured by `allhands tune`.
# A number is a size in bytes; behind it algorithms, the best first, each with its median microseconds.
# `allhands explain` says what is chosen from it; without this file the built-in table decides.
";

/// A table and its file; what is not finished is in a file beside it.
pub struct Store {
    file: PathBuf,
    table: Table,
    day: String,
}

impl Store {
    /// An empty table for `file` or, to `resume`, what has been measured before.
    pub fn open(file: PathBuf, resume: bool) -> anyhow::Result<Store> {
        let machine = policy::machine();
        let name = file.display().to_string();
        let mut table = Table::new(&name, &machine, env!("CARGO_PKG_VERSION"));
        let known = [partial(&file), file.clone()];
        if let Some(known) = known.iter().find(|path| resume && path.exists()) {
            table = policy::read(known)?;
            anyhow::ensure!(
                table.machine == machine,
                "{} was measured on {}, this is {machine}; leave out --resume or name another --output",
                known.display(),
                table.machine
            );
        }
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH);
        let day = day(seconds.map_or(0, |s| s.as_secs() / 86_400));
        Ok(Store { file, table, day })
    }

    /// Where the table is as long as it is not finished.
    pub fn partial(&self) -> PathBuf {
        partial(&self.file)
    }

    /// Where the table will be.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The table as far as it is.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Adds a cell, and keeps what there is in case this program is ended.
    pub fn add(&mut self, row: Row, cell: Cell) -> anyhow::Result<()> {
        let (collective, ranks) = (row.collective, row.ranks);
        let known = match &row.site {
            Some(site) => self.table.row_at(collective, ranks, site),
            None => self.table.row(collective, ranks, row.oversubscribed),
        };
        let mut row = known.cloned().unwrap_or(row);
        row.measured = Some(self.day.clone());
        row.insert(cell);
        self.table.insert(row);
        write(&partial(&self.file), (HEAD, &self.table))
    }

    /// Puts the table into its place.
    pub fn finish(&self) -> anyhow::Result<()> {
        write(&self.file, (HEAD, &self.table))?;
        let partial = partial(&self.file);
        match partial.exists() {
            true => std::fs::remove_file(&partial)
                .with_context(|| format!("cannot remove {}", partial.display())),
            false => Ok(()),
        }
    }
}

/// The folder of a file.
pub fn folder(file: &Path) -> &Path {
    let folder = file.parent().filter(|f| !f.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

fn partial(file: &Path) -> PathBuf {
    file.with_extension("partial")
}

/// Writes a table beside its file and moves it there, so that nobody ever reads half of it.
pub fn write(file: &Path, (head, table): (&str, &Table)) -> anyhow::Result<()> {
    let mut text = String::from(head);
    write!(text, "{table}")?;
    let fresh = file.with_extension(format!("new-{}", std::process::id()));
    let folder = file.parent().filter(|f| !f.as_os_str().is_empty());
    let written = folder
        .map_or(Ok(()), std::fs::create_dir_all)
        .and_then(|()| std::fs::write(&fresh, text))
        .and_then(|()| std::fs::rename(&fresh, file));
    written.with_context(|| format!("cannot write {}", file.display()))
}

/// The day, `YYYY-MM-DD`, that comes so many days after 1970-01-01.
fn day(days: u64) -> String {
    let leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let (mut year, mut days) = (1970, days);
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    format!("{year}-{month:02}-{:02}", days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use allhands_core::call::Collective;
    use allhands_core::choose::Entry;

    #[test]
    fn days_have_their_dates() {
        for (days, date) in [
            (0, "1970-01-01"),
            (58, "1970-02-28"),
            (59, "1970-03-01"),
            (11_016, "2000-02-29"),
            (20_453, "2025-12-31"),
            (20_454, "2026-01-01"),
        ] {
            assert_eq!(day(days), date);
        }
    }

    #[test]
    fn what_was_measured_is_found_again() {
        let folder = std::env::temp_dir().join(format!("allhands-store-{}", std::process::id()));
        let file = folder.join("deep").join("t.toml");
        let cell = |bytes| Cell {
            bytes,
            ranking: vec![Entry {
                name: "ring".into(),
                parameters: String::new(),
                time_ns: Some(bytes),
            }],
        };
        let row = || Row::new(Collective::Allreduce, 4, true);
        let mut store = Store::open(file.clone(), false).unwrap();
        store.add(row(), cell(8)).unwrap();
        // Ended here: the file is not there yet, and what was measured is not lost.
        assert!(!file.exists());
        let mut store = Store::open(file.clone(), true).unwrap();
        store.add(row(), cell(32)).unwrap();
        store.finish().unwrap();
        let table = Store::open(file.clone(), true).unwrap().table;
        assert_eq!(table.rows()[0].cells(), [cell(8), cell(32)]);
        assert!(
            Store::open(file.clone(), false)
                .unwrap()
                .table
                .rows()
                .is_empty()
        );
        let names = std::fs::read_dir(file.parent().unwrap()).unwrap();
        assert_eq!(names.count(), 1, "nothing is left beside it");
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, text.replace("machine = \"", "machine = \"other-")).unwrap();
        let error = Store::open(file.clone(), true).err().unwrap().to_string();
        assert!(error.contains("was measured on other-"), "{error}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
