//! The greeting: TLS's handshake, which rustls does, until both ends are sure of each other and have keys.

use super::Fault;
use super::buffer::{Incoming, Outgoing};
use super::record::{Records, Schedule};
use crate::transport::net::tcp::protocol::handshake::HandshakeError;
use rustls::client::{ClientConfig, ClientConnectionData, UnbufferedClientConnection};
use rustls::pki_types::{DnsName, ServerName};
use rustls::server::{ServerConfig, ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::{ConnectionState, UnbufferedStatus};
use rustls::{AlertDescription, Error, SupportedCipherSuite};
use std::sync::Arc;

/// What is missing: nobody looks at the name of the other end, which is known by its key.
const NAME: &str = "allhands";

/// One end of it.
pub(super) enum Greeting {
    Client(UnbufferedClientConnection),
    Server(UnbufferedServerConnection),
}

/// How far it is.
pub(super) enum Step {
    /// More must come.
    More,
    /// Both ends are sure of each other.
    Done,
}

impl Greeting {
    pub(super) fn connecting(config: Arc<ClientConfig>) -> Result<Greeting, Fault> {
        let name = DnsName::try_from_str(NAME).map_err(|_| refused(&Error::DecryptError))?;
        let name = ServerName::DnsName(name.to_owned());
        let client = UnbufferedClientConnection::new(config, name);
        client
            .map(Greeting::Client)
            .map_err(|error| refused(&error))
    }

    pub(super) fn accepting(config: Arc<ServerConfig>) -> Result<Greeting, Fault> {
        let server = UnbufferedServerConnection::new(config);
        server
            .map(Greeting::Server)
            .map_err(|error| refused(&error))
    }

    /// Takes what came, and puts what is to be written; what of the owner's came right behind it is put apart.
    pub(super) fn advance(
        &mut self,
        incoming: &mut Incoming,
        outgoing: &mut Outgoing,
        early: &mut Vec<u8>,
    ) -> Result<Step, Fault> {
        match self {
            Greeting::Client(client) => advance(client, incoming, outgoing, early),
            Greeting::Server(server) => advance(server, incoming, outgoing, early),
        }
    }

    /// The keys, when it is done.
    pub(super) fn records(self) -> Result<Records, Fault> {
        let records = match self {
            Greeting::Client(client) => {
                client
                    .dangerous_into_kernel_connection()
                    .and_then(|(secrets, schedule)| {
                        let limit = limit(schedule.negotiated_cipher_suite());
                        Records::new(secrets, Schedule::Client(schedule), limit)
                    })
            }
            Greeting::Server(server) => {
                server
                    .dangerous_into_kernel_connection()
                    .and_then(|(secrets, schedule)| {
                        let limit = limit(schedule.negotiated_cipher_suite());
                        Records::new(secrets, Schedule::Server(schedule), limit)
                    })
            }
        };
        records.map_err(|error| refused(&error))
    }
}

/// How many records a key may seal.
fn limit(suite: SupportedCipherSuite) -> u64 {
    let suite = suite.tls13();
    suite.map_or(0, |suite| suite.common.confidentiality_limit)
}

/// Either end of rustls's.
trait End {
    type Data;

    fn process<'c, 'i>(
        &'c mut self,
        incoming: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, Self::Data>;
}

impl End for UnbufferedClientConnection {
    type Data = ClientConnectionData;

    fn process<'c, 'i>(
        &'c mut self,
        incoming: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, ClientConnectionData> {
        self.process_tls_records(incoming)
    }
}

impl End for UnbufferedServerConnection {
    type Data = ServerConnectionData;

    fn process<'c, 'i>(
        &'c mut self,
        incoming: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, ServerConnectionData> {
        self.process_tls_records(incoming)
    }
}

fn advance(
    end: &mut impl End,
    incoming: &mut Incoming,
    outgoing: &mut Outgoing,
    early: &mut Vec<u8>,
) -> Result<Step, Fault> {
    loop {
        let UnbufferedStatus { discard, state } = end.process(incoming.bytes_mut());
        let step = match state {
            Ok(state) => take(state, outgoing, early)?,
            Err(error) => {
                incoming.discard(discard);
                say_why(end, incoming, outgoing);
                return Err(refused(&error));
            }
        };
        incoming.discard(discard);
        if let Some(step) = step {
            return Ok(step);
        }
    }
}

/// Does what rustls asks for next; how far it is, if it asks for nothing more.
fn take<Data>(
    state: ConnectionState<'_, '_, Data>,
    outgoing: &mut Outgoing,
    early: &mut Vec<u8>,
) -> Result<Option<Step>, Fault> {
    match state {
        ConnectionState::EncodeTlsData(mut data) => {
            // There is room for all that is said before there are keys; who needs more is none of ours.
            let bytes = data.encode(outgoing.room());
            outgoing.add(bytes.map_err(|_| refused(&Error::EncryptError))?);
        }
        ConnectionState::TransmitTlsData(data) => data.done(),
        ConnectionState::ReadTraffic(mut data) => {
            while let Some(Ok(record)) = data.next_record() {
                early.extend_from_slice(record.payload);
            }
        }
        ConnectionState::BlockedHandshake => return Ok(Some(Step::More)),
        ConnectionState::WriteTraffic(_) => return Ok(Some(Step::Done)),
        // Of what else there may be nothing is to be had before both ends are sure of each other.
        _ => return Err(Fault::Refused(HandshakeError::Garbage)),
    }
    Ok(None)
}

/// Puts what tells the other end why it is refused, if rustls has said so: one alert, and nothing that came is looked at after that.
fn say_why(end: &mut impl End, incoming: &mut Incoming, outgoing: &mut Outgoing) {
    if let Ok(ConnectionState::EncodeTlsData(mut data)) = end.process(incoming.bytes_mut()).state
        && let Ok(bytes) = data.encode(outgoing.room())
    {
        outgoing.add(bytes);
    }
}

/// What an error says of the other end. Who shows another key has another secret, and who is told so has one, too.
fn refused(error: &Error) -> Fault {
    Fault::Refused(match error {
        Error::InvalidCertificate(_) | Error::AlertReceived(AlertDescription::AccessDenied) => {
            HandshakeError::Proof
        }
        _ => HandshakeError::Garbage,
    })
}
