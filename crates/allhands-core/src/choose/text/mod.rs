//! The text form of a table: what of TOML it needs, read with the line of every mistake.
//!
//! ```toml
//! format = 1
//! machine = "xeon-2-cores-8-gib"
//! version = "0.1.0"
//!
//! [[row]]
//! transport = "shm"
//! collective = "allreduce"
//! ranks = 4
//! oversubscribed = true
//! measured = "2026-01-30"
//! 8 = ["shared-memory 3.105", "recursive-doubling 4.870"]
//! 4096 = ["ring 21.400", "shared-memory:work=parts 22.910"]
//! ```
//!
//! Rows of ranks on several nodes have the network's name as their transport, and say where they were measured: `nodes = "8x1"`,
//! `latency_ns = 501000`, `burst_overhead_ns = 22000`, `byte_fs = 40016000`.
//!
//! A number stands for a size in bytes; behind it the algorithms, the best first, each with its median time in
//! microseconds if it was measured.

mod reader;
#[cfg(test)]
mod tests;

pub use reader::{Mistake, TableError};

use super::table::{Cell, Entry, Row, Site, Table};
use crate::call::Collective;
use crate::machine::Nodes;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use reader::{Reader, Value};

/// The format that is written and read.
const FORMAT: u64 = 1;
/// The transport of ranks that share memory.
const SHARED_MEMORY: &str = "shm";

/// A row as far as it has been read.
#[derive(Default)]
struct Draft {
    line: usize,
    transport: Option<String>,
    nodes: Option<String>,
    latency_ns: Option<u64>,
    burst_overhead_ns: Option<u64>,
    byte_fs: Option<u64>,
    collective: Option<Collective>,
    ranks: Option<u32>,
    oversubscribed: Option<bool>,
    measured: Option<String>,
    cells: Vec<Cell>,
}

/// Puts a value where none may be yet.
fn once<T>(
    reader: &Reader<'_>,
    place: &mut Option<T>,
    key: &str,
    value: T,
) -> Result<(), TableError> {
    if place.replace(value).is_none() {
        return Ok(());
    }
    let what = alloc::format!("the key '{key}'");
    reader.mistake(Mistake::Twice { what })
}

impl Draft {
    fn put(&mut self, reader: &Reader<'_>, key: &str, value: Value) -> Result<(), TableError> {
        let right = match (key, value) {
            ("transport", Value::Text(text)) if !text.is_empty() => {
                return once(reader, &mut self.transport, key, text);
            }
            ("transport", _) => "\"shm\", for ranks that share memory, or a network, as \"tcp\"",
            ("nodes", Value::Text(text)) if text.parse::<Nodes>().is_ok() => {
                return once(reader, &mut self.nodes, key, text);
            }
            ("nodes", _) => "how many ranks share memory, as in \"8x1\" or \"4,2\"",
            ("latency_ns", Value::Number(ns)) => {
                return once(reader, &mut self.latency_ns, key, ns);
            }
            ("burst_overhead_ns", Value::Number(ns)) => {
                return once(reader, &mut self.burst_overhead_ns, key, ns);
            }
            ("byte_fs", Value::Number(fs)) => return once(reader, &mut self.byte_fs, key, fs),
            ("latency_ns" | "burst_overhead_ns" | "byte_fs", _) => "a time, a whole number",
            ("collective", Value::Text(name)) => {
                let Some(collective) = Collective::from_name(&name) else {
                    return reader.mistake(Mistake::NoSuchCollective { name });
                };
                return once(reader, &mut self.collective, key, collective);
            }
            ("collective", _) => "a collective's name, as in \"allreduce\"",
            ("ranks", Value::Number(ranks @ 1..=0xffff_ffff)) => {
                return once(reader, &mut self.ranks, key, ranks as u32);
            }
            ("ranks", _) => "a number of ranks, at least 1",
            ("oversubscribed", Value::Truth(oversubscribed)) => {
                return once(reader, &mut self.oversubscribed, key, oversubscribed);
            }
            ("oversubscribed", _) => "true (more ranks than cores) or false",
            ("measured", Value::Text(day)) => return once(reader, &mut self.measured, key, day),
            ("measured", _) => "a day, as in \"2026-01-30\"",
            (key, value) => return self.put_cell(reader, key, value),
        };
        let key = key.into();
        reader.mistake(Mistake::Value { key, right })
    }

    fn put_cell(&mut self, reader: &Reader<'_>, key: &str, value: Value) -> Result<(), TableError> {
        const RIGHT: &str = "a list of at least one \"NAME\" or \"NAME:key=value,…\", each with its \
                             microseconds behind a space if they were measured";
        let Ok(bytes) = key.parse() else {
            let (key, known) = (
                key.into(),
                "transport, collective, ranks, oversubscribed, measured, nodes, latency_ns, burst_overhead_ns, byte_fs and numbers of bytes",
            );
            return reader.mistake(Mistake::UnknownKey { key, known });
        };
        if self.cells.iter().any(|cell| cell.bytes == bytes) {
            let what = alloc::format!("the size {bytes}");
            return reader.mistake(Mistake::Twice { what });
        }
        let ranking: Option<Vec<Entry>> = match &value {
            Value::List(list) if !list.is_empty() => list.iter().map(|t| entry(t)).collect(),
            Value::List(_) | Value::Text(_) | Value::Number(_) | Value::Truth(_) => None,
        };
        let Some(ranking) = ranking else {
            let key = key.into();
            return reader.mistake(Mistake::Value { key, right: RIGHT });
        };
        self.cells.push(Cell { bytes, ranking });
        Ok(())
    }

    /// The row, if nothing is missing from it.
    fn finish(self, table: &mut Table) -> Result<(), TableError> {
        let line = self.line;
        let wrong = |mistake| TableError { line, mistake };
        let lacks = |key| wrong(Mistake::Lacks { key });
        let transport = self.transport.ok_or(lacks("transport"))?;
        let site = match (transport.as_str(), self.nodes) {
            (SHARED_MEMORY, _) => None,
            (_, nodes) => Some(Site {
                transport,
                nodes: nodes.ok_or(lacks("nodes"))?,
                latency_ns: self.latency_ns.ok_or(lacks("latency_ns"))?,
                burst_overhead_ns: self.burst_overhead_ns.ok_or(lacks("burst_overhead_ns"))?,
                byte_fs: self.byte_fs.ok_or(lacks("byte_fs"))?,
            }),
        };
        let collective = self.collective.ok_or(lacks("collective"))?;
        let ranks = self.ranks.ok_or(lacks("ranks"))?;
        let oversubscribed = self.oversubscribed.ok_or(lacks("oversubscribed"))?;
        let mut row = Row::new(collective, ranks, oversubscribed).on(site);
        row.measured = self.measured;
        if self.cells.is_empty() {
            return Err(lacks("BYTES"));
        }
        for cell in self.cells {
            row.insert(cell);
        }
        if table.insert(row).is_none() {
            return Ok(());
        }
        let how = if oversubscribed {
            "oversubscribed"
        } else {
            "not oversubscribed"
        };
        let what = alloc::format!("the row of {collective} among {ranks} ranks ({how})");
        Err(wrong(Mistake::Twice { what }))
    }
}

/// Reads `NAME[:key=value,…][ MICROSECONDS]`.
fn entry(text: &str) -> Option<Entry> {
    let (algorithm, time_ns) = match text.split_once(' ') {
        Some((algorithm, us)) => (algorithm, Some(ns(us)?)),
        None => (text, None),
    };
    let (name, parameters) = algorithm.split_once(':').unwrap_or((algorithm, ""));
    (!name.is_empty()).then(|| Entry {
        name: name.into(),
        parameters: parameters.into(),
        time_ns,
    })
}

/// Reads microseconds with up to three digits behind the point.
fn ns(us: &str) -> Option<u64> {
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let (whole, part) = us.split_once('.').unwrap_or((us, "0"));
    if !digits(whole) || !digits(part) || part.is_empty() || part.len() > 3 {
        return None;
    }
    let scale = 10u64.pow(3 - part.len() as u32);
    let part = part.parse::<u64>().ok()? * scale;
    whole
        .parse::<u64>()
        .ok()?
        .checked_mul(1000)?
        .checked_add(part)
}

/// The head of a table as far as it has been read.
#[derive(Default)]
struct Head {
    format: Option<()>,
    machine: Option<String>,
    version: Option<String>,
}

impl Head {
    fn put(&mut self, reader: &Reader<'_>, key: &str, value: Value) -> Result<(), TableError> {
        let right = match (key, value) {
            ("format", Value::Number(FORMAT)) => return once(reader, &mut self.format, key, ()),
            ("format", _) => "1, the format that this version reads",
            ("machine", Value::Text(text)) => return once(reader, &mut self.machine, key, text),
            ("version", Value::Text(text)) => return once(reader, &mut self.version, key, text),
            ("machine" | "version", _) => "a \"text\"",
            _ => {
                let (key, known) = (key.into(), "format, machine and version, and then [[row]]");
                return reader.mistake(Mistake::UnknownKey { key, known });
            }
        };
        let key = key.into();
        reader.mistake(Mistake::Value { key, right })
    }

    fn finish(&mut self, name: &str) -> Result<Table, TableError> {
        let lacks = |key| TableError {
            line: 1,
            mistake: Mistake::Lacks { key },
        };
        self.format.ok_or(lacks("format"))?;
        let machine = self.machine.take().ok_or(lacks("machine"))?;
        let version = self.version.take().ok_or(lacks("version"))?;
        Ok(Table::new(name, &machine, &version))
    }
}

impl Table {
    /// Reads a table's text form; it will be called `name`.
    ///
    /// # Errors
    /// A [`TableError`] that names the line, what is wrong there, and what would be right.
    pub fn parse(name: &str, text: &str) -> Result<Table, TableError> {
        let mut reader = Reader {
            rest: text,
            line: 1,
        };
        let (mut head, mut table, mut draft) = (Head::default(), None, None::<Draft>);
        loop {
            reader.skip(true);
            let ends = reader.rest.is_empty();
            if ends || reader.take("[[row]]") {
                let table = match &mut table {
                    Some(table) => table,
                    None => table.insert(head.finish(name)?),
                };
                draft.take().map_or(Ok(()), |draft| draft.finish(table))?;
                if ends {
                    return Ok(core::mem::take(table));
                }
                draft = Some(Draft {
                    line: reader.line,
                    ..Draft::default()
                });
            } else {
                let key = reader.word();
                if key.is_empty() {
                    return reader.wrong("a key, [[row]] or a # comment");
                }
                reader.skip(false);
                if !reader.take("=") {
                    return reader.wrong("= behind the key");
                }
                reader.skip(false);
                let value = reader.value()?;
                match &mut draft {
                    Some(draft) => draft.put(&reader, key, value)?,
                    None => head.put(&reader, key, value)?,
                }
            }
            reader.end_of_line()?;
        }
    }
}

/// A text between quotation marks.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.replace('\\', "\\\\").replace('"', "\\\"");
        write!(f, "\"{text}\"")
    }
}

impl fmt::Display for Table {
    /// The text form, which [`Table::parse`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "format = {FORMAT}")?;
        writeln!(f, "machine = {}", Quoted(&self.machine))?;
        writeln!(f, "version = {}", Quoted(&self.version))?;
        for row in self.rows() {
            let transport = row
                .site
                .as_ref()
                .map_or(SHARED_MEMORY, |site| &site.transport);
            writeln!(f, "\n[[row]]\ntransport = {}", Quoted(transport))?;
            writeln!(f, "collective = \"{}\"", row.collective)?;
            writeln!(
                f,
                "ranks = {}\noversubscribed = {}",
                row.ranks, row.oversubscribed
            )?;
            if let Some(site) = &row.site {
                writeln!(
                    f,
                    "nodes = {}\nlatency_ns = {}\nburst_overhead_ns = {}\nbyte_fs = {}",
                    Quoted(&site.nodes),
                    site.latency_ns,
                    site.burst_overhead_ns,
                    site.byte_fs
                )?;
            }
            if let Some(day) = &row.measured {
                writeln!(f, "measured = {}", Quoted(day))?;
            }
            for cell in row.cells() {
                write!(f, "{} = [", cell.bytes)?;
                for (at, entry) in cell.ranking.iter().enumerate() {
                    let comma = if at == 0 { "" } else { ", " };
                    write!(f, "{comma}{}", Quoted(&alloc::format!("{entry}")))?;
                }
                writeln!(f, "]")?;
            }
        }
        Ok(())
    }
}
