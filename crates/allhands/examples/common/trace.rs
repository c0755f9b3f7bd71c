//! The trace of an application's collective calls, which `cargo xtask lab --replay` makes again under other libraries.
//!
//! A file of lines: `nbody: 4 ranks` at first, then one for each call: its kind and, rank after rank, the bytes that each hands to it: one
//! number of a rank, or of an alltoall v one for each rank that it sends to.

use super::{Failure, ensure};
use allhands::Communicator;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The calls of one rank.
pub struct Trace {
    path: PathBuf,
    /// Rank 0's: so what is wrong with the path is said before anything is computed.
    file: Option<File>,
    /// Kinds, and how many numbers each has on this rank.
    calls: Vec<(&'static str, usize)>,
    bytes: Vec<u64>,
}

impl Trace {
    pub fn create(comm: &Communicator, path: &Path) -> Result<Trace, Failure> {
        let file = (comm.rank() == 0).then(|| File::create(path)).transpose();
        Ok(Trace {
            path: path.to_owned(),
            file: file.map_err(|error| named(path, &error))?,
            calls: Vec::new(),
            bytes: Vec::new(),
        })
    }

    pub fn add(&mut self, kind: &'static str, bytes: &[usize]) {
        self.calls.push((kind, bytes.len()));
        self.bytes.extend(bytes.iter().map(|bytes| *bytes as u64));
    }

    /// Rank 0 writes what all ranks have called.
    pub fn write(self, comm: &Communicator) -> Result<(), Failure> {
        let all = comm.gather_vec(&self.bytes, 0)?;
        let (Some(all), Some(mut file)) = (all, self.file) else {
            return Ok(());
        };
        let (all, each) = (all.elements(), self.bytes.len());
        ensure(all.len() == each * comm.size(), || {
            "the ranks have not made the same calls".into()
        })?;
        let program = std::env::current_exe()?;
        let name = program.file_stem().unwrap_or_default().display();
        let mut text = format!("{name}: {} ranks\n", comm.size());
        let mut first = 0;
        for (kind, count) in self.calls {
            text.push_str(kind);
            for rank in 0..comm.size() {
                for bytes in &all[rank * each + first..][..count] {
                    write!(text, " {bytes}")?;
                }
            }
            text.push('\n');
            first += count;
        }
        let written = file.write_all(text.as_bytes());
        written.map_err(|error| named(&self.path, &error))
    }
}

fn named(path: &Path, error: &std::io::Error) -> Failure {
    format!("trace={}: {error}", path.display()).into()
}
