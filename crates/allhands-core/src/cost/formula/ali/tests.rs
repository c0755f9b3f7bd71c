//! C's models on machines of which one parameter is not zero: each term is counted.

use super::*;
use crate::algorithm;
use crate::call::Call;
use crate::cost::plogp::Measured;
use alloc::vec;
use alloc::vec::Vec;

const VECTOR: f64 = 4096.0;

fn flat(us: f64) -> Measured {
    Measured::new(vec![(1, us)])
}

/// A way on which a message takes `latency`, a byte `byte`, a notification `notice` and a gap `gap`.
fn way(latency: f64, byte: f64, notice: f64, gap: f64) -> Way {
    Way {
        latency: Measured::new(vec![(0, latency), (1024, latency + 1024.0 * byte)]),
        notice_us: notice,
        gap: flat(gap),
        acknowledgement_gap_us: gap,
    }
}

fn machine(one: Way, inside: Way, between: Way) -> ExtendedPlogp {
    ExtendedPlogp {
        single: one,
        inside,
        between,
        ..ExtendedPlogp::default()
    }
}

/// The terms of a model: L(m)s on one Cell, inside and between, bytes in them, L(1)s, gaps, reduced bytes, congested bytes.
fn terms(model: &Model, ranks: u32, x: u32) -> [f64; 12] {
    let zero = || way(0.0, 0.0, 0.0, 0.0);
    let on = |what: usize| {
        let one = |at: usize| f64::from(u8::from(what == at));
        match what {
            0..=3 => machine(way(one(0), one(1), one(2), one(3)), zero(), zero()),
            4..=6 => machine(zero(), way(one(4), one(5), one(6), 0.0), zero()),
            7..=9 => machine(zero(), zero(), way(one(7), one(8), one(9), 0.0)),
            10 => ExtendedPlogp {
                gamma_us_per_byte: 1.0,
                ..ExtendedPlogp::default()
            },
            _ => ExtendedPlogp {
                contention: vec![(16, Measured::new(vec![(0, 0.0), (1024, 1024.0)]))],
                ..ExtendedPlogp::default()
            },
        }
    };
    core::array::from_fn(|what| {
        let machine = &on(what);
        (model.time_us)(&Case {
            ranks,
            bytes: VECTOR,
            x,
            machine,
        })
    })
}

fn find(table: u32, name: &str, cells: Cells, corrected: bool) -> &'static Model {
    let fits = |m: &&Model| {
        (m.table, m.name, m.cells) == (table, name, cells) && (m.form != Form::Printed) == corrected
    };
    MODELS.iter().find(fits).expect("the table has it")
}

#[test]
fn every_model_is_about_an_algorithm_that_there_is() {
    for model in MODELS {
        let found = algorithm::find(model.collective, model.algorithm);
        let found = found.unwrap_or_else(|| panic!("{} {}", model.collective, model.algorithm));
        let text = match model.hybrid {
            true => "x=2",
            false => model.parameters,
        };
        let ranks = if model.cells == Cells::One { 8 } else { 16 };
        let shape = found.shape(Call::new(model.collective, ranks), text);
        assert!(
            shape.is_ok_and(|shape| found.admits(&shape).is_ok()),
            "{model:?}"
        );
    }
}

#[test]
fn the_terms_are_those_of_the_tables() {
    let m = VECTOR;
    let one = |latency, bytes, notices, gaps, work| {
        [
            latency, bytes, notices, gaps, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, work, 0.0,
        ]
    };
    let two = |inner: [f64; 3], outer: [f64; 3], work, congested| {
        let ([a, b, c], [d, e, f]) = (inner, outer);
        [0.0, 0.0, 0.0, 0.0, a, b, c, d, e, f, work, congested]
    };
    // The sums of 2^k m for k < 3 and, of 16 parts, for k < 3 and k = 3.
    let (seven, seven_of_16, half) = (m * 7.0 / 8.0, m * 7.0 / 16.0, m / 2.0);
    let cases = [
        (
            find(1, "recursive doubling", Cells::One, false),
            8,
            0,
            one(0.0, 0.0, 3.0, 0.0, 0.0),
        ),
        (
            find(1, "one-to-all", Cells::One, false),
            8,
            0,
            one(0.0, 0.0, 2.0, 6.0, 0.0),
        ),
        (
            find(2, "one-to-all", Cells::One, false),
            8,
            0,
            one(1.0, m, 1.0, 6.0, 0.0),
        ),
        (
            find(2, "binomial simple", Cells::One, false),
            8,
            0,
            one(3.0, 3.0 * m, 3.0, 3.0, 0.0),
        ),
        (
            find(2, "segmented binomial", Cells::One, false),
            8,
            0,
            one(4.0, 2.0 * m, 4.0, 0.0, 0.0),
        ),
        (
            find(2, "segmented binomial", Cells::Two, false),
            16,
            0,
            two([3.0, 1.5 * m, 3.0], [2.0, m, 2.0], 0.0, half),
        ),
        (
            find(2, "hybrid segmented binomial", Cells::Two, false),
            16,
            0,
            two([4.0, 2.0 * m, 4.0], [1.0, m, 1.0], 0.0, 0.0),
        ),
        (
            find(3, "hybrid", Cells::Two, false),
            16,
            3,
            // m, 2m and 4m, twice the whole, and 8m between.
            two([5.0, 39.0 * m, 5.0], [1.0, 8.0 * m, 1.0], 0.0, 8.0 * m),
        ),
        (
            find(4, "reduce-scatter, gather", Cells::One, false),
            8,
            0,
            one(6.0, 2.0 * seven, 6.0, 0.0, seven),
        ),
        (
            find(5, "reduce-scatter, allgather", Cells::Two, false),
            16,
            0,
            two(
                [6.0, 2.0 * seven_of_16, 6.0],
                [2.0, m, 2.0],
                seven_of_16 + half,
                2.0 * half,
            ),
        ),
        (
            find(5, "recursive doubling", Cells::One, false),
            8,
            0,
            one(3.0, 3.0 * m, 6.0, 0.0, 3.0 * m),
        ),
        (
            find(5, "recursive doubling", Cells::One, true),
            8,
            0,
            one(3.0, 3.0 * m, 3.0, 0.0, 3.0 * m),
        ),
        (
            find(5, "hybridA", Cells::Two, false),
            16,
            3,
            two([5.0, 5.0 * m, 5.0], [1.0, m, 1.0], 4.0 * m, m),
        ),
    ];
    for (model, ranks, x, expected) in cases {
        let found = terms(model, ranks, x);
        let wrong: Vec<usize> = (0..12)
            .filter(|i| (found[*i] - expected[*i]).abs() > 1e-9 * expected[*i].max(1.0))
            .collect();
        assert!(
            wrong.is_empty(),
            "{} {}: {found:?}, not {expected:?}",
            model.table,
            model.name
        );
    }
}

/// Hybrid B with no gather rounds is Rabenseifner's allreduce, and the allgather's with none is recursive doubling.
#[test]
fn hybrids_without_rounds_of_their_own_are_what_they_are_made_of() {
    for (hybrid, plain) in [
        (
            find(5, "hybridB", Cells::Two, false),
            find(5, "reduce-scatter, allgather", Cells::Two, false),
        ),
        (
            find(3, "hybrid", Cells::Two, false),
            find(3, "recursive doubling", Cells::Two, false),
        ),
        (
            find(5, "hybridA", Cells::Two, false),
            find(5, "recursive doubling", Cells::Two, true),
        ),
    ] {
        assert_eq!(terms(hybrid, 16, 1), terms(plain, 16, 1), "{}", hybrid.name);
    }
}
