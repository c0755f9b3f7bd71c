//! Figures of the papers: what each rank holds after each of its steps, compared with what the papers print.

use crate::algorithm::find;
use crate::call::{Call, Collective};
use crate::schedule::{Builder, OpKind, Schedule, Space};
use crate::symbolic::{Observer, Sets, Value, World, run_observed};
use std::format;
use std::string::String;
use std::vec::Vec;

/// The rows of every view, as the run comes by them.
struct Rows<'a> {
    schedules: &'a [Schedule],
    values: Vec<Vec<Vec<Option<Value>>>>,
    texts: Vec<Vec<String>>,
}

impl Rows<'_> {
    fn look(&mut self, rank: u32, items: u32, read: &dyn Fn(Space, u32) -> Value) {
        let schedule = &self.schedules[rank as usize];
        for view in schedule.views.iter().filter(|view| view.items == items) {
            let block = |row: &Option<crate::schedule::Blocks>| row.map(|b| read(b.space, b.first));
            let rows = view.rows.iter().map(block).collect();
            self.values[rank as usize].push(rows);
        }
    }
}

impl Observer for Rows<'_> {
    fn item_done(&mut self, rank: u32, item: u32, _round: u32, read: &dyn Fn(Space, u32) -> Value) {
        self.look(rank, item + 1, read);
    }

    fn finished(&mut self, sets: &Sets) {
        let text = |rows: &Vec<Option<Value>>| cell(rows, sets);
        let of_rank = |views: &Vec<Vec<Option<Value>>>| views.iter().map(text).collect();
        self.texts = self.values.iter().map(of_rank).collect();
    }
}

/// `A-D_0-1`: the rows with the ranks whose contributions are combined in them; `-` if there are none.
fn cell(rows: &[Option<Value>], sets: &Sets) -> String {
    let span = |first: &str, last: &str| match first == last {
        true => String::from(first),
        false => format!("{first}-{last}"),
    };
    let letter = |row: usize| String::from(char::from(b'A' + row as u8));
    let mut words: Vec<String> = Vec::new();
    let mut row = 0;
    while row < rows.len() {
        let Some(value) = rows[row] else {
            row += 1;
            continue;
        };
        let same = |other: &&Option<Value>| other.is_some_and(|o| o.set() == value.set());
        let run = rows[row..].iter().take_while(same).count();
        let ranks: Vec<String> = sets
            .ranges(value)
            .iter()
            .map(|(start, end)| span(&format!("{start}"), &format!("{}", end - 1)))
            .collect();
        let parts = span(&letter(row), &letter(row + run - 1));
        words.push(format!("{parts}_{}", ranks.join("+")));
        row += run;
    }
    if words.is_empty() {
        String::from("-")
    } else {
        words.join(" ")
    }
}

/// For each rank what it holds after each of its steps (not what it starts with).
fn figure(collective: Collective, name: &str, call: Call) -> Vec<Vec<String>> {
    let algorithm = find(collective, name).expect("the algorithm is registered");
    let shape = algorithm.shape(call, "").expect("defaults are right");
    let schedules: Vec<Schedule> = (0..call.ranks)
        .map(|rank| {
            let mut builder: Builder = algorithm.builder(&shape, rank).with_views();
            (algorithm.build)(&mut builder);
            builder.finish()
        })
        .collect();
    let mut rows = Rows {
        schedules: &schedules,
        values: std::vec![Vec::new(); schedules.len()],
        texts: Vec::new(),
    };
    let world = World {
        call: &call,
        schedules: &schedules,
    };
    run_observed(&[world], &mut rows).expect("the laws hold");
    rows.texts
}

/// Steps, as one line.
fn line(steps: &[String]) -> String {
    steps.join("  ")
}

#[test]
fn recursive_halving_as_figure_9_of_thakur() {
    let call = Call::new(Collective::ReduceScatter, 8);
    let figure = figure(Collective::ReduceScatter, "recursive-halving", call);
    assert_eq!(line(&figure[0]), "A-D_0+4  A-B_0+2+4+6  A_0-7");
    assert_eq!(line(&figure[5]), "E-H_1+5  E-F_1+3+5+7  F_0-7");
    assert_eq!(line(&figure[7]), "E-H_3+7  G-H_1+3+5+7  H_0-7");
}

#[test]
fn halving_and_doubling_as_figure_12_of_thakur() {
    let call = Call::new(Collective::Allreduce, 13);
    let figure = figure(Collective::Allreduce, "rabenseifner", call);
    let all = "A-H_0-12";
    assert_eq!(
        line(&figure[0]),
        "A-D_0-1  A-H_0-1  A-D_0-3  A-B_0-7  A_0-12  A-B_0-12  A-D_0-12  A-H_0-12  A-H_0-12"
    );
    assert_eq!(line(&figure[1]), std::format!("E-H_0-1  -  {all}"));
    assert_eq!(figure[2][..2], ["A-D_2-3", "A-H_2-3"]);
    assert_eq!(figure[2][2..5], ["E-H_0-3", "E-F_0-7", "E_0-12"]);
    assert_eq!(figure[3][..2], ["E-H_2-3", "-"]);
    // The last three ranks stand alone and start with the halving.
    assert_eq!(
        figure[12][..3],
        ["E-H_11-12", "G-H_8-12", "H_0-12"].map(String::from)
    );
    assert!(
        figure
            .iter()
            .all(|steps| steps.last().is_some_and(|last| last == all))
    );
}

#[test]
fn binary_blocks_as_figure_13_of_thakur() {
    let call = Call::new(Collective::Allreduce, 13);
    let figure = figure(Collective::Allreduce, "binary-blocks", call);
    assert_eq!(
        line(&figure[0]),
        "A-D_0-1  A-B_0-3  A_0-7  A_0-12  A-B_0-12  A-D_0-12  A-H_0-12"
    );
    assert_eq!(figure[4][..4], ["A-D_4-5", "A-B_4-7", "B_0-7", "B_0-12"]);
    assert_eq!(
        line(&figure[8]),
        "A-D_8-9  A-B_8-11  A-B_8-12  B_8-12  -  A_0-12  A-B_0-12  A-D_0-12  A-H_0-12"
    );
    assert_eq!(
        line(&figure[12]),
        "C-H_12  E-H_12  G-H_12  -  A-D_0-12  A-H_0-12"
    );
    assert!(
        figure
            .iter()
            .all(|steps| steps.last().is_some_and(|last| last == "A-H_0-12"))
    );
}

#[test]
fn an_odd_root_changes_roles_after_the_first_combination() {
    let call = Call {
        root: 3,
        ..Call::new(Collective::Reduce, 13)
    };
    let figure = figure(Collective::Reduce, "rabenseifner", call);
    assert_eq!(figure[2][..], ["A-D_2-3", "-"]);
    assert_eq!(figure[3][..3], ["E-H_2-3", "A-H_2-3", "E-H_0-3"]);
    assert_eq!(figure[3].last().map(String::as_str), Some("A-H_0-12"));
    assert_eq!(figure[0].last().map(String::as_str), Some("-"));
}

/// T 5: "without local copying of data", and here without it in place, too, and in any order of combination.
#[test]
fn the_algorithms_of_section_5_copy_nothing() {
    let (reduce, allreduce) = (Collective::Reduce, Collective::Allreduce);
    for (collective, name, from) in [
        (reduce, "rabenseifner", 2),
        (reduce, "binary-blocks", 2),
        (reduce, "ring", 2),
        (allreduce, "rabenseifner", 2),
        (allreduce, "binary-blocks", 2),
        (allreduce, "ring", 2),
        // Two or three ranks in place have one round, whose only vector to combine in is being sent.
        (allreduce, "recursive-doubling", 4),
    ] {
        let algorithm = find(collective, name).expect("the algorithm is registered");
        for (ranks, in_place) in (from..30).flat_map(|p| [(p, false), (p, true)]) {
            let call = Call {
                in_place,
                root: if collective.rooted() { ranks / 2 } else { 0 },
                ..Call::new(collective, ranks)
            };
            for setting in algorithm.settings {
                let shape = algorithm.shape(call, setting).expect("registered");
                for schedule in algorithm.world(&shape) {
                    let copies = schedule.ops.iter().any(|op| op.kind == OpKind::Copy);
                    assert!(!copies, "{algorithm:?}:{setting} p={ranks} {in_place}");
                }
            }
        }
    }
}

/// T 5.2: "if the number of processes is a power of two, the binary blocks algorithm is identical to the recursive halving and
/// doubling algorithm".
#[test]
fn binary_blocks_of_a_power_of_two_are_halving_and_doubling() {
    for collective in [Collective::Reduce, Collective::Allreduce] {
        let [blocks, halving] =
            ["binary-blocks", "rabenseifner"].map(|name| find(collective, name));
        for call in (0..6).map(|lg| Call::new(collective, 1 << lg)) {
            let world = |algorithm: Option<&crate::algorithm::Algorithm>| {
                let algorithm = algorithm.expect("the algorithm is registered");
                algorithm.world(&algorithm.shape(call, "").expect("defaults are right"))
            };
            assert_eq!(
                world(blocks),
                world(halving),
                "{collective} p={}",
                call.ranks
            );
        }
    }
}
