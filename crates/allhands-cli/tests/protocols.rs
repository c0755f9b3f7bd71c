//! Which protocols take least, from the outside: measured at the first start, kept, and explained.

#![cfg(target_os = "linux")]

use allhands::policy::protocols::{FORMAT, Protocols, STARTS_MOST};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// What is said where nothing is known.
const NOTHING: &str = "Nothing was measured";

/// How the line of the file begins that is measured last.
const LAST: &str = "\"exchanged 2097152 ";

/// Starts of which at least one finds two processors that are free for a millisecond.
const TRIES: usize = 100;

/// A cache folder of a test's own, removed at its end.
struct Cache(PathBuf);

impl Cache {
    fn new(name: &str) -> Cache {
        let folder = format!("allhands-protocols-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        std::fs::create_dir_all(&folder).expect("it can be made");
        Cache(folder)
    }

    fn allhands(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_allhands"));
        command.args(arguments).env("XDG_CACHE_HOME", &self.0);
        command
    }

    /// Starts two processes that call a collective, as any program does.
    fn start(&self) -> Child {
        let call = [
            "bench",
            "barrier",
            "--transport",
            "shm",
            "-n",
            "2",
            "--time",
            "1",
        ];
        let mut command = self.allhands(&call);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        command.spawn().expect("the program runs")
    }

    fn starts_well(&self) {
        let ended = self.start().wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{said}");
    }

    /// Starts until something was measured: where the processors are busy, with other tests for one, a start measures nothing.
    fn starts_until_measured(&self) {
        for _ in 0..TRIES {
            self.starts_well();
            if !has_two_cores() || !self.explained().contains(NOTHING) {
                return;
            }
        }
        panic!("nothing was measured at {TRIES} starts");
    }

    fn explained(&self) -> String {
        let output = self.allhands(&["explain", "--protocol"]).output();
        let output = output.expect("the program runs");
        assert!(output.status.success());
        String::from_utf8(output.stdout).expect("it prints text")
    }

    /// All files below, with what is in them.
    fn files(&self) -> Vec<(PathBuf, String)> {
        let folder = std::fs::read_dir(self.0.join("allhands"));
        let files = folder.into_iter().flatten().map(|file| {
            let path = file.expect("it is listed").path();
            let text = std::fs::read_to_string(&path).expect("it is text");
            (path, text)
        });
        files.collect()
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        let _ = std::fs::set_permissions(&self.0, Permissions::from_mode(0o755));
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Whether two ranks have a core each here: otherwise nothing is measured.
fn has_two_cores() -> bool {
    std::thread::available_parallelism().is_ok_and(|cores| cores.get() >= 2)
}

#[test]
fn the_first_start_measures_and_the_second_finds_it() {
    let cache = Cache::new("first");
    assert!(cache.explained().contains(NOTHING));
    cache.starts_until_measured();
    let first = cache.files();
    if !has_two_cores() {
        assert_eq!(first, [], "ranks that share a core measure nothing");
        return;
    }
    let [(path, text)] = &first[..] else {
        panic!("{first:?}");
    };
    assert_eq!(
        Some(path.file_name()),
        allhands::policy::protocols::file()
            .as_ref()
            .map(|f| f.file_name())
    );
    let start = format!("[protocols]\nformat = {FORMAT}\nmachine = ");
    assert!(text.starts_with(&start), "{text}");
    // What is open yet is measured again, but not for ever.
    let most = format!("starts = {STARTS_MOST}\n");
    let is_whole = |text: &str| text.contains(LAST) && !text.contains(" open ");
    let is_over = |text: &str| text.contains(&most) || is_whole(text);
    for _ in 0..TRIES {
        if is_over(&cache.files()[0].1) {
            break;
        }
        cache.starts_well();
    }
    let settled = cache.files();
    assert!(is_over(&settled[0].1), "{settled:?}");
    cache.starts_well();
    assert_eq!(cache.files(), settled, "it is not measured again");
    // One of another system is no use, and one that is cut off neither.
    for other in [
        text.replacen("kernel = \"", "kernel = \"0", 1),
        text[..20].into(),
    ] {
        std::fs::write(path, &other).expect("it can be written");
        assert!(cache.explained().contains(NOTHING));
        cache.starts_until_measured();
        let again = cache.files();
        assert!(again.len() == 1 && again[0].1 != other, "{again:?}");
    }
}

#[test]
fn where_nothing_can_be_kept_nothing_is_measured() {
    let cache = Cache::new("unwritable");
    // A file stands where the folder would be: nobody can write there, root neither.
    std::fs::write(cache.0.join("allhands"), "").expect("it can be written");
    cache.starts_well();
    assert_eq!(cache.files(), []);
    assert!(cache.explained().contains(NOTHING));
}

#[test]
fn jobs_that_start_at_once_leave_one_whole_file() {
    let cache = Cache::new("both");
    for job in [0, 1, 2].map(|_| cache.start()) {
        let ended = job.wait_with_output().expect("it ends");
        assert!(ended.status.success());
    }
    let files = cache.files();
    assert_eq!(files.len(), usize::from(has_two_cores()), "{files:?}");
    let is_whole = |(_, text): &(PathBuf, String)| Protocols::parse(text).is_some();
    assert!(files.iter().all(is_whole), "{files:?}");
    cache.starts_until_measured();
}
