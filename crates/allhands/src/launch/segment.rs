//! The segment: one memory file without a name, which all ranks on a machine share.

use super::LaunchError;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags};
use rustix::process::Resource;
use std::ptr::NonNull;

/// The length of a segment in bytes; it is sparse, so only pages that were written cost memory.
pub const SEGMENT_BYTES: u64 = 1 << 40;

/// The least length with which a segment is of use.
const LEAST_BYTES: u64 = 1 << 30;

/// A segment: a memory file of zeros at first, which never changes its length.
///
/// Its descriptor stays open until the process ends. It is never closed, because the kernel drops a process's record
/// locks on a file, by which the [`Roll`](super::Roll) knows who is alive, as soon as the process closes *any*
/// descriptor of that file.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    fd: BorrowedFd<'static>,
}

impl Segment {
    /// A new segment of [`SEGMENT_BYTES`] zeros, or fewer (at least 1 GiB) where the size of files is limited.
    ///
    /// # Errors
    /// When the system cannot make one.
    pub fn create() -> Result<Segment, LaunchError> {
        Ok(Segment::keep(Segment::draft()?))
    }

    /// What may become one, and goes if it does not.
    pub(super) fn draft() -> Result<OwnedFd, LaunchError> {
        let wrong = |error| LaunchError::system("cannot create the shared segment", error);
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        // Kernels before 6.3 do not know that memory may be promised never to be a program.
        let fd = match rustix::fs::memfd_create("allhands", flags | MemfdFlags::NOEXEC_SEAL) {
            Err(Errno::INVAL) => rustix::fs::memfd_create("allhands", flags),
            made => made,
        };
        let fd = fd.map_err(wrong)?;
        rustix::fs::ftruncate(&fd, allowed_bytes()?).map_err(wrong)?;
        let fixed = SealFlags::SHRINK | SealFlags::GROW;
        rustix::fs::fcntl_add_seals(&fd, fixed | SealFlags::SEAL).map_err(wrong)?;
        Ok(fd)
    }

    /// The segment behind a descriptor that this process inherited, which stays open too.
    ///
    /// # Errors
    /// When the descriptor is not open, or is something else.
    pub fn inherited(fd: RawFd) -> Result<Segment, LaunchError> {
        let none = |why: String| LaunchError::NoSegment {
            place: format!("descriptor {fd}"),
            why,
        };
        // SAFETY: F_DUPFD_CLOEXEC touches no memory, and a number that is no open descriptor is refused with EBADF.
        let copy = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3) };
        if copy < 0 {
            return Err(none(std::io::Error::last_os_error().to_string()));
        }
        // SAFETY: fcntl has just made this descriptor, so nobody else owns it.
        let copy = unsafe { OwnedFd::from_raw_fd(copy) };
        check(&copy).map_err(none)?;
        Ok(Segment::keep(copy))
    }

    /// The segment that another process has open as `fd`; `inode` makes sure that it is the one that is meant.
    ///
    /// # Errors
    /// When it cannot be opened from here, or is another.
    pub fn of_process(pid: u32, fd: RawFd, inode: u64) -> Result<Segment, LaunchError> {
        let place = format!("/proc/{pid}/fd/{fd}");
        let file = std::fs::File::options().read(true).write(true).open(&place);
        let none = |why: String| LaunchError::NoSegment {
            place: place.clone(),
            why,
        };
        let fd = OwnedFd::from(file.map_err(|error| none(error.to_string()))?);
        check(&fd).map_err(none)?;
        let segment = Segment::keep(fd);
        if segment.inode()? != inode {
            return Err(none("it is the segment of another world".into()));
        }
        Ok(segment)
    }

    /// The descriptor; it must never be closed.
    #[must_use]
    pub fn fd(self) -> BorrowedFd<'static> {
        self.fd
    }

    /// The number that tells this segment from all others on the machine.
    ///
    /// # Errors
    /// When the system cannot tell.
    pub fn inode(self) -> Result<u64, LaunchError> {
        Segment::inode_of(self.fd)
    }

    pub(super) fn inode_of(fd: impl AsFd) -> Result<u64, LaunchError> {
        let stat = rustix::fs::fstat(fd);
        let stat =
            stat.map_err(|error| LaunchError::system("cannot look at the segment", error))?;
        Ok(stat.st_ino)
    }

    /// Maps all of it, or as much as the limit of the address space allows, but at least 1 GiB.
    ///
    /// # Errors
    /// When not even that can be mapped.
    pub fn map(self) -> Result<Mapped, LaunchError> {
        let wrong = |error| LaunchError::system("cannot map the shared segment", error);
        let stat = rustix::fs::fstat(self.fd).map_err(wrong)?;
        let mut bytes = stat.st_size as u64;
        loop {
            match self.map_first(bytes as usize) {
                Err(Errno::NOMEM) if bytes / 2 >= LEAST_BYTES => bytes /= 2,
                mapped => return mapped.map_err(wrong),
            }
        }
    }

    /// Maps the first bytes.
    pub(super) fn map_first(self, bytes: usize) -> Result<Mapped, Errno> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::SHARED | MapFlags::NORESERVE;
        // SAFETY: the kernel chooses the place, so no memory that is in use is replaced.
        let address = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                bytes,
                protection,
                flags,
                self.fd.as_fd(),
                0,
            )?
        };
        let address = NonNull::new(address.cast::<u8>()).ok_or(Errno::NOMEM)?;
        // SAFETY: these are the pages that were mapped above; the advice changes only what a core dump holds. That it
        // is not taken does no harm.
        let _ =
            unsafe { rustix::mm::madvise(address.as_ptr().cast(), bytes, Advice::LinuxDontDump) };
        Ok(Mapped { address, bytes })
    }

    /// A draft that is one.
    pub(super) fn keep(fd: OwnedFd) -> Segment {
        let fd = fd.into_raw_fd();
        // SAFETY: the owner has just been forgotten, so nobody closes this descriptor while the process lives.
        let fd = unsafe { BorrowedFd::borrow_raw(fd) };
        Segment { fd }
    }
}

/// The length that a new segment may have here.
fn allowed_bytes() -> Result<u64, LaunchError> {
    let limit = rustix::process::getrlimit(Resource::Fsize).current;
    let mut bytes = SEGMENT_BYTES;
    while limit.is_some_and(|limit| bytes > limit) {
        bytes /= 2;
    }
    if bytes < LEAST_BYTES {
        return Err(LaunchError::System {
            what: "cannot create the shared segment",
            reason: format!(
                "files may have at most {} bytes here (ulimit -f), and it needs at least {LEAST_BYTES}",
                limit.unwrap_or(0)
            ),
        });
    }
    Ok(bytes)
}

/// Whether a descriptor is a segment; if not, why.
fn check(fd: &OwnedFd) -> Result<(), String> {
    let target = std::fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd()));
    let target = target.map_or_else(|_| "something else".into(), |t| t.display().to_string());
    let seals = rustix::fs::fcntl_get_seals(fd).unwrap_or(SealFlags::empty());
    // Without this seal, whoever shortens the file would end all that have it mapped.
    if !seals.contains(SealFlags::SHRINK) {
        return Err(format!("it is {target}"));
    }
    let bytes = rustix::fs::fstat(fd).map_err(|error| error.to_string())?;
    if (bytes.st_size as u64) < LEAST_BYTES {
        return Err(format!("it is {target}, of {} bytes", bytes.st_size));
    }
    Ok(())
}

/// A segment in this process's memory, until it is dropped.
///
/// The bytes are shared with other processes, so they are read and written through atomics, or after an exchange of
/// words that orders the accesses. The file cannot be shortened, so every byte up to [`Mapped::len`] can be touched.
#[derive(Debug)]
pub struct Mapped {
    address: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the address of shared bytes; that accesses through it do not race is each caller's argument.
unsafe impl Send for Mapped {}
// SAFETY: as above.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// The first byte, which starts a page.
    #[must_use]
    pub fn address(&self) -> *mut u8 {
        self.address.as_ptr()
    }

    /// How many bytes are mapped; other ranks may have mapped more or fewer.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether nothing is mapped, which never happens.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: mapped in `map_first` with this very length; whoever used the address has borrowed this value.
        let _ = unsafe { rustix::mm::munmap(self.address.as_ptr().cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn mappings_share_their_bytes_and_begin_with_zeros() {
        let segment = Segment::create().unwrap();
        let (one, other) = (segment.map().unwrap(), segment.map().unwrap());
        assert_eq!(one.len() as u64, SEGMENT_BYTES);
        for at in [0, 65536, one.len() - 8] {
            // SAFETY: both addresses are inside of their mappings and aligned, and every access is atomic.
            let word = |m: &Mapped| unsafe { &*m.address().add(at).cast::<AtomicU64>() }
                as *const AtomicU64;
            // SAFETY: as above; the mappings live to the end of the test.
            let (mine, theirs) = unsafe { (&*word(&one), &*word(&other)) };
            assert_eq!(theirs.load(Ordering::Relaxed), 0);
            mine.store(at as u64 + 1, Ordering::Relaxed);
            assert_eq!(theirs.load(Ordering::Relaxed), at as u64 + 1);
        }
    }

    #[test]
    fn nobody_can_shorten_it() {
        let segment = Segment::create().unwrap();
        assert_eq!(rustix::fs::ftruncate(segment.fd(), 4096), Err(Errno::PERM));
    }

    #[test]
    fn another_descriptor_leads_to_the_same_segment() {
        let segment = Segment::create().unwrap();
        let (fd, inode) = (segment.fd().as_raw_fd(), segment.inode().unwrap());
        assert_eq!(Segment::inherited(fd).unwrap().inode().unwrap(), inode);
        let opened = Segment::of_process(std::process::id(), fd, inode).unwrap();
        assert_eq!(opened.inode().unwrap(), inode);
        let error = Segment::of_process(std::process::id(), fd, inode + 1).unwrap_err();
        assert!(error.to_string().contains("another world"), "{error}");
    }

    #[test]
    fn what_is_no_segment_is_named() {
        let file = std::fs::File::open("/dev/null").unwrap();
        let error = Segment::inherited(file.as_raw_fd())
            .unwrap_err()
            .to_string();
        assert!(error.contains("it is /dev/null"), "{error}");
        let error = Segment::inherited(123_456).unwrap_err().to_string();
        assert!(error.contains("descriptor 123456"), "{error}");
    }
}
