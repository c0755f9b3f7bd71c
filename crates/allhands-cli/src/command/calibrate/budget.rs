//! The budget: how long each question may be measured, so that all of them end in time on any network.
//!
//! A question cannot be asked less than [`Least::Three`] times. How long that takes follows from a few round trips beforehand, and then
//! from what the same question took of shorter messages. What is left is shared among all that are to come; lengths for which nothing is left are not begun.

use super::bed::Question;
use crate::command::bench::cell::Least;
use allhands_core::algorithm::microbenchmark::{round_trip, turns};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// What there is time for.
#[derive(Debug)]
pub struct Budget {
    begin: Instant,
    seconds: f64,
    /// Seconds of the whole time that are kept for what is asked again.
    kept_s: f64,
    /// In how many memories each question is asked.
    memories: usize,
    to_come: Vec<Question>,
    /// So many more, which nobody has heard of yet, have a share kept for them.
    more: usize,
    /// What a round trip takes, in seconds, with all around it: by the peer and the length.
    trips: Vec<(Option<u32>, usize, f64)>,
    /// How wrong these are of a microbenchmark with a peer: of what is around its messages, and of these; at the last length at which
    /// it was measured.
    factors: BTreeMap<(&'static str, Option<u32>), [f64; 2]>,
}

impl Budget {
    /// Longer messages are left out where there is no time for them, but not these.
    pub const SHORT_BYTES: u64 = 1 << 10;
    /// The lengths that are tried first.
    const PROBES: [usize; 4] = [8, 4 << 10, 64 << 10, 1 << 20];
    /// Lengths between others of which there is something to find out, perhaps, and what is asked of each.
    const MORE: usize = 5 * 10;
    /// Of messages of which nobody knows yet, rather too much than too little: what is given away cannot be had again.
    const FACTORS: [f64; 2] = [1.0, 1.5];
    /// How much may be taken of one memory where there are several, as a part of all time.
    const PART_OF_MEMORIES: f64 = 0.6;

    /// So many seconds, of which some may have gone since the beginning.
    pub fn new(begin: Instant, seconds: f64) -> Budget {
        Budget {
            begin,
            seconds,
            kept_s: 0.0,
            memories: 1,
            to_come: Vec::new(),
            more: 0,
            trips: Vec::new(),
            factors: BTreeMap::new(),
        }
    }

    /// The same but for `kept_s` of these seconds, in which something is asked again.
    pub fn but_for(self, kept_s: f64) -> Budget {
        Budget {
            seconds: self.seconds - kept_s,
            kept_s,
            ..self
        }
    }

    /// All seconds.
    pub fn seconds(&self) -> f64 {
        self.seconds + self.kept_s
    }

    /// From now on there are `seconds`, for these questions.
    pub fn begin_again(&mut self, questions: Vec<Question>, seconds: f64) {
        (self.begin, self.seconds, self.kept_s) = (Instant::now(), seconds, 0.0);
        (self.to_come, self.more) = (questions, 0);
    }

    /// What tells how long questions take: round trips with each peer, from short ones to long ones.
    pub fn probes(questions: &[Question]) -> Vec<Question> {
        let mut probes: Vec<Question> = Vec::new();
        for question in questions.iter().filter(|one| is_round_trip(one)) {
            let has = |probe: &Question| probe.peer == question.peer;
            if !probes.iter().any(has) {
                probes.extend(Budget::PROBES.map(|bytes| Question {
                    many: 1,
                    bytes,
                    ..question.clone()
                }));
            }
        }
        probes
    }

    /// Whether a probe is worth what it takes, by what shorter ones have taken.
    pub fn is_cheap(&self, probe: &Question) -> bool {
        let mut shorter = self.trips.iter().rev().filter(|trip| trip.0 == probe.peer);
        let Some((_, bytes, seconds)) = shorter.next() else {
            return true;
        };
        let times = Least::One.iterations() as f64 * probe.bytes as f64 / *bytes as f64;
        // One that is short was mostly what is around it.
        *bytes < 1 << 10 || seconds * times < 0.05 * self.seconds
    }

    /// Learns what a probe has taken.
    pub fn probed(&mut self, probe: &Question, seconds: f64) {
        self.trips.push((probe.peer, probe.bytes, seconds));
    }

    /// Hears what is to come; in how many memories it had best be asked, of so many.
    pub fn expect(&mut self, questions: Vec<Question>, memories: usize) -> usize {
        self.to_come = questions;
        self.more = Budget::MORE;
        let one_s = self.least_s(|_| true);
        let fits = (Budget::PART_OF_MEMORIES * self.seconds / one_s) as usize;
        self.memories = fits.clamp(1, memories);
        self.memories
    }

    /// How long a question may take; it is no longer to come.
    pub fn next(&mut self, question: &Question) -> Duration {
        self.next_at(question, self.begin.elapsed().as_secs_f64())
    }

    pub(super) fn next_at(&mut self, question: &Question, elapsed_s: f64) -> Duration {
        match self.to_come.iter().position(|one| one == question) {
            Some(at) => drop(self.to_come.remove(at)),
            None => self.more = self.more.saturating_sub(1),
        }
        let own_s = self.of(question);
        let mut left_s = self.seconds - elapsed_s - own_s;
        // Of lengths for which there is no time nothing will be asked.
        let mut shares = 1;
        let mut is_all = true;
        for (_, (least_s, many)) in self.by_length() {
            if least_s > left_s {
                is_all = false;
                break;
            }
            left_s -= least_s;
            shares += many;
        }
        shares += if is_all { self.more } else { 0 };
        Duration::from_secs_f64(own_s + (left_s / shares as f64).max(0.0))
    }

    /// For each length what its questions that are to come take at least, in seconds, and how many they are.
    fn by_length(&self) -> BTreeMap<usize, (f64, usize)> {
        let mut lengths: BTreeMap<usize, (f64, usize)> = BTreeMap::new();
        for question in &self.to_come {
            let (least_s, many) = lengths.entry(question.bytes).or_default();
            *least_s += self.of(question);
            *many += 1;
        }
        lengths
    }

    /// Learns what a question has taken, asked so often.
    pub fn learn(&mut self, question: &Question, took: Duration, times: usize) {
        let [around_s, messages_s] = self.guess(question);
        let one_s = took.as_secs_f64() / times.max(1) as f64;
        let key = (question.name, question.peer);
        let factors = self.factors.entry(key).or_insert(Budget::FACTORS);
        if messages_s > around_s {
            factors[1] = ((one_s - factors[0] * around_s) / messages_s).max(0.1);
        } else if around_s > 0.0 {
            factors[0] = one_s / (around_s + messages_s);
        }
    }

    /// Whether there is time for all that is to come of messages of so many bytes, and of all that are shorter.
    pub fn has_time_for(&self, bytes: u64) -> bool {
        self.has_time_at(bytes, self.begin.elapsed().as_secs_f64())
    }

    pub(super) fn has_time_at(&self, bytes: u64, elapsed_s: f64) -> bool {
        elapsed_s + self.least_s(|one| one.bytes as u64 <= bytes) <= self.seconds
    }

    /// Whether there is time to ask more than was expected.
    pub fn has_time_for_more(&self, questions: &[Question]) -> bool {
        self.has_time_for_more_at(questions, self.begin.elapsed().as_secs_f64())
    }

    pub(super) fn has_time_for_more_at(&self, questions: &[Question], elapsed_s: f64) -> bool {
        let least_s: f64 = questions.iter().map(|one| self.of(one)).sum();
        elapsed_s + least_s + self.least_s(|_| true) <= self.seconds
    }

    /// In how many seconds everything could be asked, as far as one knows now.
    pub fn would_take_s(&self) -> f64 {
        self.would_take_at(self.begin.elapsed().as_secs_f64())
    }

    pub(super) fn would_take_at(&self, elapsed_s: f64) -> f64 {
        let least_s = elapsed_s + self.least_s(|_| true);
        least_s * 1.2 * self.seconds() / self.seconds
    }

    fn least_s(&self, is_of: impl Fn(&Question) -> bool) -> f64 {
        let these = self.to_come.iter().filter(|one| is_of(one));
        these.map(|one| self.of(one)).sum()
    }

    /// The least that a question takes, in seconds.
    fn of(&self, question: &Question) -> f64 {
        let factors = self.factors.get(&(question.name, question.peer));
        let [around, messages] = *factors.unwrap_or(&Budget::FACTORS);
        let [around_s, messages_s] = self.guess(question);
        let times = Least::Three.iterations() * self.memories;
        (around * around_s + messages * messages_s) * times as f64
    }

    /// What asking once takes, as the round trips say: what is around it, and its messages.
    fn guess(&self, question: &Question) -> [f64; 2] {
        let is_probed = |peer: &u32| self.trips.iter().any(|trip| trip.0 == Some(*peer));
        let probed = question.peer.filter(is_probed);
        let peer = probed.or_else(|| self.trips.last()?.0);
        let trips = self.trips.iter().filter(|trip| trip.0 == peer);
        let trips: Vec<(usize, f64)> = trips.map(|(_, bytes, s)| (*bytes, *s)).collect();
        let (Some(first), Some(last)) = (trips.first(), trips.last()) else {
            return [0.0; 2];
        };
        let after = trips.iter().position(|(bytes, _)| *bytes >= question.bytes);
        let trip_s = match after {
            Some(0) => first.1,
            Some(after) => {
                let [(short, few_s), (long, many_s)] = [trips[after - 1], trips[after]];
                let part = (question.bytes - short) as f64 / (long - short) as f64;
                few_s + part * (many_s - few_s)
            }
            None => last.1 * question.bytes as f64 / last.0 as f64,
        };
        let messages = match is_round_trip(question) {
            true => 2.0 * f64::from(question.many),
            // Two messages and two answers.
            false if question.name == turns::ALGORITHM.name => 4.0,
            false => f64::from(question.many).max(1.0),
        };
        let more_s = (trip_s - first.1).max(0.0) * messages / 2.0;
        match question.peer {
            Some(_) => [first.1, more_s],
            // What one does alone goes over no network.
            None => [first.1, 0.0],
        }
    }
}

fn is_round_trip(question: &Question) -> bool {
    question.name == round_trip::ALGORITHM.name
}
