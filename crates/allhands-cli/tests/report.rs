//! Reports from the outside: one page of many files, the same every time, that needs nothing else; and figures of predictions.

#[path = "pages/made_up.rs"]
mod made_up;

use made_up::{allhands, folder, name, text, write_all};

#[test]
fn a_report_has_what_files_have_and_is_the_same_every_time() {
    let folder = folder("report");
    let files = write_all(&folder);
    let write = |page: &str| {
        let page = name(&folder, page);
        let mut arguments = vec!["report", "-o", &page, "--title", "a <title>"];
        arguments.extend(["--machine", &files[0]]);
        arguments.extend(files[1..].iter().map(String::as_str));
        let output = allhands(&arguments);
        assert!(output.status.success(), "{}", text(&output.stderr));
        std::fs::read_to_string(&page).expect("it is written")
    };
    let page = write("one.html");
    assert!(page == write("other.html"), "the same files, another page");
    for words in [
        "The machine",
        "What was measured",
        "How far predictions are off",
        "Latency by size",
        "Which algorithm is the fastest",
        "Bandwidth against the number of ranks",
        "What choices cost",
        "Performance guidelines",
        "Beside other libraries",
        "allreduce, 4 ranks",
        "allreduce: the fastest, predicted",
        "os(m), to send",
        "1 cells had wrong results",
        "rank 1 got a wrong result",
        "a &lt;title&gt;",
        // What a file says is text.
        "&lt;img src=x onerror=alert(1)&gt;",
    ] {
        assert!(page.contains(words), "{words}");
    }
    // Nothing else is asked for: the one address is the name of SVG's language.
    let addresses = page.matches("://").count();
    assert_eq!(
        addresses,
        page.matches("xmlns=\"http://www.w3.org/2000/svg\"").count()
    );
    for wrong in [
        "<script", "<img", "@import", "url(", "src=\"", "NaN", "inf<",
    ] {
        assert!(!page.contains(wrong), "{wrong}");
    }
    let figures = page.matches("<figure>").count();
    assert!(
        figures > 10 && figures == page.matches("<svg ").count(),
        "{figures}"
    );
    assert!(page.matches("<details>").count() >= figures);
}

#[test]
fn a_machine_alone_is_predicted() {
    let folder = folder("report-alone");
    let page = name(&folder, "page.html");
    let report = [
        "report",
        "--machine",
        "loggp",
        "-n",
        "2,4",
        "--bytes",
        "8,4K",
        "-o",
        &page,
    ];
    let output = allhands(&report);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let page = std::fs::read_to_string(&page).expect("it is written");
    assert!(page.contains("broadcast: the fastest, predicted"));
    assert!(
        !page.contains("the fastest, measured"),
        "nothing was measured"
    );
}

#[test]
fn what_is_no_file_of_ours_is_named_with_what_is_expected() {
    let folder = folder("report-refused");
    let (page, other) = (name(&folder, "page.html"), name(&folder, "other.json"));
    let refused = |arguments: &[&str], says: &[&str]| {
        let output = allhands(&[&["report", "-o", &page], arguments].concat());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        for says in says {
            assert!(
                said.contains(says) && !said.contains("panicked"),
                "{says}: {said}"
            );
        }
    };
    let expected = "bench, regret or guidelines";
    for (content, says) in [
        ("[{\"zeal\": 1}]", "zeal"),
        ("[]", "no records"),
        ("kind = 3", "no JSON array"),
    ] {
        std::fs::write(&other, content).expect("it can be written");
        refused(&[&other], &[&other, expected, says]);
    }
    refused(
        &[&name(&folder, "none.json")],
        &["cannot read", "none.json"],
    );
    refused(&[], &["nothing to report"]);
    refused(&["--machine", "hokney"], &["hockney, loggp"]);
    refused(&[&other, "-n", "4"], &["--machine"]);
    let below = name(&folder, "other.json/page.html");
    let output = allhands(&["report", &other, "-o", &below]);
    assert!(text(&output.stderr).contains("cannot write"), "{below}");
}

#[test]
fn predictions_are_drawn_beside_what_was_measured() {
    let folder = folder("predict-plot");
    let files = write_all(&folder);
    let figures = name(&folder, "figures");
    // No version has one of them.
    let times = std::fs::read_to_string(&files[1]).expect("it is written");
    let mut times: Vec<serde_json::Value> = serde_json::from_str(&times).expect("it is JSON");
    times.retain(|record| {
        record["algorithm"]
            .as_str()
            .is_some_and(|name| !name.contains('<'))
    });
    let times = serde_json::to_string(&times).expect("it is JSON");
    std::fs::write(&files[1], times).expect("it can be written");
    let predict = ["predict", "--machine", &files[0], "--measured", &files[1]];
    let output = allhands(&[&predict[..], &["--plot", &figures]].concat());
    let said = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(said.contains(&format!("figures in {figures}")), "{said}");
    for file in [
        "decision-allreduce-measured.svg",
        "decision-allreduce-predicted.svg",
        "bandwidth-allreduce-32k.svg",
    ] {
        let svg = std::fs::read_to_string(folder.join("figures").join(file)).expect(file);
        assert!(
            svg.starts_with("<svg ") && svg.contains("<style>"),
            "{file}"
        );
    }
    let below = name(&folder, "times.json/below");
    let output = allhands(&[&predict[..], &["--plot", &below]].concat());
    assert_eq!(output.status.code(), Some(2));
}
