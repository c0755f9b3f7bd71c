//! What was measured of a machine's protocols, as it is in the user's cache: whatever is read is printed and read again the same, and
//! every message has a protocol that can carry it.
#![no_main]

use allhands::policy::protocols::{Message, Pattern, Protocol, Protocols, decide, together};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    // A file of another machine or kernel is not looked at, and which ones these are nobody can guess.
    let head = Protocols::default().text();
    let _ = Protocols::parse(text);
    let Some(known) = Protocols::parse(&(head + text)) else {
        return;
    };
    let printed = known.text();
    let again = Protocols::parse(&printed).unwrap_or_else(|| panic!("{printed}"));
    assert_eq!(printed, again.text());
    for times in &known.times {
        for (protocol, us) in &times.us {
            assert!(together(*us).is_finite(), "{protocol:?}: {us:?}");
        }
    }
    for pattern in Pattern::ALL {
        for bytes in (10..26).flat_map(|power| [1 << power, (1 << power) + 1]) {
            let message = Message {
                exchanged: pattern == Pattern::Exchanged,
                ..Message::new(bytes)
            };
            let protocol = match decide(&message, known.measured()).0 {
                Protocol::Unclaimed => Protocol::Medium,
                protocol => protocol,
            };
            let could = pattern.protocols(bytes);
            assert!(
                could.is_empty() || could.contains(&protocol),
                "{bytes}: {protocol:?}"
            );
        }
    }
});
