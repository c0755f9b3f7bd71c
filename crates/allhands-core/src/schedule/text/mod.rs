//! The text form of schedules: a whole world of them, printed and read back, for golden files and broken examples.
//!
//! A document has a header, then every rank's part. Words are separated by blanks and line ends alike;
//! `;` begins a comment. What a repeat's operations wait for is not written: it follows from their blocks.
//!
//! ```text
//! test verify                          ; directives, for whoever reads the document (see DIRECTIVES)
//! call allreduce ranks 2 commutative
//! parts 1
//!
//! rank 0 {
//!   scratch[0..1] run first=0 modulo=1 ; regions, with the unit that each block is sized for
//!   strand 0 {
//!     step {                           ; operations that start together
//!       send to 1 port 0 in[0]
//!       recv-reduce from 1 port 0 right own in[0] into out[0]
//!     }
//!     repeat 8 window 2 { … }          ; a pipeline of operations, or of steps that run in turn
//!   }
//! }
//! rank 1 { … }
//! ```
//!
//! A call may say `root R`, and `in-place` at its end; one that reduces says `commutative`, or `ordered` where operands stay in rank
//! order. Blocks are `out[3]`, `out[0..4]`, `out[0..2 by 8 x4]` (4 runs of 2, 8 apart), `out[7 by -1 x8]`, and in a repeat
//! `out[0..2 advance 2]`; several sets are separated by commas, and `nothing` is none. The operations:
//!
//! ```text
//! send to RANK port P BLOCKS            recv from RANK port P into BLOCKS        (token for BLOCKS: no data;
//! recv-reduce from RANK port P left|right own BLOCKS into BLOCKS                  channel C after the port)
//! copy BLOCKS into BLOCKS               reduce left BLOCKS right BLOCKS into BLOCKS
//! put to RANK port P BLOCKS into BLOCKS get from RANK port P BLOCKS into BLOCKS
//! put-reduce to RANK port P left|right BLOCKS into BLOCKS
//! get-reduce from RANK port P left|right BLOCKS own BLOCKS into BLOCKS
//! notify RANK flag F                    wait at RANK flag F count N              await strand S items N
//! ```

mod check;
mod lex;
mod op;
mod parse;
mod print;

pub use parse::{parse, parse_with_lines};
pub use print::print;

use super::Schedule;
use crate::call::Call;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// The directives that a header may have: what to `test` (`verify`, `lowered`), the `algorithm` and its
/// parameters, what it `claims` to cost, and which law the schedules are to `expect` broken.
pub const DIRECTIVES: [&str; 4] = ["test", "algorithm", "claims", "expect"];

/// The most blocks of a space, or of one operation, that a text may name; so that reading and
/// running what it says takes little memory whatever it says.
pub const MOST_BLOCKS: u32 = 1 << 20;

/// A line of a header that is not about the schedules themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directive {
    /// One of [`DIRECTIVES`].
    pub name: String,
    /// The words after it.
    pub words: Vec<String>,
}

/// A world of schedules and what its text says about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// The directives, in their order.
    pub directives: Vec<Directive>,
    /// The call.
    pub call: Call,
    /// In how many parts a vector is cut.
    pub parts: u32,
    /// Every rank's part, by rank. Their views are not part of the text.
    pub schedules: Vec<Schedule>,
}

impl Document {
    /// The words of all directives called `name`, one list a directive.
    pub fn directive<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [String]> {
        let named = self.directives.iter().filter(move |d| d.name == name);
        named.map(|d| d.words.as_slice())
    }
}

/// Where in its text everything of a document stands, in lines counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines {
    ranks: Vec<usize>,
    ops: Vec<Vec<usize>>,
}

impl Lines {
    /// The line in which a rank's part begins.
    #[must_use]
    pub fn rank(&self, rank: u32) -> Option<usize> {
        self.ranks.get(rank as usize).copied()
    }

    /// The line of an operation of a rank, by its place in the rank's table.
    #[must_use]
    pub fn op(&self, rank: u32, op: usize) -> Option<usize> {
        self.ops.get(rank as usize)?.get(op).copied()
    }
}

/// What is wrong with a text, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The line, counted from 1.
    pub line: usize,
    /// The column, in characters, counted from 1.
    pub column: usize,
    /// What is wrong.
    pub what: String,
    /// What would be right.
    pub right: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ParseError {
            line,
            column,
            what,
            right,
        } = self;
        write!(
            f,
            "line {line}, column {column}: {what}; right would be {right}"
        )
    }
}

impl core::error::Error for ParseError {}
