//! The driver: takes a rank's messages further, from the wait for a place at the provider to their end there.

use super::abi::{self, op};
use super::endpoint::Endpoint;
use super::operation::{Failure, Operations, Stage};
use super::registration::{Place, Registrar};
use super::tags::{Numbers, TagLayout};
use super::wire_up;
use crate::transport::net::tcp::TcpNetwork;
use crate::transport::net::{Ended, LostRank, Network, NetworkError, Ticket};
use std::collections::VecDeque;
use std::ffi::c_int;
use std::ptr;
use std::time::{Duration, Instant};

/// How often is looked at what ranks tell one another besides messages.
const LISTENS_EVERY: Duration = Duration::from_micros(200);
/// How often is looked whether others are still there.
const WATCHES_EVERY: Duration = Duration::from_millis(100);

/// What a rank knows of another.
#[derive(Debug, Default)]
pub(super) struct Peer {
    /// What it is called in the address vector.
    address: u64,
    /// What fails when it is lost.
    pub(super) watch: Option<Ticket>,
    pub(super) lost: Option<(LostRank, Instant)>,
    /// How many of its sends wait for a place.
    pub(super) waiting: u32,
}

/// One rank's network over libfabric.
///
/// Messages go over libfabric, and what ranks tell one another besides over TCP, which also finds out who is lost: providers need
/// not say so.
#[derive(Debug)]
pub struct OfiNetwork {
    pub(super) endpoint: Endpoint,
    pub(super) registrar: Registrar,
    pub(super) operations: Operations,
    /// Sends and receives that the provider had no place for, in their order.
    pub(super) sends: VecDeque<u32>,
    pub(super) receives: VecDeque<u32>,
    pub(super) layout: TagLayout,
    pub(super) tags: u32,
    pub(super) numbers: [Numbers; 2],
    pub(super) rank: u32,
    pub(super) signature: u64,
    pub(super) peers: Box<[Peer]>,
    pub(super) words: TcpNetwork,
    /// Why nothing goes any more.
    pub(super) broken: Option<String>,
    pub(super) now: Instant,
    listened: Instant,
    watched: Instant,
    /// Whether the last look found anything.
    pub(super) has_found: bool,
}

// SAFETY: the registrar's addresses are those of the endpoint, which may be sent, and of memory that nobody else has.
unsafe impl Send for Registrar {}

impl OfiNetwork {
    /// The network of rank `rank`, of whose endpoints these are the [cards](Endpoint::card), by rank; ranks tell one another
    /// everything else by `words`.
    ///
    /// # Errors
    /// If endpoints do not fit one another, or the provider does not know the address of one.
    pub fn new(
        mut endpoint: Endpoint,
        rank: u32,
        cards: &[Box<[u8]>],
        words: TcpNetwork,
    ) -> Result<OfiNetwork, NetworkError> {
        let addresses = wire_up::addresses(cards, rank, endpoint.own_card())?;
        let layout = TagLayout::new(&endpoint.capabilities, cards.len() as u32)?;
        let mut peers = Vec::with_capacity(cards.len());
        for (other, address) in (0..).zip(&addresses) {
            let address = match other == rank {
                true => abi::ADDRESS_UNSPECIFIED,
                false => endpoint.know(address)?,
            };
            peers.push(Peer {
                address,
                ..Peer::default()
            });
        }
        let now = Instant::now();
        Ok(OfiNetwork {
            registrar: Registrar::new(&endpoint, &endpoint.capabilities),
            endpoint,
            operations: Operations::default(),
            sends: VecDeque::new(),
            receives: VecDeque::new(),
            tags: layout.tags(),
            layout,
            numbers: Default::default(),
            rank,
            signature: 0,
            peers: peers.into(),
            words,
            broken: None,
            now,
            listened: now,
            watched: now,
            has_found: false,
        })
    }

    /// The same with so many tags.
    #[must_use]
    pub(super) fn with_tags(mut self, tags: u32) -> OfiNetwork {
        self.tags = self.tags.min(tags);
        self
    }

    /// Whether nothing is under way at the provider.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.operations.posted == 0
    }

    pub(super) fn check(&self, other: u32, tag: u32) -> Result<(), NetworkError> {
        let (rank, ranks, tags) = (self.rank, self.peers.len(), self.tags);
        let why = if let Some(broken) = &self.broken {
            broken.clone()
        } else if other as usize >= ranks || other == rank {
            format!("rank {rank} of {ranks} has no messages with rank {other}")
        } else if tag >= tags {
            format!("there is no tag {tag} of {tags}")
        } else {
            return Ok(());
        };
        Err(NetworkError::Other(why))
    }

    /// Begins a message, and has the provider take it if it can.
    pub(super) fn begin(
        &mut self,
        is_send: bool,
        (peer, tag): (u32, u32),
        (memory, bytes): (*mut u8, usize),
    ) -> Result<Ticket, NetworkError> {
        let most = self.endpoint.capabilities.most_bytes;
        if bytes > most {
            let provider = self.endpoint.provider();
            let why = format!(
                "a message of {bytes} bytes is longer than the {most} that the provider {provider} takes"
            );
            return Err(NetworkError::Other(why));
        }
        let number = self
            .layout
            .next(&mut self.numbers[usize::from(is_send)], peer, tag);
        let from = if is_send { self.rank } else { peer };
        let tag = self.layout.pack(from, tag, number, self.signature);
        let message = self
            .operations
            .add((is_send, peer, tag), (memory, bytes), self.now);
        let ticket = self.operations.ticket(message);
        // None overtakes another that waits.
        let waits = match is_send {
            true => self.peers[peer as usize].waiting > 0,
            false => !self.receives.is_empty(),
        };
        if waits || !self.post(message) {
            match is_send {
                true => {
                    self.peers[peer as usize].waiting += 1;
                    self.sends.push_back(message);
                }
                false => self.receives.push_back(message),
            }
        }
        Ok(ticket)
    }

    /// Has the provider take a message; whether it has, or the message has ended for another reason.
    fn post(&mut self, number: u32) -> bool {
        let inject = self.endpoint.capabilities.inject_bytes;
        let operation = self.operations.get(number);
        let is_injected = operation.is_send && operation.bytes <= inject;
        if operation.place.is_none() {
            let (access, memory, bytes) = match operation.is_send {
                true => (abi::SEND, operation.memory, operation.bytes),
                false => (abi::RECV, operation.memory, operation.bytes),
            };
            let place = match is_injected {
                true => Ok(Some(Place::Users)),
                false => self.registrar.place(memory, bytes, access),
            };
            match place {
                Ok(Some(place)) => self.operations.get(number).place = Some(place),
                Ok(None) => return false,
                Err(error) => {
                    let says = self.endpoint.library.says(error);
                    let why = format!(
                        "libfabric cannot register {bytes} bytes of memory: {says}; right may be a higher limit of locked memory (ulimit -l)"
                    );
                    self.end(number, Err(Failure::Other(why)));
                    return true;
                }
            }
        }
        self.copy_out(number);
        let result = self.hand_over(number, is_injected);
        match result as c_int {
            0 => {
                self.operations.posted += 1;
                let operation = self.operations.get(number);
                operation.stage = Stage::Posted;
                let is_copied = is_injected || matches!(operation.place, Some(Place::Buffer(_)));
                if operation.is_send && is_copied {
                    operation.end = Some(Ok(Ended::Whole(operation.bytes)));
                }
                true
            }
            again if again == -abi::EAGAIN => false,
            // Some say so where they have no place for one more.
            full if matches!(-full, libc::ENOMEM | libc::ENOBUFS) && self.operations.posted > 0 => {
                false
            }
            error => {
                let failure = self.failure(number, -error);
                self.end(number, Err(failure));
                true
            }
        }
    }

    /// Copies a message that goes by way of a buffer there.
    fn copy_out(&mut self, number: u32) {
        let operation = self.operations.get(number);
        if let (true, Some(Place::Buffer(buffer))) = (operation.is_send, &operation.place) {
            let (from, into, bytes) = (operation.memory, buffer.memory, operation.bytes);
            // SAFETY: memory of a send that has neither ended nor was cancelled, which is readable and written by nobody, as
            // `Network::send` asks; the buffer is ours, used by this message alone, and no shorter.
            unsafe { ptr::copy_nonoverlapping(from, into, bytes) };
        }
    }

    /// Calls the provider.
    fn hand_over(&mut self, number: u32, is_injected: bool) -> isize {
        let context = self.operations.context(number);
        let operation = self.operations.get(number);
        let (memory, bytes, tag) = (operation.address(), operation.bytes, operation.tag);
        let descriptor = operation
            .place
            .as_ref()
            .map_or(ptr::null_mut(), Place::descriptor);
        let (is_send, address) = (
            operation.is_send,
            self.peers[operation.peer as usize].address,
        );
        let ep = self.endpoint.ep;
        let none = -(abi::ENODATA as isize);
        // SAFETY: the endpoint is open, as nothing is begun or waits when it was closed. The memory is readable, or writable, for
        // as long as the message has neither ended nor is over, as `Network::send` and `receive` ask, or a buffer of ours; it
        // is registered if the provider wants that. The context lives until the provider is done with the message.
        unsafe {
            let ops = (*ep).tagged;
            if is_injected {
                let iov = abi::Iov {
                    base: memory.cast(),
                    len: bytes,
                };
                let message = abi::TaggedMsg {
                    msg_iov: &iov,
                    desc: ptr::null_mut(),
                    iov_count: 1,
                    addr: address,
                    tag,
                    ignore: 0,
                    context,
                    data: 0,
                };
                let flags = abi::INJECT | abi::COMPLETION;
                let send = op!(ops, abi::TaggedOps, sendmsg);
                return send.map_or(none, |send| send(ep, &message, flags));
            }
            if is_send {
                let send = op!(ops, abi::TaggedOps, send);
                let send = send
                    .map(|send| send(ep, memory.cast(), bytes, descriptor, address, tag, context));
                return send.unwrap_or(none);
            }
            let from = abi::ADDRESS_UNSPECIFIED;
            let ignored = self.layout.ignored();
            let receive = op!(ops, abi::TaggedOps, recv);
            receive.map_or(none, |receive| {
                receive(
                    ep,
                    memory.cast(),
                    bytes,
                    descriptor,
                    from,
                    tag,
                    ignored,
                    context,
                )
            })
        }
    }

    /// Takes everything further.
    pub(super) fn look(&mut self) -> Result<(), NetworkError> {
        self.now = Instant::now();
        self.has_found = false;
        if self.broken.is_none() {
            self.read_all();
            self.post_waiting();
        }
        if self.now - self.listened >= LISTENS_EVERY {
            self.listened = self.now;
            self.words.progress()?;
        }
        if self.now - self.watched >= WATCHES_EVERY {
            self.watched = self.now;
            self.watch();
        }
        match &self.broken {
            Some(broken) => Err(NetworkError::Other(broken.clone())),
            None => Ok(()),
        }
    }

    /// Frees what a message that is over had.
    pub(super) fn settle(&mut self, number: u32) {
        if let Some(place) = self.operations.settle(number) {
            self.registrar.release(place);
        }
    }

    /// Has the provider take what waits: sends of each peer in their order, so that one that is slow keeps no other back, and
    /// receives in the order of all.
    fn post_waiting(&mut self) {
        while let Some(first) = self.receives.front().copied() {
            if !self.post(first) {
                break;
            }
            self.receives.pop_front();
        }
        let mut stuck: Vec<u32> = Vec::new();
        for _ in 0..self.sends.len() {
            let Some(number) = self.sends.pop_front() else {
                break;
            };
            let peer = self.operations.get(number).peer;
            if stuck.contains(&peer) || !self.post(number) {
                if !stuck.contains(&peer) {
                    stuck.push(peer);
                }
                self.sends.push_back(number);
            } else {
                self.peers[peer as usize].waiting -= 1;
            }
        }
    }

    /// Whether something waits for a place at the provider.
    pub(super) fn is_waiting(&self) -> bool {
        !(self.sends.is_empty() && self.receives.is_empty())
    }
}
