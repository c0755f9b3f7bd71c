//! An MPI as the library under test: what `c/shim.c`, compiled with that MPI's headers, calls.

use super::library::Library;
use super::place::now_ns;
use super::replay::Replayed;
use super::work::{Collective, Work};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;

/// How often the call that passes through is timed, and calls of each time.
const PASSING_TURNS: usize = 5;
const PASSING_CALLS: u32 = 1_000_000;

type Start = unsafe extern "C" fn(rank: *mut c_int, ranks: *mut c_int) -> c_int;
type End = unsafe extern "C" fn() -> c_int;
type Call = unsafe extern "C" fn(
    collective: c_int,
    elements: c_int,
    counts: *const c_int,
    input: *const u64,
    output: *mut u64,
) -> c_int;
type Move = unsafe extern "C" fn(
    kind: c_int,
    sent: *const c_int,
    sent_at: *const c_int,
    got: *const c_int,
    got_at: *const c_int,
    input: *const u8,
    output: *mut u8,
) -> c_int;
type Pass = unsafe extern "C" fn() -> c_int;
type Poke = unsafe extern "C" fn() -> c_int;

/// An MPI that was started.
pub struct Mpi {
    rank: usize,
    ranks: usize,
    call: Call,
    moves: Move,
    pass: Pass,
    poke: Poke,
    end: End,
}

/// Why an MPI does not do what it is asked for.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The shim cannot be loaded, or is another.
    #[error("the MPI's shim: {0}")]
    Shim(String),
    /// A function of the MPI gave an error.
    #[error("an MPI call failed with error code {0}")]
    Call(c_int),
}

impl Mpi {
    /// Loads an MPI with its shim, and starts it.
    pub fn start(shim: &str) -> Result<Mpi, Failure> {
        let path = CString::new(shim).map_err(|error| Failure::Shim(error.to_string()))?;
        // In the scope of all, as the MPI of a program that is linked with it is: a preloaded library then comes before it.
        let flags = libc::RTLD_NOW | libc::RTLD_GLOBAL;
        // SAFETY: a path that ends with a zero; what runs while the shim's MPI is loaded is that MPI's concern.
        let handle = unsafe { libc::dlopen(path.as_ptr(), flags) };
        if handle.is_null() {
            return Err(Failure::Shim(reason()));
        }
        // SAFETY: the types are those that c/shim.c gives the functions of these names.
        let (start, mpi) = unsafe {
            let start: Start = std::mem::transmute(symbol(handle, c"compare_start")?);
            let mpi = Mpi {
                rank: 0,
                ranks: 0,
                call: std::mem::transmute::<*mut c_void, Call>(symbol(handle, c"compare_call")?),
                moves: std::mem::transmute::<*mut c_void, Move>(symbol(handle, c"compare_move")?),
                pass: std::mem::transmute::<*mut c_void, Pass>(symbol(handle, c"compare_pass")?),
                poke: std::mem::transmute::<*mut c_void, Poke>(symbol(handle, c"compare_poke")?),
                end: std::mem::transmute::<*mut c_void, End>(symbol(handle, c"compare_end")?),
            };
            (start, mpi)
        };
        let (mut rank, mut ranks) = (0, 0);
        // SAFETY: two numbers to write to; it is called once, before all else.
        succeeded(unsafe { start(&raw mut rank, &raw mut ranks) })?;
        Ok(Mpi {
            rank: rank as usize,
            ranks: ranks as usize,
            ..mpi
        })
    }

    /// Ends the MPI.
    pub fn end(self) -> Result<(), Failure> {
        // SAFETY: it was started, and is gone afterwards.
        succeeded(unsafe { (self.end)() })
    }

    /// Prints, on rank 0, what a call takes that the drop-in leaves to the MPI.
    pub fn time_passing(&self) -> Result<(), Failure> {
        let mut least_ns = u64::MAX;
        for _ in 0..PASSING_TURNS {
            let begin_ns = now_ns();
            for _ in 0..PASSING_CALLS {
                // SAFETY: the MPI was started; the shim has all that the call needs.
                succeeded(unsafe { (self.pass)() })?;
            }
            least_ns = least_ns.min(now_ns() - begin_ns);
        }
        if self.rank == 0 {
            println!("{:.2}", least_ns as f64 / f64::from(PASSING_CALLS));
        }
        Ok(())
    }
}

impl Library for Mpi {
    type Error = Failure;

    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn call(&self, work: &mut Work) -> Result<(), Failure> {
        let (mut elements, mut counts) = (work.elements as c_int, ptr::null());
        if work.collective == Collective::ReduceScatter {
            if work.elements.is_multiple_of(work.ranks) {
                elements = work.int_counts[0];
            } else {
                counts = work.int_counts.as_ptr();
            }
        }
        let (input, output) = (work.input.as_ptr(), work.output.as_mut_ptr());
        let collective = work.collective as c_int;
        // SAFETY: the MPI was started; `Work::prepare` gives the buffers the lengths, and the counts a length for each rank, that
        // this collective reads and writes.
        succeeded(unsafe { (self.call)(collective, elements, counts, input, output) })
    }

    fn again(&self, replayed: &mut Replayed) -> Result<(), Failure> {
        let [sent, sent_at, got, got_at] = replayed.int_counts().map(<[c_int]>::as_ptr);
        let kind = replayed.kind() as c_int;
        let (input, output) = replayed.buffers();
        let (input, output) = (input.as_ptr(), output.as_mut_ptr());
        // SAFETY: the MPI was started; `Replayed::new` gives each array a number for each rank, and the buffers the bytes that these
        // come to.
        succeeded(unsafe { (self.moves)(kind, sent, sent_at, got, got_at, input, output) })
    }

    fn poke(&self) -> Result<(), Failure> {
        // SAFETY: the MPI was started; the shim has all that the call needs.
        succeeded(unsafe { (self.poke)() })
    }
}

fn succeeded(status: c_int) -> Result<(), Failure> {
    match status {
        0 => Ok(()),
        code => Err(Failure::Call(code)),
    }
}

/// The address of a function of the shim.
fn symbol(handle: *mut c_void, name: &CStr) -> Result<*mut c_void, Failure> {
    // SAFETY: the handle is open, and stays so; the name ends with a zero.
    let address = unsafe { libc::dlsym(handle, name.as_ptr()) };
    if address.is_null() {
        return Err(Failure::Shim(reason()));
    }
    Ok(address)
}

/// What the dynamic linker says of its last failure.
fn reason() -> String {
    // SAFETY: gives a text, or null where nothing failed.
    let text: *const c_char = unsafe { libc::dlerror() };
    if text.is_null() {
        return "nothing is said of the failure".into();
    }
    // SAFETY: the text ends with a zero, and stays until the linker is called again.
    unsafe { CStr::from_ptr(text) }
        .to_string_lossy()
        .into_owned()
}
