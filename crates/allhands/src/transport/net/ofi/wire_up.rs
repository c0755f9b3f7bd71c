//! Wire-up: what ranks tell one another of their endpoints, beside where they listen, and whether these fit.

use super::abi::FORMAT_STR;
use super::error::OfiError;

/// The first byte of a card, which changes with what follows.
const VERSION: u8 = 1;
/// The longest card in bytes.
pub(crate) const MOST_CARD: usize = 512;

/// What a rank tells of its endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Card {
    pub(super) provider: String,
    pub(super) protocol: u32,
    pub(super) format: u32,
    pub(super) tag_bits: u32,
    pub(super) is_ordered: bool,
    pub(super) address: Box<[u8]>,
}

impl Card {
    pub(super) fn encode(&self) -> Vec<u8> {
        let name = &self.provider.as_bytes()[..self.provider.len().min(100)];
        let mut bytes = vec![VERSION, self.is_ordered.into(), name.len() as u8];
        bytes.extend(name);
        for number in [self.protocol, self.format, self.tag_bits] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(&*self.address);
        bytes
    }

    /// The card in these bytes; `None` if they are none.
    pub(super) fn decode(bytes: &[u8]) -> Option<Card> {
        let ([VERSION, ordered, length], rest) = bytes.split_first_chunk()? else {
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

/// The addresses of all ranks, if their endpoints fit that of rank `rank`, which is `own`.
pub(super) fn addresses(
    cards: &[Box<[u8]>],
    rank: u32,
    own: &Card,
) -> Result<Vec<Box<[u8]>>, OfiError> {
    let address = |(other, card)| match card {
        Some(card) if own.fits(&card) => Ok(card.address),
        card => Err(OfiError::Differs {
            rank: other,
            theirs: card.map_or_else(|| "no endpoint of libfabric's".into(), |c| c.name()),
            other: rank,
            ours: own.name(),
        }),
    };
    let cards = cards.iter().map(|bytes| Card::decode(bytes));
    (0..).zip(cards).map(address).collect()
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
        let cards = [card(), other].map(|card| card.encode().into_boxed_slice());
        let said = addresses(&cards, 0, &card()).unwrap_err().to_string();
        assert_eq!(
            said,
            "rank 1 has the provider shm (protocol 11, addresses of kind 9 and 16 bytes, tags of 64 bits), rank 0 has the provider verbs;ofi_rxm (protocol 11, addresses of kind 2 and 16 bytes, tags of 64 bits); right would be the same provider on all hosts, as ALLHANDS_OFI_PROVIDER can name it"
        );
        let said = addresses(&[[].into()], 1, &card()).unwrap_err().to_string();
        assert!(said.starts_with("rank 0 has no endpoint of libfabric's, rank 1 has"));
        let all = addresses(&[card().encode().into()], 0, &card());
        assert_eq!(all.unwrap(), [Box::from([7; 16])]);
    }
}
