//! The repeat: a call that has been made, ready to be made again with other buffers of the same lengths.

use super::Communicator;
use super::inner::sides;
use crate::error::Error;
use crate::operation::Operation;
use crate::prepared::{Place, Prepared};
use crate::transport::Combine;
use crate::transport::node::Buffers;

/// What a communicator needs to make a call again that differs from an earlier one in its buffers' addresses alone.
#[derive(Clone, Copy, Debug)]
pub struct Repeat {
    place: Place,
    combine: Option<Combine>,
    /// Where the first call's buffers begin; `None`: it has none, or an empty one.
    pub input: Option<*const u8>,
    /// The same of the output.
    pub output: Option<*const u8>,
    /// The length of an element in bytes.
    pub element_bytes: usize,
}

impl Communicator {
    /// What makes an operation again, if its shape has been called, all blocks have one length, and whatever arrives is a
    /// value of its type.
    #[doc(hidden)]
    #[must_use]
    pub fn repeat_of(&self, operation: &Operation<'_>) -> Option<Repeat> {
        if operation.element.check.is_some() {
            return None;
        }
        let place = self.inner.take().cache.place(operation)?;
        let start = |elements: usize, start: *mut u8| (elements > 0).then_some(start.cast_const());
        let (input, output) = (operation.input, operation.output);
        Some(Repeat {
            place,
            combine: sides(operation).1,
            input: start(input.elements, input.start),
            output: start(output.elements, output.start),
            element_bytes: operation.element.bytes,
        })
    }

    /// Which algorithm, with its parameters, has served an operation that was the last one of its collective, as far as that is known.
    #[doc(hidden)]
    #[must_use]
    pub fn served_by(&self, operation: &Operation<'_>) -> Option<String> {
        let inner = self.inner.take();
        inner.cache.latest(operation).map(Prepared::name)
    }

    /// Makes a call again and waits for its end; `None`, and nothing happens, if it must be made as a new one.
    ///
    /// # Errors
    /// As [`Communicator::run`].
    ///
    /// # Safety
    /// The buffers are as long as those of the operation that the repeat was made of, aligned for its elements, apart where
    /// those are, and nobody else uses them until the function returns; its operator still lives.
    #[doc(hidden)]
    #[inline]
    pub unsafe fn repeat(
        &self,
        repeat: &Repeat,
        input: *const u8,
        output: *mut u8,
    ) -> Option<Result<(), Box<Error>>> {
        let buffers = Buffers { input, output };
        // SAFETY: the caller's promise.
        match unsafe {
            self.inner
                .take()
                .run_at(repeat.place, buffers, repeat.combine)
        }? {
            Ok(()) => Some(Ok(())),
            Err(error) => Some(Err(Box::new(error))),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Sum, operation, threads};

    #[test]
    fn a_repeat_ends_with_the_plan_that_it_was_made_of() {
        threads::run(2, |comm| {
            let sums = |elements: usize| {
                let (input, mut output) = (vec![1u32; elements], vec![0; elements]);
                comm.run(operation::allreduce(&input, &mut output, &Sum))
            };
            let again = |repeat| {
                let (input, mut output) = ([comm.rank() as u32 + 1; 3], [0u32; 3]);
                let to = output.as_mut_ptr().cast();
                // SAFETY: three elements each, as in the call that the repeat is made of; the operator is a constant.
                let ended = unsafe { comm.repeat(repeat, input.as_ptr().cast(), to) };
                ended.map(|ended| ended.map(|()| output).unwrap())
            };
            let made = || {
                // One for each turn.
                (0..2).for_each(|_| sums(3).unwrap());
                let (input, mut output) = ([0u32; 3], [0; 3]);
                comm.repeat_of(&operation::allreduce(&input, &mut output, &Sum))
                    .unwrap()
            };
            let repeat = made();
            assert_eq!(again(&repeat), Some([3; 3]));
            assert_eq!(again(&repeat), Some([3; 3]));
            // So many shapes push the first out of the cache, which spares it once.
            (4..1100).for_each(|elements| sums(elements).unwrap());
            assert_eq!(again(&repeat), None);
            let repeat = made();
            assert_eq!(again(&repeat), Some([3; 3]));
            comm.set_torus(None).unwrap();
            assert_eq!(again(&repeat), None);
        })
        .unwrap();
    }
}
