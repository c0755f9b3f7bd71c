//! The torus: times to the picosecond, bandwidths, and that everything arrives.

use super::*;
use crate::algorithm;
use crate::call::{Call, Collective};
use crate::machine::Torus;
use crate::schedule::{Layout, Plan};
use crate::simulate::{Kind, Linear, simulate};
use alloc::vec;
use alloc::vec::Vec;

const CHUNK_PS: u64 = 194_805;
const HOP_PS: u64 = 90_000;
const INJECT_PS: u64 = 100_000;
const TAKE_PS: u64 = 200_000;

fn fixed(fixed_ps: u64) -> Linear {
    Linear {
        fixed_ps,
        per_byte_fs: 0,
    }
}

fn settings(sizes: [u32; 3], wraps: bool) -> TorusSettings {
    TorusSettings {
        torus: Torus::new(sizes, [wraps; 3]).expect("it is small enough"),
        ranks_per_node: 1,
        chunk_ps: CHUNK_PS,
        hop_ps: HOP_PS,
        packet_bytes: 256,
        header_bytes: 16,
        buffer_bytes: 1024,
        injection_queues: 6,
        injection_bytes: 1024,
        reception_bytes: 1024,
        adaptive: true,
        packets_a_turn: 2,
        inject: fixed(INJECT_PS),
        take: fixed(TAKE_PS),
        send: Beginning::default(),
        receive: Beginning::default(),
        copy: fixed(0),
        reduce: fixed(0),
        match_ps: 0,
        agreement: [Beginning::default(); 2],
        start_ps: 0,
        tree: None,
        interrupt_ps: None,
    }
}

/// Sends all messages, (from, to, bytes), at once; gives when each arrived, in the order in which they arrived.
fn run(settings: TorusSettings, messages: &[(u32, u32, u64)]) -> Vec<(usize, Moment)> {
    run_carried(settings, messages, |_| None)
}

/// The same; some are left behind by the packets of others.
fn run_carried(
    settings: TorusSettings,
    messages: &[(u32, u32, u64)],
    carrier: impl Fn(u32) -> Option<u32>,
) -> Vec<(usize, Moment)> {
    run_on(&mut network(settings), messages, carrier)
}

fn network(settings: TorusSettings) -> TorusNetwork {
    TorusNetwork::new(settings, settings.ranks() as u32).expect("there is such a torus")
}

fn run_on(
    torus: &mut TorusNetwork,
    messages: &[(u32, u32, u64)],
    carrier: impl Fn(u32) -> Option<u32>,
) -> Vec<(usize, Moment)> {
    let mut queue: Queue<Signal> = Queue::default();
    let mut sent = 0;
    for (number, &(from, to, bytes)) in (0..).zip(messages) {
        let message = Envelope {
            number,
            from,
            to,
            bytes,
            kind: Kind::Message,
            carrier: carrier(number),
            port: 0,
            agreement: false,
            exchanged: false,
        };
        sent += usize::from(torus.send(0, message, &mut queue).is_some());
    }
    let mut arrived = Vec::new();
    while let Some(event) = queue.pop() {
        match event {
            Event::Inside(step) => torus.happen(step, &mut queue),
            Event::Arrived(number) => arrived.push((number as usize, queue.now_ps())),
            Event::Sent(_) => sent += 1,
            Event::Wake(_) => {}
        }
    }
    assert_eq!(sent, messages.len());
    arrived
}

/// Each message once, those between the same two ranks in order.
fn all_in_order(messages: &[(u32, u32, u64)], arrived: &[(usize, Moment)]) {
    let mut numbers: Vec<usize> = arrived.iter().map(|(number, _)| *number).collect();
    let mut order: Vec<_> = numbers
        .iter()
        .map(|n| (messages[*n].0, messages[*n].1, *n))
        .collect();
    order.sort_by_key(|(from, to, _)| (*from, *to));
    assert!(order.is_sorted(), "messages of a pair overtook each other");
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..messages.len()), "not each once");
}

/// Numbers that look as if by chance.
fn chances() -> impl FnMut(u32) -> u32 {
    let mut seed = 7_u64;
    move |below| {
        seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (seed >> 33) as u32 % below
    }
}

#[test]
fn a_packet_takes_what_its_way_takes() {
    for hops in 1..8 {
        // 16 bytes and the header are a chunk; 240 and the header are eight.
        for (bytes, chunks) in [(0, 1), (16, 1), (17, 2), (240, 8)] {
            let arrived = run(settings([8, 1, 1], false), &[(0, hops, bytes)]);
            let time_ps = INJECT_PS + u64::from(hops) * HOP_PS + chunks * CHUNK_PS + TAKE_PS;
            assert_eq!(arrived, [(0, time_ps)]);
        }
    }
    let corner = run(settings([4, 4, 4], true), &[(0, 63, 16)]);
    assert_eq!(corner[0].1, INJECT_PS + 3 * HOP_PS + CHUNK_PS + TAKE_PS);
}

#[test]
fn a_long_message_goes_at_the_rate_of_a_link() {
    let packets = 1000;
    let arrived = run(settings([4, 1, 1], false), &[(0, 3, 240 * packets)]);
    let time_ps = INJECT_PS + 3 * HOP_PS + packets * 8 * CHUNK_PS + TAKE_PS;
    assert_eq!(arrived, [(0, time_ps)]);
    // Where the sender's processor is slower than a link, at its rate.
    let mut slow = settings([4, 1, 1], false);
    slow.inject = fixed(2_000_000);
    let arrived = run(slow, &[(0, 3, 240 * packets)]);
    let time_ps = packets * 2_000_000 + 3 * HOP_PS + 8 * CHUNK_PS + TAKE_PS;
    assert_eq!(arrived, [(0, time_ps)]);
}

/// B 5.3's bisection: on a line of 8 nodes, 16 pairs of halves share one link each way.
/// Two packets of 240 and 10 bytes of payload, over two links.
#[test]
fn links_tell_what_they_carried() {
    let mut torus = network(settings([3, 1, 1], false));
    torus.watch(Watch::Sums);
    run_on(&mut torus, &[(0, 2, 250)], |_| None);
    let links = torus.links();
    let names: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(names, ["0,0,0 +x", "1,0,0 +x", "1,0,0 -x", "2,0,0 -x"]);
    for (link, packets) in links.iter().zip([2, 2, 0, 0]) {
        let chunks = if packets > 0 { 8 + 1 } else { 0 };
        assert_eq!(link.load.messages, packets, "{}", link.name);
        assert_eq!(link.load.busy_ps, chunks * CHUNK_PS, "{}", link.name);
        assert_eq!(link.load.bytes, chunks * 32, "{}", link.name);
    }
}

#[test]
fn a_bisection_is_nearly_full() {
    for (wraps, links) in [(false, 1), (true, 2)] {
        let mut messages = Vec::new();
        for from in 0..8 {
            messages.extend((0..8).filter(|to| *to != from).map(|to| (from, to, 24_000)));
        }
        let arrived = run(settings([8, 1, 1], wraps), &messages);
        all_in_order(&messages, &arrived);
        let end_ps = arrived.last().expect("they arrive").1;
        let least_ps = 16 * 100 * 8 * CHUNK_PS / links;
        let part = least_ps as f64 / end_ps as f64;
        assert!((0.85..=1.0).contains(&part), "{part}");
    }
}

/// Of an alltoall, y is full and x and z are half full. A link that serves buffers in turn, however long, has packets that turn
/// into y starve those that are on it: 72 % of the bisection then, and 80 % where it serves the longest.
#[test]
fn who_goes_straight_on_does_not_starve() {
    let (settings, packets) = (settings([4, 8, 4], true), 8);
    let nodes = settings.ranks() as u32;
    let mut chance = chances();
    let mut order: Vec<u32> = (0..nodes).collect();
    order.sort_by_cached_key(|_| chance(1 << 30));
    let mut messages = Vec::new();
    for from in 0..nodes {
        let to = (0..nodes).map(|turn| order[((from + turn) % nodes) as usize]);
        let others = to.filter(|to| *to != from);
        messages.extend(others.map(|to| (from, to, 240 * packets)));
    }
    let arrived = run(settings, &messages);
    all_in_order(&messages, &arrived);
    let end_ps = arrived.last().expect("they arrive").1;
    let least_ps = u64::from(nodes) * packets * 8 * CHUNK_PS;
    let part = least_ps as f64 / end_ps as f64;
    assert!((0.75..1.0).contains(&part), "{part}");
}

#[test]
fn loaded_small_tori_do_not_lock() {
    let mut chance = chances();
    for sizes in [[4, 1, 1], [3, 3, 1], [4, 4, 2], [2, 3, 5]] {
        for (wraps, packets) in [(false, 1), (true, 2), (true, 3)] {
            for adaptive in [false, true] {
                let mut tight = settings(sizes, wraps);
                tight.adaptive = adaptive;
                tight.buffer_bytes = packets * 256;
                (tight.injection_bytes, tight.reception_bytes) = (256, 256);
                tight.take = fixed(500_000);
                let nodes = tight.ranks() as u32;
                let any = |_| (chance(nodes), chance(nodes), u64::from(chance(3000)));
                let mut messages: Vec<_> = (0..600).map(any).collect();
                // All the way round every ring, and packets of all lengths.
                let step = nodes / 2;
                messages.extend((0..nodes).map(|from| (from, (from + step) % nodes, 5000)));
                let arrived = run(tight, &messages);
                all_in_order(&messages, &arrived);
                assert_eq!(arrived, run(tight, &messages));
            }
        }
    }
}

#[test]
fn what_begins_a_message_is_paid_once() {
    let begins = |fixed_ps| Beginning {
        fixed_ps,
        short_bytes: 64,
        short_byte_fs: 30_000,
        first_bytes: 480,
        byte_fs: 10_000,
    };
    let of = |bytes| begins(1000).of(bytes);
    assert_eq!(
        [0, 64, 480, 10_000].map(of),
        [1000, 2920, 2920 + 4160, 2920 + 4160]
    );
    let mut machine = settings([4, 1, 1], false);
    (machine.send, machine.receive) = (begins(1000), begins(7000));
    let without = run(settings([4, 1, 1], false), &[(0, 3, 240)])[0].1;
    let with = run(machine, &[(0, 3, 240)])[0].1;
    assert_eq!(with - without, 2 * (1920 + 1760) + 8000);
}

#[test]
fn two_ranks_of_a_node_share_its_links() {
    let mut double = settings([4, 1, 1], false);
    double.ranks_per_node = 2;
    let bytes = 240 * 100;
    let arrived = run(double, &[(0, 6, bytes), (1, 7, bytes), (0, 1, 5)]);
    assert_eq!(arrived[0], (2, 0));
    let least_ps = 200 * 8 * CHUNK_PS;
    assert!((least_ps..least_ps + 4_000_000).contains(&arrived[2].1));
}

#[test]
fn messages_take_turns() {
    let mut slow = settings([3, 1, 1], false);
    slow.inject = fixed(3_000_000);
    let arrived = run(slow, &[(1, 0, 240 * 4), (1, 2, 240 * 2)]);
    // Two packets of the first, both of the second, two of the first.
    let at = |packets: u64| packets * 3_000_000 + HOP_PS + 8 * CHUNK_PS + TAKE_PS;
    assert_eq!(arrived, [(1, at(4)), (0, at(6))]);
}

#[test]
fn what_is_no_torus_is_named() {
    let said = |change: &dyn Fn(&mut TorusSettings), ranks| {
        let mut settings = settings([4, 4, 1], true);
        change(&mut settings);
        let error = TorusNetwork::new(settings, ranks).map(|_| ()).unwrap_err();
        alloc::string::ToString::to_string(&error)
    };
    assert!(said(&|_| {}, 15).contains("16 ranks and the call has 15"));
    assert!(said(&|s| s.torus = "65".parse().expect("it is a torus"), 65).contains("1 to 64"));
    assert!(said(&|s| s.buffer_bytes = 256, 16).contains("buffer_bytes = 256"));
    assert!(said(&|s| s.packet_bytes = 100, 16).contains("in steps of 32"));
    for wrong in [0, 3] {
        assert!(said(&|s| s.ranks_per_node = wrong, 16).contains("1 or 2"));
    }
}

/// B 2.1: packets of fixed length; only the first one's bytes are seen.
#[test]
fn the_tree_takes_whole_packets() {
    let tree = Tree {
        latency_ps: 1000,
        packet_ps: 760,
        first_byte_fs: 2000,
        convert: fixed(50),
    };
    let bytes = [0, 16, 256, 257];
    assert_eq!(
        bytes.map(|bytes| tree.meeting_ps(bytes, false)),
        [1760, 1792, 2272, 3032]
    );
    assert_eq!(tree.meeting_ps(16, true), 1842);
}

/// B 3.1: the packets to the end of a line leave copies on their way, at no cost to their sender.
#[test]
fn copies_are_left_on_the_way() {
    for (wraps, last) in [(false, 7), (true, 4)] {
        let line = settings([8, 1, 1], wraps);
        let packets = 3;
        let mut messages = vec![(0, last, 240 * packets)];
        messages.extend((1..last).map(|to| (0, to, 240 * packets)));
        let arrived = run_carried(line, &messages, |number| (number > 0).then_some(0));
        all_in_order(&messages, &arrived);
        for (number, at_ps) in arrived {
            let hops = u64::from(messages[number].1);
            let time_ps = INJECT_PS + hops * HOP_PS + packets * 8 * CHUNK_PS + TAKE_PS;
            assert_eq!(at_ps, time_ps);
        }
    }
}

/// All of a line to all others, with little room and slow processors; and copies where packets do not pass are messages.
#[test]
fn copies_do_not_lock() {
    let mut line = settings([8, 1, 1], true);
    (
        line.buffer_bytes,
        line.reception_bytes,
        line.injection_bytes,
    ) = (512, 256, 256);
    line.take = fixed(4_000_000);
    let (mut messages, mut carriers) = (Vec::new(), Vec::new());
    for from in 0..8 {
        for side in [[4, 3, 2, 1], [5, 6, 7, 7]] {
            let carrier = messages.len() as u32;
            messages.extend(side.map(|far| (from, (from + far) % 8, 1000)));
            carriers.extend([None, Some(carrier), Some(carrier), Some(carrier)]);
        }
    }
    let arrived = run_carried(line, &messages, |number| carriers[number as usize]);
    all_in_order(&messages, &arrived);
}

/// Messages that are left behind are over before the packets that left them, and others get their numbers meanwhile.
#[test]
fn a_pipeline_of_copies_ends() {
    let torus = Torus::new([8, 2, 1], [false; 3]).expect("it is small enough");
    let algorithm = algorithm::find(Collective::Broadcast, "torus-trees").expect("it is there");
    let call = Call::new(Collective::Broadcast, torus.ranks());
    for setting in ["", "segments=64"] {
        let shape = algorithm.shape(call, setting).expect("it is right");
        let shape = shape.on_torus(Some(torus));
        let layout = Layout::regular(Collective::Broadcast, 1024);
        let lower = |schedule| Plan::lower(schedule, &call, &layout, 8).expect("it can be lowered");
        let plans: Vec<Plan> = algorithm.world(&shape).iter().map(lower).collect();
        let mut network = network(settings([8, 2, 1], false));
        let ended = simulate(&plans, &mut network);
        assert!(ended.is_ok(), "{setting}: {ended:?}");
    }
}

/// When the last of four ranks on a line is done with a collective of a double a block.
fn done_ps(
    settings: TorusSettings,
    collective: Collective,
    name: &str,
    parameters: &str,
) -> Moment {
    let algorithm = algorithm::find(collective, name).expect("it is there");
    let shape = algorithm.shape(Call::new(collective, 4), parameters);
    let shape = shape.expect("it has these").on_torus(Some(settings.torus));
    let layout = Layout::regular(collective, 1);
    let lower = |rank| {
        let schedule = algorithm.schedule(&shape, rank);
        Plan::lower(&schedule, &shape.call, &layout, 8).expect("it is small")
    };
    let plans: Vec<Plan> = (0..4).map(lower).collect();
    let outcome = simulate(&plans, &mut network(settings)).expect("it ends");
    outcome.completion_ps()
}

#[test]
fn an_agreement_takes_what_its_own_messages_take() {
    let plain = settings([4, 1, 1], false);
    let begins = |fixed_ps| Beginning {
        fixed_ps,
        ..Beginning::default()
    };
    let mut dear = plain;
    dear.agreement = [begins(1_000_000), begins(3_000_000)];
    let more = |prefix| {
        let done = |settings| done_ps(settings, Collective::Broadcast, "torus-trees", prefix);
        done(dear) - done(plain)
    };
    // Two steps, in each of which a rank sends and then receives.
    assert_eq!(more("prefix=agreement"), 8_000_000);
    assert_eq!(more("prefix=barrier"), 0);
}

#[test]
fn receives_that_are_posted_are_looked_through() {
    let plain = settings([4, 1, 1], false);
    let mut slow = plain;
    slow.match_ps = 1_000_000;
    let done = |settings, name| done_ps(settings, Collective::Alltoall, name, "");
    // One receive at a time, for what comes; and all three at once.
    assert_eq!(done(slow, "pairwise"), done(plain, "pairwise"));
    assert!(done(slow, "scattered") > done(plain, "scattered"));
}
