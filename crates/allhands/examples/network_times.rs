//! Measures networks between two processes: `network_times [tcp | tls | ofi:PROVIDER]…`, each of them in turns; without, TCP and
//! libfabric's providers for TCP and shared memory. `tls` is TCP that is encrypted, in a build with that feature.
//!
//! 8 bytes go back and forth, and half of that is their time; then four messages of 1 MB at once go one way, and a short one comes back.
#![cfg(target_os = "linux")]

use allhands::net::ofi::{Endpoint, OfiNetwork, Wishes};
use allhands::net::tcp::{Listener, Secret, Settings, TcpNetwork};
use allhands::net::{Ended, Network, Ticket};
use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const ROUNDS: usize = 5;
const ALL: [&str; 3] = ["tcp", "ofi:tcp", "ofi:shm"];
const LONG: usize = 1 << 20;
const AT_ONCE: usize = 4;
/// For how long each is measured.
const LASTS: Duration = Duration::from_millis(250);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [word, medium] = &arguments[..]
        && word == "peer"
    {
        let (mut own, mut other) = (std::io::stdout(), std::io::stdin().lock());
        return play(&mut *connect(1, medium, &mut own, &mut other), 1, None);
    }
    let asked = match arguments.is_empty() {
        true => ALL.map(String::from).to_vec(),
        false => arguments,
    };
    let mut times = vec![Vec::new(); asked.len()];
    for _ in 0..ROUNDS {
        for (medium, times) in asked.iter().zip(&mut times) {
            let program = std::env::current_exe().expect("this program has a path");
            let mut peer = Command::new(program)
                .args(["peer", medium])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .expect("the other process starts");
            let mut own = peer.stdin.take().expect("it was asked for");
            let mut other = BufReader::new(peer.stdout.take().expect("it was asked for"));
            let mut network = connect(0, medium, &mut own, &mut other);
            play(&mut *network, 0, Some(times));
            drop(network);
            peer.wait().expect("it ends");
        }
    }
    for (medium, times) in asked.iter().zip(times) {
        let median = |at: usize| {
            let mut all: Vec<f64> = times.iter().map(|pair: &[f64; 2]| pair[at]).collect();
            all.sort_by(f64::total_cmp);
            (all[0], all[all.len() / 2], all[all.len() - 1])
        };
        let ((least, time, most), (slowest, rate, fastest)) = (median(0), median(1));
        println!(
            "{medium}: 8 bytes {time:.2} µs ({least:.2} to {most:.2}), 1 MB {rate:.2} GB/s ({slowest:.2} to {fastest:.2})"
        );
    }
}

/// Tells the other process a line, and hears one.
fn exchange(own: &mut impl Write, other: &mut impl BufRead, line: &str) -> String {
    writeln!(own, "{line}").expect("the other process listens");
    own.flush().expect("the other process listens");
    let mut heard = String::new();
    other
        .read_line(&mut heard)
        .expect("the other process speaks");
    heard.trim().to_string()
}

/// The network of one of the two.
fn connect(
    rank: u32,
    medium: &str,
    own: &mut impl Write,
    other: &mut impl BufRead,
) -> Box<dyn Network> {
    let in_order = |mine, theirs| {
        if rank == 0 {
            [mine, theirs]
        } else {
            [theirs, mine]
        }
    };
    let listener = Listener::bind(&[IpAddr::V4(Ipv4Addr::LOCALHOST)]).expect("there is a loopback");
    let mine = listener.addresses()[0].to_string();
    let theirs = exchange(own, other, &mine);
    let address =
        |text: String| -> Box<[SocketAddr]> { [text.parse().expect("an address")].into() };
    let addresses = in_order(mine, theirs).map(address);
    let secret = Secret::new(b"a secret of two processes").expect("it is long enough");
    let settings = Settings {
        tls: medium == "tls",
        ..Settings::default()
    };
    let tcp = TcpNetwork::new(listener, rank, addresses.into(), secret, settings);
    let tcp = tcp.unwrap_or_else(|error| panic!("{error}"));
    let Some(provider) = medium.strip_prefix("ofi:") else {
        return Box::new(tcp);
    };
    let wishes = Wishes {
        provider: Some(provider.into()),
        interface: Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        domain: None,
    };
    let endpoint = Endpoint::open(&wishes).unwrap_or_else(|error| panic!("{error}"));
    let mine: String = endpoint
        .card()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let theirs = exchange(own, other, &mine);
    let digits = |text: &str, at: usize| u8::from_str_radix(&text[2 * at..2 * at + 2], 16);
    let card = |text: String| -> Vec<Box<[u8]>> {
        let bytes = (0..text.len() / 2).map(|at| digits(&text, at).expect("two digits"));
        vec![bytes.collect()]
    };
    let cards = in_order(mine, theirs).map(card);
    Box::new(
        OfiNetwork::new(vec![endpoint], rank, &cards, tcp).expect("both have the same provider"),
    )
}

fn send(network: &mut dyn Network, to: u32, tag: u32, bytes: &[u8]) -> Ticket {
    // SAFETY: what is sent outlives its message, which the caller waits for.
    unsafe { network.send(to, tag, bytes.as_ptr(), bytes.len()) }.expect("it is sent")
}

fn receive(network: &mut dyn Network, from: u32, tag: u32, into: &mut [u8]) -> Ticket {
    // SAFETY: as above.
    unsafe { network.receive(from, tag, into.as_mut_ptr(), into.len()) }.expect("it is received")
}

fn end(network: &mut dyn Network, ticket: Ticket) {
    loop {
        if let Some(ended) = network.test(ticket).expect("it does not fail") {
            return assert!(matches!(ended, Ended::Whole(_)));
        }
        network.progress().expect("it does not fail");
    }
}

/// Sends 8 bytes and waits for as many, or the other way round; what they say.
fn ping(network: &mut dyn Network, rank: u32, word: u64) -> u64 {
    let mut heard = [0; 8];
    let back = receive(network, 1 - rank, 0, &mut heard);
    if rank == 1 {
        end(network, back);
    }
    let said = if rank == 1 { heard } else { word.to_le_bytes() };
    let away = send(network, 1 - rank, 0, &said);
    end(network, away);
    if rank == 0 {
        end(network, back);
    }
    u64::from_le_bytes(heard)
}

/// Messages of 1 MB from rank 0 to rank 1.
fn stream(network: &mut dyn Network, rank: u32, memory: &mut [Vec<u8>]) {
    let tickets: Vec<Ticket> = (1..)
        .zip(memory)
        .map(|(tag, memory)| match rank {
            0 => send(network, 1, tag, memory),
            _ => receive(network, 0, tag, memory),
        })
        .collect();
    tickets.into_iter().for_each(|ticket| end(network, ticket));
}

/// Goes on as long as rank 0, which has the clock, says so by a word that is not 0.
fn play(network: &mut dyn Network, rank: u32, times: Option<&mut Vec<[f64; 2]>>) {
    let mut memory = vec![vec![1; LONG]; AT_ONCE];
    let mut taken = [0.0; 2];
    for (at, is_long) in [false, true, false, true].into_iter().enumerate() {
        // The first of both is not counted.
        let (begun, mut rounds) = (Instant::now(), 0_u64);
        loop {
            let more = rank == 0 && begun.elapsed() < LASTS;
            if ping(network, rank, u64::from(more)) == 0 {
                break;
            }
            if is_long {
                stream(network, rank, &mut memory);
            }
            rounds += 1;
        }
        let seconds = begun.elapsed().as_secs_f64();
        taken[at % 2] = match is_long {
            false => seconds * 1e6 / (2 * rounds + 2) as f64,
            true => (rounds as usize * AT_ONCE * LONG) as f64 / seconds / 1e9,
        };
    }
    times.into_iter().for_each(|times| times.push(taken));
}
