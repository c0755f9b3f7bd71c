//! The protocols of this machine: which of them takes least for long messages, as two ranks have measured it at their first start.
//!
//! Where nothing is in the user's cache, and ranks have cores of their own, the first two ranks of a node send each other
//! messages of a few lengths by each protocol that could carry them, one way and both ways at once, with bytes that were just written
//! and with bytes that were sent before. The one that takes least becomes the choice, if it takes at least a twentieth less than
//! the [documented one](ROWS) in each of two rounds; all of it within [`BUDGET`]. Rank 0 keeps the result
//! and tells the others, so that nobody decides by another file. What there was no time for, and of what the rounds differ, the next
//! starts measure again, to [`STARTS_MOST`] of them in all. A start at which the two do not run beside one another, as others have
//! their processors, measures nothing.

pub use self::copies::Copies;
use self::copies::LACKS_COPIES;
use self::measure::ROUNDS;
pub(crate) use self::measure::first_start;
pub use self::measure::{BUDGET, measure, measure_lengths};
use super::installed::folder;
use super::machine;
use crate::transport::shm::protocol::choose::MEDIUM_CLASS;
pub use crate::transport::shm::protocol::choose::{Measured, Message, Protocol, ROWS, Row, decide};
use crate::transport::shm::queue::ring::{EAGER_BYTES, MEDIUM_BYTES};
use crate::transport::shm::tuning::{BOUNCE_MOST, MEDIUM_ALWAYS_MOST, ONE_WAY_PIPELINED_BEYOND};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// A length that is measured, and the classes of length that go by it: of messages one way and of exchanged ones, none of which is
/// measured where nothing goes by it.
struct Measures {
    bytes: usize,
    one_way: &'static [u32],
    exchanged: &'static [u32],
}

const fn measures(bytes: usize, one_way: &'static [u32], exchanged: &'static [u32]) -> Measures {
    Measures {
        bytes,
        one_way,
        exchanged,
    }
}

const LENGTHS: [Measures; 8] = [
    measures(2 << 10, &[MEDIUM_CLASS], &[]),
    measures(8 << 10, &[0], &[]),
    measures(16 << 10, &[1], &[]),
    measures(64 << 10, &[2, 3], &[2, 3]),
    measures(256 << 10, &[4, 5], &[4, 5, 6]),
    measures(512 << 10, &[6], &[]),
    measures(1 << 20, &[7], &[7]),
    measures(2 << 20, &[8, 9, 10], &[8, 9, 10]),
];

impl Measures {
    fn classes(&self, pattern: Pattern) -> &'static [u32] {
        match pattern {
            Pattern::OneWay => self.one_way,
            Pattern::Exchanged => self.exchanged,
        }
    }
}

/// How much sooner than the documented one another protocol has to be, in each round.
const GAIN_LEAST: f64 = 1.05;

/// By how much the times of a protocol in both rounds may differ if nothing more is to be found out.
const AGREES_MOST: f64 = 1.1;

/// The number of the form in which it is written, in the cache as in a machine's file.
pub const FORMAT: u32 = 5;

/// Where what is measured begins in a file, which is TOML and may have other tables, as a machine's file has that `allhands calibrate`
/// has written.
const TABLE: &str = "[protocols]\n";

/// How many starts measure, at most.
pub const STARTS_MOST: u32 = 4;

/// The longest time of a message in microseconds that a file may have: so its products are numbers.
const TIME_MOST_US: f64 = 1e9;

/// How messages go between two ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// One way.
    OneWay,
    /// Both ways at once.
    Exchanged,
}

impl Pattern {
    /// Both.
    pub const ALL: [Pattern; 2] = [Pattern::OneWay, Pattern::Exchanged];

    /// Its name: `one-way` or `exchanged`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Pattern::OneWay => "one-way",
            Pattern::Exchanged => "exchanged",
        }
    }

    /// The protocols that could carry a message of this pattern and length, if it is more than one.
    #[must_use]
    pub fn protocols(self, bytes: usize) -> &'static [Protocol] {
        match self {
            _ if bytes <= EAGER_BYTES => &[],
            Pattern::OneWay if bytes <= MEDIUM_ALWAYS_MOST => {
                &[Protocol::Medium, Protocol::Unclaimed]
            }
            Pattern::OneWay if bytes <= MEDIUM_BYTES => {
                &[Protocol::Medium, Protocol::Bounce, Protocol::Direct]
            }
            Pattern::Exchanged if bytes <= MEDIUM_BYTES => &[],
            Pattern::OneWay if bytes <= ONE_WAY_PIPELINED_BEYOND => {
                &[Protocol::Bounce, Protocol::Direct, Protocol::Assisted]
            }
            Pattern::OneWay if bytes <= BOUNCE_MOST => &[
                Protocol::Bounce,
                Protocol::Direct,
                Protocol::Assisted,
                Protocol::Pipelined,
            ],
            Pattern::OneWay => &[Protocol::Direct, Protocol::Assisted, Protocol::Pipelined],
            Pattern::Exchanged => &[Protocol::Pipelined, Protocol::Direct],
        }
    }

    /// What carries such a message where nothing was measured.
    fn documented(self, bytes: usize) -> Protocol {
        let message = Message {
            exchanged: self == Pattern::Exchanged,
            ..Message::new(bytes)
        };
        decide(&message, Measured::default()).0
    }
}

/// What was measured of messages of one length.
#[derive(Clone, Debug, PartialEq)]
pub struct Times {
    /// How they went.
    pub pattern: Pattern,
    /// Their length in bytes.
    pub bytes: usize,
    /// The middle times of each protocol in microseconds, with bytes that were sent before and with fresh ones.
    pub us: Vec<(Protocol, [f64; 2])>,
    /// What was chosen.
    pub chosen: Protocol,
    /// Whether it need not be measured again.
    pub settled: bool,
}

/// What is known of this machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Protocols {
    /// How many starts have measured.
    pub starts: u32,
    /// By pattern and length.
    pub times: Vec<Times>,
    /// How copies of memory in nobody's cache are made, if that was measured.
    pub copies: Option<Copies>,
}

impl Protocols {
    /// What ranks decide by.
    #[must_use]
    pub fn measured(&self) -> Measured {
        let mut measured = Measured::default();
        for times in &self.times {
            let word = match times.pattern {
                Pattern::OneWay => &mut measured.one_way,
                Pattern::Exchanged => &mut measured.exchanged,
            };
            // What there was no time for of the longest goes by the next shorter ones, which come before.
            let is_of = |m: &&Measures| {
                let is_longest = times.bytes >= BOUNCE_MOST && m.bytes > times.bytes;
                m.bytes == times.bytes || is_longest
            };
            let measures = LENGTHS.iter().filter(is_of);
            for class in measures.flat_map(|m| m.classes(times.pattern)) {
                *word = Measured::with(*word, *class, times.chosen);
            }
        }
        measured.with_copies(self.copies.is_some_and(|copies| copies.ahead))
    }

    /// What this machine's file says, if there is one that fits.
    #[must_use]
    pub fn read() -> Option<Protocols> {
        Protocols::parse(&std::fs::read_to_string(file()?).ok()?)
    }

    /// In the words of the file; none if these are of another machine, system or version, or cannot be understood.
    #[must_use]
    pub fn parse(text: &str) -> Option<Protocols> {
        let at = match text.starts_with(TABLE) {
            true => 0,
            false => text.find(&format!("\n{TABLE}"))? + 1,
        };
        let (starts, lines) = text[at..].strip_prefix(&head())?.split_once('\n')?;
        let starts = starts.strip_prefix("starts = ")?.parse().ok()?;
        let (lines, _) = lines.strip_prefix("lines = [\n")?.split_once("]\n")?;
        let mut times: Vec<Times> = Vec::new();
        let mut copies = None;
        for line in lines.lines() {
            let line = line.strip_prefix(INDENT)?.strip_suffix("\",")?;
            if line.starts_with(copies::COPY) && copies.is_none() {
                copies = Some(Copies::parse(line)?);
                continue;
            }
            let read = Times::parse(line)?;
            let is_same = |t: &Times| (t.pattern, t.bytes) == (read.pattern, read.bytes);
            if times.iter().any(is_same) {
                return None;
            }
            times.push(read);
        }
        Some(Protocols {
            starts,
            times,
            copies,
        })
    }

    /// The words of the file.
    #[must_use]
    pub fn text(&self) -> String {
        let copies = self.copies.iter().map(Copies::line);
        let lines = copies.chain(self.times.iter().map(Times::line));
        let lines = lines.map(|line| format!("{INDENT}{}\",\n", line.trim_end()));
        format!(
            "{}starts = {}\nlines = [\n{}]\n",
            head(),
            self.starts,
            lines.collect::<String>()
        )
    }

    /// What is still to be measured: one bit for each pattern of each of the [lengths](LENGTHS), and [`LACKS_COPIES`].
    fn lacks(&self) -> u64 {
        let is_settled = |pattern, bytes| {
            let mut all = self.times.iter();
            all.any(|t| (t.pattern, t.bytes) == (pattern, bytes) && t.settled)
        };
        let lacks = |(at, (pattern, bytes)): (usize, (Pattern, usize))| {
            u64::from(!is_settled(pattern, bytes)) << at
        };
        let lacks_copies = match self.copies {
            Some(_) => 0,
            None => LACKS_COPIES,
        };
        match self.starts < STARTS_MOST {
            true => lacks_copies + measured_at_first().enumerate().map(lacks).sum::<u64>(),
            false => 0,
        }
    }

    /// Takes over what was measured anew, at one more start.
    fn update(&mut self, new: Protocols) {
        let is_new = |t: &Times| {
            new.times
                .iter()
                .any(|n| (n.pattern, n.bytes) == (t.pattern, t.bytes))
        };
        self.times.retain(|t| !is_new(t));
        self.copies = new.copies.or(self.copies);
        self.times.extend(new.times);
        self.times
            .sort_by_key(|t| (t.bytes, t.pattern == Pattern::Exchanged));
        self.starts += 1;
    }

    /// Puts it where the next start finds it, at once or not at all.
    fn write(&self, file: &Path) -> std::io::Result<()> {
        let new = file.with_extension(format!("{}.new", std::process::id()));
        let written = std::fs::write(&new, self.text()).and_then(|()| std::fs::rename(&new, file));
        written.inspect_err(|_| _ = std::fs::remove_file(&new))
    }
}

impl Times {
    /// As `one-way 65536 direct settled bounce=10.925/11.302 direct=3.731/8.064 assisted=11.520/11.743`.
    fn line(&self) -> String {
        let mut line = format!(
            "{} {} {} {}",
            self.pattern.name(),
            self.bytes,
            self.chosen.name(),
            if self.settled { SETTLED } else { OPEN },
        );
        for (protocol, [same, fresh]) in &self.us {
            // Writing to a string does not fail.
            let _ = write!(line, " {}={same:.3}/{fresh:.3}", protocol.name());
        }
        line + "\n"
    }

    fn parse(line: &str) -> Option<Times> {
        let mut words = line.split(' ');
        let name = words.next()?;
        let pattern = Pattern::ALL.into_iter().find(|p| p.name() == name)?;
        let bytes: usize = words.next()?.parse().ok()?;
        let is_measured = measured_at_first().any(|kind| kind == (pattern, bytes));
        let protocol = |name: &str| {
            let mut all = pattern.protocols(bytes).iter().copied();
            all.find(|p| p.name() == name)
        };
        let chosen = protocol(words.next()?).filter(|_| is_measured)?;
        let settled = match words.next()? {
            SETTLED => true,
            OPEN => false,
            _ => return None,
        };
        let time = |word: &str| {
            let (name, us) = word.split_once('=')?;
            let (same, fresh) = us.split_once('/')?;
            let is_time = |us: &f64| (0.0..=TIME_MOST_US).contains(us);
            let number = |us: &str| us.parse().ok().filter(is_time);
            Some((protocol(name)?, [number(same)?, number(fresh)?]))
        };
        let us = words.map(time).collect::<Option<_>>()?;
        Some(Times {
            pattern,
            bytes,
            us,
            chosen,
            settled,
        })
    }

    /// The times of all repeats, in nanoseconds, by protocol and by whether bytes are fresh, those of one round after those of the
    /// other, and what follows: the protocol that takes least, if both rounds say that it gains on the documented one.
    fn of(pattern: Pattern, bytes: usize, repeats: &[[Vec<u64>; 2]]) -> Times {
        let protocols = pattern.protocols(bytes);
        let times = |of_which: Repeats| -> Vec<f64> {
            let of = |both: &[Vec<u64>; 2]| together(both.each_ref().map(|ns| of_which.middle(ns)));
            repeats.iter().map(of).collect()
        };
        let documented = pattern.documented(bytes);
        let at = protocols
            .iter()
            .position(|p| *p == documented)
            .filter(|at| *at < repeats.len());
        let all = times(Repeats::All);
        let best = (0..all.len()).min_by(|a, b| all[*a].total_cmp(&all[*b]));
        let gains = |best: usize, documented: usize, of_which| {
            let times = times(of_which);
            times[best] * GAIN_LEAST < times[documented]
        };
        // Of each round, whether it says that the best one gains.
        let says = match (best, at) {
            (Some(best), Some(at)) => {
                Repeats::ROUNDS.map(|round| gains(best, at, round).then_some(best))
            }
            _ => [None; ROUNDS],
        };
        let chosen = match says {
            [Some(best), Some(_)] => protocols[best],
            _ => documented,
        };
        let rounds = Repeats::ROUNDS.map(times);
        let agree = |(one, other): (&f64, &f64)| one.max(*other) <= AGREES_MOST * one.min(*other);
        let are_alike = says[0] == says[1] && rounds[0].iter().zip(&rounds[1]).all(agree);
        let settled = chosen != documented || are_alike;
        let us = |both: &[Vec<u64>; 2]| both.each_ref().map(|ns| Repeats::All.middle(ns) / 1e3);
        Times {
            pattern,
            bytes,
            us: protocols
                .iter()
                .copied()
                .zip(repeats.iter().map(us))
                .collect(),
            chosen,
            settled,
        }
    }
}

/// What stands before the words of a line.
const INDENT: &str = "    \"";

/// How a line says that something need not be measured again, or may be.
const SETTLED: &str = "settled";
const OPEN: &str = "open";

/// The patterns and lengths of the messages that are measured at a first start.
fn measured_at_first() -> impl Iterator<Item = (Pattern, usize)> {
    let kinds = |m: &'static Measures| {
        let measured = Pattern::ALL
            .into_iter()
            .filter(|p| !m.classes(*p).is_empty());
        measured.map(|pattern| (pattern, m.bytes))
    };
    LENGTHS.iter().flat_map(kinds)
}

/// Which repeats count.
#[derive(Clone, Copy, Debug)]
enum Repeats {
    All,
    OfRound(usize),
}

impl Repeats {
    const ROUNDS: [Repeats; ROUNDS] = [Repeats::OfRound(0), Repeats::OfRound(1)];

    /// The middle one of those, or the lesser of two.
    fn middle(self, times_ns: &[u64]) -> f64 {
        let of_round = times_ns.len() / ROUNDS;
        let mut times_ns = match self {
            Repeats::All => times_ns.to_vec(),
            Repeats::OfRound(round) => times_ns[round * of_round..][..of_round].to_vec(),
        };
        times_ns.sort_unstable();
        let middle = times_ns.get(times_ns.len().saturating_sub(1) / 2);
        middle.map_or(f64::MAX, |ns| *ns as f64)
    }
}

/// What both times of a protocol come to: the root of their product, so that neither way of sending counts more.
#[must_use]
pub fn together([same, fresh]: [f64; 2]) -> f64 {
    (same * fresh).sqrt()
}

/// What stands at the start of a file that is this machine's, this system's and this version's.
fn head() -> String {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!(
        "{TABLE}format = {FORMAT}\nmachine = {:?}\nkernel = {:?}\nversion = {:?}\n",
        machine(),
        kernel.trim(),
        env!("CARGO_PKG_VERSION"),
    )
}

/// Where this machine's file is: `protocols-<machine>-<version>` in the folder `allhands` of the user's cache.
#[must_use]
pub fn file() -> Option<PathBuf> {
    let name = format!("protocols-{}-{}", machine(), env!("CARGO_PKG_VERSION"));
    Some(folder()?.join(name))
}

/// What rank 0 has found out before the ranks agree.
pub(crate) enum Found {
    /// All that is to be known, if only that nothing can be kept here.
    Known(Measured),
    /// Not all, and what is measured can be kept in this file.
    Lacking(Protocols, PathBuf),
}

impl Found {
    /// What the ranks decide by, if nothing is to be measured.
    pub(crate) fn measured(&self) -> Option<Measured> {
        match self {
            Found::Known(measured) => Some(*measured),
            Found::Lacking(..) => None,
        }
    }

    /// What is known here, to ranks with cores of their own.
    pub(crate) fn here() -> Found {
        let known = Protocols::read().unwrap_or_default();
        let place = file().filter(|file| {
            known.lacks() > 0
                && file.parent().is_some_and(|folder| {
                    std::fs::create_dir_all(folder).is_ok()
                        && rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok()
                })
        });
        match place {
            Some(file) => Found::Lacking(known, file),
            None => Found::Known(known.measured()),
        }
    }

    /// What `known` says to ranks that share cores, where nothing is measured.
    pub(crate) fn where_cores_are_shared(known: Option<Protocols>) -> Found {
        Found::Known(known.unwrap_or_default().where_cores_are_shared())
    }
}

mod copies;
mod measure;
mod shared_cores;

#[cfg(all(test, not(loom)))]
mod tests;
