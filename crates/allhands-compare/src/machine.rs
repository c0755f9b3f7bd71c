//! The machine and the versions under test, as printed above the table.

use std::fs;
use std::path::Path;
use std::process::Command;
use xtask::peers::PEERS;

/// How many cores this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// What was run on what, a line each.
pub fn describe(root: &Path, peers: &[&str]) -> Vec<String> {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info
        .lines()
        .find_map(|line| line.strip_prefix("model name"));
    let model = model.map_or("unknown", |rest| rest.trim_start_matches([' ', '\t', ':']));
    let read = |path: &str| {
        fs::read_to_string(path)
            .map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned())
    };
    let load = read("/proc/loadavg");
    let load = load.split(' ').next().unwrap_or_default();
    let mut versions = vec![format!("Allhands {}", commit(root))];
    let wanted = PEERS.iter().filter(|peer| peers.contains(&peer.name));
    versions.extend(wanted.map(|peer| peer.title.to_owned()));
    vec![
        format!(
            "cpu {model}, {} cores, Linux {}, load {load} before the start",
            cores(),
            read("/proc/sys/kernel/osrelease")
        ),
        versions.join(", "),
    ]
}

fn commit(root: &Path) -> String {
    let arguments = ["describe", "--always", "--dirty", "--abbrev=12"];
    let output = Command::new("git")
        .args(arguments)
        .current_dir(root)
        .output();
    match output {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(output.stdout.trim_ascii()).into_owned()
        }
        Ok(_) | Err(_) => env!("CARGO_PKG_VERSION").to_owned(),
    }
}
