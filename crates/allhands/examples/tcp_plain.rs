//! Measures TCP of ours beside plain sockets, on the loopback: `tcp_plain [latency | bandwidth | sweep] [CONNECTIONS]`,
//! and `ours` or `plain` for 8 bytes alone, to be profiled.
//!
//! The plain program is the best that two threads do with blocking calls or in a spin: 8 bytes back and forth over one socket, and
//! long messages over as many sockets as ours has connections, written and read by one thread at each end in turns.
#![cfg(target_os = "linux")]

use allhands::net::tcp::{Loopback, Settings, TcpNetwork};
use allhands::net::{Network, Ticket};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Instant;

const ROUNDS: usize = 7;

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

/// Two connected sockets.
fn sockets() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (other, _) = listener.accept().unwrap();
    one.set_nodelay(true).unwrap();
    other.set_nodelay(true).unwrap();
    (one, other)
}

/// Reads all, in a spin or asleep, as the socket is.
fn read_all(socket: &mut TcpStream, into: &mut [u8]) {
    let mut done = 0;
    while done < into.len() {
        match socket.read(&mut into[done..]) {
            Ok(bytes) => done += bytes,
            Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::yield_now(),
            Err(error) => panic!("{error}"),
        }
    }
}

/// Half the time of a ping and a pong of `bytes` bytes over a plain socket, in µs.
fn plain_latency(bytes: usize, count: usize, spins: bool) -> f64 {
    let (mut one, mut other) = sockets();
    one.set_nonblocking(spins).unwrap();
    other.set_nonblocking(spins).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut buffer = vec![0; bytes];
            for _ in 0..count {
                read_all(&mut other, &mut buffer);
                other.write_all(&buffer).unwrap();
            }
        });
        let mut buffer = vec![0; bytes];
        let start = Instant::now();
        for _ in 0..count {
            one.write_all(&buffer).unwrap();
            read_all(&mut one, &mut buffer);
        }
        start.elapsed().as_secs_f64() * 1e6 / (2 * count) as f64
    })
}

fn end(network: &mut TcpNetwork, ticket: Ticket) {
    while network.test(ticket).unwrap().is_none() {
        network.progress().unwrap();
        if network.test(ticket).unwrap().is_some() {
            return;
        }
        std::thread::yield_now();
    }
}

fn send(network: &mut TcpNetwork, to: u32, bytes: &[u8]) -> Ticket {
    // SAFETY: what is sent outlives its message, which the caller waits for.
    unsafe { network.send(to, 1, bytes.as_ptr(), bytes.len()) }.unwrap()
}

fn receive(network: &mut TcpNetwork, from: u32, into: &mut [u8]) -> Ticket {
    // SAFETY: as above.
    unsafe { network.receive(from, 1, into.as_mut_ptr(), into.len()) }.unwrap()
}

fn pair(settings: Settings) -> [TcpNetwork; 2] {
    let loopback = Loopback::new(2, 1, settings).unwrap();
    [0, 1].map(|rank| loopback.tcp_network(rank).unwrap())
}

/// The same of ours.
fn latency(settings: Settings, bytes: usize, count: usize) -> f64 {
    let [mut zero, mut one] = pair(settings);
    let warm = count / 10 + 10;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut buffer = vec![0; bytes];
            for _ in 0..count + warm {
                let ticket = receive(&mut one, 0, &mut buffer);
                end(&mut one, ticket);
                let ticket = send(&mut one, 0, &buffer);
                end(&mut one, ticket);
            }
        });
        let mut buffer = vec![0; bytes];
        let mut start = Instant::now();
        for at in 0..count + warm {
            if at == warm {
                start = Instant::now();
            }
            let ticket = send(&mut zero, 1, &buffer);
            end(&mut zero, ticket);
            let ticket = receive(&mut zero, 1, &mut buffer);
            end(&mut zero, ticket);
        }
        start.elapsed().as_secs_f64() * 1e6 / (2 * count) as f64
    })
}

/// GB a second of `count` messages of `bytes` bytes over so many plain sockets, each of which carries its part of a message.
fn plain_bandwidth(bytes: usize, count: usize, connections: usize) -> f64 {
    let (ones, others): (Vec<_>, Vec<_>) = (0..connections).map(|_| sockets()).unzip();
    let part = bytes / connections;
    let start = Instant::now();
    std::thread::scope(|scope| {
        for mut other in others {
            scope.spawn(move || {
                let mut buffers = [0, 1].map(|_| vec![0; part]);
                (0..count).for_each(|at| other.read_exact(&mut buffers[at % 2]).unwrap());
                other.write_all(&[1]).unwrap();
            });
        }
        for mut one in ones {
            scope.spawn(move || {
                let buffer = vec![7; part];
                (0..count).for_each(|_| one.write_all(&buffer).unwrap());
                one.read_exact(&mut [0]).unwrap();
            });
        }
    });
    (bytes * count) as f64 / start.elapsed().as_secs_f64() / 1e9
}

/// The same of ours, with two messages under way.
fn bandwidth(settings: Settings, bytes: usize, count: usize) -> f64 {
    let [mut zero, mut one] = pair(settings);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut buffers = [0, 1].map(|_| vec![0; bytes]);
            let mut before = None;
            for at in 0..count {
                let ticket = receive(&mut one, 0, &mut buffers[at % 2]);
                if let Some(before) = before.replace(ticket) {
                    end(&mut one, before);
                }
            }
            end(&mut one, before.unwrap());
            let ticket = send(&mut one, 0, &[1]);
            end(&mut one, ticket);
        });
        let buffer = vec![7; bytes];
        let mut word = [0];
        let last = receive(&mut zero, 1, &mut word);
        let (start, mut before) = (Instant::now(), None);
        for _ in 0..count {
            let ticket = send(&mut zero, 1, &buffer);
            if let Some(before) = before.replace(ticket) {
                end(&mut zero, before);
            }
        }
        end(&mut zero, before.unwrap());
        end(&mut zero, last);
        (bytes * count) as f64 / start.elapsed().as_secs_f64() / 1e9
    })
}

fn report_latency(settings: Settings) {
    println!("   bytes   plain spin  plain block     ours   ours/spin   (us one way)");
    for (bytes, count) in [(8, 3000), (1024, 3000), (16 << 10, 1000), (128 << 10, 200)] {
        let [mut spin, mut block, mut ours] = [const { Vec::new() }; 3];
        for _ in 0..ROUNDS {
            spin.push(plain_latency(bytes, count, true));
            block.push(plain_latency(bytes, count, false));
            ours.push(latency(settings, bytes, count));
        }
        let [spin, block, ours] = [spin, block, ours].map(median);
        let ratio = ours / spin.min(block);
        println!("{bytes:>8} {spin:>12.2} {block:>12.2} {ours:>8.2} {ratio:>11.2}");
    }
}

fn report_bandwidth(settings: Settings, connections: u32) {
    let settings = Settings {
        connections,
        ..settings
    };
    println!("   bytes    plain     ours   ours/plain   (GB/s, {connections} connections)");
    for bytes in [256 << 10, 1 << 20, 4 << 20, 16 << 20] {
        let count = (256 << 20) / bytes;
        let [mut plain, mut ours] = [const { Vec::new() }; 2];
        for _ in 0..ROUNDS {
            plain.push(plain_bandwidth(bytes, count, connections as usize));
            ours.push(bandwidth(settings, bytes, count));
        }
        let [plain, ours] = [plain, ours].map(median);
        println!("{bytes:>8} {plain:>8.2} {ours:>8.2} {:>12.2}", ours / plain);
    }
}

/// What one setting after another does to messages of several lengths.
fn sweep() {
    let base = Settings::default();
    let kb = |kb: u32| kb << 10;
    let mut all: Vec<(String, Settings)> = vec![("default".into(), base)];
    for most in [64, 128, 256, 512, 1024] {
        let part_bytes = (kb(16), kb(most));
        all.push((
            format!("parts to {most} KB"),
            Settings { part_bytes, ..base },
        ));
    }
    for acknowledged in [64, 256, 1024] {
        let acknowledged_bytes = kb(acknowledged);
        let part_bytes = (kb(16), kb(256));
        let settings = Settings {
            acknowledged_bytes,
            part_bytes,
            ..base
        };
        all.push((format!("256 KB, said after {acknowledged} KB"), settings));
    }
    for eager in [8, 16, 32, 64, 128] {
        let eager_bytes = kb(eager);
        all.push((
            format!("eager to {eager} KB"),
            Settings {
                eager_bytes,
                ..base
            },
        ));
    }
    for copied in [1, 4, 8, 16, 64] {
        let copied_bytes = kb(copied);
        all.push((
            format!("copied to {copied} KB"),
            Settings {
                copied_bytes,
                ..base
            },
        ));
    }
    println!("                               us one way               GB/s");
    println!("                             4 KB   12 KB   48 KB  100 KB     1 MB    4 MB");
    for (name, settings) in all {
        print!("{name:<26}");
        for (bytes, count) in [(4, 600), (12, 500), (48, 300), (100, 200)] {
            let runs = (0..3).map(|_| latency(settings, bytes << 10, count));
            print!(" {:>7.1}", median(runs.collect()));
        }
        for bytes in [1 << 20, 4 << 20] {
            let runs = (0..3).map(|_| bandwidth(settings, bytes, (64 << 20) / bytes));
            print!(" {:>7.2}", median(runs.collect()));
        }
        println!();
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let connections = arguments.get(1).map_or(1, |it| it.parse().unwrap());
    let settings = Settings::default();
    match arguments.first().map(String::as_str) {
        Some("sweep") => sweep(),
        Some("ours") => println!("{:.2}", latency(settings, 8, 500_000)),
        Some("plain") => println!("{:.2}", plain_latency(8, 500_000, true)),
        Some("bandwidth") => report_bandwidth(settings, connections),
        Some("latency") | None => report_latency(settings),
        Some(other) => panic!("{other} is nothing to be measured"),
    }
}
