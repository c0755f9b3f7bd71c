//! The objects of the fake: tables of functions as libfabric has them, which keep to its rules and see that others do.

use super::super::abi::{
    self, Av, AvAttr, AvOps, CmOps, Cq, CqAttr, CqEntry, CqError, CqOps, Domain, DomainOps, Ep,
    EpOps, Fabric, FabricAttr, FabricOps, Fid, FidOps, Info, Mr, MrOps, RmaMsg, RmaOps, TaggedMsg,
    TaggedOps,
};
use super::world::{self, Message, Registered};
use super::writes;
use super::{NOTHING, Traits, traits};
use std::ffi::{c_int, c_void};
use std::ptr;

/// What every object has behind what libfabric's have.
#[repr(C)]
struct Object<T> {
    seen: T,
    traits: Traits,
    /// An endpoint's number, or that of the one to which something is bound.
    number: u64,
    is_enabled: bool,
}

fn object<T>(seen: T, traits: Traits, number: u64) -> *mut T {
    Box::into_raw(Box::new(Object {
        seen,
        traits,
        number,
        is_enabled: false,
    }))
    .cast()
}

/// The traits and the number of an object.
unsafe fn behind<T>(seen: *mut T) -> (Traits, u64) {
    // SAFETY: all objects are made by `object`.
    unsafe {
        let object = seen.cast::<Object<T>>();
        ((*object).traits, (*object).number)
    }
}

/// An object's beginning: which class it is, and what it can do.
fn fid(class: Class) -> Fid {
    static OPS: FidOps = FidOps {
        size: size_of::<FidOps>(),
        close: Some(close),
        bind: Some(bind),
        control: Some(control),
        ops_open: ptr::null(),
    };
    Fid {
        class: class as usize,
        context: NOTHING,
        ops: &OPS,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Fabric,
    Domain,
    Av,
    Cq,
    Ep,
    Mr,
}

// SAFETY: tables of functions, and places of such that nobody calls.
unsafe impl Sync for FidOps {}
// SAFETY: as above.
unsafe impl Sync for FabricOps {}
// SAFETY: as above.
unsafe impl Sync for CqOps {}
// SAFETY: as above.
unsafe impl Sync for CmOps {}
// SAFETY: as above.
unsafe impl Sync for TaggedOps {}
// SAFETY: as above.
unsafe impl Sync for RmaOps {}

pub(super) unsafe extern "C" fn open_fabric(
    attr: *mut FabricAttr,
    fabric: *mut *mut Fabric,
    _: *mut c_void,
) -> c_int {
    static OPS: FabricOps = FabricOps {
        size: size_of::<FabricOps>(),
        domain: Some(open_domain),
        before: [ptr::null(); 3],
        trywait: Some(trywait),
    };
    // SAFETY: the caller's, with a name of ours.
    unsafe {
        let Some(traits) = traits((*attr).prov_name) else {
            return -abi::ENODATA;
        };
        let seen = Fabric {
            fid: fid(Class::Fabric),
            ops: &OPS,
            api_version: 0,
        };
        *fabric = object(seen, traits, 0);
    }
    0
}

unsafe extern "C" fn open_domain(
    fabric: *mut Fabric,
    _: *mut Info,
    domain: *mut *mut Domain,
    _: *mut c_void,
) -> c_int {
    static OPS: DomainOps = DomainOps {
        size: size_of::<DomainOps>(),
        av_open: Some(open_av),
        cq_open: Some(open_cq),
        endpoint: Some(open_ep),
    };
    static MR: MrOps = MrOps {
        size: size_of::<MrOps>(),
        reg: Some(register),
    };
    // SAFETY: the caller's.
    unsafe {
        let seen = Domain {
            fid: fid(Class::Domain),
            ops: &OPS,
            mr: &MR,
        };
        // The number that its endpoint will have.
        *domain = object(seen, behind(fabric).0, world::number());
    }
    0
}

unsafe extern "C" fn open_av(
    domain: *mut Domain,
    _: *mut AvAttr,
    av: *mut *mut Av,
    _: *mut c_void,
) -> c_int {
    static OPS: AvOps = AvOps {
        size: size_of::<AvOps>(),
        insert: Some(insert),
    };
    // SAFETY: the caller's.
    unsafe {
        let seen = Av {
            fid: fid(Class::Av),
            ops: &OPS,
        };
        *av = object(seen, behind(domain).0, 0);
    }
    0
}

unsafe extern "C" fn insert(
    _: *mut Av,
    address: *const c_void,
    count: usize,
    names: *mut u64,
    _: u64,
    _: *mut c_void,
) -> c_int {
    // SAFETY: an address is a number of ours, of which one comes at a time.
    unsafe { *names = address.cast::<u64>().read_unaligned() };
    count as c_int
}

unsafe extern "C" fn open_cq(
    domain: *mut Domain,
    attr: *mut CqAttr,
    cq: *mut *mut Cq,
    _: *mut c_void,
) -> c_int {
    static OPS: CqOps = CqOps {
        size: size_of::<CqOps>(),
        read: Some(read),
        readfrom: ptr::null(),
        readerr: Some(readerr),
        between: [ptr::null(); 3],
        strerror: None,
    };
    // SAFETY: the caller's.
    unsafe {
        let (traits, number) = behind(domain);
        if (*attr).format != abi::CQ_FORMAT_TAGGED {
            return -libc::EINVAL;
        }
        if (*attr).wait_obj != abi::WAIT_NONE && !traits.has_descriptor {
            return -libc::ENOSYS;
        }
        let seen = Cq {
            fid: fid(Class::Cq),
            ops: &OPS,
        };
        *cq = object(seen, traits, number);
    }
    0
}

unsafe extern "C" fn read(cq: *mut Cq, entries: *mut c_void, count: usize) -> isize {
    // SAFETY: there is room for as many.
    unsafe { world::read(behind(cq).1, entries.cast::<CqEntry>(), count) }
}

unsafe extern "C" fn readerr(cq: *mut Cq, error: *mut CqError, _: u64) -> isize {
    // SAFETY: there is room for one.
    unsafe { world::read_error(behind(cq).1, error) }
}

unsafe extern "C" fn trywait(_: *mut Fabric, fids: *mut *mut Fid, _: c_int) -> c_int {
    // SAFETY: one queue of ours.
    unsafe { world::trywait(behind((*fids).cast::<Cq>()).1) }
}

unsafe extern "C" fn open_ep(
    domain: *mut Domain,
    info: *mut Info,
    ep: *mut *mut Ep,
    _: *mut c_void,
) -> c_int {
    static CAN_CANCEL: EpOps = EpOps {
        size: size_of::<EpOps>(),
        cancel: Some(cancel),
    };
    static CANNOT: EpOps = EpOps {
        size: size_of::<usize>(),
        cancel: Some(cancel),
    };
    static CM: CmOps = CmOps {
        size: size_of::<CmOps>(),
        setname: ptr::null(),
        getname: Some(getname),
    };
    static TAGGED: TaggedOps = TaggedOps {
        size: size_of::<TaggedOps>(),
        recv: Some(recv),
        before: [ptr::null(); 2],
        send: Some(send),
        between: ptr::null(),
        sendmsg: Some(sendmsg),
    };
    static RMA: RmaOps = RmaOps {
        size: size_of::<RmaOps>(),
        before: [ptr::null(); 5],
        writemsg: Some(writemsg),
    };
    // SAFETY: the caller's.
    unsafe {
        let (traits, number) = behind(domain);
        // Messages are not to end when they are delivered.
        if (*(*info).tx_attr).op_flags != 0 {
            return -libc::EINVAL;
        }
        let rma: *const RmaOps = match (*info).caps & abi::RMA {
            0 => ptr::null(),
            _ => &RMA,
        };
        let ops = if traits.has_cancel {
            &CAN_CANCEL
        } else {
            &CANNOT
        };
        let seen = Ep {
            fid: fid(Class::Ep),
            ops,
            cm: &CM,
            msg: ptr::null(),
            rma,
            tagged: &TAGGED,
        };
        world::open(number, traits);
        *ep = object(seen, traits, number);
    }
    0
}

unsafe extern "C" fn getname(fid: *mut Fid, address: *mut c_void, length: *mut usize) -> c_int {
    // SAFETY: as much is written as there is room for.
    unsafe {
        if *length < size_of::<u64>() {
            return -libc::EINVAL;
        }
        *length = size_of::<u64>();
        address
            .cast::<u64>()
            .write_unaligned(behind(fid.cast::<Ep>()).1);
    }
    0
}

unsafe extern "C" fn cancel(fid: *mut Fid, context: *mut c_void) -> isize {
    // SAFETY: an endpoint of ours.
    unsafe { world::cancel(behind(fid.cast::<Ep>()).1, context) }
}

/// A memory's descriptor as a message has it: that of a registration, by its key.
fn key(descriptor: *mut c_void) -> Option<u64> {
    (!descriptor.is_null()).then_some(descriptor as u64)
}

unsafe extern "C" fn recv(
    ep: *mut Ep,
    memory: *mut c_void,
    bytes: usize,
    descriptor: *mut c_void,
    _: u64,
    tag: u64,
    ignored: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: an endpoint of ours.
    let (_, number) = unsafe { behind(ep) };
    let message = Message {
        context,
        memory: memory.cast(),
        bytes,
        tag,
    };
    world::receive(number, message, ignored, key(descriptor))
}

unsafe extern "C" fn send(
    ep: *mut Ep,
    memory: *const c_void,
    bytes: usize,
    descriptor: *mut c_void,
    to: u64,
    tag: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: an endpoint of ours.
    let (_, number) = unsafe { behind(ep) };
    let message = Message {
        context,
        memory: memory.cast_mut().cast(),
        bytes,
        tag,
    };
    world::send(number, to, message, key(descriptor), false)
}

unsafe extern "C" fn sendmsg(ep: *mut Ep, message: *const TaggedMsg, flags: u64) -> isize {
    // SAFETY: an endpoint of ours, and a message of one piece.
    unsafe {
        let (traits, number) = behind(ep);
        let (message, iov) = (&*message, &*(*message).msg_iov);
        let flagged = flags == abi::INJECT | abi::COMPLETION && message.iov_count == 1;
        if !flagged || iov.len > traits.inject_bytes {
            return -(libc::EINVAL as isize);
        }
        let whole = Message {
            context: message.context,
            memory: iov.base.cast(),
            bytes: iov.len,
            tag: message.tag,
        };
        world::send(number, message.addr, whole, None, true)
    }
}

unsafe extern "C" fn writemsg(ep: *mut Ep, message: *const RmaMsg, flags: u64) -> isize {
    // SAFETY: an endpoint of ours, and one piece on either side.
    unsafe {
        let (traits, number) = behind(ep);
        let (message, iov, goal) = (&*message, &*(*message).msg_iov, &*(*message).rma_iov);
        let is_one = message.iov_count == 1 && message.rma_iov_count == 1;
        let (is_injected, is_delivered) = (
            flags & abi::INJECT != 0,
            flags & abi::DELIVERY_COMPLETE != 0,
        );
        let others = flags & !abi::INJECT & !abi::DELIVERY_COMPLETE;
        let is_good = is_one && goal.len == iov.len && others == abi::COMPLETION;
        let is_too_long = is_injected && iov.len > traits.inject_bytes;
        if !is_good || is_too_long || (is_injected && is_delivered) {
            return -(libc::EINVAL as isize);
        }
        let write = Message {
            context: message.context,
            memory: iov.base.cast(),
            bytes: iov.len,
            tag: 0,
        };
        let key = match is_injected {
            true => None,
            false => Some(key(*message.desc)),
        };
        let goal = (message.addr, goal.addr, goal.key);
        writes::write(number, goal, write, key, is_delivered)
    }
}

unsafe extern "C" fn register(
    fid: *mut Fid,
    memory: *const c_void,
    bytes: usize,
    access: u64,
    _: u64,
    key: u64,
    _: u64,
    mr: *mut *mut Mr,
    _: *mut c_void,
) -> c_int {
    // SAFETY: a domain of ours, and the caller's memory.
    unsafe {
        let (traits, number) = behind(fid.cast::<Domain>());
        let registered = Registered {
            first: memory as usize,
            bytes,
            access,
            is_bound: traits.mr_mode & abi::MR_ENDPOINT == 0,
        };
        let asked = (traits.mr_mode & abi::MR_PROV_KEY == 0).then_some(key);
        let Some(key) = world::register(number, asked, registered) else {
            return -libc::EINVAL;
        };
        let seen = Mr {
            fid: super::objects::fid(Class::Mr),
            mem_desc: ptr::without_provenance_mut(key as usize),
            key,
        };
        *mr = object(seen, traits, number);
    }
    0
}

unsafe extern "C" fn bind(fid: *mut Fid, other: *mut Fid, _: u64) -> c_int {
    // SAFETY: objects of ours; memory is bound to an endpoint, and the rest has the same number anyway.
    unsafe {
        let is_memory = (*fid).class == Class::Mr as usize;
        let is_right = !is_memory || behind(fid.cast::<Mr>()).1 == behind(other.cast::<Ep>()).1;
        if is_right { 0 } else { -libc::EINVAL }
    }
}

unsafe extern "C" fn control(fid: *mut Fid, command: c_int, argument: *mut c_void) -> c_int {
    // SAFETY: an object of ours, and what belongs to the command.
    unsafe {
        let class = (*fid).class;
        match command {
            abi::CONTROL_GETWAIT if class == Class::Cq as usize => {
                let descriptor = world::descriptor(behind(fid.cast::<Cq>()).1);
                argument.cast::<c_int>().write(descriptor);
            }
            abi::CONTROL_ENABLE if class == Class::Mr as usize => {
                let mr = fid.cast::<Mr>();
                world::bind(behind(mr).1, (*mr).key);
            }
            abi::CONTROL_ENABLE => (*fid.cast::<Object<Ep>>()).is_enabled = true,
            _ => return -libc::ENOSYS,
        }
    }
    0
}

unsafe extern "C" fn close(fid: *mut Fid) -> c_int {
    // SAFETY: an object of ours, which nobody uses any more.
    unsafe {
        let class = (*fid).class;
        if class == Class::Ep as usize {
            let (traits, number) = behind(fid.cast::<Ep>());
            if !world::close(number, traits) {
                return -libc::EBUSY;
            }
            drop(Box::from_raw(fid.cast::<Object<Ep>>()));
        } else if class == Class::Mr as usize {
            let mr = fid.cast::<Mr>();
            world::unregister(behind(mr).1, (*mr).key);
            drop(Box::from_raw(mr.cast::<Object<Mr>>()));
        } else if class == Class::Cq as usize {
            drop(Box::from_raw(fid.cast::<Object<Cq>>()));
        } else if class == Class::Av as usize {
            drop(Box::from_raw(fid.cast::<Object<Av>>()));
        } else if class == Class::Domain as usize {
            world::leave(behind(fid.cast::<Domain>()).1);
            drop(Box::from_raw(fid.cast::<Object<Domain>>()));
        } else {
            drop(Box::from_raw(fid.cast::<Object<Fabric>>()));
        }
    }
    0
}
