//! Tests of the ring with one thread as both sides.

use super::*;

#[test]
fn short_messages_share_a_line_with_their_number() {
    let cell = std::mem::offset_of!(Cell, payload);
    assert!(cell <= 32, "the payload starts at byte {cell}");
    assert_eq!(size_of::<Cell>(), 1088 + CELLS_APART_BYTES);
}

#[test]
fn a_full_ring_refuses() {
    let (ring, early) = (Ring::new(), Early::new());
    let (mut sent, mut received) = (
        Producer::new(false, Some(&early)),
        Consumer::new(Some(&early)),
    );
    let header = Header {
        call: 1,
        signature: 2,
        bytes: 0,
        channel: 0,
        from: 0,
        kind: Kind::Eager,
    };
    for _ in 0..3 {
        for _ in 0..CELLS {
            // SAFETY: one thread is both sides; no payload.
            assert!(unsafe { ring.push(&mut sent, header, |_| {}) });
        }
        // SAFETY: as above.
        assert!(!unsafe { ring.push(&mut sent, header, |_| {}) });
        for _ in 0..CELLS {
            // SAFETY: as above; a message was shown before it is released.
            unsafe {
                assert_eq!(ring.front(&received, |h, _| h), Some(header));
                ring.release(&mut received, Kind::Eager);
            }
        }
        // SAFETY: as above.
        assert_eq!(unsafe { ring.front(&received, |h, _| h) }, None);
    }
}

#[test]
fn messages_of_the_first_lap_arrive_as_later_ones() {
    let (ring, early) = (Ring::new(), Early::new());
    let (mut sent, mut received) = (
        Producer::new(false, Some(&early)),
        Consumer::new(Some(&early)),
    );
    for number in 0..3 * CELLS {
        let bytes = [1, FIRST_LINE, FIRST_LINE + 1, EAGER_BYTES][number as usize % 4];
        let header = Header {
            call: number,
            signature: !number,
            bytes: bytes as u16,
            channel: 3,
            from: 0,
            kind: Kind::Eager,
        };
        let byte = number as u8 + 1;
        // SAFETY: one thread is both sides; so many bytes are written, and read before the release.
        unsafe {
            assert!(ring.push(&mut sent, header, |at| at.write_bytes(byte, bytes)));
            let read = |header, at| (header, std::slice::from_raw_parts(at, bytes).to_vec());
            let (found, payload) = ring.front(&received, read).unwrap();
            assert_eq!((found, payload), (header, vec![byte; bytes]));
            ring.release(&mut received, Kind::Eager);
        }
    }
}
