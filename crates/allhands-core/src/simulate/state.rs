//! What a world keeps of each of its ranks, and of each message under way.

use super::lanes::Receive;
use super::network::Kind;
use super::observer::Purpose;
use super::queue::Moment;
use crate::schedule::Plan;

/// What a message is for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Load {
    /// A receive on this channel.
    Lane(u16),
    /// The same, left behind by the packets of the sender's last message that is none such.
    Deposit(u16),
    /// A window.
    Put,
    /// A window, where it is combined with what is there.
    PutReduce,
    /// A get, which the owner of the window answers.
    Request,
    /// The answer to a get.
    Answer,
    /// A flag of its receiver.
    Notice(u16),
    /// A look at a flag that its sender has raised on itself.
    Sight(u16),
}

impl Load {
    /// What a network is told that it is.
    pub(super) fn kind(self) -> Kind {
        match self {
            Load::Lane(_) | Load::Deposit(_) => Kind::Message,
            Load::Put | Load::PutReduce => Kind::Put,
            Load::Request => Kind::Request,
            Load::Answer => Kind::Answer,
            Load::Notice(_) | Load::Sight(_) => Kind::Notice,
        }
    }

    /// What an observer is told that it is for.
    pub(super) fn purpose(self) -> Purpose {
        match self {
            Load::Lane(channel) | Load::Deposit(channel) => Purpose::Message { channel },
            Load::Put => Purpose::Put,
            Load::PutReduce => Purpose::PutReduce,
            Load::Request => Purpose::Request,
            Load::Answer => Purpose::Answer,
            Load::Notice(_) => Purpose::Notice,
            Load::Sight(_) => Purpose::Sight,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) bytes: u64,
    /// The operation that it belongs to, of its sender; of its receiver, if it is an answer.
    pub(super) ticket: u32,
    pub(super) load: Load,
    /// How many of its two ends, sent and arrived, are yet to come.
    pub(super) open_ends: u8,
}

/// A rank: its processor, and what it waits for. All that most events need of it is in one line of the cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Rank {
    /// When its processor is free.
    pub(super) free_ps: Moment,
    /// When the last of those operations ends, or ended, of which that is known.
    pub(super) latest_ps: Moment,
    /// For when it was last put into the queue.
    pub(super) wake_ps: Moment,
    /// Where its operations start in `done_ps`, unless it goes in steps.
    pub(super) first_op: u32,
    /// Operations under way of which nobody knows yet when they end.
    pub(super) unknown: u32,
    /// The operation behind the one that it started last.
    pub(super) next_op: u32,
    /// How many messages and receives wait in its lanes.
    pub(super) in_lanes: u32,
    /// A receive that waits here, as there is hardly ever more than one: then the lanes are not looked at.
    pub(super) slot: Option<Slot>,
    /// Whether it goes on only when all that is under way has ended: it has one strand, and no pipeline.
    pub(super) in_steps: bool,
    pub(super) is_done: bool,
}

impl Rank {
    /// A rank that has done nothing; its operations start at `first_op`.
    pub(super) fn new(plan: &Plan, first_op: u32) -> Rank {
        Rank {
            free_ps: 0,
            latest_ps: 0,
            wake_ps: 0,
            first_op,
            unknown: 0,
            next_op: 0,
            in_lanes: 0,
            slot: None,
            // An operation of a pipeline has a list of what it waits for.
            in_steps: plan.strands.len() == 1 && plan.waits.is_empty(),
            is_done: false,
        }
    }
}

/// A receive, and what it waits for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) from: u32,
    pub(super) channel: u16,
    pub(super) receive: Receive,
}
