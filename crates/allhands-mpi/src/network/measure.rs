//! The measurement: what the MPI's messages take between two nodes, as LogGP counts it (C 3.1).
//!
//! Rank 0 of the world asks, and the first rank on another node answers, while all others wait:
//!
//! ```text
//! h  half a round trip of a short message: o + L + o
//! o  what a processor is busy with one that it sends, or while all send (`burst`), if that is more
//! g  a train of short messages, by their number
//! G  what a long message takes more than one of half its length, by the bytes between
//! ```

use super::constants::MOST_STATUS_BYTES;
use crate::abi::{Abi, Handle};
use crate::native::functions::Native;
use allhands::kernel::Kernel;
use allhands::operator::Sum;
use allhands::policy::NetworkTimes;
use std::ffi::c_int;
use std::time::{Duration, Instant};

/// The bytes of a short message.
const SHORT: usize = 8;
/// Round trips before any is measured: connections are made in the first.
const WARM_UP: usize = 5;
const ROUND_TRIPS: usize = 21;
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
/// The shortest and the longest long message, and how long one is to take.
const LONG: (usize, usize) = (64 << 10, 4 << 20);
const LONG_FOR: Duration = Duration::from_millis(8);
const LONG_ROUNDS: usize = 5;

/// Two ranks on different nodes, as one of them sees the other.
pub(super) struct Pair<'a> {
    pub(super) native: &'a Native,
    pub(super) abi: &'a Abi,
    pub(super) comm: Handle,
    pub(super) peer: c_int,
}

impl Pair<'_> {
    /// Completes a message that `begin` has begun; how many bytes it had.
    fn complete(&self, begin: impl FnOnce(*mut Handle) -> c_int) -> Option<usize> {
        let (mut request, mut flag): (Handle, c_int) = (0, 0);
        let mut status = [0u64; MOST_STATUS_BYTES / 8];
        if begin(&raw mut request) != 0 {
            return None;
        }
        while flag == 0 {
            std::thread::yield_now();
            let status = status.as_mut_ptr().cast();
            // SAFETY: the request that was made, and room for a number and a status.
            if unsafe { (self.native.test)(&raw mut request, &raw mut flag, status) } != 0 {
                return None;
            }
        }
        let mut bytes = 0;
        let status = status.as_ptr().cast();
        // SAFETY: the status of a message that has ended, and a number to write to. That of a send says nothing of use.
        unsafe { (self.native.get_elements_x)(status, self.abi.byte, &raw mut bytes) };
        usize::try_from(bytes).ok()
    }

    /// Sends some bytes; how long that kept the processor, and how long it took until the memory could be used again.
    fn send(&self, bytes: &[u8]) -> Option<[Duration; 2]> {
        let (count, byte) = (bytes.len() as c_int, self.abi.byte);
        let (mut busy, begin) = (Duration::ZERO, Instant::now());
        self.complete(|request| {
            // SAFETY: the bytes are borrowed until the message is complete.
            let code = unsafe {
                let send = self.native.isend;
                send(
                    bytes.as_ptr(),
                    count,
                    byte,
                    self.peer,
                    0,
                    self.comm,
                    request,
                )
            };
            busy = begin.elapsed();
            code
        })?;
        Some([busy, begin.elapsed()])
    }

    /// Receives at most so many bytes; how many came.
    fn receive(&self, into: &mut [u8]) -> Option<usize> {
        let (count, byte) = (into.len() as c_int, self.abi.byte);
        self.complete(|request| {
            // SAFETY: the bytes are borrowed until the message is complete.
            unsafe {
                let receive = self.native.irecv;
                receive(
                    into.as_mut_ptr(),
                    count,
                    byte,
                    self.peer,
                    0,
                    self.comm,
                    request,
                )
            }
        })
    }

    /// The part of the rank that answers.
    pub(super) fn answer(&self) -> Option<()> {
        let (mut long, short) = (vec![0; LONG.1], [0; SHORT]);
        for _ in 0..WARM_UP + 2 * ROUND_TRIPS {
            self.receive(&mut long)?;
            self.send(&short)?;
        }
        for _ in 0..TRAINS {
            for _ in 0..TRAIN {
                self.receive(&mut long)?;
            }
            self.send(&short)?;
        }
        while self.receive(&mut long)? > 0 {
            self.send(&short)?;
        }
        Some(())
    }

    /// The part of the rank that asks: the times, and the longest message that is better copied before it is sent; 0 where an
    /// MPI lets go of what it sends as soon as it is away, so that none is.
    pub(super) fn ask(&self) -> Option<(NetworkTimes, usize)> {
        let (long, mut reply) = (vec![0; LONG.1], [0; SHORT]);
        let short = &long[..SHORT];
        let (mut halves, mut busy) = (Vec::new(), Vec::new());
        for _ in 0..WARM_UP + ROUND_TRIPS {
            let begin = Instant::now();
            busy.push(ns(self.send(short)?[0]));
            self.receive(&mut reply)?;
            halves.push(ns(begin.elapsed()) / 2.0);
        }
        let half_ns = least(&halves[WARM_UP..]);
        let overhead_ns = median(&mut busy[WARM_UP..]).min(half_ns / 2.0);
        let mut kept = Vec::new();
        for _ in 0..ROUND_TRIPS {
            kept.push(ns(self.send(&long[..MIDDLE])?[1]));
            self.receive(&mut reply)?;
        }
        let is_kept = median(&mut kept) > half_ns;
        let mut trains = Vec::new();
        for _ in 0..TRAINS {
            let begin = Instant::now();
            for _ in 0..TRAIN {
                self.send(short)?;
            }
            self.receive(&mut reply)?;
            trains.push((ns(begin.elapsed()) - 2.0 * half_ns).max(0.0) / TRAIN as f64);
        }
        let round_trip_ns = |bytes: usize, reply: &mut [u8]| {
            let begin = Instant::now();
            self.send(&long[..bytes])?;
            self.receive(reply)?;
            Some(ns(begin.elapsed()))
        };
        let mut bytes = LONG.0;
        while round_trip_ns(2 * bytes, &mut reply)? < ns(LONG_FOR) && 4 * bytes <= LONG.1 {
            bytes *= 2;
        }
        let (mut once, mut twice) = (Vec::new(), Vec::new());
        for _ in 0..LONG_ROUNDS {
            once.push(round_trip_ns(bytes, &mut reply)?);
            twice.push(round_trip_ns(2 * bytes, &mut reply)?);
        }
        // Nothing says that there is no more to come.
        self.send(&[])?;
        let more_ns = least(&twice) - least(&once);
        let times = NetworkTimes {
            latency_ns: half_ns - 2.0 * overhead_ns,
            overhead_ns,
            gap_ns: least(&trains),
            byte_ns: more_ns.max(0.0) / bytes as f64,
            reduce_byte_ns: reduce_byte_ns(),
        };
        let worth_it = (half_ns / COPY_BYTE_NS) as usize;
        Some((
            times,
            if is_kept {
                worth_it.min(COPIED_MOST)
            } else {
                0
            },
        ))
    }
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
    median(&mut times) / size_of_val(&left[..]) as f64
}

fn ns(time: Duration) -> f64 {
    time.as_nanos() as f64
}

/// The least of some times, which is what others on the machine have disturbed the least.
fn least(times: &[f64]) -> f64 {
    times.iter().copied().fold(f64::INFINITY, f64::min)
}

/// The middle of some times; not a number if there are none.
fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}
