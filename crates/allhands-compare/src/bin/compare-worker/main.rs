//! The worker of `cargo xtask compare` on Allhands: `compare-worker [--threads RANKS [--bind]] BOARD GROUP`.
//!
//! `c/worker.c` is the same program on an MPI, with the same names: what is changed in one is changed in
//! the other.

#[cfg(target_os = "linux")]
mod place;
#[cfg(target_os = "linux")]
mod work;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match place::run(&arguments) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("compare worker: {error}");
            std::process::ExitCode::from(2)
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("compare worker: the board needs Linux's futex");
}
