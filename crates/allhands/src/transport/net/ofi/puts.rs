//! Puts: what this rank writes to windows of others, its own windows, and the signals about both.
//!
//! How a flag is known to come behind what was put before it is [`Guarantee`]'s matter:
//!
//! ```text
//! order      put ──▶ signal, at once, on every rail over which something was put since the last flag
//! delivery   put ──▶ end of the put ──▶ signal, on one rail
//! ```

use super::capabilities::Guarantee;
use super::driver::OfiNetwork;
use super::operation::{Goal, Kind, Stage};
use super::registration::{Region, Registrar};
use super::shares::MOST_RAILS;
use super::signal::{News, SIGNAL_BYTES, Signal};
use super::target::Target;
use super::windows::{Leaving, Regions};
use crate::transport::net::{
    Ended, Exposed, NetworkError, RemoteWindow, SignedCall, Ticket, WindowMemory,
};

/// How many signals are received at once on each rail; more wait with the provider.
const LISTENS: usize = 16;
/// What is counted of a window: how many flags were raised, and above that the rails over which something was put since the last.
const FLAG_BITS: u32 = u64::BITS - MOST_RAILS as u32;

impl OfiNetwork {
    /// Lets other ranks put into memory.
    pub(super) fn expose_memory(
        &mut self,
        memory: (*mut u8, usize),
        flags: u16,
        by: &[u32],
    ) -> Result<Exposed, NetworkError> {
        if self.guarantee.is_none() {
            return Err(NetworkError::NoWindows);
        }
        if let Some(broken) = &self.broken {
            return Err(NetworkError::Other(broken.clone()));
        }
        let number = self.windows.next();
        let (target, regions) = self.register(number, memory)?;
        self.windows.expose(regions, flags, by);
        self.listen_all();
        Ok(Exposed {
            number,
            descriptor: target.descriptor(),
        })
    }

    /// Registers a window on all rails, or on one if not all of its keys can be told.
    fn register(
        &mut self,
        number: u64,
        (memory, bytes): (*mut u8, usize),
    ) -> Result<(Target, Regions), NetworkError> {
        let rails = self.rails.len();
        let mut regions: Regions = (0..rails).map(|_| None).collect();
        if bytes == 0 {
            return Ok((Target::on_one(number, (0, 0), 0, 0), regions));
        }
        for (rail, place) in self.rails.iter_mut().zip(&mut regions) {
            match rail.registrar.register_window(memory, bytes) {
                Ok(region) => *place = Some(region),
                Err(error) => {
                    let says = rail.endpoint.library.says(error);
                    unregister(&mut regions);
                    return Err(NetworkError::Other(format!(
                        "libfabric cannot register a window of {bytes} bytes: {says}; right may be a higher limit of locked memory (ulimit -l)"
                    )));
                }
            }
        }
        let base = |rail: usize| self.rails[rail].registrar.base(memory);
        let keys: Vec<u64> = regions.iter().flatten().map(Region::key).collect();
        let is_alike = (1..rails).all(|rail| base(rail) == base(0));
        let length = bytes as u64;
        let all = Target::on_all(number, (base(0), length), keys.iter().copied());
        if let Some(target) = all.filter(|_| is_alike) {
            return Ok((target, regions));
        }
        let rail = (number % rails as u64) as usize;
        let kept = regions[rail].take();
        unregister(&mut regions);
        regions[rail] = kept;
        let target = Target::on_one(number, (base(rail), length), rail, keys[rail]);
        Ok((target, regions))
    }

    /// Ends a window: what keeps its memory goes when all that may put there have said that they do no more.
    pub(super) fn withdraw_window(&mut self, window: u64, memory: WindowMemory) {
        let peers = &self.peers;
        let is_there = |rank: u32| peers[rank as usize].lost.is_none();
        let told = self.windows.withdraw(window, memory, is_there);
        if self.is_closed {
            self.windows.close();
            return;
        }
        while let Some(gone) = self.windows.next_gone() {
            free(gone);
        }
        let least = self.windows.least();
        let withdrawn = self.signal(window, News::Withdrawn { least });
        for to in told {
            self.send_signal(to, self.turn(to), &withdrawn);
        }
    }

    /// Begins to put into a window of another rank.
    pub(super) fn put_there(
        &mut self,
        to: u32,
        window: &mut RemoteWindow,
        offset: usize,
        (from, bytes): (*const u8, usize),
    ) -> Result<Ticket, NetworkError> {
        let target = self.target(to, window)?;
        let all = target.bytes;
        if offset.checked_add(bytes).is_none_or(|end| end as u64 > all) {
            let why = format!("{bytes} bytes at {offset} lie outside a window of {all}");
            return Err(NetworkError::Other(why));
        }
        self.check_length(bytes)?;
        self.listen_all();
        let is_muted = self.peers[to as usize].fence.is_muted(target.number);
        if bytes == 0 || is_muted {
            return Ok(self.put_nowhere(to, bytes));
        }
        let memory = from.cast_mut();
        let first = target.only_rail().unwrap_or_else(|| self.turn(to));
        let is_cut = target.only_rail().is_none() && self.shares.cuts(bytes, true);
        let (mut message, mut last) = (None, None);
        for at in 0..self.rails.len() {
            let next = match is_cut {
                true => self.shares.parts(first, bytes).nth(at),
                false => Some((first, 0..bytes)).filter(|_| at == 0),
            };
            let Some((rail, part)) = next else { break };
            if part.is_empty() {
                continue;
            }
            window.count |= 1 << (FLAG_BITS + rail as u32);
            let goal = Goal {
                window: Some(target.number),
                address: target.address(offset + part.start),
                key: target.key(rail),
                stretch: match self.guarantee {
                    Some(Guarantee::Delivery) => self.peers[to as usize].fence.put(),
                    Some(Guarantee::Order) | None => 0,
                },
            };
            let memory = (memory.wrapping_add(part.start), part.len());
            let number = self.begin_put((to, goal), rail, memory);
            self.operations.get(number).is_first = message.is_none();
            if let Some(last) = last {
                self.operations.get(last).next = number;
            }
            last = Some(number);
            message.get_or_insert(number);
        }
        let Some(message) = message else {
            return Ok(self.put_nowhere(to, bytes));
        };
        self.operations.get(message).room = bytes;
        Ok(self.operations.ticket(message))
    }

    /// A put that has ended, as nothing of it goes anywhere.
    fn put_nowhere(&mut self, to: u32, bytes: usize) -> Ticket {
        let nothing = (std::ptr::null_mut(), 0);
        let kind = (Kind::Put, to, 0);
        let put = self.operations.add(kind, 0, nothing, self.now);
        let operation = self.operations.get(put);
        operation.stage = Stage::Over;
        operation.end = Some(Ok(Ended::Whole(bytes)));
        self.operations.ticket(put)
    }

    /// Raises a flag of another rank's window.
    pub(super) fn raise_there(
        &mut self,
        to: u32,
        window: &mut RemoteWindow,
        (flag, by): (u16, SignedCall),
    ) -> Result<(), NetworkError> {
        let target = self.target(to, window)?;
        self.listen_all();
        let first = target.only_rail().unwrap_or_else(|| self.turn(to));
        let (number, used) = (
            window.count & ((1 << FLAG_BITS) - 1),
            window.count >> FLAG_BITS,
        );
        let rails = match (self.guarantee, used) {
            (Some(Guarantee::Order), 1..) => used,
            _ => 1 << first,
        };
        window.count = number + 1;
        let fence = &mut self.peers[to as usize].fence;
        if fence.is_muted(target.number) {
            return Ok(());
        }
        let raised = News::Raised {
            flag,
            number,
            parts: rails.count_ones() as u8,
            by,
        };
        let raised = self.signal(target.number, raised);
        self.send_behind(to, rails, &raised);
        Ok(())
    }

    /// Sends a signal that comes behind everything that was put before over these rails.
    fn send_behind(&mut self, to: u32, rails: u64, signal: &Signal) {
        if self.guarantee == Some(Guarantee::Delivery) {
            self.peers[to as usize].fence.signal(*signal);
            self.send_due(to);
            return;
        }
        for rail in (0..self.rails.len()).filter(|rail| rails >> rail & 1 != 0) {
            self.send_signal(to, rail, signal);
        }
    }

    /// Sends the signals to a rank for which nothing is waited any more.
    fn send_due(&mut self, to: u32) {
        while let Some(signal) = self.peers[to as usize].fence.next() {
            self.send_signal(to, self.turn(to), &signal);
        }
    }

    /// A put, or a part, has ended.
    pub(super) fn put_ended(&mut self, peer: u32, stretch: u64) {
        if self.guarantee == Some(Guarantee::Delivery) {
            self.peers[peer as usize].fence.landed(stretch);
            if self.broken.is_none() {
                self.send_due(peer);
            }
        }
    }

    /// Lets nothing go to a window any more, as not all that was put there before will be there.
    pub(super) fn mute(&mut self, peer: u32, window: u64) {
        self.peers[peer as usize].fence.mute(window);
        for rail in 0..self.rails.len() {
            let is_its = |number: &u32| {
                let operation = self.operations.at(*number);
                let is_flag = operation.kind == Kind::Signal;
                is_flag && operation.peer == peer && operation.goal.window == Some(window)
            };
            let waiting = self.rails[rail].sends.iter().copied();
            let flags: Vec<u32> = waiting.filter(is_its).collect();
            flags
                .into_iter()
                .for_each(|number| self.take_part_back(number));
        }
    }

    /// Where a window is of another rank's.
    fn target(&self, to: u32, window: &RemoteWindow) -> Result<Target, NetworkError> {
        Target::of(&window.descriptor, self.rails.len()).ok_or_else(|| {
            let rank = self.rank;
            let why = format!("rank {rank} has no good descriptor of a window of rank {to}");
            NetworkError::Other(why)
        })
    }

    /// The rail on which what is short goes to a rank.
    fn turn(&self, to: u32) -> usize {
        self.shares.first(u64::from(self.rank) + u64::from(to))
    }

    fn signal(&self, window: u64, news: News) -> Signal {
        Signal {
            from: self.rank,
            window,
            news,
        }
    }

    fn send_signal(&mut self, to: u32, rail: usize, signal: &Signal) {
        if self.broken.is_some() {
            return;
        }
        let kind = (Kind::Signal, to, self.layout.signals().0);
        let nothing = (std::ptr::null_mut(), 0);
        let number = self.operations.add(kind, rail, nothing, self.now);
        let place = self.operations.signal(number);
        // SAFETY: the context of an operation that has just begun, so the provider has it no more and not yet.
        unsafe { place.write(signal.encode()) };
        let operation = self.operations.get(number);
        (operation.memory, operation.bytes) = (place.cast(), SIGNAL_BYTES);
        // Nobody waits for its end.
        operation.is_held = false;
        operation.end = Some(Ok(Ended::Whole(SIGNAL_BYTES)));
        let is_flag = matches!(signal.news, News::Raised { .. });
        operation.goal.window = is_flag.then_some(signal.window);
        self.hand_in(number, rail);
    }

    /// Receives signals from now on: whoever has a window is told of flags, and whoever puts of windows that are withdrawn.
    fn listen_all(&mut self) {
        if !std::mem::replace(&mut self.is_listening, true) {
            for rail in 0..self.rails.len() {
                (0..LISTENS).for_each(|_| self.listen(rail));
            }
        }
    }

    fn listen(&mut self, rail: usize) {
        let kind = (Kind::Listen, self.rank, self.layout.signals().0);
        let nothing = (std::ptr::null_mut(), 0);
        let number = self.operations.add(kind, rail, nothing, self.now);
        let place = self.operations.signal(number).cast();
        let operation = self.operations.get(number);
        (operation.memory, operation.bytes) = (place, SIGNAL_BYTES);
        self.hand_in(number, rail);
    }

    /// A signal of so many bytes has come by this receive, which begins anew.
    pub(super) fn signal_came(&mut self, number: u32, bytes: usize) {
        // SAFETY: the provider has said that the receive has ended, so it writes there no more.
        let content = unsafe { self.operations.signal(number).read() };
        let rail = self.operations.at(number).rail.into();
        self.end(number, Ok(Ended::Whole(bytes)));
        self.let_go(number);
        self.listen(rail);
        let ranks = self.peers.len() as u32;
        let signal = Signal::decode(&content).filter(|it| it.from < ranks && it.from != self.rank);
        let Some(signal) = signal.filter(|_| bytes == SIGNAL_BYTES) else {
            let why = format!("{bytes} bytes have come over libfabric that are no signal");
            self.broken.get_or_insert(why);
            return;
        };
        self.heed(&signal);
    }

    fn heed(&mut self, Signal { from, window, news }: &Signal) {
        let (from, window) = (*from, *window);
        match *news {
            News::Raised { .. } => {
                if let Err(why) = self.windows.hear(from, window, *news) {
                    self.broken.get_or_insert(why);
                }
            }
            News::Withdrawn { least } => {
                let fence = &mut self.peers[from as usize].fence;
                fence.mute(window);
                fence.mute_below(least);
                let all = (1 << self.rails.len()) - 1;
                let parts = match self.guarantee {
                    Some(Guarantee::Order) => self.rails.len() as u8,
                    Some(Guarantee::Delivery) | None => 1,
                };
                let gone = self.signal(window, News::Gone { parts });
                self.send_behind(from, all, &gone);
            }
            News::Gone { parts } => {
                if let Some(gone) = self.windows.gone(from, window, parts) {
                    free(gone);
                }
            }
        }
    }
}

/// Unregisters a window to which nobody puts any more, and lets its memory go.
fn free(mut gone: Leaving) {
    unregister(&mut gone.regions);
}

fn unregister(regions: &mut Regions) {
    let regions = regions.iter_mut().filter_map(Option::take);
    regions.for_each(Registrar::unregister_window);
}
