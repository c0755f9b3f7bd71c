//! The handshake: who is let in, and who is refused with which words.

use super::*;

fn job(rank: u32) -> Job {
    Job {
        secret: Secret::new(b"sixteen bytes ok").unwrap(),
        id: [7; 16],
        rank,
        ranks: 3,
        rails: 2,
        settings: 99,
    }
}

fn take(end: &mut Handshake, job: &Job, bytes: &[u8]) -> Result<Step, HandshakeError> {
    let mut rest = bytes;
    let step = end.take(job, &mut rest)?;
    assert!(rest.is_empty());
    Ok(step)
}

/// What an initiator and an acceptor send one another.
struct Talk {
    hello: Message,
    challenge: Message,
    last: Message,
    acceptor: Handshake,
}

fn challenge(acceptor: &mut Handshake, hello: &Message) -> Message {
    match take(acceptor, &job(2), hello.bytes()) {
        Ok(Step::Reply { peer: 1, message }) => message,
        other => panic!("{other:?}"),
    }
}

fn talk() -> Talk {
    let (mut initiator, hello) = Handshake::ask(&job(1), 2, 1, &[3; 16]);
    let mut acceptor = Handshake::listen(&[4; 16]);
    let challenge = challenge(&mut acceptor, &hello);
    let done = take(&mut initiator, &job(1), challenge.bytes());
    let Ok(Step::Done {
        peer: 2,
        rail: 1,
        reply: Some(last),
    }) = done
    else {
        panic!("{done:?}")
    };
    Talk {
        hello,
        challenge,
        last,
        acceptor,
    }
}

#[test]
fn both_ends_know_each_other_however_the_bytes_come() {
    let mut talked = talk();
    let (last, next) = talked.last.bytes().split_at(5);
    assert!(matches!(
        take(&mut talked.acceptor, &job(2), last),
        Ok(Step::More)
    ));
    // What follows is the first frame's.
    let behind = [next, b"frame"].concat();
    let mut rest = &behind[..];
    let done = talked.acceptor.take(&job(2), &mut rest);
    let Ok(Step::Done {
        peer: 1,
        rail: 1,
        reply: None,
    }) = done
    else {
        panic!("{done:?}")
    };
    assert_eq!(rest, b"frame");
    let over = talked.acceptor.take(&job(2), &mut rest);
    assert_eq!(over.unwrap_err(), HandshakeError::Garbage);
}

#[test]
fn a_secret_that_can_be_guessed_is_refused() {
    assert!(Secret::new(&[7; 16]).is_ok());
    let said = Secret::new(b"fifteen bytes..").unwrap_err().to_string();
    let right = "a job's secret of 15 bytes can be guessed; it needs 16 at least, drawn at random";
    assert_eq!(said, right);
}

#[test]
fn a_stranger_is_refused_at_both_ends() {
    let stranger = |rank| Job {
        secret: Secret::new(b"another secret..").unwrap(),
        ..job(rank)
    };
    let (mut initiator, hello) = Handshake::ask(&stranger(1), 2, 0, &[3; 16]);
    let mut acceptor = Handshake::listen(&[4; 16]);
    let challenge = challenge(&mut acceptor, &hello);
    let refused = take(&mut initiator, &stranger(1), challenge.bytes());
    assert_eq!(refused.unwrap_err(), HandshakeError::Proof);
    // One that does not care proves nothing all the same, nor does what the acceptor has sent itself.
    for proof in [[0; 32], challenge.bytes()[20..52].try_into().unwrap()] {
        let mut acceptor = acceptor.clone();
        let last = [&start(LAST)[..], &proof].concat();
        let refused = take(&mut acceptor, &job(2), &last);
        assert_eq!(refused.unwrap_err(), HandshakeError::Proof);
    }
}

#[test]
fn worlds_of_one_secret_are_strangers_to_one_another() {
    let of_world = |rank, number| Job {
        secret: job(rank).secret.of_world(&[number; 16]),
        ..job(rank)
    };
    for other in [1, 2] {
        let (mut initiator, hello) = Handshake::ask(&of_world(1, 1), 2, 0, &[3; 16]);
        let mut acceptor = Handshake::listen(&[4; 16]);
        let step = take(&mut acceptor, &of_world(2, other), hello.bytes());
        let Ok(Step::Reply { message, .. }) = step else {
            panic!("{step:?}")
        };
        let step = take(&mut initiator, &of_world(1, 1), message.bytes());
        match other {
            1 => assert!(matches!(step, Ok(Step::Done { peer: 2, .. }))),
            _ => assert_eq!(step.unwrap_err(), HandshakeError::Proof),
        }
    }
}

#[test]
fn what_was_recorded_proves_nothing_later() {
    let talked = talk();
    let mut acceptor = Handshake::listen(&[5; 16]);
    take(&mut acceptor, &job(2), talked.hello.bytes()).unwrap();
    let replayed = take(&mut acceptor, &job(2), talked.last.bytes());
    assert_eq!(replayed.unwrap_err(), HandshakeError::Proof);
    let (mut initiator, _) = Handshake::ask(&job(1), 2, 1, &[6; 16]);
    let replayed = take(&mut initiator, &job(1), talked.challenge.bytes());
    assert_eq!(replayed.unwrap_err(), HandshakeError::Proof);
}

#[test]
fn every_bit_of_a_proof_counts() {
    let talked = talk();
    for bit in 0..8 * PROOF_BYTES {
        let mut last = talked.last.bytes().to_vec();
        last[4 + bit / 8] ^= 1 << (bit % 8);
        let refused = take(&mut talked.acceptor.clone(), &job(2), &last);
        assert_eq!(refused.unwrap_err(), HandshakeError::Proof);
    }
}

#[test]
fn a_hello_that_does_not_fit_is_named() {
    let refused = |of: Job, to: u32, rail: u32| {
        let (_, hello) = Handshake::ask(&of, to, rail, &[0; 16]);
        take(&mut Handshake::listen(&[0; 16]), &job(2), hello.bytes()).unwrap_err()
    };
    let mut other = job(1);
    other.id[3] = 0;
    assert_eq!(refused(other, 2, 0), HandshakeError::Job);
    let (to, rank, ranks) = (2, 2, 3);
    assert_eq!(
        refused(job(1), 0, 0),
        HandshakeError::NotForUs { to: 0, rank }
    );
    for rank in [2, 3] {
        let wrong = HandshakeError::Rank { rank, to, ranks };
        assert_eq!(refused(job(rank), 2, 0), wrong);
    }
    let (rail, rails) = (2, 2);
    assert_eq!(refused(job(1), 2, 2), HandshakeError::Rail { rail, rails });
    let mut other = job(1);
    other.settings = 98;
    assert_eq!(refused(other, 2, 1), HandshakeError::Settings { rank: 1 });
}

#[test]
fn garbage_is_refused_with_the_first_wrong_byte() {
    let refused = |bytes: &[u8]| take(&mut Handshake::listen(&[0; 16]), &job(2), bytes);
    for garbage in [&b"G"[..], b"GET / HTTP/1.1", &[0; 4], b"Ab"] {
        assert_eq!(refused(garbage).unwrap_err(), HandshakeError::Garbage);
    }
    let found = VERSION + 1;
    let [one, two, ..] = start(HELLO);
    assert_eq!(
        refused(&[one, two, found]).unwrap_err(),
        HandshakeError::Version { found }
    );
    let (found, expected) = (LAST, HELLO);
    assert_eq!(
        refused(&start(LAST)).unwrap_err(),
        HandshakeError::OutOfTurn { found, expected }
    );
    assert!(matches!(refused(&start(HELLO)), Ok(Step::More)));
    assert!(matches!(refused(b"A"), Ok(Step::More)));
}
