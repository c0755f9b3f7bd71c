//! The table: what is known of a predefined handle, found in a few instructions.

use super::Handle;

/// A map from handles that never changes once it is made.
pub(crate) struct Table<T> {
    slots: Box<[Option<(Handle, T)>]>,
}

impl<T> Table<T> {
    /// A table of these; of those with the same handle the first counts.
    pub(crate) fn new(rows: impl IntoIterator<Item = (Handle, T)>) -> Table<T> {
        let rows: Vec<(Handle, T)> = rows.into_iter().collect();
        let slots = (4 * rows.len()).next_power_of_two().max(16);
        let mut table = Table {
            slots: (0..slots).map(|_| None).collect(),
        };
        for (handle, value) in rows {
            let at = table.place(handle);
            if table.slots[at].is_none() {
                table.slots[at] = Some((handle, value));
            }
        }
        table
    }

    /// What is known of a handle.
    #[inline]
    pub(crate) fn get(&self, handle: Handle) -> Option<&T> {
        self.slots[self.place(handle)]
            .as_ref()
            .map(|(_, value)| value)
    }

    /// The slot of a handle, or the empty one where it would be; three quarters are empty, so there is one.
    #[inline]
    fn place(&self, handle: Handle) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = handle.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32 & mask;
        while self.slots[at]
            .as_ref()
            .is_some_and(|(other, _)| *other != handle)
        {
            at = (at + 1) & mask;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_found_and_nothing_else() {
        let table = Table::new((0..80).map(|n| (0x4c00_0100 + 0x101 * n, n)));
        for n in 0..80 {
            assert_eq!(table.get(0x4c00_0100 + 0x101 * n), Some(&n));
            assert_eq!(table.get(0x4c00_0101 + 0x101 * n), None);
        }
    }
}
