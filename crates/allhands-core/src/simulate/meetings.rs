//! Meetings of all ranks in a machine's own hardware: who has come, and when those that give were all there.

use super::queue::Moment;
use crate::machine::Fabric;
use crate::schedule::{OpKind, Plan};
use alloc::vec::Vec;

/// A meeting, the n-th of its fabric.
#[derive(Clone, Debug, Default)]
struct Meeting {
    /// How many of those that give have not come.
    missing: u32,
    /// When the last of those that give came.
    last_ps: Moment,
    /// Who has come and waits: rank and operation.
    waiting: Vec<(u32, u32)>,
}

/// All meetings of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Meetings {
    /// By fabric.
    meetings: [Vec<Meeting>; Fabric::ALL.len()],
    /// By fabric and rank, how many it has come to; empty where there are no meetings.
    come: [Vec<u32>; Fabric::ALL.len()],
}

/// Who may go on after somebody came.
pub(super) enum Comes {
    /// Nobody yet.
    Waits,
    /// Those that gave were all there at this moment, the one that came among those who knew.
    Then(Moment),
    /// The last that gives came: these ranks' operations were waiting.
    Now(Vec<(u32, u32)>),
}

impl Meetings {
    /// The meetings of all plans, to which nobody has come.
    pub(super) fn new(plans: &[Plan]) -> Meetings {
        let mut all = Meetings::default();
        for plan in plans.iter().filter(|plan| plan.combines) {
            let mut number = [0; Fabric::ALL.len()];
            for op in &plan.ops {
                let OpKind::Combine { fabric, gives, .. } = op.kind else {
                    continue;
                };
                let (meetings, at) = (
                    &mut all.meetings[fabric as usize],
                    &mut number[fabric as usize],
                );
                if meetings.len() <= *at {
                    meetings.resize(*at + 1, Meeting::default());
                }
                meetings[*at].missing += u32::from(gives);
                *at += 1;
            }
        }
        for (come, meetings) in all.come.iter_mut().zip(&all.meetings) {
            come.resize(if meetings.is_empty() { 0 } else { plans.len() }, 0);
        }
        all
    }

    /// A rank comes to its next meeting in a fabric at `at_ps`, with its operation `ticket`.
    pub(super) fn come(
        &mut self,
        fabric: Fabric,
        (rank, ticket): (u32, u32),
        gives: bool,
        at_ps: Moment,
    ) -> Comes {
        let number = &mut self.come[fabric as usize][rank as usize];
        let meeting = &mut self.meetings[fabric as usize][*number as usize];
        *number += 1;
        if gives {
            meeting.missing -= 1;
            meeting.last_ps = meeting.last_ps.max(at_ps);
        }
        if meeting.missing > 0 {
            meeting.waiting.push((rank, ticket));
            return Comes::Waits;
        }
        if !gives {
            return Comes::Then(meeting.last_ps);
        }
        meeting.waiting.push((rank, ticket));
        Comes::Now(core::mem::take(&mut meeting.waiting))
    }

    /// When the last that gives came to the meeting to which `rank` came last.
    pub(super) fn last_ps(&self, fabric: Fabric, rank: u32) -> Moment {
        let number = self.come[fabric as usize][rank as usize] as usize;
        self.meetings[fabric as usize][number - 1].last_ps
    }
}
