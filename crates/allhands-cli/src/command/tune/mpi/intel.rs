//! Intel MPI: its algorithms by number, and its two ways to be told of them.

use super::decide::Choices;
use super::kind::Kind;
use super::record::Hello;
use super::variant::{Value, Variant};
use serde_json::{Map, Value as Json};
use std::fmt::Write;

/// The variable that names the file.
pub const FILE: &str = "I_MPI_TUNING";

/// How many algorithms a collective has (Developer Reference, `I_MPI_ADJUST` family), by number from 1 on, and the number's name.
const COUNTS: [(Kind, usize); 12] = [
    (Kind::Barrier, 9),
    (Kind::Bcast, 14),
    (Kind::Scatter, 4),
    (Kind::Gather, 4),
    (Kind::Allgather, 6),
    (Kind::Alltoall, 5),
    (Kind::ReduceScatter, 5),
    (Kind::ReduceScatterBlock, 3),
    (Kind::Reduce, 11),
    (Kind::Allreduce, 12),
    (Kind::Scan, 2),
    (Kind::Exscan, 2),
];

const NUMBERS: [&str; 14] = [
    "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14",
];

/// The variable that forces an algorithm of a collective.
pub fn variable(kind: Kind) -> String {
    format!("I_MPI_ADJUST_{}", kind.name().to_uppercase())
}

/// The variants of a collective. They are forced when the program starts: by variables of the environment, not by control variables.
pub fn variants(kind: Kind) -> Vec<Variant> {
    let count = COUNTS
        .iter()
        .find(|row| row.0 == kind)
        .map_or(0, |row| row.1);
    let variant = |number: &&'static str| Variant {
        kind,
        algorithm: number,
        parameters: &[],
        forced: vec![(variable(kind), Value::Named(number))],
    };
    NUMBERS[..count].iter().map(variant).collect()
}

/// Collectives for which sizes are not told apart: the root of a gather or scatter alone is sure to know them.
pub fn is_one_for_all(kind: Kind) -> bool {
    match kind {
        Kind::Barrier | Kind::Gather | Kind::Scatter => true,
        Kind::Bcast
        | Kind::Allgather
        | Kind::Alltoall
        | Kind::ReduceScatter
        | Kind::ReduceScatterBlock
        | Kind::Reduce
        | Kind::Allreduce
        | Kind::Scan
        | Kind::Exscan => false,
    }
}

/// What Intel MPI calls the size of a message: a block of a collective that has one for each rank, or the whole vector.
fn message(kind: Kind, bytes: u64, ranks: usize) -> u64 {
    match kind.has_blocks() {
        true => bytes / ranks as u64,
        false => bytes,
    }
}

/// Lines of a shell, a variable each: `algorithm:least-most@ranks-ranks`. What no rule is for has the default.
pub fn lines(hello: &Hello, choices: &Choices) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    for (kind, ranges) in choices {
        let (mut from, mut rules) = (0, Vec::new());
        for range in ranges {
            let to = range.to.map_or(i64::from(i32::MAX).cast_unsigned(), |to| {
                message(*kind, to, hello.ranks)
            });
            if let Some(number) = &range.variant {
                rules.push(format!("{number}:{from}-{to}@{0}-{0}", hello.ranks));
            }
            from = to + 1;
        }
        writeln!(text, "export {}='{}'", variable(*kind), rules.join(";"))?;
    }
    Ok(text)
}

/// The nested file. Every list of sizes ends with one for all that are longer; the default is the algorithm of number -1.
pub fn nested(hello: &Hello, choices: &Choices) -> Json {
    let node = |key: String, below: Json| Json::Object(Map::from_iter([(key, below)]));
    let mut all = Map::new();
    for (kind, ranges) in choices {
        let name = kind.name();
        let mut sizes = Map::new();
        for range in ranges {
            let number = range.variant.as_deref().unwrap_or("-1");
            let algorithm = node(
                format!("{}={number}", name.to_uppercase()),
                Json::Object(Map::new()),
            );
            let size = range.to.map_or("-1".to_string(), |to| {
                message(*kind, to, hello.ranks).to_string()
            });
            sizes.insert(format!("msg_size={size}"), algorithm);
        }
        let ranks = node("comm_id=-1".into(), Json::Object(sizes));
        let ranks = node(format!("comm_size={}", hello.ranks), ranks);
        let title = format!("coll={}{}", name[..1].to_uppercase(), &name[1..]);
        let on_each = hello.ranks.div_ceil(hello.hosts.max(1));
        all.insert(title, node(format!("ppn={on_each}"), ranks));
    }
    Json::Object(all)
}

#[cfg(test)]
mod tests {
    use super::super::decide::Range;
    use super::*;

    #[test]
    fn both_ways_say_the_same() {
        let hello = Hello {
            family: super::super::record::Family::Intel,
            version: String::new(),
            ranks: 4,
            hosts: 2,
            library: String::new(),
        };
        let range = |to, variant: Option<&str>| Range {
            to,
            variant: variant.map(str::to_string),
        };
        let ranges = vec![range(Some(4095), None), range(None, Some("3"))];
        let choices = Choices::from([(Kind::Alltoall, ranges)]);
        let text = lines(&hello, &choices).unwrap();
        assert_eq!(
            text,
            "export I_MPI_ADJUST_ALLTOALL='3:1024-2147483647@4-4'\n"
        );
        let json = nested(&hello, &choices).to_string();
        let sizes = r#"{"msg_size=-1":{"ALLTOALL=3":{}},"msg_size=1023":{"ALLTOALL=-1":{}}}"#;
        let expected = format!(
            r#"{{"coll=Alltoall":{{"ppn=2":{{"comm_size=4":{{"comm_id=-1":{sizes}}}}}}}}}"#
        );
        assert_eq!(json, expected);
    }
}
