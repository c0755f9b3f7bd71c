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
const REQUIRE_ALL: bool = true;

const BYTES: f64 = 65_536.0;

/// The terms of a formula one by one, then all together.
fn machines(one_way: bool) -> [Hockney; 4] {
    let machines = [
        Hockney::new(1.0, 0.0, 0.0),
        Hockney::new(0.0, 1.0, 0.0),
        Hockney::new(0.0, 0.0, 1.0),
        Hockney::new(11.0, 0.003_141_59, 0.000_718_28),
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

/// What of these formulas, which are about the same schedules, does not hold for a number of ranks and ports.
fn check(formulas: &[&Formula], algorithm: &Algorithm, ranks: u32, ports: u32) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut roots = [0, 1 % ranks, ranks - 1].to_vec();
    roots.truncate(if algorithm.collective.rooted() { 3 } else { 1 });
    roots.dedup();
    for root in roots {
        let call = Call {
            root,
            ..Call::new(algorithm.collective, ranks)
        };
        let shape = shape(formulas[0], algorithm, call, ports);
        if algorithm.admits(&shape).is_err() {
            continue;
        }
        let world = algorithm.world(&shape);
        for (term, machine) in machines(formulas[0].one_way).iter().enumerate() {
            let case = Case {
                ranks,
                bytes: BYTES,
                ports,
                machine,
            };
            let mut walked = None;
            for formula in formulas {
                let Some(relation) = relation(formula, &case, term) else {
                    continue;
                };
                let sizes = Sizes::Ideal { bytes: BYTES };
                let walked = *walked.get_or_insert_with(|| {
                    let walk = walk(&call, &world, sizes, machine, ports);
                    let walk = walk.unwrap_or_else(|e| panic!("{algorithm:?} {call:?}: {e}"));
                    walk.last().time_us
                });
                let expected = (formula.time_us)(&case);
                if !holds(relation, walked, expected) {
                    wrong.push(format!(
                        "{formula:?} {:?} p={ranks} k={ports} root={root} term {term}: walked {walked}, formula {expected}, {relation:?}",
                        formula.form
                    ));
                }
            }
        }
    }
    wrong
}

/// What a formula says of a term (3: all together) of a case: of each alone where it is a bound, of all together where
/// it is exact (α, β and γ have no common measure, so equal sums have equal terms).
fn relation(formula: &Formula, case: &Case<'_>, term: usize) -> Option<Relation> {
    if !formula.domain.hold(case) {
        return None;
    }
    match formula.bound {
        Some(bound) if !formula.exact.hold(case) => match term {
            0 => Some(bound.messages),
            1 => Some(bound.bytes),
            2 => Some(bound.work),
            _ => None,
        },
        Some(_) | None => (term == 3).then_some(Relation::Equal),
    }
}

/// The formulas of the table in groups that are about the same schedules and prices.
fn groups() -> Vec<Vec<&'static Formula>> {
    let key = |f: &Formula| (f.collective, f.algorithm, f.parameters, f.ports, f.one_way);
    let mut groups: Vec<Vec<&'static Formula>> = Vec::new();
    for formula in FORMULAS {
        match groups.iter_mut().find(|g| key(g[0]) == key(formula)) {
            Some(group) => group.push(formula),
            None => groups.push([formula].to_vec()),
        }
    }
    groups
}

/// Holds the walk against every formula for collectives that `part` picks.
fn walks_meet_the_formulas(part: fn(Collective) -> bool) {
    let mut wrong = Vec::new();
    for group in groups().iter().filter(|g| part(g[0].collective)) {
        let Some(algorithm) = algorithm::find(group[0].collective, group[0].algorithm) else {
            if REQUIRE_ALL {
                panic!("{:?}: no such algorithm", group[0]);
            }
            println!("skipped, not in the registry: {group:?}");
            continue;
        };
        for &ports in group[0].ports {
            for ranks in 2..=128 {
                wrong.extend(check(group, algorithm, ranks, ports));
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
fn walks_of_alltoalls_meet_the_formulas() {
    walks_meet_the_formulas(|c| c == Collective::Alltoall);
}

#[test]
fn walks_of_allgathers_meet_the_formulas() {
    walks_meet_the_formulas(|c| c == Collective::Allgather);
}

#[test]
fn walks_of_reductions_meet_the_formulas() {
    walks_meet_the_formulas(Collective::reduces);
}

#[test]
fn walks_of_other_collectives_meet_the_formulas() {
    walks_meet_the_formulas(|c| {
        !c.reduces() && !matches!(c, Collective::Alltoall | Collective::Allgather)
    });
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
