//! The driver: takes a rank's messages further, from the wait for a place at the provider to their end there.

use super::abi;
use super::capabilities::Guarantee;
use super::endpoint::Endpoint;
use super::error::OfiError;
use super::fence::Fence;
use super::operation::{Failure, Goal, Kind, Operations, Stage};
use super::rail::{HowHanded, Rail};
use super::registration::{Place, Registrar};
use super::shares::{MOST_RAILS, Shares};
use super::tags::{Numbers, TagLayout};
use super::windows::Windows;
use super::wire_up::{self, Cards};
use crate::transport::net::tcp::TcpNetwork;
use crate::transport::net::{Ended, LostRank, Network, NetworkError, Ticket};
use std::collections::HashMap;
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
    /// What fails when it is lost.
    pub(super) watch: Option<Ticket>,
    pub(super) lost: Option<(LostRank, Instant)>,
    /// What was put there.
    pub(super) fence: Fence,
}

/// One rank's network over libfabric.
///
/// Messages go over libfabric, and what ranks tell one another besides over TCP, which also finds out who is lost: providers need
/// not say so.
#[derive(Debug)]
pub struct OfiNetwork {
    pub(super) rails: Box<[Rail]>,
    pub(super) shares: Shares,
    pub(super) operations: Operations,
    pub(super) layout: TagLayout,
    pub(super) tags: u32,
    pub(super) numbers: [Numbers; 2],
    pub(super) rank: u32,
    /// What of the signature goes with messages, and whether there is one.
    pub(super) signature: u64,
    pub(super) is_signed: bool,
    /// Whether messages may be shorter than their receives, and what lies behind them stays as it is.
    pub(super) expects_shorter: bool,
    /// What the parts of such messages land in, but for their first, by message.
    pub(super) landings: HashMap<u32, Box<[u8]>>,
    pub(super) peers: Box<[Peer]>,
    /// What tells that all is there that was put to a window, if ranks have such.
    pub(super) guarantee: Option<Guarantee>,
    pub(super) windows: Windows,
    /// Whether signals about windows are received.
    pub(super) is_listening: bool,
    pub(super) words: TcpNetwork,
    /// Why nothing goes any more.
    pub(super) broken: Option<String>,
    /// Whether the endpoints are closed.
    pub(super) is_closed: bool,
    pub(super) now: Instant,
    listened: Instant,
    watched: Instant,
    /// Whether the last look found anything.
    pub(super) has_found: bool,
}

// SAFETY: the registrar's addresses are those of the endpoint, which may be sent, and of memory that nobody else has.
unsafe impl Send for Registrar {}

impl OfiNetwork {
    /// The network of rank `rank` over these endpoints, one for each rail; `cards` are those of all ranks. They tell one another
    /// everything else by `words`.
    ///
    /// # Errors
    /// If endpoints do not fit one another, or the provider does not know the address of one.
    pub fn new(
        endpoints: Vec<Endpoint>,
        rank: u32,
        cards: &[Cards],
        mut words: TcpNetwork,
    ) -> Result<OfiNetwork, NetworkError> {
        let own: Vec<_> = endpoints.iter().map(Endpoint::own_card).collect();
        let addresses = wire_up::addresses(cards, rank, &own)?;
        let (layout, guarantee) = layout(&endpoints, cards)?;
        let mut rails = Vec::with_capacity(endpoints.len());
        for (mut endpoint, addresses) in endpoints.into_iter().zip(&addresses) {
            let mut names = Vec::with_capacity(addresses.len());
            for (other, address) in (0..).zip(addresses) {
                names.push(match other == rank {
                    true => abi::ADDRESS_UNSPECIFIED,
                    false => endpoint.know(address)?,
                });
            }
            rails.push(Rail::new(endpoint, &names));
        }
        if rails.len() > 1 {
            words.need_all_rails();
        }
        let now = Instant::now();
        Ok(OfiNetwork {
            shares: Shares::even(rails.len()),
            rails: rails.into(),
            operations: Operations::default(),
            tags: layout.tags(),
            layout,
            numbers: Default::default(),
            rank,
            signature: 0,
            is_signed: false,
            expects_shorter: false,
            landings: HashMap::new(),
            peers: cards.iter().map(|_| Peer::default()).collect(),
            guarantee,
            windows: Windows::default(),
            is_listening: false,
            words,
            broken: None,
            is_closed: false,
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
        kind: Kind,
        (peer, tag): (u32, u32),
        (memory, bytes): (*mut u8, usize),
    ) -> Result<Ticket, NetworkError> {
        self.check_length(bytes)?;
        let is_send = kind.is_outgoing();
        let number = self
            .layout
            .next(&mut self.numbers[usize::from(is_send)], peer, tag);
        let from = if is_send { self.rank } else { peer };
        // Both ends count this alike; a rank's messages to one after the other take turns, and so do those with one tag.
        let turn = u64::from(self.rank) + u64::from(peer) + u64::from(tag) + number;
        let tag = self.layout.pack(from, tag, number, self.signature);
        let first = self.shares.first(turn);
        let awaits_whole = !is_send && self.expects_shorter;
        let message = match self.shares.cuts(bytes, self.is_signed) && !awaits_whole {
            true => self.begin_parts((kind, peer, tag), first, (memory, bytes)),
            false => self.begin_one((kind, peer, tag), first, (memory, bytes)),
        };
        Ok(self.operations.ticket(message))
    }

    /// Whether the provider takes so much at once.
    pub(super) fn check_length(&self, bytes: usize) -> Result<(), NetworkError> {
        let all = self.rails.iter().map(|rail| &rail.endpoint.capabilities);
        if let Some(least) = all.min_by_key(|provider| provider.most_bytes)
            && bytes > least.most_bytes
        {
            let (most, provider) = (least.most_bytes, &least.provider);
            let why = format!(
                "a message of {bytes} bytes is longer than the {most} that the provider {provider} takes"
            );
            return Err(NetworkError::Other(why));
        }
        Ok(())
    }

    /// Begins a message that goes over one rail, or a part.
    pub(super) fn begin_one(
        &mut self,
        kind: (Kind, u32, u64),
        rail: usize,
        memory: (*mut u8, usize),
    ) -> u32 {
        let message = self.operations.add(kind, rail, memory, self.now);
        self.hand_in(message, rail);
        message
    }

    /// Begins a part of a put.
    pub(super) fn begin_put(
        &mut self,
        (peer, goal): (u32, Goal),
        rail: usize,
        memory: (*mut u8, usize),
    ) -> u32 {
        let kind = (Kind::Put, peer, 0);
        let put = self.operations.add(kind, rail, memory, self.now);
        self.operations.get(put).goal = goal;
        self.hand_in(put, rail);
        put
    }

    /// Has the provider take what was begun, or has it wait.
    pub(super) fn hand_in(&mut self, message: u32, rail: usize) {
        // None overtakes another that waits.
        if self.rails[rail].is_behind(self.operations.at(message)) || !self.post(message) {
            self.rails[rail].put_off(message, self.operations.at(message));
        }
    }

    /// Has the provider take a message; whether it has, or the message has ended for another reason.
    fn post(&mut self, number: u32) -> bool {
        let operation = self.operations.get(number);
        let rail = &mut self.rails[usize::from(operation.rail)];
        let inject = rail.endpoint.capabilities.inject_bytes;
        // The end of a write is to say that it has come, where nothing else does, so it is not said before.
        let is_delivered =
            operation.kind == Kind::Put && self.guarantee == Some(Guarantee::Delivery);
        let is_outgoing = operation.kind.is_outgoing();
        let is_injected = is_outgoing && !is_delivered && operation.bytes <= inject;
        if operation.place.is_none() {
            let access = match operation.kind {
                Kind::Put => abi::WRITE,
                Kind::Send | Kind::Signal => abi::SEND,
                Kind::Receive | Kind::Listen | Kind::Attend => abi::RECV,
            };
            let (memory, bytes) = (operation.memory, operation.bytes);
            let place = match is_injected {
                true => Ok(Some(Place::Users)),
                false => rail.registrar.place(memory, bytes, access),
            };
            match place {
                Ok(Some(place)) => operation.place = Some(place),
                Ok(None) => return false,
                Err(error) => {
                    let says = rail.endpoint.library.says(error);
                    let why = format!(
                        "libfabric cannot register {bytes} bytes of memory: {says}; right may be a higher limit of locked memory (ulimit -l)"
                    );
                    self.end(number, Err(Failure::Other(why)));
                    return true;
                }
            }
        }
        self.copy_out(number);
        match self.hand_over(number, is_injected) as c_int {
            0 => {
                let operation = self.operations.get(number);
                operation.stage = Stage::Posted;
                let is_copied = is_injected || matches!(operation.place, Some(Place::Buffer(_)));
                if is_outgoing && is_copied && !is_delivered {
                    operation.end = Some(Ok(Ended::Whole(operation.bytes)));
                }
                self.operations.posted += usize::from(operation.kind != Kind::Listen);
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
        let is_outgoing = operation.kind.is_outgoing();
        if let (true, Some(Place::Buffer(buffer))) = (is_outgoing, &operation.place) {
            let (from, into, bytes) = (operation.memory, buffer.memory, operation.bytes);
            // SAFETY: memory of a send or a put that has neither ended nor was cancelled, which is readable and written by nobody, as
            // `Network::send` and `put` ask, or a signal of ours; the buffer is ours, used by this message alone, and no shorter.
            unsafe { ptr::copy_nonoverlapping(from, into, bytes) };
        }
    }

    /// Calls the provider.
    fn hand_over(&self, number: u32, is_injected: bool) -> isize {
        let (operation, context) = (self.operations.at(number), self.operations.context(number));
        let rail = &self.rails[usize::from(operation.rail)];
        let how = HowHanded {
            ignored: match operation.kind {
                Kind::Listen => self.layout.signals().1,
                _ => self.layout.ignored(),
            },
            is_injected,
            write_flags: match self.guarantee {
                Some(Guarantee::Delivery) => abi::DELIVERY_COMPLETE,
                Some(Guarantee::Order) | None => 0,
            },
        };
        rail.hand_over(operation, context, how)
    }

    /// Takes everything further.
    pub(super) fn look(&mut self) -> Result<(), NetworkError> {
        self.now = Instant::now();
        self.has_found = false;
        if self.broken.is_none() {
            self.read_all();
            for rail in 0..self.rails.len() {
                if self.rails[rail].is_waiting() {
                    self.post_waiting(rail);
                }
            }
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
            let rail = self.operations.at(number).rail;
            self.rails[usize::from(rail)].registrar.release(place);
        }
    }

    /// Has the provider take what waits: sends of each peer in their order, so that one that is slow keeps no other back, and
    /// receives in the order of all.
    fn post_waiting(&mut self, rail: usize) {
        while let Some(first) = self.rails[rail].receives.front().copied() {
            if !self.post(first) {
                break;
            }
            self.rails[rail].receives.pop_front();
        }
        let mut stuck: Vec<u32> = Vec::new();
        for _ in 0..self.rails[rail].sends.len() {
            let Some(number) = self.rails[rail].sends.pop_front() else {
                break;
            };
            let peer = self.operations.at(number).peer;
            if stuck.contains(&peer) || !self.post(number) {
                if !stuck.contains(&peer) {
                    stuck.push(peer);
                }
                self.rails[rail].sends.push_back(number);
            } else {
                self.rails[rail].others[peer as usize].waiting -= 1;
            }
        }
    }

    /// Whether something waits for a place at the provider.
    pub(super) fn is_waiting(&self) -> bool {
        self.rails.iter().any(Rail::is_waiting)
    }
}

/// What tags say, which all rails have alike: as little as any of their providers lets them; and what is guaranteed of windows, if all
/// ranks can have such, and tags have a bit for their signals.
fn layout(
    endpoints: &[Endpoint],
    cards: &[Cards],
) -> Result<(TagLayout, Option<Guarantee>), OfiError> {
    let ranks = cards.len() as u32;
    let rails = endpoints.len();
    if rails == 0 || rails > MOST_RAILS {
        return Err(OfiError::Call {
            what: "join ranks",
            why: format!("there are {rails} rails, of which there must be 1 to {MOST_RAILS}"),
        });
    }
    let all = endpoints.iter().map(|endpoint| &endpoint.capabilities);
    let mut local = all
        .clone()
        .filter(|provider| provider.address_format == abi::FORMAT_STR);
    if let (Some(provider), true) = (local.next(), rails > 1) {
        return Err(OfiError::Call {
            what: "join ranks by several rails",
            why: format!(
                "the provider {} has none, as it reaches this host alone",
                provider.provider
            ),
        });
    }
    let is_ordered = all.clone().all(|provider| provider.is_ordered);
    let least = all.min_by_key(|provider| provider.tag_bits);
    let mut least = least.unwrap_or(&endpoints[0].capabilities).clone();
    least.is_ordered = is_ordered;
    if let Some(guarantee) = wire_up::guarantee(cards)
        && let Ok(layout) = TagLayout::new(&least, ranks, rails, true)
    {
        return Ok((layout, Some(guarantee)));
    }
    Ok((TagLayout::new(&least, ranks, rails, false)?, None))
}
