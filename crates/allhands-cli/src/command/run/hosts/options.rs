//! The options of hosts: where ranks run, how they are started there, and by what they reach one another.

use super::list::Host;
use allhands::launch::{CONNECT, NETWORK, OFI_PROVIDER, RAILS, TLS};

/// How a command is started on a host, if nothing else is said.
const LAUNCHER: &str = "ssh {host}";

/// The networks between hosts, by the names that the user types.
pub const TCP: &str = "tcp";
pub const OFI: &str = "ofi";

/// What every command takes that has ranks on hosts.
#[derive(clap::Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Run on these hosts, the first of which has rank 0: a,b:4 is one rank on a and four on b
    #[arg(long, value_name = "HOST[:RANKS],…", value_delimiter = ',')]
    pub hosts: Vec<Host>,

    /// How a command is started on a host without asking; it stands at the end, or in place of {command} as one word [default: ssh {host}]
    #[arg(long, value_name = "COMMAND")]
    pub launcher: Option<String>,

    /// Where rank 0 is reached while ranks find one another, if not by its host's name and a port that is free
    #[arg(long, value_name = "HOST[:PORT]")]
    pub rendezvous: Option<String>,

    /// This program's name on the hosts, if not the same as here
    #[arg(long, value_name = "PROGRAM")]
    pub agent: Option<String>,

    /// Libfabric's provider, as fi_info -l names it: efa, cxi, verbs;ofi_rxm, tcp [default: the first that reaches other hosts]
    #[arg(long, value_name = "NAME")]
    pub provider: Option<String>,

    /// Encrypt what goes over TCP between ranks (ALLHANDS_TLS=1); the program must be built with the feature tls of allhands
    #[arg(long)]
    pub tls: bool,

    /// The rails by which hosts reach one another, as many on each: interfaces, addresses or networks, or domains of
    /// libfabric's [default: the networks that all hosts share, if the way to rank 0 is one of them]
    #[arg(long, value_name = "RAIL,…")]
    pub rails: Option<String>,

    /// When ranks on hosts connect: two of them when the first message goes between these (needed), or all of them when they have
    /// met (eager) [default: needed]
    #[arg(long, value_name = "WHEN", value_parser = ["needed", "eager"])]
    pub connect: Option<String>,

    /// A variable that ranks on hosts have, as here or with this value
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub env: Vec<String>,
}

impl Options {
    /// The first option that was given of those that say how ranks are started on hosts that are named.
    pub fn of_starting(&self) -> Option<&'static str> {
        let given = [
            ("--launcher", self.launcher.is_some()),
            ("--rendezvous", self.rendezvous.is_some()),
            ("--agent", self.agent.is_some()),
        ];
        first(&given)
    }

    /// The first option that was given of those that say how ranks which share no memory reach one another, and what they are told.
    pub fn of_reaching(&self) -> Option<&'static str> {
        let given = [
            ("--provider", self.provider.is_some()),
            ("--tls", self.tls),
            ("--rails", self.rails.is_some()),
            ("--connect", self.connect.is_some()),
            ("--env", !self.env.is_empty()),
        ];
        first(&given)
    }

    /// Finds out whether they fit the network, which is asked for with `option`.
    ///
    /// # Errors
    /// Which does not.
    pub fn check(&self, network: &str, option: &str) -> anyhow::Result<()> {
        anyhow::ensure!(
            !self.tls || network != OFI,
            "--tls encrypts what goes over TCP; with {option} ofi libfabric's messages would not be encrypted"
        );
        anyhow::ensure!(
            self.provider.is_none() || network == OFI,
            "--provider names one of libfabric's, which carries nothing over {network}; add {option} ofi"
        );
        Ok(())
    }

    /// The template by which a command is started on a host.
    pub(super) fn launcher(&self) -> &str {
        self.launcher.as_deref().unwrap_or(LAUNCHER)
    }

    /// What ranks have in their environment on account of these options and of the network.
    pub(super) fn variables(&self, network: Option<&str>) -> Vec<(String, String)> {
        let said = [
            (NETWORK, network),
            (OFI_PROVIDER, self.provider.as_deref()),
            (RAILS, self.rails.as_deref()),
            (CONNECT, self.connect.as_deref()),
            (TLS, self.tls.then_some("1")),
        ];
        let said = said.into_iter();
        said.filter_map(|(name, value)| Some((name.to_string(), value?.to_string())))
            .collect()
    }

    /// The words that say the same to another command.
    pub fn words(&self) -> Vec<String> {
        let Options {
            hosts,
            launcher,
            rendezvous,
            agent,
            provider,
            tls,
            rails,
            connect,
            env,
        } = self;
        let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
        let hosts = (!hosts.is_empty()).then(|| hosts.join(","));
        let with_value = [
            ("hosts", &hosts),
            ("launcher", launcher),
            ("rendezvous", rendezvous),
            ("agent", agent),
            ("provider", provider),
            ("rails", rails),
            ("connect", connect),
        ];
        let mut words: Vec<String> = Vec::new();
        for (name, value) in with_value {
            words.extend(value.iter().map(|value| format!("--{name}={value}")));
        }
        words.extend(env.iter().map(|variable| format!("--env={variable}")));
        words.extend(tls.then(|| "--tls".to_string()));
        words
    }
}

fn first(given: &[(&'static str, bool)]) -> Option<&'static str> {
    let given = given.iter().find(|(_, is_given)| *is_given);
    given.map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(clap::Parser)]
    struct Command {
        #[command(flatten)]
        options: Options,
    }

    fn read(words: &[String]) -> Options {
        let words = ["allhands".to_string()]
            .into_iter()
            .chain(words.iter().cloned());
        Command::try_parse_from(words)
            .expect("they are options")
            .options
    }

    #[test]
    fn another_command_is_told_all_of_them() {
        let text = |text: &str| Some(text.to_string());
        let all = Options {
            hosts: vec![
                "a".parse().expect("a host"),
                "[fd00::1]:4".parse().expect("one"),
            ],
            launcher: text("ssh -p 7 {host}"),
            rendezvous: text("10.0.0.1:7"),
            agent: text("/a b/allhands"),
            provider: text("verbs;ofi_rxm"),
            tls: true,
            rails: text("eth0,eth1"),
            connect: text("eager"),
            env: vec!["A".into(), "B=x y".into()],
        };
        assert_eq!(read(&all.words()), all);
        assert_eq!(Options::default().words(), Vec::<String>::new());
        let names: Vec<String> = all
            .variables(Some(OFI))
            .into_iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        assert_eq!(
            names,
            [
                "ALLHANDS_NETWORK=ofi",
                "ALLHANDS_OFI_PROVIDER=verbs;ofi_rxm",
                "ALLHANDS_RAILS=eth0,eth1",
                "ALLHANDS_CONNECT=eager",
                "ALLHANDS_TLS=1"
            ]
        );
    }

    #[test]
    fn what_was_given_is_named_and_must_fit_the_network() {
        let of =
            |words: &[&str]| read(&words.iter().map(|word| (*word).into()).collect::<Vec<_>>());
        assert_eq!(of(&["--agent", "x"]).of_starting(), Some("--agent"));
        assert_eq!(of(&["--tls"]).of_reaching(), Some("--tls"));
        assert_eq!(of(&["--hosts", "a"]).of_reaching(), None);
        let wrong = |words: &[&str], network| {
            let error = of(words).check(network, "--network");
            error.expect_err("they do not fit").to_string()
        };
        assert!(wrong(&["--tls"], OFI).contains("with --network ofi"));
        assert!(wrong(&["--provider", "efa"], TCP).contains("add --network ofi"));
        assert!(of(&["--tls"]).check(TCP, "--network").is_ok());
    }
}
