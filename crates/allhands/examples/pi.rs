//! Integrates the quarter circle on all ranks: `allhands run -n 4 target/release/examples/pi`.

use allhands::{Communicator, Sum};

fn main() -> Result<(), allhands::Error> {
    let comm = Communicator::world()?;
    let (rank, size) = (comm.rank(), comm.size());
    let steps = 10_000_000;
    let mine = (rank..steps)
        .step_by(size)
        .map(|i| (i as f64 + 0.5) / steps as f64)
        .map(|x| 4.0 / (1.0 + x * x))
        .sum::<f64>();
    let mut sum = [mine];
    comm.allreduce_in_place(&mut sum, Sum)?;
    if rank == 0 {
        println!("π is about {:.9}, say {size} ranks", sum[0] / steps as f64);
    }
    Ok(())
}
