//! The files that an MPI reads: written for what is chosen, and the variables that name them.

use super::decide::{self, Choices};
use super::kind::Kind;
use super::record::{Cell, Family, Hello};
use super::{intel, mpich, openmpi};
use anyhow::Context;
use std::path::{Path, PathBuf};

/// The file of a shell that sets what has an MPI read the others.
const SHELL: &str = "use.sh";

/// What was written.
#[derive(Debug, Default)]
pub struct Written {
    pub files: Vec<PathBuf>,
    /// Variables that have the MPI read them.
    pub environment: Vec<(String, String)>,
}

impl Written {
    /// Writes a file beside the others; a variable may name it.
    fn add(
        &mut self,
        folder: &Path,
        name: &str,
        text: &str,
        variable: Option<&str>,
    ) -> anyhow::Result<()> {
        let file = folder.join(name);
        std::fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
        if let Some(variable) = variable {
            let file = file.display().to_string();
            self.environment.push((variable.to_string(), file));
        }
        self.files.push(file);
        Ok(())
    }
}

/// What is chosen for the MPI of these ranks.
pub fn choices(hello: &Hello, cells: &[Cell]) -> Choices {
    let is_one_for_all: fn(Kind) -> bool = match hello.family {
        Family::Mpich => mpich::is_one_for_all,
        Family::OpenMpi => openmpi::is_one_for_all,
        Family::Intel => intel::is_one_for_all,
    };
    decide::choose(cells, is_one_for_all)
}

/// Writes them into a folder.
pub fn write(hello: &Hello, choices: &Choices, folder: &Path) -> anyhow::Result<Written> {
    // Ranks look for the files wherever they are started.
    let folder = std::fs::canonicalize(folder).with_context(|| folder.display().to_string())?;
    let folder = folder.as_path();
    let mut written = Written::default();
    match hello.family {
        Family::Mpich => {
            let library = std::fs::read(&hello.library).with_context(|| {
                format!(
                    "the library {} cannot be read here; its own tree is needed, which is inside",
                    hello.library
                )
            })?;
            for file in mpich::files(hello, choices, &library)? {
                written.add(folder, file.name, &(file.text + "\n"), Some(file.variable))?;
            }
        }
        Family::OpenMpi => {
            let (name, value) = openmpi::SWITCH;
            written.environment.push((name.into(), value.into()));
            let text = openmpi::classic(hello, choices)?;
            written.add(folder, "openmpi.rules", &text, Some(openmpi::FILE))?;
            let six = serde_json::to_string_pretty(&openmpi::six(hello, choices))? + "\n";
            written.add(folder, "openmpi6.json", &six, None)?;
        }
        Family::Intel => {
            let nested = serde_json::to_string_pretty(&intel::nested(hello, choices))? + "\n";
            written.add(folder, "intel.json", &nested, Some(intel::FILE))?;
            written.add(
                folder,
                "intel-adjust.sh",
                &intel::lines(hello, choices)?,
                None,
            )?;
        }
    }
    let lines = written.environment.iter();
    let lines: String = lines
        .map(|(name, value)| format!("export {name}='{value}'\n"))
        .collect();
    let head = format!(
        "# What `allhands tune --mpi` has measured with {} on {} ranks of {} hosts.\n",
        hello.version, hello.ranks, hello.hosts
    );
    written.add(folder, SHELL, &(head + &lines), None)?;
    Ok(written)
}
