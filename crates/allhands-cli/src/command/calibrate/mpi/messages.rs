//! Messages: the network of which each message is one of an MPI's own, between a send and a receive that do not wait.
//!
//! Errors of the MPI end all ranks, as its own handler has it, so nothing is said to other ranks when something has gone wrong.

use crate::command::tune::mpi::rank::library::{Handle, Library, Object};
use allhands::net::{Ended, Network, NetworkError, Notice, Ticket};
use std::ffi::{c_int, c_void};
use std::time::{Duration, Instant};

/// Room for a request of any ABI: a number or an address.
type Request = usize;
/// Room for a status of any ABI: none has more than 40 bytes.
#[repr(C, align(16))]
struct Status([u8; 64]);

type Isend =
    unsafe extern "C" fn(*const c_void, c_int, Handle, c_int, c_int, Handle, *mut Request) -> c_int;
type Irecv =
    unsafe extern "C" fn(*mut c_void, c_int, Handle, c_int, c_int, Handle, *mut Request) -> c_int;
type Test = unsafe extern "C" fn(*mut Request, *mut c_int, *mut Status) -> c_int;
type GetCount = unsafe extern "C" fn(*const Status, Handle, *mut c_int) -> c_int;
type Cancel = unsafe extern "C" fn(*mut Request) -> c_int;

/// The tags that every MPI has at least.
const TAGS: u32 = 1 << 15;
/// How long a send that nobody wants any more may take to be over.
const PATIENCE: Duration = Duration::from_secs(10);

/// A message under way.
struct Message {
    request: Request,
    /// Its length, if it is sent.
    sends: Option<usize>,
    ended: Option<usize>,
    cancelled: Option<Instant>,
}

/// The messages of one rank.
pub struct Messages {
    isend: Isend,
    irecv: Irecv,
    test: Test,
    get_count: GetCount,
    cancel: Cancel,
    byte: Handle,
    comm: Handle,
    /// By ticket; those that are of no further use are free for others.
    messages: Vec<Option<Message>>,
}

impl Messages {
    /// The messages of a communicator in which nobody else sends.
    pub fn new(library: &Library, comm: Handle) -> anyhow::Result<Messages> {
        let object: Object = library.object;
        // SAFETY: the types are those of MPI 5.0 for the functions of these names.
        unsafe {
            Ok(Messages {
                isend: object.function(c"MPI_Isend")?,
                irecv: object.function(c"MPI_Irecv")?,
                test: object.function(c"MPI_Test")?,
                get_count: object.function(c"MPI_Get_count")?,
                cancel: object.function(c"MPI_Cancel")?,
                byte: library.byte,
                comm,
                messages: Vec::new(),
            })
        }
    }

    fn keep(&mut self, request: Request, sends: Option<usize>) -> Ticket {
        let message = Message {
            request,
            sends,
            ended: None,
            cancelled: None,
        };
        let free = self.messages.iter().position(Option::is_none);
        let place = free.unwrap_or(self.messages.len());
        match self.messages.get_mut(place) {
            Some(free) => *free = Some(message),
            None => self.messages.push(Some(message)),
        }
        Ticket(place as u64)
    }

    /// Asks the MPI whether a message has ended, which takes all of them further.
    fn ask(&mut self, place: usize) -> Result<(), NetworkError> {
        let (test, get_count, byte) = (self.test, self.get_count, self.byte);
        let message = self.messages.get_mut(place).and_then(Option::as_mut);
        let Some(message) = message.filter(|message| message.ended.is_none()) else {
            return Ok(());
        };
        let (mut has_ended, mut status) = (0, Status([0; 64]));
        // SAFETY: a request that the MPI has begun and not ended, with a number and a status of any ABI to write to.
        let code = unsafe {
            test(
                &raw mut message.request,
                &raw mut has_ended,
                &raw mut status,
            )
        };
        succeeded("MPI_Test", code)?;
        if has_ended == 0 {
            return Ok(());
        }
        let mut bytes = 0;
        match message.sends {
            Some(sent) => bytes = sent,
            None if message.cancelled.is_some() => {}
            None => {
                let mut count: c_int = 0;
                // SAFETY: the status of a receive that has ended, and a number to write to.
                let code = unsafe { get_count(&raw const status, byte, &raw mut count) };
                succeeded("MPI_Get_count", code)?;
                bytes = count as usize;
            }
        }
        message.ended = Some(bytes);
        Ok(())
    }
}

/// Turns MPI's status into an error; most MPIs end the program themselves.
fn succeeded(what: &str, code: c_int) -> Result<(), NetworkError> {
    match code {
        0 => Ok(()),
        _ => Err(NetworkError::Other(format!(
            "{what} failed with error code {code}"
        ))),
    }
}

/// A length as MPI has it.
fn count(bytes: usize) -> Result<c_int, NetworkError> {
    let too_long = |_| {
        let why = format!("a message of {bytes} bytes is longer than an int can say");
        NetworkError::Other(why)
    };
    c_int::try_from(bytes).map_err(too_long)
}

// SAFETY: memory goes to MPI_Isend and MPI_Irecv with its length, and the MPI has ended with it when MPI_Test says that the message is
// complete; only then do `test` and `cancel` say so.
unsafe impl Network for Messages {
    fn tags(&self) -> u32 {
        TAGS
    }

    unsafe fn send(
        &mut self,
        to: u32,
        tag: u32,
        from: *const u8,
        bytes: usize,
    ) -> Result<Ticket, NetworkError> {
        let mut request: Request = 0;
        // SAFETY: readable and left alone until the message has ended, as the caller promises; there is a request to write to.
        let code = unsafe {
            (self.isend)(
                from.cast(),
                count(bytes)?,
                self.byte,
                to as c_int,
                tag as c_int,
                self.comm,
                &raw mut request,
            )
        };
        succeeded("MPI_Isend", code)?;
        Ok(self.keep(request, Some(bytes)))
    }

    unsafe fn receive(
        &mut self,
        from: u32,
        tag: u32,
        into: *mut u8,
        bytes: usize,
    ) -> Result<Ticket, NetworkError> {
        let mut request: Request = 0;
        // SAFETY: writable and left alone until the message has ended, as the caller promises; there is a request to write to.
        let code = unsafe {
            (self.irecv)(
                into.cast(),
                count(bytes)?,
                self.byte,
                from as c_int,
                tag as c_int,
                self.comm,
                &raw mut request,
            )
        };
        succeeded("MPI_Irecv", code)?;
        Ok(self.keep(request, None))
    }

    fn test(&mut self, ticket: Ticket) -> Result<Option<Ended>, NetworkError> {
        let place = ticket.0 as usize;
        self.ask(place)?;
        let ended = self.messages.get_mut(place).and_then(|message| {
            let bytes = message.as_ref()?.ended?;
            *message = None;
            Some(Ended::Whole(bytes))
        });
        Ok(ended)
    }

    fn progress(&mut self) -> Result<(), NetworkError> {
        let ended = |all: &[Option<Message>]| {
            let ended = all.iter().flatten().filter(|one| one.ended.is_some());
            ended.count()
        };
        let before = ended(&self.messages);
        for place in 0..self.messages.len() {
            self.ask(place)?;
        }
        if ended(&self.messages) == before {
            // There may be more ranks than cores.
            std::thread::yield_now();
        }
        Ok(())
    }

    fn cancel(&mut self, ticket: Ticket) -> bool {
        let (place, cancel) = (ticket.0 as usize, self.cancel);
        let Some(message) = self.messages.get_mut(place).and_then(Option::as_mut) else {
            return true;
        };
        let since = *message.cancelled.get_or_insert_with(Instant::now);
        if message.ended.is_none() && message.sends.is_none() {
            // SAFETY: a receive that the MPI has begun and not ended.
            unsafe { cancel(&raw mut message.request) };
        }
        if self.ask(place).is_err() || since.elapsed() > PATIENCE {
            eprintln!("allhands: a message that was given up does not end; so this rank does");
            std::process::exit(1);
        }
        let message = &mut self.messages[place];
        let is_over = message.as_ref().is_none_or(|one| one.ended.is_some());
        if is_over {
            *message = None;
        }
        is_over
    }

    fn notify(&mut self, _to: u32, _notice: &Notice) {}

    fn hear(&mut self) -> Option<(u32, Notice)> {
        None
    }
}
