//! The world of the fake: endpoints by their numbers, the messages between them, and the memory that each has registered.

use super::super::abi::{self, CqEntry, CqError};
use super::Traits;
use super::writes::{self, Write};
use rustix::event::{EventfdFlags, eventfd};
use std::collections::{BTreeMap, VecDeque};
use std::ffi::{c_int, c_void};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The longest message that is copied when it is sent; a longer one is away when it is received.
const COPIED_BYTES: usize = 100;
/// What is written to contexts.
const NOTE: usize = 0x5ca1_ab1e;

/// A message as whoever sends or receives it has it.
pub(super) struct Message {
    pub(super) context: *mut c_void,
    pub(super) memory: *mut u8,
    pub(super) bytes: usize,
    pub(super) tag: u64,
}

pub(super) struct Registered {
    pub(super) first: usize,
    pub(super) bytes: usize,
    pub(super) access: u64,
    pub(super) is_bound: bool,
}

/// A message that was sent and not received.
struct Letter {
    from: u64,
    /// When it was sent, as its sender counts calls.
    place: u32,
    tag: u64,
    content: Content,
}

enum Content {
    Copied(Vec<u8>),
    There(u64, Message),
}

struct Posted {
    message: Message,
    ignored: u64,
}

pub(super) struct Endpoint {
    pub(super) traits: Traits,
    pub(super) is_open: bool,
    posted: Vec<Posted>,
    letters: VecDeque<Letter>,
    /// What is on its way to memory here.
    pub(super) writes: Vec<Write>,
    ended: VecDeque<Result<CqEntry, CqError>>,
    pub(super) registered: BTreeMap<u64, Registered>,
    next_key: u64,
    pub(super) calls: u32,
    chance: u64,
    event: OwnedFd,
}

// SAFETY: addresses of messages whose networks are tested by one thread.
unsafe impl Send for Endpoint {}

static WORLD: Mutex<(u64, BTreeMap<u64, Endpoint>)> = Mutex::new((1000, BTreeMap::new()));

pub(super) fn world() -> MutexGuard<'static, (u64, BTreeMap<u64, Endpoint>)> {
    WORLD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How many memories are registered at an endpoint.
pub(super) fn registrations(number: u64) -> usize {
    let world = world();
    world.1.get(&number).map_or(0, |at| at.registered.len())
}

/// How many of these others may write to.
pub(super) fn windows(number: u64) -> usize {
    let world = world();
    let all = world.1.get(&number).map(|at| at.registered.values());
    all.map_or(0, |all| {
        all.filter(|it| it.access & abi::REMOTE_WRITE != 0).count()
    })
}

/// How many messages were handed to an endpoint.
pub(super) fn calls(number: u64) -> u32 {
    let world = world();
    world.1.get(&number).map_or(0, |at| at.calls)
}

/// A number for an endpoint; memory may be registered for it from now on.
pub(super) fn number() -> u64 {
    let mut world = world();
    world.0 += 1;
    let number = world.0;
    let event = eventfd(0, EventfdFlags::NONBLOCK).expect("there are descriptors");
    world.1.insert(
        number,
        Endpoint {
            traits: Traits::KIND,
            is_open: false,
            posted: Vec::new(),
            letters: VecDeque::new(),
            writes: Vec::new(),
            ended: VecDeque::new(),
            registered: BTreeMap::new(),
            next_key: 1,
            calls: 0,
            chance: number,
            event,
        },
    );
    number
}

pub(super) fn open(number: u64, traits: Traits) {
    let mut world = world();
    let endpoint = world.1.get_mut(&number).expect("it has a domain");
    (endpoint.traits, endpoint.is_open) = (traits, true);
}

/// Closes an endpoint, which drops all that is under way; whether it does.
pub(super) fn close(number: u64, traits: Traits) -> bool {
    let mut world = world();
    let endpoint = world.1.get_mut(&number).expect("it has a domain");
    let is_bound = traits.mr_mode & abi::MR_ENDPOINT != 0 && !endpoint.registered.is_empty();
    if is_bound && !traits.closes_bound {
        return false;
    }
    endpoint.is_open = false;
    endpoint.posted.clear();
    endpoint.letters.clear();
    endpoint.writes.clear();
    for other in world.1.values_mut() {
        other.writes.retain(|write| !write.is_at(number));
        let is_its =
            |letter: &Letter| matches!(letter.content, Content::There(n, _) if n == number);
        other.letters.retain(|letter| !is_its(letter));
    }
    true
}

/// Its domain is closed.
pub(super) fn leave(number: u64) {
    world().1.remove(&number);
}

pub(super) fn register(number: u64, asked: Option<u64>, registered: Registered) -> Option<u64> {
    let mut world = world();
    let endpoint = world.1.get_mut(&number)?;
    let key = asked.unwrap_or_else(|| {
        endpoint.next_key += 1;
        endpoint.next_key << 20
    });
    let is_free = key != 0 && !endpoint.registered.contains_key(&key);
    // Keys that it has not made itself are as short as it said.
    let key_bits = 8 * endpoint.traits.key_bytes as u32;
    let is_short = key_bits >= u64::BITS || key < 1 << key_bits;
    let is_good = is_free && (asked.is_none() || is_short) && registered.bytes > 0;
    is_good.then(|| {
        endpoint.registered.insert(key, registered);
        key
    })
}

pub(super) fn bind(number: u64, key: u64) {
    let mut world = world();
    let endpoint = world.1.get_mut(&number).expect("it is there");
    let registered = endpoint.registered.get_mut(&key);
    registered.expect("it is registered").is_bound = true;
}

pub(super) fn unregister(number: u64, key: u64) {
    if let Some(endpoint) = world().1.get_mut(&number) {
        let is_written = endpoint.writes.iter().any(|write| write.key() == key);
        assert!(
            !is_written,
            "memory is closed to which something is written"
        );
        endpoint.registered.remove(&key).expect("it was registered");
    }
}

impl Endpoint {
    /// A number below this one.
    pub(super) fn chance(&mut self, below: usize) -> usize {
        self.chance = self.chance.wrapping_mul(0x5851_f42d_4c95_7f2d) | 1;
        (self.chance >> 33) as usize % below
    }

    /// Whether there is no place now.
    pub(super) fn is_full(&mut self) -> bool {
        self.calls += 1;
        let every = self.traits.full_every;
        every > 0 && self.calls.is_multiple_of(every)
    }

    /// Whether memory is as the provider wants it.
    pub(super) fn admits(&self, message: &Message, key: Option<u64>, access: u64) -> bool {
        if self.traits.mr_mode & abi::MR_LOCAL == 0 || message.bytes == 0 {
            return key.is_none();
        }
        let registered = key.and_then(|key| self.registered.get(&key));
        registered.is_some_and(|registered| {
            let first = message.memory as usize;
            let end = registered.first + registered.bytes;
            registered.is_bound
                && registered.access & access != 0
                && first >= registered.first
                && first + message.bytes <= end
        })
    }

    pub(super) fn write_notes(&self, context: *mut c_void) {
        for at in 0..self.traits.notes {
            // SAFETY: contexts have eight words for that.
            unsafe { context.cast::<usize>().add(at).write(NOTE + at) };
        }
    }

    /// Tells of an end, if the notes are as they were written.
    pub(super) fn tell(&mut self, message: &Message, (bytes, tag): (usize, u64), error: c_int) {
        for at in 0..self.traits.notes {
            // SAFETY: as above; a context lives until its end was told.
            let note = unsafe { message.context.cast::<usize>().add(at).read() };
            assert_eq!(note, NOTE + at, "somebody wrote to a context");
        }
        let (op_context, buf, data) = (message.context, message.memory.cast(), 0);
        self.ended.push_back(match error {
            0 => Ok(CqEntry {
                op_context,
                flags: 0,
                len: bytes,
                buf,
                data,
                tag,
            }),
            err => Err(CqError {
                op_context,
                flags: 0,
                len: bytes,
                buf,
                data,
                tag,
                olen: 0,
                err,
                prov_errno: 0,
                err_data: std::ptr::null_mut(),
                err_data_size: 0,
                spare: [0; 2],
            }),
        });
        self.ring();
    }

    pub(super) fn ring(&self) {
        rustix::io::write(&self.event, &1_u64.to_ne_bytes()).expect("it is not full");
    }
}

pub(super) fn receive(number: u64, message: Message, ignored: u64, key: Option<u64>) -> isize {
    let mut world = world();
    let endpoint = world.1.get_mut(&number).expect("it is open");
    if !endpoint.is_open || !endpoint.admits(&message, key, abi::RECV) {
        return -(libc::EINVAL as isize);
    }
    if endpoint.is_full() {
        return -(abi::EAGAIN as isize);
    }
    endpoint.write_notes(message.context);
    endpoint.posted.push(Posted { message, ignored });
    0
}

pub(super) fn send(
    number: u64,
    to: u64,
    message: Message,
    key: Option<u64>,
    is_injected: bool,
) -> isize {
    let mut world = world();
    let endpoint = world.1.get_mut(&number).expect("it is open");
    let is_admitted = is_injected || endpoint.admits(&message, key, abi::SEND);
    if !endpoint.is_open || !is_admitted || message.bytes > endpoint.traits.most_bytes {
        return -(libc::EINVAL as isize);
    }
    if endpoint.is_full() {
        return -(abi::EAGAIN as isize);
    }
    endpoint.write_notes(message.context);
    let (tag, bytes, place) = (message.tag, message.bytes, endpoint.calls);
    assert!(endpoint.traits.tag_bits == 64 || tag >> endpoint.traits.tag_bits == 0);
    let is_there = world.1.get(&to).is_some_and(|other| other.is_open);
    let endpoint = world.1.get_mut(&number).expect("it is open");
    if !is_there {
        endpoint.tell(&message, (0, tag), libc::ECONNREFUSED);
        return 0;
    }
    let content = if is_injected || bytes <= COPIED_BYTES {
        let mut copy = vec![0; bytes];
        // SAFETY: readable for that many bytes, as whoever sends promises.
        unsafe { std::ptr::copy_nonoverlapping(message.memory, copy.as_mut_ptr(), bytes) };
        endpoint.tell(&message, (bytes, tag), 0);
        Content::Copied(copy)
    } else {
        Content::There(number, message)
    };
    let other = world.1.get_mut(&to).expect("it is open");
    let at = match other.traits.is_ordered {
        true => other.letters.len(),
        false => other.chance(other.letters.len() + 1),
    };
    let letter = Letter {
        from: number,
        place,
        tag,
        content,
    };
    other.letters.insert(at, letter);
    other.ring();
    0
}

/// Gives letters to receives, each to the first that fits.
fn deliver(world: &mut BTreeMap<u64, Endpoint>, number: u64) {
    writes::land_some(world, number);
    let mut at = 0;
    loop {
        let endpoint = world.get_mut(&number).expect("it is there");
        let Some(posted) = endpoint.posted.get(at) else {
            return;
        };
        let fits = |letter: &Letter| (letter.tag ^ posted.message.tag) & !posted.ignored == 0;
        let Some(found) = endpoint.letters.iter().position(fits) else {
            at += 1;
            continue;
        };
        let letter = endpoint.letters.remove(found).expect("it was found");
        if endpoint.traits.orders_writes {
            writes::land_before(world, number, (letter.from, letter.place));
        }
        let endpoint = world.get_mut(&number).expect("it is there");
        let into = endpoint.posted.remove(at).message;
        let (from, bytes) = match &letter.content {
            Content::Copied(bytes) => (bytes.as_ptr(), bytes.len()),
            Content::There(_, message) => (message.memory.cast_const(), message.bytes),
        };
        let fitting = bytes.min(into.bytes);
        // SAFETY: a copy, or memory of a send whose end was not told, to that of a receive whose end was not told.
        unsafe { std::ptr::copy_nonoverlapping(from, into.memory, fitting) };
        let error = if bytes > into.bytes { abi::ETRUNC } else { 0 };
        endpoint.tell(&into, (fitting, letter.tag), error);
        if let Content::There(sender, message) = letter.content
            && let Some(sender) = world.get_mut(&sender)
        {
            sender.tell(&message, (message.bytes, message.tag), 0);
        }
    }
}

pub(super) fn cancel(number: u64, context: *mut c_void) -> isize {
    let mut world = world();
    let endpoint = world.1.get_mut(&number).expect("it is there");
    let is_it = |posted: &Posted| posted.message.context == context;
    match endpoint.posted.iter().position(is_it) {
        Some(at) => {
            let message = endpoint.posted.remove(at).message;
            endpoint.tell(&message, (0, 0), abi::ECANCELED);
            0
        }
        None => -(libc::ENOENT as isize),
    }
}

pub(super) unsafe fn read(number: u64, entries: *mut CqEntry, count: usize) -> isize {
    let mut world = world();
    deliver(&mut world.1, number);
    let endpoint = world.1.get_mut(&number).expect("it is there");
    let mut read = 0;
    while read < count {
        match endpoint.ended.front() {
            Some(Ok(entry)) => {
                // SAFETY: there is room for as many, as the caller promises.
                unsafe { entries.add(read).write(*entry) };
                read += 1;
                endpoint.ended.pop_front();
            }
            Some(Err(_)) if read == 0 => return -(abi::EAVAIL as isize),
            Some(Err(_)) | None => break,
        }
    }
    match read {
        0 => -(abi::EAGAIN as isize),
        read => read as isize,
    }
}

pub(super) unsafe fn read_error(number: u64, error: *mut CqError) -> isize {
    let mut world = world();
    let endpoint = world.1.get_mut(&number).expect("it is there");
    match endpoint.ended.pop_front() {
        Some(Err(found)) => {
            // SAFETY: there is room for one, as the caller promises.
            unsafe { error.write(found) };
            1
        }
        _ => -(abi::EAGAIN as isize),
    }
}

pub(super) fn descriptor(number: u64) -> c_int {
    let world = world();
    world.1.get(&number).expect("it is there").event.as_raw_fd()
}

/// Whether one may sleep: nothing has ended, and no letter is there; then the descriptor is silent.
pub(super) fn trywait(number: u64) -> c_int {
    let world = world();
    let endpoint = world.1.get(&number).expect("it is there");
    let is_silent = endpoint.letters.is_empty() && endpoint.writes.is_empty();
    if !endpoint.ended.is_empty() || !is_silent {
        return -abi::EAGAIN;
    }
    let _ = rustix::io::read(&endpoint.event, &mut [0; 8]);
    0
}
