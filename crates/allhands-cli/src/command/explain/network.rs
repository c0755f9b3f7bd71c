//! `allhands explain --network`: what every algorithm is forecast to take between nodes, and which one is taken for that.

use super::why;
use crate::{output, sizes};
use allhands::policy::{Compared, NetworkTimes, compare_between_nodes};
use allhands_core::choose::Question;
use allhands_core::machine::Nodes;
use anyhow::ensure;
use serde::Serialize;
use std::io::Write;
use std::process::ExitCode;

#[derive(Serialize)]
struct Record {
    collective: &'static str,
    ranks: u32,
    nodes: String,
    bytes: u64,
    network: String,
    algorithm: &'static str,
    parameters: String,
    /// How long the call takes.
    time_us: f64,
    /// How long it keeps the processor of a rank busy, on the average.
    busy_us: f64,
    /// What is compared.
    cost_us: f64,
    /// Whether it is taken.
    chosen: bool,
}

/// Prints what is compared for a call, the cheapest first.
pub fn run(
    json: &output::Json,
    question: &Question,
    nodes: &Nodes,
    network: &NetworkTimes,
) -> anyhow::Result<ExitCode> {
    let compared = compare_between_nodes(question, nodes, network);
    ensure!(
        !compared.is_empty(),
        "forecasts are made where all ranks know the lengths; rules decide elsewhere: leave --network out to see them"
    );
    let call = &question.call;
    let records = compared.into_iter().map(|compared| {
        let Compared {
            algorithm,
            parameters,
            time_ns,
            busy_ns,
            cost_ns,
            chosen,
        } = compared;
        Record {
            collective: call.collective.name(),
            ranks: call.ranks,
            nodes: nodes.to_string(),
            bytes: question.bytes,
            network: network.to_string(),
            algorithm,
            parameters,
            time_us: time_ns * 1e-3,
            busy_us: busy_ns * 1e-3,
            cost_us: cost_ns * 1e-3,
            chosen,
        }
    });
    let records: Vec<Record> = records.collect();
    if !json.is_stdout() {
        let why = why(question, nodes, network, &records);
        print(&mut std::io::stdout().lock(), &records, why)?;
    }
    json.write(&records)?;
    Ok(ExitCode::SUCCESS)
}

fn name(record: &Record) -> String {
    match record.parameters.as_str() {
        "" => record.algorithm.to_string(),
        parameters => format!("{}:{parameters}", record.algorithm),
    }
}

/// Why the chosen one, and not the next that is not another setting of it.
fn why(
    question: &Question,
    nodes: &Nodes,
    network: &NetworkTimes,
    records: &[Record],
) -> Option<String> {
    let chosen = records.iter().find(|record| record.chosen)?;
    let next = records
        .iter()
        .find(|record| record.algorithm != chosen.algorithm)?;
    let (ours, its) = (name(chosen), name(next));
    let both = [(ours.as_str(), chosen.cost_us), (&its, next.cost_us)];
    Some(why::between_nodes(
        (question.call, nodes),
        question.bytes,
        network,
        both,
    ))
}

fn print(out: &mut dyn Write, records: &[Record], why: Option<String>) -> anyhow::Result<()> {
    let chosen = records.iter().find(|record| record.chosen);
    let Some(chosen) = chosen else {
        anyhow::bail!("nothing was chosen");
    };
    let Record {
        collective,
        ranks,
        nodes,
        network,
        ..
    } = chosen;
    let bytes = sizes::say(chosen.bytes as usize);
    writeln!(
        out,
        "{collective}, {ranks} ranks on nodes {nodes}, {bytes} bytes: {}\nbecause: it is forecast to cost the least over a network with {network},\nor hardly more and has a window that is wide enough for late peers",
        name(chosen)
    )?;
    if let Some(why) = why {
        writeln!(out, "{why}")?;
    }
    writeln!(out)?;
    let mut table = output::table(&["algorithm", "time, µs", "busy, µs", "cost, µs", ""]);
    for record in records {
        let mark = if record.chosen { "chosen" } else { "" };
        let [time, busy, cost] =
            [record.time_us, record.busy_us, record.cost_us].map(|us| format!("{us:.1}"));
        table.add_row([name(record), time, busy, cost, mark.to_string()]);
    }
    writeln!(out, "{}", table.trim_fmt())?;
    writeln!(
        out,
        "\nBy simulation with LogGP's times; messages wait for processors that hosts\nshare. Busy is how long a rank's processor is, on the average, while all are; an eighth of it counts besides."
    )?;
    Ok(())
}
