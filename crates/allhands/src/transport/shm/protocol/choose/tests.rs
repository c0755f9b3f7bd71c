//! Tests of the choice: which row decides, and what was measured or is wanted.

use super::*;

fn of(message: Message, bytes: usize) -> Protocol {
    decide(&Message { bytes, ..message }, Measured::default()).0
}

#[test]
fn without_measurements_lengths_decide() {
    use Protocol::{Assisted, Bounce, Direct, Eager, Medium, Pipelined, Unclaimed};
    let exchanged = Message {
        exchanged: true,
        ..Message::new(0)
    };
    let shared = Message {
        oversubscribed: true,
        ..Message::new(0)
    };
    let both = Message {
        oversubscribed: true,
        ..exchanged
    };
    let mapped = Message {
        mapped: true,
        ..exchanged
    };
    let forbidden = Message {
        may_attach: false,
        ..Message::new(0)
    };
    for (message, of_each) in [
        (
            Message::new(0),
            [Eager, Eager, Medium, Bounce, Bounce, Assisted, Assisted],
        ),
        (
            exchanged,
            [
                Eager, Medium, Medium, Pipelined, Pipelined, Pipelined, Pipelined,
            ],
        ),
        (
            shared,
            [Eager, Eager, Unclaimed, Bounce, Direct, Direct, Direct],
        ),
        (
            both,
            [Eager, Eager, Unclaimed, Pipelined, Direct, Direct, Direct],
        ),
        (
            mapped,
            [Eager, Medium, Direct, Direct, Direct, Direct, Direct],
        ),
        (
            forbidden,
            [Eager, Eager, Medium, Bounce, Bounce, Bounce, Bounce],
        ),
    ] {
        let lengths = [
            768,
            1056,
            8 << 10,
            128 << 10,
            1 << 20,
            (1 << 20) + 1,
            64 << 20,
        ];
        assert_eq!(
            lengths.map(|bytes| of(message, bytes)),
            of_each,
            "{message:?}"
        );
    }
}

#[test]
fn classes_are_lengths_between_powers_of_two() {
    for (bytes, expected) in [
        (MEDIUM_ALWAYS_MOST + 1, 0),
        (2 * MEDIUM_ALWAYS_MOST, 0),
        (2 * MEDIUM_ALWAYS_MOST + 1, 1),
        (4 << 20, 9),
        ((4 << 20) + 1, 10),
        (usize::MAX, 10),
    ] {
        assert_eq!(class(bytes), expected, "{bytes}");
    }
}

#[test]
fn what_was_measured_decides_of_its_class_alone() {
    let word = Measured::with(0, 4, Protocol::Direct);
    let measured = Measured {
        one_way: word,
        exchanged: Measured::with(word, 5, Protocol::Bounce),
    };
    let of = |exchanged, bytes| {
        let message = Message {
            bytes,
            exchanged,
            ..Message::new(0)
        };
        decide(&message, measured).0
    };
    assert_eq!(of(false, 64 << 10), Protocol::Bounce);
    assert_eq!(of(false, (64 << 10) + 1), Protocol::Direct);
    assert_eq!(of(false, (128 << 10) + 1), Protocol::Bounce);
    assert_eq!(of(true, 128 << 10), Protocol::Direct);
    assert_eq!(of(true, 256 << 10), Protocol::Bounce);
    assert_eq!(of(true, 512 << 10), Protocol::Pipelined);
}

#[test]
fn a_receivers_wish_is_heard_where_its_sender_can() {
    let choose = |wanted, message: Message| {
        let known = Known {
            measured: Measured::default(),
            wanted: Some(wanted),
        };
        choose(&message, &known).0
    };
    let at = |bytes, alone| Message {
        bytes,
        alone,
        ..Message::new(0)
    };
    assert_eq!(
        choose(CopyProtocol::Direct, at(1 << 16, false)),
        Protocol::Direct
    );
    assert_eq!(
        choose(CopyProtocol::Lines, at(2 << 20, true)),
        Protocol::Bounce
    );
    assert_eq!(
        choose(CopyProtocol::Strings, at(2 << 20, false)),
        Protocol::Direct
    );
    assert_eq!(
        choose(CopyProtocol::Strings, at(5 << 20, true)),
        Protocol::Assisted
    );
    let forbidden = Message {
        may_attach: false,
        ..at(1 << 16, true)
    };
    assert_eq!(choose(CopyProtocol::Direct, forbidden), Protocol::Bounce);
}

#[test]
fn what_two_ranks_exchange_goes_as_it_took_least_of_the_last_ones() {
    let of = |wanted, measured, may_attach| {
        let message = Message {
            bytes: 1 << 18,
            exchanged: true,
            may_attach,
            ..Message::new(0)
        };
        let known = Known {
            measured: Measured::default().all(measured),
            wanted,
        };
        choose(&message, &known).0
    };
    let (direct, pipelined) = (Protocol::Direct, Protocol::Pipelined);
    assert_eq!(of(None, direct, true), direct, "as measured at the start");
    assert_eq!(of(Some(CopyProtocol::Pipelined), direct, true), pipelined);
    assert_eq!(of(Some(CopyProtocol::Direct), pipelined, true), direct);
    assert_eq!(of(Some(CopyProtocol::Direct), direct, false), pipelined);
}

#[test]
fn a_medium_buffer_carries_what_is_longer_where_that_was_measured() {
    let of = |bytes, measured| {
        decide(
            &Message {
                bytes,
                ..Message::new(0)
            },
            Measured::default().all(measured),
        )
        .0
    };
    for (measured, longer) in [
        (Protocol::Medium, Protocol::Medium),
        (Protocol::Direct, Protocol::Direct),
        (Protocol::Bounce, Protocol::Bounce),
    ] {
        assert_eq!(of(MEDIUM_ALWAYS_MOST, measured), Protocol::Medium);
        assert_eq!(of(MEDIUM_ALWAYS_MOST + 1, measured), longer);
        assert_eq!(of(MEDIUM_BYTES, measured), longer);
    }
    assert_eq!(of(MEDIUM_BYTES + 1, Protocol::Medium), Protocol::Bounce);
}

#[test]
fn only_a_sender_that_has_nothing_else_to_do_assists() {
    let of = |alone, exchanged| {
        let message = Message {
            alone,
            exchanged,
            mapped: true,
            ..Message::new(1 << 20)
        };
        decide(&message, Measured::default()).0
    };
    assert_eq!(of(true, false), Protocol::Assisted);
    assert_eq!(of(false, false), Protocol::Direct);
    assert_eq!(of(true, true), Protocol::Direct);
}

#[test]
fn whether_a_medium_buffer_is_claimed_was_measured_of_messages_one_way() {
    let measured = Measured::default().all(Protocol::Unclaimed);
    let of = |bytes, exchanged| {
        let message = Message {
            exchanged,
            ..Message::new(bytes)
        };
        decide(&message, measured).0
    };
    assert_eq!(of(2 << 10, false), Protocol::Unclaimed);
    assert_eq!(of(MEDIUM_BYTES, false), Protocol::Unclaimed);
    assert_eq!(of(2 << 10, true), Protocol::Medium);
    // Ranks that share cores claim nothing, whatever was measured of others.
    for exchanged in [false, true] {
        for measured in [measured, Measured::default()] {
            let message = Message {
                exchanged,
                oversubscribed: true,
                ..Message::new(2 << 10)
            };
            assert_eq!(decide(&message, measured).0, Protocol::Unclaimed);
        }
    }
    // What is measured afterwards of longer ones leaves it.
    let longer = measured.all(Protocol::Medium);
    assert_eq!(
        decide(&Message::new(2 << 10), longer).0,
        Protocol::Unclaimed
    );
    let other = Measured::default().all(Protocol::Bounce);
    assert_eq!(decide(&Message::new(2 << 10), other).0, Protocol::Medium);
}

#[test]
fn ranks_that_share_cores_read_sooner_where_that_was_measured_to_be_the_best() {
    let of = |bytes, measured, may_attach, (only, reduced)| {
        let measured = Measured::default().all(measured);
        let message = Message {
            oversubscribed: true,
            may_attach,
            only,
            reduced,
            ..Message::new(bytes)
        };
        decide(&message, measured).0
    };
    let [many, only, reduced] = [(false, false), (true, false), (false, true)];
    for (measured, what, most) in [
        (Protocol::Bounce, only, OVERSUBSCRIBED_BUFFERED_MOST),
        (Protocol::Bounce, many, OVERSUBSCRIBED_BUFFERED_MOST),
        (Protocol::Direct, only, OVERSUBSCRIBED_BUFFERED_MOST),
        (Protocol::Direct, many, OVERSUBSCRIBED_BOUNCED_MOST),
        (Protocol::Direct, reduced, OVERSUBSCRIBED_BUFFERED_MOST),
    ] {
        assert_eq!(of(most, measured, true, what), Protocol::Bounce);
        assert_eq!(of(most + 1, measured, true, what), Protocol::Direct);
        assert_eq!(of(most + 1, measured, false, what), Protocol::Bounce);
    }
}

#[test]
fn exchanges_beyond_the_caches_are_read_where_cores_are_shared_and_that_was_measured_to_be_the_best()
 {
    let of = |oversubscribed, streams, combined, measured| {
        let message = Message {
            oversubscribed,
            streams,
            combined,
            exchanged: true,
            ..Message::new(1 << 20)
        };
        decide(&message, Measured::default().all(measured)).0
    };
    let (direct, pipelined) = (Protocol::Direct, Protocol::Pipelined);
    assert_eq!(of(true, true, false, direct), direct);
    assert_eq!(of(true, true, false, Protocol::Bounce), pipelined);
    assert_eq!(of(false, true, false, direct), pipelined);
    // What is combined is copied as often when it is read.
    assert_eq!(of(true, true, true, direct), pipelined);
    assert_eq!(of(false, false, true, direct), pipelined);
    assert_eq!(of(false, false, false, direct), direct);
}

#[test]
fn a_long_message_one_way_goes_in_pipeline_buffers_where_that_takes_least() {
    let message = Message::new(2 << 20);
    let pipelined = Measured::default().all(Protocol::Pipelined);
    let wanted = Some(CopyProtocol::Pipelined);
    for (measured, wanted) in [
        (pipelined, None),
        (Measured::default(), wanted),
        (pipelined, wanted),
    ] {
        let known = Known { measured, wanted };
        assert_eq!(choose(&message, &known).0, Protocol::Pipelined);
        // Its receiver has no buffer left, or the pair no ring.
        let without = choose_without_buffers(&message, &known);
        assert_eq!(without, Protocol::Assisted, "what is documented");
        let unreachable = Message {
            may_attach: false,
            ..message
        };
        assert_eq!(choose(&unreachable, &known).0, Protocol::Pipelined);
        let without = choose_without_buffers(&unreachable, &known);
        assert_eq!(without, Protocol::Bounce);
        let exchanged = Message {
            exchanged: true,
            ..message
        };
        let without = choose_without_buffers(&exchanged, &known);
        assert_eq!(without, Protocol::Direct, "nobody assists");
    }
}
