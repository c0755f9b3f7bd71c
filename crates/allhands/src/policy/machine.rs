//! The machine's name: short, a part of a file's name, and the same until its processors or memory change.

use std::io::Read;

/// A short name for this machine, made from its processor, its number of cores and its memory, such as
/// `intel-xeon-6-167-1-2-cores-8-gib`.
#[must_use]
pub fn machine() -> String {
    let first = |path: &str, bytes: u64| -> String {
        let mut text = Vec::new();
        // What is written about the first processor is enough; the system writes no more than is read.
        if let Ok(file) = std::fs::File::open(path) {
            let _ = file.take(bytes).read_to_end(&mut text);
        }
        String::from_utf8_lossy(&text).into_owned()
    };
    let memory = first("/proc/meminfo", 256);
    let online = first("/sys/devices/system/cpu/online", 4096);
    name(&first("/proc/cpuinfo", 4096), &online, &memory)
}

fn name(processor: &str, online: &str, memory: &str) -> String {
    const MEANINGLESS: &[&str] = &["r", "tm", "cpu", "processor", "with", "core"];
    let value = |text: &str, key: &str| -> Option<String> {
        let mut fields = text.lines().filter_map(|line| line.split_once(':'));
        Some(fields.find(|(k, _)| k.trim() == key)?.1.trim().to_string())
    };
    let model = value(processor, "model name").unwrap_or_default();
    let model = model.split('@').next().unwrap_or_default().to_lowercase();
    let words = model.split(|c: char| !c.is_ascii_alphanumeric());
    let mut parts: Vec<String> = words
        .filter(|word| !word.is_empty() && !MEANINGLESS.contains(word))
        .map(Into::into)
        .collect();
    if parts.is_empty() {
        parts.push(std::env::consts::ARCH.replace('_', "-"));
    }
    for key in [
        "cpu family",
        "model",
        "stepping",
        "CPU implementer",
        "CPU part",
    ] {
        parts
            .extend(value(processor, key).filter(|v| v.chars().all(|c| c.is_ascii_alphanumeric())));
    }
    if let Some(cores) = count(online.trim()) {
        parts.push(format!("{cores}-cores"));
    }
    let kib = value(memory, "MemTotal").and_then(|text| text.split(' ').next()?.parse().ok());
    if let Some(kib) = kib {
        let kib: u64 = kib;
        parts.push(format!("{}-gib", (kib + (1 << 19)) >> 20));
    }
    parts.join("-")
}

/// The number of processors in a list such as `0-3,8`.
fn count(list: &str) -> Option<u32> {
    let mut all = 0;
    for range in list.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        all += last.checked_sub(first)? + 1;
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_made_of_processor_cores_and_memory() {
        let processor = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\n\
                         model name\t: Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz\nstepping\t: 4\n";
        assert_eq!(
            name(processor, "0-3,8\n", "MemTotal:       16314200 kB\n"),
            "intel-xeon-gold-6148-6-85-4-5-cores-16-gib"
        );
        let arm = "processor : 0\nCPU implementer : 0x41\nCPU part : 0xd0c\n";
        assert!(name(arm, "0", "").ends_with("-0x41-0xd0c-1-cores"));
        assert!(!name("", "", "").is_empty());
    }

    #[test]
    fn this_machine_has_a_name_that_a_file_may_have() {
        let name = machine();
        assert_eq!(name, machine());
        assert!(
            name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'),
            "{name}"
        );
        assert!(name.len() < 120);
    }
}
