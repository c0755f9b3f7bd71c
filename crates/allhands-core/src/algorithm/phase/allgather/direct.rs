//! Direct allgather: every rank sends its block straight to all others.

use crate::algorithm::phase::alltoall::direct::exchange;
use crate::schedule::{Blocks, Builder};

/// Allgather: everyone sends block `rank` of `vector` to all, who receive it in the same place.
pub fn allgather(b: &mut Builder, vector: Blocks) {
    let rank = b.rank();
    exchange(
        b,
        |b, from| b.recv(from, vector.at(from)),
        |b, to| b.send(to, vector.at(rank)),
    );
}
