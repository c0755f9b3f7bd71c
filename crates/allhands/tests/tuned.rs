//! Tables on real calls: ranks that read the same table by themselves choose alike, and get what is right.

use allhands::{Communicator, Error, Ordered, Policy, Sum, operation, threads};
use allhands_core::algorithm;
use allhands_core::call::Collective;
use allhands_core::choose::{Cell, Entry, Row, Table};
use proptest::prelude::{ProptestConfig, Strategy, any};
use proptest::test_runner::TestRunner;
use std::sync::Arc;

fn mix(a: u64, b: u64) -> u64 {
    let z = (a ^ b.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z ^ (z >> 29)
}

/// The text of a table of any algorithms in any order, some of which do not exist.
fn table(seed: u64) -> String {
    let mut table = Table::new("t", "m", "0");
    let mut state = seed;
    let mut next = |below: u64| {
        state = mix(state, 1);
        state % below
    };
    for collective in Collective::ALL {
        let all: Vec<(&str, &str)> = algorithm::of(collective)
            .flat_map(|a| a.settings.iter().map(|s| (a.name, *s)))
            .chain([("no-such-algorithm", ""), ("ring", "no-such-key=1")])
            .collect();
        for _ in 0..next(4) {
            let mut row = Row::new(collective, next(9) as u32 + 1, next(2) == 0);
            for _ in 0..next(3) + 1 {
                let mut entry = || {
                    let (name, parameters) = all[next(all.len() as u64) as usize];
                    Entry {
                        name: name.into(),
                        parameters: parameters.into(),
                        time_ns: Some(next(1 << 40)),
                    }
                };
                let ranking = vec![entry(), entry(), entry()];
                let bytes = next(5000);
                row.insert(Cell { bytes, ranking });
            }
            table.insert(row);
        }
    }
    table.to_string()
}

/// Composition of affine maps, which does not commute.
fn compose(a: &[u64; 2], b: &[u64; 2]) -> [u64; 2] {
    [
        a[0].wrapping_mul(b[0]),
        a[1].wrapping_mul(b[0]).wrapping_add(b[1]),
    ]
}

/// Calls of several kinds, each compared with what is right.
fn calls(comm: &Communicator, n: usize) -> Result<(), Error> {
    let (rank, ranks) = (comm.rank(), comm.size());
    let root = ranks - 1;
    comm.barrier()?;
    let total = (ranks * (ranks + 1) / 2) as u64;
    let mut sum = vec![rank as u64 + 1; n];
    comm.allreduce_in_place(&mut sum, Sum)?;
    assert!(sum.iter().all(|x| *x == total));
    let map = |r: usize| [r as u64 + 2, 3 * r as u64 + 1];
    let right = |to: usize| (1..=to).fold(map(0), |all, r| compose(&all, &map(r)));
    let (mine, mut all) = (vec![map(rank); n], vec![[0; 2]; n]);
    comm.allreduce(&mine, &mut all, Ordered(compose))?;
    assert!(all.iter().all(|x| *x == right(root)));
    comm.run(operation::scan(&mine, &mut all, &Ordered(compose)))?;
    assert!(all.iter().all(|x| *x == right(rank)));
    let mut word = vec![if rank == root { 7u16 } else { 0 }; n];
    comm.broadcast(&mut word, root)?;
    assert!(word.iter().all(|x| *x == 7));
    let mut from_all = vec![0; n * ranks];
    comm.run(operation::alltoall(
        &vec![rank as u32; n * ranks],
        &mut from_all,
    ))?;
    assert!(
        from_all
            .iter()
            .enumerate()
            .all(|(i, x)| *x as usize == i / n)
    );
    // Irregular, and only the root knows all counts.
    let counts: Vec<usize> = (0..ranks).map(|r| (r * 7 + n) % 5).collect();
    let mut gathered = vec![0; if rank == root { counts.iter().sum() } else { 0 }];
    let known = if rank == root { &counts[..] } else { &[] };
    comm.run(operation::gather_v(
        &vec![rank; counts[rank]],
        &mut gathered,
        known,
        root,
    ))?;
    let expected = counts.iter().enumerate().flat_map(|(r, n)| vec![r; *n]);
    assert!(rank != root || gathered.into_iter().eq(expected));
    Ok(())
}

#[test]
fn ranks_with_the_same_table_agree_and_are_right() {
    let cases = (any::<u64>(), 1usize..9, 1usize..400).prop_map(|(seed, p, n)| (table(seed), p, n));
    let config = ProptestConfig::with_cases(60);
    let ran = TestRunner::new(config).run(&cases, |(text, ranks, n)| {
        let done = threads::run(ranks, |comm| {
            // Each rank reads for itself; a choice that differs would be an error of the first call.
            let table = Table::parse("t", &text).expect("it was written so");
            comm.set_policy(Policy::Tuned(Arc::new(table)));
            calls(&comm, n)
        });
        for (rank, result) in done.expect("no rank panics").into_iter().enumerate() {
            result.unwrap_or_else(|error| panic!("rank {rank}: {error}"));
        }
        Ok(())
    });
    ran.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn the_policy_at_first_serves_everything() {
    for ranks in 1..6 {
        for result in threads::run(ranks, |comm| calls(&comm, 50)).expect("no rank panics") {
            result.expect("it is served");
        }
    }
}
