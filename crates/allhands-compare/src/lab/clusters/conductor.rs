//! The conductor: gives everybody's ranks on the lab's hosts their turns, and takes the times.

use super::arguments::Arguments;
use super::contender::{self, Ours};
use super::record::{Network, Record, Whose};
use crate::board::{self, Board};
use crate::cell::{COLLECTIVES, Cell};
use crate::error::{Error, at};
use crate::group::{Failure, Group, Name, Turn};
use crate::lab::Lab;
use std::fmt::Display;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use xtask::peers::Installed;

/// The least and the most time of a turn.
const BUDGETS: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(250));
/// How often a turn is tried in which a rank began every call late.
const TRIES: usize = 3;
/// What a cell takes of the bound's time, in each turn: a call that warms up, two that are timed, of somebody slow; and what each
/// turn takes besides.
const CALLS_OF_A_TURN: f64 = 6.0;
const TURN_US: f64 = 30_000.0;

/// What stays the same over all numbers of hosts.
pub(super) struct Stage<'a> {
    pub(super) arguments: &'a Arguments,
    pub(super) worker: PathBuf,
    /// For boards, shims and what ranks print.
    pub(super) folder: PathBuf,
    pub(super) installed: Vec<Installed>,
    pub(super) end: Instant,
}

/// Ranks of one contender that are to be started.
pub(super) struct Entry {
    pub(super) whose: Whose,
    pub(super) launcher: Command,
}

/// Everybody's ranks, asleep until it is their turn.
pub(super) struct Cast<'a> {
    groups: Vec<Group<'a>>,
    whose: Vec<Whose>,
}

/// What the turns of all cells came to.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) records: Vec<Record>,
    /// Cells for which there was no time.
    pub(super) left_out: Vec<String>,
    /// Whether a result was wrong, or one of our cells has no times.
    pub(super) has_failed: bool,
}

impl Cast<'_> {
    pub(super) fn whose(&self) -> &[Whose] {
        &self.whose
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.whose.iter().map(|whose| whose.name.clone()).collect()
    }
}

impl Stage<'_> {
    /// A board for so many groups.
    pub(super) fn board(&self, name: &str, groups: usize) -> Result<(Board, PathBuf), Error> {
        let path = self.folder.join(name);
        let mut options = File::options();
        let file = options
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)
            .map_err(at(&path))?;
        file.set_len(Board::bytes(groups) as u64)
            .map_err(at(&path))?;
        Ok((Board::map(&file).map_err(at(&path))?, path))
    }

    pub(super) fn shim(&self, library: &str) -> PathBuf {
        self.folder.join(format!("shim-{library}.so"))
    }

    /// Ours on one of our networks, by our own choice.
    pub(super) fn ours(&self, lab: &Lab<'_>, name: &str, network: &str, rails: u32) -> Entry {
        let ours = Ours {
            network,
            rails,
            each: self.arguments.each,
            policy: None,
        };
        self.entry(lab, name, ours)
    }

    /// All that is on one rail: ours on each network and by each policy, and the peers.
    pub(super) fn contenders(&self, lab: &Lab<'_>) -> Vec<Entry> {
        let networks = self.arguments.networks.iter();
        let ours = networks.map(|network| self.ours(lab, network, network, 1));
        let entries = ours.chain(self.by_policies(lab));
        entries.chain(self.peers(lab)).collect()
    }

    /// Ours by what else is to choose.
    pub(super) fn by_policies(&self, lab: &Lab<'_>) -> Vec<Entry> {
        let entry = |policy: &String| {
            let ours = Ours {
                network: &self.arguments.networks[0],
                rails: self.arguments.rails,
                each: self.arguments.each,
                policy: Some(policy),
            };
            self.entry(lab, policy, ours)
        };
        self.arguments.policies.iter().map(entry).collect()
    }

    fn entry(&self, lab: &Lab<'_>, name: &str, ours: Ours<'_>) -> Entry {
        Entry {
            whose: Whose {
                name: name.to_owned(),
                is_ours: true,
            },
            launcher: contender::ours(lab, &self.worker, ours),
        }
    }

    /// The peers that are asked for.
    pub(super) fn peers(&self, lab: &Lab<'_>) -> Vec<Entry> {
        let entry = |peer: &'static contender::Contender| {
            let installed = self
                .installed
                .iter()
                .find(|i| i.peer().name == peer.library)?;
            let shim = self.shim(peer.library);
            let places = (self.arguments.each, self.arguments.rails);
            Some(Entry {
                whose: Whose {
                    name: peer.name.to_owned(),
                    is_ours: false,
                },
                launcher: peer.command(lab, installed, [&self.worker, &shim], places),
            })
        };
        self.arguments
            .peers()
            .into_iter()
            .filter_map(entry)
            .collect()
    }

    /// Starts everybody's ranks, one after the other. Whoever of ours is only reported may be missing, which is said.
    pub(super) fn cast<'b>(
        &self,
        ranks: u32,
        (board, path): (&'b Board, &Path),
        entries: Vec<Entry>,
    ) -> Result<Cast<'b>, Error> {
        let mut cast = Cast {
            groups: Vec::new(),
            whose: Vec::new(),
        };
        for (number, entry) in entries.into_iter().enumerate() {
            let Entry { whose, launcher } = entry;
            let library = if whose.is_ours { "allhands" } else { "peer" };
            let name = Name {
                library,
                setting: "lab",
            };
            let place = (board, path, number);
            let group = Group::new(name, place, ranks as usize, launcher, &self.folder);
            let mut group = group.on_hosts();
            match group.start().and_then(|()| group.attached()) {
                Ok(()) => {
                    cast.groups.push(group);
                    cast.whose.push(whose);
                }
                Err(Failure::Interrupted) => return Err(Error::Interrupted),
                Err(failure) if whose.is_ours && number > 0 => {
                    println!("{} is left out: {failure}", whose.name);
                }
                Err(failure) => {
                    return Err(Error::Start {
                        group: whose.name,
                        failure,
                    });
                }
            }
        }
        Ok(cast)
    }

    /// What ranks take to begin and end a call in which nothing happens: as long as the processors take for all of them.
    pub(super) fn empty_us(&self, cast: &mut Cast<'_>) -> Result<f64, Error> {
        let turn = Turn {
            cell: Cell {
                collective: 1,
                bytes: 8,
            },
            budget: BUDGETS.1,
            flags: board::ASLEEP | board::EMPTY,
        };
        let group = cast.groups.first_mut().ok_or(Error::Interrupted)?;
        match take(group, turn) {
            Ok(us) => Ok(us),
            Err(Failure::Interrupted) => Err(Error::Interrupted),
            Err(failure) => Err(Error::Lab(format!(
                "a call in which nothing happens: {failure}"
            ))),
        }
    }

    /// All cells of a number of hosts, until `end`.
    pub(super) fn play(
        &self,
        cast: &mut Cast<'_>,
        network: Network,
        end: Instant,
        mut show: impl FnMut(&Record),
    ) -> Result<Outcome, Error> {
        let mut outcome = Outcome::default();
        let cells = self.arguments.cells(network.ranks());
        let turns = self.arguments.rounds * cast.groups.len() as u32;
        for (at, &(asked, cell)) in cells.iter().enumerate() {
            let left = end.saturating_duration_since(Instant::now());
            if left < least(cell, network, turns) {
                let size = crate::cell::size(asked);
                outcome
                    .left_out
                    .push(format!("{} of {size}", COLLECTIVES[cell.collective]));
                continue;
            }
            let share = left / (cells.len() - at) as u32 / turns;
            // Some of the time goes into waking, warming up and checking.
            let budget = (share / 3).clamp(BUDGETS.0, BUDGETS.1);
            let columns = self.cell(cast, cell, budget, &mut outcome.has_failed)?;
            let turns = cast.whose.iter().cloned().zip(columns).collect();
            match Record::of((asked, cell), network, turns) {
                Some(record) => {
                    show(&record);
                    outcome.records.push(record);
                }
                None => outcome.has_failed = true,
            }
        }
        Ok(outcome)
    }

    /// By group and round, the medians of a cell's turns; none of a group that failed.
    fn cell(
        &self,
        cast: &mut Cast<'_>,
        cell: Cell,
        budget: Duration,
        has_failed: &mut bool,
    ) -> Result<Vec<Vec<f64>>, Error> {
        let flags = board::FRESH | board::ASLEEP;
        let turn = Turn {
            cell,
            budget,
            flags,
        };
        self.by_turns(cast, &cell, has_failed, |group| take(group, turn))
    }

    /// By group and round, what turns give, each round beginning with another group; nothing of a group that failed.
    pub(super) fn by_turns<T>(
        &self,
        cast: &mut Cast<'_>,
        what: &dyn Display,
        has_failed: &mut bool,
        mut turn: impl FnMut(&mut Group<'_>) -> Result<T, Failure>,
    ) -> Result<Vec<Vec<T>>, Error> {
        let count = cast.groups.len();
        let mut columns: Vec<Option<Vec<T>>> = (0..count).map(|_| Some(Vec::new())).collect();
        for round in 0..self.arguments.rounds as usize {
            for place in 0..count {
                let at = (round + place) % count;
                let Some(column) = &mut columns[at] else {
                    continue;
                };
                match turn(&mut cast.groups[at]) {
                    Ok(given) => column.push(given),
                    Err(Failure::Interrupted) => return Err(Error::Interrupted),
                    Err(failure) => {
                        let whose = &cast.whose[at];
                        println!("{what}: {}: {failure}", whose.name);
                        *has_failed |= matches!(failure, Failure::Wrong { .. }) || at == 0;
                        columns[at] = None;
                    }
                }
            }
        }
        Ok(columns.into_iter().map(Option::unwrap_or_default).collect())
    }
}

/// A turn's median: another is run where noise has left it without a call that counts.
fn take(group: &mut Group<'_>, turn: Turn) -> Result<f64, Failure> {
    let mut taken = Err(Failure::Unsteady);
    for _ in 0..TRIES {
        taken = group.turn(turn);
        if !matches!(taken, Err(Failure::Unsteady)) {
            break;
        }
    }
    taken.map(|times| times.median_us)
}

/// The least that a cell may be expected to take.
fn least(cell: Cell, network: Network, turns: u32) -> Duration {
    let us = f64::from(turns) * (CALLS_OF_A_TURN * network.bound_us(cell) + TURN_US);
    Duration::from_secs_f64(us / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_cell_takes_grows_with_the_bound() {
        let network = Network {
            hosts: 8,
            each: 1,
            rails: 1,
            has_half_rail: false,
            l_us: 500.0,
            g_us: 0.04,
            empty_us: 0.0,
        };
        let of = |bytes| {
            least(
                Cell {
                    collective: 9,
                    bytes,
                },
                network,
                10,
            )
        };
        assert_eq!(of(0), Duration::from_millis(330));
        // A tenth of a second more in each call.
        assert_eq!(of(2_500_000), Duration::from_millis(6330));
    }
}
