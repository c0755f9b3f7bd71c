//! The threads transport on real bytes.
#![cfg(not(loom))]

mod failure;
mod harness;
mod schedules;

use allhands::transport::EAGER_BYTES;
use allhands_core::call::Call;
use harness::{Request, allreduce, broadcast, data, prepare, reduced, run, wait_for};

/// The elements of the longest eager message.
const EAGER: usize = EAGER_BYTES / size_of::<harness::Affine>();
/// Nothing, little, around the longest eager message, and up to 200 KB.
const ELEMENTS: [usize; 9] = [0, 1, 3, 50, EAGER - 1, EAGER, EAGER + 1, 1000, 25_000];

#[test]
fn allreduce_keeps_rank_order() {
    for ranks in 1..=9 {
        for in_place in [false, true] {
            run(ranks, |endpoint| {
                for elements in ELEMENTS {
                    let call = Call {
                        in_place,
                        ..allreduce(ranks)
                    };
                    let prepared = prepare(call, "recursive-doubling", endpoint.rank(), elements);
                    let mut request = Request::new(endpoint, prepared, 0);
                    for salt in 0..3 {
                        request
                            .call(endpoint, &data(endpoint.rank(), elements, salt))
                            .unwrap();
                        assert_eq!(request.output, reduced(ranks, elements, salt));
                    }
                }
            });
        }
    }
}

#[test]
fn broadcast_reaches_everybody_from_each_root() {
    for ranks in 1..=9 {
        run(ranks, |endpoint| {
            for root in 0..ranks {
                for elements in ELEMENTS {
                    let prepared = prepare(
                        broadcast(ranks, root),
                        "binomial",
                        endpoint.rank(),
                        elements,
                    );
                    let mut request = Request::new(endpoint, prepared, 0);
                    let sent = data(root, elements, 5);
                    request.call(endpoint, &sent).unwrap();
                    assert_eq!(request.output, sent);
                }
            }
        });
    }
}

#[test]
fn outstanding_calls_complete_in_any_order() {
    const CALLS: usize = 5;
    for ranks in [2, 3, 4, 8] {
        run(ranks, |endpoint| {
            for round in 0..10 {
                let sizes = [1, 3000, EAGER, EAGER + 1, 700];
                let mut requests: Vec<Request> = sizes
                    .iter()
                    .map(|n| {
                        let prepared =
                            prepare(allreduce(ranks), "recursive-doubling", endpoint.rank(), *n);
                        Request::new(endpoint, prepared, 0)
                    })
                    .collect();
                for (at, request) in requests.iter_mut().enumerate() {
                    let input = data(endpoint.rank(), sizes[at], at as u32);
                    request.begin(endpoint, &input).unwrap();
                    if endpoint.rank() % 2 == 0 {
                        request.test(endpoint).unwrap();
                    }
                }
                for step in 0..CALLS {
                    // A different order on every rank, also backwards.
                    let at = (step * (1 + endpoint.rank() as usize % 4) + round) % CALLS;
                    wait_for(endpoint, &mut requests, at).unwrap();
                    let right = reduced(ranks, sizes[at], at as u32);
                    assert_eq!(requests[at].output, right);
                }
            }
        });
    }
}

#[test]
fn an_endpoint_moves_between_threads() {
    run(2, |endpoint| {
        let prepared = prepare(allreduce(2), "recursive-doubling", endpoint.rank(), 3000);
        let mut request = Request::new(endpoint, prepared, 0);
        for salt in 0..20 {
            let rank = endpoint.rank();
            std::thread::scope(|scope| {
                let call = || request.call(endpoint, &data(rank, 3000, salt)).unwrap();
                scope.spawn(call);
            });
            assert_eq!(request.output, reduced(2, 3000, salt));
        }
    });
}
