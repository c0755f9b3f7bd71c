//! The lines of C's tables that miss the simulated machine, and why.

use allhands_core::cost::formula::ali::{Cells, Model};
use allhands_core::cost::formula::{Form, Miss};

/// How often a line missed, and why, if that is known.
#[derive(Debug)]
pub struct Misses {
    model: &'static Model,
    missed: u32,
    all: u32,
    why: Option<Miss>,
}

impl Misses {
    /// None so far, of a line that the line `correction` corrects, or nothing does.
    pub fn new(model: &'static Model, correction: Option<&'static Model>) -> Misses {
        let corrected = correction.and_then(|model| match model.form {
            Form::Printed => None,
            Form::Corrected(what) => Some(Miss::Misprint(what)),
        });
        Misses {
            model,
            missed: 0,
            all: 0,
            why: corrected.or(model.miss),
        }
    }

    /// Counts an entry.
    pub fn count(&mut self, near: bool) {
        self.missed += u32::from(!near);
        self.all += 1;
    }

    /// Whether the line misses, and it is known why, or neither.
    #[cfg(test)]
    pub fn is_accounted_for(&self) -> bool {
        (self.missed > 0) == self.why.is_some()
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
        let why = self.why.map(|why| why.to_string());
        let why = why.as_deref().unwrap_or("nobody knows why");
        let line = format!(
            "table {}: {}, {cells}{corrected}: {missed} of {all} miss: {why}",
            model.table, model.name
        );
        (*missed > 0).then_some(line)
    }
}
