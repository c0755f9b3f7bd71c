//! The MPIs that are tested: where each comes from, how programs are compiled for it and started by it.

use crate::needs::{self, Need};
use crate::peers::{Installed, Missing};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An MPI that is tested.
#[derive(Debug)]
pub(super) struct Kind {
    /// The name that a user types.
    pub(super) name: &'static str,
    origin: Origin,
    /// The peer whose compilers are used, if that is another one.
    builder: Option<&'static str>,
    /// The compilers of C and Fortran.
    c: &'static str,
    fortran: Option<&'static str>,
    /// Which ways to see MPI its Fortran has.
    flavours: &'static [Flavour],
    /// Whether mpi4py's suite is run.
    pub(super) has_python: bool,
    /// How its name for itself begins.
    pub(super) makes: &'static str,
    /// Whether it has persistent collectives.
    pub(super) has_persistent: bool,
    /// Whether it calls us where it makes progress.
    pub(super) has_hook: bool,
    /// Whether it starts processes here: Open MPI's launcher does not come back from it, and others want a network for it.
    pub(super) can_spawn: bool,
}

#[derive(Debug)]
enum Origin {
    /// One of the peers that are compared with, from pip.
    Peer(&'static str),
    /// Debian's packages, with a launcher and its arguments.
    Debian(&'static [Need], &'static str, &'static [&'static str]),
}

/// A way in which Fortran sees MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flavour {
    Header,
    Module,
    F08,
}

impl Flavour {
    /// The name in print.
    pub(super) fn name(self) -> &'static str {
        match self {
            Flavour::Header => "mpif.h",
            Flavour::Module => "use mpi",
            Flavour::F08 => "use mpi_f08",
        }
    }

    /// What the test programs want to have defined.
    fn definition(self) -> &'static str {
        match self {
            Flavour::Header => "-DHEADER",
            Flavour::Module => "-DMODULE",
            Flavour::F08 => "-DF08",
        }
    }
}

const ALL: &[Flavour] = &[Flavour::Header, Flavour::Module, Flavour::F08];

/// Every MPI that is tested.
pub(super) static KINDS: [Kind; 7] = [
    Kind {
        name: "mpich",
        origin: Origin::Peer("mpich"),
        builder: None,
        c: "mpicc",
        fortran: None,
        flavours: &[],
        has_python: true,
        makes: "MPICH",
        has_persistent: true,
        has_hook: true,
        can_spawn: true,
    },
    Kind {
        name: "openmpi",
        origin: Origin::Peer("openmpi"),
        builder: None,
        c: "mpicc",
        fortran: None,
        flavours: &[],
        has_python: true,
        makes: "Open MPI",
        has_persistent: true,
        has_hook: true,
        can_spawn: false,
    },
    Kind {
        name: "intel",
        origin: Origin::Peer("intel"),
        builder: None,
        c: "mpicc",
        fortran: Some("mpif90"),
        // Its module mpi_f08 is for other compilers.
        flavours: &[Flavour::Header, Flavour::Module],
        has_python: true,
        makes: "Intel(R) MPI",
        has_persistent: true,
        has_hook: false,
        can_spawn: false,
    },
    Kind {
        // The standard ABI's library comes with MPICH.
        name: "standard",
        origin: Origin::Peer("mpich"),
        builder: None,
        c: "mpicc_abi",
        fortran: None,
        flavours: &[],
        has_python: false,
        makes: "MPICH",
        has_persistent: true,
        has_hook: false,
        can_spawn: true,
    },
    Kind {
        name: "intel-standard",
        origin: Origin::Peer("intel"),
        builder: Some("mpich"),
        c: "mpicc_abi",
        fortran: None,
        flavours: &[],
        has_python: false,
        makes: "Intel(R) MPI",
        has_persistent: true,
        has_hook: false,
        can_spawn: false,
    },
    Kind {
        name: "debian-mpich",
        origin: Origin::Debian(
            &[need("mpicc.mpich", &["mpich", "libmpich-dev"])],
            "mpiexec.mpich",
            &[],
        ),
        builder: None,
        c: "mpicc.mpich",
        fortran: Some("mpif90.mpich"),
        flavours: ALL,
        has_python: false,
        makes: "MPICH",
        has_persistent: true,
        has_hook: false,
        can_spawn: false,
    },
    Kind {
        name: "debian-openmpi",
        origin: Origin::Debian(
            &[need("mpicc.openmpi", &["openmpi-bin", "libopenmpi-dev"])],
            "mpiexec.openmpi",
            &["--allow-run-as-root", "--oversubscribe"],
        ),
        builder: None,
        c: "mpicc.openmpi",
        fortran: Some("mpif90.openmpi"),
        flavours: ALL,
        has_python: false,
        makes: "Open MPI",
        has_persistent: false,
        has_hook: true,
        can_spawn: false,
    },
];

/// What compiles an MPI's programs in Fortran: no MPI brings it.
const FORTRAN: &[Need] = &[need("gfortran", &["gfortran"])];

/// What compiles programs of C++ beside an MPI's compiler of C.
const PLUS_PLUS: &[Need] = &[need("g++", &["g++"])];

const fn need(program: &'static str, debian_packages: &'static [&'static str]) -> Need {
    Need {
        program,
        debian_packages,
        without_it: "the drop-in's programs are not run under that MPI",
    }
}

/// An MPI that is there.
pub(super) struct Mpi {
    pub(super) kind: &'static Kind,
    /// What pip installed, if it did.
    installed: Option<Installed>,
    /// Whose compilers are used, if they are others.
    builder: Option<Installed>,
    /// The commands that have compiled something, none of which needs to run twice.
    compiled: RefCell<BTreeSet<String>>,
}

impl Mpi {
    /// Makes sure that an MPI is there: from pip below `folder`, or from Debian.
    pub(super) fn ready(kind: &'static Kind, folder: &Path) -> Result<Mpi, Missing> {
        debian(kind.name, PLUS_PLUS)?;
        if kind.fortran.is_some() {
            debian(kind.name, FORTRAN)?;
        }
        let installed = match kind.origin {
            Origin::Peer(name) => Some(Installed::fetched(name, folder)?),
            Origin::Debian(needs, ..) => {
                debian(kind.name, needs)?;
                None
            }
        };
        let builder = kind.builder.map(|name| Installed::fetched(name, folder));
        Ok(Mpi {
            kind,
            installed,
            builder: builder.transpose()?,
            compiled: RefCell::default(),
        })
    }

    /// A compiler of this MPI's.
    fn compiler(&self, program: &str) -> Command {
        match self.builder.as_ref().or(self.installed.as_ref()) {
            Some(installed) => installed.command(program),
            None => Command::new(program),
        }
    }

    /// The launcher of `ranks` ranks; the program and its arguments come behind.
    pub(super) fn launcher(&self, ranks: usize) -> Command {
        match (&self.kind.origin, &self.installed) {
            (Origin::Debian(_, launcher, arguments), _) => {
                let mut command = Command::new(launcher);
                command.args(*arguments).args(["-n", &ranks.to_string()]);
                command
            }
            (_, Some(installed)) => installed.launcher(ranks),
            // Every other origin is installed.
            (Origin::Peer(name), None) => Command::new(name),
        }
    }

    /// The folder in which the linker does not look for libraries by itself.
    pub(super) fn libraries(&self) -> Option<PathBuf> {
        self.installed.as_ref().map(Installed::libraries)
    }

    /// Compiles a program of C or C++.
    pub(super) fn compile(
        &self,
        source: &Path,
        program: &Path,
        options: &[&str],
    ) -> Result<(), Missing> {
        let mut command = self.compiler(self.kind.c);
        let is_c = source.extension().is_some_and(|extension| extension == "c");
        let (standard, library) = match is_c {
            true => ("-std=c11", None),
            false => ("-std=c++17", Some("-lstdc++")),
        };
        command.args(["-O2", standard, "-Wall", "-Wextra", "-o"]);
        command.args([program, source]).args(options).args(library);
        self.complete(self.kind.c, command)
    }

    /// Compiles a Fortran program for every way to see MPI that there is; gives the programs.
    pub(super) fn compile_fortran(
        &self,
        source: &Path,
        program: &Path,
    ) -> Result<Vec<(Flavour, PathBuf)>, Missing> {
        let Some(compiler) = self.kind.fortran else {
            return Ok(Vec::new());
        };
        let mut programs = Vec::new();
        for &flavour in self.kind.flavours {
            let program = program.with_extension(flavour.definition().trim_start_matches("-D"));
            // Each program has a module file of its own, and nobody needs it afterwards.
            let modules = program.with_extension("modules");
            std::fs::create_dir_all(&modules).map_err(|error| Missing::File {
                path: modules.clone(),
                error,
            })?;
            let mut command = self.compiler(compiler);
            command
                .args(["-O2", "-cpp", "-w", "-fallow-argument-mismatch"])
                .arg(flavour.definition())
                .args(self.modules())
                .arg("-J")
                .arg(&modules)
                .arg("-o")
                .args([&program, source]);
            self.complete(compiler, command)?;
            programs.push((flavour, program));
        }
        Ok(programs)
    }

    /// Where a peer has its modules for this version of gfortran, which its own script does not always find.
    fn modules(&self) -> Option<String> {
        let folder = self.libraries()?.join("../include/mpi/gfortran");
        let output = Command::new("gfortran").arg("-dumpversion").output().ok()?;
        let version = String::from_utf8_lossy(&output.stdout).into_owned();
        let major = format!("{}.", version.trim().split('.').next()?);
        let mut entries = std::fs::read_dir(folder).ok()?.flatten();
        let found =
            entries.find(|entry| entry.file_name().to_string_lossy().starts_with(&major))?;
        Some(format!("-I{}", found.path().display()))
    }

    fn complete(&self, compiler: &str, mut command: Command) -> Result<(), Missing> {
        let failed = |why| Missing::Compiler {
            peer: self.kind.name,
            compiler: compiler.into(),
            why,
        };
        let line = format!("{command:?}");
        if self.compiled.borrow().contains(&line) {
            return Ok(());
        }
        match command.output() {
            Ok(output) if output.status.success() => {
                self.compiled.borrow_mut().insert(line);
                Ok(())
            }
            Ok(output) => Err(failed(String::from_utf8_lossy(&output.stderr).into())),
            Err(error) => Err(failed(error.to_string())),
        }
    }
}

/// Makes sure of Debian's packages.
fn debian(name: &'static str, needs: &'static [Need]) -> Result<(), Missing> {
    match needs::ensure(needs).first() {
        None => Ok(()),
        Some(need) => Err(Missing::Debian {
            peer: name,
            program: need.program,
            packages: need.debian_packages.join(" "),
        }),
    }
}
