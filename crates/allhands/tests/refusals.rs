//! Refusals: calls that some ranks have not made, as another library found something wrong with them there, while others make them.
#![cfg(all(target_os = "linux", not(loom)))]

use allhands::interposition::{Interposition, Refused};
use allhands::transport::TransportError;
use allhands::transport::net::{Places, Threads};
use allhands::{Communicator, Error, Sum, operation, threads};
use allhands_core::call::Collective;
use std::time::{Duration, Instant};

const BROADCAST: Refused = Refused {
    collective: Collective::Broadcast,
    irregular: false,
};
const GATHER_V: Refused = Refused {
    collective: Collective::Gather,
    irregular: true,
};

type Body = fn(&Communicator) -> Result<(), Error>;

/// Runs a body by three ranks of one node, and of two.
fn on_one_node_and_two(body: Body) {
    let one = threads::run(3, |comm| body(&comm)).expect("nobody panics");
    let places = Places::new(&[0, 1, 0]).expect("there are ranks");
    let network = Threads::new(3);
    let two = threads::run_on_nodes(&places, &network, |comm| body(&comm));
    for ended in [one, two.expect("nobody panics")] {
        assert!(ended.iter().all(Result::is_ok), "{ended:?}");
    }
}

fn broadcast(comm: &Communicator) -> Result<(), Error> {
    let mut word = [comm.rank()];
    comm.run(operation::broadcast(&mut word, 0))?;
    assert_eq!(word, [0]);
    Ok(())
}

fn sum(comm: &Communicator) -> Result<(), Error> {
    let mut sum = [comm.rank() as u64];
    comm.run(operation::allreduce_in_place(&mut sum, &Sum))?;
    assert_eq!(sum, [3]);
    Ok(())
}

/// Whether it is an error that says which rank has refused what.
fn says(error: &Error, of: u32, refused: Collective) -> bool {
    fn is_it(error: &TransportError, of: u32, refused: Collective) -> bool {
        match error {
            TransportError::CallRefused { rank, collective } => {
                (*rank, *collective) == (of, refused)
            }
            TransportError::Poisoned { error, .. } => is_it(error, of, refused),
            _ => false,
        }
    }
    matches!(error, Error::Transport(error) if is_it(error, of, refused))
}

#[test]
fn what_one_rank_alone_has_refused_counts_as_nothing() {
    on_one_node_and_two(|comm| {
        for round in 0..6 {
            if comm.rank() == round % 3 {
                comm.note_refusal(BROADCAST, 0);
                comm.note_refusal(GATHER_V, 0);
            }
            // The same collective as one that is refused, too.
            if round < 3 {
                broadcast(comm)?;
            }
            sum(comm)?;
        }
        Ok(())
    });
}

#[test]
fn what_all_ranks_have_refused_counts_as_nothing() {
    on_one_node_and_two(|comm| {
        comm.note_refusal(BROADCAST, 0);
        if comm.rank() == 1 {
            // Longer than the others wait for one who refused what they did not.
            std::thread::sleep(Duration::from_millis(2500));
        }
        broadcast(comm)?;
        sum(comm)
    });
}

#[test]
fn what_was_made_after_all_is_forgotten() {
    on_one_node_and_two(|comm| {
        if comm.rank() == 1 {
            comm.note_refusal(GATHER_V, 0);
            comm.note_refusal(BROADCAST, 0);
            comm.forget_refusal(0);
            std::thread::sleep(Duration::from_millis(2500));
        }
        broadcast(comm)
    });
}

#[test]
fn others_who_make_a_refused_call_fail_when_the_rank_makes_another() {
    on_one_node_and_two(|comm| {
        sum(comm)?;
        let made = if comm.rank() == 1 {
            comm.note_refusal(BROADCAST, 0);
            comm.note_refusal(GATHER_V, 0);
            let made = sum(comm);
            assert_eq!(comm.stopped_by_refusal(), Some(vec![GATHER_V]));
            made
        } else {
            // The root may be through with it before it hears.
            broadcast(comm).and_then(|()| sum(comm))
        };
        assert_eq!(comm.stops_from(), 1);
        let error = made.expect_err("the calls differ");
        assert!(says(&error, 1, Collective::Broadcast), "{error}");
        Ok(())
    });
}

#[test]
fn counts_that_others_tell_one_another_are_of_the_refused_call() {
    let ended = threads::run(3, |comm| {
        let rank = comm.rank();
        if rank == 1 {
            comm.note_refusal(GATHER_V, 0);
            return comm.barrier();
        }
        let (counts, mut output) = ([1, 1, 1], [0; 3]);
        let (counts, output): (&[usize], _) = match rank {
            0 => (&counts, &mut output[..]),
            _ => (&[], &mut output[..0]),
        };
        comm.run(operation::gather_v(&[rank], output, counts, 0).algorithm("binomial"))
    });
    let ended = ended.expect("nobody panics");
    let said = |end: &Result<(), Error>| matches!(end, Err(error) if says(error, 1, Collective::Broadcast));
    // Who only sends may be through before it hears.
    assert!(ended[2].is_ok() || said(&ended[2]), "{ended:?}");
    assert!(ended[..2].iter().all(said), "{ended:?}");
}

#[test]
fn others_do_not_wait_for_a_rank_that_does_not_come() {
    on_one_node_and_two(|comm| {
        let since = Instant::now();
        if comm.rank() == 0 {
            comm.note_refusal(BROADCAST, 0);
            std::thread::sleep(Duration::from_secs(4));
            return Ok(());
        }
        let error = broadcast(comm).expect_err("the root is not there");
        assert!(says(&error, 0, Collective::Broadcast), "{error}");
        assert!(since.elapsed() < Duration::from_millis(3500));
        Ok(())
    });
}
