//! Texts of schedules: whatever is read is printed and read again the same, and proofs of it end, with or without success.
#![no_main]

use allhands_core::schedule::text::{Document, parse, print};
use allhands_core::schedule::{Item, Schedule};
use allhands_core::verify::verify_world;
use libfuzzer_sys::fuzz_target;

/// Iterations of all operations of all ranks that a proof may have here, and the blocks that each may touch.
const MOST_OPS: u64 = 10_000;
const MOST_BLOCKS: u32 = 10_000;

fuzz_target!(|text: &str| {
    let Ok(document) = parse(text) else { return };
    let printed = print(&document);
    let again = parse(&printed).unwrap_or_else(|error| panic!("{error}\n{printed}"));
    assert_eq!(document, again, "{printed}");
    if is_small(&document) {
        let _ = verify_world(&document.call, &document.schedules, false);
        let _ = verify_world(&document.call, &document.schedules, true);
    }
});

/// Whether proving it takes little time: a text may say a pipeline of four thousand million iterations.
fn is_small(document: &Document) -> bool {
    let items = |schedule: &Schedule| -> u64 {
        let items = schedule.strands.iter().flat_map(|strand| &strand.items);
        items.map(ops).fold(0, u64::saturating_add)
    };
    let all = document.schedules.iter().map(items);
    let blocks = |schedule: &Schedule| {
        let lists = schedule
            .ops
            .iter()
            .flat_map(|op| [op.from, op.into, op.other]);
        let counts = lists.map(|list| schedule.count(list));
        counts.fold(0, u32::saturating_add)
    };
    document.call.ranks <= 64
        && document.parts <= MOST_BLOCKS
        && all.fold(0, u64::saturating_add) <= MOST_OPS
        && document
            .schedules
            .iter()
            .all(|schedule| blocks(schedule) <= MOST_BLOCKS)
}

fn ops(item: &Item) -> u64 {
    let ops = item.ops().len() as u64;
    match item {
        Item::Step { .. } => ops,
        Item::Repeat { times, .. } => ops.saturating_mul(u64::from(*times)),
    }
}
