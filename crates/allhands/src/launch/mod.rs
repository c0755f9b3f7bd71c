//! Launching: how a process that somebody else started finds its place among the ranks, and the memory they share.
//!
//! A launcher tells each process its rank; the ranks on a machine share one [`Segment`], whose first [`ROLL_BYTES`] bytes
//! are the [`Roll`]: who is alive. [`place`] knows four kinds of launcher, in this order:
//!
//! 1. whoever sets [`RENDEZVOUS`], [`RANK`], [`RANKS`] and [`SECRET`]: the ranks, which may be on several hosts, meet there;
//! 2. `allhands run`: the environment variables [`RANK`], [`RANKS`] and [`SEGMENT`], an inherited descriptor;
//! 3. process managers that speak PMI-1 (MPICH's and Intel's `mpiexec`, Slurm's `srun --mpi=pmi2`): `PMI_FD` or `PMI_PORT`;
//! 4. process managers that speak PMIx (Open MPI's `mpirun`, `prterun`): `PMIX_NAMESPACE` and `PMIX_RANK`.
//!
//! Ranks of process managers may be on several hosts, too: then the manager tells them where to meet.
//! Nothing of that set means one rank alone.

mod error;
mod exchange;
mod how;
mod nodes;
mod note;
mod pmi;
mod pmix;
mod rendezvous;
mod roll;
mod segment;
mod session;

pub use error::LaunchError;
pub use exchange::Exchange;
pub use how::How;
pub use nodes::Nodes;
pub use roll::{MAX_RANKS, ROLL_BYTES, Roll, Standing};
pub use segment::{Mapped, SEGMENT_BYTES, Segment};

pub(crate) use rendezvous::Cluster;
use std::sync::{Arc, OnceLock};

/// The variable in which `allhands run` tells a process its rank.
pub const RANK: &str = "ALLHANDS_RANK";
/// The variable in which `allhands run` tells the number of ranks.
pub const RANKS: &str = "ALLHANDS_RANKS";
/// The variable in which `allhands run` tells which inherited descriptor is the segment.
pub const SEGMENT: &str = "ALLHANDS_SEGMENT";
/// The variable in which `allhands run` tells how many cpus all ranks together may use.
pub const CPUS: &str = "ALLHANDS_CPUS";
/// The variable with nodes to pretend: see [`Nodes`].
pub const NODES: &str = "ALLHANDS_NODES";

/// The variable that says where rank 0 listens while ranks on several hosts find one another: `HOST:PORT`.
pub const RENDEZVOUS: &str = "ALLHANDS_RENDEZVOUS";
/// Another name of [`RANKS`], beside [`RENDEZVOUS`].
pub const SIZE: &str = "ALLHANDS_SIZE";
/// The variable with the job's secret, at least 16 bytes, which all ranks that meet have and nobody else.
pub const SECRET: &str = "ALLHANDS_SECRET";
/// The variable that says how many seconds ranks wait for one another when they meet; 120 without.
pub const PATIENCE: &str = "ALLHANDS_PATIENCE_S";
/// The variable that lists the rails by which ranks of several hosts reach one another: interfaces, addresses or networks. Without,
/// they are chosen: the networks that all hosts share.
pub const RAILS: &str = "ALLHANDS_RAILS";
/// The variable with the ports at which ranks of several hosts listen: `FIRST-LAST`.
pub const PORTS: &str = "ALLHANDS_PORTS";
/// The variable that says what carries messages between hosts: `tcp`, the kernel's own, or `ofi`, libfabric's; `tcp` without.
pub const NETWORK: &str = "ALLHANDS_NETWORK";
/// The variable that says whether what goes over TCP between ranks is encrypted: `1`, which takes the feature `tls` of this crate, or
/// `0`, as without.
pub const TLS: &str = "ALLHANDS_TLS";
/// The variable that says when ranks of several hosts connect: `needed`, two of them when the first message goes between these, or
/// `eager`, all of them before [`Communicator::world`](crate::Communicator::world) returns, which is so for all if one rank has it;
/// `needed` without.
pub const CONNECT: &str = "ALLHANDS_CONNECT";
/// The variable with the name of libfabric's provider, where [`NETWORK`] is `ofi`; without: the first that reaches other hosts.
pub const OFI_PROVIDER: &str = "ALLHANDS_OFI_PROVIDER";
/// The variable with a name that this host is to have: ranks share memory only with those that have the same.
pub const HOST: &str = "ALLHANDS_HOST";

/// A process's place among the ranks.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Which rank this process is.
    pub rank: u32,
    /// How many there are.
    pub ranks: u32,
    /// What they share; its [`Roll`] has begun, and nobody has joined yet on this process's behalf.
    pub segment: Segment,
    /// Who started them.
    pub launcher: Launcher,
    /// The nodes to pretend; without, all ranks are on one.
    pub nodes: Option<Nodes>,
    /// How many cpus all ranks together may use, as far as it is known: the launcher's word, else what the system says
    /// of this process; if that is bound to one cpu, its peers are taken to be bound to others.
    pub cpus: usize,
}

/// Who started the ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Launcher {
    /// `allhands run`, which tells the roll how a rank ended.
    AllhandsRun,
    /// A process manager that speaks PMI-1; it tells nobody how a rank ended.
    Pmi,
    /// A process manager that speaks PMIx; likewise.
    Pmix,
    /// Whoever set [`RENDEZVOUS`] and the rest; it tells nobody how a rank ended.
    Rendezvous,
    /// Another part of the process, which made the [`Place`], or an [`Exchange`]; it tells nobody how a rank ended.
    Library,
}

/// This process's place among the ranks that a launcher started; `None` if there was no launcher.
///
/// It is looked for once a process, and the same answer is given ever after; the environment is left as it is. Under a
/// process manager all ranks must call this, as it waits for them; the manager is told that all is well (`finalize`)
/// when the process exits by returning from `main` or by [`std::process::exit`].
///
/// # Errors
/// If a launcher's variables make no sense, the segment cannot be had, or ranks are on several machines: those are served by
/// [`Communicator::world`](crate::Communicator::world) alone.
pub fn place() -> Result<Option<Place>, LaunchError> {
    match whereabouts()? {
        Whereabouts::Alone => Ok(None),
        Whereabouts::Place(place) => Ok(Some(place)),
        Whereabouts::Cluster(cluster) => match cluster.is_apart() {
            false => Ok(cluster.place),
            true => Err(LaunchError::Apart),
        },
    }
}

/// Where this process is among the ranks that a launcher started.
#[derive(Clone, Debug)]
pub(crate) enum Whereabouts {
    /// There was no launcher.
    Alone,
    /// Among ranks that all share memory.
    Place(Place),
    /// Among ranks that have met, and may be on several hosts.
    Cluster(Arc<Cluster>),
}

#[cfg(test)]
impl Whereabouts {
    fn place(self) -> Option<Place> {
        match self {
            Whereabouts::Place(place) => Some(place),
            Whereabouts::Alone | Whereabouts::Cluster(_) => None,
        }
    }
}

/// As [`place`], wherever the other ranks are.
pub(crate) fn whereabouts() -> Result<Whereabouts, LaunchError> {
    static PLACE: OnceLock<Result<Whereabouts, LaunchError>> = OnceLock::new();
    let find = || {
        let (place, session) = find(&|name| std::env::var(name).ok())?;
        if let Some(session) = session {
            session::finalize_at_exit(session)?;
        }
        Ok(place)
    };
    PLACE.get_or_init(find).clone()
}

/// The environment: a variable's value by its name.
type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A place, and the session with a process manager that is to be finalized.
type Found = (Whereabouts, Option<session::Session>);

fn find(environment: Environment<'_>) -> Result<Found, LaunchError> {
    if let Some(settings) = rendezvous::Settings::read(environment)? {
        // The launcher's, for those of its ranks that are on this host.
        let given = match environment(SEGMENT) {
            Some(_) => Some(inherited(environment)?),
            None => None,
        };
        let launcher = match given {
            Some(_) => Launcher::AllhandsRun,
            None => Launcher::Rendezvous,
        };
        let means = rendezvous::Means {
            launcher,
            given,
            listener: None,
        };
        let cluster = rendezvous::meet(&settings, means, environment)?;
        return Ok((Whereabouts::Cluster(Arc::new(cluster)), None));
    }
    if environment(RANK).is_some() {
        let (rank, ranks) = rank_and_ranks(environment, RANK, RANKS)?;
        let segment = inherited(environment)?;
        let roll = Roll::new(segment)?;
        if roll.ranks() != ranks {
            let right = format!("{}, as the segment says,", roll.ranks());
            return Err(wrong(environment, RANKS, right));
        }
        let place = Place {
            rank,
            ranks,
            segment,
            launcher: Launcher::AllhandsRun,
            nodes: nodes::read(environment(NODES), ranks)?,
            cpus: cpus(environment),
        };
        return Ok((Whereabouts::Place(place), None));
    }
    let found = if let Some(client) = pmi::Client::connect(environment)? {
        managed(Box::new(client), Launcher::Pmi, environment)?
    } else if let Some(client) = pmix::Client::connect(environment)? {
        managed(Box::new(client), Launcher::Pmix, environment)?
    } else {
        (Whereabouts::Alone, None)
    };
    Ok(found)
}

/// The place of a rank that a process manager has started.
fn managed(
    mut session: session::Session,
    launcher: Launcher,
    environment: Environment<'_>,
) -> Result<Found, LaunchError> {
    let whereabouts = among(&mut *session, launcher, environment)?;
    Ok((whereabouts, Some(session)))
}

/// Where this process is among ranks that an exchange brings together.
pub(crate) fn whereabouts_among(exchange: &mut dyn Exchange) -> Result<Whereabouts, LaunchError> {
    among(exchange, Launcher::Library, &|name| {
        std::env::var(name).ok()
    })
}

fn among(
    exchange: &mut dyn Exchange,
    launcher: Launcher,
    environment: Environment<'_>,
) -> Result<Whereabouts, LaunchError> {
    let (rank, ranks) = exchange.rank_and_ranks();
    Ok(match exchange::share(exchange, environment)? {
        exchange::Common::Segment(segment) => Whereabouts::Place(Place {
            rank,
            ranks,
            segment,
            launcher,
            nodes: nodes::read(environment(NODES), ranks)?,
            cpus: cpus(environment),
        }),
        exchange::Common::Announcement(announcement, listener) => {
            let settings = announcement.settings((rank, ranks), environment)?;
            let means = rendezvous::Means {
                launcher,
                given: None,
                listener,
            };
            let cluster = rendezvous::meet(&settings, means, environment)?;
            Whereabouts::Cluster(Arc::new(cluster))
        }
    })
}

/// The segment that [`SEGMENT`] says.
fn inherited(environment: Environment<'_>) -> Result<Segment, LaunchError> {
    Segment::inherited(number(environment, SEGMENT, i32::MAX as u32)? as i32)
}

/// How many cpus all ranks together may use.
fn cpus(environment: Environment<'_>) -> usize {
    if let Some(cpus) = environment(CPUS).and_then(|text| text.trim().parse().ok()) {
        return cpus;
    }
    match std::thread::available_parallelism().map_or(1, usize::from) {
        1 => {
            // SAFETY: asks for a number; no memory is involved.
            let online = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
            usize::try_from(online).unwrap_or(1).max(1)
        }
        several => several,
    }
}

/// A rank and the number of ranks, each from its variable.
fn rank_and_ranks(
    environment: Environment<'_>,
    rank: &'static str,
    ranks: &'static str,
) -> Result<(u32, u32), LaunchError> {
    let all = number(environment, ranks, u32::MAX)?;
    roll::check_ranks(u64::from(all))?;
    Ok((number(environment, rank, all - 1)?, all))
}

/// The number in a variable.
fn number(environment: Environment<'_>, name: &'static str, most: u32) -> Result<u32, LaunchError> {
    let value = environment(name).and_then(|text| text.trim().parse().ok());
    value
        .filter(|value| *value <= most)
        .ok_or_else(|| wrong(environment, name, format!("a number from 0 to {most}")))
}

fn wrong(environment: Environment<'_>, name: &'static str, right: String) -> LaunchError {
    let value = environment(name);
    LaunchError::Variable { name, value, right }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fd::AsRawFd;

    fn found(variables: &[(&str, &str)]) -> Result<Option<Place>, LaunchError> {
        let environment = |name: &str| {
            let found = variables.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_string())
        };
        find(&environment).map(|(found, _)| found.place())
    }

    #[test]
    fn nothing_set_is_one_rank_alone() {
        assert!(
            found(&[("PATH", "/bin"), ("PMI_RANK", "3")])
                .unwrap()
                .is_none()
        );
    }

    #[test]
    fn the_variables_of_our_own_launcher_lead_to_the_segment() {
        let segment = Segment::create().unwrap();
        Roll::begin(segment, 4).unwrap();
        let fd = segment.fd().as_raw_fd().to_string();
        let set = [(RANK, "2"), (RANKS, "4"), (SEGMENT, &fd)];
        let place = found(&set).unwrap().unwrap();
        assert_eq!((place.rank, place.ranks), (2, 4));
        assert_eq!(place.launcher, Launcher::AllhandsRun);
        assert_eq!(place.segment.inode(), segment.inode());
        assert!(place.nodes.is_none());
        let nodes = found(&[&set[..], &[(NODES, "2x2")]].concat()).unwrap();
        assert_eq!(
            nodes.unwrap().nodes,
            Some(Nodes {
                count: 2,
                ranks_each: 2
            })
        );
    }

    #[test]
    fn variables_that_make_no_sense_are_named() {
        let segment = Segment::create().unwrap();
        Roll::begin(segment, 4).unwrap();
        let fd = segment.fd().as_raw_fd().to_string();
        let fd = fd.as_str();
        for (set, says) in [
            (&[(RANK, "2")][..], "ALLHANDS_RANKS is not set"),
            (
                &[(RANK, "x"), (RANKS, "4")],
                "ALLHANDS_RANK is 'x', where a number from 0 to 3",
            ),
            (&[(RANK, "4"), (RANKS, "4")], "ALLHANDS_RANK is '4'"),
            (
                &[(RANK, "0"), (RANKS, "0")],
                "0 ranks: there can be from 1 to 1000",
            ),
            (&[(RANK, "0"), (RANKS, "4")], "ALLHANDS_SEGMENT is not set"),
            (
                &[(RANK, "0"), (RANKS, "4"), (SEGMENT, "9999")],
                "descriptor 9999 is not the segment",
            ),
            (
                &[(RANK, "0"), (RANKS, "5"), (SEGMENT, fd)],
                "'5', where 4, as the segment says",
            ),
            (
                &[(RANK, "0"), (RANKS, "4"), (SEGMENT, fd), (NODES, "3x2")],
                "'3x2'",
            ),
            (
                &[("PMI_FD", "9999"), ("PMI_RANK", "0"), ("PMI_SIZE", "1")],
                "PMI_FD",
            ),
            (
                &[("PMI_PORT", "here"), ("PMI_ID", "0")],
                "PMI_PORT is 'here'",
            ),
        ] {
            let error = found(set).unwrap_err().to_string();
            assert!(error.contains(says), "{set:?}: {error}");
        }
    }
}
