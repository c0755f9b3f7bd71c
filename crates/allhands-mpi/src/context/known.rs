//! What may be said: the variables that exist, and whether algorithms and policies that they name do.

use crate::context::call::Call;
use crate::context::settings::{NODES, POLICY, REPORT, SWITCH, TIMES, TRACE, VERIFY, switch};
use allhands::Policy;
use allhands_core::algorithm::{self, Algorithm};
use allhands_core::call::{self, Collective};

/// How the names of all variables begin.
const PREFIX: &str = "ALLHANDS_";

/// The variables of this library, but for those that are named after calls.
const OWN: [&str; 7] = [SWITCH, VERIFY, POLICY, NODES, REPORT, TIMES, TRACE];

/// Those of the other parts of the project: they mean nothing here, and are no mistakes.
const OTHERS: [&str; 26] = [
    "ALLHANDS_RANK",
    "ALLHANDS_RANKS",
    "ALLHANDS_SEGMENT",
    "ALLHANDS_CPUS",
    "ALLHANDS_RENDEZVOUS",
    "ALLHANDS_SIZE",
    "ALLHANDS_SECRET",
    "ALLHANDS_PATIENCE_S",
    "ALLHANDS_RAILS",
    "ALLHANDS_PORTS",
    "ALLHANDS_HOST",
    "ALLHANDS_CONNECT",
    "ALLHANDS_NETWORK",
    "ALLHANDS_OFI_PROVIDER",
    "ALLHANDS_TLS",
    "ALLHANDS_BENCH_CELLS",
    "ALLHANDS_BENCH_SECONDS",
    "ALLHANDS_TUNE_MEMBER",
    "ALLHANDS_CI_MPI",
    "ALLHANDS_CI_PYTHON",
    "ALLHANDS_SUITE",
    "ALLHANDS_SUITE_WORLD",
    "ALLHANDS_TEST_MARK",
    "ALLHANDS_TEST_PART",
    "ALLHANDS_TEST_TURNS",
    "ALLHANDS_WAITS_PART",
];

/// What is wrong with this process's environment, a sentence each, where there are so many ranks.
pub(crate) fn mistakes(ranks: usize) -> Vec<String> {
    let all = std::env::vars_os();
    let texts = all.filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
    let ours = texts.filter(|(name, _)| name.starts_with(PREFIX));
    let mut ours: Vec<(String, String)> = ours
        .map(|(name, value)| (name, value.to_string_lossy().into_owned()))
        .collect();
    ours.sort();
    ours.iter()
        .filter_map(|(name, value)| mistake(name, value.trim(), ranks))
        .collect()
}

/// What is wrong with a variable, if anything is that [`Settings`](crate::context::settings::Settings) does not find.
fn mistake(name: &str, value: &str, ranks: usize) -> Option<String> {
    let call = Call::ALL.iter().find(|call| call.variable() == name);
    match (name, call) {
        (_, None) if !OWN.contains(&name) && !OTHERS.contains(&name) => {
            let calls = Call::ALL.iter().map(|call| call.variable());
            let known = OWN.iter().map(ToString::to_string).chain(calls);
            Some(format!(
                "there is no variable {name}{}",
                nearest(name, known, "docs/drop-in.md lists them")
            ))
        }
        _ if value.is_empty() => None,
        (TIMES, _) if switch(value).is_none() => Some(format!(
            "{TIMES} is '{value}', where on or off would be right"
        )),
        (POLICY, _) if !Policy::NAMES.contains(&value) => {
            fixed(name, value, &Collective::ALL, ranks, &Policy::NAMES)
        }
        (_, Some(call)) if switch(value).is_none() => {
            fixed(name, value, &[call.collective()], ranks, &["on", "off"])
        }
        _ => None,
    }
}

/// What is wrong with `NAME` or `NAME:key=value,…` where an algorithm of one of these collectives is named, or one of `others`.
fn fixed(
    variable: &str,
    value: &str,
    collectives: &[Collective],
    ranks: usize,
    others: &[&str],
) -> Option<String> {
    let (name, parameters) = value.split_once(':').unwrap_or((value, ""));
    let all = || collectives.iter().flat_map(|of| algorithm::of(*of));
    let found: Vec<&Algorithm> = all().filter(|known| known.name == name).collect();
    let names = others.iter().copied().chain(all().map(|known| known.name));
    let Some(first) = found.first() else {
        let what = match collectives {
            [collective] => format!("{collective} has no algorithm '{name}'"),
            _ => format!("there is no policy or algorithm '{name}'"),
        };
        let near = nearest(name, names.map(String::from), "`allhands list` has them");
        return Some(format!("{variable}: {what}{near}"));
    };
    let shape = |known: &&Algorithm| {
        let call = call::Call::new(known.collective, ranks as u32);
        known.shape(call, parameters).map(|_| ())
    };
    // Some collectives' algorithm of a name has keys that others' has not.
    match found.iter().map(shape).find(Result::is_ok) {
        Some(_) => None,
        None => Some(format!(
            "{variable}: {name}: {}",
            shape(first)
                .err()
                .map_or_else(String::new, |e| e.to_string())
        )),
    }
}

/// The name nearest to one that does not exist, as the end of a sentence; where none is near, what to do.
fn nearest(typed: &str, known: impl Iterator<Item = String>, otherwise: &str) -> String {
    let bare = |name: &str| name.strip_prefix(PREFIX).unwrap_or(name).len();
    let far = |name: String| (distance(typed, &name), name);
    match known.map(far).min() {
        // A third of the letters may be wrong.
        Some((edits, name)) if edits <= (bare(typed).max(bare(&name)) / 3).max(1) => {
            format!(" (did you mean {name}?)")
        }
        _ => format!(" ({otherwise})"),
    }
}

/// How many letters are to be put in, left out, changed or exchanged with their neighbours to make one word of another.
fn distance(one: &str, other: &str) -> usize {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut rows = vec![(0..=other.len()).collect::<Vec<usize>>()];
    for i in 1..=one.len() {
        let mut row = vec![i];
        for j in 1..=other.len() {
            let last = &rows[i - 1];
            let changed = last[j - 1] + usize::from(one[i - 1] != other[j - 1]);
            let mut least = changed.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[one.len()][other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::{Path, PathBuf};

    fn said(name: &str, value: &str) -> Option<String> {
        mistake(name, value, 4)
    }

    #[test]
    fn misspelt_names_are_told_with_the_nearest() {
        for (name, near) in [
            ("ALLHANDS_REPROT", "did you mean ALLHANDS_REPORT?"),
            (
                "ALLHANDS_REPORT_TIME",
                "did you mean ALLHANDS_REPORT_TIMES?",
            ),
            ("ALLHANDS_ALREDUCE", "did you mean ALLHANDS_ALLREDUCE?"),
            ("ALLHANDS_", "docs/drop-in.md"),
            ("ALLHANDS_FROBNICATE", "docs/drop-in.md"),
        ] {
            let text = said(name, "x").unwrap();
            assert!(text.contains(name) && text.contains(near), "{text}");
        }
        for (name, value, near) in [
            (
                "ALLHANDS_ALLREDUCE",
                "rnig",
                "allreduce has no algorithm 'rnig' (did you mean ring?)",
            ),
            ("ALLHANDS_IBCAST", "of", "did you mean off?"),
            ("ALLHANDS_POLICY", "mpich-2050", "did you mean mpich-2005?"),
            ("ALLHANDS_BCAST", "binomial:nosuch=1", "nosuch"),
            ("ALLHANDS_REPORT_TIMES", "never", "on or off"),
            ("ALLHANDS_POLICY", "zzzzzz", "`allhands list`"),
        ] {
            let text = said(name, value).unwrap();
            assert!(text.contains(name) && text.contains(near), "{text}");
        }
    }

    #[test]
    fn what_exists_is_no_mistake() {
        let each = OWN.iter().chain(&OTHERS).map(ToString::to_string);
        let calls = Call::ALL.iter().map(|call| call.variable());
        for name in each.chain(calls) {
            assert_eq!(said(&name, ""), None);
        }
        assert_eq!(said("ALLHANDS_ALLREDUCE", "off"), None);
        assert_eq!(said("ALLHANDS_ALLREDUCE", "ring"), None);
        for policy in Policy::NAMES.into_iter().chain(["binomial", "ring"]) {
            assert_eq!(said("ALLHANDS_POLICY", policy), None);
        }
        for call in Call::ALL {
            for known in algorithm::of(call.collective()) {
                assert_eq!(said(&call.variable(), known.name), None);
            }
        }
    }

    #[test]
    fn words_are_as_far_apart_as_their_edits() {
        for (one, other, edits) in [("", "ab", 2), ("ab", "ba", 1), ("kitten", "sitting", 3)] {
            assert_eq!(distance(one, other), edits);
        }
    }

    /// Whatever any part of the project reads is in the table.
    #[test]
    fn every_variable_of_the_project_is_known() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let folders = ["crates", "xtask/src", ".ci", "lab"].map(|folder| root.join(folder));
        let mut found = 0;
        let mut waiting: Vec<PathBuf> = folders.into_iter().filter(|at| at.exists()).collect();
        while let Some(path) = waiting.pop() {
            if path.is_dir() {
                let entries = std::fs::read_dir(&path).unwrap().flatten();
                let entries = entries.map(|entry| entry.path());
                waiting.extend(entries.filter(|path| !path.ends_with("target")));
                continue;
            }
            // This file has mistakes on purpose.
            let text = std::fs::read(&path).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            for rest in text
                .split(PREFIX)
                .skip(1)
                .filter(|_| !path.ends_with("known.rs"))
            {
                let is_part = |c: &char| c.is_ascii_uppercase() || *c == '_' || c.is_ascii_digit();
                let word: String = rest.chars().take_while(is_part).collect();
                let name = format!("{PREFIX}{word}");
                if !word.is_empty() {
                    assert_eq!(said(&name, ""), None, "{}", path.display());
                    found += 1;
                }
            }
        }
        assert!(found > 50, "{found}");
    }
}
