//! The origin: the communicator that another was made of, and who is who in it.

use crate::transport::shm::failure::member::Presence;
use crate::transport::shm::segment::shared_segment::SharedSegment;
use std::sync::Arc;

/// Where a communicator's ranks come from: one that could not open it may have left there.
#[derive(Debug)]
pub(crate) struct Origin {
    segment: Arc<SharedSegment>,
    /// The rank there of each rank of the new communicator.
    ranks: Box<[u32]>,
}

impl Origin {
    pub(crate) fn new(segment: &Arc<SharedSegment>, ranks: &[u32]) -> Origin {
        Origin {
            segment: Arc::clone(segment),
            ranks: ranks.into(),
        }
    }

    /// Where a rank of the new communicator stands in the old one.
    pub(crate) fn presence(&self, rank: u32) -> Presence {
        self.segment.presence(self.ranks[rank as usize])
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use crate::transport::endpoint::state::endpoint::Endpoint;
    use crate::transport::shm::failure::fault::Fault;
    use crate::transport::shm::segment::shared_segment::SharedSegment;
    use std::sync::Arc;

    #[test]
    fn a_rank_that_leaves_without_opening_the_new_communicator_has_left_it() {
        let parent = SharedSegment::new(3).unwrap();
        let mut endpoints = [0, 1, 2].map(|rank| Endpoint::new(Arc::clone(&parent), rank).ok());
        let (members, offset) = ([0, 2, 1], parent.lay_out(3).unwrap());
        // SAFETY: laid out for three ranks, two of which open it.
        let open = || unsafe { parent.open(offset, &members) };
        let (first, last) = (open(), open());
        let _first = Endpoint::new(Arc::clone(&first), 0).unwrap();
        let _last = Endpoint::new(last, 2).unwrap();
        assert_eq!(first.trouble(0, 0), None);
        // Whoever opened it may leave the old one.
        endpoints[1] = None;
        assert_eq!(first.trouble(0, 0), None);
        endpoints[2] = None;
        assert_eq!(first.trouble(0, 0), Some((0, Fault::Left { rank: 1 })));
    }
}
