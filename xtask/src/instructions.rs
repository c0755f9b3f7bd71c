//! Instruction counts: what the interpreter itself costs, counted by callgrind.

use std::path::Path;
use std::process::{Command, ExitCode};

/// The most instructions that the interpreter may take for a step.
const STEP_LIMIT: f64 = 100.0;
/// The most that it may take for a call besides its steps.
const CALL_LIMIT: f64 = 200.0;

/// Counts the interpreter's instructions for a cached 8-byte allreduce and compares with the limits.
///
/// Two runs that differ in the number of calls give the cost of a call; two numbers of ranks (so of
/// steps) divide it into a part for each step and a part for the call.
pub fn run(root: &Path) -> ExitCode {
    match measure(root) {
        Ok((per_step, per_call)) => {
            println!(
                "interpreter, cached 8-byte allreduce: {per_step:.1} instructions a step (limit {STEP_LIMIT}), {per_call:.1} a call besides (limit {CALL_LIMIT})"
            );
            if per_step < STEP_LIMIT && per_call < CALL_LIMIT {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            }
        }
        Err(error) => {
            eprintln!("cargo xtask instructions: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(root: &Path) -> Result<(f64, f64), String> {
    let build = [
        "build",
        "--release",
        "--locked",
        "--package",
        "allhands-core",
        "--example",
        "interpreter",
    ];
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let built = Command::new(cargo)
        .args(build)
        .current_dir(root)
        .status()
        .map_err(|e| format!("cargo: {e}"))?;
    if !built.success() {
        return Err("the example does not build".into());
    }
    // 2 and 256 ranks: 1 and 8 steps.
    let few = instructions_per_call(root, 2)?;
    let many = instructions_per_call(root, 256)?;
    let per_step = (many - few) / 7.0;
    Ok((per_step, few - per_step))
}

fn instructions_per_call(root: &Path, ranks: u32) -> Result<f64, String> {
    let (less, more) = (1000, 3000);
    let difference = count(root, more, ranks)? - count(root, less, ranks)?;
    Ok(difference as f64 / f64::from(more - less))
}

fn count(root: &Path, calls: u32, ranks: u32) -> Result<i64, String> {
    let target = std::env::var("CARGO_TARGET_DIR").map_or_else(|_| root.join("target"), Into::into);
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(target.join("release/examples/interpreter"))
        .args([calls.to_string(), ranks.to_string()])
        .output()
        .map_err(|e| format!("valgrind: {e} (cargo xtask test installs it)"))?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let collected = text
        .lines()
        .find_map(|line| line.split("Collected :").nth(1));
    collected
        .and_then(|n| n.trim().parse().ok())
        .ok_or(format!("valgrind printed no count:\n{text}"))
}
