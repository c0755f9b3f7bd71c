//! Messages, puts and flags among threads.

use super::*;

fn pair(threads: Threads) -> [ThreadsNetwork; 2] {
    [0, 1].map(|rank| threads.network(rank))
}

fn send(network: &mut ThreadsNetwork, tag: u32, bytes: &[u8]) -> Ticket {
    // SAFETY: the tests keep what they send until it has ended or is over.
    unsafe { network.send(1, tag, bytes.as_ptr(), bytes.len()) }.unwrap()
}

fn receive(network: &mut ThreadsNetwork, tag: u32, into: &mut [u8]) -> Ticket {
    // SAFETY: as above.
    unsafe { network.receive(0, tag, into.as_mut_ptr(), into.len()) }.unwrap()
}

fn end(all: &mut [ThreadsNetwork; 2], rank: usize, ticket: Ticket) -> Ended {
    for _ in 0..1000 {
        all.iter_mut()
            .for_each(|network| network.progress().unwrap());
        if let Some(ended) = all[rank].test(ticket).unwrap() {
            return ended;
        }
    }
    panic!("{ticket:?} of rank {rank} does not end");
}

#[test]
fn messages_of_a_tag_keep_their_order_and_others_do_not() {
    let disorder = Disorder {
        seed: 5,
        most_looks: 50,
    };
    let mut all = pair(Threads::new(2).with_short_bytes(2).in_disorder(disorder));
    let messages: Vec<Vec<u8>> = (1..=20).map(|n| vec![n; 1 + n as usize % 4]).collect();
    for (at, message) in (0..).zip(&messages) {
        send(&mut all[0], at % 2, message);
    }
    let (mut into, mut order) = (vec![[0u8; 4]; 20], Vec::new());
    let mut tickets: Vec<(u32, Ticket)> = (0..20)
        .map(|at| (at, receive(&mut all[1], at % 2, &mut into[at as usize])))
        .collect();
    while !tickets.is_empty() {
        all[1].progress().unwrap();
        tickets.retain(|(at, ticket)| {
            let ended = all[1].test(*ticket).unwrap();
            order.extend(ended.map(|_| *at));
            ended.is_none()
        });
    }
    for (message, into) in messages.iter().zip(&into) {
        assert_eq!(message[..], into[..message.len()]);
    }
    let of_tag = |tag| order.iter().filter(|at| *at % 2 == tag).is_sorted();
    assert!(of_tag(0) && of_tag(1) && !order.is_sorted(), "{order:?}");
}

#[test]
fn long_messages_are_away_when_they_are_received_and_can_be_taken_back() {
    let mut all = pair(Threads::new(2).with_short_bytes(3));
    let (long, mut into) = ([7u8; 9], [0u8; 9]);
    let first = send(&mut all[0], 4, &long);
    all[0].progress().unwrap();
    assert_eq!(all[0].test(first).unwrap(), None);
    assert!(all[0].cancel(first));
    let second = send(&mut all[0], 4, &long[..8]);
    let ticket = receive(&mut all[1], 4, &mut into);
    assert_eq!(end(&mut all, 1, ticket), Ended::Whole(8));
    assert_eq!(end(&mut all, 0, second), Ended::Whole(8));
    let third = send(&mut all[0], 4, &long);
    let ticket = receive(&mut all[1], 4, &mut into[..5]);
    assert_eq!(end(&mut all, 1, ticket), Ended::TooLong);
    assert_eq!(end(&mut all, 0, third), Ended::Whole(9));
    // SAFETY: nothing is sent to a rank that there is not.
    let nobody = unsafe { all[0].send(2, 0, long.as_ptr(), 1) };
    assert_eq!(
        nobody.unwrap_err().to_string(),
        "there is no rank 2 among 2"
    );
}
