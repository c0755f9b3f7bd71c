//! What counts of all that two ranks with cores of their own have measured where ranks share cores.

use super::{GAIN_LEAST, LENGTHS, Measured, Pattern, Protocol, Protocols, Times, together};
use crate::transport::shm::queue::ring::MEDIUM_BYTES;

impl Protocols {
    /// What of it counts where ranks share cores: all of exchanges, which keep two cores busy either way, and for which messages that go
    /// one way a read of the sender's memory took less than two copies, even where two cores make these at the same time. What else
    /// two cores do together says nothing there.
    #[must_use]
    pub fn where_cores_are_shared(&self) -> Measured {
        let mut measured = Measured {
            one_way: 0,
            exchanged: self.measured().exchanged,
        };
        for times in self.times.iter().filter(|t| t.is_read_sooner()) {
            let measures = LENGTHS.iter().filter(|m| m.bytes == times.bytes);
            for class in measures.flat_map(|m| m.classes(times.pattern)) {
                measured.one_way = Measured::with(measured.one_way, *class, Protocol::Direct);
            }
        }
        measured.with_copies(self.copies.is_some_and(|copies| copies.ahead))
    }
}

impl Times {
    /// Whether it is of a message that goes one way and that a read of the sender's memory brings sooner than two copies.
    fn is_read_sooner(&self) -> bool {
        let of = |protocol| {
            let us = self.us.iter().find(|(measured, _)| *measured == protocol);
            us.map(|(_, us)| together(*us))
        };
        let (Some(direct_us), Some(bounce_us)) = (of(Protocol::Direct), of(Protocol::Bounce))
        else {
            return false;
        };
        let is_one_way = self.pattern == Pattern::OneWay && self.bytes > MEDIUM_BYTES;
        is_one_way && direct_us * GAIN_LEAST < bounce_us
    }
}
