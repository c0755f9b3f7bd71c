//! What MPIs mind in a call's buffers: some complain where others do not look.

use super::Given;
use super::here::Here;
use crate::abi::Family;
use crate::context::call::Call;
use crate::context::mistake::Mistake;
use crate::context::unserved::Unserved;
use crate::datatype::Datatype;

/// What a buffer is to a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Send,
    Receive,
}

impl Side {
    /// What a handle stands for, as the type of a buffer on this side.
    #[inline]
    pub(super) fn datatype(self, here: &Here<'_>, register: usize) -> Result<Datatype, Unserved> {
        let datatype = here.datatype(register)?;
        if !datatype.is_committed() && self.wants_commitment(here) {
            return Err(Unserved::Wrong(Mistake::Uncommitted));
        }
        Ok(datatype)
    }

    /// Whether the native MPI looks whether types on this side are committed.
    #[cold]
    fn wants_commitment(self, here: &Here<'_>) -> bool {
        let call = here.call().blocking();
        match here.abi.family {
            Family::Mpich | Family::Standard => true,
            Family::OpenMpi if call == Call::Bcast => true,
            Family::OpenMpi => {
                self == Side::Send && !matches!(call, Call::Scatter | Call::Scatterv)
            }
        }
    }
}

impl Here<'_> {
    /// Complains if a buffer of elements, which the call cannot do without, is said to be elsewhere.
    #[inline]
    pub(super) fn is_a_place(&self, start: *const u8, count: i64) -> Result<(), Unserved> {
        match self.abi.is_in_place(start) && count > 0 {
            true => Err(Unserved::Wrong(Mistake::InPlace)),
            false => Ok(()),
        }
    }

    /// Complains if what is sent stands where the same is to be received, and the native MPI does.
    #[inline]
    pub(super) fn are_apart(&self, send: Given, receive: Given) -> Result<(), Unserved> {
        let is_same = send.start == receive.start
            && send.count == receive.count
            && send.datatype == receive.datatype
            && send.count > 0
            && !send.start.is_null();
        match is_same {
            true => self.mind_aliases(),
            false => Ok(()),
        }
    }

    /// Complains if fewer bytes are exchanged than there is room for, and the native MPI does.
    #[cold]
    pub(super) fn may_be_shorter(&self, sent: usize, room: usize) -> Result<(), Unserved> {
        match self.abi.family {
            Family::Mpich | Family::Standard => Ok(()),
            Family::OpenMpi => Err(Unserved::Wrong(Mistake::TooLong { sent, room })),
        }
    }

    /// Complains of data that is received where it stands, if the native MPI does.
    #[cold]
    pub(super) fn mind_aliases(&self) -> Result<(), Unserved> {
        let call = self.call().blocking();
        match self.abi.family {
            Family::OpenMpi if !matches!(call, Call::Allreduce | Call::Reduce) => Ok(()),
            _ => Err(Unserved::Wrong(Mistake::Aliased)),
        }
    }
}
