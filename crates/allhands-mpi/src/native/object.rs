//! The object of the native MPI that the process has loaded, and what stands behind this library by the same names.

use crate::abi::Symbols;
use std::ffi::{CStr, CString, c_int, c_void};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// A shared object that the process has loaded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Object {
    handle: *mut c_void,
}

// SAFETY: a handle of the dynamic linker, which may be used from any thread and is never given back.
unsafe impl Send for Object {}
// SAFETY: as above.
unsafe impl Sync for Object {}

/// The function by which an MPI is known.
const MARK: &CStr = c"PMPI_Comm_size";

impl Object {
    /// The MPI that the process has loaded, wherever it is in the linker's scopes.
    pub(crate) fn find() -> Option<Object> {
        Object::open(&home(further(MARK)?)?)
    }

    /// The loaded object with this file name.
    fn open(name: &CStr) -> Option<Object> {
        // SAFETY: with NOLOAD nothing is loaded, so no code runs.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY) };
        (!handle.is_null()).then_some(Object { handle })
    }

    /// The address of a name in this object.
    pub(crate) fn symbol(&self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: the handle is open; nothing is called.
        let address = unsafe { libc::dlsym(self.handle, name.as_ptr()) };
        (!address.is_null()).then_some(address)
    }

    /// What a program's call reaches behind this library, by the profiling name: the function of a tool that takes the call by its
    /// plain name, or this object's own. What this MPI does not have is not there for tools either.
    pub(crate) fn next(&self, name: &CStr) -> Option<*mut c_void> {
        let own = self.symbol(name)?;
        let plain = name.to_bytes().strip_prefix(b"P").map(|_| &name[1..]);
        let Some(plain) = plain.filter(|plain| plain.to_bytes().starts_with(b"MPI_")) else {
            return Some(own);
        };
        // SAFETY: looks up a name behind this object; nothing is called.
        let next = unsafe { libc::dlsym(libc::RTLD_NEXT, plain.as_ptr()) };
        // The MPI's own function is called as the MPI calls it, whose plain name may be another's.
        let is_tools = !next.is_null() && Some(next) != self.symbol(plain);
        Some(if is_tools { next } else { own })
    }

    /// Makes calls from this object known as such ([`INSIDE`]).
    pub(crate) fn mark_as_inside(&self) {
        if let Some((start, length)) = self.symbol(MARK).and_then(|mark| extent(mark as usize)) {
            INSIDE.start.store(start, Ordering::Relaxed);
            INSIDE.length.store(length, Ordering::Release);
        }
    }
}

impl Symbols for Object {
    fn symbol(&self, name: &CStr) -> Option<*mut c_void> {
        Object::symbol(self, name)
    }

    fn shared_symbol(&self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: looks up a name; nothing is called.
        let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        if address.is_null() {
            self.symbol(name)
        } else {
            Some(address)
        }
    }
}

/// The address of a name that another object has.
///
/// A program that is linked with an MPI has it in the global scope, behind this object; Python's is in a local one.
fn further(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: looks up a name behind this object; nothing is called.
    let next = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    if !next.is_null() {
        return Some(next);
    }
    let own = home(further as *const c_void);
    loaded().iter().find_map(|file| {
        // An object's lookup goes on among those that it needs.
        let found = Object::open(file)?.symbol(name)?;
        // Our own is not further.
        (home(found) != own).then_some(found)
    })
}

/// The function that a call by some name would have reached without this library, looked up when it is first called.
pub(crate) struct Next {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
}

impl Next {
    /// The one of a name.
    pub(crate) const fn new(name: &'static CStr) -> Next {
        Next {
            name,
            address: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    /// Its address.
    #[inline]
    pub(crate) fn get(&self) -> Option<*mut c_void> {
        let known = self.address.load(Ordering::Relaxed);
        if !known.is_null() {
            return Some(known);
        }
        let found = further(self.name)?;
        // Whoever looks finds the same.
        self.address.store(found, Ordering::Relaxed);
        Some(found)
    }
}

/// The file name of the object that an address is in.
fn home(address: *const c_void) -> Option<CString> {
    // SAFETY: all fields are addresses, for which zero is a value.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: fills the record.
    let found = unsafe { libc::dladdr(address, &raw mut info) };
    if found == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the linker's name of an object that stays loaded ends with a zero.
    Some(unsafe { CStr::from_ptr(info.dli_fname) }.to_owned())
}

/// A range of addresses.
#[repr(C)]
pub(crate) struct Range {
    start: AtomicUsize,
    length: AtomicUsize,
}

/// Where the MPI's own object is in memory: calls from there are the MPI's, not the program's. Nowhere until it is found.
pub(crate) static INSIDE: Range = Range {
    start: AtomicUsize::new(0),
    length: AtomicUsize::new(0),
};

/// Where the object that an address is in begins, and its length.
fn extent(address: usize) -> Option<(usize, usize)> {
    struct Search {
        address: usize,
        found: Option<(usize, usize)>,
    }
    unsafe extern "C" fn look(
        info: *mut libc::dl_phdr_info,
        _: usize,
        search: *mut c_void,
    ) -> c_int {
        // SAFETY: the linker hands in a record, and the search that was handed to it below.
        let (info, search) = unsafe { (&*info, &mut *search.cast::<Search>()) };
        // SAFETY: the record has so many headers.
        let headers =
            unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
        let loaded = headers
            .iter()
            .filter(|header| header.p_type == libc::PT_LOAD);
        let ends = |header: &libc::Elf64_Phdr| {
            let start = info.dlpi_addr.wrapping_add(header.p_vaddr) as usize;
            (start, start + header.p_memsz as usize)
        };
        let start = loaded.clone().map(|header| ends(header).0).min();
        let end = loaded.map(|header| ends(header).1).max();
        if let (Some(start), Some(end)) = (start, end)
            && (start..end).contains(&search.address)
        {
            search.found = Some((start, end - start));
        }
        c_int::from(search.found.is_some())
    }
    let mut search = Search {
        address,
        found: None,
    };
    // SAFETY: `look` takes what it is handed for what it is.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut search).cast()) };
    search.found
}

/// The file names of all loaded objects.
fn loaded() -> Vec<CString> {
    unsafe extern "C" fn note(
        info: *mut libc::dl_phdr_info,
        _: usize,
        names: *mut c_void,
    ) -> c_int {
        // SAFETY: the linker hands in a record, and the list that was handed to it below.
        let (info, names) = unsafe { (&*info, &mut *names.cast::<Vec<CString>>()) };
        if !info.dlpi_name.is_null() {
            // SAFETY: ends with a zero.
            let name = unsafe { CStr::from_ptr(info.dlpi_name) };
            if !name.is_empty() {
                names.push(name.to_owned());
            }
        }
        0
    }
    let mut names = Vec::new();
    // SAFETY: `note` takes what it is handed for what it is.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut names).cast()) };
    names
}
