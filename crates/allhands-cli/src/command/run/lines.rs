//! Output with prefixes: whole lines of many ranks, each with its rank before it.

use super::hosts::record::Record;
use rustix::event::PollFlags;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;

/// A longer line is parted, so that a program which never ends its line does not fill the memory.
const LONGEST_LINE: usize = 64 << 10;
/// While more than this waits to be written, ranks wait too.
const MOST_WAITING: usize = 1 << 20;
/// What can be written without waiting to whatever is ready to be written to.
const CHUNK: usize = 4096;

/// In which form output is forwarded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Whole lines, each with its rank before it.
    #[default]
    Lines,
    /// The same, as records for a launcher on another host.
    RecordsOfLines,
    /// What came, as records.
    Records,
}

/// Where a line goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    Stdout,
    Stderr,
}

/// A rank's pipe, and the part of a line that has come so far.
struct Pipe {
    fd: OwnedFd,
    rank: u32,
    stream: Stream,
    line: Vec<u8>,
}

/// What waits to be written.
#[derive(Default)]
struct Queue {
    bytes: Vec<u8>,
    written: usize,
    /// Nobody reads on.
    closed: bool,
}

/// The pipes of all ranks, and the lines from them.
#[derive(Default)]
pub struct Lines {
    form: Form,
    pipes: Vec<Option<Pipe>>,
    queues: [Queue; 2],
}

/// A place in [`Lines`] that waits for something.
#[derive(Clone, Copy, Debug)]
pub enum Waiting {
    Pipe(usize),
    Out(Stream),
}

impl Lines {
    pub fn new(form: Form) -> Lines {
        Lines {
            form,
            ..Lines::default()
        }
    }

    /// Forwards what comes from this pipe.
    pub fn add(&mut self, rank: u32, stream: Stream, fd: OwnedFd) {
        let line = Vec::new();
        self.pipes.push(Some(Pipe {
            fd,
            rank,
            stream,
            line,
        }));
    }

    /// A line of the launcher's own.
    pub fn say(&mut self, line: &str) {
        match self.form {
            Form::Lines => self.push(Stream::Stderr, "", format!("allhands: {line}").as_bytes()),
            _ => self.record(&Record::Says(line.into())),
        }
    }

    /// A rank has failed, which makes this the exit code: a launcher on another host must know at once.
    pub fn fail(&mut self, code: u8) {
        if self.form != Form::Lines {
            self.record(&Record::Failed(code));
        }
    }

    fn record(&mut self, record: &Record) {
        let queue = &mut self.queues[Stream::Stdout as usize];
        if !queue.closed {
            queue.bytes.extend(record.encode());
        }
    }

    /// What is waited for now.
    pub fn waiting(&self) -> impl Iterator<Item = (Waiting, BorrowedFd<'_>, PollFlags)> {
        let pipes = self.pipes.iter().enumerate().filter_map(|(at, pipe)| {
            let pipe = pipe.as_ref()?;
            let through = if self.form == Form::Lines {
                pipe.stream
            } else {
                Stream::Stdout
            };
            let full = self.queues[through as usize].left() > MOST_WAITING;
            (!full).then_some((Waiting::Pipe(at), pipe.fd.as_fd(), PollFlags::IN))
        });
        let outs = [Stream::Stdout, Stream::Stderr].into_iter();
        let outs = outs.filter(|stream| self.queues[*stream as usize].left() > 0);
        pipes.chain(outs.map(|stream| (Waiting::Out(stream), out(stream), PollFlags::OUT)))
    }

    /// Whether any pipe may still bring something, or anything is still to be written.
    pub fn is_busy(&self) -> bool {
        self.pipes.iter().any(Option::is_some) || self.queues.iter().any(|q| q.left() > 0)
    }

    /// Does what was waited for.
    pub fn advance(&mut self, ready: Waiting) {
        match ready {
            Waiting::Pipe(at) => self.read(at),
            Waiting::Out(stream) => self.write(stream),
        }
    }

    /// Reads no more, and ends the lines that have begun.
    pub fn close(&mut self) {
        for at in 0..self.pipes.len() {
            self.close_pipe(at);
        }
    }

    fn read(&mut self, at: usize) {
        let mut buffer = [0; 16 << 10];
        let Some(pipe) = &mut self.pipes[at] else {
            return;
        };
        let got = match rustix::io::read(&pipe.fd, &mut buffer) {
            Ok(0) => return self.close_pipe(at),
            Ok(got) => got,
            Err(Errno::INTR | Errno::AGAIN) => return,
            Err(_) => return self.close_pipe(at),
        };
        let (prefix, stream) = (format!("[{}] ", pipe.rank), pipe.stream);
        if self.form == Form::Records {
            let piece = buffer[..got].to_vec();
            return self.record(&Record::Output(stream, piece));
        }
        let mut line = std::mem::take(&mut pipe.line);
        for part in buffer[..got].split_inclusive(|byte| *byte == b'\n') {
            match part.strip_suffix(b"\n") {
                Some(end) => {
                    line.extend_from_slice(end);
                    self.push(stream, &prefix, &line);
                    line.clear();
                }
                None => line.extend_from_slice(part),
            }
        }
        if line.len() > LONGEST_LINE {
            self.push(stream, &prefix, &line);
            line.clear();
        }
        if let Some(pipe) = &mut self.pipes[at] {
            pipe.line = line;
        }
    }

    fn close_pipe(&mut self, at: usize) {
        if let Some(pipe) = self.pipes[at].take()
            && !pipe.line.is_empty()
        {
            self.push(pipe.stream, &format!("[{}] ", pipe.rank), &pipe.line);
        }
    }

    fn push(&mut self, stream: Stream, prefix: &str, line: &[u8]) {
        if self.form != Form::Lines {
            let line = [prefix.as_bytes(), line, b"\n"].concat();
            return self.record(&Record::Output(stream, line));
        }
        let queue = &mut self.queues[stream as usize];
        if !queue.closed {
            queue.bytes.extend_from_slice(prefix.as_bytes());
            queue.bytes.extend_from_slice(line);
            queue.bytes.push(b'\n');
        }
    }

    fn write(&mut self, stream: Stream) {
        let queue = &mut self.queues[stream as usize];
        let end = queue.bytes.len().min(queue.written + CHUNK);
        match rustix::io::write(out(stream), &queue.bytes[queue.written..end]) {
            Ok(written) => queue.written += written,
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => {
                // The reader has gone: what writes there shall see it, as it would without the launcher between them.
                queue.closed = true;
                queue.written = queue.bytes.len();
                let is_all = self.form != Form::Lines;
                self.pipes.retain_mut(|pipe| {
                    let gone = pipe
                        .as_ref()
                        .is_some_and(|pipe| is_all || pipe.stream == stream);
                    if gone {
                        *pipe = None;
                    }
                    true
                });
            }
        }
        let queue = &mut self.queues[stream as usize];
        // Moved to the front only now and then, so that a byte is moved about once.
        if queue.written * 2 > queue.bytes.len() {
            queue.bytes.drain(..queue.written);
            queue.written = 0;
        }
    }
}

impl Queue {
    fn left(&self) -> usize {
        self.bytes.len() - self.written
    }
}

fn out(stream: Stream) -> BorrowedFd<'static> {
    match stream {
        Stream::Stdout => rustix::stdio::stdout(),
        Stream::Stderr => rustix::stdio::stderr(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting_in(lines: &Lines, stream: Stream) -> String {
        let queue = &lines.queues[stream as usize];
        String::from_utf8(queue.bytes[queue.written..].to_vec()).unwrap()
    }

    #[test]
    fn lines_are_whole_also_the_last() {
        let mut lines = Lines::default();
        let mut ends = Vec::new();
        for (rank, stream) in [
            (0, Stream::Stdout),
            (12, Stream::Stdout),
            (1, Stream::Stderr),
        ] {
            let (from, to) = rustix::pipe::pipe().unwrap();
            lines.add(rank, stream, from);
            ends.push(to);
        }
        let write = |at: usize, text: &str| rustix::io::write(&ends[at], text.as_bytes()).unwrap();
        write(0, "a b");
        lines.read(0);
        write(1, "one\ntwo\n\nthr");
        lines.read(1);
        write(0, "c\n");
        lines.read(0);
        write(2, "wrong\n");
        lines.read(2);
        drop(ends);
        for at in 0..3 {
            lines.read(at);
        }
        let out = "[12] one\n[12] two\n[12] \n[0] a bc\n[12] thr\n";
        assert_eq!(waiting_in(&lines, Stream::Stdout), out);
        assert_eq!(waiting_in(&lines, Stream::Stderr), "[1] wrong\n");
        assert!(lines.pipes.iter().all(Option::is_none) && lines.is_busy());
    }

    #[test]
    fn a_line_without_end_is_parted() {
        let mut lines = Lines::default();
        let (from, to) = rustix::pipe::pipe().unwrap();
        lines.add(3, Stream::Stdout, from);
        for _ in 0..9 {
            rustix::io::write(&to, &[b'x'; 8192]).unwrap();
            lines.read(0);
        }
        let text = waiting_in(&lines, Stream::Stdout);
        assert!(text.starts_with("[3] xxx") && text.ends_with("xxx\n"));
        assert!(text.len() > LONGEST_LINE);
    }
}
