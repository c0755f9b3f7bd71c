//! The starts of calls: the moment at which all ranks begin, which rank 0 says a little ahead, and who missed it.
//!
//! A barrier alone would let ranks start as they leave it, one by one, and hide what the last waits for.

use super::clocks::Clocks;
use allhands::{Communicator, Error, Max, Source, Tag};
use std::time::Duration;

/// Nanoseconds of the clock that all processes of a machine share.
pub fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// How ranks agree on starts.
pub enum Starts {
    /// They share memory.
    Near,
    /// They share a network, and hosts may have clocks of their own.
    Far(Far),
}

/// What ranks know that are far from one another.
#[derive(Default)]
pub struct Far {
    /// Whether all are on one machine after all.
    has_one_clock: bool,
    clocks: Option<Clocks>,
    /// By how much clocks may have been wrong, since that was last asked.
    wrong_by_ns: u64,
    lead: Lead,
    /// By how much this rank has missed the last start.
    late_ns: u64,
}

/// What rank 0 says in place of a start: there is enough …
const END: u64 = 0;
/// … or the clocks are to be compared first.
const COMPARE: u64 = 1;

impl Starts {
    /// Ranks on several hosts; or pretended ones, on a machine with one clock.
    pub fn far(has_one_clock: bool) -> Starts {
        Starts::Far(Far {
            has_one_clock,
            ..Far::default()
        })
    }

    /// Waits for the next start, which it gives by this rank's clock; `None` if rank 0 says that there is enough.
    pub fn next(&mut self, comm: &Communicator, goes_on: bool) -> Result<Option<u64>, Error> {
        match self {
            Starts::Near => near(comm, goes_on),
            Starts::Far(far) => far.next(comm, goes_on),
        }
    }

    /// Waits until all ranks have ended the call; whether it counts, as all began it in time.
    pub fn ended(&mut self, comm: &Communicator) -> Result<bool, Error> {
        match self {
            // Who is late there is so by little, and counts.
            Starts::Near => Ok(true),
            Starts::Far(far) => far.ended(comm),
        }
    }

    /// By how much the clocks of hosts may have been wrong since this was last asked, in microseconds; none, where there is one clock.
    pub fn take_wrong_by_us(&mut self) -> Option<f64> {
        let Starts::Far(far) = self else {
            return None;
        };
        let clocks = far.clocks.as_ref()?;
        let wrong_by = std::mem::replace(&mut far.wrong_by_ns, clocks.wrong_by_ns());
        Some(wrong_by as f64 / 1e3)
    }
}

/// The next start of ranks that share memory.
fn near(comm: &Communicator, goes_on: bool) -> Result<Option<u64>, Error> {
    /// From the announcement to the start, where every rank has a core …
    const SOON_NS: u64 = 3_000;
    /// … and for each rank, where they take turns.
    const SOON_EACH_NS: u64 = 6_000;
    comm.barrier()?;
    let takes_turns = comm.is_oversubscribed();
    let soon = match takes_turns {
        true => SOON_EACH_NS * comm.size() as u64,
        false => SOON_NS,
    };
    let mut start = [if goes_on { now_ns() + soon } else { END }];
    comm.broadcast(&mut start, 0)?;
    if start[0] == END {
        return Ok(None);
    }
    while now_ns() < start[0] {
        match takes_turns {
            true => std::thread::yield_now(),
            false => std::hint::spin_loop(),
        }
    }
    Ok(Some(start[0]))
}

impl Far {
    fn next(&mut self, comm: &Communicator, goes_on: bool) -> Result<Option<u64>, Error> {
        loop {
            comm.barrier()?;
            let wants_clocks =
                || !self.has_one_clock && self.clocks.as_ref().is_none_or(Clocks::are_old);
            let mut says = [match goes_on {
                false => END,
                true if wants_clocks() => COMPARE,
                true => now_ns() + self.lead.ns,
            }];
            comm.broadcast(&mut says, 0)?;
            let start = match says[0] {
                END => return Ok(None),
                COMPARE => {
                    let clocks = Clocks::compare(comm, self.clocks.as_ref())?;
                    self.wrong_by_ns = self.wrong_by_ns.max(clocks.wrong_by_ns());
                    self.clocks = Some(clocks);
                    continue;
                }
                start => start,
            };
            let start = self.clocks.as_ref().map_or(start, |it| it.own(start));
            self.late_ns = now_ns().saturating_sub(start);
            wait(comm, start)?;
            return Ok(Some(start));
        }
    }

    fn ended(&mut self, comm: &Communicator) -> Result<bool, Error> {
        let mut latest = [self.late_ns];
        comm.allreduce_in_place(&mut latest, Max)?;
        self.lead.learn(latest[0]);
        Ok(latest[0] == 0)
    }
}

/// Waits for a moment by this rank's clock. Others may need meanwhile what an earlier call has left behind here, and the core.
fn wait(comm: &Communicator, start_ns: u64) -> Result<(), Error> {
    /// Who sleeps may be woken so much later.
    const WAKING_NS: u64 = 200_000;
    const NAP_NS: u64 = 1_000_000;
    loop {
        let left_ns = start_ns.saturating_sub(now_ns());
        match left_ns {
            0 => return Ok(()),
            1..=WAKING_NS => std::thread::yield_now(),
            _ => {
                comm.iprobe(Source::Any, Tag::Any)?;
                let nap = (left_ns - WAKING_NS).min(NAP_NS);
                std::thread::sleep(Duration::from_nanos(nap));
            }
        }
    }
}

/// How far ahead rank 0 says a start: so far that all have heard of it by then, mostly.
#[derive(Debug)]
struct Lead {
    ns: u64,
}

impl Default for Lead {
    fn default() -> Lead {
        Lead { ns: Lead::LEAST_NS }
    }
}

impl Lead {
    const LEAST_NS: u64 = 50_000;
    const MOST_NS: u64 = 2_000_000_000;

    /// Learns by how much the last rank was late. One that was so by chance does not count for much.
    fn learn(&mut self, late_ns: u64) {
        let ns = match late_ns {
            0 => self.ns - self.ns / 128,
            late => self.ns + (late + late / 4).clamp(self.ns / 8, self.ns),
        };
        self.ns = ns.clamp(Lead::LEAST_NS, Lead::MOST_NS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use allhands::threads;
    use allhands_core::machine::Nodes;

    #[test]
    fn a_lead_grows_to_what_ranks_need_and_little_is_lost_by_chance() {
        for needed in [10_000_u64, 400_000, 30_000_000] {
            let mut lead = Lead::default();
            let mut missed = 0;
            for call in 0..2000 {
                // One of a hundred takes ten times as long.
                let takes = if call % 100 == 99 {
                    10 * needed
                } else {
                    needed
                };
                let late = takes.saturating_sub(lead.ns);
                missed += u32::from(late > 0);
                lead.learn(late);
            }
            assert!(missed < 200, "{needed}: {missed}");
            assert!(
                lead.ns >= needed / 2 && lead.ns < (4 * needed).max(200_000),
                "{needed}: {lead:?}"
            );
        }
    }

    #[test]
    fn far_ranks_begin_together_and_who_is_late_makes_a_call_count_for_nothing() {
        let runs = threads::run(3, |comm| {
            comm.set_nodes(Nodes::even(3, 1))?;
            let mut counted = 0;
            let mut starts = [Starts::far(false), Starts::far(true)];
            for starts in &mut starts {
                for call in 0..20 {
                    let start = starts.next(&comm, true)?.expect("it goes on");
                    assert!(now_ns() >= start);
                    if let Starts::Far(far) = starts
                        && call == 7
                        && comm.rank() == 1
                    {
                        far.late_ns = 1;
                    }
                    let counts = starts.ended(&comm)?;
                    assert!(call != 7 || !counts);
                    counted += u32::from(counts);
                }
                assert_eq!(starts.next(&comm, false)?, None);
            }
            let [apart, together] = starts.each_mut().map(Starts::take_wrong_by_us);
            assert!(apart.is_some_and(|us| us > 0.0) && together.is_none());
            Ok::<u32, Error>(counted)
        });
        let counted: Vec<u32> = runs
            .expect("they run")
            .into_iter()
            .map(|n| n.expect("nothing fails"))
            .collect();
        assert!(
            counted.iter().all(|n| *n == counted[0]) && counted[0] > 0,
            "{counted:?}"
        );
    }
}
