//! A file of schedules in their text form, proved as it stands.

use super::Arguments;
use allhands_core::algorithm::Claims;
use allhands_core::call::Call;
use allhands_core::schedule::text::{Document, Lines, parse_with_lines};
use allhands_core::symbolic::{Failure, Outcome};
use allhands_core::verify::{check_claims, lowered, verify_world};
use anyhow::{Context, bail};
use serde::Serialize;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

#[derive(Serialize)]
struct Record {
    file: String,
    collective: &'static str,
    ranks: u32,
    root: u32,
    ok: bool,
    ports: u32,
    steps: u32,
    volume_blocks: u64,
    work_blocks: u64,
    messages: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
}

/// Proves what the file says; exit status 1 if a law is broken.
pub fn run(path: &Path, arguments: &Arguments) -> anyhow::Result<ExitCode> {
    refuse_others(arguments)?;
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
    let (document, lines) = parse_with_lines(&text).with_context(|| name.clone())?;
    let claims = claims(&document, &text).with_context(|| name.clone())?;
    let proved = prove(&document, claims.as_ref());
    let Call {
        collective,
        ranks,
        root,
        ..
    } = document.call;
    let counted = proved.clone().unwrap_or_default();
    let failure = proved.as_ref().err().map(|failure| told(failure, &lines));
    let record = Record {
        file: name.clone(),
        collective: collective.name(),
        ranks,
        root,
        ok: failure.is_none(),
        ports: counted.ports,
        steps: counted.steps,
        volume_blocks: counted.volume,
        work_blocks: counted.work,
        messages: counted.messages,
        failure: failure.clone(),
    };
    arguments.json.write(&[record])?;
    let mut out = arguments.json.beside();
    if let Some(failure) = failure {
        writeln!(out, "FAILED {name}: {failure}")?;
        return Ok(ExitCode::FAILURE);
    }
    if !arguments.quiet {
        let Outcome {
            ports,
            steps,
            volume,
            work,
            messages,
        } = counted;
        let as_claimed = claims.map_or("claims nothing", |_| "as claimed");
        writeln!(
            out,
            "{collective} among {ranks} ranks: ports {ports}, steps {steps}, volume {volume} blocks, work {work} blocks ({as_claimed}); {messages} messages"
        )?;
    }
    let real = match ranks <= lowered::MOST_RANKS {
        true => "and the lowered form is right",
        false => "the lowered form is not run (it is up to 64 ranks)",
    };
    writeln!(out, "{name}: laws 1 to 5 hold, {real}")?;
    Ok(ExitCode::SUCCESS)
}

/// Options that choose among registered algorithms say nothing of a file.
fn refuse_others(arguments: &Arguments) -> anyhow::Result<()> {
    let given = [
        ("--algorithm", arguments.algorithm.is_some()),
        ("--ranks", arguments.ranks.is_some()),
        ("--nodes", arguments.nodes.is_some()),
        ("--torus", arguments.torus.is_some()),
        ("--machine", arguments.machine.is_some()),
        ("--all-roots", arguments.all_roots),
    ];
    match given.into_iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((option, _)) => bail!(
            "{option} is for registered algorithms: a file of schedules says itself for which call, ranks and root it is"
        ),
    }
}

/// Laws 1 to 5, the claims, and the lowered form.
fn prove(document: &Document, claims: Option<&Claims>) -> Result<Outcome, Failure> {
    let Document {
        call, schedules, ..
    } = document;
    let windows = |s: &allhands_core::schedule::Schedule| s.flags > 0 || !s.window.is_empty();
    let counted = verify_world(call, schedules, schedules.iter().any(windows))?;
    if let Some(claims) = claims {
        check_claims(claims, &counted)?;
    }
    lowered::check(call, schedules)?;
    Ok(counted)
}

/// A failure, with the lines of its rank and of the operations that it names.
fn told(failure: &Failure, lines: &Lines) -> String {
    let mut places = Vec::new();
    if let Some(line) = lines.rank(failure.rank) {
        places.push(format!("rank {} begins in line {line}", failure.rank));
    }
    let words: Vec<&str> = failure.what.split([' ', ':', ',']).collect();
    for two in words.windows(2).filter(|two| two[0] == "op") {
        let line = two[1]
            .parse()
            .ok()
            .and_then(|op| lines.op(failure.rank, op));
        places.extend(line.map(|line| format!("op {} is in line {line}", two[1])));
    }
    match places.is_empty() {
        true => failure.to_string(),
        false => format!("{failure} ({})", places.join(", ")),
    }
}

/// The claims of the header: `claims ports=1 steps=3 volume=3 work=0`, volume and work in blocks.
fn claims(document: &Document, text: &str) -> anyhow::Result<Option<Claims>> {
    let Some(words) = document.directive("claims").next() else {
        return Ok(None);
    };
    const RIGHT: &str = "right would be such as 'claims ports=1 steps=3 volume=3 work=0', volume and work in blocks";
    let at = text
        .lines()
        .position(|line| line.trim_start().starts_with("claims"));
    let line = at.unwrap_or(0) + 1;
    let mut numbers = [None; 4];
    for word in words {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        let place = ["ports", "steps", "volume", "work"]
            .iter()
            .position(|k| *k == key);
        let number = value.parse::<u32>().ok();
        match (place, number) {
            (Some(place), Some(number)) => numbers[place] = Some(number),
            _ => bail!("line {line}: '{word}' is no claim; {RIGHT}"),
        }
    }
    let [Some(ports), Some(steps), Some(volume), Some(work)] = numbers else {
        bail!("line {line}: the claims lack one of ports, steps, volume and work; {RIGHT}");
    };
    Ok(Some(Claims {
        ports,
        steps,
        volume: volume.into(),
        work: work.into(),
    }))
}
