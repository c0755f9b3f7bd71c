//! The communicator from the outside: nonblocking, persistent and scoped calls, new communicators, and every way to fail.

use allhands::operation;
use allhands::{Communicator, Error, Max, Ordered, Sum, threads};
use std::time::{Duration, Instant};

/// Runs on `ranks` threads and gives each rank's own result, all of which must be there.
fn on_all<R: Send>(ranks: usize, f: impl Fn(&Communicator) -> Result<R, Error> + Sync) -> Vec<R> {
    let results = threads::run(ranks, |comm| f(&comm)).expect("no rank panics");
    results
        .into_iter()
        .map(|r| r.expect("no rank fails"))
        .collect()
}

/// Runs on `ranks` threads, where every rank must fail within a second; gives what each says.
fn failures(ranks: usize, f: impl Fn(&Communicator) -> Result<(), Error> + Sync) -> Vec<String> {
    let start = Instant::now();
    let results = threads::run(ranks, |comm| f(&comm)).expect("no rank panics");
    assert!(
        start.elapsed() < Duration::from_secs(1),
        "took {:?}",
        start.elapsed()
    );
    results
        .into_iter()
        .map(|r| r.expect_err("every rank fails").to_string())
        .collect()
}

#[test]
fn several_requests_end_in_any_order() {
    for ranks in [1, 2, 5] {
        on_all(ranks, |comm| {
            let make = |n: usize| {
                comm.start((vec![1u64; n], vec![0; n]), |(i, o)| {
                    operation::allreduce(i, o, &Sum)
                })
            };
            let (long, mut short, longer) = (make(50_000)?, make(3)?, make(90_000)?);
            // Ranks wait in different orders; blocking calls in between are no obstacle.
            comm.allreduce_in_place(&mut [0u8; 4], Sum)?;
            let (long, longer) = if comm.rank().is_multiple_of(2) {
                let longer = longer.wait()?.1;
                (long.wait()?.1, longer)
            } else {
                (long.wait()?.1, longer.wait()?.1)
            };
            while !short.test() {
                std::thread::yield_now();
            }
            let short = short.wait()?.1;
            for output in [long, short, longer] {
                assert!(output.iter().all(|&x| x == ranks as u64));
            }
            Ok(())
        });
    }
}

#[test]
fn a_dropped_request_is_waited_for_and_a_leaked_one_harms_nobody() {
    on_all(3, |comm| {
        let start = |n: usize| {
            comm.start((vec![1u32; n], vec![0; n]), |(i, o)| {
                operation::allreduce(i, o, &Sum)
            })
        };
        drop(start(20_000)?);
        std::mem::forget(start(20_000)?);
        let mut buffer = [1u32; 7];
        comm.allreduce_in_place(&mut buffer, Sum)?;
        assert_eq!(buffer, [3; 7]);
        // The leaked call is taken further by what follows, so that peers can end theirs.
        start(20_000)?.wait()?;
        Ok(())
    });
}

#[test]
fn a_persistent_call_starts_many_times_with_new_data() {
    on_all(4, |comm| {
        let mut call =
            comm.persistent(vec![0i64; 1000], |b| operation::allreduce_in_place(b, &Max));
        for round in 0..50 {
            let value = round * 10 + comm.rank() as i64;
            call.buffers()?.fill(value);
            call.start()?;
            call.wait()?;
            assert!(call.buffers()?.iter().all(|&x| x == round * 10 + 3));
        }
        Ok(())
    });
}

#[test]
fn a_scope_waits_for_its_calls_even_when_it_panics() {
    on_all(2, |comm| {
        let mut vectors = vec![vec![1u16; 30_000]; 5];
        comm.scope(|scope| -> Result<(), Error> {
            for vector in &mut vectors {
                scope.start(operation::allreduce_in_place(vector, &Sum))?;
            }
            Ok(())
        })??;
        assert!(vectors.iter().flatten().all(|&x| x == 2));
        let mut vector = vec![1u16; 30_000];
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _ = comm.scope(|scope| {
                scope
                    .start(operation::allreduce_in_place(&mut vector, &Sum))
                    .expect("it starts");
                std::panic::resume_unwind(Box::new("on purpose"));
            });
        }));
        assert!(panicked.is_err());
        assert!(vector.iter().all(|&x| x == 2));
        Ok(())
    });
}

#[test]
fn split_and_dup_make_communicators_of_their_own() {
    let sums = on_all(7, |comm| {
        let colour = (comm.rank() != 6).then_some(comm.rank() as u32 % 2);
        let part = comm.split(colour, 100 - comm.rank() as u64)?;
        let copy = comm.dup()?;
        let mut all = [1u32];
        copy.allreduce_in_place(&mut all, Sum)?;
        assert_eq!(all, [7]);
        let Some(part) = part else { return Ok(None) };
        assert_eq!((part.size(), part.rank()), (3, 2 - comm.rank() / 2));
        // Strings of ranks: the order of the key, not of the old ranks.
        let mut first = [comm.rank()];
        part.broadcast(&mut first, 0)?;
        Ok(Some(first[0]))
    });
    assert_eq!(
        sums,
        [Some(4), Some(5), Some(4), Some(5), Some(4), Some(5), None]
    );
}

#[test]
fn a_communicator_moves_to_another_thread() {
    on_all(2, |comm| {
        let copy = comm.dup()?;
        let other = std::thread::spawn(move || {
            let mut buffer = [copy.rank() as u8];
            copy.allreduce_in_place(&mut buffer, Sum)
                .map(|()| buffer[0])
        });
        comm.allreduce_in_place(&mut [1.0f32; 100], Sum)?;
        assert_eq!(other.join().expect("the thread ends")?, 1);
        Ok(())
    });
}

#[test]
fn ranks_that_call_differently_are_told_what_differs() {
    type Call = fn(&Communicator) -> Result<(), Error>;
    let cases: [(&str, Call); 5] = [
        ("make different calls: root ", |comm| {
            comm.broadcast(&mut [0u8; 4], comm.rank().min(1))
        }),
        ("length in bytes", |comm| {
            comm.allreduce_in_place(&mut vec![0u8; 4 + comm.rank() / 2], Sum)
        }),
        ("element type", |comm| {
            if comm.rank() == 2 {
                comm.allreduce_in_place(&mut [0i32; 2], Sum)
            } else {
                comm.allreduce_in_place(&mut [0f32; 2], Sum)
            }
        }),
        ("operator", |comm| {
            if comm.rank() == 0 {
                comm.allreduce_in_place(&mut [0i32; 2], Max)
            } else {
                comm.allreduce_in_place(&mut [0i32; 2], Sum)
            }
        }),
        ("collective", |comm| {
            if comm.rank() == 1 {
                comm.broadcast(&mut [0u64], 0)
            } else {
                comm.allreduce_in_place(&mut [0u64], Sum)
            }
        }),
    ];
    for (differs, call) in cases {
        // A rank that leaves a differing call early is told at its next one.
        for said in failures(4, |comm| {
            call(comm).and_then(|()| comm.allreduce_in_place(&mut [0u8; 9], Sum))
        }) {
            assert!(said.contains(differs), "'{said}' does not name: {differs}");
        }
    }
}

#[test]
fn a_rank_that_leaves_or_panics_is_named() {
    for said in threads::run(3, |comm| {
        if comm.rank() == 1 {
            return None;
        }
        Some(
            comm.allreduce_in_place(&mut [0u8; 2], Sum)
                .expect_err("rank 1 is gone")
                .to_string(),
        )
    })
    .expect("no rank panics")
    .into_iter()
    .flatten()
    {
        assert!(said.contains("rank 1 left"), "{said}");
    }
    let start = Instant::now();
    let error = threads::run(3, |comm| {
        if comm.rank() == 2 {
            std::panic::resume_unwind(Box::new("on purpose"));
        }
        let said = comm
            .allreduce_in_place(&mut [0u8; 2], Sum)
            .expect_err("rank 2 is gone")
            .to_string();
        assert!(said.contains("rank 2 panicked"), "{said}");
    });
    assert!(
        error
            .expect_err("rank 2 panicked")
            .to_string()
            .contains("rank 2 panicked")
    );
    assert!(start.elapsed() < Duration::from_secs(1));
}

#[test]
fn a_panic_in_an_operator_is_an_error_on_the_others() {
    let panics = Ordered(|a: &u64, b: &u64| {
        if *b == 2 {
            std::panic::resume_unwind(Box::new("on purpose"))
        } else {
            a + b
        }
    });
    let start = Instant::now();
    let error = threads::run(3, |comm| {
        let mut output = vec![0u64; 5000];
        comm.run(operation::allreduce(
            &vec![comm.rank() as u64; 5000],
            &mut output,
            &panics,
        ))
        .is_err()
    });
    assert!(
        error
            .expect_err("a rank panicked")
            .to_string()
            .contains("panicked")
    );
    assert!(start.elapsed() < Duration::from_secs(2));
}

#[test]
fn mistakes_are_named_and_leave_the_communicator_usable() {
    on_all(2, |comm| {
        let said = |result: Result<(), Error>| {
            let error = result.expect_err("a mistake");
            assert!(error.communicator_usable(), "{error}");
            error.to_string()
        };
        let text = said(comm.allreduce(&[0u8; 3], &mut [0u8; 4], Sum));
        assert_eq!(
            text,
            "allreduce: the input has 3 elements where 4 are right (from the lengths of the other buffer and the counts)"
        );
        let text = said(comm.broadcast(&mut [0u8; 3], 2));
        assert_eq!(
            text,
            "broadcast: there is no rank 2 to be the root; the communicator has ranks 0 to 1"
        );
        let text =
            said(comm.run(operation::allreduce(&[0u8], &mut [0u8], &Sum).algorithm("rings")));
        assert!(
            text.starts_with("there is no allreduce algorithm 'rings'; there are "),
            "{text}"
        );
        let text = said(comm.run(
            operation::allreduce(&[0u8], &mut [0u8], &Sum).algorithm("recursive-doubling:fold=up"),
        ));
        assert!(text.contains("fold cannot be 'up'"), "{text}");
        let ordered = Ordered(|a: &u8, _: &u8| *a);
        let text = said(
            comm.run(
                operation::allreduce(&[0u8], &mut [0u8], &ordered)
                    .algorithm("recursive-doubling:fold=high"),
            ),
        );
        assert!(text.contains("commutative"), "{text}");
        let mut buffer = [comm.rank()];
        comm.allreduce_in_place(&mut buffer, Sum)?;
        assert_eq!(buffer, [1]);
        Ok(())
    });
    assert!(matches!(threads::run(0, |_| ()), Err(Error::NoRanks)));
}
