//! The replay of applications' traces: the same calls by ours and by each peer, in turns.

use super::conductor::{Cast, Stage};
use super::record::{Ratio, Whose};
use crate::board;
use crate::cell::Cell;
use crate::error::{Error, at};
use crate::group::{Failure, Group, Turn};
use crate::lab::Lab;
use crate::statistics::{Estimate, estimate_of_pairs, median};
use crate::trace::{Kind, Trace};
use serde::Serialize;
use std::fmt::Write as _;
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How many hosts there may be.
const HOSTS: RangeInclusive<usize> = 2..=24;
/// How long the calls of one turn may take.
const LONGEST: Duration = Duration::from_secs(15);
/// What all calls are called, each of which begins on all ranks together, and those of which only the first does.
const ONE_BY_ONE: &str = "all, each begun together";
const AT_ONCE: &str = "all, one after another";
/// Applications of Q's table 1, with what communication and the whole gained there.
const TABLE_1: [(&str, f64, f64); 2] = [("nbody", 1.09, 1.01), ("radix", 1.47, 1.13)];

/// The calls of one kind, or all of a trace.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Row {
    application: String,
    hosts: u32,
    each: u32,
    kind: &'static str,
    calls: usize,
    /// What the ranks hand to these calls, in all.
    bytes: usize,
    /// Those that did not fail; the first is ours, and what is compared.
    times: Vec<Sum>,
    /// The others' times by its.
    ratios: Vec<Ratio>,
}

/// What one contender takes for them.
#[derive(Clone, Debug, Serialize)]
struct Sum {
    #[serde(flatten)]
    whose: Whose,
    /// By round.
    rounds_us: Vec<f64>,
    us: f64,
}

/// The times of one round: of each call, and of all one after another.
#[derive(Clone, Debug)]
struct Round {
    calls_us: Vec<f64>,
    at_once_us: f64,
}

/// Files that were asked for, which one number of hosts can make again.
pub(super) struct Replay {
    traces: Vec<(PathBuf, Trace)>,
    hosts: u32,
}

impl Replay {
    /// Reads the files.
    pub(super) fn read(root: &Path, files: &[PathBuf], each: u32) -> Result<Replay, Error> {
        let read = |file: &PathBuf| {
            let path = root.join(file);
            Trace::read(&path).map(|trace| (path, trace))
        };
        let traces: Vec<_> = files
            .iter()
            .map(read)
            .collect::<Result<_, _>>()
            .map_err(Error::Lab)?;
        let hosts = hosts(&traces, each as usize).map_err(Error::Lab)?;
        Ok(Replay { traces, hosts })
    }

    /// Makes all calls again; the rows, and whether ours are right.
    pub(super) fn play(&self, root: &Path, stage: &Stage<'_>) -> Result<(Vec<Row>, bool), Error> {
        let arguments = stage.arguments;
        let rate = arguments.rate().text;
        let lab = Lab::up(root, self.hosts, 1, [&rate, &arguments.delay])?;
        let [l_us, g_us] = lab.network()?;
        let entries = stage.contenders(&lab);
        let (board, path) = stage.board("board-replay", entries.len())?;
        for (number, (file, _)) in self.traces.iter().enumerate() {
            let copy = board::trace_path(&path, number as u64);
            fs::copy(file, &copy).map_err(at(&copy))?;
        }
        let mut cast = stage.cast(self.hosts * arguments.each, (&board, &path), entries)?;
        println!(
            "{} hosts with {} rank(s) each, {rate}, {} one way (L {l_us:.0} us, G {:.2} ns/B); {} rounds",
            self.hosts,
            arguments.each,
            arguments.delay,
            1e3 * g_us,
            arguments.rounds
        );
        let (mut all, mut has_failed) = (Vec::new(), false);
        for (number, (file, trace)) in self.traces.iter().enumerate() {
            let what = file.display();
            let columns = stage.by_turns(&mut cast, &what, &mut has_failed, |group| {
                round(group, number)
            })?;
            let rows = self.rows(trace, arguments.each, &cast, &columns);
            println!("{}", table(&rows));
            has_failed |= rows.is_empty();
            all.extend(rows);
        }
        Ok((all, !has_failed))
    }

    fn rows(&self, trace: &Trace, each: u32, cast: &Cast<'_>, columns: &[Vec<Round>]) -> Vec<Row> {
        let of = |kind: Option<Kind>| -> Vec<usize> {
            let is_one = |at: &usize| kind.is_none_or(|kind| trace.calls[*at].kind == kind);
            (0..trace.calls.len()).filter(is_one).collect()
        };
        let row = |name, calls: &[usize], time: &dyn Fn(&Round) -> f64| {
            let times = cast.whose().iter().cloned().zip(columns);
            let times = times.map(|(whose, rounds)| (whose, rounds.iter().map(time).collect()));
            let (times, ratios) = beside(times.collect())?;
            let handed = |at: &usize| -> usize {
                let call = &trace.calls[*at];
                (0..trace.ranks)
                    .map(|rank| call.input(rank, trace.ranks))
                    .sum()
            };
            Some(Row {
                application: trace.application.clone(),
                hosts: self.hosts,
                each,
                kind: name,
                calls: calls.len(),
                bytes: calls.iter().map(handed).sum(),
                times,
                ratios,
            })
        };
        let kinds = Kind::ALL.map(|kind| (kind.name(), of(Some(kind))));
        let there = kinds.into_iter().filter(|(_, calls)| !calls.is_empty());
        let one_by_one = there.chain([(ONE_BY_ONE, of(None))]);
        let sums = one_by_one.filter_map(|(name, calls)| {
            row(name, &calls, &|round| {
                calls.iter().map(|at| round.calls_us[*at]).sum()
            })
        });
        let at_once = row(AT_ONCE, &of(None), &|round| round.at_once_us);
        sums.chain(at_once).collect()
    }
}

/// How many hosts have the ranks of all traces.
fn hosts(traces: &[(PathBuf, Trace)], each: usize) -> Result<u32, String> {
    let (first, of_first) = traces
        .first()
        .map_or((Path::new(""), 0), |(path, t)| (path, t.ranks));
    if let Some((path, other)) = traces.iter().find(|(_, trace)| trace.ranks != of_first) {
        return Err(format!(
            "{} has {of_first} ranks and {} {}: replay them one by one",
            first.display(),
            path.display(),
            other.ranks
        ));
    }
    let hosts = of_first / each;
    if hosts * each != of_first || !HOSTS.contains(&hosts) {
        return Err(format!(
            "{of_first} ranks, {each} on each host: there may be {} to {} hosts, all with as many (--each)",
            HOSTS.start(),
            HOSTS.end()
        ));
    }
    Ok(hosts as u32)
}

/// One group's turns of a round.
fn round(group: &mut Group<'_>, number: usize) -> Result<Round, Failure> {
    let mut turn = |collective: u32| {
        let turn = Turn {
            cell: Cell {
                collective: collective as usize,
                bytes: number,
            },
            budget: LONGEST,
            flags: board::ASLEEP,
        };
        group.samples_us(turn)
    };
    Ok(Round {
        calls_us: turn(board::REPLAY)?,
        at_once_us: median(&turn(board::REPLAY_AT_ONCE)?),
    })
}

/// Everybody's medians, and the others' times by the first one's, if that has any.
fn beside(times: Vec<(Whose, Vec<f64>)>) -> Option<(Vec<Sum>, Vec<Ratio>)> {
    let there = times.into_iter().map(|(whose, rounds_us)| Sum {
        us: median(&rounds_us),
        whose,
        rounds_us,
    });
    let mut there = there.peekable();
    there.peek().filter(|first| !first.rounds_us.is_empty())?;
    let sums: Vec<Sum> = there.filter(|sum| !sum.rounds_us.is_empty()).collect();
    let ratio = |other: &Sum| {
        let pairs = other.rounds_us.iter().zip(&sums[0].rounds_us);
        let ratios: Vec<f64> = pairs.map(|(other, first)| other / first).collect();
        let Estimate { median, interval } = estimate_of_pairs(&ratios);
        Ratio {
            peer: other.whose.name.clone(),
            ratio: median,
            interval,
        }
    };
    let ratios = sums[1..].iter().map(ratio).collect();
    Some((sums, ratios))
}

/// What is printed of one trace.
fn table(rows: &[Row]) -> String {
    let Some(first) = rows.first() else {
        return "ours has no times".to_owned();
    };
    let name = &first.times[0].whose.name;
    let mut text = format!(
        "\n{}: ms of {name}; the others' times by its\n{:<25}{:>6}{:>12}{:>10}",
        first.application, "kind", "calls", "bytes", name
    );
    for ratio in &first.ratios {
        let _ = write!(text, "  {:<21}", ratio.peer);
    }
    for row in rows {
        let ms = row.times[0].us / 1e3;
        let _ = write!(
            text,
            "\n{:<25}{:>6}{:>12}{ms:>10.2}",
            row.kind, row.calls, row.bytes
        );
        for Ratio {
            ratio,
            interval: [low, high],
            ..
        } in &row.ratios
        {
            let _ = write!(
                text,
                "  {:<21}",
                format!("{ratio:.2} [{low:.2}, {high:.2}]")
            );
        }
    }
    let of_paper = TABLE_1.iter().find(|(name, ..)| *name == first.application);
    if let Some((_, communication, whole)) = of_paper {
        let _ = write!(
            text,
            "\nQ's table 1 (its allgathers instead of elan_gather(), 16 processes, messages included): communication {communication}, \
             the application {whole}"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whose(name: &str) -> Whose {
        Whose {
            name: name.to_owned(),
            is_ours: name == "tcp",
        }
    }

    #[test]
    fn everybody_is_beside_the_first_round_by_round() {
        let times = vec![
            (whose("tcp"), vec![100.0, 200.0, 100.0]),
            (whose("mpich-ofi"), Vec::new()),
            (whose("mpich-ucx"), vec![150.0, 300.0, 150.0]),
        ];
        let (sums, ratios) = beside(times).expect("the first has times");
        assert_eq!((sums.len(), sums[0].us, ratios.len()), (2, 100.0, 1));
        assert!((ratios[0].ratio - 1.5).abs() < 1e-12, "{ratios:?}");
        assert!(beside(vec![(whose("tcp"), Vec::new()), (whose("a"), vec![1.0])]).is_none());
        let row = Row {
            application: "radix".into(),
            hosts: 4,
            each: 1,
            kind: "allgather",
            calls: 4,
            bytes: 65_536,
            times: sums,
            ratios,
        };
        let text = table(&[row]);
        assert!(
            text.contains(
                "allgather                     4       65536      0.10  1.50 [1.50, 1.50]"
            ),
            "{text}"
        );
        assert!(text.contains("communication 1.47"), "{text}");
    }

    #[test]
    fn traces_say_how_many_hosts_there_are() {
        let of = |ranks| {
            let trace = Trace {
                application: "radix".into(),
                ranks,
                calls: Vec::new(),
            };
            (PathBuf::from(format!("trace-{ranks}")), trace)
        };
        assert_eq!(hosts(&[of(16), of(16)], 4), Ok(4));
        for (traces, each, right) in [
            (
                &[of(8), of(16)][..],
                1,
                "trace-8 has 8 ranks and trace-16 16",
            ),
            (&[of(9)], 2, "all with as many (--each)"),
            (&[of(4)], 4, "2 to 24 hosts"),
        ] {
            let said = hosts(traces, each).expect_err("is wrong");
            assert!(said.contains(right), "{said}");
        }
    }
}
