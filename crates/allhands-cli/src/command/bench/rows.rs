//! The rows of a benchmark: which algorithms are measured at which sizes, and what the machine has no memory for.

use super::cell::{Cell, Least, total_bytes};
use super::pace::{Guess, Pace};
use super::spread::{self, Spread};
use super::{Arguments, Subject, report};
use crate::command::memory;
use crate::names;
use allhands::policy::{self, NetworkTimes, predict};
use allhands_core::algorithm::{self, Algorithm, Requirement, Unsuitable, print_parameters};
use allhands_core::call::{Call, Collective};
use allhands_core::choose::{self, Question};
use allhands_core::machine::Nodes;
use allhands_core::schedule::Shape;
use std::time::Duration;

/// The collectives to measure: those that were named, or all that fit.
fn collectives(arguments: &Arguments) -> anyhow::Result<Vec<Collective>> {
    let named = |subject: &Subject| match subject {
        Subject::Of(collective) => Some(*collective),
        Subject::Limit => None,
    };
    let mut collectives: Vec<_> = arguments.collectives.iter().filter_map(named).collect();
    let irregular = arguments.layout != Spread::Regular;
    if collectives.is_empty() {
        collectives.extend(Collective::ALL);
        // Nothing goes through a barrier.
        collectives.retain(|c| !arguments.bandwidth || *c != Collective::Barrier);
        collectives.retain(|c| !irregular || spread::has_irregular(*c));
    }
    if let Some(collective) = collectives.iter().find(|c| !spread::has_irregular(**c)) {
        anyhow::ensure!(
            !irregular,
            "--layout {}: {collective} has no irregular form; scatter, gather, allgather, alltoall and reduce-scatter have",
            arguments.layout
        );
    }
    anyhow::ensure!(
        arguments.algorithm.is_none() || collectives.len() == 1,
        "--algorithm needs one collective, as in: allhands bench allreduce --algorithm ring"
    );
    Ok(collectives)
}

/// What ranks stand on, as far as it says what they can measure.
#[derive(Clone)]
pub struct Ground {
    /// Which ranks share memory, where not all do.
    pub apart: Option<Nodes>,
    /// Whether the others put into one another's windows.
    pub puts: bool,
    /// How many ranks have one machine's memory.
    pub on_one: u32,
    /// How much of it they may hold.
    pub most_bytes: usize,
}

impl Ground {
    /// This machine, on which all ranks share memory.
    pub fn one(ranks: u32) -> Ground {
        Ground {
            apart: None,
            puts: false,
            on_one: ranks,
            most_bytes: memory::most(),
        }
    }

    /// Whether an algorithm serves a call here.
    pub fn admits(&self, algorithm: &Algorithm, shape: &Shape) -> Result<(), Unsuitable> {
        algorithm.admits(shape)?;
        let Some(nodes) = &self.apart else {
            return Ok(());
        };
        let shape = match algorithm.requires.contains(&Requirement::Nodes) {
            true => shape.clone().on(nodes.clone()),
            false => shape.clone(),
        };
        algorithm.admits(&shape)?;
        algorithm.admits_apart(&shape, self.puts, |asked| asked == nodes)
    }

    /// Whether a cell can be measured here.
    fn place(&self, cell: &Cell) -> anyhow::Result<Place> {
        let (algorithm, ranks) = (cell.algorithm, cell.ranks);
        let call = Call {
            root: cell.root,
            ..Call::new(algorithm.collective, ranks)
        };
        let shape = names::shape(algorithm, call, &cell.parameters)?.on_torus(cell.torus);
        if let Err(why) = self.admits(algorithm, &shape) {
            return Ok(Place::Unfit(why));
        }
        let held = self.held(memory::of_call(algorithm, &shape, cell.bytes), ranks);
        if held <= self.most_bytes {
            return Ok(Place::Fits);
        }
        let which = (self.on_one < ranks).then_some(self.on_one);
        let words = report::left_out(cell, which, (held, self.most_bytes));
        Ok(Place::Small(words))
    }

    /// What one machine has of what all ranks hold.
    pub fn held(&self, bytes: usize, ranks: u32) -> usize {
        (bytes as u128 * u128::from(self.on_one) / u128::from(ranks.max(1))) as usize
    }
}

/// Whether a cell can be measured somewhere.
enum Place {
    /// It can.
    Fits,
    /// Its algorithm does not serve there.
    Unfit(Unsuitable),
    /// There is not enough memory, in words.
    Small(String),
}

/// What is to be measured, and what is not.
#[derive(Default)]
pub struct Rows {
    /// The cells: a row for each collective, number of ranks and size.
    pub cells: Vec<Vec<Cell>>,
    /// What would need more memory than the machine lends, in words.
    pub left_out: Vec<String>,
    /// Why the algorithm that was named does not serve, where that is so.
    unfit: Option<String>,
}

impl Rows {
    /// How many cells there are.
    pub fn len(&self) -> usize {
        self.cells.iter().map(Vec::len).sum()
    }

    /// Finds out whether there is anything to say at all.
    pub fn check(&self) -> anyhow::Result<()> {
        let unfit = self.unfit.as_ref();
        let unfit = unfit.map_or_else(String::new, |why| format!(" ({why})"));
        anyhow::ensure!(
            self.len() > 0 || !self.left_out.is_empty(),
            "no algorithm fits{unfit}; allhands list prints what each requires"
        );
        Ok(())
    }

    /// A pace at which all cells end within `budget`, where ranks share one machine or are on `network`.
    pub fn pace(&self, budget: Duration, network: Option<&NetworkTimes>) -> Pace {
        let cells = self.cells.iter().flatten();
        Pace::new(budget, cells.map(|cell| least(cell, network)))
    }
}

/// A guess of the seconds that the two calls take which a cell needs at least, with all that is filled and checked: among ranks that share one
/// machine, or on `network`, which is what the ranks have measured of it, or else any.
pub fn least(cell: &Cell, network: Option<&NetworkTimes>) -> Guess {
    /// For a byte of input or output on one machine, …
    const BYTE_S: f64 = 2e-9;
    /// … and for ranks that are started.
    const START_S: f64 = 0.002;
    let ranks = cell.ranks as usize;
    let steps = 1 + ranks.ilog2() as usize;
    let [latency_s, call_s] = match (network, total_bytes(cell)) {
        (None, _) => {
            let data = memory::of_data(cell.algorithm.collective, ranks, cell.bytes);
            [0.0, data as f64 * BYTE_S]
        }
        (Some(network), bytes) => {
            // A vector goes through a port several times, by most algorithms the more ranks there are; blocks all go through one.
            let through_port = if bytes == cell.bytes {
                bytes * steps
            } else {
                bytes
            };
            let step_ns = network.latency_ns + 2.0 * network.burst_overhead_ns;
            let bytes_ns = through_port as f64 * network.byte_ns;
            // Beside the call all ranks agree on its start, and on its end.
            [3.0 * steps as f64 * step_ns, bytes_ns].map(|ns| ns * 1e-9)
        }
    };
    let calls = f64::from(Least::One.iterations() as u32);
    Guess {
        start_s: START_S + calls * latency_s,
        bytes_s: calls * call_s,
    }
}

/// The cells to measure among so many ranks, each number on its ground: those that the memory there holds.
pub fn rows(
    arguments: &Arguments,
    numbers: &[u32],
    ground: &dyn Fn(u32) -> anyhow::Result<Ground>,
) -> anyhow::Result<Rows> {
    let collectives = collectives(arguments)?;
    let mut rows = Rows::default();
    for &ranks in numbers {
        anyhow::ensure!(
            arguments.root < ranks,
            "--root {}: the ranks are 0 to {}",
            arguments.root,
            ranks - 1
        );
        if let Some(torus) = arguments.torus {
            torus.check(ranks)?;
        }
        let ground = ground(ranks)?;
        for &collective in &collectives {
            let root = if collective.rooted() {
                arguments.root
            } else {
                0
            };
            let call = Call {
                root,
                ..Call::new(collective, ranks)
            };
            for bytes in sizes(arguments, collective) {
                rows.add(arguments, &ground, (call, bytes))?;
            }
        }
    }
    rows.cells.retain(|row| !row.is_empty());
    Ok(rows)
}

/// The sizes of a collective's calls.
fn sizes(arguments: &Arguments, collective: Collective) -> Vec<usize> {
    match collective {
        Collective::Barrier => vec![0],
        _ if arguments.quick => vec![8, 4 << 10, 256 << 10],
        _ => arguments.bytes.clone(),
    }
}

impl Rows {
    /// Adds the row of a call.
    fn add(
        &mut self,
        arguments: &Arguments,
        ground: &Ground,
        (call, bytes): (Call, usize),
    ) -> anyhow::Result<()> {
        // Which one that is the ranks find out when they are there: till then any stands for it.
        let is_open = ground.apart.is_some() && arguments.is_chosen();
        let candidates = match is_open {
            true => defaults(call.collective).collect(),
            false => candidates(arguments, call, bytes)?,
        };
        let elements = arguments.elements()?.of(call.collective);
        elements.check(call.ranks)?;
        let mut row = Vec::new();
        for (algorithm, parameters) in candidates {
            let cell = Cell {
                algorithm,
                parameters,
                ranks: call.ranks,
                root: call.root,
                bytes,
                spread: arguments.layout,
                elements,
                torus: arguments.torus,
                fresh: arguments.fresh,
            };
            match ground.place(&cell)? {
                Place::Unfit(why) => {
                    let why = || format!("{} {}: {why}", algorithm.collective, algorithm.name);
                    self.unfit = arguments.algorithm.as_ref().map(|_| why());
                }
                Place::Small(_) if is_open => {}
                Place::Small(words) => self.left_out.push(words),
                Place::Fits => {
                    row.push(cell);
                    if is_open {
                        break;
                    }
                }
            }
        }
        self.cells.push(row);
        Ok(())
    }

    /// Cells that are listed one by one: those of one collective, number of ranks and size that follow one another are a row.
    ///
    /// # Errors
    /// What of a cell nobody knows.
    pub fn listed(
        cells: Vec<Cell>,
        ground: &dyn Fn(u32) -> anyhow::Result<Ground>,
    ) -> anyhow::Result<Rows> {
        let mut rows = Rows::default();
        let of = |cell: &Cell| (cell.algorithm.collective, cell.ranks, cell.bytes);
        for cell in cells {
            match ground(cell.ranks)?.place(&cell)? {
                Place::Unfit(why) => {
                    let (algorithm, name) = (cell.algorithm, cell.name());
                    let words = format!("left out {} {name}: {why}", algorithm.collective);
                    rows.left_out.push(words);
                }
                Place::Small(words) => rows.left_out.push(words),
                Place::Fits => match rows.cells.last_mut() {
                    Some(row) if of(&row[0]) == of(&cell) => row.push(cell),
                    Some(_) | None => rows.cells.push(vec![cell]),
                },
            }
        }
        Ok(rows)
    }
}

fn candidates(
    arguments: &Arguments,
    call: Call,
    bytes: usize,
) -> anyhow::Result<Vec<(&'static Algorithm, String)>> {
    let collective = call.collective;
    if let Some(text) = &arguments.algorithm {
        let (algorithm, parameters) = names::algorithm(collective, text)?;
        return Ok(vec![(algorithm, parameters.to_string())]);
    }
    if arguments.is_chosen() {
        return Ok(vec![chosen(arguments, call, bytes)?]);
    }
    if !arguments.settings {
        return Ok(defaults(collective).collect());
    }
    let all = algorithm::of(collective).flat_map(|a| {
        let settings = a.settings.iter();
        settings.map(move |setting| (a, (*setting).to_string()))
    });
    Ok(all.collect())
}

/// All algorithms of a collective, each in its first setting.
fn defaults(collective: Collective) -> impl Iterator<Item = (&'static Algorithm, String)> {
    algorithm::of(collective).flat_map(|a| {
        let first = a.settings.iter().take(1);
        first.map(move |setting| (a, (*setting).to_string()))
    })
}

/// What serves such a call if no algorithm is named.
fn chosen(
    arguments: &Arguments,
    call: Call,
    bytes: usize,
) -> anyhow::Result<(&'static Algorithm, String)> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let question = Question {
        irregular: arguments.layout != Spread::Regular,
        oversubscribed: call.ranks as usize > cores,
        ..Question::new(call, bytes as u64)
    };
    let choice = choose::choose(&policy::installed()?, &question, &predict)?;
    let (algorithm, shape) = (choice.algorithm, &choice.shape);
    Ok((
        algorithm,
        print_parameters(algorithm.keys, &shape.parameters),
    ))
}
