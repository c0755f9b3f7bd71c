//! Windows on real sockets: puts over several rails, and into windows that are not there.

use crate::sockets::{end, pair};
use crate::world::settings;
use allhands::net::tcp::{Settings, TcpNetwork};
use allhands::net::{
    Descriptor, Ended, Network, NetworkError, Raised, RemoteWindow, SignedCall, Ticket,
    WindowMemory,
};
use std::time::{Duration, Instant};

/// Lets rank 0 put into this memory of rank 1's, which stays where it is until both networks are gone; the window as both see it.
pub fn expose(all: &mut [TcpNetwork; 2], memory: &mut [u8], flags: u16) -> (u64, RemoteWindow) {
    let (base, bytes) = (memory.as_mut_ptr(), memory.len());
    // SAFETY: the tests look at the memory only when a flag says that all is there, and keep it for as long.
    let exposed = unsafe { all[1].expose((base, bytes), flags, &[0]) }.unwrap();
    (exposed.number, RemoteWindow::new(exposed.descriptor))
}

pub fn put(
    all: &mut [TcpNetwork; 2],
    window: &mut RemoteWindow,
    offset: usize,
    from: &[u8],
) -> Result<Ticket, NetworkError> {
    // SAFETY: the tests keep what they put until that has ended.
    unsafe { all[0].put(1, window, offset, (from.as_ptr(), from.len())) }
}

/// Looks at both networks until rank 1 hears of a flag.
pub fn hear(all: &mut [TcpNetwork; 2]) -> Raised {
    let until = Instant::now() + Duration::from_secs(20);
    while Instant::now() < until {
        for network in &mut *all {
            network.progress().unwrap();
        }
        if let Some(raised) = all[1].raised() {
            return raised;
        }
    }
    panic!("no flag is heard");
}

fn content(bytes: usize, salt: usize) -> Vec<u8> {
    (0..bytes)
        .map(|at| (at * 5 + at / 253 + salt) as u8)
        .collect()
}

#[test]
fn puts_of_all_lengths_come_over_all_rails_before_their_flags() {
    for (rails, connections, resends) in [(1, 1, false), (1, 2, true), (2, 1, true), (3, 2, true)] {
        let settings = Settings {
            connections,
            resends,
            ..settings()
        };
        let (_loopback, mut all) = pair(rails, settings);
        let mut memory = vec![0; 3_000_000];
        let (number, mut window) = expose(&mut all, &mut memory, 9);
        for (salt, bytes) in [0, 1, 100, 8192, 8193, 65_537, 300_000, 2_500_000, 3]
            .into_iter()
            .enumerate()
        {
            let (first, second) = (content(bytes, salt), content(bytes / 7, salt + 1));
            let at = 400_000 + salt;
            let puts = [
                put(&mut all, &mut window, salt, &second).unwrap(),
                put(&mut all, &mut window, at, &first).unwrap(),
            ];
            let by = SignedCall {
                call: salt as u64,
                signature: 5,
            };
            all[0].raise(1, &mut window, salt as u16, by).unwrap();
            let raised = Raised {
                from: 0,
                window: number,
                flag: salt as u16,
                by,
            };
            assert_eq!(hear(&mut all), raised);
            let memory = all[1].progress().map(|()| &memory).unwrap();
            assert!(memory[at..at + bytes] == first && memory[salt..][..second.len()] == second);
            for (ticket, bytes) in puts.into_iter().zip([second.len(), bytes]) {
                assert_eq!(end(&mut all, 0, ticket).unwrap(), Ended::Whole(bytes));
            }
        }
        assert_eq!(all[0].report().lost, 0);
        all[1].withdraw(number, WindowMemory::new(()));
        // What is put there later is thrown away, and its rank is none the worse.
        let late = content(100_000, 1);
        let ticket = put(&mut all, &mut window, 0, &late).unwrap();
        assert_eq!(end(&mut all, 0, ticket).unwrap(), Ended::Whole(100_000));
    }
}

#[test]
fn who_puts_to_where_no_window_is_loses_the_other_and_both_are_told() {
    let (_loopback, mut all) = pair(1, settings());
    let mut memory = vec![7; 100];
    let (_, window) = expose(&mut all, &mut memory, 1);
    let beyond = put(&mut all, &mut window.clone(), 99, &[1, 2]).unwrap_err();
    assert_eq!(
        beyond.to_string(),
        "2 bytes at 99 lie outside a window of 100"
    );
    // A descriptor that says more than is there.
    let mut words = [0; Descriptor::BYTES];
    words[8] = 200;
    let mut forged = RemoteWindow::new(Descriptor(words));
    let attends = [0, 1].map(|rank| all[rank].attend(1 - rank as u32).unwrap());
    put(&mut all, &mut forged, 99, &[1, 2]).unwrap();
    let until = Instant::now() + Duration::from_secs(5);
    let mut told = [None, None];
    while told.iter().any(Option::is_none) {
        assert!(Instant::now() < until, "{told:?}");
        for rank in 0..2 {
            all[rank].progress().unwrap();
            let error = all[rank].test(attends[rank]).err();
            told[rank] = told[rank]
                .take()
                .or_else(|| error.map(|error| error.to_string()));
        }
    }
    let right = "rank 0 is lost: 2 bytes are put at 99 of window 0, which has 100";
    assert_eq!(told[1].as_deref(), Some(right));
    assert!(
        told[0]
            .as_deref()
            .is_some_and(|said| said.starts_with("rank 1 is lost")),
        "{told:?}"
    );
    assert_eq!(memory, [7; 100]);
}
