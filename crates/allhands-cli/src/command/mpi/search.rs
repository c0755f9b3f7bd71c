//! The search: which files the dynamic linker takes for the libraries that a program needs.

use super::image::Image;
use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

/// The folders that are looked in at last.
const LAST: [&str; 6] = [
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
];

/// What a program brings with it when it is started.
pub struct Loaded {
    /// The program, the libraries that are preloaded, and those that are needed, in the order in which names are looked up.
    pub images: Vec<Image>,
    /// Libraries that are not found, and who needs them.
    pub missing: Vec<(String, PathBuf)>,
}

impl Loaded {
    /// Whether an MPI is among them, or somebody calls one.
    pub fn has_mpi(&self) -> bool {
        self.images
            .iter()
            .any(|image| image.is_mpi() || image.calls_mpi)
    }
}

/// Where the linker looks.
pub struct Search {
    /// `LD_LIBRARY_PATH`.
    pub library_path: Vec<String>,
    /// `LD_PRELOAD`.
    pub preload: Vec<String>,
    /// What the system's configuration names.
    pub configured: Vec<String>,
}

impl Search {
    /// As this process's environment and the system say.
    pub fn from_environment() -> Search {
        let list = |name: &str, separators: &[char]| -> Vec<String> {
            let text = std::env::var(name).unwrap_or_default();
            let words = text.split(|c| separators.contains(&c));
            words
                .filter(|word| !word.is_empty())
                .map(String::from)
                .collect()
        };
        Search {
            library_path: list("LD_LIBRARY_PATH", &[':', ';']),
            preload: list("LD_PRELOAD", &[':', ' ']),
            configured: configured(Path::new("/etc/ld.so.conf"), 0),
        }
    }

    /// Everything that a program brings with it.
    pub fn load(&self, program: Image) -> Loaded {
        let mut loaded = Loaded {
            images: Vec::new(),
            missing: Vec::new(),
        };
        let mut seen = BTreeSet::new();
        let mut waiting: VecDeque<(String, Image)> = VecDeque::new();
        for name in &self.preload {
            waiting.push_back((name.clone(), program.clone()));
        }
        let needs = |image: &Image| -> Vec<(String, Image)> {
            image
                .needed
                .iter()
                .map(|name| (name.clone(), image.clone()))
                .collect()
        };
        waiting.extend(needs(&program));
        let main = program.clone();
        loaded.images.push(program);
        while let Some((name, wanted_by)) = waiting.pop_front() {
            if !seen.insert(name.clone()) {
                continue;
            }
            match self.find(&name, &wanted_by, &main) {
                Some(image) => {
                    waiting.extend(needs(&image));
                    loaded.images.push(image);
                }
                None => loaded.missing.push((name, wanted_by.path)),
            }
        }
        loaded
    }

    /// The library of a name.
    fn find(&self, name: &str, wanted_by: &Image, program: &Image) -> Option<Image> {
        if name.contains('/') {
            return Image::read(Path::new(name)).ok();
        }
        let near = |image: &Image, folders: &[String]| -> Vec<String> {
            let own = image
                .path
                .parent()
                .map(|folder| folder.display().to_string());
            let own = own.unwrap_or_default();
            let replaced =
                |folder: &String| folder.replace("${ORIGIN}", &own).replace("$ORIGIN", &own);
            folders.iter().map(replaced).collect()
        };
        let mut folders = Vec::new();
        // A library with the newer kind of path has the older one, also its users', ignored.
        if wanted_by.runpath.is_empty() {
            folders.extend(near(wanted_by, &wanted_by.rpath));
            folders.extend(near(program, &program.rpath));
        }
        folders.extend(self.library_path.iter().cloned());
        folders.extend(near(wanted_by, &wanted_by.runpath));
        folders.extend(self.configured.iter().cloned());
        folders.extend(LAST.map(String::from));
        folders.iter().find_map(|folder| {
            let file = Path::new(folder).join(name);
            // A file for another machine is passed over, as the linker does.
            file.is_file().then(|| Image::read(&file).ok()).flatten()
        })
    }
}

/// The folders that a file of the linker's configuration names, and those that it includes.
fn configured(file: &Path, depth: usize) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let mut folders = Vec::new();
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        match line.strip_prefix("include ") {
            Some(pattern) if depth < 4 => {
                for file in matching(pattern.trim()) {
                    folders.extend(configured(&file, depth + 1));
                }
            }
            None if !line.is_empty() => folders.push(line.to_string()),
            _ => {}
        }
    }
    folders
}

/// The files that a pattern such as `/etc/ld.so.conf.d/*.conf` stands for.
fn matching(pattern: &str) -> Vec<PathBuf> {
    let path = Path::new(pattern);
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Vec::new();
    };
    let name = name.to_string_lossy();
    let Some((before, after)) = name.split_once('*') else {
        return vec![path.to_path_buf()];
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries
        .filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            name.len() >= before.len() + after.len()
                && name.starts_with(before)
                && name.ends_with(after)
        })
        .map(|entry| entry.path())
        .collect();
    files.sort();
    files
}
