//! Ranks that are killed, exit or abort: every other rank hears which one it was, within a second.

use crate::world::{Telling, World, this_test, unless_told};
use allhands::launch;
use allhands::{Communicator, Error, Sum, operation};
use allhands_suite::property::few_are_enough;
use std::time::Duration;

const RANKS: u32 = 5;
const VICTIM: usize = 2;
/// Within this time all others must have ended, if nothing else wants the cores.
const LIMIT: Duration = Duration::from_secs(1);

/// How the victim ends.
#[derive(Clone, Copy, Debug)]
enum Way {
    Killed,
    Exits,
    Aborts,
}

const WAYS: [Way; 3] = [Way::Killed, Way::Exits, Way::Aborts];

impl Way {
    fn go(self) -> ! {
        match self {
            Way::Exits => std::process::exit(3),
            Way::Aborts => std::process::abort(),
            Way::Killed => {
                // SAFETY: a signal to this very process.
                unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
                unreachable!("nobody survives this signal")
            }
        }
    }

    /// What a launcher tells of it.
    fn words(self) -> &'static str {
        match self {
            Way::Killed => "rank 2 was killed by signal 9 (SIGKILL)",
            Way::Exits => "rank 2 exited with code 3",
            Way::Aborts => "rank 2 was killed by signal 6 (SIGABRT)",
        }
    }
}

/// When the victim ends.
#[derive(Clone, Copy, Debug)]
enum When {
    BeforeTheFirstCall,
    AfterCalls(u32),
    /// Wherever it is then.
    AfterMicroseconds(u64),
}

/// What all ranks do over and over.
type Call = fn(&Communicator) -> Result<(), Error>;

fn allreduce(comm: &Communicator, elements: usize) -> Result<(), Error> {
    let mut vector = vec![1u64; elements];
    comm.allreduce_in_place(&mut vector, Sum)?;
    assert!(vector.iter().all(|&x| x == u64::from(RANKS)));
    Ok(())
}

fn short(comm: &Communicator) -> Result<(), Error> {
    allreduce(comm, 3)
}

/// Messages that their senders bounce.
fn middling(comm: &Communicator) -> Result<(), Error> {
    allreduce(comm, 3000)
}

/// Messages that are read from another process's memory.
fn long(comm: &Communicator) -> Result<(), Error> {
    comm.run(
        operation::allreduce_in_place(&mut vec![1u64; 60_000], &Sum)
            .algorithm("recursive-doubling"),
    )
}

/// Messages that their senders help to copy, while the root copies its own block.
fn gathered(comm: &Communicator) -> Result<(), Error> {
    gather(comm, "direct")
}

/// Messages that all their senders copy at the same time, where ranks share cores.
fn gathered_at_once(comm: &Communicator) -> Result<(), Error> {
    gather(comm, "direct:ports=4")
}

fn gather(comm: &Communicator, algorithm: &str) -> Result<(), Error> {
    const BLOCK: usize = 80_000;
    let (input, mut all) = (vec![1u64; BLOCK], vec![0; BLOCK * RANKS as usize]);
    let all = if comm.rank() == 0 {
        &mut all[..]
    } else {
        &mut []
    };
    comm.run(operation::gather(&input, all, 0).algorithm(algorithm))?;
    // Who has only sent hears of nothing otherwise.
    comm.barrier()
}

fn nonblocking(comm: &Communicator) -> Result<(), Error> {
    let start = |elements: usize| {
        comm.start(vec![1u64; elements], |v| {
            operation::allreduce_in_place(v, &Sum)
        })
    };
    let (mut one, other) = (start(3)?, start(20_000)?);
    for _ in 0..10 {
        if one.test() {
            break;
        }
        std::thread::yield_now();
    }
    let others = other.wait();
    one.wait()?;
    others.map(drop)
}

/// Waits by looking alone.
fn looking(comm: &Communicator) -> Result<(), Error> {
    let mut request = comm.start(vec![1u64; 5000], |v| operation::allreduce_in_place(v, &Sum))?;
    while !request.test() {
        std::thread::yield_now();
    }
    request.wait().map(drop)
}

fn new_communicators(comm: &Communicator) -> Result<(), Error> {
    // The victim has the same number in its part; those of the other part hear of it at the next call of all.
    let part = comm.split(Some(comm.rank() as u32 / 3), 0)?;
    let ended = part.map_or(Ok(()), |part| part.barrier());
    comm.dup()?.barrier()?;
    ended
}

const CALLS: [(&str, Call); 8] = [
    ("short", short),
    ("middling", middling),
    ("long", long),
    ("gathered", gathered),
    ("gathered at once", gathered_at_once),
    ("nonblocking", nonblocking),
    ("looking", looking),
    ("new communicators", new_communicators),
];

/// Calls until there is an error, which must hold these words; the victim ends before.
fn live(comm: &Communicator, call: Call, way: Way, when: When, words: &str) -> Result<(), Error> {
    let mut calls = u32::MAX;
    if comm.rank() == VICTIM {
        match when {
            When::BeforeTheFirstCall => way.go(),
            When::AfterCalls(number) => calls = number,
            When::AfterMicroseconds(moment) => {
                std::thread::spawn(move || {
                    std::thread::sleep(Duration::from_micros(moment));
                    way.go()
                });
            }
        }
    }
    for _ in 0..calls {
        if let Err(error) = call(comm) {
            // It is well if the victim hears of nothing: it ends.
            return if error.to_string().contains(words) {
                Ok(())
            } else {
                Err(error)
            };
        }
    }
    way.go()
}

/// One world in which the victim ends.
fn lose(test: &str, (name, call): (&str, Call), way: Way, when: When, telling: Telling) {
    let words = match telling {
        Telling::How => way.words(),
        Telling::Nothing => "rank 2 is gone, and nobody saw how it ended",
    };
    let part = format!(", {name}, {way:?}, {when:?}, {telling:?}");
    let world = World::start((test, &part), RANKS, telling, |world| {
        unless_told(world, words, |comm| live(comm, call, way, when, words))
    });
    let Some(mut world) = world else { return };
    let ends = world.ends(10 * LIMIT);
    let end = ends[VICTIM].at + LIMIT + world.held_up();
    let bad = |rank: &usize| match *rank {
        VICTIM => !ends[VICTIM].how.is_failure(),
        rank => ends[rank].how.is_failure() || ends[rank].at > end,
    };
    let bad: Vec<usize> = (0..RANKS as usize).filter(bad).collect();
    world.report(bad);
}

/// All calls, both with a launcher that tells and without, one way of ending after the other.
fn lose_in_all_calls(test: &str, whens: &[When]) {
    let mut ways = WAYS.iter().cycle();
    for call in CALLS {
        for telling in [Telling::How, Telling::Nothing] {
            for (when, way) in whens.iter().zip(ways.by_ref()) {
                lose(test, call, *way, *when, telling);
            }
        }
    }
}

#[test]
fn before_it_joins() {
    if std::env::var(launch::RANK).is_ok_and(|rank| rank == VICTIM.to_string()) {
        Way::Exits.go();
    }
    let when = When::BeforeTheFirstCall;
    lose(this_test!(), CALLS[0], Way::Exits, when, Telling::How);
}

#[test]
fn before_the_first_call() {
    lose_in_all_calls(this_test!(), &[When::BeforeTheFirstCall]);
}

#[test]
fn between_calls() {
    let whens = [When::AfterCalls(40), When::AfterCalls(1)];
    let tried = if few_are_enough() { 1 } else { whens.len() };
    lose_in_all_calls(this_test!(), &whens[..tried]);
}

#[test]
fn at_any_moment() {
    let moments = [300, 40, 1000, 4000, 20_000].map(When::AfterMicroseconds);
    let tried = if few_are_enough() { 1 } else { moments.len() };
    lose_in_all_calls(this_test!(), &moments[..tried]);
}

#[test]
fn nothing_is_left() {
    let body = |world: Result<Communicator, Error>| {
        let (way, when) = (Way::Killed, When::AfterCalls(3));
        unless_told(world, "rank 2", |comm| {
            live(comm, long, way, when, "rank 2")
        })
    };
    let Some(mut world) = World::start((this_test!(), ""), RANKS, Telling::How, body) else {
        return;
    };
    let processes = world.numbers();
    world.ends(10 * LIMIT);
    drop(world);
    for process in processes {
        let folder = std::path::PathBuf::from(format!("/proc/{process}"));
        assert!(!folder.exists(), "process {process} is there");
    }
    for file in std::fs::read_dir("/dev/shm")
        .into_iter()
        .flatten()
        .flatten()
    {
        let name = file.file_name();
        assert!(
            !name.to_string_lossy().contains("allhands"),
            "{name:?} is left"
        );
    }
}

/// As a program does whose `main` returns an error: the rank leaves in order, and its process ends badly.
#[test]
fn who_leaves_in_order_and_ends_badly_is_missed() {
    let body = |world: Result<Communicator, Error>| {
        let comm = world.map_err(|error| error.to_string())?;
        comm.barrier().map_err(|error| error.to_string())?;
        if comm.rank() == VICTIM {
            return Err("a mistake of its own".to_string());
        }
        // Its launcher has told by then how it has ended.
        std::thread::sleep(Duration::from_millis(300));
        let said = comm
            .barrier()
            .map_or_else(|error| error.to_string(), |()| "nothing".into());
        match said.contains("rank 2") {
            true => Ok(()),
            false => Err(said),
        }
    };
    if let Some(mut world) = World::start((this_test!(), ""), RANKS, Telling::How, body) {
        let ends = world.ends(10 * LIMIT);
        let failed: Vec<usize> = (0..ends.len())
            .filter(|r| ends[*r].how.is_failure())
            .collect();
        let others = failed.iter().copied().filter(|rank| *rank != VICTIM);
        world.report(others.collect());
        assert_eq!(failed, [VICTIM]);
    }
}
