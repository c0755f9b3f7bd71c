//! `allhands explain --protocol`: by which protocol a message goes between two ranks of a node, and why.

use crate::{output, sizes};
use allhands::policy::protocols::{
    self, Measured, Message, Pattern, Protocol, Protocols, ROWS, decide,
};
use serde::Serialize;
use std::io::Write;
use std::process::ExitCode;

/// Lengths around which something changes.
const LENGTHS: [usize; 13] = [
    8,
    768,
    1056,
    4 << 10,
    8 << 10,
    16 << 10,
    64 << 10,
    128 << 10,
    256 << 10,
    1 << 20,
    2 << 20,
    4 << 20,
    16 << 20,
];

#[derive(Serialize)]
struct Record {
    bytes: usize,
    exchanged: bool,
    oversubscribed: bool,
    protocol: &'static str,
    /// The number of the row that decides, from 1.
    row: usize,
}

/// The messages of one length: one way and exchanged, with cores of one's own and without.
fn records(bytes: usize, measured: Measured) -> [Record; 4] {
    let kinds = [(false, false), (true, false), (false, true), (true, true)];
    kinds.map(|(exchanged, oversubscribed)| {
        let message = Message {
            oversubscribed,
            exchanged,
            ..Message::new(bytes)
        };
        let (protocol, row) = decide(&message, measured);
        Record {
            bytes,
            exchanged,
            oversubscribed,
            protocol: protocol.name(),
            row: row + 1,
        }
    })
}

/// Prints the table, what was measured here, and what follows for some lengths.
pub fn run(json: &output::Json, bytes: Option<u64>) -> anyhow::Result<ExitCode> {
    let known = Protocols::read();
    let measured = known
        .as_ref()
        .map_or(Measured::default(), Protocols::measured);
    let lengths = bytes.map_or(LENGTHS.to_vec(), |bytes| vec![bytes as usize]);
    let records: Vec<[Record; 4]> = lengths.iter().map(|b| records(*b, measured)).collect();
    if !json.is_stdout() {
        let mut out = std::io::stdout().lock();
        print_rows(&mut out)?;
        print_measured(&mut out, known.as_ref())?;
        print_records(&mut out, &records)?;
    }
    let records: Vec<Record> = records.into_iter().flatten().collect();
    json.write(&records)?;
    Ok(ExitCode::SUCCESS)
}

fn print_rows(out: &mut dyn Write) -> anyhow::Result<()> {
    writeln!(
        out,
        "A message from one rank of a node to another goes by the first row that applies; \"mapped\" is what its\nreceiver has in its own memory: everything among threads, and of processes what lies in shared memory.\n"
    )?;
    for (number, row) in ROWS.iter().enumerate() {
        let copies = |p: &Protocol| {
            if p.copies() == 1 {
                "one copy"
            } else {
                "two copies"
            }
        };
        let name = |p: &Protocol| format!("{} ({})", p.name(), copies(p));
        let names: Vec<String> = row.protocols.iter().map(name).collect();
        writeln!(
            out,
            "{:>2}  {}: {}",
            number + 1,
            row.messages,
            names.join(" or ")
        )?;
        writeln!(out, "      {}", row.why)?;
    }
    Ok(())
}

fn print_measured(out: &mut dyn Write, known: Option<&Protocols>) -> anyhow::Result<()> {
    let place = protocols::file().map_or("the user's cache".into(), |f| f.display().to_string());
    let Some(known) = known else {
        writeln!(
            out,
            "\nNothing was measured on this machine yet: the first program does it whose ranks are processes with cores of\ntheir own, and keeps it in {place}."
        )?;
        return Ok(());
    };
    writeln!(
        out,
        "\nMeasured on this machine, µs of bytes that were sent before / of fresh ones ({place}):"
    )?;
    let mut table = output::table(&[
        "message",
        "bytes",
        "medium",
        "unclaimed",
        "pipelined",
        "bounce",
        "direct",
        "assisted",
        "chosen",
    ]);
    for times in &known.times {
        let of = |name: &str| {
            let time = times.us.iter().find(|(p, _)| p.name() == name);
            time.map_or("-".into(), |(_, [same, fresh])| {
                format!("{same:.1} / {fresh:.1}")
            })
        };
        let (pattern, bytes) = (times.pattern.name().to_string(), sizes::say(times.bytes));
        let mut cells = vec![pattern, bytes];
        cells.extend(
            [
                "medium",
                "unclaimed",
                "pipelined",
                "bounce",
                "direct",
                "assisted",
            ]
            .map(of),
        );
        cells.push(times.chosen.name().to_string());
        table.add_row(cells);
    }
    writeln!(out, "{}", table.trim_fmt())?;
    if let Some(copies) = known.copies {
        let [library, ahead] = copies.us;
        let chosen = if copies.ahead { "ahead" } else { "library" };
        writeln!(
            out,
            "A copy of 1 MB in nobody's cache, µs: by the library {library:.1}, with both sides asked for ahead {ahead:.1}; chosen: {chosen}."
        )?;
    }
    Ok(())
}

fn print_records(out: &mut dyn Write, records: &[[Record; 4]]) -> anyhow::Result<()> {
    writeln!(out, "\nWhat follows, with the row that decides:")?;
    let [one_way, exchanged] = Pattern::ALL.map(Pattern::name);
    let shared = |name: &str| format!("{name}, oversubscribed");
    let [one_way_shared, exchanged_shared] = [shared(one_way), shared(exchanged)];
    let heads = [
        "bytes",
        one_way,
        exchanged,
        &one_way_shared,
        &exchanged_shared,
    ];
    let mut table = output::table(&heads);
    for of_length in records {
        let mut cells = vec![sizes::say(of_length[0].bytes)];
        cells.extend(
            of_length
                .iter()
                .map(|r| format!("{} ({})", r.protocol, r.row)),
        );
        table.add_row(cells);
    }
    writeln!(out, "{}", table.trim_fmt())?;
    Ok(())
}
