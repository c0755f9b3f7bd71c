//! Recursive-doubling reduce-scatter: pairs at distance 1, 2, 4, … exchange all blocks but those that their own groups need.
//!
//! Neighbours combine first, so rank order is kept, for operators that do not commute. More is sent than by recursive halving:
//! n − n/p, n − 2n/p, n − 4n/p, … Of what the paper sends, a rank has no use for the blocks of its own group other than its own:
//! `send=needed` leaves them out. The paper says nothing of other numbers than powers of two; here, as in recursive halving, the first
//! even ranks fold into their odd neighbours, which work for both: that keeps rank order.
//!
//! ```text
//! 4 ranks      0⇄1 2⇄3: all but the own block      0⇄2 1⇄3: all but the pair's blocks
//! ```
//!
//! Source: T 4.4.

use super::BASE;
use crate::algorithm::phase::{fold::fold, view};
use crate::algorithm::{Algorithm, Claims, Key, Values};
use crate::pattern::doubling_exchange::DoublingExchange;
use crate::schedule::{Blocks, Builder, Shape, Side};
use alloc::vec::Vec;
use core::ops::Range;

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "recursive-doubling",
    citation: "T 4.4",
    summary: "pairs at distance 1, 2, 4, … exchange all but what their groups need; keeps rank order",
    keys: &[Key {
        name: "send",
        values: Values::Names(&["all", "needed"]),
        default: 0,
        about: "all that the own group does not need (T 4.4), or only what the receiver has a use for",
    }],
    settings: &["", "send=needed"],
    build,
    claims,
    ..BASE
};

fn exchange(shape: &Shape) -> DoublingExchange {
    DoublingExchange::new(shape.ranks(), shape.get("send") == 1)
}

fn build(b: &mut Builder) {
    let (rank, exchange) = (b.rank(), exchange(b.shape()));
    let (input, output, folding) = (b.input(), b.output(), exchange.folding());
    let Some((position, own)) = fold(b, folding, false, input, &mut Builder::vector) else {
        b.recv(folding.actual(folding.representative(rank)), output);
        b.step();
        view::rows(b, &[(rank, &[output])]);
        return;
    };
    let folded = if own == input { b.vector() } else { own };
    let vectors = [b.vector(), folded];
    let mut at = Parted {
        vector: own,
        apart: 0..0,
        there: own,
    };
    for round in 0..exchange.rounds() {
        let partner = position ^ (1 << round);
        let (peer, side) = (folding.actual(partner), Side::of(partner, position));
        let arriving = exchange.received(position, round);
        let is_last = round + 1 == exchange.rounds();
        let into = Parted {
            vector: vectors[round as usize % 2],
            apart: if is_last { rank..rank + 1 } else { 0..0 },
            there: output,
        };
        b.send(peer, at.pieces(&exchange.received(partner, round)));
        b.recv_reduce(peer, side, at.pieces(&arriving), into.pieces(&arriving));
        b.step();
        into.show(b, &exchange.useful(position, round));
        // Blocks of the partner's group did not come and stay where they are.
        let theirs = exchange.group(partner, round);
        at = Parted {
            vector: into.vector,
            there: at.vector.slice(theirs.start, theirs.end - theirs.start),
            apart: theirs,
        };
    }
    if exchange.rounds() == 0 {
        b.copy(own.at(rank), output);
    }
    if let Some(guest) = folding.guests(position).first() {
        b.send(guest, at.vector.at(guest));
        b.step();
        view::rows(b, &[(rank, &[output])]);
    }
}

/// A vector of which the blocks of some ranks lie elsewhere.
struct Parted {
    vector: Blocks,
    apart: Range<u32>,
    there: Blocks,
}

impl Parted {
    /// The blocks of some ranks, wherever they are.
    fn pieces(&self, ranges: &[Range<u32>]) -> Vec<Blocks> {
        let mut all = Vec::new();
        for range in ranges {
            let low = self.apart.start.clamp(range.start, range.end);
            let high = self.apart.end.clamp(low, range.end);
            all.push(self.vector.slice(range.start, low - range.start));
            if low < high {
                all.push(self.there.slice(low - self.apart.start, high - low));
            }
            all.push(self.vector.slice(high, range.end - high));
        }
        all
    }

    fn show(&self, b: &mut Builder, ranges: &[Range<u32>]) {
        let row = |range: &Range<u32>| (range.start, self.pieces(core::slice::from_ref(range)));
        let held: Vec<(u32, Vec<Blocks>)> = ranges.iter().map(row).collect();
        let held: Vec<(u32, &[Blocks])> =
            held.iter().map(|(row, sets)| (*row, &sets[..])).collect();
        view::rows(b, &held);
    }
}

fn claims(shape: &Shape) -> Claims {
    let exchange = exchange(shape);
    let (p, rounds) = (shape.ranks(), exchange.rounds());
    let count = |position, round| -> u64 {
        let ranges = exchange.received(position, round);
        ranges.iter().map(|r| u64::from(r.end - r.start)).sum()
    };
    let (mut volume, mut work) = (0, 0);
    for position in 0..exchange.folding().kept() {
        let folded = u64::from(exchange.folding().guests(position).len());
        let sent: u64 = (0..rounds).map(|r| count(position ^ (1 << r), r)).sum();
        let received: u64 = (0..rounds).map(|round| count(position, round)).sum();
        let received = received + folded * u64::from(p);
        volume = volume.max(sent + folded).max(received);
        work = work.max(received);
    }
    Claims {
        ports: 1,
        steps: rounds + if p.is_power_of_two() { 0 } else { 2 },
        volume,
        work,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::{Call, Collective};

    #[test]
    fn powers_of_two_cost_what_the_paper_says_or_less() {
        for (lg, p) in (0..12).map(|lg| (u64::from(lg as u32), 1u64 << lg)) {
            let call = Call::new(Collective::ReduceScatter, p as u32);
            let cost = |text| claims(&ALGORITHM.shape(call, text).unwrap());
            let paper = p * lg - (p - 1);
            assert_eq!((cost("").volume, cost("").work), (paper, paper));
            let needed = lg * (p + 1) - 2 * (p - 1);
            assert_eq!(
                (cost("send=needed").volume, cost("send=needed").work),
                (needed, needed)
            );
        }
    }
}
