//! The machine's file that calibration writes.

use super::measure::Findings;
use crate::command::simulate::machine::cluster::ClusterFile;
use serde::Serialize;

/// As a machine's file has it.
#[derive(Serialize)]
struct File {
    name: String,
    about: String,
    network: Tagged,
    processor: Processor,
}

#[derive(Serialize)]
struct Tagged {
    kind: &'static str,
    #[serde(flatten)]
    cluster: ClusterFile,
}

#[derive(Serialize)]
struct Processor {
    copy_byte_ns: f64,
    reduce_us: f64,
    reduce_byte_ns: f64,
}

/// The text of the file.
///
/// # Errors
/// What cannot be written as TOML.
pub fn text(findings: &Findings, what: &str, ranks: u32) -> anyhow::Result<String> {
    let file = File {
        name: "calibrated".into(),
        about: format!("{what}, measured by allhands {}", env!("CARGO_PKG_VERSION")),
        network: Tagged {
            kind: "cluster",
            cluster: ClusterFile {
                call_us: findings.call_us,
                inside: findings.inside.clone(),
                between: findings.between.clone(),
                alone: Some(findings.alone.clone()),
            },
        },
        processor: Processor {
            copy_byte_ns: findings.copy_byte_ns,
            reduce_us: findings.reduce_us,
            reduce_byte_ns: findings.reduce_byte_ns,
        },
    };
    let levels = [("inside", &findings.inside), ("between", &findings.between)];
    let mut jumps = String::new();
    for (name, level) in levels {
        let found = level.as_ref().map_or(Vec::new(), super::intervals::jumps);
        if !found.is_empty() {
            let place = format!("# Protocols change, {name} nodes: {}.\n", found.join("; "));
            jumps.push_str(&place);
        }
    }
    let cut = findings.cut.map_or(String::new(), |(bytes, seconds)| {
        format!("# Messages of more than {bytes} bytes were not measured: --time {seconds:.0} would have done.\n")
    });
    let mut uncertain = findings.uncertain.clone();
    uncertain.sort_by(f64::total_cmp);
    let at = |part: f64| {
        let last = uncertain.len().saturating_sub(1) as f64;
        uncertain
            .get((part * last) as usize)
            .copied()
            .unwrap_or(0.0)
            * 100.0
    };
    Ok(format!(
        "# Measured among {ranks} ranks by `allhands calibrate`; docs/machines.md says what the tables are. Half of the medians are\n\
         # certain to {:.1} %, nine of ten to {:.1} % (intervals that hold in 95 of 100 cases).\n{jumps}{cut}{}",
        at(0.5),
        at(0.9),
        toml::to_string(&file)?
    ))
}
