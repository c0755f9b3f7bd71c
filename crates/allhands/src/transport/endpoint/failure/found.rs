//! Faults that a rank finds itself: another one that calls differently, memory that cannot be read, a network that fails.

use crate::transport::TransportError;
use crate::transport::endpoint::state::endpoint::Endpoint;
use crate::transport::net::NetworkError;
use crate::transport::shm::failure::fault::Fault;
use crate::transport::shm::failure::liveness::Liveness;
use crate::transport::shm::failure::member::RECENT;
use std::time::{Duration, Instant};

impl Endpoint {
    #[cold]
    pub(crate) fn differs(&self, from: u32, call: u64) -> TransportError {
        let mut recent = call.saturating_sub(RECENT)..=call;
        let compare = |call| Some((call, self.segment.compare(self.rank, from, call)?));
        let found = recent.find_map(compare);
        // A call so long ago that it is forgotten: the present one must do.
        let mine = self
            .segment
            .record(self.rank)
            .entry(call)
            .unwrap_or_default();
        let (call, fault) = found.unwrap_or((
            call,
            Fault::Mismatch {
                rank: self.rank,
                other: from,
                mine,
                theirs: None,
            },
        ));
        self.segment.poison_from(call, self.rank, fault)
    }

    /// Why a message of `other` could not be read.
    #[cold]
    pub(crate) fn unreachable(&self, other: u32, errno: u32) -> TransportError {
        let (rank, start) = (self.rank, Instant::now());
        // A process that is ending has no memory any more, before anybody can see that it has ended.
        while self.segment.liveness().is_watching() && start.elapsed() < Liveness::NOTICED_WITHIN {
            if let Some(error) = self.segment.error(rank) {
                return error;
            }
            if let Err(error) = self.segment.stop_if_dead(rank, None) {
                return error;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let fault = Fault::Unreachable { rank, other, errno };
        self.segment.poison(rank, fault)
    }

    /// Stops the communicator as its network failed in a message, on account of a lost rank if it is that.
    #[cold]
    pub(crate) fn message_failed(&self, error: &NetworkError) -> TransportError {
        let (rank, lost) = (self.rank, error.lost());
        let number = |name: u32| self.cluster.as_ref()?.numbers.get(name as usize).copied();
        match lost.filter(|lost| lost.is_host_lost()) {
            Some(found) => {
                let lost = number(found.rank).unwrap_or(rank);
                self.segment.poison(rank, Fault::HostLost { rank, lost });
                TransportError::Network {
                    rank: self.global_rank(),
                    why: self.segment.describe_lost_host(found.rank),
                    lost: Some(found.rank),
                }
            }
            None => self.network_failed(error.to_string(), lost.map(|lost| lost.rank)),
        }
    }

    /// Stops the communicator as its network failed, on account of rank `lost` of the communicator if it is that.
    #[cold]
    pub(crate) fn network_failed(&self, why: String, lost: Option<u32>) -> TransportError {
        let (rank, cluster) = (self.rank, self.cluster.as_ref());
        let number = |name: u32| cluster?.numbers.get(name as usize).copied();
        let found = lost.and_then(number).unwrap_or(rank);
        self.segment
            .poison(rank, Fault::Network { rank, lost: found });
        TransportError::Network {
            rank: self.global_rank(),
            why,
            lost,
        }
    }
}
