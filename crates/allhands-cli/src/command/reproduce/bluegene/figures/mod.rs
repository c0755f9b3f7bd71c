//! B's figures 5 to 10: what its text says of them, decided on the model.
//!
//! The figures themselves are curves without numbers. Their text says which algorithm is above which, where, up to which size, and
//! what levels off: each such statement is an entry, a number with what the text makes of it (see [`Says`]).

mod bandwidths;
mod latencies;

use super::super::{Entry, Says, Standing};
use super::laboratory::{Experiment, Laboratory, Taken};
use allhands_core::call::Collective;
use allhands_core::machine::Torus;

/// The partition of tables 3 and 4, which the figures that show one alone are taken to be of too.
const NODES_512: &str = "8x8x8:torus";

/// What the text says of a figure and the text does not decide in numbers, or the model knows nothing of.
pub const LEFT_OUT: [&str; 5] = [
    "figure 5(a), \"a target bandwidth equivalent to 3 links\" is of a mesh and of no measurement",
    "figure 7, MPICH2 is the same for integers and doubles: the model makes no difference, so it could not say otherwise",
    "figure 8, whether the optimized alltoall is ahead of MPICH2 at every length: that the graphs show deficiencies is all that is said",
    "figure 8(a) and (b), what comes of the switch to pairwise \"depends on how the order interacts with the topology\": no direction is said",
    "figure 10, that the tree has fewer points than the torus: which ones is not said",
];

/// The statements of a figure, 5 to 10.
pub fn statements(laboratory: &Laboratory, figure: u32) -> anyhow::Result<Vec<Entry>> {
    match figure {
        5 => bandwidths::broadcast(laboratory),
        6 => bandwidths::integers(laboratory),
        7 => bandwidths::doubles(laboratory),
        8 => bandwidths::alltoall(laboratory),
        9 => latencies::allreduce(laboratory),
        _ => latencies::barrier(laboratory),
    }
}

/// A call on a partition.
fn experiment<'a>(
    collective: Collective,
    algorithm: Taken<'a>,
    shape: &str,
    bytes: u64,
) -> anyhow::Result<Experiment<'a>> {
    Ok(Experiment {
        collective,
        algorithm,
        torus: shape.parse::<Torus>()?,
        bytes,
    })
}

/// A statement of a figure.
fn statement(
    figure: &'static str,
    row: &str,
    (column, says): (&str, Says),
    (paper, ours): (f64, f64),
) -> Entry {
    let column = format!("{column}, {says}");
    Entry::new(figure, (row, column), (paper, ours), false).saying(says)
}

/// A statement that follows from what the machine was given: no simulation could say otherwise.
fn given(figure: &'static str, row: &str, what: (&str, Says), numbers: (f64, f64)) -> Entry {
    statement(figure, row, what, numbers).standing(Standing::Given)
}
