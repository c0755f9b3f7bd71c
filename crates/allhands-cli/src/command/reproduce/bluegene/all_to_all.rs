//! B's table 2: the aggregate bandwidth of the permuted all-to-all, by topology and message size.

use super::super::Entry;
use super::laboratory::{Laboratory, Time};
use allhands_core::machine::Torus;
use anyhow::Context;
use std::io::Write;

const TABLE: &str = "table 2";

/// The sizes of table 2, in bytes for each pair.
const BYTES: [u64; 9] = [16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576];

/// A row of table 2: its name, the shape, MB/s by size, and the best percent of the peak.
type Row = (&'static str, &'static str, &'static [f64], f64);

const ROWS: [Row; 8] = [
    (
        "4x4x2",
        "4x4x2",
        &[
            237.0, 619.0, 1892.0, 3133.0, 3871.0, 4123.0, 4220.0, 4196.0, 4215.0,
        ],
        86.0,
    ),
    (
        "8x4x2",
        "8x4x2",
        &[
            566.0, 1272.0, 2817.0, 3908.0, 4459.0, 4566.0, 4618.0, 4596.0, 4603.0,
        ],
        94.0,
    ),
    (
        "8x4x4",
        "8x4x4",
        &[
            1330.0, 2705.0, 5524.0, 7740.0, 8724.0, 9003.0, 9053.0, 9076.0, 9087.0,
        ],
        92.0,
    ),
    (
        "8x8x4",
        "8x8x4",
        &[
            2727.0, 4354.0, 9905.0, 14_458.0, 16_538.0, 16_802.0, 16_935.0, 16_954.0,
        ],
        86.0,
    ),
    (
        "8x8x8(T)",
        "8x8x8:torus",
        &[
            5463.0, 9462.0, 20_015.0, 40_548.0, 63_261.0, 73_689.0, 76_622.0, 77_525.0,
        ],
        98.0,
    ),
    (
        "8x16x8(T)",
        "8x16x8:torus",
        &[
            8751.0, 12_936.0, 26_845.0, 47_945.0, 58_518.0, 61_557.0, 62_536.0,
        ],
        79.0,
    ),
    (
        "8x16x16(T)",
        "8x16x16:torus",
        &[
            14_155.0, 21_867.0, 48_745.0, 103_111.0, 126_053.0, 130_628.0, 135_465.0,
        ],
        86.0,
    ),
    (
        "8x32x16(T)",
        "8x32x16:torus",
        &[22_860.0, 32_910.0, 64_398.0, 97_069.0, 98_616.0, 118_120.0],
        75.0,
    ),
];

/// The entries by which constants of the machine were set, as its file says.
const FITTED: [(&str, u64); 5] = [
    ("4x4x2", 16),
    ("8x4x2", 16),
    ("8x4x2", 64),
    ("8x4x2", 256),
    ("8x16x16(T)", 16),
];

/// What a link carries, in MB/s (B 2.1).
const LINK_MB_S: f64 = 154.0;

/// Simulates table 2.
pub fn table(laboratory: &Laboratory, out: &mut dyn Write) -> anyhow::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for (name, shape, row, best) in ROWS {
        let torus: Torus = shape.parse().with_context(|| shape.to_string())?;
        let mut most = 0.0_f64;
        for (bytes, &paper) in BYTES.into_iter().zip(row) {
            let start = std::time::Instant::now();
            let time = laboratory.all_to_all(torus, bytes)?;
            let ours = f64::from(torus.ranks()).powi(2) * bytes as f64 / time.us;
            most = most.max(ours);
            let how = match time {
                Time { told: true, .. } => "told by a part".to_string(),
                Time {
                    would_be_told_us: Some(told_us),
                    us,
                    ..
                } => format!("a part would tell {:+.1} %", 100.0 * (told_us / us - 1.0)),
                Time { .. } => String::new(),
            };
            writeln!(
                out,
                "{TABLE} {name} {bytes}: {paper} {ours:.0} {:.2}  {:.1} s  {how}",
                ours / paper,
                start.elapsed().as_secs_f64()
            )?;
            let fitted = FITTED.contains(&(name, bytes));
            entries.push(Entry::new(TABLE, (name, bytes), (paper, ours), fitted));
        }
        let percent = 100.0 * most / peak_mb_s(torus);
        entries.push(Entry::new(TABLE, (name, "best %"), (best, percent), false));
    }
    Ok(entries)
}

/// Table 3's entries of the permuted all-to-all, for each of 512 nodes, which are those of table 2.
pub fn summary(table: &[Entry]) -> Vec<Entry> {
    const NODES: f64 = 512.0;
    let row = || {
        let of_row = table.iter().filter(|entry| entry.row == "8x8x8(T)");
        of_row.filter_map(|entry| Some((entry.column.parse().ok()?, entry.ours / NODES)))
    };
    let most = row().map(|(_, mb_s)| mb_s).fold(0.0, f64::max);
    let half: Option<f64> = row().find(|(_, mb_s)| *mb_s >= most / 2.0).map(|of| of.0);
    let entry = |what: &str, paper, ours| {
        let column = format!("torus {what}");
        Entry::new("table 3", ("all-to-all", column), (paper, ours), false)
    };
    vec![
        entry("MB/s", 151.6, most),
        entry("half at bytes", 1024.0, half.unwrap_or(0.0)),
    ]
}

/// What cross-sections allow (B 5.3).
fn peak_mb_s(torus: Torus) -> f64 {
    let across = |dimension: usize| {
        let ways = if torus.wraps(dimension) { 8.0 } else { 4.0 };
        ways * LINK_MB_S / f64::from(torus.extents()[dimension])
    };
    let each = (0..3).map(across).fold(f64::INFINITY, f64::min);
    each * f64::from(torus.ranks())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The peaks that table 2 prints, with the digit that one of them lost.
    #[test]
    fn peaks_are_those_of_the_paper() {
        let printed = [4928, 4928, 9856, 19_712, 78_848, 78_848, 157_696, 157_696];
        for ((_, shape, ..), printed) in ROWS.iter().zip(printed) {
            let torus = shape.parse().expect("it is a torus");
            assert_eq!(peak_mb_s(torus).round() as u32, printed);
        }
    }
}
