//! The note: a line of the roll's word on which call its rank has waited in for long, and for whom.

use crate::transport::waits::{NAMED, Waits};
use allhands_core::call::Collective;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// A wait in memory that ranks and their launcher share; zeros are none. Who reads while it is written may see parts of two.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Note {
    /// Milliseconds on the clock that all processes of the machine have; 0: nothing is waited for.
    began_ms: AtomicU64,
    collective: AtomicU32,
    missing_in_all: AtomicU32,
    missing: [AtomicU32; NAMED],
}

impl Note {
    pub(super) fn write(&self, wait: Option<&Waits>) {
        let Some(wait) = wait else {
            return self.began_ms.store(0, Ordering::Release);
        };
        let number = Collective::ALL.iter().position(|c| *c == wait.collective);
        self.collective
            .store(number.unwrap_or_default() as u32, Ordering::Relaxed);
        self.missing_in_all
            .store(wait.missing_in_all, Ordering::Relaxed);
        for (word, rank) in self.missing.iter().zip(&wait.missing) {
            word.store(*rank, Ordering::Relaxed);
        }
        let began_ms = now_ms().saturating_sub(wait.since.as_millis() as u64);
        // Last, so that whoever sees it for the first time sees the rest.
        self.began_ms.store(began_ms.max(1), Ordering::Release);
    }

    pub(super) fn read(&self) -> Option<Waits> {
        let began_ms = self.began_ms.load(Ordering::Acquire);
        let collective = self.collective.load(Ordering::Relaxed) as usize;
        let missing_in_all = self.missing_in_all.load(Ordering::Relaxed);
        let missing = self.missing.iter().take(missing_in_all as usize);
        (began_ms != 0).then(|| Waits {
            collective: Collective::ALL[collective % Collective::ALL.len()],
            since: Duration::from_millis(now_ms().saturating_sub(began_ms)),
            missing: missing.map(|rank| rank.load(Ordering::Relaxed)).collect(),
            missing_in_all,
        })
    }
}

fn now_ms() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(seconds: u64, missing: &[u32]) -> Waits {
        Waits::new(Collective::Barrier, Duration::from_secs(seconds), missing)
    }

    #[test]
    fn a_note_says_what_was_written() {
        // SAFETY: a note is atomics alone, for which zeros are a value.
        let note: Note = unsafe { std::mem::zeroed() };
        assert_eq!(note.read(), None);
        for missing in [&[7][..], &[1, 2, 3], &(0..99).collect::<Vec<u32>>(), &[]] {
            let wait = waits(5, missing);
            note.write(Some(&wait));
            let read = note.read().unwrap();
            assert!(read.since >= wait.since && read.since < wait.since + wait.since);
            let since = wait.since;
            assert_eq!(Waits { since, ..read }, wait);
        }
        note.write(None);
        assert_eq!(note.read(), None);
    }
}
