//! Sample sort: keys are sorted over all ranks with one irregular alltoall, and the answer equals a serial sort.
//!
//! Every rank sorts its keys and gives a few of them as samples; the samples of all ranks decide which range of keys goes
//! to which rank; an alltoall of counts and one of keys (alltoall v) bring them there.
//!
//! Run: `cargo run --release -p allhands --example sample_sort -- 4`

use allhands::{Communicator, Error, threads};

const KEYS_PER_RANK: usize = 50_000;
const SAMPLES: usize = 32;

/// The keys of a rank, skewed, so that ranges differ in size.
fn keys(rank: usize) -> Vec<u64> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(rank as u64 + 1);
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..KEYS_PER_RANK + 1000 * rank)
        .map(|_| (random() >> 32) * (random() >> 40))
        .collect()
}

fn sort(comm: &Communicator) -> Result<Vec<u64>, Error> {
    let ranks = comm.size();
    let mut mine = keys(comm.rank());
    mine.sort_unstable();

    let samples: Vec<u64> = (0..SAMPLES)
        .map(|s| mine[s * mine.len() / SAMPLES])
        .collect();
    let mut all_samples = vec![0; SAMPLES * ranks];
    comm.allgather(&samples, &mut all_samples)?;
    all_samples.sort_unstable();
    let splitters: Vec<u64> = (1..ranks).map(|r| all_samples[r * SAMPLES]).collect();

    // Keys are sorted, so what goes to one rank is one run of them.
    let mut ends: Vec<usize> = splitters
        .iter()
        .map(|s| mine.partition_point(|key| key < s))
        .collect();
    ends.push(mine.len());
    let send: Vec<usize> = (0..ranks)
        .map(|r| ends[r] - if r == 0 { 0 } else { ends[r - 1] })
        .collect();
    let mut receive = vec![0usize; ranks];
    comm.alltoall(&send, &mut receive)?;

    let mut sorted = vec![0; receive.iter().sum()];
    comm.alltoall_v(&mine, &send, &mut sorted, &receive)?;
    sorted.sort_unstable();
    Ok(sorted)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ranks = std::env::args().nth(1).map_or(Ok(4), |text| text.parse())?;
    let mut expected: Vec<u64> = (0..ranks).flat_map(keys).collect();
    expected.sort_unstable();

    let mut found = Vec::with_capacity(expected.len());
    let mut lengths = Vec::new();
    for part in threads::run(ranks, |comm| sort(&comm))? {
        let part = part?;
        lengths.push(part.len());
        found.extend(part);
    }
    assert_eq!(
        found, expected,
        "the parts of the ranks, one after another, are not the serial sort"
    );
    println!(
        "{} keys sorted on {ranks} ranks, the same as the serial sort; parts of {lengths:?}",
        found.len()
    );
    Ok(())
}
