//! The formulas against the walk of the algorithms that they are about.

use super::*;
use crate::algorithm::{self, Algorithm};
use crate::call::Call;
use crate::cost::{Hockney, Sizes, walk};
use crate::schedule::Shape;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use std::println;

/// Whether every algorithm of the table must be in the registry; if not, what is missing is skipped aloud.
const REQUIRE_ALL: bool = false;

const BYTES: f64 = 65_536.0;

/// The terms of a formula one by one, then all together.
fn machines(one_way: bool) -> [Hockney; 4] {
    let machines = [
        Hockney::new(1.0, 0.0, 0.0),
        Hockney::new(0.0, 1.0, 0.0),
        Hockney::new(0.0, 0.0, 1.0),
        Hockney::new(11.0, 0.003, 0.0007),
    ];
    machines.map(|m| {
        if one_way {
            m.with_one_way(0.75, 0.625)
        } else {
            m
        }
    })
}

fn shape(formula: &Formula, algorithm: &Algorithm, call: Call, ports: u32) -> Shape {
    let mut text = String::from(formula.parameters);
    if formula.ports.len() > 1 {
        let comma = if text.is_empty() { "" } else { "," };
        text = format!("{text}{comma}ports={ports}");
    }
    algorithm
        .shape(call, &text)
        .unwrap_or_else(|e| panic!("{formula:?} {text}: {e}"))
}

/// Walks the formula's algorithm on each machine: the times.
fn walked(shape: &Shape, algorithm: &Algorithm, one_way: bool, ports: u32) -> [f64; 4] {
    let world = algorithm.world(shape);
    machines(one_way).map(|machine| {
        let sizes = Sizes::Ideal { bytes: BYTES };
        let walk = walk(&shape.call, &world, sizes, &machine, ports);
        walk.unwrap_or_else(|e| panic!("{algorithm:?} {:?}: {e}", shape.call))
            .last()
            .time_us
    })
}

fn holds(relation: Relation, walked: f64, formula: f64) -> bool {
    let slack = 1e-9 * formula.max(walked);
    let at_most = |hundredths: u32| walked <= formula * f64::from(hundredths) / 100.0 + slack;
    let at_least = |hundredths: u32| walked >= formula * f64::from(hundredths) / 100.0 - slack;
    match relation {
        Relation::Equal => at_most(100) && at_least(100),
        Relation::AtMost => at_most(100),
        Relation::AtLeast => at_least(100),
        Relation::UpTo(most) => at_least(100) && at_most(most),
        Relation::Between(least, most) => at_least(least) && at_most(most),
    }
}

/// What does not hold for one number of ranks and ports.
fn check(formula: &Formula, algorithm: &Algorithm, ranks: u32, ports: u32) -> Vec<String> {
    let mut wrong = Vec::new();
    let roots = if algorithm.collective.rooted() {
        [0, 1 % ranks, ranks - 1].to_vec()
    } else {
        [0].to_vec()
    };
    for root in roots {
        let call = Call {
            root,
            ..Call::new(algorithm.collective, ranks)
        };
        let shape = shape(formula, algorithm, call, ports);
        if algorithm.admits(&shape).is_err() {
            continue;
        }
        let times = walked(&shape, algorithm, formula.one_way, ports);
        for ((machine, walked), term) in machines(formula.one_way).iter().zip(times).zip(0..) {
            let case = Case {
                ranks,
                bytes: BYTES,
                ports,
                machine,
            };
            if !formula.domain.hold(&case) {
                continue;
            }
            let relation = match formula.bound {
                Some(_) if formula.exact.hold(&case) => Relation::Equal,
                None => Relation::Equal,
                Some(bound) => match term {
                    0 => bound.messages,
                    1 => bound.bytes,
                    2 => bound.work,
                    _ => continue,
                },
            };
            let expected = (formula.time_us)(&case);
            if !holds(relation, walked, expected) {
                wrong.push(format!(
                    "{formula:?} {:?} p={ranks} k={ports} root={root} term {term}: walked {walked}, formula {expected}, {relation:?}",
                    formula.form
                ));
            }
        }
    }
    wrong
}

#[test]
fn walks_meet_the_formulas() {
    let mut wrong = Vec::new();
    for formula in FORMULAS {
        let Some(algorithm) = algorithm::find(formula.collective, formula.algorithm) else {
            if REQUIRE_ALL {
                panic!("{formula:?}: no such algorithm");
            }
            println!("skipped, not in the registry: {formula:?}");
            continue;
        };
        for &ports in formula.ports {
            for ranks in 2..=128 {
                wrong.extend(check(formula, algorithm, ranks, ports));
            }
        }
    }
    for line in &wrong {
        println!("{line}");
    }
    assert!(
        wrong.is_empty(),
        "{} do not hold; first {}",
        wrong.len(),
        wrong[0]
    );
}

#[test]
fn every_bound_says_why_and_where_it_is_needed() {
    for formula in FORMULAS {
        assert_eq!(
            formula.bound.is_none(),
            formula.exact == formula.domain,
            "{formula:?}"
        );
        assert!(formula.bound.is_none_or(|b| b.why.len() > 20));
    }
}

#[test]
fn the_phases_of_halving_and_doubling_add_up_to_the_whole() {
    use thakur as t;
    for machine in machines(true) {
        for ranks in 2..=300 {
            let case = Case {
                ranks,
                bytes: BYTES,
                ports: 1,
                machine: &machine,
            };
            let close =
                |a: f64, b: f64| assert!((a - b).abs() <= 1e-9 * a.max(b), "{ranks}: {a} {b}");
            let core = t::halving(&case);
            if ranks.is_power_of_two() {
                close(core + t::doubling(&case), t::all_hd_power_of_two(&case));
                close(core + t::gather(&case), t::red_hd_power_of_two(&case));
            } else {
                let folded = core + t::fold_in_halves(&case);
                let all = folded + t::doubling(&case) + t::unfold(&case);
                close(all, t::all_hd_not_power_of_two(&case));
                close(folded + t::gather(&case), t::red_hd_not_power_of_two(&case));
            }
        }
    }
}

#[test]
fn the_logarithm_is_the_logarithm() {
    for p in 1..5000u32 {
        assert!((lg(p) - f64::from(p).log2()).abs() < 1e-13, "{p}");
    }
    assert_eq!(lg(1 << 20), 20.0);
}
