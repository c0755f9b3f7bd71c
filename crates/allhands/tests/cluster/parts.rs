//! What a rank does in a test.

use allhands::launch::{NETWORK, PORTS, RANK, RENDEZVOUS};
use allhands::{Communicator, Error, Source, Sum, Tag, operation};
use allhands_suite::communicator::splits;
use allhands_suite::messages::{self, traffic};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Plays a part; who finds something wrong says so and ends with another code than 0.
pub fn play(part: &str) {
    let (part, rest) = part.split_once(' ').unwrap_or((part, ""));
    let result = match part {
        "collectives" => Communicator::world().map(|comm| {
            collectives(&comm);
            nobody_listens_at_the_point();
            if rest == "on one host" {
                assert_eq!(comm.nodes().to_string(), "one");
                assert_eq!(sockets(), 0, "a world on one host has no sockets");
            }
        }),
        "ports" => Communicator::world().map(|comm| {
            collectives(&comm);
            assert!(std::env::var(PORTS).is_ok_and(|ports| ports == rest));
            let ports = listening_ports();
            assert_eq!(ports.len(), 2, "{ports:?}: one for each rail");
            assert!(
                ports.iter().all(|port| (21000..22000).contains(port)),
                "{ports:?}"
            );
            barrier(&comm);
        }),
        "connected" => Communicator::world().map(|comm| {
            // On three hosts, as many on each. One socket listens, for the one rail.
            let (connections, others) = (sockets() - 1, comm.size() / 3 * 2);
            assert!(connections >= others, "{connections} of {others}");
            collectives(&comm);
        }),
        "messages" => Communicator::world().and_then(|comm| messages(&comm)),
        "splits" => Communicator::world().and_then(splits),
        "die" => Communicator::world().and_then(|comm| die(&comm, rest)),
        "die-waited-for" => Communicator::world().and_then(|comm| die_waited_for(&comm, rest)),
        "measured" => Communicator::world().map(|comm| measured(&comm)),
        "die-before" => die_before(rest),
        "barriers" => barriers(),
        "computes" => computes(rest),
        "wait" => Communicator::world().map(|_| std::thread::sleep(Duration::from_secs(60))),
        other => panic!("no such part: {other}"),
    };
    if let Err(error) = result {
        eprintln!("{error}");
        std::process::exit(3);
    }
}

fn barrier(comm: &Communicator) {
    comm.barrier().expect("all come");
}

/// Calls of all kinds, with answers that every rank knows.
fn collectives(comm: &Communicator) {
    let (rank, size) = (comm.rank(), comm.size());
    let all = size as u64 * (size as u64 + 1) / 2;
    for count in [1, 1000, 100_000] {
        let mine: Vec<u64> = (0..count as u64)
            .map(|i| (rank as u64 + 1) * (i + 1))
            .collect();
        let mut sums = vec![0; count];
        comm.allreduce(&mine, &mut sums, Sum).expect("all call");
        assert!(sums.iter().zip(1..).all(|(sum, i)| *sum == all * i));
        for root in [0, size - 1] {
            let mut word = vec![if rank == root { 7 + count as u64 } else { 0 }; count];
            comm.broadcast(&mut word, root).expect("all call");
            assert!(word.iter().all(|w| *w == 7 + count as u64));
        }
        let mut gathered = vec![0; count * size];
        comm.allgather(&mine, &mut gathered).expect("all call");
        for (from, block) in gathered.chunks(count).enumerate() {
            assert!(
                block
                    .iter()
                    .zip(1..)
                    .all(|(v, i)| *v == (from as u64 + 1) * i)
            );
        }
        let pairs: Vec<u64> = (0..size * count)
            .map(|i| (rank * size + i / count) as u64)
            .collect();
        let mut came = vec![0; size * count];
        comm.alltoall(&pairs, &mut came).expect("all call");
        for (from, block) in came.chunks(count).enumerate() {
            assert!(block.iter().all(|v| *v == (from * size + rank) as u64));
        }
        let mut prefix = vec![0; count];
        comm.scan(&mine, &mut prefix, Sum).expect("all call");
        let so_far = (rank as u64 + 1) * (rank as u64 + 2) / 2;
        assert!(prefix.iter().zip(1..).all(|(v, i)| *v == so_far * i));
    }
    let request = comm
        .start(vec![1_u32; 5000], |v| {
            operation::allreduce_in_place(v, &Sum)
        })
        .expect("all call");
    barrier(comm);
    let sums = request.wait().expect("all call");
    assert!(sums.iter().all(|sum| *sum == size as u32));
}

/// Messages between two ranks of all kinds.
fn messages(comm: &Communicator) -> Result<(), Error> {
    messages::messages_of_every_length_go_round(comm)?;
    messages::messages_and_calls_take_one_another_further(comm)?;
    messages::a_message_that_does_not_fit_is_gone_and_the_rest_stays(comm)?;
    (0..3).try_for_each(|seed| {
        traffic::random_messages_are_all_received(comm, seed)?;
        traffic::random_receives_are_all_met(comm, seed)
    })
}

/// Communicators of all kinds go through the connections of the world, which is dropped before the last of them.
fn splits(comm: Communicator) -> Result<(), Error> {
    let (rank, size) = (comm.rank(), comm.size());
    // Now there are all connections.
    collectives(&comm);
    barrier(&comm);
    let before = sockets();
    splits::rows_and_columns_of_a_grid(&comm)?;
    splits::who_has_no_colour_gets_no_communicator(&comm)?;
    splits::copies_of_copies_outlive_what_they_were_made_of(&comm)?;
    splits::ranks_drop_in_orders_of_their_own(&comm)?;
    splits::what_is_sent_to_who_has_dropped_harms_nobody(&comm)?;
    let backwards = comm.split(Some(0), (size - rank) as u64)?;
    let backwards = backwards.expect("it has a colour");
    barrier(&comm);
    // Over libfabric the first word of a rank that leaves makes a connection for words.
    if std::env::var(NETWORK).is_err() {
        assert_eq!(sockets(), before, "no connection is made for them");
    }
    drop(comm);
    assert_eq!(backwards.rank(), size - 1 - rank);
    collectives(&backwards);
    Ok(())
}

/// One rank is killed for which others wait, each in its own way, and the last one for a rank that lives.
fn die_waited_for(comm: &Communicator, victim: &str) -> Result<(), Error> {
    let (rank, last) = (comm.rank(), comm.size() - 1);
    let killed: usize = victim.parse().expect("a rank");
    barrier(comm);
    if killed == rank {
        std::thread::sleep(Duration::from_millis(50));
        // SAFETY: a signal to this very process.
        unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    }
    let before = Instant::now();
    let mut room = [0_u8; 4];
    let ended = match (rank + last - killed) % 4 {
        _ if rank == last && killed > 0 => comm.recv(&mut room, 0, 0).map(drop),
        0 => comm.recv(&mut room, killed, 0).map(drop),
        1 => comm.recv(&mut room, Source::Any, Tag::Any).map(drop),
        2 => comm.send(&vec![1_u64; 500_000], killed, 0),
        _ => comm.probe(killed, Tag::Any).map(drop),
    };
    let (error, took) = (ended.expect_err("it is dead"), before.elapsed());
    assert!(took < Duration::from_secs(2), "it takes {took:?}: {error}");
    assert!(
        error.to_string().contains(&format!("rank {victim} ")),
        "{error}"
    );
    Err(error)
}

/// All have measured what messages between them take, and know the same.
fn measured(comm: &Communicator) {
    let times = comm.network_times().expect("it was measured");
    let mut bits = times.numbers().map(f64::to_bits);
    comm.broadcast(&mut bits, comm.size() - 1)
        .expect("all call");
    assert_eq!(bits, times.numbers().map(f64::to_bits));
}

/// One rank is killed when all have met, and is not there when the others share memory, or measure.
fn die_before(victim: &str) -> Result<(), Error> {
    let rank = std::env::var(RANK).expect("it is set");
    // On one host there is a place; on several, the rest is up to the world.
    let _ = allhands::launch::place();
    if rank == victim {
        // SAFETY: a signal to this very process.
        unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    }
    let begun = Instant::now();
    let ended = barriers();
    let (took, names) = (begun.elapsed(), format!("rank {victim} "));
    assert!(took < Duration::from_secs(5), "it takes {took:?}");
    let ended = ended.inspect_err(|error| assert!(error.to_string().contains(&names), "{error}"));
    // Who has failed and goes on must not keep those waiting who have not heard of it.
    std::thread::sleep(Duration::from_secs(3));
    ended
}

/// One rank computes for long when it has a world, and the others have one, too.
fn computes(busy: &str) -> Result<(), Error> {
    let begun = Instant::now();
    let comm = Communicator::world()?;
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(3), "it takes {took:?}");
    if busy.parse() == Ok(comm.rank()) {
        std::thread::sleep(Duration::from_secs(4));
    }
    comm.barrier()
}

/// A world, and calls without end.
fn barriers() -> Result<(), Error> {
    let comm = Communicator::world()?;
    loop {
        comm.barrier()?;
    }
}

/// One rank is killed, and the others find out soon which.
fn die(comm: &Communicator, victim: &str) -> Result<(), Error> {
    barrier(comm);
    if victim.parse() == Ok(comm.rank()) {
        // SAFETY: a signal to this very process.
        unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    }
    let before = Instant::now();
    let error = loop {
        match comm.allreduce_value(1_u32, Sum) {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    let took = before.elapsed();
    assert!(took < Duration::from_secs(5), "it takes {took:?}: {error}");
    let names = format!("rank {victim} ");
    assert!(error.to_string().contains(&names), "{error}");
    Err(error)
}

fn nobody_listens_at_the_point() {
    let place = std::env::var(RENDEZVOUS).expect("it is set");
    let error = TcpStream::connect(&place).expect_err("nobody listens any more");
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
}

/// How many sockets of the network this process has.
fn sockets() -> usize {
    inodes().len()
}

fn inodes() -> Vec<String> {
    let tables = ["tcp", "tcp6"]
        .map(|name| std::fs::read_to_string(format!("/proc/self/net/{name}")).unwrap_or_default());
    let of_tcp: Vec<&str> = tables
        .iter()
        .flat_map(|t| t.lines())
        .filter_map(|l| l.split_whitespace().nth(9))
        .collect();
    let own = std::fs::read_dir("/proc/self/fd").expect("there is /proc");
    let own = own
        .flatten()
        .filter_map(|fd| std::fs::read_link(fd.path()).ok());
    let own = own.filter_map(|to| {
        Some(
            to.to_str()?
                .strip_prefix("socket:[")?
                .strip_suffix(']')?
                .to_string(),
        )
    });
    own.filter(|inode| of_tcp.contains(&inode.as_str()))
        .collect()
}

/// The ports at which this process listens.
fn listening_ports() -> Vec<u16> {
    let own = inodes();
    let table = std::fs::read_to_string("/proc/self/net/tcp").unwrap_or_default();
    let port = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let listens = words.get(3) == Some(&"0A")
            && own
                .iter()
                .any(|inode| Some(&inode.as_str()) == words.get(9));
        let (_, port) = words.get(1)?.split_once(':')?;
        listens.then(|| u16::from_str_radix(port, 16).ok())?
    };
    table.lines().filter_map(port).collect()
}
