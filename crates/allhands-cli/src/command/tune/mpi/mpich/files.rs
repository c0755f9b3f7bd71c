//! The trees: what MPICH chooses by, and what is written for it.
//!
//! A file of MPICH's replaces a whole tree, so what is written is the library's own tree, which it has inside as a text, with branches of
//! our own for communicators of as many ranks as were measured. Where the default stays, its own subtree stands in the branch; what asks
//! for the communicator comes first there as well, as MPICH answers that once, and not every version answers it anywhere else. There are
//! three trees: the one of algorithms between any ranks; that of algorithms in a host's shared memory, which comes first where all ranks
//! share a host; and that of compositions, which comes first where there are several ranks on each of several hosts.

use super::super::decide::{Choices, Range};
use super::super::kind::Kind;
use super::super::record::Hello;
use super::super::tree::Tree;
use super::super::variant;
use super::{FIXED, IN_SHARED_MEMORY, Needs, ROWS, flat, is_on_one_host, is_one_for_all};
use anyhow::Context;

/// The variable that names the file of the tree of algorithms.
const FILE: &str = "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE";
/// The same for algorithms in shared memory.
const POSIX_FILE: &str = "MPIR_CVAR_CH4_POSIX_COLL_SELECTION_TUNING_JSON_FILE";
/// The same for compositions.
const CH4_FILE: &str = "MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE";

/// A file that MPICH reads.
pub struct File {
    pub name: &'static str,
    /// The control variable that names it.
    pub variable: &'static str,
    pub text: String,
}

/// The files for what is chosen, from what the library's own file has inside.
pub fn files(hello: &Hello, choices: &Choices, library: &[u8]) -> anyhow::Result<Vec<File>> {
    let own = |mark: &str| {
        let text = inside(library, mark);
        text.with_context(|| {
            format!(
                "{} has no tree with {mark} inside: MPICH 4 and 5 have",
                hello.library
            )
        })
    };
    let mut files = vec![File {
        name: "mpich.json",
        variable: FILE,
        text: rewritten(
            &own("algorithm=MPIR_Bcast_intra_binomial")?,
            hello,
            choices,
            &|kind, range| Some(leaf(hello, kind, range)),
        )?,
    }];
    if is_on_one_host(hello) && choices.keys().any(|kind| IN_SHARED_MEMORY.contains(kind)) {
        let tree = own("algorithm=MPIDI_POSIX_mpi_bcast_release_gather")?;
        files.push(File {
            name: "mpich-posix.json",
            variable: POSIX_FILE,
            text: rewritten(&tree, hello, choices, &|kind, range| {
                IN_SHARED_MEMORY
                    .contains(&kind)
                    .then(|| leaf(hello, kind, range))
            })?,
        });
    }
    if choices.keys().any(|kind| flat(hello, *kind).is_some()) {
        let tree = own("composition=MPIDI_Bcast_intra_composition_gamma")?;
        files.push(File {
            name: "mpich-ch4.json",
            variable: CH4_FILE,
            text: rewritten(&tree, hello, choices, &|kind, _| {
                let (_, _, name) = flat(hello, kind)?;
                let name = format!("composition=MPIDI_{}_intra_composition_{name}", title(kind));
                Some(Tree::leaf(&name))
            })?,
        });
    }
    Ok(files)
}

/// The text of a library that is a tree and has something in it.
fn inside(library: &[u8], mark: &str) -> Option<String> {
    const BEGIN: &[u8] = b"{\"collective=";
    let starts = library.windows(BEGIN.len()).enumerate();
    let mut starts = starts
        .filter(|(_, window)| *window == BEGIN)
        .map(|(at, _)| at);
    starts.find_map(|at| {
        let rest = &library[at..];
        let end = rest.iter().position(|byte| *byte == 0)?;
        let text = std::str::from_utf8(&rest[..end]).ok()?;
        text.contains(mark).then(|| text.to_string())
    })
}

type Leaf<'a> = &'a dyn Fn(Kind, &str) -> Option<Tree>;

/// A tree with branches of what is chosen in it.
fn rewritten(
    text: &str,
    hello: &Hello,
    choices: &Choices,
    leaf: Leaf<'_>,
) -> anyhow::Result<String> {
    let mut tree = Tree::parse(text).context("the library's own tree is not understood")?;
    for (kind, ranges) in choices {
        let Some(whole) = tree.get_mut(&format!("collective={}", kind.name())) else {
            continue;
        };
        let has_types = whole.get_mut("comm_type=intra").is_some();
        let part = match has_types {
            true => whole.get_mut("comm_type=intra"),
            false => Some(whole),
        };
        let Some(part) = part else { continue };
        let own = part.clone();
        let tuned = own.below_communicators(&|own| tuned(*kind, ranges, (hello, own), leaf));
        let Some(tuned) = tuned else { continue };
        let ranks = hello.ranks;
        let by_size = Tree::of([
            (format!("comm_size<{ranks}"), own.clone()),
            (format!("comm_size<={ranks}"), tuned),
            ("comm_size=any".into(), own.clone()),
        ]);
        // Where types are not told apart, a communicator between two groups comes here, too.
        *part = match has_types {
            true => by_size,
            false => Tree::of([
                ("comm_type=intra".into(), by_size),
                ("comm_type=inter".into(), own),
            ]),
        };
    }
    Ok(tree.to_string())
}

/// The branch for as many ranks as were measured, where `own` is the default; `None` if nothing is to be said of this collective.
fn tuned(
    kind: Kind,
    ranges: &[Range],
    (hello, own): (&Hello, &Tree),
    leaf: Leaf<'_>,
) -> Option<Tree> {
    let mut sizes = Vec::new();
    for range in ranges {
        let branch = match &range.variant {
            None => own.clone(),
            Some(variant) => guarded(kind, variant, leaf(kind, variant)?, own),
        };
        sizes.push((size_key(kind, range.to, hello.ranks), branch));
    }
    let sizes = match is_one_for_all(kind) {
        true => sizes.pop()?.1,
        false => Tree::of(sizes),
    };
    let either = |yes: Tree, key: &str| {
        Tree::of([
            (format!("{key}=yes"), yes),
            (format!("{key}=no"), own.clone()),
        ])
    };
    Some(match kind {
        Kind::Reduce | Kind::Allreduce => either(either(sizes, "is_op_built_in"), "is_commutative"),
        Kind::ReduceScatter | Kind::ReduceScatterBlock => either(sizes, "is_commutative"),
        Kind::Alltoall => Tree::of([
            ("is_sendbuf_inplace=yes".into(), own.clone()),
            ("is_sendbuf_inplace=no".into(), sizes),
        ]),
        Kind::Barrier
        | Kind::Bcast
        | Kind::Scatter
        | Kind::Gather
        | Kind::Allgather
        | Kind::Scan
        | Kind::Exscan => sizes,
    })
}

/// A branch that leaves to the default what the algorithm cannot do.
fn guarded(kind: Kind, variant: &str, leaf: Tree, own: &Tree) -> Tree {
    let algorithm = variant.split(':').next().unwrap_or_default();
    let mut rows = ROWS.iter().filter(|row| row.kind == kind);
    let needs_elements = rows.any(|row| row.algorithm == algorithm && row.needs == Needs::Elements);
    match needs_elements {
        false => leaf,
        true => Tree::of([
            ("count<pow2".into(), own.clone()),
            ("count=any".into(), leaf),
        ]),
    }
}

/// The key of all vectors of so many bytes at most, or of all.
fn size_key(kind: Kind, to: Option<u64>, ranks: usize) -> String {
    let (name, bytes) = match kind {
        Kind::Alltoall => ("avg_msg_size", to.map(|to| to / ranks as u64)),
        Kind::Bcast | Kind::Reduce | Kind::Allreduce => ("avg_msg_size", to),
        _ => ("total_msg_size", to),
    };
    match bytes {
        Some(bytes) => format!("{name}<={bytes}"),
        None => format!("{name}=any"),
    }
}

/// The leaf of a variant.
fn leaf(hello: &Hello, kind: Kind, name: &str) -> Tree {
    let all = variant::of(hello, kind);
    let variant = all.iter().find(|variant| variant.name() == name);
    let algorithm = variant.map_or(name, |variant| variant.algorithm);
    let place = if algorithm == "nb" {
        "allcomm"
    } else {
        "intra"
    };
    let fixed = FIXED
        .iter()
        .filter(|row| row.0 == kind && row.1 == algorithm);
    let fixed = fixed.flat_map(|row| row.2.iter().map(|text| (*text).to_string()));
    let numbers = variant.map_or(&[][..], |variant| variant.parameters);
    let numbers = numbers
        .iter()
        .map(|(key, number)| format!("{key}={number}"));
    let parameters = fixed.chain(numbers).map(|text| (text, Tree::default()));
    Tree::of([(
        format!("algorithm=MPIR_{}_{place}_{algorithm}", title(kind)),
        Tree::of(parameters),
    )])
}

/// `Reduce_scatter` of reduce_scatter.
fn title(kind: Kind) -> String {
    let name = kind.name();
    format!("{}{}", name[..1].to_uppercase(), &name[1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = r#"{"collective=bcast":{"comm_type=intra":{"algorithm=MPIR_Bcast_intra_binomial":{}},"comm_type=inter":{"algorithm=X":{}}},"collective=allreduce":{"comm_type=intra":{"algorithm=D":{}}},"collective=scan":{"algorithm=S":{}}}"#;

    fn hello(ranks: usize, hosts: usize) -> Hello {
        Hello {
            family: super::super::super::record::Family::Mpich,
            version: "MPICH".into(),
            ranks,
            hosts,
            library: "libmpi.so.12".into(),
        }
    }

    fn library() -> Vec<u8> {
        let posix = r#"{"collective=bcast":{"algorithm=MPIDI_POSIX_mpi_bcast_release_gather":{}}}"#;
        let ch4 = r#"{"collective=bcast":{"composition=MPIDI_Bcast_intra_composition_gamma":{}}}"#;
        format!("ELF\0{posix}\0{OWN}\0{ch4}\0more").into_bytes()
    }

    fn choices(kind: Kind, ranges: &[(Option<u64>, Option<&str>)]) -> Choices {
        let range = |(to, variant): &(Option<u64>, Option<&str>)| Range {
            to: *to,
            variant: variant.map(str::to_string),
        };
        Choices::from([(kind, ranges.iter().map(range).collect())])
    }

    #[test]
    fn the_default_stays_for_other_ranks_and_other_sizes() {
        let chosen = choices(
            Kind::Bcast,
            &[(Some(4096), None), (None, Some("scatter_ring_allgather"))],
        );
        let files = files(&hello(8, 8), &chosen, &library()).unwrap();
        assert_eq!(files.len(), 1);
        let own = r#"{"algorithm=MPIR_Bcast_intra_binomial":{}}"#;
        let ours = r#"{"algorithm=MPIR_Bcast_intra_scatter_ring_allgather":{}}"#;
        let text = format!(
            r#""comm_size<8":{own},"comm_size<=8":{{"avg_msg_size<=4096":{own},"avg_msg_size=any":{ours}}},"comm_size=any":{own}"#
        );
        let printed = files[0].text.replace(['\n', ' '], "");
        assert!(printed.contains(&text), "{printed}");
        assert!(
            printed.contains(r#""comm_type=inter":{"algorithm=X":{}}"#),
            "{printed}"
        );
        assert!(
            printed.contains(r#""collective=scan":{"algorithm=S":{}}"#),
            "{printed}"
        );
    }

    #[test]
    fn what_asks_for_the_communicator_stays_in_front_of_sizes() {
        let own = OWN.replace(
            r#"{"algorithm=MPIR_Bcast_intra_binomial":{}}"#,
            r#"{"comm_size=pow2":{"avg_msg_size=any":{"algorithm=MPIR_Bcast_intra_binomial":{}}},"comm_size=any":{"algorithm=Y":{}}}"#,
        );
        let chosen = choices(
            Kind::Bcast,
            &[(Some(64), None), (None, Some("scatter_ring_allgather"))],
        );
        let files = files(&hello(8, 8), &chosen, (own + "\0").as_bytes()).unwrap();
        let printed = files[0].text.replace(['\n', ' '], "");
        let part = r#""comm_size<=8":{"comm_size=pow2":{"avg_msg_size<=64":{"avg_msg_size=any":"#;
        assert!(printed.contains(part), "{printed}");
        let other = r#""comm_size=any":{"avg_msg_size<=64":{"algorithm=Y":{}},"avg_msg_size=any""#;
        assert!(printed.contains(other), "{printed}");
    }

    #[test]
    fn reductions_leave_to_the_default_what_they_cannot_do() {
        let chosen = choices(Kind::Allreduce, &[(None, Some("ring"))]);
        let files = files(&hello(13, 13), &chosen, &library()).unwrap();
        let printed = files[0].text.replace(['\n', ' '], "");
        for part in [
            r#""is_commutative=no":{"algorithm=D":{}}"#,
            r#""is_op_built_in=no":{"algorithm=D":{}}"#,
            r#""count<pow2":{"algorithm=D":{}},"count=any":{"algorithm=MPIR_Allreduce_intra_ring":{}}"#,
        ] {
            assert!(printed.contains(part), "{part}: {printed}");
        }
    }

    #[test]
    fn what_comes_before_the_tree_of_algorithms_is_written_too() {
        let name = "pipelined_tree:k=1,chunk_size=8192";
        let chosen = choices(Kind::Bcast, &[(None, Some(name))]);
        let names = |ranks, hosts| -> Vec<&str> {
            let files = files(&hello(ranks, hosts), &chosen, &library()).unwrap();
            files.iter().map(|file| file.name).collect()
        };
        assert_eq!(names(4, 1), ["mpich.json", "mpich-posix.json"]);
        assert_eq!(names(4, 4), ["mpich.json"]);
        assert_eq!(names(8, 4), ["mpich.json", "mpich-ch4.json"]);
        let files = files(&hello(8, 4), &chosen, &library()).unwrap();
        let printed = files[0].text.replace(['\n', ' '], "");
        assert!(
            printed.contains(r#""k=1":{},"chunk_size=8192":{}"#),
            "{printed}"
        );
        assert!(super::files(&hello(4, 4), &chosen, b"ELF").is_err());
    }
}
