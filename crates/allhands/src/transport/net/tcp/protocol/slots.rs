//! Slots: things that are found by a number, which is used again when its thing is gone.

/// Things by their numbers.
#[derive(Debug)]
pub struct Slots<T> {
    all: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slots<T> {
    fn default() -> Slots<T> {
        Slots {
            all: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Slots<T> {
    /// Adds a thing; its number.
    pub fn insert(&mut self, thing: T) -> u32 {
        if let Some(at) = self.free.pop() {
            self.all[at as usize] = Some(thing);
            return at;
        }
        self.all.push(Some(thing));
        self.all.len() as u32 - 1
    }

    /// The thing of this number, if there is one.
    pub fn get(&self, at: u32) -> Option<&T> {
        self.all.get(at as usize)?.as_ref()
    }

    /// The thing of this number, to change.
    pub fn get_mut(&mut self, at: u32) -> Option<&mut T> {
        self.all.get_mut(at as usize)?.as_mut()
    }

    /// Takes a thing out.
    pub fn remove(&mut self, at: u32) -> Option<T> {
        let thing = self.all.get_mut(at as usize)?.take();
        if thing.is_some() {
            self.free.push(at);
        }
        thing
    }

    /// All things, with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let all = (0..).zip(&self.all);
        all.filter_map(|(at, thing)| Some((at, thing.as_ref()?)))
    }

    /// All things, to change, with their numbers.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &mut T)> {
        let all = (0..).zip(&mut self.all);
        all.filter_map(|(at, thing)| Some((at, thing.as_mut()?)))
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.all.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_used_again() {
        let mut slots = Slots::default();
        assert_eq!([1, 2, 3].map(|thing| slots.insert(thing)), [0, 1, 2]);
        assert_eq!(slots.remove(1), Some(2));
        assert_eq!(
            (slots.remove(1), slots.get(1), slots.get(9)),
            (None, None, None)
        );
        assert_eq!(slots.insert(4), 1);
        *slots.get_mut(0).unwrap() = 5;
        let all: Vec<(u32, &i32)> = slots.iter().collect();
        assert_eq!((all, slots.count()), (vec![(0, &5), (1, &4), (2, &3)], 3));
    }
}
