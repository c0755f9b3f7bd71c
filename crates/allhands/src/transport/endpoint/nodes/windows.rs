//! Windows between nodes: the own ones into which ranks of other nodes put, and theirs, as this rank puts there.
//!
//! A plan with puts or notifications to ranks of other nodes has a pair of windows with each of these: whoever puts to a rank is told
//! by it when it may again. So when such a plan begins for the first time, each of the two describes its window to the other, in a
//! message of the call on a channel of its own, and nothing is put before both have the other's.
//!
//! A flag that is raised from afar is raised in the window set of the own node when the network is looked at, by its owner, which wakes
//! whoever waits for it there. It says in which call it was raised, and what that is signed with: where this rank's call of that number is
//! another, the flag is not raised, and both find out what differs. One raised in a call to which this rank has not come waits for that.

use crate::transport::AlignedBytes;
use crate::transport::endpoint::nodes::cluster::{Cluster, State, WINDOW_CHANNEL};
use crate::transport::endpoint::nodes::differing::Differing;
use crate::transport::net::{
    Descriptor, Ended, Exposed, NetworkError, Raised, RemoteWindow, SignedCall, Ticket,
    WindowMemory,
};
use crate::transport::shm::segment::shared_segment::SharedSegment;
use crate::transport::shm::segment::window::WindowSet;
use allhands_core::schedule::{OpKind, Plan, PlanOp};
use std::sync::Arc;

/// Of how many calls it is known what they are signed with.
const RECENT: usize = 64;

/// A window of this rank's into which ranks of other nodes put.
struct OwnWindow {
    number: u64,
    flags: Flags,
    /// The ranks that may, as the communicator calls them, and as plans do.
    peers: Box<[(u32, u32)]>,
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
        let windows = &self.windows;
        let mut all = windows.all.iter();
        let Some(window) = all.find(|window| window.number == raised.window) else {
            return;
        };
        let mut peers = window.peers.iter();
        let Some((_, peer)) = peers.find(|(name, _)| *name == raised.from) else {
            return;
        };
        if windows.differs(raised.by) {
            let differing = Differing::new(*peer, raised.by.call);
            self.differing.get_or_insert(differing);
            return;
        }
        let Flags { segment, rank, set } = &window.flags;
        set.notify(*rank, *rank, raised.flag);
        segment.wake_all();
    }
}

/// A rank of another node with whose window a request has to do.
struct Peer {
    /// As plans call it, and as the communicator does.
    number: u32,
    name: u32,
    window: RemoteWindow,
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
    /// The own descriptor, and behind it those of the peers.
    descriptors: AlignedBytes,
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

impl RemoteWindows {
    /// The length of the messages in which windows are described.
    pub(crate) const MESSAGE_BYTES: u64 = Descriptor::BYTES as u64;

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
        let peers = names.iter().copied().zip(numbers.iter().copied());
        state.windows.all.push(OwnWindow {
            number: own.number,
            flags,
            peers: peers.collect(),
        });
        drop(state);
        let peer = |number: &u32| Peer {
            number: *number,
            name: cluster.name(*number),
            window: RemoteWindow::new(Descriptor([0; Descriptor::BYTES])),
            said: None,
            heard: None,
            is_known: false,
        };
        let descriptors = AlignedBytes::zeroed((1 + numbers.len()) * Descriptor::BYTES);
        // SAFETY: it begins with room for one, and is used by nobody else.
        unsafe {
            descriptors
                .address()
                .cast::<Descriptor>()
                .write(own.descriptor)
        };
        Ok(Some(Box::new(RemoteWindows {
            cluster: Arc::clone(cluster),
            own,
            attends: Vec::with_capacity(numbers.len()),
            peers: numbers.iter().map(peer).collect(),
            has_begun: false,
            is_exchanged: false,
            descriptors,
            puts: Vec::new(),
        })))
    }

    /// Says that a call begins: whoever is to put to this rank must not be lost unseen.
    pub(super) fn depart(&mut self, state: &mut State) -> Result<(), NetworkError> {
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

    /// Whether no peer is lost.
    pub(crate) fn look_at_peers(&self, state: &mut State) -> Result<(), NetworkError> {
        let mut all = self.attends.iter();
        all.try_for_each(|ticket| state.network.test(*ticket).map(|_| ()))
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
        let own = self.descriptors.address();
        let begins = !std::mem::replace(&mut self.has_begun, true);
        let mut is_done = true;
        for (peer, at) in self.peers.iter_mut().zip(1..) {
            let theirs = own.wrapping_add(at * Descriptor::BYTES);
            if begins {
                // SAFETY: this is written no more, and lives until the message has ended, or `stop` has ended it.
                let said = unsafe { state.network.send(peer.name, tag, own, Descriptor::BYTES) }?;
                peer.said = Some(said);
                // SAFETY: as above, and nobody else touches that peer's place.
                let heard = unsafe {
                    state
                        .network
                        .receive(peer.name, tag, theirs, Descriptor::BYTES)
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
                    Ended::Whole(Descriptor::BYTES) => {
                        // SAFETY: the message is there, and any bytes are a descriptor.
                        let descriptor = unsafe { theirs.cast::<Descriptor>().read() };
                        peer.window = RemoteWindow::new(descriptor);
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

    /// The window of a peer, and what the communicator calls it.
    fn window(&mut self, number: u32) -> (u32, &mut RemoteWindow) {
        let at = self.peers.binary_search_by_key(&number, |peer| peer.number);
        let at = at.expect("all peers of the plan are here");
        let peer = &mut self.peers[at];
        (peer.name, &mut peer.window)
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
        let (name, window) = self.window(to);
        // SAFETY: the caller's promise.
        let put = unsafe { state.network.put(name, window, offset, from) }?;
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

    /// Raises a flag of a peer.
    pub(crate) fn raise(
        &mut self,
        state: &mut State,
        (to, flag): (u32, u16),
        by: SignedCall,
    ) -> Result<(), NetworkError> {
        let (name, window) = self.window(to);
        state.network.raise(name, window, flag, by)
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
