//! The wire: what somebody between two ranks sees, and can do.

use crate::sockets::{end, receive, send};
use crate::world::settings;
use allhands::net::tcp::{Listener, Secret, Settings, TcpNetwork};
use allhands::net::{Ended, Network};
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const SAID: &[u8] = b"what is said between two ranks";

/// Somebody between two ranks, who hands everything on and keeps it.
struct Between {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<u8>>>,
}

/// What is changed on the way: the byte at this place of the first connection, in the direction in which it was made.
type Change = Option<usize>;

impl Between {
    fn new(to: SocketAddr, change: Change) -> Between {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("there is a loopback");
        let address = listener.local_addr().expect("it has an address");
        let seen = Arc::default();
        let (kept, mut change) = (Arc::clone(&seen), change);
        std::thread::spawn(move || {
            for one in listener.incoming() {
                let (Ok(one), Ok(other)) = (one, TcpStream::connect(to)) else {
                    return;
                };
                let back = [&other, &one].map(|it| it.try_clone().expect("it is there"));
                let kept = [(); 2].map(|()| Arc::clone(&kept));
                let [there, here] = kept;
                let change = change.take();
                std::thread::spawn(move || hand_on(one, other, &there, change));
                let [from, to] = back;
                std::thread::spawn(move || hand_on(from, to, &here, None));
            }
        });
        Between { address, seen }
    }

    fn has_seen(&self, words: &[u8]) -> bool {
        let seen = self.seen.lock().expect("nobody panics");
        seen.windows(words.len()).any(|window| window == words)
    }
}

fn hand_on(mut from: TcpStream, mut to: TcpStream, seen: &Mutex<Vec<u8>>, change: Change) {
    let (mut buffer, mut at) = (vec![0; 64 << 10], 0);
    while let Ok(bytes) = from.read(&mut buffer)
        && bytes > 0
    {
        if let Some(byte) = change.and_then(|place| place.checked_sub(at)) {
            buffer[..bytes]
                .get_mut(byte)
                .into_iter()
                .for_each(|byte| *byte ^= 1);
        }
        at += bytes;
        seen.lock().expect("nobody panics").extend(&buffer[..bytes]);
        if to.write_all(&buffer[..bytes]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

/// Two ranks, of which the first connects by way of somebody who listens, and the second does not.
fn ranks(settings: Settings, change: Change) -> ([TcpNetwork; 2], Between) {
    let here = [IpAddr::V4(Ipv4Addr::LOCALHOST)];
    let listeners = [(); 2].map(|()| Listener::bind(&here).expect("there is a loopback"));
    let [first, second] = [0, 1].map(|rank: usize| listeners[rank].addresses()[0]);
    let between = Between::new(second, change);
    let addresses: Arc<[Box<[SocketAddr]>]> = [[first].into(), [between.address].into()].into();
    let mut rank = 0..;
    let all = listeners.map(|listener| {
        let secret = Secret::new(b"a secret of two ranks").expect("it is long enough");
        let settings = Settings {
            grace: Duration::from_secs(60),
            ..settings
        };
        let rank = rank.next().expect("there are many numbers");
        TcpNetwork::new(listener, rank, addresses.clone(), secret, settings).expect("it is there")
    });
    (all, between)
}

/// Sends what is said so many times in one message from one rank to the other, and back.
fn say(all: &mut [TcpNetwork; 2], times: usize) {
    let said = SAID.repeat(times);
    for from in [0, 1] {
        let mut heard = vec![0; said.len()];
        let to = 1 - from;
        let received = receive(&mut all[to], from as u32, 7, &mut heard);
        let away = send(&mut all[from], to as u32, 7, &said).expect("it is there");
        assert_eq!(
            end(all, to, received).expect("it comes"),
            Ended::Whole(said.len())
        );
        assert_eq!(
            end(all, from, away).expect("it goes"),
            Ended::Whole(said.len())
        );
        assert!(heard == said);
    }
}

#[test]
fn who_listens_sees_what_is_said_only_where_nothing_is_encrypted() {
    // How a connection begins that is not encrypted names the job, too.
    let words = [SAID, &SAID[..12], b"allhands tcp job"];
    for (tls, settings) in [(true, settings()), (false, Settings::default())] {
        let (mut all, between) = ranks(settings, None);
        for times in [1, 100, 10_000] {
            say(&mut all, times);
        }
        drop(all);
        let seen = words.map(|words| between.has_seen(words));
        assert_eq!(seen, [!tls; 3]);
        let bytes = between.seen.lock().expect("nobody panics").len();
        assert!(bytes > 2 * 10_101 * SAID.len(), "{bytes}");
    }
}

#[test]
fn what_is_changed_on_the_way_is_found_and_sent_again() {
    // In the greeting, in its end, in a short message, and in long ones.
    for place in [20, 400, 1000, 50_000, 400_000] {
        let (mut all, _between) = ranks(settings(), Some(place));
        for times in [1, 100, 10_000, 10_000] {
            say(&mut all, times);
        }
        let [one, other] = [0, 1].map(|rank: usize| all[rank].report());
        assert!(one.opened >= 1 && other.opened >= 1, "{place}");
        assert_eq!(other.lost + other.refused, 1, "{place}: {other:?}");
    }
}

#[test]
fn ranks_of_which_only_one_encrypts_do_not_hear_each_other() {
    let why = [
        "the connection was closed by the other end",
        "the other end encrypts (ALLHANDS_TLS=1), and this one does not",
    ];
    for (encrypts, why) in (0..).zip(why) {
        let here = [IpAddr::V4(Ipv4Addr::LOCALHOST)];
        let listeners = [(); 2].map(|()| Listener::bind(&here).expect("there is a loopback"));
        let addresses: Vec<Box<[SocketAddr]>> = listeners
            .iter()
            .map(|listener| listener.addresses().into())
            .collect();
        let addresses: Arc<[Box<[SocketAddr]>]> = addresses.into();
        let mut rank = 0..;
        let [mut zero, mut one] = listeners.map(|listener| {
            let rank = rank.next().expect("there are many numbers");
            let secret = Secret::new(b"a secret of two ranks").expect("it is long enough");
            let settings = Settings {
                tls: rank == encrypts,
                patience: Duration::from_millis(500),
                grace: Duration::from_secs(60),
                ..settings()
            };
            TcpNetwork::new(listener, rank, addresses.clone(), secret, settings)
                .expect("it is there")
        });
        let is_over = AtomicBool::new(false);
        let (said, report) = std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    one.progress().expect("nobody harms it");
                    std::thread::sleep(Duration::from_millis(1));
                }
                one.report()
            });
            let away = send(&mut zero, 1, 0, &SAID.repeat(10_000)).expect("nobody knows yet");
            let said = end(&mut [zero], 0, away)
                .expect_err("nobody hears it")
                .to_string();
            is_over.store(true, Ordering::Relaxed);
            (said, other.join().expect("it does not panic"))
        });
        assert_eq!(said, format!("rank 1 is lost: {why}"));
        assert!(report.refused > 0 && report.opened == 0, "{report:?}");
    }
}
