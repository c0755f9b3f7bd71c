//! The caches: how many bytes those of last level hold, all together.

use crate::transport::shm::tuning::COLD_LEAST;
use std::sync::OnceLock;

/// The bytes that the machine's last-level caches hold, as the system tells; [`usize::MAX`] where it does not.
pub(crate) fn last_level_bytes() -> usize {
    static BYTES: OnceLock<usize> = OnceLock::new();
    *BYTES.get_or_init(|| {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        read(cores, |name| {
            let path = format!("/sys/devices/system/cpu/cpu0/cache/index3/{name}");
            std::fs::read_to_string(path).ok()
        })
        .unwrap_or(usize::MAX)
    })
}

/// The bytes from which on all that the ranks of a call have is in nobody's cache.
pub(crate) fn cold_least_bytes() -> usize {
    last_level_bytes() / COLD_LEAST
}

/// What [`last_level_bytes`] says of a machine with so many cores, from the files that describe the first core's cache.
fn read(cores: usize, file: impl Fn(&str) -> Option<String>) -> Option<usize> {
    let size = file("size")?;
    let kilobytes: usize = size.trim().strip_suffix('K')?.parse().ok()?;
    let sharing = count(file("shared_cpu_list")?.trim())?;
    Some((kilobytes << 10).saturating_mul(cores.div_ceil(sharing)))
}

/// How many cores a list as `0-3,8` names.
fn count(list: &str) -> Option<usize> {
    let mut cores = 0;
    for range in list.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        cores += (last + 1).checked_sub(first)?;
    }
    (cores > 0).then_some(cores)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn of(cores: usize, size: &str, list: &str) -> Option<usize> {
        read(cores, |name| match name {
            "size" => Some(format!("{size}\n")),
            _ => Some(format!("{list}\n")),
        })
    }

    #[test]
    fn caches_of_all_cores_are_counted() {
        assert_eq!(of(2, "32768K", "0-1"), Some(32 << 20));
        assert_eq!(of(1, "32768K", "0-1"), Some(32 << 20));
        assert_eq!(of(24, "16384K", "0-3,12-15"), Some(48 << 20));
        assert_eq!(of(4, "512K", "0"), Some(2 << 20));
    }

    #[test]
    fn what_is_not_understood_says_nothing() {
        assert_eq!(of(2, "32M", "0-1"), None);
        assert_eq!(of(2, "32768K", ""), None);
        assert_eq!(of(2, "32768K", "3-1"), None);
        assert_eq!(read(2, |_| None), None);
        assert!(last_level_bytes() > 0);
    }
}
