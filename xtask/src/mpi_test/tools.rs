//! Tools: profilers in front of the library or behind it, and what each sees of a program whose calls are known.

use super::job::Job;
use super::mpi::{Flavour, Mpi};
use super::{Error, PATIENCE, Place, Report, judge};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// Where a tool stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    /// Preloaded in front of the library.
    Front,
    /// Compiled into the program, and so in front.
    Within,
    /// Preloaded in front, and takes few calls.
    Alone,
    /// Preloaded behind the library.
    Behind,
    /// Linked with the program, and so behind.
    Linked,
}

impl Position {
    const ALL: [Position; 5] = [
        Position::Front,
        Position::Within,
        Position::Alone,
        Position::Behind,
        Position::Linked,
    ];

    /// The name in print.
    fn name(self) -> &'static str {
        match self {
            Position::Front => "in front",
            Position::Within => "compiled in",
            Position::Alone => "in front, for MPI_Waitall alone",
            Position::Behind => "behind",
            Position::Linked => "linked",
        }
    }

    fn is_behind(self) -> bool {
        match self {
            Position::Front | Position::Within | Position::Alone => false,
            Position::Behind | Position::Linked => true,
        }
    }
}

/// How often each rank makes or sees a call.
type Counts = BTreeMap<&'static str, u64>;

/// The number of ranks of every run.
const RANKS: usize = 2;

/// What the library asks of the MPI, and the MPI of itself, and no tool sees.
const UNSEEN: [&str; 9] = [
    "MPI_Allgather",
    "MPI_Comm_split_type",
    "MPI_Comm_create_keyval",
    "MPI_Comm_set_attr",
    "MPI_Iprobe",
    "MPI_Type_get_envelope",
    "MPI_Reduce_local",
    "MPI_Grequest_start",
    "MPI_Request_get_status",
];

/// What the program `counted` of C calls, as far as the tool would see it.
const CALLED: [(&str, u64); 9] = [
    ("MPI_Init", 1),
    ("MPI_Finalize", 1),
    ("MPI_Barrier", 6),
    ("MPI_Bcast", 3),
    ("MPI_Allreduce", 13),
    ("MPI_Iallreduce", 4),
    ("MPI_Waitall", 4),
    ("MPI_Comm_rank", 2),
    ("MPI_Comm_size", 1),
];

/// What the program `counted` of Fortran calls.
const CALLED_IN_FORTRAN: [(&str, u64); 5] = [
    ("MPI_Init", 1),
    ("MPI_Finalize", 1),
    ("MPI_Barrier", 5),
    ("MPI_Bcast", 3),
    ("MPI_Allreduce", 11),
];

/// Runs the programs with a tool in every position and gives the number of runs that failed.
pub(super) fn failed(place: &Place<'_>, mpi: &Mpi) -> Result<usize, Error> {
    let tests = place.root.join("crates/allhands-mpi/tests");
    let (source, name) = (tests.join("c/tool.c"), mpi.kind.name);
    let run = |tool: PathBuf, position| Run {
        place,
        mpi,
        position,
        tool,
    };
    let whole = place.folder.join(format!("tool-{name}.so"));
    mpi.compile(&source, &whole, &["-shared", "-fPIC"])?;
    let alone = place.folder.join(format!("tool-alone-{name}.so"));
    mpi.compile(&source, &alone, &["-shared", "-fPIC", "-DWAITALL_ALONE"])?;
    let mut failed = 0;
    for position in Position::ALL {
        let tool = if position == Position::Alone {
            &alone
        } else {
            &whole
        };
        let program = place.folder.join(format!("counted-{name}-{position:?}"));
        let (inside, linked) = (source.display().to_string(), whole.display().to_string());
        let options: &[&str] = match position {
            Position::Within => &[&inside],
            Position::Linked => &[&linked],
            Position::Front | Position::Alone | Position::Behind => &[],
        };
        mpi.compile(&tests.join("c/counted.c"), &program, options)?;
        let passed = run(tool.clone(), position).passes(&program, None);
        failed += usize::from(!passed);
    }
    let program = place.folder.join(format!("counted-with-a-tool-{name}"));
    for (flavour, program) in mpi.compile_fortran(&tests.join("fortran/counted.F90"), &program)? {
        for position in [Position::Front, Position::Behind] {
            let passed = run(whole.clone(), position).passes(&program, Some(flavour));
            failed += usize::from(!passed);
        }
    }
    Ok(failed)
}

/// A run of a program with a tool.
struct Run<'a> {
    place: &'a Place<'a>,
    mpi: &'a Mpi,
    position: Position,
    tool: PathBuf,
}

impl Run<'_> {
    /// Runs it; whether all is right, the report is what it is without a tool, and the tool has seen what it should.
    fn passes(&self, program: &Path, flavour: Option<Flavour>) -> bool {
        let name = self.mpi.kind.name;
        let language = flavour.map_or("C", Flavour::name);
        let title = format!("a tool {}, {language}, {name}", self.position.name());
        if !self.place.wants(&title) {
            return true;
        }
        let counts = self.place.folder.join(format!("counts-{name}"));
        // There need not be one from an earlier run.
        let _ = fs::remove_file(&counts);
        let mut launcher = self.mpi.launcher(RANKS);
        launcher.env("TOOL_COUNTS", &counts).arg(program);
        let job = Job {
            launcher,
            title: &title,
            patience: PATIENCE,
        };
        let libraries = self.mpi.libraries();
        let preloaded = self.preloaded();
        let outcome = job.run(Some(&preloaded), libraries.as_deref(), &self.place.folder);
        let mut findings = outcome.findings();
        if !outcome.output.contains("counted: right") {
            findings.push("it does not say 'counted: right'".into());
        }
        match &outcome.report {
            Some(report) => findings.extend(self.misreported(report, flavour)),
            None => findings.push("there is no report".into()),
        }
        match fs::read_to_string(&counts) {
            Ok(text) => findings.extend(unlike(&self.seen(flavour), &text)),
            Err(error) => findings.push(format!("the tool has written nothing: {error}")),
        }
        judge(&title, &outcome, &findings)
    }

    /// The libraries that are preloaded.
    fn preloaded(&self) -> PathBuf {
        let (tool, library) = (self.tool.as_os_str(), self.place.library.as_os_str());
        let both = |first: &std::ffi::OsStr, second: &std::ffi::OsStr| {
            let mut list = OsString::from(first);
            list.push(":");
            list.push(second);
            PathBuf::from(list)
        };
        match self.position {
            Position::Front | Position::Alone => both(tool, library),
            Position::Behind => both(library, tool),
            Position::Within | Position::Linked => self.place.library.clone(),
        }
    }

    /// What is wrong with the report, which counts the tool's own calls, too.
    fn misreported(&self, report: &Report, flavour: Option<Flavour>) -> Vec<String> {
        let mut findings = report.passed_but_for(&["one rank"]);
        let mut right: Counts = match flavour {
            None => CALLED.into_iter().collect(),
            Some(_) => CALLED_IN_FORTRAN.into_iter().collect(),
        };
        right.retain(|call, _| ["MPI_Bcast", "MPI_Allreduce", "MPI_Iallreduce"].contains(call));
        if flavour.is_none() {
            // One where the MPI begins, and one in every MPI_Bcast that it takes.
            let own = if self.position == Position::Alone {
                1
            } else {
                4
            };
            right.insert("MPI_Barrier", 6 + own);
        }
        for (call, number) in right {
            let reported = report.calls(call);
            if reported != number {
                findings.push(format!("{number} of {call} are reported as {reported}"));
            }
        }
        let taken = report.taken_of("MPI_Allreduce");
        if taken != report.calls("MPI_Allreduce") {
            findings.push(format!("{taken} of MPI_Allreduce were taken over"));
        }
        findings
    }

    /// What the tool is to see on each rank.
    fn seen(&self, flavour: Option<Flavour>) -> Counts {
        let mut seen: Counts = UNSEEN.into_iter().map(|call| (call, 0)).collect();
        match flavour {
            None => seen.extend(CALLED),
            Some(_) => seen.extend(CALLED_IN_FORTRAN),
        }
        if self.position == Position::Alone {
            let few = ["MPI_Init", "MPI_Finalize", "MPI_Waitall"];
            seen.iter_mut()
                .filter(|(call, _)| !few.contains(call))
                .for_each(|(_, number)| *number = 0);
        }
        // Open MPI's module mpi_f08 reaches the library by names behind those that a tool takes.
        let is_f08 = flavour == Some(Flavour::F08);
        let is_before = is_f08 && self.mpi.kind.name == "debian-openmpi";
        if self.position.is_behind() && !is_before {
            for call in ["MPI_Barrier", "MPI_Allreduce"] {
                seen.insert(call, 0);
            }
            if flavour.is_none() && self.mpi.kind.has_hook {
                seen.insert("MPI_Iallreduce", 0);
            }
        }
        seen
    }
}

/// How what a tool wrote differs from what it should have seen on each rank.
fn unlike(seen: &Counts, text: &str) -> Vec<String> {
    let written = |call: &str| {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(call)?.strip_prefix(' '));
        line.and_then(|number| number.parse::<u64>().ok())
    };
    let wrong = seen.iter().filter_map(|(call, number)| {
        let (right, written) = (number * RANKS as u64, written(call));
        let finding = || format!("the tool saw {written:?} of {right} of {call}");
        (written != Some(right)).then(finding)
    });
    wrong.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_tool_saw_is_compared_call_by_call() {
        let seen: Counts = [("MPI_Barrier", 3), ("MPI_Bcast", 0)].into();
        assert_eq!(
            unlike(&seen, "MPI_Barrier 6\nMPI_Bcast 0\n"),
            Vec::<String>::new()
        );
        assert_eq!(
            unlike(&seen, "MPI_Barrier 5\nMPI_Bcast_c 0\n"),
            [
                "the tool saw Some(5) of 6 of MPI_Barrier",
                "the tool saw None of 0 of MPI_Bcast"
            ]
        );
    }
}
