//! Progress: what takes a communicator's calls further, the rank's own thread alone or one in the background as well.
//!
//! The rank's own thread takes no lock unless there is another one. The one in the background looks at the calls that are under
//! way, for a moment again and again and then now and then, so that it leaves the core to whoever computes.

use super::inner::Inner;
use std::any::Any;
use std::cell::{RefCell, RefMut};
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Looks of the thread in the background between which it only gives way, from the start of a call on.
const LOOKS: u32 = 100;

/// How long it sleeps between later ones.
const NAP: Duration = Duration::from_micros(50);

/// The inside of a communicator, and who may reach it.
#[expect(
    clippy::large_enum_variant,
    reason = "a communicator has one of these, and every call looks inside"
)]
pub(super) enum Progress {
    /// The rank's own thread.
    Alone(RefCell<Inner>),
    /// That, and one in the background.
    Shared(Background),
}

/// A thread that takes calls further; ends when it is dropped.
pub(super) struct Background {
    state: Arc<StateLock>,
    thread: Option<JoinHandle<()>>,
}

/// What the two threads share.
struct StateLock {
    watch: Mutex<Watch>,
    /// Notified when there is something to do.
    called: Condvar,
}

pub(super) struct Watch {
    inner: Inner,
    ends: bool,
    /// What an operator threw in the background.
    panic: Option<Box<dyn Any + Send>>,
}

/// The inside of a communicator, for as long as this lives.
pub(super) enum Taken<'a> {
    Alone(RefMut<'a, Inner>),
    /// With how many calls were under way before.
    Shared(MutexGuard<'a, Watch>, &'a Condvar, usize),
}

impl Progress {
    pub(super) fn new(inner: Inner) -> Progress {
        Progress::Alone(RefCell::new(inner))
    }

    /// The same, with a thread in the background.
    pub(super) fn with_background(self) -> std::io::Result<Progress> {
        let inner = match self {
            Progress::Alone(inner) => inner.into_inner(),
            shared @ Progress::Shared(_) => return Ok(shared),
        };
        let state = Arc::new(StateLock {
            watch: Mutex::new(Watch {
                inner,
                ends: false,
                panic: None,
            }),
            called: Condvar::new(),
        });
        let theirs = Arc::clone(&state);
        let thread = std::thread::Builder::new()
            .name("allhands progress".into())
            .spawn(move || theirs.keep())?;
        Ok(Progress::Shared(Background {
            state,
            thread: Some(thread),
        }))
    }

    /// Takes the state; not twice at a time.
    #[inline]
    pub(super) fn take(&self) -> Taken<'_> {
        match self {
            Progress::Alone(inner) => Taken::Alone(inner.borrow_mut()),
            Progress::Shared(background) => background.state.take(),
        }
    }
}

impl StateLock {
    #[cold]
    fn take(&self) -> Taken<'_> {
        let mut watch = self.lock();
        if let Some(panic) = watch.panic.take() {
            drop(watch);
            // As if the operator had been called here.
            resume_unwind(panic);
        }
        let before = watch.inner.under_way;
        Taken::Shared(watch, &self.called, before)
    }

    /// A panic while it is taken leaves calls that end when they are dropped.
    fn lock(&self) -> MutexGuard<'_, Watch> {
        self.watch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes calls further until the communicator ends.
    fn keep(&self) {
        let (mut watch, mut looks) = (self.lock(), 0);
        while !watch.ends {
            if watch.inner.under_way == 0 {
                looks = 0;
                let woken = self.called.wait(watch);
                watch = woken.unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let inner = &mut watch.inner;
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| inner.progress())) {
                watch.panic = Some(panic);
                return;
            }
            drop(watch);
            if looks < LOOKS {
                looks += 1;
                std::thread::yield_now();
            } else {
                std::thread::sleep(NAP);
            }
            watch = self.lock();
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.state.lock().ends = true;
        self.state.called.notify_one();
        if let Some(thread) = self.thread.take() {
            // What it may have thrown it has put aside.
            let _ = thread.join();
        }
    }
}

impl Deref for Taken<'_> {
    type Target = Inner;

    #[inline]
    fn deref(&self) -> &Inner {
        match self {
            Taken::Alone(inner) => inner,
            Taken::Shared(watch, ..) => &watch.inner,
        }
    }
}

impl DerefMut for Taken<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Inner {
        match self {
            Taken::Alone(inner) => inner,
            Taken::Shared(watch, ..) => &mut watch.inner,
        }
    }
}

impl Drop for Taken<'_> {
    #[inline]
    fn drop(&mut self) {
        // The thread sleeps only where there was none: to tell it is a call of the system.
        if let Taken::Shared(watch, called, 0) = self
            && watch.inner.under_way > 0
        {
            called.notify_one();
        }
    }
}
