//! Inflow: the messages that come to a port at once, whose packets it takes in the order in which these come.
//!
//! ```text
//! one     ▀▄▀▄▀▄
//!                ╲
//!                 ▶ ▀▀▄▄▀▀▄▄▀▀▄▄ ▶ port     each of two has come when nearly both have
//!                ╱
//! other   ▀▄▀▄▀▄
//! ```
//!
//! Switches do so that queue packets at the port by which they go out. What comes is taken to flow: each message for as long as it has a port
//! that nobody else has.

use super::queue::Moment;

/// What comes to one port.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Inflow {
    /// How many messages come at `since_ps`, and how long the port takes for what had come of all and waited then.
    coming: u64,
    waiting_ps: u64,
    since_ps: Moment,
}

impl Inflow {
    /// The first byte of a message comes.
    pub(super) fn begin(&mut self, now_ps: Moment) {
        self.flow(now_ps);
        self.coming += 1;
    }

    /// The last byte of a message comes; when it has gone through the port.
    pub(super) fn end(&mut self, now_ps: Moment) -> Moment {
        self.flow(now_ps);
        self.coming -= 1;
        now_ps + self.waiting_ps
    }

    /// The port takes as much as one message brings.
    fn flow(&mut self, now_ps: Moment) {
        let passed_ps = now_ps - self.since_ps;
        self.waiting_ps = match self.coming {
            0 => self.waiting_ps.saturating_sub(passed_ps),
            coming => self.waiting_ps + (coming - 1) * passed_ps,
        };
        self.since_ps = now_ps;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    /// When messages have come that begin at these moments and take so long.
    fn ends(messages: &[(Moment, u64)]) -> Vec<Moment> {
        let mut port = Inflow::default();
        let begins = messages.iter().enumerate().map(|(at, one)| (one.0, 1, at));
        let last = messages.iter().enumerate();
        let last = last.map(|(at, one)| (one.0 + one.1, 0, at));
        let mut all: Vec<_> = begins.chain(last).collect();
        all.sort_unstable();
        let mut ends = vec![0; messages.len()];
        for (at_ps, begins, message) in all {
            match begins {
                1 => port.begin(at_ps),
                _ => ends[message] = port.end(at_ps),
            }
        }
        ends
    }

    #[test]
    fn what_comes_alone_takes_no_longer() {
        assert_eq!(ends(&[(5, 10), (15, 10), (40, 3)]), [15, 25, 43]);
    }

    #[test]
    fn what_comes_at_once_has_come_when_all_has() {
        assert_eq!(ends(&[(0, 10), (0, 10), (0, 10)]), [30, 30, 30]);
        // By turns the first one would have come after 10.
        assert_eq!(ends(&[(0, 10), (4, 10)]), [16, 20]);
        // A short one waits for what came before its last byte; the port has nothing to do before the last one.
        assert_eq!(ends(&[(0, 10), (0, 10), (8, 1), (60, 2)]), [21, 21, 19, 62]);
    }
}
