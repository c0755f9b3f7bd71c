//! Windows over libfabric's provider for TCP, on one rail and on two.

use crate::windowed::{content, expose, hear, put, put_ends, puts_come_before_their_flags, until};
use crate::world::loopback;
use allhands::net::ofi::OfiNetwork;
use allhands::net::{Ended, Network, SignedCall, WindowMemory};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The networks of two ranks, on so many rails.
fn pairs() -> impl Iterator<Item = [OfiNetwork; 2]> {
    let pair = |rails| {
        let loopback = loopback(2, rails, "tcp")?;
        Some([0, 1].map(|rank| loopback.ofi_network(rank).unwrap()))
    };
    [1, 2].into_iter().filter_map(pair)
}

#[test]
fn puts_of_all_lengths_come_over_all_rails_before_their_flags() {
    for mut all in pairs() {
        let mut memory = vec![0; 3_000_000];
        let lengths = [0, 1, 100, 2047, 2048, 65_537, 300_000, 2_500_000, 3];
        puts_come_before_their_flags(&mut all, &mut memory, &lengths);
    }
}

/// Memory of a window that is withdrawn in the middle of a put is let go when nothing of that comes any more, and nobody is the worse.
#[test]
fn a_window_that_is_withdrawn_under_a_put_keeps_its_memory_until_that_is_over() {
    for mut all in pairs() {
        for round in 0..5 {
            let mut memory = vec![0; 8_000_000];
            let keeper = Arc::new(());
            let (number, mut window) = expose(&mut all, &mut memory, 1);
            let sent = content(8_000_000, round);
            let away = put(&mut all, &mut window, 0, &sent).unwrap();
            for _ in 0..round {
                all[1].progress().unwrap();
            }
            all[1].withdraw(number, WindowMemory::new(Arc::clone(&keeper)));
            all[1].progress().unwrap();
            assert_eq!(Arc::strong_count(&keeper), 2, "rank 0 does not know yet");
            until(&mut all, |_| {
                (Arc::strong_count(&keeper) == 1).then_some(())
            });
            memory.fill(9);
            assert_eq!(put_ends(&mut all, away), Ended::Whole(8_000_000));
            all[0]
                .raise(1, &mut window, 0, SignedCall::default())
                .unwrap();
            let late = put(&mut all, &mut window, 0, &sent).unwrap();
            assert_eq!(put_ends(&mut all, late), Ended::Whole(8_000_000));
            // Another window, and the way there, are as ever.
            let mut other = vec![0; 10];
            let (_, mut window) = expose(&mut all, &mut other, 1);
            put(&mut all, &mut window, 0, &[7; 10]).unwrap();
            all[0]
                .raise(1, &mut window, 0, SignedCall::default())
                .unwrap();
            hear(&mut all);
            assert_eq!(other, [7; 10]);
            assert!(memory.iter().all(|byte| *byte == 9));
            all[1].withdraw(number + 1, WindowMemory::new(other));
        }
    }
}

#[test]
fn a_put_that_does_not_fit_is_an_error_and_touches_nothing() {
    for mut all in pairs() {
        let mut memory = vec![7; 100];
        let (_, mut window) = expose(&mut all, &mut memory, 1);
        let said = put(&mut all, &mut window, 99, &[1, 2]).unwrap_err();
        let right = "2 bytes at 99 lie outside a window of 100";
        assert_eq!(said.to_string(), right);
        all[0]
            .raise(1, &mut window, 0, SignedCall::default())
            .unwrap();
        hear(&mut all);
        assert_eq!(memory, [7; 100]);
    }
}

#[test]
fn a_rank_that_leaves_is_named_by_who_attends_to_it() {
    for [mut zero, one] in pairs() {
        let attends = zero.attend(1).unwrap();
        drop(one);
        let since = Instant::now();
        let error = loop {
            zero.progress().unwrap();
            if let Err(error) = zero.test(attends) {
                break error;
            }
            assert!(since.elapsed() < Duration::from_secs(5));
        };
        assert_eq!(error.lost().map(|lost| lost.rank), Some(1));
        assert!(zero.cancel(attends));
    }
}
