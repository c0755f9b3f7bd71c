//! Windows over libfabric's provider for TCP, on one rail and on two.

use crate::world::loopback;
use allhands::net::ofi::OfiNetwork;
use allhands::net::{
    Ended, Network, NetworkError, Raised, RemoteWindow, SignedCall, Ticket, WindowMemory,
};
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

/// Lets rank 0 put into memory of rank 1's, which stays where it is until both networks are gone; the window as both see it.
fn expose(all: &mut [OfiNetwork; 2], memory: &mut [u8], flags: u16) -> (u64, RemoteWindow) {
    assert!(all.iter().all(|network| network.has_windows()));
    let memory = (memory.as_mut_ptr(), memory.len());
    // SAFETY: the tests look at the memory only when a flag says that all is there, or nothing comes any more, and keep it for as long.
    let exposed = unsafe { all[1].expose(memory, flags, &[0]) }.unwrap();
    (exposed.number, RemoteWindow::new(exposed.descriptor))
}

fn put(
    all: &mut [OfiNetwork; 2],
    window: &mut RemoteWindow,
    offset: usize,
    from: &[u8],
) -> Result<Ticket, NetworkError> {
    // SAFETY: the tests keep what they put until that has ended.
    unsafe { all[0].put(1, window, offset, (from.as_ptr(), from.len())) }
}

/// Looks at both networks until something is so.
fn until<T>(
    all: &mut [OfiNetwork; 2],
    mut found: impl FnMut(&mut [OfiNetwork; 2]) -> Option<T>,
) -> T {
    let until = Instant::now() + Duration::from_secs(20);
    while Instant::now() < until {
        for network in &mut *all {
            network.progress().unwrap();
        }
        if let Some(found) = found(all) {
            return found;
        }
    }
    panic!("nothing comes");
}

fn content(bytes: usize, salt: usize) -> Vec<u8> {
    (0..bytes)
        .map(|at| (at * 5 + at / 253 + salt) as u8)
        .collect()
}

#[test]
fn puts_of_all_lengths_come_over_all_rails_before_their_flags() {
    for mut all in pairs() {
        let mut memory = vec![0; 3_000_000];
        let (number, mut window) = expose(&mut all, &mut memory, 9);
        let lengths = [0, 1, 100, 2047, 2048, 65_537, 300_000, 2_500_000, 3];
        for (salt, bytes) in lengths.into_iter().enumerate() {
            let (first, second) = (content(bytes, salt), content(bytes / 7, salt + 1));
            let at = 400_000 + salt;
            let puts = [
                put(&mut all, &mut window, salt, &second).unwrap(),
                put(&mut all, &mut window, at, &first).unwrap(),
            ];
            let by = SignedCall {
                call: salt as u64,
                signature: 5,
            };
            all[0].raise(1, &mut window, salt as u16, by).unwrap();
            let right = Raised {
                from: 0,
                window: number,
                flag: salt as u16,
                by,
            };
            assert_eq!(until(&mut all, |all| all[1].raised()), right);
            assert!(memory[at..at + bytes] == first && memory[salt..][..second.len()] == second);
            for (ticket, bytes) in puts.into_iter().zip([second.len(), bytes]) {
                let ended = until(&mut all, |all| all[0].test(ticket).unwrap());
                assert_eq!(ended, Ended::Whole(bytes));
            }
        }
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
            let ended = until(&mut all, |all| all[0].test(away).unwrap());
            assert_eq!(ended, Ended::Whole(8_000_000));
            all[0]
                .raise(1, &mut window, 0, SignedCall::default())
                .unwrap();
            let late = put(&mut all, &mut window, 0, &sent).unwrap();
            let ended = until(&mut all, |all| all[0].test(late).unwrap());
            assert_eq!(ended, Ended::Whole(8_000_000));
            // Another window, and the way there, are as ever.
            let mut other = vec![0; 10];
            let (_, mut window) = expose(&mut all, &mut other, 1);
            put(&mut all, &mut window, 0, &[7; 10]).unwrap();
            all[0]
                .raise(1, &mut window, 0, SignedCall::default())
                .unwrap();
            until(&mut all, |all| all[1].raised());
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
        until(&mut all, |all| all[1].raised());
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
