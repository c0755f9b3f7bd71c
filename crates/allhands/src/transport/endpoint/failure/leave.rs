//! Leaving: what an endpoint gives back, and says to others, when its rank makes no further call.

use crate::transport::endpoint::state::endpoint::Endpoint;
use crate::transport::net::notice::Word;
use crate::transport::shm::memory::arena::Block;
use crate::transport::shm::segment::shared_segment::Carrier;
use crate::transport::shm::tuning::PIPELINE_BUFFER_BYTES;
use std::sync::Arc;

impl Endpoint {
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
