//! Endpoints on nodes, without a communicator: what they refuse, and networks that fail.

use crate::harness::{Request, allreduce, data, prepare, reduced};
use crate::world::{network, places};
use allhands::bootstrap::Bootstrap;
use allhands::transport::TransportError;
use allhands::transport::net::{
    Ended, Network, NetworkError, Notice, Threads, ThreadsNetwork, Ticket,
};
use allhands::transport::{Endpoint, SharedSegment};
use allhands::{Communicator, Policy, Sum};
use std::sync::Mutex;

/// A network among threads that fails after some looks.
struct Failing {
    inner: ThreadsNetwork,
    looks: u32,
}

impl Failing {
    fn fail(&self) -> Result<(), NetworkError> {
        match self.looks {
            0 => Err(NetworkError::Other("the cable is cut".to_string())),
            _ => Ok(()),
        }
    }
}

// SAFETY: it does what the inner one does, or nothing.
unsafe impl Network for Failing {
    fn tags(&self) -> u32 {
        self.inner.tags()
    }

    unsafe fn send(
        &mut self,
        to: u32,
        tag: u32,
        from: *const u8,
        bytes: usize,
    ) -> Result<Ticket, NetworkError> {
        self.fail()?;
        // SAFETY: passed on.
        unsafe { self.inner.send(to, tag, from, bytes) }
    }

    unsafe fn receive(
        &mut self,
        from: u32,
        tag: u32,
        into: *mut u8,
        bytes: usize,
    ) -> Result<Ticket, NetworkError> {
        self.fail()?;
        // SAFETY: passed on.
        unsafe { self.inner.receive(from, tag, into, bytes) }
    }

    fn test(&mut self, ticket: Ticket) -> Result<Option<Ended>, NetworkError> {
        self.fail()?;
        self.inner.test(ticket)
    }

    fn progress(&mut self) -> Result<(), NetworkError> {
        self.looks = self.looks.saturating_sub(1);
        self.fail()?;
        self.inner.progress()
    }

    fn cancel(&mut self, ticket: Ticket) -> bool {
        self.inner.cancel(ticket)
    }

    fn notify(&mut self, to: u32, notice: &Notice) {
        self.inner.notify(to, notice);
    }

    fn hear(&mut self) -> Option<(u32, Notice)> {
        self.inner.hear()
    }
}

/// The endpoint of a rank that is alone on its node.
fn alone(rank: u32, ranks: u32, network: Box<dyn Network>) -> Endpoint {
    let node_of: Vec<u32> = (0..ranks).collect();
    let endpoint = Endpoint::new(SharedSegment::new(1).unwrap(), 0).unwrap();
    endpoint
        .join(network, places(&node_of), rank, true)
        .unwrap()
}

/// Calls until one fails, on every rank; rank 1's network fails after so many looks.
fn until_failure(ranks: u32, looks: u32, elements: usize) -> Vec<TransportError> {
    let threads = Threads::new(ranks).with_short_bytes(100);
    let errors = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for rank in 0..ranks {
            let inner = threads.network(rank);
            let looks = if rank == 1 { looks } else { u32::MAX };
            let errors = &errors;
            scope.spawn(move || {
                let mut endpoint = alone(rank, ranks, Box::new(Failing { inner, looks }));
                let mut prepared = prepare(allreduce(ranks), "recursive-doubling", rank, elements);
                endpoint.localize(&mut prepared.plan).unwrap();
                let mut request = Request::new(&endpoint, prepared, 0);
                let error = (0..).find_map(|salt| {
                    let called = request.call(&mut endpoint, &data(rank, elements, salt));
                    if called.is_ok() {
                        assert_eq!(request.output, reduced(ranks, elements, salt));
                    }
                    called.err()
                });
                assert!(!request.request.is_under_way());
                errors.lock().unwrap().extend(error);
            });
        }
    });
    errors.into_inner().unwrap()
}

#[test]
fn a_network_that_fails_is_an_error_on_every_rank() {
    for (looks, elements) in [(1, 10), (50, 10), (7, 1000), (300, 1000)] {
        let errors = until_failure(3, looks, elements);
        assert_eq!(errors.len(), 3);
        for error in errors {
            let said = error.to_string();
            let words = "rank 1 could not exchange messages with other nodes";
            assert!(said.contains(words), "{said}");
        }
    }
}

#[test]
fn a_communicator_is_made_of_endpoints_and_a_network_of_ones_own() {
    let threads = Threads::new(3);
    std::thread::scope(|scope| {
        for rank in 0..3 {
            let (inner, looks) = (threads.network(rank), u32::MAX);
            scope.spawn(move || {
                let endpoint = alone(rank, 3, Box::new(Failing { inner, looks }));
                let comm = Communicator::of_endpoint(endpoint, Policy::Mpich2005, true);
                let mut sum = [comm.rank()];
                comm.allreduce_in_place(&mut sum, Sum).unwrap();
                assert_eq!((sum, comm.size()), ([3], 3));
            });
        }
    });
}

#[test]
fn a_plan_that_reaches_into_another_node_is_refused() {
    let threads = network(&[0, 1]);
    let endpoint = alone(1, 2, Box::new(threads.network(1)));
    let mut prepared = prepare(allreduce(2), "shared-memory", 1, 10);
    assert_eq!(
        endpoint.localize(&mut prepared.plan),
        Err(TransportError::OtherNode {
            rank: 1,
            other: 0,
            operation: "wait for a flag there"
        })
    );
}

#[test]
fn an_endpoint_joins_others_where_it_is() {
    let node_of = &[0, 1, 1];
    let join = |rank: u32, threads: Threads| {
        let endpoint = Endpoint::new(SharedSegment::new(2).unwrap(), 1).unwrap();
        let network = Box::new(threads.network(rank));
        endpoint.join(network, places(node_of), rank, false)
    };
    let joined = join(2, network(node_of)).unwrap();
    assert_eq!((joined.rank(), joined.ranks()), (1, 2));
    assert_eq!((joined.global_rank(), joined.global_ranks()), (2, 3));
    let said = |rank, threads| join(rank, threads).unwrap_err().to_string();
    assert_eq!(
        said(1, network(node_of)),
        "rank 1 is said to be number 0 of 2 on its node, and is number 1 of 2 that share memory"
    );
    assert_eq!(
        said(0, network(node_of)),
        "rank 0 is said to be number 0 of 1 on its node, and is number 1 of 2 that share memory"
    );
    assert_eq!(
        said(3, network(node_of)),
        "rank 3 does not exist: the ranks are 0 to 2"
    );
    assert_eq!(
        said(2, network(node_of).with_tags(255)),
        "the network has 255 tags, where at least 256 are needed"
    );
}
