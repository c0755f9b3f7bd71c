//! Interleavings: what one run decides is so in any order in which ranks, strands and messages go on, and what law 1 refuses
//! because its order is up to chance does come out wrong by chance.

use allhands_core::algorithm;
use allhands_core::call::Call;
use allhands_core::schedule::Layout;
use allhands_core::schedule::text::{Document, parse};
use allhands_core::verify::{lowered, verify_world};
use std::fmt::Write;

/// Of the interleavings `seeds`, those that go wrong.
fn wrong(document: &Document, seeds: u64) -> u64 {
    let run = |seed: &u64| {
        let layout = Layout::regular(document.call.collective, 8);
        lowered::run(&document.call, &document.schedules, &layout, Some(*seed)).is_err()
    };
    (0..seeds).filter(run).count() as u64
}

/// Every registered setting, in place and not, on all nodes and tori, where it has strands or pipelines or windows.
#[test]
fn every_algorithm_is_right_in_any_order() {
    let mut runs = 0;
    for algorithm in algorithm::all() {
        for (setting, ranks) in algorithm.settings.iter().flat_map(|s| [(s, 4), (s, 7)]) {
            let call = Call {
                root: if algorithm.collective.rooted() { 1 } else { 0 },
                ..Call::new(algorithm.collective, ranks)
            };
            let shape = algorithm.shape(call, setting).expect("it is registered");
            for shape in algorithm.everywhere(&shape) {
                let schedules = algorithm.world(&shape);
                let layout = Layout::regular(call.collective, ranks as usize + 1);
                for seed in 0..5 {
                    let went = lowered::run(&shape.call, &schedules, &layout, Some(seed));
                    went.unwrap_or_else(|f| {
                        panic!("{algorithm:?}:{setting} p={ranks} {seed}: {f}")
                    });
                    runs += 1;
                }
            }
        }
    }
    assert!(runs > 1000, "{runs}");
}

#[test]
fn what_shares_a_channel_comes_out_wrong_by_chance() {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../testdata/schedules/broken/"
    );
    for name in [
        "1-strands-share-a-channel",
        "1-strands-share-a-channel-to-receive",
        "1-pipeline-shares-a-channel",
        "5-reads-window-beside-write",
    ] {
        let text = std::fs::read_to_string(format!("{folder}{name}.sched")).expect("it is there");
        let document = parse(&text).expect("it can be read");
        let wrong = wrong(&document, 1000);
        assert!(0 < wrong && wrong < 1000, "{name}: {wrong} of 1000");
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }
}

/// A broadcast of 4 parts from rank 0 by way of rank 1 to rank 2, each part in any strand of each rank and on any channel.
fn relay(random: &mut Random) -> Document {
    const PARTS: usize = 4;
    let mut strands: [[String; 3]; 3] = Default::default();
    strands[0][0].push_str("step { copy in[0..4] into out[0..4] }");
    let mut order: Vec<usize> = (0..PARTS).collect();
    for at in (1..PARTS).rev() {
        order.swap(at, random.below(at as u64 + 1) as usize);
    }
    for part in order {
        let [a, b, c] = [0; 3].map(|_| random.below(3) as usize);
        let [there, on] = [0; 2].map(|_| random.below(6));
        let mut step = |rank: usize, strand: usize, op: String| {
            let done = write!(strands[rank][strand], "step {{ {op} }} ");
            done.expect("writing to a string does not fail");
        };
        step(0, a, format!("send to 1 port 0 channel {there} in[{part}]"));
        step(
            1,
            b,
            format!("recv from 0 port 0 channel {there} into out[{part}]"),
        );
        step(1, b, format!("send to 2 port 0 channel {on} out[{part}]"));
        step(
            2,
            c,
            format!("recv from 1 port 0 channel {on} into out[{part}]"),
        );
    }
    let mut text = format!("call broadcast ranks 3 root 0\nparts {PARTS}\n");
    for (rank, strands) in strands.iter().enumerate() {
        let each = |(number, strand)| format!("strand {number} {{ {strand} }}");
        let strands: String = strands.iter().enumerate().map(each).collect();
        let done = writeln!(text, "rank {rank} {{ {strands} }}");
        done.expect("writing to a string does not fail");
    }
    parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

#[test]
fn one_run_decides_random_schedules() {
    let mut random = Random(7);
    let (mut right, mut shared, mut wrong_by_chance) = (0, 0, 0);
    for _ in 0..2000 {
        let document = relay(&mut random);
        match verify_world(&document.call, &document.schedules, false) {
            Ok(_) => {
                right += 1;
                assert_eq!(wrong(&document, 50), 0, "{document:?}");
            }
            Err(failure) if failure.what.contains(" both ") => {
                shared += 1;
                wrong_by_chance += u32::from(wrong(&document, 50) > 0);
            }
            Err(_) => assert_ne!(wrong(&document, 50), 0, "{document:?}"),
        }
    }
    assert!(
        right > 50 && shared > 50 && wrong_by_chance > 50,
        "{right} {shared} {wrong_by_chance}"
    );
}
