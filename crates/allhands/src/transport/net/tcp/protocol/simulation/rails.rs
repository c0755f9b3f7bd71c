//! Rails in simulated time: when messages are there that go over rails of different rates, by what the sum of rates says.

use super::arena::Arena;
use super::wire::{End, Pipe, Wire};
use crate::transport::net::tcp::protocol::handshake::{Job, Secret};
use crate::transport::net::tcp::protocol::memory::{Memory, Span};
use crate::transport::net::tcp::protocol::rank::{Action, Message, Piece, Rank, Target};
use crate::transport::net::tcp::protocol::settings::Settings;
use std::time::Duration;

/// What passes between two looks of a rank that is awake.
const LOOK: Duration = Duration::from_micros(50);
/// One way, without what bytes take.
const DELAY: Duration = Duration::from_micros(500);
/// No exchange takes longer.
const LIMIT: Duration = Duration::from_secs(60);

/// Two ranks, on rails that each carry so many bytes a second.
struct Pair {
    now: Duration,
    ranks: [Rank<Arena>; 2],
    rates: Vec<u64>,
    wires: Vec<Wire>,
    /// Bytes that were written over each rail by rank 0.
    carried: Vec<u64>,
    /// By rank when it looks next.
    next: [Duration; 2],
}

impl Pair {
    fn new(rates: &[u64]) -> Pair {
        let settings = Settings::default();
        let job = |rank| Job {
            secret: Secret::new(b"only for simulations").unwrap(),
            id: [1; 16],
            rank,
            ranks: 2,
            rails: rates.len() as u32,
            settings: settings.digest(),
        };
        let mut pair = Pair {
            now: Duration::ZERO,
            ranks: [0, 1].map(|rank| Rank::new(job(rank), settings, Arena::default())),
            rates: rates.to_vec(),
            wires: Vec::new(),
            carried: vec![0; rates.len()],
            next: [Duration::ZERO; 2],
        };
        // All connections are there before something is timed, one over each rail.
        for from in [0, 0, 0, 1] {
            pair.exchange(&[(from, 8)]);
        }
        assert_eq!(pair.wires.len(), rates.len());
        pair.carried.fill(0);
        pair
    }

    /// Sends messages, each from a rank with so many bytes, at once; how long that takes until all are there.
    fn exchange(&mut self, messages: &[(usize, usize)]) -> Duration {
        let began = self.now;
        let mut under_way: Vec<(usize, Message, Span, bool)> = Vec::new();
        for (from, bytes) in messages {
            let to = 1 - from;
            let into = self.ranks[to].memory_mut().lend(vec![0; *bytes]);
            let receive = self.ranks[to].receive(*from as u32, 0, into, 7);
            under_way.push((to, receive, into, false));
        }
        for (from, bytes) in messages {
            let content: Vec<u8> = (0..*bytes).map(|at| (at % 251) as u8).collect();
            let of = self.ranks[*from].memory_mut().lend(content);
            let send = self.ranks[*from].send(1 - *from as u32, 0, of, 7);
            under_way.push((*from, send.expect("nobody is lost"), of, true));
        }
        self.next = [self.now; 2];
        let mut last = self.now;
        while !under_way.is_empty() {
            assert!(self.now < began + LIMIT, "the ranks hang");
            for rank in 0..2 {
                if self.next[rank] <= self.now {
                    self.look(rank);
                }
            }
            under_way.retain(|(rank, message, span, is_send)| {
                let over = self.ranks[*rank].test(*message).expect("nobody is lost");
                if over.is_some() {
                    let memory = self.ranks[*rank].memory_mut().take_back(*span);
                    let is_right = |(at, byte): (usize, &u8)| *byte == (at % 251) as u8;
                    assert!(memory.iter().enumerate().all(is_right));
                    last = if *is_send { last } else { self.now };
                }
                over.is_none()
            });
            self.now += LOOK;
        }
        last - began
    }

    fn look(&mut self, at: usize) {
        let now = self.now;
        self.ranks[at].at(now);
        let mut is_busy = self.read_all(at);
        for wire in &mut self.wires {
            let left = wire.unacknowledged(at, now);
            let connection = wire.ends[at].connection.expect("no wire is cut");
            self.ranks[at].delivered(connection, left);
            if wire.ends[at].is_blocked && wire.room(at) > 0 {
                wire.ends[at].is_blocked = false;
                self.ranks[at].writable(connection);
            }
        }
        self.act(at);
        while let Some(connection) = self.ranks[at].transmit() {
            is_busy = true;
            self.write(at, connection);
            self.act(at);
        }
        // A rank that finds nothing sleeps until something comes or is due.
        let due = self.ranks[at].measured_within().unwrap_or(LIMIT);
        self.next[at] = now + if is_busy { LOOK } else { due };
    }

    fn act(&mut self, at: usize) {
        while let Some(action) = self.ranks[at].action() {
            let Action::Connect {
                connection, rail, ..
            } = action
            else {
                panic!("nothing is closed");
            };
            let accepted = self.ranks[1 - at].accepted(&[9; 16]);
            self.ranks[at].connected(connection, &[self.wires.len() as u8; 16]);
            let end = |rank, connection| End {
                rank,
                connection: Some(connection),
                notices: None,
                is_blocked: false,
            };
            let mut ends = [end(at, connection), end(1 - at, accepted)];
            ends.sort_by_key(|end| end.rank);
            self.wires.push(Wire {
                ends,
                pipes: [Pipe::default(), Pipe::default()],
                delay: DELAY,
                byte_time: Duration::from_nanos(1_000_000_000 / self.rates[rail as usize]),
                capacity: 8 << 20,
                unheard: Default::default(),
                is_silent: false,
            });
        }
    }

    fn write(&mut self, at: usize, connection: u32) {
        let is_it = |wire: &&mut Wire| wire.ends[at].connection == Some(connection);
        let wire = self.wires.iter_mut().find(is_it).expect("it has a wire");
        let rank = &mut self.ranks[at];
        let mut pieces = Vec::new();
        rank.pieces(connection, |piece| {
            pieces.push(match piece {
                Piece::Own(own) => Ok(own.to_vec()),
                Piece::Users(span) => Err(span),
            });
        });
        let mut bytes = Vec::new();
        for piece in pieces {
            match piece {
                Ok(own) => bytes.extend(own),
                Err(span) => {
                    let mut users = vec![0; span.bytes];
                    rank.memory_mut().read(span, &mut users);
                    bytes.extend(users);
                }
            }
        }
        let all = bytes.len();
        bytes.truncate(wire.room(at));
        let written = bytes.len();
        if written < all {
            wire.ends[at].is_blocked = true;
            rank.blocked(connection);
        }
        // As packets arrive, one after another.
        for packet in bytes.chunks(9000) {
            wire.write(at, packet.to_vec(), self.now);
        }
        if at == 0 {
            let rate = 1_000_000_000 / wire.byte_time.as_nanos() as u64;
            let rail = self.rates.iter().position(|other| *other == rate);
            self.carried[rail.expect("it is one of them")] += written as u64;
        }
        rank.written(connection, written);
        // The other end sleeps until something comes.
        let arrives = self.now + DELAY;
        self.next[1 - at] = self.next[1 - at].min(arrives);
    }

    fn read_all(&mut self, at: usize) -> bool {
        let now = self.now;
        let mut is_busy = false;
        for wire in &mut self.wires {
            let connection = wire.ends[at].connection.expect("no wire is cut");
            let pipe = &mut wire.pipes[at];
            pipe.arrive(now);
            while !pipe.there.is_empty() {
                is_busy = true;
                let rank = &mut self.ranks[at];
                match rank.target(connection) {
                    Target::Own(into) => {
                        let bytes = pipe.read(into.len());
                        into[..bytes.len()].copy_from_slice(&bytes);
                        rank.landed(connection, bytes.len());
                    }
                    Target::Users(span) => {
                        let bytes = pipe.read(span.bytes);
                        rank.memory_mut().write(span.part(0, bytes.len()), &bytes);
                        rank.landed(connection, bytes.len());
                    }
                    Target::Protocol | Target::Nowhere(_) => {
                        let bytes = pipe.read(usize::MAX);
                        rank.arrived(connection, &bytes);
                    }
                }
            }
            if !pipe.is_empty() {
                // What is under way wakes it.
                is_busy = true;
            }
        }
        is_busy
    }
}

/// How much longer than the sum of rates says messages of so many bytes take, of which the last one counts.
fn cost(rates: &[u64], bytes: usize, times: usize) -> f64 {
    let mut pair = Pair::new(rates);
    let mut taken = Duration::ZERO;
    for _ in 0..times {
        taken = pair.exchange(&[(0, bytes)]);
    }
    let all: u64 = rates.iter().sum();
    let right = 2.0 * DELAY.as_secs_f64() + bytes as f64 / all as f64;
    taken.as_secs_f64() / right
}

const MBIT_S: u64 = 125_000;

#[test]
fn rails_of_any_rates_carry_what_the_sum_of_rates_says() {
    let mut said = Vec::new();
    let mut is_right = true;
    for (rates, kb, times, most) in [
        // Nothing is known of the rates.
        (&[50, 50][..], 4096, 1, 1.05),
        (&[50, 25], 4096, 1, 1.10),
        (&[200, 20], 4096, 1, 1.10),
        // What was sent before shows them.
        (&[50, 25], 4096, 3, 1.06),
        (&[50, 50], 512, 3, 1.06),
        (&[50, 25], 512, 3, 1.10),
        (&[50, 50], 32, 40, 1.40),
        // Of what is copied parts go over all rails, too.
        (&[50, 50], 8, 40, 0.80),
        (&[50, 50, 50, 50], 8, 40, 0.75),
        (&[1000, 10], 1024, 4, 1.15),
        (&[50, 50, 50, 50], 4096, 2, 1.05),
        (&[50, 50, 50, 25], 4096, 2, 1.10),
    ] {
        let rates: Vec<u64> = rates.iter().map(|rate| rate * MBIT_S).collect();
        let cost = cost(&rates, kb << 10, times);
        is_right &= cost <= most;
        said.push(format!(
            "{rates:?} {kb} KB, {times} times: {cost:.3} of {most}"
        ));
    }
    assert!(is_right, "{said:#?}");
}

#[test]
fn messages_both_ways_do_not_keep_one_another_back() {
    let mut pair = Pair::new(&[50 * MBIT_S, 25 * MBIT_S]);
    let both = [(0, 1 << 20), (1, 1 << 20)];
    pair.exchange(&both);
    let taken = pair.exchange(&both).as_secs_f64();
    let right = 2.0 * DELAY.as_secs_f64() + (1 << 20) as f64 / (75 * MBIT_S) as f64;
    assert!(taken <= 1.10 * right, "{taken} s instead of {right}");
}

#[test]
fn a_slow_rail_gets_less_and_short_messages_take_turns() {
    let mut pair = Pair::new(&[50 * MBIT_S, 25 * MBIT_S]);
    pair.exchange(&[(0, 4 << 20)]);
    pair.carried.fill(0);
    pair.exchange(&[(0, 4 << 20)]);
    let ratio = pair.carried[0] as f64 / pair.carried[1] as f64;
    assert!((1.8..2.2).contains(&ratio), "{:?}", pair.carried);
    pair.carried.fill(0);
    pair.exchange(&[(0, 4 << 10); 60]);
    let ratio = pair.carried[0] as f64 / pair.carried[1] as f64;
    assert!((1.6..2.4).contains(&ratio), "{:?}", pair.carried);
}
