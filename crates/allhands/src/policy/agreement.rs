//! The agreement: what rank 0 has found on this machine, as all ranks of a world hear it before their first call.

use super::installed::{Found, Kind};
use super::protocols::{self, Measured};
use crate::{Communicator, Error, operation};

/// The first message of rank 0, of a fixed length; behind it come the bytes that it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Opening {
    /// What was found in the place for a table.
    found: Kind,
    /// The bytes of the file's name.
    file_bytes: usize,
    /// The bytes of its text, or of why it cannot be read.
    text_bytes: usize,
    /// Whether there are more ranks than cores.
    oversubscribed: bool,
    /// What is known of the protocols of long messages; none: it is to be measured.
    measured: Option<Measured>,
}

impl Opening {
    const WORDS: usize = 7;

    fn encode(self) -> [u64; Opening::WORDS] {
        let Measured { one_way, exchanged } = self.measured.unwrap_or_default();
        [
            self.found as u64,
            self.file_bytes as u64,
            self.text_bytes as u64,
            u64::from(self.oversubscribed),
            u64::from(self.measured.is_none()),
            one_way,
            exchanged,
        ]
    }

    fn decode(words: [u64; Opening::WORDS]) -> Opening {
        let [
            found,
            file_bytes,
            text_bytes,
            oversubscribed,
            measures,
            one_way,
            exchanged,
        ] = words;
        Opening {
            found: Kind::of_word(found),
            file_bytes: file_bytes as usize,
            text_bytes: text_bytes as usize,
            oversubscribed: oversubscribed != 0,
            measured: (measures == 0).then_some(Measured { one_way, exchanged }),
        }
    }
}

/// Gives every rank what rank 0 has found, so that ranks can never choose differently, whatever happens to the file in
/// between; what rank 0 says of the cores; and which protocols take least here, which are measured where that is not known.
///
/// # Errors
/// On every rank the same [`PolicyError`](super::PolicyError) if the table is broken; otherwise as any call.
pub(crate) fn agree(comm: &Communicator, oversubscribed: bool) -> Result<(), Error> {
    let known = match (comm.rank(), oversubscribed) {
        // A rank alone sends nothing.
        _ if comm.size() == 1 => protocols::Found::Known(Measured::default()),
        (0, false) => protocols::Found::here(),
        (0, true) => protocols::Found::where_cores_are_shared(protocols::Protocols::read()),
        _ => protocols::Found::Known(Measured::default()),
    };
    agree_on(comm, oversubscribed, known)
}

/// The same, where rank 0 knows this.
fn agree_on(
    comm: &Communicator,
    oversubscribed: bool,
    known: protocols::Found,
) -> Result<(), Error> {
    let measured = match hear(comm, oversubscribed, known.measured())? {
        Some(measured) => measured,
        None => protocols::first_start(comm, known)?,
    };
    comm.set_protocols(measured, false);
    Ok(())
}

/// The same among ranks of several nodes, each of which has agreed on its protocols already.
pub(crate) fn agree_among_nodes(comm: &Communicator, oversubscribed: bool) -> Result<(), Error> {
    hear(comm, oversubscribed, Some(Measured::default())).map(|_| ())
}

/// Has every rank take what rank 0 says, but for the protocols, which it gives.
fn hear(
    comm: &Communicator,
    oversubscribed: bool,
    measured: Option<Measured>,
) -> Result<Option<Measured>, Error> {
    let found = match comm.rank() {
        0 => Found::here(),
        _ => Found::Nothing,
    };
    let (kind, file, text) = found.parts();
    let opening = Opening {
        found: kind,
        file_bytes: file.len(),
        text_bytes: text.len(),
        oversubscribed,
        measured,
    };
    let mut words = opening.encode();
    comm.run(operation::broadcast(&mut words, 0))?;
    let opening = Opening::decode(words);
    let mut bytes = [file.as_bytes(), text.as_bytes()].concat();
    bytes.resize(opening.file_bytes + opening.text_bytes, 0);
    if !bytes.is_empty() {
        comm.run(operation::broadcast(&mut bytes, 0))?;
    }
    let policy = Found::of_parts(opening.found, bytes.split_at(opening.file_bytes)).policy()?;
    comm.set_agreed(policy, opening.oversubscribed);
    Ok(opening.measured)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::policy::protocols::{Pattern, Protocol, Protocols, Times};
    use crate::threads;

    #[test]
    fn ranks_that_share_cores_hear_where_a_read_took_least() {
        let times = |pattern, bytes, direct_us| Times {
            pattern,
            bytes,
            us: vec![
                (Protocol::Bounce, [10.0; 2]),
                (Protocol::Direct, [direct_us; 2]),
                // What two cores do together counts for nothing.
                (Protocol::Pipelined, [5.0; 2]),
            ],
            chosen: Protocol::Pipelined,
            settled: true,
        };
        let known = Protocols {
            starts: 1,
            copies: None,
            times: vec![
                times(Pattern::OneWay, 64 << 10, 9.0),
                times(Pattern::OneWay, 256 << 10, 9.9),
                times(Pattern::Exchanged, 256 << 10, 9.0),
            ],
        };
        let heard = threads::run(3, |comm| {
            let known = (comm.rank() == 0).then(|| known.clone());
            agree_on(&comm, true, protocols::Found::where_cores_are_shared(known)).unwrap();
            comm.protocols()
        });
        let (mut direct, mut exchanged) = (0, 0);
        for class in [4, 5, 6] {
            exchanged = Measured::with(exchanged, class, Protocol::Pipelined);
        }
        for class in [2, 3] {
            direct = Measured::with(direct, class, Protocol::Direct);
        }
        for heard in heard.unwrap() {
            assert_eq!((heard.one_way, heard.exchanged), (direct, exchanged));
        }
    }

    #[test]
    fn every_field_of_an_opening_arrives() {
        let measured = Measured {
            one_way: 0x1234,
            exchanged: u64::MAX,
        };
        for found in Kind::ALL {
            for measured in [None, Some(Measured::default()), Some(measured)] {
                for oversubscribed in [false, true] {
                    let opening = Opening {
                        found,
                        file_bytes: 17,
                        text_bytes: 1 << 33,
                        oversubscribed,
                        measured,
                    };
                    assert_eq!(Opening::decode(opening.encode()), opening);
                }
            }
        }
    }
}
