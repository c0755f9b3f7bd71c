//! `allhands verify`: proofs for numbers of ranks and roots.

mod machine;
mod none;

use crate::ranks::Ranks;
use crate::{names, output};
use allhands_core::algorithm::{self, Algorithm, Requirement, print_parameters};
use allhands_core::call::{Call, Collective};
use allhands_core::machine::{Fabrics, Nodes, Torus};
use allhands_core::schedule::Shape;
use allhands_core::verify::{self, Report};
use indicatif::{ProgressBar, ProgressStyle};
use machine::{Machine, torus_among_leaders};
use serde::Serialize;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Prove that algorithms are right for numbers of ranks and roots
///
/// Every send meets its receive; it ends even when nothing is buffered; each contribution counts
/// exactly once and in order; nothing is read before it is written; no two operations in flight
/// touch the same bytes; and steps, volume and work are what the algorithm claims. With up to
/// 64 ranks the lowered form, which is what runs, is run on real elements too.
///
/// Keys of --json: collective, algorithm, parameters, ranks, root, nodes, torus, ports, ok, steps, volume, work,
/// bound_steps, bound_volume.
///
/// Exit status 1 when a proof fails, 2 when the arguments are wrong.
///
/// Examples:
///   allhands verify --ranks 1..=64 --all-roots
///   allhands verify allreduce --algorithm hierarchical --ranks 16 --nodes 4x4
///   allhands verify broadcast --torus 4x4x2:torus --all-roots
///   allhands verify --machine bluegene-l:4x4x4:torus
///   allhands verify allgather --algorithm bruck:radix=4 --ranks 13 --json proofs.json
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// Only this collective
    #[arg(value_parser = names::collective)]
    collective: Option<Collective>,

    /// Only this algorithm, NAME or NAME:key=value,… (without parameters: every registered setting)
    #[arg(long, requires = "collective")]
    algorithm: Option<String>,

    /// Numbers of ranks: 8, 2,4,8, 1-64 or 1..=64 (algorithms with windows, unless named, beyond 64 ranks only for multiples of 8)
    #[arg(long, short = 'n', default_value = "1..=16")]
    ranks: Ranks,

    /// Only these nodes: one, 4x4 (4 nodes of 4 ranks), 2x2x4 (levels, outermost first) or 3,5,2 (otherwise each algorithm
    /// that asks for nodes on several; rooted ones beyond 16 ranks on another for each root, and all beyond 64 ranks on nodes of
    /// two, with the default setting)
    #[arg(long)]
    nodes: Option<Nodes>,

    /// Only algorithms that ask for a mesh or torus, on this one and its ranks: 4x4x2 (a torus from 512 nodes on), 4x4x4:torus,
    /// 8x8x8:mesh or 8x4x4:x (only x wraps around); rank = x + X·(y + Y·z) (otherwise on several)
    #[arg(long, conflicts_with = "ranks")]
    torus: Option<Torus>,

    /// Only algorithms that ask for what this machine has, on all its ranks, with every root: bluegene-l:4x4x2,
    /// bluegene-l:8x8x8:mesh, bluegene-l:4x4x4:torus
    #[arg(long, conflicts_with_all = ["ranks", "torus"])]
    machine: Option<Machine>,

    /// Every root (otherwise the first rank and one in the middle; beyond 64 ranks only that one)
    #[arg(long)]
    all_roots: bool,

    #[command(flatten)]
    json: output::Json,

    /// Print only failures and the last line
    #[arg(long, short)]
    quiet: bool,
}

impl Arguments {
    /// Whether an algorithm asks for the torus or the machine that is named, if one is.
    fn asks_for_it(&self, algorithm: &Algorithm) -> bool {
        let torus = algorithm.requires.contains(&Requirement::Torus);
        if self.on_several_a_node() {
            return algorithm.name == "hierarchical";
        }
        match (&self.machine, self.torus) {
            (Some(_), _) => torus || algorithm.fabrics() != Fabrics::default(),
            (None, Some(_)) => torus,
            (None, None) => true,
        }
    }

    /// Those of the torus or the machine, or what is typed.
    fn numbers_of_ranks(&self) -> Vec<u32> {
        match self.place() {
            Some(_) if self.on_several_a_node() => vec![self.ranks_on_nodes()],
            Some(torus) => vec![torus.ranks()],
            None => self.ranks.0.clone(),
        }
    }

    /// The torus that is named, or that of the machine.
    fn place(&self) -> Option<Torus> {
        let machine = self.machine.as_ref().map(|machine| machine.torus);
        self.torus.or(machine)
    }

    /// The ranks on the nodes that are named: none, if nothing or `one` is.
    fn ranks_on_nodes(&self) -> u32 {
        let nodes = self.nodes.as_ref();
        nodes.map_or(0, |nodes| nodes.sizes(0).iter().sum())
    }

    /// Whether the nodes of the torus have several ranks.
    fn on_several_a_node(&self) -> bool {
        let ranks = self.ranks_on_nodes();
        self.place().is_some_and(|torus| torus.ranks() < ranks)
    }
}

/// One proof to make.
struct Case {
    algorithm: &'static Algorithm,
    parameters: String,
    shape: Shape,
}

#[derive(Serialize)]
struct Record {
    collective: &'static str,
    algorithm: &'static str,
    parameters: String,
    ranks: u32,
    root: u32,
    nodes: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    torus: Option<String>,
    ports: u32,
    ok: bool,
    steps: u32,
    volume: f64,
    work: f64,
    bound_steps: u32,
    bound_volume: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
}

/// Makes the proofs; exit status 1 if any fails.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    arguments.json.check()?;
    let cases = cases(arguments)?;
    let start = std::time::Instant::now();
    let records = prove(&cases, arguments.quiet);
    let failed = records.iter().filter(|r| !r.ok).count();
    arguments.json.write(&records)?;
    let mut out = arguments.json.beside();
    if !arguments.quiet {
        summary(&mut out, &records)?;
    }
    for record in records.iter().filter(|r| !r.ok).take(50) {
        let Record {
            collective,
            algorithm,
            parameters,
            ranks,
            root,
            nodes,
            torus,
            failure,
            ..
        } = record;
        let failure = failure.as_deref().unwrap_or_default();
        let torus = torus
            .iter()
            .map(|torus| format!(" torus {torus}"))
            .collect::<String>();
        writeln!(
            out,
            "FAILED {collective} {algorithm}:{parameters} ranks {ranks} root {root} nodes {nodes}{torus}: {failure}"
        )?;
    }
    let seconds = start.elapsed().as_secs_f64();
    writeln!(
        out,
        "{} proofs, {} passed, {failed} failed, in {seconds:.1} s",
        records.len(),
        records.len() - failed
    )?;
    Ok(if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// The algorithms that are asked for, each with a setting.
fn chosen(arguments: &Arguments) -> anyhow::Result<Vec<(&'static Algorithm, String)>> {
    let mut chosen: Vec<(&'static Algorithm, String)> = Vec::new();
    match (arguments.collective, &arguments.algorithm) {
        (Some(collective), Some(text)) => {
            let (algorithm, parameters) = names::algorithm(collective, text)?;
            if text.contains(':') {
                chosen.push((algorithm, parameters.to_string()));
            } else {
                chosen.extend(
                    algorithm
                        .settings
                        .iter()
                        .map(|s| (algorithm, (*s).to_string())),
                );
            }
        }
        (collective, _) => {
            let all = algorithm::all().filter(|a| collective.is_none_or(|c| c == a.collective));
            chosen.extend(all.flat_map(|a| a.settings.iter().map(move |s| (a, (*s).to_string()))));
        }
    }
    chosen.retain(|(algorithm, _)| arguments.asks_for_it(algorithm));
    if arguments.on_several_a_node() && arguments.algorithm.is_none() {
        chosen = chosen
            .iter()
            .filter(|(_, setting)| setting.is_empty())
            .flat_map(|(algorithm, _)| torus_among_leaders(algorithm))
            .collect();
    }
    Ok(chosen)
}

fn cases(arguments: &Arguments) -> anyhow::Result<Vec<Case>> {
    let chosen = chosen(arguments)?;
    let mut cases = Vec::new();
    for ranks in arguments.numbers_of_ranks() {
        for (algorithm, parameters) in &chosen {
            // No node has so many ranks that each of them reads every window: a sample will do.
            let windows = algorithm.requires.contains(&Requirement::Window);
            if windows && ranks > 64 && !ranks.is_multiple_of(8) && arguments.algorithm.is_none() {
                continue;
            }
            for root in roots(
                algorithm,
                ranks,
                arguments.all_roots || arguments.machine.is_some(),
            ) {
                let call = Call {
                    root,
                    ..Call::new(algorithm.collective, ranks)
                };
                let shape = names::shape(algorithm, call, parameters)?;
                let printed = print_parameters(algorithm.keys, &shape.parameters);
                for shape in everywhere(algorithm, parameters, &shape, arguments) {
                    cases.push(Case {
                        algorithm,
                        parameters: printed.clone(),
                        shape,
                    });
                }
            }
        }
    }
    if cases.is_empty() {
        none::why(arguments)?;
    }
    // The largest first, so that the cores end together.
    cases.sort_by_key(|case| std::cmp::Reverse(case.shape.ranks()));
    Ok(cases)
}

fn roots(algorithm: &Algorithm, ranks: u32, all: bool) -> Vec<u32> {
    match (algorithm.collective.rooted(), all) {
        (false, _) => vec![0],
        (true, true) => (0..ranks).collect(),
        (true, false) if ranks > 64 => vec![ranks * 2 / 3],
        (true, false) if ranks > 1 => vec![0, ranks * 2 / 3],
        (true, false) => vec![0],
    }
}

/// A call everywhere where an algorithm is to be proved.
fn everywhere(
    algorithm: &Algorithm,
    setting: &str,
    shape: &Shape,
    arguments: &Arguments,
) -> Vec<Shape> {
    let mut shapes = Vec::new();
    let fabrics = match &arguments.machine {
        Some(machine) if !arguments.on_several_a_node() => machine.fabrics(),
        Some(_) | None => algorithm.fabrics(),
    };
    for nodes in nodes(algorithm, setting, &shape.call, arguments) {
        for torus in tori(algorithm, setting, &shape.call, arguments) {
            let shape = shape
                .clone()
                .on(nodes.clone())
                .on_torus(torus)
                .with(fabrics);
            shapes.extend(algorithm.admits(&shape).is_ok().then_some(shape));
        }
    }
    shapes
}

/// The tori on which to prove an algorithm: as of the nodes.
fn tori(
    algorithm: &Algorithm,
    setting: &str,
    call: &Call,
    arguments: &Arguments,
) -> Vec<Option<Torus>> {
    if let Some(torus) = arguments.place() {
        return vec![Some(torus)];
    }
    let mut all = algorithm.tori(call.ranks);
    if all.len() == 1 || call.ranks <= 16 {
        return all;
    }
    if call.ranks > 64 && !setting.is_empty() && arguments.algorithm.is_none() {
        return Vec::new();
    }
    let at = (call.ranks + call.root) as usize % all.len();
    vec![all.swap_remove(at)]
}

/// The nodes on which to prove an algorithm: all that it is registered for on up to 16 ranks, and on up to 64 where there is no
/// root; otherwise one of them, another for each root and number of ranks.
fn nodes(algorithm: &Algorithm, setting: &str, call: &Call, arguments: &Arguments) -> Vec<Nodes> {
    if let Some(nodes) = &arguments.nodes {
        return vec![nodes.clone()];
    }
    let mut all = algorithm.nodes(call.ranks);
    let few = call.ranks <= 16 || (call.ranks <= 64 && !algorithm.collective.rooted());
    if all.len() == 1 || few {
        return all;
    }
    // Beyond 64 ranks a rank a node and one node cost much and show little, and so do further settings.
    let other_setting = call.ranks > 64 && !setting.is_empty() && arguments.algorithm.is_none();
    let at = if call.ranks > 64 {
        1
    } else {
        (call.ranks + call.root) as usize % all.len()
    };
    let one = all.swap_remove(at);
    if other_setting { Vec::new() } else { vec![one] }
}

/// Proves all cases on all cores, in the order of the cases.
fn prove(cases: &[Case], quiet: bool) -> Vec<Record> {
    let next = AtomicUsize::new(0);
    let bar = if quiet || !std::io::stderr().is_terminal() {
        ProgressBar::hidden()
    } else {
        let style = ProgressStyle::with_template("{bar:40} {pos}/{len} proofs, {eta} left");
        ProgressBar::new(cases.len() as u64)
            .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
    };
    let work = || {
        let mut mine = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(case) = cases.get(at) else {
                return mine;
            };
            mine.push((at, prove_one(case)));
            bar.inc(1);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut records: Vec<(usize, Record)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .flat_map(|w| {
                w.join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect()
    });
    bar.finish_and_clear();
    records.sort_by_key(|(at, _)| *at);
    records.into_iter().map(|(_, record)| record).collect()
}

fn prove_one(case: &Case) -> Record {
    let proved = verify::verify(case.algorithm, &case.shape);
    let failure = proved.as_ref().err().map(ToString::to_string);
    let nothing = Report {
        ports: 0,
        steps: 0,
        volume: 0.0,
        work: 0.0,
        bound_steps: 0,
        bound_volume: 0.0,
    };
    let Report {
        ports,
        steps,
        volume,
        work,
        bound_steps,
        bound_volume,
    } = proved.unwrap_or(nothing);
    Record {
        collective: case.algorithm.collective.name(),
        algorithm: case.algorithm.name,
        parameters: case.parameters.clone(),
        ranks: case.shape.ranks(),
        root: case.shape.call.root,
        nodes: case.shape.nodes.to_string(),
        torus: case.shape.torus.map(|torus| torus.to_string()),
        ports,
        ok: failure.is_none(),
        steps,
        volume,
        work,
        bound_steps,
        bound_volume,
        failure,
    }
}

/// A line for each algorithm and setting: what was proved, and its cost at the largest number of ranks.
fn summary(out: &mut dyn Write, records: &[Record]) -> anyhow::Result<()> {
    let mut groups: std::collections::BTreeMap<_, Vec<&Record>> = std::collections::BTreeMap::new();
    for record in records {
        let collective = Collective::from_name(record.collective);
        groups
            .entry((collective, record.algorithm, &record.parameters))
            .or_default()
            .push(record);
    }
    let mut table = output::table(&[
        "collective",
        "algorithm",
        "parameters",
        "proofs",
        "ranks",
        "ports",
        "steps",
        "≥",
        "volume",
        "≥",
        "work",
    ]);
    for ((_, algorithm, parameters), group) in groups {
        let Some(largest) = group.iter().max_by_key(|r| r.ranks) else {
            continue;
        };
        let least = group.iter().map(|r| r.ranks).min().unwrap_or(0);
        let proofs = format!(
            "{}{}",
            group.len(),
            if group.iter().all(|r| r.ok) {
                ""
            } else {
                " FAILED"
            }
        );
        table.add_row([
            largest.collective.to_string(),
            algorithm.to_string(),
            parameters.clone(),
            proofs,
            format!("{least}..{}", largest.ranks),
            largest.ports.to_string(),
            largest.steps.to_string(),
            largest.bound_steps.to_string(),
            format!("{:.3}", largest.volume),
            format!("{:.3}", largest.bound_volume),
            format!("{:.3}", largest.work),
        ]);
    }
    writeln!(out, "{}", table.trim_fmt())?;
    writeln!(
        out,
        "(costs at the largest number of ranks, beside what none can beat; volume and work in multiples of the bytes)"
    )?;
    Ok(())
}
