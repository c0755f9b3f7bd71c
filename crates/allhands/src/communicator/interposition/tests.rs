//! Tests of the interposition.

use super::*;
use crate::{Sum, TransportError, operation, threads};

#[test]
fn started_calls_are_known_by_their_numbers() {
    let ended = threads::run(2, |comm| {
        let mut buffers = [[comm.rank() + 1; 3], [10 * comm.rank(); 3]];
        let numbers: Vec<usize> = buffers
            .iter_mut()
            .map(|buffer| {
                let sum = operation::allreduce_in_place(buffer, &Sum);
                // SAFETY: the buffers outlive the calls, which are ended below.
                unsafe { Interposition::begin(&comm, &sum) }.unwrap()
            })
            .collect();
        while !comm.has_ended(numbers[1]) {
            std::thread::yield_now();
        }
        numbers.iter().for_each(|number| comm.end(*number).unwrap());
        buffers
    });
    assert_eq!(ended.unwrap(), [[[3; 3], [10; 3]]; 2]);
}

#[test]
fn what_was_waited_for_before_counts() {
    let ended = threads::run(2, |comm| {
        if comm.rank() == 1 {
            std::thread::sleep(Duration::from_millis(100));
            return (comm.barrier().unwrap_err().to_string(), Duration::ZERO);
        }
        comm.set_timeout(Some(Duration::from_secs(60)));
        // SAFETY: a barrier has no buffers.
        let number = unsafe { Interposition::begin(&comm, &operation::barrier()) }.unwrap();
        let began = std::time::Instant::now();
        let said = comm.end_after(number, Duration::from_secs(61)).unwrap_err();
        (said.to_string(), began.elapsed())
    });
    let [(said, waited), _] = &ended.unwrap()[..] else {
        panic!("there are two ranks");
    };
    assert!(
        said.contains("has waited 61 s in barrier for rank 1"),
        "{said}"
    );
    assert!(*waited < Duration::from_secs(1), "{waited:?}");
}

#[test]
fn messages_are_known_by_their_numbers() {
    let ended = threads::run(2, |comm| {
        let (mut got, sent) = ([0; 100_000], [comm.rank() as u8 + 1; 100_000]);
        let other = 1 - comm.rank();
        // SAFETY: both buffers outlive the messages, which are taken below.
        let (receive, send) = unsafe {
            let receive = comm.begin_receive(&mut got, Source::Any, Tag::Is(3));
            (receive.unwrap(), comm.begin_send(&sent, other, 3).unwrap())
        };
        while !comm.has_message_ended(receive) {
            std::thread::yield_now();
        }
        let status = comm.take_message(receive).unwrap();
        send.map(|number| comm.take_message(number).unwrap());
        assert_eq!(
            (status.source, status.tag, status.bytes),
            (other, 3, got.len())
        );
        got[got.len() - 1]
    });
    assert_eq!(ended.unwrap(), [2, 1]);
}

#[test]
fn who_tests_for_a_message_hears_that_its_sender_has_left() {
    let ended = threads::run(2, |comm| {
        if comm.rank() == 1 {
            return String::new();
        }
        let mut room = [0; 10];
        // SAFETY: the room outlives the message, which is taken below.
        let number = unsafe { comm.begin_receive(&mut room, Source::Rank(1), Tag::Any) };
        let number = number.unwrap();
        while !comm.has_message_ended(number) {
            std::thread::yield_now();
        }
        comm.take_message(number).unwrap_err().to_string()
    });
    let said = &ended.unwrap()[0];
    assert!(said.contains("rank 1"), "{said}");
}

#[test]
fn who_is_interrupted_gives_up_and_says_for_whom_it_waited() {
    let ended = threads::run(3, |comm| {
        if comm.rank() == 2 {
            std::thread::sleep(Duration::from_millis(200));
            return comm.barrier();
        }
        if comm.rank() == 0 {
            comm.set_interrupt(Some(|| true));
        }
        comm.barrier()
    });
    let said: Vec<String> = ended
        .unwrap()
        .into_iter()
        .map(|ended| ended.unwrap_err().to_string())
        .collect();
    assert!(
        said[0].ends_with("rank 2, and was interrupted"),
        "{}",
        said[0]
    );
    for other in &said[1..] {
        assert!(
            other.starts_with("stopped by an error that rank 0 found"),
            "{other}"
        );
    }
}

#[test]
fn a_communicator_made_of_one_that_gives_up_does_so_too() {
    let ended = threads::run(2, |comm| {
        comm.set_timeout(Some(Duration::from_millis(20)));
        let heir = comm.dup().unwrap();
        if comm.rank() == 1 {
            std::thread::sleep(Duration::from_millis(300));
            return None;
        }
        Some(heir.barrier())
    });
    let ended = ended.unwrap().swap_remove(0).unwrap();
    let Err(Error::Transport(TransportError::GaveUp {
        rank,
        interrupted,
        waits,
    })) = ended
    else {
        panic!("{ended:?}");
    };
    assert_eq!((rank, interrupted, waits.missing), (0, false, vec![1]));
    assert!(waits.since >= Duration::from_millis(20));
}
