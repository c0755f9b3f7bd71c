//! Machine files: what is built in is right, and mistakes are named.

use super::files::BUILT_IN;
use super::*;

#[test]
fn what_is_built_in_is_read() {
    for (name, _) in BUILT_IN {
        assert_eq!(Machine::find(name).expect("it is right").name, name);
    }
}

fn built_in(name: &str) -> &'static str {
    BUILT_IN
        .iter()
        .find(|own| own.0 == name)
        .expect("it is there")
        .1
}

fn said(text: &str) -> String {
    format!("{:#}", Machine::parse(text).unwrap_err())
}

#[test]
fn a_machine_says_for_how_many_ranks_it_has_room() {
    let admits = |name: &str, ranks| Machine::find(name).expect("it is there").admits(ranks);
    assert!(admits("cell", 8).is_ok() && admits("cell-blade", 16).is_ok());
    assert!(admits("roadrunner", 1024).is_ok() && admits("hockney", 1 << 16).is_ok());
    let said = admits("cell", 9).unwrap_err().to_string();
    assert!(said.contains("room for 8"), "{said}");
}

#[test]
fn mistakes_in_a_file_are_named() {
    let right = built_in("hockney");
    assert!(said(&right.replace("latency_us", "latncy_us")).contains("latncy_us"));
    assert!(said(&right.replace("\"flat\"", "\"round\"")).contains("flat"));
    assert!(said(&right.replace("byte_ns = 10.0", "byte_ns = -1.0")).contains("from 0 to"));
    assert!(said(&right.replace("send_us", "#")).contains("send_us is missing"));
    assert!(said("name = 3").contains("line 1"));
}

#[test]
fn mistakes_of_the_other_kinds_are_named() {
    let plogp = built_in("plogp");
    assert!(said(&plogp.replace("bytes      = [0,", "bytes      = [2000,")).contains("rise"));
    assert!(said(&plogp.replace("bytes      = [0,", "bytes      = [")).contains("as many"));
    assert!(said(&plogp.replace("copy_byte_ns", "send_us = 1.0\ncopy_byte_ns")).contains("table"));
    let tree = built_in("fat-tree");
    assert!(said(&tree.replace("down = 18", "down = 0")).contains("at least one"));
    assert!(said(&tree.replace("down = 18", "down = 4000000000")).contains("links"));
    let fixed = built_in("myrinet-2000");
    assert!(said(&fixed.replace("\"by-pair\"", "\"by-pear\"")).contains("by-pair"));
    assert!(said(&fixed.replace("eager_to_bytes = ", "eager_to_bytes = -")).contains("-16384"));
    let groups = built_in("dragonfly");
    assert!(said(&groups.replace("groups = 545", "groups = 546")).contains("545 are the most"));
    let blade = built_in("cell-blade");
    assert!(said(&blade.replace("chips = 2", "chips = 3")).contains("1 or 2 on a blade"));
    assert!(said(&blade.replace("chips = 2", "chips = 1")).contains("[network.bif]"));
    assert!(said(&blade.replace("mfc_ns", "mcf_ns")).contains("mcf_ns"));
    let rails = built_in("multirail-smp");
    assert!(said(&rails.replace("rails = 2 ", "rails = 0 ")).contains("from 1 to 64"));
    assert!(said(&rails.replace("flag_us = ", "flag_us = -")).contains("flag_us"));
    let find = |name| format!("{:#}", Machine::find(name).unwrap_err());
    assert!(find("hockney:4x4").contains("has no nodes"));
    assert!(find("multirail-smp:4y4").contains("says no nodes"));
    let cluster = built_in("cell-cluster");
    assert!(said(&cluster.replace("ranks = 16", "ranks = 20")).contains("a multiple of 16"));
}

/// Every example in the page on machine files is one that can be read, and every kind has one.
#[test]
fn the_page_on_machine_files_has_right_examples_of_every_kind() {
    let page = include_str!("../../../../../../docs/machines.md");
    let examples = page.split("```toml\n").skip(1);
    let examples: Vec<&str> = examples
        .map(|rest| rest.split("```").next().expect("an end"))
        .collect();
    for example in &examples {
        let right = Machine::parse(example);
        right.unwrap_or_else(|error| panic!("{error:#}\n{example}"));
    }
    for kind in [
        "flat",
        "plogp",
        "fat-tree",
        "dragonfly",
        "torus",
        "rails",
        "cell",
        "cluster",
    ] {
        let line = format!("kind = \"{kind}\"");
        assert!(examples.iter().any(|text| text.contains(&line)), "{kind}");
    }
}
