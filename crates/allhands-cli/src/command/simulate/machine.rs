//! Machines as files: built in, or the user's own.

mod call;
mod cell;
pub mod cluster;
mod constants;
pub mod files;
pub mod left_out;
mod operators;
mod rails;
mod shape;
mod table;
#[cfg(test)]
mod tests;
mod times;
mod torus;

use super::soon::Soon;
use allhands_core::algorithm::Layer;
use allhands_core::machine::{Fabrics, Nodes, Torus};
use allhands_core::schedule::Plan;
use allhands_core::simulate::cell::{Cell, Level};
use allhands_core::simulate::{
    Dragonfly, FatTree, Flat, Linear, Link, Network as Model, Observer, Outcome, PLogP, Processor,
    Rails, Routes, TorusNetwork, Watch, simulate_observed,
};
use anyhow::{Context, bail, ensure};
use cell::CellFile;
use cluster::ClusterFile;
use rails::RailsFile;
use serde::Deserialize;
use times::{MOST, Times, check_times, linear, picoseconds};
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
    /// The protocols of ranks that share memory, which `policy::protocols` reads; no model goes by them.
    #[serde(default, rename = "protocols")]
    _protocols: Option<ProtocolsFile>,
    /// Where its nodes are, if that is said.
    #[serde(skip)]
    torus: Option<Torus>,
    /// Which ranks share a node, if its name says it: multirail-smp:4x4.
    #[serde(skip)]
    pub nodes: Option<Nodes>,
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
    /// The same, with overheads and gap as tables over sizes.
    Plogp(table::Table),
    /// A tree with several parents for each switch.
    FatTree(shape::Tree),
    /// Groups of routers, with a link between every two groups.
    Dragonfly(shape::Groups),
    /// SPEs on element interconnect buses.
    Cell(CellFile),
    /// Nodes whose ranks share memory, and a network interface for each rail.
    Rails(RailsFile),
    /// Nodes, with tables for what is inside them and between them.
    Cluster(Box<ClusterFile>),
}

/// Protocols, as [`Protocols::text`](allhands::policy::protocols::Protocols::text) writes them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only their form is looked at here")]
struct ProtocolsFile {
    format: u32,
    machine: String,
    kernel: String,
    version: String,
    starts: u32,
    lines: Vec<String>,
}

/// What is simulated: the plans of all ranks, and what a machine may go by besides.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// By what its messages go: on some machines those of their own packets take less.
    pub layer: Layer,
    /// The plans, in the order of the ranks.
    pub plans: &'a [Plan],
    /// Which ranks share a node.
    pub nodes: &'a Nodes,
}

/// What a simulation gave.
#[derive(Debug)]
pub struct Run {
    /// When ranks were done, and how much there was to do.
    pub outcome: Outcome,
    /// What the network's links did, if they were watched.
    pub links: Vec<Link>,
}

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
        match (shape, &machine.network) {
            (None, _) => {}
            (Some(shape), Network::Torus(_)) => {
                let torus: Torus = shape.parse()?;
                machine.name = format!("{name}:{torus}");
                machine.torus = Some(torus);
            }
            (Some(shape), Network::Rails(_) | Network::Cluster(_)) => {
                machine.nodes = Some(shape.parse()?)
            }
            (Some(shape), _) => bail!(
                "'{shape}' behind {name} says where nodes are, and {name} is no torus and has no nodes; right would be {name} alone"
            ),
        }
        Ok(machine)
    }

    fn named(name: &str) -> anyhow::Result<Machine> {
        let about = || match files::is_built_in(name) {
            true => format!("the machine {name}"),
            false => name.to_string(),
        };
        Machine::parse(&files::text(name)?).with_context(about)
    }

    /// The machine that a file's text says.
    pub fn parse(text: &str) -> anyhow::Result<Machine> {
        Machine::checked(toml::from_str(text)?)
    }

    fn checked(machine: Machine) -> anyhow::Result<Machine> {
        machine.processor.check()?;
        match &machine.network {
            Network::Flat {
                latency_us,
                message_us,
                byte_ns,
            } => {
                check_times(&[
                    ("latency_us", *latency_us),
                    ("message_us", *message_us),
                    ("byte_ns", *byte_ns),
                ])?;
                machine.processor()?;
            }
            Network::Torus(file) => file.check()?,
            Network::Plogp(table) => drop(table.times(&machine.processor)?),
            Network::FatTree(tree) => {
                tree.routes()?;
                machine.processor()?;
            }
            Network::Dragonfly(groups) => {
                groups.routes()?;
                machine.processor()?;
            }
            Network::Cell(file) => {
                file.check()?;
                machine.processor()?;
            }
            Network::Rails(file) => {
                file.check()?;
                machine.processor()?;
            }
            Network::Cluster(file) => file.check(&machine.processor)?,
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
        if let Network::Cluster(file) = &mut machine.network {
            file.combine_for_nothing();
        }
        machine
    }

    /// The same machine if messages began for nothing, of algorithms that turn from peer to peer at random.
    pub fn beginning_for_nothing(&self) -> Machine {
        let mut machine = self.clone();
        if let Network::Torus(file) = &mut machine.network {
            file.begin_for_nothing();
        }
        machine
    }

    /// How many ranks it has, if that is said.
    pub fn ranks(&self) -> Option<u32> {
        match (&self.network, self.torus) {
            (Network::Torus(file), Some(torus)) => Some(file.ranks(torus)),
            _ => None,
        }
    }

    /// The names of the coordinates by which its links say where they are.
    pub fn coordinates(&self) -> &'static [&'static str] {
        match &self.network {
            Network::Torus(_) => &["x", "y", "z"],
            Network::Rails(_) => &["node", "rail"],
            Network::FatTree(_) => &["child", "level"],
            Network::Dragonfly(_) => &["router", "group"],
            _ => &["rank"],
        }
    }

    /// Whether ranks can share memory on it.
    pub fn shares_memory(&self) -> bool {
        match &self.network {
            Network::Rails(_) | Network::Cell(_) => true,
            Network::Cluster(file) => file.shares_memory(),
            Network::Flat { .. }
            | Network::Torus(_)
            | Network::Plogp(_)
            | Network::FatTree(_)
            | Network::Dragonfly(_) => false,
        }
    }

    /// Whether its times depend on where bytes lie: on how many runs they are in.
    pub fn asks_where_bytes_lie(&self) -> bool {
        matches!(self.network, Network::Rails(_))
    }

    /// Where the nodes of `ranks` ranks are, if it is a torus, and what hardware they share.
    ///
    /// # Errors
    /// When it does not have so many ranks.
    pub fn place(&self, ranks: u32) -> anyhow::Result<(Option<Torus>, Fabrics)> {
        let file = match &self.network {
            Network::Torus(file) => file,
            Network::Rails(file) => return Ok((None, file.fabrics())),
            _ => return Ok((None, Fabrics::default())),
        };
        let torus = match self.torus {
            Some(torus) => torus,
            None => file.partition(ranks)?,
        };
        let nodes = torus.ranks();
        if ranks != nodes && ranks != 2 * nodes {
            bail!(
                "{} has {nodes} nodes, which are {nodes} ranks, or {} with two on each, but not {ranks}",
                self.name,
                2 * nodes
            );
        }
        // How two ranks of a node share the tree and the wires, B does not say.
        let fabrics = match ranks == nodes {
            true => file.fabrics(torus),
            false => Fabrics::default(),
        };
        Ok((Some(torus), fabrics))
    }

    /// What is above its blades, if it is one of Cells.
    ///
    /// # Errors
    /// What its file does not say.
    pub fn levels(&self) -> anyhow::Result<Vec<Level>> {
        match &self.network {
            Network::Cell(file) => Ok(file.hardware(self.processor()?).levels),
            _ => Ok(Vec::new()),
        }
    }

    /// The same machine with other rails, if it has any.
    #[must_use]
    pub fn with_rails(&self, change: impl FnOnce(&mut RailsFile)) -> Machine {
        let mut machine = self.clone();
        if let Network::Rails(file) = &mut machine.network {
            change(file);
        }
        machine
    }

    /// Whether it has room for so many ranks.
    ///
    /// # Errors
    /// That it has not, and for how many it has.
    pub fn admits(&self, ranks: u32) -> anyhow::Result<()> {
        let most = match &self.network {
            Network::Cell(file) => file.most_ranks(),
            _ => None,
        };
        match most {
            Some(most) if ranks > most => bail!(
                "{ranks} ranks: the machine {} has room for {most}",
                self.name
            ),
            Some(_) | None => Ok(()),
        }
    }

    /// Runs the plans of all ranks on it.
    ///
    /// # Errors
    /// As for [`Machine::simulate`].
    pub fn outcome(&self, job: Job<'_>) -> anyhow::Result<Outcome> {
        Ok(self.simulate(job, &mut Soon, None)?.outcome)
    }

    /// Runs the plans of all ranks on it while somebody looks on; what its links do is noted if it is watched.
    ///
    /// # Errors
    /// What keeps a rank from its end, or that the machine has fewer hosts than there are ranks.
    pub fn simulate<O: Observer>(
        &self,
        job: Job<'_>,
        observer: &mut O,
        watch: Option<Watch>,
    ) -> anyhow::Result<Run> {
        let Job {
            layer,
            plans,
            nodes,
        } = job;
        let ranks = plans.len() as u32;
        match &self.network {
            Network::Flat {
                latency_us,
                message_us,
                byte_ns,
            } => {
                let gap = linear(*message_us, *byte_ns);
                let flat = Flat::new(ranks, picoseconds(*latency_us), gap, self.processor()?);
                run(flat, plans, observer, watch)
            }
            Network::Torus(file) => {
                let (torus, _) = self.place(ranks)?;
                let torus = torus.context("a torus has a shape")?;
                let mut settings = file.settings(torus, layer, &self.processor);
                settings.ranks_per_node = ranks / torus.ranks().max(1);
                run(TorusNetwork::new(settings, ranks)?, plans, observer, watch)
            }
            Network::Plogp(table) => {
                let (latency_ps, times) = table.times(&self.processor)?;
                let flat: Flat<PLogP> = Flat::with_times(ranks, latency_ps, times);
                run(flat, plans, observer, watch)
            }
            Network::FatTree(tree) => {
                let routes = tree.routes()?;
                fits(ranks, &routes)?;
                let network = FatTree::new(routes, self.processor()?).with_eager(tree.eager());
                run(network, plans, observer, watch)
            }
            Network::Dragonfly(groups) => {
                let routes = groups.routes()?;
                fits(ranks, &routes)?;
                let network = Dragonfly::new(routes, self.processor()?);
                run(network, plans, observer, watch)
            }
            Network::Cell(file) => {
                let network = Cell::new(ranks, file.hardware(self.processor()?));
                let network = network.with_helpers(plans);
                run(network, plans, observer, watch)
            }
            Network::Rails(file) => {
                let network = Rails::new(plans, nodes, file.times(self.processor()?));
                run(network, plans, observer, watch)
            }
            Network::Cluster(file) => {
                let network = file.network(&self.processor, (nodes, ranks))?;
                let mut done = run(network, plans, observer, watch)?;
                let ends_ps = done.outcome.ends_ps.iter_mut();
                ends_ps.for_each(|end_ps| *end_ps += file.call_ps());
                Ok(done)
            }
        }
    }

    /// What a rank's processor takes.
    ///
    /// # Errors
    /// What the file does not say.
    pub fn processor(&self) -> anyhow::Result<Processor> {
        let times = &self.processor;
        let overhead = |name: &str, time: Option<f64>| {
            let time = time.with_context(|| {
                format!("{name} is missing in [processor]: what a message takes there, perhaps 0.0")
            });
            Ok::<Linear, anyhow::Error>(linear(time?, 0.0))
        };
        Ok(Processor {
            send: overhead("send_us", times.send_us)?,
            receive: overhead("receive_us", times.receive_us)?,
            copy: linear(0.0, times.copy_byte_ns),
            reduce: linear(times.reduce_us, times.reduce_byte_ns),
        })
    }
}

fn run<N: Model, O: Observer>(
    mut network: N,
    plans: &[Plan],
    observer: &mut O,
    watch: Option<Watch>,
) -> anyhow::Result<Run> {
    if let Some(watch) = watch {
        network.watch(watch);
    }
    let outcome = simulate_observed(plans, &mut network, observer)?;
    let links = network.links();
    Ok(Run { outcome, links })
}

fn fits(ranks: u32, routes: &impl Routes) -> anyhow::Result<()> {
    let hosts = routes.hosts();
    ensure!(
        ranks <= hosts,
        "the machine has {hosts} hosts, and there are {ranks} ranks: take no more ranks than hosts, or a larger machine"
    );
    Ok(())
}
