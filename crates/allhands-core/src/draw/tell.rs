//! The telling: a run becomes a story, table by table.

use super::lanes::Lanes;
use super::timeline::{Place, Timeline};
use super::{Cell, DrawError, Message, State, Step, Story, Style, Table, label, live};
use crate::algorithm::{Algorithm, Key, Requirement, print_parameters};
use crate::call::{Call, Collective, Unit};
use crate::machine::Fabric;
use crate::schedule::{Blocks, Shape, Space, View};
use crate::symbolic::{Delivery, Value};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

/// Runs `algorithm` for `shape` and tells what happens.
///
/// # Errors
/// [`DrawError`], if the call is too large for a picture or the algorithm does not serve it.
pub fn story(algorithm: &Algorithm, shape: &Shape) -> Result<Story, DrawError> {
    let timeline = Timeline::new(algorithm, shape)?;
    let call = timeline.call;
    let viewed = timeline.schedules.iter().any(|s| !s.views.is_empty());
    let teller = Teller {
        timeline: &timeline,
        viewed,
        lanes: Lanes::new(algorithm, shape),
    };
    let mut steps: Vec<Step> = (0..=timeline.rounds)
        .map(|round| teller.step(round))
        .collect();
    teller.add_ends(&mut steps);
    let rearranged = viewed && !call.collective.reduces();
    Ok(Story {
        title: title(algorithm, shape),
        subtitle: format!("{} ({})", algorithm.summary, algorithm.citation),
        collective: call.collective,
        ranks: call.ranks,
        style: match shape.torus {
            Some(_) if algorithm.requires.contains(&Requirement::Torus) => Style::Grid,
            _ => Style::of(call.collective, rearranged),
        },
        steps,
        torus: shape.torus,
        lanes: teller.lanes.names,
        meets_in: Fabric::ALL
            .into_iter()
            .find(|fabric| algorithm.fabrics().has(*fabric)),
    })
}

fn title(algorithm: &Algorithm, shape: &Shape) -> String {
    let call = &shape.call;
    let mut title = format!("{} {}", call.collective, algorithm.name);
    let set = |key: &&Key| shape.get(key.name) != key.default;
    let chosen: Vec<Key> = algorithm.keys.iter().filter(set).copied().collect();
    if !chosen.is_empty() {
        let parameters = print_parameters(&chosen, &shape.parameters);
        title = format!("{title}:{parameters}");
    }
    title = format!(
        "{title}, {} rank{}",
        call.ranks,
        if call.ranks == 1 { "" } else { "s" }
    );
    if call.collective.rooted() {
        title = format!("{title}, root {}", call.root);
    }
    if call.in_place {
        title.push_str(", in place");
    }
    title
}

struct Teller<'a> {
    timeline: &'a Timeline,
    viewed: bool,
    lanes: Lanes,
}

impl Teller<'_> {
    fn call(&self) -> &Call {
        &self.timeline.call
    }

    /// What names units: the call, and in how many pieces blocks are cut.
    fn naming(&self) -> (&Call, u32) {
        (self.call(), self.call().pieces(self.parts()))
    }

    fn parts(&self) -> u32 {
        self.timeline.schedules.first().map_or(1, |s| s.parts)
    }

    fn step(&self, round: u32) -> Step {
        let messages = self.timeline.messages_of(round);
        let tables = match (self.call().collective, self.viewed) {
            (Collective::Barrier, _) => Vec::new(),
            (_, true) => self.view_tables(round),
            (_, false) => vec![self.table(when(round), |rank| self.default_column(rank, round))],
        };
        let mut step = Step {
            number: round,
            messages: messages.iter().map(|m| self.message(m)).collect(),
            tables,
            overhead: self.timeline.overhead[round as usize].clone(),
        };
        self.mark(&mut step);
        step
    }

    fn message(&self, delivery: &Delivery) -> Message {
        let blocks = delivery.values.len() as u32;
        Message {
            from: delivery.from,
            to: delivery.to,
            port: delivery.port,
            lane: self.lanes.of(delivery),
            what: label::values(self.naming(), &self.timeline.sets, &delivery.values),
            amount: label::amount(self.call(), self.parts(), blocks),
            combined: delivery.reduced,
        }
    }

    /// A table of columns, filled up to equal length.
    fn table(&self, title: String, column: impl Fn(u32) -> Vec<Value>) -> Table {
        let columns: Vec<Vec<Value>> = (0..self.call().ranks).map(column).collect();
        let length = columns.iter().map(Vec::len).max().unwrap_or(0);
        let cell = |column: &Vec<Value>, row: usize| {
            self.cell(column.get(row).copied().unwrap_or(Value::NONE))
        };
        Table {
            title,
            rows: (0..length)
                .map(|row| columns.iter().map(|c| cell(c, row)).collect())
                .collect(),
        }
    }

    fn cell(&self, value: Value) -> Cell {
        let (part, ranks) = match value.is_none() {
            true => (String::new(), String::new()),
            false => label::run(self.naming(), &self.timeline.sets, value, value.unit()),
        };
        Cell {
            text: format!("{part}{ranks}"),
            unit: (!value.is_none()).then(|| value.unit()),
            part,
            ranks,
            state: State::Unchanged,
            sent_next: false,
        }
    }

    /// The tables of the views that hold at the end of a round: where a rank has several for one time, one after another.
    fn view_tables(&self, round: u32) -> Vec<Table> {
        let at_once = |rank: u32| self.views_by(rank, round).count();
        let most = (0..self.call().ranks)
            .map(at_once)
            .max()
            .unwrap_or(1)
            .max(1);
        let table = |number: usize| {
            let title = if number == 0 {
                when(round)
            } else {
                String::from("rearranged")
            };
            self.table(title, |rank| {
                let skip = (at_once(rank).max(1) - 1).min(number);
                self.view_column(rank, round, skip)
            })
        };
        let mut tables: Vec<Table> = (0..most).map(table).collect();
        tables.dedup_by(|later, earlier| later.rows == earlier.rows);
        tables
    }

    /// The views of a rank that become valid together, the last ones by the end of a round.
    fn views_by(&self, rank: u32, round: u32) -> impl Iterator<Item = &View> {
        let done = self.timeline.items_by(rank, round);
        let before = round
            .checked_sub(1)
            .map_or(0, |r| self.timeline.items_by(rank, r));
        let views = self.timeline.schedules[rank as usize].views.iter();
        let last = views
            .clone()
            .rfind(|v| v.items <= done)
            .map_or(0, |v| v.items);
        let fresh = round == 0 || last > before;
        views
            .filter(move |v| v.items == last)
            .skip(if fresh { 0 } else { usize::MAX })
    }

    /// What a rank holds in the rows of its view. Where its last view is older than what the rank has done since, the
    /// next one holds if its blocks are being filled already; else what weighs more than the view's row replaces it.
    fn view_column(&self, rank: u32, round: u32, number: usize) -> Vec<Value> {
        let done = self.timeline.items_by(rank, round);
        let fresh = self.views_by(rank, round).nth(number);
        let views = &self.timeline.schedules[rank as usize].views;
        let Some(last) = views.iter().rfind(|v| v.items <= done) else {
            return self.default_column(rank, round);
        };
        if let Some(view) = fresh {
            return self.rows_of(view, rank, round);
        }
        let filling = |row: &Option<Blocks>| {
            first_block(row).is_some_and(|p| self.timeline.writer(rank, p, round) == Some(done))
        };
        let next = views.iter().find(|v| v.items == done + 1);
        if let Some(view) = next.filter(|v| v.rows.iter().any(filling)) {
            return self.rows_of(view, rank, round);
        }
        let mut column = self.rows_of(last, rank, round);
        if self.call().collective.reduces() && last.items < done {
            let known = self.default_column(rank, round);
            for (row, value) in column.iter_mut().zip(known) {
                if self.weight(value) > self.weight(*row) {
                    *row = value;
                }
            }
        }
        column
    }

    fn rows_of(&self, view: &View, rank: u32, round: u32) -> Vec<Value> {
        let value = |place: Place| self.timeline.value(rank, place, round, u32::MAX);
        let rows = view.rows.iter().map(first_block);
        rows.map(|place| place.map_or(Value::NONE, value)).collect()
    }

    /// How many contributions are combined in a value.
    fn weight(&self, value: Value) -> u32 {
        if value.is_none() {
            return 0;
        }
        let ranges = self.timeline.sets.ranges(value);
        ranges.iter().map(|r| r.1 - r.0).sum()
    }

    /// What a rank holds where its algorithm names no rows: a row for each piece of data, with the most complete
    /// that still matters.
    fn default_column(&self, rank: u32, round: u32) -> Vec<Value> {
        let call = self.call();
        if call.collective == Collective::Alltoall {
            return self.pairs_column(rank, round);
        }
        let count = if call.collective.cuts_freely() {
            self.parts()
        } else {
            call.ranks * call.pieces(self.parts())
        };
        let mut column = vec![Value::NONE; count as usize];
        for (place, value) in self.timeline.held(rank, round) {
            let Some(best) = column.get_mut(value.unit() as usize) else {
                continue;
            };
            let better = best.is_none() || self.weight(value) > self.weight(*best);
            if better && live::lives(self.timeline, rank, place, round) {
                *best = value;
            }
        }
        column
    }

    /// What a rank of an alltoall holds: in row i what has come from rank i, in the other rows what is still to go, if
    /// possible in the row of the rank to which it goes.
    fn pairs_column(&self, rank: u32, round: u32) -> Vec<Value> {
        let (call, pieces) = self.naming();
        let (ranks, pieces) = (Unit::from(call.ranks), Unit::from(pieces));
        // A row for each piece of each rank's block.
        let row_of = |rank: Unit, value: &Value| (rank * pieces + value.unit() % pieces) as usize;
        let source = |value: &Value| value.unit() / pieces / ranks;
        let destination = |value: &Value| value.unit() / pieces % ranks;
        let held = self.timeline.held(rank, round);
        let live = held.filter(|(place, _)| live::lives(self.timeline, rank, *place, round));
        let mut values: Vec<Value> = live.map(|(_, value)| value).collect();
        values.sort_unstable();
        values.dedup();
        let (here, onward): (Vec<Value>, Vec<Value>) = values
            .into_iter()
            .partition(|v| destination(v) == Unit::from(rank));
        let mut column = vec![Value::NONE; (ranks * pieces) as usize];
        here.into_iter()
            .for_each(|v| column[row_of(source(&v), &v)] = v);
        let mut homeless = Vec::new();
        for value in onward {
            let row = &mut column[row_of(destination(&value), &value)];
            if row.is_none() {
                *row = value;
            } else {
                homeless.push(value);
            }
        }
        let free = column.iter_mut().filter(|row| row.is_none());
        free.zip(homeless).for_each(|(row, value)| *row = value);
        column
    }

    /// Marks what has just come in the first table and what goes next in the last.
    fn mark(&self, step: &mut Step) {
        let matches = |cell: &Cell, value: &Value| {
            cell.unit == Some(value.unit())
                && cell.ranks == label::ranks(&self.timeline.sets.ranges(*value))
        };
        let came = self.timeline.messages_of(step.number);
        for row in step
            .tables
            .first_mut()
            .map(|t| &mut t.rows)
            .into_iter()
            .flatten()
        {
            for (rank, cell) in (0..).zip(row) {
                let mine = came.iter().filter(|m| m.to == rank);
                let brought = mine.filter(|m| m.landed.iter().any(|v| matches(cell, v)));
                cell.state = brought.fold(State::Unchanged, |state, m| match (state, m.reduced) {
                    (_, true) | (State::Combined, false) => State::Combined,
                    (State::Unchanged | State::Received, false) => State::Received,
                });
            }
        }
        let go = self.timeline.messages_of(step.number + 1);
        for row in step
            .tables
            .last_mut()
            .map(|t| &mut t.rows)
            .into_iter()
            .flatten()
        {
            for (rank, cell) in (0..).zip(row) {
                let mut mine = go.iter().filter(|m| m.from == rank);
                cell.sent_next = mine.any(|m| m.values.iter().any(|v| matches(cell, v)));
            }
        }
    }

    /// Puts the input before the first table and the result after the last, unless these show them already.
    fn add_ends(&self, steps: &mut [Step]) {
        if self.call().collective == Collective::Barrier {
            return;
        }
        let result = self.table(String::from("result"), |rank| self.result_column(rank));
        if let Some(tables) = steps.last_mut().map(|s| &mut s.tables) {
            match tables.last_mut() {
                Some(last) if shows(last, &result) => {
                    if tables.len() > 1 {
                        // Only its place in the memory changed.
                        tables.truncate(tables.len() - 1);
                        tables.push(result);
                    }
                }
                _ => tables.push(result),
            }
        }
        let input = self.table(when(0), |rank| self.input_column(rank));
        let Some(tables) = steps.first_mut().map(|s| &mut s.tables) else {
            return;
        };
        let Some(first) = tables.first_mut().filter(|first| !shows(first, &input)) else {
            return;
        };
        if self.viewed {
            first.title = String::from("rearranged");
            tables.insert(0, input);
        }
    }

    fn input_column(&self, rank: u32) -> Vec<Value> {
        let parts = self.parts();
        let blocks = self.call().input_blocks(rank, parts);
        let value = |block| self.timeline.value(rank, (Space::Input, block), 0, 0);
        (0..blocks).map(value).collect()
    }

    fn result_column(&self, rank: u32) -> Vec<Value> {
        let (call, parts) = (self.call(), self.parts());
        let mut column = Vec::new();
        for block in 0..call.output_blocks(rank, parts) {
            let row = match call.collective {
                Collective::Alltoall => block as usize,
                _ => call.output_unit(rank, block, parts) as usize,
            };
            column.resize(column.len().max(row + 1), Value::NONE);
            let place = (Space::Output, block);
            column[row] = match call.after(rank, block, parts) {
                Some(_) => self.timeline.value(rank, place, u32::MAX, u32::MAX),
                None => Value::NONE,
            };
        }
        column
    }
}

fn when(round: u32) -> String {
    match round {
        0 => String::from("initially"),
        _ => format!("after step {round}"),
    }
}

/// Whether a table has everything that another has, at the same places.
fn shows(table: &Table, other: &Table) -> bool {
    let at = |row: usize, rank: usize| table.rows.get(row).map(|r| r[rank].text.as_str());
    other.rows.iter().enumerate().all(|(row, cells)| {
        let same = |(rank, cell): (usize, &Cell)| {
            cell.unit.is_none() || at(row, rank) == Some(cell.text.as_str())
        };
        cells.iter().enumerate().all(same)
    })
}

fn first_block(row: &Option<Blocks>) -> Option<Place> {
    row.and_then(|blocks| Some((blocks.space, blocks.each(0).next()?)))
}
