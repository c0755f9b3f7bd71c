//! Q's two policies at both sides of each threshold.

use super::*;

fn taken(policy: &Policy, collective: Collective, bytes: u64) -> String {
    rule_for(policy, &question(collective, 16, bytes))
}

/// (collective, the last size of a range, what serves it, what serves more), by Q 7.2 to 7.4 and Q 3.1.
const QSNET_THRESHOLDS: [(Collective, u64, &str, &str); 4] = [
    (
        Collective::Gather,
        256,
        "binomial:ports=2",
        "direct:ports=2",
    ),
    (Collective::Alltoall, 64, "bruck:ports=2", "direct:ports=2"),
    (
        Collective::Allgather,
        256,
        "smp-gather-broadcast",
        "smp-bruck:ports=2",
    ),
    (
        Collective::Allgather,
        8 * KB,
        "smp-bruck:ports=2",
        "direct:ports=2",
    ),
];
const IN_SHARED_MEMORY: [&str; 2] = [
    "smp-gather:inter=binomial",
    "hierarchical:intra=shared-memory,inter=pairwise",
];
const BY_MESSAGES: &str = "smp-gather-broadcast:intra=messages,inter=binomial";
const ELAN_THRESHOLDS: [(Collective, u64, &str, &str); 5] = [
    (Collective::Gather, 2 * KB, IN_SHARED_MEMORY[0], "binomial"),
    (
        Collective::Alltoall,
        2 * KB,
        IN_SHARED_MEMORY[1],
        "pairwise",
    ),
    (
        Collective::Alltoall,
        8 * KB,
        "pairwise",
        "permission-to-send",
    ),
    (
        Collective::Allgather,
        2 * KB,
        "smp-gather-broadcast:inter=binomial",
        BY_MESSAGES,
    ),
    (Collective::Allgather, 32 * KB, BY_MESSAGES, "ring"),
];

#[test]
fn thresholds_are_blocks() {
    for (policy, thresholds) in [
        (Policy::Qsnet, &QSNET_THRESHOLDS[..]),
        (Policy::Elan, &ELAN_THRESHOLDS[..]),
    ] {
        for &(collective, last, until, beyond) in thresholds {
            assert_eq!(taken(&policy, collective, last), until, "{policy} {last}");
            assert_eq!(
                taken(&policy, collective, last + 1),
                beyond,
                "{policy} {last}"
            );
        }
    }
}

#[test]
fn where_nobody_can_put_to_other_nodes_leaders_send() {
    for policy in [Policy::Qsnet, Policy::Elan] {
        for collective in [
            Collective::Gather,
            Collective::Allgather,
            Collective::Alltoall,
        ] {
            assert!(policy.knows_nodes(collective));
            for bytes in [8, 256, KB, 8 * KB, 64 * KB] {
                let question = Question {
                    apart: true,
                    ..question(collective, 16, bytes)
                };
                let choice = choose(&policy, &question, &|_, _, _| 0.0).expect("rules serve all");
                let reaches = choice
                    .algorithm
                    .admits_apart(&choice.shape, false, |_| true);
                assert_eq!(reaches, Ok(()), "{policy} {collective} {bytes}");
                let puts = choice.algorithm.name.starts_with("smp-bruck");
                assert_eq!(
                    puts,
                    policy == Policy::Qsnet
                        && collective == Collective::Allgather
                        && (KB..=8 * KB).contains(&bytes)
                );
            }
        }
        assert!(!policy.knows_nodes(Collective::Broadcast));
    }
}

#[test]
fn what_the_rules_name_is_there() {
    for rule in QSNET.iter().chain(ELAN) {
        let Take::Algorithm { name, parameters } = rule.take else {
            panic!("{rule} names one algorithm");
        };
        let found = algorithm::find(rule.collective, name).expect("it is registered");
        let shape = found.shape(Call::new(rule.collective, 16), parameters);
        assert!(shape.is_ok(), "{rule}: {shape:?}");
    }
}

#[test]
fn other_collectives_are_as_in_mpich() {
    let own = [
        Collective::Gather,
        Collective::Allgather,
        Collective::Alltoall,
    ];
    for collective in Collective::ALL {
        for policy in [Policy::Qsnet, Policy::Elan] {
            let same = policy
                .rules(collective)
                .eq(Policy::Mpich2005.rules(collective));
            assert_eq!(same, !own.contains(&collective), "{policy} {collective}");
        }
    }
    assert_eq!(Policy::parse("qsnet"), Policy::Qsnet);
    assert_eq!(Policy::parse("elan").to_string(), "elan");
    let fixed = Policy::parse("ring");
    assert_eq!(fixed.rules(Collective::Gather).count(), 0);
}
