//! The rule that data flows one way through allhands-core: no module imports one that is downstream of it.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

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
        .filter_map(|file| module_path(file.path)?.into_iter().next())
        .collect();
    tree.rust()
        .flat_map(|file| check_file(file, &modules))
        .collect()
}

fn check_file(file: SourceFile<'_>, modules: &BTreeSet<String>) -> Vec<Finding> {
    let Some(module) = module_path(file.path) else {
        return Vec::new();
    };
    let Some(bank) = RIVER
        .iter()
        .find(|bank| module.first().is_some_and(|own| own == bank.module))
    else {
        return Vec::new();
    };
    // Text that is no Rust is what the rule of sizes reports.
    let tokens: TokenStream = file.text.parse().unwrap_or_default();
    let mut findings = Vec::new();
    for import in imports(tokens, &module) {
        let what = if bank.may_not_import.contains(&import.name.as_str()) {
            format!("`{}` imports `{}`", bank.module, import.name)
        } else if !modules.contains(&import.name) {
            format!(
                "`{}` imports `crate::{}` by way of the root",
                bank.module, import.name
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

/// `["verify", "hazard"]` of `verify/hazard.rs`; `None` outside of allhands-core and for its tests.
fn module_path(path: &str) -> Option<Vec<String>> {
    let inner = path.strip_prefix(FOLDER)?.strip_suffix(".rs")?;
    let mut parts: Vec<String> = inner.split('/').map(str::to_owned).collect();
    if parts.iter().any(|part| part == "tests") {
        return None;
    }
    let last = parts.last().map(String::as_str);
    if last == Some("mod") || inner == "lib" {
        parts.pop();
    }
    Some(parts)
}

/// A name looked up at the crate's root.
struct Import {
    name: String,
    line: usize,
}

/// Every name that a path in these tokens looks up at the crate's root.
fn imports(tokens: TokenStream, module: &[String]) -> Vec<Import> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Punct(punct) if punct.as_char() == '#' => {
                at = after_attribute(&tokens, at);
            }
            TokenTree::Ident(ident) if ident == "mod" => {
                if let Some(TokenTree::Ident(name)) = tokens.get(at + 1)
                    && let Some(TokenTree::Group(body)) = tokens.get(at + 2)
                {
                    let inner = [module, &[name.to_string()]].concat();
                    found.extend(imports(body.stream(), &inner));
                    at += 2;
                }
                at += 1;
            }
            TokenTree::Ident(_) => {
                let (names, next) = root_names(&tokens, at, module.len());
                found.extend(names);
                at = next;
            }
            TokenTree::Group(group) => {
                found.extend(imports(group.stream(), module));
                at += 1;
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => at += 1,
        }
    }
    found
}

/// The place behind an attribute, and behind its item when that is compiled for tests alone.
fn after_attribute(tokens: &[TokenTree], hash: usize) -> usize {
    let is_inner = matches!(tokens.get(hash + 1), Some(TokenTree::Punct(p)) if p.as_char() == '!');
    let group = hash + 1 + usize::from(is_inner);
    let Some(TokenTree::Group(attribute)) = tokens.get(group) else {
        return hash + 1;
    };
    if attribute.stream().to_string().replace(' ', "") != "cfg(test)" {
        return group + 1;
    }
    if is_inner {
        return tokens.len();
    }
    let is_end = |token: &TokenTree| match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        TokenTree::Punct(punct) => punct.as_char() == ';',
        TokenTree::Ident(_) | TokenTree::Literal(_) => false,
    };
    let rest = &tokens[group + 1..];
    rest.iter()
        .position(is_end)
        .map_or(tokens.len(), |end| group + 1 + end + 1)
}

/// The names that the path beginning at `start` looks up at the root, when it leads there, and where to go on.
fn root_names(tokens: &[TokenTree], start: usize, depth: usize) -> (Vec<Import>, usize) {
    let mut above = match tokens[start].to_string().as_str() {
        "crate" => 0,
        "self" => depth,
        "super" => depth.saturating_sub(1),
        _ => return (Vec::new(), start + 1),
    };
    let mut at = start + 1;
    while is_path_separator(tokens, at) {
        match tokens.get(at + 2) {
            Some(TokenTree::Ident(ident)) if ident == "super" => {
                above = above.saturating_sub(1);
                at += 3;
            }
            Some(head) if above == 0 => {
                let is_macro =
                    matches!(tokens.get(at + 3), Some(TokenTree::Punct(p)) if p.as_char() == '!');
                let names = if is_macro { Vec::new() } else { heads(head) };
                return (names, at + 3);
            }
            Some(_) | None => break,
        }
    }
    (Vec::new(), at)
}

fn is_path_separator(tokens: &[TokenTree], at: usize) -> bool {
    let is_colon = |token: Option<&TokenTree>| matches!(token, Some(TokenTree::Punct(p)) if p.as_char() == ':');
    is_colon(tokens.get(at)) && is_colon(tokens.get(at + 1))
}

/// The first names of what stands behind `crate::`: one, `*`, or several between braces.
fn heads(token: &TokenTree) -> Vec<Import> {
    let import = |token: &TokenTree| Import {
        name: token.to_string().trim_start_matches("r#").to_owned(),
        line: token.span().start().line,
    };
    let TokenTree::Group(group) = token else {
        return vec![import(token)];
    };
    let inner: Vec<TokenTree> = group.stream().into_iter().collect();
    inner
        .split(|token| matches!(token, TokenTree::Punct(p) if p.as_char() == ','))
        .filter_map(|part| part.first().map(import))
        .collect()
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
