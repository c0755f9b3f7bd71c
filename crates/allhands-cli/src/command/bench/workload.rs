//! The workload of a cell: buffers, inputs that differ in every iteration, and what must come out.

use super::cell::Cell;
use super::spread::Spread;
use allhands::Sum;
use allhands::kernel;
use allhands::operation::{self, Operation};
use allhands_core::call::{Call, Collective};

/// Who serves calls that are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The cell's algorithm.
    Name,
    /// What the communicator's policy chooses; the cell's algorithm only says which collective it is.
    Policy,
    /// The same, and then each rank combines its own input with what has come out.
    PolicyAndReduction,
}

/// One rank's buffers.
pub struct Workload {
    call: Call,
    rank: u32,
    /// Elements of the whole vector, or of a block.
    elements: usize,
    spread: Spread,
    input: Vec<u64>,
    output: Vec<u64>,
    /// What the rank itself makes of both.
    combined: Vec<u64>,
}

/// The input's element `index` of `unit` on `rank` in an iteration; sums of these have a closed form.
fn value(rank: u64, unit: u64, index: u64, iteration: u64) -> u64 {
    let place = (unit << 32 | index).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    place
        .wrapping_add(rank.wrapping_mul(0xbf58_476d_1ce4_e5b9))
        .wrapping_add(iteration)
}

/// The sum of [`value`] over ranks `start..end`.
fn sum(start: u64, end: u64, unit: u64, index: u64, iteration: u64) -> u64 {
    let ranks = (start..end)
        .fold(0u64, |sum, rank| sum.wrapping_add(rank))
        .wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value(0, unit, index, iteration)
        .wrapping_mul(end - start)
        .wrapping_add(ranks)
}

impl Workload {
    /// The buffers of `rank`.
    pub fn new(cell: &Cell, rank: usize, ranks: usize) -> Workload {
        let (rank, ranks) = (rank as u32, ranks as u32);
        let call = Call {
            root: cell.root,
            ..Call::new(cell.algorithm.collective, ranks)
        };
        let elements = cell.bytes / size_of::<u64>();
        let mut workload = Workload {
            call,
            rank,
            elements,
            spread: cell.spread,
            input: Vec::new(),
            output: Vec::new(),
            combined: Vec::new(),
        };
        let length = |blocks: u32, unit: &dyn Fn(u32) -> u64| -> usize {
            (0..blocks).map(|b| workload.unit_elements(unit(b))).sum()
        };
        let input = length(call.input_blocks(rank, 1), &|b| call.input_unit(rank, b, 1));
        let output = length(call.output_blocks(rank, 1), &|b| {
            call.output_unit(rank, b, 1)
        });
        workload.input = vec![0; input];
        workload.output = vec![0; output];
        workload
    }

    fn unit_elements(&self, unit: u64) -> usize {
        self.spread.elements(&self.call, unit, self.elements)
    }

    fn counts(&self, units: impl Iterator<Item = u64>) -> Vec<usize> {
        units.map(|unit| self.unit_elements(unit)).collect()
    }

    /// Whether all of an iteration's output is looked at, or one element of each block: to look at all moves it into the
    /// rank's cache, where no program that is worth timing would have it.
    fn is_seen_whole(iteration: u64) -> bool {
        iteration.is_multiple_of(64)
    }

    /// New input, and now and then output that is certainly wrong.
    pub fn fill(&mut self, iteration: u64) {
        let (call, rank) = (self.call, self.rank);
        let mut at = 0;
        for block in 0..call.input_blocks(rank, 1) {
            let unit = call.input_unit(rank, block, 1);
            let elements = self.unit_elements(unit);
            for (index, element) in self.input[at..at + elements].iter_mut().enumerate() {
                *element = value(u64::from(rank), unit, index as u64, iteration);
            }
            at += elements;
        }
        if Self::is_seen_whole(iteration) {
            self.output.fill(u64::MAX);
        }
        if call.collective == Collective::Broadcast && rank == call.root {
            self.output.copy_from_slice(&self.input);
        }
    }

    /// The call on these buffers.
    pub fn operation(&mut self) -> Operation<'_> {
        let (ranks, rank) = (u64::from(self.call.ranks), u64::from(self.rank));
        let counts = match self.call.collective {
            Collective::Alltoall => self.counts((0..ranks).map(|to| rank * ranks + to)),
            _ => self.counts(0..ranks),
        };
        let regular = self.spread == Spread::Regular;
        let receive = self.counts((0..ranks).map(|from| from * ranks + rank));
        let (input, output, root) = (&self.input, &mut self.output, self.call.root as usize);
        match self.call.collective {
            Collective::Barrier => operation::barrier(),
            Collective::Broadcast => operation::broadcast(output, root),
            Collective::Scatter if regular => operation::scatter(input, output, root),
            Collective::Scatter => operation::scatter_v(input, &counts, output, root),
            Collective::Gather if regular => operation::gather(input, output, root),
            Collective::Gather => operation::gather_v(input, output, &counts, root),
            Collective::Allgather if regular => operation::allgather(input, output),
            Collective::Allgather => operation::allgather_v(input, output, &counts),
            Collective::Alltoall if regular => operation::alltoall(input, output),
            Collective::Alltoall => operation::alltoall_v(input, &counts, output, &receive),
            Collective::ReduceScatter if regular && counts.iter().all(|n| *n == counts[0]) => {
                operation::reduce_scatter(input, output, &Sum)
            }
            Collective::ReduceScatter => operation::reduce_scatter_v(input, &counts, output, &Sum),
            Collective::Reduce => operation::reduce(input, output, &Sum, root),
            Collective::Allreduce => operation::allreduce(input, output, &Sum),
            Collective::Scan => operation::scan(input, output, &Sum),
            Collective::Exscan => operation::exscan(input, output, &Sum),
        }
    }

    /// Combines the input with the output, where both have as many elements.
    pub fn combine_own(&mut self) {
        if self.input.len() == self.output.len() {
            self.combined.resize(self.output.len(), 0);
            kernel::combine(&Sum, &self.output, &self.input, &mut self.combined);
        }
    }

    /// What is wrong with the output, if anything is, of what is looked at.
    pub fn wrong(&self, iteration: u64) -> Option<String> {
        let (call, rank) = (self.call, self.rank);
        let mut at = 0;
        for block in 0..call.output_blocks(rank, 1) {
            let unit = call.output_unit(rank, block, 1);
            let elements = self.unit_elements(unit);
            let Some(content) = call.after(rank, block, 1) else {
                continue;
            };
            // Where nothing is reduced, the unit's source is the rank that has it as input.
            let source = match call.collective {
                Collective::Broadcast | Collective::Scatter => u64::from(call.root),
                Collective::Alltoall => unit / u64::from(call.ranks),
                _ => unit,
            };
            let (first, step) = match Self::is_seen_whole(iteration) {
                true => (0, 1),
                false => (
                    iteration.wrapping_mul(2_654_435_761) as usize % elements.max(1),
                    elements.max(1),
                ),
            };
            let output = &self.output[at..at + elements];
            for (index, &got) in output.iter().enumerate().skip(first).step_by(step) {
                let index = index as u64;
                let expected = match content.contributions {
                    None => value(source, unit, index, iteration),
                    Some((start, end)) => {
                        sum(u64::from(start), u64::from(end), unit, index, iteration)
                    }
                };
                if got != expected {
                    return Some(format!(
                        "element {index} of output block {block} is {got:#x}, not {expected:#x}"
                    ));
                }
            }
            at += elements;
        }
        None
    }
}
