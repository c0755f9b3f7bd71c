//! Machines as files: each is read, or what is wrong with it is said.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = allhands_cli::check_machine(text);
});
