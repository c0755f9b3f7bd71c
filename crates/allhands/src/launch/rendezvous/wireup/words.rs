//! Words: why a wire-up fails, as all ranks say it.

use super::{HandshakeError, WireUp};
use crate::launch::rendezvous::card::Card;

/// How many ranks are named.
const NAMED: usize = 8;

/// `ranks 1, 4 and 5 of 8`.
pub(super) fn ranks(ranks: &[u32], all: usize) -> String {
    let numbers = ranks.iter().take(NAMED).map(u32::to_string);
    let mut numbers: Vec<String> = numbers.collect();
    let last = match ranks.len() {
        more if more > NAMED => Some(format!("{} more", more - NAMED)),
        0 | 1 => None,
        _ => numbers.pop(),
    };
    let ranks = if ranks.len() == 1 { "rank" } else { "ranks" };
    let last = last.map_or_else(String::new, |last| format!(" and {last}"));
    format!("{ranks} {}{last} of {all}", numbers.join(", "))
}

pub(in crate::launch::rendezvous) fn gone(card: &Card) -> String {
    let name = card.name();
    format!("{name} is gone before all were there: its own message, or its launcher, says why")
}

pub(super) fn other_size(card: &Card, first: &Card) -> String {
    let (name, ranks, first_name) = (card.name(), card.ranks, first.name());
    format!(
        "{name} was started as one of {ranks} ranks, and {first_name} as one of {}; right would be the same ALLHANDS_RANKS everywhere, and ALLHANDS_RANK below it",
        first.ranks
    )
}

pub(super) fn twice(first: &Card, second: &Card) -> String {
    let (rank, ranks) = (first.rank, first.ranks - 1);
    format!(
        "two processes were started as rank {rank}: {} on host {} and {} on host {}; right would be each ALLHANDS_RANK from 0 to {ranks} once",
        first.pid, first.host, second.pid, second.host
    )
}

/// How many rails a rank has when some are named: one, if it has named none.
pub(super) fn rails(card: &Card) -> usize {
    if card.is_named { card.rails.len() } else { 1 }
}

pub(super) fn other_rails(card: &Card, first: &Card) -> String {
    let (name, first_name) = (card.name(), first.name());
    let (rails, first_rails) = (rails(card), rails(first));
    format!(
        "{name} has {rails} rails, and {first_name} has {first_rails}; right would be as many in ALLHANDS_RAILS on every host"
    )
}

pub(super) fn unreachable(from: &Card, to: &Card, why: &str) -> String {
    let (from, to, address) = (from.name(), to.name(), to.wiring);
    format!(
        "{from} cannot connect to {to} at {address}: {why}; right would be hosts that reach one another at all ports, or at those of ALLHANDS_PORTS"
    )
}

impl WireUp {
    /// What answers where rank 0 should is not it.
    pub(super) fn not_the_point(&self, error: &HandshakeError) -> String {
        let (name, place) = (self.card.name(), &self.place);
        match error {
            HandshakeError::Proof => format!(
                "{name} and rank 0 at {place} have different secrets; right would be the same ALLHANDS_SECRET everywhere"
            ),
            HandshakeError::Encrypted => format!(
                "{name} does not encrypt, and rank 0 at {place} does; right would be ALLHANDS_TLS=1 for all ranks, or for none"
            ),
            HandshakeError::Plain => format!(
                "{name} encrypts (ALLHANDS_TLS=1), and rank 0 at {place} does not; right would be ALLHANDS_TLS=1 for all ranks, or for none"
            ),
            HandshakeError::Version { .. } => {
                format!("{name} and rank 0 at {place} use different versions of allhands ({error})")
            }
            _ => format!(
                "{name} finds somebody else at {place}, where rank 0 should listen ({error}); right would be a port in ALLHANDS_RENDEZVOUS that nothing else uses"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_listed() {
        assert_eq!(ranks(&[3], 4), "rank 3 of 4");
        assert_eq!(ranks(&[1, 2], 4), "ranks 1 and 2 of 4");
        assert_eq!(ranks(&[1, 4, 5], 8), "ranks 1, 4 and 5 of 8");
        let many: Vec<u32> = (1..20).collect();
        let said = "ranks 1, 2, 3, 4, 5, 6, 7, 8 and 11 more of 20";
        assert_eq!(ranks(&many, 20), said);
    }
}
