//! Output: tables for people, JSON for programs, and a quiet end when the reader has gone.

use anyhow::Context;
use serde::Serialize;
use std::io::{ErrorKind, Write};
use std::path::Path;

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
