//! Measures what messages between two ranks take one way: `message_latency [shm|tcp]` on threads, or without it, on the ranks of a world.
//!
//! Two ranks send each other messages of 8 bytes, 4 KB and 1 MB to and fro; half of a round is one way. The median of some batches is
//! printed, and the quickest one.
//!
//! Run: `cargo run --release -p allhands --example message_latency -- shm`, or
//! `allhands run -n 2 -- target/release/examples/message_latency`

use allhands::net::Places;
use allhands::net::tcp::{Loopback, Settings};
use allhands::{Communicator, Error, threads};
use std::time::Instant;

/// Lengths in bytes, and rounds of a batch.
const CASES: [(usize, usize); 3] = [(8, 20_000), (4 << 10, 10_000), (1 << 20, 200)];
const BATCHES: usize = 21;

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

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ended = match std::env::args().nth(1).as_deref() {
        Some("shm") => threads::run(2, |comm| measure(&comm))?,
        Some("tcp") => {
            let loopback = Loopback::new(2, 1, Settings::default())?;
            threads::run_on_nodes(&Places::new(&[0, 1])?, &loopback, |comm| measure(&comm))?
        }
        Some(other) => return Err(format!("'{other}' is neither shm nor tcp").into()),
        None => vec![measure(&Communicator::world()?)],
    };
    Ok(ended.into_iter().collect::<Result<(), _>>()?)
}
