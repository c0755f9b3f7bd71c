//! Real programs from Debian, with and without the library: whether their answers are the same, what was taken over, and their time.

use super::answers::{challenged, difference, physics, tested, thermodynamics};
use super::job::Job;
use super::mpi::{KINDS, Mpi};
use super::{Error, Place};
use crate::needs::{self, Need};
use crate::peers::Missing;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A program of Debian's.
struct Program {
    name: &'static str,
    /// Which MPI it is linked with.
    mpi: &'static str,
    file: &'static str,
    arguments: &'static [&'static str],
    /// A file that it reads, and what it says.
    input: Option<(&'static str, &'static str)>,
    /// A folder whose `.dat` files it reads.
    data: Option<&'static str>,
    /// What is put otherwise in these.
    changes: &'static [Change],
    /// The file with its answers, if they are not printed.
    output: Option<&'static str>,
    /// What of a line is an answer, if anything is.
    answer: fn(&str) -> Option<String>,
}

/// A change of lines in a file of a program's data.
struct Change {
    file: &'static str,
    /// What the lines say somewhere.
    says: &'static str,
    /// What they begin with, and what that is instead.
    from: &'static str,
    to: &'static str,
}

const NEEDS: &[Need] = &[
    need("lmp", &["lammps"]),
    need("hpcc", &["hpcc"]),
    need("pw.x", &["quantum-espresso", "quantum-espresso-data"]),
];
const SCALAPACK: Need = need("the testers of ScaLAPACK", &["scalapack-mpi-test"]);

const fn need(program: &'static str, debian_packages: &'static [&'static str]) -> Need {
    Need {
        program,
        debian_packages,
        without_it: "it is not run",
    }
}

const OPENMPI_TESTERS: &str = "/usr/lib/x86_64-linux-gnu/scalapack/openmpi-tests";
const MPICH_TESTERS: &str = "/usr/lib/x86_64-linux-gnu/scalapack/mpich-tests";

const MELT: &str = "\
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 10 0 10 0 10
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify every 20 delay 0 check no
fix 1 all nve
thermo_style custom step temp epair etotal press
thermo_modify format float %20.15g
thermo 10
run 250
";

const SILICON: &str = "\
&control
 calculation='scf', prefix='si', pseudo_dir='/usr/share/espresso/pseudo', outdir='./out', tprnfor=.true., tstress=.true.
/
&system
 ibrav=2, celldm(1)=10.2, nat=2, ntyp=1, ecutwfc=16.0
/
&electrons
 conv_thr=1d-10
/
ATOMIC_SPECIES
 Si 28.086 Si.pz-vbc.UPF
ATOMIC_POSITIONS alat
 Si 0.00 0.00 0.00
 Si 0.25 0.25 0.26
K_POINTS automatic
 3 3 3 0 0 0
";

const CHALLENGE: &str = "\
benchmark input file
of small size
HPL.out      output file name (if any)
8            device out (6=stdout,7=stderr,file)
1            # of problems sizes (N)
512          Ns
1            # of NBs
64           NBs
0            PMAP process mapping (0=Row-,1=Column-major)
1            # of process grids (P x Q)
1            Ps
2            Qs
16.0         threshold
1            # of panel fact
2            PFACTs (0=left, 1=Crout, 2=Right)
1            # of recursive stopping criterium
4            NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs (0=left, 1=Crout, 2=Right)
1            # of broadcast
1            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1            # of lookahead depth
1            DEPTHs (>=0)
2            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
0            this line is passed over
0            Number of additional problem sizes for PTRANS
0            values of N
0            number of additional blocking sizes for PTRANS
0            values of NB
";

const fn tester(name: &'static str, mpi: &'static str, file: &'static str) -> Program {
    let is_mpich = mpi.len() == "debian-mpich".len();
    Program {
        name,
        mpi,
        file,
        arguments: &[],
        input: None,
        data: Some(if is_mpich {
            MPICH_TESTERS
        } else {
            OPENMPI_TESTERS
        }),
        changes: if is_mpich {
            FEWER_SIZES
        } else {
            WITHOUT_ESTIMATES
        },
        output: None,
        answer: tested,
    }
}

/// Without estimates of condition numbers for Cholesky's factorization: with four ranks these do not end in most runs,
/// with either MPI and without the library, as ranks come to differ in how many steps they make of them.
const NO_ESTIMATES: Change = change("LLT.dat", "Cond. Est.", "T ", "F ");
const WITHOUT_ESTIMATES: &[Change] = &[NO_ESTIMATES];

/// The first two of four sizes of matrices: ranks of Debian's MPICH poll, and where they share cores a message then takes
/// as long as the system lets a rank run, with all sizes more than four minutes for each tester.
const FEWER_SIZES: &[Change] = &[
    NO_ESTIMATES,
    change("LU.dat", SIZES, "4", "2"),
    change("QR.dat", SIZES, "4", "2"),
    change("LLT.dat", SIZES, "4", "2"),
    change("TRD.dat", SIZES, "4", "2"),
    change("INV.dat", SIZES, "4", "2"),
];
const SIZES: &str = "number of problems sizes";

const fn change(
    file: &'static str,
    says: &'static str,
    from: &'static str,
    to: &'static str,
) -> Change {
    Change {
        file,
        says,
        from,
        to,
    }
}

/// Every program that is run.
static PROGRAMS: &[Program] = &[
    Program {
        name: "LAMMPS, melt",
        mpi: "debian-openmpi",
        file: "/usr/bin/lmp",
        arguments: &["-in", "in.melt", "-log", "none"],
        input: Some(("in.melt", MELT)),
        data: None,
        changes: &[],
        output: None,
        answer: thermodynamics,
    },
    Program {
        name: "HPCC",
        mpi: "debian-openmpi",
        file: "/usr/bin/hpcc",
        arguments: &[],
        input: Some(("hpccinf.txt", CHALLENGE)),
        data: None,
        changes: &[],
        output: Some("hpccoutf.txt"),
        answer: challenged,
    },
    Program {
        name: "Quantum ESPRESSO, silicon",
        mpi: "debian-openmpi",
        file: "/usr/bin/pw.x",
        arguments: &["-in", "si.in"],
        input: Some(("si.in", SILICON)),
        data: None,
        changes: &[],
        output: None,
        answer: physics,
    },
    tester("ScaLAPACK, LU", "debian-openmpi", "xdlu"),
    tester("ScaLAPACK, QR", "debian-openmpi", "xdqr"),
    tester("ScaLAPACK, Cholesky", "debian-openmpi", "xdllt"),
    tester("ScaLAPACK, tridiagonal", "debian-openmpi", "xdtrd"),
    tester("ScaLAPACK, inverse", "debian-openmpi", "xdinv"),
    tester("ScaLAPACK, LU", "debian-mpich", "xdlu"),
    tester("ScaLAPACK, QR", "debian-mpich", "xdqr"),
    tester("ScaLAPACK, Cholesky", "debian-mpich", "xdllt"),
    tester("ScaLAPACK, tridiagonal", "debian-mpich", "xdtrd"),
    tester("ScaLAPACK, inverse", "debian-mpich", "xdinv"),
];

/// The longest time of a run: with more ranks than cores Debian's MPICH, whose ranks poll, needs minutes for ScaLAPACK's testers.
const PATIENCE: Duration = Duration::from_secs(600);

/// How often each is run, with and without the library by turns; the median time counts.
const REPEATS: usize = 3;
/// The seconds after which a program is not run once more.
const LONG_S: f64 = 20.0;

/// A run: its answers, its time, and what rank 0 counted.
struct Run {
    answers: Vec<String>,
    seconds: f64,
    taken: u64,
    passed: u64,
    calls: Vec<String>,
}

/// Runs every program with each number of ranks and prints a table; gives the number of those that failed.
pub(super) fn all(place: &Place<'_>, ranks: &[usize]) -> Result<usize, Error> {
    install()?;
    println!(
        "| program | MPI | ranks | taken over | passed through | calls | without, s | with, s | answers |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    let mut failed = 0;
    for program in PROGRAMS {
        let kind = KINDS.iter().find(|kind| kind.name == program.mpi);
        let mpi = Mpi::ready(kind.unwrap_or(&KINDS[0]), &place.target.join("peers"))?;
        for &ranks in ranks {
            let result = match program.compare(place, &mpi, ranks)? {
                Ok(row) => row,
                Err(why) => {
                    failed += 1;
                    format!("| | | | | | **{}** |", why.replace('\n', " "))
                }
            };
            println!("| {} | {} | {ranks} {result}", program.name, program.mpi);
        }
    }
    Ok(failed)
}

/// Makes sure that the programs are there.
fn install() -> Result<(), Error> {
    let missing = |need: &Need| {
        Error::Missing(Missing::Debian {
            peer: "--programs",
            program: need.program,
            packages: need.debian_packages.join(" "),
        })
    };
    if let Some(need) = needs::ensure(NEEDS).first() {
        return Err(missing(need));
    }
    let testers = [OPENMPI_TESTERS, MPICH_TESTERS];
    let is_there = || {
        testers
            .iter()
            .all(|folder| Path::new(folder).join("xdlu").is_file())
    };
    if !is_there() {
        needs::install(SCALAPACK.debian_packages);
    }
    if is_there() {
        Ok(())
    } else {
        Err(missing(&SCALAPACK))
    }
}

impl Program {
    /// Runs it with and without the library; a row of the table, or what is wrong.
    fn compare(
        &self,
        place: &Place<'_>,
        mpi: &Mpi,
        ranks: usize,
    ) -> Result<Result<String, String>, Error> {
        let folder = place
            .folder
            .join(format!("{}-{}", Path::new(self.file).display(), self.mpi).replace('/', "-"));
        self.prepare(&folder)?;
        let mut times = [Vec::new(), Vec::new()];
        let mut last = [None, None];
        for _ in 0..REPEATS {
            if times.iter().flatten().sum::<f64>() > LONG_S {
                break;
            }
            for (index, library) in [None, Some(place.library.as_path())]
                .into_iter()
                .enumerate()
            {
                match self.run(mpi, ranks, &folder, library) {
                    Ok(run) => {
                        times[index].push(run.seconds);
                        last[index] = Some(run);
                    }
                    Err(why) => return Ok(Err(why)),
                }
            }
        }
        let [Some(without), Some(with)] = last else {
            return Ok(Err("it was not run".into()));
        };
        if let Some(difference) = difference(&without.answers, &with.answers) {
            return Ok(Err(difference));
        }
        let median = |times: &mut Vec<f64>| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        };
        let [native, ours] = &mut times;
        Ok(Ok(format!(
            "| {} | {} | {} | {:.2} | {:.2} | {} the same |",
            with.taken,
            with.passed,
            with.calls.join(", "),
            median(native),
            median(ours),
            with.answers.len(),
        )))
    }

    /// Makes the folder that it is run in.
    fn prepare(&self, folder: &Path) -> Result<(), Error> {
        let failed = |path: PathBuf| move |error| Error::File { path, error };
        if folder.exists() {
            fs::remove_dir_all(folder).map_err(failed(folder.into()))?;
        }
        fs::create_dir_all(folder).map_err(failed(folder.into()))?;
        if let Some((name, text)) = self.input {
            fs::write(folder.join(name), text).map_err(failed(folder.join(name)))?;
        }
        let Some(data) = self.data else { return Ok(()) };
        for entry in fs::read_dir(data).map_err(failed(data.into()))?.flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|end| end == "dat") {
                fs::copy(&path, folder.join(entry.file_name())).map_err(failed(path))?;
            }
        }
        self.changes
            .iter()
            .try_for_each(|change| change.make(folder))
    }

    fn run(
        &self,
        mpi: &Mpi,
        ranks: usize,
        folder: &Path,
        library: Option<&Path>,
    ) -> Result<Run, String> {
        let output = self.output.map(|file| folder.join(file));
        if let Some(output) = &output {
            // The program appends to it; there need not be one.
            let _ = fs::remove_file(output);
        }
        let mut launcher = mpi.launcher(ranks);
        launcher.arg(match self.data {
            Some(data) => Path::new(data).join(self.file),
            None => self.file.into(),
        });
        // Threads of its own for every rank are none of the MPI's.
        launcher.args(self.arguments).current_dir(folder);
        launcher.envs([("OMP_NUM_THREADS", "1"), ("OPENBLAS_NUM_THREADS", "1")]);
        let job = Job {
            launcher,
            title: self.name,
            patience: PATIENCE,
        };
        let outcome = job.run(library, None, folder);
        if let Some(finding) = outcome.findings().first() {
            let with = if library.is_some() { "with" } else { "without" };
            let said = outcome.output.lines().last().unwrap_or_default();
            return Err(format!("{with} the library {finding}: {said}"));
        }
        let text = match output {
            Some(file) => fs::read_to_string(&file).map_err(|error| error.to_string())?,
            None => outcome.output,
        };
        let report = outcome.report.as_ref();
        if library.is_some() && report.is_none_or(|report| report.taken() == 0) {
            return Err("no call was taken over".into());
        }
        Ok(Run {
            answers: text.lines().filter_map(self.answer).collect(),
            seconds: outcome.time.as_secs_f64(),
            taken: report.map_or(0, super::Report::taken),
            passed: report.map_or(0, super::Report::passed),
            calls: report.map(super::Report::taken_calls).unwrap_or_default(),
        })
    }
}

impl Change {
    /// Makes it in a folder of data.
    fn make(&self, folder: &Path) -> Result<(), Error> {
        let path = folder.join(self.file);
        let failed = |error| Error::File {
            path: path.clone(),
            error,
        };
        let text = fs::read_to_string(&path).map_err(failed)?;
        let changed = |line: &str| {
            let rest = line
                .contains(self.says)
                .then(|| line.strip_prefix(self.from));
            match rest.flatten() {
                Some(rest) => format!("{}{rest}\n", self.to),
                None => format!("{line}\n"),
            }
        };
        let text: String = text.lines().map(changed).collect();
        fs::write(&path, text).map_err(failed)
    }
}
