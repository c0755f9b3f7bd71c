//! The roll: which ranks have joined, which have left, and which have ended and how.
//!
//! It is the first 64 KiB of the segment: a line of 64 bytes for each rank, behind a header. What a line says is written
//! by the rank itself and by its launcher. Whether a rank is alive needs neither: a rank holds a record lock on the byte
//! of the segment that has its number, and the kernel drops the lock when the process ends, however it ends.

use super::note::Note;
use super::segment::Mapped;
use super::{How, LaunchError, Segment};
use crate::transport::Waits;
use rustix::fd::AsRawFd;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The most ranks of a world.
pub const MAX_RANKS: u32 = 1000;

/// The length of the roll at the beginning of a segment, in bytes; what follows belongs to the transport.
pub const ROLL_BYTES: usize = 64 << 10;

/// "allhands", as it stands in memory.
const MAGIC: u64 = u64::from_le_bytes(*b"allhands");
/// The layout of the segment; it grows when what ranks share changes.
const VERSION: u32 = 3;
const HEADER_BYTES: usize = ROLL_BYTES - MAX_RANKS as usize * 64;

/// States of a line; how a rank ended stands above the lowest byte.
const ABSENT: u32 = 0;
const JOINED: u32 = 1;
const LEFT: u32 = 2;
const ENDED: u32 = 3;
const HELD: u32 = 4;

#[repr(C, align(64))]
struct Line {
    state: AtomicU32,
    pid: AtomicU32,
    /// In which call it has waited for long.
    wait: Note,
}

#[repr(C, align(64))]
struct Header {
    magic: AtomicU64,
    version: AtomicU32,
    ranks: AtomicU32,
    changes: AtomicU32,
    /// One more than the rank with which trouble began; 0: there is none.
    culprit: AtomicU32,
    spare: [u8; HEADER_BYTES - 24],
}

#[repr(C)]
struct Page {
    header: Header,
    lines: [Line; MAX_RANKS as usize],
}

const _: () = assert!(size_of::<Page>() == ROLL_BYTES);

/// What the roll says of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It has not joined yet.
    Absent,
    /// It has joined; whether it is still alive, [`Roll::is_alive`] tells.
    Joined,
    /// It has left in order.
    Left,
    /// It has ended without leaving.
    Ended(How),
}

/// The roll of a world.
#[derive(Debug)]
pub struct Roll {
    segment: Segment,
    mapped: Mapped,
}

impl Roll {
    /// Begins the roll of a new segment; whoever creates the segment does this once.
    ///
    /// # Errors
    /// If there are no ranks or too many, or the segment cannot be mapped.
    pub fn begin(segment: Segment, ranks: u32) -> Result<Roll, LaunchError> {
        check_ranks(u64::from(ranks))?;
        let roll = Roll::map(segment)?;
        let header = &roll.page().header;
        header.version.store(VERSION, Ordering::Relaxed);
        header.ranks.store(ranks, Ordering::Relaxed);
        // Last, so that whoever sees it sees the rest.
        header.magic.store(MAGIC, Ordering::Release);
        Ok(roll)
    }

    /// The roll of a segment that somebody else began.
    ///
    /// # Errors
    /// If there is none, or one of another version.
    pub fn new(segment: Segment) -> Result<Roll, LaunchError> {
        let roll = Roll::map(segment)?;
        let header = &roll.page().header;
        if header.magic.load(Ordering::Acquire) != MAGIC {
            return Err(LaunchError::NoSegment {
                place: format!("descriptor {}", segment.fd().as_raw_fd()),
                why: "nobody has begun a roll in it".into(),
            });
        }
        let found = header.version.load(Ordering::Relaxed);
        if found != VERSION {
            let known = VERSION;
            return Err(LaunchError::Version { found, known });
        }
        check_ranks(u64::from(roll.ranks()))?;
        Ok(roll)
    }

    fn map(segment: Segment) -> Result<Roll, LaunchError> {
        let mapped = segment.map_first(ROLL_BYTES);
        let mapped = mapped.map_err(|error| LaunchError::system("cannot map the roll", error))?;
        Ok(Roll { segment, mapped })
    }

    /// The number of ranks.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        self.page().header.ranks.load(Ordering::Relaxed)
    }

    /// The roll of a segment in which its first rank may not have begun it yet: good for [`hold`](Roll::hold) alone until then.
    pub(super) fn early(segment: Segment) -> Result<Roll, LaunchError> {
        Roll::map(segment)
    }

    /// Takes a rank for this process, until it leaves or ends.
    ///
    /// # Errors
    /// If there is no such rank, or it is or was another process's.
    pub fn join(&self, rank: u32) -> Result<(), LaunchError> {
        self.take(rank, self.line(rank)?, JOINED)
    }

    /// Keeps a rank for this process, which is going to join: if it ends before that, the others find out as if it had.
    pub(super) fn hold(&self, rank: u32) -> Result<(), LaunchError> {
        let ranks = MAX_RANKS;
        let line = self.page().lines.get(rank as usize);
        self.take(
            rank,
            line.ok_or(LaunchError::NoSuchRank { rank, ranks })?,
            HELD,
        )
    }

    fn take(&self, rank: u32, line: &Line, state: u32) -> Result<(), LaunchError> {
        let wrong = |error| LaunchError::system("cannot take a rank's lock", error);
        let taken = |pid| LaunchError::RankTaken { rank, pid };
        if !self.lock(rank, libc::F_WRLCK).map_err(wrong)? {
            return Err(taken(line.pid.load(Ordering::Relaxed)));
        }
        // Under the lock nobody else joins, so state and pid change together; a process's own locks never keep it out.
        let holder = line.pid.load(Ordering::Relaxed);
        let is_own = holder == std::process::id();
        match line.state.load(Ordering::Acquire) {
            ABSENT => {}
            HELD if is_own && state == JOINED => {}
            HELD | JOINED if is_own => return Err(taken(holder)),
            _ => {
                self.lock(rank, libc::F_UNLCK).map_err(wrong)?;
                return Err(LaunchError::RankUsed { rank, pid: holder });
            }
        }
        line.pid.store(std::process::id(), Ordering::Relaxed);
        line.state.store(state, Ordering::Release);
        self.changed();
        Ok(())
    }

    /// Gives the rank back in order: its process needs the others no more, and they it.
    ///
    /// Does nothing if this process does not hold the rank.
    pub fn leave(&self, rank: u32) {
        let Ok(line) = self.line(rank) else { return };
        if line.pid.load(Ordering::Relaxed) != std::process::id() {
            return;
        }
        // The launcher may have said meanwhile how it ended; then that stands.
        let left = line
            .state
            .compare_exchange(JOINED, LEFT, Ordering::AcqRel, Ordering::Relaxed);
        if left.is_ok() {
            self.changed();
            // Should the lock stay, it goes with the process.
            let _ = self.lock(rank, libc::F_UNLCK);
        }
    }

    /// Writes down how a rank's process ended; its launcher calls this. Code 0 after leaving in order changes nothing.
    pub fn end(&self, rank: u32, how: How) {
        let Ok(line) = self.line(rank) else { return };
        let ended = ENDED | how.encode() << 8;
        let keep = |state| (state != LEFT || how.is_failure()).then_some(ended);
        let updated = line
            .state
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, keep);
        if updated.is_ok() {
            self.changed();
        }
    }

    /// What the roll says of a rank; ranks that do not exist are absent.
    #[must_use]
    pub fn standing(&self, rank: u32) -> Standing {
        let Ok(line) = self.line(rank) else {
            return Standing::Absent;
        };
        let state = line.state.load(Ordering::Acquire);
        match state & 0xff {
            ABSENT | HELD => Standing::Absent,
            JOINED => Standing::Joined,
            LEFT => Standing::Left,
            _ => Standing::Ended(How::decode(state >> 8)),
        }
    }

    /// How a rank ended without leaving; `None` while it has not.
    ///
    /// Without a launcher that tells, [`How::Unseen`] for a rank that joined, or was about to, and is not alive.
    #[must_use]
    pub fn how(&self, rank: u32) -> Option<How> {
        // It may leave between the two looks, so what counts is the look after that at its lock.
        let was_taken = self.is_taken(rank);
        if was_taken && !self.is_alive(rank) && self.is_taken(rank) {
            return Some(How::Unseen);
        }
        match self.standing(rank) {
            Standing::Ended(how) => Some(how),
            Standing::Absent | Standing::Joined | Standing::Left => None,
        }
    }

    /// Whether a rank has joined, or a process that is going to join keeps it, and it has neither left nor been said to have ended.
    fn is_taken(&self, rank: u32) -> bool {
        let state = self
            .line(rank)
            .map(|line| line.state.load(Ordering::Acquire));
        matches!(state, Ok(JOINED | HELD))
    }

    /// Whether a process has a rank, and has neither left nor died.
    ///
    /// A call of the system, which asks the kernel and believes nobody's word.
    #[must_use]
    pub fn is_alive(&self, rank: u32) -> bool {
        let Ok(line) = self.line(rank) else {
            return false;
        };
        // The kernel tells a process only of the locks of others.
        if line.pid.load(Ordering::Relaxed) == std::process::id() {
            return self.is_taken(rank);
        }
        let mut lock = record(rank, libc::F_WRLCK);
        // SAFETY: the segment's descriptor is open while the process lives, and F_GETLK writes only the record handed in.
        let done = unsafe { libc::fcntl(self.segment.fd().as_raw_fd(), libc::F_GETLK, &mut lock) };
        // When the kernel cannot tell, nobody is declared dead.
        done != 0 || i32::from(lock.l_type) != libc::F_UNLCK
    }

    /// The process that has or had a rank.
    #[must_use]
    pub fn pid(&self, rank: u32) -> Option<u32> {
        let pid = self.line(rank).ok()?.pid.load(Ordering::Relaxed);
        (pid != 0).then_some(pid)
    }

    /// A number that grows whenever a rank joins, leaves or is said to have ended: one load tells whether to look.
    ///
    /// A rank that dies without a launcher changes nothing here; only [`Roll::is_alive`] tells.
    #[must_use]
    pub fn changes(&self) -> u32 {
        self.page().header.changes.load(Ordering::Acquire)
    }

    /// Says that the ranks' trouble began with this one: others fail because of it. Only the first word counts.
    pub(crate) fn blame(&self, rank: u32) {
        let culprit = &self.page().header.culprit;
        // Whoever comes second finds the first word, and leaves it.
        let _ = culprit.compare_exchange(0, rank + 1, Ordering::AcqRel, Ordering::Relaxed);
    }

    /// The rank with which the trouble began that stopped a communicator, if one was stopped.
    #[must_use]
    pub fn culprit(&self) -> Option<u32> {
        let culprit = self.page().header.culprit.load(Ordering::Acquire);
        culprit.checked_sub(1)
    }

    /// Says in which call a rank, which is the caller, has waited for long, and for whom; nothing, when it waits no more.
    pub(crate) fn note_wait(&self, rank: u32, wait: Option<&Waits>) {
        if let Ok(line) = self.line(rank) {
            line.wait.write(wait);
        }
    }

    /// In which call a rank has waited for long, and for whom, by its own word.
    #[must_use]
    pub fn waits(&self, rank: u32) -> Option<Waits> {
        self.line(rank).ok()?.wait.read()
    }

    fn changed(&self) {
        self.page().header.changes.fetch_add(1, Ordering::Release);
    }

    fn page(&self) -> &Page {
        // SAFETY: the mapping is `ROLL_BYTES` long, which is the size of a page, begins a page of memory, and cannot be
        // shortened. A page is atomic words, for which all bits are values, and spare bytes that nobody writes.
        unsafe { &*self.mapped.address().cast::<Page>() }
    }

    fn line(&self, rank: u32) -> Result<&Line, LaunchError> {
        let ranks = self.ranks().min(MAX_RANKS);
        let line = self.page().lines[..ranks as usize].get(rank as usize);
        line.ok_or(LaunchError::NoSuchRank { rank, ranks })
    }

    /// Takes or drops this process's lock on a rank; whether that was possible.
    fn lock(&self, rank: u32, kind: i32) -> std::io::Result<bool> {
        let lock = record(rank, kind);
        // SAFETY: the segment's descriptor is open while the process lives, and F_SETLK only reads the record handed in.
        let done = unsafe { libc::fcntl(self.segment.fd().as_raw_fd(), libc::F_SETLK, &lock) };
        if done == 0 {
            return Ok(true);
        }
        let error = std::io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EAGAIN | libc::EACCES) => Ok(false),
            _ => Err(error),
        }
    }
}

/// A record lock on the byte that has a rank's number.
fn record(rank: u32, kind: i32) -> libc::flock {
    // SAFETY: a flock is numbers, for which zero is a value.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = kind as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    lock.l_start = libc::off_t::from(rank);
    lock.l_len = 1;
    lock
}

/// Whether a world may have so many ranks.
pub(super) fn check_ranks(ranks: u64) -> Result<(), LaunchError> {
    if (1..=u64::from(MAX_RANKS)).contains(&ranks) {
        Ok(())
    } else {
        Err(LaunchError::Ranks { ranks })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_joins_and_leaves_once() {
        let segment = Segment::create().unwrap();
        let roll = Roll::begin(segment, 3).unwrap();
        let (me, before) = (std::process::id(), roll.changes());
        assert_eq!(roll.standing(1), Standing::Absent);
        assert!(!roll.is_alive(1) && roll.pid(1).is_none());
        roll.join(1).unwrap();
        assert_eq!(
            roll.join(1),
            Err(LaunchError::RankTaken { rank: 1, pid: me })
        );
        assert!(roll.is_alive(1) && roll.how(1).is_none());
        assert_eq!(Roll::new(segment).unwrap().pid(1), Some(me));
        roll.leave(1);
        roll.end(1, How::Exited(0));
        assert_eq!((roll.standing(1), roll.how(1)), (Standing::Left, None));
        assert!(!roll.is_alive(1));
        assert_eq!(
            roll.join(1),
            Err(LaunchError::RankUsed { rank: 1, pid: me })
        );
        assert_eq!(roll.changes(), before + 2);
    }

    #[test]
    fn a_rank_is_kept_before_the_roll_begins() {
        let segment = Segment::create().unwrap();
        let early = Roll::early(segment).unwrap();
        early.hold(1).unwrap();
        assert!(matches!(
            early.hold(MAX_RANKS),
            Err(LaunchError::NoSuchRank { .. })
        ));
        let roll = Roll::begin(segment, 2).unwrap();
        assert_eq!((roll.standing(1), roll.how(1)), (Standing::Absent, None));
        assert!(roll.is_alive(1) && !roll.is_alive(0));
        let again = roll.hold(1).unwrap_err();
        assert!(matches!(again, LaunchError::RankTaken { rank: 1, .. }));
        roll.join(1).unwrap();
        assert_eq!(roll.standing(1), Standing::Joined);
        assert!(roll.join(1).is_err() && roll.hold(1).is_err());
    }

    #[test]
    fn a_process_that_ends_while_it_keeps_a_rank_is_missed() {
        let segment = Segment::create().unwrap();
        let roll = Roll::begin(segment, 2).unwrap();
        roll.hold(0).unwrap();
        // As another process would have left it.
        let line = roll.line(0).unwrap();
        line.pid.store(u32::MAX, Ordering::Relaxed);
        assert_eq!(roll.how(0), Some(How::Unseen));
        assert_eq!((roll.standing(1), roll.how(1)), (Standing::Absent, None));
    }

    #[test]
    fn ends_are_written_down_for_all() {
        let segment = Segment::create().unwrap();
        let roll = Roll::begin(segment, 2).unwrap();
        roll.join(0).unwrap();
        roll.end(0, How::Killed(9));
        roll.end(1, How::Exited(3));
        roll.leave(0);
        let other = Roll::new(segment).unwrap();
        assert_eq!(other.how(0), Some(How::Killed(9)));
        assert_eq!(other.standing(1), Standing::Ended(How::Exited(3)));
        assert!(other.changes() >= 3);
    }

    #[test]
    fn the_first_culprit_stays() {
        let roll = Roll::begin(Segment::create().unwrap(), 3).unwrap();
        assert_eq!(roll.culprit(), None);
        roll.blame(2);
        roll.blame(0);
        assert_eq!(roll.culprit(), Some(2));
    }

    #[test]
    fn mistakes_are_named() {
        let segment = Segment::create().unwrap();
        let error = Roll::new(segment).unwrap_err().to_string();
        assert!(error.contains("begun a roll"), "{error}");
        for ranks in [0, MAX_RANKS + 1] {
            let error = Roll::begin(segment, ranks).unwrap_err();
            assert_eq!(
                error,
                LaunchError::Ranks {
                    ranks: ranks.into()
                }
            );
        }
        let roll = Roll::begin(segment, MAX_RANKS).unwrap();
        roll.join(MAX_RANKS - 1).unwrap();
        let error = roll.join(MAX_RANKS).unwrap_err().to_string();
        assert_eq!(error, "there is no rank 1000: the ranks are 0 to 999");
        assert_eq!(roll.standing(MAX_RANKS), Standing::Absent);
    }
}
