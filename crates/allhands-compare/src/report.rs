//! The report: a row for each cell, and a summary of each number of ranks.

use crate::cell::{Cell, size};
use crate::record::{Record, best};
use crate::statistics::geometric_mean;
use std::fmt::Write;

/// The interval's end below which a cell counts as lost.
const LOST: f64 = 0.95;
/// How many of the worst cells are named.
const WORST: usize = 8;

/// The table's head.
pub fn head(peers: &[&str], ranks: usize) -> String {
    let mut line = format!(
        "\n{ranks} ranks\n{:<15}{:>5}{:>10}",
        "collective", "size", "ours µs"
    );
    for peer in peers {
        let _ = write!(
            line,
            "  {:<34}",
            format!("{peer} µs (setting) ratio [95 %]")
        );
    }
    line + "  best of the peers       line ns"
}

/// One cell's row: each peer in its best setting.
pub fn row(cell: Cell, peers: &[&str], records: &[Record]) -> String {
    let mut line = format!("{:<15}{:>5}", cell.name(), size(cell.bytes));
    let ours = records.first().map_or(f64::NAN, |record| record.ours_us);
    let _ = write!(line, "{:>10}", short(ours));
    for peer in peers {
        let own = records.iter().filter(|record| record.peer == *peer);
        let text = best(own).map_or_else(|| "failed".to_owned(), one);
        let _ = write!(line, "  {text:<34}");
    }
    if let Some(best) = best(records.iter()) {
        let _ = write!(
            line,
            "  {:<8}{:>6.2}  {:<5}",
            best.peer,
            best.ratio,
            verdict(best)
        );
        if let Some(line_ns) = best.line_ns {
            let _ = write!(line, " {line_ns:>6.0}");
        }
    }
    line.trim_end().to_owned()
}

fn one(record: &Record) -> String {
    format!(
        "{} ({}) {:.2} [{:.2}, {:.2}]",
        short(record.peer_us),
        record.setting,
        record.ratio,
        record.spread[0],
        record.spread[1]
    )
}

/// Loud where the interval leaves no doubt.
fn verdict(record: &Record) -> &'static str {
    match record.spread {
        [low, _] if low > 1.0 => "WINS",
        [_, high] if high < 1.0 => "LOSES",
        _ => "even",
    }
}

/// Microseconds in four places.
fn short(us: f64) -> String {
    match us {
        _ if us.is_nan() => "-".to_owned(),
        _ if us < 10.0 => format!("{us:.2}"),
        _ if us < 100.0 => format!("{us:.1}"),
        _ => format!("{us:.0}"),
    }
}

/// The summary of one number of ranks.
pub fn summary(peers: &[&str], ranks: usize, cells: &[Vec<Record>]) -> String {
    let mut bests: Vec<&Record> = cells.iter().filter_map(|cell| best(cell.iter())).collect();
    let count = |wanted: &str| bests.iter().filter(|r| verdict(r) == wanted).count();
    let lost = bests.iter().filter(|r| r.spread[1] < LOST).count();
    let mut text = format!(
        "\nSummary of {ranks} ranks, {} cells: peer's time by ours, geometric mean; above 1 Allhands is faster\n",
        bests.len()
    );
    let mean = geometric_mean(bests.iter().map(|record| record.ratio));
    let _ = writeln!(text, "  {:<20}{mean:>6.2}", "best of the peers");
    for peer in peers {
        let own = |cell: &Vec<Record>| {
            let own = cell.iter().filter(|record| record.peer == *peer);
            best(own).map(|record| record.ratio)
        };
        let mean = geometric_mean(cells.iter().filter_map(own));
        let _ = writeln!(text, "  {peer:<20}{mean:>6.2}");
    }
    let _ = writeln!(
        text,
        "  wins {}, even {}, LOSES {}; the whole interval below {LOST}: {lost}",
        count("WINS"),
        count("even"),
        count("LOSES")
    );
    text.push_str(&leaders(cells));
    bests.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
    let _ = writeln!(text, "  worst cells:");
    for record in bests.iter().take(WORST) {
        let cell = format!("{} {}", record.collective, size(record.bytes));
        let (ours, peer) = (short(record.ours_us), record.peer);
        let _ = writeln!(text, "    {cell:<20} ours {ours}, {peer} {}", one(record));
    }
    text
}

/// What all cells of each number of ranks come to, each beside the best setting of its peer.
pub fn in_all(ranks: &[usize], cells: &[Vec<Record>]) -> String {
    let mut text = String::new();
    for ranks in ranks {
        let bests = cells.iter().filter_map(|cell| best(cell.iter()));
        let bests: Vec<_> = bests.filter(|record| record.ranks == *ranks).collect();
        let lost = bests.iter().filter(|r| r.spread[1] < LOST).count();
        let mean = geometric_mean(bests.iter().map(|record| record.ratio));
        let _ = writeln!(
            text,
            "{ranks} ranks in all: {} cells, geometric mean {mean:.2}; the whole interval below {LOST}: {lost}",
            bests.len()
        );
    }
    text
}

/// How often each setting is the best of its peer.
fn leaders(cells: &[Vec<Record>]) -> String {
    let mut leads: Vec<((&str, &str), usize)> = Vec::new();
    for record in cells.iter().flatten() {
        let name = (record.peer, record.setting);
        if !leads.iter().any(|(known, _)| *known == name) {
            leads.push((name, 0));
        }
    }
    for ((peer, setting), count) in &mut leads {
        let leads = |cell: &&Vec<Record>| {
            let own = cell.iter().filter(|record| record.peer == *peer);
            best(own).is_some_and(|record| record.setting == *setting)
        };
        *count = cells.iter().filter(leads).count();
    }
    let leads = leads
        .iter()
        .map(|((p, s), count)| format!("{p} {s} {count}"));
    let leads: Vec<String> = leads.collect();
    format!(
        "  cells in which a setting is its peer's best: {}\n",
        leads.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(peer: &'static str, ratio: f64, spread: [f64; 2]) -> Record {
        Record {
            collective: "allreduce",
            bytes: 4096,
            ranks: 2,
            peer,
            setting: "default",
            ours_us: 10.0,
            peer_us: 10.0 * ratio,
            ratio,
            spread,
            ours_p99_us: 12.0,
            peer_p99_us: 12.0,
            line_ns: Some(54.6),
        }
    }

    #[test]
    fn losses_are_as_loud_as_wins() {
        assert_eq!(verdict(&record("intel", 1.2, [1.1, 1.3])), "WINS");
        assert_eq!(verdict(&record("intel", 0.8, [0.7, 0.9])), "LOSES");
        assert_eq!(verdict(&record("intel", 0.97, [0.9, 1.1])), "even");
        let cell = Cell {
            collective: 8,
            bytes: 4096,
        };
        let records = [
            record("mpich", 3.0, [2.5, 3.5]),
            record("intel", 0.5, [0.4, 0.6]),
        ];
        let row = row(cell, &["mpich", "openmpi", "intel"], &records);
        assert!(
            row.starts_with("allreduce         4K      10.0  30.0 (default) 3.00 [2.50, 3.50]")
        );
        assert!(row.contains("failed"), "{row}");
        assert!(row.ends_with("intel     0.50  LOSES     55"), "{row}");
    }

    #[test]
    fn the_summary_counts_the_best_peer_of_every_cell() {
        let cells = [
            vec![
                record("mpich", 4.0, [3.9, 4.1]),
                record("intel", 2.0, [1.9, 2.1]),
            ],
            vec![
                record("mpich", 0.5, [0.4, 0.6]),
                record("intel", 8.0, [7.0, 9.0]),
            ],
        ];
        let text = summary(&["mpich", "intel"], 2, &cells);
        assert!(text.contains("best of the peers     1.00"), "{text}");
        assert!(text.contains("mpich                 1.41"), "{text}");
        assert!(text.contains("intel                 4.00"), "{text}");
        assert!(
            text.contains("wins 1, even 0, LOSES 1; the whole interval below 0.95: 1"),
            "{text}"
        );
        assert_eq!(
            in_all(&[2], &cells),
            "2 ranks in all: 2 cells, geometric mean 1.00; the whole interval below 0.95: 1\n"
        );
    }
}
