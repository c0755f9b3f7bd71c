//! The rail: an endpoint with its memory, the other ranks as it knows them, and what waits for a place there.

use super::abi::{self, op};
use super::endpoint::Endpoint;
use super::operation::Operation;
use super::registration::{Place, Registrar};
use std::collections::VecDeque;
use std::ffi::c_void;
use std::ptr;

/// Another rank, on one rail.
#[derive(Clone, Copy, Debug)]
pub(super) struct Other {
    /// What it is called in the address vector.
    address: u64,
    /// How many of the sends to it wait for a place.
    pub(super) waiting: u32,
}

/// One way to all other ranks.
#[derive(Debug)]
pub(super) struct Rail {
    pub(super) endpoint: Endpoint,
    pub(super) registrar: Registrar,
    pub(super) others: Box<[Other]>,
    /// Sends and receives that the provider had no place for, in their order.
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
        match operation.is_send {
            true => self.others[operation.peer as usize].waiting > 0,
            false => !self.receives.is_empty(),
        }
    }

    /// Has a message wait.
    pub(super) fn put_off(&mut self, number: u32, operation: &Operation) {
        match operation.is_send {
            true => {
                self.others[operation.peer as usize].waiting += 1;
                self.sends.push_back(number);
            }
            false => self.receives.push_back(number),
        }
    }

    /// A message waits no more.
    pub(super) fn remove(&mut self, number: u32, operation: &Operation) {
        match operation.is_send {
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
        (ignored, is_injected): (u64, bool),
    ) -> isize {
        let (memory, bytes, tag) = (operation.address(), operation.bytes, operation.tag);
        let descriptor = operation
            .place
            .as_ref()
            .map_or(ptr::null_mut(), Place::descriptor);
        let address = self.others[operation.peer as usize].address;
        let ep = self.endpoint.ep;
        let none = -(abi::ENODATA as isize);
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
                let flags = abi::INJECT | abi::COMPLETION;
                let send = op!(ops, abi::TaggedOps, sendmsg);
                return send.map_or(none, |send| send(ep, &message, flags));
            }
            if operation.is_send {
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
}
