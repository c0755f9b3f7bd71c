//! Cards: what each rank tells all others of itself, and the table of all cards.

use crate::transport::net::ofi::MOST_CARD;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// The longest card in bytes.
pub(in crate::launch) const CARD_BYTES: usize = 12 << 10;
/// The most words of cpus, 64 of them each, and the most rails: what a card has room for.
const MOST_WORDS: usize = 128;
pub(super) const MOST_RAILS: usize = 16;
/// The longest name in bytes.
const MOST_NAME: usize = 300;
/// The longest word on what a rank lacks.
pub(super) const MOST_LACKS: usize = 1000;

/// What a rank tells all others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::launch) struct Card {
    pub(in crate::launch) rank: u32,
    /// How many ranks it takes the world to have.
    pub(in crate::launch) ranks: u32,
    /// Ranks that say the same here share memory.
    pub(in crate::launch) node: String,
    /// What people call its host.
    pub(in crate::launch) host: String,
    /// A number of the machine since it was started, however many nodes are pretended on it.
    pub(in crate::launch) machine: u64,
    /// The cpus that it may use, a bit each.
    pub(in crate::launch) cpus: Vec<u64>,
    /// How many of them it and those on its node may use together; 0: all.
    pub(in crate::launch) cpus_most: u32,
    pub(in crate::launch) pid: u32,
    /// The segment that it has open, which is its node's if it is the first rank there.
    pub(in crate::launch) segment: Whereabouts,
    /// Where it is handed the table.
    pub(in crate::launch) wiring: SocketAddr,
    /// Where it listens afterwards: what it offers, and in the table by rail.
    pub(in crate::launch) rails: Vec<Rail>,
    /// Whether these were named, so that nothing is to be chosen.
    pub(in crate::launch) is_named: bool,
    /// Whether it wishes all connections to be made before the world is there.
    pub(in crate::launch) is_eager: bool,
    /// Which rail was named that it does not have, if one was.
    pub(in crate::launch) lacks: String,
}

/// Where a rank listens, and by which interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::launch) struct Rail {
    pub(in crate::launch) address: SocketAddr,
    /// How many bits all addresses of its network have in common.
    pub(in crate::launch) prefix: u8,
    /// Whether it is at another part of the machine than the rank's cpus.
    pub(in crate::launch) is_far: bool,
    pub(in crate::launch) name: String,
    /// What the rank tells of its endpoint of libfabric's there; nothing if it has none.
    pub(in crate::launch) endpoint: Vec<u8>,
}

/// Where a segment is, for who can look into its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::launch) struct Whereabouts {
    pub(in crate::launch) descriptor: u32,
    pub(in crate::launch) inode: u64,
}

/// All cards, by rank, and a number that was drawn for this world.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::launch) struct Table {
    pub(in crate::launch) nonce: [u8; 16],
    pub(in crate::launch) cards: Vec<Card>,
}

impl Card {
    /// As messages name it: `rank 3 on host b`.
    pub(in crate::launch) fn name(&self) -> String {
        format!("rank {} on host {}", self.rank, self.host)
    }

    pub(in crate::launch) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(256);
        for number in [self.rank, self.ranks, self.pid, self.cpus_most] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(self.machine.to_le_bytes());
        bytes.extend(self.segment.descriptor.to_le_bytes());
        bytes.extend(self.segment.inode.to_le_bytes());
        for name in [&self.node, &self.host] {
            bytes.extend((name.len() as u16).to_le_bytes());
            bytes.extend(name.as_bytes());
        }
        bytes.extend((self.cpus.len() as u16).to_le_bytes());
        bytes.extend(self.cpus.iter().flat_map(|word| word.to_le_bytes()));
        bytes.extend((self.rails.len() as u16).to_le_bytes());
        put_address(&mut bytes, &self.wiring);
        for rail in &self.rails {
            put_address(&mut bytes, &rail.address);
            bytes.extend([rail.prefix, u8::from(rail.is_far)]);
            bytes.extend((rail.name.len() as u16).to_le_bytes());
            bytes.extend(rail.name.as_bytes());
            bytes.extend((rail.endpoint.len() as u16).to_le_bytes());
            bytes.extend(&rail.endpoint);
        }
        bytes.extend([self.is_named, self.is_eager].map(u8::from));
        bytes.extend((self.lacks.len() as u16).to_le_bytes());
        bytes.extend(self.lacks.as_bytes());
        bytes
    }

    /// The card in these bytes; `None` if they are none.
    pub(in crate::launch) fn decode(bytes: &[u8]) -> Option<Card> {
        let mut from = Reader(bytes);
        let card = from.card()?;
        from.0.is_empty().then_some(card)
    }
}

impl Table {
    pub(in crate::launch) fn encode(&self) -> Vec<u8> {
        let mut bytes = self.nonce.to_vec();
        bytes.extend((self.cards.len() as u32).to_le_bytes());
        bytes.extend(self.cards.iter().flat_map(Card::encode));
        bytes
    }

    /// The table in these bytes, if its cards are those of the ranks in their order, with equally many rails.
    pub(in crate::launch) fn decode(bytes: &[u8]) -> Option<Table> {
        let mut from = Reader(bytes);
        let nonce = from.take()?;
        let ranks = from.four()?;
        let mut cards = Vec::new();
        for rank in 0..ranks {
            let card = from.card()?;
            if card.rank != rank || card.ranks != ranks {
                return None;
            }
            cards.push(card);
        }
        let rails = cards.first()?.rails.len();
        let even = cards.iter().all(|card| card.rails.len() == rails);
        (even && from.0.is_empty()).then_some(Table { nonce, cards })
    }
}

fn put_address(bytes: &mut Vec<u8>, address: &SocketAddr) {
    let ip = match address.ip() {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    };
    bytes.extend(ip.octets());
    bytes.extend(address.port().to_le_bytes());
}

/// Takes from the front of bytes that somebody else has made.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    fn two(&mut self) -> Option<usize> {
        self.take().map(u16::from_le_bytes).map(usize::from)
    }

    fn four(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn eight(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn bytes(&mut self, most: usize) -> Option<Vec<u8>> {
        let length = self.two().filter(|length| *length <= most)?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes.to_vec())
    }

    fn name(&mut self) -> Option<String> {
        String::from_utf8(self.bytes(MOST_NAME)?).ok()
    }

    fn address(&mut self) -> Option<SocketAddr> {
        let ip = Ipv6Addr::from(self.take::<16>()?).to_canonical();
        Some(SocketAddr::new(ip, self.two()? as u16))
    }

    fn one(&mut self) -> Option<u8> {
        self.take::<1>().map(|[byte]| byte)
    }

    fn rail(&mut self) -> Option<Rail> {
        Some(Rail {
            address: self.address()?,
            prefix: self.one()?,
            is_far: self.one()? != 0,
            name: self.name()?,
            endpoint: self.bytes(MOST_CARD)?,
        })
    }

    fn card(&mut self) -> Option<Card> {
        let [rank, ranks, pid, cpus_most] =
            [self.four()?, self.four()?, self.four()?, self.four()?];
        let machine = self.eight()?;
        let segment = Whereabouts {
            descriptor: self.four()?,
            inode: self.eight()?,
        };
        let (node, host) = (self.name()?, self.name()?);
        let words = self.two().filter(|words| *words <= MOST_WORDS)?;
        let cpus = (0..words).map(|_| self.eight()).collect::<Option<_>>()?;
        let rails = self.two().filter(|rails| *rails <= MOST_RAILS)?;
        let wiring = self.address()?;
        let rails = (0..rails).map(|_| self.rail()).collect::<Option<_>>()?;
        let [is_named, is_eager] = self.take::<2>()?.map(|byte| byte != 0);
        let lacks = String::from_utf8(self.bytes(MOST_LACKS)?).ok()?;
        Some(Card {
            rank,
            ranks,
            node,
            host,
            machine,
            cpus,
            cpus_most,
            pid,
            segment,
            wiring,
            rails,
            is_named,
            is_eager,
            lacks,
        })
    }
}

#[cfg(test)]
pub(super) fn some_card(rank: u32, ranks: u32, node: u32) -> Card {
    let rail = |name: &str, address| Rail {
        address,
        prefix: 24,
        is_far: rank % 2 == 1,
        name: name.into(),
        endpoint: vec![9; rank as usize % 5],
    };
    let address = |port| SocketAddr::from(([10, 0, node as u8, rank as u8], port));
    Card {
        rank,
        ranks,
        node: format!("node {node}"),
        host: format!("h{node}"),
        machine: node.into(),
        cpus: vec![0xff],
        cpus_most: 0,
        pid: 1000 + rank,
        segment: Whereabouts {
            descriptor: 3,
            inode: rank.into(),
        },
        wiring: address(1),
        rails: vec![
            rail("eth0", address(2)),
            rail("lo", SocketAddr::from((Ipv6Addr::LOCALHOST, 7))),
        ],
        is_named: true,
        is_eager: rank == 1,
        lacks: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_survives_encoding() {
        let mut table = Table {
            nonce: [7; 16],
            cards: (0..5).map(|rank| some_card(rank, 5, rank / 2)).collect(),
        };
        (table.cards[3].is_named, table.cards[3].lacks) = (false, "no rail".into());
        let bytes = table.encode();
        assert_eq!(Table::decode(&bytes), Some(table.clone()));
        let card = &table.cards[3];
        assert!(card.encode().len() < CARD_BYTES);
        assert_eq!(Card::decode(&card.encode()).as_ref(), Some(card));
    }

    #[test]
    fn whatever_else_comes_is_no_table() {
        let mut table = Table {
            nonce: [7; 16],
            cards: (0..3).map(|rank| some_card(rank, 3, 0)).collect(),
        };
        let bytes = table.encode();
        for end in 0..bytes.len() {
            assert_eq!(Table::decode(&bytes[..end]), None, "{end} bytes");
        }
        assert_eq!(Table::decode(&[&bytes[..], &[0]].concat()), None);
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] ^= 0xff;
            // It may be another table, but never a panic, nor one of other ranks.
            if let Some(other) = Table::decode(&other) {
                assert_eq!(other.cards.len(), 3);
            }
        }
        table.cards.swap(0, 1);
        assert_eq!(Table::decode(&table.encode()), None);
    }
}
