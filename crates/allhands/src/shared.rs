//! Shared buffers: memory of one rank that its peers can read without a copy in between.

use crate::communicator::Communicator;
use crate::element::Element;
use crate::error::Error;
use crate::transport::shm::memory::arena::Block;
use bytemuck::Zeroable;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// A buffer of `T`, zeros at first, that is used like a slice; made by [`Communicator::alloc`].
///
/// Long messages from ordinary memory cross between processes with the system's help, or by way of a copy; from this
/// memory a peer reads, or combines, them where they are. It makes no difference between threads.
#[derive(Debug)]
pub struct Shared<T> {
    block: Block,
    elements: usize,
    content: PhantomData<T>,
}

impl Communicator {
    /// A buffer of `elements` zeros that peers can reach.
    ///
    /// ```
    /// use allhands::{Communicator, Sum};
    ///
    /// let comm = Communicator::world()?;
    /// let mut vector = comm.alloc::<f64>(1 << 20)?;
    /// vector.fill(1.0);
    /// comm.allreduce_in_place(&mut vector, Sum)?;
    /// assert_eq!(vector[7] as usize, comm.size());
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is no more memory to share.
    pub fn alloc<T: Element + Zeroable>(&self, elements: usize) -> Result<Shared<T>, Error> {
        const { assert!(align_of::<T>() <= 4096, "a block starts on a page") };
        let bytes = elements.saturating_mul(size_of::<T>());
        Ok(Shared {
            block: self.allocate(bytes)?,
            elements,
            content: PhantomData,
        })
    }
}

impl<T: Element + Zeroable> Deref for Shared<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the block is ours alone, starts on a page, has at least this many elements, and was zeros at first,
        // which are values of `T`. Peers read it only during calls that borrow it, and never write it but then.
        unsafe { std::slice::from_raw_parts(self.block.address().cast(), self.elements) }
    }
}

impl<T: Element + Zeroable> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.block.address().cast(), self.elements) }
    }
}

// SAFETY: plain values of a type that is `Send`, in memory that belongs to no thread.
unsafe impl<T: Send> Send for Shared<T> {}
// SAFETY: shared references give shared references to values of a type that is `Sync`.
unsafe impl<T: Sync> Sync for Shared<T> {}

#[cfg(test)]
mod tests {
    use crate::{Sum, threads};

    #[test]
    fn a_shared_buffer_is_zeros_and_apart_from_others() {
        let sums = threads::run(3, |comm| {
            let mut one = comm.alloc::<u64>(5000)?;
            let other = comm.alloc::<u64>(0)?;
            assert!(one.iter().all(|x| *x == 0) && other.is_empty());
            one.fill(comm.rank() as u64 + 1);
            comm.allreduce_in_place(&mut one, Sum)?;
            drop(one);
            let again = comm.alloc::<u64>(5000)?;
            assert!(again.iter().all(|x| *x == 0));
            comm.barrier()?;
            Ok::<_, crate::Error>(())
        });
        assert!(sums.expect("no rank panics").iter().all(Result::is_ok));
    }
}
