//! The measurement: what two ranks find out about protocols by sending each other messages.

use super::{Found, LACKS_COPIES, Measured, Pattern, Protocols, Times, copies, measured_at_first};
use crate::operator::Max;
use crate::transport::shm::tuning::{DISTURBED_LEAST_NS, MEDIUM_ALWAYS_MOST};
use crate::{Communicator, Error, operation};
use std::time::{Duration, Instant};

/// How long the measurement may take; lengths that are not reached keep the documented protocol.
pub const BUDGET: Duration = Duration::from_millis(50);

/// Calls of each kind that count in a round, and calls before these which do not: they map the buffers, and bring the caches to
/// where such calls leave them.
pub(super) const CALLS: Calls = Calls {
    counted: 5,
    warm: 4,
};

/// The same of messages of at most [`SHORT_MOST`] bytes, which take little.
const SHORT_CALLS: Calls = Calls {
    counted: 20,
    warm: 8,
};

const SHORT_MOST: usize = 16 << 10;

/// The length of the messages that show whether both ranks run.
const SHORTEST: usize = 2 << 10;

/// The same of messages of [`LONG_LEAST`] bytes and more, which take most of the time.
const LONG_CALLS: Calls = Calls {
    counted: 3,
    warm: 1,
};

const LONG_LEAST: usize = 256 << 10;

/// Rounds in which all kinds are measured: what disturbs one hardly lasts until the next.
pub(super) const ROUNDS: usize = 2;

/// Calls before all others: what is new to processor and system takes longer.
const FIRST_CALLS: usize = 32;

/// How many calls of a kind are made in a round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Calls {
    pub(super) counted: usize,
    warm: usize,
}

impl Calls {
    /// Those of a first start.
    fn of_start(bytes: usize) -> Calls {
        match bytes {
            ..=SHORT_MOST => SHORT_CALLS,
            LONG_LEAST.. => LONG_CALLS,
            _ => CALLS,
        }
    }
}

/// Has the first two ranks of `comm` measure what is lacking of what rank 0 has found, which all ranks call; rank 0 keeps it. Every
/// rank gets it.
pub(crate) fn first_start(comm: &Communicator, found: Found) -> Result<Measured, Error> {
    let two = comm.split((comm.rank() < 2).then_some(0), comm.rank() as u64)?;
    let (mut known, file) = match found {
        Found::Known(_) => (Protocols::default(), None),
        Found::Lacking(known, file) => (known, Some(file)),
    };
    if let Some(two) = two {
        let mut words = [known.lacks(), known.measured().one_way];
        two.run(operation::broadcast(&mut words, 0))?;
        let [lacks, one_way] = words;
        let before = Measured {
            one_way,
            exchanged: 0,
        };
        let wanted = measured_at_first()
            .enumerate()
            .filter(|(at, _)| lacks >> at & 1 == 1);
        let wanted: Vec<_> = wanted.map(|(_, kind)| kind).collect();
        // A start that finds the processors busy counts as none.
        if !is_disturbed(&two)? {
            let begun = Instant::now();
            let lacks_copies = lacks & LACKS_COPIES > 0;
            let copies = match lacks_copies {
                true => copies::measure(&two, BUDGET / 2)?,
                false => None,
            };
            let by = (Calls::of_start, BUDGET.saturating_sub(begun.elapsed()));
            let found = measure_by(&two, &wanted, before, by)?;
            known.update(Protocols { copies, ..found });
        }
        if let Some(file) = file {
            // Whoever cannot keep it measures again the next time.
            let _ = known.write(&file);
        }
    }
    let Measured { one_way, exchanged } = known.measured();
    let mut words = [one_way, exchanged];
    comm.run(operation::broadcast(&mut words, 0))?;
    let [one_way, exchanged] = words;
    Ok(Measured { one_way, exchanged })
}

/// Whether the two ranks of `comm`, both of which call this, do not run beside one another: then times are those of sleeping and of
/// being woken, or of other programs, and not of copies.
fn is_disturbed(comm: &Communicator) -> Result<bool, Error> {
    let (pattern, bytes) = (Pattern::OneWay, SHORTEST);
    let mut buffers = [(); 2].map(|()| vec![1; bytes / size_of::<u64>()]);
    let mut first = Measurement::new(comm, pattern, bytes, &mut buffers);
    let mut times_ns = Vec::new();
    for _ in 0..FIRST_CALLS {
        times_ns.push(first.call(false)?);
    }
    let later = &mut times_ns[FIRST_CALLS / 2..];
    later.sort_unstable();
    let (mine_ns, mut middle_ns) = ([later[later.len() / 2]], [0]);
    comm.run(operation::allreduce(&mine_ns, &mut middle_ns, &Max))?;
    Ok(middle_ns[0] >= DISTURBED_LEAST_NS)
}

/// Measures with the two ranks of `comm`, both of which call this, until rank 0's clock says that `budget` is used up. What the
/// ranks decide by is afterwards as it was.
///
/// # Errors
/// As any call.
pub fn measure(comm: &Communicator, budget: Duration) -> Result<Protocols, Error> {
    let wanted: Vec<_> = measured_at_first().collect();
    measure_by(
        comm,
        &wanted,
        Measured::default(),
        (Calls::of_start, budget),
    )
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
    let calls = Calls {
        counted: rounds.div_ceil(ROUNDS),
        ..CALLS
    };
    let kinds = |bytes: &usize| Pattern::ALL.map(|pattern| (pattern, *bytes));
    let mut wanted: Vec<_> = lengths.iter().flat_map(kinds).collect();
    wanted.retain(|(pattern, bytes)| !pattern.protocols(*bytes).is_empty());
    measure_by(comm, &wanted, Measured::default(), (|_| calls, budget))
}

/// Measures messages of the `wanted` patterns and lengths; how medium buffers are read is as it was `known` until that is measured.
fn measure_by(
    comm: &Communicator,
    wanted: &[(Pattern, usize)],
    known: Measured,
    (calls, budget): (impl Fn(usize) -> Calls, Duration),
) -> Result<Protocols, Error> {
    let before = comm.protocols();
    let end = Instant::now() + budget;
    let mut found = Protocols::default();
    // Mapped once: new pages would take longer than the messages.
    let most = wanted.iter().map(|(_, bytes)| 2 * bytes).max();
    let mut buffers = [(); 2].map(|()| vec![1; most.unwrap_or(0) / size_of::<u64>()]);
    if let Some((_, bytes)) = wanted.first() {
        let mut first = Measurement::new(comm, Pattern::OneWay, *bytes, &mut buffers);
        (0..FIRST_CALLS).try_for_each(|_| first.call(true).map(drop))?;
    }
    let mut read = known;
    for &(pattern, bytes) in wanted {
        let measured = match bytes {
            // This is how that is found out.
            ..=MEDIUM_ALWAYS_MOST => Measured::default(),
            _ => read,
        };
        let mut two = Measurement::new(comm, pattern, bytes, &mut buffers);
        let repeats = two.repeats(measured, calls(bytes), end)?;
        let times = repeats.map(|repeats| Times::of(pattern, bytes, &repeats));
        found.times.extend(times);
        if bytes <= MEDIUM_ALWAYS_MOST {
            read = found.measured();
        }
    }
    // Threads of one process decide by one word: nobody is to change it any more.
    comm.barrier()?;
    comm.set_protocols(before, false);
    Ok(found)
}

/// Two ranks that send each other messages of one length.
struct Measurement<'a> {
    comm: &'a Communicator,
    pattern: Pattern,
    bytes: usize,
    input: &'a mut [u64],
    output: &'a mut [u64],
}

impl Measurement<'_> {
    fn new<'a>(
        comm: &'a Communicator,
        pattern: Pattern,
        bytes: usize,
        buffers: &'a mut [Vec<u64>; 2],
    ) -> Measurement<'a> {
        let blocks = match pattern {
            Pattern::OneWay => 1,
            Pattern::Exchanged => 2,
        };
        let words = blocks * bytes / size_of::<u64>();
        let [input, output] = buffers.each_mut().map(|buffer| &mut buffer[..words]);
        Measurement {
            comm,
            pattern,
            bytes,
            input,
            output,
        }
    }

    /// The times of so many calls by each protocol, where it stands to choose, beside what was `measured` before, with bytes that were sent before and with fresh ones, as the later of
    /// both ranks has them; none if there was no time for all of them.
    ///
    /// Calls of a kind come one after another, and the first count nothing: what the caches hold then is what such
    /// calls leave there, as in a program's loop. The times of a kind are those of one round, and then those of the other.
    fn repeats(
        &mut self,
        measured: Measured,
        calls: Calls,
        end: Instant,
    ) -> Result<Option<Vec<[Vec<u64>; 2]>>, Error> {
        let protocols = self.pattern.protocols(self.bytes);
        let mut all = Vec::new();
        for _ in 0..ROUNDS {
            for protocol in protocols {
                self.comm.set_protocols(measured.all(*protocol), true);
                for fresh in [false, true] {
                    let mut goes_on = [u8::from(Instant::now() < end)];
                    self.comm.run(operation::broadcast(&mut goes_on, 0))?;
                    if goes_on == [0] {
                        return Ok(None);
                    }
                    for call in 0..calls.warm + calls.counted {
                        let time_ns = self.call(fresh)?;
                        all.extend((call >= calls.warm).then_some(time_ns));
                    }
                }
            }
        }
        let mut later = vec![0; all.len()];
        self.comm
            .run(operation::allreduce(&all, &mut later, &Max))?;
        let (first, second) = later.split_at(later.len() / ROUNDS);
        let rounds = first
            .chunks(calls.counted)
            .zip(second.chunks(calls.counted));
        let kinds: Vec<Vec<u64>> = rounds.map(|(one, other)| [one, other].concat()).collect();
        let (both, _) = kinds.as_chunks::<2>();
        Ok(Some(both.to_vec()))
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
                    0 => &mut *self.input,
                    _ => &mut *self.output,
                };
                self.comm
                    .run(operation::broadcast(message, 0).algorithm("binomial"))?;
            }
            Pattern::Exchanged => {
                let call = operation::alltoall(self.input, self.output);
                self.comm.run(call.algorithm("direct"))?;
            }
        }
        Ok(start.elapsed().as_nanos() as u64)
    }
}
