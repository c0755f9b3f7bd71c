//! Candidates: what may serve a call between nodes, with which parameters, and which sizes are the same.

use super::Named;
use crate::policy::nodes::serves;
use crate::transport::net::Places;
use allhands_core::algorithm::{self, Algorithm, Key as Parameter, Layers, Requirement};
use allhands_core::call::Call;
use allhands_core::choose::Question;
use allhands_core::machine::{Fabrics, Nodes};
use allhands_core::schedule::Shape;

/// Windows that are tried besides those that are registered, in messages.
const WIDER_WINDOWS: [u32; 3] = [8, 16, 32];

/// Sizes that are taken for the same: they agree in their first three binary digits.
pub(in crate::policy) fn size_class(bytes: u64) -> u64 {
    let spare = (u64::BITS - bytes.leading_zeros()).saturating_sub(3);
    bytes >> spare << spare
}

/// The call as it is simulated: with root 0.
pub(super) fn bare(question: &Question) -> Call {
    Call {
        root: 0,
        in_place: false,
        ..question.call
    }
}

/// Whether an algorithm can serve a call on nodes, and may be worth it.
pub(super) fn may_serve(
    algorithm: &Algorithm,
    shape: &Shape,
    question: &Question,
    (nodes, places): (&Nodes, &Places),
) -> bool {
    // With a rank a node what is made of others is what the leaders do, which is a candidate by itself.
    let mut sizes = nodes.innermost(question.call.ranks).into_iter();
    let layers = algorithm.layers.is_none() || sizes.any(|size| size > 1);
    may_serve_anywhere(algorithm, question) && layers && serves(algorithm, shape, places)
}

/// Whether an algorithm asks for nothing that a cluster has not, nor for lengths that not every rank knows.
pub(super) fn may_serve_anywhere(algorithm: &Algorithm, question: &Question) -> bool {
    let needs = |requirement| algorithm.requires.contains(&requirement);
    let possible = !needs(Requirement::Torus) && algorithm.fabrics() == Fabrics::default();
    let exchanges =
        question.irregular && (needs(Requirement::AllCounts) || needs(Requirement::PassingCounts));
    possible && !exchanges
}

/// Everything that serves a call on nodes, with root 0.
pub(super) fn candidates(
    question: &Question,
    nodes: &Nodes,
    places: &Places,
) -> Vec<(Named, Shape)> {
    let call = bare(question);
    let mut all = Vec::new();
    for algorithm in algorithm::of(call.collective) {
        for parameters in settings(algorithm, call.ranks) {
            let Ok(shape) = algorithm.shape(call, &parameters) else {
                continue;
            };
            let shape = shape.on(nodes.clone());
            if may_serve(algorithm, &shape, question, (nodes, places)) {
                all.push(((algorithm, parameters), shape));
            }
        }
    }
    all
}

/// The registered settings, wider windows, a tree of one level, and, of what is made of others, everything that may serve the leaders.
fn settings(algorithm: &'static Algorithm, ranks: u32) -> Vec<String> {
    let leaders = algorithm.layers.map_or(&[][..], |layers| layers.leaders);
    let named = leaders
        .iter()
        .map(|found| format!("{}={}", Layers::INTER, found.name));
    registered(algorithm, ranks).chain(named).collect()
}

/// The same of an algorithm that is made of no others.
pub(super) fn registered(
    algorithm: &'static Algorithm,
    ranks: u32,
) -> impl Iterator<Item = String> {
    let registered = algorithm.settings.iter().map(ToString::to_string);
    // The widest one has room for all messages of a rank.
    let wider = WIDER_WINDOWS.into_iter();
    let wider = wider.filter(move |window| is_exchange(algorithm) && *window < 2 * (ranks - 1));
    let wider = wider.map(|window| format!("{}={window}", Parameter::WINDOW.name));
    let is_tree = has(algorithm, &Parameter::RADIX) && algorithm.collective.rooted() && ranks > 2;
    let flat = is_tree.then(|| format!("{}={ranks}", Parameter::RADIX.name));
    registered.chain(wider).chain(flat)
}

/// Whether an algorithm's vectors go in segments.
pub(super) fn is_pipeline(algorithm: &Algorithm) -> bool {
    has(algorithm, &Parameter::SEGMENTS)
}

/// Whether an algorithm's messages wait for none, and may have a window.
fn is_exchange(algorithm: &Algorithm) -> bool {
    has(algorithm, &Parameter::WINDOW) && !is_pipeline(algorithm)
}

/// What a rank has under way at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    /// Messages each way.
    pub(super) messages: u32,
    /// In how many steps all of them go: what a peer that comes late to one had to send before.
    pub(super) steps: u32,
}

/// The window of an exchange, whose messages wait for none, or of what goes in segments side by side, step by step. None where all messages may be
/// under way, and where each waits for the one before.
pub(super) fn window(algorithm: &Algorithm, shape: &Shape) -> Option<Window> {
    let goes_side_by_side = algorithm.keys.contains(&Parameter::SEGMENTS_AT_ONCE)
        && shape.get(Parameter::SEGMENTS_AT_ONCE.name) > 1;
    let (messages, steps) = match is_exchange(algorithm) {
        true => (shape.get(Parameter::WINDOW.name), 1),
        false if goes_side_by_side => {
            let claims = (algorithm.claims)(shape);
            (claims.ports, claims.steps)
        }
        false => return None,
    };
    let is_one = (1..shape.call.ranks - 1).contains(&messages) && steps > 0;
    is_one.then_some(Window { messages, steps })
}

fn has(algorithm: &Algorithm, key: &Parameter) -> bool {
    algorithm.keys.iter().any(|found| found.name == key.name)
}
