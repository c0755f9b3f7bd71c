//! The parts of a segment's memory: what stands where in the near one and in the far one.

use super::Head;
use crate::transport::shm::failure::member::{Member, More};
use crate::transport::shm::queue::inbox::Inbox;
use crate::transport::shm::queue::links::Links;
use crate::transport::shm::queue::ring::{Early, Ring};
use crate::transport::shm::segment::window::Openings;

/// Where what belongs to the near part stands in it.
pub(super) const fn members_at() -> usize {
    size_of::<Head>().next_multiple_of(align_of::<Member>())
}

pub(super) fn early_at(ranks: u32) -> usize {
    members_at() + ranks as usize * size_of::<Member>()
}

/// The bytes of the near part of a segment for `ranks` ranks.
pub(super) fn near_bytes(ranks: u32) -> usize {
    early_at(ranks) + Links::new(ranks).between() as usize * size_of::<Early>()
}

/// Where what belongs to the far part stands in it.
pub(super) const fn more_at() -> usize {
    size_of::<Openings>().next_multiple_of(align_of::<More>())
}

pub(super) fn own_early_at(ranks: u32) -> usize {
    more_at() + ranks as usize * size_of::<More>()
}

pub(super) fn rings_at(ranks: u32) -> usize {
    let end = own_early_at(ranks) + ranks as usize * size_of::<Early>();
    end.next_multiple_of(align_of::<Ring>())
}

pub(super) fn inboxes_at(ranks: u32) -> usize {
    rings_at(ranks) + Links::new(ranks).rings() as usize * size_of::<Ring>()
}

/// The bytes of the far part of a segment for `ranks` ranks.
pub(super) fn far_bytes(ranks: u32) -> usize {
    inboxes_at(ranks) + Links::new(ranks).inboxes() as usize * size_of::<Inbox>()
}
