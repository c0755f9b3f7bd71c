//! Traces: the collective calls of an application, in their order, as one of the examples has written them down.

use crate::board::SAMPLES;
use crate::cell::MOST_BYTES;
use std::fs;
use std::ops::Range;
use std::path::Path;

/// What is called; the order is that of `enum moves` in `c/shim.c`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Every rank's block to all.
    Allgather,
    /// The same with blocks of different lengths.
    AllgatherV,
    /// A block from each to each.
    Alltoall,
    /// The same with blocks of different lengths.
    AlltoallV,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 4] = [
        Kind::Allgather,
        Kind::AllgatherV,
        Kind::Alltoall,
        Kind::AlltoallV,
    ];

    /// The name that stands in a trace.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Allgather => "allgather",
            Kind::AllgatherV => "allgather-v",
            Kind::Alltoall => "alltoall",
            Kind::AlltoallV => "alltoall-v",
        }
    }

    /// Whether a rank has the same for everybody.
    #[must_use]
    pub const fn is_gathered(self) -> bool {
        matches!(self, Kind::Allgather | Kind::AllgatherV)
    }
}

/// One call of all ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// What is called.
    pub kind: Kind,
    /// Bytes of the blocks: by rank those that it has for everybody, or by sender and receiver.
    pub blocks: Vec<usize>,
}

impl Call {
    /// The bytes that one rank has for another.
    #[must_use]
    pub fn block(&self, from: usize, to: usize, ranks: usize) -> usize {
        match self.kind.is_gathered() {
            true => self.blocks[from],
            false => self.blocks[from * ranks + to],
        }
    }

    /// Where in a rank's input that stands.
    #[must_use]
    pub fn place(&self, from: usize, to: usize, ranks: usize) -> Range<usize> {
        let before = |to| self.block(from, to, ranks);
        let first = match self.kind.is_gathered() {
            true => 0,
            false => (0..to).map(before).sum(),
        };
        first..first + self.block(from, to, ranks)
    }

    /// The bytes of a rank's input.
    #[must_use]
    pub fn input(&self, rank: usize, ranks: usize) -> usize {
        self.place(rank, ranks - 1, ranks).end
    }

    /// The bytes of a rank's output.
    #[must_use]
    pub fn output(&self, rank: usize, ranks: usize) -> usize {
        (0..ranks).map(|from| self.block(from, rank, ranks)).sum()
    }
}

/// All calls of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Whose calls these are.
    pub application: String,
    /// How many ranks made them.
    pub ranks: usize,
    /// In their order.
    pub calls: Vec<Call>,
}

impl Trace {
    /// Reads a file.
    ///
    /// # Errors
    /// What is wrong in which line, and what would be right.
    pub fn read(path: &Path) -> Result<Trace, String> {
        let text = fs::read_to_string(path);
        let text = text.map_err(|error| format!("{}: {error}", path.display()))?;
        Trace::parse(&text).map_err(|why| format!("{}: {why}", path.display()))
    }

    fn parse(text: &str) -> Result<Trace, String> {
        let mut lines = text.lines();
        let (application, ranks) = lines
            .next()
            .and_then(head)
            .ok_or("line 1 must be `APPLICATION: P ranks`, with 2 ranks or more")?;
        let calls = lines.enumerate().map(|(at, line)| {
            call(line, ranks).map_err(|why| format!("line {}, `{}`: {why}", at + 2, start_of(line)))
        });
        let calls: Vec<Call> = calls.collect::<Result<_, _>>()?;
        if calls.is_empty() || calls.len() > SAMPLES {
            let there = calls.len();
            return Err(format!("{there} calls: trace a run with 1 to {SAMPLES}"));
        }
        // All are there at once, so that nothing is made between two calls.
        let held = |rank: usize| -> usize {
            let calls = calls.iter();
            calls
                .map(|call| call.input(rank, ranks) + call.output(rank, ranks))
                .sum()
        };
        let bytes = (0..ranks).map(held).fold(0, usize::saturating_add);
        match bytes <= 2 * MOST_BYTES {
            true => Ok(Trace {
                application,
                ranks,
                calls,
            }),
            false => Err(format!(
                "all ranks together would hold {bytes} bytes: trace a run of less work, with {} at most",
                2 * MOST_BYTES
            )),
        }
    }
}

fn head(line: &str) -> Option<(String, usize)> {
    let (application, ranks) = line.split_once(": ")?;
    let ranks = ranks.strip_suffix(" ranks")?.parse().ok()?;
    (ranks > 1).then(|| (application.to_owned(), ranks))
}

fn start_of(line: &str) -> &str {
    line.split_whitespace().next().unwrap_or("")
}

fn call(line: &str, ranks: usize) -> Result<Call, String> {
    let mut words = line.split_whitespace();
    let name = words.next().unwrap_or_default();
    let kind = Kind::ALL.into_iter().find(|kind| kind.name() == name);
    let kind = kind.ok_or_else(|| {
        let known = Kind::ALL.map(Kind::name).join(", ");
        format!("only these are made again: {known}")
    })?;
    let numbers: Result<Vec<usize>, _> = words.map(str::parse).collect();
    let numbers = numbers.map_err(|error| error.to_string())?;
    let count = if kind == Kind::AlltoallV {
        ranks * ranks
    } else {
        ranks
    };
    if numbers.len() != count {
        return Err(format!("{} numbers, not {count}", numbers.len()));
    }
    // An MPI's counts and places are of type int.
    if numbers
        .iter()
        .fold(0_usize, |sum, number| sum.saturating_add(*number))
        > i32::MAX as usize
    {
        return Err("more than 2 GB in one call".into());
    }
    let is_regular = matches!(kind, Kind::Allgather | Kind::Alltoall);
    if is_regular && numbers.iter().any(|number| *number != numbers[0]) {
        return Err("all ranks have as many bytes in this call".into());
    }
    let blocks = match kind {
        Kind::Alltoall if !numbers[0].is_multiple_of(ranks) => {
            return Err(format!(
                "{} bytes are no blocks for {ranks} ranks",
                numbers[0]
            ));
        }
        Kind::Alltoall => vec![numbers[0] / ranks; ranks * ranks],
        Kind::Allgather | Kind::AllgatherV | Kind::AlltoallV => numbers,
    };
    Ok(Call { kind, blocks })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kinds_stand_in_the_order_of_the_shim() {
        let shim = include_str!("../c/shim.c");
        let list = shim.split("enum moves {").nth(1).expect("is there");
        let list = list.split('}').next().expect("is there");
        let names: Vec<String> = list
            .split(',')
            .map(|name| name.trim().trim_start_matches("MOVE_").to_lowercase())
            .collect();
        assert_eq!(names, Kind::ALL.map(|kind| kind.name().replace('-', "_")));
        for (at, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, at);
        }
    }

    #[test]
    fn a_call_has_the_lengths_of_its_line() {
        let text =
            "nbody: 2 ranks\nallgather 8 8\nallgather-v 5 0\nalltoall 16 16\nalltoall-v 1 2 3 4\n";
        let trace = Trace::parse(text).expect("is right");
        let [gather, gather_v, all, all_v] = &trace.calls[..] else {
            panic!("{trace:?}");
        };
        assert_eq!((gather.input(1, 2), gather.output(1, 2)), (8, 16));
        assert_eq!((gather_v.input(0, 2), gather_v.output(1, 2)), (5, 5));
        assert_eq!((all.block(0, 1, 2), all.input(0, 2)), (8, 16));
        assert_eq!((all_v.place(1, 1, 2), all_v.place(1, 0, 2)), (3..7, 0..3));
        assert_eq!((all_v.input(0, 2), all_v.output(0, 2)), (3, 4));
        // Of a gathered block everybody has the same.
        assert_eq!(gather_v.place(0, 1, 2), 0..5);
    }

    #[test]
    fn mistakes_say_where_they_are_and_what_would_be_right() {
        for (text, right) in [
            ("", "line 1 must be `APPLICATION: P ranks`"),
            ("ranks 2\n", "line 1"),
            ("nbody: 1 ranks\n", "2 ranks or more"),
            ("nbody: 2 ranks\n", "0 calls"),
            (
                "nbody: 2 ranks\nmessages 8 8\n",
                "line 2, `messages`: only these",
            ),
            (
                "nbody: 2 ranks\nallgather 8 8\nallgather 8\n",
                "line 3, `allgather`: 1 numbers, not 2",
            ),
            ("nbody: 2 ranks\nallgather 8 9\n", "as many bytes"),
            ("nbody: 2 ranks\nalltoall 9 9\n", "no blocks for 2"),
            ("nbody: 2 ranks\nalltoall-v 1 2 3\n", "3 numbers, not 4"),
            ("nbody: 2 ranks\nallgather x 8\n", "invalid digit"),
            ("nbody: 2 ranks\nallgather-v 2147483647 1\n", "2 GB"),
            ("nbody: 2 ranks\nallgather-v 300000000 1\n", "less work"),
        ] {
            let said = Trace::parse(text).expect_err("is wrong");
            assert!(said.contains(right), "{text}: {said}");
        }
    }
}
