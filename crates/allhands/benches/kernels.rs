//! Kernels against memcpy: how fast each type and operator combines.
//!
//! Combining n bytes reads 2n and writes n, so it is compared with a copy of 1.5n bytes, which
//! also moves 3n. The ratio is the copy's time by the kernel's, medians of interleaved rounds;
//! one below 0.80 is flagged. Arguments: a part of an operator's or type's name to run only
//! those, `in-place` to overwrite the left operand, `set=baseline`, `avx2`, `avx512` or `avx512fp16` for a narrower instruction set, and
//! `offset=BYTES` to start the buffers that far from a multiple of 64.

use std::hint::black_box;
use std::time::Instant;

use allhands::element::{Element, Pair, TypeSignature};
use allhands::kernel::{InstructionSet, Kernel};
use allhands::operator::{
    BitAnd, BitOr, BitXor, LogicalAnd, LogicalOr, LogicalXor, Max, MaxLoc, Min, MinLoc, Operator,
    Product, Sum,
};
use half::{bf16, f16};
use num_complex::Complex;

/// Bytes of one operand: in the first, second and third level of cache.
const SIZES_BYTES: [usize; 3] = [16 << 10, 256 << 10, 4 << 20];
const ROUNDS: usize = 15;
/// Bytes combined in one round, so that the clock's resolution does not matter.
const ROUND_BYTES: usize = 8 << 20;
const PAGE_BYTES: usize = 4096;
const ENOUGH: f64 = 0.80;

/// What the arguments ask for.
struct Choice {
    names: Vec<String>,
    set: InstructionSet,
    /// Whether the result replaces the left operand.
    in_place: bool,
    /// Bytes past a multiple of 64 at which all buffers start.
    offset: usize,
}

fn choice() -> Choice {
    let mut choice = Choice {
        names: Vec::new(),
        set: InstructionSet::best(),
        in_place: false,
        offset: 0,
    };
    // Cargo itself passes --bench.
    for argument in std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
    {
        if let Some(offset) = argument.strip_prefix("offset=") {
            choice.offset = offset.parse().expect("offset= takes a number of bytes");
            continue;
        }
        if argument == "in-place" {
            choice.in_place = true;
            continue;
        }
        match argument.strip_prefix("set=") {
            Some("baseline") => choice.set = InstructionSet::Baseline,
            Some("avx2") => choice.set = InstructionSet::Avx2,
            Some("avx512") => choice.set = InstructionSet::Avx512,
            Some("avx512fp16") => choice.set = InstructionSet::Avx512Fp16,
            Some(other) => panic!("no instruction set {other}"),
            None => choice.names.push(argument),
        }
    }
    choice
}

/// The buffers of one size.
struct Buffers {
    left: Buffer,
    right: Buffer,
    out: Buffer,
    source: Buffer,
    target: Buffer,
}

/// Bytes at a chosen place in a page. Where buffers stand relative to one another decides how
/// often a load falls, in its low twelve bits, on a store just before it and waits for it.
struct Buffer {
    memory: Vec<u8>,
    start: usize,
    bytes: usize,
}

impl Buffer {
    fn new(bytes: usize, place: usize) -> Self {
        let memory = vec![0; bytes + 2 * PAGE_BYTES];
        let start = memory.as_ptr().align_offset(PAGE_BYTES) + place;
        Self {
            memory,
            start,
            bytes,
        }
    }

    fn filled<T: Element>(bytes: usize, place: usize, one: T) -> Self {
        let mut buffer = Self::new(bytes, place);
        for element in buffer.slice().chunks_exact_mut(size_of::<T>()) {
            element.copy_from_slice(bytemuck::bytes_of(&one));
        }
        buffer
    }

    fn slice(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..][..self.bytes]
    }
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Nanoseconds for one combination and for one copy.
fn measure(kernel: Kernel<'_>, bytes: usize, in_place: bool, buffers: &mut Buffers) -> (f64, f64) {
    let repeats = ROUND_BYTES / bytes;
    let elements = bytes / kernel.element_bytes();
    let (left, right) = (
        buffers.left.slice().as_ptr(),
        buffers.right.slice().as_ptr(),
    );
    let (out, source) = (buffers.out.slice().as_mut_ptr(), buffers.source.slice());
    let (left, out) = if in_place {
        (out.cast_const(), out)
    } else {
        (left, out)
    };
    let target = buffers.target.slice();
    let combine = || {
        let start = Instant::now();
        for _ in 0..repeats {
            // SAFETY: three buffers of `bytes` bytes, apart from one another, the operands
            // filled with elements of the kernel's type.
            unsafe { kernel.combine(left, right, black_box(out), elements) };
        }
        start.elapsed().as_nanos() as f64 / repeats as f64
    };
    let mut copy = || {
        let start = Instant::now();
        for _ in 0..repeats {
            black_box(&mut *target).copy_from_slice(source);
        }
        start.elapsed().as_nanos() as f64 / repeats as f64
    };
    let (mut combining, mut copying) = (Vec::new(), Vec::new());
    combine();
    copy();
    for _ in 0..ROUNDS {
        combining.push(combine());
        copying.push(copy());
    }
    (median(combining), median(copying))
}

/// Measures one type and operator and prints its row; gives whether all ratios are enough.
fn row<T: Element, O: Operator<T>>(choice: &Choice, operator: &O, one: T) -> Option<bool> {
    let name = format!(
        "{:<12} {:<15}",
        operator.name(),
        TypeSignature::of::<T>().to_string()
    );
    if !choice.names.is_empty() && !choice.names.iter().any(|part| name.contains(part)) {
        return None;
    }
    let kernel = Kernel::with_instruction_set::<T, O>(operator, choice.set)
        .expect("this processor lacks the instruction set");
    print!("{name}");
    let mut enough = true;
    for bytes in SIZES_BYTES {
        let mut buffers = Buffers {
            left: Buffer::filled(bytes, choice.offset, one),
            right: Buffer::filled(bytes, choice.offset + PAGE_BYTES / 4, one),
            out: Buffer::filled(bytes, choice.offset + PAGE_BYTES / 2, one),
            source: Buffer::filled(bytes * 3 / 2, choice.offset, 1_u8),
            target: Buffer::new(bytes * 3 / 2, choice.offset + PAGE_BYTES / 2),
        };
        let (combine_ns, copy_ns) = measure(kernel, bytes, choice.in_place, &mut buffers);
        let ratio = copy_ns / combine_ns;
        enough &= ratio >= ENOUGH;
        let flag = if ratio < ENOUGH { '<' } else { ' ' };
        print!("  {:>7.1} {ratio:>5.2}{flag}", bytes as f64 / combine_ns);
    }
    println!();
    Some(enough)
}

fn main() {
    let choice = choice();
    println!(
        "{:?}; for each size GB/s of operand combined, and the ratio to memcpy",
        choice.set
    );
    print!("{:<28}", "");
    for bytes in SIZES_BYTES {
        print!("  {:>13} ", format!("{} KiB", bytes >> 10));
    }
    println!();
    let mut rows: Vec<bool> = Vec::new();
    macro_rules! rows {
        ($([$($operator:ident)+] $($type:ty = $one:expr),+;)*) => {
            $(rows!(@types [$($operator)+] $($type = $one),+);)*
        };
        (@types $operators:tt $($type:ty = $one:expr),+) => {
            $(rows!(@operators $operators $type, $one);)+
        };
        (@operators [$($operator:ident)+] $type:ty, $one:expr) => {
            $(rows.extend(row::<$type, _>(&choice, &$operator, $one));)+
        };
    }
    rows! {
        [Sum Product Min Max]
            i8 = 1, i16 = 1, i32 = 1, i64 = 1, u8 = 1, u16 = 1, u32 = 1, u64 = 1,
            f16 = f16::ONE, bf16 = bf16::ONE, f32 = 1.0, f64 = 1.0;
        [BitAnd BitOr BitXor LogicalAnd LogicalOr LogicalXor]
            i8 = 1, i16 = 1, i32 = 1, i64 = 1, u8 = 1, u16 = 1, u32 = 1, u64 = 1;
        [LogicalAnd LogicalOr LogicalXor] bool = true;
        [Sum Product] Complex<f32> = Complex::ONE, Complex<f64> = Complex::ONE;
        [MinLoc MaxLoc]
            Pair<f32, i32> = Pair { value: 1.0, index: 1 },
            Pair<f32, u32> = Pair { value: 1.0, index: 1 },
            Pair<i32, i32> = Pair { value: 1, index: 1 },
            Pair<u32, u32> = Pair { value: 1, index: 1 },
            Pair<f64, i64> = Pair { value: 1.0, index: 1 },
            Pair<f64, u64> = Pair { value: 1.0, index: 1 },
            Pair<i64, i64> = Pair { value: 1, index: 1 },
            Pair<u64, u64> = Pair { value: 1, index: 1 };
    }
    let below = rows.iter().filter(|enough| !**enough).count();
    println!(
        "{below} of {} rows below {ENOUGH:.2} of memcpy at some size",
        rows.len()
    );
}
