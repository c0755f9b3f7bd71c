//! B's figures 5 to 8: bandwidths of broadcast, allreduce and alltoall.

use super::super::super::{Entry, Says, Standing};
use super::super::laboratory::{Laboratory, Taken};
use super::{NODES_512, experiment, given, statement};
use allhands_core::call::Collective::{self, Allreduce, Alltoall, Broadcast};

/// What a full packet carries.
const PAYLOAD_BYTES: u64 = 240;

const KB: u64 = 1024;
const MB: u64 = 1 << 20;

/// What the tree carries, and what a link does, in MB/s (B 2.1).
const TREE_MB_S: f64 = 337.0;
const LINK_MB_S: f64 = 154.0;

/// How one of B's algorithms is run.
#[derive(Clone, Copy)]
enum Curve {
    Mpich,
    /// As it is typed, whatever the length.
    Plain(&'static str),
    /// A pipeline of packets in so many streams, as it is typed but for the segments; of floating-point numbers or not.
    Pipeline(&'static str, u64, bool),
}

const TREE: Curve = Curve::Plain("combining-tree");
const AGREED_TREE: Curve = Curve::Plain("combining-tree:prefix=agreement");
const AGREED_TREES: Curve = Curve::Pipeline("torus-trees:prefix=agreement-barrier,", 6, false);
const LINES: Curve = Curve::Plain("line-broadcast:group=4");

/// The torus allreduce along a Hamiltonian path, and along a tree.
const fn path(floating: bool) -> Curve {
    Curve::Pipeline("hamiltonian:", 1, floating)
}

const fn trees(floating: bool) -> Curve {
    Curve::Pipeline("torus-trees:", 1, floating)
}

/// MB/s of a vector of `bytes` bytes on 512 nodes.
fn mb_s(
    laboratory: &Laboratory,
    collective: Collective,
    curve: Curve,
    bytes: u64,
) -> anyhow::Result<f64> {
    let run = |algorithm, bytes| {
        let call = experiment(collective, algorithm, NODES_512, bytes)?;
        anyhow::Ok(bytes as f64 / laboratory.time_us(&call)?)
    };
    match curve {
        Curve::Mpich => run(Taken::Mpich, bytes),
        Curve::Plain(name) => run(Taken::Named(name), bytes),
        Curve::Pipeline(name, streams, floating) => {
            let packets = bytes.div_ceil(streams * PAYLOAD_BYTES);
            let name = format!("{name}segments={packets}");
            let algorithm = match floating {
                true => Taken::Floating(&name),
                false => Taken::Named(&name),
            };
            run(algorithm, bytes)
        }
    }
}

/// The last power of two up to 16 KB at which MPICH2's broadcast is ahead of `other`, as one of many behind each other (table 4's
/// is: no one alone is so short); 0 if it is nowhere.
fn mpich_ahead_until(laboratory: &Laboratory, other: Curve) -> anyhow::Result<f64> {
    let mut last = 0;
    for bytes in (6..=14).map(|power| 1 << power) {
        let each = experiment(Broadcast, Taken::Mpich, NODES_512, bytes)?;
        let mpich = bytes as f64 / laboratory.each_us(&each)?;
        if mpich > mb_s(laboratory, Broadcast, other, bytes)? {
            last = bytes;
        }
    }
    Ok(last as f64)
}

/// Figure 5: broadcast.
pub fn broadcast(laboratory: &Laboratory) -> anyhow::Result<Vec<Entry>> {
    let at = |curve| mb_s(laboratory, Broadcast, curve, MB);
    let (mpich, torus, tree) = (at(Curve::Mpich)?, at(AGREED_TREES)?, at(AGREED_TREE)?);
    let until = |other| mpich_ahead_until(laboratory, other);
    let long = |column, says, paper, ours| {
        statement(
            "figure 5a",
            "broadcast of 1 MB",
            (column, says),
            (paper, ours),
        )
    };
    let short = |column, ours| {
        let says = (column, Says::About(2.0));
        statement("figure 5b", "MPICH2 is ahead up to", says, (2048.0, ours))
    };
    // The decision by all is "driving latency up for all optimized operations".
    let latency =
        |name| laboratory.time_us(&experiment(Broadcast, Taken::Named(name), NODES_512, 8)?);
    let agreed = latency("combining-tree:prefix=agreement")? / latency("combining-tree")?;
    let up = ("tree agreed on by tree alone", Says::Above);
    Ok(vec![
        // The tree's rate is the machine's.
        long("tree MB/s", Says::About(1.1), TREE_MB_S, tree).standing(Standing::Given),
        long("torus MB/s", Says::Below, 2.0 * LINK_MB_S, torus),
        // B 3.1: MPICH2's "measured performance is very low".
        long("torus by MPICH2", Says::Above, 1.0, torus / mpich),
        long("tree by torus", Says::Above, 1.0, tree / torus),
        short("of torus, bytes", until(AGREED_TREES)?),
        short("of tree, bytes", until(AGREED_TREE)?),
        // One more allreduce cannot make it shorter.
        given("figure 5b", "latency of 8 B", up, (1.0, agreed)),
    ])
}

/// Figure 6: allreduce of integers.
pub fn integers(laboratory: &Laboratory) -> anyhow::Result<Vec<Entry>> {
    let at = |curve, bytes| mb_s(laboratory, Allreduce, curve, bytes);
    let say = |figure, row, column, says, paper, ours| {
        statement(figure, row, (column, says), (paper, ours))
    };
    let long = |column, ours| {
        say(
            "figure 6a",
            "allreduce (int) of 1 MB",
            column,
            Says::Above,
            1.0,
            ours,
        )
    };
    let short = |row, column, ours| say("figure 6b", row, column, Says::Above, 1.0, ours);
    let (tree, path_mb_s) = (at(TREE, MB)?, at(path(false), MB)?);
    let (until, row) = (8 * KB, "allreduce (int) of 8 KB");
    let path_short = at(path(false), until)?;
    Ok(vec![
        say(
            "figure 6a",
            "allreduce (int) of 1 MB",
            "tree MB/s",
            Says::About(1.1),
            TREE_MB_S,
            tree,
        )
        .standing(Standing::Given),
        long("tree by torus (HT)", tree / path_mb_s),
        long("torus (HT) by torus", path_mb_s / at(trees(false), MB)?),
        long("torus (HT) by MPICH2", path_mb_s / at(Curve::Mpich, MB)?),
        // Its latency makes the path "less advantageous for short messages".
        short(
            row,
            "MPICH2 by path alone",
            at(Curve::Mpich, until)? / path_short,
        ),
        short(row, "tree by path alone", at(TREE, until)? / path_short),
        // Up to 8 KB the torus takes the algorithm for short messages.
        short(row, "lines by path alone", at(LINES, until)? / path_short),
    ])
}

/// Figure 7: allreduce of doubles.
pub fn doubles(laboratory: &Laboratory) -> anyhow::Result<Vec<Entry>> {
    let at = |curve| mb_s(laboratory, Allreduce, curve, MB);
    let (tree, of_doubles) = (at(TREE)?, at(Curve::Plain("combining-tree:passes=2"))?);
    let say = |column, says, paper, ours| {
        statement(
            "figure 7a",
            "allreduce of 1 MB, double by int",
            (column, says),
            (paper, ours),
        )
    };
    Ok(vec![
        // "Much lower": less than half. Table 3 has it in numbers, of which one set what converting takes.
        say("tree", Says::Below, 0.5, of_doubles / tree).standing(Standing::Fitted),
        // Doubles are combined for nothing: that cannot take longer.
        say(
            "torus (HT)",
            Says::Above,
            1.0,
            at(path(true))? / at(path(false))?,
        )
        .standing(Standing::Given),
        say(
            "torus",
            Says::Above,
            1.0,
            at(trees(true))? / at(trees(false))?,
        )
        .standing(Standing::Given),
    ])
}

/// Figure 8: alltoall on three machines, which the text does not name: meshes of 32 and of 128 nodes, and 512 nodes.
pub fn alltoall(laboratory: &Laboratory) -> anyhow::Result<Vec<Entry>> {
    const MACHINES: [(&str, &str, &[u64]); 3] = [
        ("32 nodes", "4x4x2:mesh", &[4 * KB, 32 * KB, 64 * KB]),
        ("128 nodes", "8x4x4:mesh", &[4 * KB, 32 * KB, 64 * KB]),
        ("512 nodes", NODES_512, &[KB, 2 * KB, 4 * KB]),
    ];
    let mb_s = |algorithm, shape, bytes| {
        let call = experiment(Alltoall, algorithm, shape, bytes)?;
        anyhow::Ok(bytes as f64 / laboratory.time_us(&call)?)
    };
    let mut entries = switches()?;
    for (row, shape, lengths) in MACHINES {
        let best = |algorithm| {
            let mut all = lengths.iter().map(|bytes| mb_s(algorithm, shape, *bytes));
            all.try_fold(0.0, |best, mb_s| anyhow::Ok(f64::max(best, mb_s?)))
        };
        let column = ("optimized by MPICH2, best", Says::Above);
        let ours = best(Taken::Named("permuted"))? / best(Taken::Mpich)?;
        entries.push(statement("figure 8", row, column, (1.0, ours)));
    }
    // Just beyond the switch to all-post.
    let [before, behind] = [256, 264].map(|bytes| mb_s(Taken::Mpich, NODES_512, bytes));
    let column = ("MPICH2 behind 256 B by at 256 B", Says::Below);
    entries.push(statement(
        "figure 8c",
        "512 nodes",
        column,
        (1.0, behind? / before?),
    ));
    Ok(entries)
}

/// The last powers of two at which MPICH2 takes the algorithm of shorter messages, by T's cutoffs, which the policy was given.
fn switches() -> anyhow::Result<Vec<Entry>> {
    let name = |bytes| experiment(Alltoall, Taken::Mpich, NODES_512, bytes)?.algorithm_name();
    let mut last = Vec::new();
    for power in 3..20 {
        if name(1 << power)? != name(2 << power)? {
            last.push(f64::from(1 << power));
        }
    }
    let entry = |(at, paper): (usize, f64)| {
        let column = ("MPICH2 switches, bytes", Says::About(1.0));
        let ours = last.get(at).copied().unwrap_or(0.0);
        given("figure 8", "512 nodes", column, (paper, ours))
    };
    Ok([256.0, 32_768.0]
        .into_iter()
        .enumerate()
        .map(entry)
        .collect())
}
