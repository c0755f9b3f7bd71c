//! Wire-up: what ranks tell one another of their endpoints, beside where they listen, and whether these fit.

use super::abi::FORMAT_STR;
use super::capabilities::Guarantee;
use super::error::OfiError;

/// The first byte of a card, which changes with what follows.
const VERSION: u8 = 2;
/// The longest card in bytes.
pub(crate) const MOST_CARD: usize = 400;

/// What a rank tells of its endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Card {
    pub(super) provider: String,
    pub(super) protocol: u32,
    pub(super) format: u32,
    pub(super) tag_bits: u32,
    pub(super) is_ordered: bool,
    pub(super) windows: Option<Guarantee>,
    pub(super) address: Box<[u8]>,
}

impl Card {
    pub(super) fn encode(&self) -> Vec<u8> {
        let name = &self.provider.as_bytes()[..self.provider.len().min(100)];
        let windows = match self.windows {
            None => 0,
            Some(Guarantee::Order) => 1,
            Some(Guarantee::Delivery) => 2,
        };
        let ordered = self.is_ordered.into();
        let mut bytes = vec![VERSION, ordered, windows, name.len() as u8];
        bytes.extend(name);
        for number in [self.protocol, self.format, self.tag_bits] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(&*self.address);
        bytes
    }

    /// The card in these bytes; `None` if they are none.
    pub(super) fn decode(bytes: &[u8]) -> Option<Card> {
        let ([VERSION, ordered, windows, length], rest) = bytes.split_first_chunk()? else {
            return None;
        };
        let (name, mut rest) = rest.split_at_checked(usize::from(*length))?;
        let mut number = || {
            let (number, behind) = rest.split_first_chunk()?;
            rest = behind;
            Some(u32::from_le_bytes(*number))
        };
        let (protocol, format, tag_bits) = (number()?, number()?, number()?);
        Some(Card {
            provider: String::from_utf8(name.to_vec()).ok()?,
            protocol,
            format,
            tag_bits,
            is_ordered: *ordered != 0,
            windows: match windows {
                1 => Some(Guarantee::Order),
                2 => Some(Guarantee::Delivery),
                _ => None,
            },
            address: rest.into(),
        })
    }

    /// As messages name it.
    fn name(&self) -> String {
        format!(
            "the provider {} (protocol {}, addresses of kind {} and {} bytes, tags of {} bits{})",
            self.provider,
            self.protocol,
            self.format,
            self.address.len(),
            self.tag_bits,
            if self.is_ordered { "" } else { ", unordered" }
        )
    }

    /// Whether two ends can talk: they have the same in everything but their names and addresses.
    fn fits(&self, other: &Card) -> bool {
        let all = |card: &Card| {
            let numbers = (card.protocol, card.format, card.tag_bits, card.is_ordered);
            // Texts are of any length.
            let length = match card.format {
                FORMAT_STR => 0,
                _ => card.address.len(),
            };
            (numbers, length)
        };
        all(self) == all(other)
    }
}

/// What a rank tells of its endpoints, by rail.
pub type Cards = Vec<Box<[u8]>>;

/// The addresses of all ranks, by rail and rank, if their endpoints fit those of rank `rank`, which are `own`.
pub(super) fn addresses(
    cards: &[Cards],
    rank: u32,
    own: &[&Card],
) -> Result<Vec<Vec<Box<[u8]>>>, OfiError> {
    for (other, theirs) in (0..).zip(cards) {
        if theirs.len() != own.len() && !theirs.is_empty() {
            return Err(OfiError::Rails {
                rank: other,
                theirs: theirs.len(),
                other: rank,
                ours: own.len(),
            });
        }
    }
    let of_rail = |(rail, own): (usize, &&Card)| {
        let address = |(other, theirs): (u32, &Cards)| {
            let card = theirs.get(rail).and_then(|bytes| Card::decode(bytes));
            match card {
                Some(card) if own.fits(&card) => Ok(card.address),
                card => Err(OfiError::Differs {
                    rank: other,
                    theirs: card.map_or_else(|| "no endpoint of libfabric's".into(), |c| c.name()),
                    other: rank,
                    ours: own.name(),
                }),
            }
        };
        (0..).zip(cards).map(address).collect()
    };
    own.iter().enumerate().map(of_rail).collect()
}

/// What all endpoints of all ranks guarantee of windows, if all guarantee the same.
pub(super) fn guarantee(cards: &[Cards]) -> Option<Guarantee> {
    let mut all = cards
        .iter()
        .flatten()
        .map(|bytes| Card::decode(bytes)?.windows);
    let first = all.next()??;
    all.all(|other| other == Some(first)).then_some(first)
}

/// Whether the endpoints of all ranks fit those of rank `rank`.
///
/// # Errors
/// [`OfiError::Differs`] or [`OfiError::Rails`].
pub(crate) fn fit(cards: &[Cards], rank: u32) -> Result<(), OfiError> {
    let own = cards.get(rank as usize).into_iter().flatten();
    let own: Vec<Card> = own.filter_map(|bytes| Card::decode(bytes)).collect();
    let own: Vec<&Card> = own.iter().collect();
    addresses(cards, rank, &own).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card() -> Card {
        Card {
            provider: "verbs;ofi_rxm".into(),
            protocol: 11,
            format: 2,
            tag_bits: 64,
            is_ordered: true,
            windows: Some(Guarantee::Order),
            address: [7; 16].into(),
        }
    }

    #[test]
    fn a_card_survives_encoding_and_nothing_else_does() {
        let bytes = card().encode();
        assert!(bytes.len() < MOST_CARD);
        assert_eq!(Card::decode(&bytes), Some(card()));
        for end in 0..bytes.len() - 16 {
            assert_eq!(Card::decode(&bytes[..end]), None, "{end}");
        }
        assert_eq!(Card::decode(&[&[9], &bytes[1..]].concat()), None);
    }

    #[test]
    fn endpoints_that_do_not_fit_are_named() {
        let other = Card {
            provider: "shm".into(),
            format: FORMAT_STR,
            ..card()
        };
        let longer = Card {
            address: [7; 20].into(),
            ..other.clone()
        };
        assert!(other.fits(&longer) && !other.fits(&card()));
        let cards = [card(), other].map(|card| vec![card.encode().into_boxed_slice()]);
        let said = addresses(&cards, 0, &[&card()]).unwrap_err().to_string();
        assert_eq!(
            said,
            "rank 1 has the provider shm (protocol 11, addresses of kind 9 and 16 bytes, tags of 64 bits), rank 0 has the provider verbs;ofi_rxm (protocol 11, addresses of kind 2 and 16 bytes, tags of 64 bits); right would be the same provider on all hosts, as ALLHANDS_OFI_PROVIDER can name it"
        );
        for none in [vec![], vec![Box::from([])]] {
            let said = addresses(&[none], 1, &[&card()]).unwrap_err().to_string();
            assert!(said.starts_with("rank 0 has no endpoint of libfabric's, rank 1 has"));
        }
        let all = addresses(&[vec![card().encode().into()]], 0, &[&card()]);
        assert_eq!(all.unwrap(), [[Box::from([7; 16])]]);
    }

    #[test]
    fn there_are_windows_where_all_endpoints_guarantee_the_same() {
        let (order, delivery) = (Some(Guarantee::Order), Some(Guarantee::Delivery));
        for (of_rails, right) in [
            ([[order; 2]; 2], order),
            ([[delivery; 2]; 2], delivery),
            ([[order; 2], [order, None]], None),
            ([[delivery, order], [order; 2]], None),
            ([[None; 2]; 2], None),
        ] {
            let encode = |windows| Card { windows, ..card() }.encode().into_boxed_slice();
            let cards = of_rails.map(|rails| rails.map(encode).into());
            assert_eq!(guarantee(&cards), right);
        }
    }

    #[test]
    fn all_ranks_have_as_many_rails() {
        let cards = |rails| vec![card().encode().into_boxed_slice(); rails];
        assert_eq!(fit(&[cards(2), cards(2)], 0), Ok(()));
        let said = fit(&[cards(2), cards(1)], 0).unwrap_err().to_string();
        assert_eq!(
            said,
            "rank 1 has 1 rail over libfabric, rank 0 has 2; right would be as many on every host"
        );
    }
}
