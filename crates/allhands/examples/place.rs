//! A process that says which place its launcher gave it, joins the roll and waits for the others to have joined.
//!
//! ```sh
//! cargo build --package allhands --example place
//! allhands run -n 4 target/debug/examples/place     # or mpiexec, mpirun, srun --mpi=pmi2
//! ```

#[cfg(target_os = "linux")]
fn main() -> Result<(), allhands::launch::LaunchError> {
    use allhands::launch::{Roll, Standing, place};

    let Some(place) = place()? else {
        println!("one rank alone: no launcher has started this");
        return Ok(());
    };
    let roll = Roll::new(place.segment)?;
    roll.join(place.rank)?;
    while (0..place.ranks).any(|rank| roll.standing(rank) == Standing::Absent) {
        // Not so often that many ranks keep those that are still starting from the cpus.
        std::thread::sleep(std::time::Duration::from_millis(1 + u64::from(place.ranks)));
    }
    println!(
        "rank {} of {}, process {}, started by {:?}",
        place.rank,
        place.ranks,
        std::process::id(),
        place.launcher
    );
    roll.leave(place.rank);
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("launching works on Linux only");
}
