//! Networks: who carries messages, and when they arrive.

use super::queue::{Moment, Queue};

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

/// What carries messages: a model of a machine's network.
pub trait Network {
    /// What happens inside.
    type Event: Copy;

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
