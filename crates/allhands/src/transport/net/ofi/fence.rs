//! The fence: what one rank has put to another and not all of which is there, and the signals that wait for that.
//!
//! Where a provider keeps no order between writes and messages a signal waits here until all writes before it have ended:
//!
//! ```text
//! put  put  raise  put  raise  raise
//! ╰─ stretch ───╯  ╰ stretch ╯ ╰───╯ one without puts
//! ```
//!
//! Stretches end in any order, and signals leave in their own.

use super::signal::{News, Signal};
use std::collections::VecDeque;

/// Puts, and the signal behind them, if there is one yet.
#[derive(Debug, Default)]
struct Stretch {
    open: u32,
    then: Option<Signal>,
}

/// What goes to the windows of one rank.
#[derive(Debug, Default)]
pub(super) struct Fence {
    stretches: VecDeque<Stretch>,
    /// The number of the first of these.
    first: u64,
    /// Windows to which nothing goes any more: all below a number, and others.
    muted_below: u64,
    muted: Vec<u64>,
}

impl Fence {
    /// A put begins; the number of its stretch.
    pub(super) fn put(&mut self) -> u64 {
        if self.stretches.back().is_none_or(|it| it.then.is_some()) {
            self.stretches.push_back(Stretch::default());
        }
        let last = self.stretches.len() - 1;
        self.stretches[last].open += 1;
        self.first + last as u64
    }

    /// A put of this stretch has ended; what may leave by that is [`next`](Fence::next).
    pub(super) fn landed(&mut self, stretch: u64) {
        let at = stretch.checked_sub(self.first);
        if let Some(stretch) = at.and_then(|at| self.stretches.get_mut(at as usize)) {
            stretch.open = stretch.open.saturating_sub(1);
        }
    }

    /// A signal is to leave when all before it has ended, and in its turn.
    pub(super) fn signal(&mut self, signal: Signal) {
        if self.stretches.back().is_none_or(|it| it.then.is_some()) {
            self.stretches.push_back(Stretch::default());
        }
        if let Some(last) = self.stretches.back_mut() {
            last.then = Some(signal);
        }
    }

    /// The next signal that may leave.
    pub(super) fn next(&mut self) -> Option<Signal> {
        while self.stretches.front().is_some_and(|it| it.open == 0) {
            let signal = self.stretches.pop_front()?.then;
            self.first += 1;
            if let Some(signal) = signal.filter(|it| !self.silences(it)) {
                return Some(signal);
            }
        }
        None
    }

    /// Whether signals wait here.
    pub(super) fn holds_signals(&self) -> bool {
        self.stretches.iter().any(|stretch| stretch.then.is_some())
    }

    /// Lets everything go, and no signal leave.
    pub(super) fn clear(&mut self) {
        self.first += self.stretches.len() as u64;
        self.stretches.clear();
    }

    /// Lets nothing go to a window any more: not all that was put there will be.
    pub(super) fn mute(&mut self, window: u64) {
        if !self.is_muted(window) {
            self.muted.push(window);
        }
    }

    /// The same of all below a number, as there are no such any more.
    pub(super) fn mute_below(&mut self, least: u64) {
        self.muted_below = self.muted_below.max(least);
        self.muted.retain(|window| *window >= least);
    }

    pub(super) fn is_muted(&self, window: u64) -> bool {
        window < self.muted_below || self.muted.contains(&window)
    }

    /// Whether a signal is not to leave: a flag of such a window.
    fn silences(&self, signal: &Signal) -> bool {
        matches!(signal.news, News::Raised { .. }) && self.is_muted(signal.window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::net::SignedCall;

    fn flag(window: u64, flag: u16) -> Signal {
        let news = News::Raised {
            flag,
            number: 0,
            parts: 1,
            by: SignedCall::default(),
        };
        let from = 3;
        Signal { from, window, news }
    }

    #[test]
    fn a_signal_leaves_when_all_before_it_has_landed() {
        let mut fence = Fence::default();
        for _ in 0..2 {
            fence.signal(flag(0, 9));
            assert_eq!(fence.next(), Some(flag(0, 9)), "there is nothing before it");
            let first = [fence.put(), fence.put()];
            fence.signal(flag(0, 1));
            let second = fence.put();
            fence.signal(flag(0, 2));
            fence.signal(flag(0, 3));
            let third = fence.put();
            assert_eq!(first[0], first[1]);
            assert!(fence.holds_signals());
            fence.landed(second);
            fence.landed(first[1]);
            assert_eq!(fence.next(), None);
            fence.landed(first[0]);
            for next in 1..4 {
                assert_eq!(fence.next(), Some(flag(0, next)));
            }
            assert_eq!(fence.next(), None);
            assert!(!fence.holds_signals());
            fence.landed(third);
            assert_eq!(fence.next(), None);
        }
    }

    #[test]
    fn no_flag_of_a_muted_window_leaves() {
        let mut fence = Fence::default();
        let put = fence.put();
        fence.signal(flag(4, 1));
        fence.signal(flag(5, 1));
        let from = 3;
        let gone = Signal {
            news: News::Gone { parts: 1 },
            window: 4,
            from,
        };
        fence.signal(gone);
        fence.mute(4);
        fence.landed(put);
        assert_eq!(fence.next(), Some(flag(5, 1)));
        assert_eq!(fence.next(), Some(gone));
        assert!(fence.is_muted(4) && !fence.is_muted(3));
        fence.mute_below(5);
        assert!(fence.is_muted(4) && fence.is_muted(3) && !fence.is_muted(5));
        assert!(fence.muted.is_empty());
        let put = fence.put();
        fence.signal(flag(6, 1));
        fence.clear();
        fence.landed(put);
        assert_eq!(fence.next(), None);
    }
}
