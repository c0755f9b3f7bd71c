//! Halo exchange: heat spreads over a plate whose blocks are spread over ranks, and the answer equals a serial run to the bit.
//!
//! Each rank has a block of the plate with a margin, the halo, of the cells of its four neighbours. In every step it sends them its
//! own cells along each edge, computes the cells that need no halo meanwhile, and then those along the edges.
//!
//! Run: `cargo run --release -p allhands --example halo -- 4`, or `allhands run -n 4 -- target/release/examples/halo`

use allhands::{Communicator, Error, threads};
use std::ops::Range;

/// Cells of the plate along each side, and steps of time.
const SIDE: usize = 240;
const STEPS: usize = 200;

/// What a rank has of the plate: rows and columns of it, and its cells with a margin of one cell.
struct Block {
    rows: Range<usize>,
    columns: Range<usize>,
    cells: Vec<f64>,
}

/// How hot a cell is at first.
fn first(row: usize, column: usize) -> f64 {
    ((row * 31 + column * 17) % 101) as f64
}

impl Block {
    fn new(rows: Range<usize>, columns: Range<usize>) -> Block {
        let mut block = Block {
            cells: vec![0.0; (rows.len() + 2) * (columns.len() + 2)],
            rows,
            columns,
        };
        for (row, column) in block.inside(0) {
            let at = block.at(row, column);
            block.cells[at] = first(block.rows.start + row - 1, block.columns.start + column - 1);
        }
        block
    }

    fn at(&self, row: usize, column: usize) -> usize {
        row * (self.columns.len() + 2) + column
    }

    /// The cells at least `edge` away from the margin, counted with it.
    fn inside(&self, edge: usize) -> impl Iterator<Item = (usize, usize)> + use<> {
        let (rows, columns) = (self.rows.len(), self.columns.len());
        let all = 1 + edge..(rows + 1).saturating_sub(edge);
        all.flat_map(move |row| {
            (1 + edge..(columns + 1).saturating_sub(edge)).map(move |c| (row, c))
        })
    }

    /// The cells along the margin.
    fn edges(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let (rows, columns) = (self.rows.len(), self.columns.len());
        self.inside(0).filter(move |(row, column)| {
            *row == 1 || *row == rows || *column == 1 || *column == columns
        })
    }

    /// A row or a column with the cells of one neighbour, or for it.
    fn line(&self, side: usize, is_halo: bool) -> Vec<usize> {
        let (rows, columns) = (self.rows.len(), self.columns.len());
        let margin = usize::from(!is_halo);
        match side {
            0 => (1..=columns).map(|c| self.at(margin, c)).collect(),
            1 => (1..=columns)
                .map(|c| self.at(rows + 1 - margin, c))
                .collect(),
            2 => (1..=rows).map(|r| self.at(r, margin)).collect(),
            _ => (1..=rows)
                .map(|r| self.at(r, columns + 1 - margin))
                .collect(),
        }
    }

    /// How hot a cell is after this step.
    fn next(&self, (row, column): (usize, usize)) -> f64 {
        let cell = |row, column| self.cells[self.at(row, column)];
        let around = cell(row - 1, column)
            + cell(row + 1, column)
            + cell(row, column - 1)
            + cell(row, column + 1);
        0.5 * cell(row, column) + 0.125 * around
    }
}

/// As many rows and columns of blocks as there are ranks, as square as can be.
fn grid(ranks: usize) -> (usize, usize) {
    let rows = (1..=ranks.isqrt())
        .rev()
        .find(|rows| ranks.is_multiple_of(*rows));
    let rows = rows.unwrap_or(1);
    (rows, ranks / rows)
}

/// Part `number` of the plate's side, cut in `parts`.
fn part(number: usize, parts: usize) -> Range<usize> {
    SIDE * number / parts..SIDE * (number + 1) / parts
}

/// All steps on one rank's block, with what its neighbours send. Beyond the plate it is cold.
fn heat(comm: &Communicator) -> Result<Block, Error> {
    let (rows, columns) = grid(comm.size());
    let (row, column) = (comm.rank() / columns, comm.rank() % columns);
    let mut block = Block::new(part(row, rows), part(column, columns));
    // Up, down, left and right: what one sends to a side, the neighbour there receives from the opposite one.
    let neighbours = [
        (row > 0).then(|| comm.rank() - columns),
        (row + 1 < rows).then(|| comm.rank() + columns),
        (column > 0).then(|| comm.rank() - 1),
        (column + 1 < columns).then(|| comm.rank() + 1),
    ];
    let mut next = block.cells.clone();
    for _ in 0..STEPS {
        let sent: [Vec<f64>; 4] = std::array::from_fn(|side| {
            block
                .line(side, false)
                .iter()
                .map(|at| block.cells[*at])
                .collect()
        });
        let mut halos: [Vec<f64>; 4] = std::array::from_fn(|side| vec![0.0; sent[side].len()]);
        comm.scope(|scope| {
            for (side, (halo, neighbour)) in halos.iter_mut().zip(neighbours).enumerate() {
                if let Some(neighbour) = neighbour {
                    scope.irecv(halo, neighbour, side as u32)?;
                }
            }
            for (side, (line, neighbour)) in sent.iter().zip(neighbours).enumerate() {
                if let Some(neighbour) = neighbour {
                    scope.isend(line, neighbour, side as u32 ^ 1)?;
                }
            }
            for cell in block.inside(1) {
                next[block.at(cell.0, cell.1)] = block.next(cell);
            }
            Ok::<(), Error>(())
        })??;
        for (side, halo) in halos.iter().enumerate() {
            for (at, cell) in block.line(side, true).into_iter().zip(halo) {
                block.cells[at] = *cell;
            }
        }
        for cell in block.edges() {
            next[block.at(cell.0, cell.1)] = block.next(cell);
        }
        std::mem::swap(&mut block.cells, &mut next);
    }
    Ok(block)
}

/// The same on one rank alone.
fn serial() -> Block {
    let mut block = Block::new(0..SIDE, 0..SIDE);
    let mut next = block.cells.clone();
    for _ in 0..STEPS {
        for cell in block.inside(0) {
            next[block.at(cell.0, cell.1)] = block.next(cell);
        }
        std::mem::swap(&mut block.cells, &mut next);
    }
    block
}

fn check(comm: &Communicator, block: &Block, serial: &Block) {
    for (row, column) in block.inside(0) {
        let (of_plate, here) = (
            serial.at(block.rows.start + row, block.columns.start + column),
            block.at(row, column),
        );
        let (right, found) = (serial.cells[of_plate], block.cells[here]);
        assert_eq!(
            found.to_bits(),
            right.to_bits(),
            "rank {}, row {row}, column {column}",
            comm.rank()
        );
    }
    if comm.rank() == 0 {
        let (rows, columns) = grid(comm.size());
        println!("{STEPS} steps on {rows} x {columns} ranks: the serial answer, to the bit");
    }
}

fn main() -> Result<(), Error> {
    let serial = serial();
    let run = |comm: &Communicator| {
        let block = heat(comm)?;
        check(comm, &block, &serial);
        comm.barrier()
    };
    match std::env::args().nth(1).map(|ranks| ranks.parse()) {
        Some(Ok(ranks)) => threads::run(ranks, |comm| run(&comm))?
            .into_iter()
            .collect(),
        _ => run(&Communicator::world()?),
    }
}
