//! Tests of the measurement: what is kept, what is chosen, and when it ends.

use super::measure::CALLS;
use super::*;
use crate::threads;
use std::time::Duration;

fn times(pattern: Pattern, chosen: Protocol) -> Times {
    Times {
        pattern,
        bytes: 64 << 10,
        us: vec![(Protocol::Direct, [8.5, 9.25])],
        chosen,
    }
}

#[test]
fn what_is_kept_is_read_again_and_what_does_not_fit_is_not() {
    let known = Protocols {
        times: vec![
            times(Pattern::OneWay, Protocol::Direct),
            times(Pattern::Exchanged, Protocol::Pipelined),
        ],
    };
    let text = known.text();
    assert_eq!(Protocols::parse(&text), Some(known));
    for (from, to) in [
        ("kernel ", "kernel 9"),
        ("machine ", "machine x"),
        ("format 2", "format 1"),
        ("one-way", "two-way"),
        ("65536", "x"),
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
fn lengths_between_the_measured_ones_go_by_the_next() {
    let known = Protocols {
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
    let steady = |ns: u64| vec![ns; CALLS.counted];
    let wild = |ns: u64| {
        (0..CALLS.counted as u64)
            .map(|at| ns * (1 + at % 2))
            .collect::<Vec<u64>>()
    };
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
        "every other one takes longer"
    );
    assert_eq!(
        chosen(wild(1000), steady(970)),
        Protocol::Bounce,
        "every other one takes hardly longer"
    );
    assert_eq!(
        chosen(wild(1000), wild(400)),
        Protocol::Direct,
        "all say the same"
    );
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
        let before = Measured::all(Protocol::Direct);
        comm.set_protocols(before, false);
        assert_eq!(
            measure(&comm, Duration::ZERO).unwrap(),
            Protocols::default()
        );
        assert_eq!(comm.protocols(), before);
        let all = measure(&comm, Duration::from_secs(60)).unwrap();
        let kinds = LENGTHS.map(|(bytes, _)| Pattern::ALL.map(|p| !p.protocols(bytes).is_empty()));
        let measured = kinds.as_flattened().iter().filter(|is| **is).count();
        assert_eq!(all.times.len(), measured);
        assert_eq!(comm.protocols(), before);
    })
    .unwrap();
}
