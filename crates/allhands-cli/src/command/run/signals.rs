//! Signals to the launcher, read from a descriptor instead of interrupting it.

use anyhow::Context;
use rustix::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};

/// What the launcher hands on to the ranks.
const TAKEN: [i32; 8] = [
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGTSTP,
    libc::SIGCONT,
];

/// A set of signals.
#[derive(Clone, Copy)]
pub struct Mask(libc::sigset_t);

impl Mask {
    /// Blocks these signals and no others in the calling thread; what was blocked before.
    ///
    /// May be called between fork and exec.
    pub fn set(&self) -> std::io::Result<Mask> {
        let mut before = Mask::empty();
        // SAFETY: both point to sets that live through the call, which is safe between fork and exec.
        let error = unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, &mut before.0) };
        match error {
            0 => Ok(before),
            error => Err(std::io::Error::from_raw_os_error(error)),
        }
    }

    fn empty() -> Mask {
        // SAFETY: a set is an array of numbers, for which zero is a value.
        let mut set = unsafe { std::mem::zeroed() };
        // SAFETY: it points to a set, which it empties.
        unsafe { libc::sigemptyset(&mut set) };
        Mask(set)
    }

    fn add(&mut self, signal: i32) {
        // SAFETY: it points to a set; a number that is no signal would be refused.
        unsafe { libc::sigaddset(&mut self.0, signal) };
    }
}

/// The signals that the launcher takes.
pub struct Signals {
    fd: OwnedFd,
    /// What was blocked before, as the ranks shall have it.
    pub before: Mask,
}

impl Signals {
    /// Takes them from now on, other than those that whoever started this has it ignore (as `nohup` does).
    pub fn take() -> anyhow::Result<Signals> {
        let mut mask = Mask::empty();
        for signal in TAKEN {
            if !is_ignored(signal) {
                mask.add(signal);
            }
        }
        let before = mask.set().context("cannot block signals")?;
        let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
        // SAFETY: the set lives through the call, which makes a new descriptor or gives -1.
        let fd = unsafe { libc::signalfd(-1, &mask.0, flags) };
        if fd < 0 {
            let error = std::io::Error::last_os_error();
            return Err(error).context("cannot wait for signals");
        }
        // SAFETY: the call above has just made it, so nobody else owns it.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Signals { fd, before })
    }

    /// The next signal that has come, if any has.
    pub fn next(&self) -> Option<i32> {
        let mut record = [0; size_of::<libc::signalfd_siginfo>()];
        let got = rustix::io::read(&self.fd, &mut record).ok()?;
        // A record begins with the signal's number.
        let number: [u8; 4] = record[..got].first_chunk().copied()?;
        i32::try_from(u32::from_ne_bytes(number)).ok()
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn is_ignored(signal: i32) -> bool {
    // SAFETY: an action is numbers and an address that may be null, for which zero is a value.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: without a new action the call only writes the present one to where it is told.
    let done = unsafe { libc::sigaction(signal, std::ptr::null(), &mut action) };
    done == 0 && action.sa_sigaction == libc::SIG_IGN
}
