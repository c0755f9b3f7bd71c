//! What can go wrong between ranks.

use crate::transport::{Signature, Waits};
use allhands_core::call::Collective;

/// An error of a call in progress; the communicator is of no further use after it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// Two ranks made different calls.
    #[error("ranks {rank} and {other} make different calls: {}", differing(*rank, mine, *other, theirs.as_deref()))]
    Mismatch {
        /// The rank that found it.
        rank: u32,
        /// The rank that calls differently.
        other: u32,
        /// What `rank` calls.
        mine: Box<Signature>,
        /// What `other` calls; `None` if it has made too many calls since to tell.
        theirs: Option<Box<Signature>>,
    },
    /// A message is not as long as the receiver's part says.
    #[error(
        "rank {rank} expects {expected} bytes from rank {other}, which sends {received}: the counts of the two do not fit"
    )]
    Length {
        /// The receiver.
        rank: u32,
        /// The sender.
        other: u32,
        /// What the receiver expects, in bytes.
        expected: usize,
        /// What the sender sent, in bytes.
        received: usize,
    },
    /// A rank panicked, so a call cannot end.
    #[error("rank {rank} panicked")]
    RankPanicked {
        /// The rank.
        rank: u32,
    },
    /// A rank left the communicator without making a call that the others make.
    #[error("rank {rank} left without making this call")]
    RankLeft {
        /// The rank.
        rank: u32,
    },
    /// A rank's process ended.
    #[error("rank {rank} {how}")]
    RankDied {
        /// The rank.
        rank: u32,
        /// How it ended, as far as it is known.
        how: String,
    },
    /// The schedule needs hardware in which all ranks meet, which no transport has.
    #[error("the algorithm needs a machine's own {fabric}, which no transport has")]
    NoFabric {
        /// The hardware.
        fabric: &'static str,
    },
    /// The system gives no more memory that ranks share.
    #[error("no memory for ranks to share: {why}")]
    NoMemory {
        /// What the system, or the arena, says.
        why: String,
    },
    /// The memory of another process could not be read.
    #[error("rank {rank} could not read a message of rank {other} from its memory: {why}")]
    Unreachable {
        /// The reader.
        rank: u32,
        /// The rank whose memory it is.
        other: u32,
        /// What the system says.
        why: String,
    },
    /// A message from another node is longer than the receiver's part says, by how much the network does not tell.
    #[error(
        "rank {rank} expects {expected} bytes from rank {other}, which sends more: the counts of the two do not fit"
    )]
    TooLong {
        /// The receiver.
        rank: u32,
        /// The sender.
        other: u32,
        /// What the receiver expects, in bytes.
        expected: usize,
    },
    /// The network between nodes failed.
    #[error("rank {rank} could not exchange messages with other nodes: {why}")]
    Network {
        /// The rank.
        rank: u32,
        /// What the network says.
        why: String,
        /// The rank that is lost, if it is that.
        lost: Option<u32>,
    },
    /// An algorithm reaches into the memory of a rank on another node.
    #[error(
        "rank {rank} would reach into the memory of rank {other}, which is on another node, by a {operation}; puts and notifications alone go there, where the network has windows"
    )]
    OtherNode {
        /// The rank.
        rank: u32,
        /// The rank on another node.
        other: u32,
        /// By what.
        operation: &'static str,
    },
    /// A schedule has more channels to another node than the network has tags for.
    #[error("the schedule of rank {rank} sends to another node on channel {channel}; there are channels 0 to {}", channels - 1)]
    TooManyChannels {
        /// The rank.
        rank: u32,
        /// The channel.
        channel: u16,
        /// How many channels there are.
        channels: u32,
    },
    /// More calls are under way than a network has tags for.
    #[error(
        "rank {rank} has more than {calls} calls under way, for which the network's tags do not suffice"
    )]
    TooManyCalls {
        /// The rank.
        rank: u32,
        /// The most calls.
        calls: u64,
    },
    /// A network with too few tags.
    #[error("the network has {tags} tags, where at least {least} are needed")]
    FewTags {
        /// How many there are.
        tags: u32,
        /// How many would be enough.
        least: u32,
    },
    /// The ranks of a node are not those that share its memory.
    #[error(
        "rank {rank} is said to be number {local} of {on_node} on its node, and is number {number} of {sharing} that share memory"
    )]
    WrongPlace {
        /// The rank.
        rank: u32,
        /// Its number on its node, as it is said.
        local: u32,
        /// The number of ranks there, as it is said.
        on_node: u32,
        /// Its number among those that share memory.
        number: u32,
        /// How many share memory.
        sharing: u32,
    },
    /// A rank did not make a call that the others make, as something was wrong with it on that rank.
    #[error("rank {rank} did not make this {collective}: something was wrong with it there")]
    CallRefused {
        /// The rank.
        rank: u32,
        /// What the others call.
        collective: Collective,
    },
    /// A rank gave up its wait in a call, as its time was up or it was interrupted.
    #[error("{}, and {}", waits.describe(&[*rank]), match interrupted { true => "was interrupted", false => "gave up then" })]
    GaveUp {
        /// The rank.
        rank: u32,
        /// Whether it was interrupted; otherwise its time was up.
        interrupted: bool,
        /// In which call it waited, how long and for whom.
        waits: Waits,
    },
    /// A rank dropped a call that was under way.
    #[error("rank {rank} dropped a call before it was complete")]
    CallDropped {
        /// The rank.
        rank: u32,
    },
    /// Another rank found an error first.
    #[error("stopped by an error that rank {rank} found: {error}")]
    Poisoned {
        /// The rank that found it.
        rank: u32,
        /// What it found.
        error: Box<TransportError>,
    },
    /// Two endpoints for one rank.
    #[error("rank {rank} is already in use: a rank has one endpoint")]
    RankTaken {
        /// The rank.
        rank: u32,
    },
    /// A rank outside the communicator.
    #[error("rank {rank} does not exist: the ranks are 0 to {}", ranks - 1)]
    NoSuchRank {
        /// The rank.
        rank: u32,
        /// The number of ranks.
        ranks: u32,
    },
    /// More ranks than a node's segment can number.
    #[error("{ranks} ranks are more than the 65535 that can share a node")]
    TooManyRanks {
        /// The number of ranks.
        ranks: u32,
    },
    /// A communicator without ranks.
    #[error("a communicator has at least one rank")]
    NoRanks,
    /// Ranks ask for different windows under one key.
    #[error(
        "the window of call site {key} has {bytes} bytes and {flags} flags on other ranks, but {wanted_bytes} bytes and {wanted_flags} flags on rank {rank}"
    )]
    WindowDiffers {
        /// The rank that asks for something else.
        rank: u32,
        /// The window's key.
        key: u64,
        /// The size that the first rank asked for.
        bytes: usize,
        /// The flags that the first rank asked for.
        flags: usize,
        /// The size that this rank asks for.
        wanted_bytes: usize,
        /// The flags that this rank asks for.
        wanted_flags: usize,
    },
}

fn differing(rank: u32, mine: &Signature, other: u32, theirs: Option<&Signature>) -> String {
    match theirs {
        Some(theirs) => mine.difference(rank, theirs, other),
        None => format!(
            "{} on rank {rank}, something else on rank {other}",
            mine.collective
        ),
    }
}
