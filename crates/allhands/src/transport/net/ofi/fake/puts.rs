//! Windows on providers that guarantee what is put in either way, or in none, with memory of every kind.

use super::super::abi::{MR_ALLOCATED, MR_ENDPOINT, MR_LOCAL, MR_PROV_KEY, MR_RAW, MR_VIRT_ADDR};
use super::super::capabilities::Guarantee;
use super::super::driver::OfiNetwork;
use super::tests::{content, end, exchange, look, pair_on};
use super::{Traits, world};
use crate::transport::net::{
    Descriptor, Ended, Network, NetworkError, Raised, RemoteWindow, SignedCall, Ticket,
    WindowMemory,
};
use std::iter::Sum;
use std::time::{Duration, Instant};

pub(super) const ORDER: Traits = Traits {
    tells_delivery: false,
    ..Traits::KIND
};
pub(super) const DELIVERY: Traits = Traits {
    orders_writes: false,
    ..Traits::KIND
};

/// Lets the other rank put into memory of a rank's; the window as both see it.
pub(super) fn expose(
    network: &mut OfiNetwork,
    memory: &mut [u8],
    flags: u16,
) -> (u64, RemoteWindow) {
    let memory = (memory.as_mut_ptr(), memory.len());
    let by = [1 - network.rank];
    // SAFETY: the tests look at the memory only when a flag says that all is there, and keep it until the network lets it go.
    let exposed = unsafe { network.expose(memory, flags, &by) }.unwrap();
    (exposed.number, RemoteWindow::new(exposed.descriptor))
}

pub(super) fn put(
    network: &mut OfiNetwork,
    window: &mut RemoteWindow,
    offset: usize,
    from: &[u8],
) -> Result<Ticket, NetworkError> {
    let to = 1 - network.rank;
    // SAFETY: the tests keep what they put until that has ended or is over.
    unsafe { network.put(to, window, offset, (from.as_ptr(), from.len())) }
}

pub(super) fn raise(network: &mut OfiNetwork, window: &mut RemoteWindow, flag: u16, call: u64) {
    let by = SignedCall { call, signature: 5 };
    let to = 1 - network.rank;
    network.raise(to, window, flag, by).unwrap();
}

pub(super) fn hear(all: &mut [OfiNetwork; 2], at: usize) -> Raised {
    let until = Instant::now() + Duration::from_secs(10);
    while Instant::now() < until {
        if let Some(raised) = all[at].raised() {
            return raised;
        }
        for network in &mut *all {
            network.progress().unwrap();
        }
    }
    panic!("rank {at} hears of no flag");
}

/// What the world says of all rails of a rank.
pub(super) fn of_rails<N: Sum>(network: &OfiNetwork, of_rail: impl Fn(u64) -> N) -> N {
    let number = |address: &[u8]| u64::from_ne_bytes(*address.first_chunk().unwrap());
    let rails = network.rails.iter();
    rails
        .map(|rail| of_rail(number(&rail.endpoint.own_card().address)))
        .sum()
}

/// How long what is put is.
const LENGTHS: [usize; 10] = [0, 1, 63, 100, 101, 2047, 5000, 16_385, 70_000, 3];
/// Behind so many puts a flag is raised, and another behind all.
const FIRST: usize = 7;

/// Where everything goes that is put into a window, one behind the other with gaps between them.
fn offsets(first: usize) -> impl Iterator<Item = usize> {
    let ends = LENGTHS.iter().enumerate();
    let next = ends.scan(first, |at, (salt, bytes)| {
        let begin = *at;
        *at += bytes + salt;
        Some(begin)
    });
    next.collect::<Vec<_>>().into_iter()
}

/// Puts everything into a window of the other rank, and raises its flags; the tickets with their lengths.
fn put_all(
    network: &mut OfiNetwork,
    window: &mut RemoteWindow,
    (first, call): (usize, u64),
    sent: &[Vec<u8>],
) -> Vec<(Ticket, usize)> {
    let mut away = Vec::new();
    for (bytes, at) in sent.iter().zip(offsets(first)) {
        away.push((put(network, window, at, bytes).unwrap(), bytes.len()));
        if away.len() == FIRST {
            raise(network, window, 1, call);
        }
    }
    raise(network, window, 2, call);
    away
}

/// Puts of many lengths go both ways into two windows of each rank; each flag comes behind what was put to its window before.
fn put_and_raise(all: &mut [OfiNetwork; 2], what: &str) {
    let mut memory = [0, 1].map(|_| [0, 1].map(|_| vec![0; 200_000]));
    let mut windows = [0, 1].map(|rank| {
        let [first, second] = &mut memory[rank];
        let network = &mut all[rank];
        [expose(network, first, 3), expose(network, second, 3)]
    });
    for round in 0..4_usize {
        let call = 10 + round as u64;
        let sent = LENGTHS.iter().zip(round..);
        let sent: Vec<Vec<u8>> = sent.map(|(bytes, salt)| content(*bytes, salt)).collect();
        let mut away = Vec::new();
        for (rank, theirs) in windows.iter_mut().rev().enumerate() {
            for (which, (_, window)) in theirs.iter_mut().enumerate() {
                let tickets = put_all(&mut all[rank], window, (round + which, call), &sent);
                away.extend(
                    tickets
                        .into_iter()
                        .map(|(ticket, bytes)| (rank, ticket, bytes)),
                );
            }
        }
        for (rank, own) in windows.iter().enumerate() {
            let mut heard = [0; 2];
            while heard != [2; 2] {
                let raised = hear(all, rank);
                let which = own.iter().position(|(number, _)| *number == raised.window);
                let which = which.unwrap();
                heard[which] += 1;
                let by = SignedCall { call, signature: 5 };
                let right = (1 - rank as u32, heard[which], by);
                assert_eq!((raised.from, raised.flag, raised.by), right, "{what}");
                let there = if raised.flag == 1 { FIRST } else { sent.len() };
                for (bytes, at) in sent.iter().zip(offsets(round + which)).take(there) {
                    let found = &memory[rank][which][at..][..bytes.len()];
                    assert!(found == bytes, "{} bytes, {what}", bytes.len());
                }
            }
        }
        for (rank, ticket, bytes) in away {
            assert_eq!(end(all, rank, ticket).unwrap(), Ended::Whole(bytes));
        }
        look(all);
        for network in &*all {
            // A round's puts with their parts, its flags on all rails, and the receives for signals.
            let most = network.rails.len() * (2 * LENGTHS.len() + 4 + 16);
            assert!(
                network.operations.slots() <= most,
                "slots are used again: {what}"
            );
        }
        assert!(all.iter_mut().all(|network| network.is_away()), "{what}");
    }
    for rank in 0..2 {
        for (number, _) in windows[rank] {
            all[rank].withdraw(number, WindowMemory::new(()));
        }
    }
    look(all);
}

#[test]
fn flags_come_behind_all_that_was_put_over_every_kind_of_provider() {
    let all = MR_LOCAL | MR_VIRT_ADDR | MR_ALLOCATED | MR_PROV_KEY | MR_ENDPOINT;
    let modes = [
        0,
        MR_VIRT_ADDR | MR_PROV_KEY,
        MR_LOCAL,
        MR_LOCAL | MR_PROV_KEY,
        MR_LOCAL | MR_ENDPOINT,
        all,
    ];
    let kinds = [
        (ORDER, Guarantee::Order),
        (DELIVERY, Guarantee::Delivery),
        (Traits::KIND, Guarantee::Order),
    ];
    for (traits, guarantee) in kinds {
        for mr_mode in modes {
            for at in 0..12 {
                let rails = 1 + at % 3;
                let traits = Traits {
                    mr_mode,
                    is_ordered: at % 2 == 0,
                    inject_bytes: [0, 8, 64, 64][at % 4],
                    full_every: [0, 3, 2][at / 3 % 3],
                    notes: [0, 4, 8][at / 4],
                    tag_bits: [64, 48][at % 2],
                    closes_bound: at % 4 < 2,
                    key_bytes: [2, 4, 8][at % 3],
                    ..traits
                };
                let what = format!("{traits:?} on {rails}");
                let mut all = pair_on(rails, traits);
                assert!(all.iter().all(|network| network.has_windows()), "{what}");
                assert_eq!(all[0].guarantee, Some(guarantee), "{what}");
                if at % 4 == 3 {
                    let rates: Vec<f64> = (0..rails).map(|rail| 1.0 + rail as f64).collect();
                    all.iter_mut().for_each(|network| network.share(&rates));
                }
                put_and_raise(&mut all, &what);
                exchange(&mut all);
                look(&mut all);
                for network in &all {
                    assert_eq!(of_rails(network, world::windows), 0, "{what}");
                    assert!(network.is_idle(), "{what}");
                }
            }
        }
    }
}

/// Which capabilities lead to windows, and by which guarantee; messages go in any case.
#[test]
fn there_are_windows_where_a_provider_can_have_them() {
    for at in 0..8 {
        let bit = |n: usize| at >> n & 1 == 1;
        let traits = Traits {
            writes: bit(0),
            orders_writes: bit(1),
            tells_delivery: bit(2),
            ..Traits::KIND
        };
        let right = match (bit(0), bit(1), bit(2)) {
            (true, true, _) => Some(Guarantee::Order),
            (true, false, true) => Some(Guarantee::Delivery),
            _ => None,
        };
        assert_guarantee(traits, right);
    }
    let few_bits = Traits {
        // Enough for a message's tag, and not for a signal's, too.
        tag_bits: 9,
        ..Traits::KIND
    };
    let short_keys = Traits {
        key_bytes: 1,
        ..Traits::KIND
    };
    let long_keys = Traits {
        key_bytes: 16,
        ..Traits::KIND
    };
    for traits in [few_bits, short_keys, long_keys] {
        assert_guarantee(traits, None);
    }
    // Who wants keys to be mapped serves nobody who does not, for messages neither.
    let raw = Traits {
        mr_mode: MR_RAW,
        ..Traits::KIND
    };
    assert!(std::panic::catch_unwind(|| pair_on(1, raw)).is_err());
}

fn assert_guarantee(traits: Traits, right: Option<Guarantee>) {
    let mut all = pair_on(1, traits);
    assert_eq!(all[0].guarantee, right, "{traits:?}");
    assert_eq!(all[1].has_windows(), right.is_some());
    exchange(&mut all);
    if right.is_none() {
        let memory = [0; 8].as_mut_ptr();
        let mut window = RemoteWindow::new(Descriptor([0; Descriptor::BYTES]));
        // SAFETY: there are no windows.
        let exposed = unsafe { all[0].expose((memory, 8), 1, &[1]) };
        assert_eq!(exposed, Err(NetworkError::NoWindows));
        let put = put(&mut all[0], &mut window, 0, &[1]);
        assert_eq!(put, Err(NetworkError::NoWindows));
        let raised = all[0].raise(1, &mut window, 0, SignedCall::default());
        assert_eq!(raised, Err(NetworkError::NoWindows));
    }
}

#[test]
fn puts_that_do_not_fit_are_errors_before_anything_is_sent() {
    for mr_mode in [0, MR_VIRT_ADDR] {
        let mut all = pair_on(2, Traits { mr_mode, ..ORDER });
        let mut memory = vec![7; 100];
        let (_, mut window) = expose(&mut all[1], &mut memory, 2);
        let at_first = put(&mut all[0], &mut window, 0, &[]).unwrap();
        assert_eq!(end(&mut all, 0, at_first).unwrap(), Ended::Whole(0));
        let before = of_rails(&all[0], world::calls);
        for (offset, bytes) in [(99, 2), (101, 0), (usize::MAX, 2), (0, 101)] {
            let sent = vec![1; bytes];
            let said = put(&mut all[0], &mut window, offset, &sent).unwrap_err();
            let right = format!("{bytes} bytes at {offset} lie outside a window of 100");
            assert_eq!(said.to_string(), right);
        }
        let mut none = RemoteWindow::new(Descriptor([0; Descriptor::BYTES]));
        let said = put(&mut all[0], &mut none, 0, &[1])
            .unwrap_err()
            .to_string();
        assert_eq!(said, "rank 0 has no good descriptor of a window of rank 1");
        assert_eq!(of_rails(&all[0], world::calls), before);
        assert!(all[0].is_idle() && memory == [7; 100]);
        let said = all[0].raise(0, &mut window, 1, SignedCall::default());
        assert!(said.is_err(), "to oneself");
    }
}

/// A descriptor that says what is not so: whoever puts by it hears of it, and whoever hears of a flag that is not there, too.
#[test]
fn what_a_wrong_descriptor_leads_to_is_named() {
    for traits in [ORDER, DELIVERY] {
        let forge = |window: &RemoteWindow, word: usize, value: u64| {
            let mut bytes = window.descriptor;
            bytes.0[8 * word..][..8].copy_from_slice(&value.to_le_bytes());
            RemoteWindow::new(bytes)
        };
        // The length.
        let mut all = pair_on(1, traits);
        let mut memory = vec![7; 100];
        let (_, window) = expose(&mut all[1], &mut memory, 1);
        let mut longer = forge(&window, 1, 200);
        let wrong = put(&mut all[0], &mut longer, 99, &[1; 100]);
        let said = wrong.and_then(|ticket| match traits.tells_delivery {
            true => end(&mut all, 0, ticket).map(|_| String::new()),
            // Its sender was told that it is away, and nobody is told of anything: no flag was raised.
            false => Err(NetworkError::Other("no such memory".into())),
        });
        let said = said.unwrap_err().to_string();
        assert!(said.contains("no such memory"), "{said}");
        assert_eq!(memory, [7; 100]);
        // The number.
        let mut all = pair_on(1, traits);
        let (_, mut window) = expose(&mut all[1], &mut memory, 1);
        let [first, ..] = window.descriptor.words();
        let mut other = forge(&window, 0, first + 5);
        raise(&mut all[0], &mut other, 0, 1);
        look(&mut all[..1]);
        let said = (0..50).find_map(|_| all[1].progress().err()).unwrap();
        let right = "rank 0 raises a flag of window 5, which there never was";
        assert_eq!(said.to_string(), right);
        raise(&mut all[0], &mut window, 0, 1);
        // The flag.
        let mut all = pair_on(1, traits);
        let (_, mut window) = expose(&mut all[1], &mut memory, 1);
        raise(&mut all[0], &mut window, 1, 1);
        look(&mut all[..1]);
        let said = (0..50).find_map(|_| all[1].progress().err()).unwrap();
        assert_eq!(
            said.to_string(),
            "rank 0 raises flag 1 of window 0, which has 1"
        );
        assert_eq!(all[1].raised(), None);
    }
}
