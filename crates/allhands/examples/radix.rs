//! Radix sort: keys are sorted over all ranks digit by digit, and the answer equals a serial sort.
//!
//! In every pass each rank counts its keys by a digit, and an allgather of the counts (4 KB for digits of 10 bits, as in Q 7.4.1) tells
//! everybody where in the order each rank's keys of each digit stand. So each rank has the same number of keys after every
//! pass, however they are spread, and knows of each key that it sends or gets where it belongs: one alltoall v brings them there.
//!
//! Run: `cargo run --release -p allhands --example radix -- 4 keys=1000000`, or
//! `allhands run -n 4 -- target/release/examples/radix keys=1000000`

mod common;

use allhands::{Communicator, Sum};
use common::{Arguments, Failure, Meter, ensure, share, within};
use std::ops::Range;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

#[derive(Clone)]
struct Settings {
    keys: usize,
    /// Bits of a digit.
    bits: u32,
    /// Each key is the least of so many random numbers: from 2 on, small ones are more often.
    skew: u32,
    seed: u64,
    /// Where the collective calls are written down.
    trace: Option<PathBuf>,
}

fn main() -> ExitCode {
    common::start("radix", || {
        let mut arguments = Arguments::of_program()?;
        let settings = Settings {
            keys: arguments.take("keys", 1_000_000, within(0..=1_000_000_000))?,
            bits: arguments.take("bits", 10, within(1..=16))?,
            skew: arguments.take("skew", 1, within(1..=64))?,
            seed: arguments.take("seed", 1, within(0..=1_000_000))?,
            trace: arguments.take("trace", None, |path| Ok(Some(path.into())))?,
        };
        arguments.run(|comm| run(comm, &settings))
    })
}

/// Key `number` of all, which depends on nothing else.
fn key(settings: &Settings, number: usize) -> u32 {
    let draws = (0..u64::from(settings.skew)).map(|draw| {
        let place = number as u64 * u64::from(settings.skew) + draw;
        mixed(place ^ settings.seed << 40) as u32
    });
    draws.min().unwrap_or(0)
}

/// All bits depend on all of a number (the end of SplitMix64).
fn mixed(number: u64) -> u64 {
    let z = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

fn run(comm: &Communicator, settings: &Settings) -> Result<(), Failure> {
    let mine = share(settings.keys, comm.rank(), comm.size());
    let unsorted: Vec<u32> = mine.map(|number| key(settings, number)).collect();
    let mut meter = Meter::new(comm, settings.trace.as_deref())?;
    let begun = Instant::now();
    let mut keys = unsorted.clone();
    for shift in (0..u32::BITS).step_by(settings.bits as usize) {
        keys = pass(comm, &mut meter, settings, shift, &keys)?;
    }
    let took = begun.elapsed();
    meter.report()?;
    check(comm, settings, &unsorted, &keys, took)
}

/// Sorts by one digit; keys of the same digit stay in order.
fn pass(
    comm: &Communicator,
    meter: &mut Meter<'_>,
    settings: &Settings,
    shift: u32,
    keys: &[u32],
) -> Result<Vec<u32>, Failure> {
    let (rank, ranks, digits) = (comm.rank(), comm.size(), 1 << settings.bits);
    let digit = |key: u32| (key >> shift) as usize & (digits - 1);
    let mut counts = vec![0u32; digits];
    keys.iter().for_each(|key| counts[digit(*key)] += 1);
    let mut all = vec![0u32; digits * ranks];
    meter.call("allgather", &[size_of_val(&counts[..])], |comm| {
        comm.allgather(&counts, &mut all)
    })?;

    // Inside a rank keys are put in the order of their digits, so what goes to one rank is one run of them.
    let mut next = vec![0; digits];
    (1..digits).for_each(|d| next[d] = next[d - 1] + counts[d - 1] as usize);
    let mut ordered = vec![0; keys.len()];
    for key in keys {
        let at = &mut next[digit(*key)];
        ordered[*at] = *key;
        *at += 1;
    }

    let runs = runs(&all, digits);
    let places = |rank| share(settings.keys, rank, ranks);
    let part = |run: &Range<usize>, rank| overlap(run, &places(rank));
    let send: Vec<usize> = (0..ranks)
        .map(|to| runs[rank].iter().map(|run| part(run, to).len()).sum())
        .collect();
    let receive: Vec<usize> = (0..ranks)
        .map(|from| runs[from].iter().map(|run| part(run, rank).len()).sum())
        .collect();
    let mut received = vec![0; places(rank).len()];
    let bytes: Vec<usize> = send.iter().map(|keys| keys * size_of::<u32>()).collect();
    meter.call("alltoall-v", &bytes, |comm| {
        comm.alltoall_v(&ordered, &send, &mut received, &receive)
    })?;

    let mut sorted = vec![0; received.len()];
    let mut rest = &received[..];
    for part in runs.iter().flatten().map(|run| part(run, rank)) {
        let (here, behind) = rest.split_at(part.len());
        let first = part.start - places(rank).start;
        sorted[first..first + here.len()].copy_from_slice(here);
        rest = behind;
    }
    Ok(sorted)
}

/// Where in the order of all keys those of each rank and digit stand: digit after digit, and of one digit rank after rank.
fn runs(counts: &[u32], digits: usize) -> Vec<Vec<Range<usize>>> {
    let mut runs = vec![Vec::with_capacity(digits); counts.len() / digits];
    let mut end = 0;
    for digit in 0..digits {
        for (rank, runs) in runs.iter_mut().enumerate() {
            let start = end;
            end += counts[rank * digits + digit] as usize;
            runs.push(start..end);
        }
    }
    runs
}

/// What of the run is in the block; nothing, at one of its ends, if they are apart.
fn overlap(run: &Range<usize>, block: &Range<usize>) -> Range<usize> {
    run.start.clamp(block.start, block.end)..run.end.clamp(block.start, block.end)
}

/// Checks what all ranks hold together: it is in order, has the keys that there were, and is what one rank makes of them.
fn check(
    comm: &Communicator,
    settings: &Settings,
    unsorted: &[u32],
    sorted: &[u32],
    took: Duration,
) -> Result<(), Failure> {
    // Of a permutation these are the same; each of them misses some changes that the other sees.
    let sums = |keys: &[u32]| {
        keys.iter().fold([0u64; 2], |[sum, mix], key| {
            let key = u64::from(*key);
            [sum + key, mix.wrapping_add(mixed(key))]
        })
    };
    let add = |a: &u64, b: &u64| a.wrapping_add(*b);
    let mut before = sums(unsorted);
    let mut after = sums(sorted);
    comm.allreduce_in_place(&mut before, add)?;
    comm.allreduce_in_place(&mut after, add)?;
    ensure(before == after, || {
        format!("other keys came out: sums of {before:?} became {after:?}")
    })?;
    ensure(sorted.is_sorted(), || {
        format!("rank {}: its keys are not in order", comm.rank())
    })?;
    let total = comm.allreduce_value(sorted.len(), Sum)?;
    ensure(total == settings.keys, || {
        format!("{} keys became {total}", settings.keys)
    })?;

    let Some(found) = comm.gather_vec(sorted, 0)? else {
        return Ok(());
    };
    let mut expected: Vec<u32> = (0..settings.keys).map(|n| key(settings, n)).collect();
    let begun = Instant::now();
    expected.sort_unstable();
    let alone = begun.elapsed();
    let differs = found
        .elements()
        .iter()
        .zip(&expected)
        .position(|(f, e)| f != e);
    ensure(differs.is_none(), || {
        format!("key {differs:?} in order is not that of the serial sort")
    })?;
    println!(
        "{total} keys in {} passes in {:.3} s, {:.3} s by one rank's library: in order, the same keys, the serial answer",
        u32::BITS.div_ceil(settings.bits),
        took.as_secs_f64(),
        alone.as_secs_f64()
    );
    Ok(())
}
