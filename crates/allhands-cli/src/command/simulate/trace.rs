//! The trace of a run in the format of Chrome's about:tracing, which Perfetto reads too: a track for each rank and each link.

use super::machine::Run;
use super::outputs::{done, waited_for};
use allhands_core::draw::chart::Doing;
use allhands_core::simulate::{Purpose, Recorder};
use anyhow::Context;
use serde::Serialize;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// The groups of tracks.
const RANKS: u32 = 0;
const LINKS: u32 = 1;

/// An event of the format; times in microseconds.
#[derive(Serialize)]
struct Event<'a> {
    ph: &'a str,
    name: &'a str,
    cat: &'a str,
    pid: u32,
    tid: u32,
    ts: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    /// What ties the two ends of a message together.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<usize>,
    /// At the end of a message: it ends in what is there then.
    #[serde(skip_serializing_if = "Option::is_none")]
    bp: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<Value>,
}

struct Trace<W: Write> {
    out: W,
    is_first: bool,
}

impl<W: Write> Trace<W> {
    fn put(&mut self, event: &impl Serialize) -> std::io::Result<()> {
        let separator: &[u8] = if self.is_first { b"\n" } else { b",\n" };
        self.is_first = false;
        self.out.write_all(separator)?;
        serde_json::to_writer(&mut self.out, event)?;
        Ok(())
    }

    /// Gives a track, or a group of them, its name.
    fn call(&mut self, what: &str, (pid, tid): (u32, u32), name: &str) -> std::io::Result<()> {
        self.put(&json!({
            "ph": "M", "name": what, "pid": pid, "tid": tid, "args": { "name": name }
        }))
    }

    fn slice(
        &mut self,
        (pid, tid): (u32, u32),
        (from_ps, to_ps): (u64, u64),
        (cat, name): (&str, &str),
        args: Option<Value>,
    ) -> std::io::Result<()> {
        self.put(&Event {
            ph: "X",
            name,
            cat,
            pid,
            tid,
            ts: us(from_ps),
            dur: Some(us(to_ps) - us(from_ps)),
            id: None,
            bp: None,
            args,
        })
    }

    fn ranks(&mut self, run: &Run, recorder: &Recorder) -> std::io::Result<()> {
        self.call("process_name", (RANKS, 0), "ranks")?;
        for rank in 0..run.outcome.ends_ps.len() as u32 {
            self.call("thread_name", (RANKS, rank), &format!("rank {rank}"))?;
        }
        for work in recorder.works().iter().filter(|w| w.to_ps > w.from_ps) {
            let (what, words) = done(work.what);
            let times = (work.from_ps, work.to_ps);
            let name = format!("{} {words}", what.words());
            self.slice((RANKS, work.rank), times, ("work", &name), None)?;
        }
        for wait in recorder.waits(&run.outcome.ends_ps) {
            let name = format!("{} for {}", Doing::Waits.words(), waited_for(wait.what));
            let times = (wait.from_ps, wait.to_ps);
            self.slice((RANKS, wait.rank), times, ("wait", &name), None)?;
        }
        Ok(())
    }

    /// Arrows from the slice in which a message was handed to the network, or that came next, to the one in which it arrived.
    fn messages(&mut self, recorder: &Recorder) -> std::io::Result<()> {
        for (id, message) in recorder.messages().iter().enumerate() {
            let name = match message.purpose {
                Purpose::Message { .. } => "message",
                Purpose::Put => "put",
                Purpose::PutReduce => "combining put",
                Purpose::Request => "request of a get",
                Purpose::Answer => "answer to a get",
                Purpose::Notice => "notice",
                // No message that a rank sends.
                Purpose::Sight => continue,
            };
            let args = json!({
                "bytes": message.bytes, "from": message.from, "to": message.to
            });
            let end = |ph, tid, ps, bp| Event {
                ph,
                name,
                cat: "message",
                pid: RANKS,
                tid,
                ts: us(ps),
                dur: None,
                id: Some(id),
                bp,
                args: (ph == "s").then(|| args.clone()),
            };
            self.put(&end("s", message.from, message.sent_ps, None))?;
            self.put(&end("f", message.to, message.arrived_ps, Some("e")))?;
        }
        Ok(())
    }

    fn links(&mut self, run: &Run) -> std::io::Result<()> {
        let used = || (0..).zip(&run.links).filter(|l| !l.1.load.uses.is_empty());
        if used().next().is_some() {
            self.call("process_name", (LINKS, 0), "links")?;
        }
        for (number, link) in used() {
            self.call("thread_name", (LINKS, number), &link.name)?;
            for used in &link.load.uses {
                let name = format!("{} bytes", used.bytes);
                let times = (used.from_ps, used.to_ps);
                self.slice((LINKS, number), times, ("link", &name), None)?;
            }
        }
        Ok(())
    }
}

fn us(ps: u64) -> f64 {
    ps as f64 / 1e6
}

/// Writes the trace of a run.
///
/// # Errors
/// What the system says of the file.
pub fn write(path: &Path, run: &Run, recorder: &Recorder) -> anyhow::Result<()> {
    let cannot = || format!("cannot write {}", path.display());
    let file = File::create(path).with_context(cannot)?;
    let mut out = BufWriter::new(file);
    all(&mut out, run, recorder).with_context(cannot)
}

fn all(out: &mut impl Write, run: &Run, recorder: &Recorder) -> std::io::Result<()> {
    out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
    let mut trace = Trace {
        out: &mut *out,
        is_first: true,
    };
    trace.ranks(run, recorder)?;
    trace.messages(recorder)?;
    trace.links(run)?;
    out.write_all(b"\n]}\n")?;
    out.flush()
}
