//! Declarations: what of libfabric's binary interface is used here, as version `FABRIC_1.3` of its functions has it.
//!
//! Libfabric 1.4 to 1.19 have this interface as their newest, and later ones keep it beside theirs; structures that grow do so at
//! their ends, and all of them are made by the library itself. Members that nobody reads are there for the places of the others.

use std::ffi::{c_char, c_int, c_void};

/// A function, or nothing where a provider has none.
type Op<F> = Option<F>;
/// The place of a function that nobody calls.
type Unused = *const c_void;

pub(super) const fn version(major: u32, minor: u32) -> u32 {
    major << 16 | minor
}

pub(super) const RMA: u64 = 1 << 2;
pub(super) const TAGGED: u64 = 1 << 3;
pub(super) const WRITE: u64 = 1 << 9;
pub(super) const RECV: u64 = 1 << 10;
pub(super) const SEND: u64 = 1 << 11;
pub(super) const REMOTE_WRITE: u64 = 1 << 13;
pub(super) const REMOTE_COMM: u64 = 1 << 52;

/// A message tells of its end, and its memory is free when the call returns.
pub(super) const COMPLETION: u64 = 1 << 24;
pub(super) const INJECT: u64 = 1 << 25;

/// It ends no sooner than its other end has all of it.
pub(super) const DELIVERY_COMPLETE: u64 = 1 << 28;

/// Messages are matched in the order in which they were sent, and come after what was written before.
pub(super) const ORDER_SAS: u64 = 1 << 8;
pub(super) const ORDER_SAW: u64 = 1 << 7;

/// The provider keeps notes at the address that stands for an operation: four words, or eight.
pub(super) const CONTEXT: u64 = 1 << 59;
pub(super) const CONTEXT2: u64 = 1 << 52;

pub(super) const MR_LOCAL: c_int = 1 << 2;
pub(super) const MR_RAW: c_int = 1 << 3;
pub(super) const MR_VIRT_ADDR: c_int = 1 << 4;
pub(super) const MR_ALLOCATED: c_int = 1 << 5;
pub(super) const MR_PROV_KEY: c_int = 1 << 6;
pub(super) const MR_ENDPOINT: c_int = 1 << 9;

pub(super) const EP_RDM: c_int = 3;
pub(super) const THREAD_DOMAIN: c_int = 3;
pub(super) const PROGRESS_MANUAL: c_int = 2;
pub(super) const RM_ENABLED: c_int = 2;
pub(super) const CQ_FORMAT_TAGGED: c_int = 4;
pub(super) const WAIT_NONE: c_int = 0;
pub(super) const WAIT_FD: c_int = 3;
pub(super) const FORMAT_SOCKADDR_IN: u32 = 2;
pub(super) const FORMAT_SOCKADDR_IN6: u32 = 3;
pub(super) const FORMAT_STR: u32 = 9;

pub(super) const CONTROL_GETWAIT: c_int = 5;
pub(super) const CONTROL_ENABLE: c_int = 6;

/// Whoever is meant: for a receive, any sender.
pub(super) const ADDRESS_UNSPECIFIED: u64 = u64::MAX;

/// Errors are positive here, and the negative of it where a function returns one.
pub(super) const EAGAIN: c_int = 11;
pub(super) const ENODATA: c_int = 61;
pub(super) const ECANCELED: c_int = 125;
pub(super) const EAVAIL: c_int = 259;
pub(super) const ETRUNC: c_int = 265;

/// Whether an error says that the other end of a message, or the way there, is gone.
pub(super) fn is_loss(error: c_int) -> bool {
    matches!(
        error,
        libc::EPIPE
            | libc::ENETDOWN
            | libc::ENETUNREACH
            | libc::ECONNABORTED
            | libc::ECONNRESET
            | libc::ENOTCONN
            | libc::ESHUTDOWN
            | libc::ETIMEDOUT
            | libc::ECONNREFUSED
            | libc::EHOSTDOWN
            | libc::EHOSTUNREACH
            | libc::EREMOTEIO
    )
}

/// How every object begins.
#[repr(C)]
pub(super) struct Fid {
    pub(super) class: usize,
    pub(super) context: *mut c_void,
    pub(super) ops: *const FidOps,
}

#[repr(C)]
pub(super) struct FidOps {
    pub(super) size: usize,
    pub(super) close: Op<unsafe extern "C" fn(*mut Fid) -> c_int>,
    pub(super) bind: Op<unsafe extern "C" fn(*mut Fid, *mut Fid, u64) -> c_int>,
    pub(super) control: Op<unsafe extern "C" fn(*mut Fid, c_int, *mut c_void) -> c_int>,
    pub(super) ops_open: Unused,
}

#[repr(C)]
pub(super) struct TxAttr {
    pub(super) caps: u64,
    pub(super) mode: u64,
    pub(super) op_flags: u64,
    pub(super) msg_order: u64,
    pub(super) comp_order: u64,
    pub(super) inject_size: usize,
    pub(super) size: usize,
    pub(super) iov_limit: usize,
    pub(super) rma_iov_limit: usize,
    pub(super) tclass: u32,
}

#[repr(C)]
pub(super) struct RxAttr {
    pub(super) caps: u64,
    pub(super) mode: u64,
    pub(super) op_flags: u64,
    pub(super) msg_order: u64,
    pub(super) comp_order: u64,
    pub(super) total_buffered_recv: usize,
    pub(super) size: usize,
    pub(super) iov_limit: usize,
}

#[repr(C)]
pub(super) struct EpAttr {
    pub(super) kind: c_int,
    pub(super) protocol: u32,
    pub(super) protocol_version: u32,
    pub(super) max_msg_size: usize,
    pub(super) msg_prefix_size: usize,
    pub(super) max_order_raw_size: usize,
    pub(super) max_order_war_size: usize,
    pub(super) max_order_waw_size: usize,
    pub(super) mem_tag_format: u64,
    pub(super) tx_ctx_cnt: usize,
    pub(super) rx_ctx_cnt: usize,
    pub(super) auth_key_size: usize,
    pub(super) auth_key: *mut u8,
}

/// The beginning of it; nobody here makes one.
#[repr(C)]
pub(super) struct DomainAttr {
    pub(super) domain: *mut Domain,
    pub(super) name: *mut c_char,
    pub(super) threading: c_int,
    pub(super) control_progress: c_int,
    pub(super) data_progress: c_int,
    pub(super) resource_mgmt: c_int,
    pub(super) av_type: c_int,
    pub(super) mr_mode: c_int,
    pub(super) mr_key_size: usize,
}

#[repr(C)]
pub(super) struct FabricAttr {
    pub(super) fabric: *mut Fabric,
    pub(super) name: *mut c_char,
    pub(super) prov_name: *mut c_char,
    pub(super) prov_version: u32,
    pub(super) api_version: u32,
}

#[repr(C)]
pub(super) struct Info {
    pub(super) next: *mut Info,
    pub(super) caps: u64,
    pub(super) mode: u64,
    pub(super) addr_format: u32,
    pub(super) src_addrlen: usize,
    pub(super) dest_addrlen: usize,
    pub(super) src_addr: *mut c_void,
    pub(super) dest_addr: *mut c_void,
    pub(super) handle: *mut Fid,
    pub(super) tx_attr: *mut TxAttr,
    pub(super) rx_attr: *mut RxAttr,
    pub(super) ep_attr: *mut EpAttr,
    pub(super) domain_attr: *mut DomainAttr,
    pub(super) fabric_attr: *mut FabricAttr,
    pub(super) nic: *mut c_void,
}

#[repr(C)]
pub(super) struct Fabric {
    pub(super) fid: Fid,
    pub(super) ops: *const FabricOps,
    pub(super) api_version: u32,
}

#[repr(C)]
pub(super) struct FabricOps {
    pub(super) size: usize,
    pub(super) domain:
        Op<unsafe extern "C" fn(*mut Fabric, *mut Info, *mut *mut Domain, *mut c_void) -> c_int>,
    pub(super) before: [Unused; 3],
    pub(super) trywait: Op<unsafe extern "C" fn(*mut Fabric, *mut *mut Fid, c_int) -> c_int>,
}

#[repr(C)]
pub(super) struct Domain {
    pub(super) fid: Fid,
    pub(super) ops: *const DomainOps,
    pub(super) mr: *const MrOps,
}

#[repr(C)]
pub(super) struct DomainOps {
    pub(super) size: usize,
    pub(super) av_open:
        Op<unsafe extern "C" fn(*mut Domain, *mut AvAttr, *mut *mut Av, *mut c_void) -> c_int>,
    pub(super) cq_open:
        Op<unsafe extern "C" fn(*mut Domain, *mut CqAttr, *mut *mut Cq, *mut c_void) -> c_int>,
    pub(super) endpoint:
        Op<unsafe extern "C" fn(*mut Domain, *mut Info, *mut *mut Ep, *mut c_void) -> c_int>,
}

/// A domain, memory and its length, access, offset, key, flags, where the registration's address goes, and a context.
type Register = unsafe extern "C" fn(
    *mut Fid,
    *const c_void,
    usize,
    u64,
    u64,
    u64,
    u64,
    *mut *mut Mr,
    *mut c_void,
) -> c_int;

#[repr(C)]
pub(super) struct MrOps {
    pub(super) size: usize,
    pub(super) reg: Op<Register>,
}

#[repr(C)]
pub(super) struct Mr {
    pub(super) fid: Fid,
    pub(super) mem_desc: *mut c_void,
    pub(super) key: u64,
}

#[repr(C)]
#[derive(Default)]
pub(super) struct AvAttr {
    pub(super) kind: c_int,
    pub(super) rx_ctx_bits: c_int,
    pub(super) count: usize,
    pub(super) ep_per_node: usize,
    pub(super) name: usize,
    pub(super) map_addr: usize,
    pub(super) flags: u64,
}

#[repr(C)]
pub(super) struct Av {
    pub(super) fid: Fid,
    pub(super) ops: *const AvOps,
}

#[repr(C)]
pub(super) struct AvOps {
    pub(super) size: usize,
    pub(super) insert: Op<
        unsafe extern "C" fn(*mut Av, *const c_void, usize, *mut u64, u64, *mut c_void) -> c_int,
    >,
}

#[repr(C)]
#[derive(Default)]
pub(super) struct CqAttr {
    pub(super) size: usize,
    pub(super) flags: u64,
    pub(super) format: c_int,
    pub(super) wait_obj: c_int,
    pub(super) signaling_vector: c_int,
    pub(super) wait_cond: c_int,
    pub(super) wait_set: usize,
}

#[repr(C)]
pub(super) struct Cq {
    pub(super) fid: Fid,
    pub(super) ops: *const CqOps,
}

#[repr(C)]
pub(super) struct CqOps {
    pub(super) size: usize,
    pub(super) read: Op<unsafe extern "C" fn(*mut Cq, *mut c_void, usize) -> isize>,
    pub(super) readfrom: Unused,
    pub(super) readerr: Op<unsafe extern "C" fn(*mut Cq, *mut CqError, u64) -> isize>,
    pub(super) between: [Unused; 3],
    pub(super) strerror: Op<
        unsafe extern "C" fn(*mut Cq, c_int, *const c_void, *mut c_char, usize) -> *const c_char,
    >,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct CqEntry {
    pub(super) op_context: *mut c_void,
    pub(super) flags: u64,
    pub(super) len: usize,
    pub(super) buf: *mut c_void,
    pub(super) data: u64,
    pub(super) tag: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct CqError {
    pub(super) op_context: *mut c_void,
    pub(super) flags: u64,
    pub(super) len: usize,
    pub(super) buf: *mut c_void,
    pub(super) data: u64,
    pub(super) tag: u64,
    pub(super) olen: usize,
    pub(super) err: c_int,
    pub(super) prov_errno: c_int,
    pub(super) err_data: *mut c_void,
    pub(super) err_data_size: usize,
    /// What later versions may append.
    pub(super) spare: [u64; 2],
}

#[repr(C)]
pub(super) struct Ep {
    pub(super) fid: Fid,
    pub(super) ops: *const EpOps,
    pub(super) cm: *const CmOps,
    pub(super) msg: Unused,
    pub(super) rma: *const RmaOps,
    pub(super) tagged: *const TaggedOps,
}

#[repr(C)]
pub(super) struct EpOps {
    pub(super) size: usize,
    pub(super) cancel: Op<unsafe extern "C" fn(*mut Fid, *mut c_void) -> isize>,
}

#[repr(C)]
pub(super) struct CmOps {
    pub(super) size: usize,
    pub(super) setname: Unused,
    pub(super) getname: Op<unsafe extern "C" fn(*mut Fid, *mut c_void, *mut usize) -> c_int>,
}

/// An endpoint, memory, its length and descriptor, the other end, a tag, what of it is ignored, and a context.
type TaggedRecv = unsafe extern "C" fn(
    *mut Ep,
    *mut c_void,
    usize,
    *mut c_void,
    u64,
    u64,
    u64,
    *mut c_void,
) -> isize;
/// The same without what is ignored.
type TaggedSend = unsafe extern "C" fn(
    *mut Ep,
    *const c_void,
    usize,
    *mut c_void,
    u64,
    u64,
    *mut c_void,
) -> isize;
/// An endpoint, a message, and flags.
type TaggedSendMsg = unsafe extern "C" fn(*mut Ep, *const TaggedMsg, u64) -> isize;

#[repr(C)]
pub(super) struct Iov {
    pub(super) base: *mut c_void,
    pub(super) len: usize,
}

#[repr(C)]
pub(super) struct TaggedMsg {
    pub(super) msg_iov: *const Iov,
    pub(super) desc: *mut *mut c_void,
    pub(super) iov_count: usize,
    pub(super) addr: u64,
    pub(super) tag: u64,
    pub(super) ignore: u64,
    pub(super) context: *mut c_void,
    pub(super) data: u64,
}

#[repr(C)]
pub(super) struct TaggedOps {
    pub(super) size: usize,
    pub(super) recv: Op<TaggedRecv>,
    pub(super) before: [Unused; 2],
    pub(super) send: Op<TaggedSend>,
    pub(super) between: Unused,
    pub(super) sendmsg: Op<TaggedSendMsg>,
}

/// Memory of another rank: an address as its provider counts them, a length, and the key.
#[repr(C)]
pub(super) struct RmaIov {
    pub(super) addr: u64,
    pub(super) len: usize,
    pub(super) key: u64,
}

#[repr(C)]
pub(super) struct RmaMsg {
    pub(super) msg_iov: *const Iov,
    pub(super) desc: *mut *mut c_void,
    pub(super) iov_count: usize,
    pub(super) addr: u64,
    pub(super) rma_iov: *const RmaIov,
    pub(super) rma_iov_count: usize,
    pub(super) context: *mut c_void,
    pub(super) data: u64,
}

#[repr(C)]
pub(super) struct RmaOps {
    pub(super) size: usize,
    pub(super) before: [Unused; 5],
    /// An endpoint, what is to be written, and flags.
    pub(super) writemsg: Op<unsafe extern "C" fn(*mut Ep, *const RmaMsg, u64) -> isize>,
}

/// The function of a table, if the provider's is long enough to have it, and has it. The table is one, or null: its first member
/// says how much of it there is, and no more is read.
macro_rules! op {
    ($ops:expr, $table:ty, $name:ident) => {{
        let ops: *const $table = $ops;
        if !ops.is_null() && (*ops).size > std::mem::offset_of!($table, $name) {
            (*ops).$name
        } else {
            None
        }
    }};
}
pub(super) use op;

#[cfg(target_pointer_width = "64")]
const _: () = {
    use std::mem::offset_of;
    assert!(size_of::<TxAttr>() == 80 && offset_of!(TxAttr, inject_size) == 40);
    assert!(size_of::<RxAttr>() == 64 && size_of::<EpAttr>() == 96);
    assert!(offset_of!(EpAttr, mem_tag_format) == 56);
    assert!(offset_of!(DomainAttr, threading) == 16 && offset_of!(DomainAttr, mr_mode) == 36);
    assert!(offset_of!(DomainAttr, resource_mgmt) == 28);
    assert!(size_of::<FabricAttr>() == 32 && size_of::<Info>() == 120);
    assert!(offset_of!(Info, tx_attr) == 72 && offset_of!(Info, fabric_attr) == 104);
    assert!(size_of::<Fid>() == 24 && size_of::<Mr>() == 40 && size_of::<CqEntry>() == 48);
    assert!(size_of::<CqAttr>() == 40 && size_of::<AvAttr>() == 48);
    assert!(offset_of!(CqError, err) == 56 && offset_of!(CqError, spare) == 80);
    assert!(offset_of!(DomainOps, endpoint) == 24 && offset_of!(FabricOps, trywait) == 40);
    assert!(offset_of!(CqOps, readerr) == 24 && offset_of!(CqOps, strerror) == 56);
    assert!(offset_of!(TaggedOps, send) == 32 && offset_of!(TaggedOps, sendmsg) == 48);
    assert!(offset_of!(Ep, rma) == 48 && offset_of!(RmaOps, writemsg) == 48);
    assert!(size_of::<RmaMsg>() == 64 && size_of::<RmaIov>() == 24);
    assert!(offset_of!(CmOps, getname) == 16 && size_of::<TaggedMsg>() == 64);
};
