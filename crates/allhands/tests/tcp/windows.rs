//! Windows on real sockets: puts over several rails, and into windows that are not there.

use crate::sockets::pair;
use crate::windowed::{content, expose, put, put_ends, puts_come_before_their_flags};
use crate::world::settings;
use allhands::net::tcp::Settings;
use allhands::net::{Descriptor, Ended, Network, RemoteWindow, WindowMemory};
use std::time::{Duration, Instant};

#[test]
fn puts_of_all_lengths_come_over_all_rails_before_their_flags() {
    for (rails, connections, resends) in [(1, 1, false), (1, 2, true), (2, 1, true), (3, 2, true)] {
        let settings = Settings {
            connections,
            resends,
            ..settings()
        };
        let (_loopback, mut all) = pair(rails, settings);
        let mut memory = vec![0; 3_000_000];
        let lengths = [0, 1, 100, 8192, 8193, 65_537, 300_000, 2_500_000, 3];
        let (number, mut window) = puts_come_before_their_flags(&mut all, &mut memory, &lengths);
        assert_eq!(all[0].report().lost, 0);
        all[1].withdraw(number, WindowMemory::new(()));
        // What is put there later is thrown away, and its rank is none the worse.
        let late = content(100_000, 1);
        let ticket = put(&mut all, &mut window, 0, &late).unwrap();
        assert_eq!(put_ends(&mut all, ticket), Ended::Whole(100_000));
    }
}

#[test]
fn who_puts_to_where_no_window_is_loses_the_other_and_both_are_told() {
    let (_loopback, mut all) = pair(1, settings());
    let mut memory = vec![7; 100];
    let (_, window) = expose(&mut all, &mut memory, 1);
    let beyond = put(&mut all, &mut window.clone(), 99, &[1, 2]).unwrap_err();
    assert_eq!(
        beyond.to_string(),
        "2 bytes at 99 lie outside a window of 100"
    );
    // A descriptor that says more than is there.
    let mut words = [0; Descriptor::BYTES];
    words[8] = 200;
    let mut forged = RemoteWindow::new(Descriptor(words));
    let attends = [0, 1].map(|rank| all[rank].attend(1 - rank as u32).unwrap());
    put(&mut all, &mut forged, 99, &[1, 2]).unwrap();
    let until = Instant::now() + Duration::from_secs(5);
    let mut told = [None, None];
    while told.iter().any(Option::is_none) {
        assert!(Instant::now() < until, "{told:?}");
        for rank in 0..2 {
            all[rank].progress().unwrap();
            let error = all[rank].test(attends[rank]).err();
            told[rank] = told[rank]
                .take()
                .or_else(|| error.map(|error| error.to_string()));
        }
    }
    let right = "rank 0 is lost: 2 bytes are put at 99 of window 0, which has 100";
    assert_eq!(told[1].as_deref(), Some(right));
    assert!(
        told[0]
            .as_deref()
            .is_some_and(|said| said.starts_with("rank 1 is lost")),
        "{told:?}"
    );
    assert_eq!(memory, [7; 100]);
}
