//! Links: one connection of a wire-up, from the first byte of its handshake to the frames behind it.

use super::card::CARD_BYTES;
use crate::transport::net::tcp::protocol::handshake::{
    Handshake, HandshakeError, Job, Nonce, Secret, Step,
};

/// What is said over a link whose ends know each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// A rank's card, for rank 0.
    Card(Vec<u8>),
    /// All cards, for a rank of the tree below.
    Table(Vec<u8>),
    /// The rank, and all below it, could have their places.
    Ready,
    /// All could, and have them.
    Go,
    /// Nobody has a place, and why.
    Trouble(String),
}

const CARD: u8 = 1;
const TABLE: u8 = 2;
const READY: u8 = 3;
const GO: u8 = 4;
const TROUBLE: u8 = 5;

/// The longest word about trouble in bytes.
const TROUBLE_BYTES: usize = 4096;

impl Frame {
    pub(super) fn encode(&self) -> Vec<u8> {
        let (kind, payload): (u8, &[u8]) = match self {
            Frame::Card(bytes) => (CARD, bytes),
            Frame::Table(bytes) => (TABLE, bytes),
            Frame::Ready => (READY, &[]),
            Frame::Go => (GO, &[]),
            Frame::Trouble(says) => (
                TROUBLE,
                &says.as_bytes()[..says.floor_char_boundary(TROUBLE_BYTES)],
            ),
        };
        let length = (payload.len() as u32).to_le_bytes();
        [&length[..], &[kind], payload].concat()
    }
}

/// Why a link ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    Handshake(HandshakeError),
    /// What came behind the handshake is no frame.
    Garbage,
}

/// Which rank a link's other end says it is, in its handshake: all are one more, as who joins must not be who listens.
pub(super) fn identity(rank: u32) -> u32 {
    rank + 1
}

/// Where rank 0 listens, as handshakes name it.
pub(super) const POINT: u32 = 0;

/// What a handshake of a wire-up is about, for the end with this identity.
pub(super) fn job(secret: &Secret, identity: u32) -> Job {
    Job {
        secret: secret.clone(),
        id: *b"allhands wire-up",
        rank: identity,
        // Who comes with a number that is too high hears so, once it has proved itself.
        ranks: u32::MAX,
        rails: 1,
        // The layout of cards and frames.
        settings: 1,
    }
}

/// One connection.
#[derive(Debug)]
pub(super) struct Link {
    job: Job,
    handshake: Option<Handshake>,
    inbox: Vec<u8>,
    /// The longest payload that may come.
    most: usize,
}

/// What follows from bytes that came.
#[derive(Debug, Default)]
pub(super) struct Arrived {
    /// What is to be sent.
    pub(super) reply: Vec<u8>,
    /// Who the other end is, if that has just been proved.
    pub(super) proved: Option<u32>,
    pub(super) frames: Vec<Frame>,
}

impl Link {
    /// That of who connects, to whoever has this identity; and what is to be sent at once.
    pub(super) fn ask(job: Job, to: u32, nonce: &Nonce, ranks: u32) -> (Link, Vec<u8>) {
        let (handshake, message) = Handshake::ask(&job, to, 0, nonce);
        let hello = message.bytes().to_vec();
        (Link::new(job, handshake, ranks), hello)
    }

    /// That of who was connected to.
    pub(super) fn listen(job: Job, nonce: &Nonce, ranks: u32) -> Link {
        Link::new(job, Handshake::listen(nonce), ranks)
    }

    fn new(job: Job, handshake: Handshake, ranks: u32) -> Link {
        Link {
            job,
            handshake: Some(handshake),
            inbox: Vec::new(),
            most: CARD_BYTES * (ranks as usize + 1),
        }
    }

    /// Whether the other end has proved itself.
    pub(super) fn is_proved(&self) -> bool {
        self.handshake.is_none()
    }

    /// Takes bytes that came.
    pub(super) fn arrived(&mut self, mut bytes: &[u8]) -> Result<Arrived, Refusal> {
        let mut arrived = Arrived::default();
        while let Some(handshake) = &mut self.handshake {
            if bytes.is_empty() {
                return Ok(arrived);
            }
            let step = handshake
                .take(&self.job, &mut bytes)
                .map_err(Refusal::Handshake)?;
            match step {
                Step::More => {}
                Step::Reply { message, .. } => arrived.reply.extend(message.bytes()),
                Step::Done { peer, reply, .. } => {
                    let last = reply.iter().flat_map(|message| message.bytes().to_vec());
                    arrived.reply.extend(last);
                    arrived.proved = Some(peer);
                    self.handshake = None;
                }
            }
        }
        self.inbox.extend_from_slice(bytes);
        while let Some(frame) = self.next_frame()? {
            arrived.frames.push(frame);
        }
        Ok(arrived)
    }

    fn next_frame(&mut self) -> Result<Option<Frame>, Refusal> {
        let Some((header, rest)) = self.inbox.split_first_chunk::<5>() else {
            return Ok(None);
        };
        let [a, b, c, d, kind] = *header;
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        let most = match kind {
            CARD => CARD_BYTES,
            TABLE => self.most,
            READY | GO => 0,
            TROUBLE => TROUBLE_BYTES,
            _ => return Err(Refusal::Garbage),
        };
        if length > most {
            return Err(Refusal::Garbage);
        }
        let Some(payload) = rest.get(..length) else {
            return Ok(None);
        };
        let frame = match kind {
            CARD => Frame::Card(payload.to_vec()),
            TABLE => Frame::Table(payload.to_vec()),
            READY => Frame::Ready,
            GO => Frame::Go,
            _ => Frame::Trouble(String::from_utf8_lossy(payload).into_owned()),
        };
        self.inbox.drain(..5 + length);
        Ok(Some(frame))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> Secret {
        Secret::new(text.as_bytes()).expect("it is long enough")
    }

    /// Both ends, with these secrets, until one refuses or both are proved.
    fn shake(asks: &str, listens: &str) -> Result<(Link, Link), Refusal> {
        let (mut one, hello) =
            Link::ask(job(&secret(asks), identity(3)), POINT, &Nonce::default(), 4);
        let mut other = Link::listen(job(&secret(listens), POINT), &[9; 16], 4);
        let challenge = other.arrived(&hello)?;
        let last = one.arrived(&challenge.reply)?;
        assert_eq!(last.proved, Some(POINT));
        let end = other.arrived(&last.reply)?;
        assert_eq!(end.proved, Some(identity(3)));
        Ok((one, other))
    }

    #[test]
    fn frames_come_in_any_pieces() {
        let (_, mut other) = shake("sixteen bytes ok", "sixteen bytes ok").unwrap();
        let frames = [
            Frame::Card(vec![1, 2, 3]),
            Frame::Ready,
            Frame::Table(vec![4; 5000]),
            Frame::Go,
            Frame::Trouble("no".into()),
        ];
        let bytes: Vec<u8> = frames.iter().flat_map(Frame::encode).collect();
        for size in [1, 7, bytes.len()] {
            let pieces = bytes.chunks(size);
            let came = pieces.flat_map(|piece| other.arrived(piece).unwrap().frames);
            assert_eq!(came.collect::<Vec<_>>(), frames);
        }
    }

    #[test]
    fn another_secret_and_garbage_are_refused() {
        let refusal = shake("sixteen bytes ok", "sixteen other ok").unwrap_err();
        assert_eq!(refusal, Refusal::Handshake(HandshakeError::Proof));
        let mut link = Link::listen(job(&secret("sixteen bytes ok"), POINT), &[9; 16], 4);
        let refusal = link.arrived(b"GET / HTTP/1.1").unwrap_err();
        assert_eq!(refusal, Refusal::Handshake(HandshakeError::Garbage));
        let (mut one, _) = shake("sixteen bytes ok", "sixteen bytes ok").unwrap();
        assert_eq!(one.arrived(&[255; 9]).unwrap_err(), Refusal::Garbage);
        let (mut one, _) = shake("sixteen bytes ok", "sixteen bytes ok").unwrap();
        let too_long = [255, 255, 255, 127, CARD];
        assert_eq!(one.arrived(&too_long).unwrap_err(), Refusal::Garbage);
    }
}
