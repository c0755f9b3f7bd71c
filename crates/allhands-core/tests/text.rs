//! The text form: what is printed is read back as it was, and mistakes are named at their places.

use allhands_core::algorithm::{self, Algorithm};
use allhands_core::call::{Call, Collective};
use allhands_core::machine::Fabric;
use allhands_core::parameters::Parameters;
use allhands_core::schedule::text::{Directive, Document, ParseError, parse, print};
use allhands_core::schedule::{Blocks, Builder, Schedule, Shape, Side, Space, Units};
use allhands_core::symbolic::{World, run};
use allhands_core::verify::lowered;

/// The world of an algorithm as a document.
fn document(algorithm: &Algorithm, shape: &Shape) -> Document {
    Document {
        directives: Vec::new(),
        call: shape.call,
        parts: (algorithm.parts)(shape),
        schedules: algorithm.world(shape),
    }
}

#[test]
fn every_algorithm_round_trips() {
    let mut worlds = 0;
    for algorithm in algorithm::all() {
        for setting in algorithm.settings {
            for ranks in 1..=9 {
                let roots = if algorithm.collective.rooted() {
                    ranks
                } else {
                    1
                };
                for root in 0..roots {
                    for in_place in [false, true] {
                        let call = Call {
                            root,
                            in_place,
                            ..Call::new(algorithm.collective, ranks)
                        };
                        let shape = algorithm
                            .shape(call, setting)
                            .expect("a registered setting")
                            .with(algorithm.fabrics())
                            .on_torus(algorithm.tori(ranks).pop().flatten());
                        if algorithm.admits(&shape).is_err() {
                            continue;
                        }
                        let before = document(algorithm, &shape);
                        let text = print(&before);
                        let after = parse(&text).unwrap_or_else(|e| {
                            panic!("{algorithm:?}:{setting} p={ranks} root={root}: {e}\n{text}")
                        });
                        assert!(before == after, "{algorithm:?}:{setting} p={ranks}\n{text}");
                        worlds += 1;
                    }
                }
            }
        }
    }
    assert!(worlds > 0);
}

/// Scratch of an alltoall that forwards blocks.
fn in_transit(b: &mut Builder, rank: u32) {
    let transit = Units::Transit {
        rank,
        ranks: 8,
        weight: 2,
        radix: 2,
        digit: 1,
    };
    b.scratch(transit, 4);
    let by_destination = Units::PairsByDestination {
        ranks: 2,
        first: 1,
        width: 2,
        onward: 0,
        step: 1,
    };
    b.scratch(by_destination, 4);
}

/// One rank's part with every operation, region and form of blocks; not one that does anything.
fn all_forms(shape: &Shape, rank: u32) -> Schedule {
    let mut b = Builder::new(shape.clone(), rank, 12, false);
    let peer = 1 - rank;
    let (input, output, vector) = (b.input(), b.output(), b.vector());
    in_transit(&mut b, rank);
    let pairs = Units::Pairs {
        ranks: 2,
        first: 0,
        source_step: 1,
        onward: 0,
        step: 1,
        width: 2,
    };
    let window = b.window(pairs, 4);
    let (full, free) = (b.flag(0), b.flag(peer));
    b.port(3).send(peer, input.slice(0, 4));
    let (own, into) = ([input.at(1), input.at(5)], [vector.at(1), vector.at(5)]);
    b.recv_reduce(peer, Side::Left, own, into);
    b.step();
    b.send_token(peer);
    b.recv_token(peer);
    b.step();
    b.repeat(3, 2, |b| {
        b.recv(
            peer,
            Blocks::strided(Space::Scratch, 6, 1, 3, 2).advancing(-1),
        );
        b.copy(vector.at(0), output.at(0).advancing(1));
    });
    b.repeat(2, 1, |b| {
        b.send(peer, vector.at(0).advancing(1));
        b.recv(peer, vector.at(3));
        b.step();
        b.copy(vector.at(4), vector.at(5));
        b.copy(vector.at(6), vector.at(7));
    });
    let side = b.strand(|b| {
        b.repeat(0, 0, |b| b.send(peer, input));
        b.wait(free, 1);
        b.put(peer, vector.slice(0, 2), window.slice(1, 2));
        b.put_reduce(peer, Side::Right, vector.at(3), window.at(0));
        b.notify(peer, full);
        b.watch(peer, free, 3);
        b.step();
        b.get_reduce(peer, Side::Left, window.at(3), vector.at(1), vector.at(2));
        b.recv(peer, output.at(3));
    });
    b.await_strand(side, 1);
    b.get_from(peer, window.at(3), vector.at(11));
    b.reduce(vector.at(0), vector.at(1), output.at(2));
    b.strand(|_| ());
    b.step();
    b.send(peer, vector.at(8));
    b.send_deposited(peer, vector.at(8));
    b.send_token(peer);
    b.send_token_deposited(peer);
    b.meet(Fabric::Interrupt);
    b.combine(Fabric::Tree, vector.at(8), vector.at(9));
    b.combine_converted(Fabric::Tree, vector.at(8), vector.at(10));
    b.combine_others(Fabric::Tree, vector.at(11));
    b.combine_for_others(Fabric::Tree, vector.at(0));
    b.finish()
}

fn everything() -> Document {
    let call = Call {
        commutative: false,
        in_place: true,
        ..Call::new(Collective::Allreduce, 2)
    };
    let shape = Shape {
        nodes: Default::default(),
        fabrics: Default::default(),
        torus: None,
        call,
        parameters: Parameters::new(),
    };
    let words = vec![String::from("sum"), String::from("ports=2")];
    Document {
        directives: vec![Directive {
            name: String::from("algorithm"),
            words,
        }],
        call,
        parts: 12,
        schedules: vec![all_forms(&shape, 0), all_forms(&shape, 1)],
    }
}

#[test]
fn everything_round_trips() {
    let document = everything();
    let text = print(&document);
    let again = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert!(again == document, "{text}\nis read as\n{}", print(&again));
    for part in [
        "scratch[6 by 3 x2 advance -1]",
        "recv-reduce from 1 port 3 left own in[1], in[5] into scratch[1], scratch[5]",
        "channel 1",
        "out[0 advance 1]",
        "strand 2 { }",
        "send to 1 port 0 deposited scratch[8]",
        "send to 1 port 0 deposited token",
        "combine interrupt token",
        "combine tree scratch[8] into scratch[9]",
        "combine tree converted scratch[8] into scratch[10]",
        "combine tree others into scratch[11]",
        "call allreduce ranks 2 ordered in-place",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}

fn error(text: &str) -> ParseError {
    parse(text).expect_err(text)
}

/// A text with one rank.
fn one(body: &str) -> String {
    format!("call allreduce ranks 1 commutative\nparts 2\nrank 0 {{ {body} }}\n")
}

fn check_errors(cases: &[(String, &str)]) {
    for (text, expected) in cases {
        assert_eq!(error(text).to_string(), *expected, "{text}");
    }
}

#[test]
fn misspelt_words_are_named_at_their_places() {
    check_errors(&[
        (
            String::new(),
            "line 1, column 1: the text ends here; right would be 'call' or one of test, algorithm, claims, expect",
        ),
        (
            String::from("test verify ; é\n  call allreduse ranks 2"),
            "line 2, column 8: unexpected 'allreduse'; right would be a collective: barrier, broadcast, scatter, gather, allgather, alltoall, reduce-scatter, reduce, allreduce, scan, exscan",
        ),
        (
            String::from("call broadcast ranks 3 root 3"),
            "line 1, column 29: unexpected '3'; right would be the root, a number from 0 to 2",
        ),
        (
            String::from("call scan ranks 0"),
            "line 1, column 11: no ranks; right would be at least one",
        ),
        (
            String::from("call reduce ranks 2 root 1\nparts 1"),
            "line 2, column 1: unexpected 'parts'; right would be 'commutative' or 'ordered': whether the operator's operands may change places",
        ),
        (
            one("strand 0 { step { sned to 0 } }"),
            "line 3, column 28: unexpected 'sned'; right would be an operation (send, recv, recv-reduce, combine, copy, reduce, put, put-reduce, get, get-reduce, notify, wait, await) or '}'",
        ),
    ]);
}

#[test]
fn what_is_not_there_is_named_at_its_place() {
    check_errors(&[
        (
            one("strand 0 { step { send to 1 port 0 in[0] } }"),
            "line 3, column 28: there is no rank 1; right would be a rank, 0 to 0",
        ),
        (
            one("strand 0 { step { copy in[0..3] into out[0..3] } }"),
            "line 3, column 28: rank 0 has no run 0..3 of in; right would be within in[0..2]",
        ),
        (
            one("strand 0 { repeat 3 window 1 { copy in[0] into out[0 advance 1] } }"),
            "line 3, column 41: rank 0 has no run 2..3 of out; right would be within out[0..2]",
        ),
        (
            one(
                "scratch[0..2] run first=0 modulo=2 scratch[2..3] run first=0 modulo=2 strand 0 { step { copy scratch[1..3] into out[0..2] } }",
            ),
            "line 3, column 98: rank 0 has no run 1..3 of scratch; right would be within one of scratch[0..2], scratch[2..3]",
        ),
        (
            one("scratch[1..2] run first=0 modulo=2"),
            "line 3, column 18: unexpected '1'; right would be '0'",
        ),
        (
            one("scratch[0..2] run first=0 modulo=0"),
            "line 3, column 24: modulo=0; right would be a modulo of at least 1",
        ),
        (
            one("strand 0 { step { wait at 0 flag 2 count 1 } }"),
            "line 3, column 28: rank 0 has no flag 2; right would be one of its 0 flags",
        ),
        (
            one("strand 0 { step { await strand 1 items 1 } }"),
            "line 3, column 28: there is no strand 1; right would be one of 1 strands",
        ),
        (
            one("strand 0 { step { copy in[0 by 4 y2] into out[0] } }"),
            "line 3, column 43: unexpected 'y2'; right would be the number of runs, such as x4",
        ),
        (
            one("strand 0 { repeat 0 window 0 { } }"),
            "line 3, column 28: no iterations; right would be at least one, or no repeat",
        ),
        (
            one("") + "rank 1 { }",
            "line 4, column 1: unexpected 'rank'; right would be the end: all 1 ranks have been said",
        ),
    ]);
}

/// SplitMix64 (Steele, Lea, Flood 2014).
fn random(state: &mut u64, limit: usize) -> usize {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) % limit as u64) as usize
}

/// Spoils a text at one place: a character or word lost, doubled, replaced or moved.
fn spoil(text: &str, state: &mut u64) -> String {
    const PIECES: &[&str] = &[
        "0",
        "1",
        "7",
        "4294967295",
        "-1",
        "..",
        "{",
        "]",
        ",",
        "é",
        "in",
    ];
    if text.is_empty() {
        return String::new();
    }
    let mut words: Vec<&str> = text
        .split_inclusive([' ', '\n', '[', '.', '{', '='])
        .collect();
    let at = random(state, words.len());
    let other = random(state, words.len());
    match random(state, 6) {
        0 => drop(words.remove(at)),
        1 => words.insert(at, words[at]),
        2 => words.swap(at, other),
        3 => words[at] = PIECES[random(state, PIECES.len())],
        4 => words.insert(at, PIECES[random(state, PIECES.len())]),
        _ => words.truncate(at),
    }
    words.concat()
}

#[test]
fn spoilt_texts_are_refused_or_read_but_never_panic() {
    let find = |collective, name| algorithm::find(collective, name).expect("it is registered");
    let doubling = find(Collective::Allreduce, "recursive-doubling");
    let shape = doubling
        .shape(Call::new(Collective::Allreduce, 3), "")
        .expect("the default");
    let texts = [print(&everything()), print(&document(doubling, &shape))];
    let (mut state, mut read, mut refused) = (1, 0, 0);
    for round in 0..4000 {
        let mut text = spoil(&texts[round % 2], &mut state);
        for _ in 0..random(&mut state, 3) {
            text = spoil(&text, &mut state);
        }
        match parse(&text) {
            Err(e) => {
                assert!(e.line >= 1 && e.column >= 1 && !e.what.is_empty() && !e.right.is_empty());
                refused += 1;
            }
            Ok(document) => {
                assert!(parse(&print(&document)).as_ref() == Ok(&document), "{text}");
                // What is read can be run, whether it is right or not.
                let (call, schedules) = (&document.call, document.schedules.as_slice());
                let _ = run(&[World { call, schedules }]);
                let _ = lowered::check(call, schedules);
                read += 1;
            }
        }
    }
    assert!(
        read > 100 && refused > 1000,
        "{read} read, {refused} refused"
    );
}
