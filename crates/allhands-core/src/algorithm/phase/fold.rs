//! Fold phases: ranks beyond a power of two hand their vectors to others before an algorithm, and get results after it.
//!
//! In two halves (T 5.1) both ranks of a pair combine one half of the vector, the lower rank the first, and the one that leaves hands its half
//! over; whole (T 4.4) it hands over all of its vector at once.

use crate::algorithm::phase::view;
use crate::pattern::fold::{Folding, Role};
use crate::schedule::{Blocks, Builder, Side};

/// Folds: a rank that leaves hands its contribution over and gets `None`; a rank that stays gets its new rank and where its
/// vector lies, `own` or, if it has combined, `sum`.
pub fn fold(
    b: &mut Builder,
    folding: &Folding,
    halves: bool,
    own: Blocks,
    sum: &mut dyn FnMut(&mut Builder) -> Blocks,
) -> Option<(u32, Blocks)> {
    view::whole(b, own);
    match folding.role(b.rank()) {
        Role::Leaves { host } => {
            if halves {
                let into = sum(b);
                let mine = combine_half(b, host, own, into).0;
                b.send(host, into.slice(mine.0, mine.1));
            } else {
                b.send(host, own);
            }
            b.step();
            view::rows(b, &[]);
            None
        }
        Role::Stays { new_rank, guests } => {
            let Some(guest) = guests.first() else {
                return Some((new_rank, own));
            };
            let into = sum(b);
            if halves {
                let theirs = combine_half(b, guest, own, into).1;
                b.recv(guest, into.slice(theirs.0, theirs.1));
            } else {
                b.recv_reduce(guest, Side::of(guest, b.rank()), own, into);
            }
            b.step();
            view::whole(b, into);
            Some((new_rank, into))
        }
    }
}

/// Both ranks of a pair combine a half; returns which one is combined here and which one there, as (first, count).
fn combine_half(b: &mut Builder, peer: u32, own: Blocks, into: Blocks) -> ((u32, u32), (u32, u32)) {
    let parts = own.count();
    let (low, high) = ((0, parts / 2), (parts / 2, parts - parts / 2));
    let (mine, theirs) = if b.rank() < peer {
        (low, high)
    } else {
        (high, low)
    };
    let half = into.slice(mine.0, mine.1);
    b.send(peer, own.slice(theirs.0, theirs.1));
    b.recv_reduce(
        peer,
        Side::of(peer, b.rank()),
        own.slice(mine.0, mine.1),
        half,
    );
    b.step();
    view::rows(b, &[(mine.0, &[half])]);
    (mine, theirs)
}

/// What [`fold`] costs who stays, if anybody folds onto it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Rounds.
    pub steps: u32,
    /// Slots of the vector that go to the guest.
    pub sent: u64,
    /// Slots that come from there.
    pub received: u64,
    /// Slots that are combined.
    pub work: u64,
}

/// The cost of a fold of vectors of `slots`; nothing where nobody leaves.
#[must_use]
pub fn cost(folding: &Folding, halves: bool, slots: u64) -> Cost {
    match (folding.extra(), halves) {
        (0, _) => Cost::default(),
        (_, true) => Cost {
            steps: 2,
            sent: slots / 2,
            received: slots,
            work: slots / 2,
        },
        (_, false) => Cost {
            steps: 1,
            sent: 0,
            received: slots,
            work: slots,
        },
    }
}

/// Unfolds: who stayed sends `result` to the rank that it represents; who left receives it there.
pub fn unfold(b: &mut Builder, folding: &Folding, result: Blocks) {
    match folding.role(b.rank()) {
        Role::Leaves { host } => b.recv(host, result),
        Role::Stays { guests, .. } => {
            if let Some(guest) = guests.first() {
                b.send(guest, result);
            }
        }
    }
    b.step();
    view::whole(b, result);
}
