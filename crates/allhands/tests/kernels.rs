//! Kernels against the reference: every type, operator, instruction set, length and aliasing.

use std::fmt::{Debug, Display};

use allhands::element::{Element, Pair};
use allhands::kernel::{InstructionSet, Kernel, reference};
use allhands::operator::{
    BitAnd, BitOr, BitXor, Commutative, LogicalAnd, LogicalOr, LogicalXor, Max, MaxLoc, Min,
    MinLoc, Operator, Ordered, Product, Sum,
};
use half::{bf16, f16};
use num_complex::Complex;

/// Xorshift64*, with its sequence fixed by the seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 8 ^ self.0 << 40
    }
}

/// Types that tests draw at random and compare bit for bit, NaN equal to NaN.
trait Sample: Element + Debug {
    fn sample(random: &mut Random) -> Self;
    fn same(&self, other: &Self) -> bool;
}

macro_rules! sample_integers {
    ($($type:ident)*) => {$(
        impl Sample for $type {
            fn sample(random: &mut Random) -> Self {
                match random.next() % 8 {
                    0 => 0,
                    1 => <$type>::MAX,
                    2 => <$type>::MIN,
                    3 => (random.next() % 4) as $type,
                    _ => random.next() as $type,
                }
            }
            fn same(&self, other: &Self) -> bool {
                self == other
            }
        }
    )*};
}

sample_integers! { i8 i16 i32 i64 isize u8 u16 u32 u64 usize }

macro_rules! sample_floats {
    ($($type:ident $bits:ident $small:expr;)*) => {$(
        impl Sample for $type {
            fn sample(random: &mut Random) -> Self {
                let sign = 1 << ($bits::BITS - 1);
                let magnitude = match random.next() % 16 {
                    0 => 0,
                    1 => $type::INFINITY.to_bits(),
                    2 => $type::NAN.to_bits(),
                    3 => $bits::MAX / 2, // A NaN with all bits set.
                    4 => 1 + (random.next() % 5) as $bits, // Subnormal.
                    5 => $type::MAX.to_bits(),
                    6..=9 => $small(1.0 + (random.next() % 64) as f32 / 32.0).to_bits(),
                    _ => random.next() as $bits,
                };
                $type::from_bits(magnitude ^ if random.next() % 2 == 0 { sign } else { 0 })
            }
            fn same(&self, other: &Self) -> bool {
                self.to_bits() == other.to_bits() || self.is_nan() && other.is_nan()
            }
        }
    )*};
}

sample_floats! {
    f16 u16 f16::from_f32;
    bf16 u16 bf16::from_f32;
    f32 u32 std::convert::identity;
    f64 u64 f64::from;
}

impl Sample for bool {
    fn sample(random: &mut Random) -> Self {
        random.next().is_multiple_of(2)
    }
    fn same(&self, other: &Self) -> bool {
        self == other
    }
}

impl<F: Sample> Sample for Complex<F>
where
    Self: Element,
{
    fn sample(random: &mut Random) -> Self {
        Self::new(F::sample(random), F::sample(random))
    }
    fn same(&self, other: &Self) -> bool {
        self.re.same(&other.re) && self.im.same(&other.im)
    }
}

impl<V: Sample, I: Sample> Sample for Pair<V, I>
where
    Self: Element,
{
    fn sample(random: &mut Random) -> Self {
        Self {
            value: V::sample(random),
            index: I::sample(random),
        }
    }
    fn same(&self, other: &Self) -> bool {
        // Pairs are chosen, never computed, so even a NaN keeps its bits.
        bytemuck::bytes_of(self) == bytemuck::bytes_of(other)
    }
}

impl<const N: usize> Sample for [u8; N]
where
    Self: Element,
{
    fn sample(random: &mut Random) -> Self {
        [(); N].map(|()| random.next() as u8)
    }
    fn same(&self, other: &Self) -> bool {
        self == other
    }
}

impl Sample for () {
    fn sample(_: &mut Random) -> Self {}
    fn same(&self, (): &Self) -> bool {
        true
    }
}

fn samples<T: Sample>(random: &mut Random, count: usize) -> Vec<T> {
    (0..count).map(|_| T::sample(random)).collect()
}

/// Which operands `out` is.
#[derive(Clone, Copy, Debug)]
enum Aliasing {
    Neither,
    Left,
    Right,
    Both,
}

const GUARD: u8 = 0xa5;

/// Bytes at an offset in a buffer of their own, with guards before and behind them. At an odd
/// offset nothing is behind, so that a sanitizer sees reads past the end.
struct Placed {
    buffer: Vec<u8>,
    offset: usize,
    end: usize,
}

impl Placed {
    fn new(bytes: &[u8], offset: usize) -> Self {
        let behind = if offset % 2 == 1 { 0 } else { 64 };
        let offset = 64 + offset;
        let end = offset + bytes.len();
        let mut buffer = vec![GUARD; end + behind];
        buffer[offset..end].copy_from_slice(bytes);
        Self {
            buffer,
            offset,
            end,
        }
    }
    fn address(&mut self) -> *mut u8 {
        self.buffer[self.offset..].as_mut_ptr()
    }
    fn content(&self) -> &[u8] {
        &self.buffer[self.offset..self.end]
    }
    fn guarded(&self) -> bool {
        let guards = [&self.buffer[..self.offset], &self.buffer[self.end..]];
        guards.into_iter().flatten().all(|&byte| byte == GUARD)
    }
}

/// Runs a kernel once and gives what stands in `out` then.
fn run<T: Sample>(
    kernel: Kernel<'_>,
    left: &[T],
    right: &[T],
    aliasing: Aliasing,
    offsets: [usize; 3],
) -> Vec<T> {
    let mut left_placed = Placed::new(bytemuck::cast_slice(left), offsets[0]);
    let mut right_placed = Placed::new(bytemuck::cast_slice(right), offsets[1]);
    let mut out_placed = Placed::new(&vec![GUARD; size_of_val(left)], offsets[2]);
    let (a, b) = (left_placed.address(), right_placed.address());
    let (a, b, out) = match aliasing {
        Aliasing::Neither => (a, b, out_placed.address()),
        Aliasing::Left => (a, b, a),
        Aliasing::Right => (a, b, b),
        Aliasing::Both => (a, a, a),
    };
    // SAFETY: three buffers of `left.len()` elements each, filled with valid ones, and `out` is
    // one of the operands or a buffer of its own.
    unsafe { kernel.combine(a, b, out, left.len()) };
    assert!(left_placed.guarded() && right_placed.guarded() && out_placed.guarded());
    let written = match aliasing {
        Aliasing::Neither => &out_placed,
        Aliasing::Left | Aliasing::Both => &left_placed,
        Aliasing::Right => &right_placed,
    };
    if !matches!(aliasing, Aliasing::Left | Aliasing::Both) {
        assert_eq!(
            left_placed.content(),
            bytemuck::cast_slice::<_, u8>(left),
            "left changed"
        );
    }
    if !matches!(aliasing, Aliasing::Right) {
        assert_eq!(
            right_placed.content(),
            bytemuck::cast_slice::<_, u8>(right),
            "right changed"
        );
    }
    written
        .content()
        .chunks_exact(size_of::<T>().max(1))
        .map(bytemuck::checked::pod_read_unaligned::<T>)
        .collect()
}

fn assert_same<T: Sample>(
    found: &[T],
    expected: &[T],
    (left, right): (&[T], &[T]),
    what: &dyn Display,
) {
    assert_eq!(
        found.len(),
        if size_of::<T>() == 0 {
            0
        } else {
            expected.len()
        },
        "{what}"
    );
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!(
            found.same(expected),
            "{what}, element {i}: {:?} op {:?} gave {found:?}, not {expected:?}",
            left[i],
            right[i],
        );
    }
}

/// What an operator makes of two slices, element by element.
type Reference<'a, T> = dyn Fn(&[T], &[T]) -> Vec<T> + 'a;

/// An operator on elements of type `T`, its own type erased: what tries it is compiled once for each type of elements.
struct Tried<'a, T> {
    name: &'static str,
    kernel: &'a dyn Fn(InstructionSet) -> Option<Kernel<'a>>,
    reference: &'a Reference<'a, T>,
}

/// Has an operator tried.
fn with_erased<T: Sample, O: Operator<T>>(operator: &O, check: impl FnOnce(Tried<'_, T>)) {
    check(Tried {
        name: operator.name(),
        kernel: &|set| Kernel::with_instruction_set::<T, O>(operator, set),
        reference: &|left, right| reference::combine(operator, left, right),
    });
}

fn check<T: Sample, O: Operator<T>>(operator: &O) {
    with_erased(operator, check_erased::<T>);
}

fn check_erased<T: Sample>(operator: Tried<'_, T>) {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let sets = InstructionSet::ALL
        .into_iter()
        .filter(|set| set.available());
    for set in sets {
        let kernel = (operator.kernel)(set).expect("available");
        assert_eq!(kernel.element_bytes(), size_of::<T>());
        for length in (0..=67).chain([1000, 2500]) {
            let left = samples::<T>(&mut random, length);
            let right = samples::<T>(&mut random, length);
            for offsets in [[0, 0, 0], [1, 3, 5], [4, 9, 2]] {
                use Aliasing::{Both, Left, Neither, Right};
                for aliasing in [Neither, Left, Right, Both] {
                    let right = if matches!(aliasing, Both) {
                        &left
                    } else {
                        &right
                    };
                    let expected = (operator.reference)(&left, right);
                    let found = run(kernel, &left, right, aliasing, offsets);
                    let what = format_args!(
                        "{} of {}, {set:?}, length {length}, {aliasing:?}, offsets {offsets:?}",
                        operator.name,
                        std::any::type_name::<T>(),
                    );
                    assert_same(&found, &expected, (&left, right), &what);
                }
            }
        }
    }
}

macro_rules! check_all {
    ($($test:ident: $operators:tt for [$($type:ty),+];)*) => {$(
        #[test]
        fn $test() {
            $(check_all!(@operators $operators $type);)+
        }
    )*};
    (@operators [$($operator:ident)+] $type:ty) => {
        $(check::<$type, _>(&$operator);)+
    };
}

check_all! {
    arithmetic_of_integers: [Sum Product Min Max]
        for [i8, i16, i32, i64, isize, u8, u16, u32, u64, usize];
    bitwise_of_integers: [BitAnd BitOr BitXor]
        for [i8, i16, i32, i64, isize, u8, u16, u32, u64, usize];
    logical_of_integers_and_bool: [LogicalAnd LogicalOr LogicalXor]
        for [i8, i16, i32, i64, isize, u8, u16, u32, u64, usize, bool];
    arithmetic_of_floats: [Sum Product Min Max] for [f16, bf16, f32, f64];
    arithmetic_of_complex_numbers: [Sum Product] for [Complex<f32>, Complex<f64>];
    locations: [MinLoc MaxLoc]
        for [Pair<f32, i32>, Pair<f32, u32>, Pair<i32, i32>, Pair<u32, u32>,
        Pair<f64, i64>, Pair<f64, u64>, Pair<i64, i64>, Pair<u64, u64>];
}

#[test]
fn user_operators_keep_their_sides_in_every_aliasing() {
    check::<u32, _>(&Ordered(|a: &u32, b: &u32| a.wrapping_mul(3) ^ b));
    check::<[u8; 3], _>(&Ordered(|a: &[u8; 3], b: &[u8; 3]| {
        [a[1], b[2], a[0] ^ b[1]]
    }));
    check::<[u8; 300], _>(&Ordered(|a: &[u8; 300], b: &[u8; 300]| {
        let mut out = *a;
        out[140..].copy_from_slice(&b[140..]);
        out
    }));
    check::<bool, _>(&Commutative(|a: &bool, b: &bool| a == b));
    check::<(), _>(&Commutative(|(): &(), (): &()| ()));
}

#[test]
fn an_operator_may_borrow_what_it_needs() {
    let table: Vec<u8> = (0..=255).map(|i: u8| i.wrapping_mul(7)).collect();
    let by_table = Ordered(|a: &u8, b: &u8| table[usize::from(*a)] ^ b);
    check(&by_table);
    let kernel = Kernel::of(&by_table);
    let found = std::thread::scope(|scope| {
        scope
            .spawn(|| run(kernel, &[2_u8], &[1], Aliasing::Left, [0; 3]))
            .join()
    });
    assert_eq!(found.expect("the thread ends well"), [15]);
}

#[test]
fn a_panic_in_an_operator_reaches_the_caller() {
    let picky = Commutative(|a: &u32, b: &u32| {
        assert_ne!(*a, 13, "unlucky");
        a + b
    });
    let kernel = Kernel::of(&picky);
    let left: Vec<u32> = (0..20).collect();
    let mut out = [77_u32; 20];
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let left = left.as_ptr().cast::<u8>();
        // SAFETY: both hold 20 elements and are apart.
        unsafe { kernel.combine(left, left, out.as_mut_ptr().cast(), 20) };
    }));
    assert!(result.is_err());
    for (i, out) in (0..).zip(out) {
        assert!(out == 77 || i < 13 && out == 2 * i, "element {i} is {out}");
    }
}

#[test]
fn nothing_is_touched_for_no_elements() {
    let null = std::ptr::null_mut();
    for set in InstructionSet::ALL {
        let kernels = [
            Kernel::with_instruction_set::<f64, _>(&Sum, set),
            Kernel::with_instruction_set::<f16, _>(&Sum, set),
            Kernel::with_instruction_set::<bf16, _>(&Product, set),
        ];
        for kernel in kernels.into_iter().flatten() {
            // SAFETY: no element is read or written.
            unsafe { kernel.combine(null, null, null, 0) };
        }
    }
}

/// Every 16-bit float with a few others, against the conversions of another crate.
fn check_every<T: Sample, O: Operator<T>>(operator: &O, from_bits: fn(u16) -> T) {
    with_erased(operator, |operator| check_every_erased(operator, from_bits));
}

fn check_every_erased<T: Sample>(operator: Tried<'_, T>, from_bits: fn(u16) -> T) {
    let mut others: Vec<u16> = vec![
        0, 1, 2, 0x3ff, 0x400, 0x401, 0x3555, 0x3c00, 0x3c01, 0x7bff, 0x7c00, 0x7c01,
    ];
    others.extend([
        0x7f, 0x80, 0x81, 0x3eab, 0x3f80, 0x3f81, 0x7f7f, 0x7f80, 0x7f81, 0x7fff,
    ]);
    others.extend(others.clone().iter().map(|bits| bits | 0x8000));
    let left: Vec<T> = (0..=u16::MAX).map(from_bits).collect();
    for other in others {
        let right = vec![from_bits(other); left.len()];
        let expected = (operator.reference)(&left, &right);
        for set in InstructionSet::ALL {
            let Some(kernel) = (operator.kernel)(set) else {
                continue;
            };
            let found = run(kernel, &left, &right, Aliasing::Neither, [0; 3]);
            let what = format_args!("{}, {set:?}, {other:#x}", operator.name);
            assert_same(&found, &expected, (&left, &right), &what);
        }
    }
}

#[test]
fn every_half_precision_number() {
    check_every(&Sum, f16::from_bits);
    check_every(&Product, f16::from_bits);
    check_every(&Min, f16::from_bits);
    check_every(&Max, f16::from_bits);
    check_every(&Sum, bf16::from_bits);
    check_every(&Product, bf16::from_bits);
    check_every(&Min, bf16::from_bits);
    check_every(&Max, bf16::from_bits);
}
