//! N-body: a star cluster moves by the forces of Barnes and Hut's tree over all ranks, to the bit as on one rank alone.
//!
//! Q 7.4.1 measures allgather by such a program: many allgathers of less than 64 bytes, some of up to 1 KB, and messages between
//! ranks whose bodies see one another. The answer is compared with that of one rank, and the forces with sums over all bodies;
//! energy and momentum must stay.
//!
//! Run: `cargo run --release -p allhands --example nbody -- 4 bodies=4000 steps=10`, or
//! `allhands run -n 4 -- target/release/examples/nbody bodies=4000`

mod bodies;
#[path = "../common/mod.rs"]
mod common;
mod domain;
mod octree;

use allhands::Communicator;
use bodies::{Body, Totals, direct, dot, drift, kick, plummer, plus};
use common::{Arguments, Failure, Meter, ensure, share, within};
use domain::Domain;
use octree::{Bounds, Cube};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

#[derive(Clone)]
struct Settings {
    bodies: usize,
    steps: usize,
    /// A step in time.
    step: f64,
    /// A cell is looked into from nearer than its side divided by this. A body must look into the cells that it is in, so it is less
    /// than 1 to the square root of 3.
    opening: f64,
    seed: u64,
    /// Where the collective calls are written down.
    trace: Option<PathBuf>,
}

fn main() -> ExitCode {
    common::start("nbody", || {
        let mut arguments = Arguments::of_program()?;
        let settings = Settings {
            bodies: arguments.take("bodies", 4000, within(2..=10_000_000))?,
            steps: arguments.take("steps", 10, within(1..=100_000))?,
            step: arguments.take("step", 0.01, within(1e-6..=0.1))?,
            opening: arguments.take("opening", 0.5, within(0.0..=0.57))?,
            seed: arguments.take("seed", 1, within(0..=1_000_000))?,
            trace: arguments.take("trace", None, |path| Ok(Some(path.into())))?,
        };
        arguments.run(|comm| run(comm, &settings))
    })
}

fn run(comm: &Communicator, settings: &Settings) -> Result<(), Failure> {
    // Rank 0 alone makes the bodies: two hosts' logarithms may differ in the last bit.
    let (rank, ranks) = (comm.rank(), comm.size());
    let all = match rank {
        0 => plummer(settings.bodies, settings.seed),
        _ => Vec::new(),
    };
    let counts: Vec<usize> = (0..ranks)
        .map(|rank| share(settings.bodies, rank, ranks).len())
        .collect();
    let mut mine = vec![bytemuck::Zeroable::zeroed(); counts[rank]];
    let counts = if rank == 0 { &counts[..] } else { &[] };
    comm.scatter_v(&all, counts, &mut mine, 0)?;

    let meter = Meter::new(comm, settings.trace.as_deref())?;
    let mut domain = Domain::new(comm, meter, mine, settings.opening);
    let begun = Instant::now();
    domain.forces()?;
    let first = domain.totals()?;
    let mut last = first;
    for _ in 0..settings.steps {
        domain.step(settings.step)?;
        last = domain.totals()?;
    }
    let took = begun.elapsed();
    let Domain { bodies, meter, .. } = domain;
    meter.report()?;
    match comm.gather_vec(&bodies, 0)? {
        Some(found) => check(settings, &all, found.into_parts().0, (&first, &last), took),
        None => Ok(()),
    }
}

/// The same on one rank, without any communicator.
fn serial(settings: &Settings, bodies: &mut [Body]) -> Result<(), Failure> {
    let forces = |bodies: &mut [Body]| {
        let cube = Cube::around(&Bounds::of(bodies));
        octree::sort(&cube, bodies);
        let tree = octree::of_bodies(&cube, bodies);
        bodies.iter_mut().try_for_each(|body| {
            octree::attract(&tree, settings.opening, body)
                .map_err(|cell| Failure::from(format!("{cell:?} is not whole")))
        })
    };
    forces(bodies)?;
    for _ in 0..settings.steps {
        kick(bodies, 0.5 * settings.step);
        drift(bodies, settings.step);
        forces(bodies)?;
        kick(bodies, 0.5 * settings.step);
    }
    Ok(())
}

/// Compares the answer with that of one rank, its forces with sums over all bodies, and energy and momentum with those at first.
fn check(
    settings: &Settings,
    at_first: &[Body],
    mut found: Vec<Body>,
    (first, last): (&Totals, &Totals),
    took: Duration,
) -> Result<(), Failure> {
    let mut expected = at_first.to_vec();
    let begun = Instant::now();
    serial(settings, &mut expected)?;
    let alone = begun.elapsed();
    found.sort_unstable_by_key(|body| body.number);
    expected.sort_unstable_by_key(|body| body.number);
    ensure(found.len() == expected.len(), || {
        format!("{} bodies of {}", found.len(), expected.len())
    })?;
    for (found, expected) in found.iter().zip(&expected) {
        ensure(bits(found) == bits(expected), || {
            format!("one rank finds {expected:?}, several find {found:?}")
        })?;
    }
    let error = error_of_forces(&found);
    let bound = 0.05 * settings.opening.powi(2) + 1e-12;
    ensure(error < bound, || {
        format!("forces differ from the sums by {error:e}, more than {bound:e}")
    })?;
    let energy = ((last.energy() - first.energy()) / first.energy()).abs();
    ensure(energy < 0.01, || {
        format!("the energy changed by {energy:e} of itself")
    })?;
    // As a whole the cluster is at rest. A force is not to the bit the opposite of the one that answers it.
    let momentum = dot(last.momentum, last.momentum).sqrt();
    ensure(momentum < 0.01, || {
        format!("the whole moves: momentum {momentum:e}")
    })?;
    println!(
        "{} bodies, {} steps in {:.3} s, {:.3} s on one rank: the same places, velocities and forces to the bit",
        settings.bodies,
        settings.steps,
        took.as_secs_f64(),
        alone.as_secs_f64()
    );
    println!(
        "forces within {error:.1e} of sums over all bodies (bound {bound:.1e}); energy within {energy:.1e} of itself; momentum {momentum:.1e}"
    );
    Ok(())
}

fn bits(body: &Body) -> [[u64; 3]; 3] {
    [body.position, body.velocity, body.acceleration].map(|vector| vector.map(f64::to_bits))
}

/// How much forces differ from sums over all bodies, for 500 of them: the root of the mean square, relative to the forces.
fn error_of_forces(bodies: &[Body]) -> f64 {
    let tried = bodies.iter().step_by(bodies.len().div_ceil(500));
    let (errors, forces) = tried.fold((0.0, 0.0), |(errors, forces), body| {
        let right = direct(bodies, body);
        let error = plus(body.acceleration, right, -1.0);
        (errors + dot(error, error), forces + dot(right, right))
    });
    (errors / forces).sqrt()
}
