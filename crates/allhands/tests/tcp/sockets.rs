//! The driver on real sockets: long messages over several rails, strangers, and ranks that leave or die.

use crate::world::{IS_ENCRYPTED, settings};
use allhands::net::tcp::{Loopback, Settings, TcpNetwork};
use allhands::net::{Ended, Network, NetworkError, Ticket};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

pub fn pair(rails: u8, settings: Settings) -> (Loopback, [TcpNetwork; 2]) {
    let loopback = Loopback::new(2, rails, settings).unwrap();
    let all = [0, 1].map(|rank| loopback.tcp_network(rank).unwrap());
    (loopback, all)
}

pub fn send(
    network: &mut TcpNetwork,
    to: u32,
    tag: u32,
    bytes: &[u8],
) -> Result<Ticket, NetworkError> {
    // SAFETY: the tests keep what they send until it has ended or is over.
    unsafe { network.send(to, tag, bytes.as_ptr(), bytes.len()) }
}

pub fn receive(network: &mut TcpNetwork, from: u32, tag: u32, into: &mut [u8]) -> Ticket {
    // SAFETY: as above.
    unsafe { network.receive(from, tag, into.as_mut_ptr(), into.len()) }.unwrap()
}

/// Looks at all networks until a message of one has ended.
pub fn end(all: &mut [TcpNetwork], at: usize, ticket: Ticket) -> Result<Ended, NetworkError> {
    let until = Instant::now() + Duration::from_secs(20);
    while Instant::now() < until {
        for network in &mut *all {
            network.progress()?;
        }
        if let Some(ended) = all[at].test(ticket)? {
            return Ok(ended);
        }
    }
    panic!("{ticket:?} of rank {at} does not end");
}

/// A rank without credit, so that all messages wait for their grants.
fn poor() -> Settings {
    Settings {
        unexpected_bytes: 0,
        ..settings()
    }
}

fn content(bytes: usize, salt: usize) -> Vec<u8> {
    (0..bytes)
        .map(|at| (at * 7 + at / 251 + salt) as u8)
        .collect()
}

#[test]
fn messages_of_all_lengths_come_over_all_rails() {
    for (rails, connections, resends) in [(1, 1, false), (1, 2, true), (3, 1, true), (2, 2, true)] {
        let settings = Settings {
            connections,
            resends,
            ..settings()
        };
        let (_loopback, mut all) = pair(rails, settings);
        for (salt, bytes) in [0, 1, 100, 8192, 8193, 65_536, 65_537, 300_000, 5_000_000, 3]
            .into_iter()
            .enumerate()
        {
            let sent = content(bytes, salt);
            let mut into = vec![0; bytes + salt % 2];
            // Either may come first.
            let early = salt % 3 == 0;
            let mut received = None;
            if early {
                received = Some(receive(&mut all[1], 0, 5, &mut into));
            }
            let away = send(&mut all[0], 1, 5, &sent).unwrap();
            if !early {
                for _ in 0..50 {
                    all.iter_mut()
                        .for_each(|network| network.progress().unwrap());
                }
                received = Some(receive(&mut all[1], 0, 5, &mut into));
            }
            let ended = end(&mut all, 1, received.unwrap()).unwrap();
            assert_eq!(ended, Ended::Whole(bytes));
            assert_eq!(into[..bytes], sent);
            assert_eq!(end(&mut all, 0, away).unwrap(), Ended::Whole(bytes));
        }
        let opened = all[1].report().opened;
        assert!(
            opened >= u64::from(rails) * u64::from(connections),
            "{opened}"
        );
        assert_eq!(all[0].report().lost, 0);
    }
}

#[test]
fn a_stranger_is_counted_and_harms_nobody() {
    let (loopback, mut all) = pair(1, settings());
    let address = loopback.addresses(1)[0];
    let hello = [b"Ah\x03\x81".as_slice(), &[0; 52]].concat();
    for words in [b"GET / HTTP/1.1\r\n\r\n".as_slice(), &hello, &[0; 100]] {
        let mut stranger = TcpStream::connect(address).unwrap();
        stranger.write_all(words).unwrap();
        stranger.set_nonblocking(true).unwrap();
        let until = Instant::now() + Duration::from_secs(5);
        // It is shown the door, whether or not all that it said was read.
        let refused = loop {
            all[1].progress().unwrap();
            match stranger.read(&mut [0; 100]) {
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Ok(0) | Err(_) => break true,
                // It is told why in TLS alone.
                Ok(_) if IS_ENCRYPTED => {}
                Ok(_) => break false,
            }
            assert!(Instant::now() < until, "nobody refuses it");
        };
        assert!(refused);
    }
    assert_eq!(all[1].report().refused, 3);
    let (sent, mut into) = (content(1000, 1), vec![0; 1000]);
    let received = receive(&mut all[1], 0, 0, &mut into);
    send(&mut all[0], 1, 0, &sent).unwrap();
    assert_eq!(end(&mut all, 1, received).unwrap(), Ended::Whole(1000));
    assert_eq!(into, sent);
}

#[test]
fn what_was_sent_before_a_rank_leaves_arrives_and_what_was_not_is_an_error() {
    let (_loopback, [mut zero, one]) = pair(1, settings());
    let (sent, mut into, mut more) = (content(5000, 2), vec![0; 5000], [0; 8]);
    let leaving = std::thread::spawn(move || {
        let mut one = one;
        send(&mut one, 0, 3, &sent).unwrap();
        drop(one);
        sent
    });
    let received = receive(&mut zero, 1, 3, &mut into);
    let never = receive(&mut zero, 1, 3, &mut more);
    let mut all = [zero];
    assert_eq!(end(&mut all, 0, received).unwrap(), Ended::Whole(5000));
    assert_eq!(into, leaving.join().unwrap());
    let said = end(&mut all, 0, never).unwrap_err().to_string();
    assert_eq!(said, "rank 1 is lost: it has left");
    assert!(all[0].cancel(never));
    let said = send(&mut all[0], 1, 0, &more).unwrap_err().to_string();
    assert_eq!(said, "rank 1 is lost: it has left");
}

#[test]
fn a_rank_that_nobody_reaches_is_named() {
    let (_loopback, [mut zero, one]) = pair(2, settings());
    drop(one);
    let begin = Instant::now();
    let mut into = [0; 8];
    let never = receive(&mut zero, 1, 3, &mut into);
    let said = end(&mut [zero], 0, never).unwrap_err().to_string();
    assert_eq!(said, "rank 1 is lost: nobody listens there any more");
    assert!(begin.elapsed() < Duration::from_secs(1));
}

#[test]
fn mistakes_are_named() {
    let (loopback, mut all) = pair(1, settings());
    let said = send(&mut all[0], 2, 0, &[1]).unwrap_err().to_string();
    assert_eq!(said, "rank 0 of 2 has no messages with rank 2");
    let said = send(&mut all[0], 0, 0, &[1]).unwrap_err().to_string();
    assert_eq!(said, "rank 0 of 2 has no messages with rank 0");
    let said = send(&mut all[0], 1, 1 << 31, &[1]).unwrap_err().to_string();
    assert_eq!(said, "there is no tag 2147483648 of 2147483648");
    let said = loopback.tcp_network(0).unwrap_err().to_string();
    assert_eq!(said, "rank 0 has its network, or there is no such rank");
}

#[test]
fn a_message_that_is_taken_back_frees_its_memory() {
    let (_loopback, mut all) = pair(1, settings());
    let long = content(4_000_000, 3);
    // It waits for a grant, which never comes.
    let away = send(&mut all[0], 1, 0, &long).unwrap();
    for _ in 0..100 {
        all.iter_mut()
            .for_each(|network| network.progress().unwrap());
    }
    assert_eq!(all[0].test(away).unwrap(), None);
    assert!(all[0].cancel(away));
    drop(long);
    // One of which something has come goes on coming to nowhere.
    let (long, mut into) = (content(4_000_000, 4), vec![0; 4_000_000]);
    let received = receive(&mut all[1], 0, 1, &mut into);
    let away = send(&mut all[0], 1, 1, &long).unwrap();
    for _ in 0..3 {
        all.iter_mut()
            .for_each(|network| network.progress().unwrap());
    }
    assert!(all[1].cancel(received));
    drop(into);
    assert_eq!(end(&mut all, 0, away).unwrap(), Ended::Whole(4_000_000));
    let (word, mut into) = (content(10, 5), vec![0; 10]);
    let received = receive(&mut all[1], 0, 1, &mut into);
    send(&mut all[0], 1, 1, &word).unwrap();
    assert_eq!(end(&mut all, 1, received).unwrap(), Ended::Whole(10));
    assert_eq!(into, word);
}

/// Looks at one network alone for so long.
fn look(network: &mut TcpNetwork, lasts: Duration) {
    let until = Instant::now() + lasts;
    while Instant::now() < until {
        network.progress().unwrap();
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn one_message_arrives(all: &mut [TcpNetwork; 2], away: Ticket, sent: &[u8]) {
    let mut into = vec![0; sent.len()];
    let received = receive(&mut all[1], 0, 0, &mut into);
    assert_eq!(end(all, 1, received).unwrap(), Ended::Whole(sent.len()));
    assert_eq!(end(all, 0, away).unwrap(), Ended::Whole(sent.len()));
    assert_eq!(into, sent);
}

#[test]
fn a_rank_that_looks_late_is_not_lost() {
    let (_loopback, mut all) = pair(2, settings());
    let sent = content(100_000, 6);
    let away = send(&mut all[0], 1, 0, &sent).unwrap();
    look(&mut all[0], Duration::from_secs(6));
    one_message_arrives(&mut all, away, &sent);
    assert_eq!(all[0].report().lost, 0);
}

#[test]
fn a_rank_that_does_not_look_after_it_has_sent_loses_nobody() {
    let settings = Settings {
        patience: Duration::from_millis(500),
        ..settings()
    };
    let (_loopback, mut all) = pair(1, settings);
    let sent = content(100_000, 7);
    let away = send(&mut all[0], 1, 0, &sent).unwrap();
    // The other end has a connection from somebody who says nothing.
    look(&mut all[1], Duration::from_secs(3));
    one_message_arrives(&mut all, away, &sent);
}

#[test]
fn a_rank_that_does_not_read_for_long_is_not_lost() {
    let (_loopback, mut all) = pair(1, settings());
    let sent = content(32_000_000, 8);
    let mut into = vec![0; sent.len()];
    let received = receive(&mut all[1], 0, 0, &mut into);
    let away = send(&mut all[0], 1, 0, &sent).unwrap();
    while all[1].report().opened == 0 {
        all.iter_mut()
            .for_each(|network| network.progress().unwrap());
    }
    // The kernel asks ever more seldom whether there is room now.
    look(&mut all[0], Duration::from_secs(14));
    assert_eq!(
        end(&mut all, 1, received).unwrap(),
        Ended::Whole(sent.len())
    );
    assert_eq!(end(&mut all, 0, away).unwrap(), Ended::Whole(sent.len()));
    assert_eq!((all[0].report().lost, into == sent), (0, true));
}

#[test]
fn many_may_connect_before_a_rank_looks() {
    let (loopback, _all) = pair(1, settings());
    let address = loopback.addresses(1)[0];
    let soon = Duration::from_millis(500);
    let waiting = (0..300).map(|_| TcpStream::connect_timeout(&address, soon));
    let waiting: Result<Vec<TcpStream>, _> = waiting.collect();
    assert_eq!(waiting.unwrap().len(), 300);
}

#[test]
fn silent_strangers_keep_nobody_out() {
    // The rank that they wait at connects to nobody.
    let settings = Settings {
        grace: Duration::from_secs(30),
        ..settings()
    };
    let (loopback, mut all) = pair(1, settings);
    let address = loopback.addresses(1)[0];
    let mut strangers = Vec::new();
    for _ in 0..200 {
        strangers.push(TcpStream::connect(address).unwrap());
        all[1].progress().unwrap();
    }
    let refused = all[1].report().refused;
    assert!((100..200).contains(&refused), "{refused}");
    let begin = Instant::now();
    let sent = content(100, 9);
    let away = send(&mut all[0], 1, 0, &sent).unwrap();
    one_message_arrives(&mut all, away, &sent);
    // Long before they are closed because they say nothing.
    assert!(begin.elapsed() < Duration::from_secs(1));
    drop(strangers);
}

#[test]
fn a_message_without_bytes_may_lie_nowhere() {
    let (_loopback, mut all) = pair(1, poor());
    for _ in 0..2 {
        // SAFETY: messages without memory.
        let (received, away) = unsafe {
            let received = all[1].receive(0, 0, std::ptr::null_mut(), 0).unwrap();
            (received, all[0].send(1, 0, std::ptr::null(), 0).unwrap())
        };
        assert_eq!(end(&mut all, 1, received).unwrap(), Ended::Whole(0));
        assert_eq!(end(&mut all, 0, away).unwrap(), Ended::Whole(0));
    }
}
