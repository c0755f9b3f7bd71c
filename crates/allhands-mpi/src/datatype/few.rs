//! A few: a list that mostly is so short that it needs no memory of its own.

use std::ops::{Deref, DerefMut};

/// The longest list without memory of its own.
const OWN: usize = 8;

/// A list of a length that is known when it is made.
pub(super) struct Few<T> {
    own: [T; OWN],
    length: usize,
    /// All of it, if it is longer.
    more: Vec<T>,
}

impl<T: Copy + Default> Few<T> {
    /// So many zeros.
    pub(super) fn zeros(length: usize) -> Few<T> {
        let longer = if length > OWN { length } else { 0 };
        Few {
            own: [T::default(); OWN],
            length,
            more: vec![T::default(); longer],
        }
    }

    /// A list of so many, of which the first are these.
    pub(super) fn filled(length: usize, with: impl Iterator<Item = T>) -> Few<T> {
        let mut few = Few::zeros(length);
        few.iter_mut().zip(with).for_each(|(to, from)| *to = from);
        few
    }
}

impl<T> Deref for Few<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        if self.length > OWN {
            &self.more
        } else {
            &self.own[..self.length]
        }
    }
}

impl<T> DerefMut for Few<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        if self.length > OWN {
            &mut self.more
        } else {
            &mut self.own[..self.length]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Few;

    #[test]
    fn lists_of_any_length_are_what_they_are_filled_with() {
        for length in [0, 1, 7, 8, 9, 100] {
            let few = Few::filled(length, 5..);
            assert_eq!(few.to_vec(), (5..5 + length).collect::<Vec<_>>());
            assert_eq!(*Few::<u32>::zeros(length), vec![0; length]);
        }
    }
}
