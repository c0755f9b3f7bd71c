//! The papers' formulas, as printed and as corrected, with the ranks for which each is exact.
//!
//! The formulas know nothing of schedules; [`FORMULAS`] says which algorithm each is about, and the tests walk that
//! algorithm's schedules and compare.

pub mod ali;
pub mod almasi;
pub mod qian;
mod table;
pub mod thakur;

#[cfg(test)]
mod tests;

pub use table::FORMULAS;

use super::Hockney;
use crate::call::Collective;
use crate::pattern::math::{is_power_of, is_power_of_two};

/// What a formula is asked about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Case<'a> {
    /// p (T) or N (Q): the number of ranks, at least 1.
    pub ranks: u32,
    /// n (T) in bytes: the whole vector; allgather: the total gathered; alltoall: all that a rank sends, its
    /// own block included. Q's lm is `bytes / ranks`.
    pub bytes: f64,
    /// k (Q): ports.
    pub ports: u32,
    /// α, β, γ (T); ts, τ (Q).
    pub machine: &'a Hockney,
}

/// For which numbers of ranks something holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ranks {
    /// All.
    All,
    /// Powers of two.
    PowersOfTwo,
    /// All but powers of two.
    NotPowersOfTwo,
    /// Powers of k + 1, for k ports.
    PowersOfRadix,
    /// All but powers of k + 1, for k ports.
    NotPowersOfRadix,
    /// Powers of k + 1, for k ports; all if k = 1.
    PowersOfRadixOrOnePort,
    /// None.
    Nowhere,
}

impl Ranks {
    /// Whether `case` is among them.
    #[must_use]
    pub fn hold(self, case: &Case<'_>) -> bool {
        let two = is_power_of_two(case.ranks);
        let radix = is_power_of(case.ports + 1, case.ranks);
        match self {
            Ranks::All => true,
            Ranks::PowersOfTwo => two,
            Ranks::NotPowersOfTwo => !two,
            Ranks::PowersOfRadix => radix,
            Ranks::NotPowersOfRadix => !radix,
            Ranks::PowersOfRadixOrOnePort => radix || case.ports == 1,
            Ranks::Nowhere => false,
        }
    }

    /// In words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Ranks::All => "every p",
            Ranks::PowersOfTwo => "p = 2^n",
            Ranks::NotPowersOfTwo => "p not 2^n",
            Ranks::PowersOfRadix => "p = (k+1)^n",
            Ranks::NotPowersOfRadix => "p not (k+1)^n",
            Ranks::PowersOfRadixOrOnePort => "p = (k+1)^n, or k = 1",
            Ranks::Nowhere => "no p",
        }
    }
}

/// How one term of the walk stands to the same term of a formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// They are equal.
    Equal,
    /// The algorithm needs no more than the formula says.
    AtMost,
    /// The algorithm needs at least what the formula says.
    AtLeast,
    /// The algorithm needs at least the formula and at most this many hundredths of it.
    UpTo(u32),
    /// Between these two hundredths of it.
    Between(u32, u32),
}

/// Where a formula is not exact: how the algorithm stands to it, term by term, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// The α term: messages on the critical path.
    pub messages: Relation,
    /// The β term: bytes on the critical path.
    pub bytes: Relation,
    /// The γ term: bytes reduced on the critical path.
    pub work: Relation,
    /// Why they differ.
    pub why: &'static str,
}

/// Whether a formula stands in the paper as it stands here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As printed.
    Printed,
    /// Corrected; this is what is wrong with the printed one.
    Corrected(&'static str),
}

/// Why what a paper says is not what its machine does where that is simulated, with what is to be said about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Miss {
    /// It is wrong in print, and right where it is corrected.
    Misprint(&'static str),
    /// It is a bound, which the algorithm stays below.
    Bound(&'static str),
    /// It adds what is under way at the same time.
    Overlap(&'static str),
    /// It says that one is ahead of another, and the two are as fast.
    Tie(&'static str),
    /// It is about something else than what is described, or than what is run here.
    Differs(&'static str),
    /// The model leaves out what makes the machine faster or slower there.
    Model(&'static str),
}

impl core::fmt::Display for Miss {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Miss::Misprint(why)
            | Miss::Bound(why)
            | Miss::Overlap(why)
            | Miss::Tie(why)
            | Miss::Differs(why)
            | Miss::Model(why) => f.write_str(why),
        }
    }
}

/// A formula of a paper and what it is about.
#[derive(Clone, Copy)]
pub struct Formula {
    /// The paper's subscript, or its equation's number.
    pub name: &'static str,
    /// Paper and section.
    pub section: &'static str,
    /// Printed or corrected.
    pub form: Form,
    /// The collective.
    pub collective: Collective,
    /// The algorithm.
    pub algorithm: &'static str,
    /// Its parameters, `key=value,…`, without the number of ports.
    pub parameters: &'static str,
    /// The numbers of ports for which it is given; `[1]` where the paper knows one port only.
    pub ports: &'static [u32],
    /// Whether it tells one-way messages from others (αuni, βuni); if not, it takes them to cost the same.
    pub one_way: bool,
    /// The ranks for which the paper gives it.
    pub domain: Ranks,
    /// The ranks of the domain for which it is exact.
    pub exact: Ranks,
    /// What it is elsewhere in its domain.
    pub bound: Option<Bound>,
    /// The formula, in microseconds.
    pub time_us: fn(&Case<'_>) -> f64,
}

impl core::fmt::Debug for Formula {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Formula {
            section,
            name,
            collective,
            algorithm,
            ..
        } = self;
        write!(f, "{section} {name} ({collective} {algorithm})")
    }
}

/// lg `p`, the real binary logarithm; exact for powers of two.
///
/// # Panics
/// If `p` is 0.
#[must_use]
pub fn lg(p: u32) -> f64 {
    let whole = p.ilog2();
    let mut rest = f64::from(p) / (1u64 << whole) as f64;
    let (mut log, mut bit) = (f64::from(whole), 0.5);
    // Squaring doubles the logarithm: its next binary digit is whether the square passes 2.
    while bit > 1e-16 && rest > 1.0 {
        rest *= rest;
        if rest >= 2.0 {
            rest /= 2.0;
            log += bit;
        }
        bit /= 2.0;
    }
    log
}
