//! The earlier file: its cells, as far as they can be measured again here.

use super::super::cell::Record;
use super::super::hosts;
use super::super::key::Key;
use super::super::{Arguments, Subject};
use crate::names;
use allhands::policy;
use anyhow::{Context, bail, ensure};
use std::path::Path;

/// What can be measured again, and what is said of the rest.
#[derive(Debug, Default)]
pub struct Old {
    /// The records.
    pub records: Vec<Record>,
    /// What is left out, and why.
    pub left_out: Vec<String>,
}

impl Old {
    /// Reads a file, and takes the cells that are asked for.
    ///
    /// # Errors
    /// When it cannot be read, when it is of another machine, transport or hosts, and when nothing is left.
    pub fn read(arguments: &Arguments, path: &Path) -> anyhow::Result<Old> {
        let name = path.display();
        let text = std::fs::read_to_string(path);
        let text = text.with_context(|| format!("cannot read {name}"))?;
        let records: Vec<Record> = serde_json::from_str(&text).with_context(|| {
            format!("{name}: right would be a file that allhands bench --json has written")
        })?;
        ensure!(
            !records.is_empty(),
            "{name}: it has no cells; right would be a file of a bench that has measured some"
        );
        let old = Old::of(arguments, records).with_context(|| name.to_string())?;
        if old.records.is_empty() {
            let why = old.left_out.join("; ");
            bail!("{name}: none of its cells is measured again: {why}");
        }
        Ok(old)
    }

    fn of(arguments: &Arguments, records: Vec<Record>) -> anyhow::Result<Old> {
        let transport = arguments.team.transport.name();
        let mut old = Old::default();
        let mut keys: Vec<Key> = Vec::new();
        let mut others = 0;
        for record in records {
            let key = Key::of(&record);
            if !is_asked(arguments, &record) || keys.contains(&key) {
                others += 1;
                continue;
            }
            check_machine(&record)?;
            if record.transport != transport {
                bail!(
                    "its ranks were {}, and these are {transport}: right would be --transport {}",
                    record.transport,
                    record.transport
                );
            }
            check_hosts(arguments, &record)?;
            let of = || format!("{} {}", record.collective, record.algorithm);
            let size = || format!("{} ranks, {} bytes", record.ranks, record.bytes);
            match key.cell(arguments.torus) {
                _ if !record.correct => {
                    let words = format!("left out {}, {}: it was wrong then", of(), size());
                    old.left_out.push(words);
                }
                Err(why) => {
                    let words = format!("left out {}, {}: {why:#}", of(), size());
                    old.left_out.push(words);
                }
                Ok(_) => {
                    keys.push(key);
                    old.records.push(record);
                }
            }
        }
        if others > 0 {
            let words = "left out as the arguments ask for others, or as they are there twice";
            old.left_out.push(format!("{others} cells {words}"));
        }
        Ok(old)
    }

    /// Which cells these are.
    pub fn keys(&self) -> Vec<Key> {
        self.records.iter().map(Key::of).collect()
    }
}

/// Whether the arguments ask for such a cell.
fn is_asked(arguments: &Arguments, record: &Record) -> bool {
    let named = &arguments.collectives;
    let collective = names::collective(&record.collective);
    let is_named = |collective| named.contains(&Subject::Of(collective));
    let ranks = arguments.team.ranks.as_ref();
    (named.is_empty() || collective.is_ok_and(is_named))
        && ranks.is_none_or(|ranks| ranks.0.contains(&record.ranks))
}

/// Times of another machine say nothing of what has changed here.
fn check_machine(record: &Record) -> anyhow::Result<()> {
    let machine = policy::machine();
    ensure!(
        record.machine == machine,
        "it was measured on the machine {}, and this is {machine}: right would be a file of this machine",
        record.machine
    );
    Ok(())
}

fn check_hosts(arguments: &Arguments, record: &Record) -> anyhow::Result<()> {
    if arguments.team.transport.network().is_none() {
        return Ok(());
    }
    let hosts = hosts::named(&arguments.team, record.ranks)?;
    let old = record.hosts.as_deref().unwrap_or("unnamed");
    ensure!(
        old == hosts,
        "its ranks were on the hosts {old}, and these are on {hosts}: right would be the same --hosts"
    );
    Ok(())
}
