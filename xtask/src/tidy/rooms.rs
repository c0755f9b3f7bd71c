//! The rule of rooms: inside a crate no room imports one that stands further down in its order, so no two import each other.

use super::imports::{Import, imports, module_path};
use super::{Finding, SourceFile, Tree};

/// The rooms of a crate in their order: each may know those above it.
struct Order {
    folder: &'static str,
    rooms: &'static [&'static str],
    /// Modules that show names of these rooms to users, and what of it the rooms themselves may take from there.
    gates: &'static [(&'static str, &'static [&'static str])],
}

const ORDERS: &[Order] = &[CORE, LIBRARY, DROP_IN];

/// From what an algorithm is written in to the registry, which finds it; what several share comes before who shares it.
const CORE: Order = Order {
    folder: "crates/allhands-core/src/",
    rooms: &[
        "call",
        "machine",
        "parameters",
        "pattern",
        "schedule",
        "algorithm/claims",
        "algorithm/key",
        "algorithm/requirement",
        "algorithm/registration",
        "algorithm/phase/view",
        "algorithm/phase/tree",
        "algorithm/phase/fold",
        "algorithm/phase/halving",
        "algorithm/phase/division",
        "algorithm/phase/alltoall",
        "algorithm/phase/shared_memory",
        "algorithm/phase/gather",
        "algorithm/phase/allgather",
        "algorithm/phase/reduce_scatter",
        "algorithm/phase/allreduce",
        "algorithm/phase/broadcast",
        "algorithm/phase/reduce",
        "algorithm/phase/barrier",
        "algorithm/phase/torus/grid",
        "algorithm/phase/torus/lines",
        "algorithm/phase/torus/prefix",
        "algorithm/phase/torus/streams",
        "algorithm/phase/torus/reduce",
        "algorithm/phase/torus/allreduce",
        "algorithm/phase/torus/cost",
        "algorithm/phase/torus/routes",
        "algorithm/compose",
        "algorithm/barrier",
        "algorithm/broadcast",
        "algorithm/scatter",
        "algorithm/gather",
        "algorithm/reduce",
        "algorithm/allgather",
        "algorithm/alltoall",
        "algorithm/reduce_scatter",
        "algorithm/allreduce",
        "algorithm/scan",
        "algorithm/exscan",
        "algorithm/microbenchmark",
        "algorithm/registry",
        "algorithm/plans",
    ],
    gates: &[(
        "algorithm",
        &[
            "Algorithm",
            "BASE",
            "Claims",
            "InPlace",
            "Key",
            "Layer",
            "Layers",
            "ParameterError",
            "Requirement",
            "Sharing",
            "Unsuitable",
            "Values",
            "any_order",
            "block_per_rank",
            "keeps_order",
            "parse_parameters",
            "print_parameters",
        ],
    )],
};

const LIBRARY: Order = Order {
    folder: "crates/allhands/src/",
    rooms: &[
        "transport/shm/tuning",
        "transport/shm/memory",
        "transport/shm/wait",
        "transport/shm/failure",
        "transport/shm/rendezvous",
        "transport/shm/queue",
        "transport/shm/protocol",
        "transport/shm/segment",
        "transport/net/tcp/protocol/memory",
        "transport/net/tcp/protocol/frame",
        "transport/net/tcp/protocol/settings",
        "transport/net/tcp/protocol/handshake",
        "transport/net/tcp/protocol/rate",
        "transport/net/tcp/protocol/stripe",
        "transport/net/tcp/protocol/buffers",
        "transport/net/tcp/protocol/slots",
        "transport/net/tcp/protocol/matching",
        "transport/net/tcp/protocol/windows",
        "transport/net/tcp/protocol/frames",
        "transport/net/tcp/protocol/connection",
        "transport/net/tcp/protocol/peer",
        "transport/net/tcp/protocol/rank",
        "transport/net",
        "transport/endpoint/nodes",
        "transport/endpoint/message",
        "transport/endpoint/plan",
        "transport/endpoint/state",
        "transport/endpoint/failure",
        "transport/endpoint/exchange",
        "transport/endpoint/engine",
        "transport/endpoint/fast_path",
        "transport/endpoint/progress",
        "transport/endpoint/point_to_point",
        "prepared",
        "communicator",
    ],
    gates: &[(
        "transport",
        &[
            "AlignedBytes",
            "Combine",
            "CombineFn",
            "Signature",
            "TransportError",
            "Waits",
        ],
    )],
};

const DROP_IN: Order = Order {
    folder: "crates/allhands-mpi/src/",
    rooms: &[
        "abi",
        "native",
        "context",
        "report",
        "datatype",
        "buffer",
        "collective",
        "network",
        "dispatch/agreement",
        "dispatch/call_cache",
        "dispatch/communicator",
        "dispatch/takeover",
        "dispatch/nonblocking",
        "dispatch/lifetime",
        "entry",
    ],
    gates: &[],
};

/// Finds paths from a room to one that stands further down; tests may look anywhere.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let files = || tree.rust();
    ORDERS
        .iter()
        .flat_map(|order| files().flat_map(|file| check_file(file, order)))
        .collect()
}

fn check_file(file: SourceFile<'_>, order: &Order) -> Vec<Finding> {
    let Some(module) = module_path(order.folder, file.path) else {
        return Vec::new();
    };
    let Some(own) = order.room(&module) else {
        return Vec::new();
    };
    let wrong = |import: &Import| {
        if let Some(other) = order.room(&import.path).filter(|other| *other > own) {
            return Some(format!(
                "`{}` imports `{}`, which stands further down",
                order.rooms[own], order.rooms[other]
            ));
        }
        if let Some(other) = order.within(&import.path).filter(|other| *other > own) {
            return Some(format!(
                "`{}` imports `{}`, in which `{}` stands further down",
                order.rooms[own],
                import.path.join("/"),
                order.rooms[other]
            ));
        }
        let gate = order.gate(&import.path, own)?;
        Some(format!("`{}` goes by way of `{gate}`", order.rooms[own]))
    };
    let finding = |import: Import| {
        Some(Finding {
            file: file.path.to_owned(),
            line: import.line,
            rule: "rooms",
            what: wrong(&import)?,
            right: format!(
                "a path to a room above it, of {}: what both need stands in the upper one, or is handed in as an argument",
                order.rooms.join(", ")
            ),
        })
    };
    imports(file.text, &module)
        .into_iter()
        .filter_map(finding)
        .collect()
}

impl Order {
    /// The room that a path leads to.
    fn room(&self, path: &[String]) -> Option<usize> {
        self.rooms.iter().position(|room| leads_to(path, room))
    }

    /// The last room inside of what a path ends at: who imports that can name all of them.
    fn within(&self, path: &[String]) -> Option<usize> {
        let inside = |room: &&str| {
            let mut parts = room.split('/');
            !path.is_empty() && path.iter().all(|name| parts.next() == Some(name))
        };
        self.rooms.iter().rposition(inside)
    }

    /// The gate through which a room below it takes a name that it shall take from where that is.
    fn gate(&self, path: &[String], own: usize) -> Option<&'static str> {
        let mut gates = self.gates.iter();
        let (gate, _) = gates.find(|(gate, names)| {
            let behind = path.get(gate.split('/').count());
            let is_shown =
                |name: &String| names.contains(&name.as_str()) || self.is_module(gate, name);
            leads_to(path, gate)
                && self.rooms[own].starts_with(gate)
                && !behind.is_some_and(is_shown)
        })?;
        Some(gate)
    }

    /// Whether rooms are inside of this module of a gate, or it is one.
    fn is_module(&self, gate: &str, name: &str) -> bool {
        let mut inside = self.rooms.iter().filter_map(|room| room.strip_prefix(gate));
        inside.any(|room| room.split('/').nth(1) == Some(name))
    }
}

fn leads_to(path: &[String], room: &str) -> bool {
    let mut names = path.iter();
    room.split('/')
        .all(|part| names.next().is_some_and(|name| name == part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whats_in(path: &str, text: &str) -> Vec<String> {
        let findings = check(&Tree::of(&[(path, text)]));
        findings.into_iter().map(|finding| finding.what).collect()
    }

    fn whats(path: &str, text: &str) -> Vec<String> {
        whats_in(&format!("crates/allhands/src/transport/{path}"), text)
    }

    #[test]
    fn every_spelling_of_a_path_down_is_found() {
        let all = "`transport/shm/queue` imports `transport/endpoint`, in which `transport/endpoint/point_to_point` stands further down";
        let one =
            "`transport/shm/queue` imports `transport/endpoint/state`, which stands further down";
        for (text, down) in [
            ("use crate::transport::endpoint::state::Port;", one),
            ("use crate::transport::{endpoint, net};", all),
            (
                "use crate::{error::Error, transport::{Combine, endpoint::{self as e}}};",
                all,
            ),
            ("use super::super::super::endpoint;", all),
            (
                "fn f(port: &crate::transport::endpoint::state::Port) {}",
                one,
            ),
            (
                "mod inner { use super::super::super::super::endpoint::state; }",
                one,
            ),
        ] {
            let found = whats("shm/queue/ring.rs", text);
            assert_eq!(found[..1], [down], "{text}");
        }
        let net = whats("shm/queue/mod.rs", "use crate::transport::net::Network;");
        assert_eq!(net.len(), 1);
    }

    #[test]
    fn paths_up_and_tests_are_free() {
        for text in [
            "use crate::transport::shm::memory::{arena, copy};",
            "use super::buffers::Pipelined;",
            "use crate::transport::{AlignedBytes, Combine};",
            "use crate::kernel::Kernel;",
            "fn f(&self) { self.endpoint(); }",
            "pub(in crate::transport) fn f() {}",
            "/// See [`crate::transport::endpoint`].\nfn f() {}",
            "#[cfg(all(test, not(loom)))]\nmod tests { use crate::transport::endpoint::state::Port; }",
        ] {
            assert_eq!(whats("shm/queue/ring.rs", text), [""; 0], "{text}");
        }
        let up = "use crate::transport::shm::segment::window::WindowSet;";
        assert_eq!(whats("endpoint/state/request.rs", up), [""; 0]);
        assert_eq!(
            whats("shm/queue/tests.rs", "use crate::transport::endpoint;"),
            [""; 0]
        );
    }

    #[test]
    fn the_rooms_of_the_endpoint_have_an_order_too() {
        let engine = "use crate::transport::endpoint::engine::node::NodeEngine;";
        assert_eq!(
            whats("endpoint/state/request.rs", engine),
            [
                "`transport/endpoint/state` imports `transport/endpoint/engine`, which stands further down"
            ]
        );
        assert_eq!(whats("endpoint/progress/call.rs", engine), [""; 0]);
    }

    #[test]
    fn an_algorithm_does_not_ask_the_registry_nor_a_phase_an_algorithm() {
        let core = |path: &str, text: &str| {
            let path = format!("crates/allhands-core/src/{path}");
            check(&Tree::of(&[(&path, text)])).len()
        };
        let composed = "algorithm/compose/mod.rs";
        for text in [
            "use crate::algorithm;",
            "use crate::algorithm::{self, Algorithm};",
            "use crate::algorithm::find;",
            "use super::registry::find;",
            "fn f() { crate::algorithm::find(c, n); }",
            "use crate::algorithm::allreduce::ring;",
        ] {
            assert_eq!(core(composed, text), 1, "{text}");
        }
        assert_eq!(
            core(
                "algorithm/phase/fold.rs",
                "use crate::algorithm::reduce::ring;"
            ),
            1
        );
        assert_eq!(
            core(
                "algorithm/gather/direct.rs",
                "use crate::algorithm::allgather::ring;"
            ),
            1
        );
        let up = "use crate::algorithm::{Claims, phase::tree};\nuse super::BASE;";
        assert_eq!(core("algorithm/allreduce/ring.rs", up), 0);
    }

    #[test]
    fn the_gate_is_no_way_round() {
        let found = whats(
            "shm/queue/ring.rs",
            "use crate::transport::{Port, Combine};",
        );
        assert_eq!(found, ["`transport/shm/queue` goes by way of `transport`"]);
    }

    #[test]
    fn each_crate_has_an_order_of_its_own() {
        let drop_in = |path: &str, text| whats_in(&format!("crates/allhands-mpi/src/{path}"), text);
        let here = "use crate::collective::here::Here;";
        assert_eq!(
            drop_in("buffer/part.rs", here),
            ["`buffer` imports `collective`, which stands further down"]
        );
        assert_eq!(drop_in("dispatch/takeover.rs", here), [""; 0]);
        let takeover = "use super::takeover::Next;";
        assert_eq!(
            drop_in("dispatch/call_cache.rs", takeover),
            ["`dispatch/call_cache` imports `dispatch/takeover`, which stands further down"]
        );
        assert_eq!(drop_in("dispatch/lifetime.rs", takeover), [""; 0]);
        assert_eq!(
            drop_in(
                "network/world.rs",
                "use crate::dispatch::{self, agreement::node::Node};"
            ),
            [
                "`network` imports `dispatch`, in which `dispatch/lifetime` stands further down",
                "`network` imports `dispatch/agreement`, which stands further down"
            ]
        );
        // What has this name in another crate is another's.
        assert_eq!(
            drop_in("buffer/part.rs", "use allhands::communicator;"),
            [""; 0]
        );
    }
}
