//! Handles: the words by which a program names communicators, types, operators and requests.

use super::{Class, Wrong};
use crate::communicator::Shared;
use crate::element::Element;
use crate::operator::BuiltIn;
use std::collections::{BTreeMap, HashMap};
use std::ffi::c_int;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

/// A handle.
pub(super) type Word = usize;

pub(super) const COMM_WORLD: Word = 0b0001_0000_0001;
pub(super) const COMM_NULL: Word = 0b0001_0000_0000;
pub(super) const REQUEST_NULL: Word = 0b0001_0010_0000;
/// The address that says that the output has the input, too.
pub(super) const IN_PLACE: Word = 1;

pub(super) const ANY_SOURCE: c_int = -1;
pub(super) const ANY_TAG: c_int = -101;
pub(super) const PROC_NULL: c_int = -2;
pub(super) const UNDEFINED: c_int = -601;
pub(super) const THREAD_MULTIPLE: c_int = -801;

/// The first handle that no predefined object has.
const FIRST: Word = 1 << 14;

/// Predefined objects that are served, with what each is here: a table, and the words that MPItrampoline reads by their names.
macro_rules! served {
    ($table:ident: $kind:ty; $($name:ident = $value:literal $what:ident;)*) => {
        const $table: &[(Word, $kind)] = &[$(($value, <$kind>::$what)),*];
        $(
            #[unsafe(no_mangle)]
            pub static $name: Word = $value;
        )*
    };
}

served! {
    TYPES: Element;
    MPIABI_CHAR = 0b0010_0100_0011 I8;
    MPIABI_SHORT = 0b0010_0000_1000 I16;
    MPIABI_INT = 0b0010_0000_1001 I32;
    MPIABI_LONG = 0b0010_0000_1010 I64;
    MPIABI_LONG_LONG = 0b0010_0000_1011 I64;
    MPIABI_SIGNED_CHAR = 0b0010_0100_0100 I8;
    MPIABI_UNSIGNED_CHAR = 0b0010_0100_0101 U8;
    MPIABI_UNSIGNED_SHORT = 0b0010_0000_1100 U16;
    MPIABI_UNSIGNED = 0b0010_0000_1101 U32;
    MPIABI_UNSIGNED_LONG = 0b0010_0000_1110 U64;
    MPIABI_UNSIGNED_LONG_LONG = 0b0010_0000_1111 U64;
    MPIABI_FLOAT = 0b0010_0101_0010 F32;
    MPIABI_DOUBLE = 0b0010_0101_1010 F64;
    MPIABI_C_BOOL = 0b0010_0011_1000 Bool;
    MPIABI_CXX_BOOL = 0b0010_0011_1001 Bool;
    MPIABI_INT8_T = 0b0010_0100_0000 I8;
    MPIABI_INT16_T = 0b0010_0100_1000 I16;
    MPIABI_INT32_T = 0b0010_0101_0000 I32;
    MPIABI_INT64_T = 0b0010_0101_1000 I64;
    MPIABI_UINT8_T = 0b0010_0100_0001 U8;
    MPIABI_UINT16_T = 0b0010_0100_1001 U16;
    MPIABI_UINT32_T = 0b0010_0101_0001 U32;
    MPIABI_UINT64_T = 0b0010_0101_1001 U64;
    MPIABI_C_COMPLEX = 0b0010_0101_1011 C64;
    MPIABI_C_DOUBLE_COMPLEX = 0b0010_0001_0110 C128;
    MPIABI_BYTE = 0b0010_0100_0111 U8;
    MPIABI_PACKED = 0b0010_0000_0111 U8;
    MPIABI_LONG_LONG_INT = 0b0010_0000_1011 I64;
    MPIABI_C_FLOAT_COMPLEX = 0b0010_0101_1011 C64;
}

served! {
    OPERATORS: BuiltIn;
    MPIABI_SUM = 0b10_0001 Sum;
    MPIABI_MIN = 0b10_0010 Min;
    MPIABI_MAX = 0b10_0011 Max;
    MPIABI_PROD = 0b10_0100 Product;
    MPIABI_BAND = 0b10_1000 BitAnd;
    MPIABI_BOR = 0b10_1001 BitOr;
    MPIABI_BXOR = 0b10_1010 BitXor;
    MPIABI_LAND = 0b11_0000 LogicalAnd;
    MPIABI_LOR = 0b11_0001 LogicalOr;
    MPIABI_LXOR = 0b11_0010 LogicalXor;
}

pub(super) fn element(handle: Word) -> Result<Element, Wrong> {
    let found = TYPES.iter().find(|(other, _)| *other == handle);
    found.map(|found| found.1).ok_or_else(|| {
        let says = format!(
            "the datatype {handle:#x} is not served: C's integers, float, double, their complex numbers, bool and bytes are"
        );
        Wrong::new(Class::Type, says)
    })
}

pub(super) fn operator(handle: Word) -> Result<BuiltIn, Wrong> {
    let found = OPERATORS.iter().find(|(other, _)| *other == handle);
    found.map(|found| found.1).ok_or_else(|| {
        let says = format!("the operator {handle:#x} is not served: MPI's predefined ones are, but for MINLOC and MAXLOC");
        Wrong::new(Class::Operator, says)
    })
}

/// A message.
#[derive(Clone, Copy)]
pub(super) struct Message {
    pub(super) comm: Word,
    pub(super) start: *mut u8,
    pub(super) bytes: usize,
    /// To whom, or from whom; anyone, if it is received and nobody is named.
    pub(super) other: Option<usize>,
    pub(super) tag: Option<u32>,
    pub(super) is_sent: bool,
    /// Who has begun it.
    pub(super) thread: ThreadId,
}

// SAFETY: whose the memory is, MPI's rules say: nobody touches it until the message has ended, on whatever thread that is.
unsafe impl Send for Message {}

/// The objects that a program has handles of.
pub(super) struct Objects {
    comms: HashMap<Word, Arc<Shared>>,
    /// Those that were begun, in order, and those that have ended.
    messages: BTreeMap<Word, Message>,
    ended: HashMap<Word, Option<allhands::Status>>,
    next: Word,
}

/// All of them.
pub(super) fn objects() -> MutexGuard<'static, Objects> {
    static ALL: LazyLock<Mutex<Objects>> = LazyLock::new(|| {
        Mutex::new(Objects {
            comms: HashMap::new(),
            messages: BTreeMap::new(),
            ended: HashMap::new(),
            next: FIRST,
        })
    });
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Objects {
    fn handle(&mut self) -> Word {
        self.next += 1;
        self.next
    }

    /// Gives a communicator a handle.
    pub(super) fn keep(&mut self, comm: Arc<Shared>) -> Word {
        let handle = self.handle();
        self.comms.insert(handle, comm);
        handle
    }

    /// Takes the world for what `COMM_WORLD` is.
    pub(super) fn set_world(&mut self, comm: Arc<Shared>) {
        self.comms.insert(COMM_WORLD, comm);
    }

    pub(super) fn comm(&self, handle: Word) -> Result<Arc<Shared>, Wrong> {
        self.comms.get(&handle).map(Arc::clone).ok_or_else(|| {
            let says = match handle {
                COMM_NULL => "COMM_NULL is no communicator".to_string(),
                COMM_WORLD => "MPI_Init was not called, or MPI_Finalize was".to_string(),
                other => format!("there is no communicator {other:#x}: COMM_WORLD and what comes of it are served"),
            };
            Wrong::new(Class::Communicator, says)
        })
    }

    /// Forgets a communicator, which ends when nobody uses it any more.
    pub(super) fn free(&mut self, handle: Word) -> Result<(), Wrong> {
        self.comm(handle)?;
        self.comms.remove(&handle);
        Ok(())
    }

    /// Forgets all communicators.
    pub(super) fn clear(&mut self) {
        self.comms.clear();
    }

    /// Gives a message a handle.
    pub(super) fn begin(&mut self, message: Message) -> Word {
        let handle = self.handle();
        self.messages.insert(handle, message);
        handle
    }

    /// The messages that are to be carried when a request is waited for: none if its own has been; else all that the same thread has begun
    /// on the same communicator, in that order.
    pub(super) fn due(&mut self, request: Word) -> Result<Vec<(Word, Message)>, Wrong> {
        if self.ended.contains_key(&request) {
            return Ok(Vec::new());
        }
        let Some(own) = self.messages.get(&request) else {
            return Err(Wrong::new(
                Class::Request,
                format!("there is no request {request:#x}"),
            ));
        };
        let (comm, thread) = (own.comm, own.thread);
        let is_due =
            |_: &Word, message: &mut Message| (message.comm, message.thread) == (comm, thread);
        Ok(self.messages.extract_if(.., is_due).collect())
    }

    /// Notes how a message ended.
    pub(super) fn end(&mut self, request: Word, status: Option<allhands::Status>) {
        self.ended.insert(request, status);
    }

    /// How a message ended whose request is over now.
    pub(super) fn forget(&mut self, request: Word) -> Option<allhands::Status> {
        self.ended.remove(&request).flatten()
    }
}
