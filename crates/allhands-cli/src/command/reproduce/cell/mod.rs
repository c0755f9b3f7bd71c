//! The Cell paper: the models of C's tables 1 to 5, with parameters measured in the simulator, beside the algorithms simulated.

mod measure;
mod misses;

use super::Entry;
use crate::command::simulate::machine::{Job, Machine};
use crate::names;
use crate::sizes;
use allhands_core::call::{Call, Collective};
use allhands_core::cost::formula::ali::{Case, Cells, MODELS, Model};
use allhands_core::cost::formula::{Form, Ranks};
use allhands_core::cost::plogp::ExtendedPlogp;
use allhands_core::schedule::{Layout, Plan};
use anyhow::Context;
use measure::{BLADE, ELEMENT_BYTES, SPES};
use misses::Misses;

/// Vectors from 64 bytes to 32 KB (C 7.2); of an allgather, a rank's block, as long as all blocks fit in half a local store.
const EXPONENTS: std::ops::RangeInclusive<u32> = 6..=15;
const MOST_GATHERED: usize = 128 << 10;

/// What counts as near: C 7.2's largest error.
const NEAR: f64 = 0.15;

/// The rounds in which the hybrids switch.
const SWITCHES: [u32; 3] = [2, 3, 4];

/// What is held against one another, and what it shows.
pub struct Reproduction {
    /// All entries.
    pub entries: Vec<Entry>,
    parameters: ExtendedPlogp,
    shares: Shares,
    /// Of each line of the tables.
    misses: Vec<Misses>,
}

impl Reproduction {
    /// What to say below the entries.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let mut notes = measure::say(&self.parameters);
        notes.extend(self.misses.iter().filter_map(Misses::say));
        notes.extend(self.shares.say());
        notes
    }
}

/// Measures the parameters, and holds every line of the tables against the simulated machine.
///
/// # Errors
/// What keeps a simulation from its end.
pub fn reproduce() -> anyhow::Result<Reproduction> {
    on(&Machine::find("cell")?, &Machine::find("cell-blade")?)
}

/// The same on a changed Cell and blade.
///
/// # Errors
/// What keeps a simulation from its end.
pub fn on(cell: &Machine, blade: &Machine) -> anyhow::Result<Reproduction> {
    let percent = measure::most_congestion_percent(blade)?;
    let place = ("most congestion of 16 messages", "percent");
    let mut all = Reproduction {
        entries: vec![Entry::new("C 7.1", place, (218.0, percent), true)],
        parameters: measure::parameters(cell, blade)?,
        shares: Shares::default(),
        misses: Vec::new(),
    };
    for (at, model) in MODELS.iter().enumerate() {
        let machine = match model.cells {
            Cells::One => cell,
            Cells::Two => blade,
        };
        let next = MODELS.get(at + 1);
        let correction = next.filter(|next| is_corrected_by(model, next));
        let mut misses = Misses::new(model, correction);
        for point in points(model) {
            let entry = entry(model, &point, machine, &all.parameters)?;
            let near = near(entry.ratio);
            misses.count(near);
            all.shares.count(model, &point, correction.is_some(), near);
            all.entries.push(entry);
        }
        all.misses.push(misses);
    }
    Ok(all)
}

/// Whether the line `next` of the tables is `model` corrected.
fn is_corrected_by(model: &Model, next: &Model) -> bool {
    let line = |m: &Model| (m.table, m.name, m.cells, m.domain);
    line(model) == line(next) && next.form != Form::Printed
}

/// Whether ours is as near as C's largest error.
pub fn near(ratio: f64) -> bool {
    (ratio - 1.0).abs() <= NEAR
}

/// What a model is asked, and the simulator.
struct Point {
    ranks: u32,
    bytes: usize,
    x: u32,
}

/// Where a model is held against the simulator: all SPEs and all sizes; barriers with fewer SPEs too.
fn points(model: &Model) -> Vec<Point> {
    let (fewest, spes) = match model.cells {
        Cells::One => (2, SPES),
        Cells::Two => (SPES + 1, BLADE),
    };
    if model.collective == Collective::Barrier {
        let fits = |ranks: &u32| match model.domain {
            Ranks::PowersOfTwo => ranks.is_power_of_two(),
            Ranks::NotPowersOfTwo => !ranks.is_power_of_two(),
            _ => true,
        };
        let (bytes, x) = (0, 0);
        let point = |ranks| Point { ranks, bytes, x };
        return (fewest..=spes).filter(fits).map(point).collect();
    }
    let switches: &[u32] = if model.hybrid { &SWITCHES } else { &[0] };
    let longest = match model.collective {
        Collective::Allgather => MOST_GATHERED / spes as usize,
        _ => usize::MAX,
    };
    let sizes = EXPONENTS.map(|exponent| 1 << exponent);
    let point = |bytes| {
        let ranks = spes;
        let of = move |x: &u32| Point {
            ranks,
            bytes,
            x: *x,
        };
        switches.iter().map(of)
    };
    sizes
        .filter(|bytes| *bytes <= longest)
        .flat_map(point)
        .collect()
}

fn entry(
    model: &Model,
    point: &Point,
    machine: &Machine,
    parameters: &ExtendedPlogp,
) -> anyhow::Result<Entry> {
    let &Point { ranks, bytes, x } = point;
    let paper = (model.time_us)(&Case {
        ranks,
        bytes: bytes as f64,
        x,
        machine: parameters,
    });
    let ours = simulated_us(model, point, machine)?;
    let cells = match model.cells {
        Cells::One => "one Cell",
        Cells::Two => "two Cells",
    };
    let hybrid = match model.hybrid {
        true => format!("-{x}-{}", ranks >> (x - 1)),
        false => String::new(),
    };
    let corrected = match model.form {
        Form::Printed => "",
        Form::Corrected(_) => ", corrected",
    };
    let size = match model.collective {
        Collective::Barrier => String::new(),
        _ => format!(", {}", sizes::say(bytes)),
    };
    let table = ["", "table 1", "table 2", "table 3", "table 4", "table 5"][model.table as usize];
    let row = format!("{}{hybrid}, {cells}{corrected}", model.name);
    let place = (row, format!("{ranks} SPEs{size}"));
    Ok(Entry::new(table, place, (paper, ours), false))
}

/// How long the model's algorithm takes; in place, as C's local stores have the data in one place.
fn simulated_us(model: &Model, point: &Point, machine: &Machine) -> anyhow::Result<f64> {
    let parameters = match model.hybrid {
        true => format!("x={}", point.x),
        false => model.parameters.to_string(),
    };
    let call = Call {
        in_place: model.collective != Collective::Barrier,
        ..Call::new(model.collective, point.ranks)
    };
    let (algorithm, _) = names::algorithm(model.collective, model.algorithm)?;
    let shape = names::shape(algorithm, call, &parameters)?;
    let layout = Layout::regular(model.collective, point.bytes / ELEMENT_BYTES);
    let lower = |rank| {
        let schedule = algorithm.schedule(&shape, rank);
        Plan::lower(&schedule, &call, &layout, ELEMENT_BYTES)
    };
    let plans: Result<Vec<Plan>, _> = (0..point.ranks).map(lower).collect();
    let plans = plans.with_context(|| format!("{} {}", model.collective, model.algorithm));
    let job = Job {
        layer: algorithm.layer,
        plans: &plans?,
        nodes: &shape.nodes,
    };
    Ok(machine.outcome(job)?.completion_ps() as f64 / 1e6)
}

/// How many entries are near, and of how many.
#[derive(Default)]
struct Shares {
    printed: [u32; 2],
    /// With corrected lines in place of those that they correct.
    corrected: [u32; 2],
    /// Of the latter: barriers of fewer SPEs than all, which the others leave out.
    fewer: [u32; 2],
}

impl Shares {
    /// Counts an entry of a model, which another one corrects or not.
    fn count(&mut self, model: &Model, point: &Point, corrected: bool, near: bool) {
        let add = |share: &mut [u32; 2]| {
            share[0] += u32::from(near);
            share[1] += 1;
        };
        let all = matches!(point.ranks, SPES | BLADE);
        if all && model.form == Form::Printed {
            add(&mut self.printed);
        }
        if !corrected {
            add(if all {
                &mut self.corrected
            } else {
                &mut self.fewer
            });
        }
    }

    fn say(&self) -> Vec<String> {
        let say = |[near, all]: [u32; 2], what: &str| {
            let percent = f64::from(near) * 100.0 / f64::from(all);
            format!("{what}: {near} of {all} within 15 %, {percent:.1} %")
        };
        vec![
            say(self.printed, "8 and 16 SPEs, the tables as printed"),
            say(
                self.corrected,
                "8 and 16 SPEs, with corrected lines in place of those that they correct",
            ),
            say(
                self.fewer,
                "barriers of 2 to 7 and 9 to 15 SPEs, with corrected lines too",
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::reproduce::Standing;

    /// What the work is to show: the models predict the simulated machine, if they are right.
    #[test]
    fn most_predictions_are_near() {
        let all = reproduce().expect("every simulation ends");
        for line in &all.misses {
            assert!(line.is_accounted_for(), "{line:?}");
        }
        let entries = all.entries;
        let full = |e: &&Entry| e.standing == Standing::Predicted && !e.row.contains("corrected");
        let full: Vec<&Entry> = entries.iter().filter(full).collect();
        let count = full.iter().filter(|e| near(e.ratio)).count();
        assert!(count * 100 > full.len() * 80, "{count} of {}", full.len());
        // C 7.2's range, for an algorithm of each table.
        for (table, row) in [
            ("table 1", "recursive doubling, one Cell"),
            ("table 2", "binomial opt, two Cells"),
            ("table 3", "recursive doubling, one Cell"),
            ("table 4", "binomial, two Cells"),
            ("table 5", "reduce-scatter, allgather, one Cell"),
        ] {
            let mut line = entries.iter().filter(|e| e.table == table && e.row == row);
            assert!(
                line.any(|e| e.column.contains("8") && near(e.ratio)),
                "{row}"
            );
        }
    }

    /// C 5.2: children that get at once delay the one with the longest path; served in order they do not.
    #[test]
    fn the_priority_inversion_appears() {
        let entries = reproduce().expect("every simulation ends").entries;
        let time = |row: &str, column: &str| {
            let is_it = |e: &&Entry| e.table == "table 2" && e.row == row && e.column == column;
            entries.iter().find(is_it).expect("it is there").ours
        };
        let [simple, opt] = ["binomial simple, one Cell", "binomial opt, one Cell"]
            .map(|row| time(row, "8 SPEs, 16K"));
        assert!(simple > 1.5 * opt, "{simple} {opt}");
    }
}
