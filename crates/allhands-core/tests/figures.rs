//! The papers' figures, block by block: what a drawn story tells equals tables worked out from the papers' text.

use allhands_core::algorithm;
use allhands_core::call::{Call, Collective};
use allhands_core::draw::{self, DrawError, Story, Style};

/// One figure: its table in `testdata/figures`, the algorithm, its parameters, the number of ranks.
struct Figure {
    file: &'static str,
    table: &'static str,
    collective: Collective,
    name: &'static str,
    parameters: &'static str,
    ranks: u32,
    style: Style,
}

macro_rules! figure {
    ($test:ident, $file:literal, $collective:ident $name:literal $parameters:literal, $ranks:literal, $style:ident) => {
        #[test]
        fn $test() {
            check(&Figure {
                file: $file,
                table: include_str!(concat!("../testdata/figures/", $file, ".txt")),
                collective: Collective::$collective,
                name: $name,
                parameters: $parameters,
                ranks: $ranks,
                style: Style::$style,
            });
        }
    };
}

figure!(t1, "t1-allgather-recursive-doubling-p8", Allgather "recursive-doubling" "", 8, Arcs);
figure!(t2, "t2-allgather-bruck-p6", Allgather "bruck" "", 6, Tables);
figure!(t7, "t7-alltoall-bruck-p6", Alltoall "bruck" "", 6, Tables);
figure!(t9, "t9-reduce-scatter-recursive-halving-p8", ReduceScatter "recursive-halving" "", 8, Arcs);
figure!(t12, "t12-allreduce-rabenseifner-p13", Allreduce "rabenseifner" "", 13, Boxes);
figure!(t13, "t13-allreduce-binary-blocks-p13", Allreduce "binary-blocks" "", 13, Boxes);
figure!(q4, "q4-allgather-standard-exchange-p9-ports2", Allgather "standard-exchange" "ports=2", 9, Arcs);
figure!(q5, "q5-allgather-bruck-p9-ports2", Allgather "bruck" "ports=2", 9, Tables);
figure!(q6, "q6-alltoall-bruck-p9-radix2", Alltoall "bruck" "radix=2", 9, Tables);

fn check(figure: &Figure) {
    let algorithm = algorithm::find(figure.collective, figure.name).unwrap();
    let call = Call::new(figure.collective, figure.ranks);
    let shape = algorithm.shape(call, figure.parameters).unwrap();
    let story = draw::story(algorithm, &shape).unwrap();
    assert_eq!(story.style, figure.style);
    let text = draw::text(&story);
    // The title and the algorithm's own summary are no part of the figure.
    let told = text.lines().skip(2);
    let expected = figure.table.lines().filter(|line| !line.starts_with('#'));
    for (number, (told, expected)) in (1..).zip(told.clone().zip(expected.clone())) {
        assert_eq!(
            told, expected,
            "{}, line {number} of the table",
            figure.file
        );
    }
    assert_eq!(told.count(), expected.count(), "{}", figure.file);
}

fn story(collective: Collective, name: &str, parameters: &str, ranks: u32) -> Story {
    let algorithm = algorithm::find(collective, name).unwrap();
    let shape = algorithm
        .shape(Call::new(collective, ranks), parameters)
        .unwrap();
    draw::story(algorithm, &shape).unwrap()
}

#[test]
fn every_algorithm_can_be_drawn_in_every_style() {
    for algorithm in algorithm::all() {
        for ranks in [1, 2, 5, 8] {
            for setting in algorithm.settings {
                let shape = algorithm
                    .shape(Call::new(algorithm.collective, ranks), setting)
                    .unwrap()
                    .with(algorithm.fabrics());
                if algorithm.admits(&shape).is_err() {
                    continue;
                }
                let story = draw::story(algorithm, &shape).unwrap();
                let pieces = shape.call.pieces((algorithm.parts)(&shape));
                assert_ends_with_the_result(&story, pieces);
                assert!(draw::text(&story).starts_with(&story.title));
                for style in Style::ALL {
                    assert_well_formed(&draw::svg(&story, style));
                }
            }
        }
    }
}

/// In the last table every rank has what the collective promises it, of blocks that are cut in so many pieces.
fn assert_ends_with_the_result(story: &Story, pieces: u32) {
    let all_pieces = (story.ranks * pieces) as usize;
    let whole = match story.ranks {
        1 => String::from("0"),
        ranks => format!("0-{}", ranks - 1),
    };
    let last = story.steps.last().unwrap().tables.last();
    let held = |rank: u32| {
        let rows = last
            .unwrap()
            .rows
            .iter()
            .map(move |row| &row[rank as usize]);
        rows.filter(|cell| cell.unit.is_some())
    };
    for rank in 0..story.ranks {
        match story.collective {
            Collective::Barrier => assert!(last.is_none()),
            Collective::Allgather | Collective::Alltoall => {
                assert_eq!(held(rank).count(), all_pieces, "{}", story.title);
            }
            Collective::Allreduce => {
                assert_eq!(
                    held(rank).count(),
                    last.unwrap().rows.len(),
                    "{}",
                    story.title
                );
                assert!(
                    held(rank).all(|cell| cell.ranks == whole),
                    "{}",
                    story.title
                );
            }
            Collective::ReduceScatter => {
                let own = |cell: &draw::Cell| cell.unit == Some(rank.into()) && cell.ranks == whole;
                assert!(held(rank).any(own), "{}", story.title);
            }
            Collective::Broadcast => assert!(held(rank).count() > 0, "{}", story.title),
            Collective::Scatter => {
                let units: Vec<_> = held(rank).filter_map(|cell| cell.unit).collect();
                let mut own = u64::from(rank * pieces)..u64::from((rank + 1) * pieces);
                assert!(own.all(|unit| units.contains(&unit)), "{}", story.title);
            }
            Collective::Gather if rank == 0 => {
                assert_eq!(held(rank).count(), all_pieces, "{}", story.title);
            }
            Collective::Reduce if rank == 0 => {
                assert!(
                    held(rank).all(|cell| cell.ranks == whole),
                    "{}",
                    story.title
                );
            }
            Collective::Gather | Collective::Reduce | Collective::Scan | Collective::Exscan => {}
        }
    }
}

/// Elements open and close, and nothing stands outside of the picture.
fn assert_well_formed(svg: &str) {
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
    let mut open = Vec::new();
    for element in svg.split('<').skip(1) {
        let (tag, _) = element.split_once('>').unwrap();
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') {
            open.push(tag.split(' ').next().unwrap());
        }
    }
    assert!(open.is_empty());
}

#[test]
fn only_a_fold_is_overhead() {
    let overhead = |story: &Story| -> Vec<Vec<usize>> {
        let of_step = |step: &draw::Step| {
            let ranks = step.overhead.iter().enumerate();
            ranks
                .filter(|(_, does)| **does)
                .map(|(rank, _)| rank)
                .collect()
        };
        story.steps.iter().map(of_step).collect()
    };
    let folded = overhead(&story(Collective::Allreduce, "rabenseifner", "", 13));
    let pairs: Vec<usize> = (0..10).collect();
    for (step, ranks) in folded.iter().enumerate() {
        let expected = if [1, 2, 9].contains(&step) {
            pairs.clone()
        } else {
            Vec::new()
        };
        assert_eq!(*ranks, expected, "step {step}");
    }
    for (name, ranks) in [("binary-blocks", 13), ("rabenseifner", 8), ("ring", 6)] {
        let story = story(Collective::Allreduce, name, "", ranks);
        assert!(overhead(&story).iter().all(Vec::is_empty), "{name}");
    }
    for ranks in 3..20 {
        let story = story(Collective::Reduce, "binomial", "", ranks);
        assert!(
            overhead(&story).iter().all(Vec::is_empty),
            "a tree does not fold"
        );
    }
}

#[test]
fn what_is_too_large_is_named() {
    let error = |name, parameters, ranks| {
        let algorithm = algorithm::find(Collective::Broadcast, name).unwrap();
        let shape = algorithm
            .shape(Call::new(Collective::Broadcast, ranks), parameters)
            .unwrap();
        draw::story(algorithm, &shape).unwrap_err()
    };
    let ranks = error("binomial", "", 33);
    assert_eq!(
        ranks,
        DrawError::TooLarge {
            what: "ranks",
            found: 33,
            limit: 32
        }
    );
    assert_eq!(
        ranks.to_string(),
        "a picture has at most 32 ranks, not 33; draw a smaller call"
    );
    let parts = error("pipelined-chain", "segments=65", 4);
    assert_eq!(
        parts,
        DrawError::TooLarge {
            what: "parts",
            found: 65,
            limit: 64
        }
    );
    let none = error("binomial", "", 0);
    assert!(matches!(none, DrawError::Unsuitable(_)));
}
