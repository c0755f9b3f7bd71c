//! The driver on providers that want and lack something, in every combination.

use super::super::abi::{MR_ALLOCATED, MR_ENDPOINT, MR_LOCAL, MR_PROV_KEY, MR_VIRT_ADDR};
use super::super::capabilities::Wishes;
use super::super::driver::OfiNetwork;
use super::super::endpoint::Endpoint;
use super::super::error::OfiError;
use super::super::loopback::OfiLoopback;
use super::{Traits, library, provider, world};
use crate::transport::net::{Ended, Network, NetworkError, Notice, Sleep, Ticket};
use crate::transport::shm::wait::doorbell::ring;
use std::time::{Duration, Instant};

fn endpoint(traits: Traits) -> Result<Endpoint, OfiError> {
    let wishes = Wishes {
        provider: Some(provider(traits)),
        ..Wishes::default()
    };
    Endpoint::open_with(library(), &wishes, false)
}

/// Two ranks, each with a rail for each of its providers.
fn pair_of(traits: [&[Traits]; 2]) -> Result<[OfiNetwork; 2], NetworkError> {
    let open = |of_rank: &[Traits]| {
        of_rank
            .iter()
            .map(|traits| endpoint(*traits).unwrap())
            .collect()
    };
    let loopback = OfiLoopback::of_endpoints(traits.map(open).into()).unwrap();
    Ok([loopback.ofi_network(0)?, loopback.ofi_network(1)?])
}

pub(super) fn pair_on(rails: usize, traits: Traits) -> [OfiNetwork; 2] {
    let of_rank = vec![traits; rails];
    pair_of([&of_rank, &of_rank]).unwrap()
}

fn pair(traits: Traits) -> [OfiNetwork; 2] {
    pair_on(1, traits)
}

pub(super) fn send(
    network: &mut OfiNetwork,
    tag: u32,
    bytes: &[u8],
) -> Result<Ticket, NetworkError> {
    let to = 1 - network.rank;
    // SAFETY: the tests keep what they send until it has ended or is over.
    unsafe { network.send(to, tag, bytes.as_ptr(), bytes.len()) }
}

pub(super) fn receive(network: &mut OfiNetwork, tag: u32, into: &mut [u8]) -> Ticket {
    let from = 1 - network.rank;
    // SAFETY: as above.
    unsafe { network.receive(from, tag, into.as_mut_ptr(), into.len()) }.unwrap()
}

pub(super) fn end(
    all: &mut [OfiNetwork],
    at: usize,
    ticket: Ticket,
) -> Result<Ended, NetworkError> {
    let until = Instant::now() + Duration::from_secs(10);
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

pub(super) fn look(all: &mut [OfiNetwork]) {
    for _ in 0..20 {
        all.iter_mut()
            .for_each(|network| network.progress().unwrap());
    }
}

pub(super) fn content(bytes: usize, salt: usize) -> Vec<u8> {
    (0..bytes)
        .map(|at| (at * 7 + at / 251 + salt) as u8)
        .collect()
}

/// Messages of many lengths go both ways, several of each tag at once, before their receives and after.
pub(super) fn exchange(all: &mut [OfiNetwork; 2]) {
    let lengths = [0, 1, 8, 9, 64, 100, 101, 5000, 16_384, 16_385, 70_000, 3];
    for early in [true, false] {
        let sent: Vec<Vec<u8>> = (0..).zip(lengths).map(|(at, n)| content(n, at)).collect();
        let mut into = [0, 1].map(|rank| lengths.map(|bytes| vec![0; bytes + rank]));
        let mut receive_all = |all: &mut [OfiNetwork; 2]| {
            [0, 1].map(|rank| {
                let of_rank = into[rank].iter_mut().enumerate();
                let tickets =
                    of_rank.map(|(at, into)| receive(&mut all[rank], at as u32 % 2, into));
                tickets.collect::<Vec<_>>()
            })
        };
        let begun = early.then(|| receive_all(all));
        let away = [0, 1].map(|rank| {
            let of_rank = sent.iter().enumerate();
            let tickets =
                of_rank.map(|(at, bytes)| send(&mut all[rank], at as u32 % 2, bytes).unwrap());
            tickets.collect::<Vec<_>>()
        });
        let begun = begun.unwrap_or_else(|| {
            look(all);
            receive_all(all)
        });
        for rank in 0..2 {
            for (tickets, bytes) in [&begun[rank], &away[rank]].into_iter().zip([lengths; 2]) {
                for (ticket, bytes) in tickets.iter().zip(bytes) {
                    assert_eq!(end(all, rank, *ticket).unwrap(), Ended::Whole(bytes));
                }
            }
            for (into, sent) in into[rank].iter().zip(&sent) {
                assert_eq!(into[..sent.len()], **sent);
            }
        }
    }
}

#[test]
fn messages_come_over_every_kind_of_provider() {
    let all = MR_LOCAL | MR_VIRT_ADDR | MR_ALLOCATED | MR_PROV_KEY | MR_ENDPOINT;
    let modes = [
        0,
        MR_VIRT_ADDR | MR_PROV_KEY,
        MR_LOCAL,
        MR_LOCAL | MR_PROV_KEY,
        MR_LOCAL | MR_ENDPOINT,
        all,
    ];
    for mr_mode in modes {
        for at in 0..36 {
            let traits = Traits {
                mr_mode,
                is_ordered: at % 2 == 0,
                inject_bytes: [0, 8, 64][at % 3],
                full_every: [0, 3, 2][at / 3 % 3],
                notes: [0, 4, 8][at / 9 % 3],
                tag_bits: [64, 48][at / 18],
                closes_bound: at % 4 < 2,
                ..Traits::KIND
            };
            let mut all = pair(traits);
            exchange(&mut all);
            assert_idle(&mut all, traits);
        }
    }
}

/// Nothing is under way, and buffers alone are registered still, sixteen at once.
pub(super) fn assert_idle(all: &mut [OfiNetwork; 2], traits: Traits) {
    look(all);
    for network in all {
        assert!(network.is_idle(), "{traits:?}");
        for rail in &network.rails {
            let number = rail.endpoint.own_card().address.first_chunk();
            let number = u64::from_ne_bytes(*number.unwrap());
            assert!(world::registrations(number) <= 2, "{traits:?}");
        }
    }
}

#[test]
fn what_is_too_long_or_of_another_call_is_told() {
    for mr_mode in [0, MR_LOCAL] {
        let mut all = pair(Traits {
            mr_mode,
            ..Traits::KIND
        });
        let (long, mut into) = (content(3000, 1), vec![9; 2000]);
        for bytes in [1500, 50] {
            let received = receive(&mut all[1], 3, &mut into[..bytes]);
            let away = send(&mut all[0], 3, &long).unwrap();
            assert_eq!(end(&mut all, 1, received).unwrap(), Ended::TooLong);
            assert_eq!(end(&mut all, 0, away).unwrap(), Ended::Whole(3000));
            assert_eq!(into[1500..], [9; 500]);
        }
        for (theirs, ours, differs) in [(5, 6, true), (5, 5, false), (0, 6, false), (5, 0, false)] {
            for bytes in [20, 2000] {
                all[0].sign(theirs);
                all[1].sign(ours);
                let received = receive(&mut all[1], 3, &mut into[..20.max(bytes - 5)]);
                let away = send(&mut all[0], 3, &long[..bytes]).unwrap();
                let ended = end(&mut all, 1, received).unwrap();
                let right = match (differs, bytes) {
                    (true, _) => Ended::Differs,
                    (false, 20) => Ended::Whole(20),
                    (false, _) => Ended::TooLong,
                };
                assert_eq!(ended, right);
                end(&mut all, 0, away).unwrap();
            }
        }
    }
}

#[test]
fn messages_are_taken_back() {
    for mr_mode in [0, MR_LOCAL, MR_LOCAL | MR_ENDPOINT] {
        let mut all = pair(Traits {
            mr_mode,
            ..Traits::KIND
        });
        for bytes in [10, 20_000] {
            let (sent, mut into) = (content(bytes, 4), vec![0; bytes]);
            let never = receive(&mut all[1], 0, &mut into);
            look(&mut all);
            assert!(all[1].cancel(never));
            assert!(all[1].test(never).is_err() && all[1].cancel(never));
            drop(into);
            let mut into = vec![0; bytes];
            let away = send(&mut all[0], 0, &sent).unwrap();
            look(&mut all);
            let received = receive(&mut all[1], 0, &mut into);
            assert_eq!(end(&mut all, 1, received).unwrap(), Ended::Whole(bytes));
            assert_eq!(end(&mut all, 0, away).unwrap(), Ended::Whole(bytes));
            assert_eq!(into, sent);
        }
        // One that nobody receives cannot be taken back alone, and the endpoint is closed.
        let long = content(30_000, 5);
        let away = send(&mut all[0], 0, &long).unwrap();
        look(&mut all);
        assert!(!all[0].cancel(away));
        std::thread::sleep(Duration::from_millis(60));
        assert!(all[0].cancel(away));
        drop(long);
        let said = send(&mut all[0], 0, &[1]).unwrap_err().to_string();
        assert!(said.contains("could not be taken back"), "{said}");
        assert!(all[0].progress().is_err());
    }
}

#[test]
fn a_provider_that_takes_nothing_back_loses_its_endpoint() {
    for (mr_mode, closes_bound) in [(0, true), (MR_LOCAL, true), (MR_LOCAL | MR_ENDPOINT, false)] {
        let mut all = pair(Traits {
            mr_mode,
            closes_bound,
            has_cancel: false,
            full_every: 3,
            ..Traits::KIND
        });
        let mut into = [vec![0; 10], vec![0; 20_000], vec![0; 30_000]];
        let never = into.each_mut().map(|into| receive(&mut all[1], 0, into));
        // A short one has a buffer, where there are such, and the third waits for a place.
        assert_eq!(all[1].cancel(never[0]), mr_mode != 0);
        assert!(!all[1].cancel(never[1]));
        assert!(all[1].cancel(never[2]));
        let begun = Instant::now();
        while !all[1].cancel(never[1]) {
            assert!(begun.elapsed() < Duration::from_secs(5));
        }
        assert!(all[1].cancel(never[0]));
        assert!(begun.elapsed() >= Duration::from_millis(40));
        drop(into);
        assert!(all[1].progress().is_err());
    }
}

#[test]
fn a_rank_that_is_gone_is_named() {
    let [mut zero, one] = pair(Traits::KIND);
    let mut into = [0; 10];
    let never = receive(&mut zero, 0, &mut into);
    drop(one);
    let begun = Instant::now();
    let error = end(std::slice::from_mut(&mut zero), 0, never).unwrap_err();
    let said = error.to_string();
    assert!(said.starts_with("rank 1 is lost: "), "{said}");
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert_eq!(error.lost().map(|lost| lost.rank), Some(1));
    assert!(zero.cancel(never));
    let [mut zero, one] = pair(Traits::KIND);
    drop(one);
    let away = send(&mut zero, 0, &[1; 200]).unwrap();
    let said = end(std::slice::from_mut(&mut zero), 0, away)
        .unwrap_err()
        .to_string();
    assert_eq!(said, "rank 1 is lost: nobody is there");
    let said = send(&mut zero, 0, &[1]).unwrap_err().to_string();
    assert_eq!(said, "rank 1 is lost: nobody is there");
    assert!(zero.cancel(away));
}

#[test]
fn what_was_sent_before_a_rank_leaves_comes() {
    let [mut zero, mut one] = pair(Traits {
        full_every: 2,
        ..Traits::KIND
    });
    let (sent, mut into) = (content(50, 6), vec![0; 50]);
    send(&mut one, 3, &sent).unwrap();
    send(&mut one, 3, &sent).unwrap();
    drop(one);
    for _ in 0..2 {
        let received = receive(&mut zero, 3, &mut into);
        let ended = end(std::slice::from_mut(&mut zero), 0, received).unwrap();
        assert_eq!((ended, &into), (Ended::Whole(50), &sent));
    }
}

#[test]
fn a_rank_sleeps_until_something_comes_where_the_provider_tells() {
    let mut all = pair(Traits::KIND);
    let (long, short) = (Duration::from_secs(5), Duration::from_millis(10));
    look(&mut all);
    // What there was to say at first has been said.
    while all[1].sleep(short).unwrap() == Sleep::Woken {}
    let mut into = [0; 8];
    let received = receive(&mut all[1], 0, &mut into);
    assert_eq!(all[1].sleep(short).unwrap(), Sleep::Over);
    send(&mut all[0], 0, &[3; 8]).unwrap();
    let begun = Instant::now();
    assert_eq!(all[1].sleep(long).unwrap(), Sleep::Woken);
    assert_eq!(all[1].test(received).unwrap(), Some(Ended::Whole(8)));
    while all[1].sleep(short).unwrap() == Sleep::Woken {}
    ring(all[1].doorbell().unwrap());
    assert_eq!(all[1].sleep(long).unwrap(), Sleep::Woken);
    all[0].notify(1, &Notice([7; Notice::BYTES]));
    let heard = loop {
        all[0].progress().unwrap();
        assert_ne!(all[1].sleep(long).unwrap(), Sleep::Never);
        if let Some(heard) = all[1].hear() {
            break heard;
        }
    };
    assert_eq!(heard, (0, Notice([7; Notice::BYTES])));
    assert!(begun.elapsed() < Duration::from_secs(4));
    let mut all = pair(Traits {
        has_descriptor: false,
        ..Traits::KIND
    });
    assert_eq!(all[0].doorbell(), None);
    assert_eq!(all[0].sleep(long).unwrap(), Sleep::Never);
}

#[test]
fn mistakes_are_named() {
    let mut all = pair(Traits {
        most_bytes: 1000,
        ..Traits::KIND
    });
    let said = send(&mut all[0], 1 << 27, &[1]).unwrap_err().to_string();
    assert_eq!(said, "there is no tag 134217728 of 134217728");
    let said = send(&mut all[0], 0, &[1; 1001]).unwrap_err().to_string();
    assert!(said.starts_with("a message of 1001 bytes is longer than the 1000 that"));
    // SAFETY: there is no such message.
    let said = unsafe { all[0].send(2, 0, [1].as_ptr(), 1) }
        .unwrap_err()
        .to_string();
    assert_eq!(said, "rank 0 of 2 has no messages with rank 2");
    let other = Traits {
        tag_bits: 48,
        ..Traits::KIND
    };
    let said = pair_of([&[Traits::KIND], &[other]])
        .unwrap_err()
        .to_string();
    let words = "rank 1 has the provider fake:";
    assert!(
        said.contains(words) && said.contains("ALLHANDS_OFI_PROVIDER"),
        "{said}"
    );
    let wishes = Wishes {
        provider: Some("fake:99999999".into()),
        ..Wishes::default()
    };
    let said = Endpoint::open_with(library(), &wishes, false)
        .unwrap_err()
        .to_string();
    assert_eq!(
        said,
        "libfabric has no provider 'fake:99999999' for tagged messages between reliable endpoints; nor any other that reaches other hosts"
    );
    let few = Traits {
        tag_bits: 8,
        ..Traits::KIND
    };
    let said = pair_of([&[few]; 2]).unwrap_err().to_string();
    assert!(
        said.ends_with("has tags of 8 bits, where 9 are needed for 2 ranks"),
        "{said}"
    );
}
