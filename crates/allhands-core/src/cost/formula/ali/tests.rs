//! C's models on machines of which one parameter is not zero: each term is counted.

use super::*;
use crate::algorithm;
use crate::call::Call;
use crate::cost::plogp::Measured;
use alloc::vec;

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

/// A model, p, x, and the terms that it should have.
type Expected = (&'static Model, u32, u32, [f64; 12]);

fn hold(cases: &[Expected]) {
    for (model, ranks, x, expected) in cases {
        let found = terms(model, *ranks, *x);
        let wrong = (0..12).any(|i| (found[i] - expected[i]).abs() > 1e-9 * expected[i].max(1.0));
        let (table, name) = (model.table, model.name);
        assert!(!wrong, "{table} {name}: {found:?}, not {expected:?}");
    }
}

#[test]
fn the_terms_on_one_cell_are_those_of_the_tables() {
    let m = VECTOR;
    let seven_eighths = m * 7.0 / 8.0;
    let case = |table, name, corrected, [latency, bytes, notices, gaps, work]: [f64; 5]| {
        let mut terms = [0.0; 12];
        terms[..4].copy_from_slice(&[latency, bytes, notices, gaps]);
        terms[10] = work;
        (find(table, name, Cells::One, corrected), 8, 0, terms)
    };
    hold(&[
        case(1, "recursive doubling", false, [0.0, 0.0, 3.0, 0.0, 0.0]),
        case(1, "gather-broadcast", false, [0.0, 0.0, 6.0, 0.0, 0.0]),
        case(1, "one-to-all", false, [0.0, 0.0, 2.0, 6.0, 0.0]),
        case(2, "one-to-all", false, [1.0, m, 1.0, 6.0, 0.0]),
        case(2, "binomial simple", false, [3.0, 3.0 * m, 3.0, 3.0, 0.0]),
        case(
            2,
            "segmented binomial",
            false,
            [4.0, 2.0 * m, 4.0, 0.0, 0.0],
        ),
        case(
            3,
            "recursive doubling",
            false,
            [3.0, 7.0 * m, 3.0, 0.0, 0.0],
        ),
        case(4, "binomial", false, [3.0, 3.0 * m, 3.0, 0.0, 3.0 * m]),
        case(
            4,
            "reduce-scatter, gather",
            false,
            [6.0, 2.0 * seven_eighths, 6.0, 0.0, seven_eighths],
        ),
        case(
            5,
            "recursive doubling",
            false,
            [3.0, 3.0 * m, 6.0, 0.0, 3.0 * m],
        ),
        case(
            5,
            "recursive doubling",
            true,
            [3.0, 3.0 * m, 3.0, 0.0, 3.0 * m],
        ),
    ]);
}

/// A line for two Cells, asked for 16 SPEs and the vector.
fn on_two(
    (table, name, x): (u32, &str, u32),
    inner: [f64; 3],
    outer: [f64; 3],
    work: f64,
    congested: f64,
) -> Expected {
    let mut terms = [0.0; 12];
    terms[4..7].copy_from_slice(&inner);
    terms[7..10].copy_from_slice(&outer);
    terms[10] = work;
    terms[11] = congested;
    (find(table, name, Cells::Two, false), 16, x, terms)
}

#[test]
fn the_terms_on_two_cells_are_those_of_the_tables() {
    let m = VECTOR;
    // The sum of 2^k parts of 16 for k < 3, and half of the vector.
    let (seven, half) = (m * 7.0 / 16.0, m / 2.0);
    let (whole, halves) = ([1.0, m, 1.0], [2.0, m, 2.0]);
    let twice = [6.0, 2.0 * seven, 6.0];
    hold(&[
        on_two(
            (1, "recursive doubling", 0),
            [0.0, 0.0, 3.0],
            [0.0, 0.0, 1.0],
            0.0,
            0.0,
        ),
        on_two((2, "binomial opt", 0), [3.0, 3.0 * m, 3.0], whole, 0.0, 0.0),
        on_two(
            (2, "segmented binomial", 0),
            [3.0, 1.5 * m, 3.0],
            halves,
            0.0,
            half,
        ),
        on_two(
            (2, "hybrid segmented binomial", 0),
            [4.0, 2.0 * m, 4.0],
            whole,
            0.0,
            0.0,
        ),
        // m, 2m and 4m and twice the whole inside, and 8m between.
        on_two(
            (3, "hybrid", 3),
            [5.0, 39.0 * m, 5.0],
            [1.0, 8.0 * m, 1.0],
            0.0,
            8.0 * m,
        ),
        on_two(
            (4, "reduce-scatter, gather", 0),
            twice,
            halves,
            seven + half,
            half,
        ),
        on_two(
            (5, "reduce-scatter, allgather", 0),
            twice,
            halves,
            seven + half,
            2.0 * half,
        ),
        on_two((5, "hybridA", 3), [5.0, 5.0 * m, 5.0], whole, 4.0 * m, m),
    ]);
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
