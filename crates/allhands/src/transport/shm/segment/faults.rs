//! Faults of a shared segment: what stops its communicator, a dead rank among it, and the error that each rank hears of it.

use crate::transport::shm::failure::fault::{Fault, GaveUp};
use crate::transport::shm::failure::member::{Presence, Stamp};
use crate::transport::shm::failure::refusals::Refusals;
use crate::transport::shm::segment::shared_segment::SharedSegment;
use crate::transport::{TransportError, Waits};

/// What is said when the host of a rank of the communicator answers no more.
pub(crate) type LossOfHost = Box<dyn Fn(u32) -> String + Send + Sync>;

impl SharedSegment {
    /// Says what is said when the host of a rank of the communicator answers no more.
    pub(crate) fn describe_hosts(&self, loss: LossOfHost) {
        self.loss_of_host.get_or_init(|| loss);
    }

    /// What is said when the host of rank `rank` of the communicator answers no more.
    pub(crate) fn describe_lost_host(&self, rank: u32) -> String {
        let unknown = || format!("the host of rank {rank} does not answer any more");
        self.loss_of_host
            .get()
            .map_or_else(unknown, |loss| loss(rank))
    }

    /// What keeps call `call` of rank `rank` from being made, as the rank is to hear it.
    ///
    /// Calls before the one in which something was wrong can still be completed by those that are behind.
    #[must_use]
    #[inline]
    pub(crate) fn stopped(&self, rank: u32, call: u64) -> Option<TransportError> {
        if call < self.head().fault.stops_from() {
            return None;
        }
        self.error(rank)
    }

    /// What stopped the communicator, be it from a later call on, as rank `rank` is to hear it.
    #[must_use]
    #[inline]
    pub fn error(&self, rank: u32) -> Option<TransportError> {
        let (finder, fault) = self.head().fault.first()?;
        Some(self.error_for(rank, finder, fault))
    }

    #[cold]
    fn error_for(&self, rank: u32, finder: u32, fault: Fault) -> TransportError {
        let error = self.error_of(fault);
        if finder == rank {
            return error;
        }
        TransportError::Poisoned {
            rank: self.name(finder),
            error: Box::new(error),
        }
    }

    /// What stopped the communicator, and who found it, with the numbers that ranks have in the communicator.
    #[cfg(target_os = "linux")]
    pub(crate) fn named_fault(&self) -> Option<(u32, Fault)> {
        let (finder, fault) = self.head().fault.first()?;
        Some((self.name(finder), fault.renumbered(|rank| self.name(rank))))
    }

    /// A fault in words, with the numbers that ranks have in the communicator.
    fn error_of(&self, fault: Fault) -> TransportError {
        // A signature is found by the number that its rank has here.
        let signature = |rank, stamp: &Stamp| Box::new(self.signature(rank, stamp));
        let name = |rank| self.name(rank);
        match fault {
            Fault::Mismatch {
                rank,
                other,
                mine,
                theirs,
            } => TransportError::Mismatch {
                rank: name(rank),
                other: name(other),
                mine: signature(rank, &mine),
                theirs: theirs.map(|stamp| signature(other, &stamp)),
            },
            Fault::Length {
                rank,
                other,
                expected,
                received,
            } => wrong_length(name(rank), name(other), expected, received),
            Fault::Panicked { rank } => TransportError::RankPanicked { rank: name(rank) },
            Fault::Left { rank } => TransportError::RankLeft { rank: name(rank) },
            Fault::Died { rank, how } => TransportError::RankDied {
                rank: name(rank),
                how: self.liveness.how(how),
            },
            Fault::Dropped { rank } => TransportError::CallDropped { rank: name(rank) },
            Fault::Unreachable { rank, other, errno } => TransportError::Unreachable {
                rank: name(rank),
                other: name(other),
                why: std::io::Error::from_raw_os_error(errno as i32).to_string(),
            },
            Fault::Window {
                rank,
                key,
                found,
                wanted,
            } => TransportError::WindowDiffers {
                rank: name(rank),
                key,
                bytes: found[0] as usize,
                flags: found[1] as usize,
                wanted_bytes: wanted[0] as usize,
                wanted_flags: wanted[1] as usize,
            },
            Fault::Network { rank, lost } => TransportError::Network {
                rank: name(rank),
                why: match lost == rank {
                    true => "its network failed".to_string(),
                    false => format!("rank {} is lost", name(lost)),
                },
                lost: (lost != rank).then(|| name(lost)),
            },
            Fault::HostLost { rank, lost } => TransportError::Network {
                rank: name(rank),
                why: self.describe_lost_host(name(lost)),
                lost: Some(name(lost)),
            },
            Fault::Refused { rank, collective } => TransportError::CallRefused {
                rank: name(rank),
                collective,
            },
            Fault::GaveUp(wait) => gave_up(wait, name),
        }
    }

    /// Stops the communicator with a fault that rank `rank` found, and wakes everybody; gives what the
    /// rank is to report, which is an earlier fault if there is one.
    pub(crate) fn poison(&self, rank: u32, fault: Fault) -> TransportError {
        self.poison_from(0, rank, fault)
    }

    /// The same from call `call` on: those before it can be completed.
    pub(crate) fn poison_from(&self, call: u64, rank: u32, fault: Fault) -> TransportError {
        let fault = self.or_refused(call, fault);
        self.head().fault.post(rank, fault);
        self.liveness.blame(fault.culprit(rank));
        self.stop_from(call);
        self.error(rank).unwrap_or_else(|| self.error_of(fault))
    }

    /// The fault of a call that ranks of this node make differently: a refusal, if it is that.
    fn or_refused(&self, call: u64, fault: Fault) -> Fault {
        let Fault::Mismatch {
            rank,
            other,
            mine,
            theirs: Some(theirs),
        } = fault
        else {
            return fault;
        };
        let has_refused = |rank: u32, stamp: &Stamp| {
            let known = rank < self.ranks() && {
                let refusals = Refusals(self.member(rank).refusals());
                refusals.find(call, stamp.collective()).is_some()
            };
            let collective = stamp.collective();
            known.then_some(Fault::Refused { rank, collective })
        };
        let refused = has_refused(other, &mine).or_else(|| has_refused(rank, &theirs));
        refused.unwrap_or(fault)
    }

    /// Says, once there is a fault, that call `call` has failed, and so cannot be completed by anybody.
    pub(crate) fn stop_from(&self, call: u64) {
        self.head().fault.stop_from(call);
        self.wake_all();
    }

    /// Whether a process of the communicator has ended without leaving it.
    pub(crate) fn has_lost_any(&self) -> bool {
        let is_present = |rank: u32| self.presence(rank) == Presence::Present;
        self.liveness.is_any_dead()
            && (0..self.ranks).any(|rank| is_present(rank) && self.liveness.is_dead(rank))
    }

    /// Stops the communicator if a process of it is known to have ended without leaving it.
    ///
    /// One that had entered call `call` may have done its part in it, so for that the caller gives it some time.
    pub(crate) fn stop_if_dead(&self, rank: u32, call: Option<u64>) -> Result<(), TransportError> {
        let gone = |other: u32| self.presence(other) != Presence::Present;
        let entered = |other: u32| call.is_some_and(|call| self.member(other).entered() > call);
        match self.liveness.dead(gone, entered) {
            Some((dead, how)) => Err(self.poison(rank, Fault::Died { rank: dead, how })),
            None => Ok(()),
        }
    }
}

/// A wait that was given up, with the numbers that ranks have in the communicator.
fn gave_up(wait: GaveUp, name: impl Fn(u32) -> u32) -> TransportError {
    TransportError::GaveUp {
        rank: name(wait.rank),
        interrupted: wait.interrupted,
        waits: Waits {
            collective: wait.collective,
            since: wait.waited,
            missing: wait.named().iter().map(|rank| name(*rank)).collect(),
            missing_in_all: wait.missing_in_all,
        },
    }
}

/// What a receiver says of a message that is not as long as it expects; `u64::MAX` bytes are more, nobody knows how many.
fn wrong_length(rank: u32, other: u32, expected: u64, received: u64) -> TransportError {
    let expected = expected as usize;
    match received {
        u64::MAX => TransportError::TooLong {
            rank,
            other,
            expected,
        },
        _ => TransportError::Length {
            rank,
            other,
            expected,
            received: received as usize,
        },
    }
}
