//! Credit: how many messages, and bytes of them, may be on their way to a receiver that has not asked for them.
//!
//! A short message goes as it is while there is credit for its bytes; otherwise it is announced, as a long one, and its bytes stay
//! with the sender until a receive has met it. What is announced takes credit, too: so what a rank keeps for others is bounded.
//! Credit comes back when a message meets its receive. Both sides count from the start of the communicator, so that what is
//! told twice, or late, is not counted twice.

/// Messages from one rank to another that have met no receive.
pub(crate) const MESSAGES_MOST: u64 = 4096;
/// Bytes of such messages that have gone to the receiver.
pub(crate) const BYTES_MOST: u64 = 64 << 10;

/// A number of messages, and of bytes that went with them, since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Total {
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
}

impl Total {
    fn add(&mut self, bytes: usize) {
        self.messages += 1;
        self.bytes += bytes as u64;
    }
}

/// What a sender knows of one receiver.
#[derive(Debug, Default)]
pub(crate) struct SendCredit {
    sent: Total,
    returned: Total,
}

impl SendCredit {
    /// Whether one more message may be announced.
    pub(crate) fn admits(&self) -> bool {
        self.sent.messages - self.returned.messages < MESSAGES_MOST
    }

    /// Whether one more message may go with so many bytes.
    pub(crate) fn admits_bytes(&self, bytes: usize) -> bool {
        self.admits() && self.sent.bytes - self.returned.bytes + bytes as u64 <= BYTES_MOST
    }

    /// A message has gone with so many bytes; with none if it was announced.
    pub(crate) fn send(&mut self, bytes: usize) {
        self.sent.add(bytes);
    }

    /// The receiver says what it has returned; more than was sent is not believed.
    pub(crate) fn learn(&mut self, returned: Total) {
        let (known, sent) = (&mut self.returned, &self.sent);
        known.messages = known.messages.max(returned.messages).min(sent.messages);
        known.bytes = known.bytes.max(returned.bytes).min(sent.bytes);
    }
}

/// What a receiver counts for one sender.
#[derive(Debug, Default)]
pub(crate) struct ReceiveCredit {
    returned: Total,
    told: Total,
}

impl ReceiveCredit {
    /// A message that came with so many bytes has met its receive; what has been returned now.
    pub(crate) fn give_back(&mut self, bytes: usize) -> Total {
        self.returned.add(bytes);
        self.returned
    }

    /// What the sender is told now, with a message that goes there anyway.
    pub(crate) fn tell(&mut self) -> Total {
        self.told = self.returned;
        self.told
    }

    /// Whether so much was returned that the sender is to be told at once, lest it wait.
    pub(crate) fn is_due(&self) -> bool {
        self.returned.messages - self.told.messages >= MESSAGES_MOST / 2
            || self.returned.bytes - self.told.bytes >= BYTES_MOST / 4
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn credit_is_used_up_and_comes_back() {
        let (mut sender, mut receiver) = (SendCredit::default(), ReceiveCredit::default());
        let bytes = BYTES_MOST as usize / 4;
        for _ in 0..4 {
            assert!(sender.admits_bytes(bytes) && !receiver.is_due());
            sender.send(bytes);
        }
        assert!(!sender.admits_bytes(1) && sender.admits_bytes(0) && sender.admits());
        let first = receiver.give_back(bytes);
        assert!(receiver.is_due());
        assert_eq!(receiver.tell(), first);
        assert!(!receiver.is_due());
        sender.learn(first);
        assert!(sender.admits_bytes(bytes) && !sender.admits_bytes(bytes + 1));
        // An old word changes nothing.
        let second = receiver.give_back(bytes);
        sender.learn(second);
        sender.learn(first);
        assert!(sender.admits_bytes(2 * bytes));
    }

    #[test]
    fn so_many_are_announced_and_no_more() {
        let mut sender = SendCredit::default();
        for _ in 0..MESSAGES_MOST {
            assert!(sender.admits());
            sender.send(0);
        }
        assert!(!sender.admits() && !sender.admits_bytes(0));
        sender.learn(Total {
            messages: 1,
            bytes: 1 << 40,
        });
        assert!(sender.admits_bytes(BYTES_MOST as usize));
        sender.learn(Total {
            messages: u64::MAX,
            bytes: 0,
        });
        sender.send(7);
        assert!(sender.admits());
    }
}
