//! The wire-up: one rank's part in the exchange of cards, without a socket, a clock or a thread.
//!
//! ```text
//! every rank ── card ──▶ rank 0        who all ranks are, as all know where rank 0 listens
//! rank 0 ── table ──▶ 1, 2, 4, 8, …    down a binomial tree, in ⌈log₂ p⌉ rounds: r hands it to r + 2^k > 2r
//! rank 0 ◀── ready ── 1, 2, 4, 8, …    up the same tree: a rank is ready when it can have its place, and all below it can
//! rank 0 ── go ──▶ 1, 2, 4, 8, …       down again; then every link is closed, and nobody listens here any more
//! rank 0 ── go ──▶ every rank          and to each by itself, for those above whom somebody ends just now
//! ```
//!
//! Every link begins with the handshake of the TCP network. The link between a rank and rank 0 stays open to the end: by it
//! rank 0 hears of a rank that is gone, and says so to all others. So either every rank has its place, or every rank that is
//! still there hears one and the same reason why not. (If rank 0 ends while it says go, those who hear that know more than the others;
//! they find these and rank 0 gone.)
//!
//! Whoever drives a [`WireUp`] tells it what has happened, and then does what [`WireUp::action`] says.

mod point;
mod tree;
mod words;

use super::card::{Card, Table};
use super::link::{Frame, Link, POINT, Refusal, identity, job};
use crate::transport::net::tcp::protocol::handshake::{
    HandshakeError, Nonce, Secret, not_encrypted,
};
use point::Point;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;
use tree::Tree;
pub(super) use words::gone as words_of_gone;

/// How long a stranger may take to prove itself.
const STRANGER: Duration = Duration::from_secs(5);
/// How soon a rank tries again to reach rank 0, at first and at last.
const RETRY: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(500));
/// How long rank 0 still tells whoever comes why nobody has a place, and how long others wait for its word on theirs.
const LINGER: Duration = Duration::from_secs(1);
/// How long ranks try to reach those below them in the tree.
const REACH: Duration = Duration::from_secs(10);

/// The number of a connection; none is given twice.
pub(super) type At = u32;

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// A connection is to be made to where rank 0 listens, or to a rank.
    Connect { at: At, to: To },
    /// Bytes are to be sent.
    Send { at: At, bytes: Vec<u8> },
    /// The connection is to be closed, once all that was to be sent is.
    Close { at: At },
    /// This is to be said on the standard error.
    Say(String),
}

/// Where a connection leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum To {
    Point,
    Rank(SocketAddr),
}

/// Why nobody has a place, in words that all ranks say alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trouble(pub(super) String);

/// What a connection is to this rank.
#[derive(Debug)]
enum Role {
    /// Somebody that has not proved itself, since then.
    Stranger(Duration),
    /// At rank 0: a proved link whose card has not come, and then the rank.
    Joining(Duration),
    Joined(u32),
    /// To rank 0.
    Star,
    Parent,
    Child(u32),
}

#[derive(Debug)]
struct Connection {
    link: Link,
    role: Role,
}

/// One rank's part.
#[derive(Debug)]
pub(super) struct WireUp {
    card: Card,
    /// Where rank 0 listens, as people write it.
    place: String,
    secret: Secret,
    now: Duration,
    limit: Duration,
    connections: BTreeMap<At, Connection>,
    next: At,
    actions: VecDeque<Action>,
    outcome: Option<Result<(), Trouble>>,
    /// Why nobody has a place, as far as this rank knows, and when it ends with that.
    trouble: Option<(String, Duration)>,
    table: Option<Table>,
    tree: Tree,
    /// What rank 0 knows beyond the others.
    point: Option<Point>,
    /// Of all others: how they come to rank 0.
    joins: Joins,
}

/// How a rank comes to rank 0.
#[derive(Debug)]
struct Joins {
    /// When it tries next, if it is not connected, and how long it waits after that.
    next: Option<Duration>,
    wait: Duration,
    /// The connection, and whether the card is on its way.
    star: Option<At>,
    has_joined: bool,
    /// Why it could not be reached last.
    last: String,
}

impl WireUp {
    /// The part of the rank with this card; `nonce` is a number that was never used before, which only rank 0 needs.
    pub(super) fn new(
        card: Card,
        place: String,
        secret: Secret,
        (limit, nonce): (Duration, Nonce),
    ) -> WireUp {
        let is_point = card.rank == 0;
        let mut wireup = WireUp {
            place,
            secret,
            now: Duration::ZERO,
            limit,
            connections: BTreeMap::new(),
            next: 0,
            actions: VecDeque::new(),
            outcome: None,
            trouble: None,
            table: None,
            tree: Tree::default(),
            point: is_point.then(|| Point::new(&card, nonce)),
            joins: Joins {
                next: (!is_point).then_some(Duration::ZERO),
                wait: RETRY.0,
                star: None,
                has_joined: false,
                last: "nothing has answered yet".into(),
            },
            card,
        };
        wireup.look_at_clock();
        if is_point && wireup.card.ranks == 1 {
            wireup.begin_tree();
        }
        wireup
    }

    /// What is to be done next.
    pub(super) fn action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// How it has ended, if it has.
    pub(super) fn outcome(&self) -> Option<&Result<(), Trouble>> {
        self.outcome.as_ref()
    }

    /// All cards, once they are here; whoever has seen them says whether it [is ready](WireUp::ready).
    pub(super) fn table(&self) -> Option<&Table> {
        self.table.as_ref()
    }

    /// When time alone changes something.
    pub(super) fn deadline(&self) -> Option<Duration> {
        if let Some((_, until)) = &self.trouble {
            return Some(*until);
        }
        let strangers = self.connections.values().filter_map(|c| match c.role {
            Role::Stranger(since) | Role::Joining(since) => Some(since + STRANGER),
            _ => None,
        });
        let others = [self.joins.next, self.last_moment(), self.tree.until];
        let point = self.point.as_ref().and_then(Point::deadline);
        strangers
            .chain(others.into_iter().flatten())
            .chain(point)
            .min()
    }

    /// When it is over if not all, or rank 0, have come; whoever has come hears from rank 0.
    fn last_moment(&self) -> Option<Duration> {
        let waits = match &self.point {
            Some(point) => point.is_waiting(),
            None => !self.joins.has_joined,
        };
        waits.then_some(self.limit)
    }

    /// It is so late now.
    pub(super) fn at(&mut self, now: Duration) {
        self.now = now.max(self.now);
        if self.outcome.is_none() {
            self.look_at_clock();
        }
    }

    fn look_at_clock(&mut self) {
        let now = self.now;
        if let Some((says, until)) = &self.trouble {
            if now >= *until {
                let says = says.clone();
                self.end(Err(Trouble(says)));
            }
            return;
        }
        let late = |(at, c): (&At, &Connection)| match c.role {
            Role::Stranger(since) | Role::Joining(since) => {
                (now >= since + STRANGER).then_some(*at)
            }
            _ => None,
        };
        let late: Vec<At> = self.connections.iter().filter_map(late).collect();
        for at in late {
            self.refuse(at);
        }
        if self.joins.next.is_some_and(|next| now >= next) {
            self.joins.next = None;
            self.joins.star = Some(self.ask(To::Point, POINT, Role::Star));
        }
        if self.tree.until.is_some_and(|until| now >= until) {
            let says = self.nobody_below();
            return self.fail(says);
        }
        if self.last_moment().is_some_and(|limit| now >= limit) {
            let says = match &self.point {
                Some(point) => point.missing(self.limit),
                None => self.nothing_from_point(),
            };
            return self.fail(says);
        }
        if let Some(says) = self.point.as_mut().and_then(|point| point.waits(now)) {
            self.actions.push_back(Action::Say(says));
        }
    }

    /// Begins to make a connection.
    fn ask(&mut self, to: To, identity_there: u32, role: Role) -> At {
        // The hello is made when the connection is there, with a nonce of then.
        let job = job(&self.secret, identity(self.card.rank));
        let (link, _) = Link::ask(job, identity_there, &Nonce::default(), self.card.ranks);
        let at = self.keep(link, role);
        self.actions.push_back(Action::Connect { at, to });
        at
    }

    fn keep(&mut self, link: Link, role: Role) -> At {
        let at = self.next;
        self.next += 1;
        self.connections.insert(at, Connection { link, role });
        at
    }

    /// Somebody has connected to where this rank listens.
    pub(super) fn accepted(&mut self, nonce: &Nonce) -> At {
        let own = match self.card.rank {
            0 => POINT,
            rank => identity(rank),
        };
        let link = Link::listen(job(&self.secret, own), nonce, self.card.ranks);
        self.keep(link, Role::Stranger(self.now))
    }

    /// A connection that was asked for is there.
    pub(super) fn connected(&mut self, at: At, nonce: &Nonce) {
        let (rank, ranks) = (self.card.rank, self.card.ranks);
        let Some(connection) = self.connections.get_mut(&at) else {
            return;
        };
        let to = match connection.role {
            Role::Child(rank) => identity(rank),
            _ => POINT,
        };
        let (link, hello) = Link::ask(job(&self.secret, identity(rank)), to, nonce, ranks);
        connection.link = link;
        self.send(at, hello);
    }

    /// Bytes came.
    pub(super) fn arrived(&mut self, at: At, bytes: &[u8]) {
        if self.outcome.is_some() {
            return;
        }
        let Some(connection) = self.connections.get_mut(&at) else {
            return;
        };
        let arrived = match connection.link.arrived(bytes) {
            Ok(arrived) => arrived,
            Err(refusal) => return self.refused(at, &refusal),
        };
        if !arrived.reply.is_empty() {
            self.send(at, arrived.reply);
        }
        if let Some(peer) = arrived.proved {
            self.proved(at, peer);
        }
        for frame in arrived.frames {
            if self.outcome.is_none() {
                self.take(at, frame);
            }
        }
    }

    /// The other end of a connection is known now.
    fn proved(&mut self, at: At, peer: u32) {
        let Some(connection) = self.connections.get_mut(&at) else {
            return;
        };
        match connection.role {
            Role::Stranger(_) if self.point.is_some() => {
                connection.role = Role::Joining(self.now);
                if let Some((says, _)) = &self.trouble {
                    let word = Frame::Trouble(says.clone()).encode();
                    self.send(at, word);
                }
            }
            // Whoever else comes as the one above twice is not of this world.
            Role::Stranger(_) if peer == identity(tree::parent(self.card.rank)) => {
                connection.role = Role::Parent;
            }
            Role::Star => {
                self.joins.has_joined = true;
                let card = Frame::Card(self.card.encode()).encode();
                self.send(at, card);
            }
            Role::Child(child) => self.hand_on(at, child),
            _ => self.refuse(at),
        }
    }

    fn take(&mut self, at: At, frame: Frame) {
        let Some(connection) = self.connections.get(&at) else {
            return;
        };
        match (&connection.role, frame) {
            (Role::Star, Frame::Trouble(says)) => self.end(Err(Trouble(says))),
            // Nothing else matters any more.
            _ if self.trouble.is_some() => {}
            (Role::Joining(_), Frame::Card(bytes)) => self.take_card(at, &bytes),
            (Role::Joined(_) | Role::Parent, Frame::Trouble(says)) => self.fail(says),
            (Role::Parent, Frame::Table(bytes)) => self.take_table(&bytes),
            (Role::Child(child), Frame::Ready) => {
                let child = *child;
                self.below_is_ready(child);
            }
            (Role::Parent | Role::Star, Frame::Go) if self.tree.is_ready => self.go(),
            (role, _) => {
                let says = format!("{} hears nonsense from {role:?}", self.card.name());
                self.fail(says);
            }
        }
    }

    /// A connection is lost, or could not be made.
    pub(super) fn lost(&mut self, at: At, why: &str) {
        let Some(Connection { role, .. }) = self.connections.remove(&at) else {
            return;
        };
        if self.outcome.is_some() {
            return;
        }
        if matches!(role, Role::Star) {
            self.joins.star = None;
        }
        if let Some((says, _)) = &self.trouble {
            if matches!(role, Role::Star) {
                let says = says.clone();
                self.end(Err(Trouble(says)));
            }
            return;
        }
        match role {
            Role::Stranger(_) | Role::Joining(_) => self.count_refusal(),
            Role::Joined(rank) => {
                let says = self.gone(rank);
                self.fail(says);
            }
            Role::Star if !self.joins.has_joined => self.join_again(why),
            // Who is ready hears how it ends, from rank 0 or from the one above. Others who have heard it already have gone their way.
            Role::Star | Role::Parent | Role::Child(_) if self.tree.is_ready => {
                if !self.can_hear_the_end() {
                    let says = self.gone(0);
                    self.fail(says);
                }
            }
            Role::Star | Role::Parent => {
                let says = self.gone(if matches!(role, Role::Star) {
                    0
                } else {
                    tree::parent(self.card.rank)
                });
                self.fail(says);
            }
            Role::Child(child) => self.child_lost(child, why),
        }
    }

    /// Whether anybody is left from whom this rank, which is ready, can hear how it ends.
    fn can_hear_the_end(&self) -> bool {
        let mut all = self.connections.values();
        all.any(|c| matches!(c.role, Role::Star | Role::Parent))
    }

    fn join_again(&mut self, why: &str) {
        self.joins.last = why.into();
        self.joins.next = Some(self.now + self.joins.wait);
        self.joins.wait = (self.joins.wait * 2).min(RETRY.1);
    }

    /// The other end of a connection has said something that it must not.
    pub(super) fn refused(&mut self, at: At, refusal: &Refusal) {
        let role = self.connections.get(&at).map(|c| &c.role);
        match (role, refusal) {
            (Some(Role::Stranger(_)), Refusal::Handshake(error)) => {
                if let Some(point) = &mut self.point {
                    point.count(error);
                }
                if *error == HandshakeError::Encrypted {
                    // Who waits for an answer in TLS would take the end of the connection for anything.
                    self.send(at, not_encrypted().to_vec());
                }
                self.refuse(at);
            }
            (Some(Role::Star), Refusal::Handshake(error)) => {
                let says = self.not_the_point(error);
                self.fail(says);
            }
            (Some(Role::Child(child)), Refusal::Handshake(_)) => {
                let says = self.another_below(*child);
                self.fail(says);
            }
            _ => self.refuse(at),
        }
    }

    fn refuse(&mut self, at: At) {
        self.connections.remove(&at);
        self.actions.push_back(Action::Close { at });
        self.count_refusal();
    }

    fn count_refusal(&mut self) {
        if let Some(point) = &mut self.point {
            point.refused += 1;
        }
    }

    fn send(&mut self, at: At, bytes: Vec<u8>) {
        self.actions.push_back(Action::Send { at, bytes });
    }

    /// Nobody has a place: says so to all that can be told, and ends when that is done, or rank 0 has said why.
    pub(super) fn fail(&mut self, says: String) {
        if self.outcome.is_some() || self.trouble.is_some() {
            return;
        }
        let word = Frame::Trouble(says.clone()).encode();
        let is_told = |role: &Role| !matches!(role, Role::Stranger(_) | Role::Parent);
        let told = self.connections.iter();
        let told = told.filter(|(_, c)| c.link.is_proved() && is_told(&c.role));
        let told: Vec<At> = told.map(|(at, _)| *at).collect();
        for at in told {
            self.send(at, word.clone());
        }
        if self.point.is_none() && (self.joins.star.is_none() || !self.joins.has_joined) {
            return self.end(Err(Trouble(says)));
        }
        self.trouble = Some((says, self.now + LINGER));
    }

    fn end(&mut self, outcome: Result<(), Trouble>) {
        self.outcome = Some(outcome);
        for at in std::mem::take(&mut self.connections).into_keys() {
            self.actions.push_back(Action::Close { at });
        }
    }
}
