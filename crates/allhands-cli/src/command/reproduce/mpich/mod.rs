//! `allhands reproduce mpich`: MPICH's old and new algorithms on a Myrinet cluster and an IBM SP, and allreduce on a Cray T3E (T 4, 5).
//!
//! T prints its curves as pictures only. What its text says of them is: who wins over whom, where one gives way to another (MPICH's
//! cutoffs, which were found on these machines), and a few factors. T prints no number of its machines either: the models' files
//! say where each is from. Of IBM's MPI it does not say what its algorithms are: trees are assumed, and titles say so.
//!
//! Fitted are statements that were looked at when a machine was described: how long a processor has to do with a message on the
//! Myrinet cluster was set by where all-to-alls cross there; that messages of 16 KB are the last to go at once (published) was put in on
//! seeing where allgathers and reduce-scatters cross; that Bruck's algorithms permute (T 4.1.2, 4.3) on seeing those of other numbers
//! than powers of two; and the SP's routes were assumed by what T says of neighbours.

mod clusters;
mod patterns;
mod reductions;
mod testbed;

use super::{Entry, statement, verdict};
use crate::command::simulate::machine::Machine;
use anyhow::ensure;
use std::io::Write;
pub use testbed::MACHINES;
use testbed::{On, Testbed};

/// A sentence of T.
type Statement = statement::Statement<On>;

/// What of T's figures is not here, and why.
const LEFT_OUT: &[&str] = &[
    "figures 16 and 17, a process a processor: T does not say how IBM's MPI uses a node's memory, nor MPICH-GM",
    "figure 18: Cray's allreduce and reduce are not described, and MPI_MAXLOC's factor is of derived datatypes",
    "figure 19: the calls of the applications are not told",
    "figure 14, powers of two from 64 B to 1 KB: Cray's algorithm is not described",
    "figure 4 on the SP: IBM's allgather is not described, and no guess at it would be better than another",
];

/// All statements that are of calls.
fn statements() -> impl Iterator<Item = &'static Statement> {
    let groups = clusters::STATEMENTS.iter().chain(reductions::STATEMENTS);
    groups.flat_map(|group| group.iter())
}

/// What T's text says of its figures, or of one, and what the models give; and what is left out.
///
/// # Errors
/// If the text says nothing of that figure, or something cannot be simulated.
pub fn run(figure: Option<u32>) -> anyhow::Result<(Vec<Entry>, Vec<String>)> {
    let [myrinet, sp, t3e] = MACHINES.map(Machine::find);
    let entries = entries_on([myrinet?, sp?, t3e?], figure)?;
    ensure!(
        !entries.is_empty(),
        "there is no such figure here; right would be 3, 4, 5, 6, 8, 10, 11, 14, 15, 16 or 17"
    );
    let left_out = LEFT_OUT.iter().filter(|_| figure.is_none());
    let notes = left_out.map(|what| format!("left out: {what}"));
    Ok((entries, notes.collect()))
}

/// The same entries on changed machines, which are in the order of [`MACHINES`].
///
/// # Errors
/// If something cannot be simulated.
pub fn entries_on(machines: [Machine; 3], figure: Option<u32>) -> anyhow::Result<Vec<Entry>> {
    let testbed = Testbed::of(machines);
    let asked = |table: &str| figure.is_none_or(|figure| table == format!("figure {figure}"));
    let mut entries = Vec::new();
    for statement in statements().filter(|statement| asked(statement.table)) {
        entries.extend(statement.entries(&testbed)?);
    }
    let compared = patterns::entries(&testbed)?;
    entries.extend(compared.into_iter().filter(|entry| asked(entry.table)));
    Ok(entries)
}

/// Says how many statements hold, and names those that miss.
///
/// # Errors
/// If it cannot be written.
pub fn verdict(out: &mut dyn Write, entries: &[Entry]) -> anyhow::Result<()> {
    verdict::print(out, &statements().collect::<Vec<_>>(), entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn what_the_text_names_comes_out_and_what_misses_has_a_reason() {
        let (entries, left_out) = run(None).expect("everything can be simulated");
        for statement in statements() {
            let own: Vec<&Entry> = entries.iter().filter(|e| statement.owns(e)).collect();
            assert!(!own.is_empty(), "{}", statement.title);
            let misses = !statement.holds(&own);
            assert_eq!(misses, statement.why.is_some(), "{}", statement.title);
        }
        let (right, number) = verdict::named(&statements().collect::<Vec<_>>(), &entries);
        assert!(right >= 0.8 * number as f64, "{right} of {number}");
        assert!(number >= 30 && left_out.len() == LEFT_OUT.len());
        let mut out = Vec::new();
        verdict(&mut out, &entries).expect("it is written");
        let text = String::from_utf8(out).expect("it is text");
        assert!(
            text.contains("misses: ") && !text.contains("no reason is known"),
            "{text}"
        );
    }

    #[test]
    fn a_figure_alone_has_its_entries_alone() {
        let (entries, left_out) = run(Some(3)).expect("everything can be simulated");
        assert!(entries.iter().all(|entry| entry.table == "figure 3"));
        assert!(left_out.is_empty() && entries.len() == 22);
        let error = run(Some(18)).unwrap_err().to_string();
        assert!(error.contains("right would be 3, 4"), "{error}");
    }

    #[test]
    fn a_title_is_one_statement_s_on_a_machine() {
        let named = statements().map(|own| (own.table, own.on, own.title));
        let all: BTreeSet<_> = named.collect();
        assert_eq!(all.len(), statements().count());
    }
}
