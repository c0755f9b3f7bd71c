//! Capabilities: what is asked of a provider, and what its answer allows. Its name decides nothing but whether it bears to be closed.

use super::abi::{self, Info};
use super::error::OfiError;
use super::library::{Library, OLDEST};
use std::ffi::{CStr, CString, c_char, c_int};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::{ptr, slice};

/// The provider whose endpoints are not closed while messages are under way: with 1.17 that may end the process, as an error
/// without its message's context is looked at then (`rxm_handle_comp_error`).
const BREAKS_WHEN_CLOSED: &str = "tcp;ofi_rxm";

/// Which provider is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// The provider's name, as `fi_info -l` has it; without, the first that reaches other hosts.
    pub provider: Option<String>,
    /// The address of the interface that is to be used, where the provider knows interfaces by addresses.
    pub interface: Option<IpAddr>,
    /// The name of the domain that is to be used, as `fi_info` has it, where there are several.
    pub domain: Option<String>,
}

/// What tells that all is there which one rank has written to another's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guarantee {
    /// A message that is sent afterwards the same way (`FI_ORDER_SAW`).
    Order,
    /// The end of the write (`FI_DELIVERY_COMPLETE`).
    Delivery,
}

/// What a provider said that it can do, and wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Capabilities {
    pub(super) provider: String,
    /// Those that have the same can talk to one another.
    pub(super) protocol: u32,
    pub(super) address_format: u32,
    /// What it wants of memory that messages are sent from or received into.
    pub(super) mr_mode: c_int,
    /// How long a key of registered memory may be in bytes.
    pub(super) key_bytes: usize,
    /// Whether messages are matched in the order in which they were sent.
    pub(super) is_ordered: bool,
    /// The longest message that the provider copies before the call returns.
    pub(super) inject_bytes: usize,
    pub(super) most_bytes: usize,
    /// The low bits of a tag that are ours.
    pub(super) tag_bits: u32,
    /// What it guarantees of windows, if it can have such.
    pub(super) windows: Option<Guarantee>,
    /// Whether closing its endpoints while messages are under way may end the process, and it touches no memory unless it is called.
    pub(super) breaks_when_closed: bool,
}

/// A provider's answer: what its objects are made of.
pub(super) struct Offer {
    library: Library,
    list: *mut Info,
    /// One of the list.
    pub(super) info: *mut Info,
    pub(super) capabilities: Capabilities,
}

impl Drop for Offer {
    fn drop(&mut self) {
        // SAFETY: the list is the library's own, and nobody else frees it.
        unsafe { (self.library.freeinfo)(self.list) };
    }
}

/// Asks for what is needed: first for messages that are matched in their order, then for such that are not. Whether a provider that
/// has nothing at the interface serves all the same depends on `must_be_there`.
///
/// # Errors
/// If no provider can do what is needed, or it has no such domain.
pub(super) fn find(
    library: Library,
    wishes: &Wishes,
    must_be_there: bool,
) -> Result<Offer, OfiError> {
    for order in [abi::ORDER_SAS, 0] {
        let question = Question {
            provider: wishes.provider.as_deref(),
            order,
            windows: None,
        };
        let list = ask(library, &question)?;
        if list.is_null() {
            continue;
        }
        // From here on the list is freed, whatever happens.
        let mut offer = Offer {
            library,
            list,
            info: list,
            capabilities: read(list),
        };
        match at_rail(&offer, wishes) {
            Some(info) => {
                offer.capabilities = read(info);
                offer.info = info;
            }
            None if must_be_there || wishes.domain.is_some() => {
                return Err(no_rail(&offer, wishes));
            }
            None => {}
        }
        return Ok(with_windows(&offer, order).unwrap_or(offer));
    }
    Err(OfiError::NoProvider {
        asked: wishes.provider.clone().unwrap_or_default(),
        found: found(library),
    })
}

/// The same entry as one that can have windows, if it can: which provider serves does not depend on that.
fn with_windows(offer: &Offer, order: u64) -> Option<Offer> {
    for guarantee in [Guarantee::Order, Guarantee::Delivery] {
        let question = Question {
            provider: Some(&offer.capabilities.provider),
            order,
            windows: Some(guarantee),
        };
        let list = ask(offer.library, &question).ok()?;
        if list.is_null() {
            continue;
        }
        let mut found = Offer {
            library: offer.library,
            list,
            info: list,
            capabilities: read(list),
        };
        let at = entries(&found).find(|at| is_same(*at, offer.info) && has(*at, guarantee));
        if let Some(info) = at {
            // SAFETY: an entry of a list has all its parts. Only writes are to end when they are delivered, and those say so.
            unsafe { (*(*info).tx_attr).op_flags &= !abi::DELIVERY_COMPLETE };
            found.info = info;
            found.capabilities = read(info);
            found.capabilities.windows = Some(guarantee);
            return Some(found);
        }
    }
    None
}

/// Whether two entries are of the same provider, domain and address.
fn is_same(one: *const Info, other: *const Info) -> bool {
    let (said, right) = (read(one), read(other));
    let address = |info: *const Info| {
        // SAFETY: an entry of a list that is not freed yet, whose address is as long as it says.
        unsafe {
            let (address, length) = ((*info).src_addr, (*info).src_addrlen);
            match address.is_null() {
                true => Vec::new(),
                false => slice::from_raw_parts(address.cast::<u8>(), length).to_vec(),
            }
        }
    };
    let is_same = (said.provider, said.protocol) == (right.provider, right.protocol);
    is_same && domain(one) == domain(other) && address(one) == address(other)
}

/// Whether an entry has all that windows need: keys that fit into a word, of which none is used twice, and a guarantee.
fn has(info: *const Info, guarantee: Guarantee) -> bool {
    let caps = abi::RMA | abi::WRITE | abi::REMOTE_WRITE;
    // SAFETY: an entry of a list has all its parts, and the list is not freed yet.
    let (info, tx, rx, domain) = unsafe {
        let info = &*info;
        (info, &*info.tx_attr, &*info.rx_attr, &*info.domain_attr)
    };
    let is_guaranteed = match guarantee {
        Guarantee::Order => tx.msg_order & rx.msg_order & abi::ORDER_SAW != 0,
        Guarantee::Delivery => tx.op_flags & abi::DELIVERY_COMPLETE != 0,
    };
    let is_raw = domain.mr_mode & abi::MR_RAW != 0;
    info.caps & caps == caps && is_guaranteed && !is_raw && (2..=8).contains(&domain.mr_key_size)
}

/// What is asked of libfabric.
struct Question<'a> {
    provider: Option<&'a str>,
    /// Of messages among one another.
    order: u64,
    windows: Option<Guarantee>,
}

/// The list of what can do what is asked for; null if nothing can.
fn ask(library: Library, question: &Question<'_>) -> Result<*mut Info, OfiError> {
    // SAFETY: without something to copy it makes an empty one, with all its parts.
    let hints = unsafe { (library.dupinfo)(ptr::null()) };
    if hints.is_null() {
        let why = "there is no memory".into();
        return Err(OfiError::Call {
            what: "describe what is needed",
            why,
        });
    }
    // SAFETY: it was just made, nobody else has it, and it has all these parts. The name is one that can be freed, as the
    // library frees it.
    unsafe {
        (*hints).caps = abi::TAGGED | abi::SEND | abi::RECV;
        (*hints).mode = abi::CONTEXT | abi::CONTEXT2;
        (*(*hints).ep_attr).kind = abi::EP_RDM;
        let mut order = question.order;
        match question.windows {
            Some(Guarantee::Order) => order |= abi::ORDER_SAW,
            Some(Guarantee::Delivery) => {
                (*(*hints).tx_attr).op_flags = abi::DELIVERY_COMPLETE;
            }
            None => {}
        }
        if question.windows.is_some() {
            // Who reaches its own host alone writes to other processes' memory without their endpoints, and does not stop when
            // these are closed.
            (*hints).caps |= abi::RMA | abi::WRITE | abi::REMOTE_WRITE | abi::REMOTE_COMM;
        }
        (*(*hints).tx_attr).msg_order = order;
        (*(*hints).rx_attr).msg_order = order;
        let domain = (*hints).domain_attr;
        (*domain).threading = abi::THREAD_DOMAIN;
        (*domain).resource_mgmt = abi::RM_ENABLED;
        (*domain).mr_mode = abi::MR_LOCAL
            | abi::MR_VIRT_ADDR
            | abi::MR_ALLOCATED
            | abi::MR_PROV_KEY
            | abi::MR_ENDPOINT;
        match question.provider.and_then(|name| CString::new(name).ok()) {
            Some(name) => (*(*hints).fabric_attr).prov_name = libc::strdup(name.as_ptr()),
            None => (*hints).caps |= abi::REMOTE_COMM,
        }
    }
    let mut list = ptr::null_mut();
    // SAFETY: the hints live through the call; a list of the library's own is written, or nothing.
    let result =
        unsafe { (library.getinfo)(OLDEST, ptr::null(), ptr::null(), 0, hints, &mut list) };
    // SAFETY: the library made it, and nobody needs it any more.
    unsafe { (library.freeinfo)(hints) };
    match result {
        error if error == -abi::ENODATA => Ok(ptr::null_mut()),
        result => library.check("look for providers", result).map(|()| list),
    }
}

/// What an entry of a list says.
fn read(info: *const Info) -> Capabilities {
    // SAFETY: an entry of a list that the library has made has all these parts, and the list is not freed yet.
    let (info, tx, rx, ep, domain, fabric) = unsafe {
        let info = &*info;
        (
            info,
            &*info.tx_attr,
            &*info.rx_attr,
            &*info.ep_attr,
            &*info.domain_attr,
            &*info.fabric_attr,
        )
    };
    let provider = text(fabric.prov_name);
    let is_passive = domain.data_progress == abi::PROGRESS_MANUAL;
    Capabilities {
        breaks_when_closed: provider == BREAKS_WHEN_CLOSED && is_passive,
        provider,
        protocol: ep.protocol,
        address_format: info.addr_format,
        mr_mode: domain.mr_mode,
        key_bytes: domain.mr_key_size,
        is_ordered: tx.msg_order & rx.msg_order & abi::ORDER_SAS != 0,
        inject_bytes: tx.inject_size,
        most_bytes: ep.max_msg_size,
        tag_bits: u64::BITS - ep.mem_tag_format.leading_zeros(),
        windows: None,
    }
}

fn text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: a text of the library's own, with a zero at its end.
    unsafe { CStr::from_ptr(text) }
        .to_string_lossy()
        .into_owned()
}

/// The entries that the first's provider has.
fn entries(offer: &Offer) -> impl Iterator<Item = *mut Info> {
    // SAFETY: an entry of the list, which the offer keeps.
    let next = |at: &*mut Info| Some(unsafe { (**at).next }).filter(|next| !next.is_null());
    let provider = &offer.capabilities.provider;
    std::iter::successors(Some(offer.list), next).filter(move |at| read(*at).provider == *provider)
}

/// The entry of the domain or at the interface that is wished for.
fn at_rail(offer: &Offer, wishes: &Wishes) -> Option<*mut Info> {
    if let Some(wanted) = &wishes.domain {
        return entries(offer).find(|at| domain(*at) == *wanted);
    }
    let wanted = wishes.interface.filter(|ip| !ip.is_unspecified())?;
    // SAFETY: an entry of the list, whose address is as long as it says.
    entries(offer).find(|at| unsafe { source(&**at) } == Some(wanted))
}

/// The name of an entry's domain.
fn domain(info: *const Info) -> String {
    // SAFETY: an entry of a list has all its parts, and the list is not freed yet.
    text(unsafe { (*(*info).domain_attr).name })
}

/// That a provider has no such domain, or nothing at such an interface, and what it has.
fn no_rail(offer: &Offer, wishes: &Wishes) -> OfiError {
    let mut found: Vec<String> = Vec::new();
    for info in entries(offer) {
        // SAFETY: as above.
        let address = unsafe { source(&*info) };
        let address = address.map_or(String::new(), |ip| format!(" ({ip})"));
        let name = domain(info) + &address;
        if !found.contains(&name) {
            found.push(name);
        }
    }
    let interface = wishes.interface.map(|ip| ip.to_string());
    OfiError::NoRail {
        provider: offer.capabilities.provider.clone(),
        rail: wishes.domain.clone().or(interface).unwrap_or_default(),
        found: found.join(", "),
    }
}

/// The address of an entry, if it is one of the internet's.
///
/// # Safety
/// The entry's address is as long as it says.
unsafe fn source(info: &Info) -> Option<IpAddr> {
    // Behind the family and the port, and in the newer form behind a label.
    let (at, bytes) = match info.addr_format {
        abi::FORMAT_SOCKADDR_IN => (4, 4),
        abi::FORMAT_SOCKADDR_IN6 => (8, 16),
        _ => return None,
    };
    if info.src_addr.is_null() || info.src_addrlen < at + bytes {
        return None;
    }
    let address = info.src_addr.cast::<u8>().wrapping_add(at);
    // SAFETY: within the length, as was looked at; bytes have no alignment.
    unsafe {
        Some(match bytes {
            4 => Ipv4Addr::from(*address.cast::<[u8; 4]>()).into(),
            _ => Ipv6Addr::from(*address.cast::<[u8; 16]>()).into(),
        })
    }
}

/// What there is instead, as the end of a sentence.
fn found(library: Library) -> String {
    let question = Question {
        provider: None,
        order: 0,
        windows: None,
    };
    let Ok(list) = ask(library, &question) else {
        return "nor any other".into();
    };
    let mut names: Vec<String> = Vec::new();
    let mut at: *const Info = list;
    while !at.is_null() {
        let name = read(at).provider;
        if !names.contains(&name) {
            names.push(name);
        }
        // SAFETY: an entry of the list, which is not freed yet.
        at = unsafe { (*at).next };
    }
    // SAFETY: the library made it, and nobody needs it any more; nothing is freed of an empty one.
    unsafe { (library.freeinfo)(list) };
    match names.is_empty() {
        true => "nor any other that reaches other hosts".into(),
        false => format!(
            "right would be one of these in ALLHANDS_OFI_PROVIDER: {}",
            names.join(", ")
        ),
    }
}
