//! A world of processes on hosts that are pretended: what a launcher on several hosts does, on one machine.
//!
//! A rank is this test program again, run for the one test that is named, where it does the part that a variable says.

use allhands::launch::{HOST, PATIENCE, RANK, RANKS, RENDEZVOUS, SECRET};
use allhands::policy;
use std::io::Read;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The variable that says what a rank does.
pub const PART: &str = "ALLHANDS_TEST_PART";
/// How long a world may take.
const LIMIT: Duration = Duration::from_secs(100);

pub const GOOD_SECRET: &str = "a secret of some length";

/// How a process ended.
#[derive(Debug)]
pub struct End {
    /// Its exit code, or 128 and the signal that killed it.
    pub code: i32,
    /// What it said on the standard error, and the panic of a rank that found something wrong.
    pub said: String,
}

/// Processes that are to meet.
pub struct World {
    place: String,
    /// What the ranks take for the user's cache: the user's own may hold a table, with which a world is made otherwise.
    cache: &'static Path,
    children: Vec<Child>,
}

/// The cache of those that find no table, and of those that find one, in the folder that cargo has for what tests write.
const CACHES: [&str; 2] = [
    concat!(env!("CARGO_TARGET_TMPDIR"), "/cluster-cache"),
    concat!(env!("CARGO_TARGET_TMPDIR"), "/cluster-cache-with-a-table"),
];

impl World {
    /// Nobody yet, who will meet at a port that was free just now.
    pub fn new() -> World {
        World {
            place: format!("127.0.0.1:{}", free_port()),
            cache: Path::new(CACHES[0]),
            children: Vec::new(),
        }
    }

    /// The same, where `allhands tune` has left a table so long that it does not go with a first message.
    pub fn with_table() -> World {
        let cache = Path::new(CACHES[1]);
        let file = policy::file().expect("the user has a cache");
        let file = cache
            .join("allhands")
            .join(file.file_name().expect("it has a name"));
        let (machine, version) = (policy::machine(), env!("CARGO_PKG_VERSION"));
        let rest = "# nothing was measured\n".repeat(1000);
        let text = format!("format = 1\nmachine = \"{machine}\"\nversion = \"{version}\"\n{rest}");
        let folder = file.parent().expect("it is in a folder");
        std::fs::create_dir_all(folder).expect("the cache can be made");
        std::fs::write(file, text).expect("a table can be written");
        let mut world = World::new();
        world.cache = cache;
        world
    }

    pub fn place(&self) -> &str {
        &self.place
    }

    /// Starts a rank on this host; `changes` come last, and an empty value unsets.
    pub fn start(
        &mut self,
        part: &str,
        host: &str,
        (rank, ranks): (u32, u32),
        changes: &[(&str, &str)],
    ) {
        let program = std::env::current_exe().expect("this program has a path");
        let mut command = Command::new(program);
        command
            .args(["as_a_rank", "--exact", "--nocapture", "--test-threads=1"])
            .env(PART, part)
            .env(RENDEZVOUS, &self.place)
            .env(RANK, rank.to_string())
            .env(RANKS, ranks.to_string())
            .env(SECRET, GOOD_SECRET)
            .env(PATIENCE, "60")
            .env(HOST, host)
            .env("XDG_CACHE_HOME", self.cache)
            .env("RUST_BACKTRACE", "0")
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        for (name, value) in changes {
            match value.is_empty() {
                true => command.env_remove(name),
                false => command.env(name, value),
            };
        }
        self.children
            .push(command.spawn().expect("the rank starts"));
    }

    /// Starts ranks on these hosts, by rank.
    pub fn start_all(&mut self, part: &str, hosts: &[&str]) {
        let ranks = hosts.len() as u32;
        for (rank, host) in (0..).zip(hosts) {
            self.start(part, host, (rank, ranks), &[]);
        }
    }

    pub fn pid(&self, at: usize) -> u32 {
        self.children[at].id()
    }

    /// Waits until all have ended, in the order in which they were started.
    pub fn end(mut self) -> Vec<End> {
        let until = Instant::now() + LIMIT;
        let end = |child: &mut Child| {
            let status = loop {
                match child.try_wait().expect("it is our child") {
                    Some(status) => break Some(status),
                    None if Instant::now() >= until => break None,
                    None => std::thread::sleep(Duration::from_millis(2)),
                }
            };
            if status.is_none() {
                let _ = child.kill();
            }
            let mut said = String::new();
            if let Some(mut stderr) = child.stderr.take() {
                let _ = stderr.read_to_string(&mut said);
            }
            let status = status.unwrap_or_else(|| panic!("a rank does not end: {said}"));
            let code = status.code().or(status.signal().map(|signal| 128 + signal));
            End {
                code: code.expect("one of both"),
                said,
            }
        };
        self.children.iter_mut().map(end).collect()
    }

    /// Waits until all have ended, each of which must do so well.
    pub fn end_well(self, what: &str) {
        let ends = self.end();
        let bad = ends.iter().enumerate().filter(|(_, end)| end.code != 0);
        let said = |(at, end): (usize, &End)| format!("process {at} ({}): {}", end.code, end.said);
        // All of them: what others say of a rank that has panicked is not why it did.
        let said: Vec<String> = bad.map(said).collect();
        assert!(said.is_empty(), "{what}, {}", said.join("\n"));
    }
}

/// A port that nobody has, and that the system gives nobody who asks for any, as it might before rank 0 listens there.
fn free_port() -> u16 {
    /// Below those that Linux gives out by itself.
    const PORTS: std::ops::Range<u32> = 12_000..32_000;
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        // Another process that runs these tests begins elsewhere.
        let at = 97 * std::process::id() + NEXT.fetch_add(1, Ordering::Relaxed);
        let port = (PORTS.start + at % (PORTS.end - PORTS.start)) as u16;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Runs ranks on these hosts, all of which must end well.
pub fn run(part: &str, hosts: &[&str]) {
    let mut world = World::new();
    world.start_all(part, hosts);
    world.end_well(&format!("{part} on {hosts:?}"));
}

/// What each rank says, all of which must fail, as a rank does that returns its error.
pub fn fail(part: &str, world: World) -> Vec<String> {
    let ends = world.end().into_iter().enumerate();
    let say = |(at, end): (usize, End)| {
        assert_ne!(end.code, 0, "{part}: process {at} ends well");
        assert!(end.code < 128, "{part}: process {at}: {}", end.said);
        end.said
    };
    ends.map(say).collect()
}
