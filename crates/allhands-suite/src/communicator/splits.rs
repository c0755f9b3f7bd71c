//! Communicators out of communicators, wherever their ranks are: grids, copies of copies, ends in any order, and faults in one of them.

use super::{DIFFERING, LENGTH, told_of_differing};
use allhands::operation;
use allhands::{Communicator, Error, Sum};

/// Sums up on each of these communicators, which begin all calls before any ends.
fn at_the_same_time(comms: &[&Communicator], elements: usize) -> Result<(), Error> {
    let mut requests = Vec::new();
    for comm in comms {
        let mine = vec![comm.rank() as u64 + 1; elements];
        requests.push(comm.start(mine, |v| operation::allreduce_in_place(v, &Sum))?);
    }
    // Who began first ends last.
    for (comm, request) in comms.iter().zip(requests).rev() {
        let ranks = comm.size() as u64;
        let sums = request.wait()?;
        assert!(sums.iter().all(|sum| *sum == ranks * (ranks + 1) / 2));
    }
    Ok(())
}

/// Each rank has a word from the one before it.
fn words_go_round(comm: &Communicator, tag: u32, elements: usize) -> Result<(), Error> {
    let (rank, ranks) = (comm.rank(), comm.size());
    let (to, from) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
    let mut came = vec![0; elements];
    comm.sendrecv(&vec![rank; elements], to, tag, &mut came, from, tag)?;
    assert!(came.iter().all(|word| *word == from));
    Ok(())
}

/// Rows, columns and all, with calls and messages in several of them at once.
pub fn rows_and_columns_of_a_grid(comm: &Communicator) -> Result<(), Error> {
    let (rank, ranks) = (comm.rank(), comm.size());
    for columns in [1, 2, 3, 5] {
        let (row, column) = (rank / columns, rank % columns);
        let of = |colour: usize, key: usize| comm.split(Some(colour as u32), key as u64);
        let along = of(row, column)?.expect("it has a colour");
        let across = of(column, row)?.expect("it has a colour");
        let last = (row + 1) * columns;
        assert_eq!(along.size(), last.min(ranks) - row * columns);
        assert_eq!((along.rank(), across.rank()), (column, row));
        for elements in [1, 3000, 40_000] {
            at_the_same_time(&[&along, &across, comm], elements)?;
            words_go_round(&across, 7, elements)?;
            words_go_round(&along, 7, elements)?;
        }
        // Calls of the whole, out of those of its parts.
        let mut sum = [rank as u64];
        along.allreduce_in_place(&mut sum, Sum)?;
        let mut sums = vec![0; across.size()];
        across.allgather(&sum, &mut sums)?;
        if ranks.is_multiple_of(columns) {
            let all = (ranks * (ranks - 1) / 2) as u64;
            assert_eq!(sums.iter().sum::<u64>(), all);
        }
    }
    Ok(())
}

/// A rank without a colour gets none, and goes on.
pub fn who_has_no_colour_gets_no_communicator(comm: &Communicator) -> Result<(), Error> {
    for alone in 0..comm.size().min(3) {
        let colour = (comm.rank() != alone).then_some(5);
        let most = comm.split(colour, 0)?;
        assert_eq!(most.is_some(), comm.rank() != alone);
        if let Some(most) = &most {
            at_the_same_time(&[most], 100)?;
        }
        let both = [most.as_ref(), Some(comm)].map(Option::into_iter);
        at_the_same_time(&both.into_iter().flatten().collect::<Vec<_>>(), 2000)?;
    }
    assert!(comm.split(None, 0)?.is_none());
    Ok(())
}

/// A copy of a copy of a part, all of which live on when what they were made of is gone.
pub fn copies_of_copies_outlive_what_they_were_made_of(comm: &Communicator) -> Result<(), Error> {
    let part = comm.split(Some(comm.rank() as u32 % 2), 0)?;
    let part = part.expect("it has a colour");
    let copy = part.dup()?;
    let last = copy.dup()?;
    at_the_same_time(&[&last, &part, &copy], 3000)?;
    drop(part);
    at_the_same_time(&[&last, &copy], 10)?;
    drop(copy);
    let backwards = last.split(Some(1), 100 - last.rank() as u64)?;
    let backwards = backwards.expect("it has a colour");
    drop(last);
    assert_eq!(backwards.rank(), backwards.size() - 1 - comm.rank() / 2);
    words_go_round(&backwards, 0, 9000)?;
    at_the_same_time(&[&backwards, comm], 3000)
}

/// Ranks drop several communicators, each in an order of its own, many times over.
pub fn ranks_drop_in_orders_of_their_own(comm: &Communicator) -> Result<(), Error> {
    for round in 0..12 {
        let mut copies = Vec::new();
        for _ in 0..4 {
            copies.push(comm.dup()?);
        }
        for copy in &copies {
            at_the_same_time(&[copy], 1 + 2000 * (round % 2))?;
        }
        while !copies.is_empty() {
            drop(copies.swap_remove((comm.rank() + round) % copies.len()));
        }
        at_the_same_time(&[comm], 100)?;
    }
    Ok(())
}

/// Rank 0 goes on in communicators that all others have dropped, and tells them more than they keep for it: those that are left
/// carry on.
pub fn what_is_sent_to_who_has_dropped_harms_nobody(comm: &Communicator) -> Result<(), Error> {
    for round in 0..20 {
        let copy = comm.dup()?;
        if comm.rank() == 0 {
            let start = || {
                copy.start(vec![1u8; 3000], |v| {
                    operation::broadcast(v, 0).algorithm("linear")
                })
            };
            let requests: Vec<_> = (0..20).map(|_| start()).collect();
            for request in requests {
                // Whether it hears in time that they have left is chance.
                let _ = request.and_then(|request| request.wait());
            }
            for to in 1..comm.size() {
                let _ = copy.send(&vec![1u8; 100_000 * (round % 2)], to, 3);
            }
        }
        drop(copy);
        at_the_same_time(&[comm], 5000)?;
        words_go_round(comm, 3, 700)?;
    }
    Ok(())
}

/// Ranks call differently, or leave, in one of two communicators; the other one carries on, and so does what both were made of.
/// For 4 ranks.
pub fn a_fault_in_one_leaves_the_others_usable(comm: &Communicator) -> Result<(), Error> {
    faults_leave_others_usable(comm, true)
}

/// The same; without differing lengths, no message is longer than the receive that waits for it.
pub fn faults_leave_others_usable(comm: &Communicator, lengths_differ: bool) -> Result<(), Error> {
    let (bad, good) = (comm.dup()?, comm.dup()?);
    let is_tried = |which: &usize| lengths_differ || DIFFERING[*which].0 != LENGTH;
    for which in (0..DIFFERING.len()).filter(is_tried) {
        let worse = good.dup()?;
        // One byte fits into whatever is received.
        told_of_differing(&worse, which, if lengths_differ { 9 } else { 1 });
        at_the_same_time(&[&good, comm], 3000)?;
    }
    if comm.rank() == 1 {
        drop(bad);
    } else {
        let said = bad.allreduce_in_place(&mut [0u8; 2], Sum);
        let said = said.expect_err("rank 1 is gone").to_string();
        assert!(said.contains("rank 1 left"), "{said}");
    }
    at_the_same_time(&[&good, comm], 3000)?;
    words_go_round(&good, 1, 5000)
}

/// One rank calls differently in a part of the ranks, where it has another number; it is the one of the part that is named.
/// For 4 ranks.
pub fn errors_name_ranks_as_their_communicator_does(comm: &Communicator) -> Result<(), Error> {
    // Ranks 3, 2 and 0, in this order.
    let colour = (comm.rank() != 1).then_some(0);
    let Some(part) = comm.split(colour, 9 - comm.rank() as u64)? else {
        return Ok(());
    };
    if comm.rank() == 3 {
        return Ok(());
    }
    let said = part.allreduce_in_place(&mut [0u8; 2], Sum);
    let said = said.expect_err("one has left").to_string();
    assert!(said.contains("rank 0 left"), "{said}");
    Ok(())
}
