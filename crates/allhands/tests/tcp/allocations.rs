//! Allocations: once messages of some length have gone both ways, more of them need no more memory.

use crate::sockets::{end, pair, receive, send};
use crate::windowed::{expose, hear, put};
use crate::world::{IS_ENCRYPTED, settings as base};
use allhands::net::tcp::{Settings, TcpNetwork};
use allhands::net::{Ended, Network, SignedCall};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, which counts what each thread asks it for.
struct Counting;

thread_local! {
    static ASKED: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    // A thread that ends may ask after its number is gone.
    let _ = ASKED.try_with(|asked| asked.set(asked.get() + 1));
}

// SAFETY: all is done by the system's allocator; a number is counted besides.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        count();
        // SAFETY: as the caller promises.
        unsafe { System.realloc(memory, layout, bytes) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The exchanges of a span: fewer where it takes long to encrypt them.
const EXCHANGES: u32 = if IS_ENCRYPTED { 200 } else { 2000 };

/// How often memory is asked for in the best of several spans of exchanges of messages of this length, some of which come before their
/// receives.
fn asked(settings: Settings, bytes: usize) -> u64 {
    let (_loopback, mut all) = pair(1, settings);
    let sent = [vec![3; bytes], vec![4; bytes]];
    let mut into = [vec![0; bytes], vec![0; bytes]];
    let mut exchange = |turn: u32| {
        let tag = turn % 8;
        let mut receive_all = |all: &mut [TcpNetwork; 2]| {
            [0, 1].map(|rank| receive(&mut all[rank], 1 - rank as u32, tag, &mut into[rank]))
        };
        let early = (!turn.is_multiple_of(3)).then(|| receive_all(&mut all));
        let away = [0, 1].map(|rank| {
            let to = 1 - rank as u32;
            send(&mut all[rank], to, tag, &sent[rank]).unwrap()
        });
        let received = early.unwrap_or_else(|| {
            all.iter_mut()
                .for_each(|network| network.progress().unwrap());
            receive_all(&mut all)
        });
        for rank in 0..2 {
            for ticket in [received[rank], away[rank]] {
                let ended = end(&mut all, rank, ticket).unwrap();
                assert_eq!(ended, Ended::Whole(bytes));
            }
        }
    };
    // When the other cores are busy more is under way at once than ever before, and a queue grows once more.
    let spans = (0..6).map(|span| {
        let before = ASKED.get();
        (span * EXCHANGES..(span + 1) * EXCHANGES).for_each(&mut exchange);
        ASKED.get() - before
    });
    spans.min().unwrap_or(u64::MAX)
}

#[test]
fn messages_of_a_steady_exchange_allocate_nothing() {
    assert!(ASKED.get() > 0, "nothing is counted");
    for resends in [true, false] {
        for bytes in [8, 64 << 10, 256 << 10] {
            let settings = Settings { resends, ..base() };
            assert_eq!(asked(settings, bytes), 0, "{bytes} bytes, {resends}");
        }
    }
}

/// As [`asked`], of puts that are each followed by a flag.
fn asked_of_puts(rails: u8, settings: Settings, bytes: usize) -> u64 {
    let (_loopback, mut all) = pair(rails, settings);
    let (sent, mut memory) = (vec![3; bytes], vec![0; bytes]);
    let (_, mut window) = expose(&mut all, &mut memory, 1);
    let spans = (0..6).map(|_| {
        let before = ASKED.get();
        for _ in 0..EXCHANGES / 2 {
            let ticket = put(&mut all, &mut window, 0, &sent).unwrap();
            let by = SignedCall::default();
            all[0].raise(1, &mut window, 0, by).unwrap();
            hear(&mut all);
            assert_eq!(end(&mut all, 0, ticket).unwrap(), Ended::Whole(bytes));
        }
        ASKED.get() - before
    });
    spans.min().unwrap_or(u64::MAX)
}

#[test]
fn puts_and_flags_allocate_nothing() {
    assert!(ASKED.get() > 0, "nothing is counted");
    for (rails, bytes) in [(1, 8), (1, 64 << 10), (2, 128 << 10)] {
        assert_eq!(
            asked_of_puts(rails, base(), bytes),
            0,
            "{bytes} bytes, {rails} rails"
        );
    }
}
