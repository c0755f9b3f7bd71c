//! Times on Cells, exactly: of single transfers, of such that share a way and such that do not, and of many.

use super::*;
use crate::algorithm;
use crate::call::{Call, Collective};
use crate::machine::Nodes;
use crate::schedule::{Layout, Plan};
use crate::simulate::simulate;
use alloc::vec::Vec;

const ISSUE_PS: u64 = 12_500;
const MFC_PS: u64 = 10_000;
const COMMAND_PS: u64 = 30_000;
const DELIVER_PS: u64 = 40_000;
const CYCLE_PS: u64 = 625;
const BIF_COMMAND_PS: u64 = 150_000;
const BIF_LATENCY_PS: u64 = 20_000;
/// 20 GB/s.
const BIF_BYTE_FS: u64 = 50_000;
/// Of a request of 128 bytes on a ring.
const REQUEST_PS: u64 = 8 * CYCLE_PS;

fn linear(fixed_ps: u64, per_byte_fs: u64) -> Linear {
    Linear {
        fixed_ps,
        per_byte_fs,
    }
}

fn hardware() -> Hardware {
    Hardware {
        chips: 2,
        cycle_ps: CYCLE_PS,
        mfc_ps: MFC_PS,
        command_ps: COMMAND_PS,
        deliver_ps: DELIVER_PS,
        outstanding: 16,
        bif_command_ps: BIF_COMMAND_PS,
        bif_latency_ps: BIF_LATENCY_PS,
        bif: linear(0, BIF_BYTE_FS),
        processor: Processor {
            send: linear(ISSUE_PS, 0),
            ..Processor::default()
        },
        levels: Vec::new(),
    }
}

/// When each of these messages (kind, from, to, bytes) arrives that are given to the network at once.
fn arrivals_on(cell: &mut Cell, messages: &[(Kind, u32, u32, u64)]) -> Vec<Moment> {
    let mut queue = Queue::default();
    for (number, (kind, from, to, bytes)) in messages.iter().copied().enumerate() {
        let number = number as u32;
        let envelope = Envelope {
            number,
            from,
            to,
            bytes,
            kind,
            carrier: None,
            port: 0,
            agreement: false,
            exchanged: false,
        };
        cell.send(0, envelope, &mut queue);
    }
    let mut arrivals = vec![Moment::MAX; messages.len()];
    while let Some(event) = queue.pop() {
        match event {
            Event::Arrived(number) => arrivals[number as usize] = queue.now_ps(),
            Event::Inside(event) => cell.happen(event, &mut queue),
            Event::Sent(_) | Event::Wake(_) => {}
        }
    }
    arrivals
}

fn arrivals(messages: &[(Kind, u32, u32, u64)]) -> Vec<Moment> {
    arrivals_on(&mut Cell::new(16, hardware()), messages)
}

/// A DMA of up to 128 bytes over so many hops, from when its command is issued.
const fn short_ps(bytes: u64, hops: u64) -> u64 {
    MFC_PS + COMMAND_PS + bytes.div_ceil(16) * CYCLE_PS + hops * CYCLE_PS + DELIVER_PS
}

#[test]
fn a_notification_is_a_put_of_16_bytes() {
    // From SPE 0 to SPE 2 is one hop, from SPE 1 to SPE 6 are six.
    assert_eq!(arrivals(&[(Kind::Notice, 0, 2, 0)]), [short_ps(16, 1)]);
    assert_eq!(arrivals(&[(Kind::Message, 1, 6, 0)]), [short_ps(16, 6)]);
    assert_eq!(arrivals(&[(Kind::Put, 0, 2, 3)]), [short_ps(16, 1)]);
    assert_eq!(arrivals(&[(Kind::Put, 0, 2, 100)]), [short_ps(112, 1)]);
}

#[test]
fn a_message_is_an_address_the_data_and_an_acknowledgement() {
    let notification = short_ps(16, 1);
    let data = short_ps(128, 1);
    assert_eq!(
        arrivals(&[(Kind::Message, 0, 2, 128)]),
        [notification + ISSUE_PS + data + ISSUE_PS + notification]
    );
}

#[test]
fn a_get_is_one_command() {
    // The request is part of the command, which the controller of the one who gets works at.
    assert_eq!(arrivals(&[(Kind::Request, 2, 0, 0)]), [0]);
    assert_eq!(arrivals(&[(Kind::Answer, 0, 2, 128)]), [short_ps(128, 1)]);
}

#[test]
fn a_long_transfer_fills_its_ports() {
    // The first request takes its whole way; the others follow one behind another.
    let requests = 16 * 1024 / 128;
    let long = short_ps(128, 1) + (requests - 1) * REQUEST_PS;
    assert_eq!(arrivals(&[(Kind::Put, 0, 2, 16 << 10)]), [long]);
    // Twice as much is two commands; the second is there long before the first is over.
    let longer = long + requests * REQUEST_PS;
    assert_eq!(arrivals(&[(Kind::Put, 0, 2, 32 << 10)]), [longer]);
}

#[test]
fn transfers_share_a_segment_only_where_two_rings_do_not_suffice() {
    let long = |hops| short_ps(128, hops) + 127 * REQUEST_PS;
    // Neighbours on either side of the ring: no segment in common. The second is behind the first on the command bus.
    let apart = [(Kind::Put, 0, 2, 16 << 10), (Kind::Put, 1, 3, 16 << 10)];
    let starts = arrivals(&apart);
    assert_eq!(starts[0], long(1));
    assert!(starts[1] <= long(1) + 16 * CYCLE_PS, "{starts:?}");
    // 0, 2 and 4 send over the segment between SPE 4 and SPE 6 (10, 9, 8 to 7, 4 and 3): three ways for two rings.
    let shared = [
        (Kind::Put, 0, 6, 16 << 10),
        (Kind::Put, 2, 7, 16 << 10),
        (Kind::Put, 4, 5, 16 << 10),
    ];
    let two = arrivals(&shared[..2]);
    assert!(
        two.iter().all(|at| *at < long(5) + 16 * CYCLE_PS),
        "{two:?}"
    );
    let three = arrivals(&shared);
    let last = three.iter().max().expect("there are three");
    // 3 transfers on 2 rings take half as long again, after the first request's way.
    let busy = last - short_ps(128, 5);
    let expected = 127 * REQUEST_PS * 3 / 2;
    assert!(busy.abs_diff(expected) < expected / 20, "{busy} {expected}");
}

#[test]
fn who_finds_no_ring_waits_for_the_first_to_end() {
    // The command bus takes one request a cycle, so each is a cycle behind the one before.
    let both = [(Kind::Put, 0, 6, 128), (Kind::Put, 2, 7, 128)];
    let two = [short_ps(128, 3), short_ps(128, 5) + CYCLE_PS];
    assert_eq!(arrivals(&both), two);
    // The third goes over a segment of both, in the same direction: it starts when the first is over.
    let shares = (Kind::Put, 4, 5, 128);
    let waits = [two[0], two[1], short_ps(128, 5) + REQUEST_PS];
    assert_eq!(arrivals(&[both[0], both[1], shares]), waits);
    // One elsewhere waits for nobody, and has its turn on the command bus before SPE 2.
    let apart = (Kind::Put, 1, 3, 128);
    let free = [two[0], two[1] + CYCLE_PS, short_ps(128, 1) + CYCLE_PS];
    assert_eq!(arrivals(&[both[0], both[1], apart]), free);
}

#[test]
fn a_port_is_shared_by_turns() {
    // All other SPEs get a kilobyte from SPE 0: its port sends 7 KB, and all are done near the end, by their turns.
    let gets: Vec<_> = (1..8).map(|spe| (Kind::Answer, 0, spe, 1024)).collect();
    let arrivals = arrivals(&gets);
    let (first, last) = (arrivals.iter().min(), arrivals.iter().max());
    let end = short_ps(128, 0) + 55 * REQUEST_PS;
    assert!(last.is_some_and(|at| (end..end + 7 * REQUEST_PS).contains(at)));
    assert!(first.is_some_and(|at| *at > end - 8 * REQUEST_PS));
}

#[test]
fn the_bus_carries_eight_ports_and_no_more() {
    // Every SPE sends 16 KB to a neighbour and receives as much: 8 × 25.6 GB/s, which is also what the command bus lets
    // through, a request a cycle.
    let pairs = [
        (0, 2),
        (2, 0),
        (4, 6),
        (6, 4),
        (1, 3),
        (3, 1),
        (5, 7),
        (7, 5),
    ];
    let puts = pairs.map(|(from, to)| (Kind::Put, from, to, 16 << 10));
    let last = arrivals(&puts).into_iter().max().expect("there are eight");
    let bytes = 8 * (16 << 10);
    let least = short_ps(128, 1) + 127 * REQUEST_PS;
    assert!(
        (least..least + 8 * CYCLE_PS).contains(&last),
        "{last} {least}"
    );
    // In GB/s, the start included.
    assert_eq!(bytes * 1000 / last, 180);
    assert_eq!(bytes * 1000 / (last - short_ps(128, 1)), 205);
}

#[test]
fn a_transfer_to_the_other_chip_crosses_two_buses() {
    // From SPE 6 and to SPE 7, of the other chip, the BIF is a hop and two hops away.
    let bus = 8 * CYCLE_PS;
    let crossing = MFC_PS + BIF_COMMAND_PS + bus + CYCLE_PS + 6400 + BIF_LATENCY_PS;
    let there = crossing + bus + 2 * CYCLE_PS + DELIVER_PS;
    assert_eq!(arrivals(&[(Kind::Put, 6, 15, 128)]), [there]);
    assert_eq!(arrivals(&[(Kind::Answer, 6, 15, 128)]), [there]);
}

/// Streams as C 3.3 counts them: BIF-1 is a message, BIF-2 one each way, and so on in turn.
fn bif_ps(streams: u32, bytes: u64) -> Moment {
    let get = |i: u32| match i % 2 {
        0 => (Kind::Answer, i / 2, 8 + i / 2, bytes),
        _ => (Kind::Answer, 8 + i / 2, i / 2, bytes),
    };
    let gets: Vec<_> = (0..streams).map(get).collect();
    arrivals(&gets).into_iter().max().expect("there are some")
}

#[test]
fn two_streams_cross_freely_and_a_third_does_not() {
    let percent = |streams, bytes| (bif_ps(streams, bytes) * 100).div_ceil(bif_ps(1, bytes)) - 100;
    for bytes in [16, 256, 2048, 16384, 32768] {
        assert!(percent(2, bytes) <= 1, "{bytes}");
    }
    assert_eq!(
        [16, 256, 1024, 2048].map(|bytes| percent(3, bytes)),
        [1, 6, 19, 31]
    );
    assert_eq!(
        [16, 256, 2048, 16384].map(|bytes| percent(16, bytes)),
        [3, 36, 213, 247]
    );
}

#[test]
fn many_streams_fill_the_bif() {
    let busy_ps = 8 * 16384 * BIF_BYTE_FS / 1000;
    let all = bif_ps(16, 16384);
    assert!(
        (busy_ps..busy_ps * 105 / 100).contains(&all),
        "{all} {busy_ps}"
    );
    // One alone has 16 requests under way at a time, which does not.
    let one = bif_ps(1, 16384);
    assert!(
        (busy_ps * 2 / 8..busy_ps * 3 / 8).contains(&one),
        "{one} {busy_ps}"
    );
}

#[test]
fn what_is_sent_between_two_ranks_arrives_in_order() {
    let messages = [
        (Kind::Put, 0, 1, 32 << 10),
        (Kind::Notice, 0, 1, 0),
        (Kind::Message, 2, 1, 0),
        (Kind::Message, 0, 1, 500),
    ];
    let arrivals = arrivals(&messages);
    assert!(
        arrivals[0] <= arrivals[1] && arrivals[1] <= arrivals[3],
        "{arrivals:?}"
    );
    assert!(arrivals[2] < arrivals[0], "{arrivals:?}");
}

#[test]
fn messages_between_blades_go_by_the_levels() {
    let level = Level {
        ranks: 16,
        latency_ps: 1_000_000,
        gap: linear(100_000, 1000),
        to_helper: false,
    };
    let levels = Vec::from([level]);
    let mut cell = Cell::new(
        32,
        Hardware {
            levels,
            ..hardware()
        },
    );
    let messages = [(Kind::Message, 3, 20, 1000), (Kind::Message, 3, 4, 0)];
    let there = 1_000_000 + 100_000 + 1000;
    assert_eq!(
        arrivals_on(&mut cell, &messages),
        [there, short_ps(16, 9 - 8 + 5)]
    );
}

#[test]
fn the_same_calls_take_the_same_time() {
    let messages: Vec<_> = (0..16)
        .flat_map(|a| (0..16).map(move |b| (Kind::Message, a, b, u64::from(a * 97 + b))))
        .filter(|(_, a, b, _)| a != b)
        .collect();
    let first = arrivals(&messages);
    assert!(first.iter().all(|at| *at < Moment::MAX));
    assert_eq!(first, arrivals(&messages));
}

/// Windows, gets and notifications of all algorithms, inside a blade and between blades.
#[test]
fn every_algorithm_ends_and_always_alike() {
    let level = Level {
        ranks: 16,
        latency_ps: 1_000_000,
        gap: linear(100_000, 1000),
        to_helper: false,
    };
    for algorithm in algorithm::all() {
        for ranks in [5, 12, 20] {
            let shape = algorithm.shape(Call::new(algorithm.collective, ranks), "");
            let nodes = Nodes::samples(ranks).pop().expect("there is one");
            let shape = shape.expect("the default is right").on(nodes);
            if algorithm.admits(&shape).is_err() {
                continue;
            }
            let layout = Layout::regular(algorithm.collective, 100);
            let lower = |s| Plan::lower(s, &shape.call, &layout, 8).expect("it can be lowered");
            let plans: Vec<Plan> = algorithm.world(&shape).iter().map(lower).collect();
            let run = || {
                let levels = Vec::from([level]);
                let mut cell = Cell::new(
                    ranks,
                    Hardware {
                        levels,
                        ..hardware()
                    },
                );
                let outcome = simulate(&plans, &mut cell);
                let outcome = outcome.unwrap_or_else(|e| panic!("{algorithm:?} {ranks}: {e}"));
                assert!(cell.inbound.iter().all(Vec::is_empty), "{algorithm:?}");
                outcome
            };
            assert_eq!(run(), run(), "{algorithm:?} {ranks}");
        }
    }
}

/// C 6.1: the PPEs have a barrier among themselves, so that between its rounds nothing goes down to an SPE and up again.
#[test]
fn helpers_exchange_in_a_barrier() {
    let level = |to_helper, latency_ps, fixed_ps| Level {
        ranks: 16,
        latency_ps,
        gap: linear(fixed_ps, 0),
        to_helper,
    };
    let levels = Vec::from([
        level(true, 500_000, 200_000),
        level(false, 30_000_000, 5_000_000),
    ]);
    // By helpers and by ranks alone, on four blades.
    let times = |collective| {
        let algorithm = algorithm::find(collective, "hierarchical").expect("it is there");
        let shape = algorithm.shape(Call::new(collective, 64), "");
        let shape = shape.expect("the default is right").on(Nodes::even(4, 16));
        let layout = Layout::regular(collective, 100);
        let lower = |s| Plan::lower(s, &shape.call, &layout, 8).expect("it can be lowered");
        let plans: Vec<Plan> = algorithm.world(&shape).iter().map(lower).collect();
        let levels = levels.clone();
        let hardware = Hardware {
            levels,
            ..hardware()
        };
        let mut alone = Cell::new(64, hardware);
        let mut helped = alone.clone().with_helpers(&plans);
        let ps = |cell: &mut Cell| simulate(&plans, cell).expect("it ends").completion_ps();
        [ps(&mut helped), ps(&mut alone)]
    };
    let [helped, alone] = times(Collective::Barrier);
    assert_eq!(alone - helped, 2 * (500_000 + 200_000));
    // Data is not for helpers.
    let [helped, alone] = times(Collective::Allreduce);
    assert_eq!(alone, helped);
}
