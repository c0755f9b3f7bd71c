//! Power iteration: the largest eigenvalue of a dense matrix that is spread over all ranks, known beforehand by a formula.
//!
//! The matrix of min(i, j) is dense and symmetric; its eigenvalues are 1/(4 sin²((2k-1)π/(4n+2))), its eigenvectors sines. Each rank
//! has a block of rows. One way, `rows`, every rank has the whole vector: it multiplies its rows, and an allgather v puts
//! the pieces together. The other way, `columns`, every rank has a piece of the vector: it multiplies its columns, and a reduce-scatter v
//! adds up the products. Both need an allreduce for the norm, and must find the same.
//!
//! Run: `cargo run --release -p allhands --example power_iteration -- 4 size=2000 rounds=30`, or
//! `allhands run -n 4 -- target/release/examples/power_iteration size=2000`

mod common;

use allhands::{Communicator, Sum};
use common::{Arguments, Failure, Meter, ensure, share, within};
use std::f64::consts::PI;
use std::ops::Range;
use std::process::ExitCode;
use std::time::{Duration, Instant};

#[derive(Clone, Copy)]
struct Settings {
    /// Rows and columns.
    size: usize,
    rounds: usize,
}

fn main() -> ExitCode {
    common::start("power_iteration", || {
        let mut arguments = Arguments::of_program()?;
        let settings = Settings {
            size: arguments.take("size", 2000, within(2..=50_000))?,
            // In each the other eigenvectors' parts become a ninth of what they were.
            rounds: arguments.take("rounds", 30, within(20..=100_000))?,
        };
        arguments.run(|comm| run(comm, &settings))
    })
}

/// A rank's rows of the matrix, or, as it is symmetric, columns.
struct Block {
    size: usize,
    rows: Range<usize>,
    entries: Vec<f64>,
}

impl Block {
    fn new(size: usize, rows: Range<usize>) -> Block {
        let row = |row: usize| (0..size).map(move |column| (row.min(column) + 1) as f64);
        Block {
            size,
            entries: rows.clone().flat_map(row).collect(),
            rows,
        }
    }

    /// These rows of the product with the whole vector.
    fn rows_times(&self, vector: &[f64], product: &mut [f64]) {
        for (row, product) in self.entries.chunks(self.size).zip(product) {
            *product = row.iter().zip(vector).map(|(a, x)| a * x).sum();
        }
    }

    /// What these columns and their piece of the vector add to the product.
    fn columns_times(&self, piece: &[f64], product: &mut [f64]) {
        product.fill(0.0);
        for (column, x) in self.entries.chunks(self.size).zip(piece) {
            for (sum, a) in product.iter_mut().zip(column) {
                *sum += a * x;
            }
        }
    }
}

/// How a product is spread over ranks.
#[derive(Clone, Copy, Debug)]
enum Way {
    Rows,
    Columns,
}

/// The eigenvalue, and this rank's piece of the eigenvector, whose length is 1.
struct Found {
    value: f64,
    piece: Vec<f64>,
}

fn run(comm: &Communicator, settings: &Settings) -> Result<(), Failure> {
    let rows = share(settings.size, comm.rank(), comm.size());
    let block = Block::new(settings.size, rows);
    for way in [Way::Rows, Way::Columns] {
        let meter = Meter::new(comm, None)?;
        let begun = Instant::now();
        let found = iterate(comm, meter, settings, &block, way)?;
        check(comm, settings, &block, (way, &found), begun.elapsed())?;
    }
    Ok(())
}

fn iterate(
    comm: &Communicator,
    mut meter: Meter<'_>,
    settings: &Settings,
    block: &Block,
    way: Way,
) -> Result<Found, Failure> {
    let counts: Vec<usize> = (0..comm.size())
        .map(|rank| share(settings.size, rank, comm.size()).len())
        .collect();
    let start = 1.0 / (settings.size as f64).sqrt();
    let mut piece = vec![start; block.rows.len()];
    let mut whole = vec![start; settings.size];
    let mut value = 0.0;
    for _ in 0..settings.rounds {
        match way {
            Way::Rows => block.rows_times(&whole, &mut piece),
            Way::Columns => {
                block.columns_times(&piece, &mut whole);
                meter.call("reduce-scatter-v", &[size_of_val(&whole[..])], |comm| {
                    comm.reduce_scatter_v(&whole, &counts, &mut piece, Sum)
                })?;
            }
        }
        let squares: f64 = piece.iter().map(|x| x * x).sum();
        // The vector was of length 1, so the product's length is the eigenvalue.
        value = meter
            .call("allreduce", &[size_of_val(&squares)], |comm| {
                comm.allreduce_value(squares, Sum)
            })?
            .sqrt();
        piece.iter_mut().for_each(|x| *x /= value);
        if matches!(way, Way::Rows) {
            meter.call("allgather-v", &[size_of_val(&piece[..])], |comm| {
                comm.allgather_v(&piece, &mut whole, &counts)
            })?;
        }
    }
    meter.report()?;
    Ok(Found { value, piece })
}

/// The eigenvalue by the formula, and an entry of its eigenvector, not of length 1.
fn exact(size: usize) -> (f64, impl Fn(usize) -> f64) {
    let angle = PI / (2 * size + 1) as f64;
    let value = 0.25 / (0.5 * angle).sin().powi(2);
    (value, move |row| ((row + 1) as f64 * angle).sin())
}

/// Compares with the formula, and with the same rounds on one rank.
fn check(
    comm: &Communicator,
    settings: &Settings,
    block: &Block,
    (way, found): (Way, &Found),
    took: Duration,
) -> Result<(), Failure> {
    let (value, entry) = exact(settings.size);
    let squares: f64 = (0..settings.size).map(|row| entry(row).powi(2)).sum();
    let near = |found: f64, right: f64, bound: f64, what: &str| {
        let error = (found - right).abs();
        ensure(error <= bound * right.abs().max(1.0), || {
            format!("{way:?}: {what} is {found}, not {right}: off by {error:e}")
        })
    };
    near(found.value, value, 1e-12, "the eigenvalue")?;
    for (row, found) in block.rows.clone().zip(&found.piece) {
        let right = entry(row) / squares.sqrt();
        near(*found, right, 1e-12, &format!("entry {row}"))?;
    }
    let Some(all) = comm.gather_vec(&found.piece, 0)? else {
        return Ok(());
    };
    let begun = Instant::now();
    let (value, vector) = serial(settings);
    let alone = begun.elapsed();
    near(found.value, value, 1e-13, "the serial run's eigenvalue")?;
    for (found, right) in all.elements().iter().zip(&vector) {
        near(*found, *right, 1e-13, "an entry of the serial run")?;
    }
    println!(
        "{way:?}: {} x {}, {} rounds in {:.3} s, {:.3} s on one rank: {:.6}, by the formula and the serial run",
        settings.size,
        settings.size,
        settings.rounds,
        took.as_secs_f64(),
        alone.as_secs_f64(),
        found.value
    );
    Ok(())
}

/// The same rounds on one rank, without any communicator. Sums are in another order, so it is near, not the same to the bit.
fn serial(settings: &Settings) -> (f64, Vec<f64>) {
    let block = Block::new(settings.size, 0..settings.size);
    let mut vector = vec![1.0 / (settings.size as f64).sqrt(); settings.size];
    let mut product = vec![0.0; settings.size];
    let mut value = 0.0;
    for _ in 0..settings.rounds {
        block.rows_times(&vector, &mut product);
        value = product.iter().map(|x| x * x).sum::<f64>().sqrt();
        for (x, y) in vector.iter_mut().zip(&product) {
            *x = y / value;
        }
    }
    (value, vector)
}
