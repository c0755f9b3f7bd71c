//! Stripes: how a long message is cut over connections, and which parts of one have come.
//!
//! A part goes to the connection that would be done with it first, by what it has not acknowledged yet and by its measured
//! rate: so a rail that is half as fast gets half as much, and one that stands still gets nothing more.

use std::time::Duration;

/// The least time in which a rate is measured: shorter ones show how acknowledgements bunch up.
const MEASURED_FOR: Duration = Duration::from_micros(500);

/// What a new measurement counts for.
const NEW: f64 = 0.25;

/// A connection slower than the fastest by more than this gets a part now and then all the same, so that it is measured anew.
const MOST_RATIO: f64 = 64.0;

/// The measured rate of a connection: from one acknowledgement to the next, as long as so much was under way after the first
/// that the connection was busy until the second.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rate {
    bytes_per_s: Option<f64>,
    /// Since when it has been busy.
    since: Option<Duration>,
    acknowledged: u64,
}

impl Rate {
    /// Says that so many bytes were acknowledged, and whether the connection stays busy with others.
    pub fn acknowledge(&mut self, now: Duration, bytes: u64, is_busy: bool) {
        if let Some(since) = self.since {
            self.acknowledged += bytes;
            let taken = now.saturating_sub(since);
            if is_busy && taken < MEASURED_FOR {
                return;
            }
            if taken >= MEASURED_FOR {
                let measured = self.acknowledged as f64 / taken.as_secs_f64();
                let before = self.bytes_per_s.unwrap_or(measured);
                self.bytes_per_s = Some(before + NEW * (measured - before));
            }
        }
        (self.since, self.acknowledged) = (is_busy.then_some(now), 0);
    }

    /// Bytes a second, if that was measured.
    #[must_use]
    pub fn bytes_per_s(&self) -> Option<f64> {
        self.bytes_per_s
    }
}

/// One way a part could go.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    /// The bytes that are under way there.
    pub backlog_bytes: u64,
    /// Its measured rate.
    pub bytes_per_s: Option<f64>,
}

/// Which of these ways would be done first with `bytes` more bytes; none if there is no way. One that was not measured counts as
/// fast as the fastest.
pub fn quickest(ways: impl Iterator<Item = Way> + Clone, bytes: u64) -> Option<usize> {
    let rates = ways.clone().filter_map(|way| way.bytes_per_s);
    let most = rates.fold(0.0, f64::max);
    let taken = |way: Way| {
        let rate = match way.bytes_per_s {
            Some(rate) if most > 0.0 => (rate / most).max(1.0 / MOST_RATIO),
            _ => 1.0,
        };
        (way.backlog_bytes + bytes) as f64 / rate
    };
    let mut best: Option<(usize, f64)> = None;
    for (at, taken) in ways.map(taken).enumerate() {
        if best.is_none_or(|(_, least)| taken < least) {
            best = Some((at, taken));
        }
    }
    best.map(|(at, _)| at)
}

/// How long the parts are in which a message of `bytes` bytes goes over so many connections: all of it, if it is short.
#[must_use]
pub fn part_bytes(bytes: u64, connections: usize, (least, most): (u32, u32)) -> u64 {
    let (least, most) = (u64::from(least), u64::from(most));
    let even = bytes.div_ceil(connections.max(1) as u64);
    even.max(least).min(most).min(bytes.max(1))
}

/// For how many extents memory is kept that has been used.
const MOST_KEPT: usize = 64;

/// What has come of something that comes in parts, in any order: extents that do not touch one another, in their order.
#[derive(Clone, Debug, Default)]
pub struct Extents {
    all: Vec<(u64, u64)>,
}

impl Extents {
    /// Adds an extent that is not empty; whether any of it is new.
    pub fn insert(&mut self, begin: u64, end: u64) -> bool {
        let first = self.all.partition_point(|(_, before)| *before < begin);
        let rest = &self.all[first..];
        let touching = rest.iter().take_while(|(start, _)| *start <= end).count();
        if touching == 0 {
            self.all.insert(first, (begin, end));
            return begin < end;
        }
        let touched = &self.all[first..first + touching];
        let is_new = !touched.iter().any(|(s, e)| *s <= begin && end <= *e);
        let begin = begin.min(touched[0].0);
        let end = end.max(touched[touching - 1].1);
        self.all[first] = (begin, end);
        self.all.drain(first + 1..first + touching);
        is_new
    }

    /// Whether all of an extent is there.
    #[must_use]
    pub fn covers(&self, begin: u64, end: u64) -> bool {
        let at = self.all.partition_point(|(_, before)| *before < end);
        begin == end || self.all.get(at).is_some_and(|(start, _)| *start <= begin)
    }

    /// How many extents there are that do not touch one another.
    #[must_use]
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// Up to where everything is there.
    #[must_use]
    pub fn whole_to(&self) -> u64 {
        let first = self.all.first();
        first.map_or(0, |(begin, end)| if *begin == 0 { *end } else { 0 })
    }

    /// Forgets everything, but keeps its memory, if that is little.
    pub fn clear(&mut self) {
        self.all.clear();
        self.all.shrink_to(MOST_KEPT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_join_in_any_order() {
        let mut extents = Extents::default();
        for (begin, end, is_new) in [
            (10, 20, true),
            (30, 40, true),
            (12, 18, false),
            (0, 5, true),
            (20, 30, true),
            (10, 40, false),
            (5, 11, true),
            (40, 41, true),
            (0, 41, false),
        ] {
            assert_eq!(extents.insert(begin, end), is_new, "{begin}..{end}");
        }
        assert_eq!(extents.all, [(0, 41)]);
        assert_eq!((extents.count(), extents.whole_to()), (1, 41));
        assert!(extents.covers(0, 41) && !extents.covers(0, 42) && extents.covers(50, 50));
        extents.clear();
        assert!(!extents.covers(0, 1));
    }

    #[test]
    fn extents_are_as_a_list_of_bits_says() {
        let mut chance = 7u64;
        let mut random = |below: u64| {
            chance = chance.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (chance >> 33) % below
        };
        for _ in 0..500 {
            let (mut extents, mut bits) = (Extents::default(), [false; 64]);
            for _ in 0..20 {
                let begin = random(63);
                let end = begin + 1 + random(64 - begin - 1).min(7);
                let range = begin as usize..end as usize;
                let is_new = bits[range.clone()].iter().any(|bit| !bit);
                assert_eq!(extents.insert(begin, end), is_new);
                bits[range.clone()].fill(true);
                let (from, to) = (random(32), 33 + random(31));
                let all = bits[from as usize..to as usize].iter().all(|bit| *bit);
                assert_eq!(extents.covers(from, to), all, "{from}..{to} of {extents:?}");
            }
        }
    }

    #[test]
    fn a_slow_way_gets_less_and_a_new_one_as_much_as_the_fastest() {
        let mut ways = [(Some(2e6), 0u64), (Some(1e6), 0), (None, 0), (Some(1.0), 0)];
        for _ in 0..700 {
            let all = ways.iter().map(|(bytes_per_s, backlog_bytes)| Way {
                backlog_bytes: *backlog_bytes,
                bytes_per_s: *bytes_per_s,
            });
            let best = quickest(all, 1000).unwrap();
            ways[best].1 += 1000;
        }
        let got = ways.map(|(_, bytes)| bytes / 1000);
        assert!(
            got[0].abs_diff(2 * got[1]) <= 3 && got[0].abs_diff(got[2]) <= 1,
            "{got:?}"
        );
        assert!((3..=6).contains(&got[3]), "{got:?}");
        assert_eq!(quickest(std::iter::empty(), 1), None);
    }

    #[test]
    fn parts_are_even_between_their_bounds() {
        let bounds = (1000, 4000);
        for (bytes, connections, part) in [
            (0, 2, 1),
            (10, 2, 10),
            (1500, 2, 1000),
            (6000, 2, 3000),
            (6000, 0, 4000),
            (100_000, 4, 4000),
        ] {
            assert_eq!(part_bytes(bytes, connections, bounds), part);
        }
    }

    #[test]
    fn a_rate_is_measured_while_the_connection_is_busy() {
        let ms = Duration::from_millis;
        let mut rate = Rate::default();
        rate.acknowledge(ms(100), 500, true);
        assert_eq!(rate.bytes_per_s(), None);
        rate.acknowledge(ms(100), 500, true);
        rate.acknowledge(ms(101), 500, false);
        assert_eq!(rate.bytes_per_s(), Some(1e6));
        // Nobody knows what it did meanwhile.
        rate.acknowledge(ms(500), 3000, true);
        rate.acknowledge(ms(501), 3000, true);
        assert_eq!(rate.bytes_per_s(), Some(1.5e6));
    }
}
