//! Recursive doubling of halves: in each meeting two ranks give each other all that they have, in the reverse order of a
//! reduce-scatter by recursive halving (T 4.5).

use crate::algorithm::phase::halving::Halves;
use crate::algorithm::phase::view;
use crate::schedule::{Blocks, Builder};

/// Allgather, the reduce-scatter backwards: starts with the own slot in `vector` and ends with all of them there.
pub fn allgather(b: &mut Builder, halves: &Halves<'_>, vector: Blocks) {
    for meeting in halves.meetings().iter().rev() {
        let peer = (halves.rank_at)(meeting.partner);
        b.send(peer, halves.part(vector, &meeting.keep));
        b.recv(peer, halves.part(vector, &meeting.give));
        b.step();
        let both = meeting.both();
        view::rows(b, &[(halves.row(&both), &[halves.part(vector, &both)])]);
    }
}
