//! Operations: the messages that are under way, each with the memory that stands for it at the provider.

use super::registration::Place;
use super::signal::SIGNAL_BYTES;
use crate::transport::net::{Ended, Ticket};
use std::ffi::c_void;
use std::time::Instant;

/// No operation.
pub(super) const NONE: u32 = u32::MAX;

/// What stands for an operation at the provider, which may keep notes in the first eight words.
#[repr(C)]
struct Context {
    notes: [usize; 8],
    number: u32,
    /// A signal, where it is one.
    signal: [u8; SIGNAL_BYTES],
}

/// What an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Send,
    Receive,
    /// A write to a window of another rank, or a part of one.
    Put,
    /// A signal to another rank, from its context.
    Signal,
    /// A receive for a signal of any rank, into its context.
    Listen,
    /// A wait for what another rank puts; the provider has nothing of it.
    Attend,
}

impl Kind {
    /// Whether something goes from here to there.
    pub(super) fn is_outgoing(self) -> bool {
        matches!(self, Kind::Send | Kind::Put | Kind::Signal)
    }
}

/// Where a put goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Goal {
    /// The window's number; of a signal, too, if it is about a flag.
    pub(super) window: Option<u64>,
    pub(super) address: u64,
    pub(super) key: u64,
    /// The number of its [stretch](super::fence::Fence), where signals wait for ends.
    pub(super) stretch: u64,
}

/// Where an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Nowhere: the number is free.
    Free,
    /// It waits until the provider has a place for it.
    Waiting,
    /// The provider has it.
    Posted,
    /// The provider has it no more.
    Over,
}

/// Why a message cannot end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// Its other end is lost, for this reason.
    Lost(String),
    /// Something else.
    Other(String),
}

/// A message, or a part of one that goes over several rails.
#[derive(Debug)]
pub(super) struct Operation {
    pub(super) stage: Stage,
    pub(super) kind: Kind,
    /// Of a receive for signals, this rank.
    pub(super) peer: u32,
    pub(super) rail: u8,
    /// Whether it is the message itself, or its first part; and the next part.
    pub(super) is_first: bool,
    pub(super) next: u32,
    /// Of the first: how long the message is, or may be, and whether it is cut, as what has come of it says.
    pub(super) room: usize,
    pub(super) is_cut: bool,
    /// All of it, with the own signature.
    pub(super) tag: u64,
    pub(super) goal: Goal,
    pub(super) memory: *mut u8,
    pub(super) bytes: usize,
    pub(super) place: Option<Place>,
    /// How it ended for whoever has its ticket, which may be before the provider is done with it.
    pub(super) end: Option<Result<Ended, Failure>>,
    /// Whether somebody has its ticket.
    pub(super) is_held: bool,
    pub(super) since: Instant,
    /// When it was first asked to be taken back.
    pub(super) cancelled: Option<Instant>,
    /// How often the number was used.
    generation: u32,
    context: *mut Context,
}

/// The messages of one rank.
#[derive(Debug, Default)]
pub(super) struct Operations {
    all: Vec<Operation>,
    free: Vec<u32>,
    /// How many the provider has, but for receives for signals, which never end by themselves.
    pub(super) posted: usize,
}

// SAFETY: addresses alone; who uses them argues by the promises of `Network::send` and `receive`, which speak of no thread.
unsafe impl Send for Operations {}

impl Operations {
    /// A new operation, which waits; its number.
    pub(super) fn add(
        &mut self,
        (kind, peer, tag): (Kind, u32, u64),
        rail: usize,
        (memory, bytes): (*mut u8, usize),
        since: Instant,
    ) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            let number = self.all.len() as u32;
            self.all.push(Operation::none(number, since));
            number
        });
        let operation = &mut self.all[number as usize];
        operation.stage = Stage::Waiting;
        (operation.kind, operation.peer, operation.tag) = (kind, peer, tag);
        operation.goal = Goal::default();
        (operation.memory, operation.bytes) = (memory, bytes);
        (operation.rail, operation.room) = (rail as u8, bytes);
        operation.is_first = true;
        operation.since = since;
        operation.is_held = true;
        number
    }

    pub(super) fn get(&mut self, number: u32) -> &mut Operation {
        &mut self.all[number as usize]
    }

    pub(super) fn at(&self, number: u32) -> &Operation {
        &self.all[number as usize]
    }

    /// The numbers of a message's parts, from this one on.
    pub(super) fn parts(&self, first: u32) -> impl Iterator<Item = u32> + '_ {
        let next = |number: &u32| Some(self.at(*number).next).filter(|next| *next != NONE);
        std::iter::successors(Some(first), next)
    }

    /// Nobody has the ticket any more; the next part of the message.
    pub(super) fn let_go(&mut self, number: u32) -> u32 {
        let operation = self.get(number);
        operation.is_held = false;
        operation.is_cut = false;
        std::mem::replace(&mut operation.next, NONE)
    }

    /// What stands for it at the provider.
    pub(super) fn context(&self, number: u32) -> *mut c_void {
        self.all[number as usize].context.cast()
    }

    /// Where a signal is that goes by this operation, or comes.
    pub(super) fn signal(&self, number: u32) -> *mut [u8; SIGNAL_BYTES] {
        let context = self.all[number as usize].context;
        // SAFETY: from a box that lives as long as the operation; nothing is read.
        unsafe { &raw mut (*context).signal }
    }

    /// The operation for which this stands.
    ///
    /// # Safety
    /// It is null, or from [`context`](Operations::context).
    pub(super) unsafe fn of_context(&self, context: *mut c_void) -> Option<u32> {
        if context.is_null() {
            return None;
        }
        let context = context.cast::<Context>();
        // SAFETY: as the caller promises; contexts live as long as the operations, and the number is behind what the provider
        // may write.
        let number = unsafe { (&raw const (*context).number).read() };
        let operation = self.all.get(number as usize);
        operation
            .filter(|operation| operation.stage == Stage::Posted)
            .map(|_| number)
    }

    /// How many there have been at once.
    #[cfg(test)]
    pub(super) fn slots(&self) -> usize {
        self.all.len()
    }

    pub(super) fn ticket(&self, number: u32) -> Ticket {
        let generation = self.all[number as usize].generation;
        Ticket(u64::from(generation) << 32 | u64::from(number))
    }

    /// The operation of a ticket, if somebody has it still.
    pub(super) fn of_ticket(&self, Ticket(ticket): Ticket) -> Option<u32> {
        let (generation, number) = ((ticket >> 32) as u32, ticket as u32);
        let operation = self.all.get(number as usize);
        operation
            .filter(|operation| operation.generation == generation && operation.is_held)
            .map(|_| number)
    }

    /// Frees a number if neither the provider nor anybody else has the operation; its place, which is to be released.
    pub(super) fn settle(&mut self, number: u32) -> Option<Place> {
        let operation = &mut self.all[number as usize];
        if operation.stage != Stage::Over {
            return None;
        }
        let place = operation.place.take();
        if !operation.is_held {
            operation.stage = Stage::Free;
            operation.generation = operation.generation.wrapping_add(1);
            (operation.end, operation.cancelled) = (None, None);
            self.free.push(number);
        }
        place
    }

    /// The numbers of all that are waiting or posted.
    pub(super) fn under_way(&self) -> impl Iterator<Item = (u32, &Operation)> {
        let all = (0..).zip(&self.all);
        all.filter(|(_, operation)| matches!(operation.stage, Stage::Waiting | Stage::Posted))
    }

    /// Forgets the contexts, as the provider may write there for ever.
    pub(super) fn leak(&mut self) {
        for operation in &mut self.all {
            operation.context = std::ptr::null_mut();
        }
    }
}

impl Operation {
    fn none(number: u32, since: Instant) -> Operation {
        Operation {
            stage: Stage::Free,
            kind: Kind::Receive,
            peer: 0,
            rail: 0,
            is_first: true,
            next: NONE,
            room: 0,
            is_cut: false,
            tag: 0,
            goal: Goal::default(),
            memory: std::ptr::null_mut(),
            bytes: 0,
            place: None,
            end: None,
            is_held: false,
            since,
            cancelled: None,
            generation: 0,
            context: Box::into_raw(Box::new(Context {
                notes: [0; 8],
                number,
                signal: [0; SIGNAL_BYTES],
            })),
        }
    }

    /// Where the provider reads or writes it.
    pub(super) fn address(&self) -> *mut u8 {
        match &self.place {
            Some(Place::Buffer(buffer)) => buffer.memory,
            _ => self.memory,
        }
    }

    /// Whether the provider may touch the user's memory.
    pub(super) fn uses_memory(&self) -> bool {
        let is_buffer = matches!(self.place, Some(Place::Buffer(_)));
        // A send that has ended before the provider is done with it was copied.
        self.stage == Stage::Posted
            && !is_buffer
            && !(self.kind.is_outgoing() && self.end.is_some())
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        if !self.context.is_null() {
            // SAFETY: from a box, and the provider has no operation any more: whoever cannot be sure of that has leaked it.
            drop(unsafe { Box::from_raw(self.context) });
        }
    }
}
