//! Open MPI: the algorithms of its component `tuned`, the parameters that force them, and its files of rules.

use super::decide::{Choices, Range};
use super::kind::Kind;
use super::record::Hello;
use super::variant::{self, Value, Variant};
use serde_json::{Value as Json, json};
use std::fmt::Write;

/// The parameters, as variables of the environment, that have Open MPI read a file of rules, but for the file's name.
pub const SWITCH: (&str, &str) = ("OMPI_MCA_coll_tuned_use_dynamic_rules", "1");
/// The variable that names the file.
pub const FILE: &str = "OMPI_MCA_coll_tuned_dynamic_rules_filename";

/// Its number of a collective in files of rules, and its name in those of Open MPI 6.
const COLLECTIVES: [(Kind, u32, &str); 12] = [
    (Kind::Allgather, 0, "allgather"),
    (Kind::Allreduce, 2, "allreduce"),
    (Kind::Alltoall, 3, "alltoall"),
    (Kind::Barrier, 6, "barrier"),
    (Kind::Bcast, 7, "bcast"),
    (Kind::Exscan, 8, "exscan"),
    (Kind::Gather, 9, "gather"),
    (Kind::Reduce, 11, "reduce"),
    (Kind::ReduceScatter, 12, "reducescatter"),
    (Kind::ReduceScatterBlock, 13, "reducescatterblock"),
    (Kind::Scan, 14, "scan"),
    (Kind::Scatter, 15, "scatter"),
];

/// What a rule says of an algorithm, besides its number.
const SEGMENT: &str = "seg_size";
const REQUESTS: &str = "reqs";
const FAN: &str = "faninout";

type Parameters = &'static [(&'static str, i64)];

const NONE: Parameters = &[];
const SEGMENT_8K: Parameters = &[(SEGMENT, 8192)];
const SEGMENT_32K: Parameters = &[(SEGMENT, 32_768)];
const SEGMENT_128K: Parameters = &[(SEGMENT, 131_072)];
/// Four chains are what Open MPI makes where nothing else is said.
const CHAINS: Parameters = &[(FAN, 4), (SEGMENT, 32_768)];
const ONE_CHAIN: Parameters = &[(FAN, 1), (SEGMENT, 32_768)];
const FEW_REQUESTS: Parameters = &[(REQUESTS, 4)];

/// The collective, the algorithm's name and number, and its parameters.
const ROWS: &[(Kind, &str, u32, Parameters)] = &[
    (Kind::Barrier, "linear", 1, NONE),
    (Kind::Barrier, "double_ring", 2, NONE),
    (Kind::Barrier, "recursive_doubling", 3, NONE),
    (Kind::Barrier, "bruck", 4, NONE),
    (Kind::Barrier, "tree", 6, NONE),
    (Kind::Bcast, "basic_linear", 1, NONE),
    (Kind::Bcast, "chain", 2, CHAINS),
    (Kind::Bcast, "chain", 2, ONE_CHAIN),
    (Kind::Bcast, "pipeline", 3, SEGMENT_8K),
    (Kind::Bcast, "pipeline", 3, SEGMENT_32K),
    (Kind::Bcast, "pipeline", 3, SEGMENT_128K),
    (Kind::Bcast, "split_binary_tree", 4, SEGMENT_32K),
    (Kind::Bcast, "binary_tree", 5, SEGMENT_32K),
    (Kind::Bcast, "binomial", 6, NONE),
    (Kind::Bcast, "binomial", 6, SEGMENT_32K),
    (Kind::Bcast, "knomial", 7, NONE),
    (Kind::Bcast, "scatter_allgather", 8, NONE),
    (Kind::Bcast, "scatter_allgather_ring", 9, NONE),
    (Kind::Scatter, "basic_linear", 1, NONE),
    (Kind::Scatter, "binomial", 2, NONE),
    (Kind::Scatter, "linear_nb", 3, NONE),
    (Kind::Gather, "basic_linear", 1, NONE),
    (Kind::Gather, "binomial", 2, NONE),
    (Kind::Gather, "linear_sync", 3, SEGMENT_8K),
    (Kind::Allgather, "linear", 1, NONE),
    (Kind::Allgather, "bruck", 2, NONE),
    (Kind::Allgather, "recursive_doubling", 3, NONE),
    (Kind::Allgather, "ring", 4, NONE),
    (Kind::Allgather, "neighbor", 5, NONE),
    (Kind::Allgather, "sparbit", 7, NONE),
    (Kind::Alltoall, "linear", 1, NONE),
    (Kind::Alltoall, "pairwise", 2, NONE),
    (Kind::Alltoall, "modified_bruck", 3, NONE),
    (Kind::Alltoall, "linear_sync", 4, FEW_REQUESTS),
    (Kind::ReduceScatter, "non-overlapping", 1, NONE),
    (Kind::ReduceScatter, "recursive_halving", 2, NONE),
    (Kind::ReduceScatter, "ring", 3, NONE),
    (Kind::ReduceScatter, "butterfly", 4, NONE),
    (Kind::ReduceScatterBlock, "basic_linear", 1, NONE),
    (Kind::ReduceScatterBlock, "recursive_doubling", 2, NONE),
    (Kind::ReduceScatterBlock, "recursive_halving", 3, NONE),
    (Kind::ReduceScatterBlock, "butterfly", 4, NONE),
    (Kind::Reduce, "linear", 1, NONE),
    (Kind::Reduce, "chain", 2, CHAINS),
    (Kind::Reduce, "pipeline", 3, SEGMENT_32K),
    (Kind::Reduce, "pipeline", 3, SEGMENT_128K),
    (Kind::Reduce, "binary", 4, SEGMENT_32K),
    (Kind::Reduce, "binomial", 5, NONE),
    (Kind::Reduce, "binomial", 5, SEGMENT_32K),
    (Kind::Reduce, "rabenseifner", 7, NONE),
    (Kind::Allreduce, "basic_linear", 1, NONE),
    (Kind::Allreduce, "nonoverlapping", 2, NONE),
    (Kind::Allreduce, "recursive_doubling", 3, NONE),
    (Kind::Allreduce, "ring", 4, NONE),
    (Kind::Allreduce, "segmented_ring", 5, SEGMENT_128K),
    (Kind::Allreduce, "rabenseifner", 6, NONE),
    (Kind::Scan, "linear", 1, NONE),
    (Kind::Scan, "recursive_doubling", 2, NONE),
    (Kind::Exscan, "linear", 1, NONE),
    (Kind::Exscan, "recursive_doubling", 2, NONE),
];

/// The variants of a collective.
pub fn variants(hello: &Hello, kind: Kind) -> Vec<Variant> {
    let name = format!("coll_tuned_{}_algorithm", kind.name());
    let parameter = |key: &str| match key {
        SEGMENT => format!("{name}_segmentsize"),
        REQUESTS => format!("{name}_max_requests"),
        _ => format!("{name}_chain_fanout"),
    };
    let fits = |row: &&(Kind, &'static str, u32, Parameters)| {
        // It stops the program where ranks are no power of two.
        let is_open = row.1 != "recursive_halving"
            || kind != Kind::ReduceScatterBlock
            || hello.ranks.is_power_of_two();
        row.0 == kind && is_open
    };
    let rows = ROWS.iter().filter(fits);
    rows.map(|(_, algorithm, _, parameters)| {
        let switch = ("coll_tuned_use_dynamic_rules".to_string(), Value::Number(1));
        let numbers = parameters
            .iter()
            .map(|(key, number)| (parameter(key), Value::Number(*number)));
        let forced = [switch].into_iter().chain(numbers);
        Variant {
            kind,
            algorithm,
            parameters,
            forced: forced
                .chain([(name.clone(), Value::Named(algorithm))])
                .collect(),
        }
    })
    .collect()
}

/// Collectives of which a rule cannot tell sizes, or of which not all ranks are sure to know them: it looks at the count of elements
/// to send, which with `MPI_IN_PLACE` the root of a gather need not say, nor all but the root of a scatter.
pub fn is_one_for_all(kind: Kind) -> bool {
    match kind {
        Kind::Barrier | Kind::Gather | Kind::Scatter | Kind::Scan | Kind::Exscan => true,
        Kind::Bcast
        | Kind::Allgather
        | Kind::Alltoall
        | Kind::ReduceScatter
        | Kind::ReduceScatterBlock
        | Kind::Reduce
        | Kind::Allreduce => false,
    }
}

/// A rule: the shortest vector, the algorithm's number (0: Open MPI's own choice), its parameters.
struct Rule {
    from: u64,
    algorithm: u32,
    parameters: Parameters,
}

impl Rule {
    fn parameter(&self, key: &str) -> i64 {
        let known = self.parameters.iter().find(|(known, _)| *known == key);
        known.map_or(0, |(_, number)| *number)
    }
}

fn rules(hello: &Hello, kind: Kind, ranges: &[Range]) -> Vec<Rule> {
    let all = variant::of(hello, kind);
    let mut from = 0;
    let mut rules = Vec::new();
    for range in ranges {
        let variant = range.variant.as_ref();
        let variant = variant.and_then(|name| all.iter().find(|v| v.name() == *name));
        let number = |variant: &Variant| {
            let row = ROWS
                .iter()
                .find(|row| row.0 == kind && row.1 == variant.algorithm);
            row.map_or(0, |row| row.2)
        };
        rules.push(Rule {
            from,
            algorithm: variant.map_or(0, number),
            parameters: variant.map_or(NONE, |variant| variant.parameters),
        });
        from = range.to.map_or(from, |to| to + 1);
    }
    rules
}

/// The file of rules that Open MPI reads from 5.0.7 on.
pub fn classic(hello: &Hello, choices: &Choices) -> Result<String, std::fmt::Error> {
    let mut text = String::from("rule-file-version-2\n");
    writeln!(text, "{} # collectives", choices.len())?;
    for (kind, number, _) in COLLECTIVES {
        let Some(ranges) = choices.get(&kind) else {
            continue;
        };
        let rules = rules(hello, kind, ranges);
        writeln!(text, "{number} # {}", kind.name())?;
        // A communicator goes by the rules of the most ranks that are not more than its own: so there is a second set, of no algorithm.
        writeln!(text, "2 # sets of rules")?;
        writeln!(text, "{} # ranks", hello.ranks)?;
        writeln!(
            text,
            "{} # rules: from so many bytes, algorithm, fan, segment, requests",
            rules.len()
        )?;
        for rule in &rules {
            let [fan, segment, requests] = [FAN, SEGMENT, REQUESTS].map(|key| rule.parameter(key));
            writeln!(
                text,
                "{} {} {fan} {segment} {requests}",
                rule.from, rule.algorithm
            )?;
        }
        writeln!(
            text,
            "{} # ranks, and more: Open MPI's own choice",
            hello.ranks + 1
        )?;
        writeln!(text, "1 # rule")?;
        writeln!(text, "0 0 0 0 0")?;
    }
    Ok(text)
}

/// The file that Open MPI 6 reads besides; its schema is `tuned_dynamic_file_schema.json`.
pub fn six(hello: &Hello, choices: &Choices) -> Json {
    let mut collectives = serde_json::Map::new();
    let spread = match hello.hosts {
        1 => "single-node",
        hosts if hosts == hello.ranks => "one-per-node",
        _ => "any",
    };
    for (kind, _, name) in COLLECTIVES {
        let Some(ranges) = choices.get(&kind) else {
            continue;
        };
        let rules = rules(hello, kind, ranges);
        let rule = |(at, rule): (usize, &Rule)| {
            let mut json = json!({ "msg_size_min": rule.from, "alg": rule.algorithm });
            if let Some(next) = rules.get(at + 1) {
                json["msg_size_max"] = json!(next.from - 1);
            }
            for (key, number) in rule.parameters {
                json[*key] = json!(number);
            }
            json
        };
        // What no rule is for has the default.
        let chosen = rules
            .iter()
            .enumerate()
            .filter(|(_, rule)| rule.algorithm > 0);
        let set = json!({
            "comm_size_min": hello.ranks,
            "comm_size_max": hello.ranks,
            "comm_rank_distribution": spread,
            "rules": chosen.map(rule).collect::<Vec<_>>(),
        });
        collectives.insert(name.to_string(), json!([set]));
    }
    json!({ "rule_file_version": 3, "module": "tuned", "collectives": collectives })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello() -> Hello {
        Hello {
            family: super::super::record::Family::OpenMpi,
            version: String::new(),
            ranks: 8,
            hosts: 8,
            library: String::new(),
        }
    }

    fn choices() -> Choices {
        let range = |to, variant: Option<&str>| Range {
            to,
            variant: variant.map(str::to_string),
        };
        let bcast = vec![
            range(Some(4096), None),
            range(Some(1 << 20), Some("pipeline:seg_size=8192")),
            range(None, Some("chain:faninout=4,seg_size=32768")),
        ];
        let scan = vec![range(None, Some("recursive_doubling"))];
        Choices::from([(Kind::Bcast, bcast), (Kind::Scan, scan)])
    }

    #[test]
    fn the_classic_rules_begin_at_zero_and_end_with_the_ranks() {
        let text = classic(&hello(), &choices()).unwrap();
        let numbers: Vec<&str> = text
            .lines()
            .map(|line| line.split('#').next().unwrap_or_default().trim())
            .collect();
        let expected = "rule-file-version-2\n2\n7\n2\n8\n3\n0 0 0 0 0\n4097 3 0 8192 0\n1048577 2 4 32768 0\n9\n1\n0 0 0 0 0\n\
                        14\n2\n8\n1\n0 2 0 0 0\n9\n1\n0 0 0 0 0";
        assert_eq!(numbers.join("\n"), expected);
    }

    #[test]
    fn rules_of_six_have_both_ends_and_leave_the_default_out() {
        let json = six(&hello(), &choices());
        let set = &json["collectives"]["bcast"][0];
        assert_eq!(set["comm_size_max"], 8);
        assert_eq!(set["comm_rank_distribution"], "one-per-node");
        let expected = json!([
            { "msg_size_min": 4097, "msg_size_max": 1_048_576, "alg": 3, "seg_size": 8192 },
            { "msg_size_min": 1_048_577, "alg": 2, "faninout": 4, "seg_size": 32_768 },
        ]);
        assert_eq!(set["rules"], expected);
        assert_eq!(json["rule_file_version"], 3);
    }
}
