//! Process managers of MPIs, which start ranks that know no MPI, on hosts that are pretended and on hosts with networks of their own.

use crate::netns::Hosts;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// A process manager, where it is, and how it is told what starts a program on a host.
struct Manager {
    program: PathBuf,
    by: fn(&mut Command, starter: &Path, own: &str, hosts: &str),
}

/// MPICH's `mpiexec`, which speaks PMI-1.
fn hydra() -> Option<Manager> {
    let by = |command: &mut Command, starter: &Path, own: &str, hosts: &str| {
        command.args(["-launcher", "ssh", "-launcher-exec"]);
        command.arg(starter);
        command.args(["-localhost", own, "-hosts", hosts]);
    };
    let program = find("mpich", &["mpiexec.hydra", "mpiexec.mpich"])?;
    Some(Manager { program, by })
}

/// Open MPI's `prterun`, which speaks PMIx.
fn prte() -> Option<Manager> {
    let by = |command: &mut Command, starter: &Path, _: &str, hosts: &str| {
        command.args(["--prtemca", "plm_ssh_agent"]).arg(starter);
        command.args(["--prtemca", "plm_ssh_no_tree_spawn", "1"]);
        command.args(["--prtemca", "prte_if_include", "eth0"]);
        command.args(["--allow-run-as-root", "--bind-to", "none", "--host", hosts]);
    };
    let program = find("openmpi", &["prterun"])?;
    Some(Manager { program, by })
}

/// Where MPIs are that were fetched for comparisons.
fn peers() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers")
}

/// A program of an MPI that was fetched for comparisons, or is installed; none, which is said.
fn find(peer: &str, names: &[&str]) -> Option<PathBuf> {
    let fetched = ["bin", "local/bin"].map(|folder| peers().join(peer).join(folder));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = fetched.into_iter().chain(std::env::split_paths(&path));
    let found = folders.find_map(|folder| {
        let mut programs = names.iter().map(|name| folder.join(name));
        programs.find(|program| program.exists())
    });
    if found.is_none() {
        let names = names.join(" or ");
        eprintln!("SKIPPED: no {names} here, which cargo xtask compare fetches");
    }
    found
}

/// A file with a shell's words, for as long as it is needed.
struct Script(PathBuf);

impl Script {
    fn new(words: &str) -> Script {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("script-{}-{next}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{words}\n")).expect("a file");
        let all = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&path, all).expect("it is ours");
        Script(path)
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Manager {
    /// Starts ranks on hosts, each of which is entered by this shell's words; the manager itself is in the first one.
    fn run(&self, enter: &str, own: &str, (hosts, ranks): (&str, u64)) -> Output {
        let enter = Script::new(&format!("host=$1; shift\nexec {enter} \"$@\""));
        // As ssh is called: options, a host, a command. Some managers hand their own variables to all ranks, so this one has no host's name.
        let starter = Script::new(&format!(
            "while [ \"${{1#-}}\" != \"$1\" ]; do shift; done\nhost=${{1#*@}}; shift\nexec {} $host env ALLHANDS_HOST=$host sh -c \"$*\"",
            enter.0.display()
        ));
        let mut command = Command::new(&enter.0);
        command.arg("a").arg(&self.program);
        (self.by)(&mut command, &starter.0, own, hosts);
        command.args(["-n", &ranks.to_string()]);
        command.arg(std::env::current_exe().expect("this program has a path"));
        command.args(["hosts::as_a_rank_on_a_host", "--exact", "--nocapture"]);
        command.env("ALLHANDS_TEST_PART", "live");
        // Else an administrator's shell may say that it is within somebody else's world.
        let ours = |name: &str| {
            let prefixes = ["PMI_", "PMIX_", "HYDRA_", "OMPI_", "PRTE_"];
            prefixes.iter().any(|prefix| name.starts_with(prefix))
        };
        for (name, _) in std::env::vars().filter(|(name, _)| ours(name)) {
            command.env_remove(name);
        }
        // What was fetched is not where it was built for.
        let prefix = self.program.parent().and_then(Path::parent);
        if let Some(prefix) = prefix.filter(|prefix| prefix.starts_with(peers())) {
            let folders = ["lib", "lib/openmpi"].map(|folder| prefix.join(folder));
            let folders = std::env::join_paths(folders).expect("they hold no colons");
            command.env("LD_LIBRARY_PATH", folders);
            for name in ["OPAL_PREFIX", "PRTE_PREFIX", "PMIX_PREFIX"] {
                command.env(name, prefix);
            }
        }
        command.stdin(Stdio::null()).output().expect("it starts")
    }

    /// That ranks on these hosts are one world.
    fn joins(&self, enter: &str, own: &str, (hosts, ranks, nodes): (&str, u64, &str)) {
        let output = self.run(enter, own, (hosts, ranks));
        let out = String::from_utf8_lossy(&output.stdout);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{hosts}: {said}{out}");
        let line = format!("total {} on {nodes}", ranks * (ranks + 1) / 2);
        let found = out.matches(&line).count() as u64;
        assert_eq!(found, ranks, "{hosts}: {said}{out}");
    }

    fn joins_hosts_with_networks_of_their_own(&self) {
        let Some(hosts) = Hosts::new(3, 1) else {
            return;
        };
        let space = hosts.space('a');
        let spaces = space.trim_end_matches('a');
        // Some managers tell hosts apart by the names that these give themselves.
        let enter = format!(
            "ip netns exec {spaces}$host unshare --uts sh -c 'hostname $0; exec \"$@\"' $host"
        );
        for world in [("a:1,b:1", 2, "1,1"), ("a:2,b:2,c:1", 5, "2,2,1")] {
            self.joins(&enter, &hosts.address('a', 0), world);
        }
    }
}

#[test]
fn mpiexec_starts_one_world_on_several_hosts() {
    if let Some(hydra) = hydra() {
        for world in [("a:1,b:1", 2, "1,1"), ("a:2,b:2,c:1", 5, "2,2,1")] {
            hydra.joins("", "127.0.0.1", world);
        }
        // One host needs no network.
        hydra.joins("", "127.0.0.1", ("a:3", 3, "one"));
        hydra.joins_hosts_with_networks_of_their_own();
    }
}

#[test]
fn prterun_starts_one_world_on_several_hosts() {
    if let Some(prte) = prte() {
        prte.joins_hosts_with_networks_of_their_own();
    }
}
