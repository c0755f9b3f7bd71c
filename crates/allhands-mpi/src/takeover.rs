//! The takeover: whether a call is served here or by the native MPI, and what becomes of errors.

use crate::abi::{Abi, Handle};
use crate::buffer::Part;
use crate::collective::class_of;
use crate::library::{Inside, Library, NO_MPI, Thread, is_inside};
use crate::meeting::Meeting;
use crate::nonblocking::Later;
use crate::recovery::{own_mistake, refused};
use crate::repeat::{Asked, Lesson};
use crate::report::Begun;
use crate::settings::Said;
use crate::state::{Owned, Shared, State};
pub(crate) use crate::unserved::Unserved;
use crate::verify::{Likeness, Witness, verify};
use allhands::{Communicator, Error, Operation};
use std::cell::{Cell, RefCell};
use std::ffi::c_int;

/// Declares the calls and the reasons with their names.
macro_rules! named {
    ($(#[$doc:meta])* $kind:ident { $($(#[$variant_doc:meta])* $variant:ident $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $kind { $($(#[$variant_doc])* $variant,)* }

        impl $kind {
            pub(crate) const ALL: [$kind; [$($name),*].len()] = [$($kind::$variant),*];

            /// The name in reports.
            pub(crate) fn name(self) -> &'static str {
                match self { $($kind::$variant => $name,)* }
            }
        }
    };
}

named! {
    /// A call that can be taken over, whether its counts are of the small or the large kind.
    Call {
        Barrier "MPI_Barrier",
        Bcast "MPI_Bcast",
        Gather "MPI_Gather",
        Gatherv "MPI_Gatherv",
        Scatter "MPI_Scatter",
        Scatterv "MPI_Scatterv",
        Allgather "MPI_Allgather",
        Allgatherv "MPI_Allgatherv",
        Alltoall "MPI_Alltoall",
        Alltoallv "MPI_Alltoallv",
        Alltoallw "MPI_Alltoallw",
        Reduce "MPI_Reduce",
        Allreduce "MPI_Allreduce",
        ReduceScatter "MPI_Reduce_scatter",
        ReduceScatterBlock "MPI_Reduce_scatter_block",
        Scan "MPI_Scan",
        Exscan "MPI_Exscan",
        Ibarrier "MPI_Ibarrier",
        Ibcast "MPI_Ibcast",
        Igather "MPI_Igather",
        Igatherv "MPI_Igatherv",
        Iscatter "MPI_Iscatter",
        Iscatterv "MPI_Iscatterv",
        Iallgather "MPI_Iallgather",
        Iallgatherv "MPI_Iallgatherv",
        Ialltoall "MPI_Ialltoall",
        Ialltoallv "MPI_Ialltoallv",
        Ialltoallw "MPI_Ialltoallw",
        Ireduce "MPI_Ireduce",
        Iallreduce "MPI_Iallreduce",
        IreduceScatter "MPI_Ireduce_scatter",
        IreduceScatterBlock "MPI_Ireduce_scatter_block",
        Iscan "MPI_Iscan",
        Iexscan "MPI_Iexscan",
    }
}

impl Call {
    /// How many of them block; they come first.
    pub(crate) const BLOCKING: usize = Call::Ibarrier as usize;

    /// The blocking call that does the same.
    pub(crate) fn blocking(self) -> Call {
        Call::ALL[self as usize % Call::BLOCKING]
    }

    /// The variable of the environment that speaks of this call.
    pub(crate) fn variable(self) -> String {
        self.name().replace("MPI_", "ALLHANDS_").to_uppercase()
    }
}

named! {
    /// Why a call passes through. All but the last two are the same on every rank of a communicator.
    Reason {
        /// The environment says so.
        Off "off",
        /// The communicator has one rank.
        OneRank "one rank",
        /// Ranks are of several worlds.
        SeveralWorlds "several worlds",
        /// Ranks are on several nodes, and the MPI's messages do not serve between them.
        NoNetwork "no network",
        /// So many communicators have tags of their own that there are none left.
        NoTags "no free tags",
        /// The ranks of a node do not share memory.
        NoNode "no shared memory",
        Intercommunicator "intercommunicator",
        /// Neither we nor the native MPI combine this type with this operator, or elements have no bytes.
        NoKernel "type and operator do not fit",
        /// The algorithm that was asked for does not serve this call.
        NoAlgorithm "the algorithm does not serve this call",
        /// A nonblocking call where the MPI does not call us when it makes progress.
        NoHook "no progress hook",
        /// A nonblocking call of ranks that are on several nodes.
        SeveralNodes "several nodes",
        /// A nonblocking call where no blocking one was made before, in which ranks could have agreed.
        Unmet "no blocking call before",
        /// A nonblocking call where results are to be verified.
        Verified "results are verified",
        /// A nonblocking call that the MPI would have to combine for, with handles that may be freed meanwhile.
        Combined "the MPI combines",
        /// The arguments are wrong, and the native MPI says how.
        Arguments "arguments",
        /// The MPI calls itself, or nothing is known of it.
        Inside "inside of MPI",
    }
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
    algorithm: Option<&'a str>,
    /// Whether the result is to be compared with the native one.
    verify: bool,
    /// What the call was about to write.
    witness: RefCell<Option<Witness>>,
    asked: &'a Asked,
    /// Whether nothing is known yet that keeps the call from being made again by its addresses alone.
    may_repeat: Cell<bool>,
    lesson: Cell<Option<Lesson>>,
    /// Where a nonblocking call is only described.
    pub(crate) later: Option<&'a Later>,
}

impl<'a> Here<'a> {
    /// A call with its arguments, and the algorithm that was asked for.
    #[inline]
    pub(crate) fn new(
        (library, abi, handle): (&'a Library, &'a Abi, Handle),
        shared: &Shared,
        comm: &'a Communicator,
        (asked, algorithm): (&'a Asked, Option<&'a str>),
        later: Option<&'a Later>,
    ) -> Here<'a> {
        let verify = library.settings().verify;
        Here {
            library,
            abi,
            handle,
            comm,
            rank: shared.rank,
            size: shared.size,
            algorithm,
            verify,
            witness: RefCell::new(None),
            asked,
            may_repeat: Cell::new(asked.may_repeat() && !verify && later.is_none()),
            lesson: Cell::new(None),
            later,
        }
    }
}

impl Here<'_> {
    /// The call.
    pub(crate) fn call(&self) -> Call {
        self.asked.call()
    }

    /// Says that what a call means is to be found out each time.
    pub(crate) fn never_repeat(&self) {
        self.may_repeat.set(false);
    }

    /// Looks how the call can be made again, if one operation is all that it is.
    #[inline(never)]
    fn learn(&self, operation: &Operation<'_>) {
        match self.lesson.take() {
            None => self.lesson.set(self.asked.learn(self.comm, operation)),
            Some(_) => self.never_repeat(),
        }
    }

    /// Runs an operation, with the algorithm that was asked for if one was; of a nonblocking call, notes it.
    #[inline]
    pub(crate) fn run(&self, operation: Operation<'_>) -> Result<(), Unserved> {
        if self.may_repeat.get() && self.algorithm.is_none() {
            self.learn(&operation);
        }
        let operation = match self.algorithm {
            None => operation,
            Some(name) => operation.algorithm(name),
        };
        match self.later {
            None => self.comm.run(operation)?,
            // SAFETY: its buffers are the user's, or kept by who calls this; operators of nonblocking calls are constants.
            Some(later) => unsafe { later.note(operation) },
        }
        Ok(())
    }

    /// Looks at what is about to be written, if the result is to be verified; once a call.
    #[inline]
    pub(crate) fn look(&self, parts: &[Part], likeness: Likeness) -> Result<(), Unserved> {
        if self.verify {
            *self.witness.borrow_mut() = Some(Witness::new(self, parts, likeness)?);
        }
        Ok(())
    }

    /// Whether this rank is the root; wrong roots are for the native MPI to complain of.
    pub(crate) fn is_root(&self, root: c_int) -> Result<bool, Unserved> {
        match usize::try_from(root) {
            Ok(root) if root < self.size => Ok(root == self.rank),
            _ => Err(Unserved::Pass(Reason::Arguments)),
        }
    }
}

/// Serves a call on a communicator, or has the native MPI serve it.
///
/// `serve` gives the number of bytes that this rank had; where it says that the call passes, it has not said anything to
/// other ranks yet.
#[inline]
pub(crate) fn take(
    asked: Asked,
    comm: usize,
    serve: impl Fn(&Here<'_>) -> Result<usize, Unserved>,
    native: impl FnOnce(&Library) -> c_int,
) -> c_int {
    let Some(library) = Library::get() else {
        return NO_MPI;
    };
    let (call, begin) = (asked.call(), library.report.begin());
    match take_again(library, &asked, comm) {
        Again::Served(served) => {
            library.report.taken(call, served, begin);
            0
        }
        Again::Passes(reason) => {
            let code = Inside::during(|| native(library));
            library.report.passed(call, reason, begin);
            code
        }
        Again::Failed(error) => {
            let failed = Some(Unserved::from(*error));
            take_anew(library, (&asked, begin), (comm, failed), serve, native)
        }
        Again::No => take_anew(library, (&asked, begin), (comm, None), serve, native),
    }
}

/// What has become of a call that may be like an earlier one.
enum Again {
    /// It was served: the bytes that this rank had, and whether its communicator's ranks are on several nodes.
    Served((usize, bool)),
    /// All calls of its communicator pass through.
    Passes(Reason),
    Failed(Box<Error>),
    /// It is another, and nothing has happened.
    No,
}

/// Serves a call that differs from an earlier one in its addresses alone.
#[inline(always)]
fn take_again(library: &Library, asked: &Asked, comm: usize) -> Again {
    let Some(abi) = library.abi.as_ref() else {
        return Again::No;
    };
    let again = |thread: &Thread| {
        if thread.is_inside() {
            return None;
        }
        library.states.last(thread, abi.handle(comm), |state| {
            let shared = match &**state {
                State::Shared(shared) => &**shared,
                State::Native(reason) => return Some(Again::Passes(*reason)),
            };
            if !asked.may_repeat() {
                return None;
            }
            let owned = shared.owned.take()?;
            if !owned.line.is_empty() {
                return None;
            }
            let known = owned.repeats.find(abi, asked)?;
            let _inside = thread.enter();
            Some(match known.run(&owned.comm, asked)? {
                Ok(()) => Again::Served((known.bytes, shared.apart)),
                Err(error) => Again::Failed(error),
            })
        })
    };
    Thread::with(again).flatten().unwrap_or(Again::No)
}

/// Serves a call whose arguments are to be looked at, or that has failed when it was made as before; or has the native MPI
/// serve it.
#[inline(never)]
fn take_anew(
    library: &Library,
    (asked, begin): (&Asked, Begun),
    (comm, failed): (usize, Option<Unserved>),
    serve: impl Fn(&Here<'_>) -> Result<usize, Unserved>,
    native: impl FnOnce(&Library) -> c_int,
) -> c_int {
    let (call, mut native) = (asked.call(), Some(native));
    let reason = match try_to(library, asked, (comm, failed), serve, &mut native) {
        Ok(served) => {
            library.report.taken(call, served, begin);
            return 0;
        }
        Err(Unserved::Pass(reason)) => reason,
        Err(unserved) => return raise(library, call, comm, &unserved),
    };
    pass_on(library, (call, comm), (reason, begin), native)
}

/// Has the native MPI serve a call.
pub(crate) fn pass_on(
    library: &Library,
    (call, comm): (Call, usize),
    (reason, begin): (Reason, Begun),
    native: Option<impl FnOnce(&Library) -> c_int>,
) -> c_int {
    let code = {
        let _inside = (!is_inside()).then(Inside::enter);
        native.map_or(NO_MPI, |native| native(library))
    };
    if code != 0 && matches!(reason, Reason::Arguments | Reason::NoKernel) {
        refused(library, comm);
    }
    library.report.passed(call, reason, begin);
    code
}

/// The bytes that this rank had, and whether its communicator's ranks are on several nodes.
#[inline]
fn try_to(
    library: &Library,
    asked: &Asked,
    (comm, mut failed): (usize, Option<Unserved>),
    serve: impl Fn(&Here<'_>) -> Result<usize, Unserved>,
    native: &mut Option<impl FnOnce(&Library) -> c_int>,
) -> Result<(usize, bool), Unserved> {
    let abi = library.abi.as_ref().ok_or(Unserved::Pass(Reason::Inside))?;
    if is_inside() {
        return Err(Unserved::Pass(Reason::Inside));
    }
    let handle = abi.handle(comm);
    if handle == abi.comm_null {
        return Err(Unserved::Pass(Reason::Arguments));
    }
    let _inside = Inside::enter();
    let state = library.states.of(library, abi, handle);
    let shared = match &*state {
        State::Shared(shared) => &**shared,
        State::Native(reason) => return Err(Unserved::Pass(*reason)),
    };
    let settings = library.settings();
    let algorithm = match settings.of(asked.call()) {
        None => None,
        Some(Said::Off) => return Err(Unserved::Pass(Reason::Off)),
        Some(Said::Algorithm(name)) => Some(name.as_str()),
    };
    let mut owned = shared.owned.take().ok_or(Unserved::Pass(Reason::Inside))?;
    let owned = &mut *owned;
    let at = (library, abi, handle);
    let meeting = || Meeting::of(library, abi, (handle, shared.rank, shared.size));
    loop {
        if let Some(unserved) = failed.take()
            && !owned.come_back(&meeting(), (asked, abi), &unserved)
        {
            return Err(unserved);
        }
        if !owned.is_on_course()
            && let Err(unserved) = owned.find_course(&meeting())
        {
            return Err(
                own_mistake(owned, at, shared, (asked, algorithm), serve).unwrap_or(unserved)
            );
        }
        if !owned.line.is_empty() || owned.comm.is_busy() {
            owned.settle();
        }
        let begun = owned.comm.begun();
        match serve_on(owned, at, shared, (asked, algorithm), &serve, native) {
            Ok(bytes) => return Ok((bytes, shared.apart)),
            Err(unserved @ Unserved::Failed(_)) if owned.comm.begun() > begun => {
                failed = Some(unserved);
            }
            // It was stopped before it could begin.
            Err(Unserved::Failed(_)) if owned.comm.stopped().is_some() => {}
            Err(unserved) => {
                owned.failed(begun, &unserved);
                return Err(unserved);
            }
        }
    }
}

/// Serves a call on a communicator that has no failure behind it; gives the bytes that this rank had.
#[inline]
fn serve_on(
    owned: &mut Owned,
    at: (&Library, &Abi, Handle),
    shared: &Shared,
    (asked, algorithm): (&Asked, Option<&str>),
    serve: &impl Fn(&Here<'_>) -> Result<usize, Unserved>,
    native: &mut Option<impl FnOnce(&Library) -> c_int>,
) -> Result<usize, Unserved> {
    let (abi, Owned { comm, repeats, .. }) = (at.1, owned);
    let here = Here::new(at, shared, comm, (asked, algorithm), None);
    let bytes = serve(&here)?;
    if here.verify
        && let Some(native) = native.take()
    {
        verify(&here, here.witness.take().as_ref(), native)?;
    }
    if here.may_repeat.get()
        && let Some(lesson) = here.lesson.take()
    {
        repeats.keep(abi, asked, lesson, bytes);
    }
    Ok(bytes)
}

/// Tells the user, and the communicator's error handler, that a call has failed.
#[cold]
pub(crate) fn raise(library: &Library, call: Call, comm: usize, unserved: &Unserved) -> c_int {
    let Some(abi) = &library.abi else {
        return NO_MPI;
    };
    let code = tell(library, call, unserved);
    if let Unserved::LongElement(_)
    | Unserved::Differs(..)
    | Unserved::Wrong(_)
    | Unserved::Failed(_) = unserved
    {
        // SAFETY: a communicator, and an error class of this MPI.
        unsafe { (library.native.comm_call_errhandler)(abi.handle(comm), code) };
    }
    code
}

/// Tells the user that a call has failed; gives the error class for it. Of what the native MPI said its handler has heard.
#[cold]
pub(crate) fn tell(library: &Library, call: Call, unserved: &Unserved) -> c_int {
    let Some(abi) = &library.abi else {
        return NO_MPI;
    };
    let (code, what) = match unserved {
        Unserved::Native(code) => return *code,
        Unserved::Pass(_) => return 0,
        Unserved::LongElement(bytes) => (
            abi.err_other,
            format!(
                "an element of {bytes} bytes with gaps is longer than an int can tell MPI_Pack"
            ),
        ),
        Unserved::Differs(rank, byte) => (
            abi.err_other,
            format!("byte {byte} of the result of rank {rank} is not what the native MPI gives"),
        ),
        Unserved::Wrong(mistake) => (mistake.class(abi, call), mistake.to_string()),
        Unserved::Failed(error) => (class_of(abi, error), error.to_string()),
    };
    eprintln!("allhands: {}: {what}", call.name());
    code
}
