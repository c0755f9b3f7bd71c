//! The installed table: what `allhands tune` has measured on this machine, found in the user's cache.

use super::{Policy, Table, TableError, machine};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why the table that is installed on this machine cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// The table has a mistake.
    #[error("{file}, {mistake}; mend or remove the file")]
    Table {
        /// The file.
        file: String,
        /// The line and what is wrong there.
        mistake: TableError,
    },
    /// The file is there but cannot be read.
    #[error("{file} cannot be read: {why}")]
    Unreadable {
        /// The file.
        file: String,
        /// What the system says.
        why: String,
    },
}

/// Where `allhands tune` puts this machine's table, and where it is sought: `tuned-<machine>-<version>.toml` in the folder
/// `allhands` of the user's cache, `$XDG_CACHE_HOME` or `~/.cache`. `None` if the user has no such place.
#[must_use]
pub fn file() -> Option<PathBuf> {
    let name = format!("tuned-{}-{}.toml", machine(), env!("CARGO_PKG_VERSION"));
    Some(folder()?.join(name))
}

pub(super) fn folder() -> Option<PathBuf> {
    let place = |name| Some(PathBuf::from(std::env::var_os(name)?)).filter(|p| p.is_absolute());
    let cache = place("XDG_CACHE_HOME").or_else(|| Some(place("HOME")?.join(".cache")))?;
    Some(cache.join("allhands"))
}

/// Reads a table from a file.
///
/// # Errors
/// A [`PolicyError`] that names the file and, for a mistake in it, the line.
pub fn read(path: &Path) -> Result<Table, PolicyError> {
    let file = path.display().to_string();
    match std::fs::read_to_string(path) {
        Ok(text) => parse(file, &text),
        Err(error) => Err(unreadable(file, &error)),
    }
}

fn unreadable(file: String, error: &std::io::Error) -> PolicyError {
    let why = error.to_string();
    PolicyError::Unreadable { file, why }
}

fn parse(file: String, text: &str) -> Result<Table, PolicyError> {
    Table::parse(&file, text).map_err(|mistake| PolicyError::Table { file, mistake })
}

/// Who chooses for ranks that share memory unless they say otherwise: this machine's table with the built-in one behind it
/// or, where `allhands tune` has not been run, the built-in one alone.
///
/// # Errors
/// A [`PolicyError`] if there is a table but it is broken.
pub fn installed() -> Result<Policy, PolicyError> {
    Found::here().policy()
}

/// What was found in this machine's place for a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Nothing,
    Text { file: String, text: String },
    Unreadable { file: String, why: String },
}

/// Which of them.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Nothing,
    Text,
    Unreadable,
}

#[cfg(target_os = "linux")]
impl Kind {
    pub(super) const ALL: [Kind; 3] = [Kind::Nothing, Kind::Text, Kind::Unreadable];

    /// What stands as this word in a message; unreadable it is, too, if nothing is known by it.
    pub(super) fn of_word(word: u64) -> Kind {
        let mut all = Kind::ALL.into_iter();
        all.find(|kind| *kind as u64 == word)
            .unwrap_or(Kind::Unreadable)
    }
}

impl Found {
    pub(super) fn here() -> Found {
        // The name of the machine takes longer to make than this to say no.
        let place = folder().filter(|folder| folder.is_dir());
        let Some(path) = place.and_then(|_| file()) else {
            return Found::Nothing;
        };
        let file = path.display().to_string();
        match std::fs::read_to_string(&path) {
            Ok(text) => Found::Text { file, text },
            Err(error) if error.kind() == ErrorKind::NotFound => Found::Nothing,
            Err(error) => Found::Unreadable {
                file,
                why: error.to_string(),
            },
        }
    }

    pub(super) fn policy(self) -> Result<Policy, PolicyError> {
        match (self, Policy::shared_memory()) {
            (Found::Text { file, text }, Policy::Tuned(built_in)) => {
                let table = parse(file, &text)?.or(built_in);
                Ok(Policy::Tuned(Arc::new(table)))
            }
            (Found::Unreadable { file, why }, _) => Err(PolicyError::Unreadable { file, why }),
            (Found::Nothing | Found::Text { .. }, built_in) => Ok(built_in),
        }
    }

    /// What it is, the file's name, and its text or why that cannot be read: to be sent to other ranks.
    #[cfg(target_os = "linux")]
    pub(super) fn parts(&self) -> (Kind, &str, &str) {
        match self {
            Found::Nothing => (Kind::Nothing, "", ""),
            Found::Text { file, text } => (Kind::Text, file, text),
            Found::Unreadable { file, why } => (Kind::Unreadable, file, why),
        }
    }

    /// What another rank has sent.
    #[cfg(target_os = "linux")]
    pub(super) fn of_parts(kind: Kind, (file, text): (&[u8], &[u8])) -> Found {
        let [file, text] = [file, text].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        match kind {
            Kind::Nothing => Found::Nothing,
            Kind::Text => Found::Text { file, text },
            Kind::Unreadable => Found::Unreadable { file, why: text },
        }
    }
}

#[cfg(all(test, target_os = "linux", not(loom)))]
mod tests {
    use super::*;

    /// What another rank hears of what rank 0 has found.
    fn heard(found: &Found) -> Found {
        let (kind, file, text) = found.parts();
        Found::of_parts(kind, (file.as_bytes(), text.as_bytes()))
    }

    #[test]
    fn every_rank_gets_what_rank_0_has_found() {
        let right = "format = 1\nmachine = \"m\"\nversion = \"µ\"\n";
        let text = |text: &str| Found::Text {
            file: "a/ß.toml".into(),
            text: text.into(),
        };
        let unreadable = Found::Unreadable {
            file: "a/ß.toml".into(),
            why: "no".into(),
        };
        for (found, says) in [
            (Found::Nothing, None),
            (text(right), None),
            (text("format = 2"), Some("a/ß.toml, line 1: ")),
            (text(""), Some("a/ß.toml, line 1: ")),
            (unreadable, Some("a/ß.toml cannot be read: no")),
        ] {
            let other = heard(&found);
            assert_eq!(other, found);
            let (policy, others) = (found.policy(), other.policy());
            assert_eq!(policy, others);
            match (policy, says) {
                (Ok(policy), None) => assert!(matches!(policy, Policy::Tuned(_))),
                (Err(error), Some(says)) => assert!(error.to_string().starts_with(says), "{error}"),
                (policy, says) => panic!("{policy:?}, {says:?}"),
            }
        }
    }

    #[test]
    fn a_file_behind_which_the_built_in_table_stands_is_called_by_its_name() {
        let file = "t.toml".to_string();
        let text = "format = 1\nmachine = \"m\"\nversion = \"0\"\n".to_string();
        let policy = Found::Text { file, text }.policy().unwrap();
        assert_eq!(policy.to_string(), "t.toml");
        assert_eq!(Found::Nothing.policy().unwrap().to_string(), "shm");
    }
}
