//! Binding: which rank may run on which cpus.

use anyhow::ensure;
use rustix::thread::CpuSet;
use std::str::FromStr;

/// What every command takes that starts ranks as processes.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Binding {
    /// Bind ranks to cpus: auto (each to an equal share, if there are enough), none, cores (each to one, or fail), turns (several
    /// ranks to a cpu if need be), or cpus by number: 0,2,4-7
    #[arg(long, default_value = "auto")]
    pub bind: Bind,
}

/// How ranks are bound to cpus.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Bind {
    /// An equal share of the cpus for each rank if there are enough, otherwise none. Who is alone is free to go where there is room:
    /// a program of several threads needs more than a cpu, and of several jobs on a machine, or hosts that are containers on it,
    /// none knows which cpus the others take.
    #[default]
    Auto,
    /// No rank is bound.
    None,
    /// A cpu for each rank, or an error.
    Cores,
    /// A cpu for each rank by turns: with more ranks than cpus, some to each.
    Turns,
    /// These cpus, in the order of the ranks.
    Cpus(Vec<usize>),
}

impl Binding {
    /// Whether something else is asked for than what is done anyway.
    pub fn is_asked(&self) -> bool {
        self.bind != Bind::Auto
    }
}

impl FromStr for Bind {
    type Err = String;

    fn from_str(text: &str) -> Result<Bind, String> {
        match text {
            "auto" => Ok(Bind::Auto),
            "none" => Ok(Bind::None),
            "cores" => Ok(Bind::Cores),
            "turns" => Ok(Bind::Turns),
            list => {
                let cpus = list.split(',').map(range).collect::<Option<Vec<_>>>();
                let cpus = cpus.map(|ranges| ranges.into_iter().flatten().collect());
                cpus.map(Bind::Cpus).ok_or_else(|| {
                    format!("'{text}' is no binding; type auto, none, cores, turns, or cpus as in 0,2,4-7")
                })
            }
        }
    }
}

impl std::fmt::Display for Bind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Bind::Auto => f.write_str("auto"),
            Bind::None => f.write_str("none"),
            Bind::Cores => f.write_str("cores"),
            Bind::Turns => f.write_str("turns"),
            Bind::Cpus(cpus) => {
                let cpus: Vec<String> = cpus.iter().map(usize::to_string).collect();
                f.write_str(&cpus.join(","))
            }
        }
    }
}

/// Reads `3` or `4-7`.
fn range(text: &str) -> Option<std::ops::RangeInclusive<usize>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    (first <= last && last < CpuSet::MAX_CPU).then_some(first..=last)
}

impl Bind {
    /// The cpus of each rank; `None` if they are not bound.
    pub fn cpus(&self, ranks: u32) -> anyhow::Result<Option<Vec<CpuSet>>> {
        if *self == Bind::Auto {
            return Ok(shares(&cores(&allowed()), ranks as usize));
        }
        let cpus = self.among(&allowed(), ranks as usize)?;
        Ok(cpus.map(|cpus| cpus.into_iter().map(|cpu| set([cpu])).collect()))
    }

    fn among(&self, allowed: &[usize], ranks: usize) -> anyhow::Result<Option<Vec<usize>>> {
        let names: Vec<String> = allowed.iter().map(ToString::to_string).collect();
        let names = names.join(",");
        Ok(match self {
            Bind::None | Bind::Auto => None,
            Bind::Cores => {
                ensure!(
                    ranks <= allowed.len(),
                    "--bind cores: {ranks} ranks, but only {} cpus ({names}) that they may use; --bind none or turns shares them",
                    allowed.len()
                );
                Some(allowed[..ranks].to_vec())
            }
            Bind::Turns if allowed.is_empty() => None,
            Bind::Turns => Some(
                (0..ranks)
                    .map(|rank| allowed[rank % allowed.len()])
                    .collect(),
            ),
            Bind::Cpus(cpus) => {
                if let Some(cpu) = cpus.iter().find(|cpu| !allowed.contains(cpu)) {
                    anyhow::bail!(
                        "--bind: there is no cpu {cpu} that may be used here; there are {names}"
                    );
                }
                ensure!(
                    ranks <= cpus.len(),
                    "--bind: {} cpus for {ranks} ranks; name one for each",
                    cpus.len()
                );
                Some(cpus[..ranks].to_vec())
            }
        })
    }
}

fn set(cpus: impl IntoIterator<Item = usize>) -> CpuSet {
    let mut set = CpuSet::new();
    cpus.into_iter().for_each(|cpu| set.set(cpu));
    set
}

/// The same number of cores for each rank, or one more, each with its neighbours; of threads where there are not so many cores; and
/// nothing where there are not so many threads either.
fn shares(cores: &[Vec<usize>], ranks: usize) -> Option<Vec<CpuSet>> {
    let threads: Vec<Vec<usize>> = cores.iter().flatten().map(|cpu| vec![*cpu]).collect();
    let parts = match cores.len() >= ranks {
        true => cores,
        false => &threads,
    };
    let begin = |rank| rank * parts.len() / ranks;
    let share = |rank| {
        set(parts[begin(rank)..begin(rank + 1)]
            .iter()
            .flatten()
            .copied())
    };
    (ranks <= parts.len()).then(|| (0..ranks).map(share).collect())
}

/// The cpus that are threads of the same core, for each core, package by package; each for itself where the kernel does not tell.
fn cores(cpus: &[usize]) -> Vec<Vec<usize>> {
    let told = |cpu: usize, what: &str| -> Option<String> {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/{what}");
        std::fs::read_to_string(path).ok()
    };
    let first = |list: String| list.trim().split([',', '-']).next()?.parse::<usize>().ok();
    let mut cores = std::collections::BTreeMap::<_, Vec<usize>>::new();
    for cpu in cpus {
        let package = told(*cpu, "physical_package_id").and_then(first);
        let core = told(*cpu, "thread_siblings_list").and_then(first);
        let of_core = cores.entry((package, core.unwrap_or(*cpu))).or_default();
        of_core.push(*cpu);
    }
    cores.into_values().collect()
}

/// The cpus that this process may use; none where the kernel does not tell.
fn allowed() -> Vec<usize> {
    let set = rustix::thread::sched_getaffinity(None);
    set.map_or_else(
        |_| Vec::new(),
        |set| {
            (0..CpuSet::MAX_CPU)
                .filter(|cpu| set.is_set(*cpu))
                .collect()
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_bound_in_order_and_share_a_cpu_only_if_told_to() {
        let on = |bind: &str, ranks| bind.parse::<Bind>().unwrap().among(&[1, 3, 5], ranks);
        assert_eq!(on("none", 1).unwrap(), None);
        assert_eq!(on("turns", 4).unwrap(), Some(vec![1, 3, 5, 1]));
        assert_eq!(on("cores", 3).unwrap(), Some(vec![1, 3, 5]));
        assert_eq!(on("5,1", 2).unwrap(), Some(vec![5, 1]));
        let error = |bind, ranks| on(bind, ranks).unwrap_err().to_string();
        assert!(error("cores", 4).contains("4 ranks, but only 3 cpus (1,3,5)"));
        assert!(error("1-3", 2).contains("no cpu 2"));
        assert!(error("1,3", 3).contains("2 cpus for 3 ranks"));
    }

    #[test]
    fn by_itself_each_rank_has_an_equal_share_of_whole_cores() {
        let cores = |all: &[&[usize]]| all.iter().map(|core| core.to_vec()).collect::<Vec<_>>();
        let of = |cores: &[Vec<usize>], ranks| {
            let shares = shares(cores, ranks)?;
            let cpus = |set: &CpuSet| (0..16).filter(|cpu| set.is_set(*cpu)).collect::<Vec<_>>();
            Some(shares.iter().map(cpus).collect::<Vec<_>>())
        };
        // Three cores of two threads each, which the kernel numbers core by core first.
        let six = cores(&[&[0, 3], &[1, 4], &[2, 5]]);
        assert_eq!(of(&six, 1), Some(vec![vec![0, 1, 2, 3, 4, 5]]));
        assert_eq!(of(&six, 2), Some(vec![vec![0, 3], vec![1, 2, 4, 5]]));
        assert_eq!(of(&six, 3), Some(vec![vec![0, 3], vec![1, 4], vec![2, 5]]));
        let four = vec![vec![0], vec![3, 1], vec![4], vec![2, 5]];
        let sorted = |mut all: Vec<Vec<usize>>| {
            all.iter_mut().for_each(|share| share.sort_unstable());
            all
        };
        assert_eq!(of(&six, 4), Some(sorted(four)));
        assert_eq!(of(&six, 6).map(|shares| shares.len()), Some(6));
        assert_eq!(of(&six, 7), None);
        assert_eq!(of(&[], 1), None);
    }

    #[test]
    fn every_cpu_is_a_thread_of_one_core() {
        let allowed = allowed();
        let mut all: Vec<usize> = cores(&allowed).into_iter().flatten().collect();
        all.sort_unstable();
        assert_eq!(all, allowed);
    }

    #[test]
    fn what_is_no_binding_is_named() {
        for text in ["", "core", "3-1", "1,,2", "-1", "99999"] {
            let error = text.parse::<Bind>().unwrap_err();
            assert!(error.contains("0,2,4-7"), "{error}");
        }
    }
}
