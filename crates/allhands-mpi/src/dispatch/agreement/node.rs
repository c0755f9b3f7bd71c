//! The node: bringing together the ranks of a world that share a machine.
//!
//! It happens once, where all ranks of `MPI_COMM_WORLD` make a call: in `MPI_Init`, or in the first collective on it. The
//! first rank of each machine makes a segment of memory and sends the others where it is. Each step that can fail is
//! followed by a native collective in which the ranks exchange whether it did, so either all share a segment
//! or none does. Where there are several nodes, they then agree on a network ([`World`]).

use crate::abi::Handle;
use crate::buffer::staging::left_alone;
use crate::context::known;
use crate::context::library::{Library, poll};
use crate::context::native_collectives::NativeCollectives;
use crate::context::say::say;
use crate::context::settings::Settings;
use crate::native::family;
use crate::network::World;
use crate::report::counts::REPORT;
use allhands::bootstrap::Bootstrap;
use allhands::interposition::Interposition;
use allhands::launch::{Launcher, Place, Roll, Segment};
use allhands::transport::{Endpoint, SharedSegment};
use allhands::{Communicator, Policy};
use std::ffi::c_int;
use std::os::fd::AsRawFd;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// The ranks of this world that share the machine.
pub(crate) struct Node {
    /// All of them; communicators are made of this one.
    pub(crate) comm: Mutex<Communicator>,
    /// The number of their segment among those of all worlds and machines; never 0.
    pub(crate) id: u64,
    /// This process's rank among them.
    pub(crate) rank: u32,
    /// All ranks of the world, if they are on several nodes and have a network.
    pub(crate) world: Option<Arc<World>>,
    /// Whether ranks share cores, also with those of nodes that are only pretended.
    oversubscribed: bool,
}

/// Those on this process's, once they have been brought together.
pub(crate) static NODE: RwLock<Option<Node>> = RwLock::new(None);

/// What each rank of a machine contributes.
#[repr(C)]
#[derive(Clone, Copy)]
struct Card {
    /// The cpus that it may use, a bit each.
    cpus: [u64; 16],
}

/// Where the first rank's segment is.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Whereabouts {
    is_there: u64,
    pid: u64,
    descriptor: u64,
    inode: u64,
}

/// Brings the ranks of the world together, unless that has happened; every rank of the world calls this.
pub(crate) fn bring_together(library: &Library) {
    let Some(abi) = &library.abi else { return };
    if library.settings.get().is_some() {
        return;
    }
    has_concurrent_threads(library);
    let native = NativeCollectives { library, abi };
    let settings = agree_on_settings(&native).unwrap_or_default();
    let is_first = library.rank(abi.comm_world) == Some(0);
    let ranks = library.size(abi.comm_world).unwrap_or(1);
    if is_first {
        for mistake in settings.mistakes.iter().chain(&known::mistakes(ranks)) {
            say(format_args!("warning: {mistake}"));
        }
    }
    let rank = library.rank(abi.comm_world).unwrap_or(0);
    let mpi = || family::short(&library.native.version().unwrap_or_default());
    REPORT.begin_world(mpi, rank, ranks);
    let node = match settings.is_off || ranks < 2 {
        true => None,
        false => agree(&native, &settings),
    };
    *NODE.write().unwrap_or_else(PoisonError::into_inner) = node;
    // Whoever was first with it: the ranks of a world call this once, in whatever thread.
    let _ = library.settings.set(settings);
}

/// Whether several threads may call at the same time; then they are counted as such.
pub(crate) fn has_concurrent_threads(library: &Library) -> bool {
    let concurrent = library.has_concurrent_threads();
    if concurrent {
        REPORT.count_exactly();
    }
    concurrent
}

/// What rank 0 of the world has in its environment.
fn agree_on_settings(native: &NativeCollectives<'_>) -> Option<Settings> {
    let world = native.abi.comm_world;
    let mut text = Settings::text().into_bytes();
    let mut length = [text.len() as u64];
    native.broadcast(&mut length, world)?;
    text.resize(length[0] as usize, 0);
    // The address of no bytes at all may be MPI_IN_PLACE.
    if !text.is_empty() {
        native.broadcast(&mut text, world)?;
    }
    let ranks = native.library.size(world)?;
    Some(Settings::parse(&String::from_utf8_lossy(&text), ranks))
}

/// The ranks on this machine, if all of them can share memory, and the world, if there are several nodes.
fn agree(native: &NativeCollectives<'_>, settings: &Settings) -> Option<Node> {
    let machine = split_off_machine(native);
    let node = machine.and_then(|machine| {
        let node = match &settings.nodes {
            None => share_among(native, settings, machine, None),
            Some(nodes) => share_pretended(native, settings, machine, nodes),
        };
        free(native, machine);
        node
    });
    let (id, oversubscribed) = node
        .as_ref()
        .map_or((0, false), |n| (n.id, n.oversubscribed));
    let world = World::agree(native, id, oversubscribed);
    if let Some(times) = world.as_ref().and_then(|world| world.times.as_ref()) {
        REPORT.note_network_times(times);
    }
    Some(Node { world, ..node? })
}

/// A communicator of the ranks on this machine.
fn split_off_machine(native: &NativeCollectives<'_>) -> Option<Handle> {
    let (abi, functions) = (native.abi, &native.library.native);
    let mut comm = abi.comm_null;
    // SAFETY: a communicator, and room for another handle.
    let error = unsafe {
        let kind = abi.comm_type_shared;
        (functions.comm_split_type)(abi.comm_world, kind, 0, abi.info_null, &raw mut comm)
    };
    let comm = abi.handle(comm);
    (error == 0 && comm != abi.comm_null).then_some(comm)
}

/// Frees a communicator of ours.
fn free(native: &NativeCollectives<'_>, mut comm: Handle) {
    // SAFETY: made by us, and not used again. That it cannot be freed would harm nobody.
    unsafe { (native.library.native.comm_free)(&raw mut comm) };
}

/// The ranks of this machine that are to pretend that they are a node.
fn share_pretended(
    native: &NativeCollectives<'_>,
    settings: &Settings,
    machine: Handle,
    nodes: &[u32],
) -> Option<Node> {
    let (abi, library) = (native.abi, native.library);
    let ranks = library.size(machine)?;
    let node = nodes.get(library.rank(abi.comm_world)?)?;
    let mut comm = abi.comm_null;
    // SAFETY: a communicator, and room for another handle.
    let error = unsafe { (library.native.comm_split)(machine, *node as c_int, 0, &raw mut comm) };
    let comm = abi.handle(comm);
    if error != 0 || comm == abi.comm_null {
        return None;
    }
    let shared = share_among(native, settings, comm, Some(ranks));
    free(native, comm);
    shared
}

/// The same, among the ranks of a communicator that all are on this machine, on which `all` may be more.
fn share_among(
    native: &NativeCollectives<'_>,
    settings: &Settings,
    comm: Handle,
    all: Option<usize>,
) -> Option<Node> {
    let (size, rank) = (native.library.size(comm)?, native.library.rank(comm)?);
    if size > allhands::launch::MAX_RANKS as usize {
        return None;
    }
    let cards = native.allgather(Card { cpus: own_cpus() }, size, comm)?;
    let cpus = (0..16).map(|word| cards.iter().fold(0, |all, card| all | card.cpus[word]));
    let mut cpus = cpus.map(u64::count_ones).sum::<u32>() as usize;
    let oversubscribed = all.unwrap_or(size) > cpus;
    if oversubscribed {
        // Others take turns on them, too.
        cpus = cpus.min(size.saturating_sub(1));
    }
    if size == 1 {
        return alone(settings, oversubscribed);
    }
    let made = if rank == 0 { make(size as u32) } else { None };
    let mut place = made
        .as_ref()
        .map_or(Whereabouts::default(), |(_, place)| *place);
    native.broadcast(std::slice::from_mut(&mut place), comm)?;
    if place.is_there == 0 {
        return None;
    }
    let segment = match made {
        Some((segment, _)) => Some(segment),
        None => open(&place),
    };
    let joined = segment.and_then(|segment| {
        let place = Place {
            rank: rank as u32,
            ranks: size as u32,
            segment,
            launcher: Launcher::Library,
            nodes: None,
            cpus,
        };
        Communicator::join(&place).ok()
    });
    // A rank that could join while another could not leaves again, in order, when this is dropped.
    if !native.all(joined.is_some(), size, comm)? {
        return None;
    }
    let joined = joined?;
    let ready = prepare(&joined, settings);
    if !native.all(ready.is_some(), size, comm)? {
        return None;
    }
    let id = place.inode ^ place.pid.rotate_left(40) ^ place.descriptor.rotate_left(56);
    Some(Node {
        comm: Mutex::new(joined),
        id: (id ^ boot()).max(1),
        rank: rank as u32,
        world: None,
        oversubscribed,
    })
}

/// The node of a rank that shares its machine with no other.
fn alone(settings: &Settings, oversubscribed: bool) -> Option<Node> {
    let endpoint = Endpoint::new(SharedSegment::new(1).ok()?, 0).ok()?;
    let comm = Communicator::of_endpoint(endpoint, Policy::shared_memory(), oversubscribed);
    prepare(&comm, settings)?;
    // Pretended nodes are of one machine.
    let id = boot() ^ u64::from(std::process::id()).rotate_left(40);
    Some(Node {
        comm: Mutex::new(comm),
        id: id.max(1),
        rank: 0,
        world: None,
        oversubscribed,
    })
}

/// The segment of the first rank, and where it is.
fn make(ranks: u32) -> Option<(Segment, Whereabouts)> {
    let segment = Segment::create().ok()?;
    Roll::begin(segment, ranks).ok()?;
    let whereabouts = Whereabouts {
        is_there: 1,
        pid: u64::from(std::process::id()),
        descriptor: segment.fd().as_raw_fd() as u64,
        inode: segment.inode().ok()?,
    };
    Some((segment, whereabouts))
}

fn open(place: &Whereabouts) -> Option<Segment> {
    Segment::of_process(place.pid as u32, place.descriptor as i32, place.inode).ok()
}

/// Sets who chooses algorithms, and what is not to be neglected while a rank waits.
fn prepare(comm: &Communicator, settings: &Settings) -> Option<()> {
    comm.set_while_waiting(Some(poll));
    comm.set_left_alone(Some(left_alone));
    comm.agree().ok()?;
    if let Some(policy) = &settings.policy {
        comm.set_policy(Policy::parse(policy));
    }
    Some(())
}

/// The cpus that this process may use.
fn own_cpus() -> [u64; 16] {
    let mut cpus = [0; 16];
    // SAFETY: room for so many bytes, which the call fills as far as there are cpus.
    unsafe { libc::sched_getaffinity(0, size_of_val(&cpus), cpus.as_mut_ptr().cast()) };
    cpus
}

/// A number of this machine since it was started.
fn boot() -> u64 {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}
