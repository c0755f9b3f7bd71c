//! The saying of sentences to the user: each is one write, so that no launcher that gathers what ranks print cuts it in two.

use crate::abi::Handle;
use crate::native::functions::Native;
use std::ffi::c_int;
use std::fmt::Arguments;
use std::io::Write;
use std::time::Duration;

/// How long a launcher has to pass on what was said before it is asked to end all ranks, when it may drop the rest.
const PASSING_ON: Duration = Duration::from_millis(100);

/// Prints a line on standard error, after the library's name.
pub(crate) fn say(sentence: Arguments<'_>) {
    let line = format!("allhands: {sentence}\n");
    // There is nobody to tell that standard error is closed.
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// Says why, and ends the program by the native MPI.
pub(crate) fn abort(native: &Native, comm: Handle, code: c_int, why: Arguments<'_>) {
    say(why);
    std::thread::sleep(PASSING_ON);
    // SAFETY: a communicator of the native MPI, which has begun and not ended.
    unsafe { (native.abort)(comm, code) };
}
