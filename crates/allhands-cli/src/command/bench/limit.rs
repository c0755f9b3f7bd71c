//! The limit: what calls must at least cost on this machine, measured without any of our code in between.
//!
//! - ranks that each have a core: two of them store a number in their own cache line and spin on the other's;
//! - more ranks than cores: every rank gives way to the next until all have had their turn;
//! - long messages: what is copied, over the bandwidth of a copy that does nothing else.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// A cache line, and the one that is fetched with it.
#[repr(align(128))]
#[derive(Default)]
struct Line(AtomicU64);

/// Prints the limits for these numbers of ranks.
pub fn run(ranks: &[u32]) -> anyhow::Result<ExitCode> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut out = std::io::stdout().lock();
    writeln!(out, "{cores} cores; medians of 15 runs\n")?;
    for &ranks in ranks {
        if ranks as usize <= cores {
            let us = median(|| exchange_us(ranks, 200_000, false));
            writeln!(
                out,
                "{ranks:>5} ranks  all store an epoch and see the others'      {us:>10.3} µs"
            )?;
        } else {
            let us = median(|| exchange_us(ranks, 2_000, true));
            writeln!(
                out,
                "{ranks:>5} ranks  all store an epoch, giving way to see it    {us:>10.3} µs"
            )?;
        }
    }
    writeln!(out)?;
    for bytes in [4 << 10, 64 << 10, 1 << 20, 4 << 20] {
        let (own, other) = (
            median(|| copy_us(bytes)),
            median(|| copy_from_peer_us(bytes)),
        );
        let rate = |us: f64| bytes as f64 / us / 1e3;
        writeln!(
            out,
            "{:>5} KiB    copied in {own:>9.2} µs ({:>5.1} GB/s); from where another core wrote it in {other:>9.2} µs ({:>5.1} GB/s)",
            bytes >> 10,
            rate(own),
            rate(other)
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

fn median(measure: impl Fn() -> f64) -> f64 {
    let mut times: Vec<f64> = (0..15).map(|_| measure()).collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Binds the calling thread to a core, where the system allows it.
fn bind(core: usize) {
    let mut set = rustix::thread::CpuSet::new();
    set.set(core % rustix::thread::CpuSet::MAX_CPU);
    // Elsewhere than on its core a thread measures a little more; that is no failure.
    let _ = rustix::thread::sched_setaffinity(None, &set);
}

/// The time of one round in which every rank stores its epoch and waits until it has seen all others'.
fn exchange_us(ranks: u32, rounds: u64, gives_way: bool) -> f64 {
    let lines: Vec<Line> = (0..ranks).map(|_| Line::default()).collect();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let barrier = Barrier::new(ranks as usize);
    let rank_main = |rank: usize| {
        bind(rank % cores);
        barrier.wait();
        let start = Instant::now();
        for round in 1..=rounds {
            lines[rank].0.store(round, Ordering::Release);
            for line in &lines {
                while line.0.load(Ordering::Acquire) < round {
                    if gives_way {
                        std::thread::yield_now();
                    } else {
                        std::hint::spin_loop();
                    }
                }
            }
        }
        start.elapsed().as_secs_f64() * 1e6 / rounds as f64
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..ranks as usize)
            .map(|rank| scope.spawn(move || rank_main(rank)))
            .collect();
        let own = scope.spawn(move || rank_main(0)).join();
        for other in others {
            // A thread that measures does not panic.
            let _ = other.join();
        }
        own.unwrap_or(f64::NAN)
    })
}

/// The time of a copy between two buffers of this thread.
fn copy_us(bytes: usize) -> f64 {
    let (from, mut to) = (vec![1u8; bytes], vec![0u8; bytes]);
    to.copy_from_slice(&from);
    let start = Instant::now();
    to.copy_from_slice(std::hint::black_box(&from));
    let us = start.elapsed().as_secs_f64() * 1e6;
    std::hint::black_box(&to);
    us
}

/// The time of a copy from a buffer that another core has just written.
fn copy_from_peer_us(bytes: usize) -> f64 {
    let (mut from, mut to) = (vec![0u8; bytes], vec![0u8; bytes]);
    bind(0);
    std::thread::scope(|scope| {
        let written = scope.spawn(|| {
            bind(1);
            from.fill(7);
        });
        // A thread that writes does not panic.
        let _ = written.join();
    });
    to.copy_from_slice(&vec![0u8; bytes]);
    let start = Instant::now();
    to.copy_from_slice(std::hint::black_box(&from));
    let us = start.elapsed().as_secs_f64() * 1e6;
    std::hint::black_box(&to);
    us
}
