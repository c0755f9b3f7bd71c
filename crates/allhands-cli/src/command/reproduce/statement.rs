//! A statement: what a sentence of a paper says of two groups of algorithms, and what the testbed gives.

use super::times::{On, Place, Testbed};
use super::{Entry, Says, Standing};
use allhands_core::call::Collective;
use allhands_core::cost::formula::Miss;

pub const KB: u64 = 1024;
pub const MB: u64 = KB * KB;

/// What is said of how much longer the others take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Claim {
    /// They take longer, at each size and number of ranks, or a size step from there.
    Ahead,
    /// They take as long or longer, likewise.
    NotBehind,
    /// They take so many times as long, from the one number to the other, at each.
    Between(f64, f64),
    /// For each number of ranks: at the size at which it counts most, more than so many times as long.
    AtBestAbove(f64),
    /// Likewise, and about so many times.
    AtBest(f64),
    /// From so many bytes on they take longer, in the geometric mean of the numbers of ranks: a cutoff is one for all.
    FromBytes(u64),
    /// At each size: from so many ranks on, of the numbers that are tried, they take longer.
    FromRanks(u32),
    /// With each number of ranks more than with the one before it.
    Grows,
}

impl Claim {
    /// What is counted, in words.
    pub fn kind(self) -> Kind {
        match self {
            Claim::Ahead | Claim::NotBehind => Kind::Winner,
            Claim::FromBytes(_) | Claim::FromRanks(_) => Kind::Crossing,
            Claim::Between(..) | Claim::AtBestAbove(_) | Claim::AtBest(_) | Claim::Grows => {
                Kind::Factor
            }
        }
    }
}

/// What a statement is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Winner,
    Crossing,
    Factor,
}

/// Where a constant of the machine, or its form, was chosen by looking at a statement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fitted {
    Nowhere,
    /// At these sizes.
    At(&'static [u64]),
    Everywhere,
}

/// A sentence of a paper.
pub struct Statement<O: 'static> {
    /// The figure that shows it, or the section.
    pub table: &'static str,
    pub on: O,
    pub collective: Collective,
    /// Who over whom; with the machine it is in no other statement.
    pub title: &'static str,
    /// The algorithms of which the fastest is to be ahead.
    pub winners: &'static [&'static str],
    /// And of those the fastest.
    pub others: &'static [&'static str],
    pub ranks: &'static [u32],
    /// The first size, and the last, with all powers of two between them.
    pub bytes: (u64, u64),
    /// The places of which it is said.
    pub when: fn(Place<O>) -> bool,
    pub claim: Claim,
    /// How many of its entries must come out, in a hundred: less than all where it says "in general" or "in some cases".
    pub percent: u32,
    /// Whether, and where, something was chosen by looking at it.
    pub fitted: Fitted,
    /// Why it misses, if it does.
    pub why: Option<Miss>,
}

fn always<O>(_: Place<O>) -> bool {
    true
}

/// A statement: where it stands and what of, its title, who over whom, where, and what.
pub const fn statement<O: Copy>(
    (table, on, collective): (&'static str, O, Collective),
    title: &'static str,
    [winners, others]: [&'static [&'static str]; 2],
    ranks: &'static [u32],
    bytes: (u64, u64),
    claim: Claim,
) -> Statement<O> {
    Statement {
        table,
        on,
        collective,
        title,
        winners,
        others,
        ranks,
        bytes,
        when: always,
        claim,
        percent: 100,
        fitted: Fitted::Nowhere,
        why: None,
    }
}

impl<O: Copy> Statement<O> {
    /// That a constant was chosen by looking at it.
    pub const fn fitted(self) -> Statement<O> {
        let fitted = Fitted::Everywhere;
        Statement { fitted, ..self }
    }

    /// That one was, at these sizes.
    pub const fn fitted_at(self, bytes: &'static [u64]) -> Statement<O> {
        let fitted = Fitted::At(bytes);
        Statement { fitted, ..self }
    }

    /// Only there.
    pub const fn when(self, when: fn(Place<O>) -> bool) -> Statement<O> {
        Statement { when, ..self }
    }

    /// Not of all.
    pub const fn percent(self, percent: u32) -> Statement<O> {
        Statement { percent, ..self }
    }

    /// That it misses, and why.
    pub const fn missing(self, why: Miss) -> Statement<O> {
        let why = Some(why);
        Statement { why, ..self }
    }
}

impl<O: On> Statement<O> {
    /// Its entries: one for each size and number of ranks, or for each of one of the two.
    ///
    /// # Errors
    /// If something cannot be simulated.
    pub fn entries(&self, testbed: &impl Testbed<O>) -> anyhow::Result<Vec<Entry>> {
        let lead = |ranks, bytes| self.lead(testbed, self.place(ranks, bytes));
        let said = |ranks: &u32, bytes: &u64| (self.when)(self.place(*ranks, *bytes));
        let mut entries = Vec::new();
        match self.claim {
            Claim::Ahead | Claim::NotBehind => {
                for &ranks in self.ranks {
                    for bytes in self.sizes().filter(|bytes| said(&ranks, bytes)) {
                        entries.push(self.ahead(testbed, (ranks, bytes))?);
                    }
                }
            }
            Claim::Between(..) => {
                for &ranks in self.ranks {
                    for bytes in self.sizes() {
                        entries.push(self.entry((Some(ranks), Some(bytes)), lead(ranks, bytes)?));
                    }
                }
            }
            Claim::AtBestAbove(_) | Claim::AtBest(_) => {
                for &ranks in self.ranks {
                    let mut most = 0.0_f64;
                    for bytes in self.sizes() {
                        most = most.max(lead(ranks, bytes)?);
                    }
                    entries.push(self.entry((Some(ranks), None), most));
                }
            }
            Claim::FromBytes(_) => {
                let mut leads = Vec::new();
                for bytes in self.sizes() {
                    let mut mean = 0.0;
                    for &ranks in self.ranks {
                        mean += (lead(ranks, bytes)? / A_WIN).ln() / self.ranks.len() as f64;
                    }
                    leads.push((bytes as f64, mean));
                }
                entries.push(self.entry((None, None), crossing(&leads)));
            }
            Claim::FromRanks(_) => {
                for bytes in self.sizes() {
                    let mut from = f64::INFINITY;
                    for &ranks in self.ranks.iter().rev() {
                        if lead(ranks, bytes)? <= A_WIN {
                            break;
                        }
                        from = f64::from(ranks);
                    }
                    entries.push(self.entry((None, Some(bytes)), from));
                }
            }
            Claim::Grows => {
                for bytes in self.sizes() {
                    for pair in self.ranks.windows(2) {
                        let grown = lead(pair[1], bytes)? / lead(pair[0], bytes)?;
                        entries.push(self.entry((Some(pair[1]), Some(bytes)), grown));
                    }
                }
            }
        }
        Ok(entries)
    }

    /// The entry of a winner: where it is not ahead, that of half the size or twice of it, if it is ahead there.
    fn ahead(
        &self,
        testbed: &impl Testbed<O>,
        (ranks, bytes): (u32, u64),
    ) -> anyhow::Result<Entry> {
        let at = |bytes| {
            let ours = self.lead(testbed, self.place(ranks, bytes))?;
            anyhow::Ok(self.entry((Some(ranks), Some(bytes)), ours))
        };
        let here = at(bytes)?;
        // Of both cutoffs that end a range only one can be near.
        for near in [bytes / 2, bytes * 2] {
            if here.holds() == Some(true) {
                break;
            }
            let there = at(near.max(1))?;
            if there.holds() == Some(true) {
                let row = format!("{}{A_STEP_OFF}{}", here.row, size(near));
                let standing = here.standing;
                return Ok(Entry {
                    row,
                    standing,
                    ..there
                });
            }
        }
        Ok(here)
    }

    fn place(&self, ranks: u32, bytes: u64) -> Place<O> {
        let Statement { on, collective, .. } = *self;
        Place {
            on,
            collective,
            ranks,
            bytes,
        }
    }

    fn sizes(&self) -> impl Iterator<Item = u64> + use<O> {
        let (first, last) = self.bytes;
        std::iter::successors(Some(first), |bytes| Some(2 * bytes)).take_while(move |b| *b <= last)
    }

    /// How many times as long as the fastest of the winners the fastest of the others takes.
    fn lead(&self, testbed: &impl Testbed<O>, place: Place<O>) -> anyhow::Result<f64> {
        let best_us = |of: &[&'static str]| {
            of.iter().try_fold(f64::INFINITY, |best_us, algorithm| {
                anyhow::Ok(best_us.min(testbed.time_us(place, algorithm)?))
            })
        };
        Ok(best_us(self.others)? / best_us(self.winners)?)
    }

    fn entry(&self, (ranks, bytes): (Option<u32>, Option<u64>), ours: f64) -> Entry {
        let (paper, says) = match self.claim {
            Claim::Ahead | Claim::Grows => (1.0, Says::Ahead),
            Claim::NotBehind => (1.0, Says::NotBehind),
            Claim::Between(least, most) => (least, Says::To(most)),
            Claim::AtBestAbove(times) => (times, Says::Above),
            Claim::AtBest(times) => (times, Says::To(times)),
            Claim::FromBytes(bytes) => (bytes as f64, Says::About(STEP)),
            Claim::FromRanks(ranks) => (f64::from(ranks), Says::About(STEP)),
        };
        let mut row = format!("{}, {}", self.on.name(), self.collective);
        row += &match (ranks, self.ranks) {
            (Some(ranks), _) => format!(", {ranks} ranks"),
            (None, [ranks]) => format!(", {ranks} ranks"),
            (None, [least, .., most]) => format!(", {least} to {most} ranks"),
            (None, []) => String::new(),
        };
        row += &bytes.map_or(String::new(), |bytes| format!(", {}", size(bytes)));
        let numbers = (paper, ours);
        let fitted = match self.fitted {
            Fitted::Nowhere => false,
            Fitted::At(sizes) => bytes.is_some_and(|bytes| sizes.contains(&bytes)),
            Fitted::Everywhere => true,
        };
        let entry = Entry::new(self.table, (row, self.title), numbers, fitted);
        Entry {
            why: self.why,
            ..entry.saying(says)
        }
    }

    /// Whether an entry is its.
    pub fn owns(&self, entry: &Entry) -> bool {
        let machine = entry.row.split(',').next();
        entry.standing != Standing::Shown
            && entry.table == self.table
            && entry.column == self.title
            && machine == Some(self.on.name())
    }

    /// Which part of its own entries comes out.
    pub fn part(&self, own: &[&Entry]) -> f64 {
        let right = own.iter().filter(|entry| entry.holds() == Some(true));
        let part = right.count() as f64 / own.len().max(1) as f64;
        // As much as is said is all.
        (part * 100.0 / f64::from(self.percent)).min(1.0)
    }

    /// Whether as many of its own entries come out as must.
    pub fn holds(&self, own: &[&Entry]) -> bool {
        let right = own.iter().filter(|entry| entry.holds() == Some(true));
        100 * right.count() >= self.percent as usize * own.len()
    }
}

/// What stands in the row of a winner between the size that is told and the one at which it is ahead.
pub const A_STEP_OFF: &str = ": at ";

/// How much longer the others take where they are behind: closer is a tie, as for [`Says::Ahead`].
const A_WIN: f64 = 1.01;

/// A size step: the factor by which a crossing may be off.
pub const STEP: f64 = 2.0;

/// From which number on a logarithm is above 0, between two by its straight line over theirs; a step beyond the last if it is not
/// above there.
fn crossing(logarithms: &[(f64, f64)]) -> f64 {
    let below = logarithms.iter().rposition(|(_, of)| *of <= 0.0);
    let Some(&(number, first)) = logarithms.get(below.unwrap_or(0)) else {
        return f64::NAN;
    };
    match (below, below.and_then(|at| logarithms.get(at + 1))) {
        (None, _) => number,
        (Some(_), None) => STEP * number,
        (Some(_), Some(&(next, second))) => number * (next / number).powf(first / (first - second)),
    }
}

/// A size as it is read.
pub fn size(bytes: u64) -> String {
    match bytes {
        MB.. if bytes.is_multiple_of(MB) => format!("{} MB", bytes / MB),
        KB.. if bytes.is_multiple_of(KB) => format!("{} KB", bytes / KB),
        bytes => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_two_cross() {
        let from = |logarithms: [f64; 3]| {
            let numbers = [1.0, 4.0, 16.0].into_iter().zip(logarithms);
            crossing(&numbers.collect::<Vec<_>>())
        };
        assert_eq!(from([0.1, 0.2, 0.3]), 1.0);
        assert_eq!(from([-0.1, -0.2, 0.2]), 8.0);
        assert_eq!(from([0.1, -0.2, 0.2]), 8.0);
        assert_eq!(from([0.1, 0.2, -0.3]), 32.0);
    }

    #[test]
    fn sizes_are_read_in_their_units() {
        let read = [8, 1000, KB, 80 * KB, 1536 * KB, MB].map(size);
        assert_eq!(read, ["8 B", "1000 B", "1 KB", "80 KB", "1536 KB", "1 MB"]);
    }
}
