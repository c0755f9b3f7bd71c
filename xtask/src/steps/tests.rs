//! The table of steps: every test stands in it, and once.

use super::*;
use crate::needs::NEEDS;

/// What docs/testing.md says of these.
const NOT_SANITIZED: [&str; 4] = ["idle", "launch", "tls", "tuned"];

/// The integration tests of a crate in this folder.
fn integration_tests(of: &str) -> Vec<String> {
    let folder = crate::repository_root().join(of).join("tests");
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let paths = entries.map(|entry| entry.expect("it can be listed").path());
    let is_rust = |path: &std::path::PathBuf| path.extension().is_some_and(|end| end == "rs");
    let tests = paths.filter(|path| is_rust(path) || path.join("main.rs").is_file());
    let name = |path: std::path::PathBuf| Some(path.file_stem()?.to_str()?.to_string());
    let mut names: Vec<String> = tests.filter_map(name).collect();
    names.sort();
    names
}

/// What steps name by `--test`, in order.
fn named(steps: impl Iterator<Item = &'static Step>) -> Vec<&'static str> {
    let pairs = steps.flat_map(|step| step.cargo.windows(2));
    let tests = pairs.filter(|pair| pair[0] == "--test").map(|pair| pair[1]);
    let mut names: Vec<&str> = tests.collect();
    names.sort_unstable();
    names
}

#[test]
fn every_integration_test_is_sanitized_or_left_out_on_purpose() {
    let sanitized = STEPS.iter().filter(|step| step.environment == SANITIZER);
    let (compiled, run): (Vec<&Step>, Vec<&Step>) =
        sanitized.partition(|step| step.name == SANITIZED);
    let mut there = integration_tests("crates/allhands");
    there.retain(|name| !NOT_SANITIZED.contains(&name.as_str()));
    let says = "compiled and run under AddressSanitizer, or in `NOT_SANITIZED` and docs/testing.md";
    assert_eq!(named(compiled.into_iter()), there, "{says}");
    assert_eq!(named(run.into_iter()), there, "{says}");
}

#[test]
fn every_integration_test_runs_once_with_every_assertion() {
    let crates = std::fs::read_dir(crate::repository_root().join("crates"));
    let crates = crates.expect("there are crates").flatten();
    let crates = crates.map(|entry| format!("crates/{}", entry.file_name().display()));
    let of_all = crates.chain(["xtask".to_string()]);
    let mut there: Vec<String> = of_all.flat_map(|of| integration_tests(&of)).collect();
    there.sort();
    // `--test` runs what has this name in any crate.
    there.dedup();
    let compiled = STEPS.iter().find(|step| step.name == COMPILED);
    let all = compiled.and_then(|step| step.cargo.strip_suffix(&["--no-run"]));
    let all = all.expect("it compiles all");
    let run = named(STEPS.iter().filter(|step| step.cargo.starts_with(all)));
    assert_eq!(run, there);
}

#[test]
fn what_a_step_comes_after_runs_wherever_it_does_and_not_behind_it() {
    for (at, step) in STEPS.iter().enumerate() {
        let Some(name) = step.after else { continue };
        let before = STEPS[..at].iter().find(|before| before.name == name);
        let before = before.unwrap_or_else(|| panic!("`{}` comes after nothing", step.name));
        assert!(before.when == When::Always || before.when == step.when);
        assert_ne!(before.beside, Beside::Nothing);
    }
}

#[test]
fn every_step_needs_only_what_the_table_of_needs_has() {
    for step in STEPS {
        for program in step.needs {
            assert!(
                NEEDS.iter().any(|need| need.program == *program),
                "step `{}` needs `{program}`, which NEEDS does not list",
                step.name
            );
        }
    }
}
