//! The hosts of a benchmark: those that are named, or pretended ones, whose ranks talk by the loopback of this machine.

use super::processes;
use super::rows::Ground;
use super::team::{Team, Transport};
use crate::command::memory;
use crate::command::run::hosts::{Host, OFI, Options, TCP, places};
use allhands::net::ofi::{Endpoint, OfiError, Wishes};
use allhands_core::machine::Nodes;

/// How many ranks there are, if nothing says it.
const RANKS: u32 = 8;
/// What records say of pretended hosts.
const LOOPBACK: &str = "loopback";

/// Finds out whether the options go together.
///
/// # Errors
/// Which do not, and what would be right.
pub fn check(team: &Team) -> anyhow::Result<()> {
    let (on, transport) = (&team.on, team.transport);
    let Some(network) = transport.network() else {
        let of_hosts = (!on.hosts.is_empty()).then_some("--hosts");
        if let Some(option) = of_hosts.or(on.of_starting()).or(on.of_reaching()) {
            anyhow::bail!(
                "{option} is for ranks between which there is a network: add --transport tcp, or --transport ofi"
            );
        }
        anyhow::ensure!(
            transport == Transport::Shm || team.nodes.is_none(),
            "--nodes pretends nodes among processes: add --transport shm, tcp or ofi"
        );
        anyhow::ensure!(
            transport == Transport::Shm || !team.binding.is_asked(),
            "--bind is for processes: add --transport shm, tcp or ofi"
        );
        return Ok(());
    };
    on.check(network, "--transport")?;
    if on.hosts.is_empty() {
        if let Some(option) = on.of_starting() {
            anyhow::bail!("{option} is for hosts that are named: add --hosts, as in a,b:4");
        }
        check_library(network)?;
    } else {
        anyhow::ensure!(
            team.nodes.is_none(),
            "--nodes pretends nodes on one machine; with --hosts there are some"
        );
    }
    for ranks in numbers(team)? {
        let hosts = of(team, ranks)?;
        if let [(host, _)] = &hosts[..] {
            let here = match on.hosts.is_empty() {
                true => "there is one host alone".to_string(),
                false => format!("all ranks are on host {host} and share memory"),
            };
            anyhow::bail!(
                "{here}, so nothing goes over {network}: right would be two hosts or more, or --transport shm"
            );
        }
    }
    Ok(())
}

/// Libfabric must be here, where all ranks are; others say it of their own hosts.
fn check_library(network: &str) -> anyhow::Result<()> {
    if network != OFI {
        return Ok(());
    }
    match Endpoint::open(&Wishes::default()) {
        Err(error @ OfiError::Missing { .. }) => {
            anyhow::bail!("--transport ofi: {error}")
        }
        // What a provider lacks depends on which is asked for: ranks say it.
        _ => Ok(()),
    }
}

/// The numbers of ranks: those that were asked for, or as many as there are places.
pub fn numbers(team: &Team) -> anyhow::Result<Vec<u32>> {
    let on_hosts = || -> anyhow::Result<u32> {
        let places = places(&team.on.hosts, None)?;
        Ok(places.iter().map(|(_, ranks)| ranks.len() as u32).sum())
    };
    Ok(match (&team.ranks, team.nodes) {
        (Some(ranks), _) => ranks.0.clone(),
        (None, _) if !team.on.hosts.is_empty() => vec![on_hosts()?],
        (None, Some(nodes)) => vec![u32::try_from(nodes.ranks())?],
        (None, None) => vec![RANKS],
    })
}

/// The hosts and their ranks, when there are so many.
fn of(team: &Team, ranks: u32) -> anyhow::Result<Vec<(String, Vec<u32>)>> {
    if !team.on.hosts.is_empty() {
        return places(&team.on.hosts, Some(ranks));
    }
    let each = team.nodes.map_or(1, |nodes| nodes.ranks_each);
    if let Some(nodes) = team.nodes {
        anyhow::ensure!(
            nodes.ranks() == u64::from(ranks),
            "--nodes {nodes} are {} ranks, not the {ranks} of -n",
            nodes.ranks()
        );
    }
    let pretended = (0..ranks / each).map(|host| Host {
        name: format!("{LOOPBACK}-{host}"),
        ranks: Some(each),
    });
    places(&pretended.collect::<Vec<_>>(), Some(ranks))
}

/// The words that start so many ranks on them, as those of `allhands run`.
pub fn words(team: &Team, network: &str, ranks: u32) -> anyhow::Result<Vec<String>> {
    let mut on = team.on.clone();
    let mut bind = team.binding.bind.to_string();
    if is_pretended(team) {
        let host = |(name, ranks): (String, Vec<u32>)| Host {
            name,
            ranks: Some(ranks.len() as u32),
        };
        on.hosts = of(team, ranks)?.into_iter().map(host).collect();
        // `env` does no more than to start what stands behind it.
        let text = |text: &str| Some(text.to_string());
        (on.launcher, on.rendezvous) = (text("env"), text("127.0.0.1"));
        if !team.binding.is_asked() {
            // Each host would share out the same cpus anew.
            bind = "none".into();
        }
    }
    let mut words = on.words();
    words.extend([format!("--network={network}"), format!("--bind={bind}")]);
    words.extend(["-n".into(), ranks.to_string()]);
    Ok(words)
}

/// The program that ranks are, by its name on the hosts.
pub fn program(on: &Options) -> anyhow::Result<std::ffi::OsString> {
    match &on.agent {
        Some(program) => Ok(program.into()),
        None => Ok(std::env::current_exe()?.into_os_string()),
    }
}

/// Whether the hosts are pretended, on this machine: none are named, and no other launcher has started this process as a rank.
pub fn is_pretended(team: &Team) -> bool {
    team.on.hosts.is_empty() && !processes::is_of_others()
}

/// The ground of so many ranks on them, as far as it is known before they have met.
pub fn ground(team: &Team, network: &str, ranks: u32) -> anyhow::Result<Ground> {
    let mut sizes: Vec<(u32, u32)> = of(team, ranks)?
        .iter()
        .flat_map(|(_, ranks)| runs(ranks))
        .collect();
    sizes.sort_unstable();
    let sizes: Vec<u32> = sizes.into_iter().map(|(_, ranks)| ranks).collect();
    let nodes = Nodes::of_sizes(&sizes);
    Ok(ground_of(team, network, (&nodes, ranks), memory::most()))
}

/// The ground of ranks that know which of them share memory, and of how much.
pub fn ground_of(
    team: &Team,
    network: &str,
    (nodes, ranks): (&Nodes, u32),
    most_bytes: usize,
) -> Ground {
    let largest = nodes.innermost(ranks).into_iter().max();
    Ground {
        apart: Some(nodes.clone()),
        puts: network == TCP,
        on_one: match is_pretended(team) {
            true => ranks,
            false => largest.unwrap_or(ranks),
        },
        most_bytes,
    }
}

/// Runs of ranks that follow one another: where each begins, and how many it has.
fn runs(ranks: &[u32]) -> Vec<(u32, u32)> {
    let runs = ranks.chunk_by(|before, after| before + 1 == *after);
    runs.map(|run| (run[0], run.len() as u32)).collect()
}

/// The hosts of so many ranks as records name them.
pub fn named(team: &Team, ranks: u32) -> anyhow::Result<String> {
    if is_pretended(team) {
        return Ok(LOOPBACK.into());
    }
    let hosts = of(team, ranks)?;
    let host = |(name, ranks): &(String, Vec<u32>)| {
        let ranks = Some(ranks.len() as u32);
        let name = name.clone();
        Host { name, ranks }.to_string()
    };
    Ok(hosts.iter().map(host).collect::<Vec<_>>().join(","))
}

/// What stands above the table.
pub fn kind(team: &Team, network: &str) -> String {
    let list = |hosts: &[Host]| {
        let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
        hosts.join(",")
    };
    if !team.on.hosts.is_empty() {
        let hosts = list(&team.on.hosts);
        return format!("processes over {network} on hosts {hosts}");
    }
    if !is_pretended(team) {
        return format!("processes over {network}");
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let each = match team.nodes {
        None => "each as if on a host of its own".to_string(),
        Some(nodes) => format!(
            "as if on {} hosts of {} each",
            nodes.count, nodes.ranks_each
        ),
    };
    format!("processes over {network} by the loopback of this machine, {each}, on {cores} cores")
}

/// A part of the names of plots.
pub fn tag(team: &Team, network: &str) -> String {
    match team.on.hosts.len() {
        0 if is_pretended(team) => format!("{network}-{LOOPBACK}"),
        0 => network.to_string(),
        // All their names would be too long for that of a file.
        hosts => format!("{network}-{hosts}-hosts"),
    }
}
