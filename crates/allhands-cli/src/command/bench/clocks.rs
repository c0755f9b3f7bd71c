//! The clocks of hosts: how far each is ahead of rank 0's, found by messages to and fro.
//!
//! ```text
//! rank 0      sent ─────╮             ╭────▶ received
//!                       ╰─▶ answered ─╯                  first rank of a host
//! ```
//!
//! The host's clock has said `answered` at some moment between the other two, so it is ahead by something between `answered` −
//! `received` and `answered` − `sent`. What all rounds allow is true; its middle is taken, and wrong by half its length at most.

use super::starts::now_ns;
use allhands::{Communicator, Error};
use std::time::{Duration, Instant};

/// How often a message goes to and fro. The first ones find ranks asleep.
const ROUNDS: usize = 12;
/// How far two clocks drift apart at most, in millionths: as far as the kernel lets its clock be slowed or hurried to keep the time of
/// the day. Mostly it is less than one.
const DRIFT_PPM: u64 = 500;
/// How long what was found holds, as clocks drift …
const HOLDS: Duration = Duration::from_millis(100);
/// … and as many times as long as it has taken to find it, where there are many hosts, or far ones.
const HOLDS_TIMES: u32 = 10;

/// What is known of the clocks.
pub struct Clocks {
    /// How far that of this rank is ahead of rank 0's.
    own_ns: i64,
    /// By how much that of any host may be wrong.
    wrong_by_ns: u64,
    /// On rank 0: what is known of each node's clock.
    bounds: Vec<Bounds>,
    since: Instant,
    took: Duration,
}

/// Between which numbers it is how far one clock is ahead of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bounds {
    least_ns: i64,
    most_ns: i64,
}

impl Bounds {
    const NONE: Bounds = Bounds {
        least_ns: i64::MIN / 4,
        most_ns: i64::MAX / 4,
    };

    /// With what a round allows.
    fn narrowed(self, sent_ns: u64, answered_ns: u64, received_ns: u64) -> Bounds {
        let difference = |from: u64| answered_ns.wrapping_sub(from).cast_signed();
        Bounds {
            least_ns: self.least_ns.max(difference(received_ns)),
            most_ns: self.most_ns.min(difference(sent_ns)),
        }
    }

    /// With what was known before, so long ago; that is forgotten if both cannot be.
    fn after(self, before: Bounds, ago: Duration) -> Bounds {
        let drift_ns = (ago.as_micros() as u64 * DRIFT_PPM / 1000).cast_signed();
        let both = Bounds {
            least_ns: self.least_ns.max(before.least_ns - drift_ns),
            most_ns: self.most_ns.min(before.most_ns + drift_ns),
        };
        match both.least_ns <= both.most_ns {
            true => both,
            false => self,
        }
    }

    fn middle_ns(self) -> i64 {
        i64::midpoint(self.least_ns, self.most_ns)
    }

    /// By how much the middle may be wrong.
    fn wrong_by_ns(self) -> u64 {
        self.most_ns.abs_diff(self.least_ns).div_ceil(2)
    }
}

impl Clocks {
    /// Compares the clocks of all hosts, after they were compared before or never; every rank calls this.
    pub fn compare(comm: &Communicator, before: Option<&Clocks>) -> Result<Clocks, Error> {
        let since = Instant::now();
        let (rank, sizes) = (comm.rank(), comm.nodes().innermost(comm.size() as u32));
        let (mut first, mut own_node) = (0, 0);
        let mut bounds = Vec::new();
        for (node, ranks) in sizes.iter().enumerate() {
            if rank >= first {
                own_node = node;
            }
            if rank == 0 && node > 0 {
                let known = before.map(|it| (it.bounds[node - 1], it.since.elapsed()));
                let now = ask(comm, first)?;
                bounds.push(known.map_or(now, |(before, ago)| now.after(before, ago)));
            } else if rank == first && node > 0 {
                answer(comm)?;
            }
            first += *ranks as usize;
        }
        // How far each node's clock is ahead, and then by how much any of that may be wrong.
        let mut found = vec![0; sizes.len() + 1];
        for (found, bounds) in found[1..].iter_mut().zip(&bounds) {
            *found = bounds.middle_ns();
        }
        let wrong_by = bounds.iter().map(|it| it.wrong_by_ns()).max();
        found[sizes.len()] = wrong_by.unwrap_or(0).cast_signed();
        comm.broadcast(&mut found, 0)?;
        Ok(Clocks {
            own_ns: found[own_node],
            wrong_by_ns: found[sizes.len()].cast_unsigned(),
            bounds,
            since,
            took: since.elapsed(),
        })
    }

    /// Whether they have to be compared again.
    pub fn are_old(&self) -> bool {
        self.since.elapsed() > HOLDS.max(HOLDS_TIMES * self.took)
    }

    /// What this rank's clock says when rank 0's says this.
    pub fn own(&self, of_first_ns: u64) -> u64 {
        of_first_ns.wrapping_add_signed(self.own_ns)
    }

    /// By how much what the clocks say may be wrong.
    pub fn wrong_by_ns(&self) -> u64 {
        self.wrong_by_ns
    }
}

/// Rank 0's part: it asks the first rank of a host.
fn ask(comm: &Communicator, host: usize) -> Result<Bounds, Error> {
    let mut bounds = Bounds::NONE;
    for _ in 0..ROUNDS {
        let mut answered = [0_u64];
        let sent = now_ns();
        comm.send(&[sent], host, 0)?;
        comm.recv(&mut answered, host, 0)?;
        bounds = bounds.narrowed(sent, answered[0], now_ns());
    }
    Ok(bounds)
}

/// The host's part.
fn answer(comm: &Communicator) -> Result<(), Error> {
    for _ in 0..ROUNDS {
        let mut asked = [0_u64];
        comm.recv(&mut asked, 0, 0)?;
        comm.send(&[now_ns()], 0, 0)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use allhands::threads;

    /// What rounds say of a clock that is ahead by so much, with messages that take these times there and back.
    fn found(ahead: i64, trips: &[(u64, u64)]) -> Bounds {
        let mut now = 1_000_000;
        trips.iter().fold(Bounds::NONE, |bounds, (there, back)| {
            let (sent, answered) = (now, (now + there).wrapping_add_signed(ahead));
            now += there + back;
            bounds.narrowed(sent, answered, now)
        })
    }

    #[test]
    fn the_middle_is_wrong_by_half_the_shortest_round_trip_at_most() {
        for ahead in [-5_000_000_000_000, -7, 0, 900_000] {
            // As long there as back: right.
            assert_eq!(found(ahead, &[(500, 500)]).middle_ns(), ahead);
            for trips in [
                &[(900, 100)][..],
                &[(100, 900), (40, 60), (5000, 10)],
                &[(1, 999)],
            ] {
                let bounds = found(ahead, trips);
                let shortest = trips.iter().map(|(there, back)| there + back).min();
                let wrong_by = bounds.middle_ns().abs_diff(ahead);
                assert!(wrong_by <= bounds.wrong_by_ns(), "{bounds:?}");
                assert!(Some(2 * bounds.wrong_by_ns()) <= shortest, "{bounds:?}");
            }
        }
        // What one round allows and another does not is out of the question.
        let both = found(0, &[(10, 1000), (1000, 10)]);
        assert_eq!((both.least_ns, both.most_ns), (-10, 10));
    }

    #[test]
    fn what_was_known_before_holds_but_for_drift() {
        let bounds = |least_ns, most_ns| Bounds { least_ns, most_ns };
        let second = Duration::from_secs(1);
        // A second lets clocks drift by 500 µs.
        let both = bounds(-900_000, 2_000_000).after(bounds(-100_000, 100_000), second);
        assert_eq!(both, bounds(-600_000, 600_000));
        let better = bounds(-10, 10).after(bounds(-100_000, 100_000), second);
        assert_eq!(better, bounds(-10, 10));
        let jumped = bounds(9_000_000, 9_000_100).after(bounds(-100_000, 100_000), second);
        assert_eq!(jumped, bounds(9_000_000, 9_000_100));
    }

    #[test]
    fn ranks_with_one_clock_find_that_it_is_one() {
        let nodes: allhands_core::machine::Nodes = "2,1,3".parse().expect("they are nodes");
        let found = threads::run(6, |comm| {
            comm.set_nodes(nodes.clone())?;
            let first = Clocks::compare(&comm, None)?;
            Clocks::compare(&comm, Some(&first))
        });
        for clocks in found.expect("they run") {
            let clocks = clocks.expect("nothing fails");
            assert!(clocks.own_ns.unsigned_abs() <= clocks.wrong_by_ns());
            assert!(clocks.wrong_by_ns() > 0);
            assert_eq!(
                clocks.own(7_000_000_000),
                7_000_000_000_u64.wrapping_add_signed(clocks.own_ns)
            );
        }
    }
}
