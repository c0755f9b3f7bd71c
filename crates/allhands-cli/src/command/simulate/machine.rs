//! Machines as files: built in, or the user's own.

use super::cell::CellFile;
use allhands_core::schedule::Plan;
use allhands_core::simulate::cell::Cell;
use allhands_core::simulate::{Flat, Linear, Outcome, Processor, SimulateError, simulate};
use anyhow::{Context, bail, ensure};
use serde::Deserialize;

/// A machine, as its file says.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// What it is, in a line.
    pub about: String,
    network: Network,
    processor: Times,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, tag = "kind", rename_all = "kebab-case")]
enum Network {
    /// Every pair of ranks equally far.
    Flat {
        latency_us: f64,
        message_us: f64,
        byte_ns: f64,
    },
    /// SPEs on element interconnect buses.
    Cell(CellFile),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Times {
    send_us: f64,
    receive_us: f64,
    copy_byte_ns: f64,
    reduce_byte_ns: f64,
}

/// The files of the machines that are built in.
const BUILT_IN: [(&str, &str); 6] = [
    ("hockney", include_str!("../../../machines/hockney.toml")),
    ("loggp", include_str!("../../../machines/loggp.toml")),
    ("cell", include_str!("../../../machines/cell.toml")),
    (
        "cell-blade",
        include_str!("../../../machines/cell-blade.toml"),
    ),
    (
        "cell-cluster",
        include_str!("../../../machines/cell-cluster.toml"),
    ),
    (
        "roadrunner",
        include_str!("../../../machines/roadrunner.toml"),
    ),
];

/// The most that a time may be, in the unit of its name: an hour, in microseconds.
const MOST: f64 = 3.6e9;

impl Machine {
    /// Reads a machine that is built in, by its name, or a file, by its path.
    ///
    /// # Errors
    /// What is wrong with the name or the file, and where.
    pub fn find(name: &str) -> anyhow::Result<Machine> {
        let built_in = BUILT_IN.iter().find(|(own, _)| *own == name);
        if let Some((_, text)) = built_in {
            return Machine::parse(text).with_context(|| format!("the machine {name}"));
        }
        let names = || BUILT_IN.map(|(name, _)| name).join(", ");
        ensure!(
            name.ends_with(".toml"),
            "there is no machine '{name}'; there are {}, or the path of a file that ends in .toml",
            names()
        );
        let text = std::fs::read_to_string(name).with_context(|| format!("cannot read {name}"))?;
        Machine::parse(&text).with_context(|| name.to_string())
    }

    fn parse(text: &str) -> anyhow::Result<Machine> {
        let machine: Machine = toml::from_str(text)?;
        machine.network.check()?;
        let times = &machine.processor;
        times_are_right(&[
            ("send_us", times.send_us),
            ("receive_us", times.receive_us),
            ("copy_byte_ns", times.copy_byte_ns),
            ("reduce_byte_ns", times.reduce_byte_ns),
        ])?;
        Ok(machine)
    }

    /// Says whether it has room for so many ranks.
    ///
    /// # Errors
    /// That it has not, and for how many it has.
    pub fn admits(&self, ranks: u32) -> anyhow::Result<()> {
        let most = match &self.network {
            Network::Flat { .. } => None,
            Network::Cell(file) => file.most_ranks(),
        };
        match most {
            Some(most) if ranks > most => {
                bail!(
                    "{ranks} ranks: the machine {} has room for {most}",
                    self.name
                )
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Runs the plans of all ranks on it.
    ///
    /// # Errors
    /// What keeps a rank from its end.
    pub fn simulate(&self, plans: &[Plan]) -> Result<Outcome, SimulateError> {
        let ranks = plans.len() as u32;
        match &self.network {
            &Network::Flat {
                latency_us,
                message_us,
                byte_ns,
            } => {
                let (latency_ps, gap) = (picoseconds(latency_us), linear(message_us, byte_ns));
                let mut flat = Flat::new(ranks, latency_ps, gap, self.processor());
                simulate(plans, &mut flat)
            }
            Network::Cell(file) => {
                let mut cell = Cell::new(ranks, file.hardware(self.processor()));
                simulate(plans, &mut cell)
            }
        }
    }

    /// What a rank's processor takes.
    #[must_use]
    pub fn processor(&self) -> Processor {
        let times = &self.processor;
        Processor {
            send: linear(times.send_us, 0.0),
            receive: linear(times.receive_us, 0.0),
            copy: linear(0.0, times.copy_byte_ns),
            reduce: linear(0.0, times.reduce_byte_ns),
        }
    }
}

impl Network {
    fn check(&self) -> anyhow::Result<()> {
        match self {
            Network::Flat {
                latency_us,
                message_us,
                byte_ns,
            } => times_are_right(&[
                ("latency_us", *latency_us),
                ("message_us", *message_us),
                ("byte_ns", *byte_ns),
            ]),
            Network::Cell(file) => file.check(),
        }
    }
}

/// Says which of these times is none.
pub(super) fn times_are_right(times: &[(&str, f64)]) -> anyhow::Result<()> {
    for (name, value) in times {
        ensure!(
            (0.0..=MOST).contains(value),
            "{name} = {value}: a time, from 0 to {MOST}"
        );
    }
    Ok(())
}

pub(super) fn picoseconds(us: f64) -> u64 {
    (us * 1e6).round() as u64
}

pub(super) fn linear(fixed_us: f64, byte_ns: f64) -> Linear {
    Linear {
        fixed_ps: picoseconds(fixed_us),
        per_byte_fs: picoseconds(byte_ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_in_is_read() {
        for (name, _) in BUILT_IN {
            assert_eq!(Machine::find(name).expect("it is right").name, name);
        }
    }

    #[test]
    fn a_machine_says_for_how_many_ranks_it_has_room() {
        let admits = |name: &str, ranks| Machine::find(name).expect("it is there").admits(ranks);
        assert!(admits("cell", 8).is_ok() && admits("cell-blade", 16).is_ok());
        assert!(admits("roadrunner", 1024).is_ok() && admits("hockney", 1 << 16).is_ok());
        let said = admits("cell", 9).unwrap_err().to_string();
        assert!(said.contains("room for 8"), "{said}");
    }

    #[test]
    fn mistakes_in_a_file_are_named() {
        let said = |text: &str| format!("{:#}", Machine::parse(text).unwrap_err());
        let (_, right) = BUILT_IN
            .iter()
            .find(|(name, _)| *name == "hockney")
            .expect("it is there");
        assert!(said(&right.replace("latency_us", "latncy_us")).contains("latncy_us"));
        assert!(said(&right.replace("\"flat\"", "\"round\"")).contains("flat"));
        assert!(said(&right.replace("byte_ns = 10.0", "byte_ns = -1.0")).contains("from 0 to"));
        assert!(said("name = 3").contains("line 1"));
        let (_, blade) = BUILT_IN
            .iter()
            .find(|(name, _)| *name == "cell-blade")
            .expect("it is there");
        assert!(said(&blade.replace("chips = 2", "chips = 3")).contains("1 or 2 on a blade"));
        assert!(said(&blade.replace("chips = 2", "chips = 1")).contains("[network.bif]"));
        assert!(said(&blade.replace("mfc_ns", "mcf_ns")).contains("mcf_ns"));
        let (_, cluster) = BUILT_IN
            .iter()
            .find(|(name, _)| *name == "cell-cluster")
            .expect("it is there");
        assert!(said(&cluster.replace("ranks = 16", "ranks = 20")).contains("a multiple of 16"));
    }
}
