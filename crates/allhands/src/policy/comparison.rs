//! The comparison: what every algorithm is forecast to take between nodes, and which one is chosen by that.

use super::NetworkTimes;
use super::forecast::{Forecast, MOST_RANKS, Named, flat, size_class};
use crate::transport::net::Places;
use allhands_core::choose::{Facts, Question};
use allhands_core::machine::Nodes;

/// What an algorithm is forecast to take between nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// The name of the algorithm.
    pub algorithm: &'static str,
    /// Its parameters, as `segments=4`; empty where it has those that it has by itself.
    pub parameters: String,
    /// How long the call takes, in nanoseconds.
    pub time_ns: f64,
    /// How long it keeps the processor of a rank busy, on the average, while all are, in nanoseconds.
    pub busy_ns: f64,
    /// What is compared: the time, or what processors are busy, if that is more, and a part of that besides, in nanoseconds.
    pub cost_ns: f64,
    /// Whether it is the one that a communicator takes.
    pub chosen: bool,
}

/// Compares everything that can serve a call between nodes, the ranks of each of which share memory, as a communicator does it that
/// has measured these times: the cheapest first. Beyond 64 ranks nothing is simulated, but what algorithms claim is compared, of those
/// that treat all ranks alike, and processors' time is not known. Nothing where not every rank knows the lengths.
///
/// Times are those of root 0, and of the least length that begins with the same three binary digits.
///
/// ```
/// use allhands::policy::{NetworkTimes, compare_between_nodes};
/// use allhands_core::call::{Call, Collective};
/// use allhands_core::choose::Question;
/// use allhands_core::machine::Nodes;
///
/// let question = Question::new(Call::new(Collective::Allreduce, 8), 1 << 20);
/// let times: NetworkTimes = "latency_us=500,overhead_us=5,byte_ns=40".parse()?;
/// let all = compare_between_nodes(&question, &Nodes::even(8, 1), &times);
/// assert_eq!(all.iter().filter(|compared| compared.chosen).count(), 1);
/// assert!(all.is_sorted_by_key(|compared| compared.cost_ns));
/// # Ok::<(), allhands::policy::TimesError>(())
/// ```
#[must_use]
pub fn compare_between_nodes(
    question: &Question,
    nodes: &Nodes,
    times: &NetworkTimes,
) -> Vec<Compared> {
    let Some(bytes) = Facts::of(question).bytes.map(size_class) else {
        return Vec::new();
    };
    if question.call.ranks > MOST_RANKS {
        return by_claims(question, nodes, (times, bytes));
    }
    let places = Places::of(nodes, question.call.ranks);
    let forecast = Forecast::new(times);
    let timed = forecast.timed(question, (nodes, &places), bytes);
    let chosen = forecast.fastest(&timed, (bytes, &places));
    let compared = timed.iter().map(|timed| Compared {
        algorithm: timed.named.0.name,
        parameters: timed.named.1.clone(),
        time_ns: timed.time_ps as f64 * 1e-3,
        busy_ns: timed.busy_ps as f64 * 1e-3,
        cost_ns: timed.cost_ps as f64 * 1e-3,
        chosen: chosen.is_some_and(|found| std::ptr::eq(found, timed)),
    });
    let mut compared: Vec<Compared> = compared.collect();
    compared.sort_by(|a, b| a.cost_ns.total_cmp(&b.cost_ns));
    compared
}

/// The same for many ranks, by what algorithms claim.
fn by_claims(
    question: &Question,
    nodes: &Nodes,
    (times, bytes): (&NetworkTimes, u64),
) -> Vec<Compared> {
    let places = Places::of(nodes, question.call.ranks);
    let chosen = Forecast::new(times).claimed(question, (nodes, &places), bytes);
    let compared = |(time_ns, (algorithm, parameters)): (f64, Named)| Compared {
        chosen: chosen
            .as_ref()
            .is_some_and(|(found, said)| found.name == algorithm.name && *said == parameters),
        algorithm: algorithm.name,
        parameters,
        time_ns,
        busy_ns: 0.0,
        cost_ns: time_ns,
    };
    flat(times, question, bytes)
        .into_iter()
        .map(compared)
        .collect()
}
