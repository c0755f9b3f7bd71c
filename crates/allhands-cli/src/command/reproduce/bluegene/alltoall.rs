//! B's table 2: the aggregate bandwidth of the permuted alltoall, by topology and message size.

use super::super::Entry;
use super::laboratory::Laboratory;
use super::steady::{self, Part, Rates};
use allhands_core::cost::formula::Miss;
use allhands_core::cost::formula::almasi::alltoall_bandwidth;
use allhands_core::machine::Torus;
use anyhow::Context;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Instant;

const TABLE: &str = "table 2";

/// The sizes of table 2, in bytes for each pair.
const BYTES: [u64; 9] = [16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576];

/// A row of table 2.
struct Row {
    name: &'static str,
    shape: &'static str,
    /// By size.
    mb_s: &'static [f64],
    best_percent: f64,
    /// The entry that misses, by its bytes, and why.
    miss: Option<(u64, Miss)>,
}

impl Row {
    const fn missing(self, bytes: u64, why: Miss) -> Row {
        let miss = Some((bytes, why));
        Row { miss, ..self }
    }
}

const fn row(
    name: &'static str,
    shape: &'static str,
    mb_s: &'static [f64],
    best_percent: f64,
) -> Row {
    Row {
        name,
        shape,
        mb_s,
        best_percent,
        miss: None,
    }
}

const ROWS: [Row; 8] = [
    row("4x4x2", "4x4x2", &[237.0, 619.0, 1892.0, 3133.0, 3871.0, 4123.0, 4220.0, 4196.0, 4215.0,], 86.0),
    row("8x4x2", "8x4x2", &[566.0, 1272.0, 2817.0, 3908.0, 4459.0, 4566.0, 4618.0, 4596.0, 4603.0,], 94.0),
    row("8x4x4", "8x4x4", &[1330.0, 2705.0, 5524.0, 7740.0, 8724.0, 9003.0, 9053.0, 9076.0, 9087.0,], 92.0),
    row("8x8x4", "8x8x4", &[2727.0, 4354.0, 9905.0, 14_458.0, 16_538.0, 16_802.0, 16_935.0, 16_954.0,], 86.0),
    row("8x8x8(T)", "8x8x8:torus", &[5463.0, 9462.0, 20_015.0, 40_548.0, 63_261.0, 73_689.0, 76_622.0, 77_525.0,], 98.0),
    row("8x16x8(T)", "8x16x8:torus", &[8751.0, 12_936.0, 26_845.0, 47_945.0, 58_518.0, 61_557.0, 62_536.0,], 79.0),
    row("8x16x16(T)", "8x16x16:torus", &[14_155.0, 21_867.0, 48_745.0, 103_111.0, 126_053.0, 130_628.0, 135_465.0,], 86.0).missing(1024, Miss::Model(
        "the model's processors take 17 us for a first turn to each of 2,047 peers, more than the network; from 256 to 1024 bytes \
         the paper's calls go at the network's rate",
    )),
    row("8x32x16(T)", "8x32x16:torus", &[22_860.0, 32_910.0, 64_398.0, 97_069.0, 98_616.0, 118_120.0], 75.0),
];

/// Up to this length an entry is one of the curve of short messages: its five constants were set by five of these entries, and its
/// form, that it bends at 64 bytes and is taken at 512 peers, was chosen by looking at all of them.
const CURVE_BYTES: u64 = 1024;

/// What a link carries, in MB/s (B 2.1).
const LINK_MB_S: f64 = 154.0;

/// The most hops of packets that are simulated one by one for an entry; those of more are told by their steady state.
const MOST_HOPS: f64 = 5e8;

/// The most ranks whose alltoall is simulated as a whole: beyond, its plans are too large.
const MOST_RANKS: u32 = 4096;

/// Entries of more hops are told, too, where they are simulated as a whole and have later turns: that says how well parts tell.
const CHECKED_HOPS: f64 = 1e7;

/// From this length on, more bytes take as much longer as they are more: packets alone count, and every peer has several turns.
const STEADY_BYTES: u64 = 1024;

/// The most whole turns of a call that tells what longer ones take.
const MOST_TURNS: u64 = 5;

/// How long entries take that are simulated as a whole, in microseconds, by torus and bytes.
type Wholes = BTreeMap<(Torus, u64), f64>;

/// An entry of table 2.
#[derive(Clone, Copy, Debug)]
struct Cell {
    row: &'static str,
    torus: Torus,
    bytes: u64,
    paper: f64,
}

/// How long it takes, in microseconds.
#[derive(Clone, Copy, Debug)]
struct Time {
    /// Simulated as a whole.
    whole_us: Option<f64>,
    /// Told by its steady state.
    told_us: Option<f64>,
}

impl Cell {
    fn hops(&self) -> f64 {
        steady::hops(self.torus, self.bytes, self.torus.ranks() - 1)
    }

    fn is_whole(&self) -> bool {
        self.hops() <= MOST_HOPS && self.torus.ranks() <= MOST_RANKS
    }

    fn is_told(&self) -> bool {
        let checked = self.hops() > CHECKED_HOPS && self.bytes > steady::TURN_BYTES;
        !self.is_whole() || checked
    }

    /// The lengths of two calls on its torus that are simulated as a whole, and tell what more bytes take: the two longest of the
    /// table that are shorter, or else the most whole turns that can be simulated, and two turns less. None if not even three can.
    fn told_by(&self) -> Option<[u64; 2]> {
        let of_length = |bytes| Cell { bytes, ..*self };
        let is_whole = |bytes: &u64| {
            (STEADY_BYTES..self.bytes).contains(bytes) && of_length(*bytes).is_whole()
        };
        let mut wholes = BYTES.into_iter().filter(is_whole).rev();
        if let (Some(longer), Some(shorter)) = (wholes.next(), wholes.next()) {
            return Some([shorter, longer]);
        }
        let can_be = (MOST_HOPS / of_length(steady::TURN_BYTES).hops()) as u64;
        let most = can_be.min(self.bytes / steady::TURN_BYTES).min(MOST_TURNS);
        let turns = [most.checked_sub(2).filter(|least| *least > 0)?, most];
        Some(turns.map(|turns| turns * steady::TURN_BYTES))
    }

    /// How long it takes by its steady state, in microseconds: that of shorter ones, or of parts.
    fn told_us(&self, wholes: &Wholes, rates: &Rates) -> f64 {
        let Some([shorter, longer]) = self.told_by() else {
            return steady::told_us(rates, self.torus, self.bytes);
        };
        let [shorter_us, longer_us] = [shorter, longer].map(|bytes| wholes[&(self.torus, bytes)]);
        let byte_us = (longer_us - shorter_us) / (longer - shorter) as f64;
        longer_us + (self.bytes - longer) as f64 * byte_us
    }

    /// The aggregate bandwidth, in MB/s.
    fn mb_s(&self, time: Time) -> f64 {
        let us = time.whole_us.or(time.told_us).unwrap_or(f64::INFINITY);
        f64::from(self.torus.ranks()).powi(2) * self.bytes as f64 / us
    }
}

/// Simulates table 2.
pub fn table(laboratory: &Laboratory, out: &mut dyn Write) -> anyhow::Result<Vec<Entry>> {
    let cells = cells()?;
    let whole = whole_calls(&cells);
    let whole_us = on_all_cores(
        &whole,
        |cell| laboratory.time_us(&steady::permuted(cell.torus, cell.bytes)),
        |cell, us, wall_s| {
            let Cell { row, bytes, .. } = cell;
            writeln!(out, "{TABLE} {row} {bytes}: {us:.1} us  {wall_s:.1} s")
        },
    )?;
    let keys = whole.iter().map(|cell| (cell.torus, cell.bytes));
    let wholes: Wholes = keys.zip(whole_us).collect();
    let of_parts = cells
        .iter()
        .filter(|cell| cell.is_told() && cell.told_by().is_none());
    let parts: BTreeSet<Part> = of_parts
        .flat_map(|cell| steady::parts(cell.torus, cell.bytes))
        .collect();
    let parts: Vec<Part> = parts.into_iter().collect();
    let rates = on_all_cores(
        &parts,
        |part| steady::rate_us(laboratory, *part),
        |part, us, wall_s| writeln!(out, "{TABLE} {part}: {us:.3} us  {wall_s:.1} s"),
    )?;
    let rates: Rates = parts.into_iter().zip(rates).collect();
    let time = |cell: &Cell| Time {
        whole_us: wholes.get(&(cell.torus, cell.bytes)).copied(),
        told_us: cell.is_told().then(|| cell.told_us(&wholes, &rates)),
    };
    let times: Vec<Time> = cells.iter().map(time).collect();
    for (cell, time) in cells.iter().zip(&times) {
        tell(out, cell, *time)?;
    }
    Ok(entries(&cells, &times))
}

/// All entries, those of most hops first, which would otherwise be waited for last.
fn cells() -> anyhow::Result<Vec<Cell>> {
    let mut cells = Vec::new();
    for row in ROWS {
        let torus: Torus = row.shape.parse().with_context(|| row.shape.to_string())?;
        let sizes = BYTES.into_iter().zip(row.mb_s);
        cells.extend(sizes.map(|(bytes, &paper)| Cell {
            row: row.name,
            torus,
            bytes,
            paper,
        }));
    }
    sort(&mut cells);
    Ok(cells)
}

/// What is simulated as a whole: entries, and calls that tell others; those of most hops first.
fn whole_calls(cells: &[Cell]) -> Vec<Cell> {
    let mut whole: Vec<Cell> = cells.iter().copied().filter(Cell::is_whole).collect();
    let told = cells.iter().filter(|cell| cell.is_told());
    for (cell, bytes) in
        told.flat_map(|cell| cell.told_by().into_iter().flatten().map(move |b| (cell, b)))
    {
        let is = |other: &Cell| (other.torus, other.bytes) == (cell.torus, bytes);
        if !whole.iter().any(is) {
            whole.push(Cell { bytes, ..*cell });
        }
    }
    sort(&mut whole);
    whole
}

fn sort(cells: &mut [Cell]) {
    cells.sort_by(|a, b| b.hops().total_cmp(&a.hops()));
}

/// Says what became of an entry.
fn tell(out: &mut dyn Write, cell: &Cell, time: Time) -> std::io::Result<()> {
    let how = match (time.whole_us, time.told_us) {
        (None, _) => "told by the steady state".to_string(),
        (Some(us), Some(told_us)) => {
            let more = 100.0 * (told_us / us - 1.0);
            format!("the steady state would tell {more:+.1} %")
        }
        (Some(_), None) => return Ok(()),
    };
    let (mb_s, paper) = (cell.mb_s(time), cell.paper);
    writeln!(
        out,
        "{TABLE} {} {}: {paper} {mb_s:.0} {:.2}  {how}",
        cell.row,
        cell.bytes,
        mb_s / paper
    )
}

/// The table, row by row.
fn entries(cells: &[Cell], times: &[Time]) -> Vec<Entry> {
    let mut entries = Vec::new();
    for Row {
        name,
        best_percent,
        miss,
        ..
    } in ROWS
    {
        let own = || cells.iter().zip(times).filter(|(cell, _)| cell.row == name);
        let mut row: Vec<(u64, Entry)> = own()
            .map(|(cell, time)| {
                let numbers = (cell.paper, cell.mb_s(*time));
                let fitted = cell.bytes <= CURVE_BYTES;
                let why = miss.filter(|(bytes, _)| *bytes == cell.bytes);
                let entry = Entry {
                    extrapolated: time.whole_us.is_none(),
                    why: why.map(|(_, why)| why),
                    ..Entry::new(TABLE, (name, cell.bytes), numbers, fitted)
                };
                (cell.bytes, entry)
            })
            .collect();
        row.sort_by_key(|(bytes, _)| *bytes);
        let (most, extrapolated) = most(row.iter().map(|(_, entry)| entry));
        entries.extend(row.into_iter().map(|(_, entry)| entry));
        let peak = own()
            .next()
            .map_or(f64::INFINITY, |(cell, _)| peak_mb_s(cell.torus));
        let percent = 100.0 * most / peak;
        entries.push(Entry {
            extrapolated,
            ..Entry::new(TABLE, (name, "best %"), (best_percent, percent), false)
        });
    }
    entries
}

/// The most of some entries, and whether it is extrapolated.
fn most<'a>(entries: impl Iterator<Item = &'a Entry>) -> (f64, bool) {
    let all = entries.map(|entry| (entry.ours, entry.extrapolated));
    all.fold(
        (0.0, false),
        |most, own| if own.0 > most.0 { own } else { most },
    )
}

/// What `work` makes of each item, in the items' order; it goes on on all cores at once, and `tell` hears of each as it is done,
/// and how long it took, in seconds.
fn on_all_cores<I: Sync, T: Send>(
    items: &[I],
    work: impl Fn(&I) -> anyhow::Result<T> + Sync,
    mut tell: impl FnMut(&I, &T, f64) -> std::io::Result<()>,
) -> anyhow::Result<Vec<T>> {
    let next = AtomicUsize::new(0);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut done: Vec<Option<T>> = items.iter().map(|_| None).collect();
    std::thread::scope(|scope| {
        let (sender, results) = mpsc::channel();
        for _ in 0..cores.min(items.len()) {
            let (sender, next, work) = (sender.clone(), &next, &work);
            scope.spawn(move || {
                while let Some((at, item)) = take(items, next) {
                    let start = Instant::now();
                    let result = work(item);
                    let sent = sender.send((at, result, start.elapsed().as_secs_f64()));
                    if sent.is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        for (at, result, wall_s) in results {
            // Nothing more is begun after an error.
            let made = result.inspect_err(|_| next.store(items.len(), Ordering::Relaxed))?;
            tell(&items[at], &made, wall_s)?;
            done[at] = Some(made);
        }
        Ok::<(), anyhow::Error>(())
    })?;
    Ok(done.into_iter().flatten().collect())
}

/// The next item that nobody has taken yet.
fn take<'a, I>(items: &'a [I], next: &AtomicUsize) -> Option<(usize, &'a I)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    items.get(at).map(|item| (at, item))
}

/// Table 3's entries of the permuted alltoall, for each of 512 nodes, whose best is that of table 2.
pub fn summary(laboratory: &Laboratory, table: &[Entry]) -> anyhow::Result<Vec<Entry>> {
    const ROW: &str = "8x8x8(T)";
    let torus: Torus = "8x8x8:torus".parse()?;
    let nodes = f64::from(torus.ranks());
    let is_of_row = |entry: &&Entry| entry.row == ROW && entry.column.parse::<u64>().is_ok();
    let row = table.iter().filter(is_of_row);
    let (most, extrapolated) = most(row);
    let most = most / nodes;
    let mut half_bytes = 0;
    for bytes in (6..=12).map(|power| 1 << power) {
        half_bytes = bytes;
        let us = laboratory.time_us(&steady::permuted(torus, bytes))?;
        if nodes * bytes as f64 / us >= most / 2.0 {
            break;
        }
    }
    let entry = |what: &str, numbers, fitted| {
        let column = format!("torus {what}");
        Entry::new("table 3", ("alltoall", column), numbers, fitted)
    };
    Ok(vec![
        Entry {
            extrapolated,
            ..entry("MB/s", (151.6, most), false)
        },
        // It lies on the curve of short messages.
        entry(
            "half at bytes",
            (1024.0, f64::from(half_bytes as u32)),
            true,
        ),
    ])
}

/// What cross-sections allow all nodes together (B 5.3).
fn peak_mb_s(torus: Torus) -> f64 {
    alltoall_bandwidth(&torus, LINK_MB_S) * f64::from(torus.ranks())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The peaks that table 2 prints, with the digit that one of them lost.
    #[test]
    fn peaks_are_those_of_the_paper() {
        let printed = [4928, 4928, 9856, 19_712, 78_848, 78_848, 157_696, 157_696];
        for (row, printed) in ROWS.iter().zip(printed) {
            let torus = row.shape.parse().expect("it is a torus");
            assert_eq!(peak_mb_s(torus).round() as u32, printed);
        }
    }

    #[test]
    fn shorter_ones_tell_what_more_bytes_take() {
        let cells = cells().expect("they are tori");
        let cell = |row: &str, bytes| {
            let mut own = cells.iter().filter(|cell| cell.row == row);
            own.find(|cell| cell.bytes == bytes)
                .expect("the table has it")
        };
        let long = cell("8x16x8(T)", 65_536);
        assert_eq!(long.told_by(), Some([1024, 4096]));
        let wholes = Wholes::from([((long.torus, 1024), 20.0), ((long.torus, 4096), 50.0)]);
        assert!((long.told_us(&wholes, &Rates::new()) - 650.0).abs() < 1e-9);
        // Only one of the table that is long enough is simulated as a whole.
        for bytes in [4096, 65_536] {
            assert_eq!(cell("8x16x16(T)", bytes).told_by(), Some([1440, 2400]));
        }
        // Not even three turns can be.
        assert_eq!(cell("8x32x16(T)", 16_384).told_by(), None);
        assert_eq!(cell("4x4x2", 64).told_by(), None);
        let simulated = whole_calls(&cells);
        for cell in cells.iter().filter(|cell| cell.is_told()) {
            for bytes in cell.told_by().into_iter().flatten() {
                let is = |other: &&Cell| (other.torus, other.bytes) == (cell.torus, bytes);
                assert_eq!(simulated.iter().filter(is).count(), 1);
            }
        }
    }

    /// A reason says why an entry of the table misses, which goes with it.
    #[test]
    fn reasons_are_those_of_entries() {
        let cells = cells().expect("they are tori");
        let second = Time {
            whole_us: Some(1e6),
            told_us: None,
        };
        let entries = entries(&cells, &vec![second; cells.len()]);
        for Row { name, miss, .. } in ROWS {
            let own = entries.iter().filter(|entry| entry.row == name);
            let with: Vec<_> = own.filter(|entry| entry.why.is_some()).collect();
            let columns: Vec<_> = with.iter().map(|entry| entry.column.clone()).collect();
            let expected = miss.map(|(bytes, _)| bytes.to_string());
            assert_eq!(columns, Vec::from_iter(expected), "{name}");
        }
    }
}
