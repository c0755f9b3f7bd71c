//! Bruck's exchange: blocks travel by the digits of the distance that they have to go.
//!
//! A block is read from its place in the input at its first move and received at its place in the output at its last. In between it lies
//! in the region of the digit by which it came, so that what a step sends is a few strided runs, however many ranks there are.

use crate::algorithm::Claims;
use crate::pattern::digits::{Move, blocks_with_digit, moves, steps};
use crate::pattern::exchange::shifted;
use crate::schedule::{Blocks, Builder, Shape, Space, Units};
use alloc::vec::Vec;

/// Where blocks lie between their moves.
struct Journey {
    p: u32,
    rank: u32,
    radix: u32,
    input: Blocks,
    output: Blocks,
    /// For each digit position and value, the region of the blocks that came by it and go on.
    regions: Vec<Vec<Blocks>>,
}

impl Journey {
    /// The displacements with digit value `this` whose last lower nonzero digit is `last` (or that have none): those that end
    /// here as one run, and the runs that go on.
    fn runs(&self, this: Move, last: Option<Move>) -> (Run, Run) {
        let width = last.map_or(1, |last| self.radix.pow(last.step));
        let first = this.distance + last.map_or(0, |last| last.distance);
        let cycle = u64::from(self.radix.pow(this.step)) * u64::from(self.radix);
        let ends = Run {
            first,
            width: width.min(self.p.saturating_sub(first)),
            stride: 0,
            times: 1,
            rest: 0,
        };
        let next = u64::from(first) + cycle;
        let room = u64::from(self.p).saturating_sub(next);
        let times = if room >= u64::from(width) {
            ((room - u64::from(width)) / cycle + 1) as u32
        } else {
            0
        };
        let rest = room
            .saturating_sub(u64::from(times) * cycle)
            .min(u64::from(width)) as u32;
        (
            ends,
            Run {
                first: next.min(u64::from(self.p)) as u32,
                width,
                stride: cycle as u32,
                times,
                rest,
            },
        )
    }

    /// A run's blocks in the region of `by`.
    fn region(&self, by: Move, run: &Run) -> Vec<Blocks> {
        let weight = self.radix.pow(by.step);
        let region = self.regions[by.step as usize][by.digit as usize - 1];
        let index = |j: u32| j / weight / self.radix * weight + j % weight;
        run.sets(
            Space::Scratch,
            region.first + index(run.first),
            (run.stride / self.radix) as i32,
        )
    }

    /// A run's blocks where they have not moved yet: input block rank + j.
    fn unmoved(&self, run: &Run) -> Vec<Blocks> {
        // A stride of one block each, cut where it passes the last rank.
        let until_end = (self.p - self.rank)
            .saturating_sub(run.first)
            .div_ceil(run.stride.max(1))
            .min(run.count());
        let part = |first: u32, times: u32| {
            Blocks::strided(
                self.input.space,
                self.input.first + first,
                1,
                run.stride as i32,
                times,
            )
        };
        let beyond = run.first + until_end * run.stride + self.rank;
        let mut sets = Vec::with_capacity(2);
        if until_end > 0 {
            sets.push(part(self.rank + run.first, until_end));
        }
        if run.count() > until_end {
            sets.push(part(beyond - self.p, run.count() - until_end));
        }
        sets
    }

    /// A run's blocks where they end: output block rank − j.
    fn ended(&self, run: &Run) -> Vec<Blocks> {
        if run.width == 0 {
            return Vec::new();
        }
        let first = (self.rank + self.p - run.first) % self.p;
        let until_zero = run.width.min(first + 1);
        let down = |from: u32, count: u32| {
            Blocks::descending(self.output.space, self.output.first + from, count)
        };
        alloc::vec![
            down(first, until_zero),
            down(self.p - 1, run.width - until_zero)
        ]
    }

    /// What a move sends and where it is received, in the same order at both ends.
    fn blocks(&self, this: Move) -> (Vec<Blocks>, Vec<Blocks>) {
        let (mut sent, mut received) = (Vec::new(), Vec::new());
        let lower = (0..this.step).flat_map(|step| moves(self.p, self.radix, step));
        for last in core::iter::once(None).chain(lower.map(Some)) {
            let (ends, goes_on) = self.runs(this, last);
            for run in [&ends, &goes_on] {
                sent.extend(last.map_or_else(|| self.unmoved(run), |by| self.region(by, run)));
            }
            received.extend(self.ended(&ends));
            received.extend(self.region(this, &goes_on));
        }
        (sent, received)
    }
}

/// Runs of `width` displacements, `stride` apart, and one of `rest` after them.
struct Run {
    first: u32,
    width: u32,
    stride: u32,
    times: u32,
    rest: u32,
}

impl Run {
    fn count(&self) -> u32 {
        self.width * self.times + self.rest
    }

    fn sets(&self, space: Space, first: u32, stride: i32) -> Vec<Blocks> {
        let rest = first.wrapping_add_signed(stride * self.times as i32);
        alloc::vec![
            Blocks::strided(space, first, self.width, stride, self.times),
            Blocks::new(space, rest, self.rest),
        ]
    }
}

/// The whole exchange: ⌈log_r p⌉ steps, each for every value of its digit.
pub fn exchange(b: &mut Builder) {
    let (p, rank) = (b.ranks(), b.rank());
    let (radix, ports) = (b.shape().radix(), b.shape().ports() as usize);
    let (input, output) = (b.input(), b.output());
    let mut journey = Journey {
        p,
        rank,
        radix,
        input,
        output,
        regions: Vec::new(),
    };
    b.copy(input.at(rank), output.at(rank));
    for step in 0..steps(p, radix) {
        let all: Vec<Move> = moves(p, radix, step).collect();
        let region = |this: &Move| {
            let weight = radix.pow(step);
            let units = Units::Transit {
                rank,
                ranks: p,
                weight,
                radix,
                digit: this.digit,
            };
            // Only what has higher digits too goes on; the last position has no region.
            let goes_on = journey.runs(*this, None).1.count() > 0;
            b.scratch(
                units,
                if goes_on {
                    blocks_with_digit(p, radix, *this)
                } else {
                    0
                },
            )
        };
        let regions = all.iter().map(region).collect();
        journey.regions.push(regions);
        view(b, &journey, step);
        for at_once in all.chunks(ports) {
            for (port, this) in at_once.iter().enumerate() {
                let (sent, received) = journey.blocks(*this);
                let peers = shifted(p, rank, this.distance);
                b.port(port as u32);
                b.send(peers.to, sent);
                b.recv(peers.from, received);
            }
            b.step();
        }
    }
    view(b, &journey, steps(p, radix));
}

/// The paper's buffer before step `step`: row j is the block that stands for displacement j.
fn view(b: &mut Builder, journey: &Journey, step: u32) {
    let &Journey { p, rank, radix, .. } = journey;
    let row = |j: u32| {
        let came = (0..step)
            .rev()
            .find(|s| !(j / radix.pow(*s)).is_multiple_of(radix));
        let Some(last) = came else {
            return journey.input.at((rank + j) % p);
        };
        let weight = radix.pow(last);
        if j < weight * radix {
            return journey.output.at((rank + p - j) % p);
        }
        let region = journey.regions[last as usize][(j / weight % radix) as usize - 1];
        region.at(j / weight / radix * weight + j % weight)
    };
    b.view(|| (0..p).map(|j| Some(row(j))).collect());
}

/// What the exchange costs.
pub fn claims(shape: &Shape) -> Claims {
    let (p, radix, ports) = (shape.ranks(), shape.radix(), shape.ports());
    let rounds = |step| (moves(p, radix, step).count() as u32).div_ceil(ports);
    let all = (0..steps(p, radix)).flat_map(|step| moves(p, radix, step));
    let volume = all
        .map(|this| u64::from(blocks_with_digit(p, radix, this)))
        .sum();
    Claims {
        ports,
        steps: (0..steps(p, radix)).map(rounds).sum(),
        volume,
        work: 0,
    }
}
