//! Measures what messages between two ranks take one way: `message_latency [shm|tcp]` on threads, or without it, on the ranks of a world.
//!
//! Two ranks send each other messages of 8 bytes, 4 KB and 1 MB to and fro; half of a round is one way. The median of some batches is
//! printed, and the quickest one.
//!
//! `message_latency trips BYTES SECONDS` prints the microseconds of one way alone, the median of single rounds;
//! `message_latency stream BYTES SECONDS` what long messages one way come to, 4 MiB of them under way and two at least: GB a second, and
//! the nanoseconds of all processors that a byte takes at both ends. So `cargo xtask lab --plain` runs it.
//!
//! Run: `cargo run --release -p allhands --example message_latency -- shm`, or
//! `allhands run -n 2 -- target/release/examples/message_latency`

use allhands::net::Places;
use allhands::net::tcp::{Loopback, Settings};
use allhands::{Communicator, Error, ScopedMessage, Sum, threads};
use std::collections::VecDeque;
use std::time::Instant;

/// Lengths in bytes, and rounds of a batch.
const CASES: [(usize, usize); 3] = [(8, 20_000), (4 << 10, 10_000), (1 << 20, 200)];
const BATCHES: usize = 21;
/// How much goes to and fro, or one way, between two looks at the clock.
const TRIPS_AT_ONCE: usize = 1000;
const BYTES_AT_ONCE: usize = 64 << 20;
/// How much is under way at once, and two messages at least: about what the system keeps for a socket.
const BYTES_UNDER_WAY: usize = 4 << 20;

/// The microseconds that one way takes, of each batch in order.
fn batches(comm: &Communicator, bytes: usize, rounds: usize) -> Result<Vec<f64>, Error> {
    let (sent, mut received) = (vec![1u8; bytes], vec![0u8; bytes]);
    let mut times = Vec::with_capacity(BATCHES);
    for _ in 0..BATCHES {
        comm.barrier()?;
        let start = Instant::now();
        for _ in 0..rounds {
            match comm.rank() {
                0 => {
                    comm.send(&sent, 1, 0)?;
                    comm.recv(&mut received, 1, 0)?;
                }
                1 => {
                    comm.recv(&mut received, 0, 0)?;
                    comm.send(&sent, 0, 0)?;
                }
                _ => break,
            }
        }
        times.push(start.elapsed().as_secs_f64() * 1e6 / (2 * rounds) as f64);
    }
    assert_eq!(
        received,
        if comm.rank() < 2 {
            sent
        } else {
            vec![0; bytes]
        }
    );
    times.sort_by(f64::total_cmp);
    Ok(times)
}

fn measure(comm: &Communicator) -> Result<(), Error> {
    for (bytes, rounds) in CASES {
        let times = batches(comm, bytes, rounds)?;
        if comm.rank() == 0 {
            let (median, least) = (times[BATCHES / 2], times[0]);
            println!("{bytes:8} bytes: {median:8.2} µs one way, at least {least:.2}");
        }
    }
    Ok(())
}

/// Half of a round, in microseconds: the median of all that are begun in so many seconds.
fn trips(comm: &Communicator, bytes: usize, seconds: f64) -> Result<f64, Error> {
    let (sent, mut received) = (vec![1u8; bytes], vec![0u8; bytes]);
    let (begun, mut times) = (Instant::now(), Vec::new());
    while goes_on(comm, begun, seconds)? {
        for _ in 0..TRIPS_AT_ONCE {
            let start = Instant::now();
            match comm.rank() {
                0 => {
                    comm.send(&sent, 1, 0)?;
                    comm.recv(&mut received, 1, 0)?;
                }
                1 => {
                    comm.recv(&mut received, 0, 0)?;
                    comm.send(&sent, 0, 0)?;
                }
                _ => break,
            }
            times.push(start.elapsed().as_secs_f64() * 1e6 / 2.0);
        }
    }
    times.sort_by(f64::total_cmp);
    Ok(times.get(times.len() / 2).copied().unwrap_or(f64::NAN))
}

/// Whether rank 0 says that there is time left.
fn goes_on(comm: &Communicator, begun: Instant, seconds: f64) -> Result<bool, Error> {
    let is_left = u8::from(begun.elapsed().as_secs_f64() < seconds);
    Ok(comm.broadcast_value(is_left, 0)? == 1)
}

/// GB a second, and the nanoseconds that a byte takes of the processors at both ends.
fn stream(comm: &Communicator, bytes: usize, seconds: f64) -> Result<[f64; 2], Error> {
    let mut memory = [0, 1].map(|_| vec![1u8; bytes]);
    let mut taken = [0.0; 2];
    // First for a while that is not counted: memory is touched, and the connection finds its rate.
    for lasts in [seconds / 4.0, seconds] {
        comm.barrier()?;
        let (begun, begun_ns, mut count) = (Instant::now(), processor_ns(), 0);
        while goes_on(comm, begun, lasts)? {
            let messages = (BYTES_AT_ONCE / bytes.max(1)).max(2);
            memory = one_way(comm, memory, messages)?;
            count += messages;
        }
        let took_ns = begun.elapsed().as_secs_f64() * 1e9;
        let used_ns = comm.allreduce_value(processor_ns() - begun_ns, Sum)?;
        let all = (count * bytes) as f64;
        taken = [all / took_ns, used_ns as f64 / all];
    }
    Ok(taken)
}

/// Messages from rank 0 to rank 1, as between sockets: from the same memory again and again, as many under way as a socket would keep,
/// and into two places in turn.
fn one_way(
    comm: &Communicator,
    [mut memory, mut other]: [Vec<u8>; 2],
    messages: usize,
) -> Result<[Vec<u8>; 2], Error> {
    match comm.rank() {
        0 => {
            let most = (BYTES_UNDER_WAY / memory.len().max(1)).max(2);
            comm.scope(|scope| {
                let mut under_way = VecDeque::with_capacity(most);
                for _ in 0..messages {
                    if under_way.len() == most
                        && let Some(first) = under_way.pop_front()
                    {
                        ScopedMessage::wait(first)?;
                    }
                    under_way.push_back(scope.isend(&memory, 1, 0)?);
                }
                under_way
                    .into_iter()
                    .try_for_each(|one| one.wait().map(drop))
            })??;
        }
        1 => {
            let mut before = comm.irecv(other, 0, 0)?;
            for _ in 1..messages {
                let next = comm.irecv(memory, 0, 0)?;
                (memory, _) = std::mem::replace(&mut before, next).wait()?;
            }
            (other, _) = before.wait()?;
        }
        _ => {}
    }
    Ok([memory, other])
}

/// What this process has had of the processors.
fn processor_ns() -> u64 {
    // SAFETY: plain numbers, of which all bits are valid; the system fills them.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    ns(usage.ru_utime) + ns(usage.ru_stime)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ended = match words[..] {
        ["shm"] => threads::run(2, |comm| measure(&comm))?,
        ["tcp"] => {
            let loopback = Loopback::new(2, 1, Settings::default())?;
            threads::run_on_nodes(&Places::new(&[0, 1])?, &loopback, |comm| measure(&comm))?
        }
        [what @ ("trips" | "stream"), bytes, seconds] => {
            let (bytes, seconds) = (bytes.parse()?, seconds.parse()?);
            let comm = Communicator::world()?;
            let line = match what {
                "trips" => format!("{:.3} us", trips(&comm, bytes, seconds)?),
                _ => {
                    let [rate, by_byte] = stream(&comm, bytes, seconds)?;
                    format!("{rate:.4} GB/s {by_byte:.4} ns a byte")
                }
            };
            if comm.rank() == 0 {
                println!("{line}");
            }
            vec![Ok(())]
        }
        [] => vec![measure(&Communicator::world()?)],
        _ => {
            return Err("type nothing, shm, tcp, or trips or stream with BYTES and SECONDS".into());
        }
    };
    Ok(ended.into_iter().collect::<Result<(), _>>()?)
}
