//! Nodes: who serves a call whose ranks are on several, and share memory only there.

use super::{Forecast, NetworkTimes, Policy, Table, choose};
use crate::error::Error;
use crate::transport::net::Places;
use allhands_core::algorithm::{self, Algorithm, Layers, Requirement};
use allhands_core::call::{Call, Collective};
use allhands_core::choose::{Facts, Question, Site};
use allhands_core::machine::Nodes;
use allhands_core::schedule::Shape;

/// The algorithm that a policy takes where ranks are on these nodes, and share memory in these places.
///
/// What the user fixed it stays. Otherwise, where some nodes have several ranks, it is `hierarchical`, with shared memory inside
/// nodes and what the policy would take for the leaders alone among them; where none has, or `hierarchical` does not serve the
/// call, what the policy takes for ranks that share nothing. A measured table is one of ranks that share memory: the rules
/// behind it decide, unless it has been measured over a network like this one, on such nodes. Policies that are of clusters say themselves what nodes do. Where it is said what the network's messages take, what
/// is then the fastest.
pub(crate) fn choose_on_nodes(
    policy: &Policy,
    question: &Question,
    (nodes, places): (&Nodes, &Places),
    forecast: Option<&Forecast>,
) -> Result<(&'static Algorithm, Shape), Error> {
    if let Policy::Fixed { .. } = policy {
        return choose(policy, question);
    }
    if let (Policy::Tuned(table), Some(forecast)) = (policy, forecast)
        && let Some(found) = measured(table, question, (nodes, places), &forecast.measured)
    {
        return Ok(found);
    }
    if let Some(found) = forecast.and_then(|forecast| forecast.choose(question, (nodes, places))) {
        return Ok(found);
    }
    let rules = match policy {
        Policy::Tuned(_) => &Policy::Mpich2005,
        rules => rules,
    };
    let question = &Question {
        apart: true,
        ..*question
    };
    if rules.knows_nodes(question.call.collective) {
        let (algorithm, shape) = choose(rules, question)?;
        if serves(algorithm, &shape.clone().on(nodes.clone()), places) {
            return Ok((algorithm, shape));
        }
    }
    let sizes = nodes.innermost(question.call.ranks);
    let layered = match sizes.iter().any(|size| *size > 1) && sizes.len() > 1 {
        true => hierarchical(rules, question, (nodes, places), &sizes),
        false => None,
    };
    layered.map_or_else(|| choose(rules, question), Ok)
}

/// What a table has of a network like this one, on such nodes, if it serves the call.
fn measured(
    table: &Table,
    question: &Question,
    (nodes, places): (&Nodes, &Places),
    times: &NetworkTimes,
) -> Option<(&'static Algorithm, Shape)> {
    let site = site("", nodes, times);
    let cell = table.find_at(&Facts::of(question), &site)?;
    cell.ranking.iter().find_map(|entry| {
        let algorithm = algorithm::find(question.call.collective, &entry.name)?;
        let shape = algorithm.shape(question.call, &entry.parameters).ok()?;
        let needs = |what| algorithm.requires.contains(&what);
        let exchanges = needs(Requirement::AllCounts) || needs(Requirement::PassingCounts);
        let is_served = serves(algorithm, &shape.clone().on(nodes.clone()), places);
        (is_served && !(question.irregular && exchanges)).then_some((algorithm, shape))
    })
}

/// Where ranks on these nodes are, whose messages take so long over a network of that name.
#[must_use]
pub fn site(transport: &str, nodes: &Nodes, times: &NetworkTimes) -> Site {
    let whole = |number: f64| number.clamp(0.0, 1e18).round() as u64;
    Site {
        transport: transport.to_string(),
        nodes: nodes.to_string(),
        latency_ns: whole(times.latency_ns),
        burst_overhead_ns: whole(times.burst_overhead_ns),
        byte_fs: whole(times.byte_ns * 1e6),
    }
}

/// What is made of others, if it serves the call.
fn hierarchical(
    rules: &Policy,
    question: &Question,
    (nodes, places): (&Nodes, &Places),
    sizes: &[u32],
) -> Option<(&'static Algorithm, Shape)> {
    let mut all = algorithm::of(question.call.collective);
    let (found, layers) = all.find_map(|found| Some((found, found.layers?)))?;
    // To tell all ranks the lengths would be a call of its own.
    let hidden = Facts::of(question).size.is_none();
    if hidden && found.requires.contains(&Requirement::AllCounts) {
        return None;
    }
    let mut parameters = "intra=shared-memory".to_string();
    if let Ok((chosen, _)) = choose(rules, &among_leaders(question, sizes))
        && layers.leaders.iter().any(|known| known.name == chosen.name)
    {
        parameters = format!("{parameters},{}={}", Layers::INTER, chosen.name);
    }
    let fixed = Policy::Fixed {
        name: found.name.to_string(),
        parameters,
    };
    let (algorithm, shape) = choose(&fixed, question).ok()?;
    serves(algorithm, &shape.clone().on(nodes.clone()), places).then_some((algorithm, shape))
}

/// Whether an algorithm serves a call whose ranks share memory only if they share a place, on any network: nothing is put to other nodes
/// that is not asked for by name.
pub(super) fn serves(algorithm: &Algorithm, shape: &Shape, places: &Places) -> bool {
    let apart = algorithm.admits_apart(shape, false, |nodes| places.contain(nodes));
    apart.is_ok() && algorithm.admits(shape).is_ok()
}

/// What the leaders do among themselves: a block of theirs is all blocks of their node.
fn among_leaders(question: &Question, sizes: &[u32]) -> Question {
    let largest = u64::from(sizes.iter().copied().max().unwrap_or(1));
    let blocks = match question.call.collective {
        Collective::Gather | Collective::Scatter | Collective::Allgather => largest,
        Collective::Alltoall => largest * largest,
        Collective::Barrier
        | Collective::Broadcast
        | Collective::ReduceScatter
        | Collective::Reduce
        | Collective::Allreduce
        | Collective::Scan
        | Collective::Exscan => 1,
    };
    Question {
        call: Call {
            ranks: sizes.len() as u32,
            root: 0,
            ..question.call
        },
        bytes: question.bytes * blocks,
        ..*question
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(collective: Collective, bytes: u64, nodes: &str) -> String {
        chosen_by(&Policy::shared_memory(), collective, bytes, nodes)
    }

    fn chosen_by(policy: &Policy, collective: Collective, bytes: u64, nodes: &str) -> String {
        let nodes: Nodes = nodes.parse().unwrap();
        let ranks = nodes.sizes(0).iter().sum();
        let question = Question::new(Call::new(collective, ranks), bytes);
        let places = Places::of(&nodes, ranks);
        let nodes = (&nodes, &places);
        let (algorithm, shape) = choose_on_nodes(policy, &question, nodes, None).unwrap();
        let inter = algorithm.named(&shape, "inter").unwrap_or("");
        format!("{} {inter}", algorithm.name)
    }

    #[test]
    fn leaders_do_what_ranks_apart_would() {
        let allreduce = |bytes, nodes| chosen(Collective::Allreduce, bytes, nodes);
        assert_eq!(allreduce(8, "4x2"), "hierarchical recursive-doubling");
        assert_eq!(allreduce(1 << 20, "4x2"), "hierarchical rabenseifner");
        assert_eq!(allreduce(8, "13x1"), "recursive-doubling ");
        assert_eq!(allreduce(1 << 20, "13x1"), "rabenseifner ");
        assert_eq!(chosen(Collective::Scan, 8, "3,2"), "recursive-doubling ");
        // A block of a leader is four times as long: T 4.1.3's cutoff for three ranks, 80 KB in all.
        let allgather = |bytes| chosen(Collective::Allgather, bytes, "4,2,4");
        assert_eq!(allgather(6 << 10), "hierarchical bruck");
        assert_eq!(allgather(8 << 10), "hierarchical ring");
    }

    #[test]
    fn policies_of_clusters_say_what_nodes_do() {
        let by = |policy: &Policy, nodes| {
            let allgather = |bytes| chosen_by(policy, Collective::Allgather, bytes, nodes);
            [64, 4 << 10, 64 << 10].map(allgather)
        };
        let of_qsnet = ["smp-gather-broadcast direct", "smp-bruck ", "direct "];
        assert_eq!(by(&Policy::Qsnet, "4x4"), of_qsnet);
        assert_eq!(by(&Policy::Qsnet, "13x1"), of_qsnet);
        let of_elan = [
            "smp-gather-broadcast binomial",
            "smp-gather-broadcast binomial",
            "ring ",
        ];
        assert_eq!(by(&Policy::Elan, "4,2,4"), of_elan);
        let broadcast = chosen_by(&Policy::Qsnet, Collective::Broadcast, 8, "4x4");
        assert_eq!(broadcast, "hierarchical binomial");
    }

    #[test]
    fn nobody_is_told_the_lengths_of_others() {
        let nodes: Nodes = "2,3".parse().unwrap();
        let places = Places::of(&nodes, 5);
        for collective in [
            Collective::Gather,
            Collective::Scatter,
            Collective::Alltoall,
        ] {
            let question = Question {
                irregular: true,
                ..Question::new(Call::new(collective, 5), 0)
            };
            let nodes = (&nodes, &places);
            let (algorithm, _) =
                choose_on_nodes(&Policy::shared_memory(), &question, nodes, None).unwrap();
            let asks = algorithm.requires.contains(&Requirement::AllCounts);
            assert!(!asks, "{}", algorithm.name);
        }
    }
}
