//! Messages over each provider that every machine has, one after the other and all at once.

use crate::world::{loopback, wishes};
use allhands::net::ofi::{Endpoint, OfiError, OfiNetwork, Wishes};
use allhands::net::{Ended, Network, NetworkError, Ticket};
use std::time::{Duration, Instant};

/// Both go by sockets and by memory that processes share.
const PROVIDERS: [&str; 2] = ["tcp", "shm"];

/// The networks of two ranks for each provider, in their order; that of TCP on one rail and then on two.
fn pairs() -> impl Iterator<Item = [OfiNetwork; 2]> {
    let pair = |(provider, rails)| {
        let loopback = loopback(2, rails, provider)?;
        Some([0, 1].map(|rank| loopback.ofi_network(rank).unwrap()))
    };
    let [tcp, shm] = PROVIDERS;
    [(tcp, 1), (tcp, 2), (shm, 1)].into_iter().filter_map(pair)
}

fn send(all: &mut [OfiNetwork], from: usize, tag: u32, bytes: &[u8]) -> Ticket {
    let to = 1 - from as u32;
    // SAFETY: the tests keep what they send until it has ended or is over.
    unsafe { all[from].send(to, tag, bytes.as_ptr(), bytes.len()) }.unwrap()
}

fn receive(all: &mut [OfiNetwork], at: usize, tag: u32, into: &mut [u8]) -> Ticket {
    let from = 1 - at as u32;
    // SAFETY: as above.
    unsafe { all[at].receive(from, tag, into.as_mut_ptr(), into.len()) }.unwrap()
}

fn end(all: &mut [OfiNetwork], at: usize, ticket: Ticket) -> Result<Ended, NetworkError> {
    let until = Instant::now() + Duration::from_secs(20);
    while Instant::now() < until {
        for network in &mut *all {
            network.progress()?;
        }
        if let Some(ended) = all[at].test(ticket)? {
            return Ok(ended);
        }
    }
    panic!("{ticket:?} of rank {at} does not end");
}

fn look(all: &mut [OfiNetwork]) {
    for _ in 0..100 {
        all.iter_mut()
            .for_each(|network| network.progress().unwrap());
    }
}

fn content(bytes: usize, salt: usize) -> Vec<u8> {
    (0..bytes)
        .map(|at| (at * 7 + at / 251 + salt) as u8)
        .collect()
}

#[test]
fn messages_of_all_lengths_come_before_their_receives_and_after() {
    for mut all in pairs() {
        let lengths = [
            0, 1, 64, 65, 4096, 4097, 16_384, 70_000, 300_000, 5_000_000, 3,
        ];
        for (salt, bytes) in lengths.into_iter().enumerate() {
            let sent = content(bytes, salt);
            let mut into = vec![0; bytes + salt % 2];
            let early = salt % 3 == 0;
            let begun = early.then(|| receive(&mut all, 1, 5, &mut into));
            let away = send(&mut all, 0, 5, &sent);
            let begun = begun.unwrap_or_else(|| {
                look(&mut all);
                receive(&mut all, 1, 5, &mut into)
            });
            assert_eq!(end(&mut all, 1, begun).unwrap(), Ended::Whole(bytes));
            assert_eq!(end(&mut all, 0, away).unwrap(), Ended::Whole(bytes));
            assert_eq!(into[..bytes], sent);
        }
    }
}

#[test]
fn many_messages_that_nobody_has_asked_for_are_kept_in_their_order() {
    for mut all in pairs() {
        let sent: Vec<Vec<u8>> = (0..3000)
            .map(|at| content([5, 200, 20_000][at % 3], at))
            .collect();
        let away: Vec<Ticket> = sent
            .iter()
            .map(|bytes| send(&mut all, 0, 7, bytes))
            .collect();
        look(&mut all);
        for bytes in &sent {
            let mut into = vec![0; bytes.len()];
            let begun = receive(&mut all, 1, 7, &mut into);
            assert_eq!(end(&mut all, 1, begun).unwrap(), Ended::Whole(bytes.len()));
            assert_eq!(into, *bytes);
        }
        for (ticket, bytes) in away.into_iter().zip(&sent) {
            assert_eq!(end(&mut all, 0, ticket).unwrap(), Ended::Whole(bytes.len()));
        }
    }
}

#[test]
fn many_receives_wait_for_their_messages() {
    for mut all in pairs() {
        let mut into = vec![[0_u8; 3]; 3000];
        let begun: Vec<Ticket> = (0..)
            .zip(&mut into)
            .map(|(at, into)| receive(&mut all, 1, at, into))
            .collect();
        look(&mut all);
        let sent: Vec<Vec<u8>> = (0..3000).map(|at| content(3, at)).collect();
        let mut away = Vec::new();
        // The provider may take later receives only when earlier ones have ended.
        for (at, bytes) in (0..).zip(&sent) {
            away.push(send(&mut all, 0, at, bytes));
            look(&mut all);
        }
        for ticket in begun {
            assert_eq!(end(&mut all, 1, ticket).unwrap(), Ended::Whole(3));
        }
        assert!(sent.iter().zip(&into).all(|(sent, into)| sent[..] == *into));
        for ticket in away {
            assert_eq!(end(&mut all, 0, ticket).unwrap(), Ended::Whole(3));
        }
    }
}

#[test]
fn what_is_of_another_call_is_told() {
    for mut all in pairs() {
        for bytes in [100, 8000, 1_000_000] {
            let (sent, mut into) = (content(bytes, 1), vec![9; bytes]);
            all[0].sign(77);
            all[1].sign(78);
            let begun = receive(&mut all, 1, 3, &mut into);
            let away = send(&mut all, 0, 3, &sent);
            assert_eq!(end(&mut all, 1, begun).unwrap(), Ended::Differs);
            end(&mut all, 0, away).unwrap();
        }
    }
}

/// After such a message libfabric's TCP says nothing more to that rank in version 1.17, as is right for a call that has failed; and
/// its shared memory never comes back from reading one of more than 4096 bytes, so it has short ones alone.
#[test]
fn what_is_too_long_is_told() {
    for bytes in [100, 8000, 1_000_000] {
        for mut all in pairs().take(if bytes > 4096 { 2 } else { 3 }) {
            let (sent, mut into) = (content(bytes, 1), vec![9; bytes]);
            let (before, behind) = into.split_at_mut(bytes / 2);
            let begun = receive(&mut all, 1, 3, before);
            let away = send(&mut all, 0, 3, &sent);
            assert_eq!(end(&mut all, 1, begun).unwrap(), Ended::TooLong);
            assert!(behind.iter().all(|byte| *byte == 9));
            // Whether and how it ends for its sender is the provider's business.
            let until = Instant::now() + Duration::from_secs(5);
            while !all[0].cancel(away) {
                assert!(Instant::now() < until);
            }
        }
    }
}

#[test]
fn a_message_that_is_taken_back_frees_its_memory() {
    for mut all in pairs() {
        for bytes in [10, 100_000] {
            let mut into = vec![0; bytes];
            let never = receive(&mut all, 1, 0, &mut into);
            look(&mut all);
            let until = Instant::now() + Duration::from_secs(5);
            while !all[1].cancel(never) {
                assert!(Instant::now() < until);
                look(&mut all[..1]);
            }
            drop(into);
            let (sent, mut into) = (content(bytes, 5), vec![0; bytes]);
            // On several rails messages have numbers, and that of the receive is for none but the message that never came.
            let tag = if all[0].rails() > 1 { 2 } else { 0 };
            let begun = receive(&mut all, 1, tag, &mut into);
            let away = send(&mut all, 0, tag, &sent);
            assert_eq!(end(&mut all, 1, begun).unwrap(), Ended::Whole(bytes));
            end(&mut all, 0, away).unwrap();
            assert_eq!(into, sent);
        }
        // One that nobody receives ends at the latest with its endpoint.
        let long = content(4_000_000, 6);
        let away = send(&mut all, 0, 1, &long);
        look(&mut all);
        let until = Instant::now() + Duration::from_secs(5);
        while !all[0].cancel(away) {
            assert!(Instant::now() < until);
            std::thread::yield_now();
        }
    }
}

/// Over TCP alone: endpoints for shared memory look into one another when they are in one process, also into those that were closed.
#[test]
fn a_rank_that_leaves_is_named_and_what_it_has_sent_comes() {
    for [zero, one] in pairs().take(2) {
        let mut all = [zero];
        let sent = content(5000, 2);
        let (mut into, mut more) = (vec![0; 5000], [0; 8]);
        let leaving = std::thread::spawn({
            let (mut one, sent) = (one, sent.clone());
            move || {
                // SAFETY: it is there until the network has gone, which waits until it is away.
                unsafe { one.send(0, 3, sent.as_ptr(), sent.len()) }.unwrap();
                drop(one);
                drop(sent);
            }
        });
        let begun = receive(&mut all, 0, 3, &mut into);
        assert_eq!(end(&mut all, 0, begun).unwrap(), Ended::Whole(5000));
        assert_eq!(into, sent);
        leaving.join().unwrap();
        let never = receive(&mut all, 0, 3, &mut more);
        let since = Instant::now();
        let error = end(&mut all, 0, never).unwrap_err();
        let said = error.to_string();
        assert!(said.starts_with("rank 1 is lost: "), "{said}");
        assert!(since.elapsed() < Duration::from_secs(5));
        assert_eq!(error.lost().map(|lost| lost.rank), Some(1));
        let until = Instant::now() + Duration::from_secs(5);
        while !all[0].cancel(never) {
            assert!(Instant::now() < until);
        }
    }
}

/// On two rails, of which the second has a third of the first's rate, or none: signed messages are cut from 2 KB on.
#[test]
fn messages_are_cut_by_rates() {
    let Some(mut all) = pairs().nth(1) else {
        return;
    };
    for rates in [[3e6, 1e6], [0.0, 1e6], [1e9, 1e9]] {
        for network in &mut all {
            assert_eq!(network.rails(), 2);
            network.share(&rates);
            network.sign(5);
        }
        for (salt, bytes) in (0..).zip([1, 2047, 2048, 5000, 60_000, 3_000_000]) {
            let (sent, mut into) = (content(bytes, salt), vec![0; bytes + salt % 2]);
            let begun = receive(&mut all, 1, 5, &mut into);
            let away = send(&mut all, 0, 5, &sent);
            assert_eq!(end(&mut all, 1, begun).unwrap(), Ended::Whole(bytes));
            assert_eq!(end(&mut all, 0, away).unwrap(), Ended::Whole(bytes));
            assert_eq!(into[..bytes], sent);
        }
    }
}

#[test]
fn a_provider_that_is_not_there_is_named_with_those_that_are() {
    let said = match Endpoint::open(&wishes("nosuch")) {
        Err(OfiError::Missing { .. }) => return,
        Err(error) => error.to_string(),
        Ok(endpoint) => panic!("there is {endpoint:?}"),
    };
    let words = "libfabric has no provider 'nosuch' for tagged messages";
    assert!(said.starts_with(words), "{said}");
    assert!(said.contains("ALLHANDS_OFI_PROVIDER: "), "{said}");
    // Without a name some provider is found that reaches others.
    let found = Endpoint::open(&Wishes::default()).unwrap();
    assert!(said.contains(found.provider()), "{said}");
    assert_ne!(found.provider(), "shm");
}
