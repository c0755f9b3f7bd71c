//! The world: processes of this very test program, each of which runs one rank's part of a test.
//!
//! The test that starts a world is started again by every rank, under the same name. There it comes to the same place,
//! finds that it is a rank of this world, and does its part instead.

use allhands::launch::{self, How, Roll, Segment};
use allhands::{Communicator, Error};
use rustix::fd::AsRawFd;
use rustix::fs::{FallocateFlags, MemfdFlags};
use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The variable that says which world a process is a rank of.
const WORLD: &str = "ALLHANDS_SUITE_WORLD";
/// How long a world may take that nothing happens to.
const LIMIT: Duration = Duration::from_secs(100);

/// One world at a time: they measure time, and the cores are few.
static ALONE: Mutex<()> = Mutex::new(());

/// The name of the test that this stands in, as the test program lists it.
macro_rules! this_test {
    () => {{
        fn here() {}
        let name = std::any::type_name_of_val(&here);
        let (_, name) = name.split_once("::").expect("a function of a crate");
        name.strip_suffix("::here").expect("a function of its own")
    }};
}
pub(crate) use this_test;

/// Runs `body` on `ranks` processes, all of which must end well.
pub fn run<E: Display>(test: &str, ranks: u32, body: impl FnOnce(Communicator) -> Result<(), E>) {
    let body = |world: Result<Communicator, Error>| {
        let comm = world.map_err(|error| error.to_string())?;
        body(comm).map_err(|error| error.to_string())
    };
    if let Some(world) = World::start((test, ""), ranks, Telling::How, body) {
        world.end_well();
    }
}

/// Runs `body`, unless the communicator was not to be had because of a later error, which must then hold these words: who
/// comes last may hear so early what another has found.
pub fn unless_told<E: From<Error>>(
    world: Result<Communicator, Error>,
    words: &str,
    body: impl FnOnce(&Communicator) -> Result<(), E>,
) -> Result<(), E> {
    match world {
        Ok(comm) => body(&comm),
        Err(error) if error.to_string().contains(words) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Whether the ranks hear from their launcher how one of them ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Telling {
    How,
    Nothing,
}

/// The end of a rank.
#[derive(Clone, Copy, Debug)]
pub struct End {
    pub how: How,
    pub at: Instant,
}

struct Process {
    child: Child,
    output: File,
    end: Option<End>,
}

/// Processes that have been started, and are killed when this is dropped.
pub struct World {
    name: String,
    processes: Vec<Process>,
    telling: Telling,
    held_up: Duration,
    roll: Roll,
    segment: Segment,
    _alone: MutexGuard<'static, ()>,
}

impl World {
    /// Starts `ranks` processes, which run `body`; `None` if this process is a rank of another world.
    ///
    /// Its name is that of the test, and what tells it from others of that test with as many ranks.
    pub fn start<E: Display>(
        (test, part): (&str, &str),
        ranks: u32,
        telling: Telling,
        body: impl FnOnce(Result<Communicator, Error>) -> Result<(), E>,
    ) -> Option<World> {
        let name = format!("{test}{part} with {ranks} ranks");
        if let Ok(mine) = std::env::var(WORLD) {
            if mine == name {
                std::process::exit(be_a_rank(body));
            }
            return None;
        }
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let segment = Segment::create().expect("a segment");
        let mut world = World {
            roll: Roll::begin(segment, ranks).expect("a roll"),
            segment,
            processes: Vec::new(),
            held_up: Duration::ZERO,
            telling,
            name,
            _alone: alone,
        };
        for rank in 0..ranks {
            let process = world.start_rank(test, rank, ranks);
            world.processes.push(process.expect("a process"));
        }
        Some(world)
    }

    fn start_rank(&self, test: &str, rank: u32, ranks: u32) -> io::Result<Process> {
        let output = File::from(rustix::fs::memfd_create("output", MemfdFlags::CLOEXEC)?);
        let fd = self.segment.fd().as_raw_fd();
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args([test, "--exact", "--nocapture"])
            .env(WORLD, &self.name)
            .env(launch::RANK, rank.to_string())
            .env(launch::RANKS, ranks.to_string())
            .env(launch::SEGMENT, fd.to_string())
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output.try_clone()?);
        let parent = std::process::id() as i32;
        let prepare = move || {
            // SAFETY: these calls of the system touch no memory of this process.
            let orphan = unsafe {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                libc::fcntl(fd, libc::F_SETFD, 0);
                libc::getppid() != parent
            };
            if orphan {
                Err(io::ErrorKind::NotFound.into())
            } else {
                Ok(())
            }
        };
        // SAFETY: between fork and exec only calls of the system are made, and nothing is allocated.
        unsafe { command.pre_exec(prepare) };
        Ok(Process {
            child: command.spawn()?,
            output,
            end: None,
        })
    }

    /// Waits until all have ended, which they must do well.
    pub fn end_well(mut self) {
        let ends = self.ends(LIMIT);
        // A name under which there is no test ends well, too, but joins nothing.
        let has_joined = |rank: usize| self.roll.pid(rank as u32).is_some();
        let failed = |rank: &usize| ends[*rank].how.is_failure() || !has_joined(*rank);
        self.report((0..ends.len()).filter(failed).collect());
    }

    /// Waits until all have ended, or kills them when that takes too long.
    pub fn ends(&mut self, limit: Duration) -> Vec<End> {
        let start = Instant::now();
        while !self.look() {
            if start.elapsed() > limit + self.held_up {
                let late = |rank: &usize| self.processes[*rank].end.is_none();
                let late = (0..self.processes.len()).filter(late).collect();
                self.kill();
                self.report(late);
            }
            let asleep = Instant::now();
            std::thread::sleep(Duration::from_millis(1));
            self.held_up += asleep.elapsed().saturating_sub(Duration::from_millis(2));
        }
        self.processes.iter().filter_map(|p| p.end).collect()
    }

    /// How long others kept this process from looking: no rank can be blamed for that.
    pub fn held_up(&self) -> Duration {
        self.held_up
    }

    /// The processes, as the system numbers them.
    pub fn numbers(&self) -> Vec<u32> {
        self.processes.iter().map(|p| p.child.id()).collect()
    }

    /// Sees who has ended, and tells the others as far as they are to be told; whether all have.
    fn look(&mut self) -> bool {
        for (rank, process) in (0..)
            .zip(&mut self.processes)
            .filter(|(_, p)| p.end.is_none())
        {
            if let Some(status) = process.child.try_wait().expect("a child") {
                let (how, at) = (how(status), Instant::now());
                process.end = Some(End { how, at });
                if self.telling == Telling::How {
                    self.roll.end(rank, how);
                }
            }
        }
        self.processes.iter().all(|p| p.end.is_some())
    }

    /// Panics with all that these ranks said, unless there are none.
    pub fn report(&mut self, ranks: Vec<usize>) {
        if ranks.is_empty() {
            return;
        }
        let mut text = format!("{}:", self.name);
        for rank in ranks {
            let process = &mut self.processes[rank];
            let how = process
                .end
                .map_or_else(|| "is late".into(), |e| e.how.to_string());
            let mut said = String::new();
            let read = process
                .output
                .rewind()
                .and_then(|()| process.output.read_to_string(&mut said));
            if let Err(error) = read {
                said = error.to_string();
            }
            text += &format!("\n\nrank {rank} {how}:\n{}", said.trim());
        }
        panic!("{text}");
    }

    fn kill(&mut self) {
        for process in &mut self.processes {
            // Whoever has ended already cannot be killed, and need not.
            let _ = process.child.kill();
            let _ = process.child.wait();
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.kill();
        // The segment's descriptor stays open for ever; its memory need not.
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let freed = rustix::fs::fallocate(self.segment.fd(), flags, 0, launch::SEGMENT_BYTES);
        debug_assert!(freed.is_ok(), "memory files may have holes");
    }
}

/// Does a rank's part; gives the code with which its process ends.
fn be_a_rank<E: Display>(body: impl FnOnce(Result<Communicator, Error>) -> Result<(), E>) -> i32 {
    match body(Communicator::world()) {
        Ok(()) => 0,
        Err(said) => {
            println!("{said}");
            1
        }
    }
}

fn how(status: ExitStatus) -> How {
    match (status.code(), status.signal()) {
        (Some(code), _) => How::Exited(code as u8),
        (None, Some(signal)) => How::Killed(signal as u8),
        (None, None) => How::Unseen,
    }
}
