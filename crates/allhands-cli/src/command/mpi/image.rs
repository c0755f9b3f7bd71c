//! An image: what the file of a program or library says of itself to the dynamic linker.

use anyhow::{Context, anyhow, bail};
use object::Endianness;
use object::elf::{self, FileHeader64};
use object::read::elf::{Dyn, FileHeader, ProgramHeader, SectionHeader, SectionTable, Sym};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The file of a program or library for this machine.
#[derive(Clone, Debug)]
pub struct Image {
    pub path: PathBuf,
    /// The dynamic linker that it asks for.
    pub interpreter: Option<String>,
    /// Whether it has a dynamic section at all.
    pub is_dynamic: bool,
    pub soname: Option<String>,
    /// The libraries that it needs.
    pub needed: Vec<String>,
    /// Where they are looked for before `LD_LIBRARY_PATH`.
    pub rpath: Vec<String>,
    /// Where they are looked for after it.
    pub runpath: Vec<String>,
    /// The names it defines for others that have to do with MPI, and the text that stands at each.
    exported: BTreeMap<String, String>,
    /// Whether it has an MPI's functions inside, for itself or for others.
    has_mpi_inside: bool,
    /// Whether it calls an MPI's functions, in C or in Fortran, which somebody else is to have.
    pub calls_mpi: bool,
    /// Whether it loads libraries by itself.
    pub loads_libraries: bool,
    /// What an MPI's texts say that it is.
    make: Option<&'static str>,
}

type Header = FileHeader64<Endianness>;

impl Image {
    /// Reads a file; says what it is if it is none of this machine's.
    pub fn read(path: &Path) -> anyhow::Result<Image> {
        let data = std::fs::read(path).with_context(|| path.display().to_string())?;
        if data.starts_with(b"#!") {
            let line = data.split(|byte| *byte == b'\n').next().unwrap_or_default();
            bail!(
                "{} is a script ({}): name the program that it starts, or have the launcher started by \
                 `allhands mpi doctor -- LAUNCHER...`",
                path.display(),
                String::from_utf8_lossy(line)
            );
        }
        Image::parse(path, &data).map_err(|error| {
            anyhow!(
                "{} is no program of 64 bits for Linux: {error}",
                path.display()
            )
        })
    }

    fn parse(path: &Path, data: &[u8]) -> object::read::Result<Image> {
        let header = Header::parse(data)?;
        let endian = header.endian()?;
        let sections = header.sections(endian, data)?;
        let mut image = Image {
            path: path.to_path_buf(),
            interpreter: None,
            is_dynamic: false,
            soname: None,
            needed: Vec::new(),
            rpath: Vec::new(),
            runpath: Vec::new(),
            exported: BTreeMap::new(),
            has_mpi_inside: false,
            calls_mpi: false,
            loads_libraries: false,
            make: None,
        };
        for segment in header.program_headers(endian, data)? {
            if let Some(name) = segment.interpreter(endian, data)? {
                image.interpreter = Some(String::from_utf8_lossy(name).into_owned());
            }
        }
        image.read_dynamic(&sections, endian, data)?;
        image.read_symbols(&sections, endian, data)?;
        if image.has_mpi_inside {
            let says = |text: &&str| data.windows(text.len()).any(|at| at == text.as_bytes());
            image.make = MAKES.into_iter().find(says);
        }
        Ok(image)
    }

    fn read_dynamic(
        &mut self,
        sections: &SectionTable<'_, Header>,
        endian: Endianness,
        data: &[u8],
    ) -> object::read::Result<()> {
        let Some((entries, strings)) = sections.dynamic(endian, data)? else {
            return Ok(());
        };
        let strings = sections.strings(endian, data, strings)?;
        for entry in entries {
            let Some(tag) = entry.tag32(endian) else {
                continue;
            };
            let text = || {
                let text = entry.string(endian, strings).unwrap_or_default();
                String::from_utf8_lossy(text).into_owned()
            };
            let folders = || text().split(':').map(String::from).collect();
            match tag {
                elf::DT_NEEDED => self.needed.push(text()),
                elf::DT_SONAME => self.soname = Some(text()),
                elf::DT_RPATH => self.rpath = folders(),
                elf::DT_RUNPATH => self.runpath = folders(),
                _ => {}
            }
        }
        // A static program that may be loaded anywhere has a dynamic section, too, but no linker reads it.
        self.is_dynamic = self.interpreter.is_some() || self.soname.is_some();
        Ok(())
    }

    fn read_symbols(
        &mut self,
        sections: &SectionTable<'_, Header>,
        endian: Endianness,
        data: &[u8],
    ) -> object::read::Result<()> {
        for kind in [elf::SHT_DYNSYM, elf::SHT_SYMTAB] {
            let symbols = sections.symbols(endian, data, kind)?;
            for symbol in symbols.iter() {
                let name = String::from_utf8_lossy(symbol.name(endian, symbols.strings())?);
                if symbol.is_undefined(endian) {
                    self.calls_mpi |= CALLS.iter().any(|call| name.starts_with(call));
                    self.loads_libraries |= LOADERS.contains(&&*name);
                    continue;
                }
                if !MARKS.contains(&&*name) {
                    continue;
                }
                self.has_mpi_inside |= name == MPI_INSIDE;
                if kind == elf::SHT_DYNSYM {
                    let text = text_at(sections, endian, data, symbol.st_value(endian));
                    self.exported.insert(name.into_owned(), text);
                }
            }
        }
        Ok(())
    }

    /// Whether it defines a name, one of those that are looked for, for others.
    pub fn exports(&self, name: &str) -> bool {
        debug_assert!(MARKS.contains(&name), "{name} is not looked for");
        self.exported.contains_key(name)
    }

    /// The text at a name that it defines.
    pub fn text(&self, name: &str) -> Option<&str> {
        let text = self.exported.get(name)?;
        (!text.is_empty()).then_some(text)
    }

    /// What an MPI's texts say that it is: one of those whose ABI is MPICH's.
    pub fn make(&self) -> Option<&'static str> {
        self.make
    }

    /// Whether it has an MPI's functions inside.
    pub fn has_mpi_inside(&self) -> bool {
        self.has_mpi_inside
    }

    /// Whether it is an MPI for programs that are linked with it.
    pub fn is_mpi(&self) -> bool {
        self.exports(MPI_INSIDE)
    }
}

/// The function that every MPI has under its second name.
const MPI_INSIDE: &str = "PMPI_Comm_size";

/// How the names of an MPI's functions begin.
const CALLS: [&str; 4] = ["MPI_", "PMPI_", "mpi_", "MPIX_"];

/// The functions by which a program loads libraries.
const LOADERS: [&str; 2] = ["dlopen", "dlmopen"];

/// What MPIs of MPICH's ABI call themselves in their `MPI_Get_library_version`, by which the library knows them, too. Whoever is
/// made of MPICH may say that it is; so its own name comes first.
const MAKES: [&str; 3] = ["Intel(R) MPI Library", "MVAPICH", "MPICH Version"];

/// The names that are looked for.
const MARKS: [&str; 9] = [
    MPI_INSIDE,
    "MPI_Allreduce",
    "MPI_Allreduce_c",
    "PMPI_Allreduce_c",
    "mpi_allreduce_",
    "ompi_mpi_comm_world",
    "PMPI_Abi_get_version",
    "MPII_Version_string",
    "I_MPI_Check_image_status",
];

/// The text at an address, if it is short.
fn text_at(
    sections: &SectionTable<'_, Header>,
    endian: Endianness,
    data: &[u8],
    address: u64,
) -> String {
    let holds = |start: u64, bytes: u64| address >= start && address - start < bytes;
    let section = sections
        .iter()
        .find(|section| holds(section.sh_addr(endian), section.sh_size(endian)));
    let text = section.and_then(|section| {
        let bytes = section.data(endian, data).ok()?;
        let rest = bytes.get((address - section.sh_addr(endian)) as usize..)?;
        let end = rest.iter().take(80).position(|byte| *byte == 0)?;
        String::from_utf8(rest[..end].to_vec()).ok()
    });
    let is_text = |text: &String| text.chars().all(|c| !c.is_control());
    text.filter(is_text).unwrap_or_default()
}
