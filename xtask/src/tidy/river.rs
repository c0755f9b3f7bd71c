//! The rule that data flows one way through allhands-core: no module imports one that is downstream of it.

use std::collections::BTreeSet;

use super::imports::{imports, module_path};
use super::{Finding, SourceFile, Tree};

const FOLDER: &str = "crates/allhands-core/src/";

/// A module at the root of allhands-core and the modules that it may not name.
struct Bank {
    module: &'static str,
    may_not_import: &'static [&'static str],
}

/// Everything that stands on a schedule.
const DOWNSTREAM: &[&str] = &["choose", "progress", "cost", "verify", "draw", "simulate"];
/// The same, and what makes schedules.
const FROM_ALGORITHM_ON: &[&str] = &[
    "algorithm",
    "choose",
    "progress",
    "cost",
    "verify",
    "draw",
    "simulate",
];

const RIVER: &[Bank] = &[
    bank("call", FROM_ALGORITHM_ON),
    bank("machine", FROM_ALGORITHM_ON),
    bank("pattern", FROM_ALGORITHM_ON),
    bank("schedule", FROM_ALGORITHM_ON),
    bank("algorithm", DOWNSTREAM),
    // What both the verifier and the simulator move, to see whether results are right.
    bank("elements", DOWNSTREAM),
    bank(
        "progress",
        &["choose", "cost", "verify", "draw", "simulate"],
    ),
    bank(
        "cost",
        &["choose", "progress", "verify", "draw", "simulate"],
    ),
    // The verifier runs the lowered form with the one interpreter of schedules, on memory of its own.
    bank("verify", &["choose", "cost", "draw", "simulate"]),
    bank(
        "draw",
        &["choose", "progress", "cost", "verify", "simulate"],
    ),
    bank(
        "choose",
        &["progress", "cost", "verify", "draw", "simulate"],
    ),
    // The simulator drives the one interpreter of schedules, as the real transports do.
    bank("simulate", &["choose", "cost", "verify", "draw"]),
];

const fn bank(module: &'static str, may_not_import: &'static [&'static str]) -> Bank {
    Bank {
        module,
        may_not_import,
    }
}

/// Finds paths in allhands-core that lead against the river; its tests may look anywhere.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let modules: BTreeSet<String> = tree
        .rust()
        .filter_map(|file| module_path(FOLDER, file.path)?.into_iter().next())
        .collect();
    tree.rust()
        .flat_map(|file| check_file(file, &modules))
        .collect()
}

fn check_file(file: SourceFile<'_>, modules: &BTreeSet<String>) -> Vec<Finding> {
    let Some(module) = module_path(FOLDER, file.path) else {
        return Vec::new();
    };
    let Some(bank) = RIVER
        .iter()
        .find(|bank| module.first().is_some_and(|own| own == bank.module))
    else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    for import in imports(file.text, &module) {
        let Some(name) = import.path.first() else {
            continue;
        };
        let what = if bank.may_not_import.contains(&name.as_str()) {
            format!("`{}` imports `{name}`", bank.module)
        } else if !modules.contains(name) {
            format!(
                "`{}` imports `crate::{name}` by way of the root",
                bank.module
            )
        } else {
            continue;
        };
        let forbidden = bank.may_not_import.join(", ");
        findings.push(Finding {
            file: file.path.to_owned(),
            line: import.line,
            rule: "river",
            what,
            right: format!(
                "a path that names its module, other than {forbidden}: data flows one way, so \
                 what both need stands upstream of both, or is handed in as an argument"
            ),
        });
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whats(path: &str, text: &str) -> Vec<(usize, String)> {
        let path = format!("{FOLDER}{path}");
        let others = ["call", "schedule", "cost", "verify/mod", "progress"];
        let others = others.map(|module| format!("{FOLDER}{module}.rs"));
        let mut files: Vec<(&str, &str)> = others.iter().map(|path| (path.as_str(), "")).collect();
        files.push((&path, text));
        let findings = check(&Tree::of(&files));
        findings.into_iter().map(|f| (f.line, f.what)).collect()
    }

    fn against(line: usize, from: &str, to: &str) -> (usize, String) {
        (line, format!("`{from}` imports `{to}`"))
    }

    #[test]
    fn every_spelling_of_a_path_against_the_river_is_found() {
        for text in [
            "use crate::cost::Price;",
            "use crate::{call, cost::Price};",
            "use crate::{call, cost};",
            "use super::super::cost;",
            "use super::super::{cost as c};",
            "fn f() -> crate::cost::Price { 0 }",
            "fn f() { assert!(crate::cost::f()); }",
            "mod inner { use super::super::super::cost; }",
            "#[derive(Debug)] struct S(crate::cost::Price);",
        ] {
            let found = whats("verify/hazard.rs", text);
            assert_eq!(found, [against(1, "verify", "cost")], "{text}");
        }
    }

    #[test]
    fn paths_with_the_river_are_free() {
        for text in [
            "use crate::{call, schedule::Op};",
            "use super::cost;",
            "use self::cost::Price;",
            "pub(crate) fn cost() {}",
            "/// Not like [`crate::cost`].\nfn f() {}",
            "#[cfg(test)]\nmod tests { use crate::cost; }",
            "#[cfg(test)]\nuse crate::cost;\nfn f() {}",
            "fn f() { crate::say!(1); }",
        ] {
            assert_eq!(whats("verify/hazard.rs", text), [], "{text}");
        }
        assert_eq!(whats("simulate/clock.rs", "use crate::progress;"), []);
        assert_eq!(whats("lib.rs", "pub use crate::cost::Price;"), []);
        assert_eq!(whats("verify/tests.rs", "use crate::cost;"), []);
    }

    #[test]
    fn what_follows_a_test_module_is_looked_at_again() {
        let text = "#[cfg(test)]\nmod tests {}\n#[cfg(not(test))]\nuse crate::cost;";
        assert_eq!(whats("verify/mod.rs", text), [against(4, "verify", "cost")]);
    }

    #[test]
    fn schedules_know_nothing_of_algorithms() {
        assert_eq!(
            whats("schedule.rs", "\nuse crate::algorithm;"),
            [against(2, "schedule", "algorithm")]
        );
    }

    #[test]
    fn the_root_is_no_way_round() {
        let by_root = |name: &str| format!("`verify` imports `crate::{name}` by way of the root");
        assert_eq!(
            whats("verify/mod.rs", "use crate::Price;"),
            [(1, by_root("Price"))]
        );
        assert_eq!(whats("verify/mod.rs", "use crate::*;"), [(1, by_root("*"))]);
    }

    #[test]
    fn no_module_is_forbidden_to_import_itself() {
        for bank in RIVER {
            assert!(
                !bank.may_not_import.contains(&bank.module),
                "{}",
                bank.module
            );
        }
    }
}
