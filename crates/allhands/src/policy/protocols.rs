//! The protocols of this machine: which of them takes least for long messages, as two ranks have measured it at their first start.
//!
//! Where nothing is in the user's cache, and ranks have cores of their own, the first two ranks of a node send each other
//! messages of a few lengths by each protocol that could carry them, one way and both ways at once, with bytes that were just written
//! and with bytes that were sent before. The one that takes least becomes the choice, if it takes at least a twentieth less than
//! the [documented one](ROWS) and repeats agree; all of it within [`BUDGET`]. Rank 0 keeps the result
//! and tells the others, so that nobody decides by another file.

use super::installed::folder;
use super::machine;
use crate::operator::Max;
pub use crate::transport::shm::protocol::choose::{Measured, Message, Protocol, ROWS, Row, decide};
use crate::{Communicator, Error, operation};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long the measurement may take; lengths that are not reached keep the documented protocol.
pub const BUDGET: Duration = Duration::from_millis(50);

/// The lengths that are measured, and the classes of length that go by each.
const LENGTHS: [(usize, [u32; 2]); 4] = [
    (64 << 10, [0, 1]),
    (256 << 10, [2, 3]),
    (1 << 20, [4, 5]),
    (2 << 20, [6, 7]),
];

/// Calls of each kind, after one that counts nothing: it maps the buffers.
const ROUNDS: usize = 6;

/// How much two halves of the repeats may differ.
const SPREAD_MOST: f64 = 1.1;

/// How much sooner than the documented one another protocol has to be.
const GAIN_LEAST: f64 = 1.05;

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

    /// The protocols that could carry a message of this pattern that is longer than a medium buffer.
    #[must_use]
    pub fn protocols(self) -> &'static [Protocol] {
        match self {
            Pattern::OneWay => &[Protocol::Bounce, Protocol::Direct],
            Pattern::Exchanged => &[Protocol::Pipelined, Protocol::Direct],
        }
    }

    /// What carries such a message where nothing was measured.
    fn documented(self, bytes: usize) -> Protocol {
        let message = Message {
            bytes,
            oversubscribed: false,
            exchanged: self == Pattern::Exchanged,
            mapped: false,
            may_attach: true,
            streams: false,
            alone: true,
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
    /// The middle time of each protocol in microseconds: the root of the product of that with fresh bytes and that with bytes
    /// that were sent before.
    pub us: Vec<(Protocol, f64)>,
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
            for class in classes.map_or(&[][..], |(_, classes)| classes) {
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
    fn parse(text: &str) -> Option<Protocols> {
        let rest = text.strip_prefix(&head())?;
        let times = rest.lines().map(Times::parse).collect::<Option<_>>()?;
        Some(Protocols { times })
    }

    fn text(&self) -> String {
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
    /// As `one-way 65536 direct bounce=10.925 direct=8.731`.
    fn line(&self) -> String {
        let mut line = format!(
            "{} {} {}",
            self.pattern.name(),
            self.bytes,
            self.chosen.name()
        );
        for (protocol, us) in &self.us {
            // Writing to a string does not fail.
            let _ = write!(line, " {}={us:.3}", protocol.name());
        }
        line + "\n"
    }

    fn parse(line: &str) -> Option<Times> {
        let mut words = line.split(' ');
        let name = words.next()?;
        let pattern = Pattern::ALL.into_iter().find(|p| p.name() == name)?;
        let bytes = words.next()?.parse().ok()?;
        let protocol = |name: &str| {
            let mut all = pattern.protocols().iter().copied();
            all.find(|p| p.name() == name)
        };
        let chosen = protocol(words.next()?)?;
        let time = |word: &str| {
            let (name, us) = word.split_once('=')?;
            Some((
                protocol(name)?,
                us.parse().ok().filter(|us: &f64| us.is_finite())?,
            ))
        };
        let us = words.map(time).collect::<Option<_>>()?;
        Some(Times {
            pattern,
            bytes,
            us,
            chosen,
        })
    }

    /// The times of all repeats, in nanoseconds, by protocol and by whether bytes are fresh; none if no protocol's can be trusted.
    fn of(pattern: Pattern, bytes: usize, repeats: &[[Vec<u64>; 2]]) -> Times {
        let protocols = pattern.protocols().iter().copied();
        let us: Vec<(Protocol, f64)> = protocols
            .zip(repeats)
            .map(|(protocol, both)| {
                (
                    protocol,
                    both.each_ref()
                        .map(|t| middle(t))
                        .iter()
                        .product::<f64>()
                        .sqrt()
                        / 1e3,
                )
            })
            .collect();
        let documented = pattern.documented(bytes);
        let trusted = |protocol: Protocol| {
            let at = us.iter().position(|(p, _)| *p == protocol);
            at.is_some_and(|at| repeats[at].iter().all(|t| agree(t)))
        };
        let time = |protocol| {
            us.iter()
                .find(|(p, _)| *p == protocol)
                .map_or(f64::MAX, |(_, us)| *us)
        };
        let best = us
            .iter()
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .map_or(documented, |(p, _)| *p);
        let gains = time(best) * GAIN_LEAST < time(documented);
        let chosen = match gains && trusted(best) && trusted(documented) {
            true => best,
            false => documented,
        };
        Times {
            pattern,
            bytes,
            us,
            chosen,
        }
    }
}

/// The middle one.
fn middle(times_ns: &[u64]) -> f64 {
    let mut times_ns = times_ns.to_vec();
    times_ns.sort_unstable();
    times_ns
        .get(times_ns.len() / 2)
        .map_or(f64::MAX, |ns| *ns as f64)
}

/// Whether repeats say the same: the middle of every other one and that of the rest.
fn agree(times_ns: &[u64]) -> bool {
    let half = |from: usize| {
        let every: Vec<u64> = times_ns.iter().skip(from).step_by(2).copied().collect();
        middle(&every)
    };
    let (even, odd) = (half(0), half(1));
    even.max(odd) <= SPREAD_MOST * even.min(odd)
}

/// What stands at the start of a file that is this machine's, this system's and this version's.
fn head() -> String {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!(
        "format 1\nmachine {}\nkernel {}\nversion {}\n",
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
    /// Whether to measure, and what is known otherwise: to be told to other ranks.
    pub(crate) fn words(&self) -> [u64; 3] {
        match self {
            Found::Known(Measured { one_way, exchanged }) => [0, *one_way, *exchanged],
            Found::Missing(_) => [1, 0, 0],
            Found::Nowhere => [0; 3],
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

/// Has the first two ranks of `comm` measure, which all ranks call; rank 0 keeps the result in `file`. Every rank gets it.
pub(crate) fn first_start(comm: &Communicator, file: Option<&Path>) -> Result<Measured, Error> {
    let two = comm.split((comm.rank() < 2).then_some(0), comm.rank() as u64)?;
    let mut words = [0; 2];
    if let Some(two) = two {
        let found = measure(&two, BUDGET)?;
        let Measured { one_way, exchanged } = found.measured();
        words = [one_way, exchanged];
        if let Some(file) = file {
            // Whoever cannot keep it measures again the next time.
            let _ = found.write(file);
        }
    }
    comm.run(operation::broadcast(&mut words, 0))?;
    let [one_way, exchanged] = words;
    Ok(Measured { one_way, exchanged })
}

/// Measures with the two ranks of `comm`, both of which call this, until rank 0's clock says that `budget` is used up. What the
/// ranks decide by is afterwards as it was.
///
/// # Errors
/// As any call.
pub fn measure(comm: &Communicator, budget: Duration) -> Result<Protocols, Error> {
    measure_lengths(comm, &LENGTHS.map(|(bytes, _)| bytes), (ROUNDS, budget))
}

/// As [`measure`], of messages of other lengths, with so many calls of each kind.
///
/// # Errors
/// As any call.
pub fn measure_lengths(
    comm: &Communicator,
    lengths: &[usize],
    (rounds, budget): (usize, Duration),
) -> Result<Protocols, Error> {
    let before = comm.protocols();
    let end = Instant::now() + budget;
    let mut found = Protocols::default();
    for &bytes in lengths {
        for pattern in Pattern::ALL {
            let repeats = Trial::new(comm, pattern, bytes).repeats(rounds, end)?;
            let times = repeats.map(|repeats| Times::of(pattern, bytes, &repeats));
            found.times.extend(times);
        }
    }
    comm.set_protocols(before, false);
    Ok(found)
}

/// Two ranks that send each other messages of one length.
struct Trial<'a> {
    comm: &'a Communicator,
    pattern: Pattern,
    input: Vec<u64>,
    output: Vec<u64>,
}

impl Trial<'_> {
    fn new(comm: &Communicator, pattern: Pattern, bytes: usize) -> Trial<'_> {
        let blocks = match pattern {
            Pattern::OneWay => 1,
            Pattern::Exchanged => 2,
        };
        let words = blocks * bytes / size_of::<u64>();
        let [input, output] = [vec![1; words], vec![1; words]];
        Trial {
            comm,
            pattern,
            input,
            output,
        }
    }

    /// The times of so many calls by each protocol, with bytes that were sent before and with fresh ones, as the later of
    /// both ranks has them; none if there was no time for all of them.
    fn repeats(mut self, rounds: usize, end: Instant) -> Result<Option<Vec<[Vec<u64>; 2]>>, Error> {
        let protocols = self.pattern.protocols();
        let mut all = Vec::new();
        for _ in 0..=rounds {
            let mut goes_on = [u8::from(Instant::now() < end)];
            self.comm.run(operation::broadcast(&mut goes_on, 0))?;
            if goes_on == [0] {
                return Ok(None);
            }
            for protocol in protocols {
                self.comm.set_protocols(Measured::all(*protocol), true);
                all.push(self.call(false)?);
                all.push(self.call(true)?);
            }
        }
        let mut later = vec![0; all.len()];
        self.comm
            .run(operation::allreduce(&all, &mut later, &Max))?;
        // The first round mapped the buffers.
        let counted = &later[2 * protocols.len()..];
        let of = |kind: usize| {
            counted
                .iter()
                .skip(kind)
                .step_by(2 * protocols.len())
                .copied()
        };
        let each = (0..protocols.len()).map(|p| [of(2 * p).collect(), of(2 * p + 1).collect()]);
        Ok(Some(each.collect()))
    }

    /// The time of one call in nanoseconds.
    fn call(&mut self, fresh: bool) -> Result<u64, Error> {
        if fresh {
            self.input
                .iter_mut()
                .for_each(|word| *word = word.wrapping_add(1));
        }
        self.comm.barrier()?;
        let start = Instant::now();
        match self.pattern {
            Pattern::OneWay => {
                let message = match self.comm.rank() {
                    0 => &mut self.input,
                    _ => &mut self.output,
                };
                self.comm
                    .run(operation::broadcast(message, 0).algorithm("binomial"))?;
            }
            Pattern::Exchanged => {
                let call = operation::alltoall(&self.input, &mut self.output);
                self.comm.run(call.algorithm("direct"))?;
            }
        }
        Ok(start.elapsed().as_nanos() as u64)
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
