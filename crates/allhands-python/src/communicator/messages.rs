//! Messages of arrays between two ranks.

use super::Communicator;
use crate::memory::{Memory, Use};
use crate::message::MessageRequest;
use pyo3::prelude::*;

impl Communicator {
    /// Begins to send an array to a rank, with a tag.
    pub(super) fn begin_send(
        &self,
        array: &Bound<'_, PyAny>,
        ends: (usize, u32),
    ) -> PyResult<MessageRequest> {
        let memory = Memory::of(array, "the array", Use::Read)?;
        MessageRequest::send(array.py(), &self.shared, memory, ends)
    }

    /// Begins to receive from a rank, or any, what has a tag, or any.
    pub(super) fn begin_receive(
        &self,
        array: &Bound<'_, PyAny>,
        ends: (Option<usize>, Option<u32>),
    ) -> PyResult<MessageRequest> {
        let memory = Memory::of(array, "the array", Use::Write)?;
        MessageRequest::receive(array.py(), &self.shared, memory, ends)
    }
}
