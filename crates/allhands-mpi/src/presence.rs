//! The presence: whether all ranks of a world have this library, before they tell one another anything by collectives.
//!
//! A rank without it would take those for the program's own, or never make them. So each rank sends the next one a message in
//! `MPI_Init`, where no program receives any yet, and waits for that of the one before it, the first of all for that of the last.
//! Of ranks that lack the library in a row, the last is missed by the one behind it. Who waits too long looks whether
//! the process of the rank that it waits for has loaded the library, and is merely late; otherwise it ends the program.

use crate::abi::{Abi, Handle};
use crate::library::Library;
use std::ffi::c_int;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a rank may be silent, as no rank's native `MPI_Init` ends long before the others have begun theirs.
const PATIENCE: Duration = Duration::from_secs(8);

/// How long it is looked for a message without a pause.
const BUSY: Duration = Duration::from_millis(20);

/// A tag that every MPI has.
const TAG: c_int = 31_249;

/// Waits until the ranks beside this one are known to have the library.
pub(crate) fn ascertain(library: &Library, abi: &Abi) {
    let world = abi.comm_world;
    let (Some(rank), Some(size)) = (library.rank(world), library.size(world)) else {
        return;
    };
    if size < 2 {
        return;
    }
    let (before, behind) = ((rank + size - 1) % size, (rank + 1) % size);
    let (sent, mut received) = ([0u8], [0u8]);
    let mut requests = [0 as Handle; 2];
    let (native, [receive, send]) = (&library.native, &mut requests);
    // SAFETY: a byte each to write and to read, which are there until both messages have ended or the program has, and room for
    // handles.
    let error = unsafe {
        let (into, from) = (received.as_mut_ptr(), sent.as_ptr());
        (native.irecv)(into, 1, abi.byte, before as c_int, TAG, world, receive)
            | (native.isend)(from, 1, abi.byte, behind as c_int, TAG, world, send)
    };
    if error != 0 {
        // What is wrong is said where ranks come together.
        return;
    }
    let (begin, mut since) = (Instant::now(), Instant::now());
    let mut has_ended = [false; 2];
    while has_ended != [true; 2] {
        for (request, has_ended) in requests.iter_mut().zip(&mut has_ended) {
            *has_ended = *has_ended || ends(library, request);
        }
        if begin.elapsed() < BUSY {
            std::thread::yield_now();
            continue;
        }
        std::thread::sleep(Duration::from_millis(1));
        if since.elapsed() > PATIENCE {
            since = Instant::now();
            let silent = if has_ended[0] { behind } else { before };
            if !is_late(silent) {
                abort(library, world, silent);
            }
        }
    }
}

/// Whether a message has ended.
fn ends(library: &Library, request: &mut Handle) -> bool {
    // More than any MPI's status, and aligned for it.
    let (mut flag, mut status) = (0, [0u64; 32]);
    // SAFETY: a request of ours, and room for what is said of it.
    let error = unsafe {
        (library.native.test)(
            std::ptr::from_mut(request),
            &raw mut flag,
            status.as_mut_ptr().cast(),
        )
    };
    flag != 0 || error != 0
}

/// Ends the program.
fn abort(library: &Library, world: Handle, silent: usize) {
    eprintln!(
        "allhands: rank {silent} of MPI_COMM_WORLD does not take part: it has not loaded liballhands_mpi.so, and others have. \
         Have LD_PRELOAD set for all programs of the job (mpiexec -genv LD_PRELOAD …, mpiexec -x LD_PRELOAD=… for each of them), or \
         for none"
    );
    // SAFETY: the world, which the native MPI has just begun.
    unsafe { (library.native.abort)(world, 1) };
}

/// Variables that tell a process its rank, and those that tell its job from others.
const RANKS: [&str; 4] = [
    "PMI_RANK",
    "PMIX_RANK",
    "OMPI_COMM_WORLD_RANK",
    "SLURM_PROCID",
];
const JOBS: [&str; 5] = [
    "PMI_SIZE",
    "PMIX_NAMESPACE",
    "OMPI_COMM_WORLD_SIZE",
    "SLURM_JOB_ID",
    "SLURM_STEP_ID",
];

/// Whether a rank is on this machine, with the library loaded.
fn is_late(rank: usize) -> bool {
    let own = Environment::of(Path::new("/proc/self"));
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut seen = false;
    for process in entries.map(|entry| entry.path()) {
        let Some(maps) = fs::read_to_string(process.join("maps")).ok() else {
            continue;
        };
        // Launchers and shells that have started the rank have its environment, but no MPI.
        if maps.contains("libmpi") && Environment::of(&process).is_of(rank, &own) {
            if !maps.contains("liballhands_mpi") {
                return false;
            }
            seen = true;
        }
    }
    seen
}

/// What a process was started with.
struct Environment(Vec<u8>);

impl Environment {
    /// That of a process; nothing, if it may not be seen.
    fn of(process: &Path) -> Environment {
        Environment(fs::read(process.join("environ")).unwrap_or_default())
    }

    fn value(&self, name: &str) -> Option<&[u8]> {
        let mut words = self.0.split(|byte| *byte == 0);
        words.find_map(|word| word.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
    }

    /// Whether it is that of a rank of the job that another one is of.
    fn is_of(&self, rank: usize, other: &Environment) -> bool {
        let rank = rank.to_string();
        let is_rank = |name: &&str| self.value(name) == Some(rank.as_bytes());
        let is_of_job = |name: &&str| self.value(name) == other.value(name);
        RANKS.iter().any(is_rank) && JOBS.iter().all(is_of_job)
    }
}

#[cfg(test)]
mod tests {
    use super::Environment;

    fn environment(text: &str) -> Environment {
        Environment(text.replace(' ', "\0").into_bytes())
    }

    #[test]
    fn a_rank_is_known_by_its_environment() {
        let own = environment("PMI_RANK=0 PMI_SIZE=4 HOME=/");
        let other = environment("HOME=/ PMI_SIZE=4 PMI_RANK=3");
        assert!(other.is_of(3, &own));
        assert!(!other.is_of(2, &own));
        assert!(!environment("PMI_RANK=3 PMI_SIZE=5").is_of(3, &own));
        assert!(!environment("").is_of(3, &environment("")));
        let open_mpi = environment("OMPI_COMM_WORLD_RANK=1 PMIX_NAMESPACE=a@1");
        assert!(open_mpi.is_of(1, &environment("PMIX_NAMESPACE=a@1")));
        assert!(!open_mpi.is_of(1, &environment("PMIX_NAMESPACE=a@2")));
    }
}
