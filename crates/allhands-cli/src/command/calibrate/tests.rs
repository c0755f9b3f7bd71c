//! Tests of calibration: a simulated machine's parameters are found again.

use super::*;
use crate::command::predict::predicted_us;
use crate::command::simulate::machine::cluster::LevelFile;
use allhands_core::algorithm::microbenchmark::{round_trip, turns};
use allhands_core::algorithm::{self, Algorithm};
use allhands_core::call::{Call, Collective};

fn found(name: &str, ranks: u32) -> Findings {
    let machine = Machine::find(name).expect("it is built in");
    let nodes = Nodes::of_sizes(&vec![1; ranks as usize]);
    let mut bed = Simulated {
        machine: &machine,
        nodes,
        ranks,
    };
    measured(&mut bed).expect("every microbenchmark ends")
}

fn at(level: &LevelFile, times: &[f64], bytes: u64) -> f64 {
    let place = level.bytes.iter().position(|own| *own == bytes);
    times[place.expect("that length is measured")]
}

#[test]
fn loggp_is_found_again() {
    let findings = found("loggp", 8);
    let level = findings.between.expect("there is something between nodes");
    let close = |one: f64, other: f64| assert!((one / other - 1.0).abs() < 0.01, "{one} {other}");
    for bytes in [8, 1024, 1 << 20] {
        // o 0.3, L 1.3, g 0.2 and G 0.08 ns a byte, as its file says.
        let gap_us = 0.2 + 0.08e-3 * bytes as f64;
        let way_us: f64 = [&level.send_us, &level.receive_us, &level.latency_us]
            .iter()
            .map(|times| at(&level, times, bytes))
            .sum();
        close(way_us, 0.6 + 1.3 + gap_us);
        close(at(&level, &level.send_us, bytes), 0.3);
        if gap_us > 0.3 {
            close(at(&level, &level.gap_us, bytes), gap_us);
            // Its port is all that peers wait for, so one alone finds the same.
            close(at(&level, &level.gap_saturated_us, bytes), gap_us);
        }
        assert_eq!(at(&level, &level.shared_us, bytes), 0.0);
    }
    close(findings.copy_byte_ns, 0.1);
    close(findings.reduce_byte_ns, 0.2);
}

#[test]
fn processors_are_told_from_ports() {
    let between = |name| found(name, 8).between.expect("there is one");
    let close = |one: f64, other: f64| assert!((one / other - 1.0).abs() < 0.02, "{one} {other}");
    // Hockney's machine has α + nβ at its ports, and no overheads.
    let level = between("hockney");
    for bytes in [8, 1024, 1 << 20] {
        let gap_us = 5.0 + 10e-3 * bytes as f64;
        close(at(&level, &level.gap_us, bytes), gap_us);
        close(at(&level, &level.latency_us, bytes), gap_us);
        assert!(at(&level, &level.send_us, bytes) < 0.02 * gap_us);
        assert!(at(&level, &level.receive_us, bytes) < 0.02 * gap_us);
    }
    // Here a port has a short message for less than a processor, and messages of up to 16 KB are copied at both ends.
    let level = between("myrinet-2000");
    for bytes in [16, 4096, 16384] {
        let [own_us, gap_us] = [4.9 + 2e-3 * bytes as f64, 2.95 + 4.255e-3 * bytes as f64];
        assert!((at(&level, &level.send_us, bytes) / own_us - 1.0).abs() < 0.05);
        assert!((at(&level, &level.receive_us, bytes) / own_us - 1.0).abs() < 0.05);
        assert!((at(&level, &level.gap_us, bytes) / gap_us - 1.0).abs() < 0.07);
    }
}

/// What an allreduce takes, in microseconds.
fn allreduce_us(machine: &Machine, algorithm: &Algorithm, bytes: usize) -> f64 {
    let call = Call::new(Collective::Allreduce, 8);
    let shape = algorithm.shape(call, "").expect("there is nothing to set");
    let shape = shape.on(Nodes::of_sizes(&[1; 8]));
    predicted_us(machine, algorithm, &shape, bytes).expect("it ends")
}

#[test]
fn a_machine_that_is_written_takes_as_long_as_the_one_that_was_measured() {
    let loggp = Machine::find("loggp").expect("it is built in");
    let text = file::text(&found("loggp", 8), "a test", 8).expect("it is written");
    let again = Machine::parse(&text).expect("it is read");
    for name in [
        "recursive-doubling",
        "rabenseifner",
        "ring",
        "all-pairs",
        "direct",
    ] {
        let algorithm = algorithm::find(Collective::Allreduce, name).expect("it is there");
        for bytes in [64, 4096, 1 << 18] {
            let [one, other] = [&loggp, &again].map(|on| allreduce_us(on, algorithm, bytes));
            assert!(
                (one / other - 1.0).abs() < 0.03,
                "{name} {bytes}: {one} {other}"
            );
        }
    }
}

/// Ranks on hosts whose messages take a latency and a time for each byte, by a clock of their own.
struct Slow {
    budget: Budget,
    elapsed_s: f64,
    latency_s: f64,
    byte_s: f64,
    /// The lengths of messages that were asked for, and how often.
    asked: Vec<(usize, usize)>,
}

impl Slow {
    fn new(seconds: f64, latency_s: f64, byte_s: f64) -> Slow {
        Slow {
            budget: Budget::new(Instant::now(), seconds),
            elapsed_s: 0.0,
            latency_s,
            byte_s,
            asked: Vec::new(),
        }
    }

    fn once_s(&self, question: &bed::Question) -> f64 {
        // What is around a call goes over the network, too; trains overlap, and what many send at once meets.
        let around_s = 4.0 * self.latency_s;
        let bytes_s = self.byte_s * (question.bytes as u32 * question.many) as f64;
        match question.peer {
            Some(_) if question.name == round_trip::ALGORITHM.name => {
                around_s + 2.0 * f64::from(question.many) * self.latency_s + 2.0 * bytes_s
            }
            Some(_) if question.name == turns::ALGORITHM.name => {
                around_s + 2.0 * self.latency_s + 4.0 * bytes_s
            }
            Some(_) => around_s + self.latency_s + 1.5 * bytes_s,
            None => around_s,
        }
    }
}

impl Bed for Slow {
    fn ranks(&self) -> (Nodes, u32) {
        (Nodes::of_sizes(&[1; 4]), 4)
    }

    fn shares_memory(&self) -> bool {
        true
    }

    fn time(&mut self, question: &bed::Question) -> anyhow::Result<sample::Sample> {
        let share_s = self.budget.next_at(question, self.elapsed_s).as_secs_f64();
        let once_s = self.once_s(question);
        let times = (share_s / once_s).ceil().clamp(5.0, 2002.0);
        self.elapsed_s += times * once_s;
        let took = Duration::from_secs_f64(times * once_s);
        self.budget.learn(question, took, times as usize);
        if question.peer.is_some() {
            self.asked.push((question.bytes, times as usize));
        }
        Ok(sample::Sample {
            us: once_s * 1e6,
            own_us: once_s * 1e6,
            ..sample::Sample::default()
        })
    }

    fn expect(&mut self, questions: Vec<bed::Question>) -> anyhow::Result<()> {
        for probe in Budget::probes(&questions) {
            if self.budget.is_cheap(&probe) {
                let once_s = self.once_s(&probe);
                self.elapsed_s += 2.0 * once_s;
                self.budget.probed(&probe, once_s);
            }
        }
        self.budget.expect(questions, 1);
        Ok(())
    }

    fn has_time_for(&mut self, bytes: u64) -> anyhow::Result<bool> {
        Ok(self.budget.has_time_at(bytes, self.elapsed_s))
    }

    fn has_time_for_more(&mut self, questions: &[bed::Question]) -> anyhow::Result<bool> {
        let elapsed_s = self.elapsed_s;
        Ok(self.budget.has_time_for_more_at(questions, elapsed_s))
    }

    fn would_take_s(&self) -> Option<f64> {
        Some(self.budget.would_take_at(self.elapsed_s))
    }
}

#[test]
fn a_slow_network_is_measured_in_the_time_that_there_is() {
    // 10 Gbit/s and 20 µs, 1 Gbit/s and 50 µs, 100 Mbit/s and 0.5 ms.
    for (latency_s, byte_s) in [(20e-6, 0.8e-9), (50e-6, 8e-9), (500e-6, 80e-9)] {
        for seconds in [10.0, 30.0, 60.0] {
            let mut slow = Slow::new(seconds, latency_s, byte_s);
            let findings = measured(&mut slow).expect("there is time for short ones");
            let took = slow.elapsed_s / seconds;
            assert!(took < 1.1, "{byte_s} {seconds}: {took}");
            assert!(slow.asked.iter().all(|(_, times)| *times >= 5));
            let longest = slow.asked.iter().map(|(bytes, _)| *bytes).max();
            match findings.cut {
                None => assert_eq!(longest, Some(1 << 20)),
                Some((bytes, needed_s)) => {
                    // What warms connections up may be longer.
                    assert!(longest >= Some(bytes as usize));
                    assert!(needed_s > seconds, "{needed_s}");
                    // Who asks for that has all lengths.
                    let mut again = Slow::new(needed_s, latency_s, byte_s);
                    let found = measured(&mut again).expect("there is time");
                    assert_eq!(found.cut, None, "{byte_s}: {needed_s} s");
                }
            }
        }
    }
}

/// A simulated machine whose calls take up to a hundredth more or less.
struct Noisy<'a>(Simulated<'a>);

impl Bed for Noisy<'_> {
    fn ranks(&self) -> (Nodes, u32) {
        self.0.ranks()
    }

    fn shares_memory(&self) -> bool {
        self.0.shares_memory()
    }

    fn time(&mut self, question: &bed::Question) -> anyhow::Result<sample::Sample> {
        let mut sample = self.0.time(question)?;
        let part = |draw: usize| 1.0 + 0.01 * ((draw * 37 % 41) as f64 / 20.0 - 1.0);
        let drawn = |draw| [sample.us, sample.own_us].map(|us| us * part(draw));
        sample.drawn_us = (0..sample::DRAWS).map(drawn).collect();
        Ok(sample)
    }
}

#[test]
fn what_is_uncertain_has_intervals_and_a_protocol_that_changes_is_named() {
    let text = "name = 'jump'\nabout = 'a test'\n[network]\nkind = 'cluster'\n[network.between]\nbytes = [8, 4096, 4104, 8192]\n\
        send_us = [1, 1, 1, 1]\nreceive_us = [1, 1, 1, 1]\nlatency_us = [10, 12, 24, 26]\ngap_us = [0, 0, 0, 0]\n\
        shared_us = [0, 0, 0, 0]\n[processor]\ncopy_byte_ns = 0.1\nreduce_byte_ns = 0.1\n";
    let machine = Machine::parse(text).expect("it is right");
    let mut bed = Noisy(Simulated {
        machine: &machine,
        nodes: Nodes::of_sizes(&[1; 4]),
        ranks: 4,
    });
    let findings = measured(&mut bed).expect("every microbenchmark ends");
    let level = findings.between.clone().expect("there is one");
    let intervals = level.intervals.clone().expect("times are uncertain");
    let all = level.latency_us.iter().zip(&intervals.latency_low_us);
    for ((us, low_us), high_us) in all.zip(&intervals.latency_high_us) {
        assert!(low_us < us && us < high_us, "{low_us} {us} {high_us}");
        assert!(high_us - low_us < 0.06 * us, "{low_us} {us} {high_us}");
    }
    let jumps = intervals::jumps(&level);
    assert_eq!(jumps.len(), 1, "{jumps:?}");
    assert!(jumps[0].starts_with("L between 4K and"), "{jumps:?}");
    let text = file::text(&findings, "a test", 4).expect("it is written");
    assert!(text.contains(&jumps[0]) && text.contains("[network.between.intervals]"));
    Machine::parse(&text).expect("it is read");
    // What ranks have measured of protocols may stand there, too, and is found there.
    let protocols = Protocols {
        starts: 3,
        ..Protocols::default()
    };
    let both = format!("{text}\n{}", protocols.text());
    Machine::parse(&both).expect("it is read");
    assert_eq!(Protocols::parse(&both), Some(protocols));
    let ends = text.replace("send_low_us = [", "send_low_us = [9.0, ");
    let said = format!("{:#}", Machine::parse(&ends).expect_err("one too many"));
    assert!(said.contains("send_low_us"), "{said}");
}

/// A simulated machine that is disturbed when most is asked for the first time.
struct Disturbed<'a> {
    machine: Simulated<'a>,
    asked: u32,
    is_quiet: bool,
    asks_again: bool,
}

impl Bed for Disturbed<'_> {
    fn ranks(&self) -> (Nodes, u32) {
        self.machine.ranks()
    }

    fn shares_memory(&self) -> bool {
        self.machine.shares_memory()
    }

    fn time(&mut self, question: &bed::Question) -> anyhow::Result<sample::Sample> {
        let mut sample = self.machine.time(question)?;
        self.asked += 1;
        if !self.is_quiet && question.bytes <= MOST_BYTES_AGAIN && !self.asked.is_multiple_of(4) {
            let more_us = f64::from(self.asked % 7) * 10.0;
            sample.us += more_us;
            sample.own_us += more_us;
        }
        Ok(sample)
    }

    fn asks_again(&mut self, questions: Vec<bed::Question>) -> bool {
        assert!(questions.iter().all(|one| one.bytes <= MOST_BYTES_AGAIN));
        self.is_quiet = true;
        self.asks_again
    }
}

#[test]
fn what_was_disturbed_is_measured_again() {
    let machine = Machine::find("loggp").expect("it is a preset");
    let of = |is_quiet, asks_again| {
        let machine = Simulated {
            machine: &machine,
            nodes: Nodes::of_sizes(&[1; 6]),
            ranks: 6,
        };
        let mut bed = Disturbed {
            machine,
            asked: 0,
            is_quiet,
            asks_again,
        };
        let findings = measured(&mut bed).expect("every microbenchmark ends");
        findings.between.expect("ranks have nodes of their own")
    };
    let quiet = of(true, false);
    let off = |found: &LevelFile| -> f64 {
        let each = found.bytes.iter().zip(&found.latency_us);
        // Where the first time was disturbed there are more lengths than in the quiet.
        let both = each.filter_map(|(bytes, us)| {
            let same = quiet.bytes.iter().position(|other| other == bytes)?;
            Some((us / quiet.latency_us[same] - 1.0).abs())
        });
        both.fold(0.0, f64::max)
    };
    assert!(off(&of(false, true)) < 1e-4);
    assert!(off(&of(false, false)) > 0.5, "once is not enough");
}
