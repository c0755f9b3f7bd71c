//! Two networks of which rank 0 puts into memory of rank 1's, whatever they are.

use allhands::net::{Ended, Network, NetworkError, Raised, RemoteWindow, SignedCall, Ticket};
use std::time::{Duration, Instant};

/// Lets rank 0 put into this memory of rank 1's, which stays where it is until both networks are gone; the window as both see it.
pub fn expose<N: Network>(all: &mut [N; 2], memory: &mut [u8], flags: u16) -> (u64, RemoteWindow) {
    assert!(all.iter().all(Network::has_windows));
    let memory = (memory.as_mut_ptr(), memory.len());
    // SAFETY: the tests look at the memory only when a flag says that all is there, or nothing comes any more, and keep it for as long.
    let exposed = unsafe { all[1].expose(memory, flags, &[0]) }.unwrap();
    (exposed.number, RemoteWindow::new(exposed.descriptor))
}

pub fn put<N: Network>(
    all: &mut [N; 2],
    window: &mut RemoteWindow,
    offset: usize,
    from: &[u8],
) -> Result<Ticket, NetworkError> {
    // SAFETY: the tests keep what they put until that has ended.
    unsafe { all[0].put(1, window, offset, (from.as_ptr(), from.len())) }
}

/// Looks at both networks until something is so.
pub fn until<N: Network, T>(
    all: &mut [N; 2],
    mut found: impl FnMut(&mut [N; 2]) -> Option<T>,
) -> T {
    let until = Instant::now() + Duration::from_secs(20);
    while Instant::now() < until {
        for network in &mut *all {
            network.progress().unwrap();
        }
        if let Some(found) = found(all) {
            return found;
        }
    }
    panic!("nothing comes");
}

/// Looks at both networks until rank 1 hears of a flag.
pub fn hear<N: Network>(all: &mut [N; 2]) -> Raised {
    until(all, |all| all[1].raised())
}

/// How a put has ended, once it has.
pub fn put_ends<N: Network>(all: &mut [N; 2], ticket: Ticket) -> Ended {
    until(all, |all| all[0].test(ticket).unwrap())
}

pub fn content(bytes: usize, salt: usize) -> Vec<u8> {
    (0..bytes)
        .map(|at| (at * 5 + at / 253 + salt) as u8)
        .collect()
}

/// Puts of these lengths, two at a time, each with its flag; the window that they went to. The memory has 3 MB.
pub fn puts_come_before_their_flags<N: Network>(
    all: &mut [N; 2],
    memory: &mut [u8],
    lengths: &[usize],
) -> (u64, RemoteWindow) {
    let (number, mut window) = expose(all, memory, lengths.len() as u16);
    for (salt, bytes) in lengths.iter().copied().enumerate() {
        let (first, second) = (content(bytes, salt), content(bytes / 7, salt + 1));
        let at = 400_000 + salt;
        let puts = [
            put(all, &mut window, salt, &second).unwrap(),
            put(all, &mut window, at, &first).unwrap(),
        ];
        let by = SignedCall {
            call: salt as u64,
            signature: 5,
        };
        all[0].raise(1, &mut window, salt as u16, by).unwrap();
        let right = Raised {
            from: 0,
            window: number,
            flag: salt as u16,
            by,
        };
        assert_eq!(hear(all), right);
        assert!(memory[at..at + bytes] == first && memory[salt..][..second.len()] == second);
        for (ticket, bytes) in puts.into_iter().zip([second.len(), bytes]) {
            assert_eq!(put_ends(all, ticket), Ended::Whole(bytes));
        }
    }
    (number, window)
}
