//! The protocols of this machine: which of them takes least for long messages, as two ranks have measured it at their first start.
//!
//! Where nothing is in the user's cache, and ranks have cores of their own, the first two ranks of a node send each other
//! messages of a few lengths by each protocol that could carry them, one way and both ways at once, with bytes that were just written
//! and with bytes that were sent before. The one that takes least becomes the choice, if it takes at least a twentieth less than
//! the [documented one](ROWS) and repeats agree; all of it within [`BUDGET`]. Rank 0 keeps the result
//! and tells the others, so that nobody decides by another file.

pub(crate) use self::measure::first_start;
pub use self::measure::{BUDGET, measure, measure_lengths};
use super::installed::folder;
use super::machine;
pub use crate::transport::shm::protocol::choose::{Measured, Message, Protocol, ROWS, Row, decide};
use crate::transport::shm::queue::ring::MEDIUM_BYTES;
use crate::transport::shm::tuning::MEDIUM_ALWAYS_MOST;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The lengths that are measured, and the classes of length that go by each.
const LENGTHS: [(usize, &[u32]); 6] = [
    (8 << 10, &[0]),
    (16 << 10, &[1]),
    (64 << 10, &[2, 3]),
    (256 << 10, &[4, 5]),
    (1 << 20, &[6, 7]),
    (2 << 20, &[8, 9, 10]),
];

/// How much sooner than the documented one another protocol has to be, in each half of the repeats.
const GAIN_LEAST: f64 = 1.05;

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
            _ if bytes <= MEDIUM_ALWAYS_MOST => &[],
            Pattern::OneWay if bytes <= MEDIUM_BYTES => {
                &[Protocol::Medium, Protocol::Bounce, Protocol::Direct]
            }
            Pattern::Exchanged if bytes <= MEDIUM_BYTES => &[],
            Pattern::OneWay => &[Protocol::Bounce, Protocol::Direct, Protocol::Assisted],
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
}

/// What is known of this machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Protocols {
    /// By pattern and length.
    pub times: Vec<Times>,
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
            let classes = LENGTHS.iter().find(|(bytes, _)| *bytes == times.bytes);
            for class in classes.map_or(&[][..], |(_, classes)| *classes) {
                *word = Measured::with(*word, *class, times.chosen);
            }
        }
        measured
    }

    /// What this machine's file says, if there is one that fits.
    #[must_use]
    pub fn read() -> Option<Protocols> {
        Protocols::parse(&std::fs::read_to_string(file()?).ok()?)
    }

    /// In the words of the file; none if these are of another machine, system or version, or cannot be understood.
    #[must_use]
    pub fn parse(text: &str) -> Option<Protocols> {
        let mut times: Vec<Times> = Vec::new();
        for line in text.strip_prefix(&head())?.lines() {
            let read = Times::parse(line)?;
            let is_same = |t: &Times| (t.pattern, t.bytes) == (read.pattern, read.bytes);
            if times.iter().any(is_same) {
                return None;
            }
            times.push(read);
        }
        Some(Protocols { times })
    }

    /// The words of the file.
    #[must_use]
    pub fn text(&self) -> String {
        let lines = self.times.iter().map(Times::line);
        head() + &lines.collect::<String>()
    }

    /// Puts it where the next start finds it, at once or not at all.
    fn write(&self, file: &Path) -> std::io::Result<()> {
        let new = file.with_extension(format!("{}.new", std::process::id()));
        let written = std::fs::write(&new, self.text()).and_then(|()| std::fs::rename(&new, file));
        written.inspect_err(|_| _ = std::fs::remove_file(&new))
    }
}

impl Times {
    /// As `one-way 65536 direct bounce=10.925/11.302 direct=3.731/8.064 assisted=11.520/11.743`.
    fn line(&self) -> String {
        let mut line = format!(
            "{} {} {}",
            self.pattern.name(),
            self.bytes,
            self.chosen.name()
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
        let is_measured = LENGTHS.iter().any(|(measured, _)| *measured == bytes);
        let protocol = |name: &str| {
            let mut all = pattern.protocols(bytes).iter().copied();
            all.find(|p| p.name() == name)
        };
        let chosen = protocol(words.next()?).filter(|_| is_measured)?;
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
        })
    }

    /// The times of all repeats, in nanoseconds, by protocol and by whether bytes are fresh, and what follows: the protocol that takes
    /// least, if both halves of the repeats say that it gains on the documented one.
    fn of(pattern: Pattern, bytes: usize, repeats: &[[Vec<u64>; 2]]) -> Times {
        let protocols = pattern.protocols(bytes);
        let times = |every: Every| -> Vec<f64> {
            let of = |both: &[Vec<u64>; 2]| together(both.each_ref().map(|ns| every.middle(ns)));
            repeats.iter().map(of).collect()
        };
        let documented = pattern.documented(bytes);
        let at = protocols
            .iter()
            .position(|p| *p == documented)
            .filter(|at| *at < repeats.len());
        let all = times(Every::One);
        let best = (0..all.len()).min_by(|a, b| all[*a].total_cmp(&all[*b]));
        let gains = |best: usize, documented: usize, every| {
            let times = times(every);
            times[best] * GAIN_LEAST < times[documented]
        };
        let chosen = match (best, at) {
            (Some(best), Some(at)) if Every::HALVES.iter().all(|h| gains(best, at, *h)) => {
                protocols[best]
            }
            _ => documented,
        };
        let us = |both: &[Vec<u64>; 2]| both.each_ref().map(|ns| Every::One.middle(ns) / 1e3);
        Times {
            pattern,
            bytes,
            us: protocols
                .iter()
                .copied()
                .zip(repeats.iter().map(us))
                .collect(),
            chosen,
        }
    }
}

/// Which repeats count.
#[derive(Clone, Copy, Debug)]
enum Every {
    One,
    Other { from: usize },
}

impl Every {
    const HALVES: [Every; 2] = [Every::Other { from: 0 }, Every::Other { from: 1 }];

    /// The middle one of those, or the lesser of two.
    fn middle(self, times_ns: &[u64]) -> f64 {
        let (from, step) = match self {
            Every::One => (0, 1),
            Every::Other { from } => (from, 2),
        };
        let mut times_ns: Vec<u64> = times_ns.iter().skip(from).step_by(step).copied().collect();
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
        "format 2\nmachine {}\nkernel {}\nversion {}\n",
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
    Known(Measured),
    /// Nothing, and it could be kept here.
    Missing(PathBuf),
    /// Nothing, and it could not be kept.
    Nowhere,
}

impl Found {
    /// What is known, if only that nothing is to be measured.
    pub(crate) fn measured(&self) -> Option<Measured> {
        match self {
            Found::Known(measured) => Some(*measured),
            Found::Missing(_) => None,
            Found::Nowhere => Some(Measured::default()),
        }
    }

    /// Where to keep what is measured.
    pub(crate) fn place(&self) -> Option<&Path> {
        match self {
            Found::Missing(file) => Some(file),
            Found::Known(_) | Found::Nowhere => None,
        }
    }

    pub(crate) fn here() -> Found {
        if let Some(known) = Protocols::read() {
            return Found::Known(known.measured());
        }
        let place = file().filter(|file| {
            file.parent().is_some_and(|folder| {
                std::fs::create_dir_all(folder).is_ok()
                    && rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok()
            })
        });
        place.map_or(Found::Nowhere, Found::Missing)
    }
}

mod measure;

#[cfg(all(test, not(loom)))]
mod tests;
