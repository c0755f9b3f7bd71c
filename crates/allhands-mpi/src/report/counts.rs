//! The report: how many calls were taken over, by which algorithms, and how many passed through, and why.

use crate::context::call::Through;
use crate::context::call::{Call, Reason};
use crate::report::files::{file_of, quoted, save};
use crate::report::tally::{Count, Tallies, Tally};
use crate::report::wanted::Wanted;
use allhands::policy::NetworkTimes;
use std::fmt::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Classes of sizes: no bytes, and for each power of two from 8 bytes to beyond a gigabyte what is no longer.
const SIZES: usize = 30;
const CALLS: usize = Call::ALL.len();
const REASONS: usize = Reason::ALL.len();
const THROUGH: usize = Through::ALL.len();

/// What is to be known of a call that begins.
#[derive(Clone, Copy)]
pub(crate) enum Begun {
    /// Nothing.
    Unnoticed,
    /// That it was made.
    Counted,
    /// That, and how long it took since then.
    At(Instant),
}

impl Begun {
    /// Whether anything is to be known of it.
    #[inline(always)]
    pub(crate) fn is_noticed(self) -> bool {
        match self {
            Begun::Unnoticed => false,
            Begun::Counted | Begun::At(_) => true,
        }
    }
}

/// What is said of a call that was taken over.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Served {
    /// The bytes that this rank had.
    bytes: usize,
    /// Where it is counted; `None`: nothing is wanted.
    tally: Option<&'static Tally>,
    verified: Verified,
}

/// Whether the native MPI made a call, too.
///
/// A word: the rest of one that holds a flag would be copied in two parts that overlap, and who reads both waits until all that
/// was written before has left the store buffer: a message's lines are among it.
#[derive(Clone, Copy, Debug, Default)]
#[repr(usize)]
enum Verified {
    #[default]
    No,
    Yes,
}

/// Calls that went one way.
struct Row<'a> {
    call: &'static str,
    way: Way<'a>,
    calls: u64,
    seconds: f64,
}

/// Which way a call went.
enum Way<'a> {
    /// It was served here.
    Taken {
        tally: &'a Tally,
        /// It had at most so many bytes.
        most: u64,
        /// Whether its ranks are on several nodes.
        apart: bool,
    },
    /// The native MPI served it.
    Passed(Reason),
}

/// What is counted in this process.
pub(crate) struct Report {
    /// Those whose ranks share memory, and those whose ranks are on several nodes.
    taken: [[[Tallies; SIZES]; CALLS]; 2],
    passed: [[Count; REASONS]; CALLS],
    /// Those of which none is taken over.
    through: [Count; THROUGH],
    wanted: OnceLock<Option<Wanted>>,
    /// Whether several threads may count at the same time.
    exactly: AtomicBool,
    is_written: AtomicBool,
    /// What messages between nodes take, if that was measured.
    network: OnceLock<String>,
    origin: OnceLock<Origin>,
}

/// Where the counts come from.
struct Origin {
    /// What the MPI calls itself.
    mpi: String,
    rank: usize,
    ranks: usize,
}

/// The class of so many bytes.
fn class(bytes: usize) -> usize {
    match bytes {
        0 => 0,
        _ => (bytes.max(8).next_power_of_two().ilog2() as usize - 2).min(SIZES - 1),
    }
}

/// The most bytes of a class.
fn most(class: usize) -> u64 {
    if class == 0 { 0 } else { 1 << (class + 2) }
}

/// The one of this process.
pub(crate) static REPORT: Report = Report::new();

impl Report {
    /// Nothing is counted yet.
    const fn new() -> Report {
        Report {
            taken: [const { [const { [const { Tallies::new() }; SIZES] }; CALLS] }; 2],
            passed: [const { [const { Count::new() }; REASONS] }; CALLS],
            through: [const { Count::new() }; THROUGH],
            wanted: OnceLock::new(),
            exactly: AtomicBool::new(false),
            is_written: AtomicBool::new(false),
            network: OnceLock::new(),
            origin: OnceLock::new(),
        }
    }

    /// Says that a call begins.
    #[inline]
    pub(crate) fn begin(&self) -> Begun {
        match self.wanted() {
            None => Begun::Unnoticed,
            Some(wanted) if wanted.times => Begun::At(Instant::now()),
            Some(_) => Begun::Counted,
        }
    }

    #[inline]
    fn wanted(&self) -> Option<&Wanted> {
        self.wanted.get_or_init(Wanted::read).as_ref()
    }

    /// Whether anything is to be known of calls.
    #[inline]
    pub(crate) fn is_wanted(&self) -> bool {
        self.wanted().is_some()
    }

    /// What is said of a call that was served: the bytes that this rank had, whether its ranks are on several nodes, who served
    /// it, and whether the native MPI made it, too.
    #[inline]
    pub(crate) fn served(
        &'static self,
        call: Call,
        (bytes, apart): (usize, bool),
        algorithm: Option<String>,
        verified: bool,
    ) -> Served {
        let tally = self.is_wanted().then(|| {
            let tallies = &self.taken[usize::from(apart)][call as usize][class(bytes)];
            tallies.of(algorithm)
        });
        Served {
            bytes,
            tally,
            verified: match verified {
                true => Verified::Yes,
                false => Verified::No,
            },
        }
    }

    /// Counts a call that was taken over.
    #[inline]
    pub(crate) fn taken(&self, call: Call, served: Served, begun: Begun) {
        match begun {
            Begun::Unnoticed => {}
            Begun::Counted => self.count(served, None),
            Begun::At(since) => {
                self.count(served, Some(since));
                self.keep(call, Ok(served.tally), served.bytes, since);
            }
        }
    }

    #[inline(never)]
    fn count(&self, served: Served, since: Option<Instant>) {
        if let Some(tally) = served.tally {
            tally.add(
                matches!(served.verified, Verified::Yes),
                since,
                self.exactly(),
            );
        }
    }

    /// Counts a call that passed through.
    #[inline]
    pub(crate) fn passed(&self, call: Call, reason: Reason, begun: Begun) {
        let count = &self.passed[call as usize][reason as usize];
        match begun {
            Begun::Unnoticed => {}
            Begun::Counted => count.add(None, self.exactly()),
            Begun::At(since) => {
                count.add(Some(since), self.exactly());
                self.keep(call, Err(reason), 0, since);
            }
        }
    }

    /// Counts a call of those of which none is taken over.
    pub(crate) fn passed_through(&self, call: Through, begun: Begun) {
        let count = &self.through[call as usize];
        match begun {
            Begun::Unnoticed => {}
            Begun::Counted => count.add(None, self.exactly()),
            Begun::At(since) => count.add(Some(since), self.exactly()),
        }
    }

    /// Says that several threads may count at the same time.
    pub(crate) fn count_exactly(&self) {
        self.exactly.store(true, Ordering::Relaxed);
    }

    #[inline]
    fn exactly(&self) -> bool {
        self.exactly.load(Ordering::Relaxed)
    }

    /// Notes, if anything is wanted, where the counts come from, and sees to it that they are written when the process ends
    /// without `MPI_Finalize`; `mpi` says what the MPI calls itself.
    pub(crate) fn begin_world(&self, mpi: impl FnOnce() -> String, rank: usize, ranks: usize) {
        if !self.is_wanted() {
            return;
        }
        // Once a world.
        let _ = self.origin.set(Origin {
            mpi: mpi(),
            rank,
            ranks,
        });
        // SAFETY: a function that lives as long as the process, as this library is never unloaded.
        unsafe { libc::atexit(at_exit) };
    }

    /// Says what messages between nodes take, for the summary.
    pub(crate) fn note_network_times(&self, times: &NetworkTimes) {
        // Once a world.
        let _ = self.network.set(format!("  between nodes: {times}\n"));
    }

    fn keep(
        &self,
        call: Call,
        way: Result<Option<&'static Tally>, Reason>,
        bytes: usize,
        since: Instant,
    ) {
        if let Some((_, trace)) = self.wanted().and_then(|wanted| wanted.trace.as_ref()) {
            trace.keep(call, way, bytes, since);
        }
    }

    /// Writes the report and the trace, if they are wanted and not yet there; says by what the program ended, and whether it was
    /// this rank that ended it.
    pub(crate) fn write(&self, by: &str, ends: bool) {
        let Some(wanted) = self.wanted() else { return };
        if self.is_written.swap(true, Ordering::Relaxed) {
            return;
        }
        let rank = self.rank();
        if let Some(name) = &wanted.report {
            match file_of(name, rank, ends) {
                Some(file) if file == "-" => eprint!("{}", self.summary(by)),
                Some(file) => save("report", &file, &self.json(by)),
                None => {}
            }
        }
        if let Some((name, trace)) = &wanted.trace
            && let Some(file) = file_of(name, rank, ends)
        {
            save("trace", &file, &trace.json(rank));
        }
    }

    fn rank(&self) -> usize {
        self.origin.get().map_or(0, |origin| origin.rank)
    }

    /// What was counted, a row for each way in which a call went.
    fn rows(&self) -> Vec<Row<'_>> {
        let mut rows = Vec::new();
        for call in Call::ALL {
            let name = call.name();
            for apart in [false, true] {
                let classes = self.taken[usize::from(apart)][call as usize].iter();
                for (class, tallies) in classes.enumerate() {
                    for tally in tallies.all() {
                        let most = most(class);
                        let way = Way::Taken { tally, most, apart };
                        rows.extend(row(name, way, tally.read()));
                    }
                }
            }
            for reason in Reason::ALL {
                let counted = self.passed[call as usize][reason as usize].read();
                rows.extend(row(name, Way::Passed(reason), counted));
            }
        }
        for call in Through::ALL {
            let counted = self.through[call as usize].read();
            rows.extend(row(call.name(), Way::Passed(call.reason()), counted));
        }
        rows
    }

    fn json(&self, by: &str) -> String {
        let line = |row: Row<'_>| {
            let (call, seconds) = (quoted(row.call), row.seconds);
            let (taken, passed, verified, reason, algorithm, class, apart) = match row.way {
                Way::Taken { tally, most, apart } => {
                    let algorithm = tally.algorithm.as_deref().map(quoted);
                    let (verified, class) = (tally.verified(), Some(most.to_string()));
                    (row.calls, 0, verified, None, algorithm, class, apart)
                }
                Way::Passed(reason) => {
                    let reason = Some(quoted(reason.name()));
                    (0, row.calls, 0, reason, None, None, false)
                }
            };
            let or_null = |text: Option<String>| text.unwrap_or_else(|| "null".into());
            let (reason, algorithm) = (or_null(reason), or_null(algorithm));
            let class = or_null(class);
            format!(
                "  {{\"call\": {call}, \"taken_over\": {taken}, \"passed_through\": {passed}, \"verified\": {verified}, \
                 \"reason\": {reason}, \"algorithm\": {algorithm}, \"seconds\": {seconds:.9}, \"size_class\": {class}, \
                 \"between_nodes\": {apart}}}"
            )
        };
        let lines: Vec<String> = self.rows().into_iter().map(line).collect();
        let origin = self.origin.get();
        format!(
            "{{\n \"allhands\": {},\n \"mpi\": {},\n \"rank\": {},\n \"ranks\": {},\n \"ended\": {},\n \"calls\": [\n{}\n ]\n}}\n",
            quoted(VERSION),
            quoted(origin.map_or("", |origin| &origin.mpi)),
            self.rank(),
            origin.map_or(1, |origin| origin.ranks),
            quoted(by),
            lines.join(",\n")
        )
    }

    fn summary(&self, by: &str) -> String {
        let origin = self.origin.get();
        let mut text = format!(
            "allhands {VERSION} under {}: calls on rank {} of {}, to {by}\n",
            origin.map_or("an MPI", |origin| &origin.mpi),
            self.rank(),
            origin.map_or(1, |origin| origin.ranks),
        );
        text.push_str(self.network.get().map_or("", String::as_str));
        for row in self.rows() {
            let what = match row.way {
                Way::Taken { tally, most, apart } => {
                    let between = if apart { " between nodes" } else { "" };
                    let algorithm = tally.algorithm.as_deref();
                    let by = algorithm.map_or_else(String::new, |name| format!(" by {name}"));
                    let verified = match tally.verified() {
                        0 => String::new(),
                        calls => format!(", {calls} verified"),
                    };
                    format!("taken over{between}, to {most} bytes{by}{verified}")
                }
                Way::Passed(reason) => format!("passed through: {}", reason.name()),
            };
            let (call, calls, seconds) = (row.call, row.calls, row.seconds);
            let done = writeln!(text, "  {call:<28}{calls:>10}  {seconds:>10.6} s  {what}");
            debug_assert!(done.is_ok(), "writing to a string does not fail");
        }
        text
    }
}

/// The version of this library.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A row, if there were calls.
fn row<'a>(call: &'static str, way: Way<'a>, counted: Option<(u64, f64)>) -> Option<Row<'a>> {
    let (calls, seconds) = counted?;
    Some(Row {
        call,
        way,
        calls,
        seconds,
    })
}

/// Writes what is not written yet when a process ends in order, but without `MPI_Finalize`.
extern "C" fn at_exit() {
    REPORT.write("exit", false);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_fall_into_classes() {
        for (bytes, is_at_most) in [(0, 0), (1, 8), (8, 8), (9, 16), (1024, 1024), (1025, 2048)] {
            assert_eq!(most(class(bytes)), is_at_most);
        }
        assert_eq!(class(usize::MAX / 4), SIZES - 1);
    }

    #[test]
    fn what_is_counted_is_written() {
        let report: &'static Report = Box::leak(Box::new(Report::new()));
        let wanted = Wanted {
            times: true,
            report: None,
            trace: None,
        };
        report.wanted.get_or_init(|| Some(wanted));
        let ring = Some("ring:segment=\"8\"".to_string());
        let served = report.served(Call::Bcast, (100, false), ring, true);
        report.taken(Call::Bcast, served, Begun::At(Instant::now()));
        let served = report.served(Call::Bcast, (7, true), None, false);
        report.taken(Call::Bcast, served, Begun::Counted);
        report.passed(Call::Bcast, Reason::OneRank, Begun::At(Instant::now()));
        report.passed(Call::Scan, Reason::OneRank, Begun::Unnoticed);
        report.passed_through(Through::NeighborAlltoall, Begun::Counted);
        let json = report.json("MPI_Abort");
        for part in [
            "\"allhands\": \"",
            "\"ended\": \"MPI_Abort\"",
            "\"taken_over\": 1, \"passed_through\": 0, \"verified\": 1, \"reason\": null, \"algorithm\": \"ring:segment=\\\"8\\\"\"",
            "\"size_class\": 128",
            "\"reason\": \"one rank\"",
            "\"call\": \"MPI_Neighbor_alltoall\", \"taken_over\": 0, \"passed_through\": 1",
            "\"reason\": \"neighbourhood\"",
            "\"size_class\": 8, \"between_nodes\": true",
        ] {
            assert!(json.contains(part), "{part} in {json}");
        }
        assert!(!json.contains("MPI_Scan"), "{json}");
        assert_eq!(json.matches("true").count(), 1, "{json}");
        let summary = report.summary("MPI_Finalize");
        assert!(
            summary.contains("by ring:segment=\"8\", 1 verified"),
            "{summary}"
        );
    }
}
