//! Tests of verdicts, from texts as the program writes them.

use super::*;

fn read<T: serde::de::DeserializeOwned>(text: &str) -> Vec<T> {
    serde_json::from_str(text).expect("it is what the program writes")
}

/// Predictions with these errors, each of so many bytes.
fn predicted(errors: &[(usize, f64, f64)]) -> Vec<Predicted> {
    let cells: Vec<String> = errors
        .iter()
        .map(|(bytes, error, uncertain)| {
            format!(
                r#"{{"collective":"scan","algorithm":"binomial","machine":"m","version":"0","ranks":4,"bytes":{bytes},
                "predicted_us":1.5,"measured_us":1.0,"uncertain":{uncertain},"error":{error}}}"#
            )
        })
        .collect();
    read(&format!("[{}]", cells.join(",")))
}

#[test]
fn errors_hold_where_all_marks_are_reached() {
    let cells = predicted(&[
        (64, 0.05, 0.01),
        (64, 0.12, 0.01),
        (64, 0.90, 0.30),
        (1 << 20, 0.01, 0.0),
    ]);
    let (short, unsure) = certain(&cells, |cell| cell.bytes < LONG);
    assert_eq!((short.as_slice(), unsure), ([0.05, 0.12].as_slice(), 1));
    let (_, measured, verdict) = errors("short", &short, unsure, OF_SHORT);
    assert_eq!(verdict, Verdict::Holds, "all are below 20 %");
    assert!(measured.contains("50 % < 10 %, 100 % < 15 %"), "{measured}");
    assert!(measured.contains("1 uncertain"), "{measured}");
    // Half of them are below 10 %, and 94 % are asked for.
    assert_eq!(errors("", &short, 0, OF_MODELS).2, Verdict::Missed);
    assert_eq!(errors("", &short, 0, &[]).2, Verdict::Told);
    assert_eq!(errors("", &[], 3, OF_SHM).2, Verdict::Absent);
}

#[test]
fn a_mark_that_is_just_reached_holds() {
    let of = |good: usize| [vec![0.05; good], vec![0.14; 100 - good]].concat();
    assert_eq!(errors("", &of(94), 0, OF_MODELS).2, Verdict::Holds);
    assert_eq!(errors("", &of(93), 0, OF_MODELS).2, Verdict::Missed);
}

#[test]
fn what_is_simulated_is_compared_cell_by_cell() {
    let simulated: Vec<Simulated> = read(
        r#"[{"collective":"scan","algorithm":"binomial","machine":"loggp","bytes":64,"completion_us":2.0,"messages":56},
            {"collective":"scan","algorithm":"linear","machine":"loggp","bytes":64,"completion_us":2.0,"messages":7}]"#,
    );
    let cells = predicted(&[(64, 0.0, 0.0), (512, 0.0, 0.0)]);
    assert_eq!(of_simulated(&cells, &simulated), [0.25]);
}

#[test]
fn the_ceiling_is_what_one_run_tells_of_the_others() {
    let cells: Vec<Measured> = read(
        r#"[{"collective":"scan","bytes":64,"rounds_us":[1.0,1.0,1.3]},{"collective":"scan","bytes":64,"median_us":1.0}]"#,
    );
    let (_, measured, verdict) = ceiling("", &cells, |cell| cell.bytes == 64);
    assert_eq!(verdict, Verdict::Told);
    // 1.0 of 1.15 is 13 % off, twice; 1.3 of 1.0 is 30 %.
    assert_eq!(measured, "0 % < 10 %, 67 % < 15 %, 67 % < 20 %");
    assert_eq!(ceiling("", &cells, |_| false).2, Verdict::Absent);
}

#[test]
fn tuning_is_held_to_its_time() {
    let of = |first: f64, resumed: f64| {
        let text = format!(
            r#"[{{"first_status":130,"first_s":{first},"resumed_s":{resumed},"most_s":300.0}}]"#
        );
        tuned(&read::<Tuned>(&text)[0])
    };
    let (_, measured, verdict) = of(140.4, 141.2);
    assert_eq!(
        (measured.as_str(), verdict),
        ("140 + 141 s", Verdict::Holds)
    );
    assert_eq!(of(140.0, 161.0).2, Verdict::Missed);
}

/// Regrets, of which those that count are marked.
fn regrets(cells: &[(f64, bool)]) -> Finding {
    let cells: Vec<String> = cells
        .iter()
        .map(|(regret, counts)| {
            format!(
                r#"{{"collective":"reduce","ranks":2,"bytes":8,"chosen":"a","best":"b","chosen_us":1,"best_us":1,"regret":{regret},"counts":{counts}}}"#
            )
        })
        .collect();
    regret(&read::<Regret>(&format!("[{}]", cells.join(","))))
}

#[test]
fn a_regret_counts_where_its_interval_excludes_none() {
    let mut cells = vec![(0.01, true); 19];
    cells.push((0.24, true));
    assert_eq!(regrets(&cells).2, Verdict::Holds);
    cells[19] = (0.26, true);
    let (_, measured, verdict) = regrets(&cells);
    assert_eq!(verdict, Verdict::Missed, "the largest is too large");
    assert!(
        measured.ends_with("largest 26 % (reduce 8 B)"),
        "{measured}"
    );
    cells[19] = (0.26, false);
    assert_eq!(regrets(&cells).2, Verdict::Holds, "its interval has 0");
    cells[17..].fill((0.06, true));
    assert_eq!(regrets(&cells).2, Verdict::Missed, "3 of 20 are above 5 %");
    assert_eq!(regrets(&[(0.03, true); 9]).2, Verdict::Missed, "the median");
    assert_eq!(regrets(&[]).2, Verdict::Absent);
}

#[test]
fn a_guideline_that_is_noise_is_not_violated() {
    let of = |violated: bool| {
        let text = format!(
            r#"[{{"guideline":"pattern","left":"allreduce 8","right":"reduce 8 + broadcast 8","ratio":1.2,"violated":{violated},"noise":{}}}]"#,
            !violated
        );
        guidelines(&read::<Guideline>(&text))
    };
    assert_eq!(of(false).2, Verdict::Holds);
    let (_, measured, verdict) = of(true);
    assert_eq!(verdict, Verdict::Missed);
    assert!(measured.contains("allreduce 8 > reduce 8 + broadcast 8 (1.20)"));
}

#[test]
fn files_of_an_mpi_are_held_to_what_forcing_gains() {
    let of = |file: &str, forced: &str| {
        let text = format!(
            r#"[{{"collective":"bcast","bytes":1024,"file_ratio":{file},"forced_ratio":{forced}}},
                {{"collective":"scan","bytes":8,"file_ratio":null,"forced_ratio":null}}]"#
        );
        let [gain, behind] = evaluation(&read::<Evaluated>(&text));
        (gain, behind)
    };
    let (gain, behind) = of("[1.9,1.8,2.0]", "[2.0,1.9,2.1]");
    assert_eq!((gain.2, behind.2), (Verdict::Holds, Verdict::Holds));
    assert_eq!(gain.1, "93 %: 1.900 of 2.000 times as fast, 1 places");
    let (gain, behind) = of("[0.9,0.8,0.96]", "[1.2,1.1,1.3]");
    assert_eq!((gain.2, behind.2), (Verdict::Missed, Verdict::Missed));
    // Nothing could be gained, and nothing was lost.
    let (gain, behind) = of("[1.0,null,null]", "[0.9,0.8,1.0]");
    assert_eq!((gain.2, behind.2), (Verdict::Holds, Verdict::Absent));
}

#[test]
fn what_a_reproduction_says_of_itself_is_judged() {
    let said = |percent| {
        format!(
            "Of the 36 winners and crossings {percent} % come out, each counted in the part of its sizes"
        )
    };
    let judged = |percent| winners_and_crossings(&said(percent));
    assert_eq!(judged(81), Some((81.0, Verdict::Holds)));
    assert_eq!(judged(79), Some((79.0, Verdict::Missed)));
    assert_eq!(
        winners_and_crossings("  3 of 7 crossings, within a size step"),
        None
    );
}
