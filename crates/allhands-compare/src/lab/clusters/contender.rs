//! The contenders: ours on each of our networks, and the peers in each of their settings.

use super::super::Lab;
use std::path::Path;
use std::process::Command;
use xtask::peers::{Installed, forget_settings};

/// What can carry our messages.
pub(super) const NETWORKS: [&str; 2] = ["tcp", "ofi"];

/// The provider that is tried over libfabric: there is none for TCP alone in every version that can be loaded.
const PROVIDER: &str = "tcp;ofi_rxm";

/// A peer in one setting.
#[derive(Debug, PartialEq)]
pub(super) struct Contender {
    /// The name that a user types.
    pub(super) name: &'static str,
    /// Of [`xtask::peers::PEERS`].
    pub(super) library: &'static str,
    /// MPICH's netmod.
    netmod: &'static str,
    /// Its algorithms, by the names of the variables or parameters that force them.
    forced: &'static [(&'static str, &'static str)],
}

/// All peers.
pub(super) const PEERS: [Contender; 5] = [
    Contender {
        name: "mpich-ucx",
        library: "mpich",
        netmod: "ucx",
        forced: &[],
    },
    Contender {
        name: "mpich-ofi",
        library: "mpich",
        netmod: "ofi",
        forced: &[],
    },
    Contender {
        name: "mpich-forced",
        library: "mpich",
        netmod: "ucx",
        forced: LONG_IN_MPICH,
    },
    Contender {
        name: "openmpi",
        library: "openmpi",
        netmod: "",
        forced: &[],
    },
    Contender {
        name: "openmpi-forced",
        library: "openmpi",
        netmod: "",
        forced: LONG_IN_OPENMPI,
    },
];

/// MPICH's algorithms for long vectors.
const LONG_IN_MPICH: &[(&str, &str)] = &[
    ("MPIR_CVAR_BCAST_INTRA_ALGORITHM", "scatter_ring_allgather"),
    ("MPIR_CVAR_ALLGATHER_INTRA_ALGORITHM", "ring"),
    ("MPIR_CVAR_ALLTOALL_INTRA_ALGORITHM", "scattered"),
    ("MPIR_CVAR_REDUCE_SCATTER_INTRA_ALGORITHM", "pairwise"),
    ("MPIR_CVAR_REDUCE_SCATTER_BLOCK_INTRA_ALGORITHM", "pairwise"),
    ("MPIR_CVAR_REDUCE_INTRA_ALGORITHM", "reduce_scatter_gather"),
    ("MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM", "ring"),
];

/// Open MPI's algorithms for long vectors.
const LONG_IN_OPENMPI: &[(&str, &str)] = &[
    ("coll_tuned_use_dynamic_rules", "1"),
    ("coll_tuned_bcast_algorithm", "scatter_allgather_ring"),
    ("coll_tuned_scatter_algorithm", "linear_nb"),
    ("coll_tuned_gather_algorithm", "linear_sync"),
    ("coll_tuned_allgather_algorithm", "ring"),
    ("coll_tuned_alltoall_algorithm", "pairwise"),
    ("coll_tuned_reduce_scatter_algorithm", "ring"),
    ("coll_tuned_reduce_scatter_block_algorithm", "butterfly"),
    ("coll_tuned_reduce_algorithm", "rabenseifner"),
    ("coll_tuned_allreduce_algorithm", "ring"),
    ("coll_tuned_scan_algorithm", "recursive_doubling"),
    ("coll_tuned_exscan_algorithm", "recursive_doubling"),
];

impl Contender {
    /// What starts so many ranks on each host; the arguments that the worker has behind its shim come behind.
    pub(super) fn command(
        &self,
        lab: &Lab<'_>,
        installed: &Installed,
        [worker, shim]: [&Path; 2],
        (each, rails): (u32, u32),
    ) -> Command {
        let ranks = (lab.hosts() * each).to_string();
        let (launcher, programs, word): (_, _, &[&str]) = match self.library {
            "mpich" => ("mpich", "MPICH_BIN", &["-genv"]),
            _ => ("ompi", "OMPI_BIN", &["--mca"]),
        };
        let mut command = lab.command(&[launcher]);
        forget_settings(&mut command);
        for (name, value) in self.forced {
            command.args(word).args([name, value]);
        }
        command
            .args(["-n", &ranks])
            .arg(worker)
            .arg("--mpi")
            .arg(shim)
            .env(programs, installed.program(""))
            .env("NETMOD", self.netmod)
            .env("HOSTS", places(lab.hosts(), "", each))
            .env("DEVS", devices(rails));
        command
    }
}

/// Our ranks in one setting.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ours<'a> {
    pub(super) network: &'a str,
    pub(super) rails: u32,
    /// How many are on a host.
    pub(super) each: u32,
    /// Who chooses algorithms, if that is not left to the library.
    pub(super) policy: Option<&'a str>,
}

/// What starts our ranks; the arguments that the worker has behind its policy come behind.
pub(super) fn ours(lab: &Lab<'_>, worker: &Path, ours: Ours<'_>) -> Command {
    let mut command = lab.command(&["run", "--network", ours.network, "--"]);
    forget_settings(&mut command);
    command
        .arg(worker)
        .env("LAB_ALLHANDS", worker.with_file_name("allhands"))
        .env("DEVS", devices(ours.rails))
        .env("HOSTS", places(lab.hosts(), "-r0", ours.each));
    if let Some(policy) = ours.policy {
        command.args(["--policy", policy]);
    }
    if ours.network == "ofi" {
        command.env("ALLHANDS_OFI_PROVIDER", PROVIDER);
    }
    command
}

/// All hosts by their names in a network, with so many ranks each.
fn places(hosts: u32, network: &str, each: u32) -> String {
    let places: Vec<String> = (1..=hosts)
        .map(|host| format!("h{host}{network}:{each}"))
        .collect();
    places.join(",")
}

/// The names of the first rails.
fn devices(rails: u32) -> String {
    let names: Vec<String> = (0..rails).map(|rail| format!("rail{rail}")).collect();
    names.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_have_names_of_their_own_and_rails_theirs() {
        let mut names: Vec<_> = PEERS.iter().map(|peer| peer.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), PEERS.len());
        let known = |peer: &Contender| xtask::peers::PEERS.iter().any(|p| p.name == peer.library);
        assert!(PEERS.iter().all(known));
        assert_eq!(devices(2), "rail0,rail1");
        assert_eq!(places(2, "-r0", 4), "h1-r0:4,h2-r0:4");
    }
}
