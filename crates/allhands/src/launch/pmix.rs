//! PMIx: the library by which Open MPI's process managers talk to the processes they start, loaded when it is needed.
//!
//! The declarations below are those of the PMIx standard, version 4, whose binary interface versions 4 to 6 of the
//! library keep. Only what the exchange needs is declared.

use super::exchange::Exchange;
use super::{Environment, LaunchError, number};
use std::ffi::{CStr, CString, c_char, c_int};

const SUCCESS: c_int = 0;
const TYPE_BOOL: u16 = 1;
const TYPE_STRING: u16 = 3;
const TYPE_UINT32: u16 = 14;
const SCOPE_GLOBAL: u8 = 3;
const RANK_WILDCARD: u32 = u32::MAX - 1;

/// `pmix_proc_t`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Proc {
    namespace: [c_char; 256],
    rank: u32,
}

/// `pmix_value_t`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Value {
    kind: u16,
    data: Data,
}

#[repr(C)]
#[derive(Clone, Copy)]
union Data {
    flag: bool,
    number: u32,
    string: *const c_char,
    size: [u64; 3],
}

/// `pmix_info_t`.
#[repr(C)]
struct Info {
    key: [c_char; 512],
    flags: u32,
    value: Value,
}

const _: () = assert!(size_of::<Proc>() == 260);
const _: () = assert!(size_of::<Value>() == 32 || cfg!(not(target_pointer_width = "64")));
const _: () = assert!(size_of::<Info>() == 552 || cfg!(not(target_pointer_width = "64")));

type Init = unsafe extern "C" fn(*mut Proc, *const Info, usize) -> c_int;
type Put = unsafe extern "C" fn(u8, *const c_char, *const Value) -> c_int;
type Commit = unsafe extern "C" fn() -> c_int;
type Fence = unsafe extern "C" fn(*const Proc, usize, *const Info, usize) -> c_int;
type Get =
    unsafe extern "C" fn(*const Proc, *const c_char, *const Info, usize, *mut *mut Value) -> c_int;
type Finalize = unsafe extern "C" fn(*const Info, usize) -> c_int;
type ErrorString = unsafe extern "C" fn(c_int) -> *const c_char;

/// The functions of the library, which stays loaded for good.
struct Library {
    init: Init,
    put: Put,
    commit: Commit,
    fence: Fence,
    get: Get,
    finalize: Finalize,
    error_string: ErrorString,
}

impl Library {
    fn load() -> Result<Library, libloading::Error> {
        // SAFETY: loading runs the library's initializers; it is the system's own client of the manager that started
        // this process. It is never unloaded, since it starts threads.
        let library = unsafe { libloading::os::unix::Library::new("libpmix.so.2") }?;
        let library = std::mem::ManuallyDrop::new(library);
        // SAFETY: in every version under this soname the functions have the types declared above, and the library is
        // never unloaded, so the addresses stay good.
        unsafe {
            Ok(Library {
                init: *library.get(b"PMIx_Init\0")?,
                put: *library.get(b"PMIx_Put\0")?,
                commit: *library.get(b"PMIx_Commit\0")?,
                fence: *library.get(b"PMIx_Fence\0")?,
                get: *library.get(b"PMIx_Get\0")?,
                finalize: *library.get(b"PMIx_Finalize\0")?,
                error_string: *library.get(b"PMIx_Error_string\0")?,
            })
        }
    }

    fn check(&self, request: &str, status: c_int) -> Result<(), LaunchError> {
        if status == SUCCESS {
            return Ok(());
        }
        // SAFETY: the function takes any number and gives a text that lives for ever.
        let text = unsafe { (self.error_string)(status) };
        let text = if text.is_null() {
            String::new()
        } else {
            // SAFETY: it is not null, so it is a text with a zero at its end.
            unsafe { CStr::from_ptr(text) }
                .to_string_lossy()
                .into_owned()
        };
        Err(LaunchError::Manager {
            protocol: "PMIx",
            request: request.into(),
            answer: format!("{text} ({status})"),
        })
    }
}

/// A connection to the process manager.
pub(super) struct Client {
    library: Library,
    me: Proc,
    ranks: u32,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Client {{ rank: {}, ranks: {} }}",
            self.me.rank, self.ranks
        )
    }
}

impl Client {
    /// Connects if the environment names a manager.
    pub(super) fn connect(environment: Environment<'_>) -> Result<Option<Client>, LaunchError> {
        if environment("PMIX_NAMESPACE").is_none() || environment("PMIX_RANK").is_none() {
            return Ok(None);
        }
        let library = Library::load().map_err(|error| {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            let reason = cause.unwrap_or_else(|| error.to_string());
            LaunchError::NoPmix { reason }
        })?;
        let mut me = Proc {
            namespace: [0; 256],
            rank: 0,
        };
        // SAFETY: the library fills in the one process that is handed in; there are no directives.
        let status = unsafe { (library.init)(&mut me, std::ptr::null(), 0) };
        library.check("initialize", status)?;
        let mut client = Client {
            library,
            me,
            ranks: 0,
        };
        // Open MPI says it in the environment; others only when they are asked.
        client.ranks = if environment("OMPI_COMM_WORLD_SIZE").is_some() {
            number(environment, "OMPI_COMM_WORLD_SIZE", u32::MAX)?
        } else {
            client.job_size()?
        };
        let (rank, ranks) = client.rank_and_ranks();
        if rank >= ranks {
            return Err(LaunchError::NoSuchRank { rank, ranks });
        }
        Ok(Some(client))
    }

    fn job_size(&self) -> Result<u32, LaunchError> {
        let request = "tell the number of ranks";
        let value = self.value(RANK_WILDCARD, c"pmix.job.size", request)?;
        if value.kind != TYPE_UINT32 {
            let answer = format!("it gives a value of type {}", value.kind);
            let request = request.into();
            return Err(LaunchError::Manager {
                protocol: "PMIx",
                request,
                answer,
            });
        }
        // SAFETY: the type says that it is this number.
        Ok(unsafe { value.data.number })
    }

    /// A value; what it points to is never freed, as it is one short text for each that is asked for.
    fn value(&self, rank: u32, key: &CStr, request: &str) -> Result<Value, LaunchError> {
        let from = Proc { rank, ..self.me };
        let mut value: *mut Value = std::ptr::null_mut();
        // SAFETY: process and key live through the call; the library writes the address of a value of its own making.
        let status =
            unsafe { (self.library.get)(&from, key.as_ptr(), std::ptr::null(), 0, &mut value) };
        self.library.check(request, status)?;
        // SAFETY: after success it is the address of a value, unless it is null; nobody frees it.
        let value = unsafe { value.as_ref() };
        value.copied().ok_or_else(|| LaunchError::Manager {
            protocol: "PMIx",
            request: request.into(),
            answer: "it gives nothing".into(),
        })
    }
}

/// A text for the library; ours hold no zeros.
fn text(text: &str) -> CString {
    CString::new(text.replace('\0', "_")).unwrap_or_default()
}

impl Exchange for Client {
    fn rank_and_ranks(&self) -> (u32, u32) {
        (self.me.rank, self.ranks)
    }

    fn put(&mut self, key: &str, value: &str) -> Result<(), LaunchError> {
        let (key, value) = (text(key), text(value));
        let string = Value {
            kind: TYPE_STRING,
            data: Data {
                string: value.as_ptr(),
            },
        };
        let request = "put a value";
        // SAFETY: key and value live through the call, which copies them.
        let status = unsafe { (self.library.put)(SCOPE_GLOBAL, key.as_ptr(), &string) };
        self.library.check(request, status)?;
        // SAFETY: the library was initialized.
        self.library
            .check(request, unsafe { (self.library.commit)() })
    }

    fn fence(&mut self) -> Result<(), LaunchError> {
        let mut collect = Info {
            key: [0; 512],
            flags: 0,
            value: Value {
                kind: TYPE_BOOL,
                data: Data { size: [0; 3] },
            },
        };
        for (to, from) in collect.key.iter_mut().zip(b"pmix.collect") {
            *to = *from as c_char;
        }
        collect.value.data.flag = true;
        // SAFETY: the directive lives through the call; no processes means all of this namespace.
        let status = unsafe { (self.library.fence)(std::ptr::null(), 0, &collect, 1) };
        self.library.check("wait for all ranks", status)
    }

    fn get(&mut self, from: u32, key: &str) -> Result<String, LaunchError> {
        let request = format!("get {key} of rank {from}");
        let value = self.value(from, &text(key), &request)?;
        let wrong = |answer: &str| LaunchError::Manager {
            protocol: "PMIx",
            request: request.clone(),
            answer: answer.into(),
        };
        if value.kind != TYPE_STRING {
            return Err(wrong("it gives something else than a text"));
        }
        // SAFETY: the type says that it is the address of a text.
        let string = unsafe { value.data.string };
        if string.is_null() {
            return Err(wrong("it gives no text"));
        }
        // SAFETY: a text with a zero at its end, which nobody frees.
        Ok(unsafe { CStr::from_ptr(string.cast::<c_char>()) }
            .to_string_lossy()
            .into_owned())
    }

    fn finalize(&mut self) {
        // SAFETY: the library was initialized, and is finalized once, as the session is taken out before.
        let _ = unsafe { (self.library.finalize)(std::ptr::null(), 0) };
    }
}
