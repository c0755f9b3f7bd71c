//! What a simulation gives beside a row of its table: traces, pictures, links.

use super::heat;
use super::trace;
use crate::command::simulate::machine::Run;
use allhands_core::draw::chart::{Arrow, Bar, Doing, TimeChart};
use allhands_core::draw::{heat_map, time_chart};
use allhands_core::schedule::OpKind;
use allhands_core::simulate::{Link, Purpose, Recorder, Watch, Work};
use anyhow::{Context, ensure};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};

/// What is asked for beside the table.
#[derive(clap::Args)]
pub struct Outputs {
    /// Check every rank's result against what the collective promises, by moving elements along in virtual time
    #[arg(long)]
    check: bool,

    /// Print when each rank was done, and put it into the JSON
    #[arg(long)]
    pub per_rank: bool,

    /// Print the busiest links, ports or rails, and put all that were used into the JSON
    #[arg(long)]
    pub links: bool,

    /// Write a trace of the run for Perfetto or Chrome's about:tracing; of one run alone
    #[arg(long, value_name = "FILE.json")]
    trace: Option<PathBuf>,

    /// Draw what every rank does and waits for over time; of one run alone
    #[arg(long, value_name = "FILE.svg")]
    picture: Option<PathBuf>,

    /// Draw how busy the links are; of one run alone
    #[arg(long, value_name = "FILE.svg")]
    heat: Option<PathBuf>,

    /// The plane of the heat map: a number or * for each coordinate, two * at most, such as *,*,3
    #[arg(long, value_name = "PLANE", requires = "heat")]
    plane: Option<heat::Plane>,

    /// Plot completion over size, an SVG for each collective and number of ranks, a line for each algorithm
    #[arg(long, value_name = "FOLDER")]
    pub plot: Option<PathBuf>,
}

/// The most that is recorded of a run: a trace has about 200 bytes for each.
const MOST_RECORDED: usize = 4_000_000;
/// The most rows and bars of a picture.
const MOST_ROWS: usize = 1024;
const MOST_BARS: usize = 100_000;
/// How many links are printed.
const HOT_SPOTS: usize = 8;

/// A link as JSON says it.
#[derive(Serialize)]
pub struct LinkRecord {
    name: String,
    at: Option<Vec<u32>>,
    busy_us: f64,
    /// The part of the time until completion in which it was busy.
    share: f64,
    bytes: u64,
    messages: u64,
    longest_queue: u32,
}

impl Outputs {
    /// Whether something is asked for that shows one run.
    pub fn shows_one_run(&self) -> Option<&'static str> {
        let asked = [
            (self.trace.is_some(), "--trace"),
            (self.picture.is_some(), "--picture"),
            (self.heat.is_some(), "--heat"),
        ];
        asked.into_iter().find(|(is, _)| *is).map(|(_, name)| name)
    }

    /// Finds out whether all that is to be written can be.
    pub fn check(&self) -> anyhow::Result<()> {
        let files = [&self.trace, &self.picture, &self.heat];
        files
            .into_iter()
            .flatten()
            .try_for_each(|file| crate::output::check_file(file))?;
        let folder = self.plot.as_deref();
        folder.map_or(Ok(()), crate::output::check_folder)
    }

    /// Whether results are checked.
    pub fn checks(&self) -> bool {
        self.check
    }

    /// A recorder, if somebody wants what it records.
    pub fn recorder(&self) -> Option<Recorder> {
        let is_wanted = self.trace.is_some() || self.picture.is_some();
        is_wanted.then(|| Recorder::new(MOST_RECORDED))
    }

    /// What the links are asked to note.
    pub fn watch(&self) -> Option<Watch> {
        match (&self.trace, self.links || self.heat.is_some()) {
            (Some(_), _) => Some(Watch::Uses),
            (None, true) => Some(Watch::Sums),
            (None, false) => None,
        }
    }

    /// Writes what shows one run.
    ///
    /// The coordinates of nodes have `names`.
    pub fn write(
        &self,
        (title, names): (&str, &[&str]),
        run: &Run,
        recorder: Option<&Recorder>,
    ) -> anyhow::Result<()> {
        if let Some(recorder) = recorder {
            ensure!(
                !recorder.is_full(),
                "there are more than {MOST_RECORDED} operations and messages, too many for a trace or picture: take fewer ranks"
            );
        }
        // What cannot be drawn is said before anything is written.
        let picture = self.picture.as_ref().zip(recorder);
        let picture = picture
            .map(|(path, recorder)| Ok::<_, anyhow::Error>((path, chart(title, run, recorder)?)))
            .transpose()?;
        let heat = self.heat.as_ref();
        let heat = heat
            .map(|path| {
                Ok::<_, anyhow::Error>((path, heat::map(title, run, (self.plane.as_ref(), names))?))
            })
            .transpose()?;
        if let (Some(path), Some(recorder)) = (&self.trace, recorder) {
            trace::write(path, run, recorder)?;
        }
        if let Some((path, chart)) = picture {
            save(path, &time_chart(&chart))?;
        }
        if let Some((path, map)) = heat {
            save(path, &heat_map(&map))?;
        }
        Ok(())
    }
}

fn save(path: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// What a rank waits for, in words.
pub fn waited_for(what: OpKind) -> String {
    match what {
        OpKind::Send { to, .. } => format!("send to {to}"),
        OpKind::Recv { from, .. } | OpKind::RecvReduce { from, .. } => format!("rank {from}"),
        OpKind::Put { to, .. } | OpKind::PutReduce { to, .. } => format!("put to {to}"),
        OpKind::Get { from, .. } | OpKind::GetReduce { from, .. } => format!("get from {from}"),
        OpKind::Wait { at, flag, .. } => format!("flag {flag} of {at}"),
        OpKind::Notify { to, .. } => format!("notice to {to}"),
        OpKind::Combine { fabric, .. } => format!("all in the {}", fabric.name()),
        OpKind::Copy => "copy".into(),
        OpKind::Reduce => "reduce".into(),
        OpKind::Await { strand, .. } => format!("strand {strand}"),
    }
}

/// What a processor does: its kind, and words.
fn done(work: Work) -> (Doing, String) {
    match work {
        Work::Send { to, .. } => (Doing::Sends, format!("to {to}")),
        Work::Put { to, .. } => (Doing::Sends, format!("put to {to}")),
        Work::Get { from, .. } => (Doing::Sends, format!("get from {from}")),
        Work::Notify { to } => (Doing::Sends, format!("notice to {to}")),
        Work::Receive { from, .. } => (Doing::Receives, format!("from {from}")),
        Work::Copy { .. } => (Doing::Copies, "copy".into()),
        Work::Reduce { .. } | Work::Combine { .. } => (Doing::Combines, "reduce".into()),
    }
}

fn us(ps: u64) -> f64 {
    ps as f64 / 1e6
}

fn chart(title: &str, run: &Run, recorder: &Recorder) -> anyhow::Result<TimeChart> {
    let ends_ps = &run.outcome.ends_ps;
    ensure!(
        ends_ps.len() <= MOST_ROWS,
        "a picture has at most {MOST_ROWS} ranks, not {}: take fewer, or --trace",
        ends_ps.len()
    );
    let works = recorder.works().iter().filter(|w| w.to_ps > w.from_ps);
    let mut bars: Vec<Bar> = works
        .map(|work| {
            let (what, words) = done(work.what);
            bar(work.rank, (work.from_ps, work.to_ps), what, words)
        })
        .collect();
    bars.extend(recorder.waits(ends_ps).iter().map(|wait| {
        let words = waited_for(wait.what);
        bar(wait.rank, (wait.from_ps, wait.to_ps), Doing::Waits, words)
    }));
    let messages = recorder
        .messages()
        .iter()
        .filter(|message| message.purpose != Purpose::Sight);
    let arrows: Vec<Arrow> = messages
        .map(|message| Arrow {
            from: (message.from as usize, us(message.sent_ps)),
            to: (message.to as usize, us(message.arrived_ps)),
        })
        .collect();
    let drawn = bars.len() + arrows.len();
    ensure!(
        drawn <= MOST_BARS,
        "a picture has at most {MOST_BARS} bars and arrows, not {drawn}: take fewer ranks, or --trace"
    );
    let completion = us(run.outcome.completion_ps());
    // A window may be given back after the last rank is done.
    let last = arrows.iter().map(|arrow| arrow.to.1);
    let end = last.fold(completion, f64::max);
    Ok(TimeChart {
        title: title.to_string(),
        subtitle: format!(
            "completion {completion:.2} µs, {} messages; arrows: from the network's taking a message on to its arrival",
            run.outcome.messages
        ),
        rows: (0..ends_ps.len())
            .map(|rank| format!("rank {rank}"))
            .collect(),
        bars,
        arrows,
        end,
    })
}

fn bar(rank: u32, (from_ps, to_ps): (u64, u64), what: Doing, words: String) -> Bar {
    Bar {
        row: rank as usize,
        from: us(from_ps),
        to: us(to_ps),
        what,
        words,
    }
}

/// The links that were used, the busiest first.
pub fn used_links(run: &Run) -> Vec<&Link> {
    let mut links: Vec<&Link> = run.links.iter().filter(|l| l.load.messages > 0).collect();
    links.sort_by_key(|link| std::cmp::Reverse((link.load.busy_ps, link.load.bytes)));
    links
}

/// The share of the time until completion in which a link was busy.
pub fn share(link: &Link, run: &Run) -> f64 {
    link.load.busy_ps as f64 / run.outcome.completion_ps().max(1) as f64
}

/// Prints the busiest links.
pub fn print_links(out: &mut dyn Write, run: &Run) -> std::io::Result<()> {
    let links = used_links(run);
    if links.is_empty() {
        return writeln!(out, "    this machine's network says nothing of its links");
    }
    for link in links.iter().take(HOT_SPOTS) {
        let load = &link.load;
        writeln!(
            out,
            "    {:<44}{:>7.1} % busy{:>14} bytes{:>10} messages, at most {} waiting",
            link.name,
            100.0 * share(link, run),
            load.bytes,
            load.messages,
            load.longest_queue
        )?;
    }
    let more = links.len().saturating_sub(HOT_SPOTS);
    match more {
        0 => Ok(()),
        more => writeln!(out, "    and {more} others"),
    }
}

/// All links that were used, as JSON says them.
pub fn link_records(run: &Run) -> Vec<LinkRecord> {
    let record = |link: &&Link| LinkRecord {
        name: link.name.clone(),
        at: link.place.as_ref().map(|place| place.at.clone()),
        busy_us: us(link.load.busy_ps),
        share: share(link, run),
        bytes: link.load.bytes,
        messages: link.load.messages,
        longest_queue: link.load.longest_queue,
    };
    used_links(run).iter().map(record).collect()
}
