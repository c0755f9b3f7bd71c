//! Tests of the measurement: what is kept, what is chosen, and when it ends.

use super::measure::{CALLS, ROUNDS};
use super::*;
use crate::threads;
use std::time::Duration;

fn times(pattern: Pattern, chosen: Protocol) -> Times {
    Times {
        pattern,
        bytes: 64 << 10,
        us: vec![(Protocol::Direct, [8.5, 9.25])],
        chosen,
        settled: chosen == Protocol::Direct,
    }
}

#[test]
fn what_is_kept_is_read_again_and_what_does_not_fit_is_not() {
    let known = Protocols {
        starts: 2,
        copies: Some(Copies {
            us: [222.25, 142.125],
            ahead: true,
        }),
        times: vec![
            times(Pattern::OneWay, Protocol::Direct),
            times(Pattern::Exchanged, Protocol::Pipelined),
        ],
    };
    let text = known.text();
    assert_eq!(Protocols::parse(&text), Some(known.clone()));
    // It may stand between other tables.
    let among =
        format!("name = \"m\"\n[processor]\ncopy_byte_ns = 1\n\n{text}\n[other]\nlines = []\n");
    assert_eq!(Protocols::parse(&among), Some(known));
    for (from, to) in [
        ("[protocols]", "[protocol]"),
        ("kernel = \"", "kernel = \"9"),
        ("machine = \"", "machine = \"x"),
        ("format = ", "format = 1"),
        ("starts = 2", "start = 2"),
        ("lines = [", "lines = "),
        ("9.250\",", "9.250"),
        ("direct settled", "direct set"),
        ("one-way", "two-way"),
        ("65536", "x"),
        ("ahead=", "behind="),
        ("copy ahead", "copy"),
        ("direct=8.500", "direct=NaN"),
        ("direct=8.500/9.250", "direct=8.500"),
        ("direct=8.500", "medium=8.500"),
        ("direct=8.500", "direct=-8.500"),
        ("direct=8.500", "direct=1e300"),
        // A length that nothing was measured of, and one that is there already.
        ("65536", "65537"),
        ("exchanged 65536 pipelined", "one-way 65536 bounce"),
    ] {
        let other = text.replacen(from, to, 1);
        assert_ne!(other, text, "{from}");
        assert_eq!(Protocols::parse(&other), None, "{from} for {to}");
    }
}

#[test]
fn the_longest_go_by_the_next_shorter_ones_until_they_are_measured() {
    let of = |bytes, protocol| Times {
        bytes,
        ..times(Pattern::Exchanged, protocol)
    };
    let mut known = Protocols {
        times: vec![of(1 << 20, Protocol::Direct)],
        ..Protocols::default()
    };
    let chosen = |known: &Protocols| {
        let message = Message {
            exchanged: true,
            ..Message::new(4 << 20)
        };
        decide(&message, known.measured()).0
    };
    assert_eq!(chosen(&known), Protocol::Direct);
    known.times.push(of(2 << 20, Protocol::Pipelined));
    assert_eq!(chosen(&known), Protocol::Pipelined);
}

#[test]
fn lengths_between_the_measured_ones_go_by_the_next() {
    let known = Protocols {
        starts: 1,
        copies: None,
        times: vec![times(Pattern::OneWay, Protocol::Direct)],
    };
    let of = |bytes| decide(&Message::new(bytes), known.measured()).0;
    let lengths = [20 << 10, 64 << 10, (64 << 10) + 1, 1 << 20];
    let expected = [
        Protocol::Direct,
        Protocol::Direct,
        Protocol::Bounce,
        Protocol::Bounce,
    ];
    assert_eq!(lengths.map(of), expected);
}

#[test]
fn what_takes_least_is_chosen_if_repeats_agree_and_it_gains() {
    let steady = |ns: u64| vec![ns; ROUNDS * CALLS.counted];
    let wild = |ns: u64| [vec![ns; CALLS.counted], vec![2 * ns; CALLS.counted]].concat();
    let chosen = |bounce: Vec<u64>, direct: Vec<u64>| {
        let both = |ns: Vec<u64>| [ns.clone(), ns];
        Times::of(Pattern::OneWay, 64 << 10, &[both(bounce), both(direct)]).chosen
    };
    assert_eq!(chosen(steady(1000), steady(900)), Protocol::Direct);
    assert_eq!(
        chosen(steady(1000), steady(960)),
        Protocol::Bounce,
        "hardly less"
    );
    assert_eq!(chosen(steady(1000), steady(2000)), Protocol::Bounce);
    assert_eq!(
        chosen(steady(1000), wild(600)),
        Protocol::Bounce,
        "the second round takes longer"
    );
    assert_eq!(
        chosen(wild(1000), steady(970)),
        Protocol::Bounce,
        "the second round takes hardly longer"
    );
    assert_eq!(
        chosen(wild(1000), wild(400)),
        Protocol::Direct,
        "both say the same"
    );
}

#[test]
fn what_is_open_is_measured_at_the_next_starts_and_what_is_settled_is_not() {
    let steady = |ns: u64| [vec![ns; 10], vec![ns; 10]];
    let rounds = |one: u64, other: u64| {
        let ns = [vec![one; 5], vec![other; 5]].concat();
        [ns.clone(), ns]
    };
    let of = |bounce, direct| Times::of(Pattern::OneWay, 64 << 10, &[bounce, direct]);
    assert!(of(steady(1000), steady(1000)).settled);
    assert!(of(steady(1000), steady(500)).settled);
    assert!(!of(steady(1000), rounds(500, 1000)).settled);
    assert!(!of(rounds(1000, 1200), steady(1100)).settled);
    let one_gains = of(rounds(1000, 1080), steady(990));
    assert_eq!(
        (one_gains.chosen, one_gains.settled),
        (Protocol::Bounce, false)
    );

    let mut known = Protocols::default();
    let all = known.lacks();
    let kinds = measured_at_first().count();
    assert_eq!(all.count_ones() as usize, kinds + 1, "and the copies");
    let copies = Copies {
        us: [1.0; 2],
        ahead: false,
    };
    known.update(Protocols {
        starts: 0,
        copies: Some(copies),
        times: vec![
            of(steady(1000), rounds(500, 1000)),
            times(Pattern::Exchanged, Protocol::Direct),
        ],
    });
    let lacks = known.lacks();
    assert_eq!(
        (all & !lacks).count_ones(),
        2,
        "one kind is settled, and the copies"
    );
    known.update(Protocols {
        starts: 0,
        copies: None,
        times: vec![of(steady(1000), steady(500))],
    });
    assert_eq!((lacks & !known.lacks()).count_ones(), 1, "and one more");
    assert_eq!(known.copies, Some(copies), "which stays");
    let bytes: Vec<_> = known.times.iter().map(|t| (t.pattern, t.chosen)).collect();
    let expected = [Pattern::OneWay, Pattern::Exchanged].map(|p| (p, Protocol::Direct));
    assert_eq!(bytes, expected);
    known.starts = STARTS_MOST;
    assert_eq!(known.lacks(), 0, "enough is enough");
}

#[test]
fn both_ways_of_sending_count_alike() {
    let repeats = [
        [vec![4000; 2], vec![9000; 2]],
        [vec![6000; 2], vec![6000; 2]],
    ];
    let found = Times::of(Pattern::OneWay, 64 << 10, &repeats);
    let each = [
        (Protocol::Bounce, [4.0, 9.0]),
        (Protocol::Direct, [6.0, 6.0]),
    ];
    assert_eq!(found.us, each);
    assert_eq!(each.map(|(_, us)| together(us)), [6.0; 2]);
}

#[test]
fn a_measurement_ends_in_time_and_leaves_what_was() {
    threads::run(2, |comm| {
        let before = Measured::default().all(Protocol::Direct);
        comm.set_protocols(before, false);
        assert_eq!(
            measure(&comm, Duration::ZERO).unwrap(),
            Protocols::default()
        );
        assert_eq!(comm.protocols(), before);
        // The other rank has looked.
        comm.barrier().unwrap();
        let all = measure(&comm, Duration::from_secs(60)).unwrap();
        assert_eq!(all.times.len(), measured_at_first().count());
        assert_eq!(comm.protocols(), before);
    })
    .unwrap();
}
