//! Mutation of real schedules: what is dropped or redirected is caught by a law, and what may be swapped is
//! shown to make no difference.
//!
//! Of every algorithm, registered setting and number of ranks a seeded sample of operations is taken, some of each
//! kind (send, recv, …) that occurs. `cargo test -p allhands-core --test mutation -- --nocapture` prints the counts.

use allhands_core::algorithm::{self, Algorithm, Claims, Requirement};
use allhands_core::call::{Call, Collective};
use allhands_core::schedule::text::{Document, parse, print};
use allhands_core::schedule::{Item, Layout, Op, OpKind, Schedule, Shape};
use allhands_core::symbolic::Failure;
use allhands_core::verify::{check_claims, lowered, prefix, verify_two, verify_world};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A power of two, a number just above one, and one far from any.
const RANKS: [u32; 3] = [8, 5, 13];
/// Operations of each kind that are dropped and redirected, for one world.
const SAMPLES: usize = 8;
/// Swaps of each sort (inside an item, across items) that are tried, for one world.
const SWAPS: usize = 3;
/// Random interleavings in which each surviving swap is run.
const INTERLEAVINGS: u64 = 1000;

/// A change of one rank's schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mutation {
    /// Without operation `op`.
    Drop { op: usize },
    /// With operation `op` to or from another rank.
    Redirect { op: usize, peer: u32 },
    /// With operation `op` and `next`, the one after it in its strand, exchanged.
    Swap { op: usize, next: usize },
}

/// A world to mutate.
struct Subject {
    algorithm: &'static Algorithm,
    setting: &'static str,
    shape: Shape,
    document: Document,
    /// For windows and a root: the call that follows, of the next root.
    after: Option<(Call, Vec<Schedule>)>,
    claims: Claims,
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let call = &self.document.call;
        let place = if call.in_place { " in place" } else { "" };
        write!(
            f,
            "{:?}:{} p={} root={}{place}",
            self.algorithm, self.setting, call.ranks, call.root
        )
    }
}

impl Subject {
    /// `None` where the algorithm does not admit the call.
    fn new(
        algorithm: &'static Algorithm,
        setting: &'static str,
        ranks: u32,
        in_place: bool,
    ) -> Option<Subject> {
        let call = Call {
            root: if algorithm.collective.rooted() {
                ranks / 3
            } else {
                0
            },
            in_place,
            commutative: false,
            ..Call::new(algorithm.collective, ranks)
        };
        let shape = algorithm
            .shape(call, setting)
            .expect("a registered setting")
            .with(algorithm.fabrics())
            .on_torus(algorithm.tori(ranks).pop().flatten());
        // The strictest operator that it admits, as in `verify`.
        let commutative = !(algorithm.ordered)(&shape);
        let call = Call {
            commutative,
            ..call
        };
        let shape = Shape { call, ..shape };
        algorithm.admits(&shape).ok()?;
        let document = Document {
            directives: Vec::new(),
            call,
            parts: (algorithm.parts)(&shape),
            schedules: algorithm.world(&shape),
        };
        let mut next = shape.clone();
        next.call.root = (call.root + 1) % ranks;
        let windows = algorithm.requires.contains(&Requirement::Window);
        let follows = windows && algorithm.collective.rooted();
        Some(Subject {
            after: follows.then(|| (next.call, algorithm.world(&next))),
            algorithm,
            setting,
            document,
            claims: (algorithm.claims)(&shape),
            shape,
        })
    }

    /// Laws 1 to 6 and the lowered form, for other schedules of the same call.
    fn judge(&self, schedules: &[Schedule]) -> Result<(), Failure> {
        let call = &self.document.call;
        let windows = self.algorithm.requires.contains(&Requirement::Window);
        let counted = verify_world(call, schedules, windows)?;
        if let Some((next, after)) = &self.after {
            verify_two((call, schedules), (next, after))?;
        }
        check_claims(&self.claims, &counted)?;
        prefix::check(&self.shape, schedules)?;
        lowered::check(call, schedules)
    }

    fn mutate(&self, rank: usize, mutation: Mutation) -> Vec<Schedule> {
        let mut schedules = self.document.schedules.clone();
        let schedule = &mut schedules[rank];
        match mutation {
            Mutation::Drop { op } => drop_op(schedule, op),
            Mutation::Redirect { op, peer } => redirect(&mut schedule.ops[op], peer),
            Mutation::Swap { op, next } => schedule.ops.swap(op, next),
        }
        let items = || {
            self.document.schedules[rank]
                .strands
                .iter()
                .flat_map(|s| &s.items)
        };
        if items().all(|item| matches!(item, Item::Step { .. })) {
            return schedules;
        }
        // What the operations of a repeat wait for is found anew when the text is read.
        let document = Document {
            schedules,
            ..self.document.clone()
        };
        parse(&print(&document))
            .expect("what is printed can be read")
            .schedules
    }
}

fn drop_op(schedule: &mut Schedule, op: usize) {
    schedule.ops.remove(op);
    let before = |at: u32| if at as usize > op { at - 1 } else { at };
    for item in schedule.strands.iter_mut().flat_map(|s| &mut s.items) {
        match item {
            Item::Step { start, end } => (*start, *end) = (before(*start), before(*end)),
            Item::Repeat {
                start, end, steps, ..
            } => {
                (*start, *end) = (before(*start), before(*end));
                steps.iter_mut().for_each(|step| *step = before(*step));
                steps.dedup();
                steps.retain(|step| step > start);
            }
        }
    }
}

/// The world with all messages of a channel moved to another one between the same ranks, at both ends; each of the two belongs to
/// a strand of its own.
fn share(schedules: &[Schedule], (from, to, of, other): Channels) -> Vec<Schedule> {
    let mut schedules = schedules.to_vec();
    for schedule in &mut schedules {
        let rank = schedule.rank;
        for op in &mut schedule.ops {
            if let Some((a, b, channel)) = channel(rank, &mut op.kind)
                && (a, b, *channel) == (from, to, of)
            {
                *channel = other;
            }
        }
    }
    schedules
}

/// Two channels between the same ranks: (sender, receiver, one, another).
type Channels = (u32, u32, u16, u16);

/// The sender, the receiver and the channel of a message.
fn channel(rank: u32, kind: &mut OpKind) -> Option<(u32, u32, &mut u16)> {
    match kind {
        OpKind::Send { to, channel, .. } => Some((rank, *to, channel)),
        OpKind::Recv { from, channel, .. } | OpKind::RecvReduce { from, channel, .. } => {
            Some((*from, rank, channel))
        }
        _ => None,
    }
}

/// All pairs of channels that the same two ranks have and that are of different strands at one end.
fn pairs_of_channels(schedules: &[Schedule]) -> Vec<Channels> {
    let mut strands = BTreeMap::<(u32, u32, u16), BTreeSet<(u32, usize)>>::new();
    for schedule in schedules {
        for (strand, items) in schedule.strands.iter().enumerate() {
            for op in items.items.iter().flat_map(|i| &schedule.ops[i.ops()]) {
                if let Some((from, to, of)) = channel(schedule.rank, &mut op.kind.clone()) {
                    let ends = strands.entry((from, to, *of)).or_default();
                    ends.insert((schedule.rank, strand));
                }
            }
        }
    }
    let mut pairs = Vec::new();
    for (&(from, to, of), ends) in &strands {
        let others = strands.range((from, to, 0)..=(from, to, u16::MAX));
        let others = others.filter(|(_, other)| *other != ends);
        pairs.extend(others.map(|((_, _, other), _)| (from, to, of, *other)));
    }
    pairs
}

fn redirect(op: &mut Op, to: u32) {
    if let Some(peer) = op.kind.peer_mut() {
        *peer = to;
    }
}

/// The kind of an operation, without its numbers.
fn kind_name(op: &Op) -> &'static str {
    match op.kind {
        OpKind::Send { .. } => "send",
        OpKind::Recv { .. } => "recv",
        OpKind::RecvReduce { .. } => "recv-reduce",
        OpKind::Combine { .. } => "combine",
        OpKind::Copy => "copy",
        OpKind::Reduce => "reduce",
        OpKind::Put { .. } => "put",
        OpKind::PutReduce { .. } => "put-reduce",
        OpKind::Get { .. } => "get",
        OpKind::GetReduce { .. } => "get-reduce",
        OpKind::Notify { .. } => "notify",
        OpKind::Wait { .. } => "wait",
        OpKind::Await { .. } => "await",
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % limit.max(1) as u64) as usize
    }

    /// At most `count` of `all`, each once.
    fn sample<T>(&mut self, mut all: Vec<T>, count: usize) -> Vec<T> {
        let mut taken = Vec::new();
        while taken.len() < count && !all.is_empty() {
            taken.push(all.swap_remove(self.below(all.len())));
        }
        taken
    }
}

/// Operations as (rank, place in its table), by kind.
fn by_kind(schedules: &[Schedule]) -> BTreeMap<&'static str, Vec<(usize, usize)>> {
    let mut kinds = BTreeMap::<_, Vec<_>>::new();
    for (rank, schedule) in schedules.iter().enumerate() {
        for (at, op) in schedule.ops.iter().enumerate() {
            kinds.entry(kind_name(op)).or_default().push((rank, at));
        }
    }
    kinds
}

/// A swap: the rank, and two operations that follow one another in a strand.
type Neighbours = (usize, usize, usize);

/// Neighbours that differ: [in one item, in two items that follow one another].
fn neighbours(schedules: &[Schedule]) -> [Vec<Neighbours>; 2] {
    let mut found = [Vec::new(), Vec::new()];
    for (rank, schedule) in schedules.iter().enumerate() {
        for strand in &schedule.strands {
            let items = strand.items.iter().enumerate();
            let ops: Vec<(usize, usize)> = items
                .flat_map(|(item, i)| i.ops().map(move |op| (item, op)))
                .collect();
            for pair in ops.windows(2) {
                let [(item, op), (next_item, next)] = [pair[0], pair[1]];
                if !same(schedule, op, next) {
                    found[usize::from(item != next_item)].push((rank, op, next));
                }
            }
        }
    }
    found
}

/// Whether two operations do the same, so that exchanging them is no mutation.
fn same(schedule: &Schedule, a: usize, b: usize) -> bool {
    let [a, b] = [a, b].map(|at| &schedule.ops[at]);
    let lists = [(a.from, b.from), (a.into, b.into), (a.other, b.other)];
    let equal = lists
        .iter()
        .all(|(a, b)| schedule.list(*a) == schedule.list(*b));
    a.kind == b.kind && equal
}

/// A layout with little data, so that a run is quick: at least an element in most blocks.
fn small_layout(call: &Call) -> Layout {
    match call.collective {
        Collective::Barrier
        | Collective::Broadcast
        | Collective::Reduce
        | Collective::Allreduce
        | Collective::Scan
        | Collective::Exscan
        | Collective::ReduceScatter => Layout::Even(call.ranks as usize + 1),
        Collective::Scatter | Collective::Gather | Collective::Allgather | Collective::Alltoall => {
            Layout::Regular(1)
        }
    }
}

#[derive(Default)]
struct Tally {
    /// Operations there are and operations sampled.
    ops: [usize; 2],
    drops: usize,
    redirects: usize,
    /// Channels of two strands made one.
    shared: usize,
    /// Of swaps: [inside an item, across items].
    swaps: [usize; 2],
    surviving_swaps: [usize; 2],
    killed_by_law: [usize; 6],
    /// What no law caught and should have been.
    escaped: Vec<String>,
}

impl Tally {
    fn add(&mut self, other: Tally) {
        let sum = |a: &mut [usize], b: &[usize]| a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        sum(&mut self.ops, &other.ops);
        self.drops += other.drops;
        self.redirects += other.redirects;
        self.shared += other.shared;
        sum(&mut self.swaps, &other.swaps);
        sum(&mut self.surviving_swaps, &other.surviving_swaps);
        sum(&mut self.killed_by_law, &other.killed_by_law);
        self.escaped.extend(other.escaped);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mutants = self.drops + self.redirects + self.shared + self.swaps[0] + self.swaps[1];
        writeln!(f, "{} of {} operations sampled", self.ops[1], self.ops[0])?;
        writeln!(
            f,
            "{mutants} mutants: {} drops, {} redirects, {} shared channels, {} swaps inside an item, {} across items",
            self.drops, self.redirects, self.shared, self.swaps[0], self.swaps[1]
        )?;
        for (law, killed) in (1..).zip(self.killed_by_law) {
            writeln!(f, "killed by law {law}: {killed}")?;
        }
        writeln!(
            f,
            "surviving swaps: {} inside an item, {} across items, each run in {INTERLEAVINGS} interleavings",
            self.surviving_swaps[0], self.surviving_swaps[1]
        )
    }
}

/// Drops, redirects and swaps a sample of one world's operations.
fn mutate_world(subject: &Subject, random: &mut Random) -> Tally {
    let schedules = &subject.document.schedules;
    let mut tally = Tally::default();
    subject
        .judge(schedules)
        .unwrap_or_else(|f| panic!("{subject} itself: {f}"));
    for (kind, ops) in by_kind(schedules) {
        tally.ops[0] += ops.len();
        for (rank, op) in random.sample(ops, SAMPLES) {
            tally.ops[1] += 1;
            tally.drops += 1;
            let mut mutations = vec![Mutation::Drop { op }];
            if let Some(peer) = another_peer(subject, rank, op, random) {
                tally.redirects += 1;
                mutations.push(Mutation::Redirect { op, peer });
            }
            for mutation in mutations {
                match subject.judge(&subject.mutate(rank, mutation)) {
                    Err(f) => tally.killed_by_law[f.law.number() as usize - 1] += 1,
                    Ok(()) => tally
                        .escaped
                        .push(format!("{subject}: rank {rank}, {kind}, {mutation:?}")),
                }
            }
        }
    }
    for channels in random.sample(pairs_of_channels(schedules), SAMPLES) {
        tally.shared += 1;
        match subject.judge(&share(schedules, channels)) {
            Err(f) if f.what.contains(" both ") => tally.killed_by_law[0] += 1,
            other => tally.escaped.push(format!(
                "{subject}: {channels:?} of two strands made one: {other:?}"
            )),
        }
    }
    for (sort, pairs) in neighbours(schedules).into_iter().enumerate() {
        for (rank, op, next) in random.sample(pairs, SWAPS) {
            tally.swaps[sort] += 1;
            let mutation = Mutation::Swap { op, next };
            let swapped = subject.mutate(rank, mutation);
            match subject.judge(&swapped) {
                Err(f) => tally.killed_by_law[f.law.number() as usize - 1] += 1,
                Ok(()) => {
                    tally.surviving_swaps[sort] += 1;
                    if let Err(f) = interleave(&subject.document.call, &swapped) {
                        let what = format!("{subject}: rank {rank}, {mutation:?}: {f}");
                        tally.escaped.push(what);
                    }
                }
            }
        }
    }
    tally
}

/// A rank that is neither the operation's peer nor its own, if it has a peer.
fn another_peer(subject: &Subject, rank: usize, op: usize, random: &mut Random) -> Option<u32> {
    let peer = subject.document.schedules[rank].ops[op].kind.peer()?;
    let ranks = (0..subject.document.call.ranks).filter(|r| *r != peer && *r as usize != rank);
    random.sample(ranks.collect(), 1).pop()
}

fn interleave(call: &Call, schedules: &[Schedule]) -> Result<(), Failure> {
    lowered::run_interleaved(call, schedules, &small_layout(call), 0..INTERLEAVINGS)
}

#[test]
fn no_mutant_escapes() {
    // What is made of other algorithms has phases that each stand for themselves: some wait says again what the next phase
    // would say. The parts are mutated on their own.
    let work: Vec<(&'static Algorithm, &'static str)> = algorithm::all()
        .filter(|a| !a.requires.contains(&Requirement::Nodes))
        .flat_map(|a| a.settings.iter().map(move |setting| (a, *setting)))
        .collect();
    let (next, total) = (AtomicUsize::new(0), Mutex::new(Tally::default()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(&(algorithm, setting)) =
                    work.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let mut random = Random(work.len() as u64);
                    for (at, ranks) in RANKS.into_iter().enumerate() {
                        let Some(subject) = Subject::new(algorithm, setting, ranks, at == 1) else {
                            continue;
                        };
                        let tally = mutate_world(&subject, &mut random);
                        total.lock().expect("no thread failed").add(tally);
                    }
                }
            });
        }
    });
    let total = total.into_inner().expect("no thread failed");
    println!("{total}");
    assert!(total.drops > 0 && total.redirects > 0 && total.shared > 0);
    assert!(
        total.escaped.is_empty(),
        "escaped:\n{}",
        total.escaped.join("\n")
    );
}
