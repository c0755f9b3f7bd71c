//! Stripes: how a long message is cut over rails and connections, and which parts of one have come.
//!
//! What is left of a message is thought to be shared out so that all rails are done at once, by what each still carries and by its
//! measured rate, and only the next part is cut. So a rail that is half as fast gets half as much, one that stands still
//! gets nothing more, and the last parts wait for no slow rail.

/// What a rate is at least, by that of the fastest: so that a slow rail gets a part of a long message now and then, and is measured anew.
const MOST_RATIO: f64 = 1024.0;
/// Rates count as equal that differ by less than this: so much they are off at times.
const EQUAL: f64 = 0.85;
/// What a further part costs both ends, about, in seconds: a message is not cut that gains less.
const PART_S: f64 = 5e-6;
/// Connections of one rail gain less than rails: parts that are cut for them are this many times as long as they may be at least.
const LEAST_PARTS: u64 = 16;
/// How much may be under way over a connection: until its rail's rate is known, afterwards at least, and in seconds.
const FIRST_ROOM_BYTES: u64 = 128 << 10;
const LEAST_ROOM_BYTES: u64 = 512 << 10;
const ROOM_S: f64 = 20e-3;

/// One way a part could go: a rail, by the connection that is done first of those over it.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    /// The connection, and what is under way there.
    pub connection: u32,
    /// See `connection`.
    pub own_bytes: u64,
    /// What is under way over the rail, to whomever.
    pub backlog_bytes: u64,
    /// The rail's rate, if anything is known of it.
    pub bytes_per_s: Option<f64>,
    /// Whether it was measured; else it is the least that the rail does.
    pub is_measured: bool,
}

impl Way {
    /// How much more may be under way here.
    #[must_use]
    pub fn room_bytes(&self) -> u64 {
        let most = match self.bytes_per_s {
            None => FIRST_ROOM_BYTES,
            Some(rate) => LEAST_ROOM_BYTES.max((rate * ROOM_S) as u64),
        };
        most.saturating_sub(self.own_bytes)
    }
}

/// What the fastest of these ways does in a second; one if no rate is known.
fn fastest(ways: &[Way]) -> f64 {
    let rates = ways.iter().filter_map(|way| way.bytes_per_s);
    let most = rates.fold(0.0, f64::max);
    if most > 0.0 { most } else { 1.0 }
}

/// The rate that a way counts with. One that was not measured counts as fast as the fastest.
fn rate(way: &Way, fastest: f64) -> f64 {
    let measured = way.bytes_per_s.filter(|_| way.is_measured);
    match measured.unwrap_or(fastest) / fastest {
        ratio if ratio >= EQUAL => fastest,
        ratio => ratio.max(1.0 / MOST_RATIO) * fastest,
    }
}

/// Which of these ways would be done first with `bytes` more bytes in one piece, and when; none if there is no way.
pub fn quickest(ways: &[Way], bytes: u64) -> Option<(usize, f64)> {
    let fastest = fastest(ways);
    let done = |way: &Way| (way.backlog_bytes + bytes) as f64 / rate(way, fastest);
    let all = ways.iter().map(done).enumerate();
    all.min_by(|one, other| one.1.total_cmp(&other.1))
}

/// Where the next part of a message goes of which so many bytes are left, and how long it is; none if no way has room. No part is
/// shorter than `least` but the last. Ways that get nothing are taken out.
pub fn next_part(ways: &mut Vec<Way>, bytes: u64, (least, most): (u64, u64)) -> Option<(u32, u64)> {
    // What has no room now may have when the rest is cut.
    let (whole, done_whole) = quickest(ways, bytes)?;
    let whole = ways[whole];
    let (fastest, is_known) = (
        fastest(ways),
        ways.iter().all(|way| way.bytes_per_s.is_some()),
    );
    let mut done = done_at_once(ways, bytes, fastest);
    while let Some(at) = least_share(ways, done, fastest, least) {
        ways.swap_remove(at);
        done = done_at_once(ways, bytes, fastest);
    }
    if ways.len() < 2 || is_known && done_whole - done < PART_S {
        let part = bytes.min(most).min(whole.room_bytes());
        return (part >= least.min(bytes)).then_some((whole.connection, part));
    }
    let begin = |way: &Way| way.backlog_bytes as f64 / rate(way, fastest);
    let part = |way: &Way| {
        let share = (done * rate(way, fastest) - way.backlog_bytes as f64) as u64;
        share.max(least).min(most).min(way.room_bytes()).min(bytes)
    };
    let with_room = ways.iter().filter(|way| part(way) >= least.min(bytes));
    let next = with_room.min_by(|one, other| begin(one).total_cmp(&begin(other)))?;
    Some((next.connection, part(next)))
}

/// When all of these ways are done at once, if none of them has more to do than that.
fn done_at_once(ways: &[Way], bytes: u64, fastest: f64) -> f64 {
    let all = bytes + ways.iter().map(|way| way.backlog_bytes).sum::<u64>();
    all as f64 / ways.iter().map(|way| rate(way, fastest)).sum::<f64>()
}

/// The way that would get the least, if that is not worth a part.
fn least_share(ways: &[Way], done: f64, fastest: f64, least: u64) -> Option<usize> {
    let share = |way: &Way| done * rate(way, fastest) - way.backlog_bytes as f64;
    let shares = ways.iter().map(share).enumerate();
    let (at, share) = shares.min_by(|one, other| one.1.total_cmp(&other.1))?;
    (share < least as f64 && ways.len() > 1).then_some(at)
}

/// How long the parts are at most in which a message of `bytes` bytes goes over so many connections: all of it, if it is short.
#[must_use]
pub fn part_bytes(bytes: u64, connections: usize, (least, most): (u32, u32)) -> u64 {
    let (least, most) = (u64::from(least) * LEAST_PARTS, u64::from(most));
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

    /// All of them: where each begins, and ends.
    #[must_use]
    pub fn all(&self) -> &[(u64, u64)] {
        &self.all
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

    fn way(connection: u32, backlog_bytes: u64, bytes_per_s: Option<f64>) -> Way {
        Way {
            connection,
            own_bytes: 0,
            backlog_bytes,
            bytes_per_s,
            is_measured: true,
        }
    }

    /// How much each way gets of a message.
    fn shared_out(mut ways: Vec<Way>, bytes: u64, (least, most): (u64, u64)) -> Vec<u64> {
        let mut got = vec![0; ways.len()];
        let mut left = bytes;
        while left > 0 {
            let (at, part) = next_part(&mut ways.clone(), left, (least, most)).unwrap();
            assert!(
                part <= most && (part >= least || part == left),
                "{part} of {left}"
            );
            got[at as usize] += part;
            ways[at as usize].backlog_bytes += part;
            left -= part;
        }
        got
    }

    #[test]
    fn all_ways_are_done_at_once() {
        let bounds = (4 << 10, 256 << 10);
        let even = |rates: &[f64]| {
            let all = (0..).zip(rates);
            all.map(|(at, rate)| way(at, 0, Some(*rate)))
                .collect::<Vec<Way>>()
        };
        for bytes in [32 << 10, 512 << 10, 5 << 20] {
            let got = shared_out(even(&[6e6, 3e6]), bytes, bounds);
            let right = bytes * 2 / 3;
            assert!(got[0].abs_diff(right) <= 16, "{bytes}: {got:?}");
        }
        assert_eq!(
            shared_out(even(&[6e6, 5.9e6]), 64 << 10, bounds),
            [32 << 10; 2]
        );
        // One that stands still gets nothing of what is short; one that is not known counts as fast as the fastest.
        assert_eq!(
            shared_out(even(&[6e6, 1.0]), 128 << 10, bounds),
            [128 << 10, 0]
        );
        let got = shared_out(vec![way(0, 0, Some(2e6)), way(1, 0, None)], 100_000, bounds);
        assert_eq!(got, [50_000; 2]);
        // What it does at least says nothing of a way but how fast others may be.
        let at_least = |rate| Way {
            is_measured: false,
            ..way(1, 0, Some(rate))
        };
        let got = shared_out(vec![way(0, 0, Some(6e6)), at_least(1e6)], 100_000, bounds);
        assert_eq!(got, [50_000; 2]);
        let got = shared_out(vec![way(0, 0, Some(3e6)), at_least(6e6)], 90_000, bounds);
        assert!(got[0].abs_diff(30_000) <= 16, "{got:?}");
        // What is there already counts.
        let ways = vec![way(0, 100_000, Some(2e6)), way(1, 0, Some(2e6))];
        assert_eq!(shared_out(ways.clone(), 100_000, bounds), [0, 100_000]);
        let got = shared_out(ways, 200_000, bounds);
        assert!(got[0].abs_diff(50_000) <= 16, "{got:?}");
    }

    #[test]
    fn a_message_is_cut_where_that_gains() {
        let bounds = (4 << 10, 256 << 10);
        let both = |rate| vec![way(0, 0, Some(rate)), way(1, 0, Some(rate))];
        assert_eq!(shared_out(both(1e10), 32 << 10, bounds), [32 << 10, 0]);
        assert_eq!(shared_out(both(1e10), 512 << 10, bounds), [256 << 10; 2]);
        assert_eq!(shared_out(both(1e7), 7 << 10, bounds), [7 << 10, 0]);
        assert_eq!(quickest(&[], 1), None);
        let ways = [way(0, 10, None), way(1, 0, None)];
        assert_eq!(quickest(&ways, 10).map(|(at, _)| at), Some(1));
    }

    #[test]
    fn no_more_is_under_way_than_there_is_room_for() {
        let full = |own_bytes, bytes_per_s| Way {
            own_bytes,
            ..way(0, own_bytes, bytes_per_s)
        };
        let next = |ways: &[Way]| next_part(&mut ways.to_vec(), 1 << 20, (4 << 10, 256 << 10));
        assert_eq!(next(&[full(FIRST_ROOM_BYTES, None); 2]), None);
        assert_eq!(
            next(&[full(LEAST_ROOM_BYTES - 5000, Some(1e6)); 2]),
            Some((0, 5000))
        );
        assert!(next(&[full(FIRST_ROOM_BYTES, Some(1e6)); 2]).is_some());
        let other = way(1, 0, Some(1e6));
        let [at, bytes] = next(&[full(LEAST_ROOM_BYTES, Some(1e6)), other])
            .map(|(at, bytes)| [u64::from(at), bytes])
            .unwrap();
        assert_eq!([at, bytes], [1, 256 << 10]);
    }

    #[test]
    fn parts_are_even_between_their_bounds() {
        let bounds = (50, 4000);
        for (bytes, connections, part) in [
            (0, 2, 1),
            (10, 2, 10),
            (1500, 2, 800),
            (6000, 2, 3000),
            (6000, 0, 4000),
            (100_000, 4, 4000),
        ] {
            assert_eq!(part_bytes(bytes, connections, bounds), part);
        }
    }
}
