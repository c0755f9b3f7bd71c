//! Records: what goes over a connection whose ends are sure of each other (RFC 8446, section 5), sealed and opened in place.
//!
//! rustls derives the keys, at first and when one is renewed; here they are used. A record's number is never used twice with a key:
//! it counts up with every record, and a key is renewed long before it has sealed as many as are safe.

use super::Fault;
use ring::aead::{
    AES_128_GCM, AES_256_GCM, Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey,
};
use rustls::client::ClientConnectionData;
use rustls::kernel::KernelConnection;
use rustls::server::ServerConnectionData;
use rustls::{ConnectionTrafficSecrets, Error, ExtractedSecrets};
use std::ops::Range;

/// The bytes before what is sealed.
pub(super) const HEADER_BYTES: usize = 5;
/// The most bytes that one record carries.
pub(super) const MOST_BYTES: usize = 1 << 14;
/// What stands behind them: what they are, and the tag.
const BEHIND_BYTES: usize = 1 + 16;
/// By how much a record is longer than what it carries.
pub(super) const MORE_BYTES: usize = HEADER_BYTES + BEHIND_BYTES;
/// The longest sealed part of a record that may come.
const MOST_SEALED_BYTES: usize = MOST_BYTES + 256;
/// The longest record that may come.
pub(super) const MOST_RECORD_BYTES: usize = HEADER_BYTES + MOST_SEALED_BYTES;

/// What records say, by their type.
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const DATA: u8 = 23;

/// The handshake's message that a key is renewed: its type, its length, and whether the other end is to renew its own, too.
const RENEWED: [u8; 5] = [24, 0, 0, 1, 0];
const RENEW_ALSO: [u8; 5] = [24, 0, 0, 1, 1];
/// The alert that nothing more comes.
const CLOSE: [u8; 2] = [1, 0];

/// How many records a key seals before it is renewed, where as many as this are known to be safe: twice as many.
const FEWER: u64 = 2;

/// What a record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Opened {
    /// What was sent stands here, of the record.
    Data(Range<usize>),
    /// Nothing that concerns the owner.
    Nothing,
    /// Nothing more comes.
    Close,
}

/// The keys of one direction.
struct Direction {
    key: LessSafeKey,
    iv: [u8; 12],
    /// The number of the next record.
    number: u64,
}

/// What derives the next keys.
pub(super) enum Schedule {
    Client(KernelConnection<ClientConnectionData>),
    Server(KernelConnection<ServerConnectionData>),
}

/// Both directions of a connection.
pub(super) struct Records {
    sending: Direction,
    receiving: Direction,
    schedule: Schedule,
    /// After how many records the key of what is sent is renewed, and whether the other end has asked for that.
    limit: u64,
    is_asked: bool,
}

impl Direction {
    fn new((number, secrets): (u64, ConnectionTrafficSecrets)) -> Result<Direction, Error> {
        let unknown = || Error::General("a cipher that was not asked for".into());
        let (cipher, key, iv) = match &secrets {
            ConnectionTrafficSecrets::Aes128Gcm { key, iv } => (&AES_128_GCM, key, iv),
            ConnectionTrafficSecrets::Aes256Gcm { key, iv } => (&AES_256_GCM, key, iv),
            ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } => (&CHACHA20_POLY1305, key, iv),
            _ => return Err(unknown()),
        };
        let key = UnboundKey::new(cipher, key.as_ref()).map_err(|_| unknown())?;
        Ok(Direction {
            key: LessSafeKey::new(key),
            iv: iv.as_ref().try_into().map_err(|_| unknown())?,
            number,
        })
    }

    /// The nonce of the next record, which is not had a second time.
    fn nonce(&mut self) -> Nonce {
        let mut nonce = self.iv;
        for (byte, of_number) in nonce[4..].iter_mut().zip(self.number.to_be_bytes()) {
            *byte ^= of_number;
        }
        self.number += 1;
        Nonce::assume_unique_for_key(nonce)
    }

    /// Seals what stands in a record behind its header, so many bytes, as something of this type; how long the record is.
    fn seal(&mut self, record: &mut [u8], bytes: usize, kind: u8) -> Result<usize, Fault> {
        let end = HEADER_BYTES + bytes + 1;
        let [high, low] = ((bytes + BEHIND_BYTES) as u16).to_be_bytes();
        let header = [DATA, 3, 3, high, low];
        record[..HEADER_BYTES].copy_from_slice(&header);
        record[end - 1] = kind;
        let (nonce, sealed) = (self.nonce(), &mut record[HEADER_BYTES..end]);
        let tag = self
            .key
            .seal_in_place_separate_tag(nonce, Aad::from(header), sealed);
        let tag = tag.map_err(|_| Fault::Changed)?;
        record[end..end + tag.as_ref().len()].copy_from_slice(tag.as_ref());
        Ok(bytes + MORE_BYTES)
    }
}

impl Records {
    /// Those of a connection whose keys are these, of which each seals so many records at the most.
    pub(super) fn new(
        secrets: ExtractedSecrets,
        schedule: Schedule,
        limit: u64,
    ) -> Result<Records, Error> {
        Ok(Records {
            sending: Direction::new(secrets.tx)?,
            receiving: Direction::new(secrets.rx)?,
            schedule,
            limit: limit / FEWER,
            is_asked: false,
        })
    }

    /// How many bytes a record takes before one of data, if the key must be renewed first.
    pub(super) fn first_bytes(&self) -> usize {
        match self.is_asked || self.sending.number >= self.limit {
            true => RENEWED.len() + MORE_BYTES,
            false => 0,
        }
    }

    /// Renews the key of what is sent, which the other end is told by a record; how long that is.
    pub(super) fn renew(&mut self, record: &mut [u8]) -> Result<usize, Fault> {
        record[HEADER_BYTES..HEADER_BYTES + RENEWED.len()].copy_from_slice(&RENEWED);
        let bytes = self.sending.seal(record, RENEWED.len(), HANDSHAKE)?;
        let next = match &mut self.schedule {
            Schedule::Client(schedule) => schedule.update_tx_secret(),
            Schedule::Server(schedule) => schedule.update_tx_secret(),
        };
        self.sending = next.and_then(Direction::new).map_err(|_| Fault::Changed)?;
        self.is_asked = false;
        Ok(bytes)
    }

    /// Seals so many bytes of data that stand in a record behind its header; how long the record is.
    pub(super) fn seal(&mut self, record: &mut [u8], bytes: usize) -> Result<usize, Fault> {
        self.sending.seal(record, bytes, DATA)
    }

    /// Seals that nothing more comes; how long the record is.
    pub(super) fn seal_close(&mut self, record: &mut [u8]) -> Result<usize, Fault> {
        record[HEADER_BYTES..HEADER_BYTES + CLOSE.len()].copy_from_slice(&CLOSE);
        self.sending.seal(record, CLOSE.len(), ALERT)
    }

    /// The length of the record that begins with these bytes, once that can be told.
    pub(super) fn length(bytes: &[u8]) -> Result<Option<usize>, Fault> {
        let Some([kind, major, _, high, low]) = bytes.first_chunk::<HEADER_BYTES>().copied() else {
            return Ok(None);
        };
        let sealed = usize::from(u16::from_be_bytes([high, low]));
        match (kind, major) {
            (DATA, 3) if (BEHIND_BYTES..=MOST_SEALED_BYTES).contains(&sealed) => {
                Ok(Some(HEADER_BYTES + sealed))
            }
            _ => Err(Fault::Changed),
        }
    }

    /// Opens a record that is whole.
    pub(super) fn open(&mut self, record: &mut [u8]) -> Result<Opened, Fault> {
        let Some((header, sealed)) = record.split_first_chunk_mut::<HEADER_BYTES>() else {
            return Err(Fault::Changed);
        };
        let (nonce, header) = (self.receiving.nonce(), Aad::from(*header));
        let opened = self.receiving.key.open_in_place(nonce, header, sealed);
        let opened: &[u8] = opened.map_err(|_| Fault::Changed)?;
        // What it is stands behind it, and then there may be zeros.
        let end = opened.iter().rposition(|byte| *byte != 0);
        let end = end.ok_or(Fault::Changed)?;
        let (said, kind) = (&opened[..end], opened[end]);
        match kind {
            DATA if said.is_empty() => Ok(Opened::Nothing),
            DATA => Ok(Opened::Data(HEADER_BYTES..HEADER_BYTES + end)),
            ALERT if *said == CLOSE => Ok(Opened::Close),
            HANDSHAKE if *said == RENEWED || *said == RENEW_ALSO => {
                self.is_asked |= *said == RENEW_ALSO;
                let next = match &mut self.schedule {
                    Schedule::Client(schedule) => schedule.update_rx_secret(),
                    Schedule::Server(schedule) => schedule.update_rx_secret(),
                };
                self.receiving = next.and_then(Direction::new).map_err(|_| Fault::Changed)?;
                Ok(Opened::Nothing)
            }
            _ => Err(Fault::Changed),
        }
    }

    /// As if a key could seal so many records only.
    #[cfg(test)]
    pub(super) fn limit(&mut self, limit: u64) {
        self.limit = limit;
    }

    /// How many records the key of what is sent has sealed.
    #[cfg(test)]
    pub(super) fn number(&self) -> u64 {
        self.sending.number
    }
}
