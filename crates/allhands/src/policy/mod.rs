//! Policies: who chooses the algorithm of a call that names none.

#[cfg(target_os = "linux")]
mod agreement;
mod comparison;
mod forecast;
mod installed;
mod machine;
mod nodes;
#[cfg(target_os = "linux")]
pub mod protocols;

pub use crate::transport::net::times::{NetworkTimes, TimesError};
pub use comparison::{Compared, compare_between_nodes};
pub use installed::{PolicyError, file, installed, read};
pub use machine::machine;
pub use nodes::site;

#[cfg(target_os = "linux")]
pub(crate) use agreement::{agree, agree_among_nodes};
pub(crate) use forecast::Forecast;
pub(crate) use nodes::choose_on_nodes;

use crate::error::Error;
use crate::operation::Operation;
use allhands_core::algorithm::Algorithm;
use allhands_core::call::{Call, Collective};
use allhands_core::choose::{self, Question};
use allhands_core::cost::{self, Hockney};
use allhands_core::schedule::{Layout, Shape};

pub use allhands_core::choose::{Policy, Table, TableError};

/// The machine with which a policy predicts where it has no measured cutoff: 10 µs a message, 330 MB/s, and
/// reductions at 1 GB/s, about a node of the T3E 900 in T 5.
pub const T3E: Hockney = Hockney::new(10.0, 0.003, 0.001);

/// The predicted time on [`T3E`] of an algorithm for `bytes` bytes; infinite where it cannot be priced.
#[must_use]
pub fn predict(algorithm: &Algorithm, shape: &Shape, bytes: u64) -> f64 {
    cost::predict_us(algorithm, shape, bytes as f64, &T3E, 1).unwrap_or(f64::INFINITY)
}

/// What a policy is asked about an operation.
pub(crate) fn question(
    operation: &Operation<'_>,
    call: &Call,
    layout: &Layout,
    oversubscribed: bool,
) -> Question {
    let size = operation.element.bytes as u64;
    let bytes = match layout {
        Layout::Regular(block) if call.collective == Collective::ReduceScatter => {
            *block as u64 * size * u64::from(call.ranks)
        }
        Layout::Even(elements) | Layout::Regular(elements) => *elements as u64 * size,
        // Every rank knows these counts, so the mean decides alike everywhere.
        Layout::Blocks(counts) => {
            let total = counts.iter().sum::<usize>() as u64 * size;
            match call.collective {
                Collective::ReduceScatter => total,
                _ => total.div_ceil(counts.len().max(1) as u64),
            }
        }
        Layout::Pairs(_)
        | Layout::Own { .. }
        | Layout::Exchange { .. }
        | Layout::Passing { .. } => 0,
    };
    Question {
        call: *call,
        bytes,
        irregular: operation.irregular(),
        user_operator: operation.reduction.is_some_and(|r| r.signature.is_user()),
        oversubscribed,
        apart: false,
    }
}

/// The algorithm that a policy takes.
pub(crate) fn choose(
    policy: &Policy,
    question: &Question,
) -> Result<(&'static Algorithm, Shape), Error> {
    let choice = choose::choose(policy, question, &predict)?;
    Ok((choice.algorithm, choice.shape))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation;
    use crate::operator::Sum;

    #[test]
    fn a_reduce_scatter_is_as_long_as_its_vector() {
        let policy = Policy::parse("mpich-2005");
        let call = Call::new(Collective::ReduceScatter, 8);
        let chosen = |block: usize| {
            let (input, mut output) = (vec![0u8; 8 * block], vec![0u8; block]);
            let operation = operation::reduce_scatter(&input, &mut output, &Sum);
            let layout = Layout::Regular(block);
            let question = question(&operation, &call, &layout, false);
            let (algorithm, _) = choose(&policy, &question).unwrap();
            algorithm.name
        };
        // Long vectors begin at 512 KB (T 4.4).
        assert_eq!(chosen((512 << 10) / 8 - 1), "recursive-halving");
        assert_eq!(chosen((512 << 10) / 8), "pairwise");
    }
}
