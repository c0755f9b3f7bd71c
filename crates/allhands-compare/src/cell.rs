//! Cells: a collective at one size, as all groups run it in turn.

use std::fmt;

/// The collectives by the names that a user types, in the order of `enum collective` in `c/shim.c`.
pub const COLLECTIVES: [&str; 11] = [
    "barrier",
    "broadcast",
    "scatter",
    "gather",
    "allgather",
    "alltoall",
    "reduce-scatter",
    "reduce",
    "allreduce",
    "scan",
    "exscan",
];

/// The most bytes that all ranks together hold as input, or as output.
pub const MOST_BYTES: usize = 256 << 20;

/// What is measured: the same for every group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// An index of [`COLLECTIVES`].
    pub collective: usize,
    /// A block per rank or pair for gather, scatter, allgather and alltoall, the whole vector otherwise.
    pub bytes: usize,
}

impl Cell {
    /// The collective's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        COLLECTIVES[self.collective]
    }

    /// The bytes that all ranks together hold as input or as output, whichever is more.
    #[must_use]
    pub fn held(self, ranks: usize) -> usize {
        match self.name() {
            "allgather" | "alltoall" => self.bytes * ranks * ranks,
            _ => self.bytes * ranks,
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            "barrier" => f.write_str("barrier"),
            name => write!(f, "{name} of {}", size(self.bytes)),
        }
    }
}

/// The cells of these collectives and sizes, and those that are left out for being too large.
#[must_use]
pub fn cells(collectives: &[usize], sizes: &[usize], ranks: usize) -> (Vec<Cell>, Vec<Cell>) {
    let mut cells = Vec::new();
    for &collective in collectives {
        let sizes = if COLLECTIVES[collective] == "barrier" {
            &[0]
        } else {
            sizes
        };
        cells.extend(sizes.iter().map(|&bytes| Cell { collective, bytes }));
    }
    cells
        .into_iter()
        .partition(|cell| cell.held(ranks) <= MOST_BYTES)
}

/// `8`, `4K` or `1M`: a number of bytes as a user types it.
#[must_use]
pub fn size(bytes: usize) -> String {
    match bytes {
        0 => "-".to_owned(),
        _ if bytes.is_multiple_of(1 << 20) => format!("{}M", bytes >> 20),
        _ if bytes.is_multiple_of(1 << 10) => format!("{}K", bytes >> 10),
        _ => bytes.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board;

    #[test]
    fn the_collectives_stand_in_the_order_of_the_shim() {
        let shim = include_str!("../c/shim.c");
        let list = shim.split("enum collective {").nth(1).expect("is there");
        let list = list.split('}').next().expect("is there");
        let names: Vec<String> = list
            .split(',')
            .map(|name| name.trim().to_lowercase().replace('_', "-"))
            .filter(|name| !name.is_empty())
            .collect();
        assert_eq!(names, COLLECTIVES);
        assert_eq!(board::QUIT as usize, COLLECTIVES.len());
    }

    #[test]
    fn too_large_cells_are_left_out_and_a_barrier_has_one_cell() {
        let alltoall = 5;
        let (cells, skipped) = cells(&[0, alltoall], &[8, 4 << 20, 8 << 20], 8);
        assert_eq!(cells.len(), 3);
        assert_eq!(skipped.len(), 1);
        assert_eq!(skipped[0].to_string(), "alltoall of 8M");
        assert_eq!(cells[0].to_string(), "barrier");
    }
}
