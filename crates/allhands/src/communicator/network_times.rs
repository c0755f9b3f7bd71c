//! The network times: what messages between nodes take, as the ranks of a world measure it before their first call.

use super::Communicator;
use crate::error::Error;
use crate::operation;
use crate::policy::NetworkTimes;
use crate::transport::net::{Context, Network, NetworkError, times};

impl Communicator {
    /// What the first rank has measured with the first ranks of other nodes, for that one alone; none on others, or if it failed: what
    /// has gone wrong then is found by the next call, which says it as any call does.
    ///
    /// Its messages go through a context of their own, whose number no other communicator has.
    pub(super) fn measure_network(&self) -> Option<NetworkTimes> {
        let measured = self.with_firsts(times::measure)?;
        Some(measured.times)
    }

    /// Has each rail of a network measured that is told what they carry, and tells all ranks.
    ///
    /// # Errors
    /// As any call.
    pub(super) fn measure_rails(&self) -> Result<(), Error> {
        let cluster = self.inner.take().endpoint.cluster.clone();
        let rails = cluster.as_ref().map_or(1, |it| it.state().network.rails());
        let Some(cluster) = cluster.filter(|_| rails > 1) else {
            return Ok(());
        };
        let measured = self.with_firsts(times::measure_rails);
        let mut rates = measured.unwrap_or_else(|| vec![f64::NAN; rails]);
        // Those whose messages of this call still wait have begun them, and these know where they go.
        self.run(operation::broadcast(&mut rates[..], 0))?;
        cluster.state().network.share(&rates);
        Ok(())
    }

    /// What the first ranks of all nodes find out in messages of their own.
    fn with_firsts<R>(
        &self,
        what: impl FnOnce(&mut dyn Network, u32, &[u32], bool) -> Result<Option<R>, NetworkError>,
    ) -> Option<R> {
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
        let found = what(&mut network, cluster.rank, &firsts, inner.oversubscribed);
        found.ok()?
    }
}
