//! Machines as files: built in, or the user's own.

use allhands_core::machine::Nodes;
use allhands_core::schedule::Plan;
use allhands_core::simulate::{
    Flat, Linear, Outcome, Processor, RailTimes, Rails, SimulateError, simulate,
};
use anyhow::{Context, ensure};
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
    /// The nodes that its name says: multirail-smp:4x4.
    #[serde(skip)]
    pub nodes: Option<Nodes>,
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
    /// Nodes whose ranks share memory, and a network interface for each rail.
    Rails {
        rails: u32,
        stripe_from_bytes: u64,
        latency_us: f64,
        message_us: f64,
        byte_ns: f64,
        flag_us: f64,
        copy_us: f64,
        cached_byte_ns: f64,
        uncached_byte_ns: f64,
        cache_bytes: u64,
    },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Times {
    send_us: f64,
    receive_us: f64,
    copy_byte_ns: f64,
    reduce_byte_ns: f64,
}

impl Network {
    /// Its times, with their names.
    ///
    /// # Errors
    /// What is wrong that is no time.
    fn times(&self) -> anyhow::Result<Vec<(&'static str, f64)>> {
        match *self {
            Network::Flat {
                latency_us,
                message_us,
                byte_ns,
            } => Ok(vec![
                ("latency_us", latency_us),
                ("message_us", message_us),
                ("byte_ns", byte_ns),
            ]),
            Network::Rails {
                rails,
                latency_us,
                message_us,
                byte_ns,
                flag_us,
                copy_us,
                cached_byte_ns,
                uncached_byte_ns,
                ..
            } => {
                ensure!(
                    (1..=64).contains(&rails),
                    "rails = {rails}: a node has from 1 to 64"
                );
                Ok(vec![
                    ("latency_us", latency_us),
                    ("message_us", message_us),
                    ("byte_ns", byte_ns),
                    ("flag_us", flag_us),
                    ("copy_us", copy_us),
                    ("cached_byte_ns", cached_byte_ns),
                    ("uncached_byte_ns", uncached_byte_ns),
                ])
            }
        }
    }
}

/// The files of the machines that are built in.
const BUILT_IN: [(&str, &str); 3] = [
    ("hockney", include_str!("../../../machines/hockney.toml")),
    ("loggp", include_str!("../../../machines/loggp.toml")),
    (
        "multirail-smp",
        include_str!("../../../machines/multirail-smp.toml"),
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
        if let Some((name, nodes)) = name.split_once(':') {
            let machine = Machine {
                nodes: Some(nodes.parse()?),
                ..Machine::find(name)?
            };
            let network = &machine.network;
            ensure!(
                matches!(network, Network::Rails { .. }),
                "the machine {name} has no nodes; right would be {name} alone"
            );
            return Ok(machine);
        }
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
        let mut all = vec![
            ("send_us", times.send_us),
            ("receive_us", times.receive_us),
            ("copy_byte_ns", times.copy_byte_ns),
            ("reduce_byte_ns", times.reduce_byte_ns),
        ];
        all.extend(machine.network.times()?);
        for (name, value) in all {
            ensure!(
                (0.0..=MOST).contains(&value),
                "{name} = {value}: a time, from 0 to {MOST}"
            );
        }
        Ok(machine)
    }

    /// Runs the plans of all ranks on it.
    ///
    /// # Errors
    /// What keeps a rank from its end.
    pub fn simulate(&self, plans: &[Plan], nodes: &Nodes) -> Result<Outcome, SimulateError> {
        let ranks = plans.len() as u32;
        match self.network {
            Network::Flat {
                latency_us,
                message_us,
                byte_ns,
            } => {
                let (latency_ps, gap) = (picoseconds(latency_us), linear(message_us, byte_ns));
                let mut flat = Flat::new(ranks, latency_ps, gap, self.processor());
                simulate(plans, &mut flat)
            }
            Network::Rails { .. } => simulate(plans, &mut Rails::new(plans, nodes, self.rails())),
        }
    }

    /// The same machine with one rail a node.
    #[must_use]
    pub fn on_one_rail(mut self) -> Machine {
        if let Network::Rails { rails, .. } = &mut self.network {
            *rails = 1;
        }
        self
    }

    /// What everything takes on a multi-rail machine; nothing, on another.
    fn rails(&self) -> RailTimes {
        let Network::Rails {
            rails,
            stripe_from_bytes,
            latency_us,
            message_us,
            byte_ns,
            flag_us,
            copy_us,
            cached_byte_ns,
            uncached_byte_ns,
            cache_bytes,
        } = self.network
        else {
            return RailTimes::default();
        };
        let processor = self.processor();
        RailTimes {
            rails,
            stripe_from_bytes,
            post_ps: processor.send.fixed_ps,
            latency_ps: picoseconds(latency_us),
            bus: linear(message_us, byte_ns),
            take_ps: processor.receive.fixed_ps,
            flag_ps: picoseconds(flag_us),
            copy: linear(copy_us, self.processor.copy_byte_ns),
            cached_byte_fs: picoseconds(cached_byte_ns),
            uncached_byte_fs: picoseconds(uncached_byte_ns),
            cache_bytes,
            reduce: processor.reduce,
        }
    }

    /// What a rank's processor takes.
    fn processor(&self) -> Processor {
        let times = &self.processor;
        Processor {
            send: linear(times.send_us, 0.0),
            receive: linear(times.receive_us, 0.0),
            copy: linear(0.0, times.copy_byte_ns),
            reduce: linear(0.0, times.reduce_byte_ns),
        }
    }
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
        let (_, right) = BUILT_IN[0];
        assert!(said(&right.replace("latency_us", "latncy_us")).contains("latncy_us"));
        assert!(said(&right.replace("\"flat\"", "\"round\"")).contains("flat"));
        assert!(said(&right.replace("byte_ns = 10.0", "byte_ns = -1.0")).contains("from 0 to"));
        assert!(said("name = 3").contains("line 1"));
        let (_, rails) = BUILT_IN[2];
        assert!(said(&rails.replace("rails = 2 ", "rails = 0 ")).contains("from 1 to 64"));
        assert!(said(&rails.replace("flag_us = ", "flag_us = -")).contains("flag_us"));
        let find = |name| format!("{:#}", Machine::find(name).unwrap_err());
        assert!(find("hockney:4x4").contains("has no nodes"));
        assert!(find("multirail-smp:4y4").contains("says no nodes"));
    }
}
