//! Programs that tests need and cargo does not bring: how each is found, installed, and what is lost without it.

use std::path::Path;
use std::process::Command;

/// A program that some test step runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    /// The program, as it is looked up on `PATH`; also the need's name.
    pub program: &'static str,
    /// The Debian packages that bring it.
    pub debian_packages: &'static [&'static str],
    /// What is skipped where it is missing.
    pub without_it: &'static str,
}

/// Everything that `cargo xtask test` makes sure of before its first step.
pub const NEEDS: &[Need] = &[
    Need {
        program: "valgrind",
        debian_packages: &["valgrind"],
        without_it: "instruction counts (callgrind) are not taken",
    },
    // The program beside the library, which is what is needed.
    Need {
        program: "fi_info",
        debian_packages: &["libfabric1", "libfabric-bin"],
        without_it: "messages over libfabric are not tried; the same tests run over TCP",
    },
    Need {
        program: "chromium",
        debian_packages: &["chromium", "fonts-dejavu-core"],
        without_it: "whether reports are readable on a telephone, in the dark and on paper is not looked at",
    },
];

/// Installs what is missing where that is possible, says what it does, and returns what is missing still.
pub fn ensure(needs: &'static [Need]) -> Vec<&'static Need> {
    let missing = missing_of(needs);
    if missing.is_empty() {
        return missing;
    }
    let names: Vec<&str> = missing.iter().map(|need| need.program).collect();
    let packages: Vec<&str> = missing
        .iter()
        .flat_map(|need| need.debian_packages.iter().copied())
        .collect();
    println!("missing: {}", names.join(", "));
    install(&packages);
    missing_of(needs)
}

/// Installs packages where that is possible, and says what it does.
pub fn install(packages: &[&str]) {
    if is_debian() && is_root() {
        println!("installing {}", packages.join(" "));
        if let Err(error) = apt_get_install(packages) {
            println!("apt-get: {error}");
        }
    } else {
        println!(
            "as root on Debian this command would run `apt-get install {}`",
            packages.join(" ")
        );
    }
}

fn missing_of(needs: &'static [Need]) -> Vec<&'static Need> {
    needs
        .iter()
        .filter(|need| !is_on_path(need.program))
        .collect()
}

fn is_on_path(program: &str) -> bool {
    std::env::var_os("PATH").is_some_and(|path| {
        std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
    })
}

fn is_debian() -> bool {
    Path::new("/etc/debian_version").is_file() && is_on_path("apt-get")
}

fn is_root() -> bool {
    Command::new("id")
        .arg("-u")
        .output()
        .is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

fn apt_get_install(packages: &[&str]) -> Result<(), String> {
    apt_get(&["update", "-qq"])?;
    let install = ["install", "-y", "-qq", "--no-install-recommends"];
    apt_get(&[&install, packages].concat())
}

fn apt_get(arguments: &[&str]) -> Result<(), String> {
    let shown = arguments.join(" ");
    match Command::new("apt-get")
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .status()
    {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{shown}` ended with {status}")),
        Err(error) => Err(format!("`{shown}` did not start: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOWHERE: &[Need] = &[Need {
        program: "a-program-that-nobody-has",
        debian_packages: &[],
        without_it: "nothing",
    }];

    #[test]
    fn a_program_that_nobody_has_is_missing() {
        assert_eq!(missing_of(NOWHERE), [&NOWHERE[0]]);
        assert!(is_on_path("sh"));
    }

    #[test]
    fn every_need_says_how_to_get_it_and_what_it_is_for() {
        for need in NEEDS {
            assert!(!need.debian_packages.is_empty(), "{}", need.program);
            assert!(!need.without_it.is_empty(), "{}", need.program);
        }
    }
}
