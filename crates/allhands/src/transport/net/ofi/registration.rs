//! Registration: memory as a provider wants to know it before a message uses it, where it does.
//!
//! Memory of users may be given back to the system at any time after its message, and other memory may then be at its address; so
//! it is registered for one message alone, and nothing of it is kept. Where a registration is dear the provider has a cache that
//! the system tells of such changes. What is kept registered is our own: buffers by way of which short messages go, which
//! costs less than a registration. Their number is bounded, and that of messages whose memory is registered, too. Windows are registered
//! as long as they are there, with keys that are never used again: what is put late finds no other memory.

use super::abi::{self, Domain, Ep, Fid, Mr, op};
use super::capabilities::Capabilities;
use super::endpoint::{Endpoint, close};
use std::ffi::{c_int, c_void};
use std::ptr;

/// The longest message that goes by way of a buffer in bytes.
pub(super) const BUFFER_BYTES: usize = 16 << 10;
/// How many buffers are registered together, and how often.
const BUFFERS: usize = 16;
const MOST_BATCHES: usize = 16;
/// How many messages may have their own memory registered at once.
const MOST_REGIONS: usize = 1024;
/// The first key of a window; those below are enough for everything else.
const FIRST_WINDOW: u64 = 2048;

/// Where a message's bytes are for the provider.
#[derive(Debug)]
pub(super) enum Place {
    /// Where the user has them, as the provider does not care.
    Users,
    /// There, and registered.
    Region(Region),
    /// In a buffer.
    Buffer(Buffer),
}

/// Registered memory.
#[derive(Debug)]
pub(super) struct Region {
    mr: *mut Mr,
    key: u64,
}

impl Region {
    /// What other ranks call it.
    pub(super) fn key(&self) -> u64 {
        // SAFETY: it is registered as long as this is there.
        unsafe { (*self.mr).key }
    }
}

// SAFETY: libfabric's objects may be used by any thread, those of a domain by one at a time, as was agreed when it was opened; whoever
// has one of these has the domain's endpoint, too.
unsafe impl Send for Region {}

/// A buffer of ours in registered memory.
#[derive(Debug)]
pub(super) struct Buffer {
    pub(super) memory: *mut u8,
    descriptor: *mut c_void,
}

#[derive(Debug)]
struct Batch {
    /// Of [`BUFFERS`] buffers, from a box.
    memory: *mut [u8],
    region: Option<Region>,
}

/// What registers the memory of one endpoint's messages.
#[derive(Debug)]
pub(super) struct Registrar {
    domain: *mut Domain,
    ep: *mut Ep,
    mr_mode: c_int,
    /// Keys that are free, and the next that was never used, where the provider makes none.
    keys: Vec<u64>,
    next_key: u64,
    /// The next key of a window, and how many there are.
    window_keys: (u64, u64),
    /// What buffers are registered for.
    access: u64,
    regions: usize,
    batches: Vec<Batch>,
    buffers: Vec<Buffer>,
}

impl Place {
    /// What the provider wants to be told of it.
    pub(super) fn descriptor(&self) -> *mut c_void {
        match self {
            Place::Users => ptr::null_mut(),
            // SAFETY: it is registered as long as the place is there.
            Place::Region(region) => unsafe { (*region.mr).mem_desc },
            Place::Buffer(buffer) => buffer.descriptor,
        }
    }
}

impl Registrar {
    pub(super) fn new(endpoint: &Endpoint, capabilities: &Capabilities) -> Registrar {
        Registrar {
            domain: endpoint.domain,
            ep: endpoint.ep,
            mr_mode: capabilities.mr_mode,
            keys: Vec::new(),
            next_key: 1,
            window_keys: (
                FIRST_WINDOW,
                match capabilities.key_bytes {
                    bytes @ 0..8 => 1 << (8 * bytes),
                    _ => u64::MAX,
                },
            ),
            access: match capabilities.windows {
                None => abi::SEND | abi::RECV,
                Some(_) => abi::SEND | abi::RECV | abi::WRITE,
            },
            regions: 0,
            batches: Vec::new(),
            buffers: Vec::new(),
        }
    }

    /// A place for a message of so many bytes there; nothing if it must wait until another has ended.
    ///
    /// # Errors
    /// What the provider says.
    pub(super) fn place(
        &mut self,
        memory: *mut u8,
        bytes: usize,
        access: u64,
    ) -> Result<Option<Place>, c_int> {
        if self.mr_mode & abi::MR_LOCAL == 0 || bytes == 0 {
            return Ok(Some(Place::Users));
        }
        if bytes <= BUFFER_BYTES && (!self.buffers.is_empty() || self.batches.len() < MOST_BATCHES)
        {
            if self.buffers.is_empty() {
                self.add_batch()?;
            }
            return Ok(self.buffers.pop().map(Place::Buffer));
        }
        if self.regions >= MOST_REGIONS {
            return Ok(None);
        }
        let region = self.register(memory, bytes, access)?;
        self.regions += 1;
        Ok(Some(Place::Region(region)))
    }

    /// Takes a place back, as nothing uses it any more.
    pub(super) fn release(&mut self, place: Place) {
        match place {
            Place::Users => {}
            Place::Region(region) => {
                self.regions -= 1;
                self.unregister(region);
            }
            Place::Buffer(buffer) => self.buffers.push(buffer),
        }
    }

    fn add_batch(&mut self) -> Result<(), c_int> {
        let memory = Box::into_raw(vec![0_u8; BUFFERS * BUFFER_BYTES].into_boxed_slice());
        let first = memory.cast::<u8>();
        let region = match self.register(first, BUFFERS * BUFFER_BYTES, self.access) {
            Ok(region) => region,
            Err(error) => {
                // SAFETY: from a box just now, and nobody else has it.
                drop(unsafe { Box::from_raw(memory) });
                return Err(error);
            }
        };
        // SAFETY: it was registered just now.
        let descriptor = unsafe { (*region.mr).mem_desc };
        let buffer = |at: usize| Buffer {
            memory: first.wrapping_add(at * BUFFER_BYTES),
            descriptor,
        };
        self.buffers.extend((0..BUFFERS).map(buffer));
        self.batches.push(Batch {
            memory,
            region: Some(region),
        });
        Ok(())
    }

    /// Registers memory into which other ranks put; they name it by [`Region::key`].
    pub(super) fn register_window(
        &mut self,
        memory: *mut u8,
        bytes: usize,
    ) -> Result<Region, c_int> {
        let (next, end) = &mut self.window_keys;
        let key = match self.mr_mode & abi::MR_PROV_KEY {
            0 if next == end => return Err(libc::ENOSPC),
            0 => *next,
            _ => 0,
        };
        *next += 1;
        self.register_as(key, (memory, bytes), abi::REMOTE_WRITE)
    }

    /// Unregisters a window, whose key is not used again.
    pub(super) fn unregister_window(region: Region) {
        // SAFETY: it is registered. What cannot be unregistered stays so, which harms no memory: nobody puts there any more, or the
        // endpoint is closed.
        let _ = unsafe { close(region.mr.cast()) };
    }

    /// What its provider counts as the address of a window's first byte.
    pub(super) fn base(&self, memory: *mut u8) -> u64 {
        match self.mr_mode & abi::MR_VIRT_ADDR {
            0 => 0,
            _ => memory.expose_provenance() as u64,
        }
    }

    fn register(&mut self, memory: *mut u8, bytes: usize, access: u64) -> Result<Region, c_int> {
        let key = match self.mr_mode & abi::MR_PROV_KEY {
            0 => self.keys.pop().unwrap_or_else(|| {
                self.next_key += 1;
                self.next_key - 1
            }),
            _ => 0,
        };
        let region = self.register_as(key, (memory, bytes), access);
        if region.is_err() {
            self.free_key(key);
        }
        region
    }

    fn register_as(
        &mut self,
        key: u64,
        (memory, bytes): (*mut u8, usize),
        access: u64,
    ) -> Result<Region, c_int> {
        let mut mr = ptr::null_mut();
        // SAFETY: the domain is open, and the memory there, as it is that of a message that has not ended, which does so when it is
        // unregistered, or our own, or that of a window, which is kept until nobody writes to it.
        let registered = unsafe {
            let register = op!((*self.domain).mr, abi::MrOps, reg).ok_or(abi::ENODATA)?;
            register(
                self.domain.cast(),
                memory.cast(),
                bytes,
                access,
                0,
                key,
                0,
                &mut mr,
                ptr::null_mut(),
            )
        };
        if registered != 0 {
            return Err(-registered);
        }
        let region = Region { mr, key };
        match self.bind(&region) {
            0 => Ok(region),
            error => {
                // SAFETY: it was registered just now, and nobody uses it.
                let _ = unsafe { close(region.mr.cast()) };
                Err(-error)
            }
        }
    }

    /// Binds memory to the endpoint, where it is good for one alone.
    fn bind(&self, region: &Region) -> c_int {
        if self.mr_mode & abi::MR_ENDPOINT == 0 {
            return 0;
        }
        // SAFETY: both are open, and memory is unregistered before the endpoint is closed, or when it was.
        unsafe {
            let fid: *mut Fid = region.mr.cast();
            let bind = op!((*fid).ops, abi::FidOps, bind);
            let control = op!((*fid).ops, abi::FidOps, control);
            let (Some(bind), Some(control)) = (bind, control) else {
                return -abi::ENODATA;
            };
            match bind(fid, self.ep.cast(), 0) {
                0 => control(fid, abi::CONTROL_ENABLE, ptr::null_mut()),
                error => error,
            }
        }
    }

    fn unregister(&mut self, region: Region) {
        // SAFETY: it is registered, and no message uses it. What cannot be unregistered stays so, which harms no memory: no
        // message names it.
        let _ = unsafe { close(region.mr.cast()) };
        self.free_key(region.key);
    }

    fn free_key(&mut self, key: u64) {
        if self.mr_mode & abi::MR_PROV_KEY == 0 {
            self.keys.push(key);
        }
    }

    /// Unregisters all buffers, of which none is used any more.
    pub(super) fn unregister_buffers(&mut self) {
        self.buffers.clear();
        for at in 0..self.batches.len() {
            if let Some(region) = self.batches[at].region.take() {
                self.unregister(region);
            }
        }
    }

    /// Gives up all buffers: the endpoint is closed, or never called again.
    pub(super) fn close(&mut self) {
        self.unregister_buffers();
        for batch in std::mem::take(&mut self.batches) {
            // SAFETY: from a box, and neither the provider uses it, whose endpoint is closed, or which uses nothing unless it is called and
            // never is again, nor anybody else.
            drop(unsafe { Box::from_raw(batch.memory) });
        }
    }
}
