//! Schedules built by hand, for what no registered algorithm does: windows, strands, floods, pipelines.

use crate::harness::{Request, allreduce, broadcast, compose, data, lower, run, shape, wait_for};
use allhands_core::call::{Call, Collective};
use allhands_core::schedule::{Blocks, Builder, Schedule, Side, Space, Units};

/// A call in which every rank has a vector in and a vector out, whatever a schedule makes of them.
fn vectors(ranks: u32) -> Call {
    Call::new(Collective::Allreduce, ranks)
}

const WHOLE: Units = Units::Run {
    first: 0,
    modulo: 1,
};

/// Puts to the right, then gets back from there, combining what came with what comes back.
///
/// The result is (vector of the left neighbour) ⊕ (own vector, by way of the right neighbour's window).
fn window_ring(ranks: u32, rank: u32) -> Schedule {
    let b = &mut Builder::new(shape(vectors(ranks)), rank, 1, false);
    let (left, right) = ((rank + ranks - 1) % ranks, (rank + 1) % ranks);
    let slot = b.window(WHOLE, 1);
    let back = b.vector();
    let (free, full) = (b.flag(1), b.flag(0));
    b.wait(free, 1);
    b.step();
    b.put(right, b.input(), slot);
    b.step();
    b.notify(right, full);
    b.get_from(right, slot, back);
    b.step();
    b.wait(full, 1);
    b.step();
    b.copy(slot, b.output());
    b.step();
    b.reduce(b.output(), back, b.output());
    b.notify(left, free);
    std::mem::replace(b, Builder::new(shape(vectors(1)), 0, 1, false)).finish()
}

#[test]
fn windows_carry_calls_that_follow_one_another_and_that_overlap() {
    for ranks in 1..=6 {
        run(ranks, |endpoint| {
            let (rank, left) = (endpoint.rank(), (endpoint.rank() + ranks - 1) % ranks);
            for (site, elements) in [1, 100, 3000].into_iter().enumerate() {
                let mut requests: Vec<Request> = (0..2)
                    .map(|half| {
                        let schedule = window_ring(ranks, rank);
                        let prepared = lower(&schedule, vectors(ranks), "windows", elements);
                        Request::new(endpoint, prepared, site as u64 * 2 + half)
                    })
                    .collect();
                for round in 0..50 {
                    for (half, request) in requests.iter_mut().enumerate() {
                        let salt = round * 2 + half as u32;
                        request
                            .begin(endpoint, &data(rank, elements, salt))
                            .unwrap();
                    }
                    for half in 0..2 {
                        let half = if rank % 2 == 0 { half } else { 1 - half };
                        wait_for(endpoint, &mut requests, half).unwrap();
                        let salt = round * 2 + half as u32;
                        let (theirs, own) =
                            (data(left, elements, salt), data(rank, elements, salt));
                        let right: Vec<_> = theirs
                            .into_iter()
                            .zip(own)
                            .map(|(l, r)| compose(l, r))
                            .collect();
                        assert_eq!(requests[half].output, right);
                    }
                }
            }
        });
    }
}

/// Two strands that pass the halves of the vector around the ring in opposite directions, the second
/// after the first.
fn two_ways(ranks: u32, rank: u32) -> Schedule {
    let b = &mut Builder::new(shape(vectors(ranks)), rank, 2, false);
    let (left, right) = ((rank + ranks - 1) % ranks, (rank + 1) % ranks);
    let (input, output) = (b.input(), b.output());
    b.send(right, input.at(0));
    b.recv(left, output.at(0));
    b.step();
    let items = b.items(0);
    b.strand(|b| {
        b.await_strand(0, items);
        b.step();
        b.send(left, input.at(1));
        b.recv_reduce(right, Side::Left, input.at(1), output.at(1));
    });
    std::mem::replace(b, Builder::new(shape(vectors(1)), 0, 1, false)).finish()
}

#[test]
fn strands_do_not_mix_their_messages() {
    for ranks in 1..=6 {
        run(ranks, |endpoint| {
            let rank = endpoint.rank();
            let (left, right) = ((rank + ranks - 1) % ranks, (rank + 1) % ranks);
            for elements in [2, 101, 400, 5000] {
                let prepared = lower(&two_ways(ranks, rank), vectors(ranks), "two", elements);
                let mut request = Request::new(endpoint, prepared, 0);
                for salt in 0..20 {
                    request.call(endpoint, &data(rank, elements, salt)).unwrap();
                    let half = elements.div_ceil(2);
                    let mut right_answer = data(left, elements, salt);
                    let (own, theirs) = (data(rank, elements, salt), data(right, elements, salt));
                    for i in half..elements {
                        right_answer[i] = compose(theirs[i], own[i]);
                    }
                    assert_eq!(request.output, right_answer);
                }
            }
        });
    }
}

/// Many messages of one step on one channel, more than a ring holds.
fn flood(ranks: u32, rank: u32, parts: u32) -> Schedule {
    let mut b = Builder::new(shape(vectors(ranks)), rank, parts, false);
    let (input, output) = (b.input(), b.output());
    let (left, right) = ((rank + ranks - 1) % ranks, (rank + 1) % ranks);
    for part in 0..parts {
        b.send(right, input.at(part));
    }
    for part in 0..parts {
        b.recv(left, output.at(part));
    }
    b.finish()
}

#[test]
fn floods_stay_in_order() {
    const PARTS: u32 = 50;
    for ranks in 1..=4 {
        run(ranks, |endpoint| {
            let left = (endpoint.rank() + ranks - 1) % ranks;
            // 50 eager messages; 50 of which the first 20 are one element longer and so go by rendezvous.
            for elements in [50, 5000, crate::EAGER * 50 + 20] {
                let schedule = flood(ranks, endpoint.rank(), PARTS);
                let prepared = lower(&schedule, vectors(ranks), "flood", elements);
                let mut request = Request::new(endpoint, prepared, 0);
                for salt in 0..10 {
                    let input = data(endpoint.rank(), elements, salt);
                    request.call(endpoint, &input).unwrap();
                    assert_eq!(request.output, data(left, elements, salt));
                }
            }
        });
    }
}

/// A pipelined chain from rank 0.
fn chain(ranks: u32, rank: u32, segments: u32) -> Schedule {
    let mut b = Builder::new(shape(broadcast(ranks, 0)), rank, segments, false);
    let at = |space| Blocks::new(space, 0, 1).advancing(1);
    if rank == 0 {
        b.copy(b.input(), b.output());
    }
    b.repeat(segments, 4, |b| {
        if rank > 0 {
            b.recv(rank - 1, at(Space::Output));
        }
        if rank + 1 < ranks {
            b.send(rank + 1, at(Space::Output));
        }
    });
    b.finish()
}

#[test]
fn pipelines_flow() {
    for ranks in 1..=5 {
        run(ranks, |endpoint| {
            for (elements, segments) in [(5, 9), (1000, 40), (20_000, 33)] {
                let schedule = chain(ranks, endpoint.rank(), segments);
                let prepared = lower(&schedule, broadcast(ranks, 0), "chain", elements);
                let mut request = Request::new(endpoint, prepared, 0);
                for salt in 0..5 {
                    let sent = data(0, elements, salt);
                    request.call(endpoint, &sent).unwrap();
                    assert_eq!(request.output, sent);
                }
            }
        });
    }
}

#[test]
fn lengths_that_do_not_fit_are_an_error() {
    use allhands::transport::TransportError;
    for (one, other) in [(10, 20), (10, 3000), (3000, 10), (3000, 4000)] {
        let results = run(2, |endpoint| {
            let elements = if endpoint.rank() == 0 { one } else { other };
            let mut prepared = crate::harness::prepare(
                allreduce(2),
                "recursive-doubling",
                endpoint.rank(),
                elements,
            );
            prepared.signature.bytes = 0;
            let mut request = Request::new(endpoint, prepared, 0);
            request.call(endpoint, &data(endpoint.rank(), elements, 0))
        });
        for (rank, result) in results.into_iter().enumerate() {
            let error = match result.unwrap_err() {
                TransportError::Poisoned {
                    rank: finder,
                    error,
                } => {
                    assert_eq!(finder as usize, 1 - rank);
                    *error
                }
                error => error,
            };
            assert!(matches!(error, TransportError::Length { .. }), "{error}");
        }
    }
}
