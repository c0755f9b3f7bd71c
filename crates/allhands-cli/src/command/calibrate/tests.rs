//! Tests of calibration: a simulated machine's parameters are found again.

use super::*;
use crate::command::predict::predicted_us;
use crate::command::simulate::machine::cluster::LevelFile;
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
