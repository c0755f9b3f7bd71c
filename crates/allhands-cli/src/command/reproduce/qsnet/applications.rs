//! Table 1: what the allgathers of N-BODY and RADIX gain (Q 7.4.1), as far as that bounds what their communication can.
//!
//! The table's speedups are of programs whose computation, other messages and shares of time Q does not print, so none of them can be
//! simulated. What can be is their allgathers, whose sizes it prints: where only these change, all communication gains at most what
//! they do. Of the speedups of whole applications nothing is decided.

use super::super::statement::size;
use super::super::times::Testbed as _;
use super::super::{Entry, Says};
use super::statements::{DIRECT, GATHER_BROADCAST, SMP_BRUCK};
use super::testbed::{ELAN, On, Place, Testbed};
use allhands_core::call::Collective;

/// An application of table 1.
struct Application {
    name: &'static str,
    /// How much faster its communication is in the table.
    speedup: f64,
    /// The sizes of its allgathers, and which part of the calls has them: each part may have any of its sizes.
    calls: &'static [(f64, &'static [u64])],
}

const APPLICATIONS: [Application; 2] = [
    // "91% of the payloads are less than 64 bytes. The remaining payloads are less than 1 KB."
    Application {
        name: "N-BODY",
        speedup: 1.09,
        calls: &[(0.91, &[8, 16, 32]), (0.09, &[64, 128, 256, 512])],
    },
    // "RADIX only uses 4 KB payload."
    Application {
        name: "RADIX",
        speedup: 1.47,
        calls: &[(1.0, &[4096])],
    },
];

/// The table's entries.
///
/// # Errors
/// If something cannot be simulated.
pub fn entries(testbed: &Testbed) -> anyhow::Result<Vec<Entry>> {
    let bound = |application: &Application| {
        let (most, sizes) = application.most(testbed)?;
        let row = format!("{}, 16 ranks, at {sizes}", application.name);
        let numbers = (application.speedup, most);
        let column = "its allgathers gain more";
        anyhow::Ok(Entry::new("table 1", (row, column), numbers, false).saying(Says::Above))
    };
    APPLICATIONS.iter().map(bound).collect()
}

impl Application {
    /// The most that its allgathers can gain, and with which sizes.
    fn most(&self, testbed: &Testbed) -> anyhow::Result<(f64, String)> {
        let mut best = (0.0, String::new());
        for chosen in self.choices() {
            let (mut before_us, mut after_us) = (0.0, 0.0);
            for ((part, _), bytes) in self.calls.iter().zip(&chosen) {
                let [elan_us, best_us] = allgather_us(testbed, *bytes)?;
                before_us += part * elan_us;
                after_us += part * best_us;
            }
            if before_us / after_us > best.0 {
                let sizes: Vec<String> = chosen.into_iter().map(size).collect();
                best = (before_us / after_us, sizes.join(" and "));
            }
        }
        Ok(best)
    }

    /// Every way to give each part of the calls one of its sizes.
    fn choices(&self) -> Vec<Vec<u64>> {
        let none = vec![Vec::new()];
        self.calls.iter().fold(none, |chosen, (_, sizes)| {
            let with = |chosen: &Vec<u64>| {
                let more = |bytes: &u64| [chosen.as_slice(), &[*bytes]].concat();
                sizes.iter().map(more).collect::<Vec<_>>()
            };
            chosen.iter().flat_map(with).collect()
        })
    }
}

/// What an allgather takes with Quadrics' library, and with the one of Q's that its text has there, in microseconds.
fn allgather_us(testbed: &Testbed, bytes: u64) -> anyhow::Result<[f64; 2]> {
    let place = Place {
        on: On::Nodes,
        collective: Collective::Allgather,
        ranks: 16,
        bytes,
    };
    // Q 7.4.
    let proposed = match bytes {
        ..=256 => GATHER_BROADCAST,
        257..=8192 => SMP_BRUCK,
        _ => DIRECT,
    };
    Ok([
        testbed.time_us(place, ELAN)?,
        testbed.time_us(place, proposed)?,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_of_the_calls_may_have_any_of_its_sizes() {
        let [nbody, radix] = &APPLICATIONS;
        assert_eq!(radix.choices(), [[4096]]);
        let all = nbody.choices();
        assert_eq!(all.len(), 12);
        assert!(all.contains(&vec![8, 512]) && all.contains(&vec![32, 64]));
        for application in &APPLICATIONS {
            let parts: f64 = application.calls.iter().map(|call| call.0).sum();
            assert!((parts - 1.0).abs() < 1e-12, "{}", application.name);
        }
    }
}
