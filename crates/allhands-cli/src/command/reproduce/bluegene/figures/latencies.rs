//! B's figures 9 and 10: latencies of short allreduces and of barriers, by the number of nodes and by length.

use super::super::super::{Entry, Says};
use super::super::laboratory::{Laboratory, Taken};
use super::{NODES_512, experiment, given, statement};
use allhands_core::call::Collective::{self, Allreduce, Barrier};

/// The partitions of table 1, the smallest first.
const PARTITIONS: [&str; 8] = [
    "4x4x2:mesh",
    "8x4x2:mesh",
    "8x4x4:mesh",
    "8x8x4:mesh",
    "8x8x8:torus",
    "8x8x16:torus",
    "8x16x16:torus",
    "8x32x16:torus",
];

const TREE: Taken<'_> = Taken::Named("combining-tree");

/// A curve: what a call takes in each of many, one right behind the other, in microseconds.
type Curve = Vec<f64>;

/// Over the partitions.
fn scaling(
    laboratory: &Laboratory,
    collective: Collective,
    algorithm: Taken<'_>,
    bytes: u64,
) -> anyhow::Result<Curve> {
    let of = |shape| laboratory.each_us(&experiment(collective, algorithm, shape, bytes)?);
    PARTITIONS.into_iter().map(of).collect()
}

/// The most of a curve by another.
fn most(upper: &Curve, lower: &Curve) -> f64 {
    let ratios = upper.iter().zip(lower).map(|(upper, lower)| upper / lower);
    ratios.fold(0.0, f64::max)
}

/// From the first point of a curve to the last.
fn growth_us(curve: &Curve) -> f64 {
    curve.last().copied().unwrap_or(0.0) - curve.first().copied().unwrap_or(0.0)
}

/// Figure 9: three allreduces of 8 bytes on 32 to 4096 nodes, and of 8 to 232 bytes on one partition.
pub fn allreduce(laboratory: &Laboratory) -> anyhow::Result<Vec<Entry>> {
    const LENGTHS: [u64; 5] = [8, 32, 64, 128, 232];
    let lines = Taken::Named("line-broadcast:group=4");
    let by_nodes = |algorithm| scaling(laboratory, Allreduce, algorithm, 8);
    let by_length = |algorithm| {
        let of = |bytes| laboratory.each_us(&experiment(Allreduce, algorithm, NODES_512, bytes)?);
        LENGTHS
            .into_iter()
            .map(of)
            .collect::<anyhow::Result<Curve>>()
    };
    let mut entries = compare(
        "figure 9a",
        "8 B, 32 to 4096 nodes",
        [
            &by_nodes(Taken::Mpich)?,
            &by_nodes(lines)?,
            &by_nodes(TREE)?,
        ],
    );
    let (row, one) = ("8 to 232 B, 512 nodes", (1.0, Says::Below));
    let (mpich, torus, tree) = (
        by_length(Taken::Mpich)?,
        by_length(lines)?,
        by_length(TREE)?,
    );
    for (column, ours) in [
        ("torus by MPICH2, most", most(&torus, &mpich)),
        ("tree by torus, most", most(&tree, &torus)),
    ] {
        entries.push(statement("figure 9b", row, (column, one.1), (one.0, ours)));
    }
    Ok(entries)
}

/// That the torus is faster than MPICH2 on every partition and grows less with them, and so the tree by the torus.
fn compare(figure: &'static str, row: &str, [mpich, torus, tree]: [&Curve; 3]) -> Vec<Entry> {
    let below = |column, ours| statement(figure, row, (column, Says::Below), (1.0, ours));
    vec![
        below("torus by MPICH2, most", most(torus, mpich)),
        below(
            "torus by MPICH2, growth",
            growth_us(torus) / growth_us(mpich),
        ),
        below("tree by torus, most", most(tree, torus)),
        below("tree by torus, growth", growth_us(tree) / growth_us(torus)),
    ]
}

/// Figure 10: four barriers.
pub fn barrier(laboratory: &Laboratory) -> anyhow::Result<Vec<Entry>> {
    let row = "32 to 4096 nodes";
    let by_nodes = |algorithm| scaling(laboratory, Barrier, algorithm, 0);
    let tree = by_nodes(TREE)?;
    let mut entries = compare(
        "figure 10",
        row,
        [
            &by_nodes(Taken::Mpich)?,
            &by_nodes(Taken::Named("line-broadcast"))?,
            &tree,
        ],
    );
    // Where there are wires for so many nodes.
    let mut wires = Vec::new();
    for (shape, tree_us) in PARTITIONS.into_iter().zip(&tree) {
        let experiment = experiment(Barrier, Taken::Named("global-interrupt"), shape, 0)?;
        if laboratory.serves(&experiment)? {
            wires.push((laboratory.each_us(&experiment)?, *tree_us));
        }
    }
    let (wires_us, tree_us): (Curve, Curve) = wires.into_iter().unzip();
    let largest = |curve: &Curve| curve.iter().copied().fold(0.0, f64::max);
    let say =
        |column, says, paper, ours| statement("figure 10", row, (column, says), (paper, ours));
    entries.extend([
        say("tree, most µs", Says::Below, 5.0, largest(&tree)),
        say(
            "GI by tree, most",
            Says::Below,
            1.0,
            most(&wires_us, &tree_us),
        ),
        say("GI, most µs", Says::About(1.25), 1.0, largest(&wires_us)),
        // B 4: 32, 128, 512 and multiples of 512; so the machine has them.
        given(
            "figure 10",
            row,
            ("GI, partitions", Says::About(1.0)),
            (6.0, wires_us.len() as f64),
        ),
    ]);
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_are_compared_at_their_worst() {
        let (high, low) = (vec![4.0, 8.0, 20.0], vec![2.0, 6.0, 8.0]);
        assert!((most(&low, &high) - 0.75).abs() < 1e-12);
        assert!((growth_us(&high) - 16.0).abs() < 1e-12);
        let entries = compare("figure 9a", "", [&high, &low, &vec![9.0, 1.0, 1.0]]);
        let holds: Vec<_> = entries.iter().map(Entry::holds).collect();
        assert_eq!(holds, [Some(true), Some(true), Some(false), Some(true)]);
    }
}
