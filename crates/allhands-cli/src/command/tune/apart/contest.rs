//! The contest for a place between hosts: what is forecast to be near the best, by turns, and then the two that matter against each other.
//!
//! ```text
//! heats   4 rounds of all:  choice a b c │ choice a b c │ …      half of the time
//! final   rounds of two:  choice b │ choice b │ …                until it is clear which of them is faster, or the time is over
//! ```
//!
//! Finals of the same two at neighbouring lengths tell of one another: among hosts that share processors each of some short ones alone may
//! be unclear where all together are not.
//!
//! Who was the fastest of many by luck has to be so once more. Places are contested by turns, too: what disturbs the machine for some
//! seconds disturbs one round of each, rather than all rounds of one. Among thirteen hosts that shared two cores every algorithm of one
//! place took twice as long as of the next one.

use crate::command::bench::cell::{Among, By, Cell, Least};
use crate::command::paired::{self, Ratio, Runner};
use crate::{interrupt, names};
use allhands::policy::Compared;
use allhands_core::call::{Call, Collective};
use std::time::{Duration, Instant};

/// What is forecast to take so many times as long as the best is not measured, nor what is not among so many, and how many times its share
/// a place may take for that, by how many calls a round at least, if that is all for which there is time: the first that fits. Of short calls there are many: seven algorithms
/// for the allgather of 8 bytes among eight hosts do the same on a network by its forecast, and the one that suited processors best came
/// behind all of them.
const NEAR: [(f64, usize, f64, Least); 5] = [
    (2.0, 16, 0.5, Least::Three),
    (2.0, 8, 1.0, Least::Three),
    (1.3, 5, 2.0, Least::Three),
    (1.3, 2, 2.0, Least::Three),
    // Long calls are more alike.
    (1.3, 2, 2.0, Least::One),
];
/// Pieces that are no shorter are worth being tried.
const FINER_LEAST_BYTES: usize = 8 << 10;
/// What is faster by less than this part is as fast.
const MORE: f64 = 0.97;
const HEATS: usize = 4;
const FEWEST_FINAL_ROUNDS: usize = 4;
/// After so many it may be clear who is faster.
const TELLING_ROUNDS: usize = 6;
/// So many of all finals fit into the time.
const FINAL_ROUNDS: usize = 16;

/// What contends for a place.
pub(super) struct Contest {
    pub(super) bytes: usize,
    /// The forecast's choice, and what is forecast to be near it; as many runners, or none where nothing is measured.
    all: Vec<Compared>,
    runners: Vec<Runner>,
    /// The calls of a round.
    least: Least,
    /// Who meets the choice in the final, if anyone was faster.
    rival: Option<usize>,
    /// The choice and its rival there.
    last: Vec<Runner>,
    /// What the same two took in the finals of neighbouring lengths, and in this one.
    nearby: Vec<(f64, f64)>,
}

/// How a contest ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Outcome {
    /// Algorithms and their parameters, the best first, each with its microseconds if these were measured.
    pub(super) ranking: Vec<(String, String, Option<f64>)>,
    /// How many times as long the choice takes as its rival, and the interval of that.
    pub(super) ratio: [f64; 3],
}

impl Contest {
    /// The contest for calls of a length, which may take `share`; none where nothing is forecast.
    pub(super) fn new(
        (collective, bytes): (Collective, usize),
        compared: &[Compared],
        among: &Among,
        share: Duration,
    ) -> anyhow::Result<Option<Contest>> {
        let Some(chosen) = compared.iter().find(|compared| compared.chosen) else {
            return Ok(None);
        };
        let finer = finer((collective, bytes), chosen, among.comm.size() as u32);
        let (mut all, mut is_worth_it) = (Vec::new(), false);
        let mut calls = Least::Three;
        for (near, most, patience, least) in NEAR {
            all = proposed((compared, chosen, finer.as_ref()), (near, most));
            calls = least;
            let is_short = least_s(&all, least) <= patience * share.as_secs_f64();
            is_worth_it = paired::agreed(among, all.len() > 1 && is_short)?;
            if is_worth_it {
                break;
            }
        }
        let ranks = among.comm.size() as u32;
        let runner = |compared: &&Compared| -> anyhow::Result<Runner> {
            let (algorithm, _) = names::algorithm(collective, compared.algorithm)?;
            let cell = Cell::regular((algorithm, &compared.parameters), ranks, bytes);
            Ok(Runner::new(vec![cell], By::Name))
        };
        let runners = match is_worth_it {
            true => all.iter().map(runner).collect::<anyhow::Result<_>>()?,
            false => Vec::new(),
        };
        Ok(Some(Contest {
            bytes,
            all: all.into_iter().cloned().collect(),
            runners,
            least: calls,
            rival: None,
            last: Vec::new(),
            nearby: Vec::new(),
        }))
    }

    fn is_held(&self) -> bool {
        !self.runners.is_empty()
    }

    /// The fastest in the heats.
    fn fastest(&self) -> usize {
        let us = |at: &usize| self.runners[*at].us(0, 1);
        let all = 0..self.runners.len();
        all.min_by(|one, other| us(one).total_cmp(&us(other)))
            .unwrap_or(0)
    }

    /// Says who is in the final.
    fn find_rival(&mut self, among: &Among) -> anyhow::Result<()> {
        let fastest = paired::agreed_place(among, self.fastest())?;
        if fastest > 0 {
            self.rival = Some(fastest);
            let again = |at: usize| Runner::new(self.runners[at].calls.clone(), By::Name);
            self.last = vec![again(0), again(fastest)];
        }
        Ok(())
    }

    /// What the choice and its rival took in each round of the final.
    fn pairs(&self) -> Vec<(f64, f64)> {
        let [choice, rival] = &self.last[..] else {
            return Vec::new();
        };
        let pairs = choice.rounds_us.iter().zip(&rival.rounds_us);
        pairs.map(|(one, other)| (*one, *other)).collect()
    }

    /// How many times as long the choice takes as its rival.
    fn ratio(&self) -> anyhow::Result<Option<Ratio>> {
        let pairs = self.pairs();
        match pairs.is_empty() {
            true => Ok(None),
            false => paired::ratio(pairs.into_iter()).map(Some),
        }
    }

    /// Who is in the final, as they are typed.
    fn finalists(&self) -> Option<[String; 2]> {
        let name = |at: usize| names::typed(self.all[at].algorithm, &self.all[at].parameters);
        Some([name(0), name(self.rival?)])
    }

    /// Whether the choice's rival is faster here, measurably: in this final, or in those of all neighbouring lengths.
    fn is_beaten(&self, here: &Ratio) -> anyhow::Result<bool> {
        let is_clear = here.least > 1.0
            || !self.nearby.is_empty() && paired::ratio(self.nearby.iter().copied())?.least > 1.0;
        Ok(is_clear && here.middle * MORE >= 1.0)
    }

    /// Whether it is not clear yet which of the two is faster.
    fn is_open(&self) -> anyhow::Result<bool> {
        let ratio = self.ratio()?;
        Ok(ratio.is_some_and(|ratio| ratio.least <= 1.0 && ratio.most >= 1.0))
    }

    /// How it ended: the forecast's choice stays the first unless its rival is measurably faster in the final.
    pub(super) fn outcome(mut self, most: usize) -> anyhow::Result<Outcome> {
        let mut ratio = [1.0; 3];
        let mut first = 0;
        if let (Some(found), Some(rival)) = (self.ratio()?, self.rival) {
            ratio = [found.middle, found.least, found.most];
            if self.is_beaten(&found)? {
                first = rival;
            }
            for (at, met) in [0, rival].into_iter().zip(std::mem::take(&mut self.last)) {
                self.runners[at].rounds_us.extend(met.rounds_us);
            }
        }
        let us = |at: usize| self.runners.get(at).map(|runner| runner.us(0, 1));
        let measured = |at: &usize| us(*at).unwrap_or(f64::INFINITY);
        let mut order: Vec<usize> = (0..self.all.len()).collect();
        order.sort_by(|one, other| measured(one).total_cmp(&measured(other)));
        order.retain(|at| *at != first && self.is_held());
        order.insert(0, first);
        let entry = |at: usize| {
            let compared = &self.all[at];
            let name = compared.algorithm.to_string();
            (name, compared.parameters.clone(), us(at))
        };
        let ranking = order.into_iter().take(most).map(entry).collect();
        Ok(Outcome { ranking, ratio })
    }
}

/// Holds contests by turns, for about so long; whether to the end, as all ranks hear it.
pub(super) fn hold(
    contests: &mut [Contest],
    among: &mut Among,
    time: Duration,
) -> anyhow::Result<bool> {
    let begin = Instant::now();
    let mut held: Vec<&mut Contest> = contests.iter_mut().filter(|it| it.is_held()).collect();
    let share = time / 2 / held.len().max(1) as u32;
    for _ in 0..HEATS {
        for contest in &mut held {
            let each = (share / HEATS as u32, contest.least);
            paired::round(&mut contest.runners, among, each)?;
        }
        if !paired::agreed(among, !interrupt::is_asked())? {
            return Ok(false);
        }
    }
    for contest in &mut held {
        contest.find_rival(among)?;
    }
    held.retain(|contest| contest.rival.is_some());
    let share = time.saturating_sub(begin.elapsed()) / held.len().max(1) as u32;
    for at in 1.. {
        let goes_on = at <= FEWEST_FINAL_ROUNDS || begin.elapsed() < time;
        if held.is_empty() || !paired::agreed(among, goes_on)? {
            break;
        }
        for contest in &mut held {
            let each = (share / FINAL_ROUNDS as u32, contest.least);
            paired::round(&mut contest.last, among, each)?;
        }
        if !paired::agreed(among, !interrupt::is_asked())? {
            return Ok(false);
        }
        if at >= TELLING_ROUNDS {
            // The others have the time of those that are decided.
            let mut open = Vec::new();
            for contest in held {
                if paired::agreed(among, contest.is_open()?)? {
                    open.push(contest);
                }
            }
            held = open;
        }
    }
    Ok(true)
}

/// Has finals of the same two at neighbouring lengths know of one another; contests are of one collective, in the order of lengths.
pub(super) fn compare_nearby(contests: &mut [Contest]) {
    for alike in contests.chunk_by_mut(|one, other| one.finalists() == other.finalists()) {
        let all: Vec<(f64, f64)> = alike.iter().flat_map(Contest::pairs).collect();
        for contest in alike.iter_mut().filter(|contest| contest.rival.is_some()) {
            contest.nearby.clone_from(&all);
        }
    }
}

/// How many seconds the heats of all of these take at least.
fn least_s(all: &[&Compared], least: Least) -> f64 {
    let one_ns: f64 = all.iter().map(|one| one.time_ns).sum();
    one_ns * 1e-9 * (least.iterations() * HEATS) as f64
}

/// The choice in twice as many segments, if these are long. The forecast has each message keep processors for what it takes while all ranks
/// send, which are fewer in a chain: a scan of 1 MB among thirteen hosts that share two took 57 ms in 64, as forecast, and two of 512 KB took 54.
fn finer(
    (collective, bytes): (Collective, usize),
    chosen: &Compared,
    ranks: u32,
) -> Option<Compared> {
    let mut finer = None;
    let each = chosen.parameters.split(',').map(|one| {
        let segments = one.strip_prefix("segments=");
        let Some(many) = segments.and_then(|many| many.parse::<usize>().ok()) else {
            return one.to_string();
        };
        finer = (many > 1 && bytes / (2 * many) >= FINER_LEAST_BYTES).then_some(2 * many);
        format!("segments={}", 2 * many)
    });
    let parameters = each.collect::<Vec<_>>().join(",");
    finer?;
    let (algorithm, _) = names::algorithm(collective, chosen.algorithm).ok()?;
    let shape = algorithm.shape(Call::new(collective, ranks), &parameters);
    shape.ok().map(|_| Compared {
        parameters,
        chosen: false,
        ..chosen.clone()
    })
}

/// What deserves measuring: the forecast's choice, finer if that may do, its algorithm as it is by itself, and the best setting of each other algorithm that is near
/// it; others of their settings mostly do the same. More segments save time on the network and take it from processors: exscan of 32 KB
/// among eight hosts that share two took 9.0 ms by all-pairs in two segments, and 4.5 in one.
fn proposed<'a>(
    (compared, chosen, finer): (&'a [Compared], &'a Compared, Option<&'a Compared>),
    (near, most): (f64, usize),
) -> Vec<&'a Compared> {
    let mut all: Vec<&Compared> = std::iter::once(chosen).chain(finer).collect();
    for other in compared {
        let is_near = other.cost_ns <= near * chosen.cost_ns;
        let is_plain = other.algorithm == chosen.algorithm && other.parameters.is_empty();
        let is_new = (is_plain && !other.chosen)
            || all.iter().all(|known| known.algorithm != other.algorithm);
        if is_near && is_new && all.len() < most {
            all.push(other);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(algorithm: &'static str, parameters: &str, cost_ns: f64) -> Compared {
        Compared {
            algorithm,
            parameters: parameters.to_string(),
            time_ns: cost_ns,
            busy_ns: 0.0,
            cost_ns,
            chosen: false,
        }
    }

    #[test]
    fn the_chosen_algorithm_by_itself_is_measured_and_the_best_of_each_other_one() {
        let mut all = [
            compared("all-pairs", "segments=2", 100.0),
            compared("all-pairs", "segments=4", 105.0),
            compared("linear", "segments=16", 110.0),
            compared("linear", "", 115.0),
            compared("all-pairs", "", 120.0),
            compared("direct", "", 300.0),
        ];
        all[0].chosen = true;
        let named = |near| -> Vec<String> {
            let proposed = proposed((&all, &all[0], None), near);
            let name = |one: &&Compared| format!("{}:{}", one.algorithm, one.parameters);
            proposed.iter().map(name).collect()
        };
        let three = ["all-pairs:segments=2", "linear:segments=16", "all-pairs:"];
        assert_eq!(named((1.5, 8)), three);
        assert_eq!(named((1.5, 2)), three[..2]);
        assert_eq!(named((4.0, 8)).last().unwrap(), "direct:");
    }

    #[test]
    fn a_choice_that_is_plain_is_measured_once() {
        let mut all = [compared("ring", "", 100.0), compared("direct", "", 101.0)];
        all[0].chosen = true;
        assert_eq!(proposed((&all, &all[0], None), (1.5, 8)).len(), 2);
    }

    #[test]
    fn long_segments_are_tried_finer() {
        let scan = |parameters: &str, bytes| {
            let chosen = compared("linear", parameters, 100.0);
            finer((Collective::Scan, bytes), &chosen, 13).map(|finer| finer.parameters)
        };
        assert_eq!(scan("segments=64", 1 << 20).unwrap(), "segments=128");
        assert_eq!(scan("segments=64", 512 << 10), None);
        assert_eq!(scan("segments=1", 1 << 20), None);
        assert_eq!(scan("", 1 << 20), None);
        let [one, other] = ["segments=64", "segments=128"].map(|it| compared("linear", it, 9.0));
        let all = [one, compared("direct", "", 9.5)];
        let proposed = proposed((&all, &all[0], Some(&other)), (1.3, 2));
        assert_eq!(proposed, [&all[0], &other]);
    }

    fn runner(rounds_us: &[f64]) -> Runner {
        let rounds_us = rounds_us.to_vec();
        Runner {
            rounds_us,
            ..Runner::new(Vec::new(), By::Name)
        }
    }

    /// Who is first, and how many times as long the choice takes, if these were the heats and this the final.
    fn ended(heats: [&[f64]; 3], last: Option<[&[f64]; 2]>) -> (Vec<String>, f64) {
        let mut contest = Contest {
            bytes: 8,
            all: ["ring", "direct", "bruck"]
                .map(|it| compared(it, "", 1.0))
                .into(),
            runners: heats.map(runner).into(),
            least: Least::Three,
            rival: None,
            last: Vec::new(),
            nearby: Vec::new(),
        };
        if let Some(last) = last {
            contest.rival = Some(contest.fastest());
            contest.last = last.map(runner).into();
        }
        let outcome = contest.outcome(3).expect("there are rounds");
        let names = outcome.ranking.into_iter().map(|(name, ..)| name);
        (names.collect(), outcome.ratio[0])
    }

    #[test]
    fn the_choice_is_beaten_in_the_final_alone() {
        let heats: [&[f64]; 3] = [&[9.0, 9.0], &[4.0, 5.0], &[5.0, 6.0]];
        let clear: [&[f64]; 2] = [&[8.0, 8.1, 8.2, 8.1], &[4.0, 4.1, 4.0, 4.2]];
        let (names, ratio) = ended(heats, Some(clear));
        assert_eq!(names, ["direct", "bruck", "ring"]);
        assert!(ratio > 1.9 && ratio < 2.1, "{ratio}");
        // It was fast by luck.
        let noise: [&[f64]; 2] = [&[8.0, 4.0, 8.0, 4.0], &[4.0, 8.0, 4.0, 7.9]];
        let (names, _) = ended(heats, Some(noise));
        assert_eq!(names[0], "ring");
        // As fast, within what counts.
        let near: [&[f64]; 2] = [&[4.02, 4.03, 4.02, 4.03], &[4.0, 4.0, 4.0, 4.0]];
        assert_eq!(ended(heats, Some(near)).0[0], "ring");
        // Nobody was faster.
        let heats: [&[f64]; 3] = [&[3.0, 3.0], &[4.0, 5.0], &[5.0, 6.0]];
        assert_eq!(ended(heats, None).0, ["ring", "direct", "bruck"]);
    }

    #[test]
    fn finals_of_the_same_two_at_neighbouring_lengths_are_clear_together() {
        let unclear: [&[f64]; 2] = [&[5.0, 6.0, 3.9, 6.0], &[4.0, 4.0, 4.0, 4.0]];
        let final_of = |bytes: usize, rival: usize| Contest {
            bytes,
            all: ["ring", "direct", "bruck"]
                .map(|it| compared(it, "", 1.0))
                .into(),
            runners: vec![runner(&[5.0]), runner(&[4.0]), runner(&[4.0])],
            least: Least::Three,
            rival: Some(rival),
            last: unclear.map(runner).into(),
            nearby: Vec::new(),
        };
        let firsts = |mut contests: Vec<Contest>| -> Vec<String> {
            compare_nearby(&mut contests);
            let first = |contest: Contest| contest.outcome(1).unwrap().ranking.remove(0).0;
            contests.into_iter().map(first).collect()
        };
        assert_eq!(firsts(vec![final_of(8, 1)]), ["ring"], "alone");
        let three = (3..6).map(|log| final_of(1 << log, 1)).collect();
        assert_eq!(firsts(three), ["direct"; 3]);
        // With others between, they are no neighbours.
        let mixed = [1, 2, 1].map(|rival| final_of(8, rival));
        assert_eq!(firsts(mixed.into()), ["ring"; 3]);
    }

    #[test]
    fn what_is_not_measured_has_the_choice_and_no_time() {
        let contest = Contest {
            bytes: 8,
            all: vec![compared("ring", "", 1.0), compared("direct", "", 1.1)],
            runners: Vec::new(),
            least: Least::Three,
            rival: None,
            last: Vec::new(),
            nearby: Vec::new(),
        };
        let outcome = contest.outcome(3).expect("nothing was measured");
        let ring = ("ring".to_string(), String::new(), None);
        assert_eq!(outcome.ranking, [ring]);
        assert_eq!(outcome.ratio, [1.0; 3]);
    }
}
