//! The formulas of Qian and Afsahi 2008, section 5.1: N ranks, k ports, lm bytes a rank.

use super::{Case, lg};
use crate::pattern::math::{ceil_log, power};

/// (count of messages) ts + (count of blocks) lm τ.
fn time(c: &Case<'_>, messages: f64, blocks: f64) -> f64 {
    let block_bytes = c.bytes / f64::from(c.ranks);
    messages * c.machine.alpha_us + blocks * block_bytes * c.machine.beta_us_per_byte
}

/// ⌈log_{k+1} N⌉.
fn digits(c: &Case<'_>) -> u32 {
    ceil_log(c.ports + 1, c.ranks)
}

/// (N − 1)/k.
fn share(c: &Case<'_>) -> f64 {
    f64::from(c.ranks - 1) / f64::from(c.ports)
}

/// log_{k+1} N.
fn log(c: &Case<'_>) -> f64 {
    lg(c.ranks) / lg(c.ports + 1)
}

/// Q 5.1.1, before (1): ts⌈log_{k+1} N⌉ + lm τ Σ_{i=1}^{⌈log_{k+1} N⌉} (k+1)^(⌈log_{k+1} N⌉−i).
#[must_use]
pub fn tree_gather_sum(c: &Case<'_>) -> f64 {
    let digits = digits(c);
    let blocks: f64 = (1..=digits)
        .map(|i| power(c.ports + 1, digits - i) as f64)
        .sum();
    time(c, f64::from(digits), blocks)
}

/// Q 5.1.1 (1): ts⌈log_{k+1} N⌉ + (N−1)/k lm τ.
#[must_use]
pub fn equation_1(c: &Case<'_>) -> f64 {
    time(c, f64::from(digits(c)), share(c))
}

/// Q 5.1.1 (2): ⌈(N−1)/k⌉ (ts + lm τ).
#[must_use]
pub fn equation_2(c: &Case<'_>) -> f64 {
    let steps = f64::from((c.ranks - 1).div_ceil(c.ports));
    time(c, steps, steps)
}

/// Q 5.1.2 (3), N = (k+1)^n: ts log_{k+1} N + (N−1)/k lm τ.
#[must_use]
pub fn equation_3(c: &Case<'_>) -> f64 {
    time(c, log(c), share(c))
}

/// Q 5.1.2 (4), N ≠ (k+1)^n: ts (k+1)⌈log_{k+1} N⌉ + (N−1)/k lm τ.
#[must_use]
pub fn equation_4(c: &Case<'_>) -> f64 {
    let steps = f64::from(c.ports + 1) * f64::from(digits(c));
    time(c, steps, share(c))
}

/// Q 5.1.3 (5): ts⌈log_{k+1} N⌉ + N/(k+1) log_{k+1} N lm τ.
#[must_use]
pub fn equation_5(c: &Case<'_>) -> f64 {
    let blocks = f64::from(c.ranks) / f64::from(c.ports + 1) * log(c);
    time(c, f64::from(digits(c)), blocks)
}
