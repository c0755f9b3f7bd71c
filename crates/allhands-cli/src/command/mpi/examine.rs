//! The examination: whether a program and the MPI that it loads fit the library that is to be preloaded.

use super::image::Image;
use super::search::{Loaded, Search};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// What was found out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub weight: Weight,
    /// What it is about.
    pub about: &'static str,
    pub text: String,
}

/// What a finding means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    Note,
    /// It may be well, and may be not.
    Doubt,
    /// The library cannot serve the program.
    Obstacle,
}

/// The name of the library's file.
pub const LIBRARY: &str = "liballhands_mpi.so";

/// Collects what is found.
#[derive(Default)]
pub struct Findings {
    pub list: Vec<Finding>,
    /// Whether the program has nothing to do with an MPI.
    pub is_none: bool,
}

impl Findings {
    fn add(&mut self, weight: Weight, about: &'static str, text: impl Into<String>) {
        self.list.push(Finding {
            weight,
            about,
            text: text.into(),
        });
    }

    /// Notes something.
    pub fn note(&mut self, about: &'static str, text: impl Into<String>) {
        self.add(Weight::Note, about, text);
    }

    /// Doubts something.
    pub fn doubt(&mut self, about: &'static str, text: impl Into<String>) {
        self.add(Weight::Doubt, about, text);
    }

    /// Finds an obstacle.
    pub fn obstacle(&mut self, about: &'static str, text: impl Into<String>) {
        self.add(Weight::Obstacle, about, text);
    }

    /// The worst of them.
    pub fn worst(&self) -> Weight {
        let weights = self.list.iter().map(|finding| finding.weight);
        weights.max().unwrap_or(Weight::Note)
    }
}

/// Examines a program: how it is linked, which MPI it loads, and who else stands between.
pub fn program(path: &Path, search: &Search, findings: &mut Findings) -> anyhow::Result<()> {
    let image = Image::read(path)?;
    let shown = path.display();
    let linking = match &image.interpreter {
        Some(linker) if linker.contains("ld-musl") => {
            findings.obstacle(
                "program",
                format!("{shown} is linked with musl ({linker}); {LIBRARY} needs glibc: link the program with glibc"),
            );
            "dynamically, with musl"
        }
        Some(_) => "dynamically",
        None if image.is_dynamic => "as a library",
        None => {
            findings.obstacle("program", static_advice(&image));
            "statically"
        }
    };
    findings.note("program", format!("{shown}, linked {linking}"));
    privileges(path, findings);
    if image.interpreter.is_none() {
        return Ok(());
    }
    let own = image.exports("MPI_Allreduce");
    let inside = image.has_mpi_inside();
    let loaded = search.load(image);
    if inside {
        findings.obstacle("mpi", static_advice(&loaded.images[0]));
    } else if own {
        findings.doubt(
            "between",
            format!("{shown} has an MPI_Allreduce of its own, which calls reach first: a preloaded library serves what that hands on"),
        );
    }
    for (name, wanted_by) in &loaded.missing {
        let wanted_by = wanted_by.display();
        findings.doubt(
            "program",
            format!("{name}, which {wanted_by} needs, is not found"),
        );
    }
    mpi(&loaded, findings);
    interposers(&loaded, findings);
    Ok(())
}

fn static_advice(image: &Image) -> String {
    let path = image.path.display();
    if image.has_mpi_inside() {
        format!(
            "{path} has its MPI linked in, so a preloaded library is passed by: link it with liballhands_mpi.a before the MPI \
             (docs/drop-in.md)"
        )
    } else {
        format!("{path} is linked statically, so nothing is preloaded; link it dynamically")
    }
}

/// Where the dynamic linker does not preload.
fn privileges(path: &Path, findings: &mut Findings) {
    let mode = std::fs::metadata(path).map_or(0, |data| data.permissions().mode());
    let mut capability = [0u8; 64];
    let has_capabilities =
        rustix::fs::getxattr(path, "security.capability", &mut capability).is_ok();
    if mode & 0o6000 != 0 || has_capabilities {
        let why = if has_capabilities {
            "has capabilities"
        } else {
            "is set-user-ID or set-group-ID"
        };
        findings.obstacle(
            "program",
            format!(
                "{} {why}, for which the dynamic linker ignores LD_PRELOAD",
                path.display()
            ),
        );
    }
}

/// Says which MPI is loaded.
fn mpi(loaded: &Loaded, findings: &mut Findings) {
    let mpis: Vec<&Image> = loaded
        .images
        .iter()
        .skip(1)
        .filter(|image| image.is_mpi())
        .collect();
    match mpis.as_slice() {
        [] => no_mpi(loaded, findings),
        [mpi] => one_mpi(mpi, loaded, findings),
        several => {
            let names: Vec<String> = several
                .iter()
                .map(|mpi| mpi.path.display().to_string())
                .collect();
            findings.obstacle(
                "mpi",
                format!(
                    "it loads several: {}; link all of it with one",
                    names.join(", ")
                ),
            );
        }
    }
}

/// Says what it means that no library is an MPI.
fn no_mpi(loaded: &Loaded, findings: &mut Findings) {
    let may = |what: fn(&Image) -> bool| loaded.images.iter().any(what);
    if may(|image| image.calls_mpi) {
        findings.doubt(
            "mpi",
            "it calls an MPI, and no library that it needs is one: `allhands mpi doctor -- LAUNCHER...` shows whether one is there \
             when it runs",
        );
    } else if loads_by_itself(loaded) || !loaded.missing.is_empty() {
        findings.doubt(
            "mpi",
            "no library that it needs is an MPI: it may load one later, as Python does; `allhands mpi doctor -- LAUNCHER...` \
             shows whether it does",
        );
    } else if !loaded.images[0].has_mpi_inside() {
        findings.is_none = true;
        findings.obstacle(
            "mpi",
            "it is no MPI program: it is linked with no MPI, calls none, and loads no libraries by itself",
        );
    }
}

/// Whether the program loads libraries by itself, or is an interpreter's whose library does; that some library of the system can
/// is no sign of it.
fn loads_by_itself(loaded: &Loaded) -> bool {
    const INTERPRETERS: [&str; 4] = ["libpython", "libjulia", "libR.", "libperl"];
    let is_interpreter = |image: &Image| {
        let name = image.path.file_name().unwrap_or_default().to_string_lossy();
        INTERPRETERS.iter().any(|known| name.starts_with(known))
    };
    let mut images = loaded.images.iter().enumerate();
    images.any(|(at, image)| image.loads_libraries && (at == 0 || is_interpreter(image)))
}

fn one_mpi(mpi: &Image, loaded: &Loaded, findings: &mut Findings) {
    let soname = mpi.soname.as_deref().unwrap_or_default();
    let (name, abi, is_known) = if mpi.exports("ompi_mpi_comm_world") {
        (format!("Open MPI{}", file_version(mpi)), "Open MPI's", true)
    } else if soname.starts_with("libmpi_abi.") {
        (described(mpi), "the standard (MPI 5)", true)
    } else if mpi.make().is_some() || mpi.exports("MPII_Version_string") {
        (described(mpi), "MPICH's", true)
    } else {
        (
            "an MPI that is not known here".to_string(),
            "unknown",
            false,
        )
    };
    let path = mpi.path.display();
    findings.note("mpi", format!("{path} ({soname}): {name}; ABI: {abi}"));
    if !is_known {
        findings.obstacle("mpi", "all calls would pass through: MPICH, Intel MPI, Open MPI and the standard ABI are served");
    }
    if !mpi.exports("PMPI_Allreduce_c") {
        findings.note(
            "mpi",
            "it has no calls with large counts (MPI_Allreduce_c): a program that asks for one finds ours",
        );
    }
    let fortran = loaded
        .images
        .iter()
        .find(|image| image.exports("mpi_allreduce_"));
    if let Some(fortran) = fortran.filter(|image| !image.is_mpi()) {
        findings.note("mpi", format!("Fortran by {}", fortran.path.display()));
    }
}

/// MPICH, or what is made of it.
fn described(mpi: &Image) -> String {
    let version = mpi.text("MPII_Version_string");
    // Some builds keep the version to themselves; a run's report has it.
    let of_mpich = version.map_or_else(String::new, |version| format!(", of MPICH {version}"));
    match mpi.make() {
        _ if mpi.exports("I_MPI_Check_image_status") => format!("Intel MPI{of_mpich}"),
        Some(make) if make.starts_with("Intel") => format!("Intel MPI{of_mpich}"),
        Some("MVAPICH") => format!("MVAPICH{of_mpich}"),
        _ if version.is_some() => format!("MPICH {}", version.unwrap_or_default()),
        Some(_) => "MPICH, whose file does not tell its version".into(),
        None => "an MPI of unknown make".into(),
    }
}

/// What the name of the file behind the links says of the version.
fn file_version(mpi: &Image) -> String {
    let file = std::fs::canonicalize(&mpi.path).unwrap_or_else(|_| mpi.path.clone());
    let name = file
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let version = name
        .split_once(".so.")
        .map(|(_, version)| version.to_string());
    version.map_or_else(String::new, |version| {
        format!(" (library version {version})")
    })
}

/// Names those that also stand between programs and their MPI, as profiling tools do, and what each of them sees.
fn interposers(loaded: &Loaded, findings: &mut Findings) {
    let is_ours = |image: &Image| image.path.file_name().is_some_and(|name| name == LIBRARY);
    let ours = loaded.images.iter().position(is_ours);
    let others = loaded
        .images
        .iter()
        .enumerate()
        .skip(1)
        .filter(|(_, image)| image.exports("MPI_Allreduce") && !image.is_mpi() && !is_ours(image));
    for (index, other) in others {
        let takes = format!("{} takes MPI calls, too", other.path.display());
        match ours {
            Some(ours) if index < ours && cfg!(target_arch = "x86_64") => findings.note(
                "between",
                format!("{takes}, in front of {LIBRARY}: it sees all of them, and what it hands on is served, also by the PMPI_ names"),
            ),
            Some(ours) if index < ours => findings.doubt(
                "between",
                format!("{takes}, in front of {LIBRARY}: what it hands on by the PMPI_ names is not served on this processor"),
            ),
            Some(_) | None => findings.note(
                "between",
                format!("{takes}: behind {LIBRARY} it sees those that pass through; with LD_PRELOAD=TOOL:{LIBRARY}, in front, all"),
            ),
        }
    }
}
