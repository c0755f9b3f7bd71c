//! The parts of the evaluation: what each runs, where, and about how long it takes.

/// The most seconds that all parts together may take.
#[cfg(test)]
const MOST_SECONDS: u32 = 3 * 3600;

/// Where ranks are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Place {
    /// On this machine, sharing memory.
    Here { ranks: u32 },
    /// On so many hosts of the lab, one each, with this rate and delay of the switch.
    Hosts {
        hosts: u32,
        network: [&'static str; 2],
    },
}

/// An MPI that the lab brings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Mpi {
    Mpich,
    OpenMpi,
}

/// What a part does, with seconds for what takes most of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    /// Calibrates simulated machines, and predicts what they simulate.
    Simulated,
    /// Calibrates, measures, predicts.
    Errors { place: Place, bench: u32 },
    /// Tunes from nothing, and measures what choices lose then.
    Choices { place: Place },
    /// Tunes an MPI, and measures what that gains.
    Mpi { mpi: Mpi, hosts: u32 },
    /// Runs the papers' experiments again.
    Reproduce,
}

/// A part, which is run or left out as a whole.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub name: String,
    pub kind: Kind,
}

/// Seconds for a calibration, here and between hosts.
const CALIBRATE: [u32; 2] = [30, 120];
/// Seconds for the two halves of tuning, for regret here and between hosts, where calls are long, and for guidelines.
pub(super) const TUNE: u32 = 280;
const REGRET: [u32; 2] = [150, 200];
pub(super) const GUIDELINES: u32 = 150;
/// Seconds for tuning an MPI and for its evaluation, for whose intervals there are to be six rounds: five took 300.
pub(super) const TUNE_MPI: u32 = 270;
pub(super) const EVALUATE: u32 = 450;
/// What starts and ends of ranks and hosts add to a step.
const AROUND: u32 = 10;

/// The networks of the lab.
const SLOW: [&str; 2] = ["200mbit", "500us"];
const FAST: [&str; 2] = ["500mbit", "100us"];

impl Place {
    /// Seconds for a calibration.
    pub(super) fn calibrate(&self) -> u32 {
        match self {
            Place::Here { .. } => CALIBRATE[0],
            Place::Hosts { .. } => CALIBRATE[1],
        }
    }

    /// Seconds for regret.
    pub(super) fn regret(&self) -> u32 {
        match self {
            Place::Here { .. } => REGRET[0],
            Place::Hosts { .. } => REGRET[1],
        }
    }

    /// As a part's name has it.
    fn name(&self) -> String {
        match self {
            Place::Here { ranks } => format!("shm-{ranks}"),
            Place::Hosts { hosts, network } => {
                format!("lab-{hosts}-{}", network[0].trim_end_matches("bit"))
            }
        }
    }
}

impl Part {
    fn new(group: &str, place: Option<Place>, kind: Kind) -> Self {
        let name = place.map_or(group.into(), |place| format!("{group}-{}", place.name()));
        Part { name, kind }
    }

    /// About how many seconds it takes.
    pub(super) fn seconds(&self) -> u32 {
        match self.kind {
            Kind::Simulated | Kind::Reproduce => AROUND,
            Kind::Errors { place, bench } => place.calibrate() + bench + 2 * AROUND,
            Kind::Choices { place } => TUNE + place.regret() + GUIDELINES + 4 * AROUND,
            Kind::Mpi { .. } => TUNE_MPI + EVALUATE + 3 * AROUND,
        }
    }

    /// Whether this name, its own or its group's, means it.
    pub(super) fn is_meant(&self, name: &str) -> bool {
        let rest = self.name.strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    }
}

/// All parts, the shortest first.
pub(super) fn all() -> Vec<Part> {
    let hosts = |hosts, network| Place::Hosts { hosts, network };
    let mut parts = vec![
        Part::new("simulated", None, Kind::Simulated),
        Part::new("reproduce", None, Kind::Reproduce),
    ];
    let errors = [
        (Place::Here { ranks: 2 }, 240),
        (Place::Here { ranks: 4 }, 150),
        (Place::Here { ranks: 8 }, 180),
        (hosts(4, SLOW), 400),
        (hosts(8, SLOW), 600),
        (hosts(13, SLOW), 800),
    ];
    for (place, bench) in errors {
        let kind = Kind::Errors { place, bench };
        parts.push(Part::new("errors", Some(place), kind));
    }
    let choices = [
        Place::Here { ranks: 2 },
        Place::Here { ranks: 8 },
        hosts(8, SLOW),
        hosts(8, FAST),
        hosts(13, SLOW),
        hosts(13, FAST),
    ];
    for place in choices {
        parts.push(Part::new("choices", Some(place), Kind::Choices { place }));
    }
    for (name, mpi) in [("mpich", Mpi::Mpich), ("openmpi", Mpi::OpenMpi)] {
        for hosts in [8, 13] {
            let name = format!("mpi-{name}-{hosts}");
            parts.push(Part::new(&name, None, Kind::Mpi { mpi, hosts }));
        }
    }
    parts
}

/// The network on which MPIs are tuned.
pub(super) const OF_MPIS: [&str; 2] = SLOW;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_parts_fit_into_three_hours() {
        let sum: u32 = all().iter().map(Part::seconds).sum();
        assert!(sum <= MOST_SECONDS, "{sum} s");
    }

    #[test]
    fn a_part_is_meant_by_its_name_or_its_groups() {
        let parts = all();
        let meant = |name: &str| parts.iter().filter(|part| part.is_meant(name)).count();
        assert_eq!(meant("errors"), 6);
        assert_eq!(meant("errors-shm"), 3);
        assert_eq!(meant("choices-lab-13-500m"), 1);
        assert_eq!(meant("mpi-mpich"), 2);
        assert_eq!(meant("err"), 0, "no part of a word");
        let mut names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), parts.len(), "no two have a folder in common");
    }
}
