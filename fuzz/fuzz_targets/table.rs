//! Measured tables: whatever is read is printed and read again the same, and every call gets an algorithm by it.
#![no_main]

use allhands_core::call::{Call, Collective};
use allhands_core::choose::{Policy, Question, Table, explain};
use libfuzzer_sys::fuzz_target;
use std::sync::Arc;

fuzz_target!(|text: &str| {
    let Ok(table) = Table::parse("fuzzed", text) else {
        return;
    };
    let printed = table.to_string();
    let again = Table::parse("fuzzed", &printed).unwrap_or_else(|e| panic!("{e}\n{printed}"));
    assert_eq!(printed, again.to_string());
    let policy = Policy::Tuned(Arc::new(table));
    for collective in Collective::ALL {
        for (ranks, bytes) in [(1, 0), (2, 8), (5, 4096), (8, 1 << 20)] {
            let question = Question::new(Call::new(collective, ranks), bytes);
            let explained = explain(&policy, &question, &|_, _, bytes| bytes as f64);
            explained.unwrap_or_else(|error| panic!("{collective:?} {ranks} {bytes}: {error}"));
        }
    }
});
