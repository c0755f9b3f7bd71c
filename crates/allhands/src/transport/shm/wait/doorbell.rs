//! The doorbell: what wakes a rank that sleeps until its network has something for it, or another rank of its node.
//!
//! A rank can sleep on a futex, or in epoll, but not on both. One that has a network sleeps in epoll, with a datagram socket among
//! the rest, whose name (that the system has chosen, five digits) stands where others look whether it sleeps. So nobody has to be
//! handed a descriptor, be it a thread or another process.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, bind,
    getsockname, recv, sendto, socket_with,
};

/// The digits of a name, each of which stands for four bits.
const DIGITS: usize = 5;

/// A doorbell that others can ring.
#[derive(Debug)]
pub(crate) struct Doorbell {
    socket: OwnedFd,
    name: u32,
}

impl Doorbell {
    /// A new one.
    pub(crate) fn new() -> Result<Doorbell, Errno> {
        let socket = new_socket()?;
        // Without a name, which has the system choose one that nobody else has.
        bind(&socket, &SocketAddrUnix::new_unnamed())?;
        let address = SocketAddrUnix::try_from(getsockname(&socket)?)?;
        let digits = address.abstract_name().unwrap_or_default();
        let digits = str::from_utf8(digits).unwrap_or_default();
        let name = match digits.len() {
            DIGITS => u32::from_str_radix(digits, 16).ok(),
            _ => None,
        };
        let name = name.ok_or(Errno::ADDRNOTAVAIL)?;
        Ok(Doorbell { socket, name })
    }

    /// What others ring it by, of 20 bits.
    pub(crate) fn name(&self) -> u32 {
        self.name
    }

    /// Forgets that it has been rung.
    pub(crate) fn hush(&self) {
        while recv(&self.socket, &mut [0u8; 1], RecvFlags::DONTWAIT).is_ok() {}
    }
}

impl AsFd for Doorbell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn new_socket() -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    socket_with(AddressFamily::UNIX, SocketType::DGRAM, flags, None)
}

/// Rings the doorbell of this name. If it is full, it has been rung; if nobody has it any more, nobody sleeps; and who cannot be
/// reached for any other reason looks by itself, before long.
pub(crate) fn ring(name: u32) {
    let digit = |at: usize| char::from_digit(name >> (4 * (DIGITS - 1 - at)) & 15, 16);
    let digits: [u8; DIGITS] = std::array::from_fn(|at| digit(at).unwrap_or('0') as u8);
    if let (Ok(socket), Ok(to)) = (new_socket(), SocketAddrUnix::new_abstract_name(&digits)) {
        let _ = sendto(&socket, &[1], SendFlags::DONTWAIT, &to);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use std::time::Duration;

    fn is_rung(doorbell: &Doorbell, patience: Duration) -> bool {
        let patience = Timespec::try_from(patience).unwrap();
        let mut polled = [PollFd::new(doorbell, PollFlags::IN)];
        poll(&mut polled, Some(&patience)).unwrap() == 1
    }

    #[test]
    fn a_doorbell_is_heard_by_whoever_has_it_until_it_is_hushed() {
        let (one, other) = (Doorbell::new().unwrap(), Doorbell::new().unwrap());
        assert_ne!(one.name(), other.name());
        (0..1000).for_each(|_| ring(one.name()));
        assert!(is_rung(&one, Duration::from_secs(5)));
        assert!(!is_rung(&other, Duration::ZERO));
        one.hush();
        assert!(!is_rung(&one, Duration::ZERO));
        let name = one.name();
        drop(one);
        ring(name);
    }
}
