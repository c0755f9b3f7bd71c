//! The lines of C's tables: how near each is to the simulated machine, and why it misses where it does.

use super::errors::Errors;
use super::samples::Sample;
use allhands_core::cost::formula::ali::Model;
use allhands_core::cost::formula::{Form, Miss};
use allhands_core::cost::plogp::ExtendedPlogp;

/// A line, its errors, and why it misses, if it does and that is known.
#[derive(Debug)]
pub struct Line {
    name: String,
    errors: Errors,
    why: Option<Miss>,
}

impl Line {
    /// The line that these samples are of, which the line `correction` corrects, or nothing does.
    pub fn new(
        model: &'static Model,
        correction: Option<&'static Model>,
        samples: &[Sample],
        parameters: &ExtendedPlogp,
    ) -> Line {
        let corrected = correction.and_then(|model| match model.form {
            Form::Printed => None,
            Form::Corrected(what) => Some(Miss::Misprint(what)),
        });
        let mut errors = Errors::default();
        for sample in samples {
            errors.add(sample.error(parameters), || sample.column());
        }
        let name = match samples.first() {
            Some(sample) => format!("table {}: {}", model.table, sample.line()),
            None => String::new(),
        };
        Line {
            name,
            errors,
            why: corrected.or(model.miss),
        }
    }

    /// Whether the line misses, and it is known why, or neither.
    #[cfg(test)]
    pub fn is_accounted_for(&self) -> bool {
        (self.errors.missed() > 0) == self.why.is_some()
    }

    /// Its errors, and below them why it misses, if it does.
    #[must_use]
    pub fn say(&self) -> String {
        let line = self.errors.say(&self.name);
        if self.errors.missed() == 0 {
            return line;
        }
        let why = self.why.map(|why| why.to_string());
        let why = why.as_deref().unwrap_or("nobody knows why");
        format!("{line}\n    {why}")
    }
}
