//! Our TCP without the limits of emulation, beside iperf3 and plain sockets: over the loopback, and between two hosts joined by the
//! kernel's own cables, which carry what the processors do.

use super::{Lab, command, output};
use crate::error::Error;
use crate::run::{OWN_PROGRAMS, build};
use crate::statistics::median;
use serde::Serialize;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use xtask::needs::{self, Need};
use xtask::processes;

/// What is compared with.
const NEEDS: &[Need] = &[Need {
    program: "iperf3",
    debian_packages: &["iperf3"],
    without_it: "there is nothing to compare long messages with",
}];
/// What sends our messages.
const MESSAGES: &str = "message_latency";
/// Lengths of long messages, and of short ones.
const LONG: [u64; 3] = [128 << 10, 1 << 20, 4 << 20];
const SHORT: u64 = 8;
/// The most that iperf3 sends from, again and again. What goes from and to more memory than caches have takes longer, whoever sends it:
/// longer messages are beside plain sockets with as much memory at both ends.
const MOST_OF_IPERF: u64 = 1 << 20;
/// How long each turn lasts.
const SECONDS: f64 = 1.0;
/// Round trips of a turn between plain sockets.
const TRIPS: &str = "30000";
/// Of iperf3's rate at least, or plain sockets', and of the time between plain sockets at most.
const OF_LONG: f64 = 0.9;
const OF_SOCKETS: f64 = 1.2;
/// How long somebody may take to listen, and to end.
const PATIENCE: Duration = Duration::from_secs(10);
/// At a time each turn has a port of its own: one that was left a moment ago may not be free.
const FIRST_PORT: u16 = 7100;

/// Where both ends are.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Where {
    Loopback,
    Hosts,
}

impl Where {
    fn name(self) -> &'static str {
        match self {
            Where::Loopback => "loopback",
            Where::Hosts => "two hosts",
        }
    }
}

/// What everybody takes for the same.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Record {
    place: Where,
    bytes: u64,
    /// Ours, and then the others.
    taken: Vec<Taken>,
}

/// What one program takes, by round.
#[derive(Clone, Debug, Serialize)]
struct Taken {
    by: By,
    /// GB a second of long messages, microseconds one way of short ones.
    rounds: Vec<f64>,
    /// Nanoseconds of all processors by byte, of long messages.
    processor_ns: Vec<f64>,
}

/// Who sends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
enum By {
    Ours,
    Iperf3,
    Sockets,
}

/// Both ends' place, and the programs.
struct Ends<'a> {
    place: Where,
    lab: Option<&'a Lab<'a>>,
    programs: &'a Path,
    port: u16,
}

/// Compares so many rounds; the records, and whether all that is demanded is shown.
pub(super) fn compare(
    root: &Path,
    target: &Path,
    rounds: u32,
) -> Result<(Vec<Record>, bool), Error> {
    if let Some(need) = needs::ensure(NEEDS).first() {
        return Err(Error::Lab(format!(
            "there is no {}: {}",
            need.program, need.without_it
        )));
    }
    let example = ["--package", "allhands", "--example", MESSAGES];
    let worker = build(root, target, &[&OWN_PROGRAMS[..], &example].concat())?;
    let programs = worker.parent().unwrap_or(root);
    output(&mut command(root, &["build"]))?;
    println!("{rounds} rounds of {SECONDS} s: medians, and the least and the most of rounds");
    let mut ends = Ends {
        place: Where::Loopback,
        lab: None,
        programs,
        port: FIRST_PORT,
    };
    let mut records = ends.compare(rounds)?;
    let lab = Lab::up_without_limits(root, 2)?;
    ends = Ends {
        place: Where::Hosts,
        lab: Some(&lab),
        ..ends
    };
    records.extend(ends.compare(rounds)?);
    let mut holds = true;
    for record in &records {
        let (lines, is_right) = record.lines();
        println!("{lines}");
        holds &= is_right;
    }
    Ok((records, holds))
}

impl Ends<'_> {
    /// All lengths: in each round everybody, each time beginning with another.
    fn compare(&mut self, rounds: u32) -> Result<Vec<Record>, Error> {
        let all = std::iter::once(SHORT).chain(LONG);
        let mut records: Vec<Record> = all.map(|bytes| Record::new(self.place, bytes)).collect();
        for round in 0..rounds as usize {
            for record in &mut records {
                let count = record.taken.len();
                for place in 0..count {
                    if processes::interrupted() {
                        return Err(Error::Interrupted);
                    }
                    let taken = &mut record.taken[(round + place) % count];
                    let [value, processor_ns] = self.take(taken.by, record.bytes)?;
                    taken.rounds.push(value);
                    taken.processor_ns.push(processor_ns);
                }
            }
        }
        Ok(records)
    }

    /// One turn: a rate with what the processors take of a byte, or a time, with which that is not asked for.
    fn take(&mut self, by: By, bytes: u64) -> Result<[f64; 2], Error> {
        let is_short = bytes == SHORT;
        match by {
            By::Ours if is_short => Ok([self.our_trips()?, 0.0]),
            By::Ours => self.our_stream(bytes),
            By::Iperf3 => self.iperf(bytes.min(MOST_OF_IPERF)),
            // Whoever does better: asleep until something comes, or asking again and again.
            By::Sockets if is_short => Ok([self.trips(false)?.min(self.trips(true)?), 0.0]),
            By::Sockets => self.sockets(bytes),
        }
    }

    /// A program at one of both ends.
    fn at(&self, end: usize, program: &str) -> Command {
        let Some(lab) = self.lab else {
            let mut command = Command::new(program);
            command.stdin(Stdio::null());
            return command;
        };
        let mut command = lab.command(&["exec", ["1", "2"][end], program]);
        // As any program is scheduled.
        command.env("LAB_SCHED", "0");
        command
    }

    /// Where the first end listens.
    fn address(&self) -> &'static str {
        match self.place {
            Where::Loopback => "127.0.0.1",
            Where::Hosts => "10.77.0.1",
        }
    }

    /// Our two ranks, each on a host, or as if it were.
    fn ours(&self, what: &str, bytes: u64) -> Command {
        let program = self.programs.join("allhands");
        let mut command = match self.lab {
            None => {
                let mut command = Command::new(program);
                let hosts = ["run", "--hosts", "a,b", "--launcher", "env HERE={host}"];
                command
                    .args(hosts)
                    .args(["--rendezvous", "127.0.0.1", "--"]);
                command.stdin(Stdio::null());
                command
            }
            Some(lab) => {
                let mut command = lab.command(&["run", "--"]);
                command.env("LAB_ALLHANDS", program).env("LAB_SCHED", "0");
                command
            }
        };
        command
            .arg(self.programs.join("examples").join(MESSAGES))
            .args([what, &bytes.to_string(), &SECONDS.to_string()]);
        command
    }

    fn our_trips(&self) -> Result<f64, Error> {
        let [us] = numbers(&output(&mut self.ours("trips", SHORT))?, [0])?;
        Ok(us)
    }

    /// GB a second and nanoseconds of processors by byte.
    fn our_stream(&self, bytes: u64) -> Result<[f64; 2], Error> {
        numbers(&output(&mut self.ours("stream", bytes))?, [0, 2])
    }

    /// Microseconds one way between plain sockets.
    fn trips(&mut self, asks: bool) -> Result<f64, Error> {
        let program = Lab::folder().join("bin/pp");
        let program = program.to_string_lossy().into_owned();
        let port = self.next_port();
        let mut server = self.at(0, &program);
        server.args(["s", &port]).args(asks.then_some("spin"));
        let server = Server::start(server)?;
        let mut client = self.at(1, &program);
        let how = if asks { "spin" } else { "block" };
        let bytes = SHORT.to_string();
        client.args(["c", self.address(), &port, TRIPS, how, &bytes]);
        // It tries to connect until somebody listens, and the other ends when it does.
        let text = output(&mut client)?;
        server.end();
        let [us] = numbers(&text, [1])?;
        Ok(us)
    }

    /// GB a second and nanoseconds of processors by byte over one plain socket.
    fn sockets(&mut self, bytes: u64) -> Result<[f64; 2], Error> {
        let program = Lab::folder().join("bin/pp");
        let program = program.to_string_lossy().into_owned();
        let (port, bytes) = (self.next_port(), bytes.to_string());
        let mut server = self.at(0, &program);
        server.args(["r", &port, &bytes]);
        let server = Server::start(server)?;
        let mut client = self.at(1, &program);
        client.args(["w", self.address(), &port, &bytes, &SECONDS.to_string()]);
        let text = output(&mut client)?;
        server.end();
        numbers(&text, [0, 1])
    }

    /// The same of iperf3, with one connection as ours has.
    fn iperf(&mut self, bytes: u64) -> Result<[f64; 2], Error> {
        let port = self.next_port();
        let mut server = self.at(0, "iperf3");
        server.args([
            "--server",
            "--one-off",
            "--bind",
            self.address(),
            "--port",
            &port,
        ]);
        let server = Server::start(server)?;
        let seconds = SECONDS.to_string();
        let begun = Instant::now();
        let said = loop {
            let mut client = self.at(1, "iperf3");
            client.args(["--client", self.address(), "--port", &port]);
            client.args(["--length", &bytes.to_string()]);
            client.args(["--time", &seconds, "--omit", "1", "--json"]);
            let text = output(&mut client)?;
            let said = of_iperf(&text);
            // In this form it does not fail where nobody listens yet.
            if said.is_none() && begun.elapsed() < PATIENCE {
                sleep(Duration::from_millis(50));
                continue;
            }
            break said.ok_or(text);
        };
        server.end();
        said.map_err(|text| Error::Lab(format!("iperf3 does not say its rate: {text}")))
    }

    fn next_port(&mut self) -> String {
        self.port += 1;
        self.port.to_string()
    }
}

/// Who listens, and ends by itself when the other end has had what it wants.
struct Server(Child);

impl Server {
    fn start(mut command: Command) -> Result<Server, Error> {
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let child = processes::start(&mut command);
        child
            .map(Server)
            .map_err(|error| Error::Lab(format!("{command:?}: {error}")))
    }

    fn end(mut self) {
        processes::wait(&mut self.0, PATIENCE);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        processes::end(&mut self.0, &[]);
    }
}

/// Words of the last line that are numbers.
fn numbers<const COUNT: usize>(text: &str, at: [usize; COUNT]) -> Result<[f64; COUNT], Error> {
    let words: Vec<&str> = text
        .lines()
        .last()
        .unwrap_or("")
        .split_whitespace()
        .collect();
    let number = |at: usize| words.get(at).and_then(|word| word.parse().ok());
    let found = at.map(|at| number(at).unwrap_or(f64::NAN));
    match found.iter().all(|number| number.is_finite()) {
        true => Ok(found),
        false => Err(Error::Lab(format!("`{text}` has no times"))),
    }
}

/// The rate that was received, and what both ends took of the processors.
fn of_iperf(text: &str) -> Option<[f64; 2]> {
    let all: serde_json::Value = serde_json::from_str(text).ok()?;
    let end = all.get("end")?;
    let bits_s = end.get("sum_received")?.get("bits_per_second")?.as_f64()?;
    let percents = end.get("cpu_utilization_percent")?;
    let percent = |whose: &str| percents.get(whose).and_then(serde_json::Value::as_f64);
    let bytes_s = bits_s / 8.0;
    let processors = (percent("host_total")? + percent("remote_total")?) / 100.0;
    Some([bytes_s / 1e9, processors * 1e9 / bytes_s])
}

impl By {
    fn name(self) -> &'static str {
        match self {
            By::Ours => "ours",
            By::Iperf3 => "iperf3",
            By::Sockets => "plain sockets",
        }
    }
}

impl Record {
    fn new(place: Where, bytes: u64) -> Record {
        let all: &[By] = match bytes {
            SHORT => &[By::Ours, By::Sockets],
            _ => &[By::Ours, By::Iperf3, By::Sockets],
        };
        let taken = |by: &By| Taken {
            by: *by,
            rounds: Vec::new(),
            processor_ns: Vec::new(),
        };
        Record {
            place,
            bytes,
            taken: all.iter().map(taken).collect(),
        }
    }

    /// What it comes to in lines, and whether that is what is demanded.
    fn lines(&self) -> (String, bool) {
        let is_short = self.bytes == SHORT;
        let judge = match self.bytes {
            SHORT => By::Sockets,
            bytes if bytes <= MOST_OF_IPERF => By::Iperf3,
            _ => By::Sockets,
        };
        let unit = if is_short { "us" } else { "GB/s" };
        let bytes = crate::cell::size(self.bytes as usize);
        let mut text = format!("{}, {bytes}:", self.place.name());
        let mut holds = true;
        let ours = &self.taken[0].rounds;
        for taken in &self.taken {
            let name = taken.by.name();
            let _ = write!(text, "\n    {name:<14}{} {unit}", spread(&taken.rounds));
            if !is_short {
                let by_byte = spread(&taken.processor_ns);
                let _ = write!(text, ", {by_byte} ns of processors by byte");
            }
            if taken.by == By::Ours {
                continue;
            }
            let pairs = ours.iter().zip(&taken.rounds);
            let ratios: Vec<f64> = pairs.map(|(ours, theirs)| ours / theirs).collect();
            let _ = write!(text, "; ours by it {}", spread(&ratios));
            if taken.by == judge {
                let ratio = median(&ratios);
                let (demanded, is_right) = match is_short {
                    true => (format!("{OF_SOCKETS} at most"), ratio <= OF_SOCKETS),
                    false => (format!("{OF_LONG} at least"), ratio >= OF_LONG),
                };
                let word = if is_right { "" } else { "  MISSED" };
                let _ = write!(text, " (demanded: {demanded}){word}");
                holds &= is_right;
            }
        }
        (text, holds)
    }
}

/// The median, the least and the most.
fn spread(values: &[f64]) -> String {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    format!("{:.2} [{least:.2}, {most:.2}]", median(values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iperf3_says_its_rate_and_what_it_takes() {
        let text = r#"{"end": {"sum_sent": {"bits_per_second": 1e9}, "sum_received": {"bits_per_second": 1.6e10},
            "cpu_utilization_percent": {"host_total": 90.0, "host_user": 1.0, "remote_total": 70.0}}}"#;
        let [rate, processor_ns] = of_iperf(text).expect("all is there");
        assert!((rate - 2.0).abs() < 1e-9 && (processor_ns - 0.8).abs() < 1e-9);
        assert_eq!(of_iperf(r#"{"error": "unable to connect"}"#), None);
    }

    #[test]
    fn what_programs_print_is_read_from_their_last_line() {
        let text = "warning: 7\n3.25 GB/s 0.61 ns a byte\n";
        assert_eq!(numbers(text, [0, 2]).expect("is there"), [3.25, 0.61]);
        assert!(numbers(text, [1]).is_err());
        assert!(numbers("", [0]).is_err());
    }

    #[test]
    fn what_is_demanded_is_of_pairs() {
        let of = |bytes, rounds: &[[f64; 3]]| {
            let mut record = Record::new(Where::Loopback, bytes);
            for (taken, rounds) in record.taken.iter_mut().zip(rounds) {
                taken.rounds = rounds.to_vec();
                taken.processor_ns = vec![0.5];
            }
            record.lines()
        };
        let (most, longer) = (1 << 20, 4 << 20);
        let (text, is_right) = of(most, &[[1.9, 3.0, 1.8], [2.0, 3.0, 2.0], [9.0; 3]]);
        let says = "ours by it 0.95 [0.90, 1.00] (demanded: 0.9 at least)\n    plain sockets";
        assert!(is_right && text.contains(says), "{text}");
        let (text, is_right) = of(most, &[[1.7, 3.0, 1.7], [2.0, 3.0, 2.0], [1.0; 3]]);
        assert!(!is_right && text.contains("MISSED"), "{text}");
        // Iperf3 has not as much memory as longer messages.
        assert!(of(longer, &[[1.9; 3], [9.0; 3], [2.0; 3]]).1);
        assert!(!of(longer, &[[1.7; 3], [1.0; 3], [2.0; 3]]).1);
        assert!(of(8, &[[4.7, 4.0, 4.4], [4.0; 3]]).1);
        assert!(!of(8, &[[5.0, 4.0, 5.0], [4.0; 3]]).1);
    }
}
