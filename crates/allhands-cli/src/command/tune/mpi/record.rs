//! Records: what rank 0 tells the tuner, a line each, and what is kept of it for another day.

use super::kind::Kind;
use serde::{Deserialize, Serialize};

/// What begins a line of rank 0's that is a record; all others are the MPI's or the launcher's.
pub const MARK: &str = "allhands-tune-mpi ";

/// Something that rank 0 tells.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Told {
    Hello(Hello),
    /// What is about to be called first; if nothing comes behind it, it is to blame.
    Trying(Trying),
    Cell(Cell),
    /// All that was asked for is measured, or the time is over.
    Done {},
    /// Why the ranks cannot measure.
    Wrong(String),
}

/// Who measures, and where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    pub family: Family,
    /// What the library calls itself, in a line.
    pub version: String,
    pub ranks: usize,
    /// How many hosts these are on.
    pub hosts: usize,
    /// The file of the library, as rank 0's linker has found it.
    pub library: String,
}

/// Whose settings there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    Mpich,
    OpenMpi,
    Intel,
}

/// A variant's first call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trying {
    pub kind: Kind,
    pub bytes: u64,
    pub variant: String,
}

/// A collective with one size, and how long each variant took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    pub kind: Kind,
    /// The whole vector.
    pub bytes: u64,
    /// The first one is the default.
    pub times: Vec<Times>,
}

/// How long one variant took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Times {
    pub variant: String,
    /// The median of each round's calls in microseconds, by round; rounds in which it had no turn are null.
    pub us: Vec<Option<f64>>,
    /// Why it cannot be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

impl Cell {
    /// The times of a variant.
    pub fn of(&self, variant: &str) -> Option<&Times> {
        self.times.iter().find(|times| times.variant == variant)
    }
}

/// A record's line.
pub fn line(told: &Told) -> Result<String, serde_json::Error> {
    Ok(format!("{MARK}{}", serde_json::to_string(told)?))
}

/// The record of a line, if it is one. A launcher may have put something before it, such as the rank's number.
pub fn read(line: &str) -> Option<Result<Told, serde_json::Error>> {
    let at = line.find(MARK)?;
    Some(serde_json::from_str(line[at + MARK.len()..].trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_told_and_other_lines_are_left_alone() {
        let trying = Trying {
            kind: Kind::ReduceScatterBlock,
            bytes: 64,
            variant: "ring".into(),
        };
        let line = line(&Told::Trying(trying.clone())).unwrap();
        match read(&format!("[0] {line}\n")).unwrap().unwrap() {
            Told::Trying(read) => assert_eq!(read, trying),
            other => panic!("{other:?}"),
        }
        assert!(read("some warning of a launcher").is_none());
        assert!(read(&line[..line.len() - 2]).unwrap().is_err());
    }
}
