//! Ranks that meet in simulated time: messages take 100 µs, and a rank sends or takes in one at a time.

use super::card::some_card;
use super::wireup::{Action, At, To, Trouble, WireUp};
use crate::transport::net::tcp::protocol::handshake::Secret;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

const MESSAGE: Duration = Duration::from_micros(100);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Starts(u32),
    /// Somebody, over a connection of its, wants one to a rank.
    Wants {
        to: u32,
        from: u32,
        at: At,
    },
    Connected {
        rank: u32,
        at: At,
    },
    Arrived {
        rank: u32,
        at: At,
        bytes: Vec<u8>,
    },
    Lost {
        rank: u32,
        at: At,
        why: &'static str,
    },
    Looks(u32),
    Free(u32),
    Dies(u32),
}

/// What each rank was started with, and what happens to it.
#[derive(Clone)]
struct Fate {
    rank: u32,
    ranks: u32,
    secret: &'static str,
    starts: Duration,
    dies: Option<Duration>,
}

struct World {
    fates: Vec<Fate>,
    wireups: Vec<Option<WireUp>>,
    dead: Vec<bool>,
    /// By process: until when it is busy with messages.
    busy: Vec<Duration>,
    /// By process: what has come and was not taken in.
    inbox: Vec<VecDeque<Event>>,
    /// The other end of a connection.
    ends: HashMap<(u32, At), (u32, At)>,
    events: BinaryHeap<Reverse<(Duration, u64, Event)>>,
    count: u64,
    now: Duration,
    said: Vec<String>,
    nonce: u8,
    outcomes: Vec<Option<(Result<(), Trouble>, Duration)>>,
}

const LIMIT: Duration = Duration::from_secs(60);

impl World {
    fn new(fates: Vec<Fate>) -> World {
        let count = fates.len();
        let mut world = World {
            wireups: (0..count).map(|_| None).collect(),
            dead: vec![false; count],
            busy: vec![Duration::ZERO; count],
            inbox: vec![VecDeque::new(); count],
            ends: HashMap::new(),
            events: BinaryHeap::new(),
            count: 0,
            now: Duration::ZERO,
            said: Vec::new(),
            nonce: 0,
            outcomes: (0..count).map(|_| None).collect(),
            fates,
        };
        for process in 0..count as u32 {
            let fate = world.fates[process as usize].clone();
            world.push(fate.starts, Event::Starts(process));
            if let Some(dies) = fate.dies {
                world.push(dies, Event::Dies(process));
            }
        }
        world
    }

    fn of(ranks: u32) -> Vec<Fate> {
        let fate = |rank| Fate {
            rank,
            ranks,
            secret: "sixteen bytes ok",
            starts: Duration::from_micros(u64::from(rank * 7919 % 1000)),
            dies: None,
        };
        (0..ranks).map(fate).collect()
    }

    fn push(&mut self, at: Duration, event: Event) {
        self.count += 1;
        self.events.push(Reverse((at, self.count, event)));
    }

    fn nonce(&mut self) -> [u8; 16] {
        self.nonce = self.nonce.wrapping_add(1);
        [self.nonce; 16]
    }

    /// The process that listens where an address leads; all are of one node, and their number is the address's last part.
    fn listens_at(&self, to: To) -> Option<u32> {
        let rank = match to {
            To::Point => 0,
            To::Rank(SocketAddr::V4(address)) => {
                let [.., high, low] = address.ip().octets();
                u32::from(high) << 8 | u32::from(low)
            }
            To::Rank(SocketAddr::V6(_)) => return None,
        };
        let is = |fate: &Fate| fate.rank == rank;
        self.fates.iter().position(is).map(|at| at as u32)
    }

    /// Until nothing happens any more.
    fn run(mut self) -> World {
        while let Some(Reverse((at, _, event))) = self.events.pop() {
            self.now = at;
            self.happen(event);
        }
        self
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Starts(process) => self.start(process),
            Event::Dies(process) => self.die(process),
            Event::Wants { to, from, at } => self.connect(to, from, at),
            Event::Connected { rank, at } => {
                let nonce = self.nonce();
                self.with(rank, |wireup| wireup.connected(at, &nonce));
            }
            Event::Arrived { rank, .. } | Event::Lost { rank, .. } => {
                self.inbox[rank as usize].push_back(event);
                self.take_in(rank);
            }
            Event::Free(rank) => self.take_in(rank),
            Event::Looks(rank) => self.with(rank, |_| ()),
        }
    }

    /// Takes in what has come, one after the other, when the rank is done with what came before.
    fn take_in(&mut self, rank: u32) {
        let place = rank as usize;
        while self.busy[place] <= self.now {
            match self.inbox[place].pop_front() {
                Some(Event::Arrived { at, bytes, .. }) => {
                    self.busy[place] = self.now + MESSAGE;
                    self.with(rank, |wireup| wireup.arrived(at, &bytes));
                }
                Some(Event::Lost { at, why, .. }) => {
                    self.with(rank, |wireup| wireup.lost(at, why));
                }
                _ => return,
            }
        }
        if !self.inbox[place].is_empty() {
            self.push(self.busy[place], Event::Free(rank));
        }
    }

    fn start(&mut self, process: u32) {
        let fate = self.fates[process as usize].clone();
        let mut card = some_card(fate.rank, fate.ranks, 0);
        let [.., high, low] = fate.rank.to_be_bytes();
        card.wiring = SocketAddr::from(([10, 0, high, low], 1));
        let secret = Secret::new(fate.secret.as_bytes()).expect("it is long enough");
        let wireup = WireUp::new(card, "h0:1".into(), secret, (LIMIT, self.nonce()));
        self.wireups[process as usize] = Some(wireup);
        self.with(process, |_| ());
    }

    fn die(&mut self, process: u32) {
        self.dead[process as usize] = true;
        self.wireups[process as usize] = None;
        let own = self.ends.iter().filter(|((rank, _), _)| *rank == process);
        let others: Vec<(u32, At)> = own.map(|(_, other)| *other).collect();
        for (rank, at) in others {
            let why = "the connection was closed";
            self.push(self.now + MESSAGE, Event::Lost { rank, at, why });
        }
    }

    fn connect(&mut self, to: u32, from: u32, at: At) {
        let nonce = self.nonce();
        let listens = self.wireups[to as usize].as_mut();
        let Some(wireup) = listens.filter(|wireup| wireup.outcome().is_none()) else {
            let why = "connection refused";
            let event = Event::Lost {
                rank: from,
                at,
                why,
            };
            return self.push(self.now + MESSAGE, event);
        };
        let there = wireup.accepted(&nonce);
        self.ends.insert((from, at), (to, there));
        self.ends.insert((to, there), (from, at));
        self.push(self.now + MESSAGE, Event::Connected { rank: from, at });
    }

    /// Has a rank look at its clock, do something, and act.
    fn with(&mut self, rank: u32, act: impl FnOnce(&mut WireUp)) {
        let (now, starts) = (self.now, self.fates[rank as usize].starts);
        let Some(wireup) = &mut self.wireups[rank as usize] else {
            return;
        };
        let was_over = wireup.outcome().is_some();
        act(wireup);
        wireup.at(now - starts);
        if wireup.table().is_some() {
            wireup.ready();
        }
        let mut actions = Vec::new();
        while let Some(action) = wireup.action() {
            actions.push(action);
        }
        let deadline = wireup.deadline();
        let outcome = wireup.outcome().cloned();
        for action in actions {
            self.act(rank, action);
        }
        match outcome {
            Some(outcome) if !was_over => self.outcomes[rank as usize] = Some((outcome, self.now)),
            Some(_) => {}
            None => {
                if let Some(deadline) = deadline {
                    let at = (starts + deadline).max(self.now + Duration::from_millis(1));
                    self.push(at, Event::Looks(rank));
                }
            }
        }
    }

    fn act(&mut self, rank: u32, action: Action) {
        match action {
            Action::Connect { at, to } => match self.listens_at(to) {
                Some(to) => self.push(self.now + MESSAGE, Event::Wants { to, from: rank, at }),
                None => {
                    let why = "no route";
                    self.push(self.now + MESSAGE, Event::Lost { rank, at, why });
                }
            },
            Action::Send { at, bytes } => {
                let sent = self.busy[rank as usize].max(self.now) + MESSAGE;
                self.busy[rank as usize] = sent;
                if let Some((rank, at)) = self.ends.get(&(rank, at)).copied() {
                    self.push(sent, Event::Arrived { rank, at, bytes });
                }
            }
            Action::Close { at } => {
                if let Some((other, there)) = self.ends.get(&(rank, at)).copied() {
                    // Behind what was sent.
                    let when = self.busy[rank as usize].max(self.now) + MESSAGE;
                    let why = "the connection was closed";
                    let event = Event::Lost {
                        rank: other,
                        at: there,
                        why,
                    };
                    self.push(when, event);
                }
            }
            Action::Say(line) => self.said.push(line),
        }
    }

    fn trouble(&self, process: usize) -> &str {
        match &self.outcomes[process] {
            Some((Err(Trouble(says)), _)) => says,
            other => panic!("process {process}: {other:?}"),
        }
    }
}

#[test]
fn a_thousand_ranks_meet_in_less_than_two_seconds() {
    for ranks in [1, 2, 3, 5, 64, 1024] {
        let world = World::new(World::of(ranks)).run();
        let mut last = Duration::ZERO;
        for (rank, outcome) in world.outcomes.iter().enumerate() {
            let (outcome, when) = outcome.as_ref().expect("it has ended");
            assert_eq!(outcome, &Ok(()), "rank {rank} of {ranks}");
            last = last.max(*when);
        }
        println!("{ranks} ranks: {last:?}");
        assert!(last < Duration::from_secs(2), "{ranks} ranks take {last:?}");
        for wireup in world.wireups.iter().flatten() {
            let table = wireup.table().expect("all have it");
            assert_eq!(table.cards.len(), ranks as usize);
        }
        assert_eq!(world.said, Vec::<String>::new());
    }
}

#[test]
fn when_the_table_is_there_the_rest_is_logarithmic() {
    // From the last rank's start on, when all others have been waiting.
    let took = |ranks: u32| {
        let mut fates = World::of(ranks);
        fates[ranks as usize - 1].starts = Duration::from_secs(1);
        let world = World::new(fates).run();
        let ends = world.outcomes.iter().flatten().map(|(_, when)| *when);
        ends.max().expect("there are ranks") - Duration::from_secs(1)
    };
    let (few, many) = (took(16), took(1024));
    println!("16 ranks: {few:?}, 1024 ranks: {many:?}");
    assert!(many < 3 * few, "{few:?} for 16 ranks, {many:?} for 1024");
}

#[test]
fn whoever_is_missing_is_named_to_all() {
    let mut fates = World::of(8);
    for rank in [3, 6] {
        fates[rank].starts = Duration::from_secs(1000);
    }
    let world = World::new(fates).run();
    let says = "rank 0 has waited 60 s for ranks 3 and 6 of 8, in vain";
    for rank in [0, 1, 2, 4, 5, 7] {
        assert_eq!(world.trouble(rank), says);
    }
    let first = "rank 0 has waited 10 s for ranks 3 and 6 of 8 to come";
    assert_eq!(world.said[0], first);
    assert_eq!(world.said.len(), 3);
    // Who comes after all that finds nobody.
    assert!(
        world
            .trouble(3)
            .contains("has not reached rank 0 at h0:1 for 60 s (connection refused)")
    );
}

#[test]
fn a_late_rank_0_is_waited_for() {
    let mut fates = World::of(6);
    fates[0].starts = Duration::from_secs(50);
    let world = World::new(fates).run();
    assert!(
        world
            .outcomes
            .iter()
            .all(|o| matches!(o, Some((Ok(()), _))))
    );
}

#[test]
fn mistakes_are_the_same_words_on_every_rank() {
    let mut twice = World::of(4);
    twice.push(Fate {
        rank: 2,
        starts: Duration::from_millis(1),
        ..twice[2].clone()
    });
    twice[3].starts = Duration::from_secs(1);
    let mut sizes = World::of(4);
    sizes[2].ranks = 5;
    sizes[3].starts = Duration::from_secs(1);
    let mut high = World::of(4);
    high[2].rank = 9;
    high[2].ranks = 16;
    high[3].starts = Duration::from_secs(1);
    for (fates, says) in [
        (
            twice,
            "two processes were started as rank 2: 1002 on host h0 and 1002 on host h0",
        ),
        (
            sizes,
            "rank 2 on host h0 was started as one of 5 ranks, and rank 0 on host h0 as one of 4",
        ),
        (high, "rank 9 on host h0 was started as one of 16 ranks"),
    ] {
        let count = fates.len();
        let world = World::new(fates).run();
        for process in (0..count).filter(|process| *process != 3) {
            let said = world.trouble(process);
            assert!(
                said.contains(says),
                "process {process}: {said} instead of {says}"
            );
        }
    }
}

#[test]
fn another_secret_is_found_by_who_has_it() {
    let mut fates = World::of(4);
    fates[2].secret = "sixteen other ok";
    let world = World::new(fates).run();
    let says = world.trouble(2);
    assert!(
        says.contains("different secrets") && says.contains("rank 2"),
        "{says}"
    );
    for rank in [0, 1, 3] {
        let says = world.trouble(rank);
        assert!(
            says.contains("for rank 2 of 4, in vain; 1 connections were refused"),
            "{says}"
        );
    }
}

#[test]
fn a_rank_that_dies_at_any_moment_is_named() {
    let ranks = 13;
    for victim in [0, 1, 2, 5, 12] {
        for half in 0..60 {
            let mut fates = World::of(ranks);
            fates[victim].dies = Some(Duration::from_micros(1000 + half * 300));
            let world = World::new(fates).run();
            let mut good = 0;
            for process in (0..ranks as usize).filter(|process| *process != victim) {
                match &world.outcomes[process] {
                    Some((Ok(()), _)) => good += 1,
                    Some((Err(Trouble(says)), _)) => {
                        let named = format!("rank {victim} ");
                        let missing = format!("for rank {victim} of 13, in vain");
                        let unreached = says.contains("has not reached rank 0");
                        // Whoever is behind rank 0's end in the tree knows no more.
                        let behind = says.contains("is gone before all were there");
                        let behind = behind && victim == 0;
                        let is_named = says.contains(&named) || says.contains(&missing);
                        assert!(
                            is_named || unreached || behind,
                            "{victim} at {half}: {says}"
                        );
                    }
                    None => panic!("rank {process} waits for ever for {victim} at {half}"),
                }
            }
            assert!(good <= 12);
        }
    }
}
