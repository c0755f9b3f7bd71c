//! Samples: lines of C's tables at points, each with the time that its algorithm takes on the simulated machine.

use super::errors::error;
use super::measure::ELEMENT_BYTES;
use super::points::{Point, points};
use crate::command::reproduce::Entry;
use crate::command::simulate::machine::Machine;
use crate::{names, sizes};
use allhands_core::algorithm::Algorithm;
use allhands_core::call::{Call, Collective};
use allhands_core::cost::formula::Form;
use allhands_core::cost::formula::ali::{Case, Cells, Model};
use allhands_core::cost::plogp::ExtendedPlogp;
use allhands_core::schedule::Shape;

/// A line of the tables at a point.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// The line.
    pub model: &'static Model,
    /// Whether another line corrects it.
    pub is_corrected: bool,
    point: Point,
    simulated_us: f64,
}

impl Sample {
    /// All samples of a line.
    ///
    /// # Errors
    /// What keeps a simulation from its end.
    pub fn all(
        model: &'static Model,
        is_corrected: bool,
        machine: &Machine,
    ) -> anyhow::Result<Vec<Sample>> {
        let sample = |point| {
            Ok(Sample {
                model,
                is_corrected,
                point,
                simulated_us: simulated_us(model, &point, machine)?,
            })
        };
        points(model).into_iter().map(sample).collect()
    }

    /// What the model says, with these parameters.
    pub fn predicted_us(&self, parameters: &ExtendedPlogp) -> f64 {
        let Point { ranks, bytes, x } = self.point;
        (self.model.time_us)(&Case {
            ranks,
            bytes: bytes as f64,
            x,
            machine: parameters,
        })
    }

    /// How far that is from what is simulated.
    pub fn error(&self, parameters: &ExtendedPlogp) -> f64 {
        error(self.predicted_us(parameters), self.simulated_us)
    }

    /// The line's name, as far as all its samples share it.
    pub fn line(&self) -> String {
        self.named("")
    }

    fn named(&self, hybrid: &str) -> String {
        let cells = match self.model.cells {
            Cells::One => "one Cell",
            Cells::Two => "two Cells",
        };
        let corrected = match self.model.form {
            Form::Printed => "",
            Form::Corrected(_) => ", corrected",
        };
        format!("{}{hybrid}, {cells}{corrected}", self.model.name)
    }

    /// The name of its row: the line, and of a hybrid x and y.
    pub fn row(&self) -> String {
        let Point { ranks, x, .. } = self.point;
        match self.model.hybrid {
            true => self.named(&format!("-{x}-{}", ranks >> (x - 1))),
            false => self.line(),
        }
    }

    /// Its point.
    pub fn column(&self) -> String {
        let size = match self.model.collective {
            Collective::Barrier => String::new(),
            _ => format!(", {}", sizes::say(self.point.bytes)),
        };
        format!("{} SPEs{size}", self.point.ranks)
    }

    /// The prediction beside what is simulated.
    pub fn entry(&self, parameters: &ExtendedPlogp) -> Entry {
        let tables = ["", "table 1", "table 2", "table 3", "table 4", "table 5"];
        let times_us = (self.predicted_us(parameters), self.simulated_us);
        let table = tables[self.model.table as usize];
        Entry::new(table, (self.row(), self.column()), times_us, false)
    }
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
    completes_us(machine, algorithm, &shape, point.bytes)
}

/// When the last rank is done with a call of `bytes` bytes.
///
/// # Errors
/// What keeps the simulation from its end.
pub fn completes_us(
    machine: &Machine,
    algorithm: &Algorithm,
    shape: &Shape,
    bytes: usize,
) -> anyhow::Result<f64> {
    machine.completes_us((algorithm, shape), (bytes, ELEMENT_BYTES))
}
