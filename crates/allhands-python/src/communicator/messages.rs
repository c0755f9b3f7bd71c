//! Messages of arrays between two ranks.

use super::Communicator;
use crate::errors::{self, Failure};
use crate::interrupt;
use crate::memory::{Memory, Use};
use allhands::{Source, Tag};
use pyo3::prelude::*;

impl Communicator {
    /// Sends an array to a rank, with a tag.
    pub(super) fn send_array(
        &self,
        py: Python<'_>,
        array: &Bound<'_, PyAny>,
        (to, tag): (usize, u32),
    ) -> PyResult<()> {
        let memory = Memory::of(array, "the array", Use::Read)?;
        let ended = py.detach(|| {
            interrupt::begin();
            // SAFETY: the array's memory is kept until this function returns, and is aligned.
            let bytes = unsafe { bytes_of(&memory) };
            self.shared
                .lock()
                .send(&*bytes, to, tag)
                .map_err(Failure::from)
        });
        ended.map_err(|failure| errors::raise(py, failure))
    }

    /// Receives from a rank, or any, what has a tag, or any; gives the source, the tag and how many elements have come.
    pub(super) fn recv_array(
        &self,
        py: Python<'_>,
        array: &Bound<'_, PyAny>,
        (source, tag): (Option<usize>, Option<u32>),
    ) -> PyResult<(usize, u32, usize)> {
        let memory = Memory::of(array, "the array", Use::Write)?;
        let (source, tag) = (
            source.map_or(Source::Any, Source::Rank),
            tag.map_or(Tag::Any, Tag::Is),
        );
        let ended = py.detach(|| {
            interrupt::begin();
            // SAFETY: as in `send`; nobody else uses it meanwhile.
            let bytes = unsafe { bytes_of(&memory) };
            self.shared
                .lock()
                .recv(bytes, source, tag)
                .map_err(Failure::from)
        });
        let status = ended.map_err(|failure| errors::raise(py, failure))?;
        Ok((
            status.source,
            status.tag,
            status.bytes / memory.element.bytes(),
        ))
    }
}

/// The bytes of an array.
///
/// # Safety
/// They are there, and nobody else touches them, while the result lives.
#[expect(
    clippy::mut_from_ref,
    reason = "the memory is the array's, as the condition says"
)]
unsafe fn bytes_of(memory: &Memory) -> &mut [u8] {
    match memory.elements * memory.element.bytes() {
        0 => &mut [],
        // SAFETY: promised by the caller.
        bytes => unsafe { std::slice::from_raw_parts_mut(memory.start, bytes) },
    }
}
