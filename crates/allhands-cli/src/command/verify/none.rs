//! Why there is nothing to prove.

use super::Arguments;
use crate::names;
use allhands_core::algorithm::Unsuitable;
use allhands_core::call::Call;
use anyhow::Context;

/// Names what is wrong with the torus, the nodes or the parameters, if that is why there is nothing to prove.
pub fn why(arguments: &Arguments) -> anyhow::Result<()> {
    if let (Some(collective), Some(text)) = (arguments.collective(), &arguments.algorithm) {
        let (algorithm, parameters) = names::algorithm(collective, text)?;
        for ranks in arguments.numbers_of_ranks() {
            let nodes = arguments.nodes.clone().unwrap_or_default();
            let shape = names::shape(algorithm, Call::new(collective, ranks), parameters)?;
            let shape = shape.on(nodes).on_torus(arguments.place());
            let why = algorithm.admits(&shape);
            if let Err(Unsuitable::NoTorus | Unsuitable::TorusOfNodes(_) | Unsuitable::OnePort(_)) =
                why
            {
                why.with_context(|| format!("{collective} {text}"))?;
            }
        }
    }
    if let Some(torus) = arguments.place() {
        anyhow::bail!(
            "none of these algorithms asks for a torus and serves {torus}; allhands list says which do"
        );
    }
    if let Some(nodes) = &arguments.nodes {
        let ranks = arguments.numbers_of_ranks();
        ranks.into_iter().try_for_each(|ranks| nodes.check(ranks))?;
    }
    Ok(())
}
