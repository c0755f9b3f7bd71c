//! The algorithms that ask for a torus, proved on every mesh and torus inside the paper's smaller machines.
//!
//! With every root up to 32 ranks, and with every third beyond; `allhands verify --machine bluegene-l:XxYxZ` takes them all, and
//! every setting.

use allhands_core::algorithm::{self, Algorithm, Requirement};
use allhands_core::call::Call;
use allhands_core::machine::Torus;
use allhands_core::verify::verify;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Every shape inside 4x4x4, 8x4x2 and 5x3x2, as a mesh and as a torus.
fn shapes() -> BTreeSet<Torus> {
    let mut all = BTreeSet::new();
    for [x, y, z] in [[4, 4, 4], [8, 4, 2], [5, 3, 2]] {
        for shape in 0..x * y * z {
            let extents = [shape % x + 1, shape / x % y + 1, shape / x / y + 1];
            all.extend([false, true].map(|wraps| Torus::new(extents, [wraps; 3]).unwrap()));
        }
    }
    all
}

/// Proves an algorithm's settings with every root; says how many proofs that were.
fn prove(algorithm: &Algorithm, torus: Torus) -> usize {
    let ranks = torus.ranks();
    let roots = if algorithm.collective.rooted() {
        ranks
    } else {
        1
    };
    let mut proofs = 0;
    // On larger shapes every second setting.
    let settings = algorithm.settings.iter();
    for setting in settings.step_by(if ranks > 16 { 2 } else { 1 }) {
        for root in (0..roots).step_by(if ranks > 32 { 3 } else { 1 }) {
            let call = Call {
                root,
                ..Call::new(algorithm.collective, ranks)
            };
            let shape = algorithm.shape(call, setting).unwrap();
            let shape = shape.on_torus(Some(torus));
            if algorithm.admits(&shape).is_err() {
                continue;
            }
            let proved = verify(algorithm, &shape);
            proved
                .unwrap_or_else(|f| panic!("{algorithm:?}:{setting} on {torus} root {root}: {f}"));
            proofs += 1;
        }
    }
    proofs
}

#[test]
fn every_small_mesh_and_torus_is_served() {
    let of_torus = |a: &&Algorithm| a.requires.contains(&Requirement::Torus);
    let algorithms: Vec<&Algorithm> = algorithm::all().filter(of_torus).collect();
    let names: BTreeSet<&str> = algorithms.iter().map(|a| a.name).collect();
    for name in [
        "torus-trees",
        "hamiltonian",
        "line-broadcast",
        "swing",
        "multi-dimensional-ring",
    ] {
        assert!(names.contains(name), "{name}");
    }
    // Only the release build tries every shape.
    let most = if cfg!(debug_assertions) { 12 } else { 64 };
    let shapes: Vec<Torus> = shapes().into_iter().filter(|t| t.ranks() <= most).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut proofs = 0;
        while let Some(torus) = shapes.get(next.fetch_add(1, Ordering::Relaxed)) {
            proofs += algorithms.iter().map(|a| prove(a, *torus)).sum::<usize>();
        }
        proofs
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let proofs: usize = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap())
            .sum()
    });
    assert!(proofs > 1000, "{proofs} proofs");
}
