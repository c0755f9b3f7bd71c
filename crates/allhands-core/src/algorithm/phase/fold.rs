//! Fold phases: ranks beyond a power of two hand their vectors to neighbours before an algorithm, and get results after it.
//!
//! In two halves (T 5.1) both ranks of a pair combine one half of the vector and the one that leaves hands its half over; whole (T 4.4) it
//! hands over all of its vector at once.

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
    let parts = own.count();
    let (low, high) = ((0, parts / 2), (parts / 2, parts - parts / 2));
    let of = |vector: Blocks, half: (u32, u32)| vector.slice(half.0, half.1);
    match folding.role(b.rank()) {
        Role::Leaves { host } if halves => {
            let side = if host < b.rank() {
                Side::Left
            } else {
                Side::Right
            };
            let half = sum(b);
            b.send(host, of(own, low));
            b.recv_reduce(host, side, of(own, high), of(half, high));
            b.step();
            b.send(host, of(half, high));
            b.step();
            None
        }
        Role::Leaves { host } => {
            b.send(host, own);
            b.step();
            None
        }
        Role::Stays { new_rank, guests } => {
            let Some(guest) = guests.first() else {
                return Some((new_rank, own));
            };
            let side = if guest < b.rank() {
                Side::Left
            } else {
                Side::Right
            };
            let into = sum(b);
            if halves {
                b.send(guest, of(own, high));
                b.recv_reduce(guest, side, of(own, low), of(into, low));
                b.step();
                b.recv(guest, of(into, high));
            } else {
                b.recv_reduce(guest, side, own, into);
            }
            b.step();
            Some((new_rank, into))
        }
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
}
