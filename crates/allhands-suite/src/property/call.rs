//! The call: one rank's part in a case, apart and in place, and the comparison of what it gets.

use super::Case;
use super::serial::{self, Value};
use allhands::Communicator;
use allhands::element::Element;
use allhands::operation::{self, Operation};
use allhands::operator::Operator;
use allhands_core::call::Collective;
use std::fmt::Debug;

/// The call of one rank with input and output apart.
fn apart<'a, T: Element, O: Operator<T>>(
    case: &Case,
    rank: usize,
    input: &'a [T],
    output: &'a mut [T],
    operator: &'a O,
) -> Operation<'a> {
    let root = case.root;
    let counts = case.block_counts();
    let known = if rank == root { &counts[..] } else { &[] };
    let irregular = case.irregular.is_some();
    match case.collective() {
        Collective::Barrier => operation::barrier(),
        Collective::Broadcast => {
            if rank == root {
                output.copy_from_slice(input);
            }
            operation::broadcast(output, root)
        }
        Collective::Scatter if irregular => operation::scatter_v(input, known, output, root),
        Collective::Scatter => operation::scatter(input, output, root),
        Collective::Gather if irregular => operation::gather_v(input, output, known, root),
        Collective::Gather => operation::gather(input, output, root),
        Collective::Allgather if irregular => operation::allgather_v(input, output, &counts),
        Collective::Allgather => operation::allgather(input, output),
        Collective::Alltoall if irregular => {
            let send: Vec<usize> = (0..case.ranks).map(|d| case.count(rank, d)).collect();
            let receive: Vec<usize> = (0..case.ranks).map(|s| case.count(s, rank)).collect();
            operation::alltoall_v(input, &send, output, &receive)
        }
        Collective::Alltoall => operation::alltoall(input, output),
        Collective::ReduceScatter if irregular => {
            operation::reduce_scatter_v(input, &counts, output, operator)
        }
        Collective::ReduceScatter => operation::reduce_scatter(input, output, operator),
        Collective::Reduce => operation::reduce(input, output, operator, root),
        Collective::Allreduce => operation::allreduce(input, output, operator),
        Collective::Scan => operation::scan(input, output, operator),
        Collective::Exscan => operation::exscan(input, output, operator),
    }
}

/// The buffer of a call in place, and where its result lies; `None` if the collective has no such form.
fn in_place<T: Element>(
    case: &Case,
    rank: usize,
    input: &[T],
    expected: usize,
) -> Option<(Vec<T>, usize)> {
    match case.collective() {
        Collective::Allgather => {
            let mut buffer = vec![input.first().copied()?; case.ranks * case.elements];
            buffer[rank * case.elements..][..case.elements].copy_from_slice(input);
            Some((buffer, 0))
        }
        Collective::ReduceScatter => Some((input.to_vec(), rank * expected)),
        Collective::Alltoall | Collective::Allreduce | Collective::Scan | Collective::Exscan => {
            Some((input.to_vec(), 0))
        }
        Collective::Barrier
        | Collective::Broadcast
        | Collective::Gather
        | Collective::Scatter
        | Collective::Reduce => None,
    }
}

fn operation_in_place<'a, T: Element, O: Operator<T>>(
    case: &Case,
    buffer: &'a mut [T],
    operator: &'a O,
) -> Operation<'a> {
    match case.collective() {
        Collective::Allgather => operation::allgather_in_place(buffer),
        Collective::Alltoall => operation::alltoall_in_place(buffer),
        Collective::ReduceScatter => operation::reduce_scatter_in_place(buffer, operator),
        Collective::Scan => operation::scan_in_place(buffer, operator),
        Collective::Exscan => operation::exscan_in_place(buffer, operator),
        _ => operation::allreduce_in_place(buffer, operator),
    }
}

/// Makes the call of this rank so many times and compares what it gets each time.
pub fn check<T, O>(
    case: &Case,
    comm: &Communicator,
    (value, operator): (Value<T>, &O),
    calls: usize,
) -> Result<(), String>
where
    T: Element + Debug + PartialEq,
    O: Operator<T>,
{
    let rank = comm.rank();
    let name = format!("{}:{}", case.algorithm.name, case.setting);
    let input = serial::input(case, rank, value);
    let expected = serial::expected(case, rank, value, operator);
    let length = expected.as_ref().map_or(case.elements, Vec::len);
    let run = |operation: Operation<'_>| {
        let ended = comm.run(operation.algorithm(&name));
        ended.map_err(|error| error.to_string())
    };
    for _ in 0..calls {
        // Every call has buffers of its own.
        let input = input.clone();
        if case.in_place
            && let Some((mut buffer, start)) = in_place(case, rank, &input, length)
        {
            run(operation_in_place(case, &mut buffer, operator))?;
            compare(&buffer[start..start + length], expected.as_deref())?;
            continue;
        }
        let mut output = vec![value(u64::MAX); length];
        run(apart(case, rank, &input, &mut output, operator))?;
        compare(&output, expected.as_deref())?;
    }
    Ok(())
}

fn compare<T: Debug + PartialEq>(got: &[T], expected: Option<&[T]>) -> Result<(), String> {
    let Some(expected) = expected else {
        return Ok(());
    };
    let mut pairs = got.iter().zip(expected).enumerate();
    match pairs.find(|(_, (got, right))| got != right) {
        None => Ok(()),
        Some((at, (got, right))) => {
            let all = expected.len();
            Err(format!("element {at} of {all} is {got:?}, not {right:?}"))
        }
    }
}
