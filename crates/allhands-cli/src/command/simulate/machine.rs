//! Machines as files: built in, or the user's own.

mod torus;

use allhands_core::machine::{Fabrics, Torus};
use allhands_core::schedule::Plan;
use allhands_core::simulate::{Flat, Linear, Outcome, Processor, TorusNetwork, simulate};
use anyhow::{Context, bail, ensure};
use serde::Deserialize;
use torus::TorusFile;

/// A machine, as its file says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// What it is, in a line.
    pub about: String,
    network: Network,
    processor: Times,
    /// Where its nodes are, if that is said.
    #[serde(skip)]
    torus: Option<Torus>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, tag = "kind", rename_all = "kebab-case")]
enum Network {
    /// Every pair of ranks equally far.
    Flat {
        latency_us: f64,
        message_us: f64,
        byte_ns: f64,
    },
    /// Nodes that pass packets on to their neighbours.
    Torus(Box<TorusFile>),
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Times {
    send_us: f64,
    receive_us: f64,
    copy_byte_ns: f64,
    #[serde(default)]
    reduce_us: f64,
    reduce_byte_ns: f64,
}

/// The files of the machines that are built in.
const BUILT_IN: [(&str, &str); 3] = [
    (
        "bluegene-l",
        include_str!("../../../machines/bluegene-l.toml"),
    ),
    ("hockney", include_str!("../../../machines/hockney.toml")),
    ("loggp", include_str!("../../../machines/loggp.toml")),
];

/// The most that a time may be, in the unit of its name: an hour, in microseconds.
const MOST: f64 = 3.6e9;

impl Machine {
    /// Reads a machine that is built in, by its name, or a file, by its path; a shape may follow, as in `bluegene-l:8x8x8:mesh`.
    ///
    /// # Errors
    /// What is wrong with the name, the shape or the file, and where.
    pub fn find(text: &str) -> anyhow::Result<Machine> {
        let (name, shape) = match text.split_once(':') {
            Some((name, shape)) => (name, Some(shape)),
            None => (text, None),
        };
        let mut machine = Machine::named(name)?;
        if let Some(shape) = shape {
            ensure!(
                matches!(machine.network, Network::Torus(_)),
                "'{shape}' behind {name} says where nodes are, and {name} is no torus"
            );
            let torus: Torus = shape.parse()?;
            machine.name = format!("{name}:{torus}");
            machine.torus = Some(torus);
        }
        Ok(machine)
    }

    fn named(name: &str) -> anyhow::Result<Machine> {
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
        let times = &machine.processor;
        all_times(&[
            ("send_us", times.send_us),
            ("receive_us", times.receive_us),
            ("copy_byte_ns", times.copy_byte_ns),
            ("reduce_us", times.reduce_us),
            ("reduce_byte_ns", times.reduce_byte_ns),
        ])?;
        match &machine.network {
            Network::Flat {
                latency_us,
                message_us,
                byte_ns,
            } => all_times(&[
                ("latency_us", *latency_us),
                ("message_us", *message_us),
                ("byte_ns", *byte_ns),
            ])?,
            Network::Torus(file) => file.check()?,
        }
        Ok(machine)
    }

    /// The same machine with its nodes there.
    pub fn on(&self, torus: Torus) -> Machine {
        Machine {
            torus: Some(torus),
            ..self.clone()
        }
    }

    /// The same machine if its processors combined for nothing.
    pub fn combining_for_nothing(&self) -> Machine {
        let mut machine = self.clone();
        (
            machine.processor.reduce_us,
            machine.processor.reduce_byte_ns,
        ) = (0.0, 0.0);
        machine
    }

    /// How many ranks it has, if that is said.
    pub fn ranks(&self) -> Option<u32> {
        match (&self.network, self.torus) {
            (Network::Torus(file), Some(torus)) => Some(file.ranks(torus)),
            _ => None,
        }
    }

    /// Where the nodes of `ranks` ranks are, if it is a torus, and what hardware they share.
    ///
    /// # Errors
    /// When it does not have so many ranks.
    pub fn place(&self, ranks: u32) -> anyhow::Result<(Option<Torus>, Fabrics)> {
        let Network::Torus(file) = &self.network else {
            return Ok((None, Fabrics::default()));
        };
        let torus = match self.torus {
            Some(torus) => torus,
            None => file.partition(ranks)?,
        };
        let there = file.ranks(torus);
        if there != ranks {
            bail!(
                "{} has {there} ranks, not {ranks}; leave out --ranks",
                self.name
            );
        }
        Ok((Some(torus), file.fabrics(torus)))
    }

    /// Runs the plans of all ranks on it, which are of this algorithm; gives how often packets went over links, too.
    ///
    /// # Errors
    /// What keeps a rank from its end.
    pub fn simulate(&self, algorithm: &str, plans: &[Plan]) -> anyhow::Result<(Outcome, u64)> {
        let ranks = plans.len() as u32;
        match &self.network {
            Network::Flat {
                latency_us,
                message_us,
                byte_ns,
            } => {
                let (latency_ps, gap) = (picoseconds(*latency_us), linear(*message_us, *byte_ns));
                let mut flat = Flat::new(ranks, latency_ps, gap, self.processor());
                Ok((simulate(plans, &mut flat)?, 0))
            }
            Network::Torus(file) => {
                let (torus, _) = self.place(ranks)?;
                let torus = torus.context("a torus has a shape")?;
                let settings = file.settings(torus, algorithm, &self.processor);
                let mut network = TorusNetwork::new(settings, ranks)?;
                let outcome = simulate(plans, &mut network)?;
                Ok((outcome, network.hops()))
            }
        }
    }

    /// What a rank's processor takes.
    fn processor(&self) -> Processor {
        let times = &self.processor;
        Processor {
            send: linear(times.send_us, 0.0),
            receive: linear(times.receive_us, 0.0),
            copy: linear(0.0, times.copy_byte_ns),
            reduce: linear(times.reduce_us, times.reduce_byte_ns),
        }
    }
}

/// Whether all are times.
fn all_times(times: &[(&str, f64)]) -> anyhow::Result<()> {
    for (name, value) in times {
        ensure!(
            (0.0..=MOST).contains(value),
            "{name} = {value}: a time, from 0 to {MOST}"
        );
    }
    Ok(())
}

fn picoseconds(us: f64) -> u64 {
    (us * 1e6).round() as u64
}

fn linear(fixed_us: f64, byte_ns: f64) -> Linear {
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
    fn mistakes_in_a_file_are_named() {
        let said = |text: &str| format!("{:#}", Machine::parse(text).unwrap_err());
        let (_, right) = BUILT_IN[1];
        assert!(said(&right.replace("latency_us", "latncy_us")).contains("latncy_us"));
        assert!(said(&right.replace("\"flat\"", "\"round\"")).contains("flat"));
        assert!(said(&right.replace("byte_ns = 10.0", "byte_ns = -1.0")).contains("from 0 to"));
        assert!(said("name = 3").contains("line 1"));
    }
}
