//! The command line of the comparison: `cargo xtask compare` runs it.

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    allhands_compare::command(&xtask::repository_root(), &arguments)
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    eprintln!("cargo xtask compare: needs Linux, where the peers' packages and shared futexes are");
    std::process::ExitCode::FAILURE
}
