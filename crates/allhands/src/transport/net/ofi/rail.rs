//! The rail: an endpoint with its memory, the other ranks as it knows them, and what waits for a place there.

use super::abi::{self, op};
use super::endpoint::Endpoint;
use super::operation::{Kind, Operation};
use super::registration::{Place, Registrar};
use std::collections::VecDeque;
use std::ffi::c_void;
use std::ptr;

/// Another rank, on one rail.
#[derive(Clone, Copy, Debug)]
pub(super) struct Other {
    /// What it is called in the address vector.
    address: u64,
    /// How much that goes to it waits for a place.
    pub(super) waiting: u32,
}

/// How something is handed to the provider.
#[derive(Clone, Copy, Debug)]
pub(super) struct HowHanded {
    /// The bits of its tag that a receive ignores.
    pub(super) ignored: u64,
    /// Whether the provider copies it.
    pub(super) is_injected: bool,
    /// What a write is to be besides.
    pub(super) write_flags: u64,
}

/// One way to all other ranks.
#[derive(Debug)]
pub(super) struct Rail {
    pub(super) endpoint: Endpoint,
    pub(super) registrar: Registrar,
    pub(super) others: Box<[Other]>,
    /// What goes out and receives that the provider had no place for, in their order.
    pub(super) sends: VecDeque<u32>,
    pub(super) receives: VecDeque<u32>,
}

impl Rail {
    /// The rail to ranks that are called so.
    pub(super) fn new(endpoint: Endpoint, addresses: &[u64]) -> Rail {
        let other = |address: &u64| Other {
            address: *address,
            waiting: 0,
        };
        Rail {
            registrar: Registrar::new(&endpoint, &endpoint.capabilities),
            endpoint,
            others: addresses.iter().map(other).collect(),
            sends: VecDeque::new(),
            receives: VecDeque::new(),
        }
    }

    /// Whether its provider says when something has ended, so that one may sleep until then.
    pub(super) fn can_sleep(&self) -> bool {
        self.endpoint.descriptor().is_some()
    }

    /// Whether something waits for a place at the provider.
    pub(super) fn is_waiting(&self) -> bool {
        !(self.sends.is_empty() && self.receives.is_empty())
    }

    /// Whether a message must wait, so that none overtakes another.
    pub(super) fn is_behind(&self, operation: &Operation) -> bool {
        match operation.kind.is_outgoing() {
            true => self.others[operation.peer as usize].waiting > 0,
            false => !self.receives.is_empty(),
        }
    }

    /// Has a message wait.
    pub(super) fn put_off(&mut self, number: u32, operation: &Operation) {
        match operation.kind.is_outgoing() {
            true => {
                self.others[operation.peer as usize].waiting += 1;
                self.sends.push_back(number);
            }
            false => self.receives.push_back(number),
        }
    }

    /// A message waits no more.
    pub(super) fn remove(&mut self, number: u32, operation: &Operation) {
        match operation.kind.is_outgoing() {
            true => {
                self.sends.retain(|other| *other != number);
                self.others[operation.peer as usize].waiting -= 1;
            }
            false => self.receives.retain(|other| *other != number),
        }
    }

    /// Calls the provider.
    pub(super) fn hand_over(
        &self,
        operation: &Operation,
        context: *mut c_void,
        HowHanded {
            ignored,
            is_injected,
            write_flags,
        }: HowHanded,
    ) -> isize {
        let (memory, bytes, tag) = (operation.address(), operation.bytes, operation.tag);
        let descriptor = operation
            .place
            .as_ref()
            .map_or(ptr::null_mut(), Place::descriptor);
        let address = self.others[operation.peer as usize].address;
        let ep = self.endpoint.ep;
        let none = -(abi::ENODATA as isize);
        let injected = match is_injected {
            true => abi::INJECT | abi::COMPLETION,
            false => abi::COMPLETION,
        };
        if operation.kind == Kind::Put {
            return self.write(operation, context, injected | write_flags);
        }
        // SAFETY: the endpoint is open, as nothing is begun or waits when it was closed. The memory is readable, or writable, for
        // as long as the message has neither ended nor is over, as `Network::send` and `receive` ask, or a buffer of ours; it
        // is registered if the provider wants that. The context lives until the provider is done with the message.
        unsafe {
            let ops = (*ep).tagged;
            if is_injected {
                let iov = abi::Iov {
                    base: memory.cast(),
                    len: bytes,
                };
                let message = abi::TaggedMsg {
                    msg_iov: &iov,
                    desc: ptr::null_mut(),
                    iov_count: 1,
                    addr: address,
                    tag,
                    ignore: 0,
                    context,
                    data: 0,
                };
                let send = op!(ops, abi::TaggedOps, sendmsg);
                return send.map_or(none, |send| send(ep, &message, injected));
            }
            if operation.kind.is_outgoing() {
                let send = op!(ops, abi::TaggedOps, send);
                let send = send
                    .map(|send| send(ep, memory.cast(), bytes, descriptor, address, tag, context));
                return send.unwrap_or(none);
            }
            let from = abi::ADDRESS_UNSPECIFIED;
            let receive = op!(ops, abi::TaggedOps, recv);
            receive.map_or(none, |receive| {
                receive(
                    ep,
                    memory.cast(),
                    bytes,
                    descriptor,
                    from,
                    tag,
                    ignored,
                    context,
                )
            })
        }
    }

    /// Calls the provider to write to memory of another rank.
    fn write(&self, operation: &Operation, context: *mut c_void, flags: u64) -> isize {
        let ep = self.endpoint.ep;
        let iov = abi::Iov {
            base: operation.address().cast(),
            len: operation.bytes,
        };
        let target = abi::RmaIov {
            addr: operation.goal.address,
            len: operation.bytes,
            key: operation.goal.key,
        };
        let place = operation.place.as_ref();
        let mut descriptor = place.map_or(ptr::null_mut(), Place::descriptor);
        let message = abi::RmaMsg {
            msg_iov: &iov,
            desc: &mut descriptor,
            iov_count: 1,
            addr: self.others[operation.peer as usize].address,
            rma_iov: &target,
            rma_iov_count: 1,
            context,
            data: 0,
        };
        // SAFETY: the endpoint is open, as nothing is begun or waits when it was closed, and can write, as there are windows. The memory
        // is readable until the put has ended or is over, as `Network::put` asks, or a buffer of ours; it is registered if the provider
        // wants that. It goes to a window's memory, as its descriptor says, and lies inside, as was looked at. The context lives
        // until the provider is done, and what is handed in besides through the call.
        unsafe {
            let write = op!((*ep).rma, abi::RmaOps, writemsg);
            write.map_or(-(abi::ENODATA as isize), |write| write(ep, &message, flags))
        }
    }
}
