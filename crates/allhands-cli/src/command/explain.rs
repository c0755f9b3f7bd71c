//! `allhands explain`: which algorithm serves a call, which rule or entry decided, and by which times.

mod network;
mod protocol;
mod why;

use crate::{names, output, sizes};
use allhands::policy::{self, NetworkTimes, T3E, predict};
use allhands_core::algorithm::print_parameters;
use allhands_core::call::{Call, Collective};
use allhands_core::choose::{self, Candidate, Explanation, Policy, Question};
use allhands_core::machine::Nodes;
use anyhow::{Context, anyhow};
use serde::Serialize;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// Say which algorithm serves a call, and which rule or measurement decided
///
/// Also why the rules and the entries of tables before it did not, and the times by which it was
/// chosen, if it was by times: what was measured, for entries of tables that say so, or what a model
/// predicts, for rules that ask one. Where times decide, one sentence has those of the chosen algorithm and of the next, and
/// which term is behind the difference: latency (rounds of messages), bytes (the most that a rank sends) or work (reductions).
///
/// Keys of --json: collective, ranks, bytes, oversubscribed, policy, algorithm, parameters, reason, why (that sentence, or null), rules (each
/// with rule, source, verdict, measured_us and predicted_us); with --protocol: bytes, exchanged, oversubscribed, protocol, row; with --network:
/// collective, ranks, nodes, bytes, network, algorithm, parameters, time_us, busy_us, cost_us, chosen.
///
/// Examples:
///   allhands explain allreduce --ranks 8 --bytes 4096 --oversubscribed yes
///   allhands explain allreduce --ranks 13 --bytes 65536 --policy mpich-2005
///   allhands explain alltoall --ranks 8 --bytes 8 --policy bruck:radix=4
///   allhands explain allgather --ranks 16 --nodes 4x4 --bytes 4096 --policy qsnet
///   allhands explain allreduce --ranks 8 --nodes 8x1 --bytes 1M --network latency_us=500,overhead_us=5,byte_ns=40
///   allhands explain --protocol
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// The collective
    #[arg(value_parser = names::collective, required_unless_present = "protocol")]
    collective: Option<Collective>,

    /// Instead: say by which protocol a message goes between two ranks of a node, and what was measured for that
    #[arg(long, conflicts_with = "collective")]
    protocol: bool,

    /// The number of ranks
    #[arg(long, short = 'n', default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    ranks: u32,

    /// Which ranks share a node: one, 4x4 (4 nodes of 4 ranks), 2x2x4 (levels, outermost first) or 3,5,2
    #[arg(long, default_value_t)]
    nodes: Nodes,

    /// Bytes, such as 8, 64K, 64KiB or 1MB (all powers of 2): a block per rank or pair for gather, scatter, allgather and alltoall, the whole vector otherwise [default: 1K]
    #[arg(long, value_parser = sizes::parse)]
    bytes: Option<u64>,

    /// The root
    #[arg(long, default_value_t = 0)]
    root: u32,

    /// Who chooses: tuned (this machine's table, made by allhands tune), shm (the built-in one), FILE.toml, mpich-2005, t3e,
    /// qsnet, elan, or an algorithm, NAME or NAME:key=value,… [default: tuned where there is such a table, otherwise shm]
    #[arg(long)]
    policy: Option<String>,

    /// What messages between nodes take, as Communicator::network_times prints it: says what every algorithm is forecast to
    /// take there, and which one a communicator takes for that [default: rules decide]
    #[arg(long, value_name = "TIMES", conflicts_with_all = ["policy", "oversubscribed"])]
    network: Option<NetworkTimes>,

    /// Whether there are more ranks than cores [default: whether this machine has fewer cores]
    #[arg(long, value_name = "yes|no", value_parser = yes_or_no)]
    oversubscribed: Option<bool>,

    /// The operator does not commute
    #[arg(long)]
    non_commutative: bool,

    /// The operator is the user's own
    #[arg(long)]
    user_operator: bool,

    /// Blocks differ in length
    #[arg(long)]
    irregular: bool,

    #[command(flatten)]
    json: output::Json,
}

impl Arguments {
    fn bytes(&self) -> u64 {
        self.bytes.unwrap_or(1 << 10)
    }
}

#[derive(Serialize)]
struct Record {
    collective: &'static str,
    ranks: u32,
    bytes: u64,
    oversubscribed: bool,
    policy: String,
    algorithm: &'static str,
    parameters: String,
    reason: String,
    /// Why not the next one, if times decided.
    why: Option<String>,
    rules: Vec<RuleRecord>,
}

#[derive(Serialize)]
struct RuleRecord {
    rule: String,
    source: String,
    verdict: String,
    /// The time that an entry of a table was measured to take.
    measured_us: Option<f64>,
    /// The times that a model predicts, of those that the rule compared.
    predicted_us: Vec<(&'static str, f64)>,
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
    let Some(collective) = arguments.collective else {
        return protocol::run(&arguments.json, arguments.bytes);
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let commutative = !arguments.non_commutative;
    let call = Call {
        root: arguments.root,
        commutative,
        ..Call::new(collective, arguments.ranks)
    };
    let nodes = &arguments.nodes;
    nodes.check(call.ranks)?;
    let question = Question {
        call,
        bytes: arguments.bytes(),
        irregular: arguments.irregular,
        user_operator: arguments.user_operator || arguments.non_commutative,
        oversubscribed: (arguments.oversubscribed).unwrap_or(arguments.ranks as usize > cores),
        apart: false,
    };
    if let Some(network) = &arguments.network {
        return network::run(&arguments.json, &question, nodes, network);
    }
    let policy = policy(arguments.policy.as_deref())?;
    let explained =
        choose::explain(&policy, &question, &predict).map_err(|error| anyhow!("{error}"))?;
    let record = record(arguments, &policy, &explained);
    if !arguments.json.is_stdout() {
        print(&mut std::io::stdout().lock(), &record)?;
    }
    arguments.json.write(&[record])?;
    Ok(ExitCode::SUCCESS)
}

fn record(arguments: &Arguments, policy: &Policy, explained: &Explanation) -> Record {
    let choice = &explained.choice;
    let rules = explained.considered.iter().map(|considered| RuleRecord {
        rule: considered.candidate.to_string(),
        source: considered.candidate.source().to_string(),
        verdict: considered.verdict.to_string(),
        measured_us: measured_us(&considered.candidate),
        predicted_us: considered.predictions.clone(),
    });
    Record {
        collective: explained.facts.call.collective.name(),
        ranks: arguments.ranks,
        bytes: arguments.bytes(),
        oversubscribed: explained.facts.oversubscribed,
        policy: policy.to_string(),
        algorithm: choice.algorithm.name,
        parameters: print_parameters(choice.algorithm.keys, &choice.shape.parameters),
        reason: choice.reason.clone(),
        why: why::of(explained, &arguments.nodes),
        rules: rules.collect(),
    }
}

/// The time of an entry of a table, if it was measured.
fn measured_us(candidate: &Candidate) -> Option<f64> {
    if let Candidate::Listed(listed) = candidate {
        return listed.entry.time_ns.map(|ns| ns as f64 / 1e3);
    }
    None
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
    let cores = if record.oversubscribed {
        "fewer cores"
    } else {
        "a core each"
    };
    writeln!(
        out,
        "{collective}, {ranks} ranks, {cores}, {bytes} bytes, policy {policy}: {algorithm}{with}"
    )?;
    // A table's path has been said.
    let short = |text: &str| match policy.contains('/') {
        true => text.replace(policy.as_str(), "the table"),
        false => text.to_string(),
    };
    writeln!(out, "because: {}", short(reason))?;
    if let Some(why) = &record.why {
        writeln!(out, "{why}")?;
    }
    if !record.rules.is_empty() {
        print_rules(out, &record.rules, &short)?;
    }
    let by_time = |r: &RuleRecord| r.measured_us.is_some() || !r.predicted_us.is_empty();
    if !record.rules.iter().any(by_time) {
        writeln!(
            out,
            "\nNo times were compared; allhands bench and allhands tune measure them on this machine."
        )?;
    }
    Ok(())
}

/// What was tried, in order; a source that several have is written once.
fn print_rules(
    out: &mut dyn Write,
    rules: &[RuleRecord],
    short: &dyn Fn(&str) -> String,
) -> anyhow::Result<()> {
    let mut table = output::table(&["rule or entry", "source", "verdict"]);
    let mut before = "";
    for rule in rules {
        let source = if rule.source == before {
            "as above".to_string()
        } else {
            short(&rule.source)
        };
        before = &rule.source;
        table.add_row([&rule.rule, &source, &rule.verdict]);
    }
    writeln!(
        out,
        "\nIn the order in which they are tried:\n{}",
        table.trim_fmt()
    )?;
    let predicted = rules.iter().flat_map(|rule| &rule.predicted_us);
    let mut predicted: Vec<&(&str, f64)> = predicted.collect();
    predicted.sort_by(|a, b| a.1.total_cmp(&b.1));
    if !predicted.is_empty() {
        let (alpha, beta, gamma) = (T3E.alpha_us, T3E.beta_us_per_byte, T3E.gamma_us_per_byte);
        writeln!(
            out,
            "\nCompared by Hockney's model with α = {alpha} µs, β = {beta} µs/B, γ = {gamma} µs/B, one port:"
        )?;
    }
    for (name, us) in predicted {
        writeln!(out, "  {name:<34}{us:>14.2} µs")?;
    }
    Ok(())
}
