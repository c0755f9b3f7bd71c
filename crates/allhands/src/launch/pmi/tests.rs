//! Tests of PMI-1 against a process manager made of threads, by descriptor and by port.

use crate::launch::{HOST, LaunchError, Launcher, Place, Whereabouts, find};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Barrier, Mutex};

/// What ranks talk to: one for each of them, with values and fences in common.
#[derive(Clone)]
struct Manager {
    ranks: u32,
    values: Arc<Mutex<HashMap<String, String>>>,
    barrier: Arc<Barrier>,
    /// A command that is answered with an error.
    refuses: Option<&'static str>,
}

impl Manager {
    fn new(ranks: u32) -> Manager {
        Manager {
            ranks,
            values: Arc::default(),
            barrier: Arc::new(Barrier::new(ranks as usize)),
            refuses: None,
        }
    }

    /// Serves one rank until it goes; what it asked, by the names of the commands.
    fn serve(&self, stream: impl Read + Write, rank_of: impl Fn(u32) -> u32) -> Vec<String> {
        let mut stream = BufReader::new(stream);
        let mut asked = Vec::new();
        let mut line = String::new();
        while stream.read_line(&mut line).unwrap_or(0) > 0 {
            let words = line
                .split_whitespace()
                .filter_map(|word| word.split_once('='));
            let words: HashMap<&str, &str> = words.collect();
            let command = words["cmd"];
            asked.push(command.to_string());
            let answer = match command {
                _ if self.refuses == Some(command) => {
                    format!("cmd={command}_result rc=-1 msg=no\n")
                }
                "initack" => {
                    let (rank, ranks) = (rank_of(words["pmiid"].parse().unwrap()), self.ranks);
                    // In three lines besides the answer, as hydra does.
                    format!(
                        "cmd=initack rc=0\ncmd=set size={ranks}\ncmd=set rank={rank}\ncmd=set debug=0\n"
                    )
                }
                "init" => "cmd=response_to_init pmi_subversion=2 pmi_version=1 rc=0\n".into(),
                "get_my_kvsname" => "cmd=my_kvsname kvsname=space_7\n".into(),
                "put" => {
                    assert_eq!(words["kvsname"], "space_7");
                    let (key, value) = (words["key"].to_string(), words["value"].to_string());
                    self.values.lock().unwrap().insert(key, value);
                    "rc=0 cmd=put_result msg=success\n".into()
                }
                "barrier_in" => {
                    self.barrier.wait();
                    "cmd=barrier_out\n".into()
                }
                "get" => match self.values.lock().unwrap().get(words["key"]) {
                    Some(value) => format!("cmd=get_result rc=0 value={value}\n"),
                    None => "cmd=get_result rc=1 msg=key_not_found\n".into(),
                },
                "finalize" => "cmd=finalize_ack rc=0\n".into(),
                other => panic!("a command that nobody needs: {other}"),
            };
            stream.get_mut().write_all(answer.as_bytes()).unwrap();
            line.clear();
        }
        asked
    }
}

/// What a rank finds with these variables, after it has finalized.
fn found(variables: &[(&str, String)]) -> Result<Place, LaunchError> {
    let found = whereabouts(variables)?;
    Ok(found.place().expect("a launcher is named"))
}

fn whereabouts(variables: &[(&str, String)]) -> Result<Whereabouts, LaunchError> {
    let environment = |name: &str| {
        let found = variables.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| value.clone())
    };
    let (found, session) = find(&environment)?;
    session.expect("a manager is finalized").finalize();
    Ok(found)
}

/// What ranks find, each on a host of this name, and what the manager was asked by each.
fn by_descriptor<R: Send>(
    manager: &Manager,
    host_of: &(dyn Fn(u32) -> String + Sync),
    find: impl Fn(&[(&str, String)]) -> R + Sync,
) -> Vec<(R, Vec<String>)> {
    std::thread::scope(|scope| {
        let find = &find;
        let start = |rank: u32| {
            let (ours, theirs) = UnixStream::pair().unwrap();
            let server = scope.spawn(move || manager.serve(ours, |_| unreachable!()));
            let client = scope.spawn(move || {
                find(&[
                    ("PMI_FD", theirs.as_raw_fd().to_string()),
                    ("PMI_RANK", rank.to_string()),
                    ("PMI_SIZE", manager.ranks.to_string()),
                    (HOST, host_of(rank)),
                ])
            });
            (client, server)
        };
        let all: Vec<_> = (0..manager.ranks).map(start).collect();
        all.into_iter()
            .map(|(c, s)| (c.join().unwrap(), s.join().unwrap()))
            .collect()
    })
}

#[test]
fn ranks_on_several_hosts_meet() {
    let host_of = |rank: u32| if rank == 0 { "a" } else { "b" }.to_string();
    let all = by_descriptor(&Manager::new(3), &host_of, whereabouts);
    for (rank, (found, asked)) in all.into_iter().enumerate() {
        let Whereabouts::Cluster(cluster) = found.unwrap() else {
            panic!("they are on two hosts");
        };
        assert_eq!(cluster.rank, rank as u32);
        assert_eq!(cluster.node_of, [0, 1, 1]);
        assert_eq!(cluster.hosts, ["a", "b", "b"]);
        let place = cluster.place.map(|place| (place.rank, place.launcher));
        let expected = [None, Some(0), Some(1)][rank];
        assert_eq!(place, expected.map(|rank| (rank, Launcher::Pmi)));
        assert_eq!(asked.last().unwrap(), "finalize");
    }
}

fn assert_one_world(places: &[Place], ranks: u32) {
    let inode = places[0].segment.inode().unwrap();
    for (rank, place) in places.iter().enumerate() {
        assert_eq!((place.rank, place.ranks), (rank as u32, ranks));
        assert_eq!(place.segment.inode().unwrap(), inode);
        assert_eq!(place.launcher, Launcher::Pmi);
    }
}

#[test]
fn ranks_with_a_descriptor_share_a_segment() {
    for ranks in [1, 4] {
        let (places, asked): (Vec<_>, Vec<_>) =
            by_descriptor(&Manager::new(ranks), &|_| String::new(), found)
                .into_iter()
                .unzip();
        let places: Vec<Place> = places.into_iter().map(Result::unwrap).collect();
        assert_one_world(&places, ranks);
        assert!(asked.iter().all(|a| a.last().unwrap() == "finalize"));
    }
}

#[test]
fn ranks_with_a_port_are_told_their_rank() {
    let manager = Manager::new(3);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().to_string();
    let mut places = std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..manager.ranks {
                let (stream, _) = listener.accept().unwrap();
                // Numbers of processes need not be the ranks.
                let manager = &manager;
                scope.spawn(move || manager.serve(stream, |id| 12 - id));
            }
        });
        let start = |id: u32| {
            let port = port.clone();
            scope.spawn(move || found(&[("PMI_PORT", port), ("PMI_ID", id.to_string())]).unwrap())
        };
        let all: Vec<_> = (10..13).map(start).collect();
        let places = all.into_iter().map(|place| place.join().unwrap());
        places.collect::<Vec<Place>>()
    });
    places.sort_by_key(|place| place.rank);
    assert_one_world(&places, 3);
}

#[test]
fn what_a_manager_refuses_is_an_error_that_quotes_it() {
    for (refuses, says) in [
        (
            "init",
            "asked to 'cmd=init pmi_version=1 pmi_subversion=1': cmd=init_result rc=-1",
        ),
        ("put", "key=allhands-rank-1"),
        (
            "get",
            "'cmd=get kvsname=space_7 key=allhands-segment': cmd=get_result rc=-1 msg=no",
        ),
    ] {
        // Rank 1 of two, whose rank 0 passes every fence: a barrier of one.
        let mut manager = Manager::new(1);
        manager.refuses = Some(refuses);
        let (ours, theirs) = UnixStream::pair().unwrap();
        let error = std::thread::scope(|scope| {
            let manager = &manager;
            scope.spawn(move || manager.serve(ours, |_| unreachable!()));
            let place = found(&[
                ("PMI_FD", theirs.as_raw_fd().to_string()),
                ("PMI_RANK", "1".into()),
                ("PMI_SIZE", "2".into()),
            ]);
            drop(theirs);
            place.unwrap_err().to_string()
        });
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn a_manager_that_goes_is_an_error() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    drop(ours);
    let error = found(&[
        ("PMI_FD", theirs.as_raw_fd().to_string()),
        ("PMI_RANK", "0".into()),
        ("PMI_SIZE", "1".into()),
    ]);
    let error = error.unwrap_err().to_string();
    assert!(
        error.starts_with("the process manager (PMI-1), asked to 'cmd=init"),
        "{error}"
    );
}
