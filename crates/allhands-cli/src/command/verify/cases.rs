//! The proofs that `allhands verify` makes: which algorithms and settings, on which numbers of ranks, roots, nodes and tori.

use super::machine::torus_among_leaders;
use super::{Arguments, none};
use crate::names;
use allhands_core::algorithm::{self, Algorithm, Requirement, print_parameters};
use allhands_core::call::Call;
use allhands_core::machine::{Nodes, Torus};
use allhands_core::schedule::Shape;
use std::collections::BTreeSet;

/// One proof to make.
pub struct Case {
    pub algorithm: &'static Algorithm,
    pub parameters: String,
    /// Which of the algorithms and settings that are asked for it is.
    setting: usize,
    pub shape: Shape,
}

impl Case {
    /// What the case is apart from its root.
    fn but_root(&self) -> (usize, Shape) {
        let mut shape = self.shape.clone();
        shape.call.root = 0;
        (self.setting, shape)
    }

    /// Whether this case and another are the same apart from the root.
    pub fn differs_in_root(&self, other: &Case) -> bool {
        self.but_root() == other.but_root()
    }
}

/// The algorithms that are asked for, each with a setting.
fn chosen(arguments: &Arguments) -> anyhow::Result<Vec<(&'static Algorithm, String)>> {
    let mut chosen: Vec<(&'static Algorithm, String)> = Vec::new();
    match (arguments.collective(), &arguments.algorithm) {
        (Some(collective), Some(text)) => {
            let (algorithm, parameters) = names::algorithm(collective, text)?;
            if text.contains(':') {
                chosen.push((algorithm, parameters.to_string()));
            } else {
                chosen.extend(
                    algorithm
                        .settings
                        .iter()
                        .map(|s| (algorithm, (*s).to_string())),
                );
            }
        }
        (collective, _) => {
            let all = algorithm::all().filter(|a| collective.is_none_or(|c| c == a.collective));
            chosen.extend(all.flat_map(|a| a.settings.iter().map(move |s| (a, (*s).to_string()))));
        }
    }
    chosen.retain(|(algorithm, _)| arguments.asks_for_it(algorithm));
    if arguments.on_several_a_node() && arguments.algorithm.is_none() {
        chosen = chosen
            .iter()
            .filter(|(_, setting)| setting.is_empty())
            .flat_map(|(algorithm, _)| torus_among_leaders(algorithm))
            .collect();
    }
    Ok(chosen)
}

/// Why some numbers of ranks are left out, for the output.
pub const LEFT_OUT: &str = "beyond 64 ranks, every 15th number (65, 80, 95, …) stands for all where a range is asked for and ranks have windows, or a message or a step for each other rank: up to 64 ranks every number and root is proved, and beyond that a rank's part only does the same for more others";

/// The proofs that are asked for, the largest first, and how many pairs of a setting and a number of ranks are left out.
pub fn cases(arguments: &Arguments) -> anyhow::Result<(Vec<Case>, usize)> {
    let chosen = chosen(arguments)?;
    let numbers = arguments.numbers_of_ranks();
    let range = numbers.len() > FEW && arguments.algorithm.is_none();
    let all_roots = arguments.all_roots || arguments.machine.is_some();
    let (mut cases, mut left_out) = (Vec::new(), 0);
    for ranks in numbers {
        for (setting, (algorithm, parameters)) in chosen.iter().enumerate() {
            if range && ranks > 64 && ranks % 15 != 5 && is_linear(algorithm, parameters, ranks)? {
                left_out += 1;
                continue;
            }
            for root in roots(algorithm, ranks, all_roots) {
                let call = Call {
                    root,
                    ..Call::new(algorithm.collective, ranks)
                };
                let shape = names::shape(algorithm, call, parameters)?;
                let printed = print_parameters(algorithm.keys, &shape.parameters);
                for shape in everywhere(algorithm, parameters, &shape, arguments) {
                    cases.push(Case {
                        algorithm,
                        parameters: printed.clone(),
                        setting,
                        shape,
                    });
                }
            }
        }
    }
    if cases.is_empty() {
        none::why(arguments)?;
    }
    // The largest first, so that the cores end together; those that differ in the root alone side by side.
    cases.sort_by_cached_key(|case| {
        let Call { ranks, root, .. } = case.shape.call;
        (std::cmp::Reverse(ranks), case.but_root(), root)
    });
    Ok((cases, left_out))
}

/// So many numbers of ranks are proved as they are; of more, some stand for all.
const FEW: usize = 16;

/// Whether every rank has windows, or a message or a step for each other rank.
fn is_linear(algorithm: &Algorithm, setting: &str, ranks: u32) -> anyhow::Result<bool> {
    if algorithm.requires.contains(&Requirement::Window) {
        return Ok(true);
    }
    let shape = names::shape(algorithm, Call::new(algorithm.collective, ranks), setting)?;
    let torus = algorithm.tori(ranks).pop().flatten();
    let shape = shape.on_torus(torus).with(algorithm.fabrics());
    if algorithm.admits(&shape).is_err() {
        return Ok(false);
    }
    let claims = (algorithm.claims)(&shape);
    Ok(claims.ports.max(claims.steps) >= ranks - 1 || knows_all(algorithm, &shape))
}

/// Whether some rank has a message for each other rank, if only some at a time: two of them tell.
fn knows_all(algorithm: &Algorithm, shape: &Shape) -> bool {
    let peers = |rank| {
        let ops = algorithm.schedule(shape, rank).ops;
        let peers: BTreeSet<u32> = ops.iter().filter_map(|op| op.kind.peer()).collect();
        peers.len() as u32
    };
    [0, shape.ranks() / 2]
        .map(peers)
        .contains(&(shape.ranks() - 1))
}

fn roots(algorithm: &Algorithm, ranks: u32, all: bool) -> Vec<u32> {
    match (algorithm.collective.rooted(), all) {
        (false, _) => vec![0],
        (true, true) => (0..ranks).collect(),
        (true, false) if ranks > 64 => vec![ranks * 2 / 3],
        (true, false) if ranks > 1 => vec![0, ranks * 2 / 3],
        (true, false) => vec![0],
    }
}

/// A call everywhere where an algorithm is to be proved.
fn everywhere(
    algorithm: &Algorithm,
    setting: &str,
    shape: &Shape,
    arguments: &Arguments,
) -> Vec<Shape> {
    let mut shapes = Vec::new();
    let fabrics = match &arguments.machine {
        Some(machine) if !arguments.on_several_a_node() => machine.fabrics(),
        Some(_) | None => algorithm.fabrics(),
    };
    for nodes in nodes(algorithm, setting, &shape.call, arguments) {
        for torus in tori(algorithm, setting, &shape.call, arguments) {
            let shape = shape
                .clone()
                .on(nodes.clone())
                .on_torus(torus)
                .with(fabrics);
            shapes.extend(algorithm.admits(&shape).is_ok().then_some(shape));
        }
    }
    shapes
}

/// The tori on which to prove an algorithm: as of the nodes.
fn tori(
    algorithm: &Algorithm,
    setting: &str,
    call: &Call,
    arguments: &Arguments,
) -> Vec<Option<Torus>> {
    if let Some(torus) = arguments.place() {
        return vec![Some(torus)];
    }
    let mut all = algorithm.tori(call.ranks);
    if all.len() == 1 || call.ranks <= 16 {
        return all;
    }
    if call.ranks > 64 && !setting.is_empty() && arguments.algorithm.is_none() {
        return Vec::new();
    }
    let at = (call.ranks + call.root) as usize % all.len();
    vec![all.swap_remove(at)]
}

/// The nodes on which to prove an algorithm: all that it is registered for on up to 16 ranks, and on up to 64 where there is no
/// root; otherwise one of them, another for each root and number of ranks.
fn nodes(algorithm: &Algorithm, setting: &str, call: &Call, arguments: &Arguments) -> Vec<Nodes> {
    if let Some(nodes) = &arguments.nodes {
        return vec![nodes.clone()];
    }
    let mut all = algorithm.nodes(call.ranks);
    let few = call.ranks <= 16 || (call.ranks <= 64 && !algorithm.collective.rooted());
    if all.len() == 1 || few {
        return all;
    }
    // Beyond 64 ranks a rank a node and one node cost much and show little, and so do further settings.
    let other_setting = call.ranks > 64 && !setting.is_empty() && arguments.algorithm.is_none();
    let at = if call.ranks > 64 {
        1
    } else {
        (call.ranks + call.root) as usize % all.len()
    };
    let one = all.swap_remove(at);
    if other_setting { Vec::new() } else { vec![one] }
}
