//! What is ready: waiting for several descriptors at once.

use anyhow::Context;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fd::BorrowedFd;
use std::time::Duration;

/// Waits until something is ready, or the time is over.
pub fn ready<E: Copy>(
    waiting: &[(E, BorrowedFd<'_>, PollFlags)],
    timeout: Option<Duration>,
) -> anyhow::Result<Vec<E>> {
    let fds = waiting
        .iter()
        .map(|(_, fd, flags)| PollFd::from_borrowed_fd(*fd, *flags));
    let mut fds: Vec<PollFd<'_>> = fds.collect();
    let timeout = timeout.map(|t| Timespec {
        tv_sec: t.as_secs().min(1 << 40) as i64,
        tv_nsec: t.subsec_nanos().into(),
    });
    match rustix::event::poll(&mut fds, timeout.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error).context("cannot wait for the ranks"),
    }
    let ready = waiting
        .iter()
        .zip(&fds)
        .filter(|(_, fd)| !fd.revents().is_empty());
    Ok(ready.map(|((event, _, _), _)| *event).collect())
}
