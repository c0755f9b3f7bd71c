//! Operators: what it takes to combine elements of each type, γ(m), beside the sum of `f64`.

use crate::command::paired::median;
use crate::command::simulate::machine::cluster::AloneFile;
use allhands::element::Element;
use allhands::half::{bf16, f16};
use allhands::kernel;
use allhands::operator::{BitAnd, BitOr, BitXor, Max, Min, Operator, Product, Sum};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How often each is timed, and for how long at least.
const TIMES: usize = 5;
const LEAST: Duration = Duration::from_micros(40);

/// Adds what each operator takes on each type at the lengths that are there: as many times as long as the sum of `f64`, whose time is known
/// with all that is around it.
pub fn add(alone: &mut AloneFile) {
    for (bytes, sum_us) in alone.bytes.iter().zip(&alone.reduce_us) {
        let unit_us = takes_us::<f64, _>(&Sum, *bytes as usize);
        for (name, us) in all(*bytes as usize) {
            let found = (us / unit_us * sum_us * 1e6).round() / 1e6;
            alone.operators.entry(name).or_default().push(found);
        }
    }
}

/// What each operator takes on so many bytes of each type, by its name and the type's.
fn all(bytes: usize) -> BTreeMap<String, f64> {
    macro_rules! timed {
        ($($element:ident: $($operator:ident)*;)*) => {
            [$($((name::<$element, _>(&$operator, stringify!($element)), takes_us::<$element, _>(&$operator, bytes)),)*)*]
        };
    }
    BTreeMap::from(timed! {
        f32: Sum Product Min Max;
        f64: Product Min Max;
        f16: Sum Product Min Max;
        bf16: Sum Product Min Max;
        u8: Sum Product Min Max BitAnd BitOr BitXor;
        i32: Sum Product Min Max BitAnd BitOr BitXor;
        i64: Sum Product Min Max BitAnd BitOr BitXor;
        u64: Sum Product Min Max BitAnd BitOr BitXor;
    })
}

/// As [`AloneFile::operators`] has it.
fn name<T: Element, O: Operator<T>>(operator: &O, element: &str) -> String {
    AloneFile::operator_of(&operator.signature().to_string(), element)
}

/// What a combination of two vectors of so many bytes takes, in microseconds.
fn takes_us<T: Element + Default + Copy, O: Operator<T>>(operator: &O, bytes: usize) -> f64 {
    let elements = (bytes / size_of::<T>()).max(1);
    let (left, right) = (vec![T::default(); elements], vec![T::default(); elements]);
    let mut out = right.clone();
    let mut again = 1;
    let mut timed = |again: u32| {
        let begin = Instant::now();
        for _ in 0..again {
            kernel::combine(operator, &left, &right, &mut out);
            std::hint::black_box(&mut out);
        }
        begin.elapsed()
    };
    while timed(again) < LEAST {
        again *= 2;
    }
    median((0..TIMES).map(|_| timed(again).as_secs_f64() * 1e6 / f64::from(again)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operator_has_a_time_at_every_length() {
        let mut alone = AloneFile {
            bytes: vec![8, 4096],
            reduce_us: vec![0.02, 0.3],
            ..AloneFile::default()
        };
        add(&mut alone);
        assert_eq!(alone.operators.len(), 43);
        let times = |name: &str| alone.operators[name].clone();
        for name in ["sum bf16", "max f32", "bitwise xor i64"] {
            assert_eq!(times(name).len(), 2);
            assert!(times(name).iter().all(|us| *us > 0.0), "{name}");
        }
    }
}
