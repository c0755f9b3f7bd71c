//! The arguments of `cargo xtask compare`, read and checked.

use crate::board;
use crate::cell::COLLECTIVES;
use crate::statistics::LEAST_ROUNDS;
use std::path::PathBuf;
use xtask::peers::PEERS;

/// What `cargo xtask compare --help` prints.
pub const HELP: &str = "\
cargo xtask compare [OPTION VALUE]...

Allhands beside MPICH, Open MPI and Intel MPI on this machine, in turns that are paired in time. The peers are fetched
with pip, once, into target/peers. A ratio is the peer's time by ours: above 1 Allhands is faster.

  --ranks 2,8            numbers of ranks
  --bytes 8,4K,1M        sizes: a block per rank or pair for gather, scatter, allgather and alltoall, the whole
                         vector otherwise
  --collectives A,B      only these
  --peers A,B            only these of mpich, openmpi, intel
  --rounds R             turns of each group in a cell (default 9)
  --time S               seconds for everything (default 900)
  --patience S           seconds to wait, in all, until nothing else runs (default half of --time)
  --quick                three sizes, 6 rounds, about two minutes
  --same-input           do not write new input before every call, as applications do
  --launcher 'WORDS'     what starts our ranks; {worker}, {ranks}, {allhands} and {bind} are replaced
  --json FILE            where the records go (default target/compare/compare.json)
  --dropin               instead of our own ranks: each peer with the drop-in preloaded beside the same peer without it
                         (with more ranks than cores: without it in the best of its settings, with it in the one that
                         gives every rank its core), with our own program and, for a third of the time, with Intel's
                         IMB-MPI1 (of --collectives and --bytes what it has); in the end, how much longer a call takes that
                         is left to the peer
  --before PATH          instead of peers: another checkout of this project, built there as released, by turns with this
                         one; its time by ours; with --dropin its drop-in beside ours under each peer; exit status 1 also
                         when the geometric mean is below 0.99, or a cell's whole interval below 0.95
  --simgrid              instead of all this: the simulator beside SimGrid's SMPI, which as root on Debian it installs;
                         the table and records go to target/compare/simgrid
  --lab                  instead of all this, as root: MPICH with and without the drop-in on emulated hosts (lab/README.md),
                         200 Mbit/s and 500 us; behind it --hosts 8,13, --rounds R, --repetitions N; about 10 minutes,
                         records in target/compare/lab.json; exit status 1 also when less is shown than is demanded
  --help                 print this

Exit status 1 when a result is wrong or one of our cells fails, 2 when the arguments are.
";

/// How our ranks are started: as processes that are bound to cores, several to each if there are not enough.
const LAUNCHER: &str = "{allhands} run -n {ranks} --bind turns -- {worker}";

/// What the user asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Arguments {
    /// Numbers of ranks.
    pub ranks: Vec<usize>,
    /// Sizes.
    pub bytes: Vec<usize>,
    /// Indices of [`COLLECTIVES`].
    pub collectives: Vec<usize>,
    /// Names of [`PEERS`].
    pub peers: Vec<&'static str>,
    /// Turns of each group in a cell.
    pub rounds: usize,
    /// Seconds for everything.
    pub seconds: f64,
    /// Seconds to wait until nothing else runs; none: half of them.
    pub patience: Option<f64>,
    /// Whether input is written before every call.
    pub fresh: bool,
    /// Whether the peers themselves, with the drop-in preloaded, stand in the place of our ranks.
    pub dropin: bool,
    /// Another checkout, in the place of the peers.
    pub before: Option<PathBuf>,
    /// The words that start our ranks.
    pub launcher: String,
    /// Where the records go, from the repository's root.
    pub json: PathBuf,
}

/// What is wrong with an argument.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mistake {
    /// An option that does not exist.
    #[error("there is no option `{0}`; cargo xtask compare --help lists them")]
    Unknown(String),
    /// An option without its value.
    #[error("{0} needs a value; cargo xtask compare --help shows one")]
    NoValue(String),
    /// A number of ranks that cannot be.
    #[error("--ranks {0}: type numbers from 2 to {most}, as in --ranks 2,8", most = board::RANKS)]
    Ranks(String),
    /// A size that cannot be.
    #[error("--bytes {0}: type sizes such as 8, 4K or 1M, up to 64M, in multiples of 8 bytes")]
    Bytes(String),
    /// A collective that does not exist.
    #[error("--collectives {0}: there are {all}", all = COLLECTIVES.join(", "))]
    Collective(String),
    /// A peer that does not exist.
    #[error("--peers {0}: there are {all}", all = PEERS.map(|peer| peer.name).join(", "))]
    Peer(String),
    /// Too few rounds.
    #[error(
        "--rounds {0}: type a number from {LEAST_ROUNDS}, the fewest that give a 95 % interval, to 1000"
    )]
    Rounds(String),
    /// No time.
    #[error("--time {0}: type seconds, 10 or more")]
    Time(String),
    /// No patience.
    #[error("--patience {0}: type seconds, 0 or more")]
    Patience(String),
    /// A launcher that does not start the worker.
    #[error(
        "--launcher '{0}': the words must have {{worker}} and {{ranks}} among them, as in '{LAUNCHER}'"
    )]
    Launcher(String),
}

impl Default for Arguments {
    fn default() -> Self {
        Self {
            ranks: vec![2, 8],
            bytes: [8, 64, 512, 1 << 10, 4 << 10, 16 << 10]
                .into_iter()
                .chain([64 << 10, 256 << 10, 1 << 20, 4 << 20])
                .collect(),
            collectives: (0..COLLECTIVES.len()).collect(),
            peers: PEERS.iter().map(|peer| peer.name).collect(),
            rounds: 9,
            seconds: 900.0,
            patience: None,
            fresh: true,
            dropin: false,
            before: None,
            launcher: LAUNCHER.to_owned(),
            json: PathBuf::from("target/compare/compare.json"),
        }
    }
}

impl Arguments {
    /// Reads what stands behind `cargo xtask compare`.
    ///
    /// # Errors
    /// The first mistake.
    pub fn parse(words: &[&str]) -> Result<Self, Mistake> {
        let mut own = Self::default();
        if words.contains(&"--quick") {
            own.bytes = vec![8, 4 << 10, 256 << 10];
            (own.rounds, own.seconds) = (LEAST_ROUNDS, 100.0);
        }
        let mut words = words.iter();
        while let Some(&option) = words.next() {
            match option {
                "--quick" => continue,
                "--same-input" => {
                    own.fresh = false;
                    continue;
                }
                "--dropin" => {
                    own.dropin = true;
                    continue;
                }
                _ if !option.starts_with("--") => return Err(Mistake::Unknown(option.to_owned())),
                _ => {}
            }
            let value = words.next().copied();
            own.set(option, value)?;
        }
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

    fn set(&mut self, option: &str, value: Option<&str>) -> Result<(), Mistake> {
        let known = [
            "--ranks",
            "--bytes",
            "--collectives",
            "--peers",
            "--rounds",
            "--time",
            "--patience",
            "--launcher",
            "--before",
            "--json",
        ];
        if !known.contains(&option) {
            return Err(Mistake::Unknown(option.to_owned()));
        }
        let value = value.ok_or_else(|| Mistake::NoValue(option.to_owned()))?;
        let wrong = |mistake: fn(String) -> Mistake| move || mistake(value.to_owned());
        match option {
            "--ranks" => self.ranks = list(value, ranks).ok_or_else(wrong(Mistake::Ranks))?,
            "--bytes" => self.bytes = list(value, bytes).ok_or_else(wrong(Mistake::Bytes))?,
            "--collectives" => {
                let index = |name: &str| COLLECTIVES.iter().position(|known| *known == name);
                self.collectives = list(value, index).ok_or_else(wrong(Mistake::Collective))?;
            }
            "--peers" => {
                let named = |name: &str| PEERS.iter().map(|p| p.name).find(|known| *known == name);
                self.peers = list(value, named).ok_or_else(wrong(Mistake::Peer))?;
            }
            "--rounds" => {
                let rounds = value.parse().ok();
                let fits = |rounds: &usize| (LEAST_ROUNDS..=1000).contains(rounds);
                self.rounds = rounds.filter(fits).ok_or_else(wrong(Mistake::Rounds))?;
            }
            "--time" => {
                let seconds = value.parse().ok();
                let fits = |seconds: &f64| (10.0..1e6).contains(seconds);
                self.seconds = seconds.filter(fits).ok_or_else(wrong(Mistake::Time))?;
            }
            "--patience" => {
                let seconds = value.parse().ok();
                let fits = |seconds: &f64| (0.0..1e6).contains(seconds);
                let seconds = seconds.filter(fits);
                self.patience = Some(seconds.ok_or_else(wrong(Mistake::Patience))?);
            }
            "--launcher" if value.contains("{worker}") && value.contains("{ranks}") => {
                self.launcher = value.to_owned();
            }
            "--launcher" => return Err(Mistake::Launcher(value.to_owned())),
            "--before" => self.before = Some(PathBuf::from(value)),
            _ => self.json = PathBuf::from(value),
        }
        Ok(())
    }
}

fn list<T: PartialEq>(text: &str, read: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    let values: Option<Vec<T>> = text.split(',').map(|part| read(part.trim())).collect();
    let mut values = values?;
    let mut at = 0;
    // What is typed twice is measured once.
    while at < values.len() {
        if values[..at].contains(&values[at]) {
            values.remove(at);
        } else {
            at += 1;
        }
    }
    Some(values)
}

fn ranks(text: &str) -> Option<usize> {
    let ranks = text.parse().ok()?;
    (2..=board::RANKS).contains(&ranks).then_some(ranks)
}

fn bytes(text: &str) -> Option<usize> {
    let (digits, unit) = match text.strip_suffix(['K', 'k']) {
        Some(digits) => (digits, 1 << 10),
        None => text
            .strip_suffix(['M', 'm'])
            .map_or((text, 1), |digits| (digits, 1 << 20)),
    };
    let bytes: usize = digits.parse::<usize>().ok()?.checked_mul(unit)?;
    (bytes > 0 && bytes.is_multiple_of(8) && bytes <= 64 << 20).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_quick_is_a_default_that_gives_way() {
        let words = ["--bytes", "8,1M", "--quick", "--ranks", "3,2,3"];
        let arguments = Arguments::parse(&words).expect("is right");
        assert_eq!(arguments.bytes, [8, 1 << 20]);
        assert_eq!(arguments.ranks, [3, 2]);
        assert_eq!(arguments.rounds, LEAST_ROUNDS);
        let words = ["--collectives", "exscan,barrier", "--peers", "intel"];
        let arguments = Arguments::parse(&words).expect("is right");
        assert_eq!(arguments.collectives, [10, 0]);
        assert_eq!(arguments.peers, ["intel"]);
        assert!(arguments.fresh);
        let arguments = Arguments::parse(&["--before", "../older"]).expect("is right");
        assert_eq!(arguments.before, Some(PathBuf::from("../older")));
        assert_eq!(arguments.sides(), [Vec::<&str>::new()]);
        let words = ["--dropin", "--peers", "mpich", "--before", "../older"];
        assert_eq!(
            Arguments::parse(&words).expect("is right").sides(),
            [["mpich"]]
        );
        assert_eq!(Arguments::parse(&[]), Ok(Arguments::default()));
    }

    #[test]
    fn mistakes_say_what_would_be_right() {
        for (words, right) in [
            (vec!["--rank", "2"], "--help"),
            (vec!["allreduce"], "--help"),
            (vec!["--ranks"], "needs a value"),
            (vec!["--before"], "needs a value"),
            (vec!["--ranks", "1"], "from 2 to 64"),
            (vec!["--ranks", "65"], "from 2 to 64"),
            (vec!["--bytes", "12"], "multiples of 8"),
            (vec!["--bytes", "0"], "multiples of 8"),
            (vec!["--bytes", "8,"], "multiples of 8"),
            (vec!["--collectives", "bcast"], "broadcast"),
            (vec!["--peers", "mvapich"], "openmpi"),
            (vec!["--rounds", "5"], "from 6"),
            (vec!["--time", "nan"], "10 or more"),
            (vec!["--patience", "-1"], "0 or more"),
            (vec!["--launcher", "mpiexec"], "{worker}"),
        ] {
            let mistake = Arguments::parse(&words).expect_err("is wrong").to_string();
            assert!(mistake.contains(right), "{words:?}: {mistake}");
        }
    }
}
