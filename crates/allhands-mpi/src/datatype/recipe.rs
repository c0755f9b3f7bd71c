//! The recipe: what a derived type was made of, by which its layout is found again when another type is made alike.
//!
//! Programs make a type for one call and free it, and make the same again for the next: then what was found out of the first holds for
//! all, as long as all that they are made of are predefined types, whose handles never mean another.

use super::Layout;
use super::decode::Contents;
use crate::abi::{Abi, Combiner, Handle};
use std::sync::{Arc, Mutex, PoisonError};

/// Recipes that are kept; of those that fall on one place the last.
const PLACES: usize = 64;

/// The most numbers of a recipe that is kept.
const MOST_NUMBERS: usize = 16;

/// What a type was made of, and the layout that it has.
struct Recipe {
    combiner: Combiner,
    numbers: Vec<i64>,
    types: Vec<Handle>,
    layout: Arc<Layout>,
}

/// The recipes of types that were looked at.
pub(super) struct Recipes(Mutex<Vec<Option<Recipe>>>);

/// What a type was made of, if its layout follows from that alone.
#[derive(Clone, Copy)]
pub(super) struct Made<'a> {
    combiner: Combiner,
    contents: &'a Contents,
}

impl<'a> Made<'a> {
    /// That of a type that was made in some way; `None`: it may be made of types that are freed, or of many numbers.
    pub(super) fn of(abi: &Abi, combiner: Combiner, contents: &'a Contents) -> Option<Made<'a>> {
        let are_lasting = contents.types.iter().all(|part| abi.named(*part).is_some());
        let is_short = contents.numbers.len() <= MOST_NUMBERS;
        let is_made = !combiner.is_predefined() && !contents.types.is_empty();
        let is_known = are_lasting && is_short && is_made;
        is_known.then_some(Made { combiner, contents })
    }

    fn place(self) -> usize {
        let Contents { numbers, types } = self.contents;
        let words = numbers.iter().map(|number| *number as u64);
        let words = words.chain(types.iter().map(|part| *part as u64));
        let mixed = words.fold(self.combiner as u64, |mixed, word| {
            (mixed ^ word)
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .rotate_left(29)
        });
        (mixed >> 32) as usize % PLACES
    }
}

impl Recipes {
    /// None yet.
    pub(super) const fn new() -> Recipes {
        Recipes(Mutex::new(Vec::new()))
    }

    /// The layout of types that were made so.
    pub(super) fn find(&self, made: Made<'_>) -> Option<Arc<Layout>> {
        let recipes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let recipe = recipes.get(made.place())?.as_ref()?;
        let is_this = recipe.combiner == made.combiner
            && recipe.numbers == *made.contents.numbers
            && recipe.types == *made.contents.types;
        is_this.then(|| Arc::clone(&recipe.layout))
    }

    /// Keeps what was found out of a type.
    pub(super) fn keep(&self, made: Made<'_>, layout: &Arc<Layout>) {
        let mut recipes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        recipes.resize_with(PLACES, || None);
        recipes[made.place()] = Some(Recipe {
            combiner: made.combiner,
            numbers: made.contents.numbers.to_vec(),
            types: made.contents.types.to_vec(),
            layout: Arc::clone(layout),
        });
    }
}
