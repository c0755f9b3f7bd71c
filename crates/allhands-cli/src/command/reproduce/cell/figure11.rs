//! Figure 11: the same models with parameters that know nothing of Cells, the gap of a single sender and no contention.

use super::errors::Errors;
use super::samples::Sample;
use crate::command::reproduce::Entry;
use allhands_core::cost::formula::Form;
use allhands_core::cost::plogp::ExtendedPlogp;

/// The greatest errors that C 7.2 names, in percent: "of using the old gap parameters", and "from ignoring BIF contention".
const OLD_GAP_PERCENT: f64 = 140.0;
const NO_CONTENTION_PERCENT: f64 = 56.0;

/// What a variant leaves of the right parameters, and what it does to the models that it changes.
pub struct Variant {
    what: &'static str,
    /// The greatest error that C names.
    paper_percent: f64,
    /// By form: the tables as printed, and with corrected lines in place of those that they correct.
    damages: [Damage; 2],
}

/// Errors at the points where a variant predicts something else than the right parameters.
#[derive(Default)]
struct Damage {
    right: Errors,
    wrong: Errors,
}

const FORMS: [&str; 2] = ["as printed", "as corrected"];

/// Whether a sample counts for a form, by its number in [`FORMS`].
fn counts(sample: &Sample, form: usize) -> bool {
    match form {
        0 => sample.model.form == Form::Printed,
        _ => !sample.is_corrected,
    }
}

/// All variants; `queued` and `waiting` have a single sender's gap, by whether it waits for a message before the next.
pub fn variants(
    samples: &[Sample],
    right: &ExtendedPlogp,
    [queued, waiting]: &[ExtendedPlogp; 2],
) -> Vec<Variant> {
    let without = |p: &ExtendedPlogp| ExtendedPlogp {
        contention: Vec::new(),
        ..p.clone()
    };
    let both_percent = OLD_GAP_PERCENT.max(NO_CONTENTION_PERCENT);
    let all = [
        ("old gap, messages queued", OLD_GAP_PERCENT, queued.clone()),
        (
            "old gap, each message waited for",
            OLD_GAP_PERCENT,
            waiting.clone(),
        ),
        ("no contention", NO_CONTENTION_PERCENT, without(right)),
        (
            "old gap, queued, and no contention",
            both_percent,
            without(queued),
        ),
    ];
    let variant = |(what, paper_percent, wrong)| Variant {
        what,
        paper_percent,
        damages: [0, 1].map(|form| damage(samples, form, [right, &wrong])),
    };
    all.map(variant).into()
}

fn damage(samples: &[Sample], form: usize, [right, wrong]: [&ExtendedPlogp; 2]) -> Damage {
    let mut damage = Damage::default();
    for sample in samples.iter().filter(|sample| counts(sample, form)) {
        if sample.predicted_us(right) == sample.predicted_us(wrong) {
            continue;
        }
        let place = || format!("{}, {}", sample.row(), sample.column());
        damage.right.add(sample.error(right), place);
        damage.wrong.add(sample.error(wrong), place);
    }
    damage
}

impl Variant {
    /// The greatest errors beside the paper's.
    pub fn entries(&self) -> Vec<Entry> {
        let entry = |(damage, form): (&Damage, &str)| {
            let row = format!("{}, {form}", self.what);
            let percents = (self.paper_percent, damage.wrong.greatest_percent());
            let place = (row, "greatest error, percent");
            Entry::new("figure 11", place, percents, false)
        };
        self.damages.iter().zip(FORMS).map(entry).collect()
    }

    /// Lines: how far the models are that it changes, with the right parameters and with these.
    pub fn say(&self) -> Vec<String> {
        let say = |(damage, form): (&Damage, &str)| {
            let name = format!("{}, {form}", self.what);
            let right = "    the same predictions with the right parameters";
            [damage.wrong.say(&name), damage.right.say(right)]
        };
        self.damages.iter().zip(FORMS).flat_map(say).collect()
    }

    /// How much the greatest error grows, in percent of the simulated time, of the corrected models.
    #[cfg(test)]
    pub fn grows_percent(&self) -> f64 {
        let [_, damage] = &self.damages;
        damage.wrong.greatest_percent() - damage.right.greatest_percent()
    }
}
