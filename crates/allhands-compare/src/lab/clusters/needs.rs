//! What hosts of a lab need of the machine, and what to do where it is missing.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

/// Programs, and the packages of Debian's that bring them.
const PROGRAMS: [(&str, &str); 5] = [
    ("ip", "iproute2"),
    ("unshare", "util-linux"),
    ("nsenter", "util-linux"),
    ("sysctl", "procps"),
    ("cc", "gcc libc6-dev"),
];

/// A text that says all that is missing, if something is.
pub(crate) fn missing() -> Option<String> {
    let is_root = rustix::process::geteuid().is_root();
    let tunnels = File::options().read(true).write(true).open("/dev/net/tun");
    let programs = PROGRAMS.iter().filter(|(program, _)| !is_there(program));
    let mut lines = Vec::new();
    if !is_root {
        lines.push("it is not root, who alone makes hosts: `sudo -E cargo xtask lab`".to_owned());
    }
    for (program, package) in programs {
        lines.push(format!(
            "there is no {program}: `apt-get install {package}`"
        ));
    }
    if let Err(error) = tunnels.as_ref()
        && is_root
    {
        lines.push(format!(
            "/dev/net/tun: {error}: `modprobe tun`, or start the container with `--device /dev/net/tun`"
        ));
    }
    // Root in a container may make files, and no namespaces.
    if lines.is_empty() && !can_make_hosts() {
        lines.push(
            "namespaces are forbidden (`unshare --net --uts --ipc --mount --pid --fork true` fails): start the container with `--privileged`"
                .to_owned(),
        );
    }
    (!lines.is_empty()).then(|| {
        format!(
            "no hosts can be emulated here:\n    {}",
            lines.join("\n    ")
        )
    })
}

fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<_> = std::env::split_paths(&path).collect();
    // Where users' paths do not lead.
    folders.push(Path::new("/sbin").to_owned());
    folders.iter().any(|folder| folder.join(program).exists())
}

fn can_make_hosts() -> bool {
    let words = [
        "--net", "--uts", "--ipc", "--mount", "--pid", "--fork", "true",
    ];
    let mut command = Command::new("unshare");
    command
        .args(words)
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_looked_for() {
        assert!(is_there("sh"));
        assert!(!is_there("a program that nobody has"));
        // Whatever is missing here, something is said of it.
        assert!(missing().is_none_or(|text| text.lines().count() > 1));
    }
}
