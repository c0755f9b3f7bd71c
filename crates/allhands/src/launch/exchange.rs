//! The exchange by which ranks find one another: that of a process manager, or of a program that has started them by itself.
//!
//! ```text
//! every rank:  put where it is   fence         fence  get the verdict, open rank 0's segment  fence
//! rank 0:      put where it is   fence  get where all are, make the segment, put the verdict  fence  …
//! ```
//!
//! The verdict is one for all, so either all ranks have a place or all have the same error. The last fence keeps rank 0,
//! in whose process the others find the segment, from ending before they have opened it. If ranks do not share memory, the verdict
//! is an announcement: where rank 0 listens, and a secret; they meet there.

use super::rendezvous::{Announcement, Location};
use super::{Environment, LaunchError, Roll, Segment};
use rustix::fd::AsRawFd;
use std::net::TcpListener;

/// What a process manager offers, or a store of keys and values: what a rank puts can be got by all after a fence.
pub trait Exchange: Send {
    /// Which rank this process is, and how many there are.
    fn rank_and_ranks(&self) -> (u32, u32);

    /// Tells the others a value, of at most 255 bytes without blanks; each key is put once.
    ///
    /// # Errors
    /// When it cannot be told.
    fn put(&mut self, key: &str, value: &str) -> Result<(), LaunchError>;

    /// Waits until every rank has come to its fence, of this number among all of them; what was put before can be got after it.
    ///
    /// # Errors
    /// When a rank does not come.
    fn fence(&mut self) -> Result<(), LaunchError>;

    /// A value that rank `from` has put.
    ///
    /// # Errors
    /// When it cannot be had.
    fn get(&mut self, from: u32, key: &str) -> Result<String, LaunchError>;

    /// Says that this process is done; whether anybody hears it does not matter any more.
    fn finalize(&mut self) {}
}

const VERDICT: &str = "allhands-segment";

/// What ranks under a process manager have in common.
pub(super) enum Common {
    /// The segment, in which this rank is held.
    Segment(Segment),
    /// They are on several hosts, and meet where they are told; rank 0 listens there.
    Announcement(Announcement, Option<TcpListener>),
}

/// What these ranks have in common: rank 0 makes it, the others hear where it is.
pub(super) fn share(
    exchange: &mut dyn Exchange,
    environment: Environment<'_>,
) -> Result<Common, LaunchError> {
    let (rank, ranks) = exchange.rank_and_ranks();
    let own = Location::own(environment)?;
    exchange.put(&rank_key(rank), &own.encode())?;
    exchange.fence()?;
    let made = if rank == 0 {
        let all = everybody(exchange, ranks)?;
        let made = make(&all, environment);
        exchange.put(VERDICT, &verdict(&made)?)?;
        Some(made)
    } else {
        None
    };
    exchange.fence()?;
    let common = match made {
        Some(made) => made,
        None => read(&exchange.get(0, VERDICT)?),
    };
    let common = common.and_then(|common| {
        if let Common::Segment(segment) = common {
            Roll::new(segment)?.hold(rank)?;
        }
        Ok(common)
    });
    if !matches!(common, Ok(Common::Announcement(..))) {
        // Even with an error: the others wait here.
        exchange.fence()?;
    }
    common
}

fn rank_key(rank: u32) -> String {
    format!("allhands-rank-{rank}")
}

/// Where all ranks are, as they have put it.
fn everybody(exchange: &mut dyn Exchange, ranks: u32) -> Result<Vec<Location>, LaunchError> {
    let get = |rank| {
        let word = exchange.get(rank, &rank_key(rank))?;
        Location::decode(&word).ok_or_else(|| unclear(&word, rank))
    };
    (0..ranks).map(get).collect()
}

/// Rank 0's part.
fn make(all: &[Location], environment: Environment<'_>) -> Result<Common, LaunchError> {
    if all.iter().any(|other| other.node != all[0].node) {
        let (announcement, listener) = Announcement::issue(all, environment)?;
        return Ok(Common::Announcement(announcement, Some(listener)));
    }
    let segment = Segment::create()?;
    Roll::begin(segment, all.len() as u32)?;
    Ok(Common::Segment(segment))
}

/// What rank 0 has made, or that it has not, for the others.
fn verdict(made: &Result<Common, LaunchError>) -> Result<String, LaunchError> {
    Ok(match made {
        Ok(Common::Segment(segment)) => {
            let (pid, fd) = (std::process::id(), segment.fd().as_raw_fd());
            format!("segment/{pid}/{fd}/{}", segment.inode()?)
        }
        Ok(Common::Announcement(announcement, _)) => format!("meet/{}", announcement.encode()),
        Err(_) => "failed".into(),
    })
}

/// What another rank makes of rank 0's verdict.
fn read(verdict: &str) -> Result<Common, LaunchError> {
    if let Some(word) = verdict.strip_prefix("meet/") {
        let announcement =
            Announcement::decode(word).ok_or_else(|| unclear("an announcement", 0))?;
        return Ok(Common::Announcement(announcement, None));
    }
    let parts: Vec<&str> = verdict.split('/').collect();
    match parts[..] {
        ["segment", pid, fd, inode] => match (pid.parse(), fd.parse(), inode.parse()) {
            (Ok(pid), Ok(fd), Ok(inode)) => {
                Segment::of_process(pid, fd, inode).map(Common::Segment)
            }
            _ => Err(unclear(verdict, 0)),
        },
        ["failed"] => Err(LaunchError::FirstRankFailed),
        _ => Err(unclear(verdict, 0)),
    }
}

fn unclear(word: &str, rank: u32) -> LaunchError {
    LaunchError::NoSegment {
        place: format!("'{word}', which rank {rank} has put,"),
        why: "it cannot be read".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;
    use std::sync::{Arc, Barrier, Mutex};

    /// Ranks that are threads, one of which may say that it is elsewhere.
    struct Threads {
        rank_and_ranks: (u32, u32),
        values: Arc<Mutex<HashMap<String, String>>>,
        barrier: Arc<Barrier>,
        elsewhere: bool,
    }

    impl Exchange for Threads {
        fn rank_and_ranks(&self) -> (u32, u32) {
            self.rank_and_ranks
        }

        fn finalize(&mut self) {}

        fn put(&mut self, key: &str, value: &str) -> Result<(), LaunchError> {
            let value = if self.elsewhere { "far/0/" } else { value };
            self.values.lock().unwrap().insert(key.into(), value.into());
            Ok(())
        }

        fn fence(&mut self) -> Result<(), LaunchError> {
            self.barrier.wait();
            Ok(())
        }

        fn get(&mut self, _: u32, key: &str) -> Result<String, LaunchError> {
            Ok(self.values.lock().unwrap()[key].clone())
        }
    }

    fn shared(ranks: u32, elsewhere: Option<u32>) -> Vec<Result<Common, LaunchError>> {
        let values = Arc::default();
        let barrier = Arc::new(Barrier::new(ranks as usize));
        std::thread::scope(|scope| {
            let start = |rank| {
                let mut threads = Threads {
                    rank_and_ranks: (rank, ranks),
                    values: Arc::clone(&values),
                    barrier: Arc::clone(&barrier),
                    elsewhere: elsewhere == Some(rank),
                };
                scope.spawn(move || share(&mut threads, &|_| None))
            };
            let all: Vec<_> = (0..ranks).map(start).collect();
            all.into_iter().map(|t| t.join().unwrap()).collect()
        })
    }

    #[test]
    fn all_ranks_share_one_segment() {
        for ranks in [1, 2, 5] {
            let inodes = shared(ranks, None).into_iter().map(|common| match common {
                Ok(Common::Segment(segment)) => segment.inode().unwrap(),
                _ => panic!("they share memory"),
            });
            let inodes: std::collections::HashSet<u64> = inodes.collect();
            assert_eq!(inodes.len(), 1);
        }
    }

    #[test]
    fn a_rank_elsewhere_is_told_where_all_come_together() {
        let announcements = shared(3, Some(2)).into_iter().map(|common| match common {
            Ok(Common::Announcement(announcement, listener)) => (announcement.encode(), listener),
            _ => panic!("they share no memory"),
        });
        let (words, listeners): (Vec<_>, Vec<_>) = announcements.unzip();
        assert!(words.iter().all(|word| *word == words[0]));
        let listens: Vec<bool> = listeners.iter().map(Option::is_some).collect();
        assert_eq!(listens, [true, false, false]);
    }

    #[test]
    fn verdicts_that_cannot_be_read_are_errors() {
        for verdict in ["", "segment/1/2", "segment/a/b/c", "meet/x", "other"] {
            let error = read(verdict).err().unwrap().to_string();
            assert!(error.contains("cannot be read"), "{error}");
        }
        assert_eq!(read("failed").err(), Some(LaunchError::FirstRankFailed));
    }
}
