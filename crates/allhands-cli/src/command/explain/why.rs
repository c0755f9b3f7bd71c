//! The sentence that says why one algorithm is chosen and not the next: both times, and what of their schedules decides.

use crate::{names, sizes};
use allhands::policy::{NetworkTimes, T3E};
use allhands_core::algorithm::Algorithm;
use allhands_core::call::{Call, Collective};
use allhands_core::choose::{Candidate, Explanation, Verdict};
use allhands_core::machine::Nodes;

/// A difference that is less than this part of a time decides nothing.
const NEGLIGIBLE: f64 = 0.001;

/// What an algorithm does of what takes time, by what it claims.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Counts {
    /// Rounds of messages, one after another, and whether that is a limit.
    rounds: u32,
    at_most: bool,
    /// The most bytes that a rank sends or receives.
    sent: f64,
    /// The most bytes that a rank reduces.
    reduced: f64,
}

impl Counts {
    /// Those of an algorithm, if it claims them.
    fn of(name: &str, (call, nodes): (Call, &Nodes), bytes: u64) -> Option<Counts> {
        let (algorithm, parameters) = names::algorithm(call.collective, name).ok()?;
        Self::claimed(algorithm, parameters, (call, nodes), bytes)
    }

    fn claimed(
        algorithm: &Algorithm,
        parameters: &str,
        (call, nodes): (Call, &Nodes),
        bytes: u64,
    ) -> Option<Counts> {
        let shape = names::shape(algorithm, call, parameters).ok()?;
        let shape = shape.on(nodes.clone());
        algorithm.admits(&shape).ok()?;
        let claims = (algorithm.claims)(&shape);
        let (volume, work) = (claims.claimed_volume()?, claims.claimed_work()?);
        let whole = match call.collective {
            Collective::Gather
            | Collective::Scatter
            | Collective::Allgather
            | Collective::Alltoall => bytes as f64 * f64::from(call.ranks),
            Collective::Barrier => 0.0,
            _ => bytes as f64,
        };
        let block = whole / f64::from((algorithm.parts)(&shape).max(1));
        Some(Counts {
            rounds: claims.steps,
            at_most: claims.are_limits(),
            sent: volume as f64 * block,
            reduced: work as f64 * block,
        })
    }
}

/// What a round, a byte that is sent and one that is reduced take, in microseconds.
#[derive(Clone, Copy, Debug)]
struct Prices([f64; 3]);

/// An algorithm with its time.
struct Rival {
    name: String,
    us: f64,
    counts: Option<Counts>,
}

/// The sentence of a network: both forecasts, and what decides.
pub fn between_nodes(
    (call, nodes): (Call, &Nodes),
    bytes: u64,
    times: &NetworkTimes,
    [chosen, next]: [(&str, f64); 2],
) -> String {
    let round_ns = times.latency_ns + 2.0 * times.overhead_ns;
    let prices = Prices([round_ns, times.byte_ns, times.reduce_byte_ns].map(|ns| ns * 1e-3));
    let [chosen, next] = [chosen, next].map(|(name, us)| Rival {
        name: name.to_owned(),
        us,
        counts: Counts::of(name, (call, nodes), bytes),
    });
    say("forecast", &chosen, &next, Some(prices))
}

/// The sentence of a choice by times, measured or predicted; nothing where no times were compared.
pub fn of(explained: &Explanation, nodes: &Nodes) -> Option<String> {
    let call = explained.facts.call;
    let all = &explained.considered;
    let decides = all.iter().find(|one| one.verdict == Verdict::Decided)?;
    let rival = |name: &str, us, bytes| Rival {
        name: name.to_owned(),
        us,
        counts: Counts::of(name, (call, nodes), bytes),
    };
    match &decides.candidate {
        Candidate::Listed(listed) => {
            let time_us = |ns: u64| ns as f64 * 1e-3;
            let chosen_us = time_us(listed.entry.time_ns?);
            // A row without a day has what `allhands predict --table` took from a model.
            let how = match listed.source.ends_with("not measured") {
                true => "predicted",
                false => "measured",
            };
            let others = all.iter().filter_map(|one| match &one.candidate {
                Candidate::Listed(other) if other != listed => Some(other),
                _ => None,
            });
            // Of the same cell alone: times of others are of other calls.
            let cell = (&listed.source, listed.ranks, listed.bytes);
            let same = others.filter(|other| (&other.source, other.ranks, other.bytes) == cell);
            let timed = same.filter_map(|other| Some((other.entry.time_ns?, &other.entry)));
            let named = |entry: &allhands_core::choose::Entry| match entry.parameters.as_str() {
                "" => entry.name.clone(),
                parameters => format!("{}:{parameters}", entry.name),
            };
            let chosen = rival(&named(&listed.entry), chosen_us, listed.bytes);
            let sentence = match timed.min_by_key(|(ns, _)| *ns) {
                Some((ns, entry)) => {
                    let next = rival(&named(entry), time_us(ns), listed.bytes);
                    say(how, &chosen, &next, None)
                }
                None => format!(
                    "{}: {chosen_us:.1} µs {how}; no other's time stands there",
                    chosen.name
                ),
            };
            Some(format!("A {how} row decides: {sentence}"))
        }
        _ => {
            let mut predicted = decides.predictions.clone();
            predicted.sort_by(|a, b| a.1.total_cmp(&b.1));
            let name = explained.choice.algorithm.name;
            let chosen = predicted.iter().find(|(other, _)| *other == name)?;
            let next = predicted.iter().find(|(other, _)| *other != name)?;
            let bytes = explained.facts.bytes.unwrap_or(0);
            let [chosen, next] = [chosen, next].map(|(name, us)| rival(name, *us, bytes));
            let prices = [T3E.alpha_us, T3E.beta_us_per_byte, T3E.gamma_us_per_byte];
            Some(say("predicted", &chosen, &next, Some(Prices(prices))))
        }
    }
}

fn say(how: &str, chosen: &Rival, next: &Rival, prices: Option<Prices>) -> String {
    let both = format!(
        "{}: {:.1} µs {how}; {}, the next, {:.1} µs",
        chosen.name, chosen.us, next.name, next.us
    );
    if next.us < chosen.us {
        return format!("{both}: less, but by too little to take its place");
    }
    if next.us - chosen.us <= NEGLIGIBLE * chosen.us {
        return format!("{both}: as good as equal");
    }
    let Some((ours, its)) = chosen.counts.zip(next.counts) else {
        return format!("{both}: not both claim how much they send");
    };
    let why = match prices {
        Some(prices) => priced(&ours, &its, prices, NEGLIGIBLE * chosen.us),
        None => counted(&ours, &its),
    };
    format!("{both}: {why}")
}

/// The terms in which two differ, as texts: rounds, bytes sent, bytes reduced; of `its` beside `ours`.
fn terms(ours: &Counts, its: &Counts) -> [String; 3] {
    let most = if its.at_most { "at most " } else { "" };
    let size = |bytes: f64| sizes::say(bytes.round() as usize);
    [
        format!("{most}{} rounds for {}", its.rounds, ours.rounds),
        format!(
            "{} bytes sent by a rank for {}",
            size(its.sent),
            size(ours.sent)
        ),
        format!(
            "{} bytes reduced by a rank for {}",
            size(its.reduced),
            size(ours.reduced)
        ),
    ]
}

/// By how much each term is more of `its` than of `ours`.
fn more(ours: &Counts, its: &Counts) -> [f64; 3] {
    [
        f64::from(its.rounds) - f64::from(ours.rounds),
        its.sent - ours.sent,
        its.reduced - ours.reduced,
    ]
}

/// The term that decides by a model's prices, and what the next one saves besides.
fn priced(ours: &Counts, its: &Counts, Prices(prices): Prices, least_us: f64) -> String {
    let more = more(ours, its);
    let us: Vec<f64> = more
        .iter()
        .zip(prices)
        .map(|(more, us)| more * us)
        .collect();
    let terms = terms(ours, its);
    let largest = (0..us.len()).max_by(|a, b| us[*a].total_cmp(&us[*b]));
    let Some(at) = largest.filter(|at| us[*at] > least_us) else {
        return "what they claim does not tell them apart; in which order messages go does".into();
    };
    let saved = (0..us.len()).filter(|other| us[*other] < -least_us);
    let saved: Vec<String> = saved
        .map(|other| format!("{} save {:.1}", terms[other], -us[other]))
        .collect();
    let kind = ["latency decides", "bytes decide", "work decides"][at];
    let decides = format!("{kind}, {}, about {:.1} µs more", terms[at], us[at]);
    match saved.is_empty() {
        true => decides,
        false => format!("{decides}; {}", saved.join(" and ")),
    }
}

/// The terms in which the next one does more, or less, where nobody knows what they take.
fn counted(ours: &Counts, its: &Counts) -> String {
    let more = more(ours, its);
    let terms = terms(ours, its);
    let of = |is_meant: fn(f64) -> bool| -> Vec<&str> {
        let meant = (0..more.len()).filter(|at| is_meant(more[*at]));
        meant.map(|at| terms[at].as_str()).collect()
    };
    let (worse, better) = (of(|more| more > 0.0), of(|more| more < 0.0));
    match (worse.is_empty(), better.is_empty()) {
        (true, true) => "both claim as many rounds, bytes and reductions".into(),
        (true, false) => format!(
            "it claims less, {}, so neither latency, bytes nor work decides, but how they are done",
            better.join(", ")
        ),
        (false, true) => format!("it has {}", worse.join(", ")),
        (false, false) => format!(
            "it has {}, which costs more than {} save",
            worse.join(", "),
            better.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(bytes: u64, names: [(&str, f64); 2]) -> String {
        let times = "latency_us=500,overhead_us=5,byte_ns=40,reduce_byte_ns=0.1";
        let times: NetworkTimes = times.parse().expect("it is one");
        let call = Call::new(Collective::Allreduce, 8);
        between_nodes((call, &Nodes::even(8, 1)), bytes, &times, names)
    }

    #[test]
    fn bytes_decide_where_the_whole_vector_goes_each_time() {
        // Rabenseifner: 6 rounds and 2 · 7/8 of a vector; recursive doubling: 3 rounds of all of it.
        let said = network(
            1 << 20,
            [
                ("rabenseifner", 76_552.0),
                ("recursive-doubling", 127_674.0),
            ],
        );
        assert!(
            said.contains("bytes decide, 3M bytes sent by a rank for 1792K"),
            "{said}"
        );
        // 1.25 MB more at 40 ns a byte; 3 rounds less at 510 µs.
        assert!(said.contains("52428.8 µs more"), "{said}");
        assert!(said.contains("3 rounds for 6 save 1530.0"), "{said}");
    }

    #[test]
    fn latency_decides_where_calls_are_short() {
        let said = network(
            8,
            [("recursive-doubling", 1531.0), ("rabenseifner", 3061.0)],
        );
        let wanted = "latency decides, 6 rounds for 3, about 1530.0 µs more";
        assert!(said.ends_with(wanted), "{said}");
        assert!(said.starts_with(
            "recursive-doubling: 1531.0 µs forecast; rabenseifner, the next, 3061.0 µs"
        ));
    }

    #[test]
    fn what_is_equal_or_unclaimed_is_not_explained_by_terms() {
        let said = network(8, [("recursive-doubling", 100.0), ("rabenseifner", 100.0)]);
        assert!(said.ends_with("as good as equal"), "{said}");
        let said = network(8, [("recursive-doubling", 100.0), ("rabenseifner", 99.0)]);
        assert!(said.ends_with("too little to take its place"), "{said}");
        let said = network(8, [("recursive-doubling", 100.0), ("hierarchical", 110.0)]);
        assert!(said.contains("claim"), "{said}");
        // Both have 3 rounds of the whole vector.
        let twins = [
            ("recursive-doubling", 100.0),
            ("recursive-multiplying:ports=1", 110.0),
        ];
        assert!(network(8, twins).contains("does not tell them apart"));
    }

    #[test]
    fn without_prices_the_terms_stand_side_by_side() {
        let ours = Counts {
            rounds: 2,
            at_most: false,
            sent: 64.0,
            reduced: 8.0,
        };
        let its = Counts {
            rounds: 6,
            sent: 32.0,
            ..ours
        };
        assert_eq!(
            counted(&ours, &its),
            "it has 6 rounds for 2, which costs more than 32 bytes sent by a rank for 64 save"
        );
        assert!(counted(&its, &Counts { rounds: 2, ..its }).contains("claims less"));
        assert!(counted(&ours, &ours).contains("as many"));
    }
}
