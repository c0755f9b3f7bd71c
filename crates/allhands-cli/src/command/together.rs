//! Ranks that measure together: a command that starts itself as so many ranks, and hears from rank 0 what they find.

use super::bench::cell::Among;
use super::bench::rows::Ground;
use super::bench::team::Team;
use super::bench::{hosts, processes};
use crate::interrupt;
use anyhow::{Context, ensure};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{BufRead, BufReader, Write};
use std::time::Duration;

/// What ranks that share memory are if nobody says how many.
const FEW: u32 = 2;

/// Takes what was found; rank 0's alone is heard.
pub type Say<'a, T> = &'a mut dyn FnMut(T) -> anyhow::Result<()>;

/// What all ranks do: they measure on their ground, and say what they find.
pub type Measure<'a, T> = &'a mut dyn FnMut(&mut Among, &Ground, Say<'_, T>) -> anyhow::Result<()>;

/// Measures with the ranks of a team, which it starts unless this process is one of them; what was found, on rank 0 and in the process
/// that has started it, to which each finding is also shown as it comes.
///
/// # Errors
/// What is wrong with the team, or what keeps a rank from its end.
pub fn run<T: Serialize + DeserializeOwned>(
    asked: (&Team, Duration),
    measure: Measure<'_, T>,
    show: &mut dyn FnMut(&T) -> anyhow::Result<()>,
) -> anyhow::Result<Option<Vec<T>>> {
    run_for(asked, None, measure, show)
}

/// The same by ranks that are told which cells they measure ([`processes::asked_for`]), if they are started here.
///
/// # Errors
/// As [`run`].
pub fn run_for<T: Serialize + DeserializeOwned>(
    (team, budget): (&Team, Duration),
    cells: Option<String>,
    measure: Measure<'_, T>,
    show: &mut dyn FnMut(&T) -> anyhow::Result<()>,
) -> anyhow::Result<Option<Vec<T>>> {
    hosts::check(team)?;
    let network = team.transport.network();
    ensure!(
        network.is_some() || team.transport.is_processes(),
        "--transport threads: threads go as processes do that share memory; right would be --transport shm, tcp or ofi"
    );
    if processes::is_rank()? {
        return as_rank(team, measure, show);
    }
    let numbers = match (&team.ranks, network) {
        (None, None) => vec![FEW],
        _ => hosts::numbers(team)?,
    };
    ensure!(
        numbers.len() == 1 && numbers[0] > 1,
        "-n: one number of ranks, two or more"
    );
    interrupt::ask_first();
    let mut child = match cells {
        Some(cells) => processes::start_for(team, numbers[0], budget, cells)?,
        None => processes::start(team, numbers[0], budget)?,
    };
    interrupt::tell_child(Some(child.id()));
    let said = child.stdout.take().context("rank 0 says what it finds")?;
    let mut found = Vec::new();
    for line in BufReader::new(said).lines() {
        match serde_json::from_str(&line?) {
            Ok(one) => {
                show(&one)?;
                found.push(one);
            }
            // Ranks that were interrupted may have left it there.
            Err(_) if interrupt::is_asked() => break,
            Err(error) => return Err(error).context("rank 0 says what is no finding"),
        }
    }
    interrupt::tell_child(None);
    let status = child.wait()?;
    ensure!(
        status.success() || interrupt::is_asked(),
        "the ranks failed: {status}"
    );
    Ok(Some(found))
}

fn as_rank<T: Serialize>(
    team: &Team,
    measure: Measure<'_, T>,
    show: &mut dyn FnMut(&T) -> anyhow::Result<()>,
) -> anyhow::Result<Option<Vec<T>>> {
    let (mut among, ground) = processes::among(team)?;
    let (is_first, is_collected) = (among.comm.rank() == 0, processes::is_collected());
    let mut found = Vec::new();
    let mut say = |one: T| {
        if is_first && is_collected {
            let mut out = std::io::stdout().lock();
            writeln!(out, "{}", serde_json::to_string(&one)?)?;
            out.flush()?;
        } else if is_first {
            show(&one)?;
            found.push(one);
        }
        Ok(())
    };
    measure(&mut among, &ground, &mut say)?;
    Ok((is_first && !is_collected).then_some(found))
}
