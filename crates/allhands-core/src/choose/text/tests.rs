//! The text form both ways, and every mistake with its line.

use super::*;
use std::string::ToString;

const HEAD: &str = "format = 1\nmachine = \"m\"\nversion = \"0.1.0\"\n";
const ROW: &str =
    "[[row]]\ntransport = \"shm\"\ncollective = \"scan\"\nranks = 4\noversubscribed = true\n";

fn read(text: &str) -> Table {
    Table::parse("t", text).unwrap()
}

#[test]
fn a_table_is_read() {
    let text = "# About.\nformat=1 # the first\nmachine = \"a \\\"b\\\" \\\\\"\nversion = \"9\"\n\n\
                [[row]]\noversubscribed = false\nranks = 3\ncollective = \"allreduce\"\ntransport = \"shm\"\n\
                measured = \"2026-01-30\"\n4096 = [ # lines\n  \"ring 21.4\",\n  \"circulant\",\n]\n\
                8 = [\"double-tree:segments=2,order=x 3.105\"]\r\n";
    let table = read(text);
    assert_eq!((table.name.as_str(), table.version.as_str()), ("t", "9"));
    assert_eq!(table.machine, "a \"b\" \\");
    let [row] = table.rows() else {
        panic!("one row");
    };
    assert_eq!((row.collective, row.ranks), (Collective::Allreduce, 3));
    assert_eq!(row.measured.as_deref(), Some("2026-01-30"));
    assert_eq!(row.cells()[0].ranking[0].time_ns, Some(3105));
    assert_eq!(row.cells()[0].ranking[0].parameters, "segments=2,order=x");
    let names: std::vec::Vec<_> = row.cells()[1].ranking.iter().map(|e| &e.name).collect();
    assert_eq!(names, ["ring", "circulant"]);
    assert_eq!(row.cells()[1].ranking[0].time_ns, Some(21_400));
}

#[test]
fn what_is_written_is_read_back() {
    let mut table = Table::new("t", "a \"strange\" \\ machine", "0.1.0");
    let mut number = 1u64;
    for collective in Collective::ALL {
        for (ranks, oversubscribed) in [(1, false), (8, true), (3, true)] {
            let mut row = Row::new(collective, ranks, oversubscribed);
            row.measured = (ranks == 3).then(|| "2026-01-30".into());
            row.site = (ranks == 8).then(|| Site {
                transport: "tcp".into(),
                nodes: "4,4".into(),
                latency_ns: 1,
                burst_overhead_ns: 2,
                byte_fs: 3,
            });
            for bytes in [0, 8, 1 << 40] {
                number = number.wrapping_mul(6_364_136_223_846_793_005) >> 13;
                let text = |us: &str| entry(&alloc::format!("a-{number}:b={number}{us}")).unwrap();
                let exact = alloc::format!(" {}", super::super::table::Us(number % 99_999_999));
                let ranking = alloc::vec![text(&exact), text("")];
                row.insert(Cell { bytes, ranking });
            }
            table.insert(row);
        }
    }
    let text = table.to_string();
    assert_eq!(read(&text), table);
    assert_eq!(read(&text).to_string(), text);
}

#[test]
fn mistakes_are_named_with_their_lines() {
    let row = |line: &str| alloc::format!("{HEAD}{ROW}{line}\n");
    for (text, line, says) in [
        ("", 1, "'format' is missing"),
        ("format = 2", 1, "'format' must be 1"),
        ("format = 1\nmachin = \"x\"", 2, "there is no key 'machin'"),
        ("format = 1\nmachine = \"x\"", 1, "'version' is missing"),
        ("format = 1\nmachine = 3", 2, "'machine' must be a \"text\""),
        ("format = 1\nformat = 1", 2, "the key 'format' stands twice"),
        ("\n\n= 3", 3, "a key, [[row]] or a # comment"),
        ("format 1", 1, "= behind the key"),
        ("format = 1 2", 1, "here is `2`, where the end of the line"),
        ("format = \n", 1, "the line ends, where a \"text\""),
        ("machine = \"x\n", 1, "ends with \" on its line"),
        ("machine = \"\\n\"", 1, "escaped"),
        ("machine =", 1, "the file ends"),
    ] {
        let error = Table::parse("t", text).unwrap_err();
        assert_eq!(error.line, line, "{text}: {error}");
        assert!(error.to_string().contains(says), "{text}: {error}");
    }
    for (text, line, says) in [
        (
            "8 = []",
            9,
            "the value of '8' must be a list of at least one",
        ),
        ("8 = [\"ring 1.2345\"]", 9, "microseconds"),
        ("8 = [\"ring -1\"]", 9, "microseconds"),
        ("8 = [\"ring 99999999999999999999\"]", 9, "microseconds"),
        ("8 = [\"a\"\n\"b\"]", 10, "a comma or ]"),
        ("8 = [\"a\"", 10, "the file ends, where a comma"),
        ("8 = [\"a\"]\n8 = [\"b\"]", 10, "the size 8 stands twice"),
        ("8k = [\"a\"]", 9, "there is no key '8k'"),
        ("ranks = 5", 9, "the key 'ranks' stands twice"),
        ("", 4, "'BYTES' is missing"),
        ("measured = true", 9, "must be a day"),
    ] {
        let error = Table::parse("t", &row(text)).unwrap_err();
        assert_eq!(error.line, line, "{text}: {error}");
        assert!(error.to_string().contains(says), "{text}: {error}");
    }
}

#[test]
fn mistakes_of_rows_are_named() {
    let cell = "8 = [\"a\"]\n";
    let twice = alloc::format!("{HEAD}{ROW}{cell}\n{ROW}{cell}");
    let error = Table::parse("t", &twice).unwrap_err().to_string();
    assert_eq!(
        error,
        "line 11: the row of scan among 4 ranks (oversubscribed) stands twice"
    );
    for (from, to, line, says) in [
        (
            "\"scan\"",
            "\"scam\"",
            6,
            "no collective 'scam'; there are barrier",
        ),
        ("\"shm\"", "\"\"", 5, "'transport' must be \"shm\""),
        ("\"shm\"", "\"tcp\"", 4, "'nodes' is missing"),
        ("\"shm\"", "\"tcp\"\nnodes = \"many\"", 6, "as in \"8x1\""),
        (
            "\"shm\"",
            "\"tcp\"\nnodes = \"2x2\"",
            4,
            "'latency_ns' is missing",
        ),
        ("\"shm\"", "\"tcp\"\nbyte_fs = \"4\"", 6, "a whole number"),
        ("= 4", "= 0", 7, "at least 1"),
        ("= 4", "= 4294967296", 7, "at least 1"),
        ("true", "1", 8, "true (more ranks than cores) or false"),
        ("ranks = 4\n", "", 4, "'ranks' is missing"),
        ("[[row]]", "[row]", 4, "here is `[row]`"),
    ] {
        let text = alloc::format!("{HEAD}{ROW}{cell}").replace(from, to);
        let error = Table::parse("t", &text).unwrap_err();
        assert_eq!(error.line, line, "{text}: {error}");
        assert!(error.to_string().contains(says), "{text}: {error}");
    }
}

#[test]
fn a_table_that_is_cut_off_anywhere_never_panics() {
    let text = alloc::format!("{HEAD}{ROW}8 = [\"ring:a=b 1.5\", \"x\"] # µs\n");
    for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
        let _ = Table::parse("t", &text[..end]);
        let _ = Table::parse("t", &text[end..]);
    }
}
