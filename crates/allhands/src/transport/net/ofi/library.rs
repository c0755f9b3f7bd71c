//! The library: libfabric as the process finds it, loaded when it is first needed and never linked.

use super::abi::{Fabric, FabricAttr, Info, version};
use super::error::OfiError;
use libloading::os::unix;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

/// What is loaded: the name that every version has had.
const NAME: &str = "libfabric.so.1";
/// Which of its interfaces [`abi`](super::abi) declares.
#[cfg(target_env = "gnu")]
const INTERFACE: &CStr = c"FABRIC_1.3";
/// The oldest version that serves, which is also what providers are told that is asked of them.
pub(super) const OLDEST: u32 = version(1, 15);

pub(super) type GetInfo = unsafe extern "C" fn(
    u32,
    *const c_char,
    *const c_char,
    u64,
    *const Info,
    *mut *mut Info,
) -> c_int;
pub(super) type FreeInfo = unsafe extern "C" fn(*mut Info);
pub(super) type DupInfo = unsafe extern "C" fn(*const Info) -> *mut Info;
pub(super) type OpenFabric =
    unsafe extern "C" fn(*mut FabricAttr, *mut *mut Fabric, *mut c_void) -> c_int;
pub(super) type StrError = unsafe extern "C" fn(c_int) -> *const c_char;

/// The functions of the library; all others are in the tables of what these make.
#[derive(Clone, Copy, Debug)]
pub(super) struct Library {
    pub(super) getinfo: GetInfo,
    pub(super) freeinfo: FreeInfo,
    pub(super) dupinfo: DupInfo,
    pub(super) fabric: OpenFabric,
    pub(super) strerror: StrError,
}

impl Library {
    /// The process's libfabric, which stays loaded for good: that of this process already, if it has one.
    pub(super) fn load() -> Result<Library, OfiError> {
        static LOADED: OnceLock<Result<Library, OfiError>> = OnceLock::new();
        LOADED.get_or_init(|| Library::load_named(NAME)).clone()
    }

    /// The same of another name, for tests.
    pub(super) fn load_named(name: &str) -> Result<Library, OfiError> {
        let missing = |error: libloading::Error| {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            OfiError::Missing {
                reason: cause.unwrap_or_else(|| error.to_string()),
            }
        };
        // SAFETY: loading runs the library's initializers; it is what the user has installed as libfabric. It is never
        // unloaded, since providers start threads.
        let library = unsafe { unix::Library::new(name) }.map_err(missing)?;
        let handle = library.into_raw();
        let find = |function: &'static CStr, interface: bool| {
            let found = lookup(handle, function, interface);
            let name = function.to_string_lossy().into_owned();
            (!found.is_null())
                .then_some(found)
                .ok_or(OfiError::Lacks { function: name })
        };
        let version = find(c"fi_version", false)?;
        // SAFETY: in every version under this name the function has this type.
        let version =
            unsafe { std::mem::transmute::<*mut c_void, extern "C" fn() -> u32>(version) };
        let version = version();
        if version < OLDEST {
            return Err(OfiError::Old { version });
        }
        // SAFETY: in the interface of this version the functions have the types that are declared here, and the library is
        // never unloaded, so their addresses stay good.
        unsafe {
            Ok(Library {
                getinfo: std::mem::transmute::<*mut c_void, GetInfo>(find(c"fi_getinfo", true)?),
                freeinfo: std::mem::transmute::<*mut c_void, FreeInfo>(find(c"fi_freeinfo", true)?),
                dupinfo: std::mem::transmute::<*mut c_void, DupInfo>(find(c"fi_dupinfo", true)?),
                fabric: std::mem::transmute::<*mut c_void, OpenFabric>(find(c"fi_fabric", false)?),
                strerror: std::mem::transmute::<*mut c_void, StrError>(find(
                    c"fi_strerror",
                    false,
                )?),
            })
        }
    }

    /// What the library says of an error.
    pub(super) fn says(&self, error: c_int) -> String {
        // SAFETY: the function takes any number, and gives a text that lives for ever.
        let text = unsafe { (self.strerror)(error.saturating_abs()) };
        // SAFETY: as it says, or null, which is not looked at.
        let text = (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) });
        text.map_or_else(
            || format!("error {error}"),
            |text| text.to_string_lossy().into_owned(),
        )
    }

    /// Whether a call went well.
    pub(super) fn check(&self, what: &'static str, result: c_int) -> Result<(), OfiError> {
        match result {
            0 => Ok(()),
            error => Err(OfiError::Call {
                what,
                why: self.says(error),
            }),
        }
    }
}

/// Where a function is: of the interface that is declared here, or the only one that there ever was of it.
fn lookup(library: *mut c_void, function: &CStr, interface: bool) -> *mut c_void {
    // SAFETY: the handle is of a library that is loaded, and the names end with zeros.
    unsafe {
        #[cfg(target_env = "gnu")]
        if interface {
            return libc::dlvsym(library, function.as_ptr(), INTERFACE.as_ptr());
        }
        // Without versions of symbols the newest is found, which is the same up to 1.19.
        let _ = interface;
        libc::dlsym(library, function.as_ptr())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_not_there_is_named_with_what_to_install() {
        let error = Library::load_named("libfabric-that-nobody-has.so.1").unwrap_err();
        let said = error.to_string();
        assert!(said.contains("libfabric-that-nobody-has.so.1"), "{said}");
        assert!(said.contains("apt-get install libfabric1"), "{said}");
        let error = Library::load_named("libc.so.6").unwrap_err().to_string();
        assert_eq!(
            error,
            "what is loaded as libfabric.so.1 has no function fi_version; right would be libfabric 1.15 or later"
        );
    }
}
