//! `allhands list`: every algorithm with its source, requirements and parameters.

use crate::{names, output};
use allhands_core::algorithm::{self, Algorithm};
use allhands_core::call::Collective;
use serde::Serialize;
use std::io::Write;
use std::process::ExitCode;

/// List every algorithm: its name, source, requirements and parameters
///
/// T, Q, C and B are the papers that PAPERS.md names; after a source stands its section.
/// A parameter is shown with its range and default; give it as NAME:key=value.
///
/// Keys of --json: collective, name, citation, requires, summary, parameters, settings.
///
/// Examples:
///   allhands list allreduce
///   allhands list --json
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// Only the algorithms of this collective
    #[arg(value_parser = names::collective)]
    collective: Option<Collective>,

    #[command(flatten)]
    json: output::Json,
}

#[derive(Serialize)]
struct Record {
    collective: &'static str,
    name: &'static str,
    citation: &'static str,
    requires: Vec<&'static str>,
    summary: &'static str,
    parameters: Vec<Parameter>,
    settings: &'static [&'static str],
}

#[derive(Serialize)]
struct Parameter {
    key: &'static str,
    values: String,
    default: String,
    about: &'static str,
}

/// Prints the list.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let chosen: Vec<&Algorithm> = algorithm::all()
        .filter(|a| arguments.collective.is_none_or(|c| c == a.collective))
        .collect();
    let records: Vec<Record> = chosen.iter().map(|a| record(a)).collect();
    arguments.json.write(&records)?;
    if arguments.json.is_stdout() {
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = std::io::stdout().lock();
    let mut table = output::table(&[
        "collective",
        "algorithm",
        "source",
        "requires",
        "parameters",
    ]);
    for algorithm in &chosen {
        let record = record(algorithm);
        let parameters: Vec<String> = record
            .parameters
            .iter()
            .map(|p| format!("{}={} [{}]", p.key, p.default, p.values))
            .collect();
        table.add_row([
            record.collective,
            record.name,
            record.citation,
            &record.requires.join(", "),
            &parameters.join(" "),
        ]);
    }
    writeln!(out, "{}", table.trim_fmt())?;
    writeln!(
        out,
        "\n{} algorithms; parameters are printed as key=default [range]",
        chosen.len()
    )?;
    Ok(ExitCode::SUCCESS)
}

fn record(algorithm: &Algorithm) -> Record {
    let shape = algorithm.shape(allhands_core::call::Call::new(algorithm.collective, 8), "");
    let mut requires: Vec<&str> = algorithm.requires.iter().map(|r| r.name()).collect();
    if algorithm.collective.reduces() && shape.is_ok_and(|shape| !(algorithm.ordered)(&shape)) {
        requires.push("commutative");
    }
    let parameters = algorithm.keys.iter().map(|key| Parameter {
        key: key.name,
        values: key.values.to_string(),
        default: match key.values {
            algorithm::Values::Range { .. } | algorithm::Values::ZeroOr { .. } => {
                key.default.to_string()
            }
            algorithm::Values::Names(names) => names[key.default as usize].to_string(),
        },
        about: key.about,
    });
    Record {
        collective: algorithm.collective.name(),
        name: algorithm.name,
        citation: algorithm.citation,
        requires,
        summary: algorithm.summary,
        parameters: parameters.collect(),
        settings: algorithm.settings,
    }
}
