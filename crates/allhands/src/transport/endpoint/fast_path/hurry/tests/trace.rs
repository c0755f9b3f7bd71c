//! The trace of calls: what each rank starts, in which order, by the fast path and by the interpreter, and what it has then.

use super::super::*;
use super::{ELEMENT, few_are_enough, mix, plans};
use crate::transport::endpoint::engine::node::NodeEngine;
use crate::transport::endpoint::plan::fast_path::FastPath;
use crate::transport::endpoint::state::request::Buffers;
use crate::transport::shm::failure::member::Stamp;
use crate::transport::shm::segment::shared_segment::SharedSegment;
use crate::transport::{AlignedBytes, Combine, TransportError};
use allhands_core::algorithm::{self, Algorithm, Requirement};
use allhands_core::call::Call;
use allhands_core::progress::{Engine, Post, advance};
use allhands_core::schedule::{Extent, Space};
use std::cell::RefCell;
use std::sync::Arc;

/// The numbers of ranks, and of these what is enough where a few cases are: one, two, a power of two and none.
const RANKS: [u32; 9] = [1, 2, 3, 4, 5, 6, 7, 8, 9];
const FEW: [u32; 4] = [1, 2, 4, 7];
/// Elements of a part, or a block: none, fewer than ranks, and some that every algorithm cuts unevenly.
const COUNTS: [usize; 3] = [0, 1, 11];
/// Calls in a row: a flag, or a ring, may be as it should in the first one alone.
const CALLS: usize = 2;

/// An operation that a rank starts: what it does, with whom, with how many bytes, and from where to where.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Act {
    what: What,
    peer: u32,
    channel: u16,
    bytes: usize,
    /// Source, target and second operand as (space, offset): what the interpreter has from the plan. A peer's memory has none.
    places: [(usize, usize); 3],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Send,
    Receive,
    Combine(Side),
    Copy,
    Reduce,
    Notify {
        flag: u16,
    },
    Wait {
        flag: u16,
        count: u32,
    },
    Get,
    GetReduce(Side),
    /// What no fast path has.
    Other(OpKind),
}

thread_local! {
    /// What this thread's rank has started.
    static TRACE: RefCell<Vec<Act>> = const { RefCell::new(Vec::new()) };
}

fn record(act: Act) {
    TRACE.with_borrow_mut(|trace| trace.push(act));
}

/// The fast path tries an operation for the first time.
pub(in super::super) fn started(next: &Move) {
    let what = match next.way {
        Way::Send => What::Send,
        Way::Receive => What::Receive,
        Way::Combine(side) => What::Combine(side),
        Way::Copy => What::Copy,
        Way::Reduce => What::Reduce,
        Way::Notify { flag } => What::Notify { flag },
        Way::Wait { flag, count, .. } => What::Wait { flag, count },
        Way::Get(_) => What::Get,
        Way::GetReduce(_, side) => What::GetReduce(side),
    };
    let places = [next.source, next.target, next.other].map(|place| (place.space, place.offset));
    record(Act {
        what,
        peer: next.peer,
        channel: next.channel,
        bytes: usize::from(next.bytes),
        places,
    });
}

/// The engine of the interpreter, which is seen to start operations.
struct Seen<'a>(NodeEngine<'a>);

impl Engine for Seen<'_> {
    type Error = TransportError;

    fn start(&mut self, post: &Post<'_>) -> Result<Status, TransportError> {
        record(act(post));
        self.0.start(post)
    }

    fn poll(&mut self, post: &Post<'_>) -> Result<Status, TransportError> {
        self.0.poll(post)
    }
}

fn act(post: &Post<'_>) -> Act {
    let (what, peer, channel) = match post.kind() {
        OpKind::Send { to, channel, .. } => (What::Send, to, channel),
        OpKind::Recv { from, channel, .. } => (What::Receive, from, channel),
        OpKind::RecvReduce {
            from,
            channel,
            side,
            ..
        } => (What::Combine(side), from, channel),
        OpKind::Copy => (What::Copy, 0, 0),
        OpKind::Reduce => (What::Reduce, 0, 0),
        OpKind::Notify { to, flag } => (What::Notify { flag }, to, 0),
        OpKind::Wait { at, flag, count } => (What::Wait { flag, count }, at, 0),
        OpKind::Get { from, .. } => (What::Get, from, 0),
        OpKind::GetReduce { from, side, .. } => (What::GetReduce(side), from, 0),
        other @ (OpKind::Put { .. }
        | OpKind::PutReduce { .. }
        | OpKind::Combine { .. }
        | OpKind::Await { .. }) => (What::Other(other), 0, 0),
    };
    let place = |list: &[Extent]| match list {
        [] => (0, 0),
        // In a fast path it is the only one.
        [extent, ..] => (extent.space.index(), extent.offset),
    };
    // Of a peer's window a fast path has the address.
    let is_there = matches!(what, What::Get | What::GetReduce(_));
    let other = if is_there { &[] } else { post.other() };
    Act {
        what,
        peer,
        channel,
        bytes: post.bytes,
        places: [post.source(), post.target(), other].map(place),
    }
}

/// A call that all ranks make: which it is, and their plans.
struct Case {
    what: String,
    plans: Vec<Plan>,
}

/// One rank, which makes all the cases' calls one after another.
struct Rank {
    endpoint: Endpoint,
    /// Shortcuts of its plans, and calls that these took from the first to the last step.
    fast_paths: usize,
    along: usize,
    requests: u64,
}

impl Rank {
    /// Makes some calls of a plan, by its fast path if it has one and is to, to the end of it however long that takes; what it
    /// started, and what it had after each.
    fn calls(&mut self, plan: &Plan, by_fast_path: bool) -> (Vec<Act>, Vec<u8>) {
        let stamp = Stamp::default();
        self.requests += 1;
        let mut request = RequestState::new(&self.endpoint, plan, self.requests, &stamp).unwrap();
        match &mut request.fast_path {
            Some(fast_path) if by_fast_path => {
                fast_path.looks = u32::MAX;
                self.fast_paths += 1;
            }
            fast_path => *fast_path = None,
        }
        let (mut cursor, mut outputs) = (Cursor::new(plan), Vec::new());
        for call in 0..CALLS {
            let input = filled(plan, Space::Input, call);
            let output = filled(plan, Space::Output, call + 101);
            let buffers = Buffers {
                input: input.address(),
                output: output.address(),
            };
            // SAFETY: `mix` keeps to its runs; the buffers are as long as the plan says and live until the call is over, and
            // the plan is that of a registered algorithm.
            unsafe {
                let combine = Combine::new(ELEMENT, mix, std::ptr::null());
                self.endpoint
                    .begin(&mut request, &stamp, buffers, Some(combine))
                    .unwrap();
            }
            if self.endpoint.hurry(&mut request, plan, &mut cursor) == Status::Done {
                self.along += 1;
            } else {
                let number = request.call();
                let step = |endpoint: &mut Endpoint| {
                    let engine = NodeEngine::new(endpoint, &mut request);
                    advance(plan, &mut cursor, &mut Seen(engine))
                };
                self.endpoint.wait_until(number, step).unwrap();
                request.arrive();
            }
            // SAFETY: the call is over, and the buffer initialized.
            let done = unsafe { std::slice::from_raw_parts(output.address(), output.len()) };
            outputs.extend_from_slice(done);
        }
        (TRACE.take(), outputs)
    }
}

/// A buffer for a space of a plan, which has other bytes in other ranks and calls.
fn filled(plan: &Plan, space: Space, salt: usize) -> AlignedBytes {
    let buffer = AlignedBytes::zeroed(plan.space_bytes[space.index()]);
    for at in 0..buffer.len() {
        let value = at * 7 + plan.rank as usize * 31 + salt;
        // SAFETY: within the buffer, which is ours.
        unsafe { buffer.address().add(at).write(value as u8) };
    }
    buffer
}

/// All roots of few ranks; of more the first, one within and the last.
fn roots(algorithm: &Algorithm, ranks: u32) -> Vec<u32> {
    match algorithm.collective.rooted() {
        false => vec![0],
        true if ranks <= 5 => (0..ranks).collect(),
        true => vec![0, ranks / 2, ranks - 1],
    }
}

/// The calls of so many ranks in which some rank may have a fast path.
fn cases(segment: &SharedSegment) -> Vec<Case> {
    let ranks = segment.ranks();
    let may_have = |plan: &Plan| {
        plan.flags > 0 || FastPath::new((segment, plan.rank), plan, None, |_| false).is_some()
    };
    let mut cases = Vec::new();
    let registered =
        algorithm::all().filter(|algorithm| !algorithm.requires.contains(&Requirement::Nodes));
    for algorithm in registered {
        for (setting, root) in algorithm.settings.iter().flat_map(|setting| {
            roots(algorithm, ranks)
                .into_iter()
                .map(move |r| (setting, r))
        }) {
            let call = Call {
                root,
                ..Call::new(algorithm.collective, ranks)
            };
            for elements in COUNTS {
                let plans = plans(algorithm, setting, call, elements);
                if let Some(plans) = plans.filter(|plans| plans.iter().any(may_have)) {
                    let what = format!("{algorithm:?}:{setting} {call:?} {elements}");
                    cases.push(Case { what, plans });
                }
            }
        }
    }
    cases
}

/// Makes all the calls both ways; how many fast paths rank `rank` had, and how many calls these took all along.
fn compare(segment: &Arc<SharedSegment>, rank: u32, cases: &[Case]) -> [usize; 2] {
    let mut rank = Rank {
        endpoint: Endpoint::new(Arc::clone(segment), rank).unwrap(),
        fast_paths: 0,
        along: 0,
        requests: 0,
    };
    for Case { what, plans } in cases {
        let plan = &plans[rank.endpoint.rank() as usize];
        let (short, long) = (rank.calls(plan, true), rank.calls(plan, false));
        assert_eq!(short.0, long.0, "{what}, rank {}", plan.rank);
        assert!(short.1 == long.1, "{what}, rank {}", plan.rank);
    }
    [rank.fast_paths, rank.along]
}

#[test]
fn a_fast_path_does_what_the_interpreter_does_in_its_order() {
    let (mut fast_paths, mut along) = (0, 0);
    let (tried, at_least) = match few_are_enough() {
        true => (&FEW[..], 3000),
        false => (&RANKS[..], 10_000),
    };
    for &ranks in tried {
        let segment = SharedSegment::new(ranks).unwrap();
        let (segment, cases) = (&segment, &cases(&segment));
        std::thread::scope(|scope| {
            let start = |rank| scope.spawn(move || compare(segment, rank, cases));
            let threads: Vec<_> = (0..ranks).map(start).collect();
            for thread in threads {
                let [has, went] = thread.join().unwrap();
                fast_paths += has;
                along += went;
            }
        });
    }
    // Nearly all: what does not come as most messages do is the interpreter's.
    let calls = fast_paths * CALLS;
    assert!(
        fast_paths > at_least && along * 10 > calls * 9,
        "{fast_paths} fast_paths took {along} of {calls} calls all along"
    );
}
