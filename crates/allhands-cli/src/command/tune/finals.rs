//! Finals: the two that were the fastest at a place and the built-in choice, once more against one another, by turns over all places.
//!
//! ```text
//! round 1   place 1: a b c │ place 2: a b │ place 3: a b c │ …
//! round 2   place 1: a b c │ place 2: a b │ …
//! ```
//!
//! What disturbs the machine for some seconds hits one round of each place here, and all of one in its race; and a race takes the least of
//! a candidate's times, which is not what one that is fast now and then takes mostly. Each round's ranks are started anew, as
//! times differ from start to start (an exscan of 1 MB among eight ranks by all-pairs took 520 µs after one start, and 690 to 800 after three others).

use super::race::MARGIN;
use super::store::Store;
use super::team::Team;
use super::{Contest, request};
use crate::command::paired;
use crate::sizes::say;
use crate::{interrupt, names};
use allhands_core::choose::{Cell, Entry};
use std::io::Write;
use std::time::{Duration, Instant};

/// What part of the time of all races finals have.
pub(super) const PART: f64 = 2.0 / 3.0;
const ROUNDS: usize = 6;
/// With fewer rounds nothing changes.
const FEWEST: usize = 4;
/// Who has won a race by so much has done so clearly: a final that says otherwise must be certain.
const CLEARLY: f64 = 1.2;
/// How many of a race's ranking are in a final, besides the built-in choice.
const BEST: usize = 2;

struct Entrant {
    entry: Entry,
    is_favourite: bool,
    rounds_us: Vec<f64>,
}

impl Entrant {
    fn new(entry: Entry, is_favourite: bool) -> Entrant {
        Entrant {
            entry,
            is_favourite,
            rounds_us: Vec::new(),
        }
    }

    fn name(&self) -> String {
        names::typed(&self.entry.name, &self.entry.parameters)
    }

    fn us(&self) -> f64 {
        paired::median(self.rounds_us.iter().copied())
    }
}

/// The final of a place.
struct Final<'a> {
    contest: &'a Contest,
    /// The race's winner is the first.
    entrants: Vec<Entrant>,
    /// What else the race has ranked.
    others: Vec<Entry>,
}

impl<'a> Final<'a> {
    /// The final of a place that is in the table, if there is more than one for it.
    fn new(contest: &'a Contest, store: &Store) -> Option<Final<'a>> {
        let cell = contest.cell(store.table())?;
        let favourite = &contest.candidates[contest.favourite];
        let is_favourite = |entry: &Entry| {
            entry.name == favourite.algorithm.name && entry.parameters == favourite.parameters
        };
        let mut others = cell.ranking.clone();
        let best = others.drain(..BEST.min(others.len()));
        let mut entrants: Vec<Entrant> = best
            .map(|entry| {
                let is_favourite = is_favourite(&entry);
                Entrant::new(entry, is_favourite)
            })
            .collect();
        if entrants.iter().all(|entrant| !entrant.is_favourite) {
            others.retain(|entry| !is_favourite(entry));
            let entry = Entry {
                name: favourite.algorithm.name.into(),
                parameters: favourite.parameters.clone(),
                time_ns: None,
            };
            entrants.push(Entrant::new(entry, true));
        }
        (entrants.len() > 1).then_some(Final {
            contest,
            entrants,
            others,
        })
    }

    /// One round; who fails is out.
    fn run(&mut self, each: Duration, team: &mut Team) {
        let contest = self.contest;
        self.entrants.retain_mut(|entrant| {
            let Entry {
                name, parameters, ..
            } = &entrant.entry;
            match team.measure(&request(contest, (name, parameters), each)) {
                Ok(record) => entrant.rounds_us.push(record.median_us),
                Err(_) => return false,
            }
            true
        });
    }

    /// How many times as long one takes as another: the mean, and the least that is likely.
    fn ratio(&self, one: usize, other: usize) -> anyhow::Result<(f64, f64)> {
        let [one, other] = [one, other].map(|at| self.entrants[at].rounds_us.iter().copied());
        let ratio = paired::ratio(one.zip(other))?;
        Ok((ratio.middle, ratio.least))
    }

    /// How many times as long one took in the race as another; once, if that is not known.
    fn raced(&self, one: usize, other: usize) -> f64 {
        let [one, other] = [one, other].map(|at| self.entrants[at].entry.time_ns);
        match (one, other) {
            (Some(one), Some(other)) if other > 0 => one as f64 / other as f64,
            _ => 1.0,
        }
    }

    /// Who is first: the winner of the race, or the built-in choice if that was faster here, and measurably so where it was slower by far in the
    /// race, unless another one is measurably faster.
    fn first(&self) -> anyhow::Result<usize> {
        let mut first = 0;
        let favourite = self
            .entrants
            .iter()
            .position(|entrant| entrant.is_favourite);
        if let Some(favourite) = favourite.filter(|at| *at > 0) {
            let (mean, least) = self.ratio(first, favourite)?;
            let was_clear = self.raced(favourite, first) > CLEARLY;
            if mean > 1.0 && (least > 1.0 || !was_clear) {
                first = favourite;
            }
        }
        let us = |at: &usize| self.entrants[*at].us();
        let all = 0..self.entrants.len();
        let best = all.min_by(|one, other| us(one).total_cmp(&us(other)));
        if let Some(best) = best.filter(|best| *best != first) {
            let (mean, least) = self.ratio(first, best)?;
            if least > 1.0 && mean * MARGIN >= 1.0 {
                first = best;
            }
        }
        Ok(first)
    }

    /// The ranking of the place, and whether another one is first than before; nothing after too few rounds.
    fn ranking(mut self) -> anyhow::Result<Option<(Vec<Entry>, bool)>> {
        let has_all = |entrant: &Entrant| entrant.rounds_us.len() >= FEWEST;
        if self.entrants.len() < 2 || !self.entrants.iter().all(has_all) {
            return Ok(None);
        }
        let at = self.first()?;
        let first = self.entrants.remove(at);
        self.entrants
            .sort_by(|one, other| one.us().total_cmp(&other.us()));
        self.entrants.insert(0, first);
        let timed = |entrant: Entrant| Entry {
            time_ns: Some((entrant.us() * 1e3).round() as u64),
            ..entrant.entry
        };
        let entrants = self.entrants.into_iter().map(timed);
        Ok(Some((entrants.chain(self.others).collect(), at > 0)))
    }
}

/// Holds the finals of all places, for about so long; how many have another winner then. After an interrupt nothing is changed.
pub(super) fn hold(
    contests: &[Contest],
    budget: Duration,
    (team, store): (&mut Team, &mut Store),
    out: &mut dyn Write,
) -> anyhow::Result<usize> {
    let begin = Instant::now();
    let all = contests.iter();
    let mut finals: Vec<Final<'_>> = all.filter_map(|it| Final::new(it, store)).collect();
    let entrants: usize = finals.iter().map(|it| it.entrants.len()).sum();
    for round in 0..ROUNDS {
        let left = budget.saturating_sub(begin.elapsed());
        if left.is_zero() {
            break;
        }
        let each = left / ((ROUNDS - round) * entrants.max(1)) as u32;
        team.start_anew();
        for held in &mut finals {
            held.run(each, team);
            if interrupt::is_asked() {
                return Ok(0);
            }
        }
    }
    let mut changed = 0;
    for held in finals {
        let (contest, was) = (held.contest, held.entrants.first().map(|it| it.name()));
        let Some((ranking, has_changed)) = held.ranking()? else {
            continue;
        };
        if has_changed {
            changed += 1;
            writeln!(
                out,
                "{:<15}{:>5}{:>6}  {} in the final, not {}",
                contest.collective,
                contest.ranks,
                say(contest.bytes),
                names::typed(&ranking[0].name, &ranking[0].parameters),
                was.unwrap_or_default()
            )?;
        }
        let bytes = contest.bytes as u64;
        store.add(contest.row(), Cell { bytes, ranking })?;
    }
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use allhands_core::call::Collective;
    use allhands_core::choose::Policy;

    fn entry(name: &str) -> Entry {
        Entry {
            name: name.into(),
            parameters: String::new(),
            time_ns: Some(7),
        }
    }

    /// The names of the ranking after a final with these rounds, in which the second is the built-in choice, and whether it changed.
    fn ended(rounds: [&[f64]; 3]) -> Option<(Vec<String>, bool)> {
        ended_after([7; 3], rounds)
    }

    /// The same after a race with these times.
    fn ended_after(raced_ns: [u64; 3], rounds: [&[f64]; 3]) -> Option<(Vec<String>, bool)> {
        let policy = Policy::shared_memory();
        let contest = super::super::contest(&policy, Collective::Gather, 2, false, 4096);
        let contest = contest.expect("there are candidates");
        let names = ["winner", "built-in", "third"];
        let entrant = |(at, rounds_us): (usize, &[f64])| Entrant {
            rounds_us: rounds_us.to_vec(),
            ..Entrant::new(
                Entry {
                    time_ns: Some(raced_ns[at]),
                    ..entry(names[at])
                },
                at == 1,
            )
        };
        let held = Final {
            contest: &contest,
            entrants: rounds.into_iter().enumerate().map(entrant).collect(),
            others: vec![entry("other")],
        };
        let (ranking, has_changed) = held.ranking().expect("rounds can be compared")?;
        assert_eq!(ranking.last().and_then(|last| last.time_ns), Some(7));
        let names = ranking.iter().map(|entry| entry.name.to_string());
        Some((names.collect(), has_changed))
    }

    fn first(rounds: [&[f64]; 3]) -> String {
        let (names, has_changed) = ended(rounds).expect("there are rounds enough");
        assert_eq!(names.len(), 4);
        assert_eq!(has_changed, names[0] != "winner");
        names[0].clone()
    }

    #[test]
    fn the_winner_of_a_race_stays_unless_another_is_measurably_faster() {
        let (fast, slow): (&[f64], &[f64]) = (&[1.0, 1.1, 1.0, 1.1], &[2.0, 2.1, 2.0, 2.1]);
        assert_eq!(first([fast, slow, slow]), "winner");
        assert_eq!(first([slow, slow, fast]), "third");
        // Faster now and then is not faster.
        let unsteady: &[f64] = &[0.5, 2.5, 0.5, 2.6];
        assert_eq!(first([fast, slow, unsteady]), "winner");
        // By too little.
        let near: &[f64] = &[0.98, 1.08, 0.98, 1.08];
        assert_eq!(first([fast, slow, near]), "winner");
    }

    #[test]
    fn the_built_in_choice_is_back_where_it_takes_less() {
        let (one, other): (&[f64], &[f64]) = (&[1.01, 1.1, 1.0, 1.1], &[1.0, 1.1, 1.0, 1.1]);
        let slow: &[f64] = &[2.0, 2.0, 2.0, 2.0];
        assert_eq!(first([one, other, slow]), "built-in");
        assert_eq!(first([other, one, slow]), "winner");
    }

    #[test]
    fn what_was_clear_in_the_race_is_not_undone_by_chance() {
        let unsteady: &[f64] = &[0.5, 2.5, 0.6, 2.6];
        let other: &[f64] = &[1.0, 1.0, 1.0, 1.0];
        let slow: &[f64] = &[3.0, 3.0, 3.0, 3.0];
        let first = |raced_ns, rounds| {
            let (names, _) = ended_after(raced_ns, rounds).expect("there are rounds enough");
            names[0].clone()
        };
        assert_eq!(first([10, 11, 12], [unsteady, other, slow]), "built-in");
        assert_eq!(first([10, 15, 16], [unsteady, other, slow]), "winner");
        // By what is certain it is.
        let twice: &[f64] = &[2.0, 2.1, 2.0, 2.1];
        assert_eq!(first([10, 15, 16], [twice, other, slow]), "built-in");
    }

    #[test]
    fn too_few_rounds_change_nothing() {
        assert_eq!(ended([&[2.0, 2.0], &[1.0, 1.0], &[1.0, 1.0]]), None);
        let rounds: &[f64] = &[1.0; FEWEST];
        assert_eq!(ended([rounds, rounds, &[1.0]]), None);
    }
}
