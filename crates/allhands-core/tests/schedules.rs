//! The schedules in `testdata/schedules`: golden ones, which are right and what the registry builds, and broken
//! ones, each of which is caught by the law that it breaks.
//!
//! `UPDATE_EXPECT=1 cargo test -p allhands-core --test schedules` writes the golden files anew. A new
//! file is an empty one of the name `<collective>-<algorithm>-p<ranks>.sched`, with `-on-<nodes>` after the ranks if they are
//! not all on one node, before the update.

use allhands_core::algorithm::{self, Algorithm, Claims};
use allhands_core::call::Call;
use allhands_core::machine::Nodes;
use allhands_core::schedule::Shape;
use allhands_core::schedule::text::{Directive, Document, parse, print};
use allhands_core::symbolic::{Failure, Law};
use allhands_core::verify::{check_claims, lowered, verify_world};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/schedules");

/// The `.sched` files of a folder, in order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("testdata is there");
    let mut paths: Vec<PathBuf> = entries.map(|e| e.expect("an entry").path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "sched"));
    paths.sort();
    paths
}

fn read(path: &Path) -> Document {
    let text = std::fs::read_to_string(path).expect("a text");
    parse(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The algorithm that a document names, with the shape that its header says.
fn named_algorithm(document: &Document) -> Option<(&'static Algorithm, Shape)> {
    let words = document.directive("algorithm").next()?;
    let name = words.first().expect("an algorithm has a name");
    let algorithm = algorithm::find(document.call.collective, name)
        .unwrap_or_else(|| panic!("no {} is called {name}", document.call.collective));
    let shape = algorithm
        .shape(document.call, &setting(document))
        .unwrap_or_else(|e| panic!("{e}"));
    let nodes = words.iter().find_map(|word| word.strip_prefix("nodes="));
    let nodes = nodes.map_or(Ok(Nodes::one()), str::parse);
    let shape = shape.on(nodes.unwrap_or_else(|e| panic!("{e}")));
    Some((algorithm, shape.with(algorithm.fabrics())))
}

/// The parameters that a document's header names.
fn setting(document: &Document) -> String {
    let words = document.directive("algorithm").next().unwrap_or_default();
    let setting = words.get(1).filter(|word| !word.starts_with("nodes="));
    setting.cloned().unwrap_or_default()
}

/// The claims of a header: `claims ports=1 steps=3 volume=3 work=0`.
fn claims(document: &Document) -> Option<Claims> {
    let words = document.directive("claims").next()?;
    let number = |key: &str| -> u64 {
        let value = words
            .iter()
            .find_map(|w| w.strip_prefix(key)?.strip_prefix('='));
        let value = value.unwrap_or_else(|| panic!("the claims lack {key}"));
        value
            .parse()
            .unwrap_or_else(|e| panic!("{key}={value}: {e}"))
    };
    Some(Claims {
        ports: number("ports") as u32,
        steps: number("steps") as u32,
        volume: number("volume"),
        work: number("work"),
    })
}

/// Does what the `test` directives say.
fn examine(document: &Document) -> Result<(), Failure> {
    let (call, schedules) = (&document.call, &document.schedules);
    let windows = schedules
        .iter()
        .any(|s| s.flags > 0 || !s.window.is_empty());
    let mut tested = false;
    for words in document.directive("test") {
        for word in words {
            tested = true;
            match word.as_str() {
                "verify" => {
                    let counted = verify_world(call, schedules, windows)?;
                    claims(document).map_or(Ok(()), |c| check_claims(&c, &counted))?;
                }
                "lowered" => {
                    assert!(
                        call.ranks <= lowered::MOST_RANKS,
                        "too many ranks for test lowered"
                    );
                    lowered::check(call, schedules)?;
                }
                other => panic!("test {other}: only verify and lowered are known"),
            }
        }
    }
    assert!(tested, "a document says what to test");
    Ok(())
}

#[test]
fn golden_schedules_are_right_and_what_the_registry_builds() {
    let paths = files(Path::new(FOLDER));
    assert!(!paths.is_empty());
    for path in paths {
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            update(&path);
        }
        let document = read(&path);
        examine(&document).unwrap_or_else(|f| panic!("{}: {f}", path.display()));
        if let Some((algorithm, shape)) = named_algorithm(&document) {
            let built = algorithm.world(&shape);
            let as_built = Document {
                schedules: built,
                ..document.clone()
            };
            assert_eq!(
                print(&document),
                print(&as_built),
                "{}: {algorithm:?} builds something else now; if that is right, UPDATE_EXPECT=1 writes it",
                path.display()
            );
            assert_eq!(document, as_built, "{}", path.display());
        }
    }
}

/// Writes a golden file as the registry builds it now: for the algorithm and call in its header, or in its name
/// if it is empty. A file without an algorithm is hand-written and stays.
fn update(path: &Path) {
    let text = std::fs::read_to_string(path).expect("a text");
    let (algorithm, shape, setting) = if text.trim().is_empty() {
        let name = path.file_stem().and_then(|n| n.to_str()).expect("a name");
        let (name, nodes) = name.split_once("-on-").unwrap_or((name, "one"));
        let (algorithm, ranks) = from_file_name(name)
            .unwrap_or_else(|| panic!("{name} is not <collective>-<algorithm>-p<ranks>"));
        let nodes = nodes.parse().unwrap_or_else(|e| panic!("{e}"));
        let call = Call::new(algorithm.collective, ranks);
        let shape = algorithm
            .shape(call, "")
            .expect("the default setting is right");
        let shape = shape.on(nodes).with(algorithm.fabrics());
        (algorithm, shape, String::new())
    } else {
        // What the file says may be outdated; its header is not.
        let document = parse(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let Some((algorithm, shape)) = named_algorithm(&document) else {
            return;
        };
        (algorithm, shape, setting(&document))
    };
    algorithm
        .admits(&shape)
        .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let written = print(&golden(algorithm, &shape, &setting));
    std::fs::write(path, written).expect("the file can be written");
}

/// The golden document of an algorithm.
fn golden(algorithm: &Algorithm, shape: &Shape, setting: &str) -> Document {
    let directive = |name: &str, words: &[&str]| Directive {
        name: name.to_string(),
        words: words
            .iter()
            .filter(|w| !w.is_empty())
            .map(ToString::to_string)
            .collect(),
    };
    let Claims {
        ports,
        steps,
        volume,
        work,
    } = costs_of(algorithm, shape);
    let nodes = match shape.nodes == Nodes::one() {
        true => String::new(),
        false => format!("nodes={}", shape.nodes),
    };
    let costs = format!("ports={ports} steps={steps} volume={volume} work={work}");
    let costs: Vec<&str> = costs.split(' ').collect();
    Document {
        directives: vec![
            directive("test", &["verify", "lowered"]),
            directive("algorithm", &[algorithm.name, setting, &nodes]),
            directive("claims", &costs),
        ],
        call: shape.call,
        parts: (algorithm.parts)(shape),
        schedules: algorithm.world(shape),
    }
}

/// What an algorithm claims, and what was counted where it claims nothing.
fn costs_of(algorithm: &Algorithm, shape: &Shape) -> Claims {
    let claims = (algorithm.claims)(shape);
    if !claims.are_limits() {
        return claims;
    }
    let counted = verify_world(&shape.call, &algorithm.world(shape), true);
    let counted = counted.unwrap_or_else(|f| panic!("{algorithm:?}: {f}"));
    Claims {
        ports: claims.ports,
        steps: counted.steps,
        volume: counted.volume,
        work: counted.work,
    }
}

fn from_file_name(name: &str) -> Option<(&'static Algorithm, u32)> {
    let (algorithm, ranks) = name.rsplit_once("-p")?;
    let is_it = |a: &&Algorithm| format!("{}-{}", a.collective, a.name) == algorithm;
    Some((algorithm::all().find(is_it)?, ranks.parse().ok()?))
}

#[test]
fn every_law_catches_its_broken_schedules() {
    let mut caught = BTreeSet::new();
    for path in files(&Path::new(FOLDER).join("broken")) {
        let document = read(&path);
        let words = document.directive("expect").next();
        let law = match words.unwrap_or_else(|| panic!("{} expects nothing", path.display())) {
            [law, number] if law == "law" => number.parse().expect("the number of a law"),
            other => panic!("{}: expect {other:?}, not law N", path.display()),
        };
        let failure =
            examine(&document).expect_err(&format!("{}: law {law} is broken", path.display()));
        assert_eq!(failure.law.number(), law, "{}: {failure}", path.display());
        caught.insert(failure.law);
    }
    let laws = [
        Law::Matching,
        Law::Termination,
        Law::Result,
        Law::Hazard,
        Law::Window,
        Law::Claim,
    ];
    assert_eq!(
        caught,
        BTreeSet::from(laws),
        "a broken schedule for each law"
    );
}
