//! Long messages: what a communicator does with them, wherever its ranks are.

use allhands::{Communicator, Error, Sum, operation};

/// Long messages of one sender come so often that every way in which they may come is tried, and one chosen: copied, and combined.
pub fn long_messages_come_again_and_again(comm: &Communicator) -> Result<(), Error> {
    let (rank, ranks) = (comm.rank(), comm.size());
    // Beyond a megabyte nothing is tried before the 128th.
    for (elements, calls) in [(10_007, 30), (140_001, 164)] {
        let mut data = vec![0u64; elements];
        for call in 0..calls {
            let element = |rank: usize, i: usize| (i * 31 + rank * 7 + call * 1009) as u64;
            let own = |data: &mut [u64]| {
                let all = data.iter_mut().enumerate();
                all.for_each(|(i, x)| *x = element(rank, i));
            };
            own(&mut data);
            comm.run(operation::broadcast(&mut data, 0).algorithm("binomial"))?;
            let mut all = data.iter().enumerate();
            assert!(all.all(|(i, &x)| x == element(0, i)), "call {call}");
            own(&mut data);
            comm.run(operation::reduce_in_place(&mut data, &Sum, 0).algorithm("binomial"))?;
            let sum = |i| (0..ranks).map(|rank| element(rank, i)).sum::<u64>();
            let mut all = data.iter().enumerate();
            assert!(rank > 0 || all.all(|(i, &x)| x == sum(i)), "call {call}");
        }
    }
    Ok(())
}

/// Long messages are exchanged so often that both ways in which they may come are tried, and one chosen, also while one is under way.
pub fn long_messages_are_exchanged_again_and_again(comm: &Communicator) -> Result<(), Error> {
    let (rank, ranks) = (comm.rank(), comm.size());
    // Beyond a megabyte nothing is tried before the 128th.
    for (elements, calls) in [(10_007, 60), (262_147, 320)] {
        let element = |from: usize, to: usize, call: usize, i: usize| {
            (i * 31 + from * 7 + to * 3 + call * 1009) as u64
        };
        // All of a block would take most of the time.
        let places = || (0..elements).step_by(4093);
        let (mut input, mut output) = (vec![0; elements * ranks], vec![0; elements * ranks]);
        for call in 0..calls {
            for (to, i) in (0..ranks).flat_map(|to| places().map(move |i| (to, i))) {
                input[to * elements + i] = element(rank, to, call, i);
            }
            let block = &input[..elements];
            comm.run(operation::allgather(block, &mut output).algorithm("direct"))?;
            for (from, i) in (0..ranks).flat_map(|from| places().map(move |i| (from, i))) {
                assert_eq!(output[from * elements + i], element(from, 0, call, i));
            }
            comm.run(operation::alltoall(&input, &mut output).algorithm("direct"))?;
            for (from, i) in (0..ranks).flat_map(|from| places().map(move |i| (from, i))) {
                assert_eq!(output[from * elements + i], element(from, rank, call, i));
            }
        }
    }
    Ok(())
}

/// All ranks copy a long own block and send it, again and again, in place or not, whoever comes first.
pub fn long_blocks_are_sent_and_copied(comm: &Communicator) -> Result<(), Error> {
    const BLOCK: usize = 1_048_583;
    let (rank, ranks) = (comm.rank(), comm.size());
    let element = |rank: usize, call: usize, i: usize| (i * 31 + rank * 7 + call) as u16;
    let mut all = vec![0; BLOCK * ranks];
    for call in 0..6 {
        if rank == call % 3 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let input: Vec<u16> = (0..BLOCK).map(|i| element(rank, call, i)).collect();
        all.fill(0);
        if call % 3 == 0 {
            all[rank * BLOCK..][..BLOCK].copy_from_slice(&input);
            comm.run(operation::allgather_in_place(&mut all).algorithm("direct"))?;
        } else if call % 3 == 1 {
            comm.run(operation::allgather(&input, &mut all).algorithm("direct"))?;
        } else {
            let request = comm.start((input, all), |(input, all)| {
                operation::allgather(input, all).algorithm("direct:window=4")
            })?;
            all = request.wait()?.1;
        }
        let blocks = (0..).zip(all.chunks(BLOCK));
        for (from, block) in blocks {
            let mut elements = (0..).zip(block);
            assert!(elements.all(|(i, &x)| x == element(from, call, i)));
        }
    }
    Ok(())
}

/// All ranks exchange more than the last-level caches of most machines hold, in blocks of an odd length.
pub fn more_than_caches_hold_is_exchanged(comm: &Communicator) -> Result<(), Error> {
    const BYTES_IN_ALL: usize = 40 << 20;
    let (rank, ranks) = (comm.rank(), comm.size());
    let block = (BYTES_IN_ALL / (2 * size_of::<u32>() * ranks * ranks)) | 1;
    let element = |from: usize, to: usize, i: usize| (i * 31 + from * 7 + to) as u32;
    let input: Vec<u32> = (0..ranks * block)
        .map(|at| element(rank, at / block, at % block))
        .collect();
    let mut output = vec![0; input.len()];
    for algorithm in ["direct", "scattered"] {
        output.fill(0);
        comm.run(operation::alltoall(&input, &mut output).algorithm(algorithm))?;
        let mut elements = output.iter().enumerate();
        assert!(elements.all(|(at, &x)| x == element(at / block, rank, at % block)));
    }
    Ok(())
}
