//! The formulas of Thakur, Rabenseifner and Gropp 2005, sections 4 and 5.
//!
//! lg p is the real logarithm where the paper prints it without brackets.

use super::{Case, lg};
use crate::pattern::math::{ceil_log2, floor_log2, previous_power};

/// (count of messages) α + (part of n) nβ + (part of n) nγ.
fn time(c: &Case<'_>, messages: f64, bytes: f64, work: f64) -> f64 {
    let m = c.machine;
    messages * m.alpha_us
        + bytes * c.bytes * m.beta_us_per_byte
        + work * c.bytes * m.gamma_us_per_byte
}

fn p(c: &Case<'_>) -> f64 {
    f64::from(c.ranks)
}

/// (p − 1)/p.
fn all_but_own(c: &Case<'_>) -> f64 {
    (p(c) - 1.0) / p(c)
}

/// ⌈lg p⌉.
fn lg_up(c: &Case<'_>) -> f64 {
    f64::from(ceil_log2(c.ranks))
}

/// ⌊lg p⌋ = lg p′.
fn lg_down(c: &Case<'_>) -> f64 {
    f64::from(floor_log2(c.ranks))
}

/// p′ = 2^⌊lg p⌋.
fn kept(c: &Case<'_>) -> f64 {
    f64::from(previous_power(2, c.ranks))
}

/// T 4.1: Tring = (p−1)α + (p−1)/p nβ.
#[must_use]
pub fn ring(c: &Case<'_>) -> f64 {
    time(c, p(c) - 1.0, all_but_own(c), 0.0)
}

/// T 4.1.1: Trec_dbl = lg p α + (p−1)/p nβ.
#[must_use]
pub fn rec_dbl(c: &Case<'_>) -> f64 {
    time(c, lg(c.ranks), all_but_own(c), 0.0)
}

/// T 4.1.1, for p ≠ 2^n: at most 2⌊lg p⌋ steps; the bytes that a rank must receive are all but its own.
#[must_use]
pub fn rec_dbl_not_power_of_two(c: &Case<'_>) -> f64 {
    time(c, 2.0 * lg_down(c), all_but_own(c), 0.0)
}

/// [`rec_dbl_not_power_of_two`] with a step more for odd p.
#[must_use]
pub fn rec_dbl_not_power_of_two_corrected(c: &Case<'_>) -> f64 {
    let odd = f64::from(c.ranks % 2);
    time(c, 2.0 * lg_down(c) + odd, all_but_own(c), 0.0)
}

/// T 4.1.2: Tbruck = ⌈lg p⌉α + (p−1)/p nβ.
#[must_use]
pub fn bruck(c: &Case<'_>) -> f64 {
    time(c, lg_up(c), all_but_own(c), 0.0)
}

/// T 4.1.2: the dissemination barrier takes ⌈lg p⌉ steps in all cases.
#[must_use]
pub fn dissemination(c: &Case<'_>) -> f64 {
    time(c, lg_up(c), 0.0, 0.0)
}

/// T 4.2: Ttree = ⌈lg p⌉(α + nβ).
#[must_use]
pub fn tree_broadcast(c: &Case<'_>) -> f64 {
    time(c, lg_up(c), lg_up(c), 0.0)
}

/// T 4.2: the binomial scatter, lg p α + (p−1)/p nβ.
#[must_use]
pub fn scatter(c: &Case<'_>) -> f64 {
    time(c, lg(c.ranks), all_but_own(c), 0.0)
}

/// [`scatter`] with ⌈lg p⌉.
#[must_use]
pub fn scatter_corrected(c: &Case<'_>) -> f64 {
    time(c, lg_up(c), all_but_own(c), 0.0)
}

/// T 4.2: Tvandegeijn = (lg p + p − 1)α + 2(p−1)/p nβ.
#[must_use]
pub fn vandegeijn(c: &Case<'_>) -> f64 {
    time(c, lg(c.ranks) + p(c) - 1.0, 2.0 * all_but_own(c), 0.0)
}

/// [`vandegeijn`] with ⌈lg p⌉.
#[must_use]
pub fn vandegeijn_corrected(c: &Case<'_>) -> f64 {
    time(c, lg_up(c) + p(c) - 1.0, 2.0 * all_but_own(c), 0.0)
}

/// T 4.3, p = 2^n: Tbruck = lg p α + n/2 lg p β.
#[must_use]
pub fn bruck_alltoall(c: &Case<'_>) -> f64 {
    time(c, lg(c.ranks), lg(c.ranks) / 2.0, 0.0)
}

/// T 4.3, p ≠ 2^n: Tbruck = ⌈lg p⌉α + (n/2 lg p + n/p (p − 2^⌊lg p⌋))β.
#[must_use]
pub fn bruck_alltoall_not_power_of_two(c: &Case<'_>) -> f64 {
    let bytes = lg(c.ranks) / 2.0 + (p(c) - kept(c)) / p(c);
    time(c, lg_up(c), bytes, 0.0)
}

/// [`bruck_alltoall_not_power_of_two`] with n/2 ⌊lg p⌋: half the blocks in each step but the last.
#[must_use]
pub fn bruck_alltoall_floor(c: &Case<'_>) -> f64 {
    let bytes = lg_down(c) / 2.0 + (p(c) - kept(c)) / p(c);
    time(c, lg_up(c), bytes, 0.0)
}

/// [`bruck_alltoall_not_power_of_two`] with the blocks counted: in step k, the j < p whose kth bit is 1.
#[must_use]
pub fn bruck_alltoall_counted(c: &Case<'_>) -> f64 {
    let ones: u32 = (0..c.ranks).map(u32::count_ones).sum();
    time(c, lg_up(c), f64::from(ones) / p(c), 0.0)
}

/// T 4.3: Tlong = (p−1)α + nβ.
#[must_use]
pub fn long_alltoall(c: &Case<'_>) -> f64 {
    time(c, p(c) - 1.0, 1.0, 0.0)
}

/// [`long_alltoall`] without the block that a rank keeps: (p−1)α + (p−1)/p nβ.
#[must_use]
pub fn long_alltoall_corrected(c: &Case<'_>) -> f64 {
    time(c, p(c) - 1.0, all_but_own(c), 0.0)
}

/// T 4.4: Told = (lg p + p − 1)α + (lg p + (p−1)/p)nβ + n lg p γ.
#[must_use]
pub fn old_reduce_scatter(c: &Case<'_>) -> f64 {
    let lg = lg(c.ranks);
    time(c, lg + p(c) - 1.0, lg + all_but_own(c), lg)
}

/// [`old_reduce_scatter`] with ⌈lg p⌉.
#[must_use]
pub fn old_reduce_scatter_corrected(c: &Case<'_>) -> f64 {
    let lg = lg_up(c);
    time(c, lg + p(c) - 1.0, lg + all_but_own(c), lg)
}

/// T 4.4, p = 2^n: Trec_half = lg p α + (p−1)/p nβ + (p−1)/p nγ.
#[must_use]
pub fn rec_half(c: &Case<'_>) -> f64 {
    time(c, lg(c.ranks), all_but_own(c), all_but_own(c))
}

/// T 4.4, p ≠ 2^n, approximate: Trec_half = (⌊lg p⌋+2)α + 2nβ + n(1 + (p−1)/p)γ.
#[must_use]
pub fn rec_half_not_power_of_two(c: &Case<'_>) -> f64 {
    time(c, lg_down(c) + 2.0, 2.0, 1.0 + all_but_own(c))
}

/// T 4.4: Tshort = lg p α + n(lg p − (p−1)/p)β + n(lg p − (p−1)/p)γ.
#[must_use]
pub fn short_reduce_scatter(c: &Case<'_>) -> f64 {
    let part = lg(c.ranks) - all_but_own(c);
    time(c, lg(c.ranks), part, part)
}

/// T 4.4: Tlong = (p−1)α + (p−1)/p nβ + (p−1)/p nγ.
#[must_use]
pub fn long_reduce_scatter(c: &Case<'_>) -> f64 {
    time(c, p(c) - 1.0, all_but_own(c), all_but_own(c))
}

/// T 4.5: Ttree = ⌈lg p⌉(α + nβ + nγ).
#[must_use]
pub fn tree_reduce(c: &Case<'_>) -> f64 {
    time(c, lg_up(c), lg_up(c), lg_up(c))
}

/// T 4.5, reduce and allreduce: Trabenseifner = 2 lg p α + 2(p−1)/p nβ + (p−1)/p nγ.
#[must_use]
pub fn rabenseifner(c: &Case<'_>) -> f64 {
    time(c, 2.0 * lg(c.ranks), 2.0 * all_but_own(c), all_but_own(c))
}

/// T 4.5: Trec−dbl = lg p α + n lg p β + n lg p γ.
#[must_use]
pub fn rec_dbl_allreduce(c: &Case<'_>) -> f64 {
    let lg = lg(c.ranks);
    time(c, lg, lg, lg)
}

/// T 4.5, in words: a reduce to rank 0 and a broadcast, [`tree_reduce`] + [`tree_broadcast`].
#[must_use]
pub fn reduce_broadcast(c: &Case<'_>) -> f64 {
    tree_reduce(c) + tree_broadcast(c)
}

/// T 5.1: the first step where p ≠ 2^n, (1 + fα)α + n/2 (1 + fβ)β + n/2 γ.
#[must_use]
pub fn fold_in_halves(c: &Case<'_>) -> f64 {
    let m = c.machine;
    time(c, 1.0 + m.f_alpha(), 0.5 * (1.0 + m.f_beta()), 0.5)
}

/// T 5.1: vector halving, distance doubling: lg p′ α + (p′−1)/p′ (nβ + nγ).
#[must_use]
pub fn halving(c: &Case<'_>) -> f64 {
    let part = (kept(c) - 1.0) / kept(c);
    time(c, lg_down(c), part, part)
}

/// T 5.1: vector doubling, distance halving: lg p′ α + (p′−1)/p′ nβ.
#[must_use]
pub fn doubling(c: &Case<'_>) -> f64 {
    time(c, lg_down(c), (kept(c) - 1.0) / kept(c), 0.0)
}

/// T 5.1: the binomial gather, lg p′ αuni + (p′−1)/p′ nβuni.
#[must_use]
pub fn gather(c: &Case<'_>) -> f64 {
    let m = c.machine;
    let part = (kept(c) - 1.0) / kept(c);
    time(c, lg_down(c) * m.f_alpha(), part * m.f_beta(), 0.0)
}

/// T 5.1: the result for the ranks that were removed, αuni + nβuni.
#[must_use]
pub fn unfold(c: &Case<'_>) -> f64 {
    time(c, c.machine.f_alpha(), c.machine.f_beta(), 0.0)
}

/// T 5.1, p = 2^n: Tall,h&d = 2 lg p α + 2nβ + nγ − 1/p (2nβ + nγ).
#[must_use]
pub fn all_hd_power_of_two(c: &Case<'_>) -> f64 {
    let part = 1.0 - 1.0 / p(c);
    time(c, 2.0 * lg(c.ranks), 2.0 * part, part)
}

/// T 5.1, p = 2^n: Tall,h&d ≃ 2 lg p α + 2nβ + nγ.
#[must_use]
pub fn all_hd_power_of_two_approximate(c: &Case<'_>) -> f64 {
    time(c, 2.0 * lg(c.ranks), 2.0, 1.0)
}

/// T 5.1, p ≠ 2^n: Tall,h&d = (2 lg p′ + 1 + 2fα)α + (2 + (1+3fβ)/2)nβ + 3/2 nγ − 1/p′ (2nβ + nγ).
#[must_use]
pub fn all_hd_not_power_of_two(c: &Case<'_>) -> f64 {
    let (f_alpha, f_beta) = (c.machine.f_alpha(), c.machine.f_beta());
    let messages = 2.0 * lg_down(c) + 1.0 + 2.0 * f_alpha;
    let bytes = 2.0 + (1.0 + 3.0 * f_beta) / 2.0 - 2.0 / kept(c);
    time(c, messages, bytes, 1.5 - 1.0 / kept(c))
}

/// T 5.1, p ≠ 2^n: Tall,h&d ≃ (3 + 2⌊lg p⌋)α + 4nβ + 3/2 nγ.
#[must_use]
pub fn all_hd_not_power_of_two_approximate(c: &Case<'_>) -> f64 {
    time(c, 3.0 + 2.0 * lg_down(c), 4.0, 1.5)
}

/// T 5.1, p = 2^n: Tred,h&d = lg p (1 + fα)α + (1 + fβ)nβ + nγ − 1/p ((1 + fβ)nβ + nγ).
#[must_use]
pub fn red_hd_power_of_two(c: &Case<'_>) -> f64 {
    let (f_alpha, f_beta) = (c.machine.f_alpha(), c.machine.f_beta());
    let part = 1.0 - 1.0 / p(c);
    time(
        c,
        lg(c.ranks) * (1.0 + f_alpha),
        (1.0 + f_beta) * part,
        part,
    )
}

/// T 5.1, p = 2^n: Tred,h&d ≃ 2 lg p α + 2nβ + nγ.
#[must_use]
pub fn red_hd_power_of_two_approximate(c: &Case<'_>) -> f64 {
    all_hd_power_of_two_approximate(c)
}

/// T 5.1, p ≠ 2^n: Tred,h&d = lg p′(1 + fα)α + (1 + fα)α + (1 + (1+fβ)/2 + fβ)nβ + 3/2 nγ − 1/p′ ((1 + fβ)nβ + nγ).
#[must_use]
pub fn red_hd_not_power_of_two(c: &Case<'_>) -> f64 {
    let (f_alpha, f_beta) = (c.machine.f_alpha(), c.machine.f_beta());
    let messages = lg_down(c) * (1.0 + f_alpha) + 1.0 + f_alpha;
    let bytes = 1.0 + (1.0 + f_beta) / 2.0 + f_beta - (1.0 + f_beta) / kept(c);
    time(c, messages, bytes, 1.5 - 1.0 / kept(c))
}

/// T 5.1, p ≠ 2^n: Tred,h&d ≃ (2 + 2⌊lg p⌋)α + 3nβ + 3/2 nγ.
#[must_use]
pub fn red_hd_not_power_of_two_approximate(c: &Case<'_>) -> f64 {
    time(c, 2.0 + 2.0 * lg_down(c), 3.0, 1.5)
}

/// T 5.3: Tall,ring = 2(p−1)α + 2nβ + nγ − 1/p (2nβ + nγ).
#[must_use]
pub fn all_ring(c: &Case<'_>) -> f64 {
    let part = 1.0 - 1.0 / p(c);
    time(c, 2.0 * (p(c) - 1.0), 2.0 * part, part)
}

/// T 5.3: Tred,ring = (p−1)(α + αuni) + n(β + βuni) + nγ − 1/p (n(β + βuni) + nγ).
#[must_use]
pub fn red_ring(c: &Case<'_>) -> f64 {
    let (f_alpha, f_beta) = (c.machine.f_alpha(), c.machine.f_beta());
    let part = 1.0 - 1.0 / p(c);
    time(
        c,
        (p(c) - 1.0) * (1.0 + f_alpha),
        (1.0 + f_beta) * part,
        part,
    )
}
