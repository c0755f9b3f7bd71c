//! The driver on several rails of such providers: every length at both ends, and what is taken back or lost.

use super::super::abi::{MR_ALLOCATED, MR_ENDPOINT, MR_LOCAL, MR_PROV_KEY, MR_VIRT_ADDR};
use super::super::capabilities::Wishes;
use super::super::driver::OfiNetwork;
use super::super::endpoint::Endpoint;
use super::tests::{assert_idle, content, end, exchange, look, pair_on, receive, send};
use super::{Traits, library, provider, world};
use crate::transport::net::{Ended, Network, Ticket};
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

/// Rates with which rails are tried: none is told, one is slow, one carries nothing.
fn rates(rails: usize) -> [Option<Vec<f64>>; 3] {
    let slow = (0..rails).map(|rail| if rail == 0 { 3.0 } else { 9.0 });
    let none = (0..rails).map(|rail| if rail == 1 { 0.0 } else { 1.0 });
    [None, Some(slow.collect()), Some(none.collect())]
}

fn share(all: &mut [OfiNetwork; 2], rates: &Option<Vec<f64>>) {
    if let Some(rates) = rates {
        all.iter_mut().for_each(|network| network.share(rates));
    }
}

#[test]
fn messages_come_over_several_rails_of_every_kind() {
    let all = MR_LOCAL | MR_VIRT_ADDR | MR_ALLOCATED | MR_PROV_KEY | MR_ENDPOINT;
    for (mr_mode, rails) in [(0, 2), (0, 3), (MR_LOCAL, 2), (all, 3)] {
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
            let mut all = pair_on(rails, traits);
            share(&mut all, &rates(rails)[at % 3]);
            for signature in [0, 7] {
                all.iter_mut().for_each(|network| network.sign(signature));
                exchange(&mut all);
            }
            assert_idle(&mut all, traits);
        }
    }
}

#[test]
fn many_messages_that_nobody_has_asked_for_come_in_their_order() {
    for full_every in [0, 2, 3] {
        let traits = Traits {
            full_every,
            ..Traits::KIND
        };
        let mut all = pair_on(2, traits);
        let length = |at: usize| [5, 200, 20_000][at % 3];
        let sent: Vec<Vec<u8>> = (0..300).map(|at| content(length(at), at)).collect();
        let away: Vec<Ticket> = sent
            .iter()
            .map(|bytes| send(&mut all[0], 7, bytes).unwrap())
            .collect();
        look(&mut all);
        for (bytes, away) in sent.iter().zip(away) {
            let mut into = vec![0; bytes.len()];
            let begun = receive(&mut all[1], 7, &mut into);
            assert_eq!(end(&mut all, 1, begun).unwrap(), Ended::Whole(bytes.len()));
            assert_eq!(end(&mut all, 0, away).unwrap(), Ended::Whole(bytes.len()));
            assert_eq!(into, *bytes);
        }
        assert_idle(&mut all, traits);
    }
}

/// All pairs of lengths, signed alike and not, before their receives and after; several with the same tag, so that those that are
/// cut at one end alone take nothing of the next.
#[test]
fn lengths_that_differ_end_as_they_do_over_one_rail() {
    let lengths = [
        0, 100, 1999, 2047, 2048, 2100, 5000, 8192, 8193, 9000, 40_000,
    ];
    for (rails, mr_mode) in [(2, 0), (3, 0), (2, MR_LOCAL)] {
        let traits = Traits {
            mr_mode,
            ..Traits::KIND
        };
        let mut all = pair_on(rails, traits);
        for (at, bytes) in lengths.into_iter().enumerate() {
            for (salt, room) in lengths.into_iter().enumerate() {
                share(&mut all, &rates(rails)[salt % 2]);
                let early = (at + salt) % 3 > 0;
                all[0].sign([0, 5][at % 2]);
                all[1].sign([0, 5][salt % 2]);
                let sent = content(bytes, salt);
                let mut into = vec![9; room + 10];
                let (mut next, word) = (vec![0; 3000], content(3000, at));
                let mut receives = |all: &mut [OfiNetwork; 2]| {
                    let one = receive(&mut all[1], 1, &mut into[..room]);
                    (one, receive(&mut all[1], 1, &mut next))
                };
                let begun = early.then(|| receives(&mut all));
                let away = send(&mut all[0], 1, &sent).unwrap();
                let behind = send(&mut all[0], 1, &word).unwrap();
                let (begun, other) = begun.unwrap_or_else(|| {
                    look(&mut all);
                    receives(&mut all)
                });
                let right = match bytes <= room {
                    true => Ended::Whole(bytes),
                    false => Ended::TooLong,
                };
                let what = format!("{bytes} into {room} on {rails}, {early}");
                assert_eq!(end(&mut all, 1, begun).unwrap(), right, "{what}");
                assert_eq!(
                    end(&mut all, 1, other).unwrap(),
                    Ended::Whole(3000),
                    "{what}"
                );
                assert_eq!(
                    end(&mut all, 0, away).unwrap(),
                    Ended::Whole(bytes),
                    "{what}"
                );
                assert_eq!(end(&mut all, 0, behind).unwrap(), Ended::Whole(3000));
                assert!(bytes > room || into[..bytes] == sent, "{what}");
                assert_eq!((&next, &into[room..]), (&word, &[9; 10][..]), "{what}");
                assert_idle(&mut all, traits);
            }
        }
    }
}

#[test]
fn what_lies_behind_a_shorter_message_stays_where_that_is_expected() {
    for mr_mode in [0, MR_LOCAL] {
        let traits = Traits {
            mr_mode,
            ..Traits::KIND
        };
        let mut all = pair_on(3, traits);
        all.iter_mut().for_each(|network| network.sign(3));
        all[1].expect_shorter();
        for (bytes, room) in [(8000, 9000), (9000, 9000), (100, 9000), (100_000, 200_000)] {
            let (sent, mut into) = (content(bytes, 1), vec![77; room]);
            let begun = receive(&mut all[1], 3, &mut into);
            let away = send(&mut all[0], 3, &sent).unwrap();
            assert_eq!(end(&mut all, 1, begun).unwrap(), Ended::Whole(bytes));
            assert_eq!(end(&mut all, 0, away).unwrap(), Ended::Whole(bytes));
            assert!(into[..bytes] == sent && into[bytes..].iter().all(|byte| *byte == 77));
            assert_idle(&mut all, traits);
        }
        // What is taken back, its parts included, leaves no landing.
        let (sent, mut into) = (content(9000, 1), vec![77; 9000]);
        let begun = receive(&mut all[1], 3, &mut into);
        send(&mut all[0], 3, &sent).unwrap();
        all[1].progress().unwrap();
        while !all[1].cancel(begun) {}
        assert!(all[1].landings.is_empty());
        look(&mut all);
    }
}

#[test]
fn cut_messages_of_another_call_differ() {
    let mut all = pair_on(2, Traits::KIND);
    all[0].sign(5);
    all[1].sign(6);
    for (bytes, room) in [
        (9000, 9000),
        (9000, 8000),
        (9000, 100),
        (100, 9000),
        (8000, 9000),
    ] {
        let (sent, mut into) = (content(bytes, 1), vec![0; room]);
        let begun = receive(&mut all[1], 3, &mut into);
        let away = send(&mut all[0], 3, &sent).unwrap();
        let ended = end(&mut all, 1, begun).unwrap();
        let is_right = ended == Ended::Differs || bytes > room && ended == Ended::TooLong;
        assert!(is_right, "{bytes} into {room}: {ended:?}");
        end(&mut all, 0, away).unwrap();
        assert_idle(&mut all, Traits::KIND);
    }
}

#[test]
fn parts_are_taken_back_together() {
    for mr_mode in [0, MR_LOCAL, MR_LOCAL | MR_ENDPOINT] {
        for full_every in [0, 2] {
            let traits = Traits {
                mr_mode,
                full_every,
                ..Traits::KIND
            };
            let mut all = pair_on(3, traits);
            all.iter_mut().for_each(|network| network.sign(3));
            let (sent, mut into) = (content(20_000, 4), vec![0; 20_000]);
            let never = receive(&mut all[1], 0, &mut into);
            look(&mut all);
            assert!(all[1].cancel(never));
            assert!(all[1].test(never).is_err() && all[1].cancel(never));
            drop(into);
            assert_idle(&mut all, traits);
            // The message for it stays, as its number is another's; the next receive has the next number.
            let mut into = vec![0; 20_000];
            let lost = send(&mut all[0], 0, &sent).unwrap();
            let away = send(&mut all[0], 0, &sent).unwrap();
            let received = receive(&mut all[1], 0, &mut into);
            assert_eq!(end(&mut all, 1, received).unwrap(), Ended::Whole(20_000));
            assert_eq!(end(&mut all, 0, away).unwrap(), Ended::Whole(20_000));
            assert_eq!(into, sent);
            // One that nobody receives cannot be taken back alone, and all endpoints are closed.
            let is_over = all[0].cancel(lost);
            assert!(!is_over || mr_mode != 0);
            let begun = Instant::now();
            while !all[0].cancel(lost) {
                assert!(begun.elapsed() < Duration::from_secs(5));
            }
        }
    }
}

/// A provider without `fi_cancel` cannot give back receives for parts that do not come: then its endpoints are closed.
#[test]
fn what_cannot_be_taken_back_never_hangs() {
    let mut all = pair_on(
        2,
        Traits {
            has_cancel: false,
            ..Traits::KIND
        },
    );
    all.iter_mut().for_each(|network| network.sign(3));
    let mut into = vec![0; 9000];
    let begun = receive(&mut all[1], 0, &mut into);
    send(&mut all[0], 0, &[1; 50]).unwrap();
    let since = Instant::now();
    let error = loop {
        all[0].progress().unwrap();
        match all[1].progress().and_then(|()| all[1].test(begun)) {
            Ok(ended) => assert_eq!(ended, None),
            Err(error) => break error.to_string(),
        }
        assert!(since.elapsed() < Duration::from_secs(5));
    };
    assert!(error.contains("could not be taken back"), "{error}");
    assert!(all[1].cancel(begun));
}

#[test]
fn a_rank_that_is_gone_is_named_on_several_rails() {
    let [mut zero, one] = pair_on(2, Traits::KIND);
    zero.sign(3);
    let mut into = vec![0; 9000];
    let never = receive(&mut zero, 0, &mut into);
    drop(one);
    let said = end(std::slice::from_mut(&mut zero), 0, never).unwrap_err();
    assert!(said.to_string().starts_with("rank 1 is lost: "), "{said}");
    assert!(zero.cancel(never));
}

#[test]
fn a_rail_that_is_gone_takes_its_rank_along() {
    let mut all = pair_on(2, Traits::KIND);
    assert!(all[1].rails[1].endpoint.shut());
    let away = [0, 1].map(|_| send(&mut all[0], 0, &[1; 200]).unwrap());
    let ends = away.map(|ticket| end(&mut all[..1], 0, ticket));
    let failed = ends.into_iter().filter_map(Result::err);
    let said: Vec<String> = failed.map(|error| error.to_string()).collect();
    assert!(
        said.contains(&"rank 1 is lost: nobody is there".to_string()),
        "{said:?}"
    );
}

/// On one rail a message takes one call and leaves no number behind.
#[test]
fn what_goes_over_one_rail_costs_what_it_did() {
    for (rails, long_calls) in [(1, 1), (2, 2), (3, 3)] {
        let mut all = pair_on(rails, Traits::KIND);
        all.iter_mut().for_each(|network| network.sign(3));
        for (bytes, right) in [(8, 1), (2047, 1), (2048, long_calls), (100_000, long_calls)] {
            let calls = |all: &[OfiNetwork; 2]| {
                let rails = all.iter().flat_map(|network| network.rails.iter());
                let number = |address: &[u8]| u64::from_ne_bytes(*address.first_chunk().unwrap());
                let calls =
                    rails.map(|rail| world::calls(number(&rail.endpoint.own_card().address)));
                calls.sum::<u32>()
            };
            let before = calls(&all);
            let (sent, mut into) = (content(bytes, 1), vec![0; bytes]);
            let begun = receive(&mut all[1], 0, &mut into);
            let away = send(&mut all[0], 0, &sent).unwrap();
            end(&mut all, 1, begun).unwrap();
            end(&mut all, 0, away).unwrap();
            assert_eq!(calls(&all) - before, 2 * right, "{bytes} on {rails}");
        }
    }
}

#[test]
fn domains_and_interfaces_are_found_or_named() {
    let name = provider(Traits {
        domains: 3,
        ..Traits::KIND
    });
    let open = |interface: Option<u8>, domain: Option<&str>| {
        let wishes = Wishes {
            provider: Some(name.clone()),
            interface: interface.map(|last| IpAddr::V4(Ipv4Addr::new(10, 0, 0, last))),
            domain: domain.map(String::from),
        };
        let must_be_there = interface.is_some();
        Endpoint::open_with(library(), &wishes, must_be_there).map(|_| ())
    };
    for last in 1..=3 {
        assert_eq!(open(Some(last), None), Ok(()));
        assert_eq!(open(None, Some(&format!("d{last}"))), Ok(()));
    }
    let has = "d1 (10.0.0.1), d2 (10.0.0.2), d3 (10.0.0.3)";
    let said = open(None, Some("d4")).unwrap_err().to_string();
    let right = format!("libfabric's provider {name} has nothing at d4; it has {has}");
    assert_eq!(said, right);
    let said = open(Some(9), None).unwrap_err().to_string();
    assert!(said.contains("nothing at 10.0.0.9; it has d1"), "{said}");
}
