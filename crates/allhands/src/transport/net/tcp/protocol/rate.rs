//! The rate: what a rail carries in a second, as what the other ends' systems acknowledge shows it.

use std::time::Duration;

/// The least time in which a rate is measured, and in how many steps: shorter ones show how acknowledgements bunch up.
const MEASURED_FOR: Duration = Duration::from_micros(500);
const STEPS: u32 = 4;
/// At the end of what was to be sent fewer will do.
const LAST_STEPS: u32 = 2;

/// What was measured in so long counts as much as all that was before. Rails that are busy at the same time forget at the same time,
/// however much each carries: what changes for all of them alike does not change what each gets of a message.
const REMEMBERED_FOR: Duration = Duration::from_millis(100);

/// A measured rate: from one acknowledgement to a later one, as long as so much was under way after the first that the rail was
/// busy until the second. A rail that has nothing more under way at the next look was done before that, nobody knows when: it is as
/// fast at least as if it had just been, which is all that is known of one that is fast and carries little.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rate {
    bytes_per_s: Option<f64>,
    /// In how long that was measured, as far as it counts.
    known: Duration,
    /// Since when it has been busy, and when something was acknowledged last.
    since: Option<Duration>,
    last: Duration,
    acknowledged: u64,
    steps: u32,
    busy: Option<Busy>,
}

/// A time in which a rail has much under way.
#[derive(Clone, Copy, Debug)]
struct Busy {
    /// When it was given that.
    since: Duration,
    /// What was acknowledged after that.
    acknowledged: u64,
    /// What it had been given before: it may have been done with that already, without this rank having looked.
    before: u64,
}

impl Rate {
    /// Says that so much is under way that the rail is busy, if it was not before, of which it had been given so many bytes earlier.
    pub fn begin(&mut self, now: Duration, before: u64) {
        self.busy.get_or_insert(Busy {
            since: now,
            acknowledged: 0,
            before,
        });
    }

    /// Says that so many bytes were acknowledged, and whether the rail stays busy with others.
    pub fn acknowledge(&mut self, now: Duration, bytes: u64, is_busy: bool) {
        if bytes == 0 && is_busy {
            return;
        }
        if let Some(busy) = &mut self.busy {
            busy.acknowledged += bytes;
        }
        if let Some(since) = self.since {
            // A rail that is done was so before now, nobody knows when: what came last says nothing.
            if is_busy {
                self.acknowledged += bytes;
                self.steps += u32::from(bytes > 0 && now > self.last);
                self.last = now;
            }
            let taken = self.last.saturating_sub(since);
            let steps = if is_busy { STEPS } else { LAST_STEPS };
            let is_enough = taken >= MEASURED_FOR && self.steps >= steps;
            if is_enough {
                self.learn(self.acknowledged, taken);
            } else if is_busy {
                return;
            }
        }
        if !is_busy {
            self.end(now);
        }
        let begins = is_busy && bytes > 0;
        (self.since, self.last) = (begins.then_some(now), now);
        (self.acknowledged, self.steps) = (0, 0);
    }

    /// Takes the time in which the rail was busy for what it took at most.
    fn end(&mut self, now: Duration) {
        let Some(busy) = self.busy.take() else {
            return;
        };
        let bytes = busy.acknowledged.saturating_sub(busy.before);
        let least = bytes as f64 / now.saturating_sub(busy.since).as_secs_f64();
        if least.is_finite() && self.bytes_per_s.is_none_or(|known| known < least) {
            self.bytes_per_s = Some(least);
        }
    }

    /// All that counts, by the time that all of it took: where several ranks share a rail its rate goes up and down for each of them,
    /// and a mean by bytes would be that of the good times, in which most is carried.
    fn learn(&mut self, bytes: u64, taken: Duration) {
        let before = self.bytes_per_s.unwrap_or_default() * self.known.as_secs_f64();
        let all = (self.known + taken).as_secs_f64();
        self.bytes_per_s = Some((before + bytes as f64) / all);
        self.known = (self.known + taken).min(REMEMBERED_FOR);
    }

    /// Bytes a second, if anything is known of that: as they were measured, or else at least.
    #[must_use]
    pub fn bytes_per_s(&self) -> Option<f64> {
        self.bytes_per_s
    }

    /// Whether they were measured while the rail was busy, so that it does no more either.
    #[must_use]
    pub fn is_measured(&self) -> bool {
        !self.known.is_zero()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_rate_is_measured_while_the_rail_is_busy() {
        let mut rate = Rate::default();
        // What comes at once, or in too few steps, says nothing.
        rate.acknowledge(100 * MS, 500, true);
        rate.acknowledge(100 * MS, 500, true);
        rate.acknowledge(101 * MS, 500, false);
        assert_eq!(rate.bytes_per_s(), None);
        for ms in 200..204 {
            rate.acknowledge(ms * MS, 1000, true);
            rate.acknowledge(ms * MS, 0, true);
        }
        assert_eq!(rate.bytes_per_s(), None);
        rate.acknowledge(204 * MS, 1000, true);
        assert_eq!(rate.bytes_per_s(), Some(1e6));
        // Nobody knows what it did while nothing was under way.
        rate.acknowledge(205 * MS, 1000, false);
        rate.acknowledge(500 * MS, 3000, true);
        rate.acknowledge(501 * MS, 3000, true);
        rate.acknowledge(502 * MS, 3000, true);
        // It was done before that.
        rate.acknowledge(700 * MS, 1000, false);
        let both = rate.bytes_per_s().unwrap_or_default();
        assert!((both - 10_000.0 / 6e-3).abs() < 1.0, "{both}");
    }

    #[test]
    fn a_rail_that_is_done_at_the_next_look_is_as_fast_as_that_at_least() {
        let mut rate = Rate::default();
        let mut burst = |ms: u32, bytes: u64, taken_ms: u32| {
            rate.begin(ms * MS, 0);
            rate.acknowledge((ms + taken_ms) * MS, bytes, false);
            rate.bytes_per_s()
        };
        assert_eq!(burst(100, 100_000, 2), Some(5e7));
        assert_eq!(burst(200, 100_000, 4), Some(5e7), "it slept for longer");
        assert_eq!(burst(300, 400_000, 4), Some(1e8));
        // What is measured while it is busy is what it does.
        for ms in 400..500 {
            rate.acknowledge(ms * MS, 80_000, true);
        }
        rate.acknowledge(500 * MS, 80_000, false);
        let measured = rate.bytes_per_s().unwrap_or_default();
        assert!((measured - 8e7).abs() < 1.0, "{measured}");
    }

    #[test]
    fn what_may_have_been_done_before_shows_no_rate() {
        let mut rate = Rate::default();
        let mut burst = |ms: u32, before: u64, given: u64| {
            rate.begin(ms * MS, before);
            rate.acknowledge((ms + 1) * MS, before + given, false);
            rate.bytes_per_s()
        };
        assert_eq!(burst(100, 15_000, 2_000), Some(2e6));
        assert_eq!(burst(200, 100_000, 1_000), Some(2e6));
        assert_eq!(burst(300, 0, 5_000), Some(5e6));
    }

    #[test]
    fn a_rail_of_which_only_the_least_was_known_has_the_rate_that_is_measured() {
        let mut rate = Rate::default();
        rate.begin(100 * MS, 5_000);
        rate.acknowledge(101 * MS, 5_000, false);
        assert_eq!(rate.bytes_per_s(), Some(0.0));
        for ms in 200..205 {
            rate.acknowledge(ms * MS, 1000, true);
        }
        assert_eq!(rate.bytes_per_s(), Some(1e6));
    }

    #[test]
    fn a_rate_that_goes_up_and_down_is_what_is_carried_in_all_that_time() {
        let mut rate = Rate::default();
        let mut now = Duration::ZERO;
        for at in 0..400 {
            rate.acknowledge(now, 9000, true);
            let is_good = (at / STEPS).is_multiple_of(2);
            now += if is_good { MS } else { 9 * MS };
        }
        let carried = rate.bytes_per_s().unwrap_or_default();
        assert!((1.5e6..2.1e6).contains(&carried), "{carried}");
    }

    #[test]
    fn rails_that_are_shared_with_others_from_now_on_keep_their_ratio() {
        let mut rates = [Rate::default(); 2];
        let mut now = Duration::ZERO;
        for (looks, bytes) in [(1000, 6000), (37, 900)] {
            for _ in 0..looks {
                rates[0].acknowledge(now, bytes, true);
                rates[1].acknowledge(now, bytes / 2, true);
                now += MS;
            }
            let [one, other] = rates.map(|rate| rate.bytes_per_s().unwrap_or_default());
            assert!((one / other - 2.0).abs() < 0.01, "{one} and {other}");
        }
    }

    #[test]
    fn a_rate_follows_what_becomes_of_the_rail() {
        let mut rate = Rate::default();
        let measured = |rate: &mut Rate, bytes: u64, ms: u32| {
            for at in 0..ms {
                rate.acknowledge(at * MS, bytes, true);
            }
            rate.acknowledge(ms * MS, bytes, false);
            rate.bytes_per_s().unwrap_or_default()
        };
        assert!((measured(&mut rate, 10_000, 1000) - 1e7).abs() < 1.0);
        let soon = measured(&mut rate, 5000, 100);
        assert!((6e6..8.5e6).contains(&soon), "{soon}");
        assert!(measured(&mut rate, 5000, 2000) < 5.1e6);
    }
}
