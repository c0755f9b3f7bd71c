//! The microbenchmarks of C 3.3 by which a machine's parameters are known, level by level.

use super::bed::Bed;
use super::point::{Point, steady};
use super::reach::{BURST_BYTES, PORT_BOUND_BYTES, Reach, TRAIN, question};
use super::sample::Sample;
use super::solve::{Apart, Terms};
use crate::command::paired::median;
use crate::command::simulate::machine::cluster::{AloneFile, LevelFile, WindowFile};
use allhands_core::call::Collective;

/// The lengths at which messages are measured at first, in bytes, as powers of two.
const EXPONENTS: std::ops::RangeInclusive<u32> = 3..=20;
/// Messages that are no longer are always measured.
pub(super) const SHORT_BYTES: u64 = super::budget::Budget::SHORT_BYTES;
/// A length between two others is kept if its time is more than one in so many parts from the line between theirs.
const BEND: f64 = 10.0;
/// How often what lies between two lengths is halved.
const HALVINGS: u32 = 2;
/// How often pairs exchange the longest messages before anything is timed, for each at least [`Least::Three`](crate::command::bench::cell::Least).
const WARM_UPS: u32 = 4;
/// Round trips, notifications and gets of one call.
const AGAIN: u32 = 8;
/// Copies or reductions of one call: of short ones so many that what the call takes by itself, which differs from call to call, is nothing
/// beside them.
const COPIES: u32 = 1024;
/// How much is sent again in one call's round trips.
const MOST_SENT_AGAIN: u64 = 1 << 10;
/// How much of one call's puts, gets and copies there is, unless a single one is longer.
const MOST_BYTES: u64 = 256 << 10;

/// What is known of a machine.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// What a call takes in which nothing happens.
    pub call_us: f64,
    pub inside: Option<LevelFile>,
    pub between: Option<LevelFile>,
    /// What ranks do alone: at each length, and as lines.
    pub alone: AloneFile,
    pub copy_byte_ns: f64,
    pub reduce_us: f64,
    pub reduce_byte_ns: f64,
    /// The longest messages that there was time for, and for how many seconds in all there would be for everything, if not for all.
    pub cut: Option<(u64, f64)>,
    /// How certain the times are of which all of that follows, each as a part of itself.
    pub uncertain: Vec<f64>,
}

/// Which lengths are measured, in bytes.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// Of a level, if it is said: inside nodes, and between them. Otherwise one finds out which tell anything.
    levels: Option<[Vec<u64>; 2]>,
    /// Of what ranks do alone.
    alone: Option<Vec<u64>>,
}

impl Scope {
    /// Those of what was found.
    pub fn of(findings: &Findings) -> Scope {
        let lengths = |level: &Option<LevelFile>| {
            let level = level.as_ref();
            level.map_or(Vec::new(), |level| level.bytes.clone())
        };
        Scope {
            levels: Some([lengths(&findings.inside), lengths(&findings.between)]),
            alone: Some(findings.alone.bytes.clone()),
        }
    }
}

/// Measures everything that a bed has.
///
/// # Errors
/// What keeps a microbenchmark from its end.
pub fn all(
    bed: &mut dyn Bed,
    scope: &Scope,
    tell: &mut dyn FnMut(&str),
) -> anyhow::Result<Findings> {
    let (nodes, ranks) = bed.ranks();
    let first = nodes.innermost(ranks).first().copied().unwrap_or(ranks);
    let mut lab = Lab {
        bed,
        tell,
        call_us: 0.0,
        cut: None,
        alone: AloneFile::default(),
        uncertain: Vec::new(),
    };
    let mut findings = Findings::default();
    lab.alone(&mut findings, scope.alone.as_deref())?;
    lab.call_us = findings.call_us;
    lab.alone = findings.alone.clone();
    let [inside, between] = match &scope.levels {
        Some([inside, between]) => [Some(&inside[..]), Some(&between[..])],
        None => [None, None],
    };
    if first > 1 {
        let reach = Reach {
            peer: (first / 2).max(1),
            peers: first - (first / 2).max(1),
            pairs: first / 2,
            bursts: (1, 0),
            is_processors: lab.bed.shares_memory(),
            // Microbenchmarks of windows ask for memory that all ranks share.
            shares_memory: first == ranks,
        };
        findings.inside = Some(lab.level(reach, inside)?);
    }
    if first < ranks {
        let reach = Reach {
            peer: match first {
                1 => ranks.div_ceil(2),
                _ => first,
            },
            peers: ranks / 2,
            pairs: match first {
                1 => ranks / 2,
                _ => first.min(ranks - first),
            },
            bursts: (first, ranks / first - 1),
            is_processors: false,
            shares_memory: false,
        };
        findings.between = Some(lab.level(reach, between)?);
    }
    (findings.uncertain, findings.cut) = (lab.uncertain, lab.cut);
    Ok(findings)
}

/// What is measured with.
struct Lab<'a> {
    bed: &'a mut dyn Bed,
    tell: &'a mut dyn FnMut(&str),
    call_us: f64,
    alone: AloneFile,
    cut: Option<(u64, f64)>,
    uncertain: Vec<f64>,
}

impl Lab<'_> {
    fn ask(
        &mut self,
        name: &'static str,
        peer: Option<u32>,
        many: u32,
        bytes: u64,
    ) -> anyhow::Result<Sample> {
        self.ask_of(Collective::Alltoall, name, (peer, many), bytes)
    }

    fn ask_of(
        &mut self,
        collective: Collective,
        name: &'static str,
        (peer, many): (Option<u32>, u32),
        bytes: u64,
    ) -> anyhow::Result<Sample> {
        (self.tell)(name);
        let question = question(collective, name, (peer, many), bytes);
        let sample = self.bed.time(&question)?;
        if sample.us > 0.0 {
            self.uncertain.push(sample.more_or_less_us / sample.us);
        }
        Ok(sample)
    }

    /// What one more takes, by what many and few take: until all are done, and until rank 0 is.
    fn further(
        &mut self,
        name: &'static str,
        peer: u32,
        [few, many]: [u32; 2],
        bytes: u64,
    ) -> anyhow::Result<[f64; 2]> {
        let short = self.ask(name, Some(peer), few, bytes)?;
        let long = self.ask(name, Some(peer), many, bytes)?;
        let one = |us: f64| (us / f64::from(many - few)).max(0.0);
        Ok([one(long.us - short.us), one(long.own_us - short.own_us)])
    }

    fn point(&mut self, reach: Reach, bytes: u64) -> anyhow::Result<Point> {
        let Reach {
            peer,
            peers,
            pairs,
            bursts: (stride, others),
            is_processors,
            ..
        } = reach;
        // What was sent before is in the receiver's cache: only short messages, which are copied on, can be sent again.
        let trips = (MOST_SENT_AGAIN / bytes).clamp(1, u64::from(AGAIN)) as u32;
        let trips_us = self.ask("round-trip", Some(peer), trips, bytes)?.us;
        let way_us = ((trips_us - self.call_us) / f64::from(2 * trips)).max(0.0);
        let train = self.further("train", peer, TRAIN, bytes)?;
        // What is sent was copied before.
        let [train_us, send_us] = train.map(|us| (us - self.copy_us(bytes)).max(0.0));
        let (mut scatter_us, mut gather_us) = (train_us, train_us);
        if peers > 1 {
            [scatter_us, _] = self.further("scatter", peer, [1, peers], bytes)?;
            [gather_us, _] = self.further("gather", peer, [1, peers], bytes)?;
        }
        let exchange_us = self.ask("butterfly", Some(peer), 1, bytes)?.us;
        let exchange_us = (exchange_us - self.call_us).max(0.0);
        let mut combine_us = 0.0;
        if is_processors {
            let asked = (Some(peer), trips);
            let us = self.ask_of(Collective::Allreduce, "combinations", asked, bytes)?;
            combine_us = ((us.us - trips_us) / f64::from(2 * trips)).max(0.0);
        }
        let shared_us = match (pairs, is_processors) {
            (0 | 1, false) => (exchange_us - way_us).max(0.0),
            // One pair alone shares what it shares with nobody.
            (0 | 1, true) => 0.0,
            _ => self.further("butterfly", peer, [1, pairs], bytes)?[0] / 2.0,
        };
        let mut burst_us = None;
        if others > 1 && bytes <= BURST_BYTES {
            let [each_us, _] = self.further("burst", stride, [1, others], bytes)?;
            let ranks = (others + 1) * stride;
            burst_us = Some(super::solve::burst_us(each_us, way_us, (ranks, others)));
        }
        let mut turns_us = None;
        if peers > 1 && !is_processors && bytes == PORT_BOUND_BYTES {
            let us = self.ask("turns", Some(peer), 1, bytes)?.us;
            turns_us = Some((us - self.call_us).max(0.0));
        }
        let mut apart = None;
        if reach.tells_apart(bytes) {
            apart = Some(Apart {
                steps_us: self.further("steps", peer, [1, peers], bytes)?[0],
                relay_us: self.further("relay", peer, TRAIN, bytes)?[0],
            });
        }
        let terms = Terms {
            way_us,
            scatter_us,
            gather_us,
            train_us,
            send_us,
            exchange_us,
            combine_us,
            shared_us,
            burst_us,
            turns_us,
            apart,
        };
        Ok(Point { bytes, terms })
    }

    /// Points at all lengths, and more of them where a line between two misses what lies there.
    fn points(&mut self, reach: Reach) -> anyhow::Result<Vec<Point>> {
        if !reach.is_processors && reach.pairs > 1 {
            self.warm_up(reach)?;
        }
        let mut points: Vec<Point> = Vec::new();
        for exponent in EXPONENTS {
            let bytes = 1 << exponent;
            if bytes > SHORT_BYTES && !self.bed.has_time_for(bytes)? {
                let longest = points.last().map_or(0, |point| point.bytes);
                let seconds = self.bed.would_take_s().unwrap_or(f64::NAN);
                self.cut = match self.cut {
                    Some((other, more_s)) => Some((longest.min(other), seconds.max(more_s))),
                    None => Some((longest, seconds)),
                };
                break;
            }
            points.push(self.point(reach, bytes)?);
        }
        let mut all: Vec<Point> = Vec::new();
        for next in points {
            if let Some(last) = all.last().copied() {
                self.between(reach, [last, next], HALVINGS, &mut all)?;
            }
            all.push(next);
        }
        Ok(all)
    }

    /// Has all pairs exchange the longest messages that there is time for: buffers and windows of connections grow with what these have
    /// carried, and pairs that have not yet sent anything long take up to a fifth longer than one that has, which is no contention.
    fn warm_up(&mut self, reach: Reach) -> anyhow::Result<()> {
        for bytes in EXPONENTS.rev().map(|exponent| 1 << exponent) {
            if bytes > SHORT_BYTES && self.bed.has_time_for(bytes)? {
                (self.tell)("butterfly");
                let peer = (Some(reach.peer), reach.pairs);
                let longest = question(Collective::Alltoall, "butterfly", peer, bytes);
                for _ in 0..WARM_UPS {
                    self.bed.time(&longest)?;
                }
                break;
            }
        }
        Ok(())
    }

    fn between(
        &mut self,
        reach: Reach,
        [one, other]: [Point; 2],
        halvings: u32,
        points: &mut Vec<Point>,
    ) -> anyhow::Result<()> {
        let bytes = (one.bytes + other.bytes) / 2 / 8 * 8;
        let is_steep = other.terms.way_us > one.terms.way_us * 1.5;
        if halvings == 0 || bytes <= one.bytes || !is_steep {
            return Ok(());
        }
        let questions = reach.questions(bytes);
        if !self.bed.has_time_for_more(&questions)? {
            return Ok(());
        }
        let here = self.point(reach, bytes)?;
        let line_us = (one.terms.way_us + other.terms.way_us) / 2.0;
        if (here.terms.way_us - line_us).abs() <= line_us / BEND {
            return Ok(());
        }
        self.between(reach, [one, here], halvings - 1, points)?;
        points.push(here);
        self.between(reach, [here, other], halvings - 1, points)
    }

    /// What a copy takes.
    fn copy_us(&self, bytes: u64) -> f64 {
        super::solve::Lines(&self.alone.bytes, &self.alone.copy_us).at(bytes)
    }

    fn level(&mut self, reach: Reach, lengths: Option<&[u64]>) -> anyhow::Result<LevelFile> {
        let mut points = match lengths {
            Some(lengths) => {
                let each = lengths.iter().map(|bytes| self.point(reach, *bytes));
                each.collect::<anyhow::Result<_>>()?
            }
            None => self.points(reach)?,
        };
        if !reach.is_processors {
            steady(&mut points);
        }
        let mut file = LevelFile::default();
        let mut all: Vec<Terms> = points.iter().map(|point| point.terms).collect();
        let lengths: Vec<u64> = points.iter().map(|point| point.bytes).collect();
        if !reach.is_processors {
            file.wake_us = super::solve::wake_us(&all);
            let messages_us = super::solve::messages_us(&lengths, &all, file.wake_us);
            let each = all.iter_mut().zip(messages_us);
            each.for_each(|(terms, shared_us)| terms.shared_us = shared_us);
        }
        let short = lengths.partition_point(|bytes| *bytes <= SHORT_BYTES);
        let overheads = super::solve::overheads(&all[..short]);
        for (bytes, terms) in lengths.into_iter().zip(&all) {
            match reach.is_processors {
                true => super::solve::push_of_processors(&mut file, bytes, terms),
                false => super::solve::push(&mut file, bytes, terms, overheads),
            }
        }
        file.interleaves = super::solve::interleaves(&file.gap_us, &all);
        if reach.shares_memory {
            file.window = Some(self.window(reach.peer, &file.bytes)?);
        }
        Ok(file)
    }

    /// What puts and gets take of memory that the other rank has just read, or written: the other rank's copies are taken off.
    fn window(&mut self, peer: u32, lengths: &[u64]) -> anyhow::Result<WindowFile> {
        let mut window = WindowFile::default();
        let trips = self.ask("notices", Some(peer), AGAIN, 8)?.us;
        // What raises a flag is a store: it is a part of the way that nobody sees apart.
        window.notice_us = ((trips - self.call_us) / f64::from(2 * AGAIN)).max(0.0);
        for bytes in lengths {
            let mut of = |name| {
                let many = (MOST_SENT_AGAIN / *bytes).clamp(1, u64::from(AGAIN)) as u32;
                let us = self.ask(name, Some(peer), many, *bytes)?.us;
                let us = us - self.call_us - window.notice_us;
                let both_us = us / f64::from(many);
                // No transfer is shorter than a copy in one's own cache.
                let one_us = both_us - self.copy_us(*bytes);
                Ok::<_, anyhow::Error>(one_us.max(both_us / 2.0).max(0.0))
            };
            let (put_us, get_us) = (of("puts")?, of("gets")?);
            window.put_us.push(put_us);
            window.get_us.push(get_us);
        }
        Ok(window)
    }

    /// What a call takes in which nothing happens, and what rank 0 does alone: copies and reductions.
    ///
    /// All else is counted from the former, so one time is not enough where a machine has bad moments: it is asked for at every other length.
    fn alone(&mut self, findings: &mut Findings, lengths: Option<&[u64]>) -> anyhow::Result<()> {
        let all: Vec<u64> = EXPONENTS.map(|exponent| 1 << exponent).collect();
        let (mut nothing_us, mut calls_us) = (Vec::new(), Vec::new());
        for (at, bytes) in lengths.unwrap_or(&all).iter().copied().enumerate() {
            if lengths.is_none() && bytes > SHORT_BYTES && !self.bed.has_time_for(bytes)? {
                break;
            }
            if at.is_multiple_of(2) {
                nothing_us.push(self.ask("nothing", None, 1, 8)?);
            }
            let many = (None, again(bytes));
            let copies = self.ask_of(Collective::Alltoall, "copies", many, bytes)?;
            let reductions = self.ask_of(Collective::Allreduce, "reductions", many, bytes)?;
            calls_us.push((bytes, [copies.own_us, reductions.own_us]));
        }
        findings.call_us = median(nothing_us.iter().map(|nothing| nothing.us));
        // The rank that copies knows best when it has: the others' ends say nothing of that.
        let own_call_us = median(nothing_us.iter().map(|nothing| nothing.own_us));
        for (bytes, both_us) in calls_us {
            let one = |us: f64| ((us - own_call_us) / f64::from(again(bytes))).max(1e-6);
            let [copy_us, reduce_us] = both_us.map(one);
            findings.alone.bytes.push(bytes);
            findings.alone.copy_us.push(copy_us);
            findings.alone.reduce_us.push(reduce_us);
        }
        let AloneFile {
            bytes,
            copy_us,
            reduce_us,
            ..
        } = &findings.alone;
        findings.copy_byte_ns = super::solve::line(bytes, copy_us).1 * 1e3;
        let (fixed_us, byte_us) = super::solve::line(bytes, reduce_us);
        (findings.reduce_us, findings.reduce_byte_ns) = (fixed_us, byte_us * 1e3);
        Ok(())
    }
}

/// How often what is so long is done in one call: short ones often, as clocks are coarse; long ones once, as collectives do, which find
/// none of it in caches.
fn again(bytes: u64) -> u32 {
    (MOST_BYTES / bytes).clamp(1, u64::from(COPIES)) as u32
}
