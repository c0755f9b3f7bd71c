//! Windows of a simulation: what ranks put into one another's, the flags that say that it is there, and what must come of both.
//!
//! Every put of a rank goes to a place of its own. When a flag is heard, all that was put before it must be there; the owner then
//! writes something else to those places, which nobody may write to any more, although frames are sent twice.

use super::chance::Chance;
use super::counts::Event;
use super::world::{Node, World, micros};
use crate::transport::net::tcp::protocol::memory::{Memory, Span};
use crate::transport::net::tcp::protocol::rank::{Message, Raised};
use std::time::Duration;

/// What a window has where nobody has put anything, and where its owner has seen what was put.
const NOTHING: u8 = 0x55;
const SEEN: u8 = 0xee;

/// The signature of all calls.
const SIGNATURE: u64 = 78;

const FLAGS: u16 = 3;

/// A put, or a flag that is raised.
#[derive(Clone, Debug)]
struct Step {
    when: Duration,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Put { place: usize, content: Vec<u8> },
    Raise,
}

/// What a rank puts into windows of others, and its own windows.
#[derive(Debug, Default)]
pub struct Puts {
    streams: Vec<Stream>,
    windows: Vec<Window>,
}

/// What a rank puts into another one's window.
#[derive(Debug)]
struct Stream {
    to: u32,
    window: u32,
    steps: Vec<Step>,
    next: usize,
    count: u64,
    under_way: Vec<(Message, Span, Duration)>,
    /// How long a put may take until it is taken back.
    patience: Duration,
    is_over: bool,
}

/// A window into which one other rank puts.
#[derive(Debug)]
struct Window {
    from: u32,
    number: u32,
    span: Span,
    steps: Vec<Step>,
    /// How many of these are known to be there, and how many flags that were.
    seen: usize,
    flags: u64,
    attends: Option<Message>,
    withdraws: Option<Duration>,
    is_withdrawn: bool,
    is_over: bool,
}

/// Gives every rank windows, and something to put into those of others, in half of all worlds.
pub fn draw(mut nodes: Vec<Node>, seed: u64) -> Vec<Node> {
    let chance = &mut Chance::new(seed ^ 0x0070_7574);
    let ranks = if chance.one_in(2) { nodes.len() } else { 0 };
    for from in 0..ranks {
        for to in (0..ranks).filter(|to| *to != from) {
            if !chance.one_in(3) {
                draw_stream(&mut nodes, (from, to), chance);
            }
        }
    }
    nodes
}

fn draw_stream(nodes: &mut [Node], (from, to): (usize, usize), chance: &mut Chance) {
    let most_bytes = if chance.one_in(6) { 5000 } else { 600 };
    let (mut when, mut place) = (0, chance.below(9) as usize);
    let mut steps = Vec::new();
    let count = chance.within(1, 9);
    for number in 1..=count {
        when += chance.below(4000);
        let length = chance.below(most_bytes);
        // The last is a flag, so that all is looked at.
        let what = match number == count || chance.one_in(3) {
            true => What::Raise,
            false => What::Put {
                place,
                content: (0..length).map(|_| chance.next() as u8).collect(),
            },
        };
        if let What::Put { content, .. } = &what {
            place += content.len();
        }
        let when = micros(when);
        steps.push(Step { when, what });
    }
    let bytes = place + chance.below(9) as usize;
    // Who takes puts back never says so to the owner of the window.
    let is_fickle = chance.one_in(8);
    let withdraws = is_fickle || chance.one_in(6);
    let rank = &mut nodes[to].rank;
    let span = rank.memory_mut().lend(vec![NOTHING; bytes]);
    let number = rank.expose(span, FLAGS).expect("few windows are exposed");
    nodes[to].puts.windows.push(Window {
        from: from as u32,
        number,
        span,
        steps: steps.clone(),
        seen: 0,
        flags: 0,
        attends: None,
        withdraws: withdraws.then(|| micros(chance.below(40_000))),
        is_withdrawn: false,
        is_over: false,
    });
    nodes[from].puts.streams.push(Stream {
        to: to as u32,
        window: number,
        steps,
        next: 0,
        count: 0,
        under_way: Vec::new(),
        patience: match is_fickle {
            true => micros(chance.below(3000)),
            false => Duration::MAX,
        },
        is_over: false,
    });
}

impl World {
    /// Puts what is due, and looks which puts have ended and which windows are seen to the end.
    pub(super) fn put(&mut self, at: usize) -> bool {
        let mut is_busy = false;
        for number in 0..self.nodes[at].puts.streams.len() {
            is_busy |= self.begin_puts(at, number);
            self.end_puts(at, number);
        }
        for number in 0..self.nodes[at].puts.windows.len() {
            self.attend(at, number);
        }
        is_busy
    }

    fn begin_puts(&mut self, at: usize, number: usize) -> bool {
        let (now, node) = (self.now, &mut self.nodes[at]);
        let (stream, rank) = (&mut node.puts.streams[number], &mut node.rank);
        let mut is_busy = false;
        while let Some(step) = stream.steps.get(stream.next)
            && step.when <= now
            && !stream.is_over
        {
            is_busy = true;
            let place_in_stream = (stream.window, stream.count);
            let begun = match &step.what {
                What::Put { place, content } => {
                    let span = rank.memory_mut().lend(content.clone());
                    stream.count += content.len() as u64;
                    let put = rank.put(stream.to, place_in_stream, *place as u64, span);
                    put.map(|put| {
                        let until = now.saturating_add(stream.patience);
                        stream.under_way.push((put, span, until));
                    })
                }
                What::Raise => {
                    let raises = stream.steps[..stream.next].iter();
                    let raises = raises.filter(|step| matches!(step.what, What::Raise));
                    let call = raises.count() as u64;
                    stream.count += 1;
                    let flag = (call % u64::from(FLAGS)) as u16;
                    rank.raise(stream.to, place_in_stream, flag, (call, SIGNATURE))
                }
            };
            stream.next += 1;
            if let Err(lost) = begun {
                stream.is_over = true;
                self.check_loss(at, lost, now);
                return true;
            }
        }
        is_busy
    }

    fn end_puts(&mut self, at: usize, number: usize) {
        let (now, node) = (self.now, &mut self.nodes[at]);
        let (stream, rank) = (&mut node.puts.streams[number], &mut node.rank);
        let mut failed = None;
        stream.under_way.retain(|(put, span, until)| {
            let event = match rank.test(*put) {
                Ok(None) if *until > now => return true,
                Ok(Some(_)) => Event::Put,
                Ok(None) => {
                    rank.cancel(*put);
                    Event::PutTakenBack
                }
                Err(lost) => {
                    rank.cancel(*put);
                    failed = Some((lost, *until));
                    Event::PutFailed
                }
            };
            self.counts.add(event, 1);
            rank.memory_mut().take_back(*span);
            false
        });
        let has_begun = stream.is_over || stream.next == stream.steps.len();
        stream.is_over = failed.is_some() || (has_begun && stream.under_way.is_empty());
        if let Some((lost, _)) = failed {
            let since = stream.steps[stream.next - 1].when;
            self.check_loss(at, lost, since);
        }
    }

    /// Waits for what is put into a window, until all of it is there, or its owner wants it no more.
    fn attend(&mut self, at: usize, number: usize) {
        let (now, node) = (self.now, &mut self.nodes[at]);
        let (window, rank) = (&mut node.puts.windows[number], &mut node.rank);
        if window.withdraws.is_some_and(|when| when <= now) {
            window.withdraws = None;
            (window.is_over, window.is_withdrawn) = (true, true);
            rank.withdraw(window.number);
            rank.memory_mut().take_back(window.span);
            self.counts.add(Event::Withdrawn, 1);
        }
        let due = window.steps[0].when;
        if !window.is_over && window.attends.is_none() && due <= now {
            window.attends = Some(rank.attend(window.from));
        }
        let Some(attends) = window.attends else {
            return;
        };
        let tested = rank.test(attends);
        if tested.is_err() || window.is_over {
            (window.is_over, window.attends) = (true, None);
            rank.cancel(attends);
        }
        if let Err(lost) = tested {
            self.check_loss(at, lost, due);
        }
    }

    /// Hears which flags were raised: all that was put before must be there.
    pub(super) fn hear_flags(&mut self, at: usize) {
        let Node { rank, puts, .. } = &mut self.nodes[at];
        while let Some(raised) = rank.raised() {
            let window = puts
                .windows
                .iter_mut()
                .find(|it| it.number == raised.window);
            let window = window.expect("it is a window of this rank");
            self.counts.add(Event::Raised, 1);
            window.see(raised, rank.memory_mut(), self.seed);
        }
    }
}

impl Window {
    fn see(&mut self, raised: Raised, memory: &mut impl Memory, seed: u64) {
        let right = Raised {
            from: self.from,
            window: self.number,
            flag: (self.flags % u64::from(FLAGS)) as u16,
            call: self.flags,
            signature: SIGNATURE,
        };
        assert_eq!(raised, right, "seed {seed}: another flag comes first");
        self.flags += 1;
        while let Some(step) = self.steps.get(self.seen) {
            self.seen += 1;
            let What::Put { place, content } = &step.what else {
                break;
            };
            let span = self.span.part(*place, content.len());
            let mut there = vec![0; content.len()];
            memory.read(span, &mut there);
            assert!(
                there == *content,
                "seed {seed}: {raised:?} is raised too early"
            );
            memory.write(span, &vec![SEEN; content.len()]);
        }
        self.is_over |= self.seen == self.steps.len();
    }

    /// Nothing is written to where nobody puts anything, nor to where all was seen.
    fn check(&self, memory: &impl Memory, seed: u64) {
        let mut there = vec![0; self.span.bytes];
        memory.read(self.span, &mut there);
        for (number, step) in self.steps.iter().enumerate() {
            if let What::Put { place, content } = &step.what {
                let there = &mut there[*place..place + content.len()];
                let is_seen = there.iter().all(|byte| *byte == SEEN);
                let why = "is written to after its flag was raised";
                assert!(
                    number >= self.seen || is_seen,
                    "seed {seed}: {self:?} {why}"
                );
                there.fill(NOTHING);
            }
        }
        let is_kept = there.iter().all(|byte| *byte == NOTHING);
        assert!(is_kept, "seed {seed}: something is put between what is put");
    }
}

impl Node {
    /// Whether all that it puts, and waits for, is over.
    pub(super) fn has_put(&self) -> bool {
        self.puts.streams.iter().all(|stream| stream.is_over)
            && self.puts.windows.iter().all(|window| window.is_over)
    }

    /// When it puts something next.
    pub(super) fn next_put(&self) -> Duration {
        let due = |stream: &Stream| Some(stream.steps.get(stream.next)?.when);
        let streams = self.puts.streams.iter().filter(|stream| !stream.is_over);
        streams.filter_map(due).min().unwrap_or(Duration::MAX)
    }

    /// Looks whether its windows are as they must be in the end.
    pub(super) fn check_windows(&mut self, seed: u64) {
        for window in self.puts.windows.iter().filter(|it| !it.is_withdrawn) {
            window.check(self.rank.memory_mut(), seed);
        }
    }
}
