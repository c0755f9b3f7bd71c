//! Messages between two ranks from the outside, as each rank sees them: what every engine must do alike.

use allhands::{
    Communicator, Error, MessageError, Source, Status, Sum, Tag, TransportError, operation,
};
use std::time::{Duration, Instant};

pub mod traffic;

/// Lengths in elements of 8 bytes: none, and both sides of where another way begins, on every engine.
const LENGTHS: [usize; 11] = [0, 1, 7, 132, 133, 1016, 1017, 5000, 9000, 70_000, 200_001];

fn content(rank: usize, length: usize) -> Vec<u64> {
    (0..length as u64)
        .map(|i| i * 1_000_003 + rank as u64)
        .collect()
}

pub fn messages_of_every_length_go_round(comm: &Communicator) -> Result<(), Error> {
    let (rank, ranks) = (comm.rank(), comm.size());
    let (right, left) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
    for (tag, length) in (0..).zip(LENGTHS.into_iter().chain(LENGTHS)) {
        let (sent, mut received) = (content(rank, length), vec![7; length + 3]);
        let status = comm.sendrecv(&sent, right, tag, &mut received, left, tag)?;
        let bytes = 8 * length;
        assert_eq!(
            status,
            Status {
                source: left,
                tag,
                bytes
            }
        );
        assert_eq!(received[..length], content(left, length));
        assert_eq!(received[length..], [7; 3]);
    }
    Ok(())
}

pub fn who_sends_waits_and_who_receives_too(comm: &Communicator) -> Result<(), Error> {
    let (rank, ranks) = (comm.rank(), comm.size());
    for length in LENGTHS {
        // From rank to rank, around; with one rank there is nobody to send to.
        let mut token = content(0, length);
        if ranks == 1 {
            continue;
        }
        if rank > 0 {
            token.fill(0);
            comm.recv(&mut token, rank - 1, 3)?;
        }
        comm.send(&token, (rank + 1) % ranks, 3)?;
        if rank == 0 {
            token.fill(0);
            comm.recv(&mut token, ranks - 1, Tag::Any)?;
        }
        assert_eq!(token, content(0, length));
    }
    Ok(())
}

pub fn anybody_may_send_to_anybody(comm: &Communicator) -> Result<(), Error> {
    const MESSAGES: usize = 20;
    let (rank, ranks) = (comm.rank(), comm.size());
    let length = |number: usize| LENGTHS[number % 9];
    let mut sent = Vec::new();
    for number in 0..MESSAGES {
        for to in 0..ranks {
            let mut message = content(rank, length(number));
            message.push(number as u64);
            sent.push(comm.isend(message, to, number as u32 % 3)?);
        }
    }
    let mut next = vec![0; ranks];
    let mut room = vec![0u64; 9001];
    for _ in 0..MESSAGES * ranks {
        let status = comm.recv(&mut room, Source::Any, Tag::Any)?;
        let number = next[status.source];
        assert_eq!(status.tag, number as u32 % 3);
        assert_eq!(status.elements::<u64>(), length(number) + 1);
        assert_eq!(
            room[..length(number)],
            content(status.source, length(number))
        );
        assert_eq!(room[length(number)], number as u64);
        next[status.source] += 1;
    }
    for request in sent {
        request.wait()?;
    }
    comm.barrier()
}

/// A receiver wants the last of many messages first.
pub fn what_is_not_wanted_yet_is_no_obstacle(comm: &Communicator) -> Result<(), Error> {
    const MESSAGES: u64 = 1500;
    let (rank, ranks) = (comm.rank(), comm.size());
    let (right, left) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
    let mut sent = Vec::new();
    for number in 0..MESSAGES {
        sent.push(comm.isend([number; 20], right, 1)?);
    }
    sent.push(comm.isend([MESSAGES; 20], right, 2)?);
    let mut message = [0; 20];
    comm.recv(&mut message, left, 2)?;
    assert_eq!(message, [MESSAGES; 20]);
    for number in 0..MESSAGES {
        comm.recv(&mut message, Source::Any, 1)?;
        assert_eq!(message, [number; 20]);
    }
    sent.into_iter()
        .try_for_each(|request| request.wait().map(drop))
}

/// Messages to one who does not receive wait at their sender, but for a few.
pub fn who_does_not_receive_keeps_little(comm: &Communicator) -> Result<(), Error> {
    const MESSAGES: usize = 200;
    if comm.rank() == 0 && comm.size() > 1 {
        let start = |_| comm.isend([5u8; 1000], 1, 4);
        let mut sent = (0..MESSAGES).map(start).collect::<Result<Vec<_>, _>>()?;
        let since = Instant::now();
        while since.elapsed() < Duration::from_millis(30) {
            sent[0].test();
        }
        comm.barrier()?;
        let away = sent
            .iter_mut()
            .filter_map(|request| request.test().then_some(()))
            .count();
        assert!(away <= 65, "{away} messages of 1000 bytes are away");
        comm.barrier()?;
        sent.into_iter()
            .try_for_each(|request| request.wait().map(drop))?;
    } else {
        comm.barrier()?;
        comm.barrier()?;
        for _ in 0..if comm.rank() == 1 { MESSAGES } else { 0 } {
            comm.recv(&mut [0u8; 1000], 0, 4)?;
        }
    }
    Ok(())
}

/// More messages wait than their receiver takes note of, and the one that it waits for is not among them.
pub fn a_message_that_cannot_come_is_an_error(comm: &Communicator) -> Result<(), Error> {
    const MESSAGES: usize = 5000;
    let others = comm.rank() > 1 || comm.size() == 1;
    match comm.rank() {
        _ if others => {}
        0 => {
            let mut sent = Vec::new();
            for _ in 0..MESSAGES {
                sent.push(comm.isend(Vec::<u8>::new(), 1, 1)?);
            }
            sent.push(comm.isend(vec![9u8], 1, 2)?);
            sent.into_iter()
                .try_for_each(|request| request.wait().map(drop))?;
        }
        _ => {
            let error = comm.recv(&mut [0u8], 0, 2).expect_err("it is far behind");
            let Error::Message(MessageError::Unreceived {
                from: 0,
                messages: 4096,
                ..
            }) = error
            else {
                panic!("{error}");
            };
            for _ in 0..MESSAGES {
                comm.recv(&mut [0u8], Source::Any, 1)?;
            }
            comm.recv(&mut [0u8], 0, 2)?;
        }
    }
    comm.barrier()
}

pub fn a_message_that_does_not_fit_is_gone_and_the_rest_stays(
    comm: &Communicator,
) -> Result<(), Error> {
    let (rank, ranks) = (comm.rank(), comm.size());
    let (right, left) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
    for length in LENGTHS.into_iter().filter(|length| *length > 1) {
        for is_late in [false, true] {
            let sent = [
                comm.isend(content(rank, length), right, 1)?,
                comm.isend(content(rank, length), right, 2)?,
            ];
            let last = comm.isend(vec![rank as u8; 3], right, 3)?;
            if is_late {
                // All have come, or been announced, before they are wanted.
                comm.probe(left, 3)?;
            }
            let mut room = vec![9u64; length - 1];
            let error = comm.recv(&mut room, left, 1).expect_err("it is too long");
            let Error::Message(error) = error else {
                panic!("{error}")
            };
            let too_long = MessageError::TooLong {
                rank,
                from: left,
                tag: 1,
                sent: length,
                room: length - 1,
            };
            assert_eq!(error, too_long);
            let error = comm
                .recv(&mut vec![9f64; length], left, 2)
                .expect_err("no floats");
            assert!(error.communicator_usable());
            let says = format!(
                "rank {rank} receives elements of type f64, and the message of rank {left} with tag 2 is of type u64"
            );
            assert_eq!(error.to_string(), says);
            assert!(room.iter().all(|element| *element == 9));
            let mut rest = [0u8; 3];
            comm.recv(&mut rest, left, Tag::Any)?;
            assert_eq!(rest, [left as u8; 3]);
            for request in sent {
                request.wait()?;
            }
            last.wait()?;
        }
    }
    comm.barrier()
}

pub fn what_is_no_value_is_an_error(comm: &Communicator) -> Result<(), Error> {
    let (rank, ranks) = (comm.rank(), comm.size());
    let mut flags = [false; 5];
    comm.sendrecv(&[true, false, true], rank, 0, &mut flags, rank, 0)?;
    assert_eq!(flags, [true, false, true, false, false]);
    let error = comm.send(&[1u8], ranks, 0).expect_err("there is none");
    let says = format!(
        "there is no rank {ranks} to exchange messages with; the communicator has ranks 0 to {}",
        ranks - 1
    );
    assert_eq!(error.to_string(), says);
    assert!(comm.recv(&mut [0u8], ranks + 5, 0).is_err());
    assert!(comm.iprobe(ranks, Tag::Any).is_err());
    comm.barrier()
}

pub fn a_rank_may_send_to_itself(comm: &Communicator) -> Result<(), Error> {
    let rank = comm.rank();
    for length in LENGTHS {
        let mine = content(rank, length);
        let mut copy = vec![0; length];
        comm.sendrecv(&mine, rank, 9, &mut copy, rank, 9)?;
        assert_eq!(copy, mine);
        let sent = comm.isend(mine.clone(), rank, 8)?;
        assert_eq!(comm.probe(rank, 8)?.elements::<u64>(), length);
        copy.fill(0);
        comm.recv(&mut copy, Source::Rank(rank), Tag::Any)?;
        assert_eq!(copy, mine);
        sent.wait()?;
        let posted = comm.irecv(vec![0u64; length], rank, 7)?;
        comm.send(&mine, rank, 7)?;
        assert_eq!(posted.wait()?.0, mine);
    }
    // Short ones are away at once.
    comm.send(&[1u8; 100], rank, 1)?;
    comm.recv(&mut [0u8; 100], rank, 1)?;
    for ended in [
        comm.send(&vec![1u8; 100_000], rank, 1),
        comm.recv(&mut [0u8], rank, 1).map(drop),
        comm.probe(rank, 5).map(drop),
        comm.sendrecv(&[0u8; 5000], rank, 1, &mut [0u8; 5000], rank, 2)
            .map(drop),
    ] {
        let error = ended.expect_err("nobody else can end it");
        assert!(
            matches!(error, Error::Message(MessageError::Itself { .. })),
            "{error}"
        );
    }
    comm.barrier()
}

pub fn a_message_is_seen_before_it_is_received(comm: &Communicator) -> Result<(), Error> {
    let (rank, ranks) = (comm.rank(), comm.size());
    let (right, left) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
    for length in LENGTHS {
        let sent = comm.isend(content(rank, length), right, 6)?;
        let bytes = 8 * length;
        let status = Status {
            source: left,
            tag: 6,
            bytes,
        };
        while comm.iprobe(Source::Any, 6)?.is_none() {
            std::thread::yield_now();
        }
        assert_eq!(comm.iprobe(left, 5)?, None);
        assert_eq!(comm.probe(left, Tag::Any)?, status);
        let mut received = vec![0; length];
        assert_eq!(comm.recv(&mut received, status.source, status.tag)?, status);
        assert_eq!(received, content(left, length));
        sent.wait()?;
    }
    Ok(())
}

/// While a rank waits in a call its messages go on, and while it waits for a message its calls do.
pub fn messages_and_calls_take_one_another_further(comm: &Communicator) -> Result<(), Error> {
    let (rank, ranks) = (comm.rank(), comm.size());
    let (right, left) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
    for length in LENGTHS {
        let sent = comm.isend(content(rank, length), right, 1)?;
        let received = comm.irecv(vec![0; length], left, 1)?;
        let mut sum = [rank as u64; 300];
        if rank.is_multiple_of(2) {
            comm.allreduce_in_place(&mut sum, Sum)?;
            assert_eq!(received.wait()?.0, content(left, length));
            sent.wait()?;
        } else {
            // The others are in the call before this one.
            sent.wait()?;
            assert_eq!(received.wait()?.0, content(left, length));
            comm.allreduce_in_place(&mut sum, Sum)?;
        }
        assert_eq!(sum, [(0..ranks as u64).sum(); 300]);
        let start = comm.start(vec![1u64; 5000], |v| operation::allreduce_in_place(v, &Sum))?;
        let is_last = rank == ranks - 1;
        // Messages go from rank to rank, and each rank waits for one before it waits for its call.
        let mut token = content(0, length);
        if rank > 0 {
            comm.recv(&mut token, left, 2)?;
        }
        let sums = match is_last {
            true => Some(start.wait()?),
            false => {
                comm.send(&token, right, 2)?;
                Some(start.wait()?)
            }
        };
        assert!(sums.is_some_and(|sums| sums.iter().all(|sum| *sum == ranks as u64)));
    }
    Ok(())
}

pub fn dropped_requests_harm_nobody(comm: &Communicator) -> Result<(), Error> {
    let (rank, ranks) = (comm.rank(), comm.size());
    let (right, left) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
    for length in LENGTHS {
        // No message has met it: it is taken back.
        drop(comm.irecv(vec![0u64; length], left, 1)?);
        let kept = comm.irecv(vec![0u64; length], left, 1)?;
        let other = comm.irecv(vec![0u64; length], left, 3)?;
        comm.barrier()?;
        let sent = comm.isend(content(rank, length), right, 1)?;
        assert_eq!(kept.wait()?.0, content(left, length));
        assert!(other.cancel().is_ok());
        drop(sent);
        std::mem::forget(comm.irecv([0u8; 4], left, 1_000_000)?);
    }
    comm.barrier()
}

/// A scope ends its messages even when it panics, be there anybody who receives them or not.
pub fn a_scope_ends_its_messages_even_when_it_panics(comm: &Communicator) -> Result<(), Error> {
    let (rank, ranks) = (comm.rank(), comm.size());
    let (right, left) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
    let (mine, mut theirs) = (content(rank, 100_000), vec![0; 100_000]);
    comm.scope(|scope| {
        let received = scope.irecv(&mut theirs, left, 1)?;
        let sent = scope.isend(&mine, right, 1)?;
        while !sent.test() {
            std::thread::yield_now();
        }
        let status = received.wait()?.expect("a receive has a status");
        assert_eq!(status.source, left);
        Ok::<(), Error>(())
    })??;
    assert_eq!(theirs, content(left, 100_000));
    comm.barrier()?;
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        comm.scope(|scope| {
            scope.irecv(&mut theirs, left, 2).expect("it begins");
            scope.isend(&mine, right, 3).expect("it begins");
            panic!("as it must");
        })
    }));
    assert!(panicked.is_err());
    comm.barrier()
}

/// Rank 1 sends one last message and leaves; the others go on.
pub fn who_has_left_is_missed_by_those_who_wait_for_it(comm: &Communicator) -> Result<(), Error> {
    let (rank, ranks) = (comm.rank(), comm.size());
    assert!(ranks > 2);
    if rank == 1 {
        comm.send(&[1u8; 50], 0, 1)?;
        return comm.send(&[2u8; 50], 0, 2);
    }
    if rank == 0 {
        std::thread::sleep(Duration::from_millis(30));
        let mut last = [0u8; 50];
        comm.recv(&mut last, 1, 2)?;
        assert_eq!(last, [2; 50]);
        let left = |ended: Result<(), Error>| {
            let error = ended.expect_err("it has left");
            let is_right = matches!(
                error,
                Error::Transport(TransportError::RankLeft { rank: 1 })
            );
            assert!(is_right, "{error}");
        };
        left(comm.recv(&mut last, 1, 2).map(drop));
        left(comm.probe(1, 7).map(drop));
        let mut request = comm.irecv([0u8; 1], 1, 5)?;
        while !request.test() {
            std::thread::yield_now();
        }
        left(request.wait().map(drop));
        left(comm.send(&vec![0u64; 300_000], 1, 3));
        // What came before it left is there still.
        comm.recv(&mut last, Source::Any, Tag::Any)?;
        assert_eq!(last, [1; 50]);
        for other in 2..ranks {
            comm.send(&[7u32; 5], other, 0)?;
        }
    } else {
        let mut news = [0u32; 5];
        comm.recv(&mut news, Source::Any, 0)?;
        assert_eq!(news, [7; 5]);
        comm.send(&[0u8; 1], 0, 0)?;
    }
    if rank == 0 {
        for _ in 2..ranks {
            comm.recv(&mut [1u8], Source::Any, 0)?;
        }
    }
    Ok(())
}

/// Rank 1 panics while rank 0 waits for it, and the others for rank 0.
pub fn who_panics_is_named(comm: &Communicator) -> Result<(), Error> {
    let ended = match comm.rank() {
        1 => panic!("as it must"),
        0 => comm.recv(&mut [0u8], 1, 0),
        _ => comm.recv(&mut [0u8], Source::Any, 0),
    };
    let error = ended.expect_err("a rank panicked");
    assert!(error.to_string().contains("rank 1 panicked"), "{error}");
    Ok(())
}

/// Rank 1 never comes to a call that the others make, and rank 0 waits for a message of it.
pub fn nobody_waits_for_ever_for_a_call_that_does_not_come(
    comm: &Communicator,
) -> Result<(), Error> {
    let ended = match comm.rank() {
        1 => return Ok(()),
        0 => comm.recv(&mut [0u8], 1, 0).map(drop),
        _ => comm.barrier(),
    };
    // Those in the call may hear first of rank 0, which has left then, too.
    let error = ended.expect_err("rank 1 has left");
    let who = if comm.rank() == 0 {
        "rank 1 left"
    } else {
        " left without making this call"
    };
    assert!(error.to_string().contains(who), "{error}");
    Ok(())
}
