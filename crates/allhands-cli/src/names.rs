//! Names that the user types: collectives and algorithms, with the nearest ones when there is no such name.

use allhands_core::algorithm::{self, Algorithm};
use allhands_core::call::{Call, Collective};
use allhands_core::schedule::Shape;
use anyhow::{Context, anyhow};

/// Reads the name of a collective.
pub fn collective(name: &str) -> Result<Collective, String> {
    Collective::from_name(name).ok_or_else(|| {
        let all = Collective::ALL.map(Collective::name);
        format!("there is no collective '{name}'; {}", suggest(name, &all))
    })
}

/// Reads `NAME` or `NAME:key=value,…` for a collective: the algorithm and the text of its parameters.
pub fn algorithm(collective: Collective, text: &str) -> anyhow::Result<(&'static Algorithm, &str)> {
    let (name, parameters) = text.split_once(':').unwrap_or((text, ""));
    let found = algorithm::find(collective, name).ok_or_else(|| {
        let all: Vec<&str> = algorithm::of(collective).map(|a| a.name).collect();
        anyhow!(
            "there is no {collective} algorithm '{name}'; {}",
            suggest(name, &all)
        )
    })?;
    Ok((found, parameters))
}

/// The shape of a call with parameters that the user typed.
pub fn shape(algorithm: &Algorithm, call: Call, parameters: &str) -> anyhow::Result<Shape> {
    algorithm
        .shape(call, parameters)
        .with_context(|| format!("{} {}", algorithm.collective, algorithm.name))
}

/// The names nearest to what was typed, in words.
fn suggest(typed: &str, known: &[&str]) -> String {
    let mut near: Vec<(f64, &str)> = known
        .iter()
        .map(|name| (strsim::jaro_winkler(typed, name), *name))
        .filter(|n| n.0 > 0.75)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    if near.is_empty() {
        return format!("there are {}", known.join(", "));
    }
    // Only what is about as near as the nearest.
    let best = near[0].0;
    near.retain(|n| n.0 > best - 0.1);
    let names: Vec<&str> = near.iter().take(3).map(|n| n.1).collect();
    format!("did you mean {}?", names.join(" or "))
}

/// An algorithm as it is typed: with its parameters, if it has any.
#[must_use]
pub fn typed(name: &str, parameters: &str) -> String {
    match parameters {
        "" => name.to_string(),
        parameters => format!("{name}:{parameters}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_suggested() {
        assert_eq!(
            collective("allredcue").unwrap_err(),
            "there is no collective 'allredcue'; did you mean allreduce?"
        );
        assert!(
            collective("x")
                .unwrap_err()
                .contains("there are barrier, broadcast")
        );
        let error = algorithm(Collective::Allreduce, "recursive-dubbling")
            .unwrap_err()
            .to_string();
        assert!(error.contains("did you mean recursive-doubling"), "{error}");
    }
}
