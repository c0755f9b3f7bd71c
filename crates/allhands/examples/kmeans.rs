//! Distributed k-means: points are spread over ranks, centres are found together, and the answer equals a serial run.
//!
//! Every rank assigns its own points to the nearest centre; one allreduce adds up the sums and counts of all
//! ranks. Coordinates are integers, so the sums are exact and the result must equal the serial one to the bit.
//!
//! Run: `cargo run --release -p allhands --example kmeans -- 4`

use allhands::{Communicator, Error, Sum, threads};

const CENTRES: usize = 6;
const POINTS: usize = 60_000;
const ROUNDS: usize = 25;

/// A point, in thousandths.
type Point = [i64; 2];

/// Points scattered around a few places, the same on every machine.
fn points() -> Vec<Point> {
    let mut state = 42u64;
    let mut random = |range: i64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as i64 % range
    };
    let places: Vec<Point> = (0..CENTRES)
        .map(|_| [random(1_000_000), random(1_000_000)])
        .collect();
    (0..POINTS)
        .map(|i| {
            let [x, y] = places[i % CENTRES];
            [x + random(120_000) - 60_000, y + random(120_000) - 60_000]
        })
        .collect()
}

fn nearest(centres: &[Point], point: &Point) -> usize {
    let distance = |c: &Point| (c[0] - point[0]).pow(2) + (c[1] - point[1]).pow(2);
    (0..centres.len())
        .min_by_key(|&c| distance(&centres[c]))
        .unwrap_or(0)
}

/// For each centre the sum of its points' x and y, and their number.
fn accumulate(centres: &[Point], points: &[Point]) -> Vec<i64> {
    let mut sums = vec![0; 3 * centres.len()];
    for point in points {
        let at = 3 * nearest(centres, point);
        sums[at] += point[0];
        sums[at + 1] += point[1];
        sums[at + 2] += 1;
    }
    sums
}

fn move_centres(centres: &mut [Point], sums: &[i64]) {
    for (centre, sum) in centres
        .iter_mut()
        .zip(sums.chunks_exact(3))
        .filter(|(_, sum)| sum[2] > 0)
    {
        *centre = [sum[0] / sum[2], sum[1] / sum[2]];
    }
}

fn serial(points: &[Point]) -> Vec<Point> {
    let mut centres = points[..CENTRES].to_vec();
    for _ in 0..ROUNDS {
        let sums = accumulate(&centres, points);
        move_centres(&mut centres, &sums);
    }
    centres
}

fn distributed(comm: &Communicator, points: &[Point]) -> Result<Vec<Point>, Error> {
    let (rank, ranks) = (comm.rank(), comm.size());
    let mine = &points[points.len() * rank / ranks..points.len() * (rank + 1) / ranks];
    // Rank 0 picks the first centres; only it needs to know how.
    let mut centres = if rank == 0 {
        points[..CENTRES].to_vec()
    } else {
        vec![[0, 0]; CENTRES]
    };
    comm.broadcast(&mut centres, 0)?;
    for _ in 0..ROUNDS {
        let mut sums = accumulate(&centres, mine);
        comm.allreduce_in_place(&mut sums, Sum)?;
        move_centres(&mut centres, &sums);
    }
    Ok(centres)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ranks = std::env::args().nth(1).map_or(Ok(4), |text| text.parse())?;
    let points = points();
    let expected = serial(&points);
    let found = threads::run(ranks, |comm| distributed(&comm, &points))?;
    for (rank, centres) in found.into_iter().enumerate() {
        assert_eq!(
            centres?, expected,
            "rank {rank} found other centres than the serial run"
        );
    }
    println!(
        "{POINTS} points, {ranks} ranks: the same {CENTRES} centres as the serial run: {expected:?}"
    );
    Ok(())
}
