//! The network error: why a network cannot go on, and which rank is lost if that is why.

#[cfg(target_os = "linux")]
use super::tcp::Loss;

/// Why a network cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// A rank cannot be reached any more.
    #[error(transparent)]
    Lost(#[from] LostRank),
    /// A rank cannot be reached any more that this communicator does not have.
    #[error("a rank of another communicator is lost: {0}")]
    LostElsewhere(LossCause),
    /// It has no windows that ranks of other nodes can put into.
    #[error("this network has no windows: nothing can be put to other nodes")]
    NoWindows,
    /// Anything else, in the network's own words.
    #[error("{0}")]
    Other(String),
}

/// A rank that cannot be reached any more, as the communicator calls it whose network says so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rank {rank} is lost: {cause}")]
pub struct LostRank {
    /// Which.
    pub rank: u32,
    /// What people call its host, where that is known.
    pub host: Option<String>,
    /// Why.
    pub cause: LossCause,
}

/// Why a rank is lost.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LossCause {
    /// What became of its connections.
    #[cfg(target_os = "linux")]
    #[error(transparent)]
    Connection(#[from] Loss),
    /// One of several rails to its host, of which all are needed, leads there no more.
    #[error("{0}")]
    Rail(String),
    /// What libfabric's provider says.
    #[error("{0}")]
    Provider(String),
    /// What watches over it fails.
    #[error(transparent)]
    Watch(Box<NetworkError>),
}

impl NetworkError {
    /// The rank that is lost, if that is what it says.
    #[must_use]
    pub fn lost(&self) -> Option<&LostRank> {
        match self {
            NetworkError::Lost(lost) => Some(lost),
            NetworkError::LostElsewhere(_) | NetworkError::NoWindows | NetworkError::Other(_) => {
                None
            }
        }
    }

    /// That a rank is lost over which a network watches that fails so.
    #[cfg(target_os = "linux")]
    pub(super) fn found_lost(self, rank: u32) -> LostRank {
        match self {
            NetworkError::Lost(lost) if lost.rank == rank => lost,
            other => LostRank {
                rank,
                host: None,
                cause: LossCause::Watch(Box::new(other)),
            },
        }
    }
}

impl LostRank {
    /// Whether its host answers no more, so that all ranks there are lost with it.
    #[must_use]
    pub fn is_host_lost(&self) -> bool {
        match &self.cause {
            #[cfg(target_os = "linux")]
            LossCause::Connection(loss) => loss.is_silence(),
            LossCause::Rail(_) | LossCause::Provider(_) | LossCause::Watch(_) => false,
        }
    }
}

#[cfg(all(test, not(loom), target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_lost_rank_is_named_with_its_host_and_the_cause() {
        let of = |loss| LostRank {
            rank: 3,
            host: Some("c".into()),
            cause: LossCause::Connection(loss),
        };
        let error = NetworkError::from(of(Loss::Silent));
        assert_eq!(
            error.to_string(),
            "rank 3 is lost: the other end does not answer"
        );
        assert_eq!(error.lost(), Some(&of(Loss::Silent)));
        assert!(of(Loss::Silent).is_host_lost() && !of(Loss::Closed).is_host_lost());
        assert_eq!(error.clone().found_lost(3), of(Loss::Silent));
        let elsewhere = NetworkError::LostElsewhere(Loss::Left.into());
        assert_eq!(
            elsewhere.to_string(),
            "a rank of another communicator is lost: it has left"
        );
        let found = NetworkError::Other("no sockets".into()).found_lost(2);
        assert_eq!(found.to_string(), "rank 2 is lost: no sockets");
        assert!(!found.is_host_lost());
    }
}
