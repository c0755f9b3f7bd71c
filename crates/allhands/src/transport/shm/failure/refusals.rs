//! Refused calls: what a rank did not make as something was wrong with it there, in a word that others read.

use allhands_core::call::Collective;

/// A call that a rank has refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The collective.
    pub collective: Collective,
    /// Whether ranks may have counts of their own, of which they then may tell one another first.
    pub irregular: bool,
}

impl Refused {
    /// Whether a call of this collective may be it, or the exchange of counts with which it begins.
    fn may_be(self, collective: Collective) -> bool {
        let told_by = match self.collective {
            Collective::Gather | Collective::Scatter => Some(Collective::Broadcast),
            Collective::Alltoall => Some(Collective::Allgather),
            _ => None,
        };
        self.collective == collective || (self.irregular && told_by == Some(collective))
    }

    fn code(self) -> u64 {
        let position = Collective::ALL.iter().position(|c| *c == self.collective);
        1 + position.unwrap_or_default() as u64 + 16 * u64::from(self.irregular)
    }

    fn from_code(code: u64) -> Option<Refused> {
        let position = (code % 16).checked_sub(1)?;
        Some(Refused {
            collective: *Collective::ALL.get(position as usize)?,
            irregular: code >= 16,
        })
    }
}

/// What a rank has refused since the last call that it made, in a word: the number of the next call, of which the upper bits are
/// cut, and up to eight refused ones, the first in the lowest bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Refusals(pub(crate) u64);

impl Refusals {
    const MOST: u32 = 8;
    const BITS: u32 = 5;
    const CALL_AT: u32 = Self::MOST * Self::BITS;

    fn number(call: u64) -> u64 {
        call << Self::CALL_AT
    }

    /// Whether they are for a call not long before call `call`.
    pub(crate) fn are_recent(self, call: u64) -> bool {
        /// Calls for which it may yet turn out that others make one that this rank has refused.
        const BACK: u64 = 16;
        let since = Self::number(call).wrapping_sub(self.0) >> Self::CALL_AT;
        self.0 != 0 && since <= BACK
    }

    /// Those for call `call`, if there are some.
    pub(crate) fn of(self, call: u64) -> impl Iterator<Item = Refused> {
        let is_of = self.0 >> Self::CALL_AT == Self::number(call) >> Self::CALL_AT;
        let code = move |at: u32| self.0 >> (at * Self::BITS) & ((1 << Self::BITS) - 1);
        let all = (0..Self::MOST).map(code).map_while(Refused::from_code);
        all.take(if is_of { Self::MOST as usize } else { 0 })
    }

    /// The same with another one for call `call`, if there is room.
    pub(crate) fn and(self, call: u64, refused: Refused) -> Refusals {
        let before = self.of(call).count() as u32;
        let kept = match before {
            0 => Self::number(call),
            Self::MOST => return self,
            _ => self.0,
        };
        Refusals(kept | refused.code() << (before * Self::BITS))
    }

    /// The same without the last one for call `call`.
    pub(crate) fn without_last(self, call: u64) -> Refusals {
        match self.of(call).count() as u32 {
            0 | 1 => Refusals::default(),
            count => Refusals(self.0 & !(((1 << Self::BITS) - 1) << ((count - 1) * Self::BITS))),
        }
    }

    /// How many for call `call` a call of this collective may be.
    pub(crate) fn count(self, call: u64, collective: Collective) -> usize {
        let all = self.of(call);
        all.filter(|refused| refused.may_be(collective)).count()
    }

    /// The first for call `call` that a call of this collective may be.
    pub(crate) fn find(self, call: u64, collective: Collective) -> Option<usize> {
        self.of(call).position(|refused| refused.may_be(collective))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn refused(collective: Collective) -> Refused {
        Refused {
            collective,
            irregular: false,
        }
    }

    #[test]
    fn refusals_are_kept_in_their_order() {
        let all: Vec<Refused> = Collective::ALL.into_iter().map(refused).collect();
        let mut refusals = Refusals::default();
        for (at, one) in all.iter().enumerate() {
            assert_eq!(refusals.of(7).count(), at.min(8));
            refusals = refusals.and(7, *one);
        }
        assert_eq!(refusals.of(7).collect::<Vec<_>>(), all[..8]);
        assert_eq!(refusals.of(8).count(), 0);
        assert_eq!(refusals.find(7, all[3].collective), Some(3));
        assert_eq!(refusals.find(7, all[8].collective), None);
        let shorter = refusals.without_last(7).without_last(7);
        assert_eq!(shorter.of(7).collect::<Vec<_>>(), all[..6]);
        let anew = refusals.and(1 << 50 | 9, all[10]);
        assert_eq!(anew.of(1 << 50 | 9).collect::<Vec<_>>(), all[10..]);
        assert_eq!(anew.of(7).count(), 0);
        assert_eq!(anew.without_last(1 << 50 | 9), Refusals::default());
    }

    #[test]
    fn an_irregular_call_may_begin_with_counts() {
        let irregular = |collective| Refused {
            collective,
            irregular: true,
        };
        for (one, collective, may_be) in [
            (irregular(Collective::Gather), Collective::Broadcast, true),
            (irregular(Collective::Alltoall), Collective::Allgather, true),
            (irregular(Collective::Alltoall), Collective::Alltoall, true),
            (irregular(Collective::Gather), Collective::Allgather, false),
            (refused(Collective::Gather), Collective::Broadcast, false),
        ] {
            assert_eq!(one.may_be(collective), may_be);
            assert_eq!(Refused::from_code(one.code()), Some(one));
        }
    }
}
