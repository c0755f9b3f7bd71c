//! Tests of copy protocols, with made-up times.

use super::*;
use crate::transport::shm::tuning::{TRIAL_ASKED_MOST, TRIAL_PERIOD, TRIAL_TRIED};

/// The copy protocols of a period's messages whose times are given, in one bounce buffer.
fn period(
    trial: &mut Trial<CopyProtocol>,
    time_ns: impl Fn(CopyProtocol) -> u64,
) -> Vec<Option<CopyProtocol>> {
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
    for (protocols, late) in [
        (ONE_WAY, 0),
        (ASSISTED, TRIAL_LATE),
        (LONGEST, TRIAL_LATE),
        (EXCHANGED, TRIAL_EXCHANGED_LATE),
    ] {
        let mut trial = Trial::new(protocols, late);
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
    let mut trial = Trial::new(EXCHANGED, 0);
    let steady = |protocol| 200 - 20 * u64::from(protocol == CopyProtocol::Direct);
    let lengths = [0; 6].map(|_| period(&mut trial, steady).len() / TRIAL_PERIOD);
    assert_eq!(lengths, [1, 2, 4, 8, 8, 8]);
    let other = |protocol| 200 - 20 * u64::from(protocol == CopyProtocol::Pipelined);
    period(&mut trial, other);
    assert_eq!(trial.period, TRIAL_PERIOD);
}

#[test]
fn without_times_the_choice_stays() {
    let mut trial = Trial::new(ASSISTED, TRIAL_LATE);
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
        let mut trial = Trial::new(ONE_WAY, 0);
        let mut heard = vec![None; late];
        while trial.chosen.is_none() {
            heard.push(trial.now().0);
            let comes_by = heard[heard.len() - 1 - late];
            let ((wanted, tries), as_wanted) = trial.next(|p| comes_by == Some(p));
            assert_eq!(as_wanted, wanted == comes_by && wanted.is_some());
            if let (Some(protocol), true) = (wanted, tries && as_wanted) {
                // The last takes the least.
                let place = ONE_WAY.iter().position(|p| *p == protocol).unwrap();
                trial.note(protocol, 100 - 20 * place as u64);
            }
        }
        assert_eq!(trial.chosen, Some(CopyProtocol::Direct), "{late}");
        assert!(heard.len() <= late + 1 + ONE_WAY.len() * (TRIAL_TRIED + late));
    }
}

#[test]
fn what_a_sender_copies_besides_counts_where_it_has_more_to_do() {
    let timed = |protocol, alone, ahead| {
        let message = LongMessage {
            bytes: 1 << 16,
            combined: false,
            exchanged: false,
            copied: false,
            alone,
        };
        let timed = Timed {
            place: message.place().unwrap(),
            protocol: Some(protocol),
            begun: None,
            ahead: (0, message.bytes),
        };
        timed.after(ahead).more_ns(100)
    };
    for (protocol, alone, ahead, more_ns) in [
        (CopyProtocol::Lines, false, 1 << 16, 100),
        (CopyProtocol::Strings, false, 1 << 16, 100),
        (CopyProtocol::Strings, false, 1 << 15, 50),
        (CopyProtocol::Vectors, false, 1 << 15, 50),
        // Its own copy.
        (CopyProtocol::Strings, false, 0, 33),
        // Nothing waits for the sender's copy.
        (CopyProtocol::Strings, true, 1 << 16, 0),
        // Nothing was copied.
        (CopyProtocol::Direct, false, 1 << 16, 0),
        // The first part, which its receiver has not seen come.
        (CopyProtocol::Pipelined, true, 1 << 14, 25),
    ] {
        let got_ns = timed(protocol, alone, ahead);
        assert_eq!(got_ns, more_ns, "{protocol:?} {alone} {ahead}");
    }
}

#[test]
fn what_a_sender_copies_besides_is_part_of_a_messages_time() {
    let since = Instant::now() - std::time::Duration::from_millis(5);
    for (alone, least_ns) in [(true, 5_000_000), (false, 10_000_000)] {
        let message = LongMessage {
            bytes: 1 << 16,
            combined: false,
            exchanged: false,
            copied: false,
            alone,
        };
        let mut protocols = CopyProtocols::new(true);
        let place = message.place().unwrap();
        let way = (Protocol::Bounce, Some(CopyProtocol::Lines));
        let timed = protocols.begin(message, way, || Some(since)).unwrap();
        protocols.end(timed.after(message.bytes));
        let times = protocols.trial(place).times[CopyProtocol::Lines as usize - 1];
        assert!(times.count == 1 && times.all_ns[0] >= least_ns, "{alone}");
    }
}

#[test]
fn an_exchange_that_takes_less_every_other_time_is_not_taken_up() {
    let mut trial = Trial::new(EXCHANGED, 0);
    period(&mut trial, |protocol| match protocol {
        CopyProtocol::Pipelined => 145,
        _ => 170,
    });
    let times = std::cell::Cell::new(0);
    for _ in 0..4 {
        period(&mut trial, |protocol| match protocol {
            CopyProtocol::Pipelined => 145,
            _ => [120, 200][times.replace(times.get() + 1) % 2],
        });
        assert_eq!(trial.chosen, Some(CopyProtocol::Pipelined));
    }
    period(&mut trial, |protocol| match protocol {
        CopyProtocol::Pipelined => 145,
        _ => 130,
    });
    assert_eq!(trial.chosen, Some(CopyProtocol::Direct));
}

#[test]
fn one_slow_message_decides_nothing() {
    let mut times = Times::default();
    for time_ns in [10, 10_000, 11, 12] {
        times.note(time_ns);
    }
    assert_eq!(
        [false, true].map(|sure| times.middle_ns(sure)),
        [Some(11), Some(12)]
    );
    for time_ns in [7, 8, 7] {
        times.note(time_ns);
    }
    let left = [false, true].map(|sure| times.middle_ns(sure));
    assert_eq!(left, [Some(7), Some(8)], "the first are left out");
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
        let timed = protocols.begin(message, (Protocol::Bounce, None), || None);
        assert_eq!(timed.and_then(|timed| timed.protocol), wanted);
        timed.map(|timed| timed.protocol)
    };
    let lines = Some(CopyProtocol::Lines);
    for (bytes, one_way, exchanged) in [
        (0, None, None),
        (MEDIUM_ALWAYS_MOST, None, None),
        (MEDIUM_ALWAYS_MOST + 1, Some(lines), Some(None)),
        (BOUNCE_MOST, Some(lines), Some(None)),
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
fn an_exchange_by_way_of_buffers_has_to_be_sooner_by_a_sixteenth() {
    for (pipelined_ns, best) in [
        (1000, CopyProtocol::Direct),
        (960, CopyProtocol::Direct),
        (930, CopyProtocol::Pipelined),
    ] {
        let mut trial = Trial::new(EXCHANGED, 0);
        period(&mut trial, |protocol| match protocol {
            CopyProtocol::Pipelined => pipelined_ns,
            _ => 1000,
        });
        assert_eq!(trial.chosen, Some(best), "{pipelined_ns}");
    }
}

#[test]
fn the_time_of_an_exchange_counts_from_where_it_is_said() {
    let mut protocols = CopyProtocols::new(true);
    let message = LongMessage {
        bytes: 1 << 16,
        combined: false,
        exchanged: true,
        copied: false,
        alone: true,
    };
    let place = message.place().unwrap();
    protocols.trial(place).tried = 0;
    let since = Instant::now() - std::time::Duration::from_millis(5);
    let mut one = |came, since| {
        let timed = protocols.begin(message, (came, None), || since);
        protocols.end(timed.unwrap());
        let times = protocols.trial(place).times[CopyProtocol::Pipelined as usize - 1];
        (times.count, times.all_ns[0])
    };
    assert_eq!(one(Protocol::Direct, Some(since)).0, 0, "not as wanted");
    assert_eq!(one(Protocol::Pipelined, None).0, 0, "from nowhere");
    let (count, time_ns) = one(Protocol::Pipelined, Some(since));
    assert!(count == 1 && time_ns >= 5_000_000, "{count} {time_ns}");
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
            assert!(protocols.begin(message, (came, None), || None).is_none());
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
