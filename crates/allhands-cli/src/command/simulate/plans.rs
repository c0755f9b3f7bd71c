//! The plans of all ranks of a simulated call, if they are not too large together.

use allhands_core::algorithm::Algorithm;
use allhands_core::schedule::{Extent, Layout, Moving, Plan, PlanItem, PlanOp, Shape};

/// The plans of all ranks are too large to be simulated.
#[derive(Debug)]
pub struct TooLarge {
    /// The bytes that they would take.
    needed: u64,
}

impl std::fmt::Display for TooLarge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "the plans of all ranks take about {} GiB, and {} are the most: take fewer ranks, or an algorithm that does less on each",
            self.needed >> 30,
            MOST_BYTES >> 30
        )
    }
}

impl std::error::Error for TooLarge {}

/// What the plans of all ranks may take together.
const MOST_BYTES: u64 = 12 << 30;

/// About what a plan takes, with what the simulator keeps beside it, and the memory of elements that are checked.
fn held(plan: &Plan, checked: bool) -> u64 {
    /// Of an operation: itself, its lane, and when it is done.
    const OPERATION_BYTES: usize = size_of::<PlanOp>() + 48;
    let bytes = 512
        + plan.ops.len() * OPERATION_BYTES
        + plan.items.len() * size_of::<PlanItem>()
        + plan.extents.len() * size_of::<Extent>()
        // The rule, and where it stands.
        + plan.moving.len() * (size_of::<Moving>() + size_of::<Extent>());
    let spaces: usize = plan.space_bytes.iter().sum();
    // Checked elements are twice as long as real ones.
    bytes as u64 + if checked { 2 * spaces as u64 } else { 0 }
}

/// The length of an element.
pub const ELEMENT_BYTES: usize = 8;

/// The plans of all ranks: without extents where nobody asks where bytes lie, and only if they are not too large together.
pub fn all_plans(
    algorithm: &Algorithm,
    shape: &Shape,
    layout: &Layout,
    (with_extents, checked): (bool, bool),
) -> anyhow::Result<Vec<Plan>> {
    let ranks = u64::from(shape.ranks());
    let mut plans = algorithm.plans(shape, layout, ELEMENT_BYTES);
    if !with_extents {
        plans = plans.without_extents();
    }
    let mut all = Vec::with_capacity(ranks as usize);
    // The root's may be larger by far than others, which are about as large as those before them.
    let (mut root, mut others, mut so_many) = (0, 0, 0);
    for plan in plans {
        let plan = plan?;
        match plan.rank == shape.call.root {
            true => root = held(&plan, checked),
            false => (others, so_many) = (others + held(&plan, checked), so_many + 1),
        }
        let to_come = ranks.saturating_sub(1 + so_many);
        let needed = root + others + others / u64::max(so_many, 1) * to_come;
        if needed > MOST_BYTES {
            return Err(TooLarge { needed }.into());
        }
        all.push(plan);
    }
    Ok(all)
}
