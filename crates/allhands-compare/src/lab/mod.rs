//! The lab: emulated hosts joined by a switch with an exact rate, and what is compared on them.

use crate::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

mod bound;
pub(crate) mod clusters;
pub(crate) mod dropin;
mod plain;

/// Sizes between which what a byte takes is measured, of those that `pp` sends to and fro.
const SHORTER: u64 = 256 << 10;
const LONGER: u64 = 1 << 20;
/// The least that `pp` sends: on a stream of bytes there is no message of none.
const LEAST: u64 = 8;
/// Where `pp` listens, and how often it sends.
const PORT: &str = "7000";
const TRIPS: &str = "60";

/// The lab, while its hosts are up.
pub(super) struct Lab<'a> {
    root: &'a Path,
    hosts: u32,
}

impl<'a> Lab<'a> {
    /// Brings hosts up, with so many rails of this rate and delay.
    pub(super) fn up(
        root: &'a Path,
        hosts: u32,
        rails: u32,
        [rate, delay]: [&str; 2],
    ) -> Result<Self, Error> {
        let (count, rails) = (hosts.to_string(), rails.to_string());
        output(&mut command(root, &["up", &count, &rails, rate, delay]))?;
        Ok(Self { root, hosts })
    }

    /// Brings hosts up whose one rail is the kernel's pairs of devices and its bridge: the switch that gives rails a rate takes the
    /// processors for every packet. What the kernel hands on at once is as long as on the loopback, and not cut for that switch.
    pub(super) fn up_without_limits(root: &'a Path, hosts: u32) -> Result<Self, Error> {
        let mut command = command(root, &["up", &hosts.to_string(), "1", "0"]);
        command.env("LAB_MODE", "tbf").env("LAB_GSO", "65536");
        output(&mut command)?;
        Ok(Self { root, hosts })
    }

    pub(super) fn hosts(&self) -> u32 {
        self.hosts
    }

    /// Gives the last of two rails another rate, on every host.
    pub(super) fn slow_rail(&self, mbit_s: f64, delay: &str) -> Result<(), Error> {
        let rate = format!("{:.0}kbit", 1e3 * mbit_s);
        for host in 1..=self.hosts {
            output(&mut self.command(&["link", &host.to_string(), "1", &rate, delay]))?;
        }
        Ok(())
    }

    /// Where the lab has what it builds.
    pub(super) fn folder() -> PathBuf {
        std::env::var("LAB_DIR")
            .map_or_else(|_| std::env::temp_dir().join("allhands-lab"), Into::into)
    }

    /// A command of the lab's.
    pub(super) fn command(&self, words: &[&str]) -> Command {
        command(self.root, words)
    }

    /// Half a round trip of next to no bytes, and what a byte takes, in microseconds, between plain sockets of two hosts: nothing
    /// that is compared has a part in it.
    pub(super) fn network(&self) -> Result<[f64; 2], Error> {
        let program = Self::folder().join("bin/pp");
        let program = program.to_string_lossy();
        let mut server = self.command(&["exec", "1", &program, "s", PORT]);
        let mut server = server
            .env("LAB_SCHED", "rr")
            .spawn()
            .map_err(|error| Error::Lab(format!("{program}: {error}")))?;
        let words = ["exec", "2", &program, "c", "10.77.0.1", PORT, TRIPS];
        let text = output(self.command(&words).env("LAB_SCHED", "rr"));
        if text.is_err() {
            // It waits for somebody to connect; that it has ended already is as well.
            let _ = server.kill();
        }
        let _ = server.wait();
        of_trips(&text?).ok_or_else(|| Error::Lab("no round trips".into()))
    }
}

impl Drop for Lab<'_> {
    fn drop(&mut self) {
        if let Err(error) = output(&mut self.command(&["down"])) {
            eprintln!("the lab's hosts may still be up: {error}");
        }
    }
}

/// A command of the lab's, whether its hosts are up or not.
pub(super) fn command(root: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(root.join("lab/lab"));
    // A launcher's own temporary folder is none of the lab's.
    command
        .args(words)
        .stdin(Stdio::null())
        .env("LAB_DIR", Lab::folder());
    command
}

/// What a command prints; with an error, what it says as well.
pub(super) fn output(command: &mut Command) -> Result<String, Error> {
    let output = command.output();
    let output = output.map_err(|error| Error::Lab(format!("{command:?}: {error}")))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    match output.status.success() {
        true => Ok(text),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(Error::Lab(format!(
                "{command:?} ended with {}: {text}{said}",
                output.status
            )))
        }
    }
}

/// L and G from lines of `bytes median p10 p90`, of half a round trip in microseconds.
fn of_trips(text: &str) -> Option<[f64; 2]> {
    let half = |wanted: u64| -> Option<f64> {
        let mut lines = text.lines().map(|line| line.split_whitespace());
        let mut words = lines.find_map(|mut words| {
            let bytes: u64 = words.next()?.parse().ok()?;
            (bytes == wanted).then_some(words)
        })?;
        words.next()?.parse().ok()
    };
    let g = (half(LONGER)? - half(SHORTER)?) / (LONGER - SHORTER) as f64;
    Some([half(LEAST)?, g])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_known_by_round_trips() {
        let text = "8 550.0 540.1 560.0\n262144 11100.0 1 2\n1048576 42557.28 1 2\n";
        let [l, g] = of_trips(text).expect("all are there");
        assert_eq!(l, 550.0);
        assert!((g - 0.04).abs() < 1e-9, "{g}");
        assert_eq!(of_trips("8 550.0 540.1 560.0\n"), None);
    }
}
