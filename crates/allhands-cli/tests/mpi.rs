//! `allhands mpi doctor` on programs and libraries made for it: what stands in the way is found, and named.
#![cfg(target_os = "linux")]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder with a program, an MPI that has the names by which Open MPI is known, and a library that takes calls over.
struct Bench {
    folder: PathBuf,
}

const MPI: &str = "int ompi_mpi_comm_world; int PMPI_Comm_size(void) { return 0; } int MPI_Allreduce(void) { return 0; }";
const INTERPOSER: &str = "int MPI_Allreduce(void) { return 0; }";
const PROGRAM: &str = "extern int MPI_Allreduce(void); int main(void) { return MPI_Allreduce(); }";

impl Bench {
    fn new(name: &str) -> Bench {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("doctor-{name}"));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let bench = Bench { folder };
        bench.compile(
            MPI,
            "libmpi.so.40",
            &["-shared", "-fPIC", "-Wl,-soname,libmpi.so.40"],
        );
        bench.compile(INTERPOSER, "liballhands_mpi.so", &["-shared", "-fPIC"]);
        let mpi = bench.file("libmpi.so.40");
        bench.compile(
            PROGRAM,
            "program",
            &[mpi.to_str().unwrap(), "-Wl,-rpath,$ORIGIN"],
        );
        bench
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn compile(&self, text: &str, name: &str, options: &[&str]) {
        let source = self.file(&format!("{name}.c"));
        std::fs::write(&source, text).unwrap();
        let mut gcc = Command::new("gcc");
        gcc.arg(&source)
            .args(options)
            .arg("-o")
            .arg(self.file(name));
        assert!(gcc.status().unwrap().success(), "gcc {name}");
    }

    fn doctor(&self, words: &[&str], preload: Option<&Path>) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_allhands"));
        command
            .args(["mpi", "doctor", "--library"])
            .arg(self.file("liballhands_mpi.so"));
        command
            .args(words)
            .envs(preload.map(|file| ("LD_PRELOAD", file)));
        command.output().unwrap()
    }

    /// What it says of a file, and whether it ends well.
    fn says(&self, name: &str) -> (String, bool) {
        let output = self.doctor(&[self.file(name).to_str().unwrap()], None);
        let text = [output.stdout, output.stderr].concat();
        (String::from_utf8(text).unwrap(), output.status.success())
    }
}

#[test]
fn the_mpi_of_a_program_is_found_by_its_own_path() {
    let bench = Bench::new("fits");
    let (text, is_well) = bench.says("program");
    assert!(text.contains("libmpi.so.40): Open MPI"), "{text}");
    assert!(text.contains("no calls with large counts"), "{text}");
    assert!(text.contains("nothing stands in the way"), "{text}");
    assert!(is_well);
}

#[test]
fn a_static_program_is_told_apart_by_whether_it_has_an_mpi_inside() {
    let bench = Bench::new("static");
    bench.compile("int main(void) { return 0; }", "alone", &["-static"]);
    let (text, is_well) = bench.says("alone");
    assert!(
        text.contains("linked statically, so nothing is preloaded"),
        "{text}"
    );
    assert!(!is_well);
    let inside = format!("{MPI} int main(void) {{ return PMPI_Comm_size(); }}");
    bench.compile(&inside, "inside", &[]);
    let (text, is_well) = bench.says("inside");
    assert!(text.contains("liballhands_mpi.a"), "{text}");
    assert!(!is_well);
}

#[test]
fn a_program_with_privileges_is_not_preloaded_into() {
    let bench = Bench::new("privileges");
    let program = bench.file("program");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o4755)).unwrap();
    let (text, is_well) = bench.says("program");
    assert!(text.contains("ignores LD_PRELOAD"), "{text}");
    assert!(!is_well);
}

#[test]
fn another_library_in_between_is_named() {
    let bench = Bench::new("between");
    bench.compile(INTERPOSER, "libother.so", &["-shared", "-fPIC"]);
    let other = bench.file("libother.so");
    let program = bench.file("program");
    let output = bench.doctor(&[program.to_str().unwrap()], Some(&other));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("libother.so takes MPI calls over, too"),
        "{text}"
    );
}

#[test]
fn what_needs_a_missing_library_or_no_mpi_is_doubted() {
    let bench = Bench::new("missing");
    let name = "libnobodys-mpi.so.7";
    let soname = format!("-Wl,-soname,{name}");
    bench.compile(MPI, name, &["-shared", "-fPIC", &soname]);
    bench.compile(PROGRAM, "program", &[bench.file(name).to_str().unwrap()]);
    std::fs::remove_file(bench.file(name)).unwrap();
    let (text, is_well) = bench.says("program");
    assert!(text.contains("libnobodys-mpi.so.7, which"), "{text}");
    assert!(
        text.contains("no library that it needs is an MPI"),
        "{text}"
    );
    assert!(is_well);
}

#[test]
fn mistakes_are_named() {
    let bench = Bench::new("mistakes");
    std::fs::write(bench.file("script"), "#!/bin/sh\nexit 0\n").unwrap();
    let (text, is_well) = bench.says("script");
    assert!(
        text.contains("is a script (#!/bin/sh)") && !is_well,
        "{text}"
    );
    let (text, is_well) = bench.says("nowhere");
    assert!(text.contains("there is no program") && !is_well, "{text}");
    let output = bench.doctor(&[], None);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("name a program"), "{text}");
}

#[test]
fn a_run_without_a_report_is_no_proof() {
    let bench = Bench::new("proof");
    let output = bench.doctor(
        &["--", "env", bench.file("program").to_str().unwrap()],
        None,
    );
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("rank 0 wrote no report"), "{text}");
    assert!(!output.status.success());
    // A program that writes what the library would.
    let report = r#"[{\"call\": \"MPI_Bcast\", \"taken_over\": 3, \"passed_through\": 0, \"reason\": null}]"#;
    let writer = format!(
        "#include <stdio.h>\n#include <stdlib.h>\nint main(void) {{ FILE *f = fopen(getenv(\"ALLHANDS_REPORT\"), \"w\"); \
         return fputs(\"{report}\", f) < 0 || fclose(f); }}"
    );
    bench.compile(&writer, "writer", &[]);
    let output = bench.doctor(&["--", "env", bench.file("writer").to_str().unwrap()], None);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("3 calls taken over and 0 passed through: MPI_Bcast"),
        "{text}"
    );
    assert!(output.status.success(), "{text}");
}
