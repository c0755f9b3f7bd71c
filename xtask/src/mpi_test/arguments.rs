//! What is asked of the tests: which MPIs, with how many ranks.

use super::Error;
use super::mpi::{KINDS, Kind};

pub(super) const HELP: &str = "\
cargo xtask mpi-test [--peers NAMES] [--ranks NUMBERS] [--no-mpi4py] [--only WORDS] [--repeat NUMBER]
cargo xtask mpi-test --programs [--ranks NUMBERS]

  --peers NAMES     of mpich, openmpi, intel, standard and intel-standard (MPICH's and Intel's standard ABI), debian-mpich and
                    debian-openmpi; all at first
  --ranks NUMBERS   with how many ranks every test is run; 1,2,5 at first, and the C programs under MPICH and Open MPI also with 3
  --no-mpi4py       leave out mpi4py's own suite
  --only WORDS      run those tests alone whose titles contain one of these words
  --repeat NUMBER   run everything as often in a row; once at first
  --programs        run programs from Debian (LAMMPS, HPCC, Quantum ESPRESSO, ScaLAPACK's testers) with and without the
                    library, and compare their answers; with 2 and 4 ranks at first

Everything is also run on nodes that ranks pretend to be on (ALLHANDS_NODES), where calls go through the MPI's messages.
Debian's MPIs are installed with apt-get, the others with pip below target/peers. The programs are those in
crates/allhands-mpi/tests.
";

/// What the words ask for.
pub(super) struct Arguments {
    pub(super) kinds: Vec<&'static Kind>,
    pub(super) ranks: Vec<usize>,
    /// Whether these are not named, but those at first.
    are_those_at_first: bool,
    pub(super) mpi4py: bool,
    pub(super) programs: bool,
    /// Words of the tests to run; none: all of them.
    pub(super) only: Vec<String>,
    pub(super) rounds: usize,
}

impl Arguments {
    pub(super) fn parse(words: &[&str]) -> Result<Arguments, Error> {
        let mut arguments = Arguments {
            kinds: KINDS.iter().collect(),
            ranks: Vec::new(),
            are_those_at_first: false,
            mpi4py: true,
            programs: false,
            only: Vec::new(),
            rounds: 1,
        };
        let mut words = words.iter();
        let unknown = |what: &str| Error::Usage(format!("'{what}' is not understood"));
        while let Some(word) = words.next() {
            let mut value = || words.next().copied().ok_or_else(|| unknown(word));
            match *word {
                "--no-mpi4py" => arguments.mpi4py = false,
                "--programs" => arguments.programs = true,
                "--only" => {
                    let words = value()?.split(',').filter(|word| !word.is_empty());
                    arguments.only = words.map(str::to_string).collect();
                }
                "--repeat" => {
                    let rounds = value()?;
                    let rounds = rounds.parse().map_err(|_| unknown(rounds))?;
                    arguments.rounds = rounds;
                }
                "--peers" => {
                    let kind = |text: &str| KINDS.iter().find(|kind| kind.name == text);
                    let names = value()?
                        .split(',')
                        .map(|text| kind(text).ok_or_else(|| unknown(text)));
                    arguments.kinds = names.collect::<Result<_, _>>()?;
                }
                "--ranks" => {
                    let number = |text: &str| text.parse().ok().filter(|n| (1..=64).contains(n));
                    let numbers = value()?
                        .split(',')
                        .map(|text| number(text).ok_or_else(|| unknown(text)));
                    arguments.ranks = numbers.collect::<Result<_, _>>()?;
                }
                word => return Err(unknown(word)),
            }
        }
        if arguments.ranks.is_empty() {
            arguments.are_those_at_first = true;
            arguments.ranks = if arguments.programs {
                vec![2, 4]
            } else {
                vec![1, 2, 5]
            };
        }
        Ok(arguments)
    }

    /// With how many ranks the C programs are run under an MPI.
    ///
    /// Three, which have rounds that neither two nor five have, take as long as a third of all others, so not under each.
    pub(super) fn ranks_of_programs(&self, kind: &Kind) -> Vec<usize> {
        let adds_three = self.are_those_at_first && matches!(kind.name, "mpich" | "openmpi");
        let three = adds_three.then_some(3);
        self.ranks.iter().copied().chain(three).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks(words: &[&str]) -> Vec<Vec<usize>> {
        let arguments = Arguments::parse(words).unwrap();
        let kinds = arguments.kinds.iter();
        kinds
            .map(|kind| arguments.ranks_of_programs(kind))
            .collect()
    }

    #[test]
    fn three_ranks_are_run_under_two_mpis_unless_ranks_are_named() {
        let with_three = ranks(&[])
            .into_iter()
            .filter(|ranks| ranks == &[1, 2, 5, 3]);
        assert_eq!(with_three.count(), 2);
        assert_eq!(ranks(&["--peers", "intel"]), [[1, 2, 5]]);
        assert_eq!(ranks(&["--peers", "mpich", "--ranks", "2"]), [[2]]);
    }
}
