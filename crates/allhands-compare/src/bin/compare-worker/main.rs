//! The worker of `cargo xtask compare`: one rank, or several as threads, of the library under test.
//!
//! `compare-worker [--policy POLICY | --threads RANKS [--bind]] BOARD GROUP` is on Allhands, `compare-worker --mpi SHIM BOARD GROUP` on an MPI, under that
//! MPI's mpiexec, and `compare-worker --mpi SHIM --passing` prints what a call takes that the drop-in leaves to the MPI.

#[cfg(target_os = "linux")]
mod library;
#[cfg(target_os = "linux")]
mod mpi;
#[cfg(target_os = "linux")]
mod place;
#[cfg(target_os = "linux")]
mod replay;
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
