//! Verdicts: what was asked of a part, what was measured, and whether the mark is reached.

use crate::statistics::{median, quantile};
use serde::{Deserialize, Serialize};

/// Whether what was asked for holds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum Verdict {
    Holds,
    Missed,
    /// There is no mark: it is told beside the others.
    Told,
    /// It was not measured.
    Absent,
}

/// A line of the table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Row {
    pub part: String,
    pub asked: String,
    pub measured: String,
    pub verdict: Verdict,
}

/// What a part is asked, what came of it, and the verdict.
pub(super) type Finding = (String, String, Verdict);

/// Shares below which errors are counted.
const BELOW: [f64; 3] = [0.10, 0.15, 0.20];
/// A cell whose runs' medians are further apart is uncertain.
const UNCERTAIN: f64 = 0.05;
/// Sizes from which on calls of hosts are limited by the rate.
pub(super) const LONG: usize = 128 << 10;
/// What the regret is to be: its median, that of 95 % of cells, and the largest.
const REGRET: [f64; 3] = [0.02, 0.05, 0.25];
/// An MPI's files are to gain this part of what could be gained, and nowhere to be below this.
const SHARE: f64 = 0.8;
const RATIO: f64 = 0.97;

/// A cell of `predict --json`, with --measured.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Predicted {
    pub collective: String,
    pub algorithm: String,
    pub bytes: usize,
    pub predicted_us: f64,
    #[serde(default)]
    pub uncertain: f64,
    #[serde(default)]
    pub error: f64,
}

/// A cell of `simulate --json`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Simulated {
    pub collective: String,
    pub algorithm: String,
    pub bytes: usize,
    pub completion_us: f64,
}

/// A cell of `bench --json`, with --rounds.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Measured {
    pub bytes: usize,
    #[serde(default)]
    pub rounds_us: Vec<f64>,
}

/// How tuning went.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Tuned {
    /// The status of the run that was interrupted.
    pub first_status: i32,
    pub first_s: f64,
    pub resumed_s: f64,
    /// What both may take.
    pub most_s: f64,
}

/// A cell of `regret --json`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Regret {
    pub collective: String,
    pub bytes: usize,
    pub regret: f64,
    pub counts: bool,
}

/// A guideline of `guidelines --json`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Guideline {
    pub left: String,
    pub right: String,
    pub ratio: f64,
    pub violated: bool,
    pub noise: bool,
}

/// A place of `tune --mpi --evaluate --json`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Evaluated {
    pub collective: String,
    pub bytes: u64,
    pub file_ratio: Option<[Option<f64>; 3]>,
    pub forced_ratio: Option<[Option<f64>; 3]>,
}

/// Marks of errors: at least this part of them, in percent, is below the share.
pub(super) type Marks = &'static [(f64, f64)];

/// What is asked of simulated machines, and of hosts where calls are long.
pub(super) const OF_MODELS: Marks = &[(0.10, 94.0), (0.15, 100.0)];
/// What is asked of hosts where calls are short.
pub(super) const OF_SHORT: Marks = &[(0.20, 90.0)];
/// What is asked of ranks that share memory, with a core each.
pub(super) const OF_SHM: Marks = &[(0.15, 80.0)];

fn of(holds: bool) -> Verdict {
    match holds {
        true => Verdict::Holds,
        false => Verdict::Missed,
    }
}

/// How many percent of errors are below a share.
fn below(errors: &[f64], share: f64) -> f64 {
    let below = errors.iter().filter(|error| **error < share).count();
    100.0 * below as f64 / errors.len() as f64
}

/// The shares of errors below 10, 15 and 20 %, as a text.
fn shares(errors: &[f64]) -> String {
    let [ten, fifteen, twenty] = BELOW.map(|share| below(errors, share));
    format!("{ten:.0} % < 10 %, {fifteen:.0} % < 15 %, {twenty:.0} % < 20 %")
}

/// What errors are asked for; without marks they are told.
pub(super) fn errors(what: &str, errors: &[f64], uncertain: usize, marks: Marks) -> Finding {
    let wanted: Vec<String> = marks
        .iter()
        .map(|(share, percent)| format!("{percent:.0} % of errors < {:.0} %", 100.0 * share))
        .collect();
    let asked = match wanted.is_empty() {
        true => format!("errors of predictions, {what}"),
        false => format!("{}, {what}", wanted.join(", ")),
    };
    if errors.is_empty() {
        let measured = format!("no certain cell, {uncertain} uncertain");
        return (asked, measured, Verdict::Absent);
    }
    let largest = errors.iter().copied().fold(0.0, f64::max);
    let measured = format!(
        "{} of {} cells, median {:.1} %, largest {:.0} %; {uncertain} uncertain",
        shares(errors),
        errors.len(),
        100.0 * median(errors),
        100.0 * largest
    );
    let reached = |(share, percent): &(f64, f64)| below(errors, *share) >= *percent;
    let verdict = match marks.is_empty() {
        true => Verdict::Told,
        false => of(marks.iter().all(reached)),
    };
    (asked, measured, verdict)
}

/// The errors of cells whose runs agree, and how many there are of which they do not.
pub(super) fn certain(
    cells: &[Predicted],
    is_meant: impl Fn(&Predicted) -> bool,
) -> (Vec<f64>, usize) {
    let meant = cells.iter().filter(|cell| is_meant(cell));
    let (sure, unsure): (Vec<_>, Vec<_>) = meant.partition(|cell| cell.uncertain <= UNCERTAIN);
    (sure.iter().map(|cell| cell.error).collect(), unsure.len())
}

/// The share of a paper's winners and crossings that come out, in percent, as a line of its reproduction says it, and whether it is what is asked.
pub(super) fn winners_and_crossings(line: &str) -> Option<(f64, Verdict)> {
    const ASKED_PERCENT: f64 = 80.0;
    let (_, rest) = line.split_once(" winners and crossings ")?;
    let (percent, _) = rest.split_once(" % come out")?;
    let percent: f64 = percent.parse().ok()?;
    let verdict = match percent >= ASKED_PERCENT {
        true => Verdict::Holds,
        false => Verdict::Missed,
    };
    Some((percent, verdict))
}

/// Of what was simulated, by how much predictions err; what only one of both has is left out.
pub(super) fn of_simulated(predicted: &[Predicted], simulated: &[Simulated]) -> Vec<f64> {
    let error = |cell: &Simulated| {
        let same = |other: &&Predicted| {
            (&other.collective, &other.algorithm, other.bytes)
                == (&cell.collective, &cell.algorithm, cell.bytes)
        };
        let predicted = predicted.iter().find(same)?.predicted_us;
        Some((predicted - cell.completion_us).abs() / cell.completion_us)
    };
    simulated.iter().filter_map(error).collect()
}

/// How near one run comes to the median of the others: what no prediction can do better.
pub(super) fn ceiling(
    what: &str,
    cells: &[Measured],
    is_meant: impl Fn(&Measured) -> bool,
) -> Finding {
    let meant = cells.iter().filter(|cell| is_meant(cell));
    let errors: Vec<f64> = meant
        .flat_map(|cell| errors_of_runs(&cell.rounds_us))
        .collect();
    let asked = format!("one run of the others, {what}: the ceiling");
    match errors.is_empty() {
        true => (asked, "no cell with several runs".into(), Verdict::Absent),
        false => (asked, shares(&errors), Verdict::Told),
    }
}

fn errors_of_runs(runs: &[f64]) -> Vec<f64> {
    let error = |run: usize| {
        let mut others = runs.to_vec();
        let own = others.remove(run);
        let rest = median(&others);
        (!others.is_empty()).then(|| (own - rest).abs() / rest)
    };
    (0..runs.len()).filter_map(error).collect()
}

/// Whether tuning was interrupted, went on, and ended in time.
pub(super) fn tuned(tuned: &Tuned) -> Finding {
    let sum = tuned.first_s + tuned.resumed_s;
    let asked = format!(
        "tuning from nothing, interrupted and resumed, in {:.0} s",
        tuned.most_s
    );
    let measured = match tuned.first_status {
        130 => format!("{:.0} + {:.0} s", tuned.first_s, tuned.resumed_s),
        _ => format!("{sum:.0} s; done before it was to be interrupted"),
    };
    (asked, measured, of(sum <= tuned.most_s))
}

/// What choices lose; a regret whose interval holds 0 is none.
pub(super) fn regret(cells: &[Regret]) -> Finding {
    let [middle, most, largest] = REGRET.map(|part| 100.0 * part);
    let asked = format!(
        "regret: median <= {middle:.0} %, of 95 % of cells <= {most:.0} %, largest <= {largest:.0} %"
    );
    let value = |cell: &Regret| if cell.counts { cell.regret } else { 0.0 };
    let values: Vec<f64> = cells.iter().map(value).collect();
    let worst = cells.iter().max_by(|a, b| value(a).total_cmp(&value(b)));
    let Some(worst) = worst else {
        return (asked, "no cell".into(), Verdict::Absent);
    };
    let within = values.iter().filter(|value| **value <= REGRET[1]).count();
    let part = within as f64 / values.len() as f64;
    let found = [median(&values), quantile(&values, 0.95), value(worst)];
    let measured = format!(
        "median {:.1} %, <= {most:.0} % in {:.0} % of {} cells, largest {:.0} % ({} {} B)",
        100.0 * found[0],
        100.0 * part,
        values.len(),
        100.0 * found[2],
        worst.collective,
        worst.bytes
    );
    let holds = found[0] <= REGRET[0] && part >= 0.95 && found[2] <= REGRET[2];
    (asked, measured, of(holds))
}

/// Which guidelines are violated beyond noise.
pub(super) fn guidelines(all: &[Guideline]) -> Finding {
    let asked = "no guideline violated beyond noise".into();
    if all.is_empty() {
        return (asked, "no guideline".into(), Verdict::Absent);
    }
    let violated: Vec<String> = all
        .iter()
        .filter(|guideline| guideline.violated)
        .map(|g| format!("{} > {} ({:.2})", g.left, g.right, g.ratio))
        .collect();
    let noise = all.iter().filter(|guideline| guideline.noise).count();
    let which = match violated.is_empty() {
        true => String::new(),
        false => format!(": {}", violated.join("; ")),
    };
    let measured = format!(
        "{} of {} violated, {noise} once but not again{which}",
        violated.len(),
        all.len()
    );
    (asked, measured, of(violated.is_empty()))
}

/// What an MPI's files gain, of what forcing the best algorithms does.
pub(super) fn evaluation(places: &[Evaluated]) -> [Finding; 2] {
    let gain = format!("the file alone gains >= {:.0} % of forcing", 100.0 * SHARE);
    let behind = format!("no interval wholly below {RATIO}");
    let middle = |ratio: Option<[Option<f64>; 3]>| ratio.and_then(|[middle, ..]| middle);
    let (mut of_file, mut of_forced, mut count) = (0.0, 0.0, 0);
    let mut intervals = 0;
    let mut below = Vec::new();
    for place in places {
        let Some(file) = middle(place.file_ratio) else {
            continue;
        };
        count += 1;
        of_file += file.ln();
        of_forced += middle(place.forced_ratio).unwrap_or(1.0).max(1.0).ln();
        let high = place.file_ratio.and_then(|[_, _, high]| high);
        intervals += usize::from(high.is_some());
        if high.is_some_and(|high| high < RATIO) {
            below.push(format!(
                "{} {} B ({file:.2})",
                place.collective, place.bytes
            ));
        }
    }
    if count == 0 {
        let none = || "no place with rounds enough".to_owned();
        return [gain, behind].map(|asked| (asked, none(), Verdict::Absent));
    }
    let mean = |sum: f64| (sum / f64::from(count)).exp();
    let measured = format!(
        "{:.0} %: {:.3} of {:.3} times as fast, {count} places",
        100.0 * of_file / of_forced,
        mean(of_file),
        mean(of_forced)
    );
    let holds = of_forced == 0.0 || of_file >= SHARE * of_forced;
    let which = match below.is_empty() {
        true => "none".into(),
        false => below.join("; "),
    };
    let behind = match intervals {
        0 => (
            behind,
            "too few rounds for intervals".into(),
            Verdict::Absent,
        ),
        _ => (behind, which, of(below.is_empty())),
    };
    [(gain, measured, of(holds)), behind]
}

#[cfg(test)]
mod tests;
