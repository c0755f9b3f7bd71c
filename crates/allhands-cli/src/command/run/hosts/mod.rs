//! Ranks on several hosts: an agent on each of them, started by a launcher such as ssh.

pub mod agent;
mod fleet;
mod list;
mod options;
pub(super) mod record;
mod template;

use super::Arguments;
use allhands::launch::NETWORK;
use anyhow::Context;
use fleet::{Agent, Fleet};
pub use list::{Host, places};
pub use options::{OFI, Options, TCP};
use rustix::rand::{GetRandomFlags, getrandom};
use std::time::{Duration, Instant};

/// Variables of ours that hosts are told of, besides those that `--env` names.
const HANDED_ON: &str = "ALLHANDS_";
/// Those that are each rank's own, or the agents'.
const OWN: [&str; 9] = [
    "ALLHANDS_RANK",
    "ALLHANDS_RANKS",
    "ALLHANDS_SIZE",
    "ALLHANDS_SEGMENT",
    "ALLHANDS_CPUS",
    "ALLHANDS_NODES",
    "ALLHANDS_RENDEZVOUS",
    "ALLHANDS_SECRET",
    "ALLHANDS_HOST",
];

/// Runs the ranks on their hosts; the exit code.
pub fn run(arguments: &Arguments) -> anyhow::Result<u8> {
    anyhow::ensure!(
        arguments.nodes.is_none(),
        "--nodes pretends nodes on one machine; with --hosts there are some"
    );
    let on = &arguments.on;
    // Who says nothing here may have said it in the environment, which is handed on.
    let network = arguments.network.clone();
    let network = network.or_else(|| std::env::var(NETWORK).ok());
    on.check(network.as_deref().unwrap_or(TCP), "--network")?;
    let places = list::places(&on.hosts, arguments.ranks)?;
    let all = places.iter().map(|(_, ranks)| ranks.len() as u32).sum();
    let program = match &on.agent {
        Some(program) => program.clone(),
        None => text(std::env::current_exe()?.into_os_string())?,
    };
    let words = arguments.program.iter().cloned().map(text);
    let words: Vec<String> = words.collect::<anyhow::Result<_>>()?;
    let directory = text(std::env::current_dir()?.into_os_string())?;
    let (mut environment, secret) = (environment(&on.env)?, secret()?);
    environment.extend(on.variables(arguments.network.as_deref()));
    let agent = |(host, ranks): &(String, Vec<u32>)| {
        let command = [program.as_str(), "agent"];
        let words_of_launcher = template::fill(on.launcher(), host, &command);
        Ok(Agent {
            words: words_of_launcher.map_err(anyhow::Error::msg)?,
            host: host.clone(),
            task: record::Task {
                host: host.clone(),
                ranks: ranks.clone(),
                all,
                program: words.clone(),
                directory: directory.clone(),
                environment: environment.clone(),
                secret: secret.clone(),
                prefix: arguments.prefix,
                keep_going: arguments.keep_going,
                bind: arguments.binding.bind.to_string(),
            },
        })
    };
    let agents: Vec<Agent> = places.iter().map(agent).collect::<anyhow::Result<_>>()?;
    let mut fleet = Fleet::new(&agents, place(on, &places[0].0)?);
    fleet.keep_going = arguments.keep_going;
    fleet.until = arguments
        .timeout
        .map(|s| (Instant::now() + Duration::from_secs_f64(s), s));
    fleet.run()
}

/// Where rank 0 is reached: as `--rendezvous` says, or by the name of its host.
fn place(on: &Options, first: &str) -> anyhow::Result<(String, Option<u16>)> {
    let Some(said) = &on.rendezvous else {
        let bare = first.rsplit_once('@').map_or(first, |(_, host)| host);
        return Ok((bare.to_string(), None));
    };
    let (host, port) = match said.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, Some(port)),
        _ => (said.as_str(), None),
    };
    let port = port.map(|port| port.parse().ok().filter(|port: &u16| *port > 0));
    let port = match port {
        Some(None) => anyhow::bail!("--rendezvous {said}: right would be HOST or HOST:PORT"),
        Some(port) => port,
        None => None,
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    Ok((host.to_string(), port))
}

fn text(word: std::ffi::OsString) -> anyhow::Result<String> {
    let text = word.into_string();
    text.map_err(|word| {
        anyhow::anyhow!(
            "{} cannot be handed to a host: it is no UTF-8",
            word.display()
        )
    })
}

/// What the ranks have in their environment besides what their hosts have.
fn environment(named: &[String]) -> anyhow::Result<Vec<(String, String)>> {
    let ours = std::env::vars_os().filter_map(|(name, value)| {
        let (name, value) = (name.into_string().ok()?, value.into_string().ok()?);
        (name.starts_with(HANDED_ON) && !OWN.contains(&name.as_str())).then_some((name, value))
    });
    let mut all: Vec<(String, String)> = ours.collect();
    for named in named {
        let (name, value) = match named.split_once('=') {
            Some((name, value)) => (name.to_string(), value.to_string()),
            None => {
                let value = std::env::var(named);
                let value = value.with_context(|| format!("--env {named}: it is not set here"))?;
                (named.clone(), value)
            }
        };
        anyhow::ensure!(
            !name.is_empty(),
            "--env {named}: right would be NAME or NAME=VALUE"
        );
        all.push((name, value));
    }
    Ok(all)
}

/// A secret that was drawn for this run.
fn secret() -> anyhow::Result<String> {
    let mut bytes = [0_u8; 32];
    let drawn = getrandom(&mut bytes[..], GetRandomFlags::empty())?;
    anyhow::ensure!(drawn == bytes.len(), "the system gives no random numbers");
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
