//! Records: what `allhands run` and its agents on other hosts say to one another, over the launcher's pipes.

use crate::command::run::lines::Stream;
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};

/// What an agent says first, as a host's shell may have said something before.
pub const GREETING: &[u8] = b"\x01allhands agent 1\n";

/// The longest record in bytes.
const MOST: usize = 16 << 20;

/// What an agent is to do.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Task {
    /// What its host is called.
    pub host: String,
    /// The ranks that it starts, and how many there are in all.
    pub ranks: Vec<u32>,
    pub all: u32,
    pub program: Vec<String>,
    pub directory: String,
    pub environment: Vec<(String, String)>,
    pub secret: String,
    pub prefix: bool,
    pub keep_going: bool,
    pub bind: String,
}

/// One record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// To an agent: what it is to do; it answers that it is ready.
    Task(Vec<u8>),
    /// To an agent: where the ranks meet, so that it starts its own.
    Start(String),
    /// To an agent: a signal for all its ranks.
    Signal(i32),
    /// To an agent: all its ranks are to end.
    End,
    /// From an agent: it could start ranks, and this port of its host is free.
    Ready(u16),
    /// From an agent: a rank has written this.
    Output(Stream, Vec<u8>),
    /// From an agent: what it has to say itself.
    Says(String),
    /// From an agent: a rank of its has failed, which makes this the exit code.
    Failed(u8),
}

impl Record {
    pub fn encode(&self) -> Vec<u8> {
        let (kind, payload): (u8, &[u8]) = match self {
            Record::Task(json) => (1, json),
            Record::Start(place) => (2, place.as_bytes()),
            Record::Signal(signal) => (3, &signal.to_le_bytes()),
            Record::End => (4, &[]),
            Record::Ready(port) => (5, &port.to_le_bytes()),
            Record::Output(Stream::Stdout, bytes) => (6, bytes),
            Record::Output(Stream::Stderr, bytes) => (7, bytes),
            Record::Says(line) => (8, line.as_bytes()),
            Record::Failed(code) => (9, &[*code]),
        };
        let mut bytes = Vec::with_capacity(5 + payload.len());
        bytes.push(kind);
        bytes.extend((payload.len() as u32).to_le_bytes());
        bytes.extend(payload);
        bytes
    }

    /// The next record; `None` at the end.
    ///
    /// # Errors
    /// If it cannot be read, or is none.
    pub fn read(from: &mut impl Read) -> io::Result<Option<Record>> {
        let mut header = [0; 5];
        match from.read_exact(&mut header) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            read => read?,
        }
        let [kind, length @ ..] = header;
        let length = u32::from_le_bytes(length) as usize;
        let none = || io::Error::new(io::ErrorKind::InvalidData, "what came is no record");
        if length > MOST {
            return Err(none());
        }
        let mut payload = vec![0; length];
        from.read_exact(&mut payload)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(Some(match (kind, &payload[..]) {
            (1, _) => Record::Task(payload),
            (2, place) => Record::Start(text(place)),
            (3, [a, b, c, d]) => Record::Signal(i32::from_le_bytes([*a, *b, *c, *d])),
            (4, []) => Record::End,
            (5, [a, b]) => Record::Ready(u16::from_le_bytes([*a, *b])),
            (6, _) => Record::Output(Stream::Stdout, payload),
            (7, _) => Record::Output(Stream::Stderr, payload),
            (8, line) => Record::Says(text(line)),
            (9, [code]) => Record::Failed(*code),
            _ => return Err(none()),
        }))
    }

    /// Writes it, at once.
    ///
    /// # Errors
    /// If nobody reads it.
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        to.write_all(&self.encode())?;
        to.flush()
    }
}

/// Reads up to the greeting; what came before it, if it never comes.
///
/// # Errors
/// What was read instead.
pub fn greeted(from: &mut impl Read) -> Result<(), Vec<u8>> {
    let (mut read, mut byte) = (Vec::new(), [0]);
    while !read.ends_with(GREETING) {
        match from.read(&mut byte) {
            Ok(1) if read.len() < 1 << 20 => read.push(byte[0]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            _ => return Err(read),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_survive_encoding() {
        let all = [
            Record::Task(b"{}".to_vec()),
            Record::Start("a:7".into()),
            Record::Signal(15),
            Record::End,
            Record::Ready(40_000),
            Record::Output(Stream::Stdout, vec![0, 1, 255]),
            Record::Output(Stream::Stderr, Vec::new()),
            Record::Says("rank 3".into()),
            Record::Failed(137),
        ];
        let bytes: Vec<u8> = all.iter().flat_map(Record::encode).collect();
        let mut rest = &bytes[..];
        for record in &all {
            assert_eq!(Record::read(&mut rest).unwrap().as_ref(), Some(record));
        }
        assert_eq!(Record::read(&mut rest).unwrap(), None);
        assert!(Record::read(&mut &[77, 0, 0, 0, 0][..]).is_err());
        assert!(Record::read(&mut &[1, 255, 255, 255, 255][..]).is_err());
    }

    #[test]
    fn what_a_shell_says_first_is_passed_over() {
        let talk = [b"Welcome!\n", GREETING, b"x"].concat();
        let mut rest = &talk[..];
        greeted(&mut rest).unwrap();
        assert_eq!(rest, b"x");
        assert_eq!(
            greeted(&mut &b"no such program"[..]).unwrap_err(),
            b"no such program"
        );
    }
}
