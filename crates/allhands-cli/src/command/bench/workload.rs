//! The workload of a cell: buffers, inputs that differ in every iteration, and what must come out.

use super::cell::Cell;
use super::elements::Sample;
use super::spread::Spread;
use allhands::kernel;
use allhands::operation::{self, Operation};
use allhands::operator::Operator;
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

/// One rank's buffers, of whatever elements.
pub trait Buffers {
    /// New input, and now and then output that is almost certainly wrong.
    fn fill(&mut self, iteration: u64);

    /// The call on these buffers.
    fn operation(&mut self) -> Operation<'_>;

    /// Combines the input with the output, where both have as many elements.
    fn combine_own(&mut self);

    /// What is wrong with the output, if anything is, of what is looked at.
    fn wrong(&self, iteration: u64) -> Option<String>;
}

/// One rank's buffers of elements that this operator combines.
pub struct Workload<T, O> {
    call: Call,
    rank: u32,
    /// Elements of the whole vector, or of a block.
    elements: usize,
    spread: Spread,
    operator: O,
    /// Whether the operator chooses one of its operands.
    is_chosen: bool,
    input: Vec<T>,
    output: Vec<T>,
    /// What the rank itself makes of both.
    combined: Vec<T>,
}

/// The number of which the input's element `index` of `unit` on `rank` in an iteration is made.
fn number(rank: u64, unit: u64, index: u64, iteration: u64) -> u64 {
    let place = (unit << 32 | index).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    place
        .wrapping_add(rank.wrapping_mul(0xbf58_476d_1ce4_e5b9))
        .wrapping_add(iteration)
}

impl<T: Sample, O: Operator<T> + Default> Workload<T, O> {
    /// The buffers of `rank`.
    pub fn new(cell: &Cell, rank: usize, ranks: usize) -> Self {
        let (rank, ranks) = (rank as u32, ranks as u32);
        let call = Call {
            root: cell.root,
            ..Call::new(cell.algorithm.collective, ranks)
        };
        let mut workload = Workload {
            call,
            rank,
            elements: cell.bytes / size_of::<T>(),
            spread: cell.spread,
            operator: O::default(),
            is_chosen: cell.elements.is_chosen(),
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
        workload.input = vec![T::UNSEEN; input];
        workload.output = vec![T::UNSEEN; output];
        workload
    }

    fn value(&self, rank: u64, unit: u64, index: u64, iteration: u64) -> T {
        T::of(number(rank, unit, index, iteration), self.is_chosen)
    }

    /// What ranks `start..end` have there, combined.
    fn reduced(&self, (start, end): (u32, u32), unit: u64, index: u64, iteration: u64) -> T {
        let values = (start..end).map(|rank| self.value(u64::from(rank), unit, index, iteration));
        let reduced = values.reduce(|left, right| self.operator.combine(&left, &right));
        reduced.unwrap_or(T::UNSEEN)
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
}

impl<T: Sample, O: Operator<T> + Default> Buffers for Workload<T, O> {
    fn fill(&mut self, iteration: u64) {
        let (call, rank) = (self.call, self.rank);
        let mut at = 0;
        for block in 0..call.input_blocks(rank, 1) {
            let unit = call.input_unit(rank, block, 1);
            let elements = self.unit_elements(unit);
            for (index, element) in self.input[at..at + elements].iter_mut().enumerate() {
                let number = number(u64::from(rank), unit, index as u64, iteration);
                *element = T::of(number, self.is_chosen);
            }
            at += elements;
        }
        if Self::is_seen_whole(iteration) {
            self.output.fill(T::UNSEEN);
        }
        if call.collective == Collective::Broadcast && rank == call.root {
            self.output.copy_from_slice(&self.input);
        }
    }

    fn operation(&mut self) -> Operation<'_> {
        let (ranks, rank) = (u64::from(self.call.ranks), u64::from(self.rank));
        let counts = match self.call.collective {
            Collective::Alltoall => self.counts((0..ranks).map(|to| rank * ranks + to)),
            _ => self.counts(0..ranks),
        };
        let regular = self.spread == Spread::Regular;
        let receive = self.counts((0..ranks).map(|from| from * ranks + rank));
        let (input, output, root) = (&self.input, &mut self.output, self.call.root as usize);
        let operator = &self.operator;
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
                operation::reduce_scatter(input, output, operator)
            }
            Collective::ReduceScatter => {
                operation::reduce_scatter_v(input, &counts, output, operator)
            }
            Collective::Reduce => operation::reduce(input, output, operator, root),
            Collective::Allreduce => operation::allreduce(input, output, operator),
            Collective::Scan => operation::scan(input, output, operator),
            Collective::Exscan => operation::exscan(input, output, operator),
        }
    }

    fn combine_own(&mut self) {
        if self.input.len() == self.output.len() {
            self.combined.resize(self.output.len(), T::UNSEEN);
            kernel::combine(
                &self.operator,
                &self.output,
                &self.input,
                &mut self.combined,
            );
        }
    }

    fn wrong(&self, iteration: u64) -> Option<String> {
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
                    None => self.value(source, unit, index, iteration),
                    Some(ranks) => self.reduced(ranks, unit, index, iteration),
                };
                if got != expected {
                    return Some(format!(
                        "element {index} of output block {block} is {got:?}, not {expected:?}"
                    ));
                }
            }
            at += elements;
        }
        None
    }
}
