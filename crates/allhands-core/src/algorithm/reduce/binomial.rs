//! Binomial reduce: a child sends its parent the reduction of its subtree, from the leaves up.
//!
//! ⌈lg p⌉ steps of the whole vector: best for short vectors. A tree rooted at the root combines in another order than that of
//! the ranks; an operator that does not commute gets the tree of rank 0, whose result then goes to the root.
//!
//! ```text
//! 4 ranks, root 0      1 ─▶ 0: 0+1   3 ─▶ 2: 2+3      2 ─▶ 0: (0+1)+(2+3)
//! ```
//!
//! Source: T 4.5; C 5.4, table 4.

use super::BASE;
use crate::algorithm::Algorithm;
use crate::algorithm::phase::reduce::k_nomial;

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "binomial",
    citation: "T 4.5; C table 4",
    summary: "binomial tree; for operators that do not commute, to rank 0 and then to the root",
    build: k_nomial::reduce,
    claims: k_nomial::claims,
    ..BASE
};
