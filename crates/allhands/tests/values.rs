//! Values, vectors and displaced blocks from the outside, on threads, for several numbers of ranks and every root.

use allhands::{Communicator, Commutative, Displaced, Error, Max, Sum, threads};

const RANKS: [usize; 4] = [1, 2, 3, 5];

/// Runs on several numbers of threads, none of which may fail.
fn on_all(body: impl Fn(&Communicator) -> Result<(), Error> + Sync) {
    for ranks in RANKS {
        let results = threads::run(ranks, |comm| body(&comm)).expect("no rank panics");
        for result in results {
            result.expect("no rank fails");
        }
    }
}

/// A vector of rank `rank`'s own length, of which some are empty, and content.
fn own(rank: usize) -> Vec<u32> {
    (0..rank * 7 % 5).map(|i| (100 * rank + i) as u32).collect()
}

#[test]
fn single_values_are_reduced() {
    on_all(|comm| {
        let (rank, size) = (comm.rank() as u64, comm.size() as u64);
        assert_eq!(comm.allreduce_value(rank, Sum)?, size * (size - 1) / 2);
        assert_eq!(comm.scan_value(rank, Sum)?, rank * (rank + 1) / 2);
        let before = (rank > 0).then(|| rank * (rank - 1) / 2);
        assert_eq!(comm.exscan_value(rank, Sum)?, before);
        for root in 0..comm.size() {
            let largest = comm.reduce_value(rank, Max, root)?;
            assert_eq!(largest, (comm.rank() == root).then_some(size - 1));
        }
        Ok(())
    });
}

#[test]
fn a_closure_combines_in_rank_order() {
    // Of two non-zero digits strings: one after another, as a number and its length.
    let join = |a: &[u64; 2], b: &[u64; 2]| [a[0] * 10_u64.pow(b[1] as u32) + b[0], a[1] + b[1]];
    on_all(|comm| {
        let digits = comm.allreduce_value([comm.rank() as u64 + 1, 1], join)?;
        let right = (1..=comm.size() as u64).fold(0, |all, digit| 10 * all + digit);
        assert_eq!(digits, [right, comm.size() as u64]);
        let larger = Commutative(|a: &u64, b: &u64| *a.max(b));
        assert_eq!(
            comm.allreduce_value(comm.rank() as u64, larger)?,
            comm.size() as u64 - 1
        );
        Ok(())
    });
}

#[test]
fn values_and_vectors_move() {
    on_all(|comm| {
        let (rank, size) = (comm.rank(), comm.size());
        assert_eq!(comm.allgather_value(rank)?, (0..size).collect::<Vec<_>>());
        let mine: Vec<usize> = (0..size).map(|d| 10 * rank + d).collect();
        let theirs: Vec<usize> = (0..size).map(|s| 10 * s + rank).collect();
        assert_eq!(comm.alltoall_values(&mine)?, theirs);
        for root in 0..size {
            assert_eq!(comm.broadcast_value(rank, root)?, root);
            assert_eq!(comm.broadcast_vec(own(rank), root)?, own(root));
            assert_eq!(comm.scatter_value(&mine, root)?, 10 * root + rank);
            let all = (rank == root).then(|| (0..size).collect());
            assert_eq!(comm.gather_value(rank, root)?, all);
        }
        Ok(())
    });
}

#[test]
fn lengths_are_found() {
    on_all(|comm| {
        let (rank, size) = (comm.rank(), comm.size());
        let all: Vec<Vec<u32>> = (0..size).map(own).collect();
        let got = comm.allgather_vec(&own(rank))?;
        assert_eq!(got.iter().collect::<Vec<_>>(), all);
        assert_eq!(got.elements(), all.concat());
        for root in 0..size {
            let got = comm.gather_vec(&own(rank), root)?;
            assert_eq!(got.is_some(), rank == root);
            if let Some(got) = got {
                let blocks: Vec<&[u32]> = (0..size).map(|r| got.block(r)).collect();
                assert_eq!(blocks, all);
            }
        }
        let mine: Vec<Vec<u32>> = (0..size).map(|d| own(3 * rank + d)).collect();
        let theirs: Vec<Vec<u32>> = (0..size).map(|s| own(3 * s + rank)).collect();
        let got = comm.alltoall_vec(&mine)?;
        assert_eq!(got.iter().collect::<Vec<_>>(), theirs);
        let (elements, counts) = got.into_parts();
        assert_eq!(elements, theirs.concat());
        assert_eq!(counts, theirs.iter().map(Vec::len).collect::<Vec<_>>());
        Ok(())
    });
}

#[test]
fn blocks_stand_where_they_are_said_to() {
    on_all(|comm| {
        let (rank, size) = (comm.rank(), comm.size());
        let counts: Vec<usize> = (0..size).map(|r| own(r).len()).collect();
        // From the last rank's to the first one's, with a gap of one before each.
        let starts: Vec<usize> = (0..size).map(|r| 6 * (size - 1 - r) + 1).collect();
        let at = Displaced::new(&counts, &starts);
        let mut right = vec![u32::MAX; 6 * size];
        for r in 0..size {
            right[starts[r]..][..counts[r]].copy_from_slice(&own(r));
        }
        let mut all = vec![u32::MAX; 6 * size];
        comm.allgather_v_at(&own(rank), &mut all, at)?;
        assert_eq!(all, right);
        for root in 0..size {
            let mut all = vec![u32::MAX; 6 * size];
            comm.gather_v_at(&own(rank), &mut all, at, root)?;
            assert!(rank != root || all == right);
            let mut block = vec![0; counts[rank]];
            comm.scatter_v_at(&right, at, &mut block, root)?;
            assert_eq!(block, own(rank));
        }
        // Everybody sends its own vector to all, from one place, and gets what an allgather gives.
        let (same, first) = (vec![counts[rank]; size], vec![0; size]);
        let mut all = vec![u32::MAX; 6 * size];
        comm.alltoall_v_at(&own(rank), Displaced::new(&same, &first), &mut all, at)?;
        assert_eq!(all, right);
        Ok(())
    });
}

#[test]
fn blocks_outside_or_in_one_another_are_errors() {
    on_all(|comm| {
        let size = comm.size();
        let (counts, mut output) = (vec![2; size], vec![0_u8; 2 * size]);
        let starts: Vec<usize> = (0..size)
            .map(|r| 2 * r + usize::from(r + 1 == size))
            .collect();
        let outside = comm.allgather_v_at(&[1, 2], &mut output, Displaced::new(&counts, &starts));
        let error = outside.expect_err("the last block ends behind the buffer");
        assert!(
            error
                .to_string()
                .contains(&format!("the block of rank {}", size - 1)),
            "{error}"
        );
        assert!(error.communicator_usable());
        let far = vec![usize::MAX; size];
        comm.allgather_v_at(&[1, 2], &mut output, Displaced::new(&counts, &far))
            .expect_err("far");
        comm.allgather_v_at(&[1, 2], &mut output, Displaced::new(&counts, &[]))
            .expect_err("no places");
        let same = comm.allgather_v_at(
            &[1, 2],
            &mut output,
            Displaced::new(&counts, &vec![0; size]),
        );
        match size {
            1 => same?,
            _ => assert!(
                same.expect_err("one place")
                    .to_string()
                    .contains("ranks 0 and 1 overlap")
            ),
        }
        // Nothing was sent: the communicator goes on.
        assert_eq!(comm.allreduce_value(1, Sum)?, size as i32);
        Ok(())
    });
}

#[test]
fn a_struct_of_the_users_travels() {
    use allhands::bytemuck::{Pod, Zeroable};

    #[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
    #[bytemuck(crate = "allhands::bytemuck")]
    #[repr(C)]
    struct Particle {
        position: [f64; 3],
        charge: f64,
    }
    let of = |rank: usize| Particle {
        position: [rank as f64; 3],
        charge: -1.0,
    };
    on_all(|comm| {
        let all = comm.allgather_value(of(comm.rank()))?;
        assert_eq!(all, (0..comm.size()).map(of).collect::<Vec<_>>());
        Ok(())
    });
}
