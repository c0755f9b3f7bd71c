//! The endpoint: a rank's objects of libfabric, from the fabric to the queue of what has ended, opened and closed together.

use super::abi::{self, Av, AvAttr, Cq, CqAttr, Domain, Ep, Fabric, Fid, op};
use super::capabilities::{self, Capabilities, Offer, Wishes};
use super::error::OfiError;
use super::library::Library;
use super::wire_up::Card;
use std::ffi::{c_int, c_void};
use std::os::fd::{BorrowedFd, RawFd};
use std::ptr;

/// The longest address that a provider may give an endpoint in bytes.
const MOST_ADDRESS: usize = 256;

/// Where a rank can be reached over libfabric, before it knows any other.
#[derive(Debug)]
pub struct Endpoint {
    pub(super) library: Library,
    pub(super) capabilities: Capabilities,
    fabric: *mut Fabric,
    pub(super) domain: *mut Domain,
    cq: *mut Cq,
    av: *mut Av,
    /// Null when it was closed before the rest.
    pub(super) ep: *mut Ep,
    /// Whether nothing of it is ever closed.
    is_left_open: bool,
    /// What becomes readable when something has ended, if the provider has such a thing.
    descriptor: Option<RawFd>,
    card: Card,
}

// SAFETY: libfabric's objects may be used by any thread; those of a domain by one at a time, as was agreed when it was opened
// (`THREAD_DOMAIN`), and whoever has the endpoint has all that belongs to its domain.
unsafe impl Send for Endpoint {}

impl Endpoint {
    /// Opens what a provider offers.
    ///
    /// # Errors
    /// If there is no libfabric, or no provider of that name, or none that can do what is needed.
    pub fn open(wishes: &Wishes) -> Result<Endpoint, OfiError> {
        Endpoint::open_with(Library::load()?, wishes, false)
    }

    /// The same at the interface that is wished for, and nowhere else.
    ///
    /// # Errors
    /// As [`open`](Endpoint::open), or if the provider has nothing there.
    pub(crate) fn open_there(wishes: &Wishes) -> Result<Endpoint, OfiError> {
        Endpoint::open_with(Library::load()?, wishes, true)
    }

    /// The same with a library that somebody has.
    pub(super) fn open_with(
        library: Library,
        wishes: &Wishes,
        must_be_there: bool,
    ) -> Result<Endpoint, OfiError> {
        let offer = capabilities::find(library, wishes, must_be_there)?;
        let mut endpoint = Endpoint {
            library,
            capabilities: offer.capabilities.clone(),
            fabric: ptr::null_mut(),
            domain: ptr::null_mut(),
            cq: ptr::null_mut(),
            av: ptr::null_mut(),
            ep: ptr::null_mut(),
            is_left_open: false,
            descriptor: None,
            card: Card::default(),
        };
        // What is open is closed, also if the rest fails.
        endpoint.open_domain(&offer)?;
        endpoint.open_queue()?;
        endpoint.open_ep(&offer)?;
        endpoint.card = Card {
            provider: offer.capabilities.provider.clone(),
            protocol: offer.capabilities.protocol,
            format: offer.capabilities.address_format,
            tag_bits: offer.capabilities.tag_bits,
            is_ordered: offer.capabilities.is_ordered,
            windows: offer.capabilities.windows,
            address: endpoint.address()?,
        };
        Ok(endpoint)
    }

    /// What all other ranks must know of it.
    #[must_use]
    pub fn card(&self) -> Vec<u8> {
        self.card.encode()
    }

    pub(super) fn own_card(&self) -> &Card {
        &self.card
    }

    /// The name of the provider, as libfabric has it.
    #[must_use]
    pub fn provider(&self) -> &str {
        &self.capabilities.provider
    }

    fn open_domain(&mut self, offer: &Offer) -> Result<(), OfiError> {
        let library = self.library;
        // SAFETY: the offer's entry has these parts, and both it and the places for the objects live through the calls. Objects
        // of the library have their tables as long as they live.
        unsafe {
            let attr = (*offer.info).fabric_attr;
            let opened = (library.fabric)(attr, &mut self.fabric, ptr::null_mut());
            library.check("open a fabric", opened)?;
            let open = op!((*self.fabric).ops, abi::FabricOps, domain);
            let opened =
                open.map(|open| open(self.fabric, offer.info, &mut self.domain, ptr::null_mut()));
            self.check("open a domain", opened)?;
            let open = op!((*self.domain).ops, abi::DomainOps, av_open);
            let mut attr = AvAttr::default();
            let opened =
                open.map(|open| open(self.domain, &mut attr, &mut self.av, ptr::null_mut()));
            self.check("open an address vector", opened)
        }
    }

    /// Opens the queue of what has ended: one that can be slept at, or else one that cannot.
    fn open_queue(&mut self) -> Result<(), OfiError> {
        let mut opened = None;
        for wait_obj in [abi::WAIT_FD, abi::WAIT_NONE] {
            let mut attr = CqAttr {
                format: abi::CQ_FORMAT_TAGGED,
                wait_obj,
                ..CqAttr::default()
            };
            // SAFETY: the domain is open, and what is handed in lives through the call.
            opened = unsafe {
                let open = op!((*self.domain).ops, abi::DomainOps, cq_open);
                open.map(|open| open(self.domain, &mut attr, &mut self.cq, ptr::null_mut()))
            };
            if opened == Some(0) {
                if wait_obj == abi::WAIT_FD {
                    self.descriptor = self.find_descriptor();
                }
                break;
            }
        }
        self.check("open a completion queue", opened)
    }

    fn find_descriptor(&self) -> Option<RawFd> {
        let mut descriptor: c_int = -1;
        let place = (&raw mut descriptor).cast::<c_void>();
        // SAFETY: the queue is open, and this question is answered by a descriptor, as it was opened with one.
        let told = unsafe {
            let control = op!((*self.cq).fid.ops, abi::FidOps, control)?;
            control(&raw mut (*self.cq).fid, abi::CONTROL_GETWAIT, place)
        };
        (told == 0 && descriptor >= 0).then_some(descriptor)
    }

    fn open_ep(&mut self, offer: &Offer) -> Result<(), OfiError> {
        // SAFETY: the domain is open, and what is handed in lives through the calls; the endpoint is open before anything is
        // bound to it, and what is bound outlives it.
        unsafe {
            let open = op!((*self.domain).ops, abi::DomainOps, endpoint);
            let opened =
                open.map(|open| open(self.domain, offer.info, &mut self.ep, ptr::null_mut()));
            self.check("open an endpoint", opened)?;
            let fid = &raw mut (*self.ep).fid;
            let bind = op!((*fid).ops, abi::FidOps, bind);
            for (object, flags) in [
                (&raw mut (*self.av).fid, 0),
                (&raw mut (*self.cq).fid, abi::SEND | abi::RECV),
            ] {
                let bound = bind.map(|bind| bind(fid, object, flags));
                self.check("bind an endpoint", bound)?;
            }
            let control = op!((*fid).ops, abi::FidOps, control);
            let enabled = control.map(|control| control(fid, abi::CONTROL_ENABLE, ptr::null_mut()));
            self.check("enable an endpoint", enabled)
        }
    }

    /// The own address, as the provider has it.
    fn address(&self) -> Result<Box<[u8]>, OfiError> {
        let mut bytes = [0; MOST_ADDRESS];
        let mut length = bytes.len();
        // SAFETY: the endpoint is open; as much is written as there is room for.
        let told = unsafe {
            let getname = op!((*self.ep).cm, abi::CmOps, getname);
            let fid = &raw mut (*self.ep).fid;
            getname.map(|getname| getname(fid, bytes.as_mut_ptr().cast(), &mut length))
        };
        self.check("tell an endpoint's address", told)?;
        Ok(bytes[..length.min(MOST_ADDRESS)].into())
    }

    /// Makes another rank's address known; by what that rank is called from now on.
    pub(super) fn know(&mut self, address: &[u8]) -> Result<u64, OfiError> {
        // One that is a text ends with a zero, whatever its rank has sent.
        let address = [address, &[0; 8]].concat();
        let mut name = abi::ADDRESS_UNSPECIFIED;
        // SAFETY: the vector is open; an address as long as this provider's own is there, or a text that ends, as cards are
        // compared, and room for a name.
        let known = unsafe {
            let insert = op!((*self.av).ops, abi::AvOps, insert);
            let from = address.as_ptr().cast();
            insert.map(|insert| insert(self.av, from, 1, &mut name, 0, ptr::null_mut()))
        };
        let what = "know another rank's address";
        match known {
            Some(1) => Ok(name),
            Some(0) => Err(OfiError::Call {
                what,
                why: "the provider does not take it".into(),
            }),
            failed => self.check(what, failed).map(|()| name),
        }
    }

    /// Reads what has ended; so many, or the negative of an error.
    pub(super) fn read(&mut self, entries: &mut [abi::CqEntry]) -> isize {
        // SAFETY: the queue is open, of this format, and there is room for as many.
        unsafe {
            match op!((*self.cq).ops, abi::CqOps, read) {
                Some(read) => read(self.cq, entries.as_mut_ptr().cast(), entries.len()),
                None => -(abi::ENODATA as isize),
            }
        }
    }

    /// Reads what has failed, if anything has.
    pub(super) fn read_error(&mut self) -> Option<abi::CqError> {
        // SAFETY: numbers and addresses alone, for which zeros are good.
        let mut error: abi::CqError = unsafe { std::mem::zeroed() };
        // SAFETY: the queue is open, and there is room for one; nothing of what failed is copied.
        let read = unsafe {
            let readerr = op!((*self.cq).ops, abi::CqOps, readerr)?;
            readerr(self.cq, &mut error, 0)
        };
        (read > 0).then_some(error)
    }

    /// What becomes readable when something has ended.
    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        // SAFETY: the queue's own, which stays open as long as it.
        self.descriptor
            .map(|fd| unsafe { BorrowedFd::borrow_raw(fd) })
    }

    /// Whether one may sleep until the descriptor is readable: whatever has ended already was read.
    pub(super) fn may_sleep(&mut self) -> bool {
        // SAFETY: fabric and queue are open; the list lives through the call.
        unsafe {
            let mut fid: *mut Fid = &raw mut (*self.cq).fid;
            op!((*self.fabric).ops, abi::FabricOps, trywait)
                .is_some_and(|trywait| trywait(self.fabric, &mut fid, 1) == 0)
        }
    }

    /// Has the process keep what is open to its end, if closing it while messages are under way may end the process. Such a provider
    /// uses their memory only when it is called, which must never happen again.
    pub(super) fn leave_open(&mut self) {
        self.is_left_open |= self.capabilities.breaks_when_closed;
    }

    /// Ends everything that is under way, and all use of its memory; whether that was possible.
    pub(super) fn shut(&mut self) -> bool {
        if self.is_left_open {
            return true;
        }
        // SAFETY: it is open, or null.
        let shut = unsafe { close(self.ep.cast()) };
        if shut {
            self.ep = ptr::null_mut();
        }
        shut
    }

    fn check(&self, what: &'static str, result: Option<c_int>) -> Result<(), OfiError> {
        match result {
            Some(result) => self.library.check(what, result),
            None => Err(OfiError::Call {
                what,
                why: "the provider has no such function".into(),
            }),
        }
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        // What something is bound to outlives it; without the endpoint's end nothing else may end.
        if !self.is_left_open && self.shut() {
            let objects: [*mut Fid; 4] = [
                self.cq.cast(),
                self.av.cast(),
                self.domain.cast(),
                self.fabric.cast(),
            ];
            for object in objects {
                // SAFETY: each is open, or null, and begins with what every object begins with.
                let _ = unsafe { close(object) };
            }
        }
    }
}

/// Closes an object; whether it is closed.
///
/// # Safety
/// It is open, or null.
pub(super) unsafe fn close(object: *mut Fid) -> bool {
    if object.is_null() {
        return true;
    }
    // SAFETY: as the caller promises.
    unsafe {
        match op!((*object).ops, abi::FidOps, close) {
            Some(close) => close(object) == 0,
            None => false,
        }
    }
}
