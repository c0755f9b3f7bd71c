//! Policies as users type them, NAME or NAME:key=value: an algorithm, or an error that says what is wrong.
#![no_main]

use allhands_core::call::{Call, Collective};
use allhands_core::choose::{Policy, Question, explain};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let policy = Policy::parse(text);
    let printed = policy.to_string();
    // Behind a preset's name a colon makes it that of an algorithm, which there is not; without parameters it is not printed.
    if !Policy::NAMES.contains(&printed.as_str()) {
        assert_eq!(policy, Policy::parse(&printed), "{policy}");
    }
    for collective in Collective::ALL {
        for (ranks, bytes) in [(1, 0), (5, 64), (8, 1 << 20)] {
            let question = Question::new(Call::new(collective, ranks), bytes);
            match explain(&policy, &question, &|_, _, bytes| bytes as f64) {
                Ok(explanation) => drop(explanation.choice),
                Err(error) => drop(error.to_string()),
            }
        }
    }
});
