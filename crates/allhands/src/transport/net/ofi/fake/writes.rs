//! Writes of the fake: what is on its way to memory of another rank, which may take its time and overtake what was written before.

use super::super::abi;
use super::world::{Endpoint, Message, world};
use std::collections::BTreeMap;
use std::ffi::c_int;

/// How many looks of its receiver a write may take.
const MOST_LOOKS: usize = 7;

/// What was written and has not come.
pub(super) struct Write {
    from: u64,
    /// When it was written, as its sender counts calls.
    place: u32,
    looks: usize,
    address: u64,
    key: u64,
    content: Content,
}

enum Content {
    Copied(Vec<u8>),
    /// Memory of its sender, which is told of the end when it has come.
    There(Message),
}

impl Write {
    pub(super) fn key(&self) -> u64 {
        self.key
    }

    /// Whether it is still in memory of this endpoint's.
    pub(super) fn is_at(&self, number: u64) -> bool {
        self.from == number && matches!(self.content, Content::There(_))
    }
}

/// Begins to write to an endpoint, an address there, by a key. Without a promise of delivery its sender is told of the end at once.
pub(super) fn write(
    number: u64,
    (to, address, key): (u64, u64, u64),
    message: Message,
    local: Option<Option<u64>>,
    is_delivered: bool,
) -> isize {
    let mut world = world();
    let endpoint = world.1.get_mut(&number).expect("it is open");
    let traits = endpoint.traits;
    let is_admitted = local.is_none_or(|key| endpoint.admits(&message, key, abi::WRITE));
    let is_told = traits.tells_delivery || !is_delivered;
    let is_good = is_admitted && is_told && message.bytes <= traits.most_bytes;
    if !endpoint.is_open || !is_good {
        return -(libc::EINVAL as isize);
    }
    if endpoint.is_full() {
        return -(abi::EAGAIN as isize);
    }
    endpoint.write_notes(message.context);
    let (place, bytes) = (endpoint.calls, message.bytes);
    let is_there = world.1.get(&to).is_some_and(|other| other.is_open);
    let endpoint = world.1.get_mut(&number).expect("it is open");
    if !is_there {
        endpoint.tell(&message, (0, 0), libc::ECONNREFUSED);
        return 0;
    }
    let content = match is_delivered {
        true => Content::There(message),
        false => {
            let mut copy = vec![0; bytes];
            // SAFETY: readable for that many bytes, as whoever writes promises.
            unsafe { std::ptr::copy_nonoverlapping(message.memory, copy.as_mut_ptr(), bytes) };
            endpoint.tell(&message, (bytes, 0), 0);
            Content::Copied(copy)
        }
    };
    let other = world.1.get_mut(&to).expect("it is open");
    let looks = other.chance(MOST_LOOKS);
    other.writes.push(Write {
        from: number,
        place,
        looks,
        address,
        key,
        content,
    });
    other.ring();
    0
}

/// Lands what has been on its way for long enough.
pub(super) fn land_some(world: &mut BTreeMap<u64, Endpoint>, number: u64) {
    let endpoint = world.get_mut(&number).expect("it is there");
    for write in &mut endpoint.writes {
        write.looks = write.looks.saturating_sub(1);
    }
    land(world, number, |write| write.looks == 0);
}

/// Lands everything that an endpoint has written before that place.
pub(super) fn land_before(
    world: &mut BTreeMap<u64, Endpoint>,
    number: u64,
    (from, place): (u64, u32),
) {
    land(world, number, |it| it.from == from && it.place < place);
}

fn land(world: &mut BTreeMap<u64, Endpoint>, number: u64, is_due: impl Fn(&Write) -> bool) {
    let endpoint = world.get_mut(&number).expect("it is there");
    let due: Vec<Write> = endpoint.writes.extract_if(.., |it| is_due(it)).collect();
    for write in due {
        let endpoint = world.get_mut(&number).expect("it is there");
        let error = land_one(endpoint, &write);
        if let (Content::There(message), Some(sender)) =
            (&write.content, world.get_mut(&write.from))
        {
            sender.tell(message, (message.bytes, 0), error);
        }
    }
}

fn land_one(endpoint: &mut Endpoint, write: &Write) -> c_int {
    let (from, bytes) = match &write.content {
        Content::Copied(bytes) => (bytes.as_ptr(), bytes.len()),
        Content::There(message) => (message.memory.cast_const(), message.bytes),
    };
    let Some(registered) = endpoint.registered.get(&write.key) else {
        return libc::EACCES;
    };
    let base = match endpoint.traits.mr_mode & abi::MR_VIRT_ADDR {
        0 => registered.first,
        _ => 0,
    };
    let first = base.wrapping_add(write.address as usize);
    let is_inside = first >= registered.first
        && first.saturating_add(bytes) <= registered.first + registered.bytes;
    if !is_inside || !registered.is_bound || registered.access & abi::REMOTE_WRITE == 0 {
        return libc::EACCES;
    }
    let into = std::ptr::with_exposed_provenance_mut::<u8>(first);
    // SAFETY: a copy, or memory of a write whose end was not told; to registered memory, inside, which stays as long as it is registered.
    unsafe { std::ptr::copy_nonoverlapping(from, into, bytes) };
    0
}
