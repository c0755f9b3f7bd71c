//! The world as the network has it: a communicator that no program sees, and who uses which tags there.

use super::MpiNetwork;
use super::constants::Constants;
use super::medium::Medium;
use crate::abi::{Abi, Handle};
use crate::context::library::Library;
use crate::context::native_collectives::NativeCollectives;
use allhands::policy::NetworkTimes;
use allhands::transport::net::times::{self, Measured};
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// How many communicators of a process may have tags at a time.
const CLAIMS: u32 = u128::BITS - 1;

/// The lot of tags of notices: each communicator has one there.
const NOTICES: u32 = CLAIMS;

/// The fewest and the most tags of a communicator: each of its calls under way takes 128.
const TAGS: (u32, u32) = (256, 4096);

/// The ranks of a world that are on several nodes, and a duplicate of its communicator.
pub(crate) struct World {
    /// Its number among all worlds; never 0.
    pub(crate) id: u64,
    /// This process's rank there.
    pub(crate) rank: u32,
    /// Whether ranks share cores on any node.
    pub(crate) oversubscribed: bool,
    /// What messages take between nodes, as rank 0 has measured it.
    pub(crate) times: Option<NetworkTimes>,
    /// The longest message that is copied before it is sent.
    pub(super) copied_most: usize,
    pub(super) comm: Handle,
    pub(super) constants: Constants,
    /// How many tags a communicator gets.
    tags: u32,
    /// Which tags are in use in this process, a bit for a communicator.
    taken: Mutex<u128>,
}

impl World {
    /// The world, if its ranks are on several nodes, as all of them find out together; every rank of the world calls this.
    ///
    /// `node` is the number of this rank's node, and 0 if it has none; then there is no network.
    pub(crate) fn agree(
        native: &NativeCollectives<'_>,
        node: u64,
        oversubscribed: bool,
    ) -> Option<Arc<World>> {
        let (library, abi) = (native.library, native.abi);
        let world = abi.comm_world;
        let (size, rank) = (library.size(world)?, library.rank(world)?);
        let all = native.allgather([node, u64::from(oversubscribed)], size, world)?;
        let nodes = all.iter().map(|[node, _]| *node);
        if nodes.clone().any(|node| node == 0) || nodes.clone().all(|node| node == all[0][0]) {
            return None;
        }
        let constants = Constants::of(abi, &library.object);
        let tags = constants.and_then(|constants| tags(library, abi, &constants));
        // A split copies no attribute, and so runs nothing of the program's.
        let mut comm = abi.comm_null;
        // SAFETY: the world, and room for another handle.
        let error = unsafe { (library.native.comm_split)(world, 0, rank as c_int, &raw mut comm) };
        let comm = abi.handle(comm);
        let made = error == 0 && comm != abi.comm_null;
        let ready = constants.zip(tags).filter(|_| {
            // SAFETY: the communicator that was made, and this MPI's handler that returns codes.
            made && unsafe { (library.native.comm_set_errhandler)(comm, abi.errors_return) == 0 }
        });
        let mut id = [lot()];
        let sent = native.broadcast(&mut id, world);
        let is_whole = native.all(ready.is_some() && sent.is_some(), size, world);
        let (Some((constants, tags)), Some(true)) = (ready, is_whole) else {
            if made {
                free(library, comm);
            }
            return None;
        };
        let mut world = Arc::new(World {
            id: id[0].max(1),
            rank: rank as u32,
            oversubscribed: all.iter().any(|[_, oversubscribed]| *oversubscribed != 0),
            times: None,
            copied_most: 0,
            comm,
            constants,
            tags,
            taken: Mutex::new(1 << NOTICES),
        });
        let measured = measured(native, &world, &all);
        // Whoever has measured has let go of it.
        if let (Some(Measured { times, copied_most }), Some(world)) =
            (measured, Arc::get_mut(&mut world))
        {
            world.times = Some(times);
            world.copied_most = copied_most;
        }
        Some(world)
    }

    /// What has come, as it can be looked at.
    pub(super) fn medium<'a>(
        &self,
        native: &'a crate::native::functions::Native,
        abi: &'a Abi,
    ) -> Medium<'a> {
        Medium {
            native,
            abi,
            constants: self.constants,
            comm: self.comm,
        }
    }

    /// Frees the duplicate; every rank of the world calls this, when nobody uses it any more.
    ///
    /// What calls that failed have left over is taken before: MPICH ends a program that frees a communicator with messages.
    pub(crate) fn free(&self, library: &Library) {
        if let Some(abi) = &library.abi {
            self.medium(&library.native, abi).empty();
        }
        free(library, self.comm);
    }

    /// Which tags are in use.
    pub(crate) fn taken(&self) -> u128 {
        *self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the tags on which a lot falls among those that are free here, if they still are.
    pub(crate) fn claim(self: &Arc<Self>, taken: u128, lot: u64) -> Option<Claim> {
        let number = drawn(taken, lot)?;
        let mut here = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if *here & 1 << number != 0 {
            return None;
        }
        *here |= 1 << number;
        Some(Claim {
            world: Arc::clone(self),
            number,
            is_kept: AtomicBool::new(false),
        })
    }
}

/// The tags of one communicator, which are free again when it is dropped.
pub(crate) struct Claim {
    world: Arc<World>,
    number: u32,
    is_kept: AtomicBool,
}

impl Claim {
    /// How many there are.
    pub(super) fn tags(&self) -> u32 {
        self.world.tags
    }

    /// What one of them is in the duplicate.
    pub(super) fn tag(&self, tag: u32) -> c_int {
        (self.number * self.world.tags + tag) as c_int
    }

    /// Whether a tag in the duplicate is one of them, or that of the notices.
    pub(super) fn has(&self, tag: c_int) -> bool {
        (self.tag(0)..self.tag(self.tags())).contains(&tag) || tag == self.notices()
    }

    /// What the tag of the communicator's notices is there.
    pub(super) fn notices(&self) -> c_int {
        (NOTICES * self.world.tags + self.number) as c_int
    }

    /// Says whether messages may be left over: then the tags are never given back.
    pub(super) fn keep(&self, is_kept: bool) {
        self.is_kept.store(is_kept, Ordering::Relaxed);
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if !*self.is_kept.get_mut() {
            let mut taken = self
                .world
                .taken
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            *taken &= !(1 << self.number);
        }
    }
}

/// Frees a communicator that `World::agree` has made, once.
fn free(library: &Library, mut comm: Handle) {
    // SAFETY: made by `World::agree`. That it cannot be freed would harm nobody.
    unsafe { (library.native.comm_free)(&raw mut comm) };
}

/// What rank 0 measures with the first ranks of other nodes, as it tells all ranks; `None` if it could not.
fn measured(
    native: &NativeCollectives<'_>,
    world: &Arc<World>,
    all: &[[u64; 2]],
) -> Option<Measured> {
    let is_first = |at: &u32| {
        let [node, _] = all[*at as usize];
        all[..*at as usize].iter().all(|[other, _]| *other != node)
    };
    let firsts: Vec<u32> = (0..all.len() as u32).filter(is_first).collect();
    let ranks = (0..all.len()).map(|rank| rank as c_int).collect();
    // The same tags on every rank, as none has any yet.
    let claim = world.claim(world.taken(), 0);
    let network = claim.and_then(|claim| MpiNetwork::new(world, claim, ranks));
    let measured = network.and_then(|mut network| {
        let ended = times::measure(&mut network, world.rank, &firsts, world.oversubscribed);
        ended.ok().flatten()
    });
    let mut numbers = [f64::NAN; NetworkTimes::NUMBERS + 1];
    if let Some(Measured { times, copied_most }) = measured {
        numbers[0] = copied_most as f64;
        numbers[1..].copy_from_slice(&times.numbers());
    }
    native.broadcast(&mut numbers, native.abi.comm_world)?;
    let [copied_most, times @ ..] = numbers;
    Some(Measured {
        times: NetworkTimes::of_numbers(times)?,
        copied_most: copied_most as usize,
    })
}

/// The clear bit on which a lot falls.
fn drawn(taken: u128, lot: u64) -> Option<u32> {
    let mixed = lot.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let nth = mixed.checked_rem(u64::from(taken.count_zeros()))?;
    let mut free = (0..CLAIMS).filter(|bit| taken & 1 << bit == 0);
    free.nth(nth as usize)
}

/// How many tags each communicator gets; `None` if the MPI has too few.
fn tags(library: &Library, abi: &Abi, constants: &Constants) -> Option<u32> {
    let (mut greatest, mut flag) = (std::ptr::null_mut::<c_int>(), 0);
    // SAFETY: the world, an attribute that every MPI has, and room for an address and a number.
    let error = unsafe {
        let get = library.native.comm_get_attr;
        get(
            abi.comm_world,
            constants.tag_ub,
            &raw mut greatest,
            &raw mut flag,
        )
    };
    if error != 0 || flag == 0 || greatest.is_null() {
        return None;
    }
    // SAFETY: the address of the number, as the MPI says.
    let greatest = u32::try_from(unsafe { greatest.read() }).ok()?;
    let each = (greatest.saturating_add(1) / u128::BITS).min(TAGS.1);
    (each >= TAGS.0).then_some(each)
}

/// A number that nobody else is likely to draw.
pub(crate) fn lot() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.map_or(0, |time| time.as_nanos() as u64);
    now ^ u64::from(std::process::id()).rotate_left(40)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lots_fall_on_all_that_are_free_and_on_nothing_else() {
        let taken = !(1 << 3 | 1 << 90 | 1 << 126);
        let mut seen = 0;
        for lot in 0..1000 {
            seen |= 1u128 << drawn(taken, lot).unwrap();
        }
        assert_eq!(seen, !taken);
        assert_eq!(drawn(u128::MAX, 7), None);
    }
}
