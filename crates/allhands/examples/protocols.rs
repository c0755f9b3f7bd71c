//! A sweep of the protocols of long messages: what each takes at each length between two processes, with bytes that were sent before and
//! with fresh ones, beside the one that is chosen for both together.
//!
//! ```sh
//! allhands run -n 2 --bind cores -- target/release/examples/protocols
//! ```

use allhands::Communicator;
use allhands::policy::protocols::{
    Measured, Message, Pattern, Protocol, Protocols, decide, measure_lengths, together,
};
use std::time::Duration;

/// Calls of each kind.
const ROUNDS: usize = 40;

/// What is chosen of a message.
fn chosen(pattern: Pattern, bytes: usize, measured: Measured) -> &'static str {
    let message = Message {
        exchanged: pattern == Pattern::Exchanged,
        ..Message::new(bytes)
    };
    match decide(&message, measured).0 {
        // Which way a medium buffer is read is measured at 4 KB alone.
        Protocol::Unclaimed if bytes > 4 << 10 => Protocol::Medium.name(),
        protocol => protocol.name(),
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let comm = Communicator::world()?;
    if comm.size() != 2 || comm.is_oversubscribed() {
        return Err("this needs two ranks with a core each".into());
    }
    let lengths: Vec<usize> = (1..13)
        .flat_map(|k| [(1 << k) * 768, 1 << (k + 10)])
        .collect();
    let budget = (ROUNDS, Duration::from_secs(120));
    let found = measure_lengths(&comm, &lengths, budget)?;
    if comm.rank() > 0 {
        return Ok(());
    }
    let known = Protocols::read();
    let measured = known
        .as_ref()
        .map_or(Measured::default(), Protocols::measured);
    let (mut near, mut all) = (0, 0);
    for times in &found.times {
        let choice = chosen(times.pattern, times.bytes, measured);
        let both = times.us.iter().map(|(p, us)| (p.name(), together(*us)));
        let best = both.clone().map(|(_, us)| us).fold(f64::MAX, f64::min);
        let ours = both.clone().find(|(name, _)| *name == choice);
        let ratio = ours.map_or(f64::NAN, |(_, us)| us / best);
        let each: Vec<String> = times
            .us
            .iter()
            .map(|(protocol, [same, fresh])| format!("{} {same:.1}/{fresh:.1}", protocol.name()))
            .collect();
        println!(
            "{:<10}{:>9} bytes, µs: {:<64} chosen {choice}, {ratio:.2} of the best",
            times.pattern.name(),
            times.bytes,
            each.join(", "),
        );
        near += usize::from(ratio <= 1.1);
        all += 1;
    }
    println!("the chosen one is within 10 % of the best in {near} of {all}");
    Ok(())
}
