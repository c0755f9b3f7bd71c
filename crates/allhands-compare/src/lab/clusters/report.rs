//! What is printed: a row for each cell, and what all rows of a number of hosts come to.

use super::record::{Network, Record};
use crate::cell::size;
use crate::statistics::geometric_mean;
use std::fmt::Write as _;

/// From here on a vector is long, and from here on very long.
const LONG: u64 = 64 << 10;
const VERY_LONG: u64 = 1 << 20;
/// A cell is lost where the whole interval of the best peer's time by ours lies below.
const LOST: f64 = 0.95;
/// What is demanded of very long vectors, by the bound; and of a scan's.
const OF_BOUND: f64 = 1.15;
const OF_BOUND_SCAN: f64 = 1.3;
/// What is demanded of short vectors: the best single peer's time by ours.
const SHORT: f64 = 1.2;
/// How many of the worst cells are named.
const WORST: usize = 10;
/// What lab/README.md has of the peers.
const FIVE: [&str; 5] = [
    "allreduce",
    "broadcast",
    "allgather",
    "alltoall",
    "reduce-scatter",
];

/// What stands above the rows.
pub(super) fn head(network: Network, names: &[&str]) -> String {
    let Network {
        hosts,
        each,
        l_us,
        g_us,
        empty_us,
        ..
    } = network;
    let hosts = match each {
        1 => format!("{hosts} hosts"),
        _ => format!("{hosts} hosts with {each} ranks each"),
    };
    let mut text = format!(
        "\n{hosts}: L {l_us:.0} us, G {:.2} ns/B; a call in which nothing happens {empty_us:.0} us\n\
         {:<15}{:>6}{:>11}{:>11}  by the bound:",
        1e3 * g_us,
        "collective",
        "bytes",
        "bound us",
        "ours us"
    );
    for name in names {
        let _ = write!(text, " {name:>width$}", width = name.len().max(5));
    }
    text.push_str("  best peer by ours, if there are peers");
    text
}

/// One cell, with a column for each of these.
pub(super) fn row(record: &Record, names: &[&str]) -> String {
    let (bytes, ours) = (size(record.bytes as usize), record.ours());
    let mut text = format!(
        "{:<15}{bytes:>6}{:>11.0}{:>11.0}               ",
        record.collective, record.bound_us, ours.us
    );
    for name in names {
        let of_bound = record.named(name).map_or(f64::NAN, |times| times.of_bound);
        let _ = write!(text, " {of_bound:>width$.2}", width = name.len().max(5));
    }
    if let Some(best) = record.best() {
        let [low, high] = best.interval;
        let lost = if high < LOST { " LOST" } else { "" };
        let _ = write!(
            text,
            "  {:.2} [{low:.2}, {high:.2}] {}{lost}",
            best.ratio, best.peer
        );
    }
    text
}

/// What the rows of a number of hosts come to, and whether that is what is demanded.
pub(super) fn summary(hosts: u32, records: &[Record]) -> (String, bool) {
    let mut text = format!("\n{hosts} hosts, {} cells:\n", records.len());
    let mut holds = true;
    let mut judged = |is_right: bool, line: String| {
        holds &= is_right;
        let word = if is_right { "" } else { "  MISSED" };
        let _ = writeln!(text, "  {line}{word}");
    };
    if let Some((is_right, line)) = very_long(records) {
        judged(is_right, line);
    }
    if let Some((is_right, line)) = long(hosts, records) {
        judged(is_right, line);
    }
    if let Some((is_right, line)) = short(records) {
        judged(is_right, line);
    }
    for record in records.iter().filter(|record| is_lost(record)) {
        judged(false, format!("lost to the best peer: {}", cell(record)));
    }
    let _ = writeln!(text, "  geometric means of the times by the bound:");
    for (name, of) in means(records) {
        let [all, five, huge, below] = of;
        let _ = writeln!(
            text,
            "    {name:<15} from 64K {all:.2} (the five of lab/README.md {five:.2}), from 1M {huge:.2}, below 64K {below:.2}"
        );
    }
    let mut worst: Vec<&Record> = records.iter().collect();
    worst.sort_by(|a, b| b.ours().of_bound.total_cmp(&a.ours().of_bound));
    let _ = writeln!(text, "  the worst by the bound:");
    for record in worst.into_iter().take(WORST) {
        let _ = writeln!(text, "    {}", cell(record));
    }
    (text, holds)
}

fn is_lost(record: &Record) -> bool {
    record.best().is_some_and(|best| best.interval[1] < LOST)
}

/// A cell in words.
fn cell(record: &Record) -> String {
    let (ours, bytes) = (record.ours(), size(record.bytes as usize));
    let mut text = format!(
        "{} {bytes}: {:.2} of the bound",
        record.collective, ours.of_bound
    );
    if let Some(best) = record.best() {
        let [low, high] = best.interval;
        let _ = write!(
            text,
            ", {} by ours {:.2} [{low:.2}, {high:.2}]",
            best.peer, best.ratio
        );
    }
    text
}

fn demanded(record: &Record) -> f64 {
    match record.collective {
        "scan" | "exscan" => OF_BOUND_SCAN,
        _ => OF_BOUND,
    }
}

/// Every cell of a megabyte or more by the bound.
fn very_long(records: &[Record]) -> Option<(bool, String)> {
    let rows: Vec<&Record> = records.iter().filter(|r| r.bytes >= VERY_LONG).collect();
    let above = rows.iter().filter(|r| r.ours().of_bound > demanded(r));
    let above: Vec<String> = above
        .map(|r| {
            let bytes = size(r.bytes as usize);
            format!("{} {bytes} {:.2}", r.collective, r.ours().of_bound)
        })
        .collect();
    let is_right = above.is_empty();
    let which = if is_right {
        "none".to_owned()
    } else {
        above.join(", ")
    };
    let line = format!("from 1M above {OF_BOUND} of the bound (scans {OF_BOUND_SCAN}): {which}");
    (!rows.is_empty()).then_some((is_right, line))
}

/// The mean of long vectors by the bound.
fn long(hosts: u32, records: &[Record]) -> Option<(bool, String)> {
    let most = if hosts > 8 { 1.2 } else { 1.15 };
    let rows: Vec<&Record> = records.iter().filter(|r| r.bytes >= LONG).collect();
    let mean = geometric_mean(rows.iter().map(|r| r.ours().of_bound));
    let line = format!("from 64K by the bound {mean:.2} (demanded: {most} at most)");
    (!rows.is_empty()).then_some((mean <= most, line))
}

/// Short vectors beside the best single peer, and by the floor.
fn short(records: &[Record]) -> Option<(bool, String)> {
    let rows: Vec<&Record> = records.iter().filter(|r| r.bytes < LONG).collect();
    if rows.is_empty() {
        return None;
    }
    let bound = geometric_mean(rows.iter().map(|r| r.ours().of_bound));
    let floor = geometric_mean(rows.iter().map(|r| r.ours().us / r.floor_us));
    let line = format!(
        "below 64K by the bound {bound:.2}, by the floor (the bound, and a call in which nothing happens) {floor:.2}"
    );
    let Some((peer, ratio)) = best_single(&rows) else {
        return Some((true, line));
    };
    let each = geometric_mean(rows.iter().filter_map(|r| r.best()).map(|best| best.ratio));
    let line = format!(
        "{line}; the best single peer ({peer}) by ours {ratio:.2} (demanded: {SHORT}), the best of each cell {each:.2}"
    );
    Some((ratio >= SHORT, line))
}

/// The peer whose times by ours have the least mean, of those that have a time in every row.
fn best_single<'a>(rows: &[&'a Record]) -> Option<(&'a str, f64)> {
    let first = rows.first()?;
    let of = |peer: &'a str| {
        let own = |record: &&Record| {
            record
                .ratios
                .iter()
                .find(|r| r.peer == peer)
                .map(|r| r.ratio)
        };
        let ratios: Option<Vec<f64>> = rows.iter().map(own).collect();
        Some((peer, geometric_mean(ratios?.into_iter())))
    };
    let all = first.ratios.iter().filter_map(|ratio| of(&ratio.peer));
    all.min_by(|a, b| a.1.total_cmp(&b.1))
}

/// Everybody's means by the bound: from 64 KB, the same of five collectives, from 1 MB, and below 64 KB.
fn means(records: &[Record]) -> Vec<(String, [f64; 4])> {
    let mut names: Vec<&str> = Vec::new();
    for times in records.iter().flat_map(|record| &record.times) {
        if !names.contains(&&*times.whose.name) {
            names.push(&times.whose.name);
        }
    }
    let mean = |name: &str, wanted: &dyn Fn(&Record) -> bool| {
        let rows = records.iter().filter(|record| wanted(record));
        geometric_mean(
            rows.filter_map(|r| r.named(name))
                .map(|times| times.of_bound),
        )
    };
    let of = |name: &&str| {
        let all = [
            mean(name, &|r| r.bytes >= LONG),
            mean(name, &|r| r.bytes >= LONG && FIVE.contains(&r.collective)),
            mean(name, &|r| r.bytes >= VERY_LONG),
            mean(name, &|r| r.bytes < LONG),
        ];
        ((*name).to_owned(), all)
    };
    names.iter().map(of).collect()
}

/// Where ours are several: which of them is the fastest at each size, and what the next one takes by it.
pub(super) fn fastest_of_ours(records: &[Record]) -> String {
    let mut text = String::from("\nthe fastest of ours, and the next one's time by its:\n");
    for record in records {
        let ours = record.times.iter().filter(|times| times.whose.is_ours);
        let mut ours: Vec<_> = ours.collect();
        ours.sort_by(|a, b| a.us.total_cmp(&b.us));
        if let [first, second, ..] = ours[..] {
            let _ = writeln!(
                text,
                "  {:<15}{:>6} {} {:.2} ({})",
                record.collective,
                size(record.bytes as usize),
                first.whose.name,
                second.us / first.us,
                second.whose.name
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::record;
    use super::*;

    #[test]
    fn rows_have_everybody_and_name_what_is_lost() {
        let record = record(
            ("scan", 100_000),
            8,
            &[("tcp", &[9000.0; 3]), ("mpich-ucx", &[4500.0; 3])],
        );
        let names = ["tcp", "openmpi", "mpich-ucx"];
        let row = row(&record, &names);
        assert!(
            row.contains("2.00     NaN      1.00  0.50 [0.50, 0.50] mpich-ucx LOST"),
            "{row}"
        );
        let network = Network {
            hosts: 8,
            each: 1,
            rails: 1,
            has_half_rail: false,
            l_us: 500.0,
            g_us: 0.04,
            empty_us: 90.0,
        };
        let head = head(network, &names);
        assert!(head.contains("L 500 us, G 40.00 ns/B"), "{head}");
    }

    #[test]
    fn what_is_demanded_is_judged() {
        let of = |call, ours: f64, peer: f64| {
            record(call, 8, &[("tcp", &[ours; 3]), ("mpich-ucx", &[peer; 3])])
        };
        // The bound is 500 us and 40 ns for each byte of a scan.
        let good = [
            of(("scan", 1 << 20), 43_000.0, 50_000.0),
            of(("scan", 8), 500.0, 700.0),
        ];
        let (text, holds) = summary(8, &good);
        assert!(holds && !text.contains("MISSED"), "{text}");
        assert!(
            text.contains("above 1.15 of the bound (scans 1.3): none"),
            "{text}"
        );
        let slow = [
            of(("scan", 1 << 20), 60_000.0, 50_000.0),
            of(("scan", 8), 500.0, 500.0),
        ];
        let (text, holds) = summary(8, &slow);
        assert!(!holds && text.contains("scan 1M 1.41  MISSED"), "{text}");
        assert!(text.contains("by ours 1.00 (demanded: 1.2)"), "{text}");
        assert!(
            text.contains(
                "lost to the best peer: scan 1M: 1.41 of the bound, mpich-ucx by ours 0.83"
            ),
            "{text}"
        );
        // Rows that are not there are not judged.
        assert!(summary(8, &slow[..0]).1);
    }

    #[test]
    fn the_fastest_of_ours_is_named_with_the_next() {
        let times: [(&str, &[f64]); 3] = [
            ("tcp", &[3.0; 3]),
            ("ofi", &[2.0; 3]),
            ("openmpi", &[1.0; 3]),
        ];
        let text = fastest_of_ours(&[record(("scan", 1024), 8, &times)]);
        assert!(
            text.ends_with("  scan               1K ofi 1.50 (tcp)\n"),
            "{text}"
        );
    }

    #[test]
    fn the_best_single_peer_is_one_for_all_rows() {
        let of = |a: f64, b: f64| {
            record(
                ("scan", 8),
                8,
                &[
                    ("tcp", &[1.0; 3]),
                    ("mpich-ucx", &[a; 3]),
                    ("openmpi", &[b; 3]),
                ],
            )
        };
        let rows = [of(1.0, 3.0), of(9.0, 2.0)];
        let (peer, ratio) = best_single(&rows.iter().collect::<Vec<_>>()).expect("there are two");
        assert_eq!(peer, "openmpi");
        assert!((ratio - 6f64.sqrt()).abs() < 1e-9);
    }
}
