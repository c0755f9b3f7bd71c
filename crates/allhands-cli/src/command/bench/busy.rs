//! Whether others want the cores while something is measured, or the machine's owner has taken them.

use std::time::Duration;

/// The part of the cores' time from which on it is worth a warning.
const MUCH: f64 = 0.1;

/// What the cores had done when it was made.
pub struct Busy {
    /// Ticks of all cores: all, and those in which somebody ran or the core was taken away.
    before: Option<(u64, u64)>,
    own: Duration,
}

impl Busy {
    /// Begins to look.
    pub fn watch() -> Busy {
        Busy {
            before: ticks(),
            own: own(),
        }
    }

    /// The part of the cores' time since then that went to others than this program and its children that have ended.
    fn others(&self) -> Option<f64> {
        let ((all, busy), (all_now, busy_now)) = (self.before?, ticks()?);
        let own = (own() - self.own).as_secs_f64() * per_second();
        let (all, busy) = ((all_now - all) as f64, (busy_now - busy) as f64);
        // In less than a second there is too little to tell.
        (all >= per_second()).then(|| ((busy - own) / all).clamp(0.0, 1.0))
    }

    /// What is to be said, if others wanted much.
    pub fn warning(&self) -> Option<String> {
        let others = self.others().filter(|part| *part > MUCH)?;
        Some(format!(
            "the machine was busy: {:.0} % of its cores' time went to others, so times are longer and vary more than they would",
            100.0 * others
        ))
    }
}

fn per_second() -> f64 {
    // SAFETY: asks for a number; no memory is involved.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    ticks.max(1) as f64
}

fn ticks() -> Option<(u64, u64)> {
    let text = std::fs::read_to_string("/proc/stat").ok()?;
    read(text.lines().next()?)
}

/// All ticks, and the busy ones, of the line of all cores.
fn read(line: &str) -> Option<(u64, u64)> {
    let numbers = line.strip_prefix("cpu ")?.split_whitespace();
    let numbers: Vec<u64> = numbers.map_while(|word| word.parse().ok()).collect();
    // User, nice, system, idle, waiting for a device, interrupts of two kinds, stolen; what follows is in the first two again.
    let first: &[u64; 8] = numbers.first_chunk()?;
    let idle = first[3] + first[4];
    let all = first.iter().sum::<u64>();
    Some((all, all - idle))
}

/// The time on cores of this process and of its children that have been waited for.
fn own() -> Duration {
    let of = |who| {
        // SAFETY: the record is numbers, for which zero is a value.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: writes the record handed in, which lives through the call.
        unsafe { libc::getrusage(who, &mut usage) };
        let time = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000);
        time(usage.ru_utime) + time(usage.ru_stime)
    };
    of(libc::RUSAGE_SELF) + of(libc::RUSAGE_CHILDREN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_all_cores_is_read() {
        let line = "cpu  10 20 30 400 5 6 7 8 9 9";
        assert_eq!(read(line), Some((486, 81)));
        assert_eq!(read("cpu0 1 2 3 4 5 6 7 8"), None);
        assert_eq!(read("cpu  1 2"), None);
    }

    #[test]
    fn own_work_is_not_others() {
        let start = Busy {
            before: Some((0, 0)),
            own: Duration::ZERO,
        };
        assert!(
            start
                .others()
                .is_some_and(|part| (0.0..=1.0).contains(&part))
        );
        assert!(Busy::watch().warning().is_none(), "too short to tell");
    }
}
