//! Mistakes and mishaps: every rank gets an error that says what happened, within a second.

use crate::harness::{
    Prepared, Request, allreduce, broadcast, data, panicking, prepare, run, try_run,
};
use allhands::transport::TransportError;
use allhands::transport::{Endpoint, SharedSegment};
use allhands_suite::stopwatch::{self, Stopwatch};
use std::sync::Arc;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(1);

/// Makes the call again and again, as ranks that do not wait for anybody notice only at their next.
fn until_error(endpoint: &mut Endpoint, prepared: Prepared, elements: usize) -> TransportError {
    let (watch, limit) = (Stopwatch::start(), stopwatch::limit(LIMIT));
    let mut request = Request::new(endpoint, prepared, 0);
    loop {
        let result = request.call(endpoint, &data(endpoint.rank(), elements, 0));
        assert!(watch.elapsed() < limit, "an error comes within {limit:?}");
        if let Err(error) = result {
            assert!(!request.request.is_under_way());
            return error;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The error that was found first, whoever tells of it.
fn origin(error: TransportError) -> TransportError {
    match error {
        TransportError::Poisoned { error, .. } => *error,
        error => error,
    }
}

/// Lets rank 1 of `ranks` make another call than the rest; all must say so, in these words.
fn mismatch(ranks: u32, words: &str, make: impl Fn(u32, bool) -> (Prepared, usize) + Sync) {
    let errors = run(ranks, |endpoint| {
        let (prepared, elements) = make(endpoint.rank(), endpoint.rank() == 1);
        until_error(endpoint, prepared, elements)
    });
    for error in errors {
        let text = error.to_string();
        assert!(text.contains(words), "{text}");
        let TransportError::Mismatch { rank, other, .. } = origin(error) else {
            panic!("{text}");
        };
        assert!(rank == 1 || other == 1, "{text}");
    }
}

#[test]
fn another_root() {
    for ranks in [2, 4, 7] {
        for elements in [1, 5000] {
            mismatch(ranks, "make different calls: root ", |rank, odd| {
                let call = broadcast(ranks, u32::from(odd));
                (prepare(call, "binomial", rank, elements), elements)
            });
        }
    }
}

#[test]
fn another_length() {
    for ranks in [2, 4, 7] {
        for elements in [1, crate::EAGER, 5000] {
            mismatch(
                ranks,
                "make different calls: length in bytes ",
                |rank, odd| {
                    let elements = elements + usize::from(odd);
                    let prepared = prepare(allreduce(ranks), "recursive-doubling", rank, elements);
                    (prepared, elements)
                },
            );
        }
    }
}

#[test]
fn another_collective() {
    for ranks in [2, 4, 7] {
        for elements in [1, 5000] {
            mismatch(ranks, "make different calls: collective ", |rank, odd| {
                let prepared = if odd {
                    prepare(broadcast(ranks, 0), "binomial", rank, elements)
                } else {
                    prepare(allreduce(ranks), "recursive-doubling", rank, elements)
                };
                (prepared, elements)
            });
        }
    }
}

#[test]
fn a_rank_that_leaves_early() {
    for elements in [1, 5000] {
        let results = run(5, |endpoint| {
            let prepared = prepare(
                allreduce(5),
                "recursive-doubling",
                endpoint.rank(),
                elements,
            );
            if endpoint.rank() == 2 {
                let mut request = Request::new(endpoint, prepared, 0);
                request.call(endpoint, &data(2, elements, 0)).unwrap();
                return None;
            }
            Some(until_error(endpoint, prepared, elements))
        });
        for error in results.into_iter().flatten() {
            assert_eq!(origin(error), TransportError::RankLeft { rank: 2 });
        }
    }
}

#[test]
fn a_rank_that_panics_before_a_call() {
    let errors = std::sync::Mutex::new(Vec::new());
    let result = try_run(4, |endpoint| {
        if endpoint.rank() == 3 {
            std::panic::resume_unwind(Box::new("on purpose"));
        }
        let prepared = prepare(allreduce(4), "recursive-doubling", endpoint.rank(), 5000);
        errors
            .lock()
            .unwrap()
            .push(until_error(endpoint, prepared, 5000));
    });
    assert_eq!(
        result.unwrap_err(),
        TransportError::RankPanicked { rank: 3 }
    );
    let errors = errors.into_inner().unwrap();
    assert_eq!(errors.len(), 3);
    for error in errors {
        assert_eq!(origin(error), TransportError::RankPanicked { rank: 3 });
    }
}

#[test]
fn an_operator_that_panics_within_a_call() {
    for elements in [1, 5000] {
        let errors = std::sync::Mutex::new(Vec::new());
        let result = try_run(4, |endpoint| {
            let prepared = prepare(
                allreduce(4),
                "recursive-doubling",
                endpoint.rank(),
                elements,
            );
            if endpoint.rank() == 1 {
                let mut request = Request::new(endpoint, prepared, 0).with(panicking());
                // The operator panics, so this does not return.
                let _ = request.call(endpoint, &data(1, elements, 0));
            } else {
                let error = until_error(endpoint, prepared, elements);
                errors.lock().unwrap().push(error);
            }
        });
        assert_eq!(
            result.unwrap_err(),
            TransportError::RankPanicked { rank: 1 }
        );
        let errors = errors.into_inner().unwrap();
        assert_eq!(errors.len(), 3);
        for error in errors {
            assert_eq!(origin(error), TransportError::RankPanicked { rank: 1 });
        }
    }
}

#[test]
fn a_call_that_is_dropped() {
    for elements in [1, 5000] {
        let errors = run(3, |endpoint| {
            let prepared = prepare(broadcast(3, 0), "binomial", endpoint.rank(), elements);
            if endpoint.rank() > 0 {
                return until_error(endpoint, prepared, elements);
            }
            // Rank 0 posts its messages and drops the call before it can be complete, or waits in vain
            // for a second one if the messages were short.
            let mut request = Request::new(endpoint, prepared, 0);
            request.begin(endpoint, &data(0, elements, 0)).unwrap();
            if elements == 5000 {
                let status = request.test(endpoint).unwrap();
                drop(request);
                if status == allhands_core::progress::Status::Done {
                    return TransportError::CallDropped { rank: 0 };
                }
            } else {
                drop(request);
            }
            endpoint
                .segment()
                .error(0)
                .expect("the drop stops everybody")
        });
        for error in errors {
            let error = origin(error);
            let fine = [
                TransportError::CallDropped { rank: 0 },
                TransportError::RankLeft { rank: 0 },
            ];
            assert!(fine.contains(&error), "{error}");
        }
    }
}

#[test]
fn ranks_are_checked() {
    assert!(matches!(
        SharedSegment::new(0),
        Err(TransportError::NoRanks)
    ));
    let segment = SharedSegment::new(2).unwrap();
    let error = Endpoint::new(Arc::clone(&segment), 2).unwrap_err();
    assert_eq!(
        error.to_string(),
        "rank 2 does not exist: the ranks are 0 to 1"
    );
    let endpoint = Endpoint::new(Arc::clone(&segment), 1).unwrap();
    let error = Endpoint::new(segment, 1).unwrap_err();
    assert_eq!(
        error,
        TransportError::RankTaken {
            rank: endpoint.rank()
        }
    );
}

#[test]
fn a_rank_that_never_opens_its_endpoint_has_left() {
    let results = allhands::transport::spawn(2, |rank, segment| {
        (rank == 0).then(|| {
            let mut endpoint = Endpoint::new(segment, rank).unwrap();
            let prepared = prepare(allreduce(2), "recursive-doubling", rank, 1);
            until_error(&mut endpoint, prepared, 1)
        })
    });
    let error = results.unwrap()[0].clone();
    assert_eq!(error, Some(TransportError::RankLeft { rank: 1 }));
}
