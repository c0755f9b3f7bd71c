//! A world: a few ranks in virtual time, with wires between them and everything that can go wrong.

use super::arena::Arena;
use super::chance::Chance;
use super::counts::{Counts, Event};
use super::traffic::{Operation, SIGNATURE, draw};
use super::windows::{self, Puts};
use super::wire::Wire;
use crate::transport::net::tcp::protocol::handshake::{Job, Secret};
use crate::transport::net::tcp::protocol::matching;
use crate::transport::net::tcp::protocol::peer::LostPeer;
use crate::transport::net::tcp::protocol::rank::Rank;
use crate::transport::net::tcp::protocol::settings::Settings;
use std::collections::BTreeSet;
use std::time::Duration;

/// How long a world may last.
const LIMIT: Duration = Duration::from_secs(60);

/// When a system notices that another one answers no more.
pub(super) const SILENT_FOR: Duration = Duration::from_secs(3);

/// From when on it can be seen that something is not answered.
pub(super) const DOUBTED_AFTER: Duration = Duration::from_secs(1);

/// By when everybody who waits for a rank whose system is gone must know.
const FOUND_WITHIN: Duration = Duration::from_millis(4750);

/// One rank of the world.
pub struct Node {
    pub rank: Rank<Arena>,
    pub operations: Vec<Operation>,
    pub(super) puts: Puts,
    /// When it looks next, and how long after that again.
    next: Duration,
    pause: Duration,
    /// When it dies.
    dies: Option<Duration>,
    pub is_dead: bool,
    /// Whether its whole system dies with it, and nothing of it answers any more.
    pub vanishes: bool,
    /// When it has died.
    died: Duration,
    pub(super) host: u32,
    /// When it reads nothing.
    sleeps: (Duration, Duration),
    /// Connections that it has asked for, and when they are decided.
    pub(super) asked: Vec<(Duration, u32, usize, u32)>,
    notices: u8,
    /// Notices that it has sent, and must come, and those that it has heard.
    pub told: Vec<(u32, u8)>,
    pub heard: Vec<(u32, u8)>,
}

pub struct World {
    pub seed: u64,
    pub(super) chance: Chance,
    pub now: Duration,
    pub nodes: Vec<Node>,
    pub(super) wires: Vec<Wire>,
    /// When wires are cut.
    cuts: Vec<Duration>,
    /// How long connecting may take: systems answer, but late.
    pub(super) connects_within: Duration,
    pub settings: Settings,
    pub had_cuts: bool,
    is_ending: bool,
    pub counts: Counts,
}

pub(super) fn micros(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

impl World {
    pub fn new(seed: u64) -> World {
        let mut chance = Chance::new(seed);
        let ranks = chance.within(2, 5) as usize;
        let rails = chance.within(1, 3) as u32;
        let (settings, traffic) = draw_settings_and_traffic(&mut chance, ranks);
        let host_of = draw_hosts(&mut chance, ranks as u32);
        let slowest = if chance.one_in(8) { 2_400_000 } else { 2000 };
        let dying = chance
            .one_in(4)
            .then(|| chance.below(ranks as u64) as usize);
        let sleeping = chance
            .one_in(4)
            .then(|| chance.below(ranks as u64) as usize);
        let nodes = (0..).zip(traffic).map(|(at, operations)| {
            let job = Job {
                secret: Secret::new(b"only for simulations").unwrap(),
                id: [1; 16],
                rank: at as u32,
                ranks: ranks as u32,
                rails,
                settings: settings.digest(),
            };
            let nap = micros(chance.below(20_000));
            // In some worlds long enough that others ask whether its system is still there, and close what it has not proved yet.
            let is_long = settings.resends && chance.one_in(4);
            let longest = if is_long { 4_000_000 } else { 300_000 };
            let lasts = micros(chance.below(longest));
            let dies = (dying == Some(at)).then(|| micros(chance.below(20_000)));
            let vanishes = dies.is_some() && chance.one_in(2);
            let mut rank = Rank::new(job, settings, Arena::default());
            rank.set_hosts(host_of.clone());
            Node {
                rank,
                died: Duration::ZERO,
                host: host_of[at],
                operations,
                puts: Puts::default(),
                next: micros(chance.below(100)),
                pause: micros(50),
                dies,
                is_dead: false,
                vanishes: false,
                sleeps: match sleeping == Some(at) {
                    // So that what is sent to it has no room any more.
                    _ if vanishes => (nap.min(dies.unwrap_or(nap) / 2), Duration::MAX),
                    true => (nap, nap + lasts),
                    false => (Duration::ZERO, Duration::ZERO),
                },
                asked: Vec::new(),
                notices: 0,
                told: Vec::new(),
                heard: Vec::new(),
            }
        });
        let nodes = windows::draw(nodes.collect(), seed);
        let cuts = draw_cuts(&mut chance);
        World {
            seed,
            now: Duration::ZERO,
            nodes,
            wires: Vec::new(),
            had_cuts: !cuts.is_empty(),
            cuts,
            connects_within: micros(slowest),
            settings,
            is_ending: false,
            counts: Counts::default(),
            chance,
        }
    }

    /// Whether systems answer late.
    pub(super) fn is_slow(&self) -> bool {
        self.connects_within > micros(2000)
    }

    /// The living rank that looks next, and when.
    fn next_rank(&self) -> Option<(usize, Duration)> {
        let all = self.nodes.iter().enumerate();
        let living = all.filter(|(_, node)| !node.is_dead);
        let next = living.min_by_key(|(_, node)| node.next);
        next.map(|(at, node)| (at, node.next))
    }

    /// Runs until every message of every living rank is over.
    pub fn run(&mut self) {
        while !self.nodes.iter().all(Node::is_done) {
            let (at, when) = self.next_rank().expect("somebody lives");
            self.now = self.now.max(when);
            assert!(self.now < LIMIT, "seed {}: rank {at} hangs", self.seed);
            self.cut_wires();
            self.step(at);
        }
        // What is still under way arrives, so that what comes twice does, too.
        let awake = self.nodes.iter().map(|node| node.sleeps.1);
        let awake = awake.filter(|when| *when < Duration::MAX).max();
        let end = self.now.max(awake.unwrap_or_default());
        let end = end + Duration::from_secs(1) + 2 * self.connects_within;
        self.is_ending = true;
        while self.now < end {
            let Some((at, when)) = self.next_rank() else {
                return;
            };
            self.now = self.now.max(when);
            self.step(at);
        }
    }

    fn cut_wires(&mut self) {
        let now = self.now;
        while let Some(at) = self.cuts.iter().position(|when| *when <= now) {
            self.cuts.swap_remove(at);
            if !self.wires.is_empty() {
                let wire = self.chance.below(self.wires.len() as u64) as usize;
                if self.chance.one_in(2) {
                    self.counts.add(Event::HalfCut, 1);
                    self.wires[wire].cut_half(self.chance.below(2) as usize, now);
                    continue;
                }
                self.counts.add(Event::Cut, 1);
                let notices = [(); 2].map(|()| now + micros(self.chance.below(3000)));
                self.wires[wire].cut(notices);
            }
        }
    }

    /// One look of one rank.
    fn step(&mut self, at: usize) {
        let now = self.now;
        let node = &mut self.nodes[at];
        if node.dies.is_some_and(|dies| dies <= now) {
            // Only such a one reads nothing for ever.
            return match node.sleeps.1 == Duration::MAX {
                true => self.vanish_host(at),
                false => self.bury(at),
            };
        }
        node.rank.at(node.clock(now));
        let mut is_busy = self.work(at);
        is_busy |= self.put(at);
        is_busy |= self.decide(at);
        let sleeps = self.nodes[at].sleeps;
        if !(sleeps.0..sleeps.1).contains(&now) {
            is_busy |= self.read_all(at);
        } else {
            self.counts.add(Event::Nap, 1);
        }
        self.hear_flags(at);
        is_busy |= self.write_all(at);
        self.act(at);
        let node = &mut self.nodes[at];
        while let Some((from, notice)) = node.rank.hear() {
            node.heard.push((from, notice[0]));
        }
        node.pause = match is_busy {
            true => micros(self.chance.within(10, 200)),
            false => (node.pause * 2).min(micros(20_000)),
        };
        let begins = node
            .operations
            .iter()
            .find(|operation| operation.begun.is_none() && !operation.is_over);
        let begins = begins.map_or(Duration::MAX, |operation| {
            operation.when.max(now + micros(1))
        });
        let puts = node.next_put().max(now + micros(1));
        node.next = (now + node.pause).min(begins).min(puts);
    }

    /// All ranks of a rank's system are gone, without a word.
    fn vanish_host(&mut self, at: usize) {
        let host = self.nodes[at].host;
        for other in 0..self.nodes.len() {
            if self.nodes[other].host == host && !self.nodes[other].is_dead {
                self.vanish(other);
            }
        }
    }

    fn vanish(&mut self, at: usize) {
        let node = &mut self.nodes[at];
        (node.is_dead, node.vanishes, node.died) = (true, true, self.now);
        let notices = self.now + SILENT_FOR;
        self.counts.add(Event::Vanished, 1);
        for wire in &mut self.wires {
            if let Some(end) = wire.ends.iter().position(|end| end.rank == at) {
                let is_hung = wire.ends[end].connection.is_some() && wire.vanish(end, notices);
                self.counts.add(Event::Hung, is_hung.into());
            }
        }
    }

    /// A rank that is dead: all its wires end.
    fn bury(&mut self, at: usize) {
        let now = self.now;
        let node = &mut self.nodes[at];
        (node.is_dead, node.died) = (true, now);
        for wire in &mut self.wires {
            if let Some(end) = wire.ends.iter().position(|end| end.rank == at) {
                wire.close(end, now);
                if self.chance.one_in(2) {
                    let soon = now + wire.delay;
                    wire.cut([soon; 2]);
                }
            }
        }
    }

    /// Begins what is due, and looks what has ended.
    fn work(&mut self, at: usize) -> bool {
        let (now, seed) = (self.now, self.seed);
        let node = &mut self.nodes[at];
        let mut is_busy = false;
        for operation in &mut node.operations {
            if operation.is_over {
                continue;
            }
            if operation.begun.is_none() && operation.when <= now {
                is_busy = true;
                if let Err(lost) = begin(&mut node.rank, operation) {
                    operation.is_over = true;
                    self.check_loss(at, lost, now);
                    return true;
                }
            }
            let Some((message, span)) = operation.begun else {
                continue;
            };
            match node.rank.test(message) {
                Ok(None) if operation.gives_up.is_some_and(|when| when <= now) => {
                    node.rank.cancel(message);
                    node.rank.memory_mut().take_back(span);
                    operation.is_over = true;
                    self.counts.add(Event::TakenBack, 1);
                }
                Ok(None) => {}
                Ok(Some(end)) => {
                    let memory = node.rank.memory_mut().take_back(span);
                    check(seed, at, operation, end, &memory);
                    let event = match (operation.is_send, end) {
                        (true, _) => Event::Sent,
                        (false, matching::End::Whole(_)) => Event::Received,
                        (false, matching::End::TooLong) => Event::TooLong,
                        (false, matching::End::Differs) => Event::Differs,
                    };
                    self.counts.add(event, 1);
                    operation.is_over = true;
                }
                Err(lost) => {
                    node.rank.cancel(message);
                    node.rank.memory_mut().take_back(span);
                    operation.is_over = true;
                    let since = operation.when;
                    self.check_loss(at, lost, since);
                    return true;
                }
            }
        }
        if !self.is_ending && self.chance.one_in(50) && node.notices < 200 {
            let to = self.chance.below(self.nodes.len() as u64) as usize;
            let must_come = self.chance.one_in(2);
            if to != at {
                self.nodes[at].notices += 1;
                let number = self.nodes[at].notices;
                let rank = &mut self.nodes[at].rank;
                rank.notify(to as u32, &[number; 256], must_come);
                if must_come {
                    self.nodes[at].told.push((to as u32, number));
                }
            }
        }
        is_busy
    }

    /// Only who is dead may be lost, or whose wire was cut where nothing is sent again.
    pub(super) fn check_loss(&mut self, at: usize, lost: LostPeer, since: Duration) {
        self.counts.add(Event::Failed, 1);
        let (seed, other) = (self.seed, lost.rank as usize);
        let by_cut = self.had_cuts && !self.settings.resends;
        assert!(
            self.nodes[other].is_dead || by_cut,
            "seed {seed}: rank {at} says: {lost}"
        );
        let (node, other) = (&self.nodes[at], &self.nodes[other]);
        let (begin, end) = node.sleeps;
        // What it finds out while it sleeps counts from when it wakes.
        let waited = self.now.saturating_sub(other.died.max(since));
        let slept = end.saturating_sub(begin);
        assert!(
            !other.vanishes || waited <= FOUND_WITHIN + slept,
            "seed {seed}: rank {at} has waited {waited:?}: {lost}"
        );
    }
}

impl Node {
    /// What time it is for it: it stands still while it reads nothing, as nobody can answer it in time then.
    fn clock(&self, now: Duration) -> Duration {
        let (begin, end) = self.sleeps;
        match now {
            _ if now < begin => now,
            _ if now < end => begin,
            _ => now - (end - begin),
        }
    }

    /// Whether all its messages are over, or it is.
    fn is_done(&self) -> bool {
        let is_over = || self.operations.iter().all(|operation| operation.is_over);
        self.is_dead || is_over() && self.has_put()
    }

    /// What it should have heard of the living.
    pub fn told_to(&self, rank: u32) -> BTreeSet<u8> {
        let to = self.told.iter().filter(|(to, _)| *to == rank);
        to.map(|(_, number)| *number).collect()
    }
}

/// When wires are cut.
fn draw_cuts(chance: &mut Chance) -> Vec<Duration> {
    let cuts = match chance.below(3) {
        0 => chance.within(1, 8),
        _ => 0,
    };
    (0..cuts).map(|_| micros(chance.below(20_000))).collect()
}

/// By rank its host; some have several ranks.
fn draw_hosts(chance: &mut Chance, ranks: u32) -> Vec<u32> {
    match chance.one_in(2) {
        true => (0..ranks).map(|rank| rank / 2).collect(),
        false => (0..ranks).collect(),
    }
}

fn draw_settings_and_traffic(chance: &mut Chance, ranks: usize) -> (Settings, Vec<Vec<Operation>>) {
    let mut settings = draw_settings(chance);
    // In half of them long messages go unasked, and land while their receives are posted.
    let are_unasked = chance.one_in(2);
    let most_bytes = match are_unasked || chance.one_in(8) {
        true => 20_000,
        false => 2000,
    };
    let traffic = draw(chance, ranks, most_bytes);
    if are_unasked {
        settings.eager_bytes = chance.within(400, most_bytes) as u32;
        settings.unexpected_bytes = settings.eager_bytes * chance.within(1, 8) as u32;
    }
    // What is taken back may count for ever at the other end.
    if traffic.iter().flatten().any(|it| it.gives_up.is_some()) {
        settings.announced = 1 << 14;
    }
    (settings, traffic)
}

fn draw_settings(chance: &mut Chance) -> Settings {
    Settings {
        tags: 3,
        connections: chance.within(1, 2) as u32,
        eager_bytes: chance.within(0, 400) as u32,
        unexpected_bytes: chance.within(0, 2000) as u32,
        announced: match chance.one_in(2) {
            true => chance.within(1, 4) as u32,
            false => 1 << 14,
        },
        copied_bytes: chance.below(300) as u32,
        part_bytes: (chance.within(1, 100) as u32, chance.within(100, 400) as u32),
        acknowledged_bytes: chance.within(1, 1000) as u32,
        unacknowledged_bytes: chance.within(0, 400) as u32,
        unlined_bytes: chance.within(0, 400) as u32,
        resends: !chance.one_in(4),
        told_ranks: 64 * chance.below(2) as u32,
        ..Settings::default()
    }
}

fn begin(rank: &mut Rank<Arena>, operation: &mut Operation) -> Result<(), LostPeer> {
    let (other, tag) = (operation.other, operation.tag);
    if operation.is_send {
        let span = rank.memory_mut().lend(operation.content.clone());
        operation.begun = Some((rank.send(other, tag, span, operation.signature)?, span));
    } else {
        let span = rank.memory_mut().lend(vec![0x55; operation.room]);
        operation.begun = Some((rank.receive(other, tag, span, operation.signature), span));
    }
    Ok(())
}

/// A message that has ended is what was sent.
fn check(seed: u64, at: usize, operation: &Operation, end: matching::End, memory: &[u8]) {
    if operation.gives_up.is_some() && !operation.is_send {
        // One that was taken back before may have left its number, and message, to this one.
        return;
    }
    let length = operation.content.len();
    let differs = operation.signature > SIGNATURE;
    let right = match operation.is_send || length <= operation.room {
        _ if differs => matching::End::Differs,
        true => matching::End::Whole(length),
        false => matching::End::TooLong,
    };
    assert_eq!(end, right, "seed {seed}, rank {at}: {operation:?}");
    if differs {
        let is_untouched = memory.iter().all(|byte| *byte == 0x55);
        assert!(
            is_untouched,
            "seed {seed}, rank {at}: a message of another call has landed"
        );
    } else if !operation.is_send && length <= operation.room {
        let got = &memory[..length];
        assert!(
            got == operation.content,
            "seed {seed}, rank {at}: another message came"
        );
    }
}
