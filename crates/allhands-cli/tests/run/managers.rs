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

impl Manager {
    /// Starts ranks on hosts, each of which is entered by a command; the manager itself is in the first one.
    fn run(&self, enter: &str, own: &str, (hosts, ranks): (&str, u64)) -> Output {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("starter-{}-{next}", std::process::id());
        let starter = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let script = format!(
            "#!/bin/sh\nwhile [ \"${{1#-}}\" != \"$1\" ]; do shift; done\nhost=${{1#*@}}; shift\nexec {enter} ALLHANDS_HOST=$host sh -c \"$*\"\n"
        );
        std::fs::write(&starter, script).expect("a file");
        let all = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&starter, all).expect("it is ours");
        let enter = enter.replace("$host", "a");
        let mut words = enter.split(' ');
        let mut command = Command::new(words.next().expect("a command"));
        command.args(words).arg(&self.program);
        (self.by)(&mut command, &starter, own, hosts);
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
        let output = command.stdin(Stdio::null()).output().expect("it starts");
        let _ = std::fs::remove_file(&starter);
        output
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
        let enter = format!("ip netns exec {} env", hosts.space('a'));
        let enter = enter.replace("-a env", "-$host env");
        for world in [("a:1,b:1", 2, "1,1"), ("a:2,b:2,c:1", 5, "2,2,1")] {
            self.joins(&enter, &hosts.address('a', 0), world);
        }
    }
}

#[test]
fn mpiexec_starts_one_world_on_several_hosts() {
    if let Some(hydra) = hydra() {
        for world in [("a:1,b:1", 2, "1,1"), ("a:2,b:2,c:1", 5, "2,2,1")] {
            hydra.joins("env", "127.0.0.1", world);
        }
        // One host needs no network.
        hydra.joins("env", "127.0.0.1", ("a:3", 3, "one"));
        hydra.joins_hosts_with_networks_of_their_own();
    }
}
