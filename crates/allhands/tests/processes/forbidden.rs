//! Processes that may not read one another's memory: long messages arrive all the same.

use crate::world::{self, this_test};
use allhands::{Communicator, Sum, operation};
use allhands_suite::messages::{self, traffic};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

/// Keeps others from reading this process's memory, and this thread from reading that of others.
fn forbid() -> Result<(), String> {
    // SAFETY: sets an attribute of this process: only who may trace any process may read its memory now.
    if unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) } != 0 {
        return Err(std::io::Error::last_os_error().to_string());
    }
    let mut mine = capabilities(None).map_err(|e| e.to_string())?;
    mine.effective.remove(CapabilitySet::SYS_PTRACE);
    set_capabilities(None, mine).map_err(|e| e.to_string())
}

/// What the system says when this process reads a byte at `address` of another one.
fn try_to_read(process: u32, address: usize) -> Option<i32> {
    let mut byte = 0u8;
    let here = libc::iovec {
        iov_base: (&raw mut byte).cast(),
        iov_len: 1,
    };
    let there = libc::iovec {
        iov_base: std::ptr::without_provenance_mut(address),
        iov_len: 1,
    };
    // SAFETY: one byte that is ours is written; what is read is checked by the system.
    let read = unsafe { libc::process_vm_readv(process as i32, &here, 1, &there, 1, 0) };
    let error = std::io::Error::last_os_error();
    (read < 0).then(|| error.raw_os_error().unwrap_or(0))
}

/// Every rank tries to read a byte of its neighbour.
fn neighbour_says(comm: &Communicator) -> Result<Option<i32>, allhands::Error> {
    let byte = Box::new(7u8);
    let mine = [
        u64::from(std::process::id()),
        (&raw const *byte).addr() as u64,
    ];
    let mut all = vec![[0u64; 2]; comm.size()];
    comm.allgather(&[mine], &mut all)?;
    let [process, address] = all[(comm.rank() + 1) % comm.size()];
    let said = try_to_read(process as u32, address as usize);
    comm.barrier()?;
    drop(byte);
    Ok(said)
}

fn exchange(comm: &Communicator) -> Result<(), String> {
    let (rank, ranks) = (comm.rank() as u64, comm.size() as u64);
    let text = |error: allhands::Error| error.to_string();
    for elements in [3, 3000, 5000, 50_000] {
        for name in ["recursive-doubling", "ring"] {
            let mut sums: Vec<u64> = (0..elements).map(|i| i * rank).collect();
            let operation = operation::allreduce_in_place(&mut sums, &Sum);
            comm.run(operation.algorithm(name)).map_err(text)?;
            let right = |(i, sum): (u64, &u64)| *sum == i * (ranks * (ranks - 1) / 2);
            assert!((0..).zip(&sums).all(right), "{name}, {elements} elements");
        }
        let input: Vec<u64> = (0..elements * ranks).map(|i| i + rank).collect();
        let mut output = vec![0; input.len()];
        comm.alltoall(&input, &mut output).map_err(text)?;
        for (from, block) in (0..).zip(output.chunks(elements as usize)) {
            let right = (rank * elements..).map(|i| i + from);
            assert!(
                block
                    .iter()
                    .copied()
                    .zip(right)
                    .all(|(got, right)| got == right)
            );
        }
    }
    Ok(())
}

#[test]
fn long_messages_are_bounced() {
    for ranks in [2, 5] {
        world::run(this_test!(), ranks, |comm| {
            forbid()?;
            let said = neighbour_says(&comm).map_err(|error| error.to_string())?;
            assert_eq!(said, Some(libc::EPERM), "nobody may read another's memory");
            (0..3).try_for_each(|_| exchange(&comm))
        });
    }
}

#[test]
fn who_was_read_before_is_not_any_more() {
    world::run(this_test!(), 3, |comm| {
        exchange(&comm)?;
        comm.barrier().map_err(|error| error.to_string())?;
        forbid()?;
        (0..3).try_for_each(|_| exchange(&comm))
    });
}

#[test]
fn messages_between_two_ranks_are_bounced() {
    for ranks in [2, 5] {
        world::run(this_test!(), ranks, |comm| {
            let text = |error: allhands::Error| error.to_string();
            // At first they need not be.
            traffic::random_messages_are_all_received(&comm, 1).map_err(text)?;
            forbid()?;
            comm.barrier().map_err(text)?;
            messages::messages_of_every_length_go_round(&comm).map_err(text)?;
            messages::messages_and_calls_take_one_another_further(&comm).map_err(text)?;
            messages::a_message_that_does_not_fit_is_gone_and_the_rest_stays(&comm)
                .map_err(text)?;
            messages::a_rank_may_send_to_itself(&comm).map_err(text)?;
            messages::a_scope_ends_its_messages_even_when_it_panics(&comm).map_err(text)?;
            traffic::random_messages_are_all_received(&comm, 2).map_err(text)?;
            traffic::random_receives_are_all_met(&comm, 3).map_err(text)
        });
    }
}
