//! Displaced blocks: the communicator's irregular methods where blocks stand anywhere in a buffer, not one after another.
//!
//! The blocks are packed and unpacked here, a copy each that the packed forms do without.

use crate::communicator::Communicator;
use crate::element::Element;
use crate::error::Error;
use allhands_core::call::Collective;

/// Blocks of one buffer: `counts[r]` elements of rank `r`, from element `starts[r]` on.
#[derive(Clone, Copy, Debug)]
pub struct Displaced<'a> {
    counts: &'a [usize],
    starts: &'a [usize],
}

impl<'a> Displaced<'a> {
    /// `counts[r]` elements of rank `r`, from element `starts[r]` on. A root alone looks at them in a gather or scatter.
    #[must_use]
    pub fn new(counts: &'a [usize], starts: &'a [usize]) -> Displaced<'a> {
        Displaced { counts, starts }
    }

    fn total(self) -> usize {
        self.counts.iter().sum()
    }

    fn blocks(self) -> impl Iterator<Item = std::ops::Range<usize>> {
        let ends = self.counts.iter().zip(self.starts);
        ends.map(|(count, start)| *start..start + count)
    }

    /// Whether each rank has a block, which lies in a buffer of so many elements; where they are written, also apart.
    fn check(
        self,
        (collective, ranks): (Collective, usize),
        (what, length): (&'static str, usize),
        is_written: bool,
    ) -> Result<(), Error> {
        for (list, got) in [
            ("counts", self.counts.len()),
            ("displacements", self.starts.len()),
        ] {
            if got != ranks {
                let (expected, why) = (ranks, "one a rank");
                return Err(Error::Length {
                    collective,
                    what: list,
                    got,
                    expected,
                    why,
                });
            }
        }
        for (rank, (count, start)) in self.counts.iter().zip(self.starts).enumerate() {
            if start.checked_add(*count).is_none_or(|end| end > length) {
                let (count, start) = (*count, *start);
                return Err(Error::Displacement {
                    collective,
                    what,
                    rank,
                    start,
                    count,
                    length,
                });
            }
        }
        let mut order: Vec<usize> = (0..ranks).filter(|r| self.counts[*r] > 0).collect();
        order.sort_unstable_by_key(|r| self.starts[*r]);
        let meet =
            |pair: &&[usize]| self.starts[pair[0]] + self.counts[pair[0]] > self.starts[pair[1]];
        match order.windows(2).find(meet) {
            Some(pair) if is_written => {
                let ranks = (pair[0].min(pair[1]), pair[0].max(pair[1]));
                Err(Error::Overlap {
                    collective,
                    what,
                    ranks,
                })
            }
            _ => Ok(()),
        }
    }

    /// The blocks one after another; checked before.
    fn pack<T: Copy>(self, buffer: &[T]) -> Vec<T> {
        let mut packed = Vec::with_capacity(self.total());
        self.blocks()
            .for_each(|block| packed.extend_from_slice(&buffer[block]));
        packed
    }

    /// Puts blocks that stand one after another where they belong; checked before.
    fn unpack<T: Copy>(self, packed: &[T], buffer: &mut [T]) {
        let mut rest = packed;
        for block in self.blocks() {
            let (own, others) = rest.split_at(block.len());
            buffer[block].copy_from_slice(own);
            rest = others;
        }
    }
}

/// Irregular collectives whose blocks stand anywhere in a buffer; what is between them is left alone.
///
/// Algorithms are those of the packed forms. What is wrong with displacements is found before anything is sent and leaves the
/// communicator usable. Another rank does not learn of it: as with any call that one rank alone leaves out, it waits.
impl Communicator {
    /// [`Communicator::gather_v`] with the root's blocks where `at` says.
    ///
    /// `output` and `at` are the root's; what other ranks give for them is not looked at. The `input` of rank `r` is as many elements as
    /// `at` counts for it on the root.
    ///
    /// ```
    /// use allhands::{Displaced, threads};
    ///
    /// let gathered = threads::run(2, |comm| {
    ///     let mut all = [9; 5];
    ///     // Rank 0 has one element, for place 4, and rank 1 two, for places 1 and 2.
    ///     let mine = vec![comm.rank() as u8; comm.rank() + 1];
    ///     comm.gather_v_at(&mine, &mut all, Displaced::new(&[1, 2], &[4, 1]), 0).map(|()| all)
    /// })?;
    /// assert_eq!(gathered[0].as_ref().unwrap(), &[9, 1, 1, 9, 0]);
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// # Errors
    /// On the root [`Error::Length`] if there is not a count and a start for each rank, [`Error::Displacement`] if a block ends outside of
    /// `output`, [`Error::Overlap`] if two of them share an element. Otherwise as [`Communicator::gather_v`].
    pub fn gather_v_at<T: Element>(
        &self,
        input: &[T],
        output: &mut [T],
        at: Displaced<'_>,
        root: usize,
    ) -> Result<(), Error> {
        if self.rank() != root {
            return self.gather_v(input, &mut [], &[], root);
        }
        let call = (Collective::Gather, self.size());
        at.check(call, ("output", output.len()), true)?;
        let mut packed = at.pack(output);
        self.gather_v(input, &mut packed, at.counts, root)?;
        at.unpack(&packed, output);
        Ok(())
    }

    /// [`Communicator::scatter_v`] with the root's blocks where `at` says; they may overlap.
    ///
    /// `input` and `at` are the root's; what other ranks give for them is not looked at. The `output` of rank `r` is as many elements as
    /// `at` counts for it on the root.
    ///
    /// ```
    /// use allhands::{Displaced, threads};
    ///
    /// let pairs = threads::run(3, |comm| {
    ///     let mut pair = [0; 2];
    ///     // Neighbours share an element.
    ///     comm.scatter_v_at(b"abcd", Displaced::new(&[2; 3], &[0, 1, 2]), &mut pair, 0).map(|()| pair)
    /// })?;
    /// assert_eq!(pairs.into_iter().collect::<Result<Vec<_>, _>>()?, [*b"ab", *b"bc", *b"cd"]);
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// # Errors
    /// On the root [`Error::Length`] if there is not a count and a start for each rank, and [`Error::Displacement`] if a block ends outside
    /// of `input`. Otherwise as [`Communicator::scatter_v`].
    pub fn scatter_v_at<T: Element>(
        &self,
        input: &[T],
        at: Displaced<'_>,
        output: &mut [T],
        root: usize,
    ) -> Result<(), Error> {
        if self.rank() != root {
            return self.scatter_v(&[], &[], output, root);
        }
        let call = (Collective::Scatter, self.size());
        at.check(call, ("input", input.len()), false)?;
        self.scatter_v(&at.pack(input), at.counts, output, root)
    }

    /// [`Communicator::allgather_v`] with the blocks where `at` says.
    ///
    /// Every rank gives the same counts; starts may differ, and so may the length of `output`. The `input` of rank `r` is as many
    /// elements as `at` counts for it.
    ///
    /// ```
    /// use allhands::{Displaced, threads};
    ///
    /// let gathered = threads::run(2, |comm| {
    ///     let mut all = *b"......";
    ///     // On rank 0 the block of rank 0 stands first, on rank 1 that of rank 1.
    ///     let starts = [[0, 4], [4, 0]][comm.rank()];
    ///     comm.allgather_v_at(&[b'a' + comm.rank() as u8; 2], &mut all, Displaced::new(&[2; 2], &starts)).map(|()| all)
    /// })?;
    /// assert_eq!(gathered.into_iter().collect::<Result<Vec<_>, _>>()?, [*b"aa..bb", *b"bb..aa"]);
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Length`] if there is not a count and a start for each rank, [`Error::Displacement`] if a block ends outside of `output`,
    /// [`Error::Overlap`] if two of them share an element. Otherwise as [`Communicator::allgather_v`].
    pub fn allgather_v_at<T: Element>(
        &self,
        input: &[T],
        output: &mut [T],
        at: Displaced<'_>,
    ) -> Result<(), Error> {
        let call = (Collective::Allgather, self.size());
        at.check(call, ("output", output.len()), true)?;
        let mut packed = at.pack(output);
        self.allgather_v(input, &mut packed, at.counts)?;
        at.unpack(&packed, output);
        Ok(())
    }

    /// [`Communicator::alltoall_v`] with the blocks to send and to receive where `send` and `receive` say; those to send may
    /// overlap.
    ///
    /// Each has a count and a start for each rank: `send` of blocks in `input`, `receive` of blocks in `output`. What rank `s` counts for
    /// rank `d` to send, `d` counts for `s` to receive.
    ///
    /// ```
    /// use allhands::{Displaced, threads};
    ///
    /// let got = threads::run(2, |comm| {
    ///     let mut output = *b"...";
    ///     // The first letter goes to both; what comes from rank 0 comes to stand last.
    ///     let send = Displaced::new(&[1; 2], &[0, 0]);
    ///     comm.alltoall_v_at([b"ab", b"cd"][comm.rank()], send, &mut output, Displaced::new(&[1; 2], &[2, 0])).map(|()| output)
    /// })?;
    /// for got in got {
    ///     assert_eq!(&got?, b"c.a");
    /// }
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Length`] if there is not a count and a start for each rank, [`Error::Displacement`] if a block ends outside of its buffer,
    /// [`Error::Overlap`] if two blocks to receive share an element. Otherwise as [`Communicator::alltoall_v`].
    pub fn alltoall_v_at<T: Element>(
        &self,
        input: &[T],
        send: Displaced<'_>,
        output: &mut [T],
        receive: Displaced<'_>,
    ) -> Result<(), Error> {
        let call = (Collective::Alltoall, self.size());
        send.check(call, ("input", input.len()), false)?;
        receive.check(call, ("output", output.len()), true)?;
        let mut packed = receive.pack(output);
        self.alltoall_v(&send.pack(input), send.counts, &mut packed, receive.counts)?;
        receive.unpack(&packed, output);
        Ok(())
    }
}
