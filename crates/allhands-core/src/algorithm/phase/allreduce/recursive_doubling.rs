//! Doubling phase: pairs at distance 1, 2, 4, … exchange and combine whole vectors.

use crate::algorithm::Claims;
use crate::algorithm::phase::{fold, view};
use crate::pattern::fold::{Fold, Folding};
use crate::pattern::math::floor_log2;
use crate::schedule::{Blocks, Builder, Side};
use alloc::vec::Vec;

/// The ranks of a doubling, a power of two of positions.
pub struct Doubling<'a> {
    /// The number of positions.
    pub size: u32,
    /// The position of this rank.
    pub position: u32,
    /// The rank at a position.
    pub rank_at: &'a dyn Fn(u32) -> u32,
}

/// The result and a vector of scratch, which take turns: a combination cannot land where the one before is being sent from.
#[derive(Clone, Copy, Debug)]
pub struct Turns {
    result: Blocks,
    spare: Option<Blocks>,
    rounds: u32,
}

impl Turns {
    /// Turns for an exchange among `size` positions, which ends in `result`.
    #[must_use]
    pub fn new(size: u32, result: Blocks) -> Turns {
        Turns {
            result,
            spare: None,
            rounds: floor_log2(size),
        }
    }

    /// Where what is combined before the exchange should land, so that its last combination lands in the result.
    pub fn start(&mut self, b: &mut Builder) -> Blocks {
        self.landing(b, self.rounds)
    }

    /// Where a combination lands after which `left` rounds are left.
    fn landing(&mut self, b: &mut Builder, left: u32) -> Blocks {
        if left.is_multiple_of(2) {
            self.result
        } else {
            *self.spare.get_or_insert_with(|| b.vector())
        }
    }

    /// Where each round's combination lands.
    fn landings(&mut self, b: &mut Builder, own: Blocks) -> Vec<Blocks> {
        let mut all: Vec<Blocks> = Vec::new();
        for left in (0..self.rounds).rev() {
            all.push(self.landing(b, left));
        }
        // In place the first round sends the output, so it cannot land there; a third vector brings the turns in order again.
        if b.call().in_place && own == b.input() && all.first() == Some(&b.output()) {
            all[0] = self.landing(b, 1);
            if self.rounds > 1 {
                all[1] = b.vector();
            }
        }
        all
    }
}

/// Exchanges and combines, starting from `own`, to the turns' result.
pub fn allreduce(b: &mut Builder, doubling: &Doubling<'_>, turns: &mut Turns, own: Blocks) {
    let mut at = own;
    for (round, into) in turns.landings(b, own).into_iter().enumerate() {
        let partner = doubling.position ^ (1 << round);
        let side = Side::of(partner, doubling.position);
        let peer = (doubling.rank_at)(partner);
        b.send(peer, at);
        b.recv_reduce(peer, side, at, into);
        b.step();
        view::whole(b, into);
        at = into;
    }
    b.copy(at, turns.result);
    b.step();
}

/// The same among all ranks, those beyond a power of two folded into others before, from all inputs to every rank's `result`.
pub fn among_all(b: &mut Builder, fold: Fold, result: Blocks) {
    let folding = Folding::to_power(b.ranks(), 2, fold);
    let input = b.input();
    let mut turns = Turns::new(folding.kept(), result);
    if let Some((position, own)) = fold::fold(b, &folding, false, input, &mut |b| turns.start(b)) {
        let doubling = Doubling {
            size: folding.kept(),
            position,
            rank_at: &|position| folding.actual(position),
        };
        allreduce(b, &doubling, &mut turns, own);
    }
    fold::unfold(b, &folding, result);
}

/// What [`among_all`] costs, in vectors.
#[must_use]
pub fn claims(ranks: u32) -> Claims {
    let rounds = floor_log2(ranks);
    let folds = u32::from(!ranks.is_power_of_two());
    Claims {
        ports: 1,
        steps: rounds + 2 * folds,
        volume: u64::from(rounds + folds),
        work: u64::from(rounds + folds),
    }
}
