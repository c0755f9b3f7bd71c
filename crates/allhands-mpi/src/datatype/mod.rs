//! Datatypes: what a handle stands for, kept from its first use until it is freed.
//!
//! It owns the layouts of types, found out by how the MPI says that they were made, the loops that copy by them, and how alike two
//! results of a type must be. Buffers and collectives ask it. It never reads or writes a user's memory but where a loop is handed
//! its address, and never communicates.

mod decode;
mod few;
mod likeness;
mod map;
mod recipe;
mod trial;

use crate::abi::{Abi, Handle, Named};
use crate::context::attribute::copy;
use crate::context::call::Reason;
use crate::context::library::Library;
use crate::context::map::{Map, empty};
use crate::context::memory::{Leave, Memory};
use crate::context::quiet::Quiet;
use crate::context::unserved::Unserved;
use decode::{Decoded, Envelope, Extents, decode};
pub(crate) use likeness::Likeness;
pub(crate) use map::TypeMap;
use recipe::{Made, Recipes};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use trial::Trials;

/// What data is described by: a type's handle, the bytes of one element, and where they are.
#[derive(Clone)]
pub(crate) struct Datatype {
    pub(crate) handle: Handle,
    pub(crate) bytes: usize,
    /// The distance from one element to the next.
    pub(crate) extent: isize,
    /// What is known of where the bytes are; `None`: they begin at the element's address, and elements follow one another
    /// without gaps.
    layout: Option<Arc<Layout>>,
}

/// Where the bytes of an element are.
#[derive(Clone)]
pub(crate) struct Layout {
    extents: Extents,
    /// `None`: the MPI packs and unpacks.
    map: Option<TypeMap>,
    /// How alike results of this type must be, if an operator of the user has combined them.
    likeness: Likeness,
    /// Whether the type is the MPI's own.
    is_predefined: bool,
    /// Whether it was committed when it was looked at; one that was not is looked at each time.
    is_committed: bool,
}

impl Datatype {
    /// What a handle stands for.
    #[inline]
    pub(crate) fn of(library: &Library, abi: &Abi, register: usize) -> Result<Datatype, Unserved> {
        let handle = abi.handle(register);
        match abi.named(handle) {
            Some(named) if named.is_contiguous() && named.bytes > 0 => Ok(Datatype {
                handle,
                bytes: named.bytes,
                extent: named.bytes as isize,
                layout: None,
            }),
            named => Datatype::asked(library, abi, handle, named),
        }
    }

    fn asked(
        library: &Library,
        abi: &Abi,
        handle: Handle,
        named: Option<&Named>,
    ) -> Result<Datatype, Unserved> {
        let wrong = Unserved::Pass(Reason::Arguments);
        if handle == abi.datatype_null {
            return Err(wrong);
        }
        let layout = DATATYPES.of(library, abi, handle);
        let layout = layout.ok_or(wrong)?;
        let (bytes, extent) = (layout.extents.bytes, layout.extents.extent);
        let is_dense = named.is_some_and(Named::is_contiguous) && extent == bytes as isize;
        Ok(Datatype {
            handle,
            bytes,
            extent,
            layout: (!is_dense).then_some(layout),
        })
    }

    /// Where the bytes of so many elements are, from the address of the first on, if they are in one piece.
    #[inline]
    pub(crate) fn in_one_piece(&self, count: usize) -> Option<isize> {
        let Some(layout) = &self.layout else {
            return Some(0);
        };
        let offset = layout.map.as_ref()?.single()?;
        (count <= 1 || self.extent == self.bytes as isize).then_some(offset)
    }

    /// Whether the handle means this type as long as the process lives: it is the MPI's own, and has no gaps.
    #[inline]
    pub(crate) fn is_for_ever(&self) -> bool {
        self.layout.is_none()
    }

    /// Whether elements may hold addresses of their own, so that a buffer may begin at no address at all.
    pub(crate) fn may_be_absolute(&self) -> bool {
        self.layout.is_some()
    }

    /// Where the bytes are, if that is known.
    pub(crate) fn map(&self) -> Option<&TypeMap> {
        self.layout.as_ref()?.map.as_ref()
    }

    /// Whether the type is the MPI's own.
    pub(crate) fn is_predefined(&self) -> bool {
        self.layout
            .as_ref()
            .is_none_or(|layout| layout.is_predefined)
    }

    /// Whether the type may be used to communicate.
    #[inline]
    pub(crate) fn is_committed(&self) -> bool {
        self.layout
            .as_ref()
            .is_none_or(|layout| layout.is_committed)
    }

    /// How alike results of this type must be; a user's operator may round what is inside of an element.
    pub(crate) fn likeness(&self, abi: &Abi, is_users: bool) -> Likeness {
        match (abi.named(self.handle), &self.layout) {
            (Some(named), _) => Likeness::of_named(named, self.bytes, is_users),
            (None, Some(layout)) => layout.likeness,
            (None, None) => Likeness::Exact,
        }
    }

    /// From an element's address to its first byte, and from there to past its last.
    pub(crate) fn span(&self) -> (isize, usize) {
        match &self.layout {
            None => (0, self.bytes),
            Some(layout) => (layout.extents.true_lower, layout.extents.true_extent),
        }
    }

    /// Whether the bytes of every element are in its own extent, at its own address.
    pub(crate) fn is_in_extent(&self) -> bool {
        let Some(layout) = &self.layout else {
            return true;
        };
        let Extents {
            lower,
            extent,
            true_lower,
            true_extent,
            ..
        } = layout.extents;
        lower == 0 && true_lower >= 0 && true_lower + true_extent as isize <= extent
    }
}

/// The layouts of derived types, and of predefined ones that have gaps, by their handles.
pub(crate) struct Datatypes {
    known: RwLock<Map<Handle, Arc<Kept>>>,
    /// The key of the attribute by which the MPI reports that a type is freed.
    key: Mutex<Option<c_int>>,
    /// Grows whenever a type is forgotten.
    epoch: AtomicU64,
    recipes: Recipes,
    trials: Trials,
}

/// A type that is kept until it is freed.
struct Kept {
    layout: Arc<Layout>,
    /// Whether it has been asked for again.
    is_used: AtomicBool,
}

impl Kept {
    /// Its layout, for a call behind the first.
    fn again(&self) -> Arc<Layout> {
        // A type that many threads use stays in the caches of all.
        if !self.is_used.load(Ordering::Relaxed) {
            self.is_used.store(true, Ordering::Relaxed);
        }
        Arc::clone(&self.layout)
    }
}

/// The type that a thread has looked up last, the epoch then, and what is kept of it.
struct LastType(Handle, u64, Arc<Kept>);

/// Those of this process.
pub(crate) static DATATYPES: Datatypes = Datatypes {
    known: RwLock::new(empty()),
    key: Mutex::new(None),
    epoch: AtomicU64::new(0),
    recipes: Recipes::new(),
    trials: Trials::new(),
};

thread_local! {
    /// The type that a thread has looked up last.
    static LAST: Memory<LastType> = const { Memory::new() };
    static LEAVE: Leave = const { Leave(|| LAST.with(|last| last.keep(None, &LEAVE))) };
}

/// A value with a destructor could be gone when a thread makes its last calls.
const _: () = assert!(!std::mem::needs_drop::<Memory<LastType>>());

impl Datatypes {
    /// The layout of a type; `None` if the MPI does not know the type.
    fn of(&self, library: &Library, abi: &Abi, handle: Handle) -> Option<Arc<Layout>> {
        let epoch = self.epoch.load(Ordering::Acquire);
        let last = LAST.with(|last| {
            last.with(|LastType(known, then, kept)| {
                (*known == handle && *then == epoch).then(|| kept.again())
            })
        });
        if last.is_some() {
            return last;
        }
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let kept = known.get(&handle).map(Arc::clone);
        drop(known);
        let Some(kept) = kept else {
            return self.look_up_anew(library, abi, handle);
        };
        let layout = kept.again();
        let last = LastType(handle, epoch, kept);
        LAST.with(|kept| kept.keep(Some(last), &LEAVE));
        Some(layout)
    }

    #[cold]
    fn look_up_anew(&self, library: &Library, abi: &Abi, handle: Handle) -> Option<Arc<Layout>> {
        let _quiet = Quiet::new(library, abi);
        let layout = self.look(library, abi, handle)?;
        // Where nobody would report that the type is freed, and another may get its handle, it is looked at each time.
        if layout.is_predefined
            || (layout.is_committed
                && self.trials.is_due(handle)
                && self.mark(library, handle).is_some())
        {
            let kept = Arc::new(Kept {
                layout: Arc::clone(&layout),
                is_used: AtomicBool::new(false),
            });
            let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
            known.insert(handle, kept);
        }
        Some(layout)
    }

    /// Looks at a type.
    fn look(&self, library: &Library, abi: &Abi, handle: Handle) -> Option<Arc<Layout>> {
        let envelope = Envelope::of(library, abi, handle);
        let contents = envelope
            .as_ref()
            .and_then(|envelope| envelope.contents(library, abi, handle));
        let combiner = envelope.as_ref().and_then(|envelope| envelope.combiner);
        let made = match (combiner, &contents) {
            (Some(combiner), Some(contents)) => Made::of(abi, combiner, contents),
            _ => None,
        };
        if let Some(layout) = made.and_then(|made| self.recipes.find(made)) {
            return Some(match is_committed(library, abi, handle) {
                true => layout,
                false => Arc::new(Layout {
                    is_committed: false,
                    ..Layout::clone(&layout)
                }),
            });
        }
        let extents = Extents::of(library, handle);
        let Decoded {
            map,
            likeness,
            is_predefined,
        } = decode(library, abi, (handle, combiner), contents.as_ref(), extents);
        let extents = extents?;
        let is_committed = is_predefined || is_committed(library, abi, handle);
        let layout = Arc::new(Layout {
            extents,
            map,
            likeness,
            is_predefined,
            is_committed,
        });
        if let Some(made) = made.filter(|_| is_committed) {
            self.recipes.keep(made, &layout);
        }
        Some(layout)
    }

    /// Hangs our key on a type, so that we hear when it is freed.
    fn mark(&self, library: &Library, handle: Handle) -> Option<()> {
        let mut key = self.key.lock().unwrap_or_else(PoisonError::into_inner);
        let key = match *key {
            Some(key) => key,
            None => {
                let mut made = 0;
                let create = library.native.type_create_keyval;
                // SAFETY: two functions that live as long as the process, and a number to write to.
                let error = unsafe { create(copy, delete, &raw mut made, std::ptr::null_mut()) };
                if error != 0 {
                    return None;
                }
                *key.insert(made)
            }
        };
        // SAFETY: a type, our key, and a value that nobody looks at.
        let error = unsafe { (library.native.type_set_attr)(handle, key, std::ptr::null_mut()) };
        (error == 0).then_some(())
    }

    fn forget(&self, handle: Handle) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let kept = known.remove(&handle);
        drop(known);
        self.epoch.fetch_add(1, Ordering::Release);
        if let Some(kept) = kept {
            let was_used = kept.is_used.load(Ordering::Relaxed);
            self.trials.ended(handle, was_used);
        }
    }

    /// Forgets all types, and the key.
    pub(crate) fn forget_all(&self, library: &Library) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.clear();
        drop(known);
        self.epoch.fetch_add(1, Ordering::Release);
        let mut key = self.key.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mut key) = key.take() {
            // SAFETY: our own key. That it cannot be freed harms nobody.
            unsafe { (library.native.type_free_keyval)(&raw mut key) };
        }
    }
}

/// Whether a type is committed: no function of MPI says so, but the MPI packs nothing, not even no elements, of one that is not.
fn is_committed(library: &Library, abi: &Abi, handle: Handle) -> bool {
    let (from, mut into, mut position) = (0u128, 0u128, 0);
    let (from, into) = ((&raw const from).cast(), (&raw mut into).cast());
    let _quiet = Quiet::new(library, abi);
    // SAFETY: no elements are read, and no bytes written.
    let packed = unsafe {
        let pack = library.native.pack;
        pack(from, 0, handle, into, 0, &raw mut position, abi.comm_self)
    };
    packed == 0
}

/// What becomes of what we know when a type is freed.
unsafe extern "C" fn delete(handle: Handle, _: c_int, _: *mut c_void, _: *mut c_void) -> c_int {
    if let Some(library) = Library::get()
        && let Some(abi) = &library.abi
    {
        DATATYPES.forget(abi.handle(handle));
    }
    0
}
