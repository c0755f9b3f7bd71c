//! Output: tables for people, JSON for programs, and a quiet end when the reader has gone.

use anyhow::Context;
use serde::Serialize;
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};

/// Whether an error is only that nobody reads on.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let io = cause
            .downcast_ref::<std::io::Error>()
            .map(std::io::Error::kind);
        let json = cause
            .downcast_ref::<serde_json::Error>()
            .and_then(serde_json::Error::io_error_kind);
        io.or(json) == Some(ErrorKind::BrokenPipe)
    })
}

/// Writes what went wrong to the standard error, at once: ranks that complain together then do not mix their words.
pub fn complain(what: &str) {
    let line = format!("allhands: {what}\n");
    // There is nobody to tell that nobody listens.
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

/// Where records go: a file, or `-` for standard output, which is also meant where nothing is named.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Json {
    /// Write what is found as a JSON array to FILE ('-' or nothing: standard output); the keys are below
    #[arg(id = "json", long = "json", value_name = "FILE", num_args = 0..=1, default_missing_value = "-", value_parser = file)]
    pub path: Option<PathBuf>,
}

/// A name for a file of records; one that is a collective's was meant as an argument.
fn file(text: &str) -> Result<PathBuf, String> {
    match crate::names::collective(text) {
        Ok(collective) => Err(format!(
            "{collective} is a collective, and --json takes what follows it for a file: put --json last, or say --json=-"
        )),
        Err(_) => Ok(text.into()),
    }
}

impl Json {
    /// Whether standard output belongs to the records.
    pub fn is_stdout(&self) -> bool {
        self.path.as_deref() == Some(Path::new("-"))
    }

    /// Where what people read goes: to standard output, unless the records go there.
    pub fn beside(&self) -> Box<dyn Write> {
        match self.is_stdout() {
            true => Box::new(std::io::stderr()),
            false => Box::new(std::io::stdout().lock()),
        }
    }

    /// Finds out whether the file can be written, before anything takes time.
    pub fn check(&self) -> anyhow::Result<()> {
        match &self.path {
            Some(path) if !self.is_stdout() => check_file(path),
            Some(_) | None => Ok(()),
        }
    }

    /// Writes the records, if they are wanted.
    pub fn write<T: Serialize>(&self, records: &[T]) -> anyhow::Result<()> {
        match &self.path {
            Some(path) => write_json(path, records),
            None => Ok(()),
        }
    }
}

/// Finds out whether a file can be written; what is in it stays, and where there is none there is none afterwards.
pub fn check_file(path: &Path) -> anyhow::Result<()> {
    let cannot = || format!("cannot write {}", path.display());
    // Ranks may look at the same file together: who makes it removes it, and nobody else makes or removes it.
    loop {
        match std::fs::OpenOptions::new().append(true).open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            opened => return opened.map(drop).with_context(cannot),
        }
        match std::fs::File::create_new(path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists && !path.is_symlink() => {}
            Err(error) => return Err(error).with_context(cannot),
            Ok(_) => {
                return std::fs::remove_file(path)
                    .with_context(|| format!("cannot remove {} again", path.display()));
            }
        }
    }
}

/// Makes a folder, and finds out whether files can be written there.
pub fn check_folder(folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    check_file(&folder.join(format!(".allhands-{}", std::process::id())))
}

/// How many characters go into a line: as many as the terminal has, or, where there is none, as COLUMNS says, or 100.
pub fn width() -> usize {
    let told = || std::env::var("COLUMNS").ok()?.parse().ok();
    let stdout = std::io::stdout();
    let terminal = stdout
        .is_terminal()
        .then(|| rustix::termios::tcgetwinsize(&stdout).ok());
    let columns = terminal.flatten().map(|size| usize::from(size.ws_col));
    let columns = columns.filter(|columns| *columns > 0).or_else(told);
    columns.unwrap_or(100).clamp(60, 400)
}

/// Writes records as a JSON array, one record a line, to a file or (`-`) to standard output.
pub fn write_json<T: Serialize>(path: &Path, records: &[T]) -> anyhow::Result<()> {
    let mut text = Vec::from(b"[");
    for (at, record) in records.iter().enumerate() {
        text.extend_from_slice(if at == 0 { b"\n" } else { b",\n" });
        serde_json::to_writer(&mut text, record)?;
    }
    text.extend_from_slice(b"\n]\n");
    if path == Path::new("-") {
        std::io::stdout().lock().write_all(&text)?;
        return Ok(());
    }
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// A table without frames, its columns two spaces apart.
pub fn table(header: &[&str]) -> comfy_table::Table {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(header.iter().copied());
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_only_tried_stays_as_it_was() {
        let folder = std::env::temp_dir().join(format!("allhands-output-{}", std::process::id()));
        check_folder(&folder).unwrap();
        let file = folder.join("a.json");
        check_file(&file).unwrap();
        assert!(!file.exists());
        std::fs::write(&file, "text").unwrap();
        check_file(&file).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "text");
        let below = file.join("b.json");
        let error = format!("{:#}", check_file(&below).unwrap_err());
        assert!(
            error.contains("cannot write") && error.contains("b.json"),
            "{error}"
        );
        assert!(check_folder(&file).is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn many_may_look_at_the_same_file_together() {
        let path = std::env::temp_dir().join(format!("allhands-together-{}", std::process::id()));
        std::thread::scope(|scope| {
            let look = || (0..200).try_for_each(|_| check_file(&path));
            let all: Vec<_> = (0..8).map(|_| scope.spawn(look)).collect();
            for one in all {
                one.join().expect("it ends").expect("nothing is in the way");
            }
        });
        assert!(!path.exists(), "it was not there before");
    }
}
