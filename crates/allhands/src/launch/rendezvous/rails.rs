//! Rails: which interfaces carry messages between hosts, when nobody has named any.
//!
//! Every rank offers its interfaces, and rank 0 chooses for all when it has all cards: those whose network every host has an
//! address of its own in, as long as the way by which ranks have reached rank 0 is one of them. If it is not, as where hosts are
//! behind routers or pretended on one machine, that way alone carries everything, and so it does where it is a tunnel:
//! who has put one under the ranks does not want their messages beside it.

use super::card::{Card, Rail};
use std::net::IpAddr;

/// The number of a network and how long it is: what all addresses in it have in common.
type Subnet = (u128, u8, bool);

fn subnet(rail: &Rail) -> Option<Subnet> {
    let (bits, all, is_long) = match rail.address.ip() {
        IpAddr::V4(ip) => (u128::from(ip.to_bits()), 32, false),
        IpAddr::V6(ip) => (ip.to_bits(), 128, true),
    };
    // What has no network, as it is the only address there, or is no address, is shared with nobody.
    let is_one = rail.prefix > 0 && rail.prefix < all && !rail.address.ip().is_unspecified();
    let tail = all.checked_sub(rail.prefix).filter(|_| is_one)?;
    Some((bits >> tail, rail.prefix, is_long))
}

/// A network that all hosts have, and by rank which of its offers is there.
struct Shared {
    subnet: Subnet,
    offers: Vec<usize>,
}

/// Keeps on every card those offers that are the rails, in one order for all.
pub(super) fn choose(cards: &mut [Card]) {
    let chosen = match cards.iter().any(|card| card.is_named) {
        // What was named is named on all cards, or is one rail.
        true => None,
        false => shared(cards),
    };
    for (at, card) in cards.iter_mut().enumerate() {
        if let Some(chosen) = &chosen {
            let kept = chosen
                .iter()
                .map(|shared| card.rails[shared.offers[at]].clone());
            card.rails = kept.collect();
        } else if !card.is_named {
            card.rails.truncate(1);
        }
    }
}

/// The networks that all hosts have, if there are several hosts and all ways to rank 0 are among them.
fn shared(cards: &[Card]) -> Option<Vec<Shared>> {
    let first = cards.first()?;
    let mut all: Vec<Shared> = Vec::new();
    for subnet in first.rails.iter().filter_map(subnet) {
        if !all.iter().any(|other| other.subnet == subnet)
            && let Some(offers) = offers(cards, subnet)
        {
            all.push(Shared { subnet, offers });
        }
    }
    let mut others = cards
        .iter()
        .enumerate()
        .filter(|(_, card)| card.node != first.node)
        .peekable();
    others.peek()?;
    let is_way = |shared: &Shared, at: usize| shared.offers[at] == 0;
    if !others.all(|(at, _)| all.iter().any(|shared| is_way(shared, at))) {
        return None;
    }
    // One interface may have addresses of several networks: the way to rank 0 comes first, and then the shorter addresses.
    let ways = |shared: &Shared| (0..cards.len()).filter(|at| is_way(shared, *at)).count();
    all.sort_by_key(|shared| (std::cmp::Reverse(ways(shared)), shared.subnet.2));
    let mut kept: Vec<Shared> = Vec::new();
    for shared in all {
        let name = |shared: &Shared, at: usize| cards[at].rails[shared.offers[at]].name.clone();
        let is_same =
            |other: &Shared| (0..cards.len()).any(|at| name(other, at) == name(&shared, at));
        if !kept.iter().any(is_same) {
            kept.push(shared);
        }
    }
    let is_far = |shared: &Shared, at: usize| cards[at].rails[shared.offers[at]].is_far;
    kept.sort_by_key(|shared| (0..cards.len()).filter(|at| is_far(shared, *at)).count());
    Some(kept)
}

/// By rank its offer in a network; none if a host has none there, or two hosts have one address, as bridges inside of hosts do.
fn offers(cards: &[Card], wanted: Subnet) -> Option<Vec<usize>> {
    let find = |card: &Card| {
        card.rails
            .iter()
            .position(|rail| subnet(rail) == Some(wanted))
    };
    let offers: Vec<usize> = cards.iter().map(find).collect::<Option<_>>()?;
    let mut hosts: Vec<(IpAddr, &str)> = cards
        .iter()
        .zip(&offers)
        .map(|(card, at)| (card.rails[*at].address.ip(), card.node.as_str()))
        .collect();
    hosts.sort_unstable();
    let is_apart = hosts
        .windows(2)
        .all(|two| two[0].0 != two[1].0 || two[0].1 == two[1].1);
    is_apart.then_some(offers)
}

#[cfg(test)]
mod tests {
    use super::super::card::some_card;
    use super::*;
    use std::net::SocketAddr;

    /// An offer as in `eth0 10.0.0.1/24`, with `far` behind it if it is.
    fn offer(text: &str) -> Rail {
        let words: Vec<&str> = text.split(' ').collect();
        let (ip, prefix) = words[1].split_once('/').unwrap();
        Rail {
            address: SocketAddr::new(ip.parse().unwrap(), 7),
            prefix: prefix.parse().unwrap(),
            is_far: words.get(2) == Some(&"far"),
            name: words[0].into(),
            endpoint: Vec::new(),
        }
    }

    /// What is chosen of what ranks offer, each on a host of its own unless hosts are said: the names of every rank's rails.
    fn chosen_on(hosts: &[u32], all: &[&[&str]]) -> Vec<Vec<String>> {
        let ranks = all.len() as u32;
        let card = |(rank, offers): (u32, &&[&str])| Card {
            rails: offers.iter().map(|text| offer(text)).collect(),
            is_named: false,
            ..some_card(rank, ranks, hosts[rank as usize])
        };
        let mut cards: Vec<Card> = (0..).zip(all).map(card).collect();
        choose(&mut cards);
        let names = |card: &Card| card.rails.iter().map(|rail| rail.name.clone()).collect();
        cards.iter().map(names).collect()
    }

    fn chosen(all: &[&[&str]]) -> Vec<Vec<String>> {
        let hosts: Vec<u32> = (0..all.len() as u32).collect();
        chosen_on(&hosts, all)
    }

    #[test]
    fn networks_that_all_hosts_have_are_rails() {
        let three: [&[&str]; 3] = [
            &["eth0 10.0.0.1/24", "eth1 10.1.0.1/24", "eth2 10.2.0.1/24"],
            &["eth0 10.0.0.2/24", "eth2 10.1.0.2/24", "eth1 10.9.0.2/24"],
            &[
                "ib0 10.0.0.3/24",
                "docker0 172.17.0.1/16",
                "eth1 10.1.0.3/24",
            ],
        ];
        assert_eq!(
            chosen(&three),
            [["eth0", "eth1"], ["eth0", "eth2"], ["ib0", "eth1"]]
        );
        // Those of one host have the same.
        let on_two: [&[&str]; 3] = [three[0], three[0], three[1]];
        assert_eq!(chosen_on(&[0, 0, 1], &on_two)[1], ["eth0", "eth1"]);
    }

    #[test]
    fn a_bridge_inside_of_every_host_is_no_rail() {
        let all: [&[&str]; 2] = [
            &["eth0 10.0.0.1/24", "docker0 172.17.0.1/16"],
            &["eth0 10.0.0.2/24", "docker0 172.17.0.1/16"],
        ];
        assert_eq!(chosen(&all), [["eth0"], ["eth0"]]);
        // One that has the number of the network, but another length, is in another.
        let all: [&[&str]; 2] = [
            &["eth0 10.0.0.1/24", "eth1 10.1.0.1/24"],
            &["eth0 10.0.0.2/24", "eth1 10.1.0.2/16"],
        ];
        assert_eq!(chosen(&all), [["eth0"], ["eth0"]]);
    }

    #[test]
    fn where_the_way_to_rank_0_is_not_shared_it_carries_all() {
        let routed: [&[&str]; 2] = [
            &["eth0 10.0.0.1/24", "eth1 10.9.0.1/24"],
            &["eth0 10.1.0.2/24", "eth1 10.9.0.2/24"],
        ];
        assert_eq!(chosen(&routed), [["eth0"], ["eth0"]]);
        let single: [&[&str]; 2] = [&["eth0 10.0.0.1/32"], &["eth0 10.0.0.2/32"]];
        assert_eq!(chosen(&single), [["eth0"], ["eth0"]]);
        // Hosts that are pretended on one machine, and ranks of one host.
        let both: [&[&str]; 2] = [&["eth0 10.0.0.1/24", "eth1 10.1.0.1/24"]; 2];
        assert_eq!(chosen(&both), [["eth0"], ["eth0"]]);
        assert_eq!(chosen_on(&[0, 0], &both), [["eth0"], ["eth0"]]);
        let alone: [&[&str]; 1] = [both[0]];
        assert_eq!(chosen(&alone), [["eth0"]]);
    }

    #[test]
    fn a_rank_0_that_does_not_know_how_it_is_reached_has_the_others_networks() {
        let all: [&[&str]; 2] = [
            &["any 0.0.0.0/0", "eth1 10.1.0.1/24", "eth0 10.0.0.1/24"],
            &["eth0 10.0.0.2/24", "eth1 10.1.0.2/24"],
        ];
        assert_eq!(chosen(&all), [["eth0", "eth1"]; 2]);
        let other: [&[&str]; 2] = [all[0], &["eth0 10.3.0.2/24", "eth1 10.1.0.2/24"]];
        assert_eq!(chosen(&other), [["any"], ["eth0"]]);
    }

    #[test]
    fn near_ones_come_first_and_an_interface_counts_once() {
        let all: [&[&str]; 2] = [
            &[
                "eth0 10.0.0.1/24 far",
                "eth0 fd00::1/64 far",
                "eth1 10.1.0.1/24",
                "eth2 10.2.0.1/24 far",
            ],
            &[
                "eth0 10.0.0.2/24 far",
                "eth0 fd00::2/64 far",
                "eth1 10.1.0.2/24",
                "eth2 10.2.0.2/24",
            ],
        ];
        assert_eq!(chosen(&all), [["eth1", "eth2", "eth0"]; 2]);
    }

    #[test]
    fn rails_that_were_named_stay_as_they_are() {
        let mut cards: Vec<Card> = (0..2).map(|rank| some_card(rank, 2, rank)).collect();
        for (card, text) in cards
            .iter_mut()
            .zip(["eth1 10.1.0.1/24", "eth5 10.7.0.1/24"])
        {
            (card.rails, card.is_named) = (vec![offer(text), offer("eth0 10.0.0.1/24")], true);
        }
        choose(&mut cards);
        assert_eq!(cards[1].rails[0].name, "eth5");
        // Who has named none has one.
        (cards[0].is_named, cards[1].rails) = (false, vec![offer("eth5 10.7.0.1/24")]);
        choose(&mut cards);
        assert_eq!([cards[0].rails.len(), cards[1].rails.len()], [1, 1]);
    }
}
