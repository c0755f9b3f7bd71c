//! Windows between nodes: the own ones into which ranks of other nodes put, and theirs, as this rank puts there.
//!
//! A plan with puts or notifications to ranks of other nodes has a pair of windows with each of these: whoever puts to a rank is told
//! by it when it may again. So when such a plan begins for the first time, each of the two describes its window to the other, in a
//! message of the call on a channel of its own, and nothing is put before both have the other's.
//!
//! A flag that is raised from afar is raised in the window set of the own node when the network is looked at, by its owner, which wakes
//! whoever waits for it there. It says in which call it was raised, and what that is signed with: where this rank's call of that number is
//! another, the flag is not raised, and both find out what differs. One raised in a call to which this rank has not come waits for that.
//!
//! Each also says how many flags it raises at the other in a call. Once all of these have come, the other may have left: nothing more is
//! waited for from there, and that its window is free again need not be said to it.

use crate::transport::AlignedBytes;
use crate::transport::endpoint::nodes::cluster::{Cluster, State, WINDOW_CHANNEL};
use crate::transport::endpoint::nodes::differing::Differing;
use crate::transport::net::{
    Descriptor, Ended, Exposed, NetworkError, Raised, RemoteWindow, SignedCall, Ticket,
    WindowMemory,
};
use crate::transport::shm::segment::shared_segment::SharedSegment;
use crate::transport::shm::segment::window::WindowSet;
use allhands_core::schedule::{OpKind, Plan, PlanItem, PlanOp};
use std::sync::Arc;

/// Of how many calls it is known what they are signed with.
const RECENT: usize = 64;

/// A window of this rank's into which ranks of other nodes put.
struct OwnWindow {
    number: u64,
    flags: Flags,
    /// The ranks that may, in the order of the numbers that plans have for them.
    peers: Box<[Writer]>,
}

/// A rank of another node that puts into a window of this rank's.
struct Writer {
    /// As plans call it, and as the communicator does.
    number: u32,
    name: u32,
    /// How many flags it has raised there, in all calls.
    raised: u64,
}

/// Where the flags of this rank are.
#[derive(Clone)]
pub(crate) struct Flags {
    pub(crate) segment: Arc<SharedSegment>,
    pub(crate) rank: u32,
    pub(crate) set: Arc<WindowSet>,
}

/// The windows of this rank's into which ranks of other nodes put, and the calls in which they do.
pub(crate) struct OwnWindows {
    all: Vec<OwnWindow>,
    /// By the number of the call, modulo how many there are.
    recent: [SignedCall; RECENT],
    /// The last call of this rank with messages, or puts, to other nodes.
    last: Option<u64>,
    /// Flags that were raised in later calls.
    early: Vec<Raised>,
}

impl OwnWindows {
    pub(crate) fn new() -> OwnWindows {
        OwnWindows {
            all: Vec::new(),
            recent: [SignedCall::default(); RECENT],
            last: None,
            early: Vec::new(),
        }
    }

    /// Whether a flag was raised in a call that this rank makes as another one.
    fn differs(&self, by: SignedCall) -> bool {
        let own = self.recent[by.call as usize % RECENT];
        let differ = own.signature != by.signature && own.signature != 0 && by.signature != 0;
        own.call == by.call && differ
    }
}

impl State {
    /// Notes a call that begins.
    pub(crate) fn enter(&mut self, by: SignedCall) {
        let windows = &mut self.windows;
        windows.recent[by.call as usize % RECENT] = by;
        windows.last = windows.last.max(Some(by.call));
        for at in (0..windows.early.len()).rev() {
            if self.windows.early[at].by.call <= by.call {
                let raised = self.windows.early.remove(at);
                self.raise(raised);
            }
        }
    }

    /// Raises the flags that ranks of other nodes have raised.
    pub(crate) fn raise_all(&mut self) {
        if self.windows.all.is_empty() {
            return;
        }
        while let Some(raised) = self.network.raised() {
            match Some(raised.by.call) > self.windows.last {
                true => self.windows.early.push(raised),
                false => self.raise(raised),
            }
        }
    }

    fn raise(&mut self, raised: Raised) {
        let differs = self.windows.differs(raised.by);
        let mut all = self.windows.all.iter_mut();
        let Some(window) = all.find(|window| window.number == raised.window) else {
            return;
        };
        let mut peers = window.peers.iter_mut();
        let Some(peer) = peers.find(|peer| peer.name == raised.from) else {
            return;
        };
        if differs {
            let differing = Differing::new(peer.number, raised.by.call);
            self.differing.get_or_insert(differing);
            return;
        }
        peer.raised += 1;
        let Flags { segment, rank, set } = &window.flags;
        set.notify(*rank, *rank, raised.flag);
        segment.wake_all();
    }
}

/// What a rank tells another before it puts there.
#[derive(Clone, Copy)]
#[repr(C)]
struct Introduction {
    /// Of its own window.
    descriptor: Descriptor,
    /// How many flags it raises at the other in a call, from the lowest byte on.
    raises: [u8; 8],
}

impl Introduction {
    const BYTES: usize = size_of::<Introduction>();
}

/// A rank of another node with whose window a request has to do.
struct Peer {
    /// As plans call it, and as the communicator does.
    number: u32,
    name: u32,
    window: RemoteWindow,
    /// How many flags it raises here in a call.
    raises: u64,
    /// The messages in which each describes its window to the other.
    said: Option<Ticket>,
    heard: Option<Ticket>,
    is_known: bool,
}

/// How far the peers of a request know one another's windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exchange {
    /// All do.
    Done,
    /// Messages are under way.
    UnderWay,
    /// A message was so long, of this peer's.
    Length(u32, u64),
}

/// What a request keeps for the windows of other nodes.
pub(crate) struct RemoteWindows {
    cluster: Arc<Cluster>,
    own: Exposed,
    /// In the order of their numbers.
    peers: Box<[Peer]>,
    has_begun: bool,
    is_exchanged: bool,
    /// For each peer what it is told, and what it tells.
    introductions: AlignedBytes,
    /// How many calls have begun.
    calls: u64,
    /// Puts under way, each with its operation.
    puts: Vec<(u32, Ticket)>,
    /// The waits for peers while a call is under way.
    attends: Vec<Ticket>,
}

/// A rank of another node to which an operation puts, or whose flag it raises, on a node of `here` ranks.
fn peer(op: &PlanOp, here: u32) -> Option<u32> {
    match op.kind {
        OpKind::Put { to, .. } | OpKind::Notify { to, .. } if to >= here => Some(to),
        _ => None,
    }
}

/// How many flags of a rank a plan raises.
fn raises(plan: &Plan, to: u32) -> u64 {
    let of_item = |item: &PlanItem| {
        let times = plan.repeat(item).map_or(1, |repeat| repeat.times);
        let ops = plan.ops[item.start as usize..item.end as usize].iter();
        let raise = |op: &&PlanOp| matches!(op.kind, OpKind::Notify { to: at, .. } if at == to);
        u64::from(times) * ops.filter(raise).count() as u64
    };
    plan.items.iter().map(of_item).sum()
}

impl RemoteWindows {
    /// The length of the messages in which windows are described.
    pub(crate) const MESSAGE_BYTES: u64 = Introduction::BYTES as u64;

    /// For the puts of a plan to other nodes, on a node of `here` ranks; none if it has none.
    pub(crate) fn new(
        cluster: &Arc<Cluster>,
        here: u32,
        plan: &Plan,
        flags: Option<Flags>,
    ) -> Result<Option<Box<RemoteWindows>>, NetworkError> {
        let mut numbers: Vec<u32> = plan.ops.iter().filter_map(|op| peer(op, here)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let Some(flags) = flags.filter(|_| !numbers.is_empty()) else {
            return Ok(None);
        };
        let mut state = cluster.state();
        let memory = (flags.set.base(flags.rank), flags.set.bytes());
        let names: Vec<u32> = numbers.iter().map(|it| cluster.name(*it)).collect();
        // SAFETY: the set's memory is mapped and writable as long as anybody holds the set, which the table of own windows does until this
        // is dropped, when the network is handed that hold; who reads or writes there waits for the flags that the plan's schedule says.
        let own = unsafe { state.network.expose(memory, flags.set.flags(), &names) }?;
        let writer = |(number, name): (&u32, &u32)| Writer {
            number: *number,
            name: *name,
            raised: 0,
        };
        state.windows.all.push(OwnWindow {
            number: own.number,
            flags,
            peers: numbers.iter().zip(&names).map(writer).collect(),
        });
        drop(state);
        let peer = |number: &u32| Peer {
            number: *number,
            name: cluster.name(*number),
            window: RemoteWindow::new(Descriptor([0; Descriptor::BYTES])),
            raises: 0,
            said: None,
            heard: None,
            is_known: false,
        };
        let introductions = AlignedBytes::zeroed(2 * numbers.len() * Introduction::BYTES);
        for (at, number) in numbers.iter().enumerate() {
            let introduction = Introduction {
                descriptor: own.descriptor,
                raises: raises(plan, *number).to_le_bytes(),
            };
            let place = introductions.address().cast::<Introduction>();
            // SAFETY: there is room for two for each peer, of bytes alone, and nobody else uses it.
            unsafe { place.add(2 * at).write(introduction) };
        }
        Ok(Some(Box::new(RemoteWindows {
            cluster: Arc::clone(cluster),
            own,
            attends: Vec::with_capacity(numbers.len()),
            peers: numbers.iter().map(peer).collect(),
            has_begun: false,
            is_exchanged: false,
            introductions,
            calls: 0,
            puts: Vec::new(),
        })))
    }

    /// Says that a call begins: whoever is to put to this rank must not be lost unseen.
    pub(super) fn depart(&mut self, state: &mut State) -> Result<(), NetworkError> {
        self.calls += 1;
        for peer in &self.peers {
            self.attends.push(state.network.attend(peer.name)?);
        }
        Ok(())
    }

    /// Says that the call has ended.
    pub(super) fn arrive(&mut self, state: &mut State) {
        debug_assert!(self.puts.is_empty(), "a put is under way");
        for ticket in self.attends.drain(..) {
            state.network.cancel(ticket);
        }
    }

    /// Whether no peer is lost of which something is still to come.
    pub(crate) fn look_at_peers(&self, state: &mut State) -> Result<(), NetworkError> {
        for (at, ticket) in self.attends.iter().enumerate() {
            if let Err(error) = state.network.test(*ticket)
                && !self.has_done(state, at)
            {
                return Err(error);
            }
        }
        Ok(())
    }

    /// Whether the peer at a place in their order has raised all flags that it raises here in the calls so far.
    fn has_done(&self, state: &State, at: usize) -> bool {
        let mut all = state.windows.all.iter();
        let own = all.find(|window| window.number == self.own.number);
        let peer = &self.peers[at];
        own.is_some_and(|own| {
            peer.is_known && own.peers[at].raised >= self.calls.saturating_mul(peer.raises)
        })
    }

    /// Takes the exchange of descriptors further, in a call whose messages are signed.
    pub(crate) fn exchange(
        &mut self,
        state: &mut State,
        call: u64,
    ) -> Result<Exchange, NetworkError> {
        if self.is_exchanged {
            return Ok(Exchange::Done);
        }
        let tag = self.cluster.tag(call, WINDOW_CHANNEL);
        let introductions = self.introductions.address();
        let begins = !std::mem::replace(&mut self.has_begun, true);
        let mut is_done = true;
        for (at, peer) in self.peers.iter_mut().enumerate() {
            let own = introductions.wrapping_add(2 * at * Introduction::BYTES);
            let theirs = own.wrapping_add(Introduction::BYTES);
            if begins {
                // SAFETY: this is written no more, and lives until the message has ended, or `stop` has ended it.
                let said = unsafe { state.network.send(peer.name, tag, own, Introduction::BYTES) }?;
                peer.said = Some(said);
                // SAFETY: as above, and nobody else touches that peer's place.
                let heard = unsafe {
                    state
                        .network
                        .receive(peer.name, tag, theirs, Introduction::BYTES)
                }?;
                peer.heard = Some(heard);
            }
            if let Some(ticket) = peer.said
                && state.network.test(ticket)?.is_some()
            {
                peer.said = None;
            }
            if let Some(ticket) = peer.heard
                && let Some(ended) = state.network.test(ticket)?
            {
                peer.heard = None;
                match ended {
                    Ended::Whole(Introduction::BYTES) => {
                        // SAFETY: the message is there, and any bytes are an introduction.
                        let introduction = unsafe { theirs.cast::<Introduction>().read() };
                        peer.window = RemoteWindow::new(introduction.descriptor);
                        peer.raises = u64::from_le_bytes(introduction.raises);
                        peer.is_known = true;
                    }
                    Ended::Whole(bytes) => {
                        return Ok(Exchange::Length(peer.number, bytes as u64));
                    }
                    Ended::TooLong => return Ok(Exchange::Length(peer.number, u64::MAX)),
                    // What is wrong is found out together with the peer, or the call fails without.
                    Ended::Differs => {
                        let differing = Differing::new(peer.number, call);
                        state.differing.get_or_insert(differing);
                    }
                }
            }
            is_done &= peer.is_known && peer.said.is_none();
        }
        self.is_exchanged = is_done;
        Ok(match is_done {
            true => Exchange::Done,
            false => Exchange::UnderWay,
        })
    }

    /// Where a peer is in their order.
    fn place(&self, number: u32) -> usize {
        let at = self.peers.binary_search_by_key(&number, |peer| peer.number);
        at.expect("all peers of the plan are here")
    }

    /// Begins to put what lies here at `offset` into the window of a peer, for operation `ticket`.
    ///
    /// # Safety
    /// As for [`Network::put`](crate::transport::net::Network::put).
    pub(crate) unsafe fn put(
        &mut self,
        state: &mut State,
        (ticket, to): (u32, u32),
        offset: usize,
        from: (*const u8, usize),
    ) -> Result<(), NetworkError> {
        let at = self.place(to);
        let Peer { name, window, .. } = &mut self.peers[at];
        // SAFETY: the caller's promise.
        let put = unsafe { state.network.put(*name, window, offset, from) }?;
        self.puts.push((ticket, put));
        Ok(())
    }

    /// Whether all puts of operation `ticket` have ended.
    pub(crate) fn has_put(&mut self, state: &mut State, ticket: u32) -> Result<bool, NetworkError> {
        let mut is_over = true;
        for at in (0..self.puts.len()).rev() {
            let (of, put) = self.puts[at];
            if of == ticket {
                match state.network.test(put)? {
                    Some(_) => _ = self.puts.swap_remove(at),
                    None => is_over = false,
                }
            }
        }
        Ok(is_over)
    }

    /// Raises a flag of a peer, unless that is lost and has done all that it had to do.
    pub(crate) fn raise(
        &mut self,
        state: &mut State,
        (to, flag): (u32, u16),
        by: SignedCall,
    ) -> Result<(), NetworkError> {
        let at = self.place(to);
        let Peer { name, window, .. } = &mut self.peers[at];
        match state.network.raise(*name, window, flag, by) {
            Err(error) if error.lost().is_some() && self.has_done(state, at) => Ok(()),
            raised => raised,
        }
    }

    /// All that is under way, which `stop` is to end.
    pub(super) fn take_under_way(&mut self) -> impl Iterator<Item = Ticket> + '_ {
        let peers = self.peers.iter_mut();
        let messages = peers.flat_map(|peer| [peer.said.take(), peer.heard.take()]);
        let puts = self.puts.drain(..).map(|(_, put)| put);
        messages.flatten().chain(puts).chain(self.attends.drain(..))
    }
}

impl Drop for RemoteWindows {
    fn drop(&mut self) {
        let number = self.own.number;
        let mut state = self.cluster.state();
        state.windows.early.retain(|raised| raised.window != number);
        let mut all = state.windows.all.iter();
        if let Some(at) = all.position(|window| window.number == number) {
            let window = state.windows.all.swap_remove(at);
            // The set goes no sooner than the network lets its memory go.
            let memory = WindowMemory::new(window.flags.set);
            state.network.withdraw(number, memory);
        }
    }
}
