//! The models of Ali, Midkiff and Pai 2010, tables 1 to 5: algorithms on the SPEs of one Cell or two, in the extended PLogP model.
//!
//! [`MODELS`] has each line of the tables, as printed and, where that is wrong, corrected. X, what acknowledgements add that do
//! not overlap, stands for a range in C; a model's time is for X = 0.

pub mod cluster;
mod table;

pub use cluster::CLUSTER_MODELS;
pub use table::MODELS;

use super::{Form, Miss};
use crate::call::Collective;
use crate::cost::pattern::{Fan, Pattern};
use crate::cost::plogp::{ExtendedPlogp, Way};
use crate::pattern::math::{ceil_log2, floor_log2};
use alloc::vec;
use alloc::vec::Vec;

/// What a model is asked about.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// p: the number of SPEs, at least 1; eight on each Cell, from the first on.
    pub ranks: u32,
    /// The whole vector; for an allgather, one rank's block. Those of C's tables that call a p-th of the vector m are asked
    /// about the vector all the same.
    pub bytes: f64,
    /// x of the hybrids: the round in which recursive doubling starts.
    pub x: u32,
    /// The parameters.
    pub machine: &'a ExtendedPlogp,
}

/// On how many Cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cells {
    /// All SPEs on one.
    One,
    /// On two.
    Two,
}

/// A line of a table.
#[derive(Clone, Copy, Debug)]
pub struct Model {
    /// The number of the table.
    pub table: u32,
    /// The algorithm as the table calls it.
    pub name: &'static str,
    /// One Cell or two.
    pub cells: Cells,
    /// Printed or corrected.
    pub form: Form,
    /// The collective.
    pub collective: Collective,
    /// The algorithm.
    pub algorithm: &'static str,
    /// Its parameters, without x.
    pub parameters: &'static str,
    /// Whether it has the parameter x.
    pub hybrid: bool,
    /// For which p the table gives it.
    pub domain: super::Ranks,
    /// Its time for X = 0, in microseconds.
    pub time_us: fn(&Case<'_>) -> f64,
    /// The most that X may be, in microseconds.
    pub most_x_us: fn(&Case<'_>) -> f64,
    /// Why it misses the simulated Cells, if it does and not because it is a misprint.
    pub miss: Option<Miss>,
}

/// ⌈lg p⌉.
fn up(c: &Case<'_>) -> f64 {
    f64::from(ceil_log2(c.ranks))
}

/// ⌊lg p⌋.
fn down(c: &Case<'_>) -> f64 {
    f64::from(floor_log2(c.ranks))
}

/// Where all messages go if one Cell takes part.
fn single<'a>(c: &Case<'a>) -> &'a Way {
    &c.machine.single
}

/// Inside a Cell, if two take part.
fn inside<'a>(c: &Case<'a>) -> &'a Way {
    &c.machine.inside
}

/// Between two Cells.
fn between<'a>(c: &Case<'a>) -> &'a Way {
    &c.machine.between
}

/// The time of a pattern on one Cell.
fn on_one(c: &Case<'_>, pattern: &Pattern) -> f64 {
    pattern.terms().time_us(c.machine, single(c), c.bytes)
}

/// The time of a pattern on two Cells.
fn on_two(c: &Case<'_>, pattern: &Pattern) -> f64 {
    pattern.terms().time_us(c.machine, inside(c), c.bytes)
}

/// The levels of the binomial tree as C 4 counts them: the most children of a rank on each, of which `far` of the root's are on the
/// other Cell.
fn binomial_fans(c: &Case<'_>, far: u32) -> Vec<Fan> {
    let levels = floor_log2(c.ranks);
    let fan = |level| {
        let far = if level == 0 { far } else { 0 };
        let near = levels - level - far;
        Fan { near, far }
    };
    (0..levels).map(fan).collect()
}

/// γm.
fn reduced(c: &Case<'_>, bytes: f64) -> f64 {
    c.machine.gamma_us_per_byte * bytes
}

/// C(m > 256), for n messages.
fn contention(c: &Case<'_>, bytes: f64, messages: u32) -> f64 {
    c.machine.contention_us(bytes, messages)
}

/// 2^k m for each k below `rounds`, where m is a p-th of the vector.
fn doubled(c: &Case<'_>, rounds: u32) -> impl Iterator<Item = f64> {
    let part = c.bytes / f64::from(c.ranks);
    (0..rounds).map(move |k| part * f64::from(1 << k))
}

/// 2^(lg p − 1) m: half of the vector.
fn half(c: &Case<'_>) -> f64 {
    c.bytes / 2.0
}

/// The rounds inside a Cell, if two take part.
fn inner_rounds(c: &Case<'_>) -> u32 {
    floor_log2(c.ranks) - 1
}

// Table 1: barriers.

fn barrier_doubling_one(c: &Case<'_>) -> f64 {
    down(c) * single(c).notice_us
}

fn barrier_doubling_one_folded(c: &Case<'_>) -> f64 {
    (down(c) + 2.0) * single(c).notice_us
}

/// The rounds that a host's news takes to the farthest host: ⌈lg⌉ of how many there are.
fn rounds_among_hosts(c: &Case<'_>) -> f64 {
    f64::from(ceil_log2(c.ranks - (1 << floor_log2(c.ranks))))
}

/// A host hears from its guest, and tells the farthest rank in ⌊lg p⌋ rounds, or the farthest host, which tells its guest.
fn barrier_doubling_one_folded_corrected(c: &Case<'_>) -> f64 {
    let rounds = (1.0 + down(c)).max(2.0 + rounds_among_hosts(c));
    rounds * single(c).notice_us
}

fn barrier_doubling_two(c: &Case<'_>) -> f64 {
    (down(c) - 1.0) * inside(c).notice_us + between(c).notice_us
}

fn barrier_doubling_two_folded(c: &Case<'_>) -> f64 {
    (down(c) + 1.0) * inside(c).notice_us + between(c).notice_us
}

/// The same where guests are on the other Cell.
fn barrier_doubling_two_folded_corrected(c: &Case<'_>) -> f64 {
    let (near, far) = (inside(c).notice_us, between(c).notice_us);
    far + (down(c) * near).max(rounds_among_hosts(c) * near + far)
}

fn barrier_bruck_one(c: &Case<'_>) -> f64 {
    up(c) * single(c).notice_us
}

fn barrier_bruck_two(c: &Case<'_>) -> f64 {
    up(c) * inside(c).notice_us.max(between(c).notice_us)
}

/// The longest path: from any rank, some of the rounds, each of which goes to the rank at its distance.
fn barrier_bruck_two_corrected(c: &Case<'_>) -> f64 {
    let rounds = ceil_log2(c.ranks);
    let path = |start: u32, chosen: u32| {
        let distances = (0..rounds).map(|k| 1 << k).filter(|d| chosen & d > 0);
        let step = |(at, us): (u32, f64), distance: u32| {
            let next = (at + distance) % c.ranks;
            let way = match (at < 8) == (next < 8) {
                true => inside(c),
                false => between(c),
            };
            (next, us + way.notice_us)
        };
        distances.fold((start, 0.0), step).1
    };
    let paths = (0..c.ranks).flat_map(|start| (0..1 << rounds).map(move |set| path(start, set)));
    paths.fold(0.0, f64::max)
}

fn barrier_gather_one(c: &Case<'_>) -> f64 {
    2.0 * up(c) * single(c).notice_us
}

/// With the tree's depth, ⌊lg p⌋.
fn barrier_gather_one_corrected(c: &Case<'_>) -> f64 {
    2.0 * down(c) * single(c).notice_us
}

fn barrier_gather_two(c: &Case<'_>) -> f64 {
    let within = 2.0 * (up(c) - 1.0) * inside(c).notice_us;
    within.max(2.0 * between(c).notice_us + within)
}

/// With the depth of each Cell's part of the tree, of eight SPEs and of the others, of which the first is a child of the root.
fn barrier_gather_two_corrected(c: &Case<'_>) -> f64 {
    let (near, far) = (inside(c).notice_us, between(c).notice_us);
    let others = f64::from(floor_log2(c.ranks - 8));
    2.0 * (3.0 * near).max(far + others * near)
}

fn barrier_all_one(c: &Case<'_>) -> f64 {
    let q = f64::from(c.ranks.saturating_sub(2));
    q * single(c).gap.at_us(1.0) + 2.0 * single(c).notice_us
}

fn barrier_all_two(c: &Case<'_>) -> f64 {
    let notices = 2.0 * (inside(c).notice_us + between(c).notice_us);
    notices + one_to_all_gaps(c, 1.0)
}

/// What goes inside the Cell and what crosses leave the root one behind another, and what crosses is last.
fn barrier_all_two_corrected(c: &Case<'_>) -> f64 {
    let q = f64::from(c.ranks - 2);
    2.0 * between(c).notice_us + q * inside(c).gap.at_us(1.0)
}

/// q1 g1 + q2 g2 with q1 = 6 and q2 = p − 9.
fn one_to_all_gaps(c: &Case<'_>, bytes: f64) -> f64 {
    let far = f64::from(c.ranks) - 9.0;
    6.0 * inside(c).gap.at_us(bytes) + far * between(c).gap.at_us(bytes)
}

fn x_of_all_one(c: &Case<'_>) -> f64 {
    f64::from(c.ranks.saturating_sub(2)) * single(c).acknowledgement_gap_us
}

fn x_of_all_two(c: &Case<'_>) -> f64 {
    let far = f64::from(c.ranks) - 9.0;
    6.0 * inside(c).acknowledgement_gap_us + far * between(c).acknowledgement_gap_us
}

fn no_x(_: &Case<'_>) -> f64 {
    0.0
}

// Table 2: broadcasts.

fn broadcast_all_one(c: &Case<'_>) -> f64 {
    let q = f64::from(c.ranks.saturating_sub(2));
    q * single(c).gap.at_us(c.bytes) + single(c).round_us(c.bytes)
}

fn broadcast_all_two(c: &Case<'_>) -> f64 {
    let messages = inside(c).round_us(c.bytes) + between(c).round_us(c.bytes);
    messages + one_to_all_gaps(c, c.bytes)
}

/// Both Cells' SPEs get at the same time, each at their gaps.
fn broadcast_all_two_corrected(c: &Case<'_>) -> f64 {
    let all = |near, far| on_two(c, &Pattern::OneToAll(vec![Fan { near, far }]));
    all(7, 0).max(all(0, c.ranks - 8))
}

fn broadcast_simple_one(c: &Case<'_>) -> f64 {
    down(c) * single(c).round_us(c.bytes) + 3.0 * single(c).gap.at_us(c.bytes)
}

/// With q by C 4's formula: out-degrees lg p, …, 2, 1.
fn broadcast_simple_one_corrected(c: &Case<'_>) -> f64 {
    on_one(c, &Pattern::OneToAll(binomial_fans(c, 0)))
}

fn x_of_simple_one(c: &Case<'_>) -> f64 {
    3.0 * single(c).acknowledgement_gap_us
}

fn broadcast_ordered_one(c: &Case<'_>) -> f64 {
    let (near, far) = (floor_log2(c.ranks), 0);
    on_one(c, &Pattern::OrderedTree { near, far })
}

/// The binomial tree's rounds on two Cells, one of them between the two.
fn tree_two(c: &Case<'_>) -> f64 {
    let (near, far) = (ceil_log2(c.ranks) - 1, 1);
    on_two(c, &Pattern::OrderedTree { near, far })
}

fn broadcast_simple_two(c: &Case<'_>) -> f64 {
    let rounds = (down(c) - 1.0) * inside(c).round_us(c.bytes) + between(c).round_us(c.bytes);
    rounds + 7.0 * inside(c).gap.at_us(c.bytes)
}

/// With q1 by C 4's formula, for p = 16: out-degrees 4, 3, 2, 1, of which one goes to the other Cell.
fn broadcast_simple_two_corrected(c: &Case<'_>) -> f64 {
    on_two(c, &Pattern::OneToAll(binomial_fans(c, 1)))
}

fn x_of_simple_two(c: &Case<'_>) -> f64 {
    7.0 * inside(c).acknowledgement_gap_us
}

fn broadcast_segmented_one(c: &Case<'_>) -> f64 {
    (down(c) + 1.0) * single(c).round_us(half(c))
}

fn broadcast_segmented_two(c: &Case<'_>) -> f64 {
    (down(c) - 1.0) * inside(c).round_us(half(c))
        + 2.0 * between(c).round_us(half(c))
        + contention(c, half(c), c.ranks - 2)
}

fn broadcast_hybrid_segmented(c: &Case<'_>) -> f64 {
    down(c) * inside(c).round_us(half(c)) + between(c).round_us(c.bytes)
}

// Table 3: allgathers; m is a rank's block.

/// [`Case`] for the vector that an allgather gathers.
fn gathered<'a>(c: &Case<'a>) -> Case<'a> {
    let bytes = c.bytes * f64::from(c.ranks);
    Case { bytes, ..*c }
}

fn allgather_doubling_one(c: &Case<'_>) -> f64 {
    let all = gathered(c);
    doubled(&all, floor_log2(c.ranks))
        .map(|bytes| single(c).round_us(bytes))
        .sum()
}

fn allgather_doubling_two(c: &Case<'_>) -> f64 {
    let all = gathered(c);
    let inner: f64 = doubled(&all, inner_rounds(c))
        .map(|bytes| inside(c).round_us(bytes))
        .sum();
    inner + between(c).round_us(half(&all)) + contention(c, half(&all), c.ranks)
}

fn allgather_hybrid(c: &Case<'_>) -> f64 {
    let all = gathered(c);
    let crossing = c.ranks >> (c.x - 1);
    let inner: f64 = doubled(&all, inner_rounds(c))
        .map(|bytes| inside(c).round_us(bytes))
        .sum();
    let outer = between(c).round_us(half(&all)) + contention(c, half(&all), crossing);
    inner + outer + f64::from(c.x - 1) * inside(c).round_us(all.bytes)
}

// Table 4: reduces.

fn reduce_tree_one(c: &Case<'_>) -> f64 {
    down(c) * (single(c).round_us(c.bytes) + reduced(c, c.bytes))
}

fn reduce_tree_two(c: &Case<'_>) -> f64 {
    tree_two(c) + up(c) * reduced(c, c.bytes)
}

/// Σ [2 L(2^k m) + γ 2^k m + 2 L(1)].
fn halves_and_back_one(c: &Case<'_>) -> f64 {
    let round_trip = |bytes| 2.0 * single(c).round_us(bytes) + reduced(c, bytes);
    doubled(c, floor_log2(c.ranks)).map(round_trip).sum()
}

fn halves_and_back_two(c: &Case<'_>, contended: f64) -> f64 {
    let round_trip = |bytes| 2.0 * inside(c).round_us(bytes) + reduced(c, bytes);
    let inner: f64 = doubled(c, inner_rounds(c)).map(round_trip).sum();
    let outer = 2.0 * between(c).round_us(half(c)) + reduced(c, half(c));
    inner + outer + contended * contention(c, half(c), c.ranks)
}

fn reduce_scatter_gather_two(c: &Case<'_>) -> f64 {
    halves_and_back_two(c, 1.0)
}

// Table 5: allreduces.

/// Rounds of recursive doubling with 2 L(1) each.
fn allreduce_doubling(c: &Case<'_>, way: &Way, rounds: f64) -> f64 {
    rounds * (way.round_us(c.bytes) + way.notice_us + reduced(c, c.bytes))
}

fn allreduce_doubling_one(c: &Case<'_>) -> f64 {
    allreduce_doubling(c, single(c), down(c))
}

fn allreduce_doubling_one_corrected(c: &Case<'_>) -> f64 {
    let near = floor_log2(c.ranks);
    let (far, crossing) = (0, 0);
    let rounds = Pattern::Butterfly {
        near,
        far,
        crossing,
    };
    on_one(c, &rounds) + down(c) * reduced(c, c.bytes)
}

fn allreduce_doubling_two(c: &Case<'_>) -> f64 {
    allreduce_doubling(c, inside(c), down(c) - 1.0)
        + allreduce_doubling(c, between(c), 1.0)
        + contention(c, c.bytes, c.ranks)
}

fn allreduce_doubling_two_corrected(c: &Case<'_>) -> f64 {
    let rounds = Pattern::Butterfly {
        near: inner_rounds(c),
        far: 1,
        crossing: c.ranks,
    };
    on_two(c, &rounds) + down(c) * reduced(c, c.bytes)
}

fn allreduce_halves_two(c: &Case<'_>) -> f64 {
    halves_and_back_two(c, 2.0)
}

/// With the m of the sum, a p-th of the vector, in the broadcast too.
fn allreduce_broadcast_one(c: &Case<'_>) -> f64 {
    let part = c.bytes / f64::from(c.ranks);
    halves_and_back_one(c) + down(c) * single(c).round_us(part)
}

fn allreduce_broadcast_one_corrected(c: &Case<'_>) -> f64 {
    halves_and_back_one(c) + broadcast_ordered_one(c)
}

fn allreduce_broadcast_two(c: &Case<'_>) -> f64 {
    let bytes = c.bytes / f64::from(c.ranks);
    halves_and_back_two(c, 1.0) + tree_two(&Case { bytes, ..*c })
}

fn allreduce_broadcast_two_corrected(c: &Case<'_>) -> f64 {
    halves_and_back_two(c, 1.0) + tree_two(c)
}

fn allreduce_hybrid_a(c: &Case<'_>) -> f64 {
    let (outer, crossing) = (f64::from(c.x - 1), c.ranks >> (c.x - 1));
    let inner = f64::from(inner_rounds(c)) - outer;
    let round_inside = inside(c).round_us(c.bytes);
    2.0 * outer * round_inside
        + outer * reduced(c, c.bytes)
        + inner * (round_inside + reduced(c, c.bytes))
        + between(c).round_us(c.bytes)
        + reduced(c, c.bytes)
        + contention(c, c.bytes, crossing)
}

fn allreduce_hybrid_b(c: &Case<'_>) -> f64 {
    let halving = |bytes| inside(c).round_us(bytes) + reduced(c, bytes);
    let inner: f64 = doubled(c, inner_rounds(c)).map(halving).sum();
    let outer = between(c).round_us(half(c)) + reduced(c, half(c));
    let bytes = c.bytes / f64::from(c.ranks);
    inner + outer + contention(c, half(c), c.ranks) + allgather_hybrid(&Case { bytes, ..*c })
}

#[cfg(test)]
mod tests;
