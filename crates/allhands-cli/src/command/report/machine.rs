//! A machine's parameters: those that are numbers, and curves of those that depend on the length of messages.

use super::page::Page;
use crate::command::figures::cells::file_name;
use crate::command::figures::chart::{Axis, Chart, Point, Scale, Series};
use crate::command::figures::{Figure, Table, number};
use crate::command::simulate::machine::{Machine, files};
use crate::sizes::say;
use anyhow::Context;
use toml::Value;

/// What the keys of a machine's file are called where papers speak of them.
const NAMES: [(&str, &str); 12] = [
    ("send_us", "os(m), to send"),
    ("receive_us", "or(m), to receive"),
    ("latency_us", "L(m), latency"),
    ("gap_us", "g(m), gap"),
    ("gap_saturated_us", "gap of a train to one peer"),
    ("shared_us", "what messages share"),
    ("exchange_us", "an exchange"),
    ("combine_us", "combining what comes"),
    ("put_us", "to put into a window"),
    ("get_us", "to get from a window"),
    ("copy_us", "to copy"),
    ("reduce_us", "γ(m), to combine"),
];

/// The machine and its parameters, by its name or file as it was typed.
pub fn section(page: &mut Page, machine: &Machine, typed: Option<&str>) -> anyhow::Result<()> {
    page.section("The machine");
    page.words(&format!("{}: {}", machine.name, machine.about));
    let text = files::text(typed.unwrap_or(&machine.name))?;
    // What calibration says of its certainty, and others of where their numbers are from, stands in comments.
    let comments: Vec<&str> = text
        .lines()
        .map_while(|line| line.strip_prefix('#'))
        .collect();
    if !comments.is_empty() {
        let words: Vec<&str> = comments.iter().map(|line| line.trim()).collect();
        page.words(&words.join(" "));
    }
    let value: Value = toml::from_str(&text).context("a machine's file is TOML")?;
    let (mut numbers, mut curves) = (Table::new(&["parameter", "value"]), Vec::new());
    gather(&value, "", &mut numbers, &mut curves);
    page.table("Parameters", &numbers);
    curves.iter().for_each(|figure| page.figure(figure));
    Ok(())
}

/// The numbers and curves of a table and of those in it.
fn gather(value: &Value, path: &str, numbers: &mut Table, curves: &mut Vec<Figure>) {
    let Some(table) = value.as_table() else {
        return;
    };
    let lengths = table.get("bytes").and_then(list);
    curves.extend(
        lengths
            .as_deref()
            .and_then(|lengths| curve(table, path, lengths)),
    );
    for (key, value) in table {
        let name = match path {
            "" => key.clone(),
            path => format!("{path}.{key}"),
        };
        match value {
            Value::Float(_) | Value::Integer(_) => {
                let words = as_number(value).map_or_else(String::new, number);
                numbers.rows.push(vec![name, words]);
            }
            Value::String(words) if key != "name" && key != "about" => {
                numbers.rows.push(vec![name, words.clone()]);
            }
            Value::Boolean(is) => numbers.rows.push(vec![name, is.to_string()]),
            Value::Table(inner) => {
                // What is done to windows goes by the lengths of its level.
                if let (Some(lengths), false) = (&lengths, inner.contains_key("bytes")) {
                    curves.extend(curve(inner, &name, lengths));
                }
                gather(value, &name, numbers, curves);
            }
            Value::String(_) | Value::Array(_) | Value::Datetime(_) => {}
        }
    }
}

fn as_number(value: &Value) -> Option<f64> {
    value
        .as_float()
        .or_else(|| value.as_integer().map(|whole| whole as f64))
}

fn list(value: &Value) -> Option<Vec<f64>> {
    value.as_array()?.iter().map(as_number).collect()
}

/// The lower and the upper ends of the intervals of some times, if the table has them.
fn intervals(table: &toml::Table, key: &str, lengths: usize) -> Option<[Vec<f64>; 2]> {
    let all = table.get("intervals")?.as_table()?;
    let stem = key.strip_suffix("_us")?;
    let end = |which: &str| {
        let ends = all.get(&format!("{stem}_{which}_us")).and_then(list);
        ends.filter(|ends| ends.len() == lengths)
    };
    Some([end("low")?, end("high")?])
}

/// The times of a table by the lengths of messages.
fn curve(table: &toml::Table, path: &str, lengths: &[f64]) -> Option<Figure> {
    let mut head = vec!["bytes".to_string()];
    let (mut series, mut columns) = (Vec::new(), Vec::new());
    for (number, (key, name)) in NAMES.iter().enumerate() {
        let times = table.get(*key).and_then(list);
        let Some(times) = times.filter(|times| times.len() == lengths.len()) else {
            continue;
        };
        let intervals = intervals(table, key, lengths.len());
        let points = lengths.iter().zip(&times).enumerate();
        let points = points.map(|(at, (x, y))| Point {
            x: *x,
            y: *y,
            ends: intervals
                .as_ref()
                .map(|ends| ends.each_ref().map(|end| end[at])),
        });
        series.push(Series {
            name: (*name).to_string(),
            number,
            is_predicted: false,
            points: points.collect(),
        });
        head.push(format!("{name}, µs"));
        columns.push((times, intervals));
    }
    if series.is_empty() {
        return None;
    }
    let row = |(at, bytes): (usize, &f64)| {
        let times = columns.iter().map(|(times, intervals)| {
            let ends = intervals.as_ref().map_or(String::new(), |[low, high]| {
                format!(" ({} to {})", number(low[at]), number(high[at]))
            });
            number(times[at]) + &ends
        });
        std::iter::once(say(*bytes as usize)).chain(times).collect()
    };
    let rows = lengths.iter().enumerate().map(row).collect();
    let title = format!("{path}: what it takes by length");
    let chart = Chart {
        title: &title,
        x: Axis {
            words: "m, bytes",
            scale: Scale::Bytes,
        },
        y: Axis {
            words: "µs (0 is not shown)",
            scale: Scale::Log,
        },
        series,
        across: None,
    };
    Some(Figure {
        name: file_name(&title),
        svg: chart.draw(),
        title: title.clone(),
        table: Table { head, rows },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_curves_and_the_rest_is_listed() {
        let text = "name = 'm'\n[network.inside]\nbytes = [8, 64]\nsend_us = [0.1, 0.2]\nlatency_us = [0.0, 1]\n\
                    [network.inside.window]\nput_us = [0.3, 0.4]\nnotify_us = 0.5\n\
                    [network.inside.intervals]\nsend_low_us = [0.1, 0.15]\nsend_high_us = [0.1, 0.25]\n[processor]\ncopy_byte_ns = 2\n";
        let value: Value = toml::from_str(text).expect("it is TOML");
        let (mut numbers, mut curves) = (Table::new(&["", ""]), Vec::new());
        gather(&value, "", &mut numbers, &mut curves);
        let rows = [
            "network.inside.window.notify_us 0.500",
            "processor.copy_byte_ns 2.00",
        ];
        let found: Vec<String> = numbers.rows.iter().map(|row| row.join(" ")).collect();
        assert_eq!(found, rows);
        let heads: Vec<usize> = curves
            .iter()
            .map(|figure| figure.table.head.len())
            .collect();
        assert_eq!(heads, [3, 2]);
        assert_eq!(
            curves[0].table.rows[1],
            ["64", "0.200 (0.150 to 0.250)", "1.00"]
        );
        // 0 is on no logarithmic axis, but in the table.
        assert_eq!(curves[0].table.rows[0][2], "0");
        assert_eq!(curves[0].svg.embedded().matches("<title>L(m)").count(), 1);
    }
}
