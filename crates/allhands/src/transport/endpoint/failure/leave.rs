//! Leaving: what an endpoint gives back, and says to others, when its rank makes no further call.

use crate::transport::endpoint::state::endpoint::Endpoint;
use crate::transport::net::notice::Word;
#[cfg(target_os = "linux")]
use crate::transport::net::{Context, Medium, Network, Places};
#[cfg(target_os = "linux")]
use crate::transport::shm::failure::fault::Fault;
use crate::transport::shm::memory::arena::Block;
use crate::transport::shm::segment::shared_segment::Carrier;
use crate::transport::shm::tuning::PIPELINE_BUFFER_BYTES;
use std::sync::Arc;

impl Endpoint {
    /// Tells the ranks of other nodes that rank `rank` makes no call of the communicator that they are making, because of a fault
    /// on its own node if it is that: in numbers of the communicator, with who found it.
    #[cold]
    #[cfg(target_os = "linux")]
    pub(crate) fn never_comes(
        network: Box<dyn Network>,
        places: &Places,
        rank: u32,
        fault: Option<(u32, Fault)>,
    ) {
        let all = || 0..places.ranks();
        let mut network = Context::new(Medium::of_world(network), all().collect());
        let found = fault.unwrap_or((rank, Fault::Left { rank }));
        let notice = Word::Stopped(0, found, [const { String::new() }; 2]).notice();
        for other in all().filter(|other| places.node(*other) != places.node(rank)) {
            network.notify(other, &notice);
        }
        // Dropped, it waits until all that can be told are.
    }

    /// Tells the other nodes that this rank makes no further call.
    #[cold]
    fn report_leave(&self, panicked: bool) {
        self.spread_before_leaving();
        if let Some(cluster) = &self.cluster {
            let entered = self.next_call();
            let mut state = cluster.state();
            for other in cluster.others() {
                let number = cluster.numbers[*other as usize] as usize;
                let word = Word::Left {
                    entered,
                    panicked,
                    frames: state.frames.get(number).copied().unwrap_or(0),
                };
                state.network.notify(*other, &word.notice());
            }
        }
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        let arena = self.segment.arena();
        for (to, side) in (0..).zip(&mut self.sent) {
            // Who has made none has none, and leaves the memory of long messages alone.
            if side.pipeline_buffers.has_made_none() {
                continue;
            }
            let Carrier::Ring(ring) = self.segment.link(self.rank, to) else {
                continue;
            };
            while let Some(offset) = side.pipeline_buffers.take(&ring.pipeline_buffers_back) {
                // SAFETY: a pipeline buffer, handed out with this size; we have it, so nobody else gives it back.
                drop(unsafe {
                    Block::adopt(Arc::clone(arena), offset, PIPELINE_BUFFER_BYTES as u64)
                });
            }
        }
        let panicked = std::thread::panicking();
        self.report_leave(panicked);
        self.segment.leave(self.rank, panicked);
    }
}
