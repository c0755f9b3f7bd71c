//! The sentences of Q 7: who wins, against whom, from which size to which.

use super::super::{Entry, Says, Standing};
use super::testbed::{On, Testbed, WHOLE, Who};
use super::{KB, row};
use allhands_core::call::Collective;
use allhands_core::cost::formula::Miss;

// With the paper's k, the two rails.
pub const TREE: Who = Who::Algorithm("binomial", "ports=2");
pub const BRUCK: Who = Who::Algorithm("bruck", "ports=2");
pub const DIRECT: Who = Who::Algorithm("direct", "ports=2");
pub const STANDARD: Who = Who::Algorithm("standard-exchange", "ports=2");
pub const GATHER_BROADCAST: Who = Who::Algorithm("smp-gather-broadcast", "");
pub const SMP_DIRECT: Who = Who::Algorithm("smp-direct", "ports=2");
pub const SMP_BRUCK: Who = Who::Algorithm("smp-bruck", "ports=2");

/// A sentence of Q 7.
pub struct Sentence {
    pub section: &'static str,
    collective: Collective,
    pub title: &'static str,
    winner: Who,
    others: &'static [Who],
    bytes: (u64, u64),
    /// Where.
    on: On,
    /// Where its lead is the smaller one, if that is what is said.
    than_on: Option<On>,
    says: Says,
    /// Sizes at which a constant of the machine, or its form, was chosen by looking at it.
    fitted_bytes: &'static [u64],
    /// Why it misses, if it does.
    pub why: Option<Miss>,
}

impl Sentence {
    const fn fitted(self, fitted_bytes: &'static [u64]) -> Sentence {
        Sentence {
            fitted_bytes,
            ..self
        }
    }

    const fn on(self, on: On) -> Sentence {
        Sentence { on, ..self }
    }

    /// That the lead is more than it is elsewhere.
    const fn more_than_on(self, on: On) -> Sentence {
        let than_on = Some(on);
        Sentence { than_on, ..self }
    }

    const fn or_level(self) -> Sentence {
        let says = Says::NotBehind;
        Sentence { says, ..self }
    }

    const fn missing(self, why: Miss) -> Sentence {
        let why = Some(why);
        Sentence { why, ..self }
    }

    /// An entry for each size.
    ///
    /// # Errors
    /// If something cannot be simulated.
    pub fn entries(&self, testbed: &Testbed) -> anyhow::Result<Vec<Entry>> {
        let (mut bytes, last) = self.bytes;
        let mut entries = Vec::new();
        while bytes <= last {
            let mut ours = self.lead(testbed, self.on, bytes)?;
            if let Some(on) = self.than_on {
                ours /= self.lead(testbed, on, bytes)?;
            }
            let fitted = self.fitted_bytes.contains(&bytes);
            let place = (row(self.collective, bytes), self.column());
            entries.push(Entry::new(self.section, place, (1.0, ours), fitted).saying(self.says));
            bytes *= 2;
        }
        Ok(entries)
    }

    /// How much longer than the winner the fastest of the others takes.
    fn lead(&self, testbed: &Testbed, on: On, bytes: u64) -> anyhow::Result<f64> {
        let us = |who| testbed.call_us(who, (self.collective, on), bytes);
        let mut best_us = f64::INFINITY;
        for other in self.others {
            best_us = us(*other)?.min(best_us);
        }
        Ok(best_us / us(self.winner)?)
    }

    fn column(&self) -> String {
        format!("{}, {}", self.title, self.says)
    }

    /// Whether an entry is its, and not of the kind that nothing is said of.
    pub fn says(&self, entry: &Entry) -> bool {
        entry.standing != Standing::Shown
            && entry.table == self.section
            && entry.column == self.column()
    }
}

const fn sentence(
    (section, collective): (&'static str, Collective),
    title: &'static str,
    winner: Who,
    others: &'static [Who],
    bytes: (u64, u64),
) -> Sentence {
    Sentence {
        section,
        collective,
        title,
        winner,
        others,
        bytes,
        on: WHOLE,
        than_on: None,
        says: Says::Ahead,
        fitted_bytes: &[],
        why: None,
    }
}

const GATHER: (&str, Collective) = ("7.2", Collective::Gather);
const ALLTOALL: (&str, Collective) = ("7.3", Collective::Alltoall);
const ALLGATHER: (&str, Collective) = ("7.4", Collective::Allgather);
const NODE_GATHER: (&str, Collective) = ("4.2", Collective::Gather);
const NODE_BROADCAST: (&str, Collective) = ("4.2", Collective::Broadcast);

/// One node of the testbed; its four nodes with a rank each.
const ONE_NODE: On = (1, 4);
const APART: On = (4, 1);

/// In a node's window.
const IN_WINDOW: Who = Who::Algorithm("shared-memory", "");
/// `elan_bcast`, in software; Q does not say how it goes, and a tree is assumed.
const SOFTWARE: Who = Who::Algorithm("binomial", "");
const MB: u64 = KB * KB;

/// Why the direct gather is late.
const ROUNDS: Miss = Miss::Differs(
    "with k = 2 the root takes two messages and then the next two, and sees each for receive_us; one that takes \
    them as they come (ours, 16 ports) is ahead from 512 B on",
);

/// Why the direct algorithms are not ahead of Quadrics' own.
const SAME: Miss = Miss::Tie(
    "a tie: at 4 and 8 KB elan's pairwise exchange sends as many messages of the same lengths, and from 64 KB on the \
    turns that its permissions take are less than a hundredth",
);

/// What the text says; the least size in its figures is taken to be 8 B, and "very short" to be at most 64 B, as in Q 7.3. Where a
/// constant was set by the size up to which somebody wins, the next size, from which on somebody else does, was looked at as well.
pub const SENTENCES: &[Sentence] = &[
    // Figure 3, inside a node; up to 2 KB Quadrics' gather is the same one (Q 3.1), and a tie.
    sentence(NODE_GATHER, "on a node, memory over elan", IN_WINDOW, &[Who::Elan], (4 * KB, 8 * KB))
        .on(ONE_NODE),
    sentence(
        NODE_BROADCAST,
        "on a node, memory over software",
        IN_WINDOW,
        &[SOFTWARE],
        (256, 32 * KB),
    )
    .on(ONE_NODE),
    sentence(
        NODE_BROADCAST,
        "on a node, memory over hardware",
        IN_WINDOW,
        &[Who::Hardware],
        (256, 32 * KB),
    )
    .on(ONE_NODE),
    sentence(GATHER, "elan gains on both, 4 to 16", Who::Elan, &[TREE, DIRECT], (8, 64))
        .more_than_on(APART),
    sentence(GATHER, "tree over direct", TREE, &[DIRECT], (8, 256)).fitted(&[256]),
    sentence(GATHER, "direct over tree", DIRECT, &[TREE], (512, MB))
        .fitted(&[512])
        .missing(ROUNDS),
    sentence(GATHER, "elan over direct", Who::Elan, &[DIRECT], (8, 512)),
    sentence(GATHER, "direct over elan", DIRECT, &[Who::Elan], (KB, MB)).missing(ROUNDS),
    sentence(GATHER, "tree over elan", TREE, &[Who::Elan], (KB, 8 * KB)),
    // That the tree is better from 1 to 8 KB says that it is not below or beyond.
    sentence(GATHER, "elan over tree, short", Who::Elan, &[TREE], (8, 512)),
    // By these it was assumed how Tports messages go.
    sentence(GATHER, "elan over tree, long", Who::Elan, &[TREE], (16 * KB, MB)).fitted(&[
        16 * KB,
        32 * KB,
        64 * KB,
        128 * KB,
        256 * KB,
        512 * KB,
        MB,
    ]),
    sentence(
        ALLTOALL,
        "Bruck over direct and standard",
        BRUCK,
        &[DIRECT, STANDARD],
        (8, 64),
    ),
    sentence(
        ALLTOALL,
        "direct over Bruck and standard",
        DIRECT,
        &[BRUCK, STANDARD],
        (128, MB),
    )
    .missing(Miss::Tie("a tie at 128 B, where the two cross")),
    sentence(ALLTOALL, "standard over Bruck", STANDARD, &[BRUCK], (8 * KB, MB)).missing(Miss::Differs(
        "Bruck's blocks lie at their places here, without Q's local shifts before and after; and how Q corrects, which sets what \
         the busiest rank sends, it does not say",
    )),
    sentence(
        ALLTOALL,
        "elan over all three",
        Who::Elan,
        &[BRUCK, DIRECT, STANDARD],
        (8, 64),
    )
    .fitted(&[64])
    .missing(Miss::Tie("a tie at 64 B, by which message_us was set")),
    sentence(ALLTOALL, "direct over elan", DIRECT, &[Who::Elan], (512, MB))
        .fitted(&[512])
        .missing(SAME),
    sentence(
        ALLTOALL,
        "elan gains on all, 4 to 16",
        Who::Elan,
        &[BRUCK, DIRECT, STANDARD],
        (8, 64),
    )
    .more_than_on(APART),
    // "In par or slightly better".
    sentence(
        ALLGATHER,
        "gather-broadcast over elan",
        GATHER_BROADCAST,
        &[Who::Elan],
        (8, 256),
    )
    .or_level(),
    sentence(
        ALLGATHER,
        "SMP-aware Bruck over flat ones",
        SMP_BRUCK,
        &[DIRECT, BRUCK, STANDARD],
        (512, 8 * KB),
    ),
    sentence(
        ALLGATHER,
        "gather-broadcast over the other five",
        GATHER_BROADCAST,
        &[SMP_DIRECT, SMP_BRUCK, DIRECT, BRUCK, STANDARD],
        (8, 256),
    )
    .fitted(&[256]),
    sentence(
        ALLGATHER,
        "SMP-aware Bruck over all six",
        SMP_BRUCK,
        &[
            Who::Elan,
            GATHER_BROADCAST,
            SMP_DIRECT,
            DIRECT,
            BRUCK,
            STANDARD,
        ],
        (512, 8 * KB),
    )
    .fitted(&[512, 8 * KB])
    .missing(Miss::Tie(
        "a tie: among four nodes Bruck's steps on two ports are the messages of the SMP-aware direct one; on one port (ours) it is \
         ahead by 0.26 us, a hundredth at most",
    )),
    sentence(
        ALLGATHER,
        "direct over all six",
        DIRECT,
        &[
            Who::Elan,
            GATHER_BROADCAST,
            SMP_DIRECT,
            SMP_BRUCK,
            BRUCK,
            STANDARD,
        ],
        (16 * KB, MB),
    )
    .fitted(&[16 * KB])
    .missing(Miss::Tie(
        "a tie from 64 KB on: elan's ring moves as many bytes over the same buses",
    )),
];
