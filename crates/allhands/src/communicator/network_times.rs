//! The network times: what messages between nodes take, as the ranks of a world measure it before their first call.

use super::Communicator;
use crate::policy::NetworkTimes;
use crate::transport::net::{Context, times};

impl Communicator {
    /// What the first rank has measured with the first ranks of other nodes, for that one alone; none on others, or if it failed: what
    /// has gone wrong then is found by the next call, which says it as any call does.
    ///
    /// Its messages go through a context of their own, whose number no other communicator has.
    pub(super) fn measure_network(&self) -> Option<NetworkTimes> {
        let inner = self.inner.take();
        let cluster = inner.endpoint.cluster.as_ref()?;
        let places = &cluster.places;
        let all: Vec<u32> = (0..places.ranks()).collect();
        let names = cluster.names_there(&all)?;
        let claim = cluster.another(cluster.first_free(0)?)?;
        let mut network = Context::new(claim, names);
        let firsts: Vec<u32> = (0..places.nodes())
            .map(|node| places.members(node)[0])
            .collect();
        let measured = times::measure(&mut network, cluster.rank, &firsts, inner.oversubscribed);
        Some(measured.ok()??.times)
    }
}
