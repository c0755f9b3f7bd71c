//! Traffic: which messages the ranks of a simulation send one another, and what must come of each.

use super::chance::Chance;
use super::world::micros;
use crate::transport::net::tcp::protocol::memory::Span;
use crate::transport::net::tcp::protocol::rank::Message;
use std::time::Duration;

/// The signature of all sends.
pub const SIGNATURE: u64 = 77;

/// A message as one of its two ends sees it.
#[derive(Clone, Debug)]
pub struct Operation {
    /// When it begins.
    pub when: Duration,
    pub is_send: bool,
    pub other: u32,
    pub tag: u32,
    /// What is sent.
    pub content: Vec<u8>,
    /// The length of the receive's memory.
    pub room: usize,
    /// The signature of its call.
    pub signature: u64,
    /// When it is under way: its name and memory.
    pub begun: Option<(Message, Span)>,
    pub is_over: bool,
    /// When it is taken back if it is not over by then.
    pub gives_up: Option<Duration>,
}

/// The operations of every rank, in the order in which they begin; receives from one rank with one tag in the order of their sends.
pub fn draw(chance: &mut Chance, ranks: usize, most_bytes: u64) -> Vec<Vec<Operation>> {
    let mut all: Vec<Vec<Operation>> = vec![Vec::new(); ranks];
    let lasts_us = chance.within(100, 20_000);
    // In some worlds one tag's messages are all taken back if they take long.
    let fickle = chance.one_in(4).then_some(2);
    for from in 0..ranks {
        for to in (0..ranks).filter(|to| *to != from) {
            let (mut sent, mut received) = ([0; 3], [0; 3]);
            let count = chance.below(9);
            for _ in 0..count {
                let tag = chance.below(3) as usize;
                // Those of a tag begin one after another at both ends.
                let mut next = |before: &mut u64| {
                    *before += chance.below(lasts_us / (count + 1) + 1);
                    Duration::from_micros(*before)
                };
                let (send, receive) = (next(&mut sent[tag]), next(&mut received[tag]));
                let length = match chance.below(4) {
                    0 => chance.below(3),
                    1 | 2 => chance.below(most_bytes / 8),
                    _ => chance.below(most_bytes),
                };
                let content: Vec<u8> = (0..length).map(|_| chance.next() as u8).collect();
                let length = length as usize;
                let room = match chance.below(12) {
                    0 => length.saturating_sub(1 + chance.below(20) as usize),
                    1 | 2 => length + chance.below(most_bytes) as usize,
                    _ => length,
                };
                let signature = match chance.below(30) {
                    0 => SIGNATURE + 1,
                    1 | 2 => 0,
                    _ => SIGNATURE,
                };
                let mut patience = || micros(chance.below(5000));
                let patience = [patience(), patience()];
                let operation = |when, is_send, other: usize| Operation {
                    when,
                    is_send,
                    other: other as u32,
                    tag: tag as u32,
                    content: content.clone(),
                    room,
                    signature: if is_send { SIGNATURE } else { signature },
                    begun: None,
                    is_over: false,
                    gives_up: (fickle == Some(tag)).then(|| when + patience[usize::from(is_send)]),
                };
                all[from].push(operation(send, true, to));
                all[to].push(operation(receive, false, from));
            }
        }
    }
    for operations in &mut all {
        // Keeps the order of those that begin at once.
        operations.sort_by_key(|operation| operation.when);
    }
    all
}
