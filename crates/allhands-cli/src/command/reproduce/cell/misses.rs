//! The lines of C's tables that miss the simulated machine, and why.

use allhands_core::cost::formula::Form;
use allhands_core::cost::formula::ali::{Cells, Model};

/// Why lines miss that are not corrected: table, name, cells, reason.
const REASONS: [(u32, &str, &[Cells], &str); 4] = [
    (
        1,
        "recursive doubling",
        &[Cells::One, Cells::Two],
        "a bound where p is no power of two: those onto whom nobody folds are a round ahead, and their notifications wait",
    ),
    (
        1,
        "Bruck",
        &[Cells::Two],
        "a bound: on no path does every round cross the BIF, with 16 SPEs at most two of four do (C 7.2 finds its model above the \
         measurement too, and has another reason, the pipelining of messages)",
    ),
    (
        1,
        "gather-broadcast",
        &[Cells::One, Cells::Two],
        "a bound where p is no power of two: the tree is ⌊lg p⌋ deep, and notifications from several children overlap",
    ),
    (
        0,
        "one-to-all",
        &[Cells::Two],
        "the model adds what goes inside the Cell and what crosses, which are under way at the same time",
    ),
];

/// How often a line missed, and why, if that is known.
pub struct Misses {
    model: &'static Model,
    missed: u32,
    all: u32,
    why: Option<&'static str>,
}

impl Misses {
    /// None so far, of a line that the line `correction` corrects, or nothing does.
    pub fn new(model: &'static Model, correction: Option<&'static Model>) -> Misses {
        let corrected = correction.and_then(|model| match model.form {
            Form::Printed => None,
            Form::Corrected(what) => Some(what),
        });
        let fits = |(table, name, cells, _): &&(u32, &str, &[Cells], &str)| {
            (*table == 0 || *table == model.table)
                && *name == model.name
                && cells.contains(&model.cells)
        };
        let known = REASONS.iter().find(fits).map(|(_, _, _, why)| *why);
        Misses {
            model,
            missed: 0,
            all: 0,
            why: corrected.or(known),
        }
    }

    /// Counts an entry.
    pub fn count(&mut self, near: bool) {
        self.missed += u32::from(!near);
        self.all += 1;
    }

    /// Whether the line misses, and nobody knows why.
    #[cfg(test)]
    pub fn unexplained(&self) -> bool {
        self.missed > 0 && self.why.is_none()
    }

    /// A line about it, if it misses.
    #[must_use]
    pub fn say(&self) -> Option<String> {
        let Misses {
            model, missed, all, ..
        } = self;
        let cells = match model.cells {
            Cells::One => "one Cell",
            Cells::Two => "two Cells",
        };
        let corrected = match model.form {
            Form::Printed => "",
            Form::Corrected(_) => ", corrected",
        };
        let why = self.why.unwrap_or("nobody knows why");
        let line = format!(
            "table {}: {}, {cells}{corrected}: {missed} of {all} miss: {why}",
            model.table, model.name
        );
        (*missed > 0).then_some(line)
    }
}
