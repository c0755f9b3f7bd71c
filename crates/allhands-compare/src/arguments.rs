//! The arguments of `cargo xtask compare`, read and checked.

use crate::board;
use crate::cell::COLLECTIVES;
use crate::statistics::LEAST_ROUNDS;
use clap::builder::{ArgPredicate, PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, Parser};
use std::path::PathBuf;
use xtask::peers::PEERS;

/// How our ranks are started: as processes that are bound to cores, several to each if there are not enough.
const LAUNCHER: &str = "{allhands} run -n {ranks} --bind turns -- {worker}";

/// Allhands beside MPICH, Open MPI and Intel MPI on this machine, in turns that are paired in time
///
/// The peers are fetched with pip, once, into target/peers. A ratio is the peer's time by ours: above
/// 1 Allhands is faster.
///
/// Exit status 1 when a result is wrong or one of our cells fails, 2 when the arguments are.
#[derive(Clone, Debug, Parser, PartialEq)]
#[command(
    name = "cargo xtask compare",
    bin_name = "cargo xtask compare",
    args_override_self = true,
    max_term_width = 100
)]
pub struct Arguments {
    /// Numbers of ranks
    #[arg(long, value_name = "N", value_delimiter = ',', action = ArgAction::Set, value_parser = ranks, default_value = "2,8")]
    pub ranks: Vec<usize>,

    /// Sizes, such as 8,4K,1M: a block per rank or pair for gather, scatter, allgather and alltoall, the whole vector otherwise; with --quick 8,4K,256K
    #[arg(long, value_name = "SIZE", value_delimiter = ',', action = ArgAction::Set, value_parser = bytes,
        default_value = "8,64,512,1K,4K,16K,64K,256K,1M,4M",
        default_value_if("quick", ArgPredicate::IsPresent, "8,4K,256K"))]
    pub bytes: Vec<usize>,

    /// Only these [default: all]; here they are indices of [`COLLECTIVES`]
    #[arg(long, value_name = "NAME", value_delimiter = ',', action = ArgAction::Set, value_parser = collective(),
        default_values = COLLECTIVES, hide_default_value = true, help = "Only these [default: all]")]
    pub collectives: Vec<usize>,

    /// Only these [default: all]
    #[arg(long, value_name = "NAME", value_delimiter = ',', action = ArgAction::Set, value_parser = peer(),
        default_values = PEERS.map(|peer| peer.name), hide_default_value = true)]
    pub peers: Vec<&'static str>,

    /// Turns of each group in a cell; with --quick and --lab 6
    #[arg(long, value_name = "R", value_parser = rounds, default_value = "9",
        default_value_ifs([("quick", ArgPredicate::IsPresent, "6"), ("lab", ArgPredicate::IsPresent, "6")]))]
    pub rounds: usize,

    /// Seconds for everything; with --quick 100
    #[arg(long = "time", value_name = "S", value_parser = time, default_value = "900", allow_negative_numbers = true,
        default_value_if("quick", ArgPredicate::IsPresent, "100"))]
    pub seconds: f64,

    /// Seconds to wait, in all, until nothing else runs [default: half of --time]
    #[arg(long, value_name = "S", value_parser = patience, allow_negative_numbers = true)]
    pub patience: Option<f64>,

    /// Three sizes, 6 rounds, about two minutes
    #[arg(long)]
    pub quick: bool,

    /// Do not write new input before every call, as applications do
    #[arg(long)]
    pub same_input: bool,

    /// What starts our ranks; {worker}, {ranks}, {allhands} and {bind} are replaced
    #[arg(long, value_name = "WORDS", value_parser = launcher, default_value = LAUNCHER)]
    pub launcher: String,

    /// Where the records go, from the repository's root
    #[arg(
        long,
        value_name = "FILE",
        default_value = "target/compare/compare.json"
    )]
    pub json: PathBuf,

    /// Instead of our own ranks: each peer with the drop-in preloaded beside the same peer without it
    ///
    /// With more ranks than cores: without it in the best of its settings, with it in the one that
    /// gives every rank its core. With our own program and, for a third of the time, with Intel's
    /// IMB-MPI1 (of --collectives and --bytes what it has). In the end, how much longer a call takes that
    /// is left to the peer.
    #[arg(long)]
    pub dropin: bool,

    /// Instead of peers: another checkout of this project, by turns with this one; its time by ours
    ///
    /// It is built there as released. With --dropin its drop-in beside ours under each peer. Exit
    /// status 1 also when the geometric mean is below 0.99, or a cell's whole interval below 0.95.
    #[arg(long, value_name = "PATH")]
    pub before: Option<PathBuf>,

    /// Instead of all this: the simulator beside SimGrid's SMPI, which as root on Debian it installs
    ///
    /// The table and records go to target/compare/simgrid.
    #[arg(long, exclusive = true)]
    pub simgrid: bool,

    /// Instead of all this, as root: MPICH with and without the drop-in on emulated hosts (lab/README.md)
    ///
    /// 200 Mbit/s and 500 us; about 10 minutes, records in target/compare/lab.json. Exit status 1 also
    /// when less is shown than is demanded.
    #[arg(long, conflicts_with_all = ["ranks", "bytes", "collectives", "peers", "seconds",
        "patience", "quick", "same_input", "launcher", "json", "dropin", "before"])]
    pub lab: bool,

    /// With --lab: numbers of hosts
    #[arg(long, value_name = "N", value_delimiter = ',', action = ArgAction::Set, value_parser = hosts, default_value = "8,13", requires = "lab")]
    pub hosts: Vec<u32>,

    /// With --lab: how often a turn repeats each call
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000), default_value_t = 4,
        requires = "lab")]
    pub repetitions: u32,
}

impl Arguments {
    /// Reads what stands behind `cargo xtask compare`.
    ///
    /// # Errors
    /// The first mistake, or the help that was asked for.
    pub fn read(words: &[String]) -> Result<Self, clap::Error> {
        let program = ["cargo xtask compare"];
        let words = words.iter().map(String::as_str);
        let mut own = Self::try_parse_from(program.into_iter().chain(words))?;
        // What is typed twice is measured once.
        keep_first(&mut own.ranks);
        keep_first(&mut own.bytes);
        keep_first(&mut own.collectives);
        keep_first(&mut own.peers);
        keep_first(&mut own.hosts);
        Ok(own)
    }

    /// The peers that one run is beside: all of them, or with the drop-in, which each has in a version of its own, one.
    #[must_use]
    pub fn sides(&self) -> Vec<Vec<&'static str>> {
        match self.dropin {
            false if self.before.is_some() => vec![Vec::new()],
            true => self.peers.iter().map(|peer| vec![*peer]).collect(),
            false => vec![self.peers.clone()],
        }
    }
}

/// Of equal values only the first.
pub(crate) fn keep_first<T: Clone + PartialEq>(values: &mut Vec<T>) {
    let mut kept = Vec::new();
    for value in values.drain(..) {
        if !kept.contains(&value) {
            kept.push(value);
        }
    }
    *values = kept;
}

pub(crate) fn collective() -> impl TypedValueParser<Value = usize> {
    let index = |name: String| COLLECTIVES.iter().position(|known| *known == name);
    PossibleValuesParser::new(COLLECTIVES).try_map(move |name| index(name).ok_or("no collective"))
}

fn peer() -> impl TypedValueParser<Value = &'static str> {
    let names = PEERS.map(|peer| peer.name);
    let known = move |name: String| names.into_iter().find(|known| *known == name);
    PossibleValuesParser::new(names).try_map(move |name| known(name).ok_or("no peer"))
}

fn ranks(text: &str) -> Result<usize, String> {
    let most = board::RANKS;
    let ranks = text.trim().parse().ok();
    let ranks = ranks.filter(|ranks| (2..=most).contains(ranks));
    ranks.ok_or_else(|| format!("type numbers from 2 to {most}, as in --ranks 2,8"))
}

pub(crate) fn hosts(text: &str) -> Result<u32, String> {
    let hosts = text.trim().parse().ok();
    let hosts = hosts.filter(|hosts| (2..=24).contains(hosts));
    hosts.ok_or_else(|| "type numbers from 2 to 24, as in --hosts 8,13".into())
}

pub(crate) fn bytes(text: &str) -> Result<usize, String> {
    let text = text.trim();
    let (digits, unit) = match text.strip_suffix(['K', 'k']) {
        Some(digits) => (digits, 1 << 10),
        None => text
            .strip_suffix(['M', 'm'])
            .map_or((text, 1), |digits| (digits, 1 << 20)),
    };
    let bytes = digits.parse().ok();
    let bytes = bytes.and_then(|bytes: usize| bytes.checked_mul(unit));
    let fits = |bytes: &usize| *bytes > 0 && bytes.is_multiple_of(8) && *bytes <= 64 << 20;
    bytes
        .filter(fits)
        .ok_or_else(|| "type sizes such as 8, 4K or 1M, up to 64M, in multiples of 8 bytes".into())
}

fn rounds(text: &str) -> Result<usize, String> {
    let rounds = text.parse().ok();
    let rounds = rounds.filter(|rounds| (LEAST_ROUNDS..=1000).contains(rounds));
    rounds.ok_or_else(|| {
        format!("type a number from {LEAST_ROUNDS}, the fewest that give a 95 % interval, to 1000")
    })
}

fn seconds(text: &str, least: f64) -> Result<f64, String> {
    let seconds = text.parse().ok();
    let seconds = seconds.filter(|seconds| (least..1e6).contains(seconds));
    seconds.ok_or_else(|| format!("type seconds, {least} or more"))
}

pub(crate) fn time(text: &str) -> Result<f64, String> {
    seconds(text, 10.0)
}

fn patience(text: &str) -> Result<f64, String> {
    seconds(text, 0.0)
}

fn launcher(text: &str) -> Result<String, String> {
    let is_complete = text.contains("{worker}") && text.contains("{ranks}");
    is_complete.then(|| text.to_owned()).ok_or_else(|| {
        format!("the words must have {{worker}} and {{ranks}} among them, as in '{LAUNCHER}'")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use clap::error::ErrorKind;

    fn read(words: &[&str]) -> Result<Arguments, clap::Error> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        Arguments::read(&words)
    }

    #[test]
    fn what_is_not_typed_has_a_default() {
        Arguments::command().debug_assert();
        let arguments = read(&[]).expect("is right");
        assert_eq!((&arguments.ranks[..], arguments.rounds), (&[2, 8][..], 9));
        assert_eq!(arguments.bytes.len(), 10);
        assert_eq!(arguments.bytes[9], 4 << 20);
        assert!(
            arguments
                .collectives
                .iter()
                .copied()
                .eq(0..COLLECTIVES.len())
        );
        assert_eq!(arguments.peers, PEERS.map(|peer| peer.name));
        assert_eq!((arguments.seconds, arguments.patience), (900.0, None));
        assert_eq!(arguments.launcher, LAUNCHER);
        assert_eq!(arguments.json, PathBuf::from("target/compare/compare.json"));
        assert!(!arguments.same_input && !arguments.dropin && !arguments.lab);
    }

    #[test]
    fn lists_are_read_and_quick_is_a_default_that_gives_way() {
        let arguments = read(&["--quick"]).expect("is right");
        assert_eq!(arguments.bytes, [8, 4 << 10, 256 << 10]);
        assert_eq!(arguments.seconds, 100.0);
        let words = ["--bytes", "8,1M", "--quick", "--ranks", "3,2, 3"];
        let arguments = read(&words).expect("is right");
        assert_eq!(arguments.bytes, [8, 1 << 20]);
        assert_eq!(arguments.ranks, [3, 2]);
        assert_eq!(arguments.rounds, LEAST_ROUNDS);
        let words = ["--collectives", "exscan,barrier", "--peers", "intel"];
        let arguments = read(&words).expect("is right");
        assert_eq!(arguments.collectives, [10, 0]);
        assert_eq!(arguments.peers, ["intel"]);
        // The last word counts.
        let words = ["--bytes", "8", "--time", "20", "--bytes=4k", "--time", "30"];
        let arguments = read(&words).expect("is right");
        assert_eq!(
            (&arguments.bytes[..], arguments.seconds),
            (&[4096][..], 30.0)
        );
    }

    #[test]
    fn sides_are_all_peers_at_once_or_one_by_one() {
        let arguments = read(&["--before", "../older"]).expect("is right");
        assert_eq!(arguments.before, Some(PathBuf::from("../older")));
        assert_eq!(arguments.sides(), [Vec::<&str>::new()]);
        let words = ["--dropin", "--peers", "mpich", "--before", "../older"];
        assert_eq!(read(&words).expect("is right").sides(), [["mpich"]]);
    }

    #[test]
    fn the_lab_has_options_of_its_own() {
        let arguments = read(&["--lab", "--hosts", "4,6", "--rounds", "7"]).expect("is right");
        assert_eq!((&arguments.hosts[..], arguments.rounds), (&[4, 6][..], 7));
        let arguments = read(&["--lab"]).expect("is right");
        assert_eq!((&arguments.hosts[..], arguments.rounds), (&[8, 13][..], 6));
        assert_eq!(arguments.repetitions, 4);
        for (words, right) in [
            (&["--lab", "--hosts", "1"][..], "from 2 to 24"),
            (&["--lab", "--rounds", "2"], "from 6"),
            (&["--lab", "--repetitions", "0"], "1..=1000"),
            (&["--lab", "--ranks", "2"], "cannot be used with '--ranks"),
            (&["--lab", "--rounds"], "--rounds <R>"),
            (&["--hosts", "4"], "--lab"),
            (&["--simgrid", "--quick"], "--simgrid"),
        ] {
            let mistake = read(words).expect_err("is wrong").to_string();
            assert!(mistake.contains(right), "{words:?}: {mistake}");
        }
    }

    #[test]
    fn mistakes_say_what_would_be_right() {
        for (words, right) in [
            (&["--rank", "2"][..], "--help"),
            (&["allreduce"], "--help"),
            (&["--ranks"], "value is required"),
            (&["--before"], "value is required"),
            (&["--ranks", "1"], "from 2 to 64"),
            (&["--ranks", "65"], "from 2 to 64"),
            (&["--bytes", "12"], "multiples of 8"),
            (&["--bytes", "0"], "multiples of 8"),
            (&["--bytes", "8,"], "multiples of 8"),
            (&["--collectives", "bcast"], "broadcast"),
            (&["--peers", "mvapich"], "openmpi"),
            (&["--rounds", "5"], "from 6"),
            (&["--time", "nan"], "10 or more"),
            (&["--patience", "-1"], "0 or more"),
            (&["--launcher", "mpiexec"], "{worker}"),
        ] {
            let mistake = read(words).expect_err("is wrong");
            assert_eq!(mistake.exit_code(), 2);
            let said = mistake.to_string();
            let is_named = said.contains(words[0]);
            assert!(is_named && said.contains(right), "{words:?}: {said}");
        }
        let help = read(&["--help"]).expect_err("is help");
        assert_eq!((help.kind(), help.exit_code()), (ErrorKind::DisplayHelp, 0));
        assert!(help.to_string().contains("--same-input"));
    }
}
