//! The verifier: proves the six laws for an algorithm, a number of ranks and a root.
//!
//! 1. Every send meets exactly one receive of the same blocks, every wait its notifications, whatever the timing: what is matched
//!    by counting (messages of a channel, a rank's waits for a flag, meetings in a fabric) one strand counts.
//! 2. It ends, even when no message is buffered.
//! 3. Each contribution enters each result exactly once, in rank order where the operator needs it.
//! 4. Nothing is read before it is written; no two unordered operations touch the same block unless
//!    both only read; with input and output apart (the input is never written) and in place.
//! 5. One-sided operations touch a window only between the notifications that grant it, also across
//!    two consecutive calls, of the same root and of the next; and where ranks put to other nodes, also if a network carries that,
//!    on which a put is told of by notifications to the same rank alone.
//! 6. No rank uses more ports than claimed; steps, volume and work are what the algorithm's file claims
//!    (of what is made of other algorithms, the steps at most); where streams are claimed to share no link of the torus, they
//!    [share none](links); and where a [prefix] is asked for, nothing begins before it.
//!
//! Laws 1 to 5 are decided by the [symbolic run](crate::symbolic); the [lowered form](lowered) of worlds of up to 64 ranks
//! is run on real elements as well: what runs is what was proved, also where ranks learn counts from one another. Where the schedules for one root are those for another with the
//! ranks turned, one run stands for both.

mod apart;
pub mod bound;
mod learned;
pub mod links;
pub mod lowered;
pub mod prefix;
mod staged;
mod turned;

use crate::algorithm::{Algorithm, Claims, InPlace, Key, Requirement, Sharing};
use crate::call::{Alias, Call, Collective};
use crate::machine::{Fabrics, Torus};
use crate::schedule::{Schedule, Shape};
use crate::symbolic::{self, Failure, Law, Outcome, World};
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
pub use apart::verify_apart;
use turned::Turn;

/// What was proved, and what it costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// The most messages that a rank sends, or receives, at once.
    pub ports: u32,
    /// The rounds of messages.
    pub steps: u32,
    /// What a rank sends or receives at most, in multiples of the call's `bytes`.
    pub volume: f64,
    /// What a rank reduces at most, in multiples of the call's `bytes`.
    pub work: f64,
    /// No algorithm with as many ports has fewer steps.
    pub bound_steps: u32,
    /// No algorithm has less volume.
    pub bound_volume: f64,
}

/// A proof for one root, and how it was made.
#[derive(Clone, Debug, PartialEq)]
pub struct Proof {
    /// What was proved; or the first law that is broken, and where.
    pub report: Result<Report, Failure>,
    /// The root whose proof this one turns: what was run for that root was not run again.
    pub turned_from: Option<u32>,
}

/// Proves every law for one algorithm, parameters, number of ranks and root.
///
/// The call's own `commutative` and `in_place` are ignored: the strictest operator that the algorithm
/// admits is taken, and both ways of placing input and output are proved.
///
/// # Errors
/// The first law that is broken, and where.
pub fn verify(algorithm: &Algorithm, shape: &Shape) -> Result<Report, Failure> {
    prove(algorithm, &worlds(algorithm, shape)).map(|(report, _)| report)
}

/// [`verify`] for shapes that differ in the root alone: of more than a few ranks, a root whose schedules are those of another with the
/// ranks turned is not run again, but its claims are compared with what was counted.
#[must_use]
pub fn verify_roots(algorithm: &Algorithm, shapes: &[Shape]) -> Vec<Proof> {
    // The last root that was run, and what was counted.
    let mut base: Option<([Placed; 2], [Option<Outcome>; 2])> = None;
    let each = |shape: &Shape| {
        if let Some((proved, counted)) = &base
            && let Some(report) = prove_turned(algorithm, shape, proved, counted)
        {
            return Proof {
                report,
                turned_from: Some(proved[0].shape.call.root),
            };
        }
        let placed = worlds(algorithm, shape);
        let proved = prove(algorithm, &placed);
        let report = proved.map(|(report, counted)| {
            base = Some((placed, counted));
            report
        });
        Proof {
            report,
            turned_from: None,
        }
    };
    shapes.iter().map(each).collect()
}

/// A call with input and output placed in one way, and every rank's part of it.
struct Placed {
    shape: Shape,
    world: Vec<Schedule>,
    /// The call of the next root, and every rank's part of that: where windows have to be as the next call expects them.
    next: Option<(Call, Vec<Schedule>)>,
}

/// A call with input and output apart, and in place.
fn worlds(algorithm: &Algorithm, shape: &Shape) -> [Placed; 2] {
    [false, true].map(|in_place| {
        let shape = strictest(algorithm, shape, in_place);
        let followed = has_windows(algorithm) && shape.call.collective.rooted();
        let next = followed.then(|| {
            let next = of_next_root(&shape);
            (next.call, algorithm.world(&next))
        });
        Placed {
            world: algorithm.world(&shape),
            shape,
            next,
        }
    })
}

/// The shape with the next rank as its root.
fn of_next_root(shape: &Shape) -> Shape {
    let mut next = shape.clone();
    next.call.root = (shape.call.root + 1) % shape.ranks();
    next
}

fn has_windows(algorithm: &Algorithm) -> bool {
    algorithm.requires.contains(&Requirement::Window)
}

/// Runs both placements; also says what was counted, for each that was run.
fn prove(
    algorithm: &Algorithm,
    [apart, in_place]: &[Placed; 2],
) -> Result<(Report, [Option<Outcome>; 2]), Failure> {
    let (counted, claims) = verify_placed(algorithm, apart)?;
    // Small worlds are run all the same; they show that what is left out is right.
    let only_staged = in_place.shape.ranks() > lowered::MOST_RANKS_EVERY_LAYOUT
        && in_place
            .world
            .iter()
            .zip(&apart.world)
            .all(|(in_place_schedule, apart)| {
                in_place_schedule == apart
                    || staged::is_staged(apart, in_place_schedule, &in_place.shape.call)
            });
    let run = !only_staged || aliases_without_staging(algorithm, &in_place.shape);
    let second = run
        .then(|| verify_placed(algorithm, in_place))
        .transpose()?;
    let report = report(algorithm, &apart.shape, &counted, &claims);
    Ok((report, [Some(counted), second.map(|(counted, _)| counted)]))
}

/// The proof for a root whose worlds are those of another root, turned, for which this was counted; `None` if they are not. Small
/// worlds are run all the same, as they show that the proof by rotation is right, and so is what may not be turned because links of
/// a torus are looked at too.
fn prove_turned(
    algorithm: &Algorithm,
    shape: &Shape,
    proved: &[Placed; 2],
    counted: &[Option<Outcome>; 2],
) -> Option<Result<Report, Failure>> {
    if shape.ranks() <= lowered::MOST_RANKS_EVERY_LAYOUT || shape.torus.is_some() {
        return None;
    }
    let shapes = [false, true].map(|in_place| strictest(algorithm, shape, in_place));
    let mut prefixes = [Ok(()), Ok(())];
    for ((base, shape), prefix) in proved.iter().zip(&shapes).zip(&mut prefixes) {
        let mut look = |part: &Schedule| {
            if prefix.is_ok() {
                *prefix = prefix::check(shape, core::slice::from_ref(part));
            }
        };
        if !turns_into(
            (&base.shape.call, &base.world),
            (algorithm, shape),
            &mut look,
        ) {
            return None;
        }
        if let Some((call, world)) = &base.next {
            let next = of_next_root(shape);
            if !turns_into((call, world), (algorithm, &next), &mut |_| ()) {
                return None;
            }
        }
    }
    let mut rest = counted.iter().zip(&shapes).zip(prefixes);
    let checked = rest.try_for_each(|((counted, shape), prefix)| {
        let Some(counted) = counted else {
            return Ok(());
        };
        check_claims(&(algorithm.claims)(shape), counted)?;
        prefix
    });
    let [apart, _] = &shapes;
    Some(checked.map(|()| {
        let claims = (algorithm.claims)(apart);
        let counted = counted[0].clone().unwrap_or_default();
        report(algorithm, apart, &counted, &claims)
    }))
}

/// Whether a world is that of a call, turned; that is built and compared rank by rank, up to the first that differs, and each part
/// is shown.
fn turns_into(
    (call, world): (&Call, &[Schedule]),
    (algorithm, turned): (&Algorithm, &Shape),
    look: &mut dyn FnMut(&Schedule),
) -> bool {
    let mut parts = algorithm.in_turn(turned);
    Turn::new(call, &turned.call).is_some_and(|turn| {
        world.iter().all(|schedule| {
            let part = parts.of(turn.of(schedule.rank));
            look(part);
            turn.is_same(schedule, part)
        })
    })
}

/// Whether some rank's spaces share memory in place and the algorithm relies on that being harmless.
fn aliases_without_staging(algorithm: &Algorithm, in_place: &Shape) -> bool {
    algorithm.in_place == InPlace::Natural
        && (0..in_place.ranks()).any(|rank| in_place.call.alias(rank, 1) != Alias::Apart)
}

/// All laws and claims for one placement of input and output.
fn verify_placed(algorithm: &Algorithm, placed: &Placed) -> Result<(Outcome, Claims), Failure> {
    let (shape, schedules) = (&placed.shape, &placed.world[..]);
    let counted = verify_world(&shape.call, schedules, has_windows(algorithm))?;
    if puts_between_nodes(algorithm, shape) {
        verify_apart(shape, schedules)?;
    }
    if let Some((next, after)) = &placed.next {
        verify_two((&shape.call, schedules), (next, after))?;
    }
    let claims = (algorithm.claims)(shape);
    check_claims(&claims, &counted)?;
    prefix::check(shape, schedules)?;
    if let Some(torus) = &shape.torus {
        let node_of = nodes_of_ranks(torus, shape);
        links::deposits(torus, &node_of, schedules)?;
        if claims_disjoint_streams(algorithm, shape) {
            links::check(torus, &node_of, schedules)?;
        }
    }
    lowered::check(&shape.call, schedules)?;
    if algorithm.requires.contains(&Requirement::PassingCounts) {
        learned::check(&shape.call, schedules)?;
    }
    Ok((counted, claims))
}

/// Whether ranks put into windows of other nodes, which may be where a network carries that.
fn puts_between_nodes(algorithm: &Algorithm, shape: &Shape) -> bool {
    has_windows(algorithm) && (algorithm.sharing)(shape) == Sharing::Windows
}

/// The node of the torus on which each rank is: its own, or the one that it shares.
fn nodes_of_ranks(torus: &Torus, shape: &Shape) -> Vec<u32> {
    if torus.ranks() == shape.ranks() {
        return (0..shape.ranks()).collect();
    }
    let sizes = shape.nodes.sizes(shape.ranks());
    let on_node = |(node, size): (usize, &u32)| vec![node as u32; *size as usize];
    sizes.iter().enumerate().flat_map(on_node).collect()
}

/// Whether no link may carry two streams: of the algorithm, or of what serves one leader of each node.
fn claims_disjoint_streams(algorithm: &Algorithm, shape: &Shape) -> bool {
    let claims = |a: &Algorithm| a.requires.contains(&Requirement::DisjointStreams);
    let one_leader = shape.get(Key::LEADERS.name) <= 1;
    let leaders = algorithm.among_leaders(shape).filter(|_| one_leader);
    claims(algorithm) || leaders.is_some_and(|(found, _)| claims(found))
}

/// The shape with the strictest operator that the algorithm admits.
fn strictest(algorithm: &Algorithm, shape: &Shape, in_place: bool) -> Shape {
    let commutative = |commutative| Shape {
        call: Call {
            in_place,
            commutative,
            ..shape.call
        },
        ..shape.clone()
    };
    let ordered = commutative(false);
    if (algorithm.ordered)(&ordered) {
        ordered
    } else {
        commutative(true)
    }
}

/// Laws 1 to 5 for schedules as they are; with windows also over two consecutive calls.
///
/// # Errors
/// The first law that is broken, and where.
pub fn verify_world(
    call: &Call,
    schedules: &[Schedule],
    windows: bool,
) -> Result<Outcome, Failure> {
    let world = World { call, schedules };
    if windows {
        symbolic::run(&[world, world])?;
    }
    symbolic::run(&[world])
}

/// Law 6: what was counted is what is claimed (the ports: at most; where the claims are limits also the steps).
///
/// # Errors
/// The first number that differs.
pub fn check_claims(claims: &Claims, counted: &Outcome) -> Result<(), Failure> {
    let fail = |what| {
        Err(Failure {
            law: Law::Claim,
            rank: 0,
            what,
        })
    };
    if counted.ports > claims.ports {
        return fail(format!(
            "uses {} ports and claims {}",
            counted.ports, claims.ports
        ));
    }
    if claims.are_limits() && counted.steps > claims.steps {
        return fail(format!(
            "counts steps {} and claims at most {}",
            counted.steps, claims.steps
        ));
    }
    let steps = (!claims.are_limits()).then_some(u64::from(claims.steps));
    let pairs = [
        ("steps", u64::from(counted.steps), steps),
        ("volume", counted.volume, claims.claimed_volume()),
        ("work", counted.work, claims.claimed_work()),
    ];
    for (what, counted, claimed) in pairs {
        if let Some(claimed) = claimed.filter(|claimed| *claimed != counted) {
            return fail(format!("counts {what} {counted} and claims {claimed}"));
        }
    }
    Ok(())
}

fn report(algorithm: &Algorithm, shape: &Shape, counted: &Outcome, claims: &Claims) -> Report {
    let blocks = bound::blocks_of_bytes(&shape.call, (algorithm.parts)(shape));
    // A packet may leave copies on a whole line of a torus.
    let copies = |torus: Torus| torus.extents().into_iter().max().unwrap_or(1) - 1;
    let ports = claims.ports.max(1) * shape.torus.map_or(1, copies).max(1);
    let (bound_steps, bound_volume) = if algorithm.fabrics() == Fabrics::default() {
        (
            bound::steps(algorithm.collective, shape.ranks(), ports),
            bound::volume(algorithm.collective, shape.ranks()),
        )
    } else {
        // Hardware in which all meet needs one step, in which everyone gives and gets all of it.
        let data = algorithm.collective != Collective::Barrier;
        (1, f64::from(u8::from(data)))
    };
    Report {
        ports: counted.ports,
        steps: counted.steps,
        volume: counted.volume as f64 / f64::from(blocks),
        work: counted.work as f64 / f64::from(blocks),
        bound_steps,
        bound_volume,
    }
}

/// Proves law 5 for two calls in a row, which may differ in root and algorithm.
///
/// # Errors
/// The first law that is broken, and where.
pub fn verify_consecutive(
    first: (&Algorithm, &Shape),
    second: (&Algorithm, &Shape),
) -> Result<(), Failure> {
    let [first, second] =
        [first, second].map(|(algorithm, shape)| (&shape.call, algorithm.world(shape)));
    verify_two((first.0, &first.1), (second.0, &second.1))
}

/// [`verify_consecutive`] for schedules as they are.
///
/// # Errors
/// The first law that is broken, and where.
pub fn verify_two(
    first: (&Call, &[Schedule]),
    second: (&Call, &[Schedule]),
) -> Result<(), Failure> {
    let world = |(call, schedules)| World { call, schedules };
    symbolic::run(&[world(first), world(second)]).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm;
    use alloc::string::String;

    /// The roots that are tried: all of a few ranks, else the first, one in the middle, and the last.
    fn roots(algorithm: &Algorithm, ranks: u32) -> Vec<u32> {
        match algorithm.collective.rooted() {
            false => [0].to_vec(),
            true if ranks < 10 => (0..ranks).collect(),
            true => [0, ranks / 2, ranks - 1].to_vec(),
        }
    }

    /// Proves a setting on all nodes, and that it takes no less than what is least.
    fn prove(algorithm: &Algorithm, setting: &str, ranks: u32) {
        for root in roots(algorithm, ranks) {
            let call = Call {
                root,
                ..Call::new(algorithm.collective, ranks)
            };
            let shape = algorithm.shape(call, setting);
            let shape = shape.expect("registered settings are right");
            for shape in algorithm.everywhere(&shape) {
                let (nodes, torus) = (&shape.nodes, shape.torus);
                let what = || {
                    let torus = torus.map_or_else(String::new, |t| format!(" torus {t}"));
                    format!("{algorithm:?}:{setting} p={ranks} root={root} on {nodes}{torus}")
                };
                let proved = verify(algorithm, &shape);
                let report = proved.unwrap_or_else(|f| panic!("{}: {f}", what()));
                assert!(report.steps >= report.bound_steps, "{}: {report:?}", what());
                let least = report.bound_volume - 1e-9;
                assert!(report.volume >= least, "{}: {report:?}", what());
            }
        }
    }

    /// `cargo xtask test` proves 1 to 64 ranks with every root, by `allhands verify`.
    #[test]
    fn every_algorithm_holds_for_small_worlds() {
        for algorithm in algorithm::all() {
            for ranks in 1..=17 {
                for setting in algorithm.settings {
                    prove(algorithm, setting, ranks);
                }
            }
        }
    }
}
