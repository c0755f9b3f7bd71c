//! The vigil: how ranks that are processes learn that one of them has ended.

use std::time::{Duration, Instant};

/// Who watches over the ranks of a communicator.
#[derive(Clone, Debug)]
pub(crate) enum Vigil {
    /// Ranks are threads of one process: they leave or panic, and say so.
    Threads,
}

impl Vigil {
    /// The time between looks at the others.
    const EVERY: Duration = Duration::from_millis(5);

    pub(crate) fn threads() -> Vigil {
        Vigil::Threads
    }

    /// The vigil over some of these ranks.
    pub(crate) fn of(&self, _ranks: &[u32]) -> Vigil {
        self.clone()
    }

    /// How many ranks share the node with those of a communicator of `ranks`.
    pub(crate) fn ranks_on_node(&self, ranks: u32) -> u32 {
        ranks
    }

    /// A rank that has ended without leaving, and how.
    pub(crate) fn dead(
        &self,
        _ranks: u32,
        _gone: impl Fn(u32) -> bool,
        _entered: impl Fn(u32) -> bool,
    ) -> Option<(u32, u32)> {
        match self {
            Vigil::Threads => None,
        }
    }

    /// Whether any process that was watched over has ended.
    pub(crate) fn is_any_dead(&self) -> bool {
        match self {
            Vigil::Threads => false,
        }
    }

    /// How a rank ended, in words.
    pub(crate) fn how(&self, _how: u32) -> String {
        "ended".to_string()
    }

    /// Runs `check` when it is time to; the first time is not at once.
    pub(crate) fn check_now_and_then<E>(
        &self,
        last: &mut Option<Instant>,
        check: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        let now = Instant::now();
        match *last {
            Some(at) if now - at < Self::EVERY => Ok(()),
            None => {
                *last = Some(now);
                Ok(())
            }
            Some(_) => {
                *last = Some(now);
                check()
            }
        }
    }
}
