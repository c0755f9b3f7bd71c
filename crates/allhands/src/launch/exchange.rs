//! The exchange by which ranks under a process manager come to share a segment.
//!
//! ```text
//! every rank:  put its node         fence         fence  get the verdict, open rank 0's segment  fence
//! rank 0:      put its node         fence  get all nodes, make the segment, put the verdict  fence  …
//! ```
//!
//! The verdict is one for all, so either all ranks have a place or all have the same error. The last fence keeps rank 0,
//! in whose process the others find the segment, from ending before they have opened it.

use super::{LaunchError, Roll, Segment};
use rustix::fd::AsRawFd;

/// What a process manager offers: values that a rank puts can be got by all after a fence.
pub(super) trait Exchange: Send {
    fn rank_and_ranks(&self) -> (u32, u32);
    fn put(&mut self, key: &str, value: &str) -> Result<(), LaunchError>;
    fn fence(&mut self) -> Result<(), LaunchError>;
    /// A value that rank `from` has put.
    fn get(&mut self, from: u32, key: &str) -> Result<String, LaunchError>;
    /// Says that this process is done; whether anybody hears it does not matter any more.
    fn finalize(&mut self);
}

const VERDICT: &str = "allhands-segment";

/// The segment of these ranks: rank 0 makes it, the others open it.
pub(super) fn share(exchange: &mut dyn Exchange) -> Result<Segment, LaunchError> {
    let (rank, ranks) = exchange.rank_and_ranks();
    super::roll::check_ranks(u64::from(ranks))?;
    exchange.put(&node_key(rank), &node())?;
    exchange.fence()?;
    let made = if rank == 0 {
        let (verdict, made) = verdict(exchange, ranks)?;
        exchange.put(VERDICT, &verdict)?;
        made
    } else {
        Ok(None)
    };
    exchange.fence()?;
    let segment = match made {
        Ok(Some(segment)) => Ok(segment),
        Ok(None) => read(&exchange.get(0, VERDICT)?),
        Err(error) => Err(error),
    };
    // Even with an error: the others wait here.
    exchange.fence()?;
    segment
}

fn node_key(rank: u32) -> String {
    format!("allhands-node-{rank}")
}

/// What tells this machine from others, and its name.
fn node() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let name = rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    let word = |text: &str| text.replace(|c: char| c.is_whitespace() || c == '/', "_");
    format!("{}/{}", word(boot.trim()), word(&name))
}

type Made = Result<Option<Segment>, LaunchError>;

/// Rank 0's part: the verdict for the others, and its own.
fn verdict(exchange: &mut dyn Exchange, ranks: u32) -> Result<(String, Made), LaunchError> {
    let first = node();
    for rank in 1..ranks {
        let other = exchange.get(rank, &node_key(rank))?;
        if other != first {
            let host = |node: &str| node.rsplit('/').next().unwrap_or(node).to_string();
            let (host, first_host) = (host(&other), host(&first));
            let verdict = format!("nodes/{rank}/{host}/{first_host}");
            let error = LaunchError::SeveralNodes {
                rank,
                host,
                first_host,
            };
            return Ok((verdict, Err(error)));
        }
    }
    let made = Segment::create().and_then(|segment| {
        Roll::begin(segment, ranks)?;
        Ok((segment, segment.inode()?))
    });
    Ok(match made {
        Ok((segment, inode)) => {
            let (pid, fd) = (std::process::id(), segment.fd().as_raw_fd());
            (format!("segment/{pid}/{fd}/{inode}"), Ok(Some(segment)))
        }
        Err(error) => ("failed".into(), Err(error)),
    })
}

/// What another rank makes of rank 0's verdict.
fn read(verdict: &str) -> Result<Segment, LaunchError> {
    let parts: Vec<&str> = verdict.split('/').collect();
    let unclear = || LaunchError::NoSegment {
        place: format!("'{verdict}', which rank 0 has put,"),
        why: "it cannot be read".into(),
    };
    match parts[..] {
        ["segment", pid, fd, inode] => match (pid.parse(), fd.parse(), inode.parse()) {
            (Ok(pid), Ok(fd), Ok(inode)) => Segment::of_process(pid, fd, inode),
            _ => Err(unclear()),
        },
        ["nodes", rank, host, first_host] => Err(LaunchError::SeveralNodes {
            rank: rank.parse().map_err(|_| unclear())?,
            host: host.into(),
            first_host: first_host.into(),
        }),
        ["failed"] => Err(LaunchError::FirstRankFailed),
        _ => Err(unclear()),
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
            let value = if self.elsewhere { "x/far" } else { value };
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

    fn shared(ranks: u32, elsewhere: Option<u32>) -> Vec<Result<Segment, LaunchError>> {
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
                scope.spawn(move || share(&mut threads))
            };
            let all: Vec<_> = (0..ranks).map(start).collect();
            all.into_iter().map(|t| t.join().unwrap()).collect()
        })
    }

    #[test]
    fn all_ranks_share_one_segment() {
        for ranks in [1, 2, 5] {
            let inodes = shared(ranks, None)
                .into_iter()
                .map(|s| s.unwrap().inode().unwrap());
            let inodes: std::collections::HashSet<u64> = inodes.collect();
            assert_eq!(inodes.len(), 1);
        }
    }

    #[test]
    fn a_rank_elsewhere_is_the_same_error_on_all() {
        for segment in shared(3, Some(2)) {
            let error = segment.unwrap_err();
            assert!(
                matches!(&error, LaunchError::SeveralNodes { rank: 2, host, .. } if host == "far")
            );
        }
    }

    #[test]
    fn verdicts_that_cannot_be_read_are_errors() {
        for verdict in ["", "segment/1/2", "segment/a/b/c", "nodes/x/a/b", "other"] {
            let error = read(verdict).unwrap_err().to_string();
            assert!(error.contains("cannot be read"), "{error}");
        }
        assert_eq!(read("failed").unwrap_err(), LaunchError::FirstRankFailed);
    }
}
