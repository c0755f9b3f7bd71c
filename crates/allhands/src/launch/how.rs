//! How a rank's process ended.

use std::fmt;

/// How a rank's process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum How {
    /// By itself, with this code.
    Exited(u8),
    /// By a signal with this number.
    Killed(u8),
    /// Nobody saw it: no launcher told, but it no longer holds its place.
    Unseen,
}

impl How {
    /// Whether it is anything but an end with code 0.
    #[must_use]
    pub fn is_failure(self) -> bool {
        self != How::Exited(0)
    }

    /// The code with which a launcher ends when this is the first failure: 128 and the signal's number for signals.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            How::Exited(code) => code,
            How::Killed(signal) => signal.saturating_add(128),
            How::Unseen => 1,
        }
    }

    pub(super) fn encode(self) -> u32 {
        match self {
            How::Unseen => 0,
            How::Exited(code) => 1 << 8 | u32::from(code),
            How::Killed(signal) => 2 << 8 | u32::from(signal),
        }
    }

    pub(super) fn decode(word: u32) -> How {
        match (word >> 8, word as u8) {
            (1, code) => How::Exited(code),
            (2, signal) => How::Killed(signal),
            (_, _) => How::Unseen,
        }
    }
}

impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            How::Exited(code) => write!(f, "exited with code {code}"),
            How::Killed(signal) => match signal_name(signal) {
                Some(name) => write!(f, "was killed by signal {signal} ({name})"),
                None => write!(f, "was killed by signal {signal}"),
            },
            How::Unseen => f.write_str("is gone, and nobody saw how it ended"),
        }
    }
}

/// The name of a signal; their numbers differ among architectures.
fn signal_name(signal: u8) -> Option<&'static str> {
    let names = [
        (libc::SIGHUP, "SIGHUP"),
        (libc::SIGINT, "SIGINT"),
        (libc::SIGQUIT, "SIGQUIT"),
        (libc::SIGILL, "SIGILL"),
        (libc::SIGTRAP, "SIGTRAP"),
        (libc::SIGABRT, "SIGABRT"),
        (libc::SIGBUS, "SIGBUS"),
        (libc::SIGFPE, "SIGFPE"),
        (libc::SIGKILL, "SIGKILL"),
        (libc::SIGUSR1, "SIGUSR1"),
        (libc::SIGSEGV, "SIGSEGV"),
        (libc::SIGUSR2, "SIGUSR2"),
        (libc::SIGPIPE, "SIGPIPE"),
        (libc::SIGALRM, "SIGALRM"),
        (libc::SIGTERM, "SIGTERM"),
        (libc::SIGXCPU, "SIGXCPU"),
        (libc::SIGXFSZ, "SIGXFSZ"),
        (libc::SIGVTALRM, "SIGVTALRM"),
        (libc::SIGPROF, "SIGPROF"),
        (libc::SIGIO, "SIGIO"),
        (libc::SIGSYS, "SIGSYS"),
    ];
    let found = names
        .iter()
        .find(|(number, _)| *number == i32::from(signal));
    found.map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_survives_encoding() {
        let codes = (0..=255).flat_map(|n| [How::Exited(n), How::Killed(n)]);
        for how in codes.chain([How::Unseen]) {
            assert_eq!(How::decode(how.encode()), how);
        }
    }

    #[test]
    fn ends_are_said_in_words() {
        assert_eq!(
            How::Killed(9).to_string(),
            "was killed by signal 9 (SIGKILL)"
        );
        assert_eq!(How::Exited(3).to_string(), "exited with code 3");
        assert_eq!(How::Killed(64).to_string(), "was killed by signal 64");
        assert_eq!(How::Killed(9).exit_code(), 137);
        assert!(How::Unseen.is_failure() && !How::Exited(0).is_failure());
    }
}
