//! Long messages that go one way, again and again, so that their receivers try every copy protocol on them.

use crate::world::{self, this_test};
use allhands::{Communicator, Error, Sum, operation};

/// As many calls as come before the first trial and in it.
const CALLS: u64 = 200;

/// Longer than several pipeline buffers' parts, and not a whole number of them.
const ELEMENTS: usize = 100_003;

fn element(call: u64, at: usize) -> u64 {
    call * 1_000_003 + at as u64
}

fn broadcasts_and_reduces(comm: &Communicator) -> Result<(), Error> {
    let (mut message, mut sum) = (vec![0; ELEMENTS], vec![0; ELEMENTS]);
    let ranks = comm.size() as u64;
    for call in 0..CALLS {
        if comm.rank() == 0 {
            (0..)
                .zip(&mut message)
                .for_each(|(at, m)| *m = element(call, at));
        }
        comm.run(operation::broadcast(&mut message, 0).algorithm("binomial"))?;
        let right = (0..).zip(&message).all(|(at, m)| *m == element(call, at));
        assert!(right, "broadcast {call}");
        let output = match comm.rank() {
            0 => &mut sum[..],
            _ => &mut [],
        };
        comm.run(operation::reduce(&message, output, &Sum, 0).algorithm("binomial"))?;
        let right = (0..)
            .zip(&sum)
            .all(|(at, s)| *s == ranks * element(call, at));
        assert!(comm.rank() > 0 || right, "reduce {call}");
    }
    Ok(())
}

#[test]
fn they_arrive_by_every_protocol() {
    world::run(this_test!(), 2, |comm| broadcasts_and_reduces(&comm));
}

#[test]
fn they_arrive_though_their_receiver_waits_for_a_later_one() {
    world::run(this_test!(), 2, |comm| {
        broadcasts_and_reduces(&comm)?;
        for call in 0..CALLS {
            let mut requests = Vec::new();
            for which in 0..2 {
                let message: Vec<u64> = match comm.rank() {
                    0 => (0..ELEMENTS).map(|at| element(call + which, at)).collect(),
                    _ => vec![0; ELEMENTS],
                };
                let request = comm.start(message, |message| {
                    operation::broadcast(message, 0).algorithm("binomial")
                })?;
                requests.push((which, request));
            }
            for (which, request) in requests.into_iter().rev() {
                let message = request.wait()?;
                let is = |(at, m): (usize, &u64)| *m == element(call + which, at);
                assert!((0..).zip(&message).all(is), "broadcast {call}, {which}");
            }
        }
        Ok::<(), Error>(())
    });
}
