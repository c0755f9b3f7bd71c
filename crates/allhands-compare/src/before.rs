//! Before and after: another checkout of this project, built there as released, beside this one.

use crate::error::Error;
use crate::record::Record;
use crate::statistics::geometric_mean;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The name of the other checkout's column.
pub const NAME: &str = "before";
/// The least geometric mean of before by after.
const LEAST_MEAN: f64 = 0.99;
/// No cell's whole interval may lie below this.
const LEAST_CELL: f64 = 0.95;

/// What another checkout has built.
#[derive(Clone, Debug)]
pub struct Before {
    /// Its worker; none where only the drop-in was asked for.
    pub worker: Option<PathBuf>,
    /// Its program `allhands`.
    pub allhands: PathBuf,
    /// Its drop-in.
    pub library: PathBuf,
}

impl Before {
    /// Builds there what is compared: the worker and its launcher, or the drop-in.
    pub(crate) fn build(checkout: &Path, is_dropin: bool) -> Result<Before, Error> {
        let failed = |why: String| Error::Before {
            path: checkout.to_owned(),
            why,
        };
        let checkout = checkout
            .canonicalize()
            .map_err(|error| failed(error.to_string()))?;
        if !checkout.join("crates/allhands/Cargo.toml").is_file() {
            return Err(failed(
                "there is no crates/allhands/Cargo.toml; type the root of a checkout of this project".into(),
            ));
        }
        let (words, worker) = wanted(&checkout, is_dropin);
        let target = checkout.join("target");
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command
            .args(["build", "--release", "--locked", "--quiet"])
            .args(words)
            .env("CARGO_TARGET_DIR", &target)
            .current_dir(&checkout);
        match command.status() {
            Ok(status) if status.success() => Ok(Before {
                worker: worker.map(|worker| target.join(worker)),
                allhands: target.join("release/allhands"),
                library: target.join("release/liballhands_mpi.so"),
            }),
            Ok(status) => Err(failed(format!("cargo build ended with {status}"))),
            Err(error) => Err(failed(format!("cargo: {error}"))),
        }
    }
}

/// What is built in a checkout, and where its worker then lies; in older ones it is an example of allhands.
fn wanted(checkout: &Path, is_dropin: bool) -> (Vec<&'static str>, Option<&'static str>) {
    if is_dropin {
        return (vec!["--package", "allhands-mpi"], None);
    }
    let mut words = vec!["--package", "allhands-cli", "--bin", "allhands"];
    if checkout.join("crates/allhands-compare").is_dir() {
        words.extend(["--package", "allhands-compare", "--bin", "compare-worker"]);
        (words, Some("release/compare-worker"))
    } else {
        words.extend(["--package", "allhands", "--example", "compare_worker"]);
        (words, Some("release/examples/compare_worker"))
    }
}

/// Whether this checkout is nowhere clearly slower: every cell was measured, the mean is large enough, no cell is lost.
pub fn holds(cells: &[Vec<Record>]) -> bool {
    let records = || cells.iter().flatten();
    let mean = geometric_mean(records().map(|record| record.ratio));
    !cells.iter().any(Vec::is_empty)
        && mean >= LEAST_MEAN
        && records().all(|record| record.spread[1] >= LEAST_CELL)
}

/// The verdict in words.
pub fn verdict(cells: &[Vec<Record>]) -> String {
    let records = || cells.iter().flatten();
    let mean = geometric_mean(records().map(|record| record.ratio));
    let lost: Vec<String> = records()
        .filter(|record| record.spread[1] < LEAST_CELL)
        .map(|record| {
            format!(
                "{} of {} bytes, {} ranks, {} ({})",
                record.collective, record.bytes, record.ranks, record.peer, record.setting
            )
        })
        .collect();
    let unmeasured = cells.iter().filter(|records| records.is_empty()).count();
    format!(
        "after beside before: geometric mean {mean:.3} (demanded {LEAST_MEAN}), {unmeasured} cells not measured, \
         {} wholly below {LEAST_CELL}{}{}",
        lost.len(),
        if lost.is_empty() { "" } else { ": " },
        lost.join("; ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(ratio: f64, spread: [f64; 2]) -> Vec<Record> {
        vec![Record {
            collective: "allreduce",
            bytes: 8,
            ranks: 2,
            peer: NAME,
            setting: "default",
            ours_us: 1.0,
            peer_us: ratio,
            ratio,
            spread,
            ours_p99_us: 1.0,
            peer_p99_us: 1.0,
            line_ns: None,
        }]
    }

    #[test]
    fn a_mean_or_a_cell_that_is_too_low_fails_and_so_does_one_that_is_not_there() {
        let even = cell(1.0, [0.9, 1.1]);
        assert!(holds(&[even.clone(), cell(0.99, [0.94, 1.0])]));
        // One cell is lost, though the mean is high.
        let lost = [cell(2.0, [1.9, 2.1]), cell(0.9, [0.85, 0.949])];
        assert!(!holds(&lost));
        assert!(
            verdict(&lost)
                .ends_with("1 wholly below 0.95: allreduce of 8 bytes, 2 ranks, before (default)")
        );
        // No cell is lost, but the mean is low.
        assert!(!holds(&[cell(0.97, [0.94, 1.0]), even.clone()]));
        assert!(!holds(&[even, Vec::new()]));
        assert!(!holds(&[]));
    }

    #[test]
    fn an_older_checkout_has_its_worker_among_the_examples() {
        let root = xtask::repository_root();
        assert_eq!(wanted(&root, false).1, Some("release/compare-worker"));
        let older = root.join("no-such-folder");
        assert_eq!(
            wanted(&older, false).1,
            Some("release/examples/compare_worker")
        );
        assert_eq!(
            wanted(&root, true),
            (vec!["--package", "allhands-mpi"], None)
        );
        let error = Before::build(&older, false).expect_err("is not there");
        assert!(error.to_string().contains("no-such-folder"), "{error}");
    }
}
