//! Where ranks find one another: the environment of a launcher, or a store of keys and values that Python has.

use crate::communicator::{Communicator, Shared};
use crate::errors::{self, Failure};
use allhands::bootstrap::Bootstrap;
use allhands::launch::{Exchange, LaunchError, Launcher, Place, Roll, Segment};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::os::fd::AsRawFd;
use std::sync::{Arc, Mutex, PoisonError};

/// The communicator of all ranks that a launcher has started with this process; of this process alone, if there was none. The same one each time.
#[pyfunction]
pub(crate) fn world(py: Python<'_>) -> PyResult<Communicator> {
    py.detach(the_world)
        .map(Communicator::of)
        .map_err(|says| errors::launch(py, says))
}

/// Takes a communicator for the world of this process, which had none yet.
#[pyfunction]
pub(crate) fn set_world(comm: &Communicator) {
    *the_only().lock().unwrap_or_else(PoisonError::into_inner) = Some(comm.shared());
}

fn the_only() -> &'static Mutex<Option<Arc<Shared>>> {
    static WORLD: Mutex<Option<Arc<Shared>>> = Mutex::new(None);
    &WORLD
}

/// As [`world`], or why there is none.
pub(crate) fn the_world() -> Result<Arc<Shared>, String> {
    let mut world = the_only().lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(world) = &*world {
        return Ok(Arc::clone(world));
    }
    let comm = allhands::Communicator::world().map_err(|error| error.to_string())?;
    Ok(Arc::clone(world.insert(Shared::new(comm))))
}

/// The communicator of `size` ranks that have a store in common: `store.set(key, value)` tells all of them a value, and `store.get(key)` waits for
/// it and gives it, as text or bytes. Keys begin with `prefix`, which is another one for each communicator.
#[pyfunction]
#[pyo3(signature = (store, rank, size, prefix="allhands", *, progress_thread=false))]
pub(crate) fn meet(
    py: Python<'_>,
    store: Py<PyAny>,
    rank: u32,
    size: u32,
    prefix: &str,
    progress_thread: bool,
) -> PyResult<Communicator> {
    if size == 0 || rank >= size {
        return Err(PyValueError::new_err(format!(
            "rank {rank} of {size}: right would be a rank from 0 to the size less 1"
        )));
    }
    let mut store = Store {
        store,
        prefix: prefix.to_string(),
        place: (rank, size),
        fences: 0,
    };
    let made = py.detach(|| {
        let comm = allhands::Communicator::meet(&mut store)?;
        with_progress(comm, progress_thread)
    });
    made.map(Communicator::new)
        .map_err(|failure| errors::raise(py, failure))
}

/// A segment for so many ranks of this host that are yet to be started; gives its descriptor, which stays open.
#[pyfunction]
pub(crate) fn segment(py: Python<'_>, size: u32) -> PyResult<i32> {
    let begun = py.detach(|| {
        let segment = Segment::create()?;
        Roll::begin(segment, size)?;
        Ok::<_, allhands::Error>(segment.fd().as_raw_fd())
    });
    begun.map_err(|error| errors::raise(py, Failure::Library(error)))
}

/// The communicator of the ranks of a segment, of which this process has inherited the descriptor.
#[pyfunction]
pub(crate) fn join(
    py: Python<'_>,
    descriptor: i32,
    rank: u32,
    size: u32,
) -> PyResult<Communicator> {
    let made = py.detach(|| {
        let place = Place {
            rank,
            ranks: size,
            segment: Segment::inherited(descriptor)?,
            launcher: Launcher::Library,
            nodes: None,
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
        };
        let comm = allhands::Communicator::join(&place)?;
        comm.agree()?;
        Ok::<_, allhands::Error>(comm)
    });
    let made = made.map_err(|error| errors::raise(py, Failure::Library(error)));
    made.map(Communicator::new)
}

fn with_progress(
    comm: allhands::Communicator,
    progress_thread: bool,
) -> Result<allhands::Communicator, Failure> {
    match progress_thread {
        true => Ok(comm.with_progress_thread()?),
        false => Ok(comm),
    }
}

/// Python's store as an exchange.
struct Store {
    store: Py<PyAny>,
    prefix: String,
    place: (u32, u32),
    fences: u32,
}

impl Store {
    fn set(&self, key: &str, value: &str) -> Result<(), LaunchError> {
        let key = format!("{}/{key}", self.prefix);
        let set = Python::attach(|py| self.store.call_method1(py, "set", (key, value)).map(drop));
        set.map_err(|error| wrong(&error))
    }

    fn wait(&self, key: &str) -> Result<String, LaunchError> {
        let key = format!("{}/{key}", self.prefix);
        let value = Python::attach(|py| {
            let value = self.store.call_method1(py, "get", (key,))?.into_bound(py);
            match value.extract::<String>() {
                Ok(text) => Ok(text),
                Err(_) => Ok(String::from_utf8_lossy(&value.extract::<Vec<u8>>()?).into_owned()),
            }
        });
        value.map_err(|error: PyErr| wrong(&error))
    }
}

fn wrong(error: &PyErr) -> LaunchError {
    LaunchError::WireUp {
        says: format!("the store by which the ranks find one another failed: {error}"),
    }
}

impl Exchange for Store {
    fn rank_and_ranks(&self) -> (u32, u32) {
        self.place
    }

    fn put(&mut self, key: &str, value: &str) -> Result<(), LaunchError> {
        self.set(key, value)
    }

    fn fence(&mut self) -> Result<(), LaunchError> {
        let number = self.fences;
        self.fences += 1;
        let (rank, size) = self.place;
        self.set(&format!("fence-{number}-{rank}"), "here")?;
        (0..size).try_for_each(|other| self.wait(&format!("fence-{number}-{other}")).map(drop))
    }

    fn get(&mut self, _from: u32, key: &str) -> Result<String, LaunchError> {
        self.wait(key)
    }
}
