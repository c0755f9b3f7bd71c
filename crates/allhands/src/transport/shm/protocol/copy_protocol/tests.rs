//! Tests of copy protocols, with made-up times.

use super::*;

/// The copy protocols of a period's messages whose times are given, in one bounce buffer.
fn period(trial: &mut Trial, time_ns: impl Fn(CopyProtocol) -> u64) -> Vec<Option<CopyProtocol>> {
    let mut all = Vec::new();
    while all.is_empty() || trial.message > 0 {
        let ((protocol, tries), _) = trial.next(|_| true);
        if tries && all.last() == Some(&protocol) {
            protocol.iter().for_each(|p| trial.note(*p, time_ns(*p)));
        }
        all.push(protocol);
    }
    all
}

#[test]
fn the_best_is_kept_until_another_is() {
    for (protocols, is_late) in [(ONE_WAY, false), (ASSISTED, true), (EXCHANGED, true)] {
        let mut trial = Trial::new(protocols, is_late, false);
        while trial.message > 0 {
            let next = trial.next(|_| true);
            assert_eq!(next.0, (None, false), "as measured at the start");
        }
        for best in [protocols, protocols].concat() {
            let all = period(&mut trial, |protocol| {
                200 - 20 * u64::from(protocol == best)
            });
            let (tried, rest) = all.split_at(protocols.len() * TRIAL_TRIED);
            for protocol in protocols {
                let those = tried.iter().filter(|m| **m == Some(*protocol));
                assert_eq!(those.count(), TRIAL_TRIED);
            }
            let kept = rest.iter().all(|protocol| *protocol == Some(best));
            assert!(kept, "{best:?}");
        }
    }
}

#[test]
fn what_is_best_again_and_again_is_tried_more_seldom() {
    let mut trial = Trial::new(EXCHANGED, false, false);
    let steady = |protocol| 200 - 20 * u64::from(protocol == CopyProtocol::Direct);
    let lengths = [0; 6].map(|_| period(&mut trial, steady).len() / TRIAL_PERIOD);
    assert_eq!(lengths, [1, 2, 4, 8, 8, 8]);
    let other = |protocol| 200 - 20 * u64::from(protocol == CopyProtocol::Pipelined);
    period(&mut trial, other);
    assert_eq!(trial.period, TRIAL_PERIOD);
}

#[test]
fn without_times_the_choice_stays() {
    let mut trial = Trial::new(ASSISTED, true, false);
    (0..TRIAL_LATE + TRIAL_PERIOD).for_each(|_| _ = trial.next(|_| false));
    assert_eq!(trial.chosen, None);
    // A sender that has no room for a bounce buffer: of the others there are no times.
    (0..TRIAL_TRIED).for_each(|_| trial.note(CopyProtocol::Direct, 1000));
    (0..TRIAL_PERIOD).for_each(|_| _ = trial.next(|protocol| protocol == CopyProtocol::Direct));
    assert_eq!(trial.chosen, Some(CopyProtocol::Direct));
}

#[test]
fn a_sender_that_hears_late_what_is_wanted_is_timed_all_the_same() {
    for late in 0..=TRIAL_ASKED_MOST - TRIAL_TRIED {
        let mut trial = Trial::new(ONE_WAY, false, false);
        let mut heard = vec![None; late];
        while trial.chosen.is_none() {
            heard.push(trial.now().0);
            let comes_by = heard[heard.len() - 1 - late];
            let ((wanted, tries), as_wanted) = trial.next(|p| comes_by == Some(p));
            assert_eq!(as_wanted, wanted == comes_by && wanted.is_some());
            if let (Some(protocol), true) = (wanted, tries && as_wanted) {
                trial.note(protocol, 100 - 20 * protocol as u64);
            }
        }
        assert_eq!(trial.chosen, Some(CopyProtocol::Direct), "{late}");
        assert!(heard.len() <= late + 1 + ONE_WAY.len() * (TRIAL_TRIED + late));
    }
}

#[test]
fn a_sender_with_more_to_do_bounces_only_what_takes_twice_as_long_otherwise() {
    for (busy, direct_ns, best) in [
        (false, 120, CopyProtocol::Strings),
        (true, 120, CopyProtocol::Direct),
        (true, 180, CopyProtocol::Direct),
        (true, 220, CopyProtocol::Strings),
    ] {
        let mut trial = Trial::new(ONE_WAY, false, busy);
        period(&mut trial, |protocol| match protocol {
            CopyProtocol::Lines => 110,
            CopyProtocol::Strings => 100,
            _ => direct_ns,
        });
        assert_eq!(trial.chosen, Some(best), "{busy} {direct_ns}");
    }
}

#[test]
fn one_slow_message_decides_nothing() {
    let mut times = Times::default();
    for time_ns in [10, 10_000, 11, 12] {
        times.note(time_ns);
    }
    assert_eq!(times.middle_ns(), Some(12));
    for time_ns in [7, 8, 7] {
        times.note(time_ns);
    }
    assert_eq!(times.middle_ns(), Some(8), "the first are left out");
}

#[test]
fn every_length_and_kind_has_its_trial() {
    let mut protocols = CopyProtocols::new(true);
    let mut first = |bytes, combined, exchanged| {
        let message = LongMessage {
            bytes,
            combined,
            exchanged,
            copied: false,
            alone: true,
        };
        let wanted = protocols.wanted(message);
        let timed = protocols.begin(message, Protocol::Bounce, None);
        assert_eq!(timed.and_then(|timed| timed.protocol), wanted);
        timed.map(|timed| timed.protocol)
    };
    let (lines, pipelined) = (CopyProtocol::Lines, CopyProtocol::Pipelined);
    for (bytes, one_way, exchanged) in [
        (0, None, None),
        (MEDIUM_ALWAYS_MOST, None, None),
        (
            MEDIUM_ALWAYS_MOST + 1,
            Some(Some(lines)),
            Some(Some(pipelined)),
        ),
        (BOUNCE_MOST, Some(Some(lines)), Some(Some(pipelined))),
        (BOUNCE_MOST + 1, Some(None), Some(None)),
        (LONG_BOUNCE_MOST, Some(None), Some(None)),
        (LONG_BOUNCE_MOST + 1, None, None),
        (usize::MAX, None, None),
    ] {
        for combined in [false, true] {
            assert_eq!(first(bytes, combined, false), one_way, "{bytes}");
            assert_eq!(first(bytes, combined, true), exchanged, "{bytes}");
        }
    }
}

#[test]
fn an_exchange_takes_what_both_its_copies_take() {
    let mut protocols = CopyProtocols::new(true);
    let message = LongMessage {
        bytes: 1 << 16,
        combined: false,
        exchanged: true,
        copied: false,
        alone: true,
    };
    let mut one = |came, (copy_ns, read_ns): (u64, u64)| {
        let place = message.place().unwrap();
        protocols.trial(place).spent_ns += copy_ns;
        let timed = protocols.begin(message, came, None).unwrap();
        let timed = Timed {
            begun: timed
                .begun
                .map(|(_, spent_ns)| (Instant::now(), spent_ns + read_ns)),
            ..timed
        };
        protocols.end(timed);
        protocols.wanted(message)
    };
    let ms = 1_000_000;
    let mut wanted = Some(CopyProtocol::Pipelined);
    for _ in 0..=2 * TRIAL_TRIED {
        wanted = match wanted {
            Some(CopyProtocol::Pipelined) => one(Protocol::Pipelined, (600 * ms, 600 * ms)),
            _ => one(Protocol::Direct, (0, 900 * ms)),
        };
    }
    assert_eq!(wanted, Some(CopyProtocol::Direct));
}

#[test]
fn who_does_not_lead_sends_as_the_last_message_came() {
    let mut protocols = CopyProtocols::new(false);
    let message = LongMessage {
        bytes: 1 << 16,
        combined: false,
        exchanged: true,
        copied: true,
        alone: true,
    };
    assert_eq!(protocols.wanted(message), None);
    for (came, wanted) in [
        (Protocol::Direct, CopyProtocol::Direct),
        (Protocol::Pipelined, CopyProtocol::Pipelined),
    ] {
        for _ in 0..2 * TRIAL_PERIOD {
            assert!(protocols.start(message).is_none());
            assert!(protocols.begin(message, came, None).is_none());
            assert_eq!(protocols.wanted(message), Some(wanted));
        }
    }
    let other = LongMessage {
        copied: false,
        ..message
    };
    assert_eq!(protocols.wanted(other), None, "of its own kind");
}

#[test]
fn a_word_stands_for_a_copy_protocol() {
    for protocol in [
        None,
        Some(CopyProtocol::Lines),
        Some(CopyProtocol::Strings),
        Some(CopyProtocol::Direct),
        Some(CopyProtocol::Assisted),
        Some(CopyProtocol::Pipelined),
    ] {
        assert_eq!(
            CopyProtocol::of_word(CopyProtocol::word(protocol)),
            protocol
        );
    }
    assert_eq!(CopyProtocol::of_word(77), None);
}
