//! Gather of halves: what a reduce-scatter by recursive halving has left on each rank goes to one, in the reverse order (T 4.5).

use crate::algorithm::phase::halving::{Distance, Halves, Meeting, meetings};
use crate::algorithm::phase::view;
use crate::schedule::{Blocks, Builder};

/// Gather to the position `root`: as the allgather, but only towards the root.
pub fn gather(b: &mut Builder, halves: &Halves<'_>, root: u32, vector: Blocks) {
    for meeting in halves.meetings().iter().rev() {
        let peer = (halves.rank_at)(meeting.partner);
        // The two differ in one bit; who agrees with the root there collects.
        if (halves.position ^ root) & (halves.position ^ meeting.partner) != 0 {
            b.send(peer, halves.part(vector, &meeting.keep));
            b.step();
            view::rows(b, &[]);
            return;
        }
        b.recv(peer, halves.part(vector, &meeting.give));
        b.step();
        let both = meeting.both();
        view::rows(b, &[(halves.row(&both), &[halves.part(vector, &both)])]);
    }
}

/// What [`gather`] costs position `position` in slots: (sent, received).
#[must_use]
pub fn slots(size: u32, position: u32, root: u32, distance: Distance) -> (u32, u32) {
    let mut received = 0;
    for Meeting {
        partner,
        keep,
        give,
    } in meetings(size, position, distance).into_iter().rev()
    {
        if (position ^ root) & (position ^ partner) != 0 {
            return (keep.end - keep.start, received);
        }
        received += give.end - give.start;
    }
    (0, received)
}
