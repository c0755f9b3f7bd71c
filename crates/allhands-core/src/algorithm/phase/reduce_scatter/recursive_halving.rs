//! Recursive halving: in each meeting a rank sends one half of what it has and combines the other with what comes (T 4.4).

use crate::algorithm::phase::halving::{Halves, Meeting};
use crate::algorithm::phase::view;
use crate::schedule::{Blocks, Builder, Side};

/// Reduce-scatter: starts from `own`, combines into `sum`, and leaves the blocks of the own slot in `result`.
pub fn reduce_scatter(
    b: &mut Builder,
    halves: &Halves<'_>,
    own: Blocks,
    sum: Blocks,
    result: &[Blocks],
) {
    let meetings = halves.meetings();
    let rounds = meetings.len();
    if rounds == 0 {
        b.copy(halves.own(own), result);
        b.step();
    }
    let mut at = own;
    for (round, meeting) in (1..).zip(meetings) {
        let Meeting {
            partner,
            keep,
            give,
        } = meeting;
        let peer = (halves.rank_at)(partner);
        let side = Side::of(partner, halves.position);
        let half = [halves.part(sum, &keep)];
        let into = if round == rounds { result } else { &half };
        b.send(peer, halves.part(at, &give));
        b.recv_reduce(peer, side, halves.part(at, &keep), into);
        b.step();
        view::rows(b, &[(halves.row(&keep), into)]);
        at = sum;
    }
}
