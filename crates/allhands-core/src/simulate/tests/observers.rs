//! Those who look on: what is recorded, what is checked, and that nothing else changes.

use super::super::*;
use super::{hockney, hockneys, named, plans};
use crate::algorithm;
use crate::call::{Call, Collective};
use crate::machine::Nodes;
use crate::schedule::Layout;
use alloc::vec;
use alloc::vec::Vec;

/// Every algorithm's results are right as they are simulated, and looking on changes nothing.
#[test]
fn every_algorithm_brings_its_results_in_virtual_time() {
    for algorithm in algorithm::all() {
        for setting in algorithm.settings {
            for ranks in [1, 2, 5, 8] {
                let shape = algorithm.shape(Call::new(algorithm.collective, ranks), setting);
                let shape = shape.expect("a registered setting is right");
                let nodes = Nodes::samples(ranks).pop().expect("there is one");
                let shape = shape.on(nodes);
                if algorithm.admits(&shape).is_err() {
                    continue;
                }
                let (call, plans) = (shape.call, plans(algorithm, &shape, 9));
                let layout = Layout::regular(call.collective, 9);
                let parts = |rank| algorithm.schedule(&shape, rank).parts;
                let parts: Vec<u32> = (0..ranks).map(parts).collect();
                let checker = Checker::new(&call, &parts, &plans, &layout);
                let mut both = (checker, Recorder::new(1 << 20));
                let outcome = simulate_observed(&plans, &mut hockneys(ranks), &mut both);
                assert_eq!(outcome, Ok(hockney(&plans)), "{algorithm:?}:{setting}");
                let right = both.0.finish(&call, &parts, &layout);
                right.unwrap_or_else(|failure| panic!("{algorithm:?}:{setting}: {failure}"));
                let messages = outcome.map(|outcome| outcome.messages);
                assert_eq!(messages, Ok(both.1.messages().len() as u64));
            }
        }
    }
}

/// With more ranks than there are bits.
#[test]
fn many_ranks_are_checked_by_sums() {
    let ranks = 100;
    for broken in [false, true] {
        let mut plans = named(Collective::Allreduce, "recursive-doubling", ranks, 3);
        let algorithm =
            algorithm::find(Collective::Allreduce, "recursive-doubling").expect("it is there");
        let call = Call::new(Collective::Allreduce, ranks);
        let shape = algorithm.shape(call, "").expect("the default is right");
        let layout = Layout::regular(Collective::Allreduce, 3);
        let parts: Vec<u32> = (0..ranks)
            .map(|rank| algorithm.schedule(&shape, rank).parts)
            .collect();
        if broken {
            // Rank 7 copies from elsewhere than it should.
            let extent = &mut plans[7].extents[0];
            extent.offset = (extent.offset + 8) % 16;
            extent.bytes = 8;
        }
        let mut checker = Checker::new(&call, &parts, &plans, &layout);
        simulate_observed(&plans, &mut hockneys(ranks), &mut checker).expect("it ends");
        assert_eq!(checker.finish(&call, &parts, &layout).is_err(), broken);
    }
}

#[test]
fn a_record_says_what_is_done_and_what_is_waited_for() {
    let plans = named(Collective::Broadcast, "binomial", 2, 10);
    let linear = |fixed_ps, per_byte_fs| Linear {
        fixed_ps,
        per_byte_fs,
    };
    let processor = Processor {
        send: linear(100, 0),
        receive: linear(70, 0),
        ..Processor::default()
    };
    let mut network = Flat::new(2, 1000, linear(10, 1000), processor);
    network.watch(Watch::Sums);
    let mut recorder = Recorder::new(100);
    let outcome = simulate_observed(&plans, &mut network, &mut recorder).expect("it ends");
    let works: Vec<_> = recorder
        .works()
        .iter()
        .filter(|work| work.to_ps > work.from_ps)
        .map(|work| (work.rank, work.from_ps, work.to_ps, work.what))
        .collect();
    let (sends, receives) = (
        Work::Send { to: 1, bytes: 80 },
        Work::Receive { from: 0, bytes: 80 },
    );
    assert_eq!(works, [(0, 0, 100, sends), (1, 1190, 1260, receives)]);
    let [message] = recorder.messages() else {
        panic!("one message")
    };
    assert_eq!((message.sent_ps, message.arrived_ps), (100, 1190));
    let waits: Vec<_> = recorder
        .waits(&outcome.ends_ps)
        .iter()
        .map(|wait| (wait.rank, wait.from_ps, wait.to_ps))
        .collect();
    // Rank 0 until its memory is free again, rank 1 for the message.
    assert_eq!(waits, [(0, 100, 190), (1, 0, 1190)]);
    assert!(!recorder.is_full());
    let links = network.links();
    let busy: Vec<_> = links
        .iter()
        .map(|link| (link.name.as_str(), link.load.busy_ps))
        .collect();
    let expected = [
        ("rank 0 out", 90),
        ("rank 0 in", 0),
        ("rank 1 out", 0),
        ("rank 1 in", 90),
    ];
    assert_eq!(busy, expected);
    let mut short = Recorder::new(2);
    let mut network = hockneys(2);
    simulate_observed(&plans, &mut network, &mut short).expect("it ends");
    assert!(short.is_full());
    assert_eq!(network.links(), vec![]);
}
