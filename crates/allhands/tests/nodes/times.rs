//! What messages between nodes take, as ranks measure it, and what follows from it for all of them.

use crate::world::{in_every_order, network, on_all, worlds};
use allhands::bootstrap::Bootstrap;
use allhands::policy::NetworkTimes;
use allhands::{Communicator, Error, Policy, Sum};

/// The same numbers on every rank.
fn agreed(comm: &Communicator) -> Result<Option<NetworkTimes>, Error> {
    let own = comm.network_times();
    let bits = own.map_or([0; NetworkTimes::NUMBERS], |times| {
        times.numbers().map(f64::to_bits)
    });
    let mut all = vec![0; bits.len() * comm.size()];
    comm.allgather(&bits, &mut all)?;
    assert!(all.chunks(bits.len()).all(|theirs| *theirs == bits));
    Ok(own)
}

/// Calls of many lengths, whose ranks would find out if they had chosen differently.
fn calls(comm: &Communicator) -> Result<(), Error> {
    let (rank, ranks) = (comm.rank() as u64, comm.size() as u64);
    for elements in [1, 300, 20_000] {
        let mut sums = vec![rank; elements];
        comm.allreduce_in_place(&mut sums, Sum)?;
        assert!(sums.iter().all(|sum| *sum == ranks * (ranks - 1) / 2));
        let mut vector = vec![rank; elements];
        comm.broadcast(&mut vector, 1)?;
        assert!(vector.iter().all(|from| *from == 1));
        let mut blocks = vec![0; elements * comm.size()];
        comm.allgather(&vec![rank; elements], &mut blocks)?;
        let right = (0..ranks).flat_map(|rank| std::iter::repeat_n(rank, elements));
        assert!(blocks.iter().copied().eq(right));
    }
    Ok(())
}

fn measure_and_call(comm: &Communicator) -> Result<(), Error> {
    assert_eq!(comm.network_times(), None);
    let times = comm.measure_network_times()?.expect("nobody fails");
    assert_eq!(agreed(comm)?, Some(times));
    assert!(times.overhead_ns > 0.0, "{times}");
    calls(comm)?;
    let copy = comm.dup()?;
    assert_eq!(agreed(&copy)?, Some(times));
    calls(&copy)?;
    let backwards = comm.split(Some(0), (comm.size() - comm.rank()) as u64)?;
    assert_eq!(agreed(&backwards.expect("it has a colour"))?, Some(times));
    // Who names a policy wants that one's choice.
    copy.set_policy(Policy::Mpich2005);
    assert_eq!(copy.network_times(), None);
    calls(&copy)
}

#[test]
fn all_ranks_choose_by_what_was_measured() {
    let apart = worlds().filter(|node_of| node_of.iter().any(|node| *node != node_of[0]));
    for (seed, node_of) in (0..).zip(apart) {
        in_every_order(node_of, seed, measure_and_call);
    }
}

#[test]
fn on_one_node_nothing_is_measured() {
    on_all(&[0, 0], &network(&[0, 0]), |comm| {
        assert_eq!(comm.measure_network_times()?, None);
        calls(comm)
    });
}
