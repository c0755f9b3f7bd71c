//! Waits: in which call a rank has waited for long, and for whom.

use allhands_core::call::Collective;
use std::fmt::Write;
use std::time::Duration;

/// The most ranks that are named.
pub(crate) const NAMED: usize = 10;

/// What a rank that has waited for long says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waits {
    /// The call.
    pub collective: Collective,
    /// How long it has waited.
    pub since: Duration,
    /// Ranks that have not come to the call, a few of them.
    pub missing: Vec<u32>,
    /// How many have not come.
    pub missing_in_all: u32,
}

impl Waits {
    /// A wait for these ranks.
    pub(crate) fn new(collective: Collective, since: Duration, missing: &[u32]) -> Waits {
        Waits {
            collective,
            since,
            missing: missing[..missing.len().min(NAMED)].into(),
            missing_in_all: missing.len() as u32,
        }
    }

    /// Ranks as they are listed: `ranks 1 and 2`.
    pub(crate) fn list(ranks: &[u32]) -> String {
        listed(ranks, ranks.len())
    }

    /// Who waits, in which call and for whom, in words.
    #[must_use]
    pub fn describe(&self, ranks: &[u32]) -> String {
        let Waits {
            collective,
            since,
            missing,
            missing_in_all,
        } = self;
        let verb = if ranks.len() == 1 { "has" } else { "have" };
        let who = listed(ranks, ranks.len());
        let time = match since.as_secs() {
            0 => format!("{:.1}", since.as_secs_f64()),
            seconds => seconds.to_string(),
        };
        let waited = format!("{who} {verb} waited {time} s in {collective}");
        match missing_in_all {
            0 => format!("{waited}, to which every rank has come"),
            all => format!("{waited} for {}", listed(missing, *all as usize)),
        }
    }
}

/// `rank 3`, `ranks 1 and 2`, `ranks 0, 1, 2 and 61 others`.
fn listed(ranks: &[u32], all: usize) -> String {
    let named = &ranks[..ranks.len().min(NAMED)];
    let mut text = String::from(if all == 1 { "rank" } else { "ranks" });
    for (at, rank) in named.iter().enumerate() {
        let before = match at {
            0 => " ",
            at if at + 1 == all => " and ",
            _ => ", ",
        };
        // Writing to a string does not fail.
        let _ = write!(text, "{before}{rank}");
    }
    match all - named.len() {
        0 => text,
        1 => text + " and another",
        more => format!("{text} and {more} others"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(seconds: u64, missing: &[u32]) -> Waits {
        Waits::new(Collective::Barrier, Duration::from_secs(seconds), missing)
    }

    #[test]
    fn waits_are_said_in_words() {
        for (ranks, wait, says) in [
            (
                &[1][..],
                waits(10, &[0]),
                "rank 1 has waited 10 s in barrier for rank 0",
            ),
            (
                &[1, 2, 5],
                waits(3, &[0, 3]),
                "ranks 1, 2 and 5 have waited 3 s in barrier for ranks 0 and 3",
            ),
            (
                &[1],
                waits(0, &[]),
                "rank 1 has waited 0.0 s in barrier, to which every rank has come",
            ),
        ] {
            assert_eq!(wait.describe(ranks), says);
        }
        let many: Vec<u32> = (1..64).collect();
        let said = waits(10, &many).describe(&[0]);
        assert!(said.ends_with("7, 8, 9, 10 and 53 others"), "{said}");
        let said = waits(10, &many[..11]).describe(&[0]);
        assert!(said.ends_with("9, 10 and another"), "{said}");
    }
}
