//! The pair: two ranks on different nodes, of which one asks for rounds of messages, and has the clock, and the other one answers.
//!
//! ```text
//! asks     rounds, messages, bytes, sleeps, rail ─▶   so many messages ─▶          so many messages ─▶          …    0 rounds ─▶
//! answers                                                              ◀─ busy ns                    ◀─ busy ns
//! ```

use super::link::{Link, ROOM};
use super::{Measured, NetworkTimes};
use crate::kernel::Kernel;
use crate::operator::Sum;
use crate::transport::net::NetworkError;
use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// The tag of all messages.
const TAG: u32 = 0;
/// The bytes of a short message.
const SHORT: usize = 8;
/// Round trips before any is measured: connections are made in the first.
const WARM_UP: usize = 3;
/// The fewest and the most round trips, and for how long there are more than the fewest.
const ROUND_TRIPS: (usize, usize) = (7, 21);
const SHORT_FOR: Duration = Duration::from_millis(5);
/// A message too long for any MPI to copy it into its header.
const MIDDLE: usize = 4 << 10;
/// What copying a byte may take, with which it is worth it if a message is on its way for longer; an assumption, about four times
/// what it does take.
const COPY_BYTE_NS: f64 = 0.4;
/// The longest message that is copied.
const COPIED_MOST: usize = 1 << 20;
/// The short messages of a train, and how many trains there are.
const TRAIN: usize = 50;
const TRAINS: usize = 3;
/// Messages of a train by which processors are seen to be busy, and how long its long ones are: about a segment of a pipeline.
const BUSY_TRAIN: usize = 8;
const SEGMENT: usize = 16 << 10;
/// By these the rate is guessed at first.
const GUESS: usize = 16 << 10;
/// The shortest and the longest long message, and how long one is to take. Both that are compared are beyond what any network
/// sends unasked.
const LONG: (usize, usize) = (96 << 10, ROOM / 2);
const LONG_FOR: Duration = Duration::from_millis(4);
/// On networks on which the shortest would take longer than that, shorter ones do.
const SLOW: Duration = Duration::from_millis(100);
/// The fewest and the most rounds of long messages, and for how long there are more than the fewest.
const LONG_ROUNDS: (usize, usize) = (2, 5);
const LONG_ROUNDS_FOR: Duration = Duration::from_millis(40);

/// Messages for which the other rank is asked.
#[derive(Clone, Copy, Debug)]
struct Request {
    /// How often there are so many messages and an answer.
    rounds: usize,
    messages: usize,
    bytes: usize,
    sleeps: bool,
    /// Over which rail alone all of that goes, counted from 1; 0: as any messages.
    rail: usize,
}

/// How many words say a request.
const WORDS: usize = 5;

/// What a round of them took.
struct Round {
    /// Until the answer was here.
    took_ns: f64,
    /// To begin the first message, and until its memory could be used again.
    began_ns: f64,
    kept_ns: f64,
    /// What processors were busy with the messages, at both ends together.
    busy_ns: f64,
}

/// The part of the rank that answers.
pub(super) fn answer(link: &mut Link<'_>, asks: u32) -> Result<(), NetworkError> {
    loop {
        let [rounds, messages, bytes, sleeps, rail] = link.receive_words::<WORDS>(asks, TAG)?;
        if rounds == 0 {
            return Ok(());
        }
        let (messages, bytes) = (messages as usize, bytes as usize);
        if messages.saturating_mul(bytes) > ROOM {
            return Err(NetworkError::Other("a measurement of another kind".into()));
        }
        link.sleeps = sleeps != 0;
        link.begin_on(rail as usize);
        for _ in 0..rounds {
            let begun_ns = processor_ns();
            let mut tickets = Vec::with_capacity(messages);
            for number in 0..messages {
                tickets.push(link.begin_receive(asks, TAG, (number * bytes, bytes))?);
            }
            for ticket in tickets {
                link.end(ticket)?;
            }
            let busy_ns = (processor_ns() - begun_ns).max(0.0) as u64;
            link.send(asks, TAG, &[busy_ns], SHORT)?;
        }
        link.end_on(rail as usize);
        link.sleeps = false;
    }
}

/// Has rounds of messages, each of which it measures.
fn rounds(link: &mut Link<'_>, peer: u32, request: Request) -> Result<Vec<Round>, NetworkError> {
    let Request {
        rounds,
        messages,
        bytes,
        sleeps,
        rail,
    } = request;
    let words = [rounds, messages, bytes, usize::from(sleeps), rail].map(|number| number as u64);
    link.send(peer, TAG, &words, size_of_val(&words))?;
    link.sleeps = sleeps;
    link.begin_on(rail);
    let mut all = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let (begun, begun_ns) = (Instant::now(), processor_ns());
        let mut tickets = Vec::with_capacity(messages);
        for _ in 0..messages {
            tickets.push(link.begin_send(peer, TAG, &[], bytes)?);
            if tickets.len() == 1 {
                all.push(Round {
                    took_ns: 0.0,
                    began_ns: ns(begun.elapsed()),
                    kept_ns: 0.0,
                    busy_ns: 0.0,
                });
            }
        }
        let mut kept_ns = 0.0;
        for (number, ticket) in tickets.into_iter().enumerate() {
            link.end(ticket)?;
            if number == 0 {
                kept_ns = ns(begun.elapsed());
            }
        }
        let busy_here_ns = processor_ns() - begun_ns;
        let [busy_there_ns] = link.receive_words(peer, TAG)?;
        if let Some(round) = all.last_mut() {
            round.took_ns = ns(begun.elapsed());
            round.kept_ns = kept_ns;
            round.busy_ns = busy_here_ns + busy_there_ns as f64;
        }
    }
    link.end_on(rail);
    link.sleeps = false;
    Ok(all)
}

/// The part of the rank that asks.
pub(super) fn ask(link: &mut Link<'_>, peer: u32) -> Result<Measured, NetworkError> {
    let trips = |rounds, bytes| trips(rounds, bytes, 0);
    let warm = rounds(link, peer, trips(WARM_UP, SHORT))?;
    let trip_ns = least(&warm, |round| round.took_ns).max(1.0);
    let (fewest, most) = ROUND_TRIPS;
    let many = (ns(SHORT_FOR) / trip_ns) as usize;
    let short = rounds(link, peer, trips(many.clamp(fewest, most), SHORT))?;
    // Both of the same round, in which the machine did least else: in others o may be more than that whole round.
    let all = short.iter();
    let quiet = all.min_by(|one, other| one.took_ns.total_cmp(&other.took_ns));
    let quiet = quiet.map_or((0.0, 0.0), |round| (round.took_ns, round.began_ns));
    let half_ns = quiet.0 / 2.0;
    let overhead_ns = quiet.1.min(half_ns / 2.0);
    let middle = rounds(link, peer, trips(many.clamp(3, most), MIDDLE))?;
    let is_kept = median(&middle, |round| round.kept_ns) > half_ns;
    let train = Request {
        messages: TRAIN,
        ..trips(TRAINS, SHORT)
    };
    let trains = rounds(link, peer, train)?;
    let gap_ns = (least(&trains, |round| round.took_ns) - 2.0 * half_ns).max(0.0) / TRAIN as f64;
    let long_overhead_ns = overhead_ns + more_busy_ns(link, peer)?;
    let byte_ns = byte_ns(link, (peer, 0), 2.0 * half_ns)?;
    end(link, peer)?;
    let times = NetworkTimes {
        latency_ns: half_ns - 2.0 * overhead_ns,
        overhead_ns,
        long_overhead_ns,
        burst_overhead_ns: overhead_ns,
        gap_ns,
        byte_ns,
        reduce_byte_ns: reduce_byte_ns(),
    };
    let worth_it = (half_ns / COPY_BYTE_NS) as usize;
    Ok(Measured {
        times,
        copied_most: match is_kept {
            true => worth_it.min(COPIED_MOST),
            false => 0,
        },
    })
}

/// What the rank that asks finds of each of several rails alone: how many bytes it carries in a second.
pub(super) fn ask_rails(
    link: &mut Link<'_>,
    peer: u32,
    rails: usize,
) -> Result<Vec<f64>, NetworkError> {
    let mut rates = Vec::with_capacity(rails);
    for rail in 1..=rails {
        let warm = rounds(link, peer, trips(WARM_UP, SHORT, rail))?;
        let trip_ns = least(&warm, |round| round.took_ns).max(1.0);
        rates.push(1e9 / byte_ns(link, (peer, rail), trip_ns)?);
    }
    end(link, peer)?;
    Ok(rates)
}

/// Says that there is no more to come.
fn end(link: &mut Link<'_>, peer: u32) -> Result<(), NetworkError> {
    let end = [0_u64; WORDS];
    link.send(peer, TAG, &end, size_of_val(&end)).map(|_| ())
}

/// So many rounds of one message.
fn trips(rounds: usize, bytes: usize, rail: usize) -> Request {
    Request {
        rounds,
        messages: 1,
        bytes,
        sleeps: false,
        rail,
    }
}

/// How much longer a processor is busy with a long message than with a short one, at each end. Whoever waits sleeps, so
/// that nothing else is counted.
fn more_busy_ns(link: &mut Link<'_>, peer: u32) -> Result<f64, NetworkError> {
    let mut busy_ns = |bytes| {
        let request = Request {
            rounds: 2,
            messages: BUSY_TRAIN,
            bytes,
            sleeps: true,
            rail: 0,
        };
        let all = rounds(link, peer, request)?;
        let busy_ns = least(&all, |round| round.busy_ns);
        Ok::<f64, NetworkError>(busy_ns / (2 * BUSY_TRAIN) as f64)
    };
    let (short_ns, long_ns) = (busy_ns(SHORT)?, busy_ns(SEGMENT)?);
    Ok((long_ns - short_ns).max(0.0))
}

/// G, where a short message goes to and fro in `trip_ns`.
fn byte_ns(
    link: &mut Link<'_>,
    (peer, rail): (u32, usize),
    trip_ns: f64,
) -> Result<f64, NetworkError> {
    let mut took_ns = |many, bytes| {
        let all = rounds(link, peer, trips(many, bytes, rail))?;
        Ok::<f64, NetworkError>(least(&all, |round| round.took_ns))
    };
    let guess_ns = (took_ns(2, GUESS)? - trip_ns).max(1.0) / GUESS as f64;
    let (shortest, longest) = LONG;
    let bytes = match guess_ns * shortest as f64 > ns(SLOW) {
        true => GUESS,
        false => ((ns(LONG_FOR) / guess_ns) as usize).clamp(shortest, longest),
    };
    let round_ns = 3.0 * guess_ns * bytes as f64 + 2.0 * trip_ns;
    let (fewest, most) = LONG_ROUNDS;
    let many = ((ns(LONG_ROUNDS_FOR) / round_ns) as usize).clamp(fewest, most);
    let more_ns = took_ns(many, 2 * bytes)? - took_ns(many, bytes)?;
    Ok(more_ns.max(0.0) / bytes as f64)
}

/// What combining a byte takes here: sums of floats that are in the cache.
fn reduce_byte_ns() -> f64 {
    const COUNT: usize = 16 << 10;
    const ROUNDS: usize = 9;
    let kernel = Kernel::of::<f32, _>(&Sum);
    let (left, mut right) = (vec![1f32; COUNT], vec![0f32; COUNT]);
    let out = right.as_mut_ptr().cast();
    let mut times = [0.0; ROUNDS];
    for time in &mut times {
        let begin = Instant::now();
        // SAFETY: both vectors hold so many floats, and the result is exactly the second one.
        unsafe { kernel.combine(left.as_ptr().cast(), out, out, COUNT) };
        *time = ns(begin.elapsed());
    }
    std::hint::black_box(&right);
    median(&times, |time| *time) / size_of_val(&left[..]) as f64
}

/// For how long this thread has had a processor.
fn processor_ns() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

fn ns(time: Duration) -> f64 {
    time.as_nanos() as f64
}

/// The least of some times, which is what others on the machine have disturbed the least.
fn least<T>(all: &[T], time: impl Fn(&T) -> f64) -> f64 {
    all.iter().map(time).fold(f64::INFINITY, f64::min)
}

/// The middle of some times; not a number if there are none.
fn median<T>(all: &[T], time: impl Fn(&T) -> f64) -> f64 {
    let mut times: Vec<f64> = all.iter().map(time).collect();
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}
