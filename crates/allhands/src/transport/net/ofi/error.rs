//! Errors: why there is no network over libfabric.

use crate::transport::net::NetworkError;

/// Why a rank has no network over libfabric.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OfiError {
    /// The library cannot be loaded.
    #[error(
        "libfabric cannot be loaded ({reason}); right would be to install it, on Debian and Ubuntu by apt-get install libfabric1, or to name its folder in LD_LIBRARY_PATH"
    )]
    Missing {
        /// What the loader says.
        reason: String,
    },
    /// The library is older than what serves.
    #[error("libfabric is version {}.{}; right would be 1.15 or later", version >> 16, version & 0xffff)]
    Old {
        /// The version, its major number in the upper half.
        version: u32,
    },
    /// What was loaded is something else.
    #[error(
        "what is loaded as libfabric.so.1 has no function {function}; right would be libfabric 1.15 or later"
    )]
    Lacks {
        /// What is not there.
        function: String,
    },
    /// No provider can do what is needed.
    #[error(
        "libfabric has no provider{} for tagged messages between reliable endpoints; {found}",
        named(asked)
    )]
    NoProvider {
        /// The provider that was asked for, or none.
        asked: String,
        /// Which there are.
        found: String,
    },
    /// The provider has too few bits in its tags.
    #[error(
        "the provider {provider} has tags of {bits} bits, where {least} are needed for {ranks} ranks"
    )]
    FewTagBits {
        /// The provider.
        provider: String,
        /// What it has.
        bits: u32,
        /// What is needed.
        least: u32,
        /// For so many ranks.
        ranks: u32,
    },
    /// A function of the library, or of a provider, failed.
    #[error("libfabric cannot {what}: {why}")]
    Call {
        /// What was asked of it.
        what: &'static str,
        /// What it says.
        why: String,
    },
    /// Ranks have different numbers of rails.
    #[error(
        "rank {rank} has {theirs} rail{} over libfabric, rank {other} has {ours}; right would be as many on every host",
        if *theirs == 1 { "" } else { "s" }
    )]
    Rails {
        /// One rank.
        rank: u32,
        /// How many it has.
        theirs: usize,
        /// The other.
        other: u32,
        /// And how many that has.
        ours: usize,
    },
    /// A provider has nothing at a rail that was named.
    #[error("libfabric's provider {provider} has nothing at {rail}; it has {found}")]
    NoRail {
        /// The provider.
        provider: String,
        /// The interface or the domain.
        rail: String,
        /// What there is.
        found: String,
    },
    /// Ranks have networks that do not fit one another.
    #[error(
        "rank {rank} has {theirs}, rank {other} has {ours}; right would be the same provider on all hosts, as ALLHANDS_OFI_PROVIDER can name it"
    )]
    Differs {
        /// One rank.
        rank: u32,
        /// What it has.
        theirs: String,
        /// The other.
        other: u32,
        /// And what that has.
        ours: String,
    },
}

fn named(asked: &str) -> String {
    match asked {
        "" => String::new(),
        asked => format!(" '{asked}'"),
    }
}

impl From<OfiError> for NetworkError {
    fn from(error: OfiError) -> NetworkError {
        NetworkError::Other(error.to_string())
    }
}
