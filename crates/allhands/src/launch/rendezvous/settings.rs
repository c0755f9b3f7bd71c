//! Settings: what the environment says of a rendezvous.

use crate::launch::{
    CONNECT, Environment, HOST, LaunchError, NETWORK, OFI_PROVIDER, PATIENCE, PORTS, RAILS, RANK,
    RANKS, RENDEZVOUS, SECRET, SIZE, TLS, number, wrong,
};
use crate::transport::net::tcp::{Secret, tls};
use std::ops::RangeInclusive;
use std::time::Duration;

/// How long ranks wait for one another, unless the environment says otherwise.
const LIMIT: Duration = Duration::from_secs(120);
/// The most ranks of a world on several hosts.
const MOST_RANKS: u32 = 1 << 16;

/// In which variables a rank and the number of ranks may stand, ours first; the others are torchrun's, those of Slurm's
/// steps, and that of an indexed job of Kubernetes.
const RANK_NAMES: [&str; 4] = [RANK, "RANK", "SLURM_PROCID", "JOB_COMPLETION_INDEX"];
const RANKS_NAMES: [&str; 4] = [RANKS, SIZE, "WORLD_SIZE", "SLURM_NTASKS"];

/// What the environment says.
#[derive(Clone)]
pub(in crate::launch) struct Settings {
    pub(super) rank: u32,
    pub(super) ranks: u32,
    /// Where rank 0 listens.
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) secret: Secret,
    pub(super) limit: Duration,
    /// By which interfaces, addresses or networks a rank can be reached; without, [`rails`](super::rails) chooses.
    pub(super) rails: Vec<String>,
    /// The ports at which ranks listen.
    pub(super) ports: Option<RangeInclusive<u16>>,
    /// What is to be taken for the name of this host.
    pub(super) node: Option<String>,
    pub(super) medium: Medium,
    /// Whether what goes over TCP is encrypted.
    pub(super) tls: bool,
    /// Whether all connections are to be made before the world is there.
    pub(super) is_eager: bool,
}

/// What carries messages between hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Medium {
    /// The kernel's TCP.
    Tcp,
    /// Libfabric, by the provider of this name if there is one.
    Ofi(Option<String>),
}

impl Settings {
    /// What the environment says, if it speaks of a rendezvous.
    pub(in crate::launch) fn read(
        environment: Environment<'_>,
    ) -> Result<Option<Settings>, LaunchError> {
        let Some(place) = environment(RENDEZVOUS) else {
            return Ok(None);
        };
        let (host, port) = host_and_port(&place).ok_or_else(|| {
            let right = "HOST:PORT, where rank 0 is to listen,".to_string();
            wrong(environment, RENDEZVOUS, right)
        })?;
        let first = |names: [&'static str; 4]| {
            let found = names.iter().find(|name| environment(name).is_some());
            *found.unwrap_or(&names[0])
        };
        let ranks = number(environment, first(RANKS_NAMES), MOST_RANKS)?;
        if ranks == 0 {
            let right = format!("a number from 1 to {MOST_RANKS}");
            return Err(wrong(environment, first(RANKS_NAMES), right));
        }
        let rank = number(environment, first(RANK_NAMES), ranks - 1)?;
        let secret = environment(SECRET).unwrap_or_default();
        let settings = Settings::of((rank, ranks), (host, port), &secret, environment);
        settings.map(Some)
    }

    /// What the environment says for ranks that know the rest.
    pub(super) fn of(
        (rank, ranks): (u32, u32),
        (host, port): (String, u16),
        secret: &str,
        environment: Environment<'_>,
    ) -> Result<Settings, LaunchError> {
        let secret = Secret::new(secret.as_bytes());
        let secret = secret.map_err(|error| LaunchError::Secret { bytes: error.bytes })?;
        let medium = medium(environment)?;
        Ok(Settings {
            rank,
            ranks,
            host,
            port,
            secret,
            limit: limit(environment)?,
            rails: Settings::rails(environment),
            ports: Settings::ports(environment)?,
            node: environment(HOST).filter(|host| !host.is_empty()),
            tls: is_encrypted(environment, rank, &medium)?,
            medium,
            is_eager: is_eager(environment)?,
        })
    }

    /// The rails that the environment names.
    pub(super) fn rails(environment: Environment<'_>) -> Vec<String> {
        let list = environment(RAILS).unwrap_or_default();
        let rails = list
            .split(',')
            .map(str::trim)
            .filter(|rail| !rail.is_empty());
        rails.map(str::to_string).collect()
    }

    /// The ports at which ranks may listen.
    pub(super) fn ports(
        environment: Environment<'_>,
    ) -> Result<Option<RangeInclusive<u16>>, LaunchError> {
        let Some(text) = environment(PORTS) else {
            return Ok(None);
        };
        let range = text.split_once('-').and_then(|(first, last)| {
            let first: u16 = first.trim().parse().ok()?;
            let last = last.trim().parse().ok()?;
            (first > 0 && first <= last).then_some(first..=last)
        });
        let right = || "FIRST-LAST, as in 30000-30999,".to_string();
        range
            .map(Some)
            .ok_or_else(|| wrong(environment, PORTS, right()))
    }

    /// Where rank 0 listens, as it was said.
    pub(super) fn place(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }
}

/// `host:29400`, `10.0.0.1:29400` or `[fd00::1]:29400`.
fn host_and_port(text: &str) -> Option<(String, u16)> {
    let (host, port) = text.trim().rsplit_once(':')?;
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    let host = match bare {
        Some(address) => address,
        None if host.contains(':') => return None,
        None => host,
    };
    let port = port.parse().ok().filter(|port| *port > 0)?;
    (!host.is_empty()).then(|| (host.to_string(), port))
}

fn limit(environment: Environment<'_>) -> Result<Duration, LaunchError> {
    let Some(text) = environment(PATIENCE) else {
        return Ok(LIMIT);
    };
    let seconds = text.trim().parse().ok();
    let seconds = seconds.filter(|seconds: &f64| *seconds > 0.0 && *seconds <= 1e6);
    let right = || "a number of seconds greater than 0".to_string();
    seconds
        .map(Duration::from_secs_f64)
        .ok_or_else(|| wrong(environment, PATIENCE, right()))
}

fn medium(environment: Environment<'_>) -> Result<Medium, LaunchError> {
    let said = |name| environment(name).map(|text| text.trim().to_string());
    let said = |name| said(name).filter(|text| !text.is_empty());
    match said(NETWORK).as_deref() {
        None | Some("tcp") => Ok(Medium::Tcp),
        Some("ofi") => Ok(Medium::Ofi(said(OFI_PROVIDER))),
        Some(_) => Err(wrong(environment, NETWORK, "tcp or ofi".into())),
    }
}

/// Whether what goes over TCP is to be encrypted, which then must be possible, and all that goes.
fn is_encrypted(
    environment: Environment<'_>,
    rank: u32,
    medium: &Medium,
) -> Result<bool, LaunchError> {
    match environment(TLS).as_deref().map(str::trim) {
        None | Some("" | "0") => return Ok(false),
        Some("1") => {}
        Some(_) => return Err(wrong(environment, TLS, "1 or 0".into())),
    }
    let why = match medium {
        Medium::Ofi(_) => Err(
            "with ALLHANDS_NETWORK=ofi libfabric's messages would not be encrypted; right would be ALLHANDS_NETWORK=tcp, or ALLHANDS_TLS=0 and a network that nobody else uses",
        ),
        Medium::Tcp => tls::is_there(),
    };
    why.map(|()| true).map_err(|why| LaunchError::WireUp {
        says: format!("rank {rank} has ALLHANDS_TLS=1: {why}"),
    })
}

fn is_eager(environment: Environment<'_>) -> Result<bool, LaunchError> {
    match environment(CONNECT).as_deref().map(str::trim) {
        None | Some("" | "needed") => Ok(false),
        Some("eager") => Ok(true),
        Some(_) => Err(wrong(environment, CONNECT, "needed or eager".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: [(&str, &str); 4] = [
        (RENDEZVOUS, "h0:29400"),
        (RANK, "1"),
        (RANKS, "4"),
        (SECRET, "sixteen bytes ok"),
    ];

    fn read(changes: &[(&str, &str)]) -> Result<Option<Settings>, LaunchError> {
        let environment = |name: &str| {
            let mut all = changes.iter().chain(&GOOD);
            let found = all.find(|(key, _)| *key == name);
            let value = found.map(|(_, value)| (*value).to_string());
            value.filter(|value| value != "unset")
        };
        Settings::read(&environment)
    }

    #[test]
    fn ours_and_others_variables_are_read() {
        let settings = read(&[]).unwrap().unwrap();
        assert_eq!((settings.rank, settings.ranks), (1, 4));
        assert_eq!(settings.place(), "h0:29400");
        assert!(!settings.is_eager && !read(&[(CONNECT, "needed")]).unwrap().unwrap().is_eager);
        assert_eq!(settings.limit, LIMIT);
        assert!(read(&[(RENDEZVOUS, "unset")]).unwrap().is_none());
        for (rank, ranks) in [
            ("RANK", "WORLD_SIZE"),
            ("SLURM_PROCID", "SLURM_NTASKS"),
            ("JOB_COMPLETION_INDEX", SIZE),
        ] {
            let set = [(RANK, "unset"), (RANKS, "unset"), (rank, "5"), (ranks, "6")];
            let settings = read(&set).unwrap().unwrap();
            assert_eq!((settings.rank, settings.ranks), (5, 6));
        }
        let set = [
            (RENDEZVOUS, "[::1]:7"),
            (PORTS, "3-9"),
            (PATIENCE, "1.5"),
            (RAILS, "a, b"),
            (CONNECT, "eager"),
        ];
        let settings = read(&set).unwrap().unwrap();
        assert_eq!(
            (settings.place(), settings.ports),
            ("[::1]:7".into(), Some(3..=9))
        );
        assert_eq!(settings.limit, Duration::from_millis(1500));
        assert_eq!(settings.rails, ["a", "b"]);
        assert!(settings.is_eager);
        assert_eq!(settings.medium, Medium::Tcp);
        let ofi = [(NETWORK, "ofi"), (OFI_PROVIDER, " efa")];
        let medium = |set: &[_]| read(set).unwrap().unwrap().medium;
        assert_eq!(medium(&ofi), Medium::Ofi(Some("efa".into())));
        assert_eq!(medium(&ofi[..1]), Medium::Ofi(None));
    }

    #[test]
    fn what_cannot_be_encrypted_is_refused() {
        for no in ["", "0", "unset"] {
            assert!(!read(&[(TLS, no)]).unwrap().unwrap().tls, "{no}");
        }
        let ofi = read(&[(TLS, "1"), (NETWORK, "ofi")]);
        let said = ofi.err().expect("it is refused").to_string();
        let says = "rank 1 has ALLHANDS_TLS=1: with ALLHANDS_NETWORK=ofi libfabric's messages would not be encrypted";
        assert!(said.contains(says), "{said}");
        let tcp = read(&[(TLS, "1")]);
        if cfg!(feature = "tls") {
            return assert!(tcp.unwrap().unwrap().tls);
        }
        let said = tcp.err().expect("it is refused").to_string();
        let says = "built without TLS; right would be the feature tls of the crate allhands: cargo build --features";
        assert!(said.contains(says), "{said}");
    }

    #[test]
    fn what_makes_no_sense_is_named_with_what_would_be_right() {
        for (name, value, says) in [
            (
                RENDEZVOUS,
                "h0",
                "ALLHANDS_RENDEZVOUS is 'h0', where HOST:PORT",
            ),
            (RENDEZVOUS, "::1:7", "where HOST:PORT"),
            (RENDEZVOUS, "h0:0", "where HOST:PORT"),
            (
                RANK,
                "4",
                "ALLHANDS_RANK is '4', where a number from 0 to 3",
            ),
            (RANK, "unset", "ALLHANDS_RANK is not set"),
            (RANKS, "0", "ALLHANDS_RANKS is '0', where a number from 1"),
            (
                SECRET,
                "unset",
                "ALLHANDS_SECRET is not set, where at least 16 bytes",
            ),
            (
                SECRET,
                "fifteen  bytes!",
                "ALLHANDS_SECRET has 15 bytes, where at least 16",
            ),
            (TLS, "yes", "ALLHANDS_TLS is 'yes', where 1 or 0"),
            (NETWORK, "ib", "ALLHANDS_NETWORK is 'ib', where tcp or ofi"),
            (PORTS, "9-3", "ALLHANDS_PORTS is '9-3', where FIRST-LAST"),
            (
                CONNECT,
                "all",
                "ALLHANDS_CONNECT is 'all', where needed or eager",
            ),
            (PATIENCE, "0", "where a number of seconds greater than 0"),
        ] {
            let error = read(&[(name, value)])
                .err()
                .expect("it is wrong")
                .to_string();
            assert!(error.contains(says), "{name}={value}: {error}");
            assert!(!error.contains("fifteen"), "{error}");
        }
    }
}
