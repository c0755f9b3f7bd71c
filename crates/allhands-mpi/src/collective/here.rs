//! A call that is being served: where it is made, on which communicator of ours, and what is found out while it is.

use super::kept::Later;
use super::verify::Witness;
use crate::abi::{Abi, Handle};
use crate::buffer::part::{Landing, Packer, Part};
use crate::context::call::{Call, Reason};
use crate::context::library::Library;
use crate::context::unserved::Unserved;
use crate::datatype::{Datatype, Likeness};
use crate::report::counts::REPORT;
use allhands::interposition::{CachedCall, Interposition};
use allhands::{Communicator, Error, Operation};
use std::cell::{Cell, RefCell};
use std::ffi::c_int;

/// A communicator of the MPI, as this process has it.
#[derive(Clone, Copy)]
pub(crate) struct Site<'a> {
    pub(crate) library: &'a Library,
    pub(crate) abi: &'a Abi,
    pub(crate) handle: Handle,
    pub(crate) rank: usize,
    pub(crate) size: usize,
}

/// What is known of a call before its arguments are looked at.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) call: Call,
    /// The algorithm that was asked for.
    pub(crate) algorithm: Option<&'a str>,
    /// Whether it is of use to know how the call can be made again by its addresses alone.
    pub(crate) is_cacheable: bool,
}

/// A call that is being served: where, and on what.
pub(crate) struct Here<'a> {
    pub(crate) library: &'a Library,
    pub(crate) abi: &'a Abi,
    /// The communicator's handle.
    pub(crate) handle: Handle,
    pub(crate) comm: &'a Communicator,
    pub(crate) rank: usize,
    pub(crate) size: usize,
    call: Call,
    algorithm: Option<&'a str>,
    /// Whether the result is to be compared with the native one.
    verify: bool,
    /// What the call was about to write.
    witness: RefCell<Option<Witness>>,
    /// Whether nothing is known yet that keeps the call from being made again by its addresses alone.
    is_cacheable: Cell<bool>,
    cached_call: Cell<Option<CachedCall>>,
    /// Where a nonblocking call is only described.
    pub(crate) later: Option<&'a Later>,
    /// Which algorithm served the call, if a report or trace is to say so.
    served_by: Cell<Option<String>>,
}

/// What was found out of a call while it was served.
pub(crate) struct Found {
    /// What it was about to write, if its result is to be verified.
    pub(crate) witness: Option<Witness>,
    /// How it can be made again, if one operation is all that it is.
    pub(crate) cached_call: Option<CachedCall>,
    /// The algorithm, if a report or trace is to say so.
    pub(crate) served_by: Option<String>,
}

impl<'a> Here<'a> {
    /// A call at a site, served by a communicator of ours; `later`: only described.
    #[inline]
    pub(crate) fn new(
        site: Site<'a>,
        comm: &'a Communicator,
        wanted: Wanted<'a>,
        later: Option<&'a Later>,
    ) -> Here<'a> {
        let verify = site.library.settings().verify;
        let is_cacheable = wanted.is_cacheable && wanted.algorithm.is_none();
        Here {
            library: site.library,
            abi: site.abi,
            handle: site.handle,
            comm,
            rank: site.rank,
            size: site.size,
            call: wanted.call,
            algorithm: wanted.algorithm,
            verify,
            witness: RefCell::new(None),
            is_cacheable: Cell::new(is_cacheable && !verify && later.is_none()),
            cached_call: Cell::new(None),
            later,
            served_by: Cell::new(None),
        }
    }

    /// The MPI's own way to pack and unpack, as if to send on the call's communicator.
    pub(crate) fn packer(&self) -> Packer<'a> {
        Packer {
            library: self.library,
            comm: self.handle,
        }
    }
}

impl Here<'_> {
    /// The call.
    pub(crate) fn call(&self) -> Call {
        self.call
    }

    /// Whether the result is to be compared with the native one.
    pub(crate) fn is_verified(&self) -> bool {
        self.verify
    }

    /// Whether this rank is the root; wrong roots are for the native MPI to complain of.
    pub(crate) fn is_root(&self, root: c_int) -> Result<bool, Unserved> {
        match usize::try_from(root) {
            Ok(root) if root < self.size => Ok(root == self.rank),
            _ => Err(Unserved::Pass(Reason::Arguments)),
        }
    }

    /// What a handle of a type stands for.
    #[inline]
    pub(super) fn datatype(&self, register: usize) -> Result<Datatype, Unserved> {
        let datatype = Datatype::of(self.library, self.abi, register)?;
        if !datatype.is_for_ever() {
            // It may be freed, and its handle then means another.
            self.do_not_cache();
        }
        Ok(datatype)
    }

    /// Room for what the parts will hold; it has no contents yet where it is not theirs.
    #[inline]
    pub(super) fn landing(&self, parts: &[Part]) -> Result<Landing, Unserved> {
        self.look(parts, Likeness::Exact)?;
        Ok(Landing::of(parts))
    }

    /// The same where blocks may be shorter than the parts.
    pub(super) fn roomy_landing(&self, parts: &[Part]) -> Result<Landing, Unserved> {
        self.look(parts, Likeness::Exact)?;
        Ok(Landing::roomy(parts))
    }

    /// The same with what the parts hold now.
    pub(super) fn filled_landing(&self, parts: &[Part]) -> Result<Landing, Unserved> {
        self.look(parts, Likeness::Exact)?;
        Landing::filled(self.packer(), parts)
    }

    /// Looks at what is about to be written, if the result is to be verified; once a call.
    #[inline]
    pub(super) fn look(&self, parts: &[Part], likeness: Likeness) -> Result<(), Unserved> {
        if self.verify {
            let witness = Witness::new(self.packer(), parts, likeness)?;
            *self.witness.borrow_mut() = Some(witness);
        }
        Ok(())
    }

    /// Says that what a call means is to be found out each time.
    pub(super) fn do_not_cache(&self) {
        self.is_cacheable.set(false);
    }

    /// Looks how the call can be made again, if one operation is all that it is.
    #[inline(never)]
    fn learn(&self, operation: &Operation<'_>) {
        match (self.cached_call.take(), self.comm.cached_call(operation)) {
            (None, Some(cached_call)) => self.cached_call.set(Some(cached_call)),
            (Some(_), _) | (None, None) => self.do_not_cache(),
        }
    }

    /// Runs an operation, with the algorithm that was asked for if one was; of a nonblocking call, notes it.
    #[inline]
    pub(super) fn run(&self, operation: Operation<'_>) -> Result<(), Unserved> {
        if self.is_cacheable.get() {
            self.learn(&operation);
        }
        let operation = match self.algorithm {
            None => operation,
            Some(name) => operation.algorithm(name),
        };
        match self.later {
            None if REPORT.is_wanted() => self.run_noticed(operation)?,
            None => self.comm.run(operation)?,
            // SAFETY: its buffers are the user's, or kept by who calls this; operators of nonblocking calls are constants.
            Some(later) => unsafe { later.note(operation) },
        }
        Ok(())
    }

    /// Runs an operation, and looks which algorithm serves it.
    #[inline(never)]
    fn run_noticed(&self, operation: Operation<'_>) -> Result<(), Error> {
        let again = operation.clone();
        self.comm.run(operation)?;
        self.served_by.set(self.comm.served_by(&again));
        Ok(())
    }

    /// What was found out, when the call has been served.
    #[inline]
    pub(crate) fn found(&self) -> Found {
        Found {
            witness: self.witness.take(),
            cached_call: self.cached_call.take().filter(|_| self.is_cacheable.get()),
            served_by: self.served_by.take(),
        }
    }
}
