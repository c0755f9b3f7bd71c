//! Models of the ring: every interleaving of a producer and a consumer, with cells and with medium buffers.

use super::*;
use loom::sync::Arc;

fn header(number: u64) -> Header {
    Header {
        call: number,
        signature: !number,
        bytes: 8,
        channel: 3,
        from: 1,
        kind: Kind::Eager,
    }
}

/// A ring with its first lap.
type Whole = (Ring, Early);

fn pair() -> [Whole; 2] {
    [(Ring::new(), Early::new()), (Ring::new(), Early::new())]
}

fn producer_of((_, early): &Whole) -> Producer {
    Producer::new(false, Some(early))
}

fn consumer_of((_, early): &Whole) -> Consumer {
    Consumer::new(Some(early))
}

#[test]
fn messages_arrive_whole_and_in_order_over_two_laps() {
    flow(|_| Kind::Eager);
}

#[test]
fn long_messages_do_so_among_short_ones() {
    flow(|number| {
        if number == 1 {
            Kind::Eager
        } else {
            Kind::Medium
        }
    });
}

fn flow(kind: fn(u64) -> Kind) {
    loom::model(move || {
        const MESSAGES: u64 = 3;
        let rings = Arc::new(pair());
        let theirs = Arc::clone(&rings);
        let producer = loom::thread::spawn(move || {
            let mut side = producer_of(&theirs[0]);
            for number in 0..MESSAGES {
                send(&theirs, &mut side, number, kind(number));
            }
        });
        let (mut own, mut side) = (consumer_of(&rings[0]), producer_of(&rings[1]));
        while own.position < MESSAGES {
            let kind = kind(own.position);
            receive(&rings, &mut own, &mut side, kind);
        }
        producer.join().unwrap();
    });
}

/// Both ranks send and receive; each sends what it has received.
#[test]
fn medium_buffers_go_to_and_fro() {
    loom::model(|| {
        let rings = Arc::new(pair());
        let theirs = Arc::clone(&rings);
        let exchange = |rings: &[Whole; 2], me: usize| {
            let (ours, theirs) = (&rings[me], &rings[1 - me]);
            let (mut side, mut own) = (producer_of(ours), consumer_of(theirs));
            for number in 0..2 {
                send_on(ours, theirs, &mut side, number, Kind::Medium);
                while own.position <= number {
                    receive_on(theirs, ours, &mut own, &mut side, Kind::Medium);
                }
            }
        };
        let other = loom::thread::spawn(move || exchange(&theirs, 1));
        exchange(&rings, 0);
        other.join().unwrap();
    });
}

/// Of a medium buffer that is read while it is filled each half is there when it is said to be; the halves stand beside it, as
/// the model checker knows of the medium buffer only as a whole.
#[test]
fn what_is_filled_can_be_read() {
    loom::model(|| {
        let halves = || [UnsafeCell::new(0), UnsafeCell::new(0)];
        let shared = Arc::new((pair(), halves()));
        let theirs = Arc::clone(&shared);
        let producer = loom::thread::spawn(move || {
            let (rings, halves) = &*theirs;
            let header = Header {
                kind: Kind::Medium,
                ..header(0)
            };
            let fill = |_: *mut u8, show: &dyn Fn(usize)| {
                // SAFETY: not shown yet.
                halves[0].with_mut(|half| unsafe { *half = 5 });
                show(4);
                // SAFETY: as above.
                halves[1].with_mut(|half| unsafe { *half = 6 });
            };
            let (side, what) = (&mut producer_of(&rings[0]), (header, Shown::AsItComes));
            // SAFETY: the one producer; nobody reads the medium buffer itself.
            assert_eq!(
                unsafe { rings[0].0.push_medium(&rings[1].0, side, what, fill) },
                Some(true)
            );
        });
        let (rings, halves) = &*shared;
        // SAFETY: the one consumer.
        let own = consumer_of(&rings[0]);
        // SAFETY: as above.
        while unsafe { rings[0].0.front(&own, |_, _| ()) }.is_none() {
            loom::thread::yield_now();
        }
        for (half, value) in [(0, 5), (1, 6)] {
            // SAFETY: the side of this ring.
            while unsafe { rings[0].0.filled(&own) } < 4 * (half + 1) {
                loom::thread::yield_now();
            }
            // SAFETY: said to be there.
            halves[half].with(|half| assert_eq!(unsafe { *half }, value));
        }
        producer.join().unwrap();
    });
}

fn send(rings: &[Whole; 2], side: &mut Producer, number: u64, kind: Kind) {
    send_on(&rings[0], &rings[1], side, number, kind);
}

fn send_on((ring, _): &Whole, (back, _): &Whole, side: &mut Producer, number: u64, kind: Kind) {
    // SAFETY: the caller is the one producer, and 8 bytes are written.
    let fill = |at: *mut u8| unsafe { at.cast::<u64>().write(number * 7) };
    let fill_medium = |at: *mut u8, _: &dyn Fn(usize)| fill(at);
    let header = Header {
        kind,
        ..header(number)
    };
    // SAFETY: as above.
    while !unsafe {
        match kind {
            Kind::Medium => {
                let whole = (header, Shown::Whole);
                ring.push_medium(back, side, whole, fill_medium) == Some(true)
            }
            _ => ring.push(side, header, fill),
        }
    } {
        loom::thread::yield_now();
    }
}

fn receive(rings: &[Whole; 2], own: &mut Consumer, side: &mut Producer, kind: Kind) {
    receive_on(&rings[0], &rings[1], own, side, kind);
}

/// Looks once.
fn receive_on(
    (ring, _): &Whole,
    (back, _): &Whole,
    own: &mut Consumer,
    side: &mut Producer,
    kind: Kind,
) {
    let position = own.position;
    // SAFETY: the caller is the one consumer; the payload is read within, or before the release.
    let seen = unsafe {
        ring.front(own, |header, at| match header.kind {
            Kind::Medium => {
                let (code, value) = ring.read_medium(back, at, |at| at.cast::<u64>().read());
                (header, value, Some(code))
            }
            _ => (header, at.cast::<u64>().read(), None),
        })
    };
    let Some((seen, value, code)) = seen else {
        loom::thread::yield_now();
        return;
    };
    let expected = Header {
        kind,
        ..header(position)
    };
    assert_eq!((seen, value), (expected, position * 7));
    if let Some(code) = code {
        // SAFETY: as above, and read.
        unsafe { ring.release_medium(side, code) };
    }
    // SAFETY: as above.
    unsafe { ring.release(own, kind) };
}
