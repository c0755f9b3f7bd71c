//! The library: the MPI that is measured, loaded without a compiler, and the few of its functions that are called.
//!
//! Handles and constants differ from one ABI to the next, so they are found when it is known whose library it is: MPICH's (and Intel's)
//! handles are numbers, Open MPI's are addresses of objects that it exports. Both go through a register as an address does.

use super::super::kind::Kind;
use super::super::record::Family;
use anyhow::{Context, bail, ensure};
use std::ffi::{CStr, CString, c_char, c_int, c_void};

/// A handle as it is passed in a register.
pub type Handle = usize;

type Address = *const c_void;
type InPlace = *mut c_void;

/// The names under which the dynamic linker is asked for an MPI, where no file is named.
const NAMES: [&str; 4] = [
    "libmpi.so.40",
    "libmpi.so.12",
    "libmpich.so.12",
    "libmpi.so",
];

/// A shared object that is open, and stays so.
#[derive(Clone, Copy)]
pub struct Object {
    handle: *mut c_void,
}

impl Object {
    /// Loads the MPI of this file, or, if there is none here, one that the linker finds.
    fn load(file: Option<&str>) -> anyhow::Result<Object> {
        let mut tried = Vec::new();
        for name in file.into_iter().chain(NAMES) {
            let path = CString::new(name)?;
            // In the scope of all, as the MPI of a program that is linked with it is.
            let flags = libc::RTLD_NOW | libc::RTLD_GLOBAL;
            // SAFETY: a text that ends with a zero; what the library runs while it is loaded is that library's concern.
            let handle = unsafe { libc::dlopen(path.as_ptr(), flags) };
            if !handle.is_null() {
                return Ok(Object { handle });
            }
            tried.push(reason());
        }
        bail!(
            "no MPI can be loaded here: {}\n    right: --library with the file of the MPI's library, such as lib/libmpi.so.12",
            tried.join("; ")
        )
    }

    /// The address of a name.
    fn find(self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: the object is open, and the name ends with a zero; nothing is called.
        let address = unsafe { libc::dlsym(self.handle, name.as_ptr()) };
        (!address.is_null()).then_some(address)
    }

    /// The function of a name.
    ///
    /// # Safety
    /// `F` is a pointer to a function with the types that MPI gives the function of this name, handles as [`Handle`].
    pub unsafe fn function<F: Copy>(self, name: &CStr) -> anyhow::Result<F> {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        let address = self
            .find(name)
            .with_context(|| format!("this MPI has no {}", name.to_string_lossy()))?;
        // SAFETY: both are addresses of one size; the caller says that it is this function's type.
        Ok(unsafe { std::mem::transmute_copy(&address) })
    }
}

/// What the dynamic linker says of its last failure.
fn reason() -> String {
    // SAFETY: gives a text, or null where nothing failed.
    let text: *const c_char = unsafe { libc::dlerror() };
    if text.is_null() {
        return "nothing is said of the failure".into();
    }
    // SAFETY: the text ends with a zero, and stays until the linker is called again.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_string_lossy().into_owned()
}

type Init = unsafe extern "C" fn(*mut c_int, *mut *mut *mut c_char) -> c_int;
type Plain = unsafe extern "C" fn() -> c_int;
type Version = unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int;
type AbiVersion = unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;
type Number = unsafe extern "C" fn(Handle, *mut c_int) -> c_int;
type Duplicate = unsafe extern "C" fn(Handle, *mut Handle) -> c_int;
type Send = unsafe extern "C" fn(Address, c_int, Handle, c_int, c_int, Handle) -> c_int;
type Receive =
    unsafe extern "C" fn(InPlace, c_int, Handle, c_int, c_int, Handle, *mut Status) -> c_int;
type Barrier = unsafe extern "C" fn(Handle) -> c_int;
type Bcast = unsafe extern "C" fn(InPlace, c_int, Handle, c_int, Handle) -> c_int;
type Rooted =
    unsafe extern "C" fn(Address, c_int, Handle, InPlace, c_int, Handle, c_int, Handle) -> c_int;
type Unrooted =
    unsafe extern "C" fn(Address, c_int, Handle, InPlace, c_int, Handle, Handle) -> c_int;
type Scattering =
    unsafe extern "C" fn(Address, InPlace, *const c_int, Handle, Handle, Handle) -> c_int;
type Reduce = unsafe extern "C" fn(Address, InPlace, c_int, Handle, Handle, c_int, Handle) -> c_int;
type Reducing = unsafe extern "C" fn(Address, InPlace, c_int, Handle, Handle, Handle) -> c_int;

/// Room for a status of any ABI: none has more than 40 bytes.
#[repr(C, align(16))]
struct Status([u8; 64]);

struct Functions {
    end: Plain,
    send: Send,
    receive: Receive,
    duplicate: Duplicate,
    barrier: Barrier,
    bcast: Bcast,
    scatter: Rooted,
    gather: Rooted,
    allgather: Unrooted,
    alltoall: Unrooted,
    reduce_scatter: Scattering,
    reduce_scatter_block: Reducing,
    reduce: Reduce,
    allreduce: Reducing,
    scan: Reducing,
    exscan: Reducing,
}

impl Functions {
    fn of(object: Object) -> anyhow::Result<Functions> {
        // SAFETY: the types are those of MPI 5.0 for the functions of these names.
        unsafe {
            Ok(Functions {
                end: object.function(c"MPI_Finalize")?,
                send: object.function(c"MPI_Send")?,
                receive: object.function(c"MPI_Recv")?,
                duplicate: object.function(c"MPI_Comm_dup")?,
                barrier: object.function(c"MPI_Barrier")?,
                bcast: object.function(c"MPI_Bcast")?,
                scatter: object.function(c"MPI_Scatter")?,
                gather: object.function(c"MPI_Gather")?,
                allgather: object.function(c"MPI_Allgather")?,
                alltoall: object.function(c"MPI_Alltoall")?,
                reduce_scatter: object.function(c"MPI_Reduce_scatter")?,
                reduce_scatter_block: object.function(c"MPI_Reduce_scatter_block")?,
                reduce: object.function(c"MPI_Reduce")?,
                allreduce: object.function(c"MPI_Allreduce")?,
                scan: object.function(c"MPI_Scan")?,
                exscan: object.function(c"MPI_Exscan")?,
            })
        }
    }
}

/// What the buffers of a call hold: elements are numbers of 8 bytes.
pub struct Buffers {
    pub input: Vec<f64>,
    pub output: Vec<f64>,
    /// Elements of a block, or of the whole vector.
    pub elements: usize,
    /// The same for every rank, for the reduce-scatter that asks for it.
    pub counts: Vec<c_int>,
}

/// An MPI that was started.
pub struct Library {
    pub object: Object,
    pub family: Family,
    /// What it calls itself, in short.
    pub version: String,
    pub rank: usize,
    pub ranks: usize,
    pub world: Handle,
    functions: Functions,
    /// The type of a byte.
    pub byte: Handle,
    double: Handle,
    sum: Handle,
}

impl Library {
    /// Loads the MPI of this file, or one that the linker finds, and starts it.
    pub fn start(file: Option<&str>) -> anyhow::Result<Library> {
        let object = Object::load(file)?;
        let version = version(object)?;
        let family = family(object, &version)?;
        let symbol = |name: &CStr| {
            let found = object.find(name).map(|address| address as Handle);
            found.with_context(|| format!("this Open MPI has no {}", name.to_string_lossy()))
        };
        let [world, byte, double, sum] = match family {
            Family::OpenMpi => [
                symbol(c"ompi_mpi_comm_world")?,
                symbol(c"ompi_mpi_byte")?,
                symbol(c"ompi_mpi_double")?,
                symbol(c"ompi_mpi_op_sum")?,
            ],
            Family::Mpich | Family::Intel => [0x4400_0000, 0x4c00_010d, 0x4c00_080b, 0x5800_0003],
        };
        // SAFETY: the types are those of MPI 5.0 for the functions of these names.
        let (init, rank_of, size_of): (Init, Number, Number) = unsafe {
            (
                object.function(c"MPI_Init")?,
                object.function(c"MPI_Comm_rank")?,
                object.function(c"MPI_Comm_size")?,
            )
        };
        let (mut rank, mut ranks) = (0, 0);
        // SAFETY: it is called once, before all else; null stands for arguments that are not handed on.
        succeeded("MPI_Init", unsafe {
            init(std::ptr::null_mut(), std::ptr::null_mut())
        })?;
        // SAFETY: the MPI was started; there is a number to write to.
        succeeded("MPI_Comm_rank", unsafe { rank_of(world, &raw mut rank) })?;
        // SAFETY: as above.
        succeeded("MPI_Comm_size", unsafe { size_of(world, &raw mut ranks) })?;
        Ok(Library {
            object,
            family,
            version: short(&version),
            rank: rank as usize,
            ranks: ranks as usize,
            world,
            functions: Functions::of(object)?,
            byte,
            double,
            sum,
        })
    }

    /// Ends the MPI.
    pub fn end(self) -> anyhow::Result<()> {
        // SAFETY: it was started, and nobody can call it any more.
        succeeded("MPI_Finalize", unsafe { (self.functions.end)() })
    }

    /// A communicator of all ranks, in which nothing that was sent elsewhere arrives.
    pub fn duplicate(&self) -> anyhow::Result<Handle> {
        let mut handle: Handle = 0;
        // SAFETY: the MPI was started; a handle is an address or a shorter number, and this machine puts that into the low bytes.
        succeeded("MPI_Comm_dup", unsafe {
            (self.functions.duplicate)(self.world, &raw mut handle)
        })?;
        Ok(handle)
    }

    /// Sends numbers to a rank.
    pub fn send(&self, comm: Handle, to: usize, numbers: &[i64]) -> anyhow::Result<()> {
        let bytes = size_of_val(numbers) as c_int;
        // SAFETY: the MPI was started; so many bytes can be read there.
        succeeded("MPI_Send", unsafe {
            (self.functions.send)(
                numbers.as_ptr().cast(),
                bytes,
                self.byte,
                to as c_int,
                0,
                comm,
            )
        })
    }

    /// Receives numbers from a rank.
    pub fn receive(&self, comm: Handle, from: usize, numbers: &mut [i64]) -> anyhow::Result<()> {
        let bytes = size_of_val(numbers) as c_int;
        let mut status = Status([0; 64]);
        // SAFETY: the MPI was started; so many bytes can be written there, and a status of any ABI fits.
        succeeded("MPI_Recv", unsafe {
            (self.functions.receive)(
                numbers.as_mut_ptr().cast(),
                bytes,
                self.byte,
                from as c_int,
                0,
                comm,
                &raw mut status,
            )
        })
    }

    /// The call that is measured; the root is rank 0.
    pub fn call(&self, kind: Kind, comm: Handle, buffers: &mut Buffers) -> anyhow::Result<()> {
        let (f, n, double, sum) = (
            &self.functions,
            buffers.elements as c_int,
            self.double,
            self.sum,
        );
        let (input, output): (Address, InPlace) = (
            buffers.input.as_ptr().cast(),
            buffers.output.as_mut_ptr().cast(),
        );
        // SAFETY: the MPI was started, and the handles are its own; whoever has made the buffers gave them the elements, and the counts
        // a number for each rank, that this collective reads and writes.
        let status = unsafe {
            match kind {
                Kind::Barrier => (f.barrier)(comm),
                Kind::Bcast => (f.bcast)(output, n, double, 0, comm),
                Kind::Scatter => (f.scatter)(input, n, double, output, n, double, 0, comm),
                Kind::Gather => (f.gather)(input, n, double, output, n, double, 0, comm),
                Kind::Allgather => (f.allgather)(input, n, double, output, n, double, comm),
                Kind::Alltoall => (f.alltoall)(input, n, double, output, n, double, comm),
                Kind::ReduceScatter => {
                    (f.reduce_scatter)(input, output, buffers.counts.as_ptr(), double, sum, comm)
                }
                Kind::ReduceScatterBlock => {
                    (f.reduce_scatter_block)(input, output, n, double, sum, comm)
                }
                Kind::Reduce => (f.reduce)(input, output, n, double, sum, 0, comm),
                Kind::Allreduce => (f.allreduce)(input, output, n, double, sum, comm),
                Kind::Scan => (f.scan)(input, output, n, double, sum, comm),
                Kind::Exscan => (f.exscan)(input, output, n, double, sum, comm),
            }
        };
        succeeded(kind.name(), status)
    }
}

/// What an MPI says that it is; it may be asked before it is started.
fn version(object: Object) -> anyhow::Result<String> {
    // The longest text that an MPI of any ABI gives has 8192 bytes.
    let (mut text, mut length) = (vec![0_u8; 16 << 10], 0);
    // SAFETY: the type is that of MPI 5.0 for the function of this name.
    let ask: Version = unsafe { object.function(c"MPI_Get_library_version")? };
    // SAFETY: there is room for the longest text, and a number to write to.
    succeeded("MPI_Get_library_version", unsafe {
        ask(text.as_mut_ptr().cast(), &raw mut length)
    })?;
    let end = text.iter().position(|byte| *byte == 0).unwrap_or(0);
    Ok(String::from_utf8_lossy(&text[..end]).into_owned())
}

/// What an MPI is called, of all that its version says: the first line up to a comma, without the words of a label.
fn short(version: &str) -> String {
    let line = version.lines().next().unwrap_or_default();
    let name = line.split(',').next().unwrap_or_default();
    let words = name.replace("Version:", " ");
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whose library it is.
fn family(object: Object, version: &str) -> anyhow::Result<Family> {
    if object.find(c"ompi_mpi_comm_world").is_some() {
        return Ok(Family::OpenMpi);
    }
    // SAFETY: the type is that of MPI 5.0 for the function of this name.
    let ask = unsafe { object.function::<AbiVersion>(c"MPI_Abi_get_version") };
    if let Ok(ask) = ask {
        let (mut major, mut minor) = (-1, -1);
        // SAFETY: there are two numbers to write to; it may be called at any time.
        unsafe { ask(&raw mut major, &raw mut minor) };
        ensure!(
            major < 1,
            "this library has the standard ABI of MPI 5: name the MPI's own with --library, such as lib/libmpi.so.12"
        );
    }
    if version.contains("Intel(R) MPI") {
        return Ok(Family::Intel);
    }
    let is_mpich = ["MPICH", "MVAPICH"]
        .iter()
        .any(|name| version.contains(name));
    ensure!(
        is_mpich,
        "this is none of MPICH, Open MPI and Intel MPI: {}",
        version.lines().next().unwrap_or_default()
    );
    Ok(Family::Mpich)
}

/// Turns MPI's status into an error; most MPIs end the program themselves.
pub fn succeeded(what: &str, status: c_int) -> anyhow::Result<()> {
    ensure!(status == 0, "{what} failed with error code {status}");
    Ok(())
}
