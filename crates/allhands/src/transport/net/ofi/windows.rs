//! Windows: memory of this rank's that others write to by themselves, the flags that they raise, and how it is given back.
//!
//! A flag is told of by signals, one for each rail over which something was put since the last; it is heard when all of them are here,
//! and those of all flags before it. A window that its owner wants no more is not gone by that: memory that is unregistered may still
//! be written to by what is under way, as libfabric's rules have it. So its owner tells all that may put there, each says when nothing
//! of it comes any more, and what keeps the memory stays until all have, or the endpoint is closed.

use super::registration::Region;
use super::signal::News;
use crate::transport::net::{Raised, WindowMemory};
use std::collections::VecDeque;

/// A window's registrations, by rail.
pub(super) type Regions = Box<[Option<Region>]>;

/// What has come of a flag that is not heard yet.
#[derive(Debug)]
struct Early {
    number: u64,
    /// How many signals of it are still to come.
    open: u8,
    raised: Raised,
}

/// What one rank raises of a window.
#[derive(Debug)]
struct Stream {
    from: u32,
    /// How many flags were heard.
    heard: u64,
    early: Vec<Early>,
}

#[derive(Debug)]
struct Window {
    number: u64,
    flags: u16,
    regions: Regions,
    streams: Box<[Stream]>,
}

/// A window that is withdrawn and not gone.
#[derive(Debug)]
pub(super) struct Leaving {
    number: u64,
    pub(super) regions: Regions,
    /// Of whom how many signals are to come that say that nothing comes any more; nobody knows before the first.
    awaited: Vec<(u32, Option<u8>)>,
    #[allow(dead_code, reason = "it is there to be dropped")]
    memory: WindowMemory,
}

/// All windows of a rank.
#[derive(Debug, Default)]
pub(super) struct Windows {
    exposed: Vec<Window>,
    leaving: Vec<Leaving>,
    next: u64,
    raised: VecDeque<Raised>,
}

impl Windows {
    /// The number that the next window will have.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Another window, of which these ranks raise flags.
    pub(super) fn expose(&mut self, regions: Regions, flags: u16, by: &[u32]) {
        let stream = |from: &u32| Stream {
            from: *from,
            heard: 0,
            early: Vec::new(),
        };
        self.exposed.push(Window {
            number: self.next,
            flags,
            regions,
            streams: by.iter().map(stream).collect(),
        });
        self.next += 1;
    }

    /// No flag of a window is heard any more; who is to be told, of those that are still there.
    pub(super) fn withdraw(
        &mut self,
        number: u64,
        memory: WindowMemory,
        is_there: impl Fn(u32) -> bool,
    ) -> Vec<u32> {
        let mut exposed = self.exposed.iter();
        let Some(at) = exposed.position(|window| window.number == number) else {
            return Vec::new();
        };
        let window = self.exposed.swap_remove(at);
        self.raised.retain(|raised| raised.window != number);
        let all = window.streams.iter().map(|stream| stream.from);
        self.leaving.push(Leaving {
            number,
            regions: window.regions,
            awaited: all.clone().map(|rank| (rank, None)).collect(),
            memory,
        });
        all.filter(|rank| is_there(*rank)).collect()
    }

    /// The least number of a window that others may still put into.
    pub(super) fn least(&self) -> u64 {
        let all = self.exposed.iter().map(|window| window.number);
        all.min().unwrap_or(self.next)
    }

    pub(super) fn raised(&mut self) -> Option<Raised> {
        self.raised.pop_front()
    }

    /// A signal about a flag has come.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn hear(&mut self, from: u32, window: u64, news: News) -> Result<(), String> {
        let News::Raised {
            flag,
            number,
            parts,
            by,
        } = news
        else {
            return Ok(());
        };
        if window >= self.next {
            return Err(format!(
                "rank {from} raises a flag of window {window}, which there never was"
            ));
        }
        let mut exposed = self.exposed.iter_mut();
        let Some(found) = exposed.find(|it| it.number == window) else {
            // What still comes for one that is withdrawn is thrown away.
            return Ok(());
        };
        let flags = found.flags;
        if flag >= flags {
            return Err(format!(
                "rank {from} raises flag {flag} of window {window}, which has {flags}"
            ));
        }
        let mut streams = found.streams.iter_mut();
        let Some(stream) = streams.find(|stream| stream.from == from) else {
            return Err(format!(
                "rank {from} raises a flag of window {window}, which is not for it"
            ));
        };
        let raised = Raised {
            from,
            window,
            flag,
            by,
        };
        stream.hear((number, parts), raised, &mut self.raised);
        Ok(())
    }

    /// A rank says that nothing of it comes any more for a window, in one of so many signals; the window, if nothing of anybody does.
    pub(super) fn gone(&mut self, from: u32, window: u64, parts: u8) -> Option<Leaving> {
        let mut leaving = self.leaving.iter();
        let at = leaving.position(|it| it.number == window)?;
        let awaited = &mut self.leaving[at].awaited;
        let of_rank = awaited.iter().position(|(rank, _)| *rank == from)?;
        let open = awaited[of_rank].1.get_or_insert(parts);
        *open = open.saturating_sub(1);
        if *open == 0 {
            awaited.swap_remove(of_rank);
        }
        self.take_gone(at)
    }

    /// A window for whose end nobody is waited, if there is any.
    pub(super) fn next_gone(&mut self) -> Option<Leaving> {
        let mut leaving = self.leaving.iter();
        let at = leaving.position(|it| it.awaited.is_empty())?;
        self.take_gone(at)
    }

    fn take_gone(&mut self, at: usize) -> Option<Leaving> {
        let is_gone = self.leaving[at].awaited.is_empty();
        is_gone.then(|| self.leaving.swap_remove(at))
    }

    /// The registrations of all windows on a rail, which are taken.
    pub(super) fn take_regions(&mut self, rail: usize) -> impl Iterator<Item = Region> + '_ {
        let exposed = self.exposed.iter_mut().map(|window| &mut window.regions);
        let leaving = self.leaving.iter_mut().map(|window| &mut window.regions);
        exposed
            .chain(leaving)
            .filter_map(move |regions| regions[rail].take())
    }

    /// The endpoints are closed, so nothing comes any more: what has left is gone, and flags are heard no more.
    pub(super) fn close(&mut self) {
        self.leaving.clear();
        self.raised.clear();
    }
}

impl Stream {
    /// A signal has come of a flag that is told of by so many; all that may be heard by that is.
    fn hear(&mut self, (number, parts): (u64, u8), raised: Raised, heard: &mut VecDeque<Raised>) {
        if parts == 1 && number == self.heard && self.early.is_empty() {
            self.heard += 1;
            heard.push_back(raised);
            return;
        }
        match self.early.iter_mut().find(|early| early.number == number) {
            Some(early) => early.open = early.open.saturating_sub(1),
            None => self.early.push(Early {
                number,
                open: parts - 1,
                raised,
            }),
        }
        let due = |early: &Early, next: u64| early.number == next && early.open == 0;
        while let Some(at) = self.early.iter().position(|early| due(early, self.heard)) {
            heard.push_back(self.early.swap_remove(at).raised);
            self.heard += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::net::SignedCall;

    fn news(flag: u16, number: u64, parts: u8) -> News {
        News::Raised {
            flag,
            number,
            parts,
            by: SignedCall::default(),
        }
    }

    fn heard(windows: &mut Windows) -> Vec<u16> {
        std::iter::from_fn(|| windows.raised())
            .map(|raised| raised.flag)
            .collect()
    }

    fn expose(windows: &mut Windows, by: &[u32]) -> u64 {
        windows.expose([None, None].into(), 9, by);
        windows.next() - 1
    }

    #[test]
    fn flags_are_heard_in_their_order_when_all_their_signals_are_here() {
        let mut windows = Windows::default();
        let at = expose(&mut windows, &[4, 7]);
        for (from, (flag, number, parts), right) in [
            (4, (0, 0, 1), &[0][..]),
            (4, (3, 3, 1), &[]),
            (4, (1, 1, 2), &[]),
            (7, (8, 0, 1), &[8]),
            (4, (2, 2, 3), &[]),
            (4, (2, 2, 3), &[]),
            (4, (1, 1, 2), &[1]),
            (4, (2, 2, 3), &[2, 3]),
            (4, (4, 4, 1), &[4]),
        ] {
            windows.hear(from, at, news(flag, number, parts)).unwrap();
            assert_eq!(heard(&mut windows), right, "{flag} of {from}");
        }
        let said = windows.hear(5, at, news(1, 0, 1)).unwrap_err();
        assert_eq!(
            said,
            "rank 5 raises a flag of window 0, which is not for it"
        );
    }

    #[test]
    fn a_window_is_gone_when_all_have_said_so() {
        let mut windows = Windows::default();
        let [one, other] = [(); 2].map(|()| expose(&mut windows, &[4, 7]));
        for window in [one, other] {
            windows.hear(4, window, news(1, 0, 1)).unwrap();
        }
        let memory = WindowMemory::new(());
        let told = windows.withdraw(one, memory, |rank| rank != 4);
        assert_eq!(told, [7], "4 is not there");
        assert_eq!(windows.least(), other);
        assert_eq!(windows.raised().map(|raised| raised.window), Some(other));
        assert_eq!(windows.raised(), None);
        windows.hear(4, one, news(1, 1, 1)).unwrap();
        assert_eq!(windows.raised(), None);
        assert!(windows.gone(7, one, 2).is_none() && windows.gone(7, other, 2).is_none());
        assert!(windows.gone(4, one, 1).is_none() && windows.gone(4, one, 1).is_none());
        let gone = windows.gone(7, one, 2).unwrap();
        assert_eq!(gone.regions.len(), 2);
        assert!(windows.next_gone().is_none());
        let alone = expose(&mut windows, &[]);
        assert!(
            windows
                .withdraw(alone, WindowMemory::new(()), |_| true)
                .is_empty()
        );
        assert!(windows.next_gone().is_some() && windows.next_gone().is_none());
        windows.withdraw(other, WindowMemory::new(()), |_| true);
        assert_eq!(windows.least(), windows.next());
    }
}
