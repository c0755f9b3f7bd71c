//! The trace of a run in the format of Chrome's about:tracing, which Perfetto reads too: a track for each rank and each link.

use super::machine::Run;
use super::outputs::waited_for;
use allhands_core::schedule::OpKind;
use allhands_core::simulate::{Purpose, Recorder, Work};
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

/// What a rank does in a slice.
#[derive(Clone, Copy)]
enum What {
    Work(Work),
    Wait(OpKind),
}

/// The slices of all ranks, (rank, from, to, what), one after another.
struct Slices(Vec<(u32, u64, u64, What)>);

impl Slices {
    fn new(run: &Run, recorder: &Recorder) -> Slices {
        let works = recorder.works().iter();
        let works = works.map(|w| (w.rank, w.from_ps, w.to_ps, What::Work(w.what)));
        let waits = recorder.waits(&run.outcome.ends_ps);
        let waits = waits
            .iter()
            .map(|w| (w.rank, w.from_ps, w.to_ps, What::Wait(w.what)));
        let mut all: Vec<_> = works.chain(waits).filter(|w| w.2 > w.1).collect();
        all.sort_by_key(|slice| (slice.0, slice.1));
        Slices(all)
    }

    /// The slice of a rank in which `ps` is, or at the end of which, with whether the next one begins there.
    fn around(&self, rank: u32, ps: u64) -> (Option<(u64, u64)>, bool) {
        let own = |slice: &&(u32, u64, u64, What)| slice.0 == rank;
        let next = self
            .0
            .partition_point(|slice| (slice.0, slice.1) < (rank, ps));
        let begins = self.0.get(next).filter(own).is_some_and(|s| s.1 == ps);
        let before = next
            .checked_sub(1)
            .and_then(|at| self.0.get(at))
            .filter(own);
        (before.map(|slice| (slice.1, slice.2)), begins)
    }

    /// An arrow starts from the slice that ends at `ps`, if one does: a little before that, as its end is no part of it.
    fn ends_at(&self, rank: u32, ps: u64) -> u64 {
        match self.around(rank, ps).0 {
            Some((from_ps, to_ps)) if to_ps == ps => ps - INSIDE_PS.min((to_ps - from_ps) / 2),
            _ => ps,
        }
    }

    /// An arrow ends in the slice that begins at `ps`, if one does, or in that before.
    fn begins_at(&self, rank: u32, ps: u64) -> u64 {
        match self.around(rank, ps) {
            (_, true) => ps,
            (_, false) => self.ends_at(rank, ps),
        }
    }
}

/// So far from the end of a slice an arrow is inside it for viewers, which count nanoseconds.
const INSIDE_PS: u64 = 2000;

/// The name of a slice of work.
fn said(work: Work) -> String {
    match work {
        Work::Put { to, .. } => format!("puts to {to}"),
        Work::Get { from, .. } => format!("gets from {from}"),
        Work::Notify { to } => format!("notifies {to}"),
        Work::Send { to, .. } => format!("sends to {to}"),
        Work::Receive { from, .. } => format!("receives from {from}"),
        Work::Copy { bytes } => format!("copies {bytes} bytes"),
        Work::Reduce { bytes } | Work::Combine { bytes, .. } => format!("combines {bytes} bytes"),
    }
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
            dur: Some(us(to_ps - from_ps)),
            id: None,
            bp: None,
            args,
        })
    }

    fn ranks(&mut self, run: &Run, slices: &Slices) -> std::io::Result<()> {
        self.call("process_name", (RANKS, 0), "ranks")?;
        for rank in 0..run.outcome.ends_ps.len() as u32 {
            self.call("thread_name", (RANKS, rank), &format!("rank {rank}"))?;
        }
        for &(rank, from_ps, to_ps, what) in &slices.0 {
            let (cat, name) = match what {
                What::Work(work) => ("work", said(work)),
                What::Wait(operation) => ("wait", format!("waits for {}", waited_for(operation))),
            };
            self.slice((RANKS, rank), (from_ps, to_ps), (cat, &name), None)?;
        }
        Ok(())
    }

    /// Arrows from the slice in which a message was handed to the network to the one in which it arrived.
    fn messages(&mut self, recorder: &Recorder, slices: &Slices) -> std::io::Result<()> {
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
            let sent_ps = slices.ends_at(message.from, message.sent_ps);
            let arrived_ps = slices.begins_at(message.to, message.arrived_ps);
            self.put(&end("s", message.from, sent_ps, None))?;
            self.put(&end("f", message.to, arrived_ps, Some("e")))?;
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
    let slices = Slices::new(run, recorder);
    trace.ranks(run, &slices)?;
    trace.messages(recorder, &slices)?;
    trace.links(run)?;
    out.write_all(b"\n]}\n")?;
    out.flush()
}
