//! Identity: what tells the memory of this process from that of others, and which cpus it has.

use super::card::Whereabouts;
use crate::launch::{CPUS, Environment, LaunchError};

/// The most words of cpus that are asked for.
const WORDS: usize = 128;

/// Where this process is.
pub(super) struct Identity {
    /// Processes that say the same can share memory.
    pub(super) node: String,
    pub(super) host: String,
    /// A number of the machine since it was started.
    pub(super) machine: u64,
    pub(super) cpus: Vec<u64>,
    pub(super) cpus_most: u32,
}

/// Where this process is; `pretended` is a name that its host is to have, and the segment is one that a launcher gave
/// it and others of its own, but to nobody else on this host.
pub(super) fn own(
    pretended: Option<&str>,
    given: Option<Whereabouts>,
    environment: Environment<'_>,
) -> Result<Identity, LaunchError> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let boot = boot.trim();
    // Processes of two containers do not see one another's, even if these have one name.
    let space = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let name = rustix::system::uname();
    let name = name.nodename().to_string_lossy().into_owned();
    let host: String = pretended.unwrap_or(&name).chars().take(60).collect();
    let given = given.map_or(0, |segment| segment.inode);
    let node = format!("{boot}/{}/{host}/{given}", space.display());
    let (cpus, cpus_most) = cpus(environment);
    let machine = boot.bytes().chain(name.bytes());
    let mix = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    Ok(Identity {
        node: node.chars().take(280).filter(char::is_ascii).collect(),
        host,
        machine: machine.fold(0xcbf2_9ce4_8422_2325, mix),
        cpus,
        cpus_most,
    })
}

/// The cpus that this process may use, and how many of them at once if those are fewer.
fn cpus(environment: Environment<'_>) -> (Vec<u64>, u32) {
    let mut words = vec![0_u64; WORDS];
    let bytes = size_of_val(&words[..]);
    // SAFETY: room for so many bytes, which the call fills as far as there are cpus.
    unsafe { libc::sched_getaffinity(0, bytes, words.as_mut_ptr().cast()) };
    let used = words.iter().rposition(|word| *word != 0);
    words.truncate(used.map_or(0, |last| last + 1));
    let count: u32 = words.iter().map(|word| word.count_ones()).sum();
    let said = environment(CPUS).and_then(|text| text.trim().parse().ok());
    let parallel = std::thread::available_parallelism().map_or(0, |n| n.get() as u32);
    let fewer = (parallel < count).then_some(parallel);
    (words, said.or(fewer).unwrap_or(0))
}
