//! The handshake: how both ends of a new connection prove that they belong to the job, before either believes a word.
//!
//! ```text
//! initiator ── hello: who, to whom, which rail, job, nonce ─▶ acceptor
//!           ◀─ challenge: nonce, HMAC(secret, acceptor, hello, nonce) ──
//!           ── proof: HMAC(secret, initiator, hello, nonce) ─▶            and frames right behind it
//! ```
//!
//! Each proof holds both nonces, so what was recorded of an earlier connection proves nothing, and the name of its role, so
//! that none can be sent back. Whoever does not know the secret learns nothing but that somebody listens.

use super::frame::{MAGIC, VERSION};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The bytes of a nonce, which its end must never have used before.
pub const NONCE_BYTES: usize = 16;

const HELLO_BYTES: usize = 56;
const CHALLENGE_BYTES: usize = 4 + NONCE_BYTES + PROOF_BYTES;
const LAST_BYTES: usize = 4 + PROOF_BYTES;
const PROOF_BYTES: usize = 32;

// Frames have other kinds.
const HELLO: u8 = 0x81;
const CHALLENGE: u8 = 0x82;
const LAST: u8 = 0x83;
const REFUSED: u8 = 0x84;

/// A number used once.
pub type Nonce = [u8; NONCE_BYTES];

/// What all ranks of a job know, and nobody else.
#[derive(Clone)]
pub struct Secret(Box<[u8]>);

/// A secret that is too short to be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a job's secret of {bytes} bytes can be guessed; it needs {} at least, drawn at random",
    Secret::LEAST_BYTES
)]
pub struct SecretError {
    /// Its length.
    pub bytes: usize,
}

impl Secret {
    /// The bytes of the shortest one.
    pub const LEAST_BYTES: usize = 16;

    /// A secret of these bytes, which should be drawn at random.
    ///
    /// # Errors
    /// If they are too few.
    pub fn new(bytes: &[u8]) -> Result<Secret, SecretError> {
        match bytes.len() {
            ..Secret::LEAST_BYTES => Err(SecretError { bytes: bytes.len() }),
            _ => Ok(Secret(bytes.into())),
        }
    }

    /// That of one world among all that have this one: `number` was drawn for it.
    pub(crate) fn of_world(&self, number: &Nonce) -> Secret {
        Secret(self.derive(b"allhands world", number).into())
    }

    /// A key for what a label says, from which nobody learns the secret.
    pub(crate) fn derive(&self, label: &[u8], number: &[u8]) -> [u8; 32] {
        let mac = Hmac::<Sha256>::new_from_slice(&self.0);
        let mut mac = mac.expect("HMAC takes keys of any length");
        mac.update(label);
        mac.update(number);
        mac.finalize().into_bytes().into()
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

/// The job as a rank knows it.
#[derive(Clone, Debug)]
pub struct Job {
    /// What proves that somebody belongs to it.
    pub secret: Secret,
    /// Which job it is.
    pub id: [u8; 16],
    /// The own rank.
    pub rank: u32,
    /// How many ranks there are.
    pub ranks: u32,
    /// How many rails each has.
    pub rails: u32,
    /// A digest of the settings in which all ranks must agree.
    pub settings: u64,
}

/// Why a handshake failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandshakeError {
    /// What came is no handshake.
    #[error("what came is no handshake")]
    Garbage,
    /// The other end runs another version.
    #[error("the other end has version {found} of the protocol instead of {VERSION}")]
    Version {
        /// Its version.
        found: u8,
    },
    /// A step of the handshake came out of turn.
    #[error("step {found:#04x} of the handshake came instead of {expected:#04x}")]
    OutOfTurn {
        /// What came.
        found: u8,
        /// What should have.
        expected: u8,
    },
    /// The other end is of another job.
    #[error("the other end is of another job")]
    Job,
    /// The connection was meant for another rank.
    #[error("a connection for rank {to} came to rank {rank}")]
    NotForUs {
        /// For whom.
        to: u32,
        /// Who we are.
        rank: u32,
    },
    /// There is no such rank, or it is this one.
    #[error("a rank {rank} of {ranks} connects to rank {to}")]
    Rank {
        /// Who connects.
        rank: u32,
        /// To whom.
        to: u32,
        /// How many there are.
        ranks: u32,
    },
    /// There is no such rail.
    #[error("a connection came for rail {rail} of {rails}")]
    Rail {
        /// Its number.
        rail: u32,
        /// How many there are.
        rails: u32,
    },
    /// The ranks were started with settings that do not fit.
    #[error("rank {rank} was started with other settings")]
    Settings {
        /// Who connects.
        rank: u32,
    },
    /// The other end does not know the secret, or repeats what it has heard.
    #[error("the other end does not prove that it knows the job's secret")]
    Proof,
    /// The other end speaks TLS to one that does not.
    #[error("the other end encrypts (ALLHANDS_TLS=1), and this one does not")]
    Encrypted,
    /// The other end does not speak TLS to one that does.
    #[error("the other end does not encrypt, and this one does (ALLHANDS_TLS=1)")]
    Plain,
}

/// The first bytes with which TLS begins, to handshake or to refuse it.
const TLS_STARTS: [[u8; 2]; 2] = [[0x16, 3], [0x15, 3]];

/// Bytes that are to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    bytes: [u8; HELLO_BYTES],
    length: usize,
}

impl Message {
    fn new(parts: &[&[u8]]) -> Message {
        let (mut bytes, mut length) = ([0; HELLO_BYTES], 0);
        for part in parts {
            bytes[length..length + part.len()].copy_from_slice(part);
            length += part.len();
        }
        Message { bytes, length }
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// What follows from bytes that came.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// More must come.
    More,
    /// Rank `peer`, as it says, is to be sent this.
    Reply {
        /// Who it says it is.
        peer: u32,
        /// What is to be sent.
        message: Message,
    },
    /// Both ends know each other: rank `peer`, on this rail. The initiator has a last word.
    Done {
        /// Who it is.
        peer: u32,
        /// The rail.
        rail: u32,
        /// What is to be sent before any frame.
        reply: Option<Message>,
    },
}

/// One end of a handshake.
#[derive(Clone, Debug)]
pub struct Handshake {
    state: State,
    came: [u8; HELLO_BYTES],
    have: usize,
}

#[derive(Clone, Debug)]
enum State {
    /// The initiator waits for the challenge.
    Asking(Hello),
    /// The acceptor waits for the hello, with this nonce at hand.
    Listening(Nonce),
    /// The acceptor waits for the proof.
    Challenging(Hello, Nonce),
    Over,
}

#[derive(Clone, Debug)]
struct Hello {
    from: u32,
    to: u32,
    rail: u32,
    encoded: [u8; HELLO_BYTES],
}

#[derive(Clone, Copy)]
enum Role {
    Initiator,
    Acceptor,
}

impl Hello {
    fn new(job: &Job, to: u32, rail: u32, nonce: &Nonce) -> Hello {
        let numbers = [job.rank, to, rail].map(u32::to_le_bytes);
        let message = Message::new(&[
            &start(HELLO),
            numbers.as_flattened(),
            &job.id,
            nonce,
            &job.settings.to_le_bytes(),
        ]);
        Hello {
            from: job.rank,
            to,
            rail,
            encoded: message.bytes,
        }
    }

    /// What a hello says, if the job's rank may talk with whoever says it.
    fn read(job: &Job, encoded: [u8; HELLO_BYTES]) -> Result<Hello, HandshakeError> {
        let four = |at: usize| {
            let bytes = [0, 1, 2, 3].map(|i| encoded[at + i]);
            u32::from_le_bytes(bytes)
        };
        let (from, to, rail) = (four(4), four(8), four(12));
        if encoded[16..32] != job.id {
            return Err(HandshakeError::Job);
        }
        let (rank, ranks, rails) = (job.rank, job.ranks, job.rails);
        if to != rank {
            return Err(HandshakeError::NotForUs { to, rank });
        }
        if from >= ranks || from == rank {
            let rank = from;
            return Err(HandshakeError::Rank { rank, to, ranks });
        }
        if rail >= rails {
            return Err(HandshakeError::Rail { rail, rails });
        }
        if encoded[48..56] != job.settings.to_le_bytes() {
            return Err(HandshakeError::Settings { rank: from });
        }
        Ok(Hello {
            from,
            to,
            rail,
            encoded,
        })
    }

    /// What the end with this role proves itself by.
    fn mac(&self, job: &Job, role: Role, challenge: &[u8]) -> Hmac<Sha256> {
        let mac = Hmac::<Sha256>::new_from_slice(&job.secret.0);
        let mut mac = mac.expect("HMAC takes keys of any length");
        mac.update(match role {
            Role::Initiator => b"allhands tcp initiator",
            Role::Acceptor => b"allhands tcp acceptor.",
        });
        mac.update(&self.encoded);
        mac.update(challenge);
        mac
    }

    fn proof(&self, job: &Job, role: Role, challenge: &[u8]) -> [u8; PROOF_BYTES] {
        self.mac(job, role, challenge)
            .finalize()
            .into_bytes()
            .into()
    }

    fn is_proved(&self, job: &Job, role: Role, challenge: &[u8], proof: &[u8]) -> bool {
        // In the same time wherever it differs.
        self.mac(job, role, challenge).verify_slice(proof).is_ok()
    }
}

/// Whether what came begins as a handshake does that is not encrypted.
#[must_use]
pub fn is_plain(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC.to_le_bytes())
}

/// What tells an end that encrypts that this one does not: it cannot be read as TLS, and is no step of a handshake.
#[must_use]
pub fn not_encrypted() -> [u8; 4] {
    start(REFUSED)
}

fn start(step: u8) -> [u8; 4] {
    let [one, two] = MAGIC.to_le_bytes();
    [one, two, VERSION, step]
}

impl Handshake {
    /// That of whoever has made the connection, to rank `to` on a rail; the message is to be sent at once.
    #[must_use]
    pub fn ask(job: &Job, to: u32, rail: u32, nonce: &Nonce) -> (Handshake, Message) {
        let hello = Hello::new(job, to, rail, nonce);
        let message = Message::new(&[&hello.encoded]);
        (Handshake::new(State::Asking(hello)), message)
    }

    /// That of whoever has accepted the connection.
    #[must_use]
    pub fn listen(nonce: &Nonce) -> Handshake {
        Handshake::new(State::Listening(*nonce))
    }

    fn new(state: State) -> Handshake {
        Handshake {
            state,
            came: [0; HELLO_BYTES],
            have: 0,
        }
    }

    /// Takes bytes that came, as many as belong to the next step, from the front of `bytes`.
    ///
    /// # Errors
    /// Why the other end is refused; the connection is then to be closed.
    pub fn take(&mut self, job: &Job, bytes: &mut &[u8]) -> Result<Step, HandshakeError> {
        let (expected, length) = match &self.state {
            State::Asking(_) => (CHALLENGE, CHALLENGE_BYTES),
            State::Listening(_) => (HELLO, HELLO_BYTES),
            State::Challenging(..) => (LAST, LAST_BYTES),
            State::Over => return Err(HandshakeError::Garbage),
        };
        let (now, later) = bytes.split_at(bytes.len().min(length - self.have));
        self.came[self.have..self.have + now.len()].copy_from_slice(now);
        self.have += now.len();
        *bytes = later;
        self.check_start(expected)?;
        if self.have < length {
            return Ok(Step::More);
        }
        self.have = 0;
        match std::mem::replace(&mut self.state, State::Over) {
            State::Asking(hello) => self.challenged(job, &hello),
            State::Listening(nonce) => self.greeted(job, nonce),
            State::Challenging(hello, nonce) => {
                match hello.is_proved(job, Role::Initiator, &nonce, &self.came[4..LAST_BYTES]) {
                    false => Err(HandshakeError::Proof),
                    true => Ok(Step::Done {
                        peer: hello.from,
                        rail: hello.rail,
                        reply: None,
                    }),
                }
            }
            State::Over => Err(HandshakeError::Garbage),
        }
    }

    /// Whether what has come begins as it must, so that garbage is refused before it is whole.
    fn check_start(&self, expected: u8) -> Result<(), HandshakeError> {
        let right = start(expected);
        let have = self.have.min(right.len());
        let found = &self.came[..have];
        if found[..have.min(2)] != right[..have.min(2)] {
            return Err(match TLS_STARTS.iter().any(|tls| found.starts_with(tls)) {
                true => HandshakeError::Encrypted,
                false => HandshakeError::Garbage,
            });
        }
        match (found.get(2), found.get(3)) {
            (Some(&found), _) if found != VERSION => Err(HandshakeError::Version { found }),
            (_, Some(&found)) if found != expected => {
                Err(HandshakeError::OutOfTurn { found, expected })
            }
            _ => Ok(()),
        }
    }

    /// The acceptor has the hello.
    fn greeted(&mut self, job: &Job, nonce: Nonce) -> Result<Step, HandshakeError> {
        let hello = Hello::read(job, self.came)?;
        let proof = hello.proof(job, Role::Acceptor, &nonce);
        let message = Message::new(&[&start(CHALLENGE), &nonce, &proof]);
        let peer = hello.from;
        self.state = State::Challenging(hello, nonce);
        Ok(Step::Reply { peer, message })
    }

    /// The initiator has the challenge.
    fn challenged(&mut self, job: &Job, hello: &Hello) -> Result<Step, HandshakeError> {
        let (nonce, proof) = self.came[4..CHALLENGE_BYTES].split_at(NONCE_BYTES);
        if !hello.is_proved(job, Role::Acceptor, nonce, proof) {
            return Err(HandshakeError::Proof);
        }
        let proof = hello.proof(job, Role::Initiator, nonce);
        Ok(Step::Done {
            peer: hello.to,
            rail: hello.rail,
            reply: Some(Message::new(&[&start(LAST), &proof])),
        })
    }
}

#[cfg(test)]
mod tests;
