//! Readiness on strands small enough to follow by hand, and the rules that one copy must not know better than another.

use super::*;
use crate::cost::{Hockney, Sizes, walk};
use crate::schedule::text::parse;
use crate::schedule::{Item, Layout};
use crate::verify::{lowered, verify_world};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// The items of the only strand of rank 0 of a broadcast among two ranks.
fn items(body: &str) -> Vec<Item> {
    let text = format!(
        "call broadcast ranks 2 root 0\nparts 4\nrank 0 {{ strand 0 {{ {body} }} }}\nrank 1 {{ strand 0 {{ }} }}\n"
    );
    let document = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    document.schedules[0].strands[0].items.clone()
}

/// All that a strand does until it waits.
fn until_it_waits(cursor: &mut StrandCursor, items: &[Item]) -> Vec<Next> {
    let mut all = Vec::new();
    loop {
        match cursor.next(items) {
            Next::Wait | Next::End => return all,
            next => all.push(next),
        }
    }
}

fn iteration(at: u32, iteration: u32) -> Next {
    Next::Iteration { at, iteration }
}

#[test]
fn a_step_begins_when_all_of_the_one_before_is_done() {
    let body = "step { send to 1 port 0 in[0] copy in[0..4] into out[0..4] } step { send to 1 port 0 in[1] }";
    let (items, mut cursor) = (items(body), StrandCursor::default());
    assert_eq!(until_it_waits(&mut cursor, &items), [Next::Step(0..2)]);
    assert!(!cursor.done(None));
    assert_eq!(cursor.next(&items), Next::Wait);
    assert!(cursor.done(None));
    let next = until_it_waits(&mut cursor, &items);
    assert_eq!(next, [Next::Over(0), Next::Step(2..3)]);
    assert_eq!([0, 1, 2].map(|n| cursor.has_passed(n)), [true, true, false]);
    assert!(cursor.done(None));
    assert_eq!(cursor.next(&items), Next::Over(1));
    assert_eq!(cursor.next(&items), Next::End);
}

/// A relay: what one operation brings, the other passes on.
fn relay(window: u32) -> Vec<Item> {
    items(&format!(
        "repeat 3 window {window} {{ recv from 1 port 0 into out[0 advance 1] send to 1 port 0 out[0 advance 1] }}"
    ))
}

#[test]
fn an_iteration_starts_when_its_data_is_there_and_the_window_has_room() {
    let (items, mut cursor) = (relay(0), StrandCursor::default());
    let next = until_it_waits(&mut cursor, &items);
    assert_eq!(next, [Next::Repeat(2), iteration(0, 0)]);
    assert!(cursor.done(Some(0)));
    let next = until_it_waits(&mut cursor, &items);
    assert_eq!(next, [iteration(0, 1), iteration(1, 0)]);
    // The receive goes on alone, as far as there is anything to receive.
    cursor.done(Some(0));
    assert_eq!(until_it_waits(&mut cursor, &items), [iteration(0, 2)]);
    cursor.done(Some(0));
    assert_eq!(until_it_waits(&mut cursor, &items), []);
    for done in 1..3 {
        cursor.done(Some(1));
        assert_eq!(until_it_waits(&mut cursor, &items), [iteration(1, done)]);
    }
    cursor.done(Some(1));
    assert_eq!(until_it_waits(&mut cursor, &items), [Next::Over(0)]);

    let (items, mut cursor) = (relay(1), StrandCursor::default());
    until_it_waits(&mut cursor, &items);
    for done in 0..2 {
        cursor.done(Some(0));
        let next = until_it_waits(&mut cursor, &items);
        assert_eq!(next, [iteration(1, done)], "one iteration at a time");
        cursor.done(Some(1));
        let next = until_it_waits(&mut cursor, &items);
        assert_eq!(next, [iteration(0, done + 1)]);
    }
}

/// Rank 0 sends one part after another to rank 1, as rank 1 takes them.
fn pipeline(times: u32) -> String {
    format!(
        "call broadcast ranks 2 root 0\nparts {times}\n\
         rank 0 {{ strand 0 {{ step {{ copy in[0..{times}] into out[0..{times}] }} repeat {times} window 0 {{ send to 1 port 0 in[0 advance 1] }} }} }}\n\
         rank 1 {{ strand 0 {{ repeat {times} window 0 {{ recv from 0 port 0 into out[0 advance 1] }} }} }}\n"
    )
}

#[test]
fn an_iteration_without_bytes_is_no_message_to_the_model_either() {
    let document = parse(&pipeline(8)).unwrap();
    let layout = Layout::Even(3);
    lowered::run(&document.call, &document.schedules, &layout, None).unwrap();
    let sizes = Sizes::Laid {
        layout: &layout,
        element_bytes: 8,
    };
    let machine = Hockney::new(1.0, 0.0, 0.0);
    let walked = walk(&document.call, &document.schedules, sizes, &machine, 1).unwrap();
    assert_eq!(walked.messages, 3, "of eight parts, three have an element");
}

#[test]
fn an_await_of_what_is_over_ends_in_the_proof_as_in_the_run() {
    let text = "call broadcast ranks 2 root 0\nparts 1\n\
        rank 0 { strand 0 { step { copy in[0] into out[0] } step { await strand 0 items 1 } step { send to 1 port 0 in[0] } } }\n\
        rank 1 { strand 0 { step { recv from 0 port 0 into out[0] } } }\n";
    let document = parse(text).unwrap_or_else(|e| panic!("{e}"));
    let layout = Layout::Even(3);
    lowered::run(&document.call, &document.schedules, &layout, None).unwrap();
    verify_world(&document.call, &document.schedules, false).unwrap();
}
