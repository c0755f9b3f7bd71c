//! The measurement: what two ranks find out about protocols by sending each other messages.

use super::{LENGTHS, Measured, Pattern, Protocols, Times};
use crate::operator::Max;
use crate::{Communicator, Error, operation};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long the measurement may take; lengths that are not reached keep the documented protocol.
pub const BUDGET: Duration = Duration::from_millis(50);

/// Calls of each kind that count, and calls before these which do not: they map the buffers, and bring the caches to where such calls
/// leave them.
pub(super) const CALLS: Calls = Calls {
    counted: 10,
    warm: 6,
};

/// The same of messages of [`LONG_LEAST`] bytes and more, which take most of the time.
const LONG_CALLS: Calls = Calls {
    counted: 4,
    warm: 1,
};

const LONG_LEAST: usize = 256 << 10;

/// Calls before all others: what is new to processor and system takes longer.
const FIRST_CALLS: usize = 32;

/// How many calls of a kind are made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Calls {
    pub(super) counted: usize,
    warm: usize,
}

impl Calls {
    /// Those of a first start.
    fn of_start(bytes: usize) -> Calls {
        match bytes < LONG_LEAST {
            true => CALLS,
            false => LONG_CALLS,
        }
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
    measure_by(
        comm,
        &LENGTHS.map(|(bytes, _)| bytes),
        Calls::of_start,
        budget,
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
        counted: rounds,
        ..CALLS
    };
    measure_by(comm, lengths, |_| calls, budget)
}

fn measure_by(
    comm: &Communicator,
    lengths: &[usize],
    calls: impl Fn(usize) -> Calls,
    budget: Duration,
) -> Result<Protocols, Error> {
    let before = comm.protocols();
    let t0 = Instant::now();
    let end = t0 + budget;
    let mut found = Protocols::default();
    // Mapped once: new pages would take longer than the messages.
    let most = lengths.iter().max().map_or(0, |bytes| 2 * bytes);
    let mut buffers = [(); 2].map(|()| vec![1; most / size_of::<u64>()]);
    if let Some(bytes) = lengths.first() {
        let mut first = Measurement::new(comm, Pattern::OneWay, *bytes, &mut buffers);
        (0..FIRST_CALLS).try_for_each(|_| first.call(true).map(drop))?;
    }
    for &bytes in lengths {
        for pattern in Pattern::ALL {
            if pattern.protocols(bytes).is_empty() {
                continue;
            }
            let repeats =
                Measurement::new(comm, pattern, bytes, &mut buffers).repeats(calls(bytes), end)?;
            let times = repeats.map(|repeats| Times::of(pattern, bytes, &repeats));
            found.times.extend(times);
        }
    }
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

    /// The times of so many calls by each protocol, with bytes that were sent before and with fresh ones, as the later of
    /// both ranks has them; none if there was no time for all of them.
    ///
    /// Calls of a kind come one after another, and the first count nothing: what the caches hold then is what such
    /// calls leave there, as in a program's loop.
    fn repeats(mut self, calls: Calls, end: Instant) -> Result<Option<Vec<[Vec<u64>; 2]>>, Error> {
        let protocols = self.pattern.protocols(self.bytes);
        let mut all = Vec::new();
        for protocol in protocols {
            self.comm.set_protocols(Measured::all(*protocol), true);
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
        let mut later = vec![0; all.len()];
        self.comm
            .run(operation::allreduce(&all, &mut later, &Max))?;
        let kinds: Vec<Vec<u64>> = later.chunks(calls.counted).map(<[u64]>::to_vec).collect();
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
