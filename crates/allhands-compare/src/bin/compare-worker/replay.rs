//! The replay: the calls of an application's trace, with inputs and results of its lengths, and nothing of what it computes.

use super::library::Library;
use super::place::{Outcome, Place};
use allhands_compare::board::{self, Rank};
use allhands_compare::trace::{Call, Kind, Trace};
use std::ffi::c_int;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;

/// How often a call is made again that a rank has begun late.
const TRIES: u32 = 50;
/// How often all calls are made one after the other, the first of which times does not count.
const PASSES: usize = 4;
/// What rank 0 says when there is no call left.
const NO_MORE: u64 = u64::MAX;

/// When ranks begin together.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// Each call.
    CallByCall,
    /// The first of all.
    AtOnce,
}

/// One call of a trace, on one rank.
pub struct Replayed {
    call: Call,
    rank: usize,
    ranks: usize,
    input: Vec<u8>,
    output: Vec<u8>,
    /// What goes to each rank, and what comes from it.
    lengths: [Vec<usize>; 2],
    /// The same as an MPI takes them, with where they stand.
    int_counts: [Vec<c_int>; 4],
}

/// A byte of a rank's input in one pass; it differs between ranks, blocks, places and passes.
fn byte(rank: usize, at: usize, pass: u64) -> u8 {
    let mixed = (at as u64 + 1)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add((rank as u64 + 1).wrapping_mul(0xbf58_476d_1ce4_e5b9))
        .wrapping_add(pass.wrapping_mul(0x94d0_49bb_1331_11eb));
    (mixed >> 56) as u8
}

impl Replayed {
    fn new(call: Call, rank: usize, ranks: usize) -> Replayed {
        let send: Vec<usize> = (0..ranks).map(|to| call.block(rank, to, ranks)).collect();
        let receive: Vec<usize> = (0..ranks)
            .map(|from| call.block(from, rank, ranks))
            .collect();
        let ints = |lengths: &[usize]| -> Vec<c_int> {
            // No call of a trace has more bytes than an int says.
            lengths.iter().map(|length| *length as c_int).collect()
        };
        let places = |lengths: &[usize]| -> Vec<usize> {
            let before = |at: usize| lengths[..at].iter().sum();
            (0..lengths.len()).map(before).collect()
        };
        let int_counts = [&send, &places(&send), &receive, &places(&receive)].map(|it| ints(it));
        Replayed {
            input: vec![0; call.input(rank, ranks)],
            output: vec![0; call.output(rank, ranks)],
            call,
            rank,
            ranks,
            lengths: [send, receive],
            int_counts,
        }
    }

    pub fn kind(&self) -> Kind {
        self.call.kind
    }

    /// What goes to each rank and where it stands, what comes from each and where.
    pub fn int_counts(&self) -> [&[c_int]; 4] {
        self.int_counts.each_ref().map(Vec::as_slice)
    }

    pub fn buffers(&mut self) -> (&[u8], &mut [u8]) {
        (&self.input, &mut self.output)
    }

    /// What goes to each rank, what comes from each, and both buffers.
    pub fn lengths_and_buffers(&mut self) -> (&[usize], &[usize], &[u8], &mut [u8]) {
        let [send, receive] = &self.lengths;
        (send, receive, &self.input, &mut self.output)
    }

    /// New input; of the output nothing is left.
    fn fill(&mut self, pass: u64) {
        let rank = self.rank;
        let input = self.input.iter_mut().enumerate();
        input.for_each(|(at, input)| *input = byte(rank, at, pass));
        self.output.fill(0);
    }

    /// Notes wrong bytes.
    fn check(&self, own: &Rank, pass: u64) {
        let mut first = 0;
        for from in 0..self.ranks {
            let place = self.call.place(from, self.rank, self.ranks);
            let block = &self.output[first..][..place.len()];
            for (at, got) in block.iter().enumerate() {
                let right = byte(from, place.start + at, pass);
                if *got != right && own.wrong.fetch_add(1, Relaxed) == 0 {
                    own.wrong_index.store((first + at) as u64, Relaxed);
                    own.wrong_got.store((*got).into(), Relaxed);
                    own.wrong_expected.store(right.into(), Relaxed);
                }
            }
            first += place.len();
        }
    }
}

impl Place<'_> {
    /// Makes the calls of the turn's trace. Samples are by call, or of all of them by pass.
    pub(super) fn replay(
        &mut self,
        board: &Path,
        pace: Pace,
        library: &impl Library,
    ) -> Outcome<()> {
        let path = board::trace_path(board, self.group.turn.bytes.load(Relaxed));
        let trace = Trace::read(&path)?;
        if trace.ranks != self.ranks {
            let (has, there) = (trace.ranks, self.ranks);
            return Err(format!("{}: of {has} ranks, not {there}", path.display()).into());
        }
        self.group.ranks[self.rank].wrong.store(0, Relaxed);
        let (rank, ranks) = (self.rank, self.ranks);
        let calls = trace.calls.into_iter();
        let mut calls: Vec<Replayed> = calls.map(|call| Replayed::new(call, rank, ranks)).collect();
        let samples = match pace {
            Pace::CallByCall => calls.len(),
            Pace::AtOnce => PASSES - 1,
        };
        // The first pass, whose times nobody keeps, is for the paths that calls go and the memory that they touch.
        match pace {
            Pace::CallByCall => {
                self.pass(&mut calls, 1, (0, 0), library)?;
                self.pass(&mut calls, 1, (1, 0), library)?;
            }
            Pace::AtOnce => {
                let all = calls.len();
                for pass in 0..PASSES {
                    let sample = pass.saturating_sub(1);
                    self.pass(&mut calls, all, (pass as u64, sample), library)?;
                }
            }
        }
        drop(calls);
        self.done(samples as u32, library)
    }

    /// Makes all calls once, ranks beginning together with the first of so many, whose time is noted in a sample, from this one on.
    fn pass(
        &mut self,
        calls: &mut [Replayed],
        together: usize,
        (pass, first_sample): (u64, usize),
        library: &impl Library,
    ) -> Outcome<()> {
        let own = &self.group.ranks[self.rank];
        let count = calls.len() / together;
        calls.iter_mut().for_each(|call| call.fill(pass));
        // Rank 0's: it alone knows whether a rank was late, and the others do what it says.
        let (mut next, mut tries) = (0, 0);
        loop {
            let says = if next < count { next as u64 } else { NO_MORE };
            let (start_ns, says) = self.start(says, library)?;
            if says == NO_MORE {
                self.finish(library, start_ns)?;
                return Ok(());
            }
            let at = says as usize;
            let made = &mut calls[at * together..][..together];
            for call in &mut *made {
                library.again(call)?;
            }
            let longest = self.finish(library, start_ns)?;
            made.iter().for_each(|call| call.check(own, pass));
            if self.rank > 0 {
                continue;
            }
            if let Some(longest) = longest {
                self.group.sample_ns[first_sample + at].store(longest, Relaxed);
                (next, tries) = (at + 1, 0);
            } else if tries == TRIES {
                return Err(
                    format!("call {at} of the trace: a rank began it late {TRIES} times").into(),
                );
            } else {
                tries += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    const RANKS: usize = 2;

    fn own() -> Rank {
        let zero = || AtomicU64::new(0);
        Rank {
            epoch: zero(),
            end_ns: zero(),
            pid: zero(),
            wrong: zero(),
            wrong_index: zero(),
            wrong_got: zero(),
            wrong_expected: zero(),
        }
    }

    /// Both ranks of a call, with what it must bring.
    fn brought(kind: Kind, blocks: &[usize]) -> [Replayed; RANKS] {
        let call = Call {
            kind,
            blocks: blocks.to_vec(),
        };
        let mut ranks = [0, 1].map(|rank| Replayed::new(call.clone(), rank, RANKS));
        ranks.iter_mut().for_each(|rank| rank.fill(7));
        let outputs = [0, 1].map(|to| -> Vec<u8> {
            let sent = |from: usize| &ranks[from].input[call.place(from, to, RANKS)];
            [sent(0), sent(1)].concat()
        });
        for (rank, output) in ranks.iter_mut().zip(outputs) {
            assert_eq!(rank.output.len(), output.len());
            rank.output = output;
        }
        ranks
    }

    #[test]
    fn what_an_mpi_takes_says_where_blocks_stand() {
        let [_, one] = brought(Kind::AlltoallV, &[1, 2, 3, 4]);
        assert_eq!(one.int_counts(), [&[3, 4], &[0, 3], &[2, 4], &[0, 2]]);
        let [_, one] = brought(Kind::AllgatherV, &[5, 3]);
        assert_eq!(one.int_counts()[2..], [&[5, 3], &[0, 5]]);
    }

    #[test]
    fn every_byte_is_looked_at() {
        for (kind, blocks) in [
            (Kind::Allgather, &[3, 3][..]),
            (Kind::AllgatherV, &[0, 5]),
            (Kind::Alltoall, &[2; 4]),
            (Kind::AlltoallV, &[1, 2, 0, 4]),
        ] {
            for mut rank in brought(kind, blocks) {
                let right = own();
                rank.check(&right, 7);
                assert_eq!(right.wrong.into_inner(), 0, "{kind:?}");
                for at in 0..rank.output.len() {
                    rank.output[at] ^= 1;
                    let wrong = own();
                    rank.check(&wrong, 7);
                    let found = (wrong.wrong.into_inner(), wrong.wrong_index.into_inner());
                    assert_eq!(found, (1, at as u64), "{kind:?}");
                    rank.output[at] ^= 1;
                }
            }
        }
    }
}
