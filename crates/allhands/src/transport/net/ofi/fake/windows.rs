//! Windows that are withdrawn, ranks that are lost, and puts that are taken back.

use super::super::abi::{MR_ENDPOINT, MR_PROV_KEY};
use super::puts::{DELIVERY, ORDER, expose, hear, of_rails, put, raise};
use super::tests::{assert_idle, content, end, look, pair_on};
use super::{Traits, world};
use crate::transport::net::{Ended, Network, SignedCall, Ticket, WindowMemory};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The provider's world ends the process if memory is closed to which something is on its way.
#[test]
fn memory_of_a_window_stays_until_nothing_comes_any_more() {
    for (traits, rails) in [ORDER, DELIVERY]
        .into_iter()
        .flat_map(|it| [(it, 1), (it, 3)])
    {
        for full_every in [0, 3] {
            let traits = Traits {
                full_every,
                mr_mode: MR_PROV_KEY,
                ..traits
            };
            let mut all = pair_on(rails, traits);
            let mut memory = vec![0; 100_000];
            let keeper = Arc::new(());
            let (number, mut window) = expose(&mut all[1], &mut memory, 2);
            let sent = content(90_000, 1);
            let early = put(&mut all[0], &mut window, 7, &sent).unwrap();
            let short = put(&mut all[0], &mut window, 1, &sent[..6]).unwrap();
            raise(&mut all[0], &mut window, 1, 1);
            all[1].withdraw(number, WindowMemory::new(Arc::clone(&keeper)));
            for _ in 0..20 {
                all[1].progress().unwrap();
            }
            assert_eq!(Arc::strong_count(&keeper), 2, "rank 0 does not know yet");
            assert!(of_rails(&all[1], world::windows) > 0);
            look(&mut all);
            look(&mut all);
            assert_eq!(Arc::strong_count(&keeper), 1, "{traits:?} on {rails}");
            assert_eq!(of_rails(&all[1], world::windows), 0);
            memory.fill(9);
            assert_eq!(end(&mut all, 0, early).unwrap(), Ended::Whole(90_000));
            assert_eq!(end(&mut all, 0, short).unwrap(), Ended::Whole(6));
            // What is put there later is thrown away, and its rank is none the worse.
            let late = put(&mut all[0], &mut window, 7, &sent).unwrap();
            raise(&mut all[0], &mut window, 1, 2);
            assert_eq!(end(&mut all, 0, late).unwrap(), Ended::Whole(90_000));
            look(&mut all);
            assert_eq!(all[1].raised(), None);
            assert!(memory.iter().all(|byte| *byte == 9));
            // Nobody put into this one, and this one is new.
            let (number, _) = expose(&mut all[1], &mut memory, 1);
            let mut few = [0; 10];
            let (_, mut window) = expose(&mut all[1], &mut few, 1);
            all[1].withdraw(number, WindowMemory::new(Arc::clone(&keeper)));
            look(&mut all);
            assert_eq!(Arc::strong_count(&keeper), 1);
            raise(&mut all[0], &mut window, 0, 3);
            assert_eq!(hear(&mut all, 1).by.call, 3);
            assert_idle(&mut all, traits);
        }
    }
}

#[test]
fn memory_that_a_lost_rank_might_write_to_stays_until_the_endpoint_is_closed() {
    for traits in [ORDER, DELIVERY] {
        let [mut zero, one] = pair_on(2, traits);
        let mut memory = vec![0; 1000];
        let keeper = Arc::new(());
        let (number, _) = expose(&mut zero, &mut memory, 1);
        drop(one);
        zero.withdraw(number, WindowMemory::new(Arc::clone(&keeper)));
        for _ in 0..20 {
            zero.progress().unwrap();
        }
        assert_eq!(Arc::strong_count(&keeper), 2);
        drop(zero);
        assert_eq!(Arc::strong_count(&keeper), 1);
    }
    // One that does not close while memory is bound to it closes all the same.
    for closes_bound in [false, true] {
        let mut all = pair_on(
            1,
            Traits {
                mr_mode: MR_ENDPOINT,
                closes_bound,
                ..ORDER
            },
        );
        let mut memory = vec![0; 1000];
        let keeper = Arc::new(());
        let mut more = [0; 100];
        let (number, _) = expose(&mut all[0], &mut memory, 1);
        let (other, _) = expose(&mut all[0], &mut more, 1);
        all[0].withdraw(number, WindowMemory::new(Arc::clone(&keeper)));
        all[0].abandon();
        assert_eq!(Arc::strong_count(&keeper), 1);
        assert_eq!(of_rails(&all[0], world::windows), 0);
        all[0].withdraw(other, WindowMemory::new(Arc::clone(&keeper)));
        assert_eq!(Arc::strong_count(&keeper), 1);
    }
}

/// A put that is taken back before the provider has it leaves no flag behind it that is heard; others are.
#[test]
fn what_is_taken_back_leaves_no_flag_behind() {
    for traits in [ORDER, DELIVERY] {
        let mut all = pair_on(
            1,
            Traits {
                full_every: 2,
                ..traits
            },
        );
        let (mut memory, mut other) = (vec![0; 30_000], vec![0; 100]);
        let (_, mut window) = expose(&mut all[1], &mut memory, 1);
        let (_, mut next) = expose(&mut all[1], &mut other, 1);
        let sent = content(20_000, 4);
        // Every second one has no place.
        let puts: Vec<Ticket> = (0..4)
            .map(|at| put(&mut all[0], &mut window, at, &sent).unwrap())
            .collect();
        raise(&mut all[0], &mut window, 0, 1);
        let good = put(&mut all[0], &mut next, 0, &[5; 100]).unwrap();
        raise(&mut all[0], &mut next, 0, 2);
        let last = *puts.last().unwrap();
        assert!(all[0].cancel(last), "it waits");
        assert!(all[0].test(last).is_err());
        assert_eq!(hear(&mut all, 1).by.call, 2);
        assert_eq!(other, [5; 100]);
        look(&mut all);
        assert_eq!(all[1].raised(), None);
        for ticket in puts.into_iter().rev().skip(1) {
            assert_eq!(end(&mut all, 0, ticket).unwrap(), Ended::Whole(20_000));
        }
        assert_eq!(end(&mut all, 0, good).unwrap(), Ended::Whole(100));
        raise(&mut all[0], &mut window, 0, 3);
        look(&mut all);
        assert_eq!(
            all[1].raised(),
            None,
            "of that window no flag is heard any more"
        );
        assert!(all[0].is_idle());
    }
}

/// A put that never ends, as its goal does not look, ends with the endpoint.
#[test]
fn a_put_that_cannot_be_taken_back_ends_with_the_endpoint() {
    let mut all = pair_on(2, DELIVERY);
    let mut memory = vec![0; 30_000];
    let (_, mut window) = expose(&mut all[1], &mut memory, 1);
    let sent = content(20_000, 4);
    let away = put(&mut all[0], &mut window, 4, &sent).unwrap();
    assert!(!all[0].cancel(away));
    let begun = Instant::now();
    while !all[0].cancel(away) {
        assert!(begun.elapsed() < Duration::from_secs(5));
    }
    assert!(begun.elapsed() >= Duration::from_millis(40));
    drop(sent);
    look(&mut all[1..]);
    let said = put(&mut all[0], &mut window, 0, &[1])
        .unwrap_err()
        .to_string();
    assert!(said.contains("could not be taken back"), "{said}");
}

#[test]
fn a_rank_that_is_gone_is_named_by_who_attends_to_it() {
    for traits in [ORDER, DELIVERY] {
        let [mut zero, mut one] = pair_on(2, traits);
        let mut memory = vec![0; 100];
        let (_, mut window) = expose(&mut one, &mut memory, 1);
        let attends = zero.attend(1).unwrap();
        assert_eq!(zero.test(attends).unwrap(), None);
        assert!(zero.cancel(attends) && zero.test(attends).is_err());
        let attends = zero.attend(1).unwrap();
        drop(one);
        let begun = Instant::now();
        let said = end(std::slice::from_mut(&mut zero), 0, attends).unwrap_err();
        assert!(said.to_string().starts_with("rank 1 is lost: "), "{said}");
        assert!(begun.elapsed() < Duration::from_secs(5));
        assert!(zero.cancel(attends));
        let said = put(&mut zero, &mut window, 0, &[1]).unwrap_err();
        assert_eq!(said.lost().map(|lost| lost.rank), Some(1));
        let said = zero.raise(1, &mut window, 0, SignedCall::default());
        assert_eq!(said.unwrap_err().lost().map(|lost| lost.rank), Some(1));
    }
}

/// Keys of windows are never used again, and when none are left there is no window.
#[test]
fn keys_are_never_used_twice() {
    let mut all = pair_on(1, ORDER);
    let mut memory = vec![0; 100];
    let mut keys = std::collections::BTreeSet::new();
    for _ in 0..100 {
        let (number, window) = expose(&mut all[1], &mut memory, 1);
        let [.., key] = window.descriptor.words();
        assert!(keys.insert(key));
        all[1].withdraw(number, WindowMemory::new(()));
        look(&mut all);
    }
    let before = of_rails(&all[1], world::windows);
    let refused = (0..1 << 16).find_map(|_| {
        // SAFETY: nobody puts there, and it outlives the network.
        let exposed = unsafe { all[1].expose((memory.as_mut_ptr(), 100), 1, &[]) };
        exposed
            .map(|exposed| all[1].withdraw(exposed.number, WindowMemory::new(())))
            .err()
    });
    let said = refused.unwrap().to_string();
    assert!(
        said.starts_with("libfabric cannot register a window of 100 bytes"),
        "{said}"
    );
    assert_eq!(of_rails(&all[1], world::windows), before);
}
