//! Lanes: tags of the network on which long messages go before their receiver has asked for them.
//!
//! A network gives the n-th message with a tag to the n-th receive with it, but messages are wanted in any order: so each that has
//! met no receive has a tag to itself. Who sends takes a lane that is free; it is free again when its message has been received, or
//! thrown away, at the other end, which tells that with whatever goes back. A lane changes its bit each time that it is taken, at one
//! end, and each time that it is given back, at the other: it is free while both bits are alike. So what is told says everything, and
//! it matters neither how often nor how late it is told.

/// What a sender knows of the lanes to one receiver.
#[derive(Debug, Default)]
pub(crate) struct SendLanes {
    taken: u64,
    given_back: u64,
}

impl SendLanes {
    /// A lane of the first `lanes` that is free.
    pub(crate) fn free(&self, lanes: u32) -> Option<u8> {
        let lane = (self.taken ^ self.given_back).trailing_ones();
        (lane < lanes).then_some(lane as u8)
    }

    /// A message goes on a lane that is free.
    pub(crate) fn take(&mut self, lane: u8) {
        self.taken ^= 1 << lane;
    }

    /// The receiver says what it has given back.
    pub(crate) fn learn(&mut self, given_back: u64) {
        self.given_back = given_back;
    }
}

/// What a receiver gives back of the lanes from one sender.
#[derive(Debug, Default)]
pub(crate) struct ReceiveLanes {
    given_back: u64,
    told: u64,
}

impl ReceiveLanes {
    /// The message on a lane is here, or nobody will look at it.
    pub(crate) fn give_back(&mut self, lane: u8) {
        self.given_back ^= 1 << lane;
    }

    /// What the sender is told now, with whatever goes there anyway.
    pub(crate) fn tell(&mut self) -> u64 {
        self.told = self.given_back;
        self.told
    }

    /// Whether so many of `lanes` were given back that the sender is to be told at once, lest it have none.
    pub(crate) fn is_due(&self, lanes: u32) -> bool {
        (self.given_back ^ self.told).count_ones() >= lanes.div_ceil(4)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::transport::endpoint::nodes::cluster::LANES;

    #[test]
    fn a_lane_is_taken_again_when_it_was_given_back_and_told() {
        let (mut sender, mut receiver) = (SendLanes::default(), ReceiveLanes::default());
        for round in 0..3 {
            for lane in 0..LANES as u8 {
                assert_eq!(sender.free(LANES), Some(lane), "round {round}");
                sender.take(lane);
            }
            assert_eq!(sender.free(LANES), None);
            receiver.give_back(17);
            assert_eq!(sender.free(LANES), None, "it was not told");
            let told = receiver.tell();
            sender.learn(told);
            assert_eq!(sender.free(LANES), Some(17));
            // Told again, it is free all the same, and taken it is not.
            sender.learn(told);
            sender.take(17);
            sender.learn(told);
            assert_eq!(sender.free(LANES), None);
            (0..LANES as u8).for_each(|lane| receiver.give_back(lane));
            sender.learn(receiver.tell());
        }
    }

    #[test]
    fn few_lanes_are_few() {
        let mut sender = SendLanes::default();
        assert_eq!(sender.free(0), None);
        sender.take(0);
        assert_eq!((sender.free(1), sender.free(2)), (None, Some(1)));
        let mut receiver = ReceiveLanes::default();
        assert!(!receiver.is_due(1));
        receiver.give_back(0);
        assert!(receiver.is_due(4) && !receiver.is_due(5));
        receiver.tell();
        assert!(!receiver.is_due(1));
    }
}
