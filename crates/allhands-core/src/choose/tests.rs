//! The presets at both sides of each threshold, and that they always choose something that serves the call.

use super::*;
use crate::algorithm::Unsuitable;
use std::collections::BTreeSet;
use std::println;

mod qsnet;
mod tuned;

const KB: u64 = 1024;

/// The presets that are rules.
const PRESETS: [Policy; 4] = [Policy::Mpich2005, Policy::T3e, Policy::Qsnet, Policy::Elan];

/// Whether every algorithm that a rule names must be in the registry; if not, what is missing is skipped aloud.
const REQUIRE_ALL: bool = true;

fn question(collective: Collective, ranks: u32, bytes: u64) -> Question {
    Question::new(Call::new(collective, ranks), bytes)
}

/// What the first rule takes whose conditions hold, whether the registry has it or not.
fn rule_for(policy: &Policy, question: &Question) -> String {
    let facts = Facts::of(question);
    let mut rules = policy.rules(question.call.collective);
    let rule = rules.find(|r| r.when.iter().all(|c| c.holds(&facts)));
    rule.unwrap().take.to_string()
}

fn mpich(collective: Collective, ranks: u32, bytes: u64) -> String {
    rule_for(&Policy::Mpich2005, &question(collective, ranks, bytes))
}

fn t3e(ranks: u32, bytes: u64) -> String {
    rule_for(&Policy::T3e, &question(Collective::Allreduce, ranks, bytes))
}

#[test]
fn allgather_cutoffs_are_totals() {
    let choice = |ranks, bytes| mpich(Collective::Allgather, ranks, bytes);
    assert_eq!(choice(16, 32 * KB - 1), "recursive-doubling");
    assert_eq!(choice(16, 32 * KB), "ring");
    // 10 ranks: 80 KB in all is 8 KB each.
    assert_eq!(choice(10, 8 * KB - 1), "bruck");
    assert_eq!(choice(10, 8 * KB), "ring");
    assert_eq!(choice(10, 1 << 40), "ring");
}

#[test]
fn broadcast_cutoffs() {
    let choice = |ranks, bytes| mpich(Collective::Broadcast, ranks, bytes);
    assert_eq!(choice(8, 12 * KB - 1), "binomial");
    assert_eq!(
        choice(8, 12 * KB),
        "scatter-allgather:allgather=recursive-doubling"
    );
    assert_eq!(choice(9, 12 * KB), "scatter-allgather:allgather=ring");
    assert_eq!(choice(7, 1 << 30), "binomial");
    assert_eq!(
        choice(8, 512 * KB - 1),
        "scatter-allgather:allgather=recursive-doubling"
    );
    assert_eq!(choice(8, 512 * KB), "scatter-allgather:allgather=ring");
}

#[test]
fn alltoall_cutoffs_are_for_each_destination() {
    let choice = |bytes| mpich(Collective::Alltoall, 100, bytes);
    assert_eq!(
        (choice(256).as_str(), choice(257).as_str()),
        ("bruck", "scattered")
    );
    assert_eq!(choice(32 * KB), "scattered");
    assert_eq!(choice(32 * KB + 1), "pairwise");
}

#[test]
fn reduction_cutoffs() {
    let choice = |collective, bytes, commutative, user_operator| {
        let mut question = question(collective, 12, bytes);
        question.call.commutative = commutative;
        question.user_operator = user_operator;
        rule_for(&Policy::Mpich2005, &question)
    };
    let scatter = |bytes, commutative| choice(Collective::ReduceScatter, bytes, commutative, false);
    assert_eq!(scatter(512 * KB - 1, true), "recursive-halving");
    assert_eq!(scatter(512 * KB, true), "pairwise");
    assert_eq!(scatter(511, false), "recursive-doubling");
    assert_eq!(scatter(512, false), "pairwise:order=ranks");
    for (collective, short) in [
        (Collective::Reduce, "binomial"),
        (Collective::Allreduce, "recursive-doubling"),
    ] {
        assert_eq!(choice(collective, 2 * KB, true, false), short);
        assert_eq!(choice(collective, 2 * KB + 1, true, false), "rabenseifner");
        assert_eq!(choice(collective, 2 * KB + 1, true, true), short);
    }
}

#[test]
fn what_t_has_no_rule_for_is_taken_from_mpich_and_says_so() {
    for (collective, name) in [
        (Collective::Barrier, "dissemination"),
        (Collective::Gather, "binomial"),
        (Collective::Scatter, "binomial"),
        (Collective::Scan, "recursive-doubling"),
        (Collective::Exscan, "recursive-doubling"),
    ] {
        assert_eq!(mpich(collective, 13, 100), name);
        let mut rules = Policy::Mpich2005.rules(collective);
        assert!(rules.all(|r| r.citation.contains("MPICH")));
    }
}

#[test]
fn sizes_that_not_every_rank_knows_do_not_decide() {
    for collective in Collective::ALL {
        for ranks in 1..70 {
            let mut choices = BTreeSet::new();
            for exponent in 0..30 {
                let irregular = Question {
                    irregular: true,
                    ..question(collective, ranks, 1 << exponent)
                };
                choices.insert(rule_for(&Policy::Mpich2005, &irregular));
            }
            assert!(
                choices.len() == 1 || counts_known(collective),
                "{choices:?}"
            );
        }
    }
    let irregular = Question {
        irregular: true,
        ..question(Collective::Alltoall, 9, 8)
    };
    assert_eq!(rule_for(&Policy::Mpich2005, &irregular), "scattered");
}

#[test]
fn exponent_gaps() {
    // T 5.2: 100 = 2^6 + 2^5 + 2^2.
    assert_eq!(largest_exponent_gap(100), 3);
    let gaps = [
        (1, 0),
        (2, 0),
        (3, 1),
        (5, 2),
        (6, 1),
        (7, 1),
        (33, 5),
        (128, 0),
        (129, 7),
    ];
    for (ranks, gap) in gaps {
        assert_eq!(largest_exponent_gap(ranks), gap, "{ranks}");
    }
}

#[test]
fn the_t3e_takes_what_was_measured() {
    for ranks in [3, 5, 7, 9, 10, 11, 17] {
        assert_eq!(t3e(ranks, 32 * KB), "ring", "{ranks}");
        assert_ne!(t3e(ranks, 32 * KB + 1), "ring");
    }
    for ranks in [33, 65, 66, 97, 128, 129, 130, 131] {
        assert_eq!(t3e(ranks, 32 * KB), "rabenseifner", "{ranks}");
    }
    for ranks in [2, 4, 6, 8, 12, 16, 18, 32, 34, 64, 67, 96, 98, 127, 132] {
        let choice = t3e(ranks, 32 * KB);
        assert!(
            choice != "ring" && choice != "rabenseifner",
            "{ranks}: {choice}"
        );
    }
    for ranks in [2, 3, 33, 64, 128] {
        assert_eq!(t3e(ranks, 32), "recursive-doubling");
        assert_ne!(t3e(ranks, 33), "recursive-doubling");
    }
    assert_eq!(t3e(6, KB), "reduce-broadcast");
    assert_ne!(t3e(6, KB + 1), "reduce-broadcast");
    assert_ne!(t3e(8, KB), "reduce-broadcast");
    assert_eq!(t3e(33, 32 * KB - 1), "rabenseifner");
    assert_ne!(t3e(34, 15 * KB), "rabenseifner");
}

#[test]
fn the_t3e_takes_binary_blocks_where_exponents_are_close() {
    // δ = 3: lg(bytes) > 11, so 16 KB decides; δ = 5: lg(bytes) > 15; δ = 0 for 64.
    for (ranks, least) in [(100, 16 * KB), (64, 16 * KB), (48, 16 * KB)] {
        assert_ne!(t3e(ranks, least - 1), "binary-blocks");
        assert_eq!(t3e(ranks, least), "binary-blocks");
    }
    assert_ne!(t3e(33, 32 * KB), "binary-blocks");
    assert_eq!(t3e(33, 32 * KB + 1), "binary-blocks");
    assert_ne!(t3e(129, 512 * KB), "binary-blocks");
    assert_eq!(t3e(129, 512 * KB + 1), "binary-blocks");
    assert_ne!(t3e(32, 1 << 20), "binary-blocks");
}

#[test]
fn the_rule_on_exponents_is_the_printed_one() {
    for ranks in 1..300u32 {
        for bytes in (0..40).flat_map(|e: u32| [1u64 << e, (1 << e) + 1, 3 << e]) {
            let facts = Facts::of(&question(Collective::Allreduce, ranks, bytes));
            let printed =
                f64::from(largest_exponent_gap(ranks)) < (bytes as f64).log2() / 2.0 - 2.5;
            assert_eq!(
                Condition::CloseExponents.holds(&facts),
                printed,
                "{ranks} {bytes}"
            );
        }
    }
}

#[test]
fn other_collectives_on_the_t3e_are_as_in_mpich() {
    for collective in Collective::ALL {
        let (t3e, mpich) = (Policy::T3e, Policy::Mpich2005);
        let same = t3e.rules(collective).eq(mpich.rules(collective));
        assert_eq!(same, collective != Collective::Allreduce);
    }
}

#[test]
fn the_last_rule_of_each_collective_always_applies() {
    for policy in PRESETS {
        for collective in Collective::ALL {
            let last = policy.rules(collective).last().unwrap();
            assert!(last.when.is_empty());
        }
    }
}

/// Every question worth asking about a collective with this many ranks.
fn questions(collective: Collective, ranks: u32) -> Vec<Question> {
    let mut all = Vec::new();
    for bytes in [
        0,
        1,
        32,
        33,
        256,
        257,
        600,
        2048,
        2049,
        20_000,
        32 * KB,
        100_000,
        1 << 21,
    ] {
        for (commutative, user_operator, irregular, in_place) in [
            (true, false, false, false),
            (true, true, false, true),
            (false, true, true, false),
            (false, false, false, true),
        ] {
            let call = Call {
                root: ranks / 2,
                commutative: commutative || !collective.reduces(),
                in_place,
                ..Call::new(collective, ranks)
            };
            all.push(Question {
                irregular,
                user_operator,
                ..Question::new(call, bytes)
            });
        }
    }
    all
}

fn check_considered(considered: &[Considered]) {
    for Considered {
        candidate, verdict, ..
    } in considered
    {
        assert!(
            !matches!(verdict, Verdict::Parameters(_)),
            "{candidate}: {verdict}"
        );
        if REQUIRE_ALL && matches!(verdict, Verdict::Missing(_)) {
            panic!("{candidate}: {verdict}");
        }
    }
}

#[test]
fn there_is_always_a_choice_and_it_serves_the_call() {
    let mut missing = BTreeSet::new();
    for policy in PRESETS {
        for collective in Collective::ALL {
            for question in (1..=64).flat_map(|ranks| questions(collective, ranks)) {
                let explained = explain(&policy, &question, &|_, shape, bytes| {
                    bytes as f64 + f64::from(shape.ranks())
                });
                let explained = match explained {
                    Ok(explained) => explained,
                    Err(error) => {
                        if REQUIRE_ALL {
                            panic!("{policy} {question:?}: {error}");
                        }
                        missing.insert(collective);
                        continue;
                    }
                };
                let Choice {
                    algorithm, shape, ..
                } = &explained.choice;
                assert_eq!(algorithm.admits(shape), Ok(()));
                let irregular = explained.facts.size.is_none();
                assert!(!(irregular && algorithm.requires.contains(&Requirement::AllCounts)));
                let decided = |c: &&Considered| c.verdict == Verdict::Decided;
                assert_eq!(explained.considered.iter().filter(decided).count(), 1);
                check_considered(&explained.considered);
            }
        }
    }
    for collective in missing {
        println!("skipped where the registry lacks the algorithms of its rules: {collective}");
    }
}

#[test]
fn an_explanation_tells_every_rule_and_why_not() {
    let mut question = question(Collective::Allreduce, 6, 16);
    question.user_operator = true;
    let explained = explain(&Policy::Mpich2005, &question, &|_, _, _| 0.0).unwrap();
    assert_eq!(explained.choice.algorithm.name, "recursive-doubling");
    assert_eq!(
        explained.choice.reason,
        "mpich-2005: recursive-doubling: an operator of the user's (T 4.5)"
    );
    let verdicts: Vec<String> = explained
        .considered
        .iter()
        .map(|c| c.verdict.to_string())
        .collect();
    assert_eq!(
        verdicts,
        ["decides", "not reached", "not reached", "not reached"]
    );
    let long = Question {
        user_operator: false,
        bytes: 2049,
        ..question
    };
    let explained = explain(&Policy::Mpich2005, &long, &|_, _, _| 0.0).unwrap();
    let fails = |at: usize| explained.considered[at].verdict.to_string();
    assert_eq!(fails(0), "no: not an operator of the user's");
    assert_eq!(fails(1), "no: not at most 2 KB");
}

#[test]
fn where_the_t3e_has_no_rule_the_least_prediction_decides() {
    let question = question(Collective::Allreduce, 6, 4096);
    let explained = explain(&Policy::T3e, &question, &|algorithm, shape, bytes| {
        assert_eq!((shape.ranks(), bytes), (6, 4096));
        if algorithm.name == "recursive-doubling" {
            1.0
        } else {
            2.0
        }
    })
    .unwrap();
    assert_eq!(explained.choice.algorithm.name, "recursive-doubling");
    let predictions = explained.considered.iter().map(|c| &c.predictions);
    assert!(
        predictions
            .flatten()
            .any(|p| *p == ("recursive-doubling", 1.0))
    );
}

#[test]
fn the_user_may_fix_an_algorithm() {
    let choose_fixed =
        |text: &str, question: &Question| choose(&Policy::parse(text), question, &|_, _, _| 0.0);
    let mut allreduce = question(Collective::Allreduce, 5, 100);
    let choice = choose_fixed("recursive-doubling:fold=high", &allreduce).unwrap();
    assert_eq!(choice.shape.get("fold"), 1);
    allreduce.call.commutative = false;
    let error = choose_fixed("recursive-doubling:fold=high", &allreduce).unwrap_err();
    assert!(matches!(
        error,
        ChooseError::Unsuitable {
            why: Unsuitable::NonCommutative,
            ..
        }
    ));
    let error = choose_fixed("recursive-doubling:folds=high", &allreduce).unwrap_err();
    assert!(matches!(error, ChooseError::Parameters(_)));
    let error = choose_fixed("fast", &allreduce).unwrap_err();
    assert!(error.to_string().contains("recursive-doubling"));
    assert_eq!(Policy::parse("t3e"), Policy::T3e);
    assert_eq!(Policy::parse("a:b=1").to_string(), "a:b=1");
}
