//! Tables: what is found in them, what gives way, and what is said about it.

use super::*;

/// A table of lines `collective ranks oversubscribed: bytes name,name …`.
/// A row: collective, ranks, oversubscribed, and for sizes the ranked names.
type Line<'a> = (&'a str, u32, bool, &'a [(u64, &'a [&'a str])]);

fn table(name: &str, lines: &[Line<'_>]) -> Table {
    let mut text = String::from("format = 1\nmachine = \"m\"\nversion = \"0\"\n");
    for (collective, ranks, oversubscribed, cells) in lines {
        text += &alloc::format!(
            "[[row]]\ntransport = \"shm\"\ncollective = \"{collective}\"\nranks = {ranks}\noversubscribed = {oversubscribed}\n\
             measured = \"2026-01-30\"\n"
        );
        for (bytes, names) in *cells {
            text += &alloc::format!("{bytes} = {names:?}\n");
        }
    }
    Table::parse(name, &text).unwrap()
}

fn explain_tuned(table: &Table, question: &Question) -> Explanation {
    let policy = Policy::Tuned(Arc::new(table.clone()));
    explain(&policy, question, &|_, _, _| 0.0).unwrap()
}

fn chosen(table: &Table, question: &Question) -> String {
    let choice = explain_tuned(table, question).choice;
    let parameters = choice.shape.parameters;
    let printed = algorithm::print_parameters(choice.algorithm.keys, &parameters);
    let default = choice
        .algorithm
        .shape(question.call, "")
        .unwrap()
        .parameters;
    match parameters == default {
        true => choice.algorithm.name.to_string(),
        false => alloc::format!("{}:{printed}", choice.algorithm.name),
    }
}

fn allreduces() -> Table {
    table(
        "t.toml",
        &[
            ("allreduce", 2, false, &[(8, &["direct 1.0"])]),
            (
                "allreduce",
                8,
                false,
                &[
                    (8, &["recursive-doubling 2.5", "ring 9"]),
                    (1024, &["ring 30.25"]),
                ],
            ),
            ("allreduce", 8, true, &[(8, &["reduce-broadcast 50"])]),
        ],
    )
}

#[test]
fn the_nearest_ranks_and_sizes_of_the_same_oversubscription_decide() {
    let table = allreduces();
    for (ranks, bytes, oversubscribed, expected) in [
        (8, 8, false, "recursive-doubling"),
        (8, 0, false, "recursive-doubling"),
        (8, 90, false, "recursive-doubling"),
        (8, 91, false, "ring"),
        (8, 1 << 40, false, "ring"),
        (1, 8, false, "direct"),
        (4, 1 << 20, false, "direct"),
        (5, 1 << 20, false, "ring"),
        (1000, 1 << 20, false, "ring"),
        (2, 8, true, "reduce-broadcast"),
        (64, 1 << 20, true, "reduce-broadcast"),
    ] {
        let question = Question {
            oversubscribed,
            ..question(Collective::Allreduce, ranks, bytes)
        };
        let found = chosen(&table, &question);
        assert_eq!(
            found, expected,
            "{ranks} ranks, {bytes} B, {oversubscribed}"
        );
    }
}

#[test]
fn sizes_are_as_the_user_says_them() {
    // 16 ranks with 100 B each: T's own size is 1600 B.
    let table = table(
        "t",
        &[(
            "allgather",
            16,
            false,
            &[(100, &["bruck"]), (1600, &["ring"])],
        )],
    );
    let asked = question(Collective::Allgather, 16, 100);
    assert_eq!(chosen(&table, &asked), "bruck");
}

#[test]
fn an_explanation_tells_every_entry_and_the_file() {
    let asked = question(Collective::Allreduce, 6, 10);
    let explained = explain_tuned(&allreduces(), &asked);
    assert_eq!(
        explained.choice.reason,
        "t.toml: recursive-doubling 2.500 µs: 8 ranks, 8 B (t.toml, measured 2026-01-30 on m)"
    );
    let told: Vec<String> = explained
        .considered
        .iter()
        .take(3)
        .map(|c| alloc::format!("{}, {}: {}", c.candidate, c.candidate.source(), c.verdict))
        .collect();
    assert_eq!(
        told,
        [
            "recursive-doubling 2.500 µs: 8 ranks, 8 B, t.toml, measured 2026-01-30 on m: decides",
            "ring 9.000 µs: 8 ranks, 8 B, t.toml, measured 2026-01-30 on m: not reached",
            "recursive-doubling: an operator of the user's, T 4.5: not reached",
        ]
    );
}

/// A question about an operator that does not commute.
fn ordered(collective: Collective) -> Question {
    let mut question = question(collective, 5, 8);
    question.call.commutative = false;
    question
}

#[test]
fn what_does_not_serve_the_call_gives_way() {
    let names = [
        "fastest-of-all 0.1",
        "recursive-doubling:fast=yes",
        "ring 1",
        "direct 2",
    ];
    let table = table("t", &[("allreduce", 5, false, &[(8, &names)])]);
    let explained = explain_tuned(&table, &ordered(Collective::Allreduce));
    assert_eq!(explained.choice.algorithm.name, "direct");
    let considered = explained.considered.iter().take(4);
    let verdicts: Vec<String> = considered.map(|c| c.verdict.to_string()).collect();
    assert_eq!(verdicts[0], "gives way: there is no fastest-of-all");
    let unknown = &verdicts[1];
    assert!(unknown.contains("unknown key 'fast'"), "{unknown}");
    assert!(verdicts[2].contains("ring needs a commutative operator"));
    assert_eq!(verdicts[3], "decides");
    let reason = &explained.choice.reason;
    assert!(reason.contains("there is no fastest-of-all"), "{reason}");
}

#[test]
fn where_nothing_in_the_cell_serves_the_call_the_rules_decide() {
    let names = ["pairwise", "recursive-halving"];
    let table = table("t", &[("reduce-scatter", 5, false, &[(8, &names)])]);
    let explained = explain_tuned(&table, &ordered(Collective::ReduceScatter));
    assert_eq!(explained.choice.algorithm.name, "recursive-doubling");
    assert!(explained.choice.reason.contains("T 4.4"));
}

#[test]
fn where_sizes_are_not_known_the_middle_cell_decides() {
    let table = table(
        "t",
        &[
            (
                "gather",
                5,
                false,
                &[
                    (8, &["binomial"]),
                    (64, &["binomial", "direct"]),
                    (512, &["binomial"]),
                ],
            ),
            ("scatter", 5, false, &[(8, &["binomial"])]),
        ],
    );
    // Not every rank knows the counts: the middle cell, and only what needs no counts.
    let irregular = Question {
        irregular: true,
        ..question(Collective::Gather, 5, 0)
    };
    assert_eq!(chosen(&table, &irregular), "direct");
    let irregular = Question {
        irregular: true,
        ..question(Collective::Scatter, 5, 0)
    };
    let explained = explain_tuned(&table, &irregular);
    assert_eq!(explained.choice.algorithm.name, "direct");
    assert!(matches!(
        explained.choice.candidate,
        Some(Candidate::Rule(_))
    ));
}

#[test]
fn a_table_without_such_calls_gives_way_to_the_next_and_to_rules() {
    let first = allreduces();
    let scan = question(Collective::Scan, 5, 8);
    let explained = explain_tuned(&first, &scan);
    assert_eq!(explained.choice.algorithm.name, "recursive-doubling");
    let unlisted = &explained.considered[0];
    assert_eq!(
        alloc::format!("{}: {}", unlisted.candidate, unlisted.verdict),
        "scan among no more ranks than cores: no: not in the table"
    );
    let second = table("second", &[("scan", 3, false, &[(8, &["linear"])])]);
    let both = first.or(Arc::new(second));
    let explained = explain_tuned(&both, &scan);
    assert_eq!(explained.choice.algorithm.name, "linear");
    assert!(explained.choice.reason.contains("second"));
    // The first decides where it can.
    let asked = question(Collective::Allreduce, 8, 8);
    assert_eq!(chosen(&both, &asked), "recursive-doubling");
}

/// Names in the built-in table that are not registered yet; none must be left when the table is measured.
const NOT_REGISTERED_YET: &[(Collective, &str)] = &[];

#[test]
fn every_name_of_the_built_in_table_is_registered_with_its_parameters() {
    let Policy::Tuned(table) = Policy::shared_memory() else {
        panic!("it is a table");
    };
    for row in table.rows() {
        for entry in row.cells().iter().flat_map(|cell| &cell.ranking) {
            if NOT_REGISTERED_YET.contains(&(row.collective, &entry.name)) {
                continue;
            }
            let found = algorithm::find(row.collective, &entry.name);
            let algorithm = found.unwrap_or_else(|| panic!("{} {}", row.collective, entry.name));
            let call = Call::new(row.collective, row.ranks);
            let shape = algorithm.shape(call, &entry.parameters);
            assert!(shape.is_ok(), "{} {entry}", row.collective);
        }
    }
    for collective in Collective::ALL {
        for oversubscribed in [false, true] {
            let facts = Facts::of(&Question {
                oversubscribed,
                ..question(collective, 8, 8)
            });
            assert!(
                table.find(&facts).is_some(),
                "{collective}, {oversubscribed}"
            );
        }
    }
}

#[test]
fn the_built_in_table_always_chooses_what_serves_the_call() {
    let (policy, another) = (Policy::shared_memory(), Policy::shared_memory());
    assert_eq!(policy.to_string(), "shm");
    assert_eq!(Policy::parse("shm"), policy);
    for collective in Collective::ALL {
        for asked in (1..=40).flat_map(|ranks| questions(collective, ranks)) {
            for oversubscribed in [false, true] {
                let asked = Question {
                    oversubscribed,
                    ..asked
                };
                let explained = explain(&policy, &asked, &|_, _, _| 0.0).unwrap();
                let Choice {
                    algorithm, shape, ..
                } = &explained.choice;
                assert_eq!(algorithm.admits(shape), Ok(()));
                let hidden = explained.facts.size.is_none();
                assert!(!(hidden && algorithm.requires.contains(&Requirement::AllCounts)));
                let decided = |c: &&Considered| c.verdict == Verdict::Decided;
                assert_eq!(explained.considered.iter().filter(decided).count(), 1);
                // Another reading of the same text chooses alike.
                let again = choose(&another, &asked, &|_, _, _| 1.0).unwrap();
                assert_eq!(
                    (again.algorithm.name, again.shape),
                    (algorithm.name, shape.clone())
                );
                check_considered(&explained.considered);
            }
        }
    }
}
