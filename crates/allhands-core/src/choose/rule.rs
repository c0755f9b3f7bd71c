//! Rules: what a policy is made of, as data with words.

use super::Question;
use crate::call::{Call, Collective};
use core::fmt;
use core::ops::RangeInclusive;

/// What the rules of a policy may ask about: equal on all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The call.
    pub call: Call,
    /// The size in bytes as T states its cutoffs, or `None` where not every rank knows it.
    pub size: Option<u64>,
    /// The same size as the user says it, which tables go by.
    pub bytes: Option<u64>,
    /// Whether the operator is the user's own.
    pub user_operator: bool,
    /// Whether there are more ranks than cores.
    pub oversubscribed: bool,
    /// Whether ranks reach the memory of their own node alone.
    pub apart: bool,
}

impl Facts {
    /// The facts of a question: T's own size is the total for an allgather (and gather, scatter), the block for a
    /// destination for an alltoall, and the whole vector otherwise.
    #[must_use]
    pub fn of(question: &Question) -> Facts {
        let Question {
            call,
            bytes,
            irregular,
            user_operator,
            oversubscribed,
            apart,
        } = *question;
        let size = match call.collective {
            Collective::Gather | Collective::Scatter | Collective::Allgather => {
                bytes.saturating_mul(u64::from(call.ranks))
            }
            Collective::Barrier => 0,
            Collective::Alltoall
            | Collective::Broadcast
            | Collective::ReduceScatter
            | Collective::Reduce
            | Collective::Allreduce
            | Collective::Scan
            | Collective::Exscan => bytes,
        };
        let hidden = irregular && !counts_known(call.collective);
        Facts {
            call,
            size: (!hidden).then_some(size),
            bytes: (!hidden).then_some(bytes),
            user_operator,
            oversubscribed,
            apart,
        }
    }

    /// All blocks of a rank together, or the vector: what predictions are made for. 0 where not every rank knows it.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        let blocks = match self.call.collective {
            Collective::Alltoall => self.call.ranks,
            Collective::Barrier
            | Collective::Broadcast
            | Collective::Scatter
            | Collective::Gather
            | Collective::Allgather
            | Collective::ReduceScatter
            | Collective::Reduce
            | Collective::Allreduce
            | Collective::Scan
            | Collective::Exscan => 1,
        };
        self.size.unwrap_or(0).saturating_mul(u64::from(blocks))
    }
}

/// Whether in an irregular call every rank is given all counts.
#[must_use]
pub fn counts_known(collective: Collective) -> bool {
    match collective {
        Collective::Gather | Collective::Scatter | Collective::Alltoall => false,
        Collective::Barrier
        | Collective::Broadcast
        | Collective::Allgather
        | Collective::ReduceScatter
        | Collective::Reduce
        | Collective::Allreduce
        | Collective::Scan
        | Collective::Exscan => true,
    }
}

/// Something that must be so for a rule to apply. Sizes are T's own, in bytes, where nothing else is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Size < this.
    Below(u64),
    /// Size ≤ this.
    UpTo(u64),
    /// Size > this.
    Above(u64),
    /// Size ≥ this.
    From(u64),
    /// Size = this.
    Exactly(u64),
    /// A rank's block, as the user says it, ≤ this: Q's own size.
    BlockUpTo(u64),
    /// Not every rank knows the size: an irregular gather, scatter or alltoall.
    SizeUnknown,
    /// Fewer ranks than this.
    FewerRanks(u32),
    /// More ranks than this.
    MoreRanks(u32),
    /// The number of ranks is in one of these ranges.
    RanksIn(&'static [RangeInclusive<u32>]),
    /// The number of ranks is a power of two.
    PowerOfTwo,
    /// It is not.
    NotPowerOfTwo,
    /// The operator commutes.
    Commutative,
    /// It does not.
    NotCommutative,
    /// The operator is the user's own.
    UserOperator,
    /// δexpo,max < lg(bytes)/2 − 2.5 (T 5.4).
    CloseExponents,
}

impl Condition {
    /// Whether it is so. A condition on a size that not every rank knows never is.
    #[must_use]
    pub fn holds(&self, facts: &Facts) -> bool {
        let Facts {
            call,
            size,
            user_operator,
            ..
        } = facts;
        let sized = |holds: fn(u64, u64) -> bool, bound: u64| size.is_some_and(|s| holds(s, bound));
        match self {
            Condition::Below(bound) => sized(|size, bound| size < bound, *bound),
            Condition::UpTo(bound) => sized(|size, bound| size <= bound, *bound),
            Condition::Above(bound) => sized(|size, bound| size > bound, *bound),
            Condition::From(bound) => sized(|size, bound| size >= bound, *bound),
            Condition::Exactly(bound) => sized(|size, bound| size == bound, *bound),
            Condition::BlockUpTo(bound) => facts.bytes.is_some_and(|bytes| bytes <= *bound),
            Condition::SizeUnknown => size.is_none(),
            Condition::FewerRanks(ranks) => call.ranks < *ranks,
            Condition::MoreRanks(ranks) => call.ranks > *ranks,
            Condition::RanksIn(ranges) => ranges.iter().any(|r| r.contains(&call.ranks)),
            Condition::PowerOfTwo => call.ranks.is_power_of_two(),
            Condition::NotPowerOfTwo => !call.ranks.is_power_of_two(),
            Condition::Commutative => call.commutative,
            Condition::NotCommutative => !call.commutative,
            Condition::UserOperator => *user_operator,
            // Both sides doubled and raised: 2δ + 5 < lg(bytes).
            Condition::CloseExponents => size.is_some_and(|size| {
                let exponent = 2 * largest_exponent_gap(call.ranks) + 5;
                u128::from(size) > 1u128 << exponent
            }),
        }
    }
}

/// δexpo,max (T 5.2): the largest difference of consecutive exponents in `ranks` written in binary; 0 for 2^n.
#[must_use]
pub fn largest_exponent_gap(ranks: u32) -> u32 {
    let (mut rest, mut largest) = (ranks, 0);
    while rest & rest.wrapping_sub(1) != 0 {
        let lower = rest.trailing_zeros();
        rest &= rest - 1;
        largest = largest.max(rest.trailing_zeros() - lower);
    }
    largest
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Condition::Below(bound) => write!(f, "less than {}", Bytes(*bound)),
            Condition::UpTo(bound) => write!(f, "at most {}", Bytes(*bound)),
            Condition::Above(bound) => write!(f, "more than {}", Bytes(*bound)),
            Condition::From(bound) => write!(f, "at least {}", Bytes(*bound)),
            Condition::Exactly(bound) => write!(f, "exactly {}", Bytes(*bound)),
            Condition::BlockUpTo(bound) => write!(f, "blocks of at most {}", Bytes(*bound)),
            Condition::SizeUnknown => write!(f, "not every rank knows the counts"),
            Condition::FewerRanks(ranks) => write!(f, "fewer than {ranks} ranks"),
            Condition::MoreRanks(ranks) => write!(f, "more than {ranks} ranks"),
            Condition::RanksIn(ranges) => {
                for (at, range) in ranges.iter().enumerate() {
                    let comma = if at == 0 { "" } else { ", " };
                    if range.start() == range.end() {
                        write!(f, "{comma}{}", range.start())?;
                    } else {
                        write!(f, "{comma}{}-{}", range.start(), range.end())?;
                    }
                }
                write!(f, " ranks")
            }
            Condition::PowerOfTwo => write!(f, "a power of two of ranks"),
            Condition::NotPowerOfTwo => write!(f, "no power of two of ranks"),
            Condition::Commutative => write!(f, "a commutative operator"),
            Condition::NotCommutative => write!(f, "an operator that does not commute"),
            Condition::UserOperator => write!(f, "an operator of the user's"),
            Condition::CloseExponents => write!(f, "δexpo,max < lg(bytes)/2 - 2.5"),
        }
    }
}

/// A size as people say it.
struct Bytes(u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            kilo if kilo > 0 && kilo % 1024 == 0 => write!(f, "{} KB", kilo / 1024),
            bytes => write!(f, "{bytes} B"),
        }
    }
}

/// What a rule takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    /// This algorithm with these parameters.
    Algorithm {
        /// Its name.
        name: &'static str,
        /// Its parameters, `key=value,…`.
        parameters: &'static str,
    },
    /// Of these algorithms that serve the call, the one with the least predicted time.
    Fastest(&'static [&'static str]),
}

impl fmt::Display for Take {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Take::Algorithm {
                name,
                parameters: "",
            } => f.write_str(name),
            Take::Algorithm { name, parameters } => write!(f, "{name}:{parameters}"),
            Take::Fastest(names) => {
                write!(f, "the least predicted time of {}", names.join(", "))
            }
        }
    }
}

/// A rule: for this collective, if all conditions hold, take that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The collective.
    pub collective: Collective,
    /// What must be so; nothing: always.
    pub when: &'static [Condition],
    /// What it takes.
    pub take: Take,
    /// Where it is from.
    pub citation: &'static str,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.take)?;
        if self.when.is_empty() {
            return write!(f, "otherwise");
        }
        for (at, condition) in self.when.iter().enumerate() {
            let and = if at == 0 { "" } else { " and " };
            write!(f, "{and}{condition}")?;
        }
        Ok(())
    }
}
