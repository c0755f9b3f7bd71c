//! What is kept of a nonblocking call until it has ended: memory of ours, and where its contents go.

use super::here::Here;
use crate::abi::Handle;
use crate::buffer::part::{Landing, Packer, Part};
use crate::collective::{Elements, Words};
use crate::context::call::Reason;
use crate::context::library::Library;
use crate::context::unserved::Unserved;
use allhands::Operation;
use std::borrow::Cow;
use std::cell::RefCell;

/// What a call keeps.
#[derive(Default)]
pub(crate) enum Kept {
    /// Nothing: all memory is the user's.
    #[default]
    Nothing,
    /// Data that is moved.
    Moved {
        /// Held for its life alone, as the operation has its address.
        _input: Cow<'static, [u8]>,
        landing: Landing,
        parts: Vec<Part>,
        /// Types that the user may have freed meanwhile.
        types: Vec<Handle>,
    },
    /// Elements that are combined.
    Combined {
        /// As above.
        _input: Words,
        output: Words,
        to: *mut u8,
        bytes: usize,
    },
}

// SAFETY: the addresses are of memory that the user leaves alone until the call has ended, in whatever thread.
unsafe impl Send for Kept {}

impl Kept {
    /// What a reduction keeps: its copy of the input, and its result if that is not where the user wants it.
    pub(crate) fn elements(
        elements: &Elements<'_>,
        input: Words,
        output: Option<Words>,
        (to, count): (*mut u8, usize),
    ) -> Kept {
        let bytes = output.as_ref().map_or(0, |_| count * elements.bytes);
        Kept::Combined {
            _input: input,
            output: output.unwrap_or_else(|| Words::of(0)),
            to: to.wrapping_offset(elements.together().unwrap_or(0)),
            bytes,
        }
    }

    /// Makes sure that types of the user outlive their handles.
    fn outlive_types(&mut self, library: &Library) -> Result<(), Unserved> {
        if let Kept::Moved { parts, types, .. } = self {
            for part in parts {
                types.extend(part.outlive_type(library)?);
            }
        }
        Ok(())
    }

    /// Brings what has come to where the user wants it, if all went well; gives back what was kept.
    pub(crate) fn deliver(self, library: &Library, went_well: bool) -> Result<(), Unserved> {
        match self {
            Kept::Nothing => Ok(()),
            Kept::Moved {
                landing,
                parts,
                types,
                ..
            } => {
                let comm = library.abi.as_ref().map_or(0, |abi| abi.comm_world);
                let packer = Packer { library, comm };
                let placed = match went_well {
                    true => landing.deliver(packer, &parts),
                    false => Ok(()),
                };
                for mut copy in types {
                    // SAFETY: a copy of ours that nobody uses any more.
                    unsafe { (library.native.type_free)(&raw mut copy) };
                }
                placed
            }
            Kept::Combined {
                mut output,
                to,
                bytes,
                ..
            } => {
                if went_well && bytes > 0 {
                    let from = output.bytes(bytes).as_ptr();
                    // SAFETY: the user has room for the result, and leaves it alone until the request has ended.
                    unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) };
                }
                Ok(())
            }
        }
    }
}

/// A call that is only described, to be begun when all is known of it.
#[derive(Default)]
pub(crate) struct Later(RefCell<(Option<Operation<'static>>, Kept)>);

impl Later {
    /// The operation that serves the call, and what is kept until its end.
    pub(crate) fn of_call(self, library: &Library) -> Result<(Operation<'static>, Kept), Unserved> {
        let (operation, mut kept) = self.0.into_inner();
        kept.outlive_types(library)?;
        // Whoever serves a call names an operation.
        let operation = operation.ok_or(Unserved::Pass(Reason::NoAlgorithm))?;
        Ok((operation, kept))
    }

    /// Notes the operation.
    ///
    /// # Safety
    /// What it borrows is the user's, or kept.
    pub(crate) unsafe fn note(&self, operation: Operation<'_>) {
        // SAFETY: it is used no longer than the user and what is kept let it, as `take` sees to.
        let operation =
            unsafe { std::mem::transmute::<Operation<'_>, Operation<'static>>(operation) };
        self.0.borrow_mut().0 = Some(operation);
    }

    pub(crate) fn keep(&self, kept: Kept) {
        self.0.borrow_mut().1 = kept;
    }
}

impl Here<'_> {
    /// Runs an operation that moves bytes from the input to the landing, and brings them to where the parts are; in a
    /// nonblocking call all of that is put off.
    #[inline]
    pub(crate) fn carry(
        &self,
        input: Cow<'static, [u8]>,
        (mut landing, parts): (Landing, &[Part]),
        describe: impl for<'o> FnOnce(&'o [u8], &'o mut [u8]) -> Operation<'o>,
    ) -> Result<(), Unserved> {
        self.run(describe(&input, landing.bytes()))?;
        let is_users = matches!((&input, &landing), (Cow::Borrowed(_), Landing::Direct(..)));
        match self.later {
            None => landing.deliver(self.packer(), parts),
            Some(_) if is_users => Ok(()),
            Some(later) => {
                // Vectors are moved here, and what they hold stays where it is.
                later.keep(Kept::Moved {
                    _input: input,
                    parts: match landing {
                        Landing::Direct(..) => Vec::new(),
                        Landing::Staged(_) | Landing::Roomy(_) => parts.to_vec(),
                    },
                    landing,
                    types: Vec::new(),
                });
                Ok(())
            }
        }
    }

    /// Whether the call returns when it has begun.
    pub(crate) fn is_begun_only(&self) -> bool {
        self.later.is_some()
    }

    /// Keeps what a call that is only begun needs until its end.
    pub(crate) fn keep(&self, kept: Kept) {
        if let Some(later) = self.later {
            later.keep(kept);
        }
    }
}
