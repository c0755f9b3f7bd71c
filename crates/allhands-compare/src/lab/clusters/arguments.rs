//! The arguments of `cargo xtask lab`, read and checked.

use super::contender::{self, Contender};
use crate::arguments::{bytes, collective, hosts, keep_first, time};
use crate::board;
use crate::cell::{COLLECTIVES, Cell};
use allhands::Policy;
use allhands_core::algorithm;
use clap::builder::{ArgPredicate, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{ArgAction, CommandFactory, Parser};
use std::path::PathBuf;

/// What several rails are tried with: where a rail's rate is most of a call's time.
const OF_RAILS: [&str; 5] = ["broadcast", "gather", "allgather", "alltoall", "allreduce"];

/// The most ranks of a host: they share two cores with all others.
const MOST_EACH: i64 = 8;

/// Allhands on several hosts without an MPI, beside MPICH and Open MPI, on emulated hosts (lab/README.md)
///
/// Our ranks are started by `allhands run --hosts`, over TCP and, reported beside it, over libfabric's tcp;ofi_rxm. Every collective
/// but the barrier, at whole vectors of --bytes: what is gathered, or what one rank sends, in all. Printed for each cell: the bound,
/// our time, everybody's time by the bound, and the best peer's time by ours with a 95 % interval: above 1 Allhands is faster. What
/// it comes to stands behind. With --rails 2 or 4 ours on all rails beside ours on one; with --policy ours by that beside our own
/// choice; with --each several ranks on a host, whose bound is that of the hosts, as if nothing took time inside.
///
/// Needs Linux, root, /dev/net/tun, iproute2, a C compiler, python3 with pip, and a quiet machine. Peers are fetched with pip, once,
/// into target/peers.
///
/// Exit status 1 when a result is wrong, one of our cells fails, or less is shown than is demanded; 2 when the arguments are wrong.
#[derive(Clone, Debug, Parser, PartialEq)]
#[command(
    name = "cargo xtask lab",
    bin_name = "cargo xtask lab",
    args_override_self = true,
    max_term_width = 100
)]
pub(crate) struct Arguments {
    /// Numbers of hosts [default: 8,13; with several rails 8]
    #[arg(long, value_name = "N", value_delimiter = ',', action = ArgAction::Set, value_parser = hosts)]
    hosts: Option<Vec<u32>>,

    /// Ranks of each host
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=MOST_EACH), default_value_t = 1)]
    pub(super) each: u32,

    /// What is to choose algorithms beside our own choice, once for each: an algorithm NAME[:key=value,…], or a preset such as qsnet
    #[arg(long = "policy", value_name = "POLICY", value_parser = policy, conflicts_with = "rails")]
    pub(super) policies: Vec<String>,

    /// Rails of each host
    #[arg(long, value_name = "N", value_parser = rails, default_value = "1")]
    pub(super) rails: u32,

    /// Rate of each rail: 200mbit, 1gbit [default: 200mbit; with several rails 50mbit]
    #[arg(long, value_name = "RATE", value_parser = rate)]
    rate: Option<Rate>,

    /// Delay of the switch, one way: 500us, 2ms
    #[arg(long, value_name = "TIME", value_parser = delay, default_value = "500us")]
    pub(super) delay: String,

    /// Only these [default: all but the barrier; with several rails broadcast, gather, allgather, alltoall and allreduce]
    #[arg(long, value_name = "NAME", value_delimiter = ',', action = ArgAction::Set, value_parser = collective())]
    collectives: Option<Vec<usize>>,

    /// Whole vectors, such as 8,4K,1M [default: 8,1K,8K,64K,256K,1M,4M; with several rails 256K,4M]
    #[arg(long, value_name = "SIZE", value_delimiter = ',', action = ArgAction::Set, value_parser = bytes)]
    bytes: Option<Vec<usize>>,

    /// Only these, or `none` [default: all; with several rails, or ranks on a host, none]
    ///
    /// The `forced` ones have for every collective the algorithm that is made for long vectors; what a peer would take by itself has
    /// its own name without that.
    #[arg(long, value_name = "NAME", value_delimiter = ',', action = ArgAction::Set, value_parser = peer())]
    peers: Option<Vec<&'static str>>,

    /// Our networks; the first is compared, the others are reported
    #[arg(long, value_name = "NAME", value_delimiter = ',', action = ArgAction::Set,
        value_parser = PossibleValuesParser::new(contender::NETWORKS), default_value = "tcp,ofi",
        default_value_ifs([("rails", "2", "tcp"), ("rails", "4", "tcp")]))]
    pub(super) networks: Vec<String>,

    /// Turns of everybody in a cell, at least 3, with --plain 5; from 6 on the interval is that of the sign test, below that Student's
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u32).range(2..=1000), default_value = "3",
        default_value_if("plain", ArgPredicate::IsPresent, "5"))]
    pub(super) rounds: u32,

    /// Seconds for everything; cells for which none are left are named at the end
    #[arg(long = "time", value_name = "S", value_parser = time, default_value = "3600", allow_negative_numbers = true)]
    pub(super) seconds: f64,

    /// Instead of collectives: the collective calls that applications have made, in their order, on as many ranks
    ///
    /// `nbody trace=FILE` and `radix trace=FILE` (docs/applications.md) write such files. Each call begins on all ranks together, and
    /// its time is as above; then all are made one after the other, of which the first begins together. Printed is everybody's time by
    /// ours, by kind and in all. Exit status 1 when a result is wrong or ours fails.
    #[arg(long, value_name = "FILE", value_delimiter = ',', action = ArgAction::Set,
        conflicts_with_all = ["hosts", "rails", "collectives", "bytes"])]
    pub(super) replay: Vec<PathBuf>,

    /// Instead of all this: our TCP without emulated limits, beside iperf3 and plain sockets
    ///
    /// Over the loopback and between two hosts on the kernel's own devices: messages of 128 KB and 1 MB beside iperf3, which as root on
    /// Debian it installs, from memory of the same length over as many connections; longer ones beside plain sockets, as iperf3 has no
    /// more memory; 8 bytes to and fro beside plain sockets, asleep or asking again and again, whichever takes less. Exit status 1
    /// also when long messages reach less than 0.9 of that rate, or short ones take more than 1.2 of that time.
    #[arg(long, conflicts_with_all = ["hosts", "each", "policies", "rails", "rate", "delay", "collectives", "bytes", "peers",
        "networks", "seconds", "replay"])]
    pub(super) plain: bool,

    /// Where the records go, from the repository's root
    #[arg(
        long,
        value_name = "FILE",
        default_value = "target/compare/clusters.json"
    )]
    pub(super) json: PathBuf,
}

/// A rate as the lab takes it, and in Mbit/s.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rate {
    pub(super) text: String,
    pub(super) mbit_s: f64,
}

impl Arguments {
    /// Reads what stands behind `cargo xtask lab`.
    ///
    /// # Errors
    /// The first mistake, or the help that was asked for.
    pub(super) fn read(words: &[String]) -> Result<Self, clap::Error> {
        let program = ["cargo xtask lab"];
        let words = words.iter().map(String::as_str);
        let mut own = Self::try_parse_from(program.into_iter().chain(words))?;
        // What is typed twice is measured once.
        own.hosts.iter_mut().for_each(keep_first);
        own.collectives.iter_mut().for_each(keep_first);
        own.bytes.iter_mut().for_each(keep_first);
        own.peers.iter_mut().for_each(keep_first);
        keep_first(&mut own.networks);
        keep_first(&mut own.policies);
        let most = own.hosts().into_iter().max().unwrap_or(0);
        if (most * own.each) as usize > board::RANKS {
            let says = format!(
                "{most} hosts with {} ranks each have more than the {} ranks that there may be",
                own.each,
                board::RANKS
            );
            return Err(Self::command().error(ErrorKind::ValueValidation, says));
        }
        Ok(own)
    }

    fn has_rails(&self) -> bool {
        self.rails > 1
    }

    pub(super) fn hosts(&self) -> Vec<u32> {
        let usual = if self.has_rails() { &[8][..] } else { &[8, 13] };
        self.hosts.clone().unwrap_or_else(|| usual.to_vec())
    }

    pub(super) fn rate(&self) -> Rate {
        let (text, mbit_s) = if self.has_rails() {
            ("50mbit", 50.0)
        } else {
            ("200mbit", 200.0)
        };
        let usual = || Rate {
            text: text.to_owned(),
            mbit_s,
        };
        self.rate.clone().unwrap_or_else(usual)
    }

    /// Names of peers, in the order in which they are shown.
    pub(super) fn peers(&self) -> Vec<&'static Contender> {
        let all = contender::PEERS.iter();
        match &self.peers {
            Some(names) => all.filter(|peer| names.contains(&peer.name)).collect(),
            None if self.has_rails() || self.each > 1 => Vec::new(),
            None => all.collect(),
        }
    }

    /// The vectors that are asked for, and what is called with them.
    pub(super) fn cells(&self, ranks: u32) -> Vec<(usize, Cell)> {
        let known = |name: &str| self.has_rails() <= OF_RAILS.contains(&name) && name != "barrier";
        let usual = || {
            (0..COLLECTIVES.len())
                .filter(|at| known(COLLECTIVES[*at]))
                .collect()
        };
        let collectives: Vec<usize> = self.collectives.clone().unwrap_or_else(usual);
        let sizes = self
            .bytes
            .clone()
            .unwrap_or_else(|| match self.has_rails() {
                true => vec![256 << 10, 4 << 20],
                false => vec![8, 1 << 10, 8 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20],
            });
        let of = |collective| sizes.iter().map(move |&m| (m, whole(collective, m, ranks)));
        collectives
            .into_iter()
            .filter(|at| COLLECTIVES[*at] != "barrier")
            .flat_map(of)
            .collect()
    }
}

/// The call in which so many bytes are gathered, or sent by one, in all; each block has an element at least.
fn whole(collective: usize, bytes: usize, ranks: u32) -> Cell {
    let block = (bytes / ranks as usize / 8 * 8).max(8);
    let bytes = if has_blocks(collective) { block } else { bytes };
    Cell { collective, bytes }
}

/// The whole vector of a call.
pub(super) fn vector_bytes(cell: Cell, ranks: u32) -> u64 {
    let blocks = if has_blocks(cell.collective) {
        u64::from(ranks)
    } else {
        1
    };
    cell.bytes as u64 * blocks
}

fn has_blocks(collective: usize) -> bool {
    ["scatter", "gather", "allgather", "alltoall"].contains(&COLLECTIVES[collective])
}

fn peer() -> impl TypedValueParser<Value = &'static str> {
    let names = || {
        contender::PEERS
            .iter()
            .map(|peer| peer.name)
            .chain(["none"])
    };
    let known = move |name: String| names().find(|known| *known == name);
    PossibleValuesParser::new(names()).try_map(move |name| known(name).ok_or("no peer"))
}

fn policy(text: &str) -> Result<String, String> {
    let name = match Policy::parse(text) {
        Policy::Fixed { name, .. } => name,
        _ => return Ok(text.to_owned()),
    };
    let is_known = algorithm::all().any(|algorithm| algorithm.name == name);
    let presets = Policy::NAMES.join(", ");
    is_known.then(|| text.to_owned()).ok_or_else(|| {
        format!("type the name of an algorithm, which `allhands list` prints, or one of {presets}")
    })
}

fn rails(text: &str) -> Result<u32, String> {
    let rails = text.parse().ok().filter(|rails| (1..=4).contains(rails));
    rails.ok_or_else(|| "type a number from 1 to 4".into())
}

fn rate(text: &str) -> Result<Rate, String> {
    let units = [("kbit", 1e-3), ("mbit", 1.0), ("gbit", 1e3)];
    let found = units.iter().find_map(|(unit, scale)| {
        let number: f64 = text.strip_suffix(unit)?.parse().ok()?;
        Some(number * scale)
    });
    let fits = found.filter(|mbit_s| (1.0..=10_000.0).contains(mbit_s));
    let text = text.to_owned();
    fits.map(|mbit_s| Rate { text, mbit_s })
        .ok_or_else(|| "type a rate such as 200mbit, from 1mbit to 10gbit".into())
}

fn delay(text: &str) -> Result<String, String> {
    let number = ["us", "ms"].iter().find_map(|unit| text.strip_suffix(unit));
    let number = number.and_then(|number| number.parse::<u32>().ok());
    let fits = number.filter(|number| *number <= 10_000);
    fits.map(|_| text.to_owned())
        .ok_or_else(|| "type a time such as 500us or 2ms".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    fn read(words: &[&str]) -> Result<Arguments, clap::Error> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        Arguments::read(&words)
    }

    #[test]
    fn one_rail_is_beside_peers_and_several_beside_one() {
        Arguments::command().debug_assert();
        let arguments = read(&[]).expect("is right");
        assert_eq!((arguments.hosts(), arguments.rounds), (vec![8, 13], 3));
        assert_eq!(arguments.rate().mbit_s, 200.0);
        assert_eq!(arguments.networks, ["tcp", "ofi"]);
        assert_eq!(arguments.cells(8).len(), 70);
        assert_eq!(arguments.peers().len(), contender::PEERS.len());
        let arguments = read(&["--rails", "2"]).expect("is right");
        assert_eq!(
            (arguments.hosts(), arguments.rate().mbit_s),
            (vec![8], 50.0)
        );
        assert_eq!((arguments.cells(8).len(), arguments.peers().len()), (10, 0));
        assert_eq!(arguments.networks, ["tcp"]);
        let words = [
            "--peers",
            "openmpi,mpich-ucx,openmpi",
            "--collectives",
            "scan",
            "--bytes",
            "8",
        ];
        let arguments = read(&words).expect("is right");
        let names: Vec<_> = arguments.peers().iter().map(|peer| peer.name).collect();
        assert_eq!(names, ["mpich-ucx", "openmpi"]);
        assert_eq!(arguments.cells(8).len(), 1);
        let words = [
            "--each",
            "4",
            "--hosts",
            "4",
            "--policy",
            "bruck:radix=2,ports=1",
        ];
        let arguments = read(&words).expect("is right");
        assert_eq!((arguments.peers().len(), arguments.policies.len()), (0, 1));
        let arguments = read(&["--replay", "a,b", "--each", "4"]).expect("is right");
        assert_eq!((arguments.replay.len(), arguments.rounds), (2, 3));
        let arguments = read(&["--plain"]).expect("is right");
        assert!(arguments.plain && arguments.rounds == 5);
        assert!(
            read(&["--peers", "none"])
                .expect("is right")
                .peers()
                .is_empty()
        );
    }

    #[test]
    fn a_size_is_that_of_the_whole_vector() {
        let at = |name| {
            COLLECTIVES
                .iter()
                .position(|known| *known == name)
                .expect("is one")
        };
        let call = |name, bytes, hosts| {
            let cell = whole(at(name), bytes, hosts);
            (cell.bytes, vector_bytes(cell, hosts))
        };
        assert_eq!(call("allreduce", 1 << 20, 13), (1 << 20, 1 << 20));
        assert_eq!(call("alltoall", 1 << 20, 8), (128 << 10, 1 << 20));
        assert_eq!(call("gather", 1 << 10, 13), (72, 936));
        assert_eq!(call("allgather", 8, 13), (8, 104));
    }

    #[test]
    fn mistakes_say_what_would_be_right() {
        for (words, right) in [
            (&["--hosts", "1"][..], "from 2 to 24"),
            (
                &["--hosts", "2,13", "--each", "5"],
                "13 hosts with 5 ranks each",
            ),
            (&["--replay", "a", "--hosts", "8"], "cannot be used with"),
            (&["--plain", "--bytes", "8"], "cannot be used with"),
            (&["--policy", "rign"], "`allhands list`"),
            (&["--policy", "ring", "--rails", "2"], "cannot be used with"),
            (&["--rails", "0"], "from 1 to 4"),
            (&["--rate", "200"], "200mbit"),
            (&["--rate", "0mbit"], "200mbit"),
            (&["--delay", "5"], "500us"),
            (&["--rounds", "1"], "2..=1000"),
            (&["--peers", "mpich"], "mpich-ucx"),
            (&["--networks", "udp"], "tcp"),
            (&["--bytes", "7"], "multiples of 8"),
            (&["allreduce"], "--help"),
        ] {
            let mistake = read(words).expect_err("is wrong");
            assert_eq!(mistake.exit_code(), 2);
            let said = mistake.to_string();
            assert!(said.contains(right), "{words:?}: {said}");
        }
    }
}
