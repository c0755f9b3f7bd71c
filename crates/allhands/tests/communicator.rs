//! The communicator from the outside, on threads: nonblocking, persistent and scoped calls, new communicators, and every
//! way to fail.

use allhands::{Communicator, Error, Sum, operation, threads};
use allhands_suite::communicator as suite;
use allhands_suite::stopwatch;
use std::time::Duration;

/// Runs on `ranks` threads, all of which must end well, within a time.
fn on_all(ranks: usize, body: impl Fn(&Communicator) -> Result<(), Error> + Sync) {
    let results = threads::run(ranks, |comm| body(&comm)).expect("no rank panics");
    for result in results {
        result.expect("no rank fails");
    }
}

/// Runs what takes a moment, even if it goes wrong on some rank.
fn in_time<R>(body: impl FnOnce() -> R) -> R {
    stopwatch::in_time(Duration::from_secs(1), body)
}

/// Runs on `ranks` threads, one of which must panic.
fn panics(ranks: usize, body: fn(&Communicator) -> Result<(), Error>) -> String {
    let ended = in_time(|| threads::run(ranks, |comm| body(&comm)));
    ended.expect_err("a rank panics").to_string()
}

#[test]
fn several_requests_end_in_any_order() {
    for ranks in [1, 2, 5] {
        on_all(ranks, suite::several_requests_end_in_any_order);
    }
}

/// Where blocks go through third ranks, each rank's plan is made by the counts that all have told, not by those of its own buffers.
#[test]
fn counts_that_differ_are_an_error_before_any_block_moves() {
    type Body = fn(&Communicator) -> Result<(), Error>;
    let gather: Body = |comm| {
        let (input, mut output) = ([7u32], [0; 1001]);
        let (counts, output): (&[usize], _) = match comm.rank() {
            0 => (&[1, 1000], &mut output[..]),
            _ => (&[], &mut output[..0]),
        };
        comm.run(operation::gather_v(&input, output, counts, 0).algorithm("binomial"))
    };
    let scatter: Body = |comm| {
        let (input, mut output) = ([7u32; 1001], [0; 1]);
        let (counts, input): (&[usize], _) = match comm.rank() {
            0 => (&[1, 1000], &input[..]),
            _ => (&[], &input[..0]),
        };
        comm.run(operation::scatter_v(input, counts, &mut output, 0).algorithm("binomial"))
    };
    fn alltoall(comm: &Communicator, algorithm: &str) -> Result<(), Error> {
        let (input, mut output) = ([7u32; 1001], [0; 2]);
        let send: [usize; 2] = if comm.rank() == 0 { [1, 1000] } else { [1, 1] };
        let input = &input[..send[0] + send[1]];
        comm.run(operation::alltoall_v(input, &send, &mut output, &[1, 1]).algorithm(algorithm))
    }
    let all_known: Body = |comm| alltoall(comm, "bruck");
    let passing_known: Body = |comm| alltoall(comm, "two-phase-bruck");
    for body in [gather, scatter, all_known, passing_known] {
        let ended = in_time(|| threads::run(2, |comm| body(&comm))).expect("no rank panics");
        let said: Vec<String> = ended.iter().map(|end| format!("{end:?}")).collect();
        // Rank 1 finds it, and tells rank 0, unless that has sent all and left.
        assert!(said[1].contains("elements to rank"), "{said:?}");
        let is_told = said[0].contains("did not make this");
        assert!(is_told || said[0] == "Ok(())", "{said:?}");
    }
}

/// What passes through a rank is as long as others say, and may be longer in the next call with the same counts of its own.
#[test]
fn blocks_pass_through_ranks_that_have_none_of_that_length() {
    on_all(5, |comm| {
        let (rank, ranks) = (comm.rank(), comm.size());
        for far in [0, 1, 5000, 3] {
            // Rank 0's block for rank 3 goes by way of rank 1; all other blocks are short.
            let count = |from: usize, to: usize| if (from, to) == (0, 3) { far } else { from % 2 };
            let send: Vec<usize> = (0..ranks).map(|to| count(rank, to)).collect();
            let receive: Vec<usize> = (0..ranks).map(|from| count(from, rank)).collect();
            let blocks = |counts: &[usize], number: &dyn Fn(usize) -> u64| -> Vec<u64> {
                let block = |(at, count): (usize, &usize)| vec![number(at); *count];
                counts.iter().enumerate().flat_map(block).collect()
            };
            let number = |from: usize, to: usize| (far + 10 * from + to) as u64;
            let input = blocks(&send, &|to| number(rank, to));
            let mut output = vec![u64::MAX; receive.iter().sum()];
            let call = operation::alltoall_v(&input, &send, &mut output, &receive);
            comm.run(call.algorithm("two-phase-bruck"))?;
            assert_eq!(
                output,
                blocks(&receive, &|from| number(from, rank)),
                "{far}"
            );
        }
        Ok(())
    });
}

#[test]
fn a_progress_thread_ends_calls_that_nobody_waits_for() {
    for ranks in [1, 2, 5] {
        on_all(
            ranks,
            suite::a_progress_thread_ends_calls_that_nobody_waits_for,
        );
    }
}

#[test]
fn a_panic_in_the_background_is_the_own_and_an_error_on_the_others() {
    let said = panics(3, |comm| {
        let quiet = comm.dup()?.with_progress_thread()?;
        let explode = allhands::Ordered(|left: &u32, right: &u32| match right {
            2 => std::panic::resume_unwind(Box::new("on purpose")),
            _ => left + right,
        });
        let request = quiet.start((vec![quiet.rank() as u32; 10], explode), |(v, explode)| {
            operation::allreduce_in_place(v, explode).algorithm("recursive-doubling")
        })?;
        request.wait().map(drop)
    });
    assert!(said.contains("panicked"), "{said}");
}

#[test]
fn long_blocks_are_gathered() {
    for ranks in [1, 2, 5] {
        on_all(ranks, suite::long_blocks_are_gathered);
    }
}

#[test]
fn what_is_gathered_or_scattered_may_be_shorter() {
    for ranks in [1, 2, 3, 5] {
        on_all(ranks, suite::what_is_gathered_or_scattered_may_be_shorter);
    }
}

#[test]
fn long_messages_come_again_and_again() {
    for ranks in [2, 3] {
        on_all(
            ranks,
            suite::long_messages::long_messages_come_again_and_again,
        );
    }
}

#[test]
fn long_messages_are_exchanged_again_and_again() {
    for ranks in [2, 3] {
        on_all(
            ranks,
            suite::long_messages::long_messages_are_exchanged_again_and_again,
        );
    }
}

#[test]
fn long_blocks_are_sent_and_copied() {
    for ranks in [1, 2, 5] {
        on_all(ranks, suite::long_messages::long_blocks_are_sent_and_copied);
    }
}

#[test]
fn more_than_caches_hold_is_exchanged() {
    for ranks in [2, 5] {
        on_all(
            ranks,
            suite::long_messages::more_than_caches_hold_is_exchanged,
        );
    }
}

#[test]
fn a_dropped_request_is_waited_for_and_a_leaked_one_harms_nobody() {
    on_all(
        3,
        suite::a_dropped_request_is_waited_for_and_a_leaked_one_harms_nobody,
    );
}

#[test]
fn a_persistent_call_starts_many_times_with_new_data() {
    on_all(4, suite::a_persistent_call_starts_many_times_with_new_data);
}

#[test]
fn a_scope_waits_for_its_calls_even_when_it_panics() {
    on_all(2, suite::a_scope_waits_for_its_calls_even_when_it_panics);
}

#[test]
fn split_and_dup_make_communicators_of_their_own() {
    on_all(7, suite::split_and_dup_make_communicators_of_their_own);
}

#[test]
fn communicators_come_and_go() {
    on_all(4, suite::communicators_come_and_go);
}

#[test]
fn communicators_are_made_of_communicators() {
    for ranks in [1, 4, 7] {
        on_all(ranks, suite::splits::rows_and_columns_of_a_grid);
        on_all(ranks, suite::splits::who_has_no_colour_gets_no_communicator);
        on_all(
            ranks,
            suite::splits::copies_of_copies_outlive_what_they_were_made_of,
        );
        on_all(ranks, suite::splits::ranks_drop_in_orders_of_their_own);
    }
    on_all(
        4,
        suite::splits::what_is_sent_to_who_has_dropped_harms_nobody,
    );
    on_all(4, suite::splits::a_fault_in_one_leaves_the_others_usable);
    on_all(
        4,
        suite::splits::errors_name_ranks_as_their_communicator_does,
    );
}

#[test]
fn a_communicator_moves_to_another_thread() {
    on_all(2, suite::a_communicator_moves_to_another_thread);
}

#[test]
fn ranks_that_call_differently_are_told_what_differs() {
    for which in 0..suite::DIFFERING.len() {
        in_time(|| {
            on_all(4, |comm| {
                suite::ranks_that_call_differently_are_told_what_differs(comm, which);
                Ok(())
            });
        });
    }
}

#[test]
fn a_rank_that_leaves_or_panics_is_named() {
    in_time(|| on_all(3, suite::a_rank_that_leaves_is_named));
    let said = panics(3, suite::a_rank_that_panics_is_named);
    assert_eq!(said, "rank 2 panicked");
}

#[test]
fn a_panic_in_an_operator_is_an_error_on_the_others() {
    let said = panics(3, suite::a_panic_in_an_operator_is_an_error_on_the_others);
    assert!(said.contains("panicked"), "{said}");
}

#[test]
fn mistakes_are_named_and_leave_the_communicator_usable() {
    on_all(
        2,
        suite::mistakes_are_named_and_leave_the_communicator_usable,
    );
    assert!(matches!(threads::run(0, |_| ()), Err(Error::NoRanks)));
}

#[test]
fn counts_of_more_than_any_memory_are_a_wrong_length() {
    type Body = fn(&Communicator, &[usize]) -> Result<(), Error>;
    // Their sum, wrapped, is the length of the buffer.
    let counts = [1, usize::MAX, 1];
    let bodies: [Body; 3] = [
        |comm, counts| comm.allgather_v(&[7u8], &mut [0], counts),
        |comm, counts| comm.reduce_scatter_v(&[7u8], counts, &mut [0], Sum),
        |comm, counts| comm.alltoall_v(&[7u8], counts, &mut [0; 3], &[1; 3]),
    ];
    for body in bodies {
        on_all(3, |comm| {
            let ended = body(comm, &counts);
            assert!(matches!(ended, Err(Error::Length { .. })), "{ended:?}");
            comm.barrier()
        });
    }
}
