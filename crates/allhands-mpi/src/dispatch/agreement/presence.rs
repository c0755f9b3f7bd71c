//! The presence: whether all ranks of a world have this library, before they exchange anything by collectives.
//!
//! A rank without it would take those for the program's own, or never make them. So each rank sends the next one a message in
//! `MPI_Init`, where no program receives any yet, and waits for that of the one before it, the first of all for that of the last.
//! Of ranks that lack the library in a row, the last is missed by the one behind it. Who waits looks now and then whether the
//! process of the rank that it waits for has loaded the library. If it has, it is merely late; if it has not, the program is ended,
//! and soon if nothing is to be seen of it, as it is on another machine.

use crate::abi::{Abi, Handle};
use crate::context::library::Library;
use crate::context::say;
use std::ffi::c_int;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// After how long a silent rank's process is looked for, and how often.
const GLANCE: Duration = Duration::from_secs(2);

/// How often it is looked for in vain: no rank's native `MPI_Init` ends long before the others have begun theirs.
const PATIENCE: u32 = 3;

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
    let (begin, mut glances) = (Instant::now(), 0);
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
        if begin.elapsed() > GLANCE * (glances + 1) {
            glances += 1;
            let silent = if has_ended[0] { behind } else { before };
            let seen = Seen::now(rank);
            match seen.has(silent) {
                Some(true) => {}
                None if glances < PATIENCE => {}
                Some(false) | None => abort(library, world, &seen.lack(silent)),
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
fn abort(library: &Library, world: Handle, ranks: &[usize]) {
    let (ranks, those) = match ranks {
        [rank] => (format!("rank {rank}"), "it has"),
        ranks => (format!("ranks {ranks:?}"), "they have"),
    };
    let why = format_args!(
        "{ranks} of MPI_COMM_WORLD cannot take part, as {those} not loaded liballhands_mpi.so. Set LD_PRELOAD for all \
         programs of the job (mpiexec -genv LD_PRELOAD …, or -x LD_PRELOAD=… or `env LD_PRELOAD=…` for each of them), or for none"
    );
    say::abort(&library.native, world, 1, why);
}

/// The ranks of this job whose processes are seen on this machine, and whether each has the library.
struct Seen(Vec<(usize, bool)>);

impl Seen {
    /// Looks for them; `own` is this process's rank.
    fn now(own: usize) -> Seen {
        let environment = Environment::of(Path::new("/proc/self"));
        if environment.rank() != Some(own) {
            // Its launcher's variables mean something else.
            return Seen(Vec::new());
        }
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let found = entries.filter_map(|entry| {
            let process = entry.path();
            let maps = fs::read_to_string(process.join("maps")).ok()?;
            // Launchers and shells that have started a rank have its environment, but no MPI.
            let is_one = maps.contains("libmpi");
            let of_job = is_one.then(|| Environment::of(&process).rank_in_job(&environment));
            Some((of_job??, maps.contains("liballhands_mpi")))
        });
        Seen(found.collect())
    }

    /// Whether a rank has the library; `None`: it is not seen, or two are, of different jobs.
    fn has(&self, rank: usize) -> Option<bool> {
        let mut found = self.0.iter().filter(|(seen, _)| *seen == rank);
        let (_, first) = found.next()?;
        found.all(|(_, has)| has == first).then_some(*first)
    }

    /// All ranks that are seen to lack the library, and this one.
    fn lack(&self, silent: usize) -> Vec<usize> {
        let seen = self.0.iter().map(|(rank, _)| *rank);
        let mut lack: Vec<usize> = seen.filter(|rank| self.has(*rank) == Some(false)).collect();
        lack.push(silent);
        lack.sort_unstable();
        lack.dedup();
        lack
    }
}

/// Variables with a process's rank, that of the innermost launcher first, and those with its job.
const RANKS: [&str; 4] = [
    "OMPI_COMM_WORLD_RANK",
    "PMIX_RANK",
    "PMI_RANK",
    "SLURM_PROCID",
];
const JOBS: [&str; 5] = [
    "PMI_SIZE",
    "PMIX_NAMESPACE",
    "OMPI_COMM_WORLD_SIZE",
    "SLURM_JOB_ID",
    "SLURM_STEP_ID",
];

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

    /// The rank.
    fn rank(&self) -> Option<usize> {
        let text = RANKS.iter().find_map(|name| self.value(name))?;
        std::str::from_utf8(text).ok()?.parse().ok()
    }

    /// The rank, if it is of the job that another one is of.
    fn rank_in_job(&self, other: &Environment) -> Option<usize> {
        let is_same = |name: &&str| self.value(name) == other.value(name);
        self.rank().filter(|_| JOBS.iter().all(is_same))
    }
}

#[cfg(test)]
mod tests {
    use super::{Environment, Seen};

    fn environment(text: &str) -> Environment {
        Environment(text.replace(' ', "\0").into_bytes())
    }

    #[test]
    fn a_rank_of_the_job_is_known_by_its_environment() {
        let own = environment("PMI_RANK=0 PMI_SIZE=4 HOME=/");
        let rank = |text| environment(text).rank_in_job(&own);
        assert_eq!(rank("HOME=/ PMI_SIZE=4 PMI_RANK=3"), Some(3));
        assert_eq!(rank("PMI_RANK=3 PMI_SIZE=5"), None);
        assert_eq!(rank("PMI_SIZE=4"), None);
        assert_eq!(rank("PMI_SIZE=4 XPMI_RANK=3 PMI_RANK="), None);
        let own = environment("OMPI_COMM_WORLD_RANK=1 PMIX_NAMESPACE=a@1 SLURM_PROCID=0");
        assert_eq!(own.rank_in_job(&own), Some(1));
        let other = environment("PMIX_RANK=0 PMIX_NAMESPACE=a@2 SLURM_PROCID=0");
        assert_eq!(other.rank_in_job(&own), None);
    }

    #[test]
    fn who_is_seen_to_lack_the_library_is_named() {
        let seen = Seen(vec![
            (0, true),
            (1, false),
            (2, false),
            (3, true),
            (3, false),
        ]);
        assert_eq!(
            (0..5).map(|rank| seen.has(rank)).collect::<Vec<_>>(),
            [Some(true), Some(false), Some(false), None, None]
        );
        assert_eq!(seen.lack(2), [1, 2]);
        assert_eq!(seen.lack(4), [1, 2, 4]);
    }
}
