//! What can go wrong when a process looks for its place among the ranks, or takes it.

use super::MAX_RANKS;

/// Why a process has no place among the ranks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// The number of ranks is outside of what a segment has room for.
    #[error("{ranks} ranks: there can be from 1 to {MAX_RANKS} on a machine")]
    Ranks {
        /// The number that was asked for.
        ranks: u64,
    },
    /// A rank outside of the world.
    #[error("there is no rank {rank}: the ranks are 0 to {}", ranks.saturating_sub(1))]
    NoSuchRank {
        /// The rank.
        rank: u32,
        /// The number of ranks.
        ranks: u32,
    },
    /// Another process, or another part of this one, holds the rank.
    #[error(
        "rank {rank} is taken by process {pid}: a rank is one process, which joins once (was ALLHANDS_RANK handed on to a program that the rank started?)"
    )]
    RankTaken {
        /// The rank.
        rank: u32,
        /// Who holds it.
        pid: u32,
    },
    /// A process had this rank and has left or ended.
    #[error(
        "rank {rank} was process {pid}, which is gone: a second program cannot join in its place, so start the world anew"
    )]
    RankUsed {
        /// The rank.
        rank: u32,
        /// Who held it.
        pid: u32,
    },
    /// A launcher's variable is missing or makes no sense.
    #[error("the environment variable {name} is {}, where {right} would be right", said(value.as_deref()))]
    Variable {
        /// The variable.
        name: &'static str,
        /// What it holds, if it is set.
        value: Option<String>,
        /// What would be right.
        right: String,
    },
    /// The secret of the job is missing or too short.
    #[error(
        "the environment variable ALLHANDS_SECRET {}, where at least 16 bytes would be right, drawn at random and the same for all ranks: openssl rand -hex 16 prints some",
        if *.bytes == 0 { "is not set".to_string() } else { format!("has {bytes} bytes") }
    )]
    Secret {
        /// How many bytes it has.
        bytes: usize,
    },
    /// The ranks do not come together.
    #[error("{says}")]
    WireUp {
        /// What was wrong, where, and what would be right; all ranks that can be told say the same.
        says: String,
    },
    /// What should be the shared segment is not.
    #[error(
        "{place} is not the segment that the ranks share: {why} (does something between the launcher and this program close descriptors?)"
    )]
    NoSegment {
        /// Where it should be.
        place: String,
        /// What is there.
        why: String,
    },
    /// The segment was laid out by another version.
    #[error(
        "the ranks use different versions of allhands: the segment has layout {found}, this program knows {known}"
    )]
    Version {
        /// The layout of the segment.
        found: u32,
        /// The layout that this version knows.
        known: u32,
    },
    /// Ranks that have met are on several machines, where nothing but their communicator serves them all.
    #[error(
        "the ranks are on several hosts; right would be Communicator::world, which serves them"
    )]
    Apart,
    /// Rank 0 could not make the segment; its own error says why.
    #[error("rank 0 could not make the shared segment: its own message says why")]
    FirstRankFailed,
    /// A process manager broke off, or answered with an error.
    #[error("the process manager ({protocol}), asked to {request}: {answer}")]
    Manager {
        /// PMI-1 or PMIx.
        protocol: &'static str,
        /// What it was asked.
        request: String,
        /// What it said.
        answer: String,
    },
    /// The client library of PMIx cannot be used.
    #[error(
        "the process manager speaks PMIx, but libpmix.so.2 cannot be used: {reason}; put its folder on LD_LIBRARY_PATH, or start the program with allhands run"
    )]
    NoPmix {
        /// What the loader says.
        reason: String,
    },
    /// The system refused.
    #[error("{what}: {reason}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the system says.
        reason: String,
    },
}

impl LaunchError {
    pub(super) fn system(what: &'static str, error: impl Into<std::io::Error>) -> LaunchError {
        let reason = error.into().to_string();
        LaunchError::System { what, reason }
    }
}

fn said(value: Option<&str>) -> String {
    value.map_or_else(|| "not set".into(), |value| format!("'{value}'"))
}
