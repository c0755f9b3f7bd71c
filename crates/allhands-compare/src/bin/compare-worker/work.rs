//! The work of a turn: buffers, inputs that differ in every call, and what must come out.

use allhands_compare::board::Rank;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::ffi::c_int;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::Ordering::Relaxed;

/// What the numbers in the board mean; the order is that of [`allhands_compare::cell::COLLECTIVES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collective {
    Barrier,
    Broadcast,
    Scatter,
    Gather,
    Allgather,
    Alltoall,
    ReduceScatter,
    Reduce,
    Allreduce,
    Scan,
    Exscan,
}

impl Collective {
    const ALL: [Collective; 11] = [
        Collective::Barrier,
        Collective::Broadcast,
        Collective::Scatter,
        Collective::Gather,
        Collective::Allgather,
        Collective::Alltoall,
        Collective::ReduceScatter,
        Collective::Reduce,
        Collective::Allreduce,
        Collective::Scan,
        Collective::Exscan,
    ];

    /// The collective of a number in the board.
    pub fn of(number: u32) -> Option<Collective> {
        Self::ALL.get(number as usize).copied()
    }
}

/// A turn's call and buffers.
pub struct Work {
    pub collective: Collective,
    rank: usize,
    pub ranks: usize,
    /// Of a block or of the whole vector, as `bytes` is meant.
    pub elements: usize,
    pub input: Pages,
    pub output: Pages,
    /// Of reduce-scatter's blocks.
    pub counts: Vec<usize>,
    /// The same as an MPI takes them.
    pub int_counts: Vec<c_int>,
}

/// Whole pages, all touched, so that no call pays for them. They come from the system in every turn and go back to it: where
/// pages lie in the caches makes megabytes twice as slow or not, and no group shall keep that for all its turns.
pub struct Pages {
    address: *mut u64,
    elements: usize,
}

impl Pages {
    /// The bytes of so many elements: whole pages, and one at least.
    fn bytes(elements: usize) -> usize {
        (elements * 8).next_multiple_of(4096).max(4096)
    }

    fn new(elements: usize) -> Pages {
        let bytes = Self::bytes(elements);
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: nothing lies at an address that the system chooses.
        let address =
            unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, access, MapFlags::PRIVATE) };
        let address = address.expect("the system has memory for the buffers");
        // SAFETY: as long as was asked for.
        unsafe { address.cast::<u8>().write_bytes(0, bytes) };
        Pages {
            address: address.cast(),
            elements,
        }
    }
}

impl Deref for Pages {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        // SAFETY: that many elements were allocated and written.
        unsafe { std::slice::from_raw_parts(self.address, self.elements) }
    }
}

impl DerefMut for Pages {
    fn deref_mut(&mut self) -> &mut [u64] {
        // SAFETY: as above, and borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.address, self.elements) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: mapped with this length, and borrowed by nobody.
        let unmapped = unsafe { munmap(self.address.cast(), Self::bytes(self.elements)) };
        debug_assert!(unmapped.is_ok(), "{unmapped:?}");
    }
}

fn value(rank: usize, index: usize, iteration: u64) -> u64 {
    (index as u64 + 1)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add((rank as u64 + 1).wrapping_mul(0xbf58_476d_1ce4_e5b9))
        .wrapping_add(iteration.wrapping_mul(0x94d0_49bb_1331_11eb))
}

/// The sum of [`value`] over ranks `0..ranks`.
fn sum(ranks: usize, index: usize, iteration: u64) -> u64 {
    let ranks = ranks as u64;
    let others = (ranks * ranks.saturating_sub(1) / 2).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ranks
        .wrapping_mul(value(0, index, iteration))
        .wrapping_add(others)
}

/// Where reduce-scatter's block of `rank` begins.
fn cut(elements: usize, ranks: usize, rank: usize) -> usize {
    rank * (elements / ranks) + rank.min(elements % ranks)
}

impl Work {
    /// The buffers of one rank.
    pub fn prepare(collective: Collective, rank: usize, ranks: usize, bytes: usize) -> Work {
        // A barrier has no elements; one keeps `expected` free of a case.
        let elements = (bytes / 8).max(1);
        let block = |r| cut(elements, ranks, r + 1) - cut(elements, ranks, r);
        let counts: Vec<usize> = (0..ranks).map(block).collect();
        let (one, all) = (elements, ranks * elements);
        let at_root = |n| if rank == 0 { n } else { 0 };
        let (inputs, outputs) = match collective {
            Collective::Barrier => (0, 0),
            Collective::Broadcast => (0, one),
            Collective::Scatter => (at_root(all), one),
            Collective::Gather => (one, at_root(all)),
            Collective::Allgather => (one, all),
            Collective::Alltoall => (all, all),
            Collective::ReduceScatter => (one, counts[rank]),
            Collective::Reduce => (one, at_root(one)),
            Collective::Allreduce | Collective::Scan | Collective::Exscan => (one, one),
        };
        Work {
            collective,
            rank,
            ranks,
            elements,
            input: Pages::new(inputs),
            output: Pages::new(outputs),
            int_counts: counts.iter().map(|count| *count as c_int).collect(),
            counts,
        }
    }

    fn expected(&self, at: usize, iteration: u64) -> u64 {
        let (rank, ranks) = (self.rank, self.ranks);
        let (block, index) = (at / self.elements, at % self.elements);
        match self.collective {
            Collective::Barrier => 0,
            Collective::Broadcast => value(0, index, iteration),
            Collective::Scatter => value(0, rank * self.elements + index, iteration),
            Collective::Gather | Collective::Allgather => value(block, index, iteration),
            Collective::Alltoall => value(block, rank * self.elements + index, iteration),
            Collective::ReduceScatter => {
                sum(ranks, cut(self.elements, ranks, rank) + index, iteration)
            }
            Collective::Reduce | Collective::Allreduce => sum(ranks, index, iteration),
            Collective::Scan => sum(rank + 1, index, iteration),
            Collective::Exscan => sum(rank, index, iteration),
        }
    }

    /// New input.
    pub fn fill(&mut self, iteration: u64) {
        let in_output = self.collective == Collective::Broadcast && self.rank == 0;
        let to = if in_output {
            &mut self.output
        } else {
            &mut self.input
        };
        for (index, element) in to.iter_mut().enumerate() {
            *element = value(self.rank, index, iteration);
        }
    }

    /// Notes wrong elements: all are looked at, or one of each block.
    pub fn check(&self, own: &Rank, iteration: u64, in_full: bool, filled: u64) {
        // The first rank's result of an exclusive scan is undefined.
        if self.output.is_empty() || (self.collective == Collective::Exscan && self.rank == 0) {
            return;
        }
        let block = match self.collective {
            Collective::ReduceScatter => self.output.len(),
            _ => self.elements,
        };
        let (first, step) = if in_full {
            (0, 1)
        } else {
            (
                (iteration.wrapping_mul(2_654_435_761) % block as u64) as usize,
                block,
            )
        };
        for at in (first..self.output.len()).step_by(step) {
            let (got, right) = (self.output[at], self.expected(at, filled));
            if got == right {
                continue;
            }
            if own.wrong.fetch_add(1, Relaxed) == 0 {
                own.wrong_index.store(at as u64, Relaxed);
                own.wrong_got.store(got, Relaxed);
                own.wrong_expected.store(right, Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use allhands_compare::cell::COLLECTIVES;

    #[test]
    fn the_collectives_stand_in_the_order_of_their_names() {
        let names = Collective::ALL.map(|collective| format!("{collective:?}").to_lowercase());
        assert_eq!(names, COLLECTIVES.map(|name| name.replace('-', "")));
        for (number, collective) in Collective::ALL.into_iter().enumerate() {
            assert_eq!(collective as usize, number);
        }
    }

    #[test]
    fn what_must_come_out_follows_from_what_goes_in() {
        const RANKS: usize = 3;
        let of = |collective, bytes| {
            (0..RANKS).map(move |rank| Work::prepare(collective, rank, RANKS, bytes))
        };
        let column = |works: &[Work], at: usize| -> u64 {
            let values = works.iter().map(|work| work.input[at]);
            values.fold(0, u64::wrapping_add)
        };
        let mut works: Vec<Work> = of(Collective::ReduceScatter, 80).collect();
        works.iter_mut().for_each(|work| work.fill(7));
        assert_eq!(works[0].counts, [4, 3, 3]);
        assert_eq!(works[0].int_counts, [4, 3, 3]);
        // The last rank's block begins at the eighth element.
        assert_eq!(works[2].expected(1, 7), column(&works, 8));
        let mut works: Vec<Work> = of(Collective::Alltoall, 16).collect();
        works.iter_mut().for_each(|work| work.fill(7));
        assert_eq!(works[1].expected(5, 7), works[2].input[3]);
    }
}
