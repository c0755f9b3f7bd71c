//! What is typed: read from the terminal by the launcher and handed to rank 0.
//!
//! A rank is in a process group of its own, and the terminal stops a process that reads it from any group but the one in
//! front, which is the launcher's.

use rustix::event::PollFlags;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::OFlags;
use rustix::io::Errno;

/// The way from the terminal to rank 0.
pub struct Typed {
    to: Option<OwnedFd>,
    pending: Vec<u8>,
}

impl Typed {
    /// Hands what is typed to this pipe.
    pub fn new(to: OwnedFd) -> Typed {
        // If that fails, a rank that does not read what is typed holds up the launcher; that is all.
        let _ = rustix::fs::fcntl_getfl(&to)
            .and_then(|flags| rustix::fs::fcntl_setfl(&to, flags | OFlags::NONBLOCK));
        let pending = Vec::new();
        Typed {
            to: Some(to),
            pending,
        }
    }

    /// What is waited for now: the terminal, while the launcher is in front, or room in the pipe.
    pub fn waiting(&self) -> Option<(BorrowedFd<'_>, PollFlags)> {
        let to = self.to.as_ref()?;
        if !self.pending.is_empty() {
            return Some((to.as_fd(), PollFlags::OUT));
        }
        let stdin = rustix::stdio::stdin();
        let in_front = rustix::termios::tcgetpgrp(stdin) == Ok(rustix::process::getpgrp());
        in_front.then_some((stdin, PollFlags::IN))
    }

    /// Does what was waited for.
    pub fn advance(&mut self) {
        if self.pending.is_empty() {
            let mut buffer = [0; 4096];
            match rustix::io::read(rustix::stdio::stdin(), &mut buffer) {
                Ok(0) => self.to = None,
                Ok(got) => self.pending.extend_from_slice(&buffer[..got]),
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(_) => self.to = None,
            }
        }
        let Some(to) = &self.to else { return };
        match rustix::io::write(to, &self.pending) {
            Ok(written) => drop(self.pending.drain(..written)),
            Err(Errno::INTR | Errno::AGAIN) => {}
            // Rank 0 has closed its end, or ended.
            Err(_) => self.to = None,
        }
    }
}
