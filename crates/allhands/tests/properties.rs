//! Properties on real bytes: every algorithm and setting against a serial definition, for random ranks, roots, counts,
//! types, operators and placements.

use allhands::element::Element;
use allhands::operation::{self, Operation};
use allhands::operator::Operator;
use allhands::{LogicalAnd, Max, Ordered, Sum, threads};
use allhands_core::algorithm::{self, Algorithm, Requirement};
use allhands_core::call::{Call, Collective};
use proptest::prelude::{ProptestConfig, Strategy, any};
use proptest::test_runner::{TestCaseError, TestRunner};
use std::fmt::Debug;

/// One call to try.
#[derive(Clone, Copy, Debug)]
struct Case {
    algorithm: &'static Algorithm,
    setting: &'static str,
    ranks: usize,
    root: usize,
    /// Elements of the vector, or of a block.
    elements: usize,
    in_place: bool,
    /// With a seed, blocks have lengths of their own.
    irregular: Option<u64>,
    kind: Kind,
}

/// Type and operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    SumOfU64,
    SumOfF32,
    MaxOfI16,
    AndOfBool,
    /// Composition of affine maps: associative, not commutative.
    ComposeMaps,
}

const KINDS: [Kind; 5] = [
    Kind::SumOfU64,
    Kind::SumOfF32,
    Kind::MaxOfI16,
    Kind::AndOfBool,
    Kind::ComposeMaps,
];

/// An affine map x ↦ a·x + b modulo 2^32.
type Map = [u32; 2];

fn compose(left: &Map, right: &Map) -> Map {
    [
        left[0].wrapping_mul(right[0]),
        left[1].wrapping_mul(right[0]).wrapping_add(right[1]),
    ]
}

fn mix(a: u64, b: u64, c: u64) -> u64 {
    let mut z = a.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b.wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ c;
    z = (z ^ (z >> 30)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Case {
    fn collective(&self) -> Collective {
        self.algorithm.collective
    }

    /// The length of the block that rank `from` has for rank `to` (or of rank `from`'s one block).
    fn count(&self, from: usize, to: usize) -> usize {
        match self.irregular {
            None => self.elements,
            Some(seed) => {
                (mix(seed, from as u64, to as u64) % (2 * self.elements as u64 + 2)) as usize
            }
        }
    }

    fn block_counts(&self) -> Vec<usize> {
        (0..self.ranks).map(|r| self.count(r, 0)).collect()
    }
}

/// What each rank has, as one list a block: `blocks[rank][block]`.
fn inputs<T>(case: &Case, value: fn(u64) -> T) -> Vec<Vec<Vec<T>>> {
    let make = |rank: usize, block: usize, elements: usize| -> Vec<T> {
        (0..elements)
            .map(|i| value(mix(rank as u64, block as u64, i as u64)))
            .collect()
    };
    let blocks = |rank: usize| match case.collective() {
        Collective::Barrier => vec![],
        Collective::Broadcast | Collective::Scatter if rank != case.root => vec![],
        Collective::Scatter => (0..case.ranks)
            .map(|b| make(rank, b, case.count(b, 0)))
            .collect(),
        Collective::Alltoall => (0..case.ranks)
            .map(|b| make(rank, b, case.count(rank, b)))
            .collect(),
        Collective::ReduceScatter => (0..case.ranks)
            .map(|b| make(rank, b, case.count(b, 0)))
            .collect(),
        Collective::Gather | Collective::Allgather => vec![make(rank, 0, case.count(rank, 0))],
        _ => vec![make(rank, 0, case.elements)],
    };
    (0..case.ranks).map(blocks).collect()
}

/// What each rank must get, by the serial definition; `None` where it is undefined.
fn expected<T: Element, O: Operator<T>>(
    case: &Case,
    inputs: &[Vec<Vec<T>>],
    operator: &O,
) -> Vec<Option<Vec<T>>> {
    let fold = |ranks: std::ops::Range<usize>, block: usize| -> Vec<T> {
        let first = ranks.start;
        ranks
            .skip(1)
            .fold(inputs[first][block].clone(), |sum, rank| {
                sum.iter()
                    .zip(&inputs[rank][block])
                    .map(|(a, b)| operator.combine(a, b))
                    .collect()
            })
    };
    let (p, root) = (case.ranks, case.root);
    let one = |rank: usize| match case.collective() {
        Collective::Barrier => Some(vec![]),
        Collective::Broadcast => Some(inputs[root][0].clone()),
        Collective::Scatter => Some(inputs[root][rank].clone()),
        Collective::Gather if rank != root => Some(vec![]),
        Collective::Gather | Collective::Allgather => {
            Some(inputs.iter().flat_map(|i| i[0].clone()).collect())
        }
        Collective::Alltoall => Some(inputs.iter().flat_map(|i| i[rank].clone()).collect()),
        Collective::ReduceScatter => Some(fold(0..p, rank)),
        Collective::Reduce if rank != root => Some(vec![]),
        Collective::Reduce | Collective::Allreduce => Some(fold(0..p, 0)),
        Collective::Scan => Some(fold(0..rank + 1, 0)),
        Collective::Exscan if rank == 0 => None,
        Collective::Exscan => Some(fold(0..rank, 0)),
    };
    (0..p).map(one).collect()
}

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
            operation::all_to_all_v(input, &send, output, &receive)
        }
        Collective::Alltoall => operation::all_to_all(input, output),
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

/// The buffer of a call in place, the call on it, and where its result lies; `None` if the collective has no such form.
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
        _ => None,
    }
}

fn operation_in_place<'a, T: Element, O: Operator<T>>(
    case: &Case,
    buffer: &'a mut [T],
    operator: &'a O,
) -> Operation<'a> {
    match case.collective() {
        Collective::Allgather => operation::allgather_in_place(buffer),
        Collective::Alltoall => operation::all_to_all_in_place(buffer),
        Collective::ReduceScatter => operation::reduce_scatter_in_place(buffer, operator),
        Collective::Scan => operation::scan_in_place(buffer, operator),
        Collective::Exscan => operation::exscan_in_place(buffer, operator),
        _ => operation::allreduce_in_place(buffer, operator),
    }
}

fn check<T, O>(case: &Case, value: fn(u64) -> T, operator: &O) -> Result<(), TestCaseError>
where
    T: Element + Debug + PartialEq,
    O: Operator<T>,
{
    let inputs = inputs(case, value);
    let expected = expected(case, &inputs, operator);
    let name = format!("{}:{}", case.algorithm.name, case.setting);
    let results = threads::run(case.ranks, |comm| -> Result<Vec<T>, allhands::Error> {
        let rank = comm.rank();
        let input: Vec<T> = inputs[rank].concat();
        let length = expected[rank].as_ref().map_or(case.elements, Vec::len);
        if case.in_place
            && let Some((mut buffer, start)) = in_place(case, rank, &input, length)
        {
            comm.run(operation_in_place(case, &mut buffer, operator).algorithm(&name))?;
            return Ok(buffer[start..start + length].to_vec());
        }
        let mut output = vec![value(u64::MAX); length];
        comm.run(apart(case, rank, &input, &mut output, operator).algorithm(&name))?;
        Ok(output)
    });
    let fail = |what: String| Err(TestCaseError::fail(what));
    let results = match results {
        Ok(results) => results,
        Err(error) => return fail(error.to_string()),
    };
    for (rank, (result, expected)) in results.into_iter().zip(expected).enumerate() {
        match (result, expected) {
            (Err(error), _) => return fail(format!("rank {rank}: {error}")),
            (Ok(got), Some(expected)) if got != expected => {
                return fail(format!("rank {rank} got {got:?}, not {expected:?}"));
            }
            (Ok(_), _) => {}
        }
    }
    Ok(())
}

fn try_case(case: &Case) -> Result<(), TestCaseError> {
    match case.kind {
        Kind::SumOfU64 => check::<u64, _>(case, |x| x, &Sum),
        // Small whole numbers, so that sums are exact in any order.
        Kind::SumOfF32 => check::<f32, _>(case, |x| (x % 1000) as f32, &Sum),
        Kind::MaxOfI16 => check::<i16, _>(case, |x| x as i16, &Max),
        Kind::AndOfBool => check::<bool, _>(case, |x| !x.is_multiple_of(7), &LogicalAnd),
        Kind::ComposeMaps => {
            check::<Map, _>(case, |x| [x as u32, (x >> 32) as u32], &Ordered(compose))
        }
    }
}

fn cases(algorithm: &'static Algorithm, setting: &'static str) -> impl Strategy<Value = Case> {
    let ranks = if algorithm.requires.contains(&Requirement::PowerOfTwo) {
        (0..5u32).prop_map(|e| 1usize << e).boxed()
    } else {
        (1..=17usize).boxed()
    };
    (
        ranks,
        any::<usize>(),
        0..10usize,
        any::<bool>(),
        any::<Option<u64>>(),
        0..KINDS.len(),
    )
        .prop_map(move |(ranks, root, count, in_place, irregular, kind)| {
            let elements = [0, 1, 2, 3, ranks - 1, ranks, ranks + 1, 50, 300, 2000][count];
            let root = if algorithm.collective.rooted() {
                root % ranks
            } else {
                0
            };
            let irregular = irregular.filter(|_| !in_place);
            let mut case = Case {
                algorithm,
                setting,
                ranks,
                root,
                elements,
                in_place,
                irregular,
                kind: KINDS[kind],
            };
            let call = Call {
                root: root as u32,
                commutative: false,
                ..Call::new(algorithm.collective, ranks as u32)
            };
            let ordered = algorithm
                .shape(call, setting)
                .is_ok_and(|shape| algorithm.admits(&shape).is_ok());
            if case.kind == Kind::ComposeMaps && !ordered {
                case.kind = Kind::SumOfU64;
            }
            case
        })
}

/// Every algorithm and setting, on cases that proptest picks and shrinks.
#[test]
fn every_algorithm_does_what_the_serial_definition_says() {
    for algorithm in algorithm::all() {
        for setting in algorithm.settings {
            let mut runner = TestRunner::new(ProptestConfig {
                cases: 32,
                failure_persistence: None,
                ..ProptestConfig::default()
            });
            let tried = runner.run(&cases(algorithm, setting), |case| try_case(&case));
            if let Err(failure) = tried {
                panic!("{algorithm:?}:{setting}: {failure}");
            }
        }
    }
}
