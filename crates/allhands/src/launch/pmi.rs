//! PMI-1: lines of text by which MPICH's family of process managers talks to the processes it starts.
//!
//! A line is `cmd=name key=value key=value`; keys come in any order, and `rc` may be left out where all is well.

use super::exchange::Exchange;
use super::{Environment, LaunchError, number, rank_and_ranks, wrong};
use rustix::fd::{FromRawFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::SendFlags;
use std::net::TcpStream;

/// A connection to the process manager.
#[derive(Debug)]
pub(super) struct Client {
    socket: OwnedFd,
    /// What was received behind the last line that was taken.
    received: Vec<u8>,
    rank: u32,
    ranks: u32,
    /// The name of the space in which values are put.
    space: String,
}

/// A line as its keys and values.
#[derive(Debug)]
struct Message(Vec<(String, String)>);

impl Message {
    fn parse(line: &str) -> Message {
        let pairs = line
            .split_whitespace()
            .filter_map(|word| word.split_once('='));
        Message(
            pairs
                .map(|(key, value)| (key.into(), value.into()))
                .collect(),
        )
    }

    fn get(&self, key: &str) -> Option<&str> {
        let found = self.0.iter().find(|(name, _)| name == key);
        found.map(|(_, value)| value.as_str())
    }

    fn number(&self, key: &str) -> Option<u32> {
        self.get(key)?.parse().ok()
    }
}

impl Client {
    /// Connects if the environment names a manager.
    pub(super) fn connect(environment: Environment<'_>) -> Result<Option<Client>, LaunchError> {
        let mut client = if environment("PMI_FD").is_some() {
            let (rank, ranks) = rank_and_ranks(environment, "PMI_RANK", "PMI_SIZE")?;
            let fd = number(environment, "PMI_FD", i32::MAX as u32)?;
            // SAFETY: F_DUPFD_CLOEXEC touches no memory, and refuses a number that is no open descriptor.
            let copy = unsafe { libc::fcntl(fd as i32, libc::F_DUPFD_CLOEXEC, 3) };
            if copy < 0 {
                let right = "the descriptor of a connection to the process manager";
                return Err(wrong(environment, "PMI_FD", right.into()));
            }
            // SAFETY: fcntl has just made this descriptor, so nobody else owns it.
            Client::new(unsafe { OwnedFd::from_raw_fd(copy) }, rank, ranks)
        } else if let Some(port) = environment("PMI_PORT") {
            let id = number(environment, "PMI_ID", u32::MAX)?;
            let stream = TcpStream::connect(&port).map_err(|error| {
                let right = format!("HOST:PORT of a process manager ({error})");
                wrong(environment, "PMI_PORT", right)
            })?;
            let _ = stream.set_nodelay(true);
            let mut client = Client::new(stream.into(), u32::MAX, 0);
            client.introduce(id)?;
            client
        } else {
            return Ok(None);
        };
        client.ask(
            "cmd=init pmi_version=1 pmi_subversion=1",
            "response_to_init",
        )?;
        let answer = client.ask("cmd=get_my_kvsname", "my_kvsname")?;
        let space = answer.get("kvsname");
        client.space = space
            .ok_or_else(|| failed("get_my_kvsname", "no kvsname"))?
            .into();
        Ok(Some(client))
    }

    fn new(socket: OwnedFd, rank: u32, ranks: u32) -> Client {
        let (received, space) = (Vec::new(), String::new());
        Client {
            socket,
            received,
            rank,
            ranks,
            space,
        }
    }

    /// Says who this is on a connection of its own; the manager answers with the rank and the number of ranks.
    fn introduce(&mut self, id: u32) -> Result<(), LaunchError> {
        let request = format!("cmd=initack pmiid={id}");
        let answer = self.ask(&request, "initack")?;
        let (mut rank, mut ranks) = (answer.number("rank"), answer.number("size"));
        // Some say it in the answer, some in lines of their own behind it, some both.
        while rank.is_none() || ranks.is_none() {
            let line = self.receive(&request)?;
            let message = Message::parse(&line);
            if message.get("cmd") != Some("set") {
                return Err(failed(&request, &line));
            }
            rank = rank.or(message.number("rank"));
            ranks = ranks.or(message.number("size"));
        }
        let (rank, ranks) = (rank.unwrap_or(u32::MAX), ranks.unwrap_or(0));
        if rank >= ranks {
            return Err(failed(&request, &format!("rank {rank} of {ranks}")));
        }
        (self.rank, self.ranks) = (rank, ranks);
        Ok(())
    }

    /// Sends a request and waits for the answer of this name.
    fn ask(&mut self, request: &str, answer: &str) -> Result<Message, LaunchError> {
        self.send(request)?;
        loop {
            let line = self.receive(request)?;
            let message = Message::parse(&line);
            match message.get("cmd") {
                // Settings that come unasked on a connection by port.
                Some("set") => {}
                Some(name) if name == answer && matches!(message.get("rc"), None | Some("0")) => {
                    return Ok(message);
                }
                _ => return Err(failed(request, &line)),
            }
        }
    }

    fn send(&mut self, request: &str) -> Result<(), LaunchError> {
        let line = format!("{request}\n");
        let mut rest = line.as_bytes();
        while !rest.is_empty() {
            // A manager that has gone is an error here, and no signal that ends the process.
            match rustix::net::send(&self.socket, rest, SendFlags::NOSIGNAL) {
                Ok(sent) => rest = &rest[sent..],
                Err(Errno::INTR) => {}
                Err(error) => return Err(failed(request, &error.to_string())),
            }
        }
        Ok(())
    }

    /// The next line.
    fn receive(&mut self, request: &str) -> Result<String, LaunchError> {
        loop {
            if let Some(end) = self.received.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.received.drain(..=end).collect();
                return Ok(String::from_utf8_lossy(&line).trim().to_string());
            }
            let mut buffer = [0; 1024];
            match rustix::io::read(&self.socket, &mut buffer) {
                Ok(0) => return Err(failed(request, "it has closed the connection")),
                Ok(got) => self.received.extend_from_slice(&buffer[..got]),
                Err(Errno::INTR) => {}
                Err(error) => return Err(failed(request, &error.to_string())),
            }
        }
    }
}

impl Exchange for Client {
    fn rank_and_ranks(&self) -> (u32, u32) {
        (self.rank, self.ranks)
    }

    fn put(&mut self, key: &str, value: &str) -> Result<(), LaunchError> {
        let request = format!("cmd=put kvsname={} key={key} value={value}", self.space);
        self.ask(&request, "put_result").map(|_| ())
    }

    fn fence(&mut self) -> Result<(), LaunchError> {
        self.ask("cmd=barrier_in", "barrier_out").map(|_| ())
    }

    fn get(&mut self, _: u32, key: &str) -> Result<String, LaunchError> {
        let request = format!("cmd=get kvsname={} key={key}", self.space);
        let answer = self.ask(&request, "get_result")?;
        let value = answer.get("value").map(str::to_string);
        value.ok_or_else(|| failed(&request, "no value"))
    }

    fn finalize(&mut self) {
        let _ = self.ask("cmd=finalize", "finalize_ack");
    }
}

fn failed(request: &str, answer: &str) -> LaunchError {
    LaunchError::Manager {
        protocol: "PMI-1",
        request: format!("'{request}'"),
        answer: answer.into(),
    }
}

#[cfg(test)]
mod tests;
