//! The report: how many calls were taken over and how many passed through, and why.

use crate::settings::{REPORT, TIMES, TRACE, switch};
use crate::takeover::{Call, Reason};
use crate::trace::Trace;
use allhands::policy::NetworkTimes;
use std::array::from_fn;
use std::fmt::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// Classes of sizes: no bytes, and for each power of two from 8 bytes to beyond a gigabyte what is no longer.
const SIZES: usize = 30;
const CALLS: usize = Call::ALL.len();
const REASONS: usize = Reason::ALL.len();

#[derive(Default)]
struct Count {
    calls: AtomicU64,
    nanoseconds: AtomicU64,
}

impl Count {
    /// Counts a call; exactly also where several threads do.
    #[inline]
    fn add(&self, since: Option<Instant>, exactly: bool) {
        let add = |count: &AtomicU64, more: u64| match exactly {
            true => {
                count.fetch_add(more, Ordering::Relaxed);
            }
            // A locked instruction would wait until the call's last message has gone to the other core.
            false => count.store(count.load(Ordering::Relaxed) + more, Ordering::Relaxed),
        };
        add(&self.calls, 1);
        if let Some(since) = since {
            add(&self.nanoseconds, since.elapsed().as_nanos() as u64);
        }
    }
}

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

/// Calls that went one way.
struct Row {
    call: Call,
    way: Way,
    calls: u64,
    seconds: f64,
}

/// Which way a call went.
enum Way {
    /// It was served here, and had at most so many bytes; whether its ranks are on several nodes.
    Taken(u64, bool),
    /// The native MPI served it.
    Passed(Reason),
}

/// What is counted in this process.
pub(crate) struct Report {
    /// Those whose ranks share memory, and those whose ranks are on several nodes.
    taken: [[[Count; SIZES]; CALLS]; 2],
    passed: [[Count; REASONS]; CALLS],
    wanted: OnceLock<Option<Wanted>>,
    /// Whether several threads may count at the same time.
    exactly: AtomicBool,
    is_written: AtomicBool,
    /// What messages between nodes take, if that was measured.
    network: OnceLock<String>,
}

impl Default for Report {
    fn default() -> Report {
        Report {
            taken: from_fn(|_| from_fn(|_| from_fn(|_| Count::default()))),
            passed: from_fn(|_| from_fn(|_| Count::default())),
            wanted: OnceLock::new(),
            exactly: AtomicBool::new(false),
            is_written: AtomicBool::new(false),
            network: OnceLock::new(),
        }
    }
}

/// What this process's environment asks for.
struct Wanted {
    /// Whether calls are timed; to read a clock twice takes a good part of a short call.
    times: bool,
    /// The file that the report goes to.
    report: Option<String>,
    /// The file that the trace goes to, and the trace.
    trace: Option<(String, Trace)>,
}

impl Wanted {
    /// `None`: nothing is wanted.
    fn read() -> Option<Wanted> {
        let file = |name| std::env::var(name).ok().filter(|file| !file.is_empty());
        let times = file(TIMES).and_then(|said| switch(&said));
        let wanted = Wanted {
            times: times.unwrap_or(true) || file(TRACE).is_some(),
            report: file(REPORT),
            trace: file(TRACE).map(|file| (file, Trace::new())),
        };
        (wanted.report.is_some() || wanted.trace.is_some()).then_some(wanted)
    }
}

/// The name of the file of a rank, if it writes one: each does where the name has a `%r`, otherwise rank 0.
fn file_of(name: &str, rank: usize) -> Option<String> {
    (rank == 0 || name.contains("%r")).then(|| name.replace("%r", &rank.to_string()))
}

/// Writes a file, or says why that cannot be.
fn save(what: &str, file: &str, text: &str) {
    if let Err(error) = std::fs::write(file, text) {
        eprintln!("allhands: the {what} cannot be written to {file}: {error}");
    }
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

impl Report {
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

    /// Counts a call that was taken over, of so many bytes, whose ranks are on several nodes or not.
    #[inline]
    pub(crate) fn taken(&self, call: Call, (bytes, apart): (usize, bool), begun: Begun) {
        match begun {
            Begun::Unnoticed => {}
            Begun::Counted => self.count(call, (bytes, apart), None),
            Begun::At(since) => {
                self.count(call, (bytes, apart), Some(since));
                self.keep(call, None, bytes, since);
            }
        }
    }

    #[inline(never)]
    fn count(&self, call: Call, (bytes, apart): (usize, bool), since: Option<Instant>) {
        self.taken[usize::from(apart)][call as usize][class(bytes)].add(since, self.exactly());
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
                self.keep(call, Some(reason), 0, since);
            }
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

    /// Says what messages between nodes take, for the summary.
    pub(crate) fn tell_times(&self, times: &NetworkTimes) {
        let NetworkTimes {
            latency_ns,
            overhead_ns,
            gap_ns,
            byte_ns,
            reduce_byte_ns,
        } = times;
        // Once a world.
        let _ = self.network.set(format!(
            "  between nodes: L {:.2} us, o {:.2} us, g {:.2} us, G {byte_ns:.3} ns/B; a byte is combined in {reduce_byte_ns:.3} ns\n",
            latency_ns * 1e-3,
            overhead_ns * 1e-3,
            gap_ns * 1e-3,
        ));
    }

    fn keep(&self, call: Call, passed: Option<Reason>, bytes: usize, since: Instant) {
        if let Some((_, trace)) = self.wanted().and_then(|wanted| wanted.trace.as_ref()) {
            trace.keep(call, passed, bytes, since);
        }
    }

    /// Writes the report and the trace, if they are wanted and not yet there.
    pub(crate) fn write(&self, rank: usize) {
        let Some(wanted) = self.wanted() else { return };
        if self.is_written.swap(true, Ordering::Relaxed) {
            return;
        }
        if let Some(name) = &wanted.report {
            match file_of(name, rank) {
                Some(file) if file == "-" => eprint!("{}", self.summary()),
                Some(file) => save("report", &file, &self.json()),
                None => {}
            }
        }
        if let Some((name, trace)) = &wanted.trace
            && let Some(file) = file_of(name, rank)
        {
            save("trace", &file, &trace.json(rank));
        }
    }

    /// What was counted, a row for each way in which a call went.
    fn rows(&self) -> Vec<Row> {
        let read = |count: &Count| {
            let calls = count.calls.load(Ordering::Relaxed);
            let time = count.nanoseconds.load(Ordering::Relaxed);
            (calls > 0).then_some((calls, time as f64 * 1e-9))
        };
        let mut rows = Vec::new();
        for call in Call::ALL {
            let ways = [false, true].map(|apart| (apart, &self.taken[usize::from(apart)]));
            for (apart, taken) in ways {
                for (class, count) in taken[call as usize].iter().enumerate() {
                    if let Some((calls, time)) = read(count) {
                        let way = Way::Taken(most(class), apart);
                        rows.push(Row {
                            call,
                            way,
                            calls,
                            seconds: time,
                        });
                    }
                }
            }
            for reason in Reason::ALL {
                if let Some((calls, time)) = read(&self.passed[call as usize][reason as usize]) {
                    let way = Way::Passed(reason);
                    rows.push(Row {
                        call,
                        way,
                        calls,
                        seconds: time,
                    });
                }
            }
        }
        rows
    }

    fn json(&self) -> String {
        let line = |row: Row| {
            let (taken, passed, reason, class, apart) = match row.way {
                Way::Taken(most, apart) => (row.calls, 0, "null".into(), most.to_string(), apart),
                Way::Passed(reason) => {
                    let reason = format!("\"{}\"", reason.name());
                    (0, row.calls, reason, "null".into(), false)
                }
            };
            format!(
                "{{\"call\": \"{}\", \"taken_over\": {taken}, \"passed_through\": {passed}, \
                 \"reason\": {reason}, \"seconds\": {:.9}, \"size_class\": {class}, \"between_nodes\": {apart}}}",
                row.call.name(),
                row.seconds
            )
        };
        let lines: Vec<String> = self.rows().into_iter().map(line).collect();
        format!("[\n{}\n]\n", lines.join(",\n"))
    }

    fn summary(&self) -> String {
        let mut text = String::from("allhands: calls on rank 0\n");
        text.push_str(self.network.get().map_or("", String::as_str));
        for row in self.rows() {
            let what = match row.way {
                Way::Taken(most, false) => format!("taken over, to {most} bytes"),
                Way::Taken(most, true) => format!("taken over between nodes, to {most} bytes"),
                Way::Passed(reason) => format!("passed through: {}", reason.name()),
            };
            let (call, calls, seconds) = (row.call.name(), row.calls, row.seconds);
            let done = writeln!(text, "  {call:<24}{calls:>10}  {seconds:>10.6} s  {what}");
            debug_assert!(done.is_ok(), "writing to a string does not fail");
        }
        text
    }
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
    fn only_rank_0_writes_a_file_that_is_not_each_ranks_own() {
        assert_eq!(file_of("a.%r.json", 7).as_deref(), Some("a.7.json"));
        assert_eq!(file_of("a.json", 0).as_deref(), Some("a.json"));
        assert_eq!(file_of("a.json", 7), None);
    }

    #[test]
    fn what_is_counted_is_written() {
        let report = Report::default();
        report.taken(Call::Bcast, (100, false), Begun::At(Instant::now()));
        report.taken(Call::Bcast, (7, true), Begun::Counted);
        report.passed(Call::Bcast, Reason::OneRank, Begun::At(Instant::now()));
        report.passed(Call::Scan, Reason::OneRank, Begun::Unnoticed);
        let json = report.json();
        assert!(json.contains("\"taken_over\": 1"), "{json}");
        assert!(json.contains("\"size_class\": 128"), "{json}");
        assert!(json.contains("\"reason\": \"one rank\""), "{json}");
        assert!(!json.contains("MPI_Scan"), "{json}");
        let apart = "\"size_class\": 8, \"between_nodes\": true";
        assert!(
            json.contains(apart) && json.matches("true").count() == 1,
            "{json}"
        );
    }
}
