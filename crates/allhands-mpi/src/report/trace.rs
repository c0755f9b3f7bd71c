//! The trace: when each collective call of this rank began and how long it took, as a file for Chrome's or Perfetto's viewer.

use crate::context::call::{Call, Reason};
use crate::report::files::quoted;
use crate::report::tally::Tally;
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// The most calls that are kept; later ones are counted alone.
const MOST: usize = 1 << 20;

/// A call that is over.
struct Event {
    call: Call,
    /// Where it was counted, if it was taken over, or why it passed through.
    way: Result<Option<&'static Tally>, Reason>,
    bytes: usize,
    since: Instant,
    time: Duration,
}

/// The calls of this process.
pub(crate) struct Trace {
    events: Mutex<(Vec<Event>, u64)>,
    /// A moment by the clock that processes share, and by the one that never stands or goes back.
    origin: (Duration, Instant),
}

impl Trace {
    /// No calls yet.
    pub(crate) fn new() -> Trace {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Trace {
            events: Mutex::new((Vec::new(), 0)),
            origin: (now.unwrap_or_default(), Instant::now()),
        }
    }

    /// Keeps a call that is over.
    pub(crate) fn keep(
        &self,
        call: Call,
        way: Result<Option<&'static Tally>, Reason>,
        bytes: usize,
        since: Instant,
    ) {
        let time = since.elapsed();
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        let (events, more) = &mut *events;
        if events.len() == MOST {
            *more += 1;
            return;
        }
        events.push(Event {
            call,
            way,
            bytes,
            since,
            time,
        });
    }

    /// The file, of a rank.
    pub(crate) fn json(&self, rank: usize) -> String {
        let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        let (events, more) = &*events;
        let mut text = format!(
            "{{\"displayTimeUnit\": \"ns\", \"otherData\": {{\"calls that were not kept\": {more}}}, \"traceEvents\": [\n\
             {{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 0, \"tid\": {rank}, \"args\": {{\"name\": \"rank {rank}\"}}}}"
        );
        let (clock, start) = self.origin;
        for event in events {
            // A call may have begun before the trace did, by the time that it takes to make one.
            let since = clock + event.since.saturating_duration_since(start);
            let (category, way, algorithm) = match event.way {
                Ok(tally) => {
                    let algorithm = tally.and_then(|tally| tally.algorithm.as_deref());
                    ("taken over", "taken over", algorithm.unwrap_or(""))
                }
                Err(reason) => ("passed through", reason.name(), ""),
            };
            let done = write!(
                text,
                ",\n{{\"name\": \"{}\", \"cat\": \"{category}\", \"ph\": \"X\", \"pid\": 0, \"tid\": {rank}, \"ts\": {:.3}, \"dur\": {:.3}, \
                 \"args\": {{\"way\": \"{way}\", \"algorithm\": {}, \"bytes\": {}}}}}",
                event.call.name(),
                since.as_secs_f64() * 1e6,
                event.time.as_secs_f64() * 1e6,
                quoted(algorithm),
                event.bytes
            );
            debug_assert!(done.is_ok(), "writing to a string does not fail");
        }
        text.push_str("\n]}\n");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tally::Tallies;

    #[test]
    fn calls_are_written_with_their_times() {
        let trace = Trace::new();
        let tallies: &'static Tallies = Box::leak(Box::new(Tallies::new()));
        let tally = tallies.of(Some("ring".into()));
        trace.keep(Call::Bcast, Ok(Some(tally)), 100, Instant::now());
        trace.keep(Call::Scan, Err(Reason::OneRank), 0, Instant::now());
        let json = trace.json(3);
        assert!(json.contains("\"name\": \"MPI_Bcast\""), "{json}");
        assert!(json.contains("\"way\": \"one rank\""), "{json}");
        assert!(json.contains("\"algorithm\": \"ring\""), "{json}");
        assert!(json.contains("\"tid\": 3"), "{json}");
        assert_eq!(json.matches("\"ph\": \"X\"").count(), 2, "{json}");
        assert_eq!(json.matches('{').count(), json.matches('}').count());
    }
}
