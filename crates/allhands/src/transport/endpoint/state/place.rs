//! The endpoint's place: its rank among those of several nodes, and the numbers by which its plans call them.

use crate::transport::TransportError;
use crate::transport::endpoint::nodes::cluster::{CALL_CHANNELS, Cluster};
use crate::transport::endpoint::nodes::remote::Remote;
use crate::transport::endpoint::nodes::windows::Flags;
use crate::transport::endpoint::state::endpoint::Endpoint;
use crate::transport::net::{Context, Medium, Network, Places, Way};
use crate::transport::shm::failure::fault::Fault;
use crate::transport::shm::segment::window::WindowSet;
use crate::transport::shm::wait::backoff::Patience;
use allhands_core::schedule::{AGREEMENT_CHANNEL, OpKind, Plan};
use std::sync::Arc;

impl Endpoint {
    /// The endpoint of rank `rank` of a communicator on several nodes, of which this endpoint's shared segment has the ranks of one.
    ///
    /// The segment's ranks are those that share the rank's place, in their order. `oversubscribed` says whether ranks share cores with
    /// anybody, be it on a node of another name.
    ///
    /// # Errors
    /// [`TransportError::WrongPlace`] if the segment's ranks are others; [`TransportError::FewTags`] if the network has too few tags.
    pub fn join(
        mut self,
        network: Box<dyn Network>,
        places: Places,
        rank: u32,
        oversubscribed: bool,
    ) -> Result<Endpoint, TransportError> {
        let here = (self.rank, self.segment.ranks());
        self.join_cluster(
            Cluster::new(Way::Own(network), places, rank, here)?,
            oversubscribed,
        );
        Ok(self)
    }

    /// As [`Endpoint::join`], by a network that communicators made of this one go through, too.
    ///
    /// # Errors
    /// As [`Endpoint::join`].
    pub(crate) fn join_world(
        self,
        network: Box<dyn Network>,
        places: Places,
        rank: u32,
        oversubscribed: bool,
    ) -> Result<Endpoint, TransportError> {
        let all: Vec<u32> = (0..places.ranks()).collect();
        let context = Context::new(Medium::of_world(network), all.into());
        self.join_context(context, places, rank, oversubscribed)
    }

    /// As [`Endpoint::join`], by a part of such a network.
    ///
    /// # Errors
    /// As [`Endpoint::join`].
    pub(crate) fn join_context(
        mut self,
        context: Context,
        places: Places,
        rank: u32,
        oversubscribed: bool,
    ) -> Result<Endpoint, TransportError> {
        let here = (self.rank, self.segment.ranks());
        self.join_cluster(
            Cluster::new(Way::Part(context), places, rank, here)?,
            oversubscribed,
        );
        Ok(self)
    }

    /// Waits, for some time, until what this rank has sent needs it no more: it may compute for long now, while others still wait for
    /// that.
    #[cfg(target_os = "linux")]
    pub(crate) fn see_off(&self) {
        use std::time::{Duration, Instant};
        const LIMIT: Duration = Duration::from_secs(2);
        const NAP: Duration = Duration::from_micros(50);
        let Some(cluster) = &self.cluster else { return };
        let until = Instant::now() + LIMIT;
        while !cluster.state().network.is_away() && Instant::now() < until {
            // What is wrong is found by the next call.
            if cluster.state().look().is_err() {
                return;
            }
            std::thread::sleep(NAP);
        }
    }

    fn join_cluster(&mut self, cluster: Cluster, oversubscribed: bool) {
        self.segment.call_ranks(&cluster.names);
        let places = cluster.places.clone();
        self.segment
            .describe_hosts(Box::new(move |rank| match rank < places.ranks() {
                true => places.describe_loss(rank),
                false => format!("the host of rank {rank} does not answer any more"),
            }));
        self.patience = Patience::new(oversubscribed);
        self.cluster = Some(Arc::new(cluster));
    }

    /// What a request of a plan keeps for ranks of other nodes, if it has to do with some; `window` is its own.
    pub(super) fn remote(
        &self,
        plan: &Plan,
        window: Option<&Arc<WindowSet>>,
    ) -> Result<Option<Box<Remote>>, TransportError> {
        let flags = window.map(|set| Flags {
            segment: Arc::clone(&self.segment),
            rank: self.rank,
            set: Arc::clone(set),
        });
        let remote = Remote::new(self.cluster.as_ref(), self.ranks(), plan, flags);
        remote.map_err(|error| {
            let (rank, why) = (self.rank, error.to_string());
            self.segment
                .poison(rank, Fault::Network { rank, lost: rank });
            TransportError::Network {
                rank: self.global_rank(),
                why,
                lost: None,
            }
        })
    }

    /// Whether ranks of other nodes can put into windows here, and this one there; no if there are none.
    #[must_use]
    pub fn puts_to_other_nodes(&self) -> bool {
        self.cluster.as_ref().is_some_and(|it| it.has_windows)
    }

    /// The rank in the communicator; [`Endpoint::rank`] is the number on the node.
    #[must_use]
    pub fn global_rank(&self) -> u32 {
        self.cluster.as_ref().map_or(self.rank, |c| c.rank)
    }

    /// The number of ranks of the communicator; [`Endpoint::ranks`] is that of the node.
    #[must_use]
    pub fn global_ranks(&self) -> u32 {
        let of_node = || self.segment.ranks();
        self.places().map_or_else(of_node, Places::ranks)
    }

    /// Where the ranks are, if they are on several nodes.
    #[must_use]
    pub fn places(&self) -> Option<&Places> {
        self.cluster.as_ref().map(|cluster| &cluster.places)
    }

    /// Gives the peers of a plan, which has those of the communicator, the numbers by which this endpoint knows them.
    ///
    /// # Errors
    /// [`TransportError::OtherNode`] if the plan would reach into the memory of a rank on another node, but by puts and notifications over
    /// a network that has windows, and [`TransportError::TooManyChannels`].
    pub fn localize(&self, plan: &mut Plan) -> Result<(), TransportError> {
        let Some(cluster) = &self.cluster else {
            return Ok(());
        };
        plan.renumber(|peer| cluster.numbers[peer as usize]);
        let (rank, here) = (cluster.rank, self.segment.ranks());
        for kind in plan.kinds() {
            let Some(peer) = kind.peer().filter(|peer| *peer >= here) else {
                continue;
            };
            if !kind.is_two_sided() {
                let puts = matches!(kind, OpKind::Put { .. } | OpKind::Notify { .. });
                if puts && cluster.has_windows {
                    continue;
                }
                return Err(TransportError::OtherNode {
                    rank,
                    other: cluster.name(peer),
                    operation: operation(kind),
                });
            }
            let (channel, channels) = (kind.channel(), u32::from(CALL_CHANNELS));
            if u32::from(channel) >= channels && channel != AGREEMENT_CHANNEL {
                return Err(TransportError::TooManyChannels {
                    rank,
                    channel,
                    channels,
                });
            }
        }
        Ok(())
    }
}

/// What an operation is called that reaches into another rank's memory.
fn operation(kind: OpKind) -> &'static str {
    match kind {
        OpKind::Put { .. } => "put",
        OpKind::PutReduce { .. } => "put-reduce",
        OpKind::Get { .. } => "get",
        OpKind::GetReduce { .. } => "get-reduce",
        OpKind::Notify { .. } => "notification",
        OpKind::Wait { .. } => "wait for a flag there",
        OpKind::Send { .. }
        | OpKind::Recv { .. }
        | OpKind::RecvReduce { .. }
        | OpKind::Combine { .. }
        | OpKind::Copy
        | OpKind::Reduce
        | OpKind::Await { .. } => "message",
    }
}
