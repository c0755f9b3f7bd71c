//! `allhands mpi doctor` and `allhands mpi run` on programs and libraries made for them: what stands in the way is found, and named.
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
fn a_tool_in_between_is_named_with_what_it_sees() {
    let bench = Bench::new("between");
    bench.compile(INTERPOSER, "libtool.so", &["-shared", "-fPIC"]);
    let [tool, ours] = ["libtool.so", "liballhands_mpi.so"].map(|name| bench.file(name));
    let program = bench.file("program");
    let says = |preloaded: &[&PathBuf]| {
        let preload = std::env::join_paths(preloaded).unwrap();
        let output = bench.doctor(&[program.to_str().unwrap()], Some(preload.as_ref()));
        let text = String::from_utf8(output.stdout).unwrap();
        // Tools are no reason to doubt.
        let served_alike = cfg!(target_arch = "x86_64") || preloaded.len() == 1;
        assert!(
            !served_alike || text.contains("nothing stands in the way"),
            "{text}"
        );
        text
    };
    for behind in [&[&tool][..], &[&ours, &tool]] {
        let text = says(behind);
        assert!(
            text.contains("libtool.so takes MPI calls, too: behind"),
            "{text}"
        );
    }
    let text = says(&[&tool, &ours]);
    assert!(
        text.contains("libtool.so takes MPI calls, too, in front"),
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
        text.contains("it calls an MPI, and no library that it needs is one"),
        "{text}"
    );
    assert!(is_well);
    // What loads libraries by itself may load an MPI, as Python does.
    let loads = "#include <dlfcn.h>\nint main(int n, char **v) { return n > 1 && dlopen(v[1], RTLD_NOW) != 0; }";
    bench.compile(loads, "loads", &["-ldl"]);
    let (text, is_well) = bench.says("loads");
    assert!(text.contains("it may load one later"), "{text}");
    assert!(is_well);
}

#[test]
fn what_is_no_mpi_program_is_said_to_be_none() {
    let bench = Bench::new("none");
    bench.compile("int main(void) { return 0; }", "plain", &[]);
    let (text, is_well) = bench.says("plain");
    assert!(text.contains("it is no MPI program: "), "{text}");
    assert!(text.contains("so there is nothing to serve"), "{text}");
    assert!(!is_well);
    let output = bench.doctor(&["/bin/ls"], None);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("it is no MPI program"), "{text}");
}

/// A build that keeps its version to itself is known by its texts, as the library knows it by what it says.
#[test]
fn an_mpich_without_a_version_is_known_by_what_it_says() {
    let bench = Bench::new("mpich");
    let mpi = "const char *says = \"MPICH Version:      %s\"; int PMPI_Comm_size(void) { return says[0] == 0; } \
               int MPI_Allreduce(void) { return 0; }";
    bench.compile(
        mpi,
        "libmpi.so.12",
        &["-shared", "-fPIC", "-Wl,-soname,libmpi.so.12"],
    );
    let library = bench.file("libmpi.so.12");
    bench.compile(
        PROGRAM,
        "program",
        &[library.to_str().unwrap(), "-Wl,-rpath,$ORIGIN"],
    );
    let (text, is_well) = bench.says("program");
    assert!(text.contains("(libmpi.so.12): MPICH"), "{text}");
    assert!(text.contains("nothing stands in the way"), "{text}");
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
    // An MPI that nobody knows by its file, and a report all the same.
    bench.compile(
        "int PMPI_Comm_size(void) { return 0; }",
        "libother-mpi.so",
        &["-shared", "-fPIC"],
    );
    let other = bench.file("libother-mpi.so");
    let linked = [
        "-Wl,--no-as-needed",
        other.to_str().unwrap(),
        "-Wl,-rpath,$ORIGIN",
    ];
    bench.compile(&writer(), "writer", &linked);
    let writer = bench.file("writer");
    let output = bench.doctor(&[writer.to_str().unwrap()], None);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("an MPI that is not known here"), "{text}");
    assert!(!output.status.success(), "{text}");
    let output = bench.doctor(&["--", "env", writer.to_str().unwrap()], None);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("active under Some MPI 7: rank 0 had 3 calls taken over and 0 passed through: MPI_Bcast by ring"),
        "{text}"
    );
    assert!(text.contains("it works, as the run has proved"), "{text}");
    assert!(output.status.success(), "{text}");
}

/// A program that says its argument and writes what the library would, if it is asked for a report.
fn writer() -> String {
    let report = r#"{\"allhands\": \"0\", \"mpi\": \"Some MPI 7\", \"ended\": \"MPI_Finalize\", \"calls\": [{\"call\": \"MPI_Bcast\", \"taken_over\": 3, \"passed_through\": 0, \"reason\": null, \"algorithm\": \"ring\"}]}"#;
    format!(
        "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\nint main(int n, char **v) {{ \
         const char *file = getenv(\"ALLHANDS_REPORT\"); int differs = n > 1 && strcmp(v[1], \"differ\") == 0; \
         puts(differs && file ? \"other\" : n > 1 ? v[1] : \"\"); \
         if (n > 1 && strcmp(v[1], \"fail\") == 0) return 7; if (!file) return 0; \
         FILE *f = fopen(file, \"w\"); return fputs(\"{report}\", f) < 0 || fclose(f); }}"
    )
}

impl Bench {
    /// What `allhands mpi run` says, on standard output and on standard error, and its exit status.
    fn run(&self, words: &[&str]) -> (String, String, Option<i32>) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_allhands"));
        command.args(["mpi", "run", "--library"]);
        command.arg(self.file("liballhands_mpi.so")).args(words);
        let Output {
            status,
            stdout,
            stderr,
        } = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (text(stdout), text(stderr), status.code())
    }
}

#[test]
fn a_program_is_run_with_the_library_and_its_report_told() {
    let bench = Bench::new("run");
    bench.compile(&writer(), "writer", &[]);
    let writer = bench.file("writer");
    let writer = writer.to_str().unwrap();
    let (out, errors, code) = bench.run(&["--", writer, "hello"]);
    assert_eq!((out.as_str(), code), ("hello\n", Some(0)));
    assert!(
        errors.contains("under Some MPI 7: rank 0 had 3 calls taken over"),
        "{errors}"
    );
    let (_, errors, code) = bench.run(&["--", "env", "printenv", "LD_PRELOAD"]);
    assert!(errors.contains("rank 0 wrote no report"), "{errors}");
    assert_eq!(code, Some(0));
    let (out, _, code) = bench.run(&["--", writer, "fail"]);
    assert_eq!((out.as_str(), code), ("fail\n", Some(7)));
    let (_, errors, code) = bench.run(&["--", "no-such-launcher"]);
    assert!(
        errors.contains("no-such-launcher does not start"),
        "{errors}"
    );
    assert_eq!(code, Some(2));
}

#[test]
fn runs_with_and_without_the_library_are_compared() {
    let bench = Bench::new("compare");
    bench.compile(&writer(), "writer", &[]);
    let writer = bench.file("writer");
    let compare = |word| {
        bench.run(&[
            "--compare",
            "--runs",
            "2",
            "--",
            writer.to_str().unwrap(),
            word,
        ])
    };
    let (out, errors, code) = compare("hello");
    assert_eq!((out.as_str(), code), ("hello\n", Some(0)));
    for part in [
        "without  median",
        "with     median",
        "of 2, from",
        "ratio",
        "equal in all runs",
    ] {
        assert!(errors.contains(part), "{part} in {errors}");
    }
    let (_, errors, code) = compare("differ");
    assert!(errors.contains("DIFFER"), "{errors}");
    assert_eq!(code, Some(1));
    let (_, errors, code) = compare("fail");
    assert!(
        errors.contains("a run without the library ended with"),
        "{errors}"
    );
    assert_eq!(code, Some(7));
}
