//! The store: what has been measured of an MPI, in a file from cell to cell, so that nothing is lost and --resume goes on.

use super::kind::Kind;
use super::record::{self, Cell, Hello, Told};
use anyhow::{Context, ensure};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The file's name.
const NAME: &str = "measured.txt";

/// What is known, and the file that has it: a record a line, the first of who has measured.
#[derive(Debug)]
pub struct Store {
    file: PathBuf,
    hello: Option<Hello>,
    cells: Vec<Cell>,
}

impl Store {
    /// An empty one in a folder.
    ///
    /// # Errors
    /// When what is there cannot be replaced.
    pub fn new(folder: &Path) -> anyhow::Result<Store> {
        let file = folder.join(NAME);
        if file.exists() {
            let before = folder.join("measured-before.txt");
            std::fs::rename(&file, &before)
                .with_context(|| format!("cannot move {} away", file.display()))?;
        }
        Ok(Store {
            file,
            hello: None,
            cells: Vec::new(),
        })
    }

    /// What is in a folder.
    ///
    /// # Errors
    /// When there is nothing, or what is there is no record.
    pub fn read(folder: &Path) -> anyhow::Result<Store> {
        let file = folder.join(NAME);
        let text = std::fs::read_to_string(&file).with_context(|| {
            format!(
                "{} cannot be read\n    right: a folder (--output) in which `allhands tune --mpi` has measured",
                file.display()
            )
        })?;
        let mut store = Store {
            file,
            hello: None,
            cells: Vec::new(),
        };
        for (at, line) in text.lines().enumerate() {
            let place = || format!("{}, line {}", store.file.display(), at + 1);
            let told = record::read(line).with_context(|| format!("{}: no record", place()))?;
            match told.with_context(place)? {
                Told::Hello(hello) => store.hello = Some(hello),
                Told::Cell(cell) => store.cells.push(cell),
                Told::Trying(_) | Told::Done {} | Told::Wrong(_) => {}
            }
        }
        Ok(store)
    }

    /// Who has measured, if anybody has.
    pub fn hello(&self) -> Option<&Hello> {
        self.hello.as_ref()
    }

    /// What was measured.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// The cells by the names that ranks have for them.
    pub fn known(&self) -> Vec<String> {
        self.cells
            .iter()
            .map(|cell| place(cell.kind, cell.bytes))
            .collect()
    }

    /// The file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Adds a cell.
    ///
    /// # Errors
    /// When these are not the ranks that have measured the others, or the file cannot be written.
    pub fn add(&mut self, hello: &Hello, cell: Cell) -> anyhow::Result<()> {
        let mut lines = String::new();
        match &self.hello {
            None => {
                lines = record::line(&Told::Hello(hello.clone()))? + "\n";
                self.hello = Some(hello.clone());
            }
            Some(known) => ensure!(
                known == hello,
                "{} was measured on {} ranks of {} hosts with {}, these are {} of {} with {}\n    right: without --resume, \
                 or another --output",
                self.file.display(),
                known.ranks,
                known.hosts,
                known.version,
                hello.ranks,
                hello.hosts,
                hello.version
            ),
        }
        lines += &record::line(&Told::Cell(cell.clone()))?;
        let mut options = std::fs::OpenOptions::new();
        let opened = options.create(true).append(true).open(&self.file);
        opened
            .and_then(|mut file| writeln!(file, "{lines}"))
            .with_context(|| format!("cannot write {}", self.file.display()))?;
        self.cells.push(cell);
        Ok(())
    }
}

/// A cell's name.
pub fn place(kind: Kind, bytes: u64) -> String {
    format!("{}/{bytes}", kind.name())
}

#[cfg(test)]
mod tests {
    use super::super::record::Family;
    use super::*;

    #[test]
    fn what_is_added_is_there_again_and_other_ranks_are_refused() {
        let folder = std::env::temp_dir().join(format!("allhands-store-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let hello = Hello {
            family: Family::OpenMpi,
            version: "Open MPI".into(),
            ranks: 4,
            hosts: 1,
            library: String::new(),
        };
        let cell = |bytes| Cell {
            kind: Kind::Scan,
            bytes,
            times: Vec::new(),
        };
        let mut store = Store::new(&folder).unwrap();
        store.add(&hello, cell(8)).unwrap();
        store.add(&hello, cell(64)).unwrap();
        let mut again = Store::read(&folder).unwrap();
        assert_eq!(
            (again.hello(), again.known()),
            (Some(&hello), vec!["scan/8".into(), "scan/64".into()])
        );
        let other = Hello { ranks: 5, ..hello };
        let said = again.add(&other, cell(512)).unwrap_err().to_string();
        assert!(
            said.contains("5 of 1") && said.contains("--output"),
            "{said}"
        );
        Store::new(&folder).unwrap();
        let said = format!("{:#}", Store::read(&folder).unwrap_err());
        assert!(said.contains("has measured"), "{said}");
        std::fs::write(folder.join(NAME), "nothing\n").unwrap();
        let said = format!("{:#}", Store::read(&folder).unwrap_err());
        assert!(said.contains("line 1: no record"), "{said}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
