//! The cached call: a call that has been made, ready to be made again with other buffers of the same lengths.

use super::inner::sides;
use crate::operation::Operation;
use crate::prepared::Place;
use crate::transport::Combine;

/// What a communicator needs to make a call again that differs from an earlier one in its buffers' addresses alone.
#[derive(Clone, Copy, Debug)]
pub struct CachedCall {
    pub(super) place: Place,
    pub(super) combine: Option<Combine>,
    /// Where the first call's buffers begin; `None`: it has none, or an empty one.
    pub input: Option<*const u8>,
    /// The same of the output.
    pub output: Option<*const u8>,
    /// The length of an element in bytes.
    pub element_bytes: usize,
}

impl CachedCall {
    /// What makes an operation again whose plan has this place in the cache.
    pub(super) fn of(operation: &Operation<'_>, place: Place) -> CachedCall {
        let start = |elements: usize, start: *mut u8| (elements > 0).then_some(start.cast_const());
        let (input, output) = (operation.input, operation.output);
        CachedCall {
            place,
            combine: sides(operation).1,
            input: start(input.elements, input.start),
            output: start(output.elements, output.start),
            element_bytes: operation.element.bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::interposition::Interposition;
    use crate::{Sum, operation, threads};

    #[test]
    fn a_cached_call_ends_with_the_plan_that_it_was_made_of() {
        threads::run(2, |comm| {
            let sums = |elements: usize| {
                let (input, mut output) = (vec![1u32; elements], vec![0; elements]);
                comm.run(operation::allreduce(&input, &mut output, &Sum))
            };
            let again = |cached| {
                let (input, mut output) = ([comm.rank() as u32 + 1; 3], [0u32; 3]);
                let to = output.as_mut_ptr().cast();
                // SAFETY: three elements each, as in the call that is cached; the operator is a constant.
                let ended = unsafe { comm.run_cached(cached, input.as_ptr().cast(), to) };
                ended.map(|ended| ended.map(|()| output).unwrap())
            };
            let made = || {
                // One for each turn.
                (0..2).for_each(|_| sums(3).unwrap());
                let (input, mut output) = ([0u32; 3], [0; 3]);
                comm.cached_call(&operation::allreduce(&input, &mut output, &Sum))
                    .unwrap()
            };
            let cached = made();
            assert_eq!(again(&cached), Some([3; 3]));
            assert_eq!(again(&cached), Some([3; 3]));
            // So many shapes push the first out of the cache, which spares it once.
            (4..1100).for_each(|elements| sums(elements).unwrap());
            assert_eq!(again(&cached), None);
            let cached = made();
            assert_eq!(again(&cached), Some([3; 3]));
            comm.set_torus(None).unwrap();
            assert_eq!(again(&cached), None);
        })
        .unwrap();
    }
}
