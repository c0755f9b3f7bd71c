//! Requests of messages: sends and receives that go on while the program does something else.

use crate::communicator::Shared;
use crate::errors::{self, Failure};
use crate::interrupt;
use crate::memory::Memory;
use crate::patience;
use allhands::Status;
use allhands::interposition::Interposition;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A send or receive that was started with `isend` or `irecv`.
///
/// `wait()` gives the source, the tag and how many elements have come; of a send, nothing. One that is dropped is given up.
#[pyclass(frozen, module = "allhands")]
pub(crate) struct MessageRequest {
    shared: Arc<Shared>,
    /// What it is, for errors.
    what: String,
    /// The rank that it comes from, or goes to, if that is one.
    peer: Option<usize>,
    is_sent: bool,
    element_bytes: usize,
    state: Mutex<State>,
}

enum State {
    UnderWay {
        number: usize,
        #[expect(
            dead_code,
            reason = "it keeps the message's memory until it is dropped"
        )]
        kept: Memory,
    },
    /// Nothing is known of a message that was away at once.
    Ended(Option<Status>),
    Failed,
}

impl MessageRequest {
    /// Begins to send an array to a rank.
    pub(crate) fn send(
        py: Python<'_>,
        shared: &Arc<Shared>,
        memory: Memory,
        (to, tag): (usize, u32),
    ) -> PyResult<MessageRequest> {
        let number = py.detach(|| {
            interrupt::begin();
            // SAFETY: what keeps the memory stays with the request, which gives the message up before it goes.
            let bytes = unsafe { memory.bytes() };
            // SAFETY: likewise.
            unsafe { shared.lock().begin_send(bytes, to, tag) }.map_err(Failure::from)
        });
        let number = number.map_err(|failure| errors::raise(py, failure))?;
        let element_bytes = memory.element.bytes();
        let state = match number {
            Some(number) => State::UnderWay {
                number,
                kept: memory,
            },
            None => State::Ended(None),
        };
        Ok(MessageRequest {
            shared: Arc::clone(shared),
            what: format!("a message to rank {to}"),
            peer: Some(to),
            is_sent: true,
            element_bytes,
            state: Mutex::new(state),
        })
    }

    /// Begins to receive an array from a rank, or any.
    pub(crate) fn receive(
        py: Python<'_>,
        shared: &Arc<Shared>,
        memory: Memory,
        (source, tag): (Option<usize>, Option<u32>),
    ) -> PyResult<MessageRequest> {
        let number = py.detach(|| {
            interrupt::begin();
            // SAFETY: as in `send`.
            let bytes = unsafe { memory.bytes_mut() };
            let source = source.map_or(allhands::Source::Any, allhands::Source::Rank);
            let tag = tag.map_or(allhands::Tag::Any, allhands::Tag::Is);
            // SAFETY: as in `send`.
            unsafe { shared.lock().begin_receive(bytes, source, tag) }.map_err(Failure::from)
        });
        let number = number.map_err(|failure| errors::raise(py, failure))?;
        Ok(MessageRequest {
            shared: Arc::clone(shared),
            what: match source {
                Some(rank) => format!("a message from rank {rank}"),
                None => "a message from any rank".to_string(),
            },
            peer: source,
            is_sent: false,
            element_bytes: memory.element.bytes(),
            state: Mutex::new(State::UnderWay {
                number,
                kept: memory,
            }),
        })
    }

    fn has_ended(&self) -> bool {
        match &*self.state.lock().unwrap_or_else(PoisonError::into_inner) {
            State::UnderWay { number, .. } => self.shared.lock().has_message_ended(*number),
            State::Ended(_) | State::Failed => true,
        }
    }

    fn look(&self, since: Instant, limit: Option<Duration>) -> bool {
        patience::look(
            (since, limit),
            self.shared.progresses_by_itself(),
            || self.has_ended(),
            || self.shared.is_aborted(),
        )
    }

    /// Takes what has come of a message that has ended.
    fn take(&self) -> Result<Option<Status>, Failure> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let State::UnderWay { number, .. } = &*state {
            let taken = self.shared.lock().take_message(*number);
            *state = State::Failed;
            *state = State::Ended(Some(taken?));
        }
        Ok(match &*state {
            State::Ended(status) => *status,
            State::UnderWay { .. } | State::Failed => None,
        })
    }

    fn give_up(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let State::UnderWay { number, .. } = &*state {
            self.shared.lock().drop_message(*number);
            *state = State::Failed;
        }
    }
}

#[pymethods]
impl MessageRequest {
    /// Whether the message has ended, well or not; takes everything of its communicator further.
    fn test(&self, py: Python<'_>) -> bool {
        py.detach(|| self.has_ended())
    }

    /// Waits for the end of the message, and gives the source, the tag and how many elements have come; of a send, None.
    ///
    /// With `timeout`, in seconds, the message is given up after so long, and `Timeout` names its peer.
    #[pyo3(signature = (timeout=None))]
    pub(crate) fn wait(
        &self,
        py: Python<'_>,
        timeout: Option<f64>,
    ) -> PyResult<Option<(usize, u32, usize)>> {
        let since = Instant::now();
        let limit = timeout.map(|seconds| Duration::from_secs_f64(seconds.clamp(0.0, 1e9)));
        while !py.detach(|| self.look(since, limit)) {
            if let Err(raised) = py.check_signals() {
                py.detach(|| self.give_up());
                return Err(raised);
            }
            let is_aborted = self.shared.is_aborted();
            if is_aborted || limit.is_some_and(|limit| since.elapsed() >= limit) {
                py.detach(|| self.give_up());
                let (what, peer) = (&self.what, self.peer);
                return Err(match is_aborted {
                    true => errors::aborted(py, what, peer),
                    false => errors::late(py, what, peer, since.elapsed()),
                });
            }
        }
        let taken = py.detach(|| self.take());
        let status = taken.map_err(|failure| errors::raise(py, failure))?;
        let status = status.filter(|_| !self.is_sent);
        Ok(status.map(|status| (status.source, status.tag, status.bytes / self.element_bytes)))
    }

    fn __await__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let arrays = this.py().import("allhands._arrays")?;
        arrays.getattr("awaited")?.call1((this,))
    }
}

impl Drop for MessageRequest {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let State::UnderWay { number, .. } = state {
            let number = *number;
            Python::attach(|py| py.detach(|| self.shared.lock().drop_message(number)));
        }
    }
}
