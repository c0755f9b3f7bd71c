//! Composition: an algorithm made of others, a collective on the ranks of every node, or on the nodes' leaders, phase by phase.
//!
//! What runs inside a phase is another algorithm's own schedule for the group, built as for a call of its own and inlined. Which
//! algorithms these may be, the composed one's file lists, and its keys `intra` and `inter` say which of them it is; this room knows no
//! algorithm by name and asks no registry. Where nodes are inside groups of nodes, `intra` is the same
//! collective again, hierarchical on the group.
//!
//! A node may have several leaders, each for a share of the data; the shares go through the phases side by side:
//!
//! ```text
//! allreduce on 2 nodes of 4, 2 leaders      first half   1 2 3 ─▶ 0   5 6 7 ─▶ 4      0 ⇄ 4      0 ─▶ 1 2 3   4 ─▶ 5 6 7
//!                                           second half  0 1 3 ─▶ 2   4 5 7 ─▶ 6      2 ⇄ 6      2 ─▶ 0 1 3   6 ─▶ 4 5 7
//! ```

mod among;
mod blocks;
mod group;
mod phases;
mod shares;
mod vectors;
mod whole;

pub use blocks::block_phase;
pub use group::{Data, phase};
pub use phases::{INTRA, Inside, PORTS, Phase, among_leaders, names, sharing};
pub use shares::each_share;
pub use vectors::{vector_phase, vector_phases};
pub use whole::{claims, keep_order, parts};

#[cfg(test)]
mod tests {
    use crate::algorithm::{self, Algorithm, Key, Unsuitable, Values};
    use crate::call::Call;
    use crate::machine::Nodes;
    use crate::verify;
    use alloc::format;

    /// Every pair of algorithms that the keys name, on nodes of all kinds, with one leader a node and with several.
    #[test]
    fn whatever_the_keys_name_is_right() {
        for whole in algorithm::all().filter(|a| a.layers.is_some()) {
            let names = |at: usize| match whole.keys[at].values {
                Values::Names(names) => names,
                Values::Range { .. } | Values::ZeroOr { .. } => &[],
            };
            let several = whole.has_key(Key::LEADERS.name);
            let leaders = if several { &[1, 2, 3][..] } else { &[1] };
            for (intra, inter) in names(0)
                .iter()
                .flat_map(|a| names(1).iter().map(move |b| (a, b)))
            {
                let several = |leaders: &u32| match *leaders {
                    1 => format!("intra={intra},inter={inter}"),
                    several => format!("intra={intra},inter={inter},leaders={several}"),
                };
                for parameters in leaders.iter().map(several) {
                    for ranks in [1, 5, 12] {
                        on_all_nodes(whole, ranks, &parameters);
                    }
                }
            }
        }
    }

    fn on_all_nodes(whole: &'static Algorithm, ranks: u32, parameters: &str) {
        let rooted = whole.collective.rooted();
        let call = Call {
            root: if rooted { ranks / 3 } else { 0 },
            ..Call::new(whole.collective, ranks)
        };
        let shape = whole.shape(call, parameters).expect("the keys name them");
        for nodes in Nodes::samples(ranks) {
            let on_nodes = shape.clone().on(nodes.clone());
            let found = whole.among_leaders(&on_nodes);
            let (leaders, of_leaders) = found.expect("it has layers, and the nodes are its own");
            for torus in leaders.tori(of_leaders.ranks()) {
                let placed = on_nodes.clone().on_torus(torus);
                if matches!(whole.admits(&placed), Err(Unsuitable::NotPowerOfTwo { .. })) {
                    continue;
                }
                let proved = verify::verify(whole, &placed);
                let proved = proved.map_err(|f| format!("{f}, on {torus:?}"));
                proved.unwrap_or_else(|f| panic!("{whole:?}:{parameters} on {nodes}: {f}"));
            }
        }
    }
}
