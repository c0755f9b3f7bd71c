//! The trial: which of several ways of doing the same takes least, found out while it is done again and again.
//!
//! Each way is tried on a few, of which the last count; then the best is kept to until the next trial, which comes the later the more
//! often the best was the same.

use crate::transport::shm::tuning::{
    TRIAL_ASKED_MOST, TRIAL_COUNTED, TRIAL_PERIOD, TRIAL_PERIOD_MOST, TRIAL_SAMPLES_LEAST,
    TRIAL_TRIED,
};

/// The most ways of any kind.
const WAYS_MOST: usize = 6;

/// A way of doing something.
pub(crate) trait Tried: Copy + PartialEq + 'static {
    /// Its place among all ways of its kind, less than [`WAYS_MOST`].
    fn place(self) -> usize;

    /// What it costs in nanoseconds by the times of its trial, as one of the `ways` of which one was `chosen` before; none if these are
    /// too few.
    fn cost_ns(self, ways: &'static [Self], chosen: Option<Self>, times: &Times) -> Option<u64>;
}

/// What is known of a few ways.
#[derive(Clone, Debug)]
pub(crate) struct Trial<W: 'static> {
    pub(super) ways: &'static [W],
    /// Which of them is tried; as many as there are after the trial.
    pub(super) tried: usize,
    /// How many have come since that is tried, and how many of them in this way.
    asked: usize,
    /// See `asked`.
    came: usize,
    /// Whether there was a trial of which nothing follows yet.
    is_due: bool,
    /// How many have come in this period.
    pub(super) message: usize,
    /// How many come in it.
    pub(super) period: usize,
    /// None before the first trial.
    pub(super) chosen: Option<W>,
    /// Of each way.
    pub(super) times: [Times; WAYS_MOST],
}

/// The times of the last ones of a way.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Times {
    pub(super) all_ns: [u64; TRIAL_COUNTED],
    /// Of all.
    pub(super) count: usize,
}

impl<W: Tried> Trial<W> {
    /// One that begins after so many have come.
    pub(super) fn new(ways: &'static [W], late: usize) -> Trial<W> {
        let (tried, message) = match late {
            0 => (0, 0),
            late => (ways.len(), TRIAL_PERIOD - late),
        };
        Trial {
            ways,
            tried,
            asked: 0,
            came: 0,
            is_due: false,
            message,
            period: TRIAL_PERIOD,
            chosen: None,
            times: Default::default(),
        }
    }

    /// The way of the next one, and whether it is one on which a way is tried.
    pub(super) fn now(&self) -> (Option<W>, bool) {
        match self.ways.get(self.tried) {
            Some(way) => (Some(*way), true),
            None => (self.chosen, false),
        }
    }

    /// The same, and goes on to the one after it; whether the next one has come as it was wanted, which `is_as` says of a way.
    pub(super) fn next(&mut self, is_as: impl FnOnce(W) -> bool) -> ((Option<W>, bool), bool) {
        // The last one that is tried ends after it has begun.
        if std::mem::take(&mut self.is_due) {
            self.choose();
        }
        let now = self.now();
        let as_wanted = now.0.is_some_and(is_as);
        self.message += 1;
        if now.1 {
            self.asked += 1;
            self.came += usize::from(as_wanted);
            // A sender that is ahead of its receiver hears late what is wanted, and some can never send so.
            if self.came == TRIAL_TRIED || self.asked == TRIAL_ASKED_MOST {
                (self.asked, self.came) = (0, 0);
                self.tried += 1;
                self.is_due = self.tried == self.ways.len();
            }
        } else if self.message >= self.period {
            (self.message, self.tried) = (0, 0);
        }
        (now, as_wanted)
    }

    /// Notes what one took.
    pub(super) fn note(&mut self, way: W, time_ns: u64) {
        self.times[way.place()].note(time_ns);
    }

    /// Chooses for the rest of the period, among those of which there are times enough.
    fn choose(&mut self) {
        let times = std::mem::take(&mut self.times);
        let cost_ns = |way: &W| {
            let cost_ns = way.cost_ns(self.ways, self.chosen, &times[way.place()]);
            Some((cost_ns?, *way))
        };
        let known = self.ways.iter().filter_map(cost_ns);
        if let Some((_, way)) = known.min_by_key(|(cost_ns, _)| *cost_ns) {
            self.period = match self.chosen == Some(way) {
                true => TRIAL_PERIOD_MOST.min(2 * self.period),
                false => TRIAL_PERIOD,
            };
            self.chosen = Some(way);
        }
    }
}

impl Times {
    pub(super) fn note(&mut self, time_ns: u64) {
        self.all_ns[self.count % TRIAL_COUNTED] = time_ns;
        self.count += 1;
    }

    /// The middle one; of two, the lower or, if it is to be `sure`, the upper one.
    pub(super) fn middle_ns(mut self, sure: bool) -> Option<u64> {
        let count = self.count.min(TRIAL_COUNTED);
        let all = &mut self.all_ns[..count];
        all.sort_unstable();
        (count >= TRIAL_SAMPLES_LEAST).then(|| all[(count - usize::from(!sure)) / 2])
    }
}
