//! The communicator from the outside, as each rank sees it: what every engine must do alike.

use allhands::interposition::Interposition;
use allhands::operation;
use allhands::{Communicator, Error, Max, Ordered, Sum};
use std::sync::Mutex;

pub mod long_messages;
pub mod splits;

pub fn several_requests_end_in_any_order(comm: &Communicator) -> Result<(), Error> {
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
        assert!(output.iter().all(|&x| x == comm.size() as u64));
    }
    Ok(())
}

/// Rank 0 looks at its calls only when all others have ended theirs, which need what its thread does meanwhile.
pub fn a_progress_thread_ends_calls_that_nobody_waits_for(
    comm: &Communicator,
) -> Result<(), Error> {
    let quiet = comm.dup()?.with_progress_thread()?;
    let all = comm.size() as u64;
    for elements in [1, 3000, 100_000] {
        let start = || {
            quiet.start(vec![1u64; elements], |v| {
                operation::allreduce_in_place(v, &Sum)
            })
        };
        let (one, other) = (start()?, start()?);
        if comm.rank() == 0 {
            comm.barrier()?;
        }
        assert!(one.wait()?.iter().all(|&x| x == all));
        assert!(other.wait()?.iter().all(|&x| x == all));
        if comm.rank() > 0 {
            comm.barrier()?;
        }
        // Blocking calls beside it, and one that is dropped while the thread has it.
        drop(start()?);
        quiet.allreduce_in_place(&mut [1u8; 3], Sum)?;
    }
    Ok(())
}

/// A root copies its own long block and receives those of others, who help it, whoever comes first.
pub fn long_blocks_are_gathered(comm: &Communicator) -> Result<(), Error> {
    const BLOCK: usize = 80_000;
    let (rank, ranks) = (comm.rank(), comm.size());
    let block = |rank: usize| (0..BLOCK).map(move |i| (i * 31 + rank) as u64);
    let right = |all: &[u64]| {
        let mut blocks = (0..).zip(all.chunks(BLOCK));
        assert!(blocks.all(|(from, all)| all.iter().copied().eq(block(from))));
    };
    for call in 0..4 {
        let (root, late) = (call % ranks, call % 3);
        if rank == late {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let input: Vec<u64> = block(rank).collect();
        let mut all = vec![0; if rank == root { BLOCK * ranks } else { 0 }];
        comm.run(operation::gather(&input, &mut all, root).algorithm("direct:ports=2"))?;
        right(&all);
        all.fill(0);
        let mut request = comm.start((input, all), |(input, all)| {
            operation::gather(input, all, root).algorithm(["direct", "direct:ports=4"][call / 2])
        })?;
        while call % 2 == 0 && !request.test() {
            std::thread::yield_now();
        }
        right(&request.wait()?.1);
    }
    Ok(())
}

pub fn a_dropped_request_is_waited_for_and_a_leaked_one_harms_nobody(
    comm: &Communicator,
) -> Result<(), Error> {
    let start = |n: usize| {
        comm.start((vec![1u32; n], vec![0; n]), |(i, o)| {
            operation::allreduce(i, o, &Sum)
        })
    };
    drop(start(20_000)?);
    std::mem::forget(start(20_000)?);
    let mut buffer = [1u32; 7];
    comm.allreduce_in_place(&mut buffer, Sum)?;
    assert_eq!(buffer, [comm.size() as u32; 7]);
    // The leaked call is taken further by what follows, so that peers can end theirs.
    start(20_000)?.wait()?;
    // Messages of different calls may overtake one another, and who leaves while a call is under way stops the others.
    while comm.is_busy() {
        comm.advance();
        std::thread::yield_now();
    }
    Ok(())
}

pub fn a_persistent_call_starts_many_times_with_new_data(comm: &Communicator) -> Result<(), Error> {
    let mut call = comm.persistent(vec![0i64; 1000], |b| operation::allreduce_in_place(b, &Max));
    for round in 0..50 {
        let value = round * 100 + comm.rank() as i64;
        call.buffers()?.fill(value);
        call.start()?;
        call.wait()?;
        let most = round * 100 + comm.size() as i64 - 1;
        assert!(call.buffers()?.iter().all(|&x| x == most));
    }
    Ok(())
}

pub fn a_scope_waits_for_its_calls_even_when_it_panics(comm: &Communicator) -> Result<(), Error> {
    let mut vectors = vec![vec![1u16; 30_000]; 5];
    comm.scope(|scope| -> Result<(), Error> {
        for vector in &mut vectors {
            scope.start(operation::allreduce_in_place(vector, &Sum))?;
        }
        Ok(())
    })??;
    let all = comm.size() as u16;
    assert!(vectors.iter().flatten().all(|&x| x == all));
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
    assert!(vector.iter().all(|&x| x == all));
    Ok(())
}

/// For 7 ranks.
pub fn split_and_dup_make_communicators_of_their_own(comm: &Communicator) -> Result<(), Error> {
    let colour = (comm.rank() != 6).then_some(comm.rank() as u32 % 2);
    let part = comm.split(colour, 100 - comm.rank() as u64)?;
    let copy = comm.dup()?;
    let mut all = [1u32];
    copy.allreduce_in_place(&mut all, Sum)?;
    assert_eq!(all, [7]);
    let Some(part) = part else {
        assert_eq!(comm.rank(), 6);
        return Ok(());
    };
    assert_eq!((part.size(), part.rank()), (3, 2 - comm.rank() / 2));
    // The order is that of the key, not of the old ranks.
    let mut first = [comm.rank()];
    part.broadcast(&mut first, 0)?;
    assert_eq!(first, [4 + comm.rank() % 2]);
    Ok(())
}

/// Communicators of communicators, which end in another order than they began, many times over.
pub fn communicators_come_and_go(comm: &Communicator) -> Result<(), Error> {
    let long = |comm: &Communicator| -> Result<(), Error> {
        let mut vector = vec![1u64; 6000];
        comm.allreduce_in_place(&mut vector, Sum)?;
        assert!(vector.iter().all(|&x| x == comm.size() as u64));
        Ok(())
    };
    let mut last = comm.dup()?;
    for round in 0..30 {
        let next = last.dup()?;
        long(&last)?;
        let old = std::mem::replace(&mut last, next);
        let half = old.split(Some((comm.rank() as u32 + round) % 2), 0)?;
        drop(old);
        half.map_or(Ok(()), |half| long(&half))?;
        long(&last)?;
    }
    long(comm)
}

/// For 2 ranks.
pub fn a_communicator_moves_to_another_thread(comm: &Communicator) -> Result<(), Error> {
    let copy = comm.dup()?;
    let other = std::thread::spawn(move || {
        let mut buffer = [copy.rank() as u8];
        copy.allreduce_in_place(&mut buffer, Sum)
            .map(|()| buffer[0])
    });
    comm.allreduce_in_place(&mut [1.0f32; 100], Sum)?;
    assert_eq!(other.join().expect("the thread ends")?, 1);
    Ok(())
}

/// A call of one rank.
type Call = fn(&Communicator) -> Result<(), Error>;

/// That lengths differ, as it is said.
pub const LENGTH: &str = "length in bytes";

/// What differs, and calls that differ in it; for 4 ranks.
pub const DIFFERING: [(&str, Call); 5] = [
    ("make different calls: root ", |comm| {
        comm.broadcast(&mut [0u8; 4], comm.rank().min(1))
    }),
    (LENGTH, |comm| {
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

/// What each rank is told of one of [`DIFFERING`], or in a call of so many bytes after it.
pub fn told_of_differing(comm: &Communicator, which: usize, bytes: usize) -> String {
    let (_, call) = DIFFERING[which];
    // A rank that leaves a differing call early is told at its next one.
    let said = call(comm).and_then(|()| comm.allreduce_in_place(&mut vec![0u8; bytes], Sum));
    said.expect_err("every rank fails").to_string()
}

/// One of [`DIFFERING`]; every rank is told.
pub fn ranks_that_call_differently_are_told_what_differs(comm: &Communicator, which: usize) {
    let ((differs, _), said) = (DIFFERING[which], told_of_differing(comm, which, 9));
    assert!(said.contains(differs), "'{said}' does not name: {differs}");
}

/// Rank 1 makes no call and leaves.
pub fn a_rank_that_leaves_is_named(comm: &Communicator) -> Result<(), Error> {
    if comm.rank() != 1 {
        let said = comm.allreduce_in_place(&mut [0u8; 2], Sum);
        let said = said.expect_err("rank 1 is gone").to_string();
        assert!(said.contains("rank 1 left"), "{said}");
    }
    Ok(())
}

/// Rank 2 panics.
pub fn a_rank_that_panics_is_named(comm: &Communicator) -> Result<(), Error> {
    if comm.rank() == 2 {
        std::panic::resume_unwind(Box::new("on purpose"));
    }
    let said = comm.allreduce_in_place(&mut [0u8; 2], Sum);
    let said = said.expect_err("rank 2 is gone").to_string();
    assert!(said.contains("rank 2 panicked"), "{said}");
    Ok(())
}

/// The operator panics where it meets the 2 of rank 2: on whichever ranks that is; the others are told.
pub fn a_panic_in_an_operator_is_an_error_on_the_others(comm: &Communicator) -> Result<(), Error> {
    let panics = Ordered(|a: &u64, b: &u64| {
        if *b == 2 {
            std::panic::resume_unwind(Box::new("on purpose"))
        } else {
            a + b
        }
    });
    let mut output = vec![0u64; 5000];
    let input = vec![comm.rank() as u64; 5000];
    let ended = comm.run(operation::allreduce(&input, &mut output, &panics));
    let said = ended.expect_err("some rank has panicked").to_string();
    assert!(said.contains("panicked"), "{said}");
    Ok(())
}

/// For 2 ranks.
pub fn mistakes_are_named_and_leave_the_communicator_usable(
    comm: &Communicator,
) -> Result<(), Error> {
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
    let text = said(comm.run(operation::allreduce(&[0u8], &mut [0u8], &Sum).algorithm("rings")));
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
}

/// Memory that messages have left alone, of all ranks of this process.
static LEFT_ALONE: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());

/// Whether what is received ends where no more was sent, and all behind it is as before and was told of.
fn is_short(block: &[u64], sent: usize, from: usize) -> bool {
    let rest = &block[sent..];
    let told = (rest.as_ptr().addr(), size_of_val(rest));
    let is_told = rest.is_empty() || LEFT_ALONE.lock().unwrap().contains(&told);
    let (mut came, mut left) = (block[..sent].iter(), rest.iter());
    is_told && came.all(|x| *x == from as u64 + 1) && left.all(|x| *x == 77)
}

/// Where the receiver says that it may be, what is gathered or scattered is shorter than its room.
pub fn what_is_gathered_or_scattered_may_be_shorter(comm: &Communicator) -> Result<(), Error> {
    let (rank, ranks) = (comm.rank(), comm.size());
    comm.set_left_alone(Some(|address, bytes| {
        LEFT_ALONE.lock().unwrap().push((address.addr(), bytes));
    }));
    let heir = &comm.dup()?;
    let pairs = [
        (1, 3),
        (6, 90),
        (90, 700),
        (5, 300_000),
        (5000, 5001),
        (200_000, 300_000),
    ];
    for (round, (sent, room)) in (0..).zip([pairs, pairs].concat()) {
        let (root, comm) = (round % ranks, [comm, heir][round % 2]);
        let is_root = rank == root;
        // What is received has its own length where there is no other rank to send it.
        let of = |other: usize| if other == root { sent } else { room };
        // The root alone knows of others.
        let known = 0..if is_root { ranks } else { 0 };
        let counts: Vec<usize> = known.clone().map(of).collect();
        let mut all = vec![77; counts.iter().sum()];
        let mine = vec![rank as u64 + 1; sent];
        comm.run(operation::gather_v(&mine, &mut all, &counts, root).algorithm("direct"))?;
        let mut rest = &all[..];
        for other in known.clone() {
            let (block, behind) = rest.split_at(counts[other]);
            assert!(is_short(block, sent, other), "{rank}: {sent} of {room}");
            rest = behind;
        }
        let outgoing = vec![sent; known.len()];
        let all = vec![rank as u64 + 1; sent * known.len()];
        let request = comm.start((all, vec![77; of(rank)]), |(all, own)| {
            operation::scatter_v(all, &outgoing, own, root).algorithm("direct")
        })?;
        let own = request.wait()?.1;
        assert!(is_short(&own, sent, root), "{rank}: {sent} of {room}");
        let (all, mut own) = (
            vec![root as u64 + 1; sent * known.len()],
            vec![77; of(rank)],
        );
        comm.run(operation::scatter(&all, &mut own, root).algorithm("direct"))?;
        assert!(is_short(&own, sent, root), "{rank}: {sent} of {room}");
        comm.barrier()?;
    }
    // What goes to and fro may not.
    let (send, receive) = (vec![1; ranks], vec![2; ranks]);
    let (input, mut output) = (vec![1u64; ranks], vec![0; 2 * ranks]);
    let call = operation::alltoall_v(&input, &send, &mut output, &receive);
    let said = heir.run(call.algorithm("scattered"));
    assert!(ranks == 1 || said.is_err(), "rank {rank}");
    Ok(())
}
