//! Claims: what an algorithm's file says that it costs.

/// What an algorithm's file says that it costs; the verifier counts and compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claims {
    /// The most messages that a rank sends, or receives, at once.
    pub ports: u32,
    /// Rounds of messages from the first to the last.
    pub steps: u32,
    /// The most blocks that a rank sends, or receives (of `parts` in the vector, if it is cut).
    pub volume: u64,
    /// The most blocks that a rank reduces.
    pub work: u64,
}

impl Claims {
    /// Stands for the volume and work of an algorithm that claims neither, and its steps at most.
    pub const UNCLAIMED: u64 = u64::MAX;

    /// Marks a volume beside which the steps are a limit.
    const STEPS_AT_MOST: u64 = 1 << 63;

    /// The same volume and work, and steps that are a limit: because how much runs side by side is no simple formula.
    #[must_use]
    pub const fn with_steps_at_most(self) -> Claims {
        Claims {
            volume: self.volume | Self::STEPS_AT_MOST,
            ..self
        }
    }

    /// Whether the steps are a limit.
    #[must_use]
    pub const fn are_limits(&self) -> bool {
        self.volume & Self::STEPS_AT_MOST != 0
    }

    /// The volume, if it is claimed.
    #[must_use]
    pub fn claimed_volume(&self) -> Option<u64> {
        let claimed = self.volume != Self::UNCLAIMED;
        claimed.then_some(self.volume & !Self::STEPS_AT_MOST)
    }

    /// The work, if it is claimed.
    #[must_use]
    pub fn claimed_work(&self) -> Option<u64> {
        (self.work != Self::UNCLAIMED).then_some(self.work)
    }
}
