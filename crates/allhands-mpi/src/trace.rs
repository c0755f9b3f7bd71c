//! The trace: when each collective call of this rank began and how long it took, as a file for Chrome's or Perfetto's viewer.

use crate::takeover::{Call, Reason};
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// The most calls that are kept; later ones are counted alone.
const MOST: usize = 1 << 20;

/// A call that is over.
struct Event {
    call: Call,
    /// `None`: it was taken over.
    passed: Option<Reason>,
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
    pub(crate) fn keep(&self, call: Call, passed: Option<Reason>, bytes: usize, since: Instant) {
        let time = since.elapsed();
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        let (events, more) = &mut *events;
        if events.len() == MOST {
            *more += 1;
            return;
        }
        events.push(Event {
            call,
            passed,
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
            let way = match event.passed {
                None => "taken over",
                Some(reason) => reason.name(),
            };
            let done = write!(
                text,
                ",\n{{\"name\": \"{}\", \"cat\": \"{}\", \"ph\": \"X\", \"pid\": 0, \"tid\": {rank}, \"ts\": {:.3}, \"dur\": {:.3}, \
                 \"args\": {{\"way\": \"{way}\", \"bytes\": {}}}}}",
                event.call.name(),
                if event.passed.is_none() {
                    "taken over"
                } else {
                    "passed through"
                },
                since.as_secs_f64() * 1e6,
                event.time.as_secs_f64() * 1e6,
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

    #[test]
    fn calls_are_written_with_their_times() {
        let trace = Trace::new();
        trace.keep(Call::Bcast, None, 100, Instant::now());
        trace.keep(Call::Scan, Some(Reason::OneRank), 0, Instant::now());
        let json = trace.json(3);
        assert!(json.contains("\"name\": \"MPI_Bcast\""), "{json}");
        assert!(json.contains("\"way\": \"one rank\""), "{json}");
        assert!(json.contains("\"tid\": 3"), "{json}");
        assert_eq!(json.matches("\"ph\": \"X\"").count(), 2, "{json}");
        assert_eq!(json.matches('{').count(), json.matches('}').count());
    }
}
