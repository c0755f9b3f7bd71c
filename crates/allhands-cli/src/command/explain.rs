//! `allhands explain`: which algorithm serves a call, which rule or entry decided, and what the others would cost.

use crate::{names, output};
use allhands::policy::{self, T3E, predict};
use allhands_core::algorithm::{self, print_parameters};
use allhands_core::call::{Call, Collective};
use allhands_core::choose::{self, Explanation, Policy, Question};
use allhands_core::machine::Nodes;
use anyhow::{Context, anyhow};
use serde::Serialize;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// Say which algorithm serves a call, and which rule or measurement decided
///
/// Also why the rules and the entries of tables before it did not, and the predicted times of all
/// algorithms that serve the call, in Hockney's model.
///
/// Examples:
///   allhands explain allreduce --ranks 8 --bytes 4096 --crowded yes
///   allhands explain allreduce --ranks 13 --bytes 65536 --policy mpich-2005
///   allhands explain alltoall --ranks 8 --bytes 8 --policy bruck:radix=4
///   allhands explain allgather --ranks 16 --nodes 4x4 --bytes 4096 --policy qsnet
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// The collective
    #[arg(value_parser = names::collective)]
    collective: Collective,

    /// The number of ranks
    #[arg(long, short = 'n', default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=4096))]
    ranks: u32,

    /// Which ranks share a node: one, 4x4 (4 nodes of 4 ranks), 2x2x4 (levels, outermost first) or 3,5,2
    #[arg(long, default_value_t)]
    nodes: Nodes,

    /// Bytes: a block per rank or pair for gather, scatter, allgather and alltoall, the whole vector otherwise
    #[arg(long, default_value_t = 1024)]
    bytes: u64,

    /// The root
    #[arg(long, default_value_t = 0)]
    root: u32,

    /// Who chooses: tuned (this machine's table, made by allhands tune), shm (the built-in one), FILE.toml, mpich-2005, t3e,
    /// qsnet, elan, or an algorithm, NAME or NAME:key=value,… [default: tuned where there is such a table, otherwise shm]
    #[arg(long)]
    policy: Option<String>,

    /// Whether there are more ranks than cores [default: whether this machine has fewer cores]
    #[arg(long, value_name = "yes|no", value_parser = yes_or_no)]
    crowded: Option<bool>,

    /// The operator does not commute
    #[arg(long)]
    non_commutative: bool,

    /// The operator is the user's own
    #[arg(long)]
    user_operator: bool,

    /// Blocks differ in length
    #[arg(long)]
    irregular: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Record {
    collective: &'static str,
    ranks: u32,
    bytes: u64,
    crowded: bool,
    policy: String,
    algorithm: &'static str,
    parameters: String,
    reason: String,
    rules: Vec<RuleRecord>,
    predicted_us: Vec<(String, f64)>,
}

#[derive(Serialize)]
struct RuleRecord {
    rule: String,
    source: String,
    verdict: String,
}

fn yes_or_no(text: &str) -> Result<bool, String> {
    match text {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err(format!("'{text}' is neither yes nor no")),
    }
}

/// The policy that the user names, or the one that communicators have at first.
fn policy(name: Option<&str>) -> anyhow::Result<Policy> {
    match name {
        None => Ok(policy::installed()?),
        Some("tuned") => {
            let file = policy::file().filter(|file| file.exists());
            let missing = "there is no table of this machine yet; allhands tune makes one";
            file.context(missing)?;
            Ok(policy::installed()?)
        }
        Some(name) if name.ends_with(".toml") => {
            let table = policy::read(Path::new(name))?;
            Ok(Policy::Tuned(Arc::new(table)))
        }
        Some(name) => Ok(Policy::parse(name)),
    }
}

/// Explains.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let policy = policy(arguments.policy.as_deref())?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let commutative = !arguments.non_commutative;
    let call = Call {
        root: arguments.root,
        commutative,
        ..Call::new(arguments.collective, arguments.ranks)
    };
    let nodes = &arguments.nodes;
    nodes.check(call.ranks)?;
    let question = Question {
        call,
        bytes: arguments.bytes,
        irregular: arguments.irregular,
        user_operator: arguments.user_operator || arguments.non_commutative,
        crowded: (arguments.crowded).unwrap_or(arguments.ranks as usize > cores),
    };
    let explained =
        choose::explain(&policy, &question, &predict).map_err(|error| anyhow!("{error}"))?;
    let record = record(arguments, &policy, &explained);
    if arguments.json {
        output::write_json(std::path::Path::new("-"), &[record])?;
    } else {
        print(&mut std::io::stdout().lock(), &record)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn record(arguments: &Arguments, policy: &Policy, explained: &Explanation) -> Record {
    let choice = &explained.choice;
    let rules = explained.considered.iter().map(|considered| RuleRecord {
        rule: considered.candidate.to_string(),
        source: considered.candidate.source().to_string(),
        verdict: considered.verdict.to_string(),
    });
    Record {
        collective: arguments.collective.name(),
        ranks: arguments.ranks,
        bytes: arguments.bytes,
        crowded: explained.facts.crowded,
        policy: policy.to_string(),
        algorithm: choice.algorithm.name,
        parameters: print_parameters(choice.algorithm.keys, &choice.shape.parameters),
        reason: choice.reason.clone(),
        rules: rules.collect(),
        predicted_us: predictions(
            &choice.shape.call,
            &arguments.nodes,
            explained.facts.total_bytes(),
        ),
    }
}

/// The predicted times of all algorithms that serve the call, the fastest first.
fn predictions(call: &Call, nodes: &Nodes, bytes: u64) -> Vec<(String, f64)> {
    // A walk prices every message; beyond this it would take longer than a person waits.
    if call.ranks > 256 {
        return Vec::new();
    }
    let mut all: Vec<(String, f64)> = algorithm::of(call.collective)
        .filter_map(|a| {
            let shape = a.shape(*call, "").ok()?.on(nodes.clone());
            a.admits(&shape).ok()?;
            Some((a.name.to_string(), predict(a, &shape, bytes)))
        })
        .filter(|(_, us)| us.is_finite())
        .collect();
    all.sort_by(|a, b| a.1.total_cmp(&b.1));
    all
}

fn print(out: &mut dyn Write, record: &Record) -> anyhow::Result<()> {
    let Record {
        collective,
        ranks,
        bytes,
        policy,
        algorithm,
        parameters,
        reason,
        ..
    } = record;
    let with = if parameters.is_empty() {
        String::new()
    } else {
        format!(":{parameters}")
    };
    let cores = if record.crowded {
        "fewer cores"
    } else {
        "a core each"
    };
    writeln!(
        out,
        "{collective}, {ranks} ranks, {cores}, {bytes} bytes, policy {policy}: {algorithm}{with}"
    )?;
    writeln!(out, "because: {reason}")?;
    if !record.rules.is_empty() {
        let mut table = output::table(&["rule or entry", "source", "verdict"]);
        for rule in &record.rules {
            table.add_row([&rule.rule, &rule.source, &rule.verdict]);
        }
        writeln!(
            out,
            "\nIn the order in which they are tried:\n{}",
            table.trim_fmt()
        )?;
    }
    if !record.predicted_us.is_empty() {
        let (alpha, beta, gamma) = (T3E.alpha_us, T3E.beta_us_per_byte, T3E.gamma_us_per_byte);
        writeln!(
            out,
            "\nPredicted by Hockney's model with α = {alpha} µs, β = {beta} µs/B, γ = {gamma} µs/B, one port:"
        )?;
        for (name, us) in &record.predicted_us {
            writeln!(out, "  {name:<34}{us:>14.2} µs")?;
        }
    }
    Ok(())
}
