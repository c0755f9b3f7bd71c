//! Predictions beside what was measured.

use super::{Arguments, Record, fits, measured, nodes, predicted_us, record};
use crate::command::bench::cell::Record as Measured;
use crate::command::figures::cells::{self, Cell, Time};
use crate::command::simulate::machine::Machine;
use crate::names;
use allhands_core::call::Call;
use anyhow::ensure;

/// The machine where what is combined are elements of this type by this operator: those of `reduce_us`, where nothing is said.
pub fn combining(
    machine: &Machine,
    (operator, element): (Option<&str>, Option<&str>),
) -> anyhow::Result<Machine> {
    machine.combining(operator.unwrap_or("sum"), element.unwrap_or("f64"))
}

/// What a cell that was measured takes as the machine predicts it; nothing, where the machine does not serve it.
///
/// # Errors
/// What of the cell nobody knows.
fn of_measured(machine: &Machine, cell: &Measured) -> anyhow::Result<Option<(Call, f64)>> {
    let collective = names::collective(&cell.collective).map_err(anyhow::Error::msg)?;
    let call = Call {
        root: cell.root,
        ..Call::new(collective, cell.ranks)
    };
    let (algorithm, parameters) = names::algorithm(collective, &cell.algorithm)?;
    let shape = names::shape(algorithm, call, parameters)?.on(nodes(machine, cell.ranks));
    if !fits(machine, algorithm, &shape) {
        return Ok(None);
    }
    let names = (cell.operator.as_deref(), cell.element.as_deref());
    let us = match names {
        (None, None) => predicted_us(machine, algorithm, &shape, cell.bytes)?,
        _ if !collective.reduces() => predicted_us(machine, algorithm, &shape, cell.bytes)?,
        (operator, element) => {
            let combining = combining(machine, (operator, element.or(Some("u64"))))?;
            predicted_us(&combining, algorithm, &shape, cell.bytes)?
        }
    };
    Ok(Some((call, us)))
}

/// What was measured as a cell of figures, with what the machine predicts if there is one; what this version does not know, or what
/// has blocks of different lengths, which no model has, is not predicted.
pub fn beside(machine: Option<&Machine>, cell: &Measured) -> anyhow::Result<Cell> {
    let collective = names::collective(&cell.collective);
    let reduces = collective.as_ref().is_ok_and(|of| of.reduces());
    let is_known = collective.is_ok_and(|of| names::algorithm(of, &cell.algorithm).is_ok());
    let is_typed = reduces && (cell.operator.is_some() || cell.element.is_some());
    let names = (
        cell.operator.as_deref(),
        cell.element.as_deref().or(Some("u64")),
    );
    // A machine's file may not have what is combined.
    let combines = |machine: &Machine| !is_typed || combining(machine, names).is_ok();
    let machine = machine.filter(|it| is_known && cell.layout.is_none() && combines(it));
    let predicted = machine
        .map(|machine| of_measured(machine, cell))
        .transpose()?;
    Ok(Cell {
        place: cells::place(cell),
        collective: cell.collective.to_string(),
        algorithm: cell.algorithm.clone(),
        ranks: cell.ranks,
        bytes: cell.bytes,
        measured: Time::of(cell),
        predicted_us: predicted.flatten().map(|(_, us)| us),
    })
}

/// What was measured, each cell with its prediction, as records and for figures; and by how much single runs err of the others.
pub fn compared(
    arguments: &Arguments,
    whole: &Machine,
    measured: Vec<measured::Cell>,
) -> anyhow::Result<(Vec<Record>, Vec<Cell>, Vec<f64>)> {
    let variants = arguments.left_out().parts();
    let machines = variants.iter().map(|part| whole.leaving_out(*part));
    let machines: Vec<Machine> = machines.collect::<Result<_, _>>()?;
    let machine = machines.last().unwrap_or(whole);
    let (mut records, mut cells, mut of_runs) = (Vec::new(), Vec::new(), Vec::new());
    for measured in measured {
        let cell = measured.record();
        let collective = names::collective(&cell.collective).map_err(anyhow::Error::msg)?;
        let asked = &arguments.collectives;
        if !asked.is_empty() && !asked.contains(&collective) {
            continue;
        }
        let Some((call, us)) = of_measured(machine, &cell)? else {
            continue;
        };
        of_runs.extend(measured.errors_of_runs());
        let error = |us: f64| (us - cell.median_us).abs() / cell.median_us;
        let mut of_variants = Vec::new();
        if variants.len() > 1 {
            for machine in &machines[..machines.len() - 1] {
                of_variants.extend(of_measured(machine, &cell)?.map(|(_, us)| us));
            }
        }
        let whole_us = of_variants.first().copied();
        of_variants.push(us);
        records.push(Record {
            measured_us: Some(cell.median_us),
            uncertain: Some(measured.uncertain()),
            error: Some(error(us)),
            element: cell.element.as_deref().map(str::to_string),
            operator: cell.operator.as_deref().map(str::to_string),
            whole_us,
            whole_error: whole_us.map(error),
            damages: variants
                .iter()
                .copied()
                .zip(of_variants.into_iter().map(error))
                .collect(),
            ..record(machine, (&cell.algorithm, &call), cell.bytes, us)
        });
        cells.push(Cell {
            predicted_us: Some(us),
            ..beside(None, &cell)?
        });
    }
    ensure!(
        !records.is_empty(),
        "--measured: no cell that the machine {} could serve",
        machine.name
    );
    Ok((records, cells, of_runs))
}
