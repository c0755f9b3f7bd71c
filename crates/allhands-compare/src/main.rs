//! The command line of the comparisons: `cargo xtask compare` runs it, with `lab` or `models` as its first word `cargo xtask lab` or `models`.

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let root = xtask::repository_root();
    match arguments.split_first() {
        Some((first, words)) if first == "lab" => allhands_compare::lab_command(&root, words),
        Some((first, words)) if first == "models" => allhands_compare::models_command(&root, words),
        _ => allhands_compare::command(&root, &arguments),
    }
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    eprintln!("cargo xtask compare: needs Linux, where the peers' packages and shared futexes are");
    std::process::ExitCode::FAILURE
}
