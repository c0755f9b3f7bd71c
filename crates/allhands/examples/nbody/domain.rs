//! One rank's part of the bodies, and what it exchanges with others so that it sees of the whole tree what its bodies look at.
//!
//! Small allgathers tell everybody where the bodies are, which range of keys is whose, and the ranks' largest cells. From these each
//! rank knows who will look into whose cells, and exactly those ranks exchange messages, with what is looked at and no more
//! (Salmon's locally essential trees, on the keys of Warren and Salmon, 1993).

use super::bodies::{Body, Totals, drift, kick};
use super::octree::{self, ALL_KEYS, Bounds, Cell, Cube};
use crate::common::{Failure, MESSAGES, Meter};
use allhands::{Communicator, Error};
use bytemuck::{Pod, Zeroable};
use std::ops::Range;

/// How many of its keys a rank tells, for ranges of equal work.
const SAMPLES: usize = 32;
const TAG: u32 = 1;

/// A key, and the work that is done for bodies around it.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Sample {
    key: u64,
    work: f64,
}

pub struct Domain<'a> {
    pub bodies: Vec<Body>,
    pub meter: Meter<'a>,
    pub opening: f64,
    comm: &'a Communicator,
}

impl<'a> Domain<'a> {
    pub fn new(
        comm: &'a Communicator,
        meter: Meter<'a>,
        bodies: Vec<Body>,
        opening: f64,
    ) -> Domain<'a> {
        Domain {
            bodies,
            meter,
            opening,
            comm,
        }
    }

    /// One step in time, from forces to forces.
    pub fn step(&mut self, step: f64) -> Result<(), Failure> {
        kick(&mut self.bodies, 0.5 * step);
        drift(&mut self.bodies, step);
        self.forces()?;
        kick(&mut self.bodies, 0.5 * step);
        Ok(())
    }

    /// Energy and momentum of all bodies.
    pub fn totals(&mut self) -> Result<Totals, Failure> {
        let mine = Totals::of(&self.bodies);
        let all = self.allgather(mine)?;
        Ok(all
            .iter()
            .fold(Totals::default(), |sum, rank| sum.and(rank)))
    }

    /// Computes what all bodies do to this rank's.
    pub fn forces(&mut self) -> Result<(), Failure> {
        let everywhere = self.bounds()?;
        let everywhere = everywhere
            .iter()
            .skip(1)
            .fold(everywhere[0], |sum, rank| sum.and(rank));
        let cube = Cube::around(&everywhere);
        octree::sort(&cube, &mut self.bodies);
        let ranges = self.ranges()?;
        self.migrate(&ranges)?;
        octree::sort(&cube, &mut self.bodies);
        let tree = self.tree(&cube, &ranges[self.comm.rank()])?;
        for body in &mut self.bodies {
            octree::attract(&tree, self.opening, body).map_err(|cell| {
                format!(
                    "body {} looks into {cell:?}, which is not here",
                    body.number
                )
            })?;
        }
        Ok(())
    }

    fn allgather<T: allhands::element::Element>(&mut self, value: T) -> Result<Vec<T>, Failure> {
        let bytes = size_of::<T>();
        self.meter
            .call("allgather", &[bytes], |comm| comm.allgather_value(value))
    }

    /// Where each rank's bodies are.
    fn bounds(&mut self) -> Result<Vec<Bounds>, Failure> {
        self.allgather(Bounds::of(&self.bodies))
    }

    /// Ranges of keys, one for each rank, about as much work in each.
    fn ranges(&mut self) -> Result<Vec<Range<u64>>, Failure> {
        let work: u64 = self.bodies.iter().map(|body| body.work).sum();
        let mut mine = [Sample::zeroed(); SAMPLES];
        let (mut next, mut done) = (0, 0);
        for body in &self.bodies {
            done += body.work;
            while next < SAMPLES && 2 * SAMPLES as u64 * done >= (2 * next as u64 + 1) * work {
                mine[next] = Sample {
                    key: body.key,
                    work: work as f64 / SAMPLES as f64,
                };
                next += 1;
            }
        }
        let mut all: Vec<Sample> = self.allgather(mine)?.into_iter().flatten().collect();
        all.sort_unstable_by(|a, b| a.key.cmp(&b.key).then(a.work.total_cmp(&b.work)));
        let total: f64 = all.iter().map(|sample| sample.work).sum();
        let ranks = self.comm.size();
        let mut ends = Vec::with_capacity(ranks);
        let (mut done, mut before) = (0.0, 0);
        for sample in &all {
            done += sample.work;
            while ends.len() + 1 < ranks && done * ranks as f64 > total * (ends.len() + 1) as f64 {
                ends.push(octree::edge(before, sample.key));
            }
            before = sample.key;
        }
        ends.resize(ranks, ALL_KEYS.end);
        let starts = std::iter::once(ALL_KEYS.start).chain(ends.iter().copied());
        Ok(starts.zip(&ends).map(|(start, end)| start..*end).collect())
    }

    /// Brings each body to the rank whose range has its key.
    fn migrate(&mut self, ranges: &[Range<u64>]) -> Result<(), Failure> {
        let before = |key: u64| self.bodies.partition_point(|body| body.key < key);
        let send: Vec<usize> = ranges
            .iter()
            .map(|range| before(range.end) - before(range.start))
            .collect();
        let mut receive = vec![0; ranges.len()];
        self.meter
            .call("alltoall", &[size_of_val(&send[..])], |comm| {
                comm.alltoall(&send, &mut receive)
            })?;
        let mut bodies = vec![Body::zeroed(); receive.iter().sum()];
        let bytes: Vec<usize> = send
            .iter()
            .map(|bodies| bodies * size_of::<Body>())
            .collect();
        self.meter.call("alltoall-v", &bytes, |comm| {
            comm.alltoall_v(&self.bodies, &send, &mut bodies, &receive)
        })?;
        self.bodies = bodies;
        Ok(())
    }

    /// Of the whole tree what this rank's bodies look at.
    fn tree(&mut self, cube: &Cube, range: &Range<u64>) -> Result<Vec<Cell>, Failure> {
        let bounds = self.bounds()?;
        let own = octree::branches(cube, &self.bodies, range);
        let roots: Vec<Cell> = own.iter().map(|branch| branch[0].pruned()).collect();
        let counts = self.allgather(roots.len())?;
        let mut all = vec![Cell::zeroed(); counts.iter().sum()];
        let bytes = size_of_val(&roots[..]);
        self.meter.call("allgather-v", &[bytes], |comm| {
            comm.allgather_v(&roots, &mut all, &counts)
        })?;
        let mut rest = &all[..];
        let roots: Vec<&[Cell]> = counts
            .iter()
            .map(|count| rest.split_off(..*count).unwrap_or_default())
            .collect();
        let insides = self.insides(&own, &roots, &bounds)?;
        let mut parts: Vec<&[Cell]> = Vec::with_capacity(all.len());
        for (rank, roots) in roots.iter().enumerate() {
            if rank == self.comm.rank() {
                parts.extend(own.iter().map(|branch| &branch[..]));
                continue;
            }
            let mut opened = octree::trees(&insides[rank]);
            for root in roots.chunks(1) {
                let is_opened = root[0].is_opened(self.opening, &bounds[self.comm.rank()]);
                let inside = if is_opened { opened.next() } else { None };
                parts.push(inside.unwrap_or(root));
            }
        }
        Ok(octree::of_parts(cube, &parts))
    }

    /// Exchanges with each rank what is looked at in those of the largest cells that are looked into at all.
    fn insides(
        &mut self,
        own: &[Vec<Cell>],
        roots: &[&[Cell]],
        bounds: &[Bounds],
    ) -> Result<Vec<Vec<Cell>>, Failure> {
        let (me, ranks, opening) = (self.comm.rank(), roots.len(), self.opening);
        let looks = |looker: usize, at: usize| {
            let is_opened = |root: &Cell| root.is_opened(opening, &bounds[looker]);
            looker != at && roots[at].iter().any(is_opened)
        };
        let send: Vec<Vec<Cell>> = (0..ranks)
            .map(|to| {
                let mut kept = Vec::new();
                let is_opened = |tree: &&Vec<Cell>| tree[0].is_opened(opening, &bounds[to]);
                for tree in own.iter().filter(is_opened).filter(|_| to != me) {
                    octree::prune(tree, opening, &bounds[to], &mut kept);
                }
                kept
            })
            .collect();
        let mut received = vec![Vec::new(); ranks];
        let bytes = send.iter().map(|cells| size_of_val(&cells[..])).sum();
        self.meter.call(MESSAGES, &[bytes], |comm| {
            comm.scope(|scope| {
                // Neighbours in a circle, so that not all send to the same rank at first.
                let others = |step: usize| (me + step) % ranks;
                for to in (1..ranks).map(others).filter(|to| looks(*to, me)) {
                    scope.isend(&send[to], to, TAG)?;
                }
                for from in (1..ranks).map(others).filter(|from| looks(me, *from)) {
                    let status = comm.probe(from, TAG)?;
                    received[from] = vec![Cell::zeroed(); status.elements::<Cell>()];
                    comm.recv(&mut received[from], from, TAG)?;
                }
                Ok::<(), Error>(())
            })?
        })?;
        Ok(received)
    }
}
