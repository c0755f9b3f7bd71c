//! Counts: what has happened in simulated worlds, so that nothing is tried in vain.

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Sent,
    Received,
    TooLong,
    Differs,
    TakenBack,
    Failed,
    Heard,
    Cut,
    HalfCut,
    Death,
    Vanished,
    Hung,
    Nap,
    Stranger,
    Unreached,
    Lost,
    Resent,
    Unexpected,
    Moved,
    MovedAmidCuts,
    Waited,
    Put,
    PutTakenBack,
    PutFailed,
    Raised,
    Withdrawn,
    Refused,
}

const EVENTS: usize = Event::Refused as usize + 1;

/// How often everything has happened, and in how many worlds.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    events: [u64; EVENTS],
    worlds: [u64; EVENTS],
}

impl Counts {
    pub fn add(&mut self, event: Event, times: u64) {
        self.events[event as usize] += times;
    }

    /// Adds those of one world.
    pub fn add_world(&mut self, world: &Counts) {
        for (at, times) in world.events.iter().enumerate() {
            self.events[at] += times;
            self.worlds[at] += u64::from(*times > 0);
        }
    }

    /// Whether everything has happened in so many worlds at least.
    pub fn has_all(&self, worlds: u64) -> bool {
        self.worlds.iter().all(|seen| *seen >= worlds)
    }

    pub fn events(&self, event: Event) -> u64 {
        self.events[event as usize]
    }
}
