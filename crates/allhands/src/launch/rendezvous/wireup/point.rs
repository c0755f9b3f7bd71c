//! The point: what rank 0 knows of who has come, and of who has not.

use super::{Connection, Role, WireUp, words};
use crate::launch::rendezvous::card::{Card, Table};
use crate::launch::rendezvous::rails;
use crate::transport::net::tcp::protocol::handshake::{HandshakeError, Nonce};
use std::time::Duration;

/// After how long a wait rank 0 says for whom, at first; then each time that it has doubled.
const SAYS_AFTER: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct Point {
    /// By rank.
    cards: Vec<Option<Card>>,
    /// How many have not come.
    missing: u32,
    nonce: Nonce,
    says_next: Duration,
    /// Connections that have proved nothing, and how many of them encrypted where this rank does not, or the other way round.
    pub(super) refused: u64,
    otherwise: u64,
}

impl Point {
    pub(super) fn new(own: &Card, nonce: Nonce) -> Point {
        let mut cards = vec![None; own.ranks as usize];
        if let Some(first) = cards.first_mut() {
            *first = Some(own.clone());
        }
        Point {
            cards,
            missing: own.ranks.saturating_sub(1),
            nonce,
            says_next: SAYS_AFTER,
            refused: 0,
            otherwise: 0,
        }
    }

    /// Whether somebody has not come.
    pub(super) fn is_waiting(&self) -> bool {
        self.missing > 0
    }

    pub(super) fn deadline(&self) -> Option<Duration> {
        self.is_waiting().then_some(self.says_next)
    }

    /// Somebody was refused for this.
    pub(super) fn count(&mut self, error: &HandshakeError) {
        let is_otherwise = matches!(error, HandshakeError::Encrypted | HandshakeError::Plain);
        self.otherwise += u64::from(is_otherwise);
    }

    /// Who is waited for, if it is time to say so.
    pub(super) fn waits(&mut self, now: Duration) -> Option<String> {
        if self.missing == 0 || now < self.says_next {
            return None;
        }
        self.says_next = 2 * now;
        let (whom, seconds) = (self.whom(), now.as_secs());
        Some(format!("rank 0 has waited {seconds} s for {whom} to come"))
    }

    /// Why it ends when the time is over.
    pub(super) fn missing(&self, limit: Duration) -> String {
        let (whom, seconds) = (self.whom(), limit.as_secs_f64());
        let refused = match self.refused {
            0 => String::new(),
            times => format!(
                "; {times} connections were refused, which did not prove that they know ALLHANDS_SECRET"
            ),
        };
        let otherwise = match self.otherwise {
            0 => String::new(),
            times => format!(
                "; {times} of them encrypted and rank 0 does not, or the other way round: right would be the same ALLHANDS_TLS everywhere"
            ),
        };
        format!("rank 0 has waited {seconds} s for {whom}, in vain{refused}{otherwise}")
    }

    /// `ranks 1, 4 and 5 of 8`.
    fn whom(&self) -> String {
        let missing = (0..).zip(&self.cards).filter(|(_, card)| card.is_none());
        let missing: Vec<u32> = missing.map(|(rank, _)| rank).collect();
        words::ranks(&missing, self.cards.len())
    }
}

impl WireUp {
    /// At rank 0: a card has come.
    pub(super) fn take_card(&mut self, at: u32, bytes: &[u8]) {
        let Some(point) = &mut self.point else { return };
        let Some(card) = Card::decode(bytes) else {
            return self.refuse(at);
        };
        if card.ranks != self.card.ranks || card.rank >= self.card.ranks {
            let says = words::other_size(&card, &self.card);
            return self.fail(says);
        }
        let (rank, place) = (card.rank, &mut point.cards[card.rank as usize]);
        if let Some(first) = place {
            let says = words::twice(first, &card);
            return self.fail(says);
        }
        if !card.lacks.is_empty() {
            let says = card.lacks;
            return self.fail(says);
        }
        let is_named = card.is_named || self.card.is_named;
        if is_named && words::rails(&card) != words::rails(&self.card) {
            let says = words::other_rails(&card, &self.card);
            return self.fail(says);
        }
        *place = Some(card);
        point.missing -= 1;
        let is_last = point.missing == 0;
        if let Some(Connection { role, .. }) = self.connections.get_mut(&at) {
            *role = Role::Joined(rank);
        }
        if is_last {
            self.begin_tree();
        }
    }

    /// At rank 0: all have come, and the rails are chosen.
    pub(super) fn begin_tree(&mut self) {
        let Some(point) = &self.point else { return };
        let mut cards: Vec<Card> = point.cards.iter().flatten().cloned().collect();
        rails::choose(&mut cards);
        let nonce = point.nonce;
        let table = Table { nonce, cards };
        let bytes = table.encode();
        self.have_table(table, bytes);
    }

    /// Another rank is gone.
    pub(super) fn gone(&self, rank: u32) -> String {
        let in_table = self.table.as_ref().and_then(|t| t.cards.get(rank as usize));
        let point = self.point.as_ref().and_then(|p| p.cards.get(rank as usize));
        match in_table.or(point.and_then(Option::as_ref)) {
            Some(card) => words::gone(card),
            None => format!("rank {rank} is gone before all were there: its own message says why"),
        }
    }

    /// At another rank: rank 0 was not reached.
    pub(super) fn nothing_from_point(&self) -> String {
        let (name, place, seconds) = (self.card.name(), &self.place, self.limit.as_secs_f64());
        format!(
            "{name} has not reached rank 0 at {place} for {seconds} s ({}); right would be a rank 0 that runs there, on the host that ALLHANDS_RENDEZVOUS names or in a network of ALLHANDS_RAILS, and a firewall that lets connections to that port in",
            self.joins.last
        )
    }
}
