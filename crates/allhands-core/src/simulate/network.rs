//! Networks: who carries messages, when they arrive, and what processors have to do for it.

use super::queue::{Moment, Queue};
use super::time::Linear;

/// A message as a network sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// Its number; no other message under way has it.
    pub number: u32,
    /// The sender.
    pub from: u32,
    /// The receiver.
    pub to: u32,
    /// Its length in bytes.
    pub bytes: u64,
    /// The port (rail) that the operation asks for.
    pub port: u8,
    /// What carries it.
    pub way: Way,
}

/// What carries a message, where a machine has more than one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// That of messages that are sent and received.
    Message,
    /// That of puts and gets.
    Window,
    /// That of flags.
    Flag,
}

/// Some work of a rank's processor, with what else machines may go by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// What it does.
    pub work: Work,
    /// When it starts.
    pub start_ps: Moment,
    /// In how many runs of bytes the data lie in the rank's own memory.
    pub runs: u32,
    /// The port (rail) that the operation asks for.
    pub port: u8,
}

/// What a rank's processor does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Sends a message.
    Send {
        /// The receiver.
        to: u32,
        /// Its length.
        bytes: u64,
    },
    /// Starts a put, of a plain or a combining one.
    Put {
        /// The rank whose window it is.
        to: u32,
        /// Its length.
        bytes: u64,
    },
    /// Starts a get, of a plain or a combining one.
    Get {
        /// The rank whose window it is.
        from: u32,
        /// Its length.
        bytes: u64,
    },
    /// Raises a flag of another rank.
    Notify {
        /// That rank.
        to: u32,
    },
    /// Takes in a message that is there.
    Receive {
        /// The sender.
        from: u32,
        /// Its length.
        bytes: u64,
    },
    /// Copies.
    Copy {
        /// So much.
        bytes: u64,
    },
    /// Combines two operands.
    Reduce {
        /// The length of one.
        bytes: u64,
    },
}

/// What a rank's processor takes for what it does, one thing after another, wherever the peer is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Processor {
    /// To send a message, to start a put or a get, or to notify: LogP's o on the sender.
    pub send: Linear,
    /// To receive one.
    pub receive: Linear,
    /// To copy.
    pub copy: Linear,
    /// To combine two operands, by the length of one.
    pub reduce: Linear,
}

impl Processor {
    /// How long it is busy with `work`, in picoseconds.
    #[inline]
    #[must_use]
    pub fn takes_ps(&self, work: Work) -> u64 {
        match work {
            Work::Send { bytes, .. } | Work::Put { bytes, .. } | Work::Get { bytes, .. } => {
                self.send.of(bytes)
            }
            Work::Notify { .. } => self.send.of(0),
            Work::Receive { bytes, .. } => self.receive.of(bytes),
            Work::Copy { bytes } => self.copy.of(bytes),
            Work::Reduce { bytes } => self.reduce.of(bytes),
        }
    }
}

/// Something that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<E> {
    /// A rank may go on.
    Wake(u32),
    /// All of a message has arrived.
    Arrived(u32),
    /// The sender of a message may use its memory again.
    Sent(u32),
    /// Something inside the network.
    Inside(E),
}

/// A model of a machine: what carries messages, and what processors take for their part.
pub trait Network {
    /// What happens inside.
    type Event: Copy;

    /// How long the processor of `rank` is busy with `work`, in picoseconds.
    fn takes_ps(&self, rank: u32, work: Work) -> u64;

    /// The same for a task that starts now, or will when the processor is free; for machines on which that depends on what
    /// others do, or on more than the work.
    fn busy_ps(&mut self, rank: u32, task: Task) -> u64 {
        self.takes_ps(rank, task.work)
    }

    /// Takes on a message that its sender has ready at `at_ps`, which may be later than now; says when the sender may use its
    /// memory again, if that is known, and otherwise puts [`Event::Sent`] into the queue for that.
    ///
    /// Messages between the same two ranks arrive in the order in which they were sent.
    fn send(
        &mut self,
        at_ps: Moment,
        message: Envelope,
        queue: &mut Queue<Event<Self::Event>>,
    ) -> Option<Moment>;

    /// Something that the network has put into the queue happens.
    fn happen(&mut self, event: Self::Event, queue: &mut Queue<Event<Self::Event>>);
}
