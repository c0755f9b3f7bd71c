//! Sessions over pairs of sockets: with one another, with rustls itself, and with whoever is none of the job.

use super::buffer::OUTGOING_BYTES;
use super::keys::public_key;
use super::record::{MORE_BYTES, MOST_BYTES};
use super::{Fault, Session, Tls};
use crate::transport::net::tcp::protocol::handshake::{HandshakeError, Secret, not_encrypted};
use rustix::io::Errno;
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, ServerConnection};
use std::io::{ErrorKind, IoSlice, Read, Write};
use std::os::unix::net::UnixStream;

const AGAIN: Fault = Fault::System(Errno::AGAIN);

fn secret(text: &str) -> Secret {
    Secret::new(text.as_bytes()).expect("it is long enough")
}

fn tls(text: &str) -> Tls {
    Tls::new(&secret(text)).expect("any secret will do")
}

fn good() -> Tls {
    tls("a secret of some length")
}

/// A session and its socket.
struct End {
    session: Session,
    socket: UnixStream,
}

impl End {
    fn write(&mut self, pieces: &[&[u8]]) -> Result<usize, Fault> {
        let pieces: Vec<IoSlice<'_>> = pieces.iter().map(|piece| IoSlice::new(piece)).collect();
        self.session.write(&self.socket, &pieces)
    }

    fn read(&mut self, bytes: usize) -> Result<Vec<u8>, Fault> {
        let (mut first, mut then) = (vec![0; bytes / 3], vec![0; bytes - bytes / 3]);
        let read = self.session.read(&self.socket, &mut first, &mut then)?;
        first.extend(then);
        first.truncate(read);
        Ok(first)
    }

    /// What is there.
    fn read_all(&mut self) -> Vec<u8> {
        let mut all = Vec::new();
        loop {
            match self.read(1000) {
                Ok(said) if said.is_empty() => return all,
                Ok(said) => all.extend(said),
                Err(AGAIN) => return all,
                Err(fault) => panic!("{fault:?}"),
            }
        }
    }
}

fn sockets() -> (UnixStream, UnixStream) {
    let (one, other) = UnixStream::pair().expect("there are sockets");
    one.set_nonblocking(true).expect("they can be");
    other.set_nonblocking(true).expect("they can be");
    (one, other)
}

fn ends(one: &Tls, other: &Tls) -> [End; 2] {
    let sockets = sockets();
    let end = |session, socket| End { session, socket };
    [
        end(one.connecting(), sockets.0),
        end(other.accepting(), sockets.1),
    ]
}

/// Both, who are sure of each other.
fn open() -> [End; 2] {
    let mut both = ends(&good(), &good());
    assert_eq!(both[0].write(&[b"first"]), Err(AGAIN));
    assert_eq!(both[1].read(10), Err(AGAIN));
    assert_eq!(both[0].read(10), Err(AGAIN));
    assert!(both[0].session.has_opened() && !both[0].session.has_opened());
    assert_eq!(both[0].write(&[b"fir", b"", b"st"]), Ok(5));
    assert_eq!(both[1].read(10), Ok(b"first".to_vec()));
    assert!(both[1].session.has_opened());
    both
}

fn content(bytes: usize, salt: usize) -> Vec<u8> {
    (0..bytes)
        .map(|at| (at * 7 + at / 251 + salt) as u8)
        .collect()
}

/// Says all of it from one end to the other, which reads meanwhile.
fn say(both: &mut [End; 2], from: usize, said: &[u8]) {
    let (mut written, mut heard) = (0, Vec::new());
    while heard.len() < said.len() {
        match both[from].write(&[&said[written..]]) {
            Ok(bytes) => written += bytes,
            Err(fault) => assert_eq!(fault, AGAIN),
        }
        heard.extend(both[1 - from].read_all());
    }
    assert!(heard == said);
}

#[test]
fn the_public_key_of_a_secret_is_that_of_ed25519() {
    // As openssl makes it of the seed, which Python's hmac makes of the secret.
    let known =
        "302a300506032b6570032100d854a3119b019deceef3620ce32e394e25a6fa6d03aea5083ba022a8db660c6b";
    let public = public_key(&secret("a secret of some length")).expect("it has one");
    let hex: String = public.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, known);
    let other = public_key(&secret("a secret of some lengtH")).expect("it has one");
    assert_ne!(other, public);
    let world = secret("a secret of some length").of_world(&[1; 16]);
    assert_ne!(public_key(&world).expect("it has one"), public);
}

#[test]
fn what_is_said_arrives_at_whatever_length_it_is_read() {
    let mut both = open();
    for (turn, bytes) in [1, 72, 4096, MOST_BYTES, MOST_BYTES + 1, 1 << 20]
        .into_iter()
        .enumerate()
    {
        say(&mut both, turn % 2, &content(bytes, turn));
        say(&mut both, 1 - turn % 2, &content(bytes, turn + 1));
    }
    assert!(both.iter().all(|end| end.session.unwritten_bytes() == 0));
}

#[test]
fn what_comes_with_the_end_of_the_greeting_is_not_lost() {
    let mut both = ends(&good(), &good());
    assert_eq!(both[0].write(&[b"x"]), Err(AGAIN));
    assert_eq!(both[1].read(10), Err(AGAIN));
    assert_eq!(both[0].read(10), Err(AGAIN));
    // The other end has its last word and all of this at once.
    let said = content(40_000, 1);
    assert_eq!(both[0].write(&[&said]), Ok(said.len()));
    assert_eq!(both[1].read_all(), said);
    say(&mut both, 0, b"more");
    say(&mut both, 1, b"and back");
}

#[test]
fn what_was_read_of_the_socket_is_not_forgotten() {
    let mut both = open();
    assert_eq!(both[0].write(&[&content(10_000, 0)]), Ok(10_000));
    assert!(!both[1].session.has_more());
    assert_eq!(both[1].read(100).map(|said| said.len()), Ok(100));
    // The system has nothing any more, and would not tell.
    assert!(both[1].session.has_more());
    assert_eq!(both[1].read(20_000).map(|said| said.len()), Ok(9_900));
    assert!(!both[1].session.has_more());
}

#[test]
fn what_the_system_has_told_of_is_not_forgotten() {
    let mut both = open();
    assert_eq!(both[0].write(&[&content(10_000, 0)]), Ok(10_000));
    assert_eq!(both[1].read(100).map(|said| said.len()), Ok(100));
    assert_eq!(both[0].write(&[&content(500, 1)]), Ok(500));
    both[1].session.note_more();
    assert_eq!(both[1].read(20_000).map(|said| said.len()), Ok(9_900));
    // The system has told of the rest, and does not tell again.
    assert!(both[1].session.has_more());
    assert_eq!(both[1].read(20_000), Ok(content(500, 1)));
    assert!(!both[1].session.has_more());
}

#[test]
fn where_nobody_reads_little_is_kept_and_nothing_lost() {
    let mut both = open();
    let said = content(8 << 20, 3);
    let mut written = 0;
    while let Ok(bytes) = both[0].write(&[&said[written..]]) {
        assert!(bytes > 0 && bytes <= OUTGOING_BYTES);
        written += bytes;
        assert!(both[0].session.unwritten_bytes() <= OUTGOING_BYTES);
    }
    assert!(written < said.len() && both[0].session.unwritten_bytes() > 0);
    assert_eq!(both[0].write(&[&said[written..]]), Err(AGAIN));
    let mut heard = both[1].read_all();
    while both[0].session.unwritten_bytes() > 0 {
        let End { session, socket } = &mut both[0];
        session.flush(socket).expect("it is there");
        heard.extend(both[1].read_all());
    }
    assert!(heard == said[..written]);
}

#[test]
fn keys_are_renewed_before_they_have_sealed_too_much() {
    let mut both = open();
    for end in &mut both {
        end.session.records().expect("it is open").limit(3);
    }
    for turn in 0..40 {
        say(&mut both, turn % 2, &content(100 + turn * 2000, turn));
        for end in &mut both {
            let number = end.session.records().expect("it is open").number();
            assert!(number <= 3, "{number}");
        }
    }
}

/// Takes what rustls has for its socket there, and back.
macro_rules! exchange {
    ($theirs:expr, $socket:expr) => {
        while $theirs.wants_write() {
            $theirs.write_tls(&mut $socket).expect("there is room");
        }
        loop {
            match $theirs.read_tls(&mut $socket) {
                Ok(0) => break,
                Ok(_) => drop($theirs.process_new_packets().expect("it is right")),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => panic!("{error}"),
            }
        }
        while $theirs.wants_write() {
            $theirs.write_tls(&mut $socket).expect("there is room");
        }
    };
}

/// Talks with an end of rustls's own, both of which renew their keys all the time.
macro_rules! talk {
    ($ours:expr, $theirs:expr, $socket:expr) => {
        for turn in 0..50_usize {
            let said = content(1 + turn * 300, turn);
            $theirs.writer().write_all(&said).expect("there is room");
            exchange!($theirs, $socket);
            assert_eq!($ours.read_all(), said);
            assert_eq!($ours.write(&[&said]), Ok(said.len()));
            exchange!($theirs, $socket);
            let mut heard = vec![0; said.len()];
            $theirs
                .reader()
                .read_exact(&mut heard)
                .expect("it is there");
            assert_eq!(heard, said);
            if turn % 3 == 0 {
                // Asks this end for new keys, too.
                $theirs.refresh_traffic_keys().expect("it is open");
            }
            if turn == 20 {
                $ours.session.records().expect("it is open").limit(2);
            }
        }
        $ours.session.close();
        $ours.session.flush(&$ours.socket).expect("there is room");
        exchange!($theirs, $socket);
        assert_eq!($theirs.reader().read(&mut [0; 9]).expect("it ends"), 0);
        $theirs.send_close_notify();
        exchange!($theirs, $socket);
        assert_eq!($ours.read(10), Ok(vec![]));
    };
}

#[test]
fn a_session_speaks_what_a_server_of_rustls_speaks() {
    let (client, server) = good().configurations();
    drop(client);
    let mut theirs = ServerConnection::new(server).expect("it is configured");
    let (socket, mut other) = sockets();
    let session = good().connecting();
    let mut ours = End { session, socket };
    assert_eq!(ours.write(&[b"x"]), Err(AGAIN));
    exchange!(theirs, other);
    assert_eq!(ours.read(10), Err(AGAIN));
    exchange!(theirs, other);
    talk!(ours, theirs, other);
}

#[test]
fn a_session_speaks_what_a_client_of_rustls_speaks() {
    let (client, _) = good().configurations();
    let name = ServerName::try_from("allhands").expect("it is a name");
    let mut theirs = ClientConnection::new(client, name).expect("it is configured");
    let (socket, mut other) = sockets();
    let session = good().accepting();
    let mut ours = End { session, socket };
    exchange!(theirs, other);
    assert_eq!(ours.read(10), Err(AGAIN));
    exchange!(theirs, other);
    assert_eq!(ours.read(10), Err(AGAIN));
    talk!(ours, theirs, other);
}

#[test]
fn another_secret_is_refused_at_both_ends() {
    let [mut one, mut other] = ends(&good(), &tls("another secret of some length"));
    assert_eq!(one.write(&[b"x"]), Err(AGAIN));
    assert_eq!(other.read(10), Err(AGAIN));
    let proof = Fault::Refused(HandshakeError::Proof);
    assert_eq!(one.read(10), Err(proof));
    assert_eq!(other.read(10), Err(proof));
    // And it stays so.
    assert_eq!([one.write(&[b"x"]), other.write(&[b"x"])], [Err(proof); 2]);
    assert_eq!(one.read(10), Err(proof));
    assert!(!one.session.has_opened() && !other.session.has_opened());
}

#[test]
fn who_does_not_encrypt_is_known_for_it() {
    let plain = Fault::Refused(HandshakeError::Plain);
    let (mut stranger, socket) = sockets();
    let session = good().accepting();
    let mut end = End { session, socket };
    let hello = [b"Ah\x01\x81".as_slice(), &[0; 52]].concat();
    stranger.write_all(&hello).expect("there is room");
    assert_eq!(end.read(10), Err(plain));
    let mut answer = [0; 100];
    let bytes = stranger.read(&mut answer).expect("there is an answer");
    assert_eq!(&answer[..2], [0x15, 3], "{bytes} bytes");
    let (mut stranger, socket) = sockets();
    let session = good().connecting();
    let mut end = End { session, socket };
    assert_eq!(end.write(&[b"x"]), Err(AGAIN));
    stranger.write_all(&not_encrypted()).expect("there is room");
    assert_eq!(end.read(10), Err(plain));
}

#[test]
fn garbage_is_refused_and_costs_little() {
    for garbage in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        &[0x16, 3, 1, 0, 4, 1, 0, 0, 0],
        &[0; 100],
    ] {
        let (mut stranger, socket) = sockets();
        let session = good().accepting();
        let mut end = End { session, socket };
        stranger.write_all(garbage).expect("there is room");
        let refused = Fault::Refused(HandshakeError::Garbage);
        assert_eq!(end.read(10), Err(refused), "{garbage:?}");
    }
    // A greeting that never ends has no more room than this.
    let (mut stranger, socket) = sockets();
    let session = good().accepting();
    let mut end = End { session, socket };
    let begin = [0x16, 3, 1, 0x40, 0, 1, 0, 0xff, 0xf0];
    stranger.write_all(&begin).expect("there is room");
    let mut all = begin.len();
    let ended = loop {
        let _ = stranger.write(&[0; 1000]);
        all += 1000;
        match end.read(10) {
            Err(AGAIN) => assert!(all < 1 << 20, "it is taken for ever"),
            ended => break ended,
        }
    };
    assert!(matches!(ended, Ok(_) | Err(Fault::Refused(_))), "{ended:?}");
}

#[test]
fn what_was_changed_on_the_way_is_never_read() {
    let said = content(100, 9);
    for at in 0..said.len() + MORE_BYTES {
        let [mut one, mut other] = open();
        assert_eq!(one.write(&[&said]), Ok(said.len()));
        let mut sealed = vec![0; said.len() + MORE_BYTES];
        other
            .socket
            .read_exact(&mut sealed)
            .expect("all of it is there");
        sealed[at] ^= 1;
        // Behind it goes what was not.
        assert_eq!(one.write(&[&said]), Ok(said.len()));
        let (mut way, socket) = sockets();
        other.socket = socket;
        way.write_all(&sealed).expect("there is room");
        way.write_all(&[0; 70_000]).expect("there is room");
        assert_eq!(other.read(1000), Err(Fault::Changed), "byte {at}");
        assert_eq!(other.read(1000), Err(Fault::Changed), "byte {at}");
        assert_eq!(other.write(&[b"x"]), Err(Fault::Changed));
    }
}

#[test]
fn what_was_recorded_is_not_read_twice() {
    let [mut one, mut other] = open();
    let said = content(100, 9);
    assert_eq!(one.write(&[&said]), Ok(said.len()));
    let mut sealed = vec![0; said.len() + MORE_BYTES];
    other
        .socket
        .read_exact(&mut sealed)
        .expect("all of it is there");
    let (mut way, socket) = sockets();
    other.socket = socket;
    way.write_all(&[&sealed[..], &sealed].concat())
        .expect("there is room");
    assert_eq!(other.read(1000), Ok(said));
    assert_eq!(other.read(1000), Err(Fault::Changed));
}
