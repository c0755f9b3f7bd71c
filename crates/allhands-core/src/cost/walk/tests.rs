//! The walk on schedules small enough to work out by hand.

use super::*;
use crate::call::Collective;
use crate::cost::Hockney;
use crate::parameters::Parameters;
use crate::schedule::{Blocks, Builder, Layout, Shape, Side, Units};

/// α, β, γ and the one-way costs all differ, so that a mistaken charge shows.
fn machine() -> Hockney {
    Hockney::new(8.0, 0.5, 0.25).with_one_way(0.75, 0.5)
}

fn world(call: Call, parts: u32, build: impl Fn(&mut Builder)) -> Vec<Schedule> {
    let shape = Shape {
        nodes: Default::default(),
        fabrics: Default::default(),
        torus: None,
        call,
        parameters: Parameters::new(),
    };
    let one = |rank| {
        let mut b = Builder::new(shape.clone(), rank, parts, false);
        build(&mut b);
        b.finish()
    };
    (0..call.ranks).map(one).collect()
}

/// Walks ideal parts of one byte each.
fn walk_parts(call: &Call, world: &[Schedule], ports: u32) -> Walk {
    let sizes = Sizes::Ideal {
        bytes: f64::from(world[0].parts),
    };
    walk(call, world, sizes, &machine(), ports).unwrap()
}

fn scattered(p: u32) -> (Call, Vec<Schedule>) {
    let call = Call::new(Collective::Alltoall, p);
    let built = world(call, p, |b| {
        let (rank, input, output) = (b.rank(), b.input(), b.output());
        b.copy(input.at(rank), output.at(rank));
        for i in 1..p {
            b.recv((rank + p - i) % p, output.at((rank + p - i) % p));
            b.send((rank + i) % p, input.at((rank + i) % p));
        }
    });
    (call, built)
}

#[test]
fn messages_posted_at_once_share_the_ports() {
    for p in 2..20u32 {
        let (call, world) = scattered(p);
        for ports in 1..5 {
            let walk = walk_parts(&call, &world, ports);
            let rounds = u64::from((p - 1).div_ceil(ports));
            let expected = Breakdown {
                messages: rounds,
                units: rounds,
                ..Breakdown::default()
            };
            assert_eq!(walk.last().path, expected, "p={p} ports={ports}");
            assert_eq!(walk.messages, u64::from(p * (p - 1)));
            assert_eq!(walk.last().time_us, rounds as f64 * 8.5);
        }
    }
}

#[test]
fn a_large_exchange_is_walked_whole() {
    let (call, world) = scattered(128);
    assert_eq!(walk_parts(&call, &world, 1).last().path.messages, 127);
}

#[test]
fn one_way_messages_have_their_own_price() {
    let call = Call::new(Collective::Scatter, 4);
    let built = world(call, 4, |b| {
        let (input, output) = (b.input(), b.output());
        if b.rank() == 0 {
            b.copy(input.at(0), output);
            (1..4).for_each(|to| b.send(to, input.at(to)));
        } else {
            b.recv(0, output);
        }
    });
    let path = walk_parts(&call, &built, 1).last().path;
    assert_eq!((path.one_way, path.one_way_units, path.messages), (3, 3, 0));
    // 3 (αuni + βuni): α = 8 at three quarters, β = 0.5 at a half.
    assert_eq!(walk_parts(&call, &built, 1).last().time_us, 3.0 * 6.25);
    assert_eq!(walk_parts(&call, &built, 3).last().path.one_way, 1);
}

fn chain(p: u32, segments: u32, window: u32) -> (Call, Vec<Schedule>) {
    let call = Call::new(Collective::Broadcast, p);
    let built = world(call, segments, |b| {
        let rank = b.rank();
        let first = |space: Blocks| space.at(0).advancing(1);
        let source = if rank == 0 { b.input() } else { b.output() };
        let output = b.output();
        b.repeat(segments, window, |b| {
            if rank > 0 {
                b.recv(rank - 1, first(output));
            }
            if rank + 1 < p {
                b.send(rank + 1, first(source));
            }
        });
    });
    (call, built)
}

#[test]
fn a_pipeline_stays_full() {
    for (p, segments) in [(2, 1), (3, 1), (3, 4), (5, 8), (7, 20)] {
        let (call, world) = chain(p, segments, 0);
        let path = walk_parts(&call, &world, 1).last().path;
        assert_eq!(path.messages + path.one_way, u64::from(p - 2 + segments));
        assert_eq!(path.units + path.one_way_units, u64::from(p - 2 + segments));
    }
    // With one iteration under way at once a middle rank cannot receive while it sends.
    let (call, world) = chain(3, 4, 1);
    let path = walk_parts(&call, &world, 1).last().path;
    assert_eq!(path.messages + path.one_way, 8);
}

#[test]
fn the_processor_reduces_one_thing_at_a_time() {
    let call = Call::new(Collective::Reduce, 4);
    let built = world(call, 1, |b| {
        if b.rank() > 0 {
            b.send(0, b.input());
            return;
        }
        let (own, output) = (b.input(), b.output());
        let spare = b.vector();
        b.recv_reduce(1, Side::Right, own, spare);
        let other = b.vector();
        b.recv(2, other);
        b.step();
        b.reduce(spare, other, output);
        let last = b.vector();
        b.recv_reduce(3, Side::Right, own, last);
    });
    let walk = walk_parts(&call, &built, 3);
    // Both start at once; then the reduction lasts while the third message travels.
    let path = walk.last().path;
    assert_eq!((path.one_way, path.reduced), (2, 2));
    assert_eq!(walk.finish[1].path.one_way, 1);
}

#[test]
fn a_put_with_its_notification_is_one_message() {
    let call = Call::new(Collective::Broadcast, 3);
    let built = world(call, 1, |b| {
        let window = b.window(
            Units::Run {
                first: 0,
                modulo: 1,
            },
            1,
        );
        let (arrived, free) = (b.flag(0), b.flag(1));
        if b.rank() == 0 {
            b.wait(free, 1);
            b.step();
            for to in 1..3 {
                b.put(to, b.input(), window);
                b.notify(to, arrived);
            }
        } else {
            b.wait(arrived, 1);
            b.step();
            b.copy(window, b.output());
            b.step();
            if b.rank() == 2 {
                b.notify(0, free);
            }
        }
    });
    let walk = walk_parts(&call, &built, 1);
    assert_eq!(walk.messages, 3);
    assert_eq!(walk.finish[1].path.one_way, 1);
    // The last notification is nobody's to wait for.
    let last = Breakdown {
        one_way: 2,
        one_way_units: 2,
        ..Breakdown::default()
    };
    assert_eq!(walk.last().path, last);
}

#[test]
fn strands_share_ports_and_wait_for_one_another() {
    let call = Call::new(Collective::Allgather, 2);
    let built = |ordered: bool| {
        world(call, 2, move |b| {
            let (input, output, peer) = (b.input(), b.output(), 1 - b.rank());
            b.send(peer, input);
            b.recv(peer, output.at(peer));
            b.step();
            b.strand(|b| {
                if ordered {
                    b.await_strand(0, 1);
                    b.step();
                }
                let again = b.scratch(
                    Units::Run {
                        first: peer,
                        modulo: 2,
                    },
                    1,
                );
                b.send(peer, input);
                b.recv(peer, again);
            });
        })
    };
    assert_eq!(walk_parts(&call, &built(false), 1).last().path.messages, 2);
    assert_eq!(walk_parts(&call, &built(false), 2).last().path.messages, 1);
    assert_eq!(walk_parts(&call, &built(true), 2).last().path.messages, 2);
}

#[test]
fn layouts_give_bytes_and_leave_out_what_is_empty() {
    let (call, world) = scattered(3);
    let layout = Layout::Pairs([9, 0, 0, 0, 9, 0, 0, 5, 9].to_vec());
    let sizes = Sizes::Laid {
        layout: &layout,
        element_bytes: 4,
    };
    let mut seen = Vec::new();
    let walk = walk_observed(&call, &world, sizes, &machine(), 1, &mut |t| seen.push(t)).unwrap();
    assert_eq!((walk.messages, walk.unit_bytes), (1, 1.0));
    // One message, 2 ─▶ 1, of 20 bytes.
    assert_eq!((seen[0].from, seen[0].to, seen[0].bytes), (2, 1, 20.0));
    assert_eq!((seen[0].start_us, seen[0].end_us), (0.0, 18.0));
    assert_eq!(walk.last().time_us, 18.0);
}

#[test]
fn what_cannot_be_walked_is_an_error() {
    let call = Call::new(Collective::Broadcast, 2);
    let deaf = world(call, 1, |b| {
        if b.rank() == 1 {
            b.recv(0, b.output());
        }
    });
    let sizes = Sizes::Ideal { bytes: 1.0 };
    let walked = |ports| walk(&call, &deaf, sizes, &machine(), ports).unwrap_err();
    assert_eq!(walked(1), WalkError::Stuck { rank: 1 });
    assert_eq!(walked(0), WalkError::NoPorts);
    let (call, world) = scattered(2);
    let layout = Layout::Own {
        rank: 0,
        elements: 1,
    };
    let sizes = Sizes::Laid {
        layout: &layout,
        element_bytes: 1,
    };
    let error = walk(&call, &world, sizes, &machine(), 1).unwrap_err();
    assert!(matches!(error, WalkError::UnknownSize { .. }));
}

#[test]
fn every_algorithm_takes_the_steps_that_it_claims() {
    // With a port for every message and free bytes, time is the longest chain of messages: the steps.
    let machine = Hockney::new(1.0, 0.0, 0.0);
    for algorithm in crate::algorithm::all() {
        for ranks in 1..=17 {
            for setting in algorithm.settings {
                let call = Call {
                    root: ranks / 2 * u32::from(algorithm.collective.rooted()),
                    ..Call::new(algorithm.collective, ranks)
                };
                let shape = algorithm.shape(call, setting).unwrap();
                let shape = shape.on_torus(algorithm.tori(ranks).pop().flatten());
                if algorithm.admits(&shape).is_err() {
                    continue;
                }
                let sizes = Sizes::Ideal { bytes: 1.0 };
                let world = algorithm.world(&shape);
                let walk = walk(&call, &world, sizes, &machine, u32::MAX);
                let walk =
                    walk.unwrap_or_else(|e| panic!("{algorithm:?}:{setting} p={ranks}: {e}"));
                let claims = (algorithm.claims)(&shape);
                let (time_us, steps) = (walk.last().time_us, f64::from(claims.steps));
                assert!(
                    time_us == steps || (claims.are_limits() && time_us < steps),
                    "{algorithm:?}:{setting} p={ranks}: {time_us} µs for {steps} steps"
                );
            }
        }
    }
}
