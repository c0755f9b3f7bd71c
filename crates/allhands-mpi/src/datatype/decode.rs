//! Decoding: the type map of a derived type, from what the MPI says of how it was made.

use super::few::Few;
use super::likeness::Likeness;
use super::map::{MOST_RUNS, TypeMap};
use crate::abi::{Abi, Combiner, Family, Handle, Handles};
use crate::context::library::Library;
use std::cell::Cell;
use std::ffi::c_int;

/// How deep types may be made of one another.
const DEEPEST: u32 = 32;

/// The most numbers that a type is made of: where it has more, it would have too many runs, mostly.
const MOST_NUMBERS: i64 = 4 * MOST_RUNS as i64;

/// What the MPI says of the size of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extents {
    pub(super) bytes: usize,
    pub(super) lower: isize,
    pub(super) extent: isize,
    /// From the element's address to its first byte.
    pub(super) true_lower: isize,
    /// From the first to past the last byte.
    pub(super) true_extent: usize,
}

impl Extents {
    /// Asks the MPI; `None` if it does not know the type.
    pub(super) fn of(library: &Library, handle: Handle) -> Option<Extents> {
        let native = &library.native;
        let (mut bytes, mut lower, mut extent) = (0i64, 0i64, 0i64);
        let (mut true_lower, mut true_extent) = (0i64, 0i64);
        // SAFETY: asks about a type that a caller of MPI handed in, with numbers to write to.
        let error = unsafe {
            (native.type_size_x)(handle, &raw mut bytes)
                | (native.type_get_extent_x)(handle, &raw mut lower, &raw mut extent)
                | (native.type_get_true_extent_x)(handle, &raw mut true_lower, &raw mut true_extent)
        };
        (error == 0).then_some(Extents {
            bytes: usize::try_from(bytes).ok()?,
            lower: lower as isize,
            extent: extent as isize,
            true_lower: true_lower as isize,
            true_extent: usize::try_from(true_extent).ok()?,
        })
    }
}

/// What is found out of a type.
pub(super) struct Decoded {
    /// `None`: it would not be short, the MPI packs faster, or what the type was made of is not known here.
    pub(super) map: Option<TypeMap>,
    pub(super) likeness: Likeness,
    /// Whether the type is the MPI's own.
    pub(super) is_predefined: bool,
}

/// Finds out where the bytes of a type are, which was made in some way, of these contents, and is so long as the MPI says.
pub(super) fn decode(
    library: &Library,
    abi: &Abi,
    (handle, combiner): (Handle, Option<Combiner>),
    contents: Option<&Contents>,
    extents: Option<Extents>,
) -> Decoded {
    let decoder = Decoder {
        library,
        abi,
        likeness: Cell::new(None),
    };
    let map = combiner.and_then(|combiner| decoder.map((handle, combiner), contents, 0));
    let map = map.filter(|map| {
        let Some(extents) = extents else { return false };
        // What does not fit what the MPI says has been misunderstood.
        let low = extents.true_lower;
        let high = low.wrapping_add_unsigned(extents.true_extent);
        map.bytes() == extents.bytes && map.span().is_none_or(|span| span == (low, high))
    });
    let known = decoder.likeness.get().filter(|_| map.is_some());
    let map = map.filter(|map| abi.family == Family::OpenMpi || !map.is_ragged());
    Decoded {
        map,
        likeness: known.unwrap_or(Likeness::Any),
        is_predefined: combiner.is_some_and(Combiner::is_predefined),
    }
}

/// How many things a type was made of, and how.
pub(super) struct Envelope {
    integers: i64,
    addresses: i64,
    /// Counts of the large kind, which then stand for the other numbers.
    large: i64,
    types: i64,
    pub(super) combiner: Option<Combiner>,
}

impl Envelope {
    /// Asks the MPI; `None` if it does not know the type.
    pub(super) fn of(library: &Library, abi: &Abi, handle: Handle) -> Option<Envelope> {
        let (native, mut combiner) = (&library.native, 0);
        if let Some(ask) = native.type_get_envelope_c {
            let mut numbers = [0i64; 4];
            let [integers, addresses, large, types] = &mut numbers;
            // SAFETY: asks about a type that a caller of MPI handed in, with numbers to write to.
            let error =
                unsafe { ask(handle, integers, addresses, large, types, &raw mut combiner) };
            let [integers, addresses, large, types] = numbers;
            return (error == 0).then(|| Envelope {
                integers,
                addresses,
                large,
                types,
                combiner: abi.combiner(combiner),
            });
        }
        let mut numbers = [0 as c_int; 3];
        let [integers, addresses, types] = &mut numbers;
        // SAFETY: as above.
        let error = unsafe {
            (native.type_get_envelope)(handle, integers, addresses, types, &raw mut combiner)
        };
        let [integers, addresses, types] = numbers.map(i64::from);
        (error == 0).then(|| Envelope {
            integers,
            addresses,
            large: 0,
            types,
            combiner: abi.combiner(combiner),
        })
    }

    /// What a type was made of, whose envelope this is; `None`: it is predefined, or of too many. Types among it that are not
    /// predefined were made for who asks, who frees them.
    pub(super) fn contents(
        &self,
        library: &Library,
        abi: &Abi,
        handle: Handle,
    ) -> Option<Contents> {
        let sum = self.integers + self.addresses + self.large + self.types;
        if self.combiner?.is_predefined() || sum > MOST_NUMBERS {
            return None;
        }
        let native = &library.native;
        let room = |number: i64| usize::try_from(number).ok();
        let mut integers = Few::<c_int>::zeros(room(self.integers)?);
        let mut addresses = Few::<isize>::zeros(room(self.addresses)?);
        let mut large = Few::<i64>::zeros(room(self.large)?);
        // Room for handles of either width.
        let mut types = Few::<usize>::zeros(room(self.types)?);
        let handles = types.as_mut_ptr().cast::<u8>();
        let (at_integers, at_addresses) = (integers.as_mut_ptr(), addresses.as_mut_ptr());
        // SAFETY: room for so many numbers and handles as the MPI has said.
        let error = unsafe {
            match native.type_get_contents_c {
                Some(ask) => ask(
                    handle,
                    self.integers,
                    self.addresses,
                    self.large,
                    self.types,
                    at_integers,
                    at_addresses,
                    large.as_mut_ptr(),
                    handles,
                ),
                None => (native.type_get_contents)(
                    handle,
                    self.integers as c_int,
                    self.addresses as c_int,
                    self.types as c_int,
                    at_integers,
                    at_addresses,
                    handles,
                ),
            }
        };
        if error != 0 {
            return None;
        }
        // SAFETY: the MPI has filled in so many.
        let of = |index| unsafe { abi.handle_at(Handles::C(handles), index) };
        let types = Few::filled(types.len(), (0..types.len()).map(of));
        // The arguments' order: what are addresses stands behind what are integers, but for lower bounds, that stand alone; and of
        // a subarray the number of dimensions and the order are integers in either kind of call.
        let is_large = self.large > 0 && self.combiner == Some(Combiner::Subarray);
        let first = integers.len().checked_sub(usize::from(is_large))?;
        let (first, last) = integers.split_at(first);
        let [first, last] = [first, last].map(|list| list.iter().map(|number| i64::from(*number)));
        let addresses = addresses.iter().map(|address| *address as i64);
        let numbers = first.chain(large.iter().copied()).chain(last);
        let count = integers.len() + large.len() + addresses.len();
        let numbers = Few::filled(count, numbers.chain(addresses));
        Some(Contents { numbers, types })
    }
}

/// The numbers and types that a type was made of.
pub(super) struct Contents {
    /// Counts and displacements, in the order of the call's arguments.
    pub(super) numbers: Few<i64>,
    pub(super) types: Few<Handle>,
}

struct Decoder<'a> {
    library: &'a Library,
    abi: &'a Abi,
    /// How alike results must be of all predefined types that were found so far.
    likeness: Cell<Option<Likeness>>,
}

impl Decoder<'_> {
    /// The map of a type that was made in some way; types among its contents are freed, unless they are predefined.
    fn map(
        &self,
        (handle, combiner): (Handle, Combiner),
        contents: Option<&Contents>,
        depth: u32,
    ) -> Option<TypeMap> {
        if combiner.is_predefined() {
            return self.predefined(handle);
        }
        let contents = contents?;
        let maps = contents.types.iter().map(|part| {
            let of_part = Envelope::of(self.library, self.abi, *part)?;
            let map = of_part.combiner.and_then(|combiner| {
                let is_deep = depth == DEEPEST && !combiner.is_predefined();
                let contents = (!is_deep).then(|| of_part.contents(self.library, self.abi, *part));
                let contents = contents.flatten();
                self.map((*part, combiner), contents.as_ref(), depth + 1)
            });
            let extents = Extents::of(self.library, *part);
            if !of_part.combiner.is_some_and(Combiner::is_predefined) {
                let mut part = *part;
                // SAFETY: a type that was made for us when we asked, and that nobody else knows.
                unsafe { (self.library.native.type_free)(&raw mut part) };
            }
            Some((map?, extents?))
        });
        // All of them, as each must be freed.
        let parts: Vec<Option<(TypeMap, Extents)>> = maps.collect();
        let parts: Vec<(TypeMap, Extents)> = parts.into_iter().collect::<Option<_>>()?;
        combine(combiner, &contents.numbers, &parts, self.abi)
    }

    fn predefined(&self, handle: Handle) -> Option<TypeMap> {
        let extents = Extents::of(self.library, handle)?;
        let named = self.abi.named(handle);
        let likeness = named.map_or(Likeness::Any, |named| {
            Likeness::of_named(named, extents.bytes, true)
        });
        let before = self.likeness.get();
        self.likeness
            .set(Some(before.map_or(likeness, |before| before.and(likeness))));
        if let Some(value) = named.and_then(|named| named.spread()) {
            // As C has a structure of the value and an int.
            let mut map = TypeMap::block(value);
            let index = value.next_multiple_of(size_of::<c_int>()) as isize;
            map.place(&TypeMap::block(size_of::<c_int>()), index, 1, 0)?;
            return Some(map);
        }
        let is_dense = extents.true_lower == 0 && extents.true_extent == extents.bytes;
        is_dense.then(|| TypeMap::block(extents.bytes))
    }
}

/// The map of a type that was made in some way, of these numbers and types.
fn combine(
    combiner: Combiner,
    numbers: &[i64],
    parts: &[(TypeMap, Extents)],
    abi: &Abi,
) -> Option<TypeMap> {
    let number = |index: usize| numbers.get(index).copied();
    let count = |index: usize| usize::try_from(number(index)?).ok();
    let mut map = TypeMap::default();
    let (first, extents) = parts.first()?;
    let extent = extents.extent;
    match combiner {
        Combiner::Named | Combiner::Fortran => return None,
        Combiner::Dup | Combiner::Resized => return Some(first.clone()),
        Combiner::Contiguous => map.place(first, 0, count(0)?, extent)?,
        Combiner::Vector | Combiner::Hvector => {
            let unit = if combiner == Combiner::Vector {
                extent
            } else {
                1
            };
            let mut block = TypeMap::default();
            block.place(first, 0, count(1)?, extent)?;
            let stride = (number(2)? as isize).checked_mul(unit)?;
            map.place(&block, 0, count(0)?, stride)?;
        }
        Combiner::IndexedBlock | Combiner::HindexedBlock => {
            let is_bytes = combiner == Combiner::HindexedBlock;
            let (blocks, unit) = (count(0)?, if is_bytes { 1 } else { extent });
            let mut block = TypeMap::default();
            block.place(first, 0, count(1)?, extent)?;
            for at in 0..blocks {
                let offset = (number(2 + at)? as isize).checked_mul(unit)?;
                map.place(&block, offset, 1, 0)?;
            }
        }
        Combiner::Indexed | Combiner::Hindexed | Combiner::Struct => {
            let (blocks, is_elements) = (count(0)?, combiner == Combiner::Indexed);
            let unit = if is_elements { extent } else { 1 };
            for at in 0..blocks {
                let which = if combiner == Combiner::Struct { at } else { 0 };
                let (part, extents) = parts.get(which)?;
                let offset = (number(1 + blocks + at)? as isize).checked_mul(unit)?;
                map.place(part, offset, count(1 + at)?, extents.extent)?;
            }
        }
        Combiner::Subarray => map = subarray(numbers, first, extent, abi)?,
    }
    Some(map)
}

/// A part of an array: its dimensions' number, their sizes, what the part has of each, where it begins, and their order.
fn subarray(numbers: &[i64], element: &TypeMap, extent: isize, abi: &Abi) -> Option<TypeMap> {
    let dimensions = usize::try_from(*numbers.first()?).ok()?;
    let order = c_int::try_from(*numbers.get(1 + 3 * dimensions)?).ok()?;
    let of = |list: usize, dimension: usize| {
        usize::try_from(*numbers.get(1 + list * dimensions + dimension)?).ok()
    };
    let mut map = element.clone();
    let (mut stride, mut offset) = (extent, 0isize);
    // From the dimension whose neighbours are next to one another.
    for step in 0..dimensions {
        let dimension = if order == abi.order_c {
            dimensions - 1 - step
        } else {
            step
        };
        let (size, part, begin) = (of(0, dimension)?, of(1, dimension)?, of(2, dimension)?);
        let mut line = TypeMap::default();
        line.place(&map, 0, part, stride)?;
        map = line;
        offset = offset.checked_add(stride.checked_mul(begin as isize)?)?;
        stride = stride.checked_mul(size as isize)?;
    }
    let mut moved = TypeMap::default();
    moved.place(&map, offset, 1, 0)?;
    Some(moved)
}
