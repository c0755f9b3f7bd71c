//! Networks: who carries messages, when they arrive, and what processors have to do for it.

use super::links::{Link, Watch};
use super::observer::Observer;
use super::queue::{Moment, Queue};
use super::time::Linear;
use crate::machine::Fabric;
use alloc::vec::Vec;

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
    /// What it is.
    pub kind: Kind,
    /// The number of the message whose packets leave this one behind where they pass, if it is such a copy.
    pub carrier: Option<u32>,
    /// The port (rail) that the operation asks for; told to networks that go by tasks.
    pub port: u8,
    /// Whether ranks agree by it on an algorithm ([`AGREEMENT_CHANNEL`](crate::schedule::AGREEMENT_CHANNEL)): then it is one of the
    /// machine's message-passing software, whatever the algorithm's others are.
    pub agreement: bool,
    /// Whether its receiver sends one to its sender in the same step; told to networks that tell such exchanges apart.
    pub exchanged: bool,
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
    /// Whether the peer sends at once what it receives, or receives what it sends; told to networks that tell such exchanges apart.
    pub exchanged: bool,
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
    /// Combines an operand with what has just come from a rank.
    Combine {
        /// That rank; the work itself is this rank's alone.
        from: u32,
        /// The length of an operand.
        bytes: u64,
    },
}

impl Work {
    /// The other rank that it has to do with, if there is one.
    #[must_use]
    pub fn peer(self) -> Option<u32> {
        match self {
            Work::Send { to, .. } | Work::Put { to, .. } | Work::Notify { to } => Some(to),
            Work::Get { from, .. } | Work::Receive { from, .. } => Some(from),
            Work::Copy { .. } | Work::Reduce { .. } | Work::Combine { .. } => None,
        }
    }

    /// The length of what it is about, in bytes.
    #[must_use]
    pub fn bytes(self) -> u64 {
        match self {
            Work::Notify { .. } => 0,
            Work::Send { bytes, .. }
            | Work::Put { bytes, .. }
            | Work::Get { bytes, .. }
            | Work::Receive { bytes, .. }
            | Work::Copy { bytes }
            | Work::Reduce { bytes }
            | Work::Combine { bytes, .. } => bytes,
        }
    }
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
            Work::Reduce { bytes } | Work::Combine { bytes, .. } => self.reduce.of(bytes),
        }
    }
}

/// What a message is, for networks that carry some in other ways than others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// What a rank sends and another receives.
    Message,
    /// What a rank writes into another's window.
    Put,
    /// That a rank asks for a part of another's window.
    Request,
    /// That part.
    Answer,
    /// A notification.
    Notice,
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

    /// Whether it goes by tasks: what a processor's work takes depends on what others do, on ports, or on how data lie.
    const GOES_BY_TASKS: bool = false;

    /// Whether it goes by tasks, and what two ranks exchange takes other times than what goes one way.
    const TELLS_EXCHANGES: bool = false;

    /// How long the processor of `rank` is busy with `work`, in picoseconds.
    fn takes_ps(&self, rank: u32, work: Work) -> u64;

    /// The same for a task that starts now, or will when the processor is free; asked of networks that go by tasks.
    fn busy_ps(&mut self, rank: u32, task: Task) -> u64 {
        self.takes_ps(rank, task.work)
    }

    /// Whether packets can leave copies at the nodes that they pass (B 3.1's deposit bit). Where they cannot, such copies are
    /// messages like others, and [`Envelope::carrier`] is never said.
    fn deposits(&self) -> bool {
        false
    }

    /// How long a meeting of all ranks in `fabric` takes, with `bytes` bytes of data from each, which are `converted` to
    /// fixed point and back or not, from the moment at which the last that gives has come, in picoseconds; `None` where
    /// there is no such hardware. The processors are busy with it.
    fn meeting_ps(&self, fabric: Fabric, bytes: u64, converted: bool) -> Option<u64> {
        let _ = (fabric, bytes, converted);
        None
    }

    /// A rank posts a receive from `from`; for networks whose processors look through posted receives.
    #[inline]
    fn posted(&mut self, _rank: u32, _from: u32) {}

    /// When the processor of `rank` is free, if the network keeps that itself, since packets take of its time too.
    #[inline]
    fn free_ps(&mut self, _rank: u32) -> Option<&mut Moment> {
        None
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

    /// An event of the network will happen soon: tells the observer ([`Observer::soon`]) what memory it will need. It is asked
    /// three times, with `stage` 0, 1 and 2; what it told before is most often there when it is asked again.
    #[inline]
    fn look_at<O: Observer>(&self, event: Self::Event, stage: usize) {
        let _ = (event, stage);
    }

    /// A rank will go on soon: the same of what the network keeps of it.
    #[inline]
    fn look_at_rank<O: Observer>(&self, rank: u32) {
        let _ = rank;
    }

    /// Something that the network has put into the queue happens.
    fn happen(&mut self, event: Self::Event, queue: &mut Queue<Event<Self::Event>>);

    /// Has the network note what its links do from now on; does nothing where there is nothing to note.
    fn watch(&mut self, watch: Watch) {
        let _ = watch;
    }

    /// What its links did since it was watched, in an order of its own.
    fn links(&self) -> Vec<Link> {
        Vec::new()
    }
}
