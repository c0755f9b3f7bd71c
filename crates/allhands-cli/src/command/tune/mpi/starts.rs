//! Starts: an MPI whose algorithms are forced when it starts has a start for each variant and round.

use super::kind::Kind;
use super::launch::Ended;
use super::record::{Cell, Hello, Times};
use super::store::{Store, place};
use super::variant::{self, DEFAULT, Value};
use super::{Session, decide};
use std::time::Instant;

/// The most rounds.
const ROUNDS: usize = 9;
/// From the second round on a variant is out that takes so many times as long as the best.
const OUT: f64 = 1.3;

/// Adds to a cell those variants that never came back.
pub fn blame(cell: &mut Cell, stopped: &[String]) {
    let place = format!("{}/", place(cell.kind, cell.bytes));
    let own = stopped
        .iter()
        .filter_map(|stopped| stopped.strip_prefix(&place));
    cell.times.extend(own.map(|variant| Times {
        variant: variant.to_string(),
        us: Vec::new(),
        failed: Some("it never came back".into()),
    }));
}

/// Measures all that the store lacks: in each start the `n`th variant of every collective.
pub fn measure(
    session: &Session<'_>,
    hello: &Hello,
    store: &mut Store,
    on_cell: &mut dyn FnMut(&Cell) -> anyhow::Result<()>,
) -> anyhow::Result<Ended> {
    let mut cells = empty(session, hello, &store.known());
    let most = cells.iter().map(|cell| cell.times.len()).max().unwrap_or(0);
    let mut ended = Ended::Done;
    let mut longest = std::time::Duration::ZERO;
    'rounds: for round in 0..ROUNDS {
        for at in 0..most {
            let begin = Instant::now();
            if session.left() < longest {
                break 'rounds;
            }
            match start(session, hello, &mut cells, (at, round))? {
                Ended::Interrupted => {
                    ended = Ended::Interrupted;
                    break 'rounds;
                }
                Ended::Done | Ended::Stuck(_) => longest = longest.max(begin.elapsed()),
            }
        }
    }
    // What has no interval is no result.
    cells.retain(|cell| cell.times[0].us.iter().flatten().count() >= decide::LEAST_ROUNDS);
    for cell in cells {
        on_cell(&cell)?;
        store.add(hello, cell)?;
    }
    Ok(ended)
}

/// Cells of which nothing is known yet.
fn empty(session: &Session<'_>, hello: &Hello, known: &[String]) -> Vec<Cell> {
    let mut cells: Vec<Cell> = Vec::new();
    for kind in session
        .ask
        .kinds
        .iter()
        .filter_map(|name| Kind::from_name(name))
    {
        let sizes = if kind == Kind::Barrier {
            &[0][..]
        } else {
            &session.ask.bytes
        };
        for bytes in sizes {
            let bytes = kind.vector_bytes(*bytes, hello.ranks);
            let is_there = cells
                .iter()
                .any(|cell| cell.kind == kind && cell.bytes == bytes);
            if is_there || known.contains(&place(kind, bytes)) {
                continue;
            }
            let names = variant::of(hello, kind)
                .into_iter()
                .map(|variant| variant.name());
            let times = |variant: String| Times {
                variant,
                us: Vec::new(),
                failed: None,
            };
            let times = [DEFAULT.to_string()].into_iter().chain(names).map(times);
            cells.push(Cell {
                kind,
                bytes,
                times: times.collect(),
            });
        }
    }
    cells
}

/// One start: the variant of this number of every collective, in all cells in which it stands a chance.
fn start(
    session: &Session<'_>,
    hello: &Hello,
    cells: &mut [Cell],
    (at, round): (usize, usize),
) -> anyhow::Result<Ended> {
    let mut ask = session.ask.clone();
    ask.time = session.left().as_secs_f64();
    let alive = |cell: &&Cell| has_a_chance(cell, at);
    ask.once = cells
        .iter()
        .filter(alive)
        .map(|cell| format!("{}/{DEFAULT}", place(cell.kind, cell.bytes)))
        .collect();
    if ask.once.is_empty() {
        return Ok(Ended::Done);
    }
    let mut environment = Vec::new();
    for kind in Kind::ALL {
        let variants = variant::of(hello, kind);
        let forced = at
            .checked_sub(1)
            .and_then(|at| Some(variants.get(at)?.forced.clone()));
        for (name, value) in forced.into_iter().flatten() {
            let value = match value {
                Value::Number(number) => number.to_string(),
                Value::Named(name) => name.to_string(),
            };
            environment.push((name, value));
        }
    }
    let launch = session.launch(environment);
    let ended = launch.run(&ask, &mut |_, found| {
        let own = cells
            .iter_mut()
            .find(|cell| cell.kind == found.kind && cell.bytes == found.bytes);
        if let (Some(times), Some(found)) = (
            own.and_then(|cell| cell.times.get_mut(at)),
            found.times.first(),
        ) {
            times.us.resize(round, None);
            times.us.push(decide::median(
                &found.us.iter().flatten().copied().collect::<Vec<_>>(),
            ));
            times.failed.clone_from(&found.failed);
        }
        Ok(())
    });
    let (_, ended) = ended?;
    if let Ended::Stuck(trying) = &ended {
        let own = cells.iter_mut().filter(|cell| cell.kind == trying.kind);
        for times in own
            .filter_map(|cell| cell.times.get_mut(at))
            .filter(|_| at > 0)
        {
            times.failed = Some("it never came back".into());
        }
    }
    Ok(ended)
}

fn has_a_chance(cell: &Cell, at: usize) -> bool {
    let median = |times: &Times| {
        let us: Vec<f64> = times.us.iter().flatten().copied().collect();
        decide::median(&us)
    };
    let Some(times) = cell.times.get(at) else {
        return false;
    };
    let best = cell.times.iter().filter(|times| times.failed.is_none());
    let best = best.filter_map(median).fold(f64::INFINITY, f64::min);
    let is_out = times.us.len() >= 2 && median(times).is_none_or(|us| us > OUT * best);
    at == 0 || (times.failed.is_none() && !is_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_far_behind_has_no_chance_but_the_default_has() {
        let times = |us: &[f64]| Times {
            variant: String::new(),
            us: us.iter().copied().map(Some).collect(),
            failed: None,
        };
        let mut cell = Cell {
            kind: Kind::Bcast,
            bytes: 8,
            times: vec![
                times(&[9.0, 9.0]),
                times(&[5.0, 5.0]),
                times(&[7.0, 7.0]),
                times(&[7.0]),
            ],
        };
        let chances: Vec<bool> = (0..5).map(|at| has_a_chance(&cell, at)).collect();
        assert_eq!(chances, [true, true, false, true, false]);
        blame(&mut cell, &["bcast/8/ring".into(), "bcast/80/tree".into()]);
        assert_eq!(cell.times.len(), 5);
        assert!(cell.of("ring").unwrap().failed.is_some());
    }
}
