//! What algorithms claim: the forecast for so many ranks that no simulation of all algorithms is in time.
//!
//! Their files say how many rounds of messages there are, and how much the busiest rank sends and combines, in closed form for any number
//! of ranks, and `verify` counts that it is so. With LogGP's times (C 3.1) a call of k ports, s rounds, v blocks sent and w combined, of b
//! bytes each, takes about
//!
//! ```text
//! s (L + 2 o + (k − 1) max(g, o))  +  max(v, s) b G  +  w b γ
//! ```
//!
//! as of what goes in segments a block passes in every round. What ranks wait for besides, it does not know, nor that messages of a tree of
//! one level wait for nobody: its choices for 48 ranks take 13 and 6 % longer than those of the simulation on the average on two networks,
//! twice as long at worst (tests below).

use super::candidates::{bare, is_pipeline, may_serve_anywhere, registered};
use super::{Forecast, Named, best_power, serves};
use crate::transport::net::Places;
use crate::transport::net::times::NetworkTimes;
use allhands_core::algorithm::{self, Algorithm, Layers, Requirement};
use allhands_core::call::{Call, Collective};
use allhands_core::choose::Question;
use allhands_core::machine::Nodes;
use allhands_core::schedule::Shape;

/// Of so many ranks claims are asked at most: some count what they claim rank by rank.
const MOST_ASKED: u32 = 256;

/// What a call of an algorithm consists of.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Counts {
    ports: f64,
    rounds: f64,
    /// Bytes that the busiest rank sends, …
    sent: f64,
    /// … that go in a round, of what goes in segments, and that are combined.
    segment: f64,
    combined: f64,
}

impl Counts {
    /// As an algorithm claims it; none where that says too little.
    fn claimed(algorithm: &Algorithm, shape: &Shape, bytes: u64) -> Option<Counts> {
        let claims = (algorithm.claims)(shape);
        let (volume, work) = (claims.claimed_volume()?, claims.claimed_work()?);
        let call = shape.call;
        let blocks = match call.collective {
            Collective::Gather
            | Collective::Scatter
            | Collective::Allgather
            | Collective::Alltoall => call.ranks,
            _ => 1,
        };
        let parts = f64::from((algorithm.parts)(shape).max(1));
        let block = bytes as f64 * f64::from(blocks) / parts;
        Some(Counts {
            ports: f64::from(claims.ports),
            rounds: f64::from(claims.steps),
            sent: volume as f64 * block,
            segment: block,
            combined: work as f64 * block,
        })
    }

    /// What it is of 2^`doublings` times as many ranks, if it was `less` of half as many: what is then about twice as much is taken for
    /// a line over the number of ranks, what is hardly more for one over its logarithm, what is as much for the same, and other things
    /// for a power of it.
    fn grown(self, less: Counts, doublings: f64) -> Counts {
        const EQUAL: f64 = 1.02;
        const HARDLY: f64 = 1.3;
        const TWICE: std::ops::Range<f64> = 1.8..2.5;
        let grow = |less: f64, now: f64| match now / less.max(f64::MIN_POSITIVE) {
            times if (1.0..EQUAL).contains(&times) => now,
            times if times < HARDLY || less == 0.0 => (now + (now - less) * doublings).max(0.0),
            times if TWICE.contains(&times) => now + (now - less) * 2.0 * (doublings.exp2() - 1.0),
            times => now * times.powf(doublings),
        };
        Counts {
            ports: grow(less.ports, self.ports),
            rounds: grow(less.rounds, self.rounds),
            sent: grow(less.sent, self.sent),
            // Blocks of ever more parts are ever shorter.
            segment: self.segment
                * (self.segment / less.segment.max(f64::MIN_POSITIVE)).powf(doublings),
            combined: grow(less.combined, self.combined),
        }
    }

    /// For any number of ranks: of many by what it is of a few, and of twice as many.
    fn of(algorithm: &Algorithm, parameters: &str, call: Call, bytes: u64) -> Option<Counts> {
        let at = |ranks: u32| {
            let shape = algorithm.shape(Call { ranks, ..call }, parameters).ok()?;
            algorithm.admits(&shape).ok()?;
            Counts::claimed(algorithm, &shape, bytes)
        };
        if call.ranks <= MOST_ASKED {
            return at(call.ranks);
        }
        let shape = algorithm.shape(call, parameters).ok()?;
        algorithm.admits(&shape).ok()?;
        // As many as there are, halved until few are left: powers of two stay such, and others stay none.
        let halvings = (f64::from(call.ranks) / f64::from(MOST_ASKED))
            .log2()
            .ceil();
        let few = f64::from(call.ranks) / halvings.exp2();
        let many = match call.ranks.is_power_of_two() {
            true => few as u32,
            false => few as u32 / 2 * 2 + 2,
        };
        let doublings = (f64::from(call.ranks) / f64::from(many)).log2();
        Some(at(many)?.grown(at(many / 2)?, doublings))
    }

    /// How long that takes, in nanoseconds.
    fn time_ns(&self, times: &NetworkTimes) -> f64 {
        let overhead_ns = times.burst_overhead_ns.max(times.overhead_ns);
        let further_ns = (self.ports - 1.0).max(0.0) * overhead_ns.max(times.gap_ns);
        let round_ns = times.latency_ns + 2.0 * overhead_ns + further_ns;
        let sent = self.sent.max(self.rounds * self.segment);
        self.rounds * round_ns + sent * times.byte_ns + self.combined * times.reduce_byte_ns
    }
}

/// Everything flat that may serve a call, with what it takes, in nanoseconds, the fastest first.
pub(in crate::policy) fn flat(
    times: &NetworkTimes,
    question: &Question,
    bytes: u64,
) -> Vec<(f64, Named)> {
    let call = bare(question);
    let mut all = Vec::new();
    for algorithm in algorithm::of(call.collective) {
        if algorithm.requires.contains(&Requirement::Nodes)
            || !may_serve_anywhere(algorithm, question)
        {
            continue;
        }
        let time = |parameters: String| {
            let counts = Counts::of(algorithm, &parameters, call, bytes)?;
            Some((counts.time_ns(times), (algorithm, parameters)))
        };
        all.extend(registered(algorithm, call.ranks).filter_map(time));
        if is_pipeline(algorithm) {
            let segmented = |segments: u32| time(format!("segments={segments}"));
            all.extend(best_power(segmented, |(ns, _)| *ns as u64));
        }
    }
    all.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    all
}

impl Forecast {
    /// The fastest by what algorithms claim: of ranks that are alone on their nodes one for all; where some share memory, `hierarchical`,
    /// with the fastest for as many leaders.
    pub(in crate::policy) fn claimed(
        &self,
        question: &Question,
        (nodes, places): (&Nodes, &Places),
        bytes: u64,
    ) -> Option<Named> {
        let call = question.call;
        let sizes = nodes.innermost(call.ranks);
        let shared = sizes.iter().any(|size| *size > 1);
        let serves = |(algorithm, parameters): &Named| {
            let shape = algorithm.shape(call, parameters).ok()?.on(nodes.clone());
            serves(algorithm, &shape, places).then_some(())
        };
        if shared
            && let Some(named) = self.hierarchical(question, sizes.len() as u32, bytes)
            && serves(&named).is_some()
        {
            return Some(named);
        }
        let all = flat(&self.measured, question, bytes).into_iter();
        all.map(|(_, named)| named)
            .find(|named| serves(named).is_some())
    }

    fn hierarchical(&self, question: &Question, leaders: u32, bytes: u64) -> Option<Named> {
        let call = question.call;
        let mut all = algorithm::of(call.collective);
        let (found, layers) = all.find_map(|found| Some((found, found.layers?)))?;
        let per_leader = u64::from(call.ranks.div_ceil(leaders.max(1)));
        let among = Question {
            call: Call {
                ranks: leaders,
                root: 0,
                ..call
            },
            ..*question
        };
        // A block of a leader is all blocks of its node, and to each other one goes what all of its ranks send all of that one's.
        let bytes = match call.collective {
            Collective::Gather | Collective::Scatter | Collective::Allgather => bytes * per_leader,
            Collective::Alltoall => bytes * per_leader * per_leader,
            _ => bytes,
        };
        let known = |named: &Named| {
            layers
                .leaders
                .iter()
                .any(|leader| leader.name == named.0.name)
        };
        let mut all = flat(&self.measured, &among, bytes).into_iter();
        let (_, (inter, _)) = all.find(|(_, named)| known(named))?;
        let parameters = format!("intra=shared-memory,{}={}", Layers::INTER, inter.name);
        Some((found, parameters))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOW: NetworkTimes = NetworkTimes {
        latency_ns: 500_000.0,
        overhead_ns: 5_000.0,
        long_overhead_ns: 5_000.0,
        burst_overhead_ns: 5_000.0,
        gap_ns: 1_000.0,
        byte_ns: 40.0,
        reduce_byte_ns: 0.1,
    };
    const FAST: NetworkTimes = NetworkTimes {
        latency_ns: 2_000.0,
        overhead_ns: 500.0,
        long_overhead_ns: 1_000.0,
        burst_overhead_ns: 600.0,
        gap_ns: 100.0,
        byte_ns: 0.08,
        reduce_byte_ns: 0.1,
    };

    /// How many times as long as the fastest simulated one what is taken by claims takes, at 48 ranks.
    fn losses(times: &NetworkTimes) -> Vec<(f64, String)> {
        const RANKS: u32 = 48;
        let nodes = Nodes::even(RANKS, 1);
        let places = Places::of(&nodes, RANKS);
        let forecast = Forecast::new(times);
        let mut all = Vec::new();
        for collective in Collective::ALL {
            let sizes: &[u64] = match collective {
                Collective::Barrier => &[0],
                _ => &[8, 4 << 10, 256 << 10],
            };
            for &bytes in sizes {
                let question = Question::new(Call::new(collective, RANKS), bytes);
                let (algorithm, parameters) = forecast
                    .claimed(&question, (&nodes, &places), bytes)
                    .expect("one serves");
                let time_ps = |algorithm: &Algorithm, parameters: &str| {
                    let shape = algorithm
                        .shape(bare(&question), parameters)
                        .expect("it is known");
                    let times =
                        forecast.times_ps(algorithm, &shape.on(nodes.clone()), bytes, (0, &places));
                    times.expect("it ends").0 as f64
                };
                let (best, settings) = forecast
                    .choose(&question, (&nodes, &places))
                    .map(|(best, shape)| {
                        (
                            best,
                            algorithm::print_parameters(best.keys, &shape.parameters),
                        )
                    })
                    .expect("one is forecast");
                let ratio = time_ps(algorithm, &parameters) / time_ps(best, &settings);
                all.push((
                    ratio,
                    format!(
                        "{collective} {bytes}: {} {parameters} {ratio:.2} times {} {settings}",
                        algorithm.name, best.name
                    ),
                ));
            }
        }
        all
    }

    #[test]
    fn what_claims_say_is_near_what_a_simulation_says() {
        for times in [SLOW, FAST] {
            let all = losses(&times);
            let mean = all.iter().map(|(ratio, _)| ratio.ln()).sum::<f64>() / all.len() as f64;
            let worst = all.iter().max_by(|one, other| one.0.total_cmp(&other.0));
            let (worst, what) = worst.expect("there are some");
            assert!(
                mean.exp() < 1.2 && *worst < 2.2,
                "mean {}, {what}",
                mean.exp()
            );
        }
    }

    #[test]
    fn many_ranks_are_as_few_ranks_and_more() {
        let call = |ranks| Call::new(Collective::Allreduce, ranks);
        let of = |name: &str, ranks: u32| {
            let found = algorithm::find(Collective::Allreduce, name).expect(name);
            let counts = Counts::of(found, "", call(ranks), 1 << 20).expect("it claims");
            (counts.rounds, counts.sent)
        };
        // 2 (p − 1) rounds of m/p, and log p of m; the ring's one round less is of a few ranks.
        let (rounds, sent) = of("ring", 1 << 16);
        assert!(
            (rounds / 131_070.0 - 1.0).abs() < 0.02 && (sent / 2_097_120.0 - 1.0).abs() < 0.02,
            "{rounds} {sent}"
        );
        assert_eq!(
            of("recursive-doubling", 1 << 16),
            (16.0, 16.0 * f64::from(1 << 20))
        );
        let (rounds, _) = of("recursive-doubling", 100_000);
        assert!((16.0..=19.0).contains(&rounds), "{rounds}");
    }

    #[test]
    fn a_hundred_thousand_ranks_take_no_linear_algorithm_for_short_messages() {
        const RANKS: u32 = 100_000;
        let nodes = Nodes::even(RANKS, 1);
        let places = Places::of(&nodes, RANKS);
        let forecast = Forecast::new(&FAST);
        for collective in Collective::ALL {
            let question = Question::new(Call::new(collective, RANKS), 8);
            let named = forecast.claimed(&question, (&nodes, &places), 8);
            let (algorithm, parameters) = named.expect("one serves");
            let counts = Counts::of(algorithm, &parameters, bare(&question), 8);
            let rounds = counts.expect("it claims").rounds;
            assert!(
                rounds < 100.0,
                "{collective}: {} {parameters}: {rounds} rounds",
                algorithm.name
            );
        }
    }

    #[test]
    fn nodes_of_several_ranks_go_by_their_leaders() {
        let nodes = Nodes::even(50, 4);
        let places = Places::of(&nodes, 200);
        let question = Question::new(Call::new(Collective::Allreduce, 200), 64);
        let named = Forecast::new(&SLOW).claimed(&question, (&nodes, &places), 64);
        let (algorithm, parameters) = named.expect("one serves");
        assert_eq!(algorithm.name, "hierarchical");
        assert!(
            parameters.starts_with("intra=shared-memory,inter="),
            "{parameters}"
        );
    }
}
