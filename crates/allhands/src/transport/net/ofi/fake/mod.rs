//! The fake: a provider in this process, which wants and lacks what a test says, and finds out who breaks its rules.
//!
//! [`objects`] are what libfabric's functions make, [`world`] is what becomes of messages, [`writes`] of what is written to memory of others.

mod objects;
mod puts;
mod several;
mod tests;
mod windows;
mod world;
mod writes;

use super::abi::{self, DomainAttr, EpAttr, FabricAttr, Info, RxAttr, TxAttr};
use super::library::Library;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::{Mutex, PoisonError};

/// What a provider wants and lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Traits {
    pub(super) mr_mode: c_int,
    pub(super) is_ordered: bool,
    pub(super) inject_bytes: usize,
    pub(super) most_bytes: usize,
    pub(super) tag_bits: u32,
    pub(super) has_cancel: bool,
    pub(super) has_descriptor: bool,
    /// Every so many messages there is no place for one; 0: always.
    pub(super) full_every: u32,
    /// How many words of a context it writes to.
    pub(super) notes: usize,
    /// Whether it closes an endpoint to which memory is bound.
    pub(super) closes_bound: bool,
    /// Whether it writes to other ranks' memory, whether messages come behind what was written before, and whether it can say of a write
    /// that it has come.
    pub(super) writes: bool,
    pub(super) orders_writes: bool,
    pub(super) tells_delivery: bool,
    /// How long a key may be.
    pub(super) key_bytes: usize,
    /// How many domains it has: `d1`, at the address 10.0.0.1, and so on.
    pub(super) domains: u8,
}

impl Traits {
    /// A provider as one would wish for.
    pub(super) const KIND: Traits = Traits {
        mr_mode: 0,
        is_ordered: true,
        inject_bytes: 64,
        most_bytes: usize::MAX,
        tag_bits: 64,
        has_cancel: true,
        has_descriptor: true,
        full_every: 0,
        notes: 0,
        closes_bound: true,
        writes: true,
        orders_writes: true,
        tells_delivery: true,
        key_bytes: 2,
        domains: 1,
    };
}

/// How a fake's name begins; behind it stands where in the list its traits are.
const NAME: &str = "fake:";

static ALL: Mutex<Vec<Traits>> = Mutex::new(Vec::new());

/// A new provider; its name.
pub(super) fn provider(traits: Traits) -> String {
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    all.push(traits);
    format!("{NAME}{}", all.len() - 1)
}

/// The traits of the provider of a name.
fn traits(name: *const c_char) -> Option<Traits> {
    if name.is_null() {
        return None;
    }
    // SAFETY: names end with zeros.
    let name = unsafe { CStr::from_ptr(name) }.to_str().ok()?;
    let at: usize = name.strip_prefix(NAME)?.parse().ok()?;
    let all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    all.get(at).copied()
}

/// The library that has these providers alone.
pub(super) fn library() -> Library {
    Library {
        getinfo,
        freeinfo,
        dupinfo,
        fabric: objects::open_fabric,
        strerror,
    }
}

/// An entry with all its parts.
#[repr(C)]
struct Entry {
    info: Info,
    tx: TxAttr,
    rx: RxAttr,
    ep: EpAttr,
    domain: DomainAttr,
    fabric: FabricAttr,
    /// As the system writes one of IPv4: behind a family and a port.
    source: [u8; 16],
}

extern "C" fn dupinfo(from: *const Info) -> *mut Info {
    assert!(from.is_null(), "nobody copies one here");
    // SAFETY: numbers and addresses alone, for which zeros are good.
    let entry: *mut Entry = Box::into_raw(Box::new(unsafe { std::mem::zeroed() }));
    // SAFETY: it was made just now.
    unsafe {
        (*entry).info.tx_attr = &raw mut (*entry).tx;
        (*entry).info.rx_attr = &raw mut (*entry).rx;
        (*entry).info.ep_attr = &raw mut (*entry).ep;
        (*entry).info.domain_attr = &raw mut (*entry).domain;
        (*entry).info.fabric_attr = &raw mut (*entry).fabric;
    }
    entry.cast()
}

unsafe extern "C" fn freeinfo(mut info: *mut Info) {
    while !info.is_null() {
        // SAFETY: from `dupinfo`, with names from the system's memory or none.
        unsafe {
            let entry = Box::from_raw(info.cast::<Entry>());
            libc::free(entry.fabric.prov_name.cast());
            libc::free(entry.domain.name.cast());
            info = entry.info.next;
        }
    }
}

unsafe extern "C" fn getinfo(
    _: u32,
    _: *const c_char,
    _: *const c_char,
    _: u64,
    hints: *const Info,
    list: *mut *mut Info,
) -> c_int {
    // SAFETY: hints are from `dupinfo`, and the place for the list is the caller's.
    unsafe {
        let hints = &*hints.cast::<Entry>();
        let name = hints.fabric.prov_name;
        let Some(traits) = traits(name) else {
            return -abi::ENODATA;
        };
        let order = hints.tx.msg_order & hints.rx.msg_order;
        let asks_for_order = order & abi::ORDER_SAS != 0;
        let notes = match traits.notes {
            0 => 0,
            1..=4 => abi::CONTEXT,
            _ => abi::CONTEXT2,
        };
        let lacks = (asks_for_order && !traits.is_ordered)
            || traits.mr_mode & !hints.domain.mr_mode != 0
            || notes & !hints.info.mode != 0
            || hints.ep.kind != abi::EP_RDM
            || hints.info.caps & abi::TAGGED == 0
            || (hints.info.caps & abi::RMA != 0 && !traits.writes)
            || (order & abi::ORDER_SAW != 0 && !traits.orders_writes)
            || (hints.tx.op_flags & abi::DELIVERY_COMPLETE != 0 && !traits.tells_delivery);
        if lacks {
            return -abi::ENODATA;
        }
        let mut place = list;
        *place = ptr::null_mut();
        for domain in 1..=traits.domains {
            let entry = entry(&traits, name, notes, domain);
            (*entry).info.caps = hints.info.caps;
            (*entry).tx.op_flags = hints.tx.op_flags;
            *place = entry.cast();
            place = &raw mut (**place).next;
        }
    }
    0
}

/// The entry of a domain.
fn entry(traits: &Traits, name: *const c_char, notes: u64, domain: u8) -> *mut Entry {
    let entry = dupinfo(ptr::null()).cast::<Entry>();
    let order = match traits.is_ordered {
        true => abi::ORDER_SAS,
        false => 0,
    };
    let order = match traits.orders_writes {
        true => order | abi::ORDER_SAW,
        false => order,
    };
    let domain_name = format!("d{domain}\0");
    // SAFETY: it was made just now; the name is one of ours, and both end with zeros.
    unsafe {
        (*entry).info.mode = notes;
        (*entry).source = [0, 0, 0, 0, 10, 0, 0, domain, 0, 0, 0, 0, 0, 0, 0, 0];
        (*entry).info.addr_format = abi::FORMAT_SOCKADDR_IN;
        (*entry).info.src_addr = (&raw mut (*entry).source).cast();
        (*entry).info.src_addrlen = size_of::<[u8; 16]>();
        (*entry).tx.msg_order = order;
        (*entry).rx.msg_order = order;
        (*entry).tx.inject_size = traits.inject_bytes;
        (*entry).ep.max_msg_size = traits.most_bytes;
        (*entry).ep.mem_tag_format = 0xaaaa_aaaa_aaaa_aaaa >> (64 - traits.tag_bits);
        (*entry).domain.mr_mode = traits.mr_mode;
        (*entry).domain.mr_key_size = traits.key_bytes;
        (*entry).domain.name = libc::strdup(domain_name.as_ptr().cast());
        (*entry).fabric.prov_name = libc::strdup(name);
    }
    entry
}

extern "C" fn strerror(error: c_int) -> *const c_char {
    match error {
        abi::ETRUNC => c"truncated",
        libc::ECONNREFUSED => c"nobody is there",
        libc::EINVAL => c"a rule was broken",
        libc::EACCES => c"no such memory",
        _ => c"an error",
    }
    .as_ptr()
}

/// A pointer that nobody needs.
const NOTHING: *mut c_void = ptr::null_mut();
