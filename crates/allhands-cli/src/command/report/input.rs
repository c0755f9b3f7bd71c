//! What a report is made of: files of records, told apart by the keys of their first record.

use crate::command::bench::cell::Record as Measured;
use anyhow::{Context, bail};
use serde::Deserialize;
use serde_json::Value;
use std::path::Path;

/// Everything that was read.
#[derive(Debug, Default)]
pub struct Input {
    pub measured: Vec<Measured>,
    pub regrets: Vec<Regret>,
    pub guidelines: Vec<Guideline>,
    pub peers: Vec<Peer>,
}

/// What a choice costs.
#[derive(Clone, Debug, Deserialize)]
pub struct Regret {
    pub collective: String,
    pub bytes: usize,
    pub ranks: u32,
    pub chosen: String,
    pub best: String,
    pub chosen_us: f64,
    pub best_us: f64,
}

/// A call beside others that do the same.
#[derive(Clone, Debug, Deserialize)]
pub struct Guideline {
    pub guideline: String,
    pub collective: String,
    pub ranks: u32,
    pub bytes: usize,
    pub left: String,
    pub right: String,
    pub left_us: f64,
    pub right_us: f64,
    pub violated: bool,
}

/// Another library beside ours in one cell.
#[derive(Clone, Debug, Deserialize)]
pub struct Peer {
    pub collective: String,
    pub bytes: usize,
    pub ranks: u32,
    pub peer: String,
    #[serde(default)]
    pub setting: String,
    pub ours_us: f64,
    pub peer_us: f64,
    /// The peer's time by ours, and the ends of its interval.
    pub ratio: f64,
    pub spread: [f64; 2],
    /// Where, if not on one machine.
    #[serde(skip)]
    pub place: Option<String>,
}

/// A cell of the lab, with all that ran there.
#[derive(Clone, Debug, Deserialize)]
struct Lab {
    hosts: u32,
    each: u32,
    rails: u32,
    collective: String,
    bytes: usize,
    times: Vec<LabTimes>,
    ratios: Vec<LabRatio>,
}

#[derive(Clone, Debug, Deserialize)]
struct LabTimes {
    name: String,
    us: f64,
}

#[derive(Clone, Debug, Deserialize)]
struct LabRatio {
    peer: String,
    ratio: f64,
    /// Not numbers, and so null, where one turn says nothing of an interval.
    interval: [Option<f64>; 2],
}

/// What is expected, as errors say it.
const EXPECTED: &str = "right would be what allhands bench, regret or guidelines, or cargo xtask compare or lab have written with --json, or, behind --machine, a machine's file";

/// The kinds, each with keys that only its records have together.
const KINDS: [(Kind, &[&str]); 5] = [
    (Kind::Measured, &["median_us", "iterations", "transport"]),
    (Kind::Regrets, &["chosen", "best", "regret"]),
    (Kind::Guidelines, &["guideline", "left_us", "right_us"]),
    (Kind::Peers, &["peer", "ours_us", "peer_us", "spread"]),
    (Kind::Lab, &["hosts", "times", "ratios"]),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Measured,
    Regrets,
    Guidelines,
    Peers,
    Lab,
}

impl Input {
    /// Adds a file's records.
    ///
    /// # Errors
    /// When it cannot be read, and when it is none of what is expected, or a record in it is not.
    pub fn read(&mut self, path: &Path) -> anyhow::Result<()> {
        let name = path.display();
        let text = std::fs::read_to_string(path);
        let text = text.with_context(|| format!("cannot read {name}"))?;
        self.add(&text).with_context(|| name.to_string())
    }

    fn add(&mut self, text: &str) -> anyhow::Result<()> {
        let records: Vec<Value> = serde_json::from_str(text)
            .with_context(|| format!("it is no JSON array of records: {EXPECTED}"))?;
        let Some(first) = records.first() else {
            bail!("it has no records, so nobody knows of what: {EXPECTED}");
        };
        let has = |keys: &[&str]| keys.iter().all(|key| first.get(key).is_some());
        let kind = KINDS.iter().find(|(_, keys)| has(keys));
        let Some((kind, _)) = kind else {
            let keys = first.as_object().map(|record| {
                let keys: Vec<&str> = record.keys().map(String::as_str).take(12).collect();
                keys.join(", ")
            });
            let keys = keys.filter(|keys| !keys.is_empty());
            let keys = keys.unwrap_or_else(|| "no keys".to_string());
            bail!("its records have {keys}, which are of nothing that is known here: {EXPECTED}");
        };
        match kind {
            Kind::Measured => self.measured.extend(all(records)?),
            Kind::Regrets => self.regrets.extend(all(records)?),
            Kind::Guidelines => self.guidelines.extend(all(records)?),
            Kind::Peers => self.peers.extend(all(records)?),
            Kind::Lab => {
                let cells: Vec<Lab> = all(records)?;
                self.peers.extend(cells.iter().flat_map(Lab::peers));
            }
        }
        Ok(())
    }
}

/// All records as what they should be.
fn all<T: for<'de> Deserialize<'de>>(records: Vec<Value>) -> anyhow::Result<Vec<T>> {
    let each = records.into_iter().enumerate().map(|(at, record)| {
        let number = at + 1;
        serde_json::from_value(record)
            .with_context(|| format!("its record {number} is not as the first ones are"))
    });
    each.collect()
}

impl Lab {
    /// Ours, the first, beside each of the others.
    fn peers(&self) -> Vec<Peer> {
        let us = |name: &str| self.times.iter().find(|times| times.name == name);
        let Some(ours) = self.times.first() else {
            return Vec::new();
        };
        let (hosts, each, rails) = (self.hosts, self.each, self.rails);
        let peer = |ratio: &LabRatio| {
            Some(Peer {
                collective: self.collective.clone(),
                bytes: self.bytes,
                ranks: hosts * each,
                peer: ratio.peer.clone(),
                setting: String::new(),
                ours_us: ours.us,
                peer_us: us(&ratio.peer)?.us,
                ratio: ratio.ratio,
                spread: ratio.interval.map(|end| end.unwrap_or(f64::NAN)),
                place: Some(format!(
                    "{hosts} hosts of {each}, rails: {rails}, ours: {}",
                    ours.name
                )),
            })
        };
        self.ratios.iter().filter_map(peer).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REGRET: &str = r#"{"collective": "scan", "bytes": 8, "ranks": 2, "chosen": "a", "best": "b", "chosen_us": 2.0,
        "best_us": 1.0, "regret": 1.0}"#;

    #[test]
    fn files_are_told_apart_by_their_records() {
        let mut input = Input::default();
        input
            .add(&format!("[{REGRET}, {REGRET}]"))
            .expect("it is known");
        let compare = r#"[{"collective": "scan", "bytes": 8, "ranks": 2, "peer": "mpich", "setting": "default", "ours_us": 1.0,
            "peer_us": 2.0, "ratio": 2.0, "spread": [1.9, 2.1], "ours_p99_us": 1.0, "peer_p99_us": 1.0, "line_ns": null}]"#;
        input.add(compare).expect("it is known");
        let lab = r#"[{"hosts": 2, "each": 3, "rails": 1, "collective": "scan", "bytes": 8, "bound_us": 1.0,
            "times": [{"name": "tcp", "us": 3.0}, {"name": "mpich", "us": 6.0}],
            "ratios": [{"peer": "mpich", "ratio": 2.0, "interval": [null, null]}]}]"#;
        input.add(lab).expect("it is known");
        assert_eq!((input.regrets.len(), input.peers.len()), (2, 2));
        let of_lab = &input.peers[1];
        assert_eq!(
            (of_lab.ranks, of_lab.ours_us, of_lab.peer_us),
            (6, 3.0, 6.0)
        );
    }

    #[test]
    fn what_is_not_known_is_named_with_what_is_expected() {
        let said = |text: &str| format!("{:#}", Input::default().add(text).unwrap_err());
        assert!(said("name = 'm'").contains("no JSON array"));
        assert!(said("[]").contains("no records"));
        assert!(said("[3]").contains("no keys"));
        let other = said(r#"[{"zeal": 1, "apple": 2}]"#);
        assert!(
            other.contains("zeal") && other.contains("bench, regret or guidelines"),
            "{other}"
        );
        let second = said(&format!("[{REGRET}, {{}}]"));
        assert!(
            second.contains("its record 2") && second.contains("collective"),
            "{second}"
        );
    }
}
