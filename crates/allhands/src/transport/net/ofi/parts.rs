//! Parts: messages that are cut over several rails, and how what has come of them becomes one end.
//!
//! ```text
//! sender       receiver
//! cut          cut       a part for each receive that waits, on every rail
//! cut          whole     the first part says so, and the others are received when it is here
//! whole        cut       what is here says so, and the other receives are taken back
//! ```
//!
//! Lengths need not be equal. As parts lie one behind the other, and none begins later in a shorter message, each fits into its
//! receive as long as the message fits into its own, and they are moved together when all are here. Where nothing may be written behind
//! a message that is shorter, receives await whole ones, and further parts land in memory of ours.

use super::driver::OfiNetwork;
use super::operation::{Failure, Kind, NONE, Stage};
use super::withdrawal::TAKEN_BACK_IN;
use crate::transport::net::Ended;
use std::ptr;

/// How a message ended, if it has, for whoever has its ticket.
pub(super) type End = Option<Result<Ended, Failure>>;

impl OfiNetwork {
    /// Begins a message over all rails, with its first part on this one; the number of that.
    pub(super) fn begin_parts(
        &mut self,
        (kind, peer, tag): (Kind, u32, u64),
        first: usize,
        (memory, bytes): (*mut u8, usize),
    ) -> u32 {
        let is_send = kind.is_outgoing();
        let tag = match is_send {
            true => self.layout.of_part(tag),
            false => tag,
        };
        let parts = self.shares.parts(first, bytes);
        let mut length = parts.map(|(_, part)| part.len()).next().unwrap_or(bytes);
        if !is_send {
            // What comes may be whole.
            length = length.max(self.shares.most_whole().min(bytes));
        }
        let message = self.begin_one((kind, peer, tag), first, (memory, length));
        let operation = self.operations.get(message);
        (operation.room, operation.is_cut) = (bytes, is_send);
        self.begin_rest(message);
        message
    }

    /// Begins all parts of a message but the first.
    fn begin_rest(&mut self, message: u32) {
        let operation = self.operations.at(message);
        let (first, mut memory, bytes) = (operation.rail.into(), operation.memory, operation.room);
        let kind = (operation.kind, operation.peer, operation.tag);
        if operation.kind == Kind::Receive && self.expects_shorter {
            let landing = vec![0; bytes].into_boxed_slice();
            memory = self
                .landings
                .entry(message)
                .insert_entry(landing)
                .get_mut()
                .as_mut_ptr();
        }
        let mut last = message;
        for at in 1..self.rails.len() {
            let Some((rail, part)) = self.shares.parts(first, bytes).nth(at) else {
                break;
            };
            let memory = memory.wrapping_add(part.start);
            let number = self.begin_one(kind, rail, (memory, part.len()));
            self.operations.get(number).is_first = false;
            self.operations.get(last).next = number;
            last = number;
        }
    }

    /// The first part of a message is here, or a whole one where parts were awaited.
    pub(super) fn first_came(&mut self, message: u32, tag: u64) {
        let is_part = self.layout.is_part(tag);
        let operation = self.operations.get(message);
        operation.is_cut = is_part;
        let has_rest = operation.next != NONE;
        match (is_part, has_rest) {
            (true, false) => self.begin_rest(message),
            (false, true) => self.give_up_rest(message),
            (true, true) | (false, false) => {}
        }
    }

    /// Takes back what nothing comes for.
    fn give_up_rest(&mut self, message: u32) {
        let mut number = self.operations.at(message).next;
        while number != NONE {
            self.take_part_back(number);
            number = self.operations.at(number).next;
        }
    }

    /// How a message of which parts are under way, or were, ended.
    pub(super) fn end_of_parts(&mut self, message: u32) -> End {
        let head = self.operations.at(message);
        let is_send = head.kind.is_outgoing();
        let (is_cut, room, memory) = (head.is_cut, head.room, head.memory);
        if !is_send && !is_cut && matches!(head.end, Some(Ok(_))) {
            return self.end_of_whole(message);
        }
        let (mut is_over, mut worst, mut came) = (true, None, 0);
        for number in self.operations.parts(message) {
            match &self.operations.at(number).end {
                Some(Ok(Ended::Whole(bytes))) => came += bytes,
                Some(Ok(Ended::Differs)) => worst = Some(Ended::Differs),
                Some(Ok(Ended::TooLong)) => worst = worst.or(Some(Ended::TooLong)),
                Some(Err(failure)) => return Some(Err(failure.clone())),
                None => is_over = false,
            }
        }
        if !is_over {
            return None;
        }
        let end = match worst {
            Some(worst) => worst,
            None if came > room => Ended::TooLong,
            None => Ended::Whole(came),
        };
        let is_elsewhere = came < room || self.landings.contains_key(&message);
        if !is_send && end == Ended::Whole(came) && is_elsewhere {
            self.move_together(message, memory);
        }
        Some(Ok(end))
    }

    /// How a message ended that came whole where parts were awaited: when these are over.
    fn end_of_whole(&mut self, message: u32) -> End {
        let mut rest = self.operations.parts(message).skip(1);
        let open = rest.find(|number| self.operations.at(*number).end.is_none());
        drop(rest);
        let Some(number) = open else {
            return self.operations.at(message).end.clone();
        };
        let since = self.operations.at(number).cancelled;
        if since.is_some_and(|since| self.now.saturating_duration_since(since) >= TAKEN_BACK_IN) {
            self.abandon();
        }
        None
    }

    /// Moves the parts of a message to where they belong that is shorter than its receive, or whose parts have landed elsewhere.
    fn move_together(&self, message: u32, memory: *mut u8) {
        let mut end = 0;
        for number in self.operations.parts(message) {
            let part = self.operations.at(number);
            if let Some(Ok(Ended::Whole(bytes))) = part.end {
                // SAFETY: it goes to the memory of a receive of which no part is under way any more, and that has not ended yet for
                // whoever has its ticket, and which is no shorter than what has come. It comes from there, from where it lies behind
                // all parts in front of it or at its place, or from its landing, which is kept until the message is let go.
                unsafe { ptr::copy(part.memory, memory.add(end), bytes) };
                end += bytes;
            }
        }
    }

    /// Whether the provider may touch the memory of a message.
    pub(super) fn uses_memory(&self, message: u32) -> bool {
        let mut parts = self.operations.parts(message);
        parts.any(|number| self.operations.at(number).uses_memory())
    }

    /// Nobody wants a message any more, and its memory is free; so is its landing, as no part uses it.
    pub(super) fn let_go(&mut self, message: u32) {
        let mut number = message;
        while number != NONE {
            let next = self.operations.let_go(number);
            self.settle(number);
            number = next;
        }
        if !self.landings.is_empty() {
            self.landings.remove(&message);
        }
    }

    /// Takes a part back: out of what waits, or by asking the provider once.
    pub(super) fn take_part_back(&mut self, number: u32) {
        let now = self.now;
        let operation = self.operations.get(number);
        if operation.cancelled.is_some() {
            return;
        }
        operation.cancelled = Some(now);
        match operation.stage {
            Stage::Waiting => self.remove_waiting(number),
            // A write that was taken back might leave a flag behind it that is heard; it ends by itself.
            Stage::Posted if operation.kind == Kind::Put => {}
            Stage::Posted => self.ask_for(number),
            Stage::Free | Stage::Over => {}
        }
    }
}
