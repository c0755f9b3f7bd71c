//! NaN in extremes: in whatever operand, at whatever place, and however operands are combined, the result is a NaN.

use allhands::element::{Element, Pair};
use allhands::kernel::{InstructionSet, Kernel};
use allhands::operator::Operator;
use allhands::{Error, Max, MaxLoc, Min, MinLoc, operation, threads};
use allhands_core::algorithm;
use allhands_core::call::Collective;
use half::{bf16, f16};
use proptest::prelude::{ProptestConfig, Strategy, any, prop_assert, prop_assert_eq};
use proptest::test_runner::{TestCaseError, TestRunner};
use std::fmt::Debug;

/// A type with NaNs, made of a number or a NaN of one of several kinds.
trait Holed: Element + Debug {
    /// The value of rank `rank`: a number, or the NaN of this kind.
    fn of(number: i16, nan: Option<u8>, rank: usize) -> Self;
    /// Whether it is a NaN.
    fn is_hole(&self) -> bool;
    /// The index that it carries, if it is a pair.
    fn index(&self) -> Option<usize> {
        None
    }
}

macro_rules! floats {
    ($($type:ident $bits:ident |$number:ident| $from:expr;)*) => {$(
        impl Holed for $type {
            fn of($number: i16, nan: Option<u8>, _: usize) -> $type {
                let quiet = $type::NAN.to_bits();
                match nan {
                    None => $from,
                    Some(kind) => $type::from_bits(match kind % 4 {
                        0 => quiet,
                        1 => quiet | 1 << ($bits::BITS - 1),
                        2 => $bits::MAX,
                        // Signalling.
                        _ => $type::INFINITY.to_bits() | 1,
                    }),
                }
            }
            fn is_hole(&self) -> bool {
                self.is_nan()
            }
        }
    )*};
}

floats! {
    f16 u16 |n| f16::from_f32(f32::from(n));
    bf16 u16 |n| bf16::from_f32(f32::from(n));
    f32 u32 |n| f32::from(n);
    f64 u64 |n| f64::from(n);
}

macro_rules! pairs {
    ($($value:ident $index:ident;)*) => {$(
        impl Holed for Pair<$value, $index> {
            fn of(number: i16, nan: Option<u8>, rank: usize) -> Self {
                Pair { value: $value::of(number, nan, rank), index: rank as $index }
            }
            fn is_hole(&self) -> bool {
                self.value.is_nan()
            }
            fn index(&self) -> Option<usize> {
                usize::try_from(self.index).ok()
            }
        }
    )*};
}

pairs! { f32 i32; f32 u32; f64 i64; f64 u64; }

/// A value of a rank: a number, and perhaps which NaN stands in its place.
type Drawn = (i16, Option<u8>);

/// What every rank has: as many columns as ranks, of one length.
fn drawn(ranks: usize, elements: usize) -> impl Strategy<Value = Vec<Vec<Drawn>>> {
    use proptest::collection::vec;
    // One in eight is a NaN, so that columns with none, with one and with several are met.
    let nan = any::<(u8, u8)>().prop_map(|(kind, draw)| draw.is_multiple_of(8).then_some(kind));
    vec(vec((any::<i16>(), nan), elements), ranks)
}

/// What a few ranks have, each fewer elements than `end`.
fn of_some_ranks(end: usize) -> impl Strategy<Value = Vec<Vec<Drawn>>> {
    (2..6usize, 1..end).prop_flat_map(|(ranks, n)| drawn(ranks, n))
}

fn values<T: Holed>(column: &[Drawn], rank: usize) -> Vec<T> {
    let value = |(number, nan): &Drawn| T::of(*number, *nan, rank);
    column.iter().map(value).collect()
}

/// Whether a result is what those of all ranks at that place make it.
fn judge<T: Holed>(
    result: &T,
    columns: &[Vec<Drawn>],
    place: usize,
    what: &str,
) -> Result<(), TestCaseError> {
    let first = columns.iter().position(|column| column[place].1.is_some());
    prop_assert_eq!(
        result.is_hole(),
        first.is_some(),
        "{} gave {:?}",
        what,
        result
    );
    if let (Some(first), Some(index)) = (first, result.index()) {
        prop_assert_eq!(index, first, "{} gave {:?}", what, result);
    }
    Ok(())
}

/// Combines columns by a kernel as a tree of some shape, and in some order: the draws say which two are next.
fn fold<T: Holed>(kernel: Kernel<'_>, mut columns: Vec<Vec<T>>, draws: &[u16]) -> Vec<T> {
    for draw in draws.iter().cycle() {
        if columns.len() == 1 {
            break;
        }
        let left = columns.swap_remove(usize::from(*draw) % columns.len());
        let at = usize::from(draw >> 8) % columns.len();
        let (from, to) = (left.as_ptr().cast(), columns[at].as_mut_ptr().cast());
        // SAFETY: two vectors of as many elements, apart; the result replaces one of them.
        unsafe { kernel.combine(from, to, to, left.len()) };
    }
    columns.swap_remove(0)
}

fn bytes<T: Holed>(values: &[T]) -> &[u8] {
    bytemuck::cast_slice(values)
}

fn runner(cases: u32) -> TestRunner {
    TestRunner::new(ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    })
}

/// Runs a test for so many cases. That is compiled once for each kind of case, whatever the test is of.
fn draw_each<S: Strategy>(
    cases: u32,
    strategy: S,
    test: &dyn Fn(S::Value) -> Result<(), TestCaseError>,
) {
    if let Err(failure) = runner(cases).run(&strategy, test) {
        panic!("{failure}");
    }
}

/// Columns, and two orders in which they are combined.
type InTwoOrders = (Vec<Vec<Drawn>>, Vec<u16>, Vec<u16>);

fn kernel_hands_on<T: Holed>(
    kernel: Kernel<'_>,
    (columns, one, other): InTwoOrders,
    what: &str,
) -> Result<(), TestCaseError> {
    let all = || {
        let ranks = columns.iter().enumerate();
        ranks
            .map(|(rank, column)| values::<T>(column, rank))
            .collect()
    };
    let (result, again) = (fold(kernel, all(), &one), fold(kernel, all(), &other));
    for (place, result) in result.iter().enumerate() {
        judge(result, &columns, place, what)?;
    }
    let alike = bytes(&result) == bytes(&again);
    prop_assert!(
        alike,
        "{} depends on the order: {:?}, {:?}",
        what,
        result,
        again
    );
    Ok(())
}

/// In every instruction set, at every place of vectors of any length, in every order.
fn kernels_hand_on<T: Holed, O: Operator<T>>(operator: &O) {
    for set in InstructionSet::ALL {
        let Some(kernel) = Kernel::with_instruction_set::<T, O>(operator, set) else {
            continue;
        };
        let what = format!(
            "{} of {}, {set:?}",
            operator.name(),
            std::any::type_name::<T>()
        );
        let orders = proptest::collection::vec(any::<u16>(), 8);
        draw_each(64, (of_some_ranks(140), orders.clone(), orders), &|case| {
            kernel_hands_on::<T>(kernel, case, &what)
        });
    }
}

#[test]
fn every_kernel_hands_a_nan_on() {
    macro_rules! kernels {
        ($($type:ty: $one:ident $other:ident;)*) => {$(
            kernels_hand_on::<$type, _>(&$one);
            kernels_hand_on::<$type, _>(&$other);
        )*};
    }
    kernels! {
        f16: Min Max;
        bf16: Min Max;
        f32: Min Max;
        f64: Min Max;
        Pair<f32, i32>: MinLoc MaxLoc;
        Pair<f32, u32>: MinLoc MaxLoc;
        Pair<f64, i64>: MinLoc MaxLoc;
        Pair<f64, u64>: MinLoc MaxLoc;
    }
}

/// An allreduce by an algorithm with a setting; nothing if it does not serve so many ranks.
fn allreduced<T: Holed, O: Operator<T>>(
    operator: &O,
    algorithm: &str,
    columns: &[Vec<Drawn>],
) -> Result<Option<Vec<Vec<T>>>, TestCaseError> {
    let all = threads::run(columns.len(), |comm| {
        let input = values::<T>(&columns[comm.rank()], comm.rank());
        let mut output = input.clone();
        let operation = operation::allreduce(&input, &mut output, operator);
        comm.run(operation.algorithm(algorithm)).map(|()| output)
    });
    let all = all.map_err(|error| TestCaseError::fail(error.to_string()))?;
    let served: Result<Vec<Vec<T>>, Error> = all.into_iter().collect();
    match served {
        Ok(results) => Ok(Some(results)),
        Err(Error::Unsuitable { .. } | Error::Parameters { .. } | Error::Layout { .. }) => Ok(None),
        Err(error) => Err(TestCaseError::fail(error.to_string())),
    }
}

fn algorithms_hand_on<T: Holed, O: Operator<T>>(operator: &O) {
    let mut served = 0;
    for algorithm in algorithm::of(Collective::Allreduce) {
        for setting in algorithm.settings {
            let name = match *setting {
                "" => algorithm.name.to_string(),
                setting => format!("{}:{setting}", algorithm.name),
            };
            draw_each(4, of_some_ranks(40), &|columns| {
                let Some(results) = allreduced::<T, O>(operator, &name, &columns)? else {
                    return Ok(());
                };
                for result in &results {
                    prop_assert!(
                        bytes(result) == bytes(&results[0]),
                        "{}: ranks differ",
                        name
                    );
                    for (place, result) in result.iter().enumerate() {
                        judge(result, &columns, place, &name)?;
                    }
                }
                Ok(())
            });
            served += 1;
        }
    }
    assert!(served > 0, "no algorithm was tried");
}

#[test]
fn every_algorithm_hands_a_nan_on_to_every_rank() {
    algorithms_hand_on::<f64, _>(&Max);
    algorithms_hand_on::<f32, _>(&Min);
    algorithms_hand_on::<bf16, _>(&Max);
    algorithms_hand_on::<Pair<f32, i32>, _>(&MaxLoc);
    algorithms_hand_on::<Pair<f64, i64>, _>(&MinLoc);
}
