//! The constants of a machine that is built in, each of which can be set otherwise.

use super::Machine;
use super::files::BUILT_IN;
use anyhow::Context;
use toml::{Table, Value};

/// The ends of the names of times and rates.
const UNITS: [&str; 3] = ["_us", "_ns", "_mb_s"];

/// Numbers without a unit that were chosen, too.
const OTHERS: [&str; 5] = [
    "growth",
    "peers",
    "short_bytes",
    "cache_bytes",
    "eager_to_bytes",
];

impl Machine {
    /// The constants of a machine that is built in, by where they stand in its file, like `network.random.call_us`: its times and
    /// rates that are not 0, and where its curves bend.
    ///
    /// # Errors
    /// If there is no such machine.
    pub fn constants(name: &str) -> anyhow::Result<Vec<String>> {
        let (mut table, mut places) = (file(name)?, Vec::new());
        each(&mut table, "", &mut |place, _| {
            places.push(place.to_string())
        });
        Ok(places)
    }

    /// The machine with one of its constants multiplied; it stays as it is if it has no such constant.
    ///
    /// # Errors
    /// If there is no such machine, or it cannot be with that.
    pub fn with_constant(name: &str, place: &str, factor: f64) -> anyhow::Result<Machine> {
        let mut table = file(name)?;
        each(&mut table, "", &mut |own, value| {
            if own == place {
                *value = match value.as_integer() {
                    Some(number) => Value::Integer((number as f64 * factor).round() as i64),
                    None => Value::Float(value.as_float().unwrap_or(0.0) * factor),
                };
            }
        });
        let machine = Machine::checked(table.try_into()?);
        machine.with_context(|| format!("{name} with {factor} times {place}"))
    }
}

fn file(name: &str) -> anyhow::Result<Table> {
    let built_in = BUILT_IN.iter().find(|(own, _)| *own == name);
    let (_, text) = built_in.with_context(|| format!("there is no machine '{name}' built in"))?;
    Ok(toml::from_str(text)?)
}

/// Calls `act` with every constant and where it stands.
fn each(table: &mut Table, above: &str, act: &mut impl FnMut(&str, &mut Value)) {
    for (name, value) in table.iter_mut() {
        let place = match above {
            "" => name.clone(),
            above => format!("{above}.{name}"),
        };
        match value {
            Value::Table(inside) => each(inside, &place, act),
            Value::Array(all) => {
                for (number, value) in (1..).zip(all) {
                    if let Value::Table(inside) = value {
                        each(inside, &format!("{place}.{number}"), act);
                    }
                }
            }
            Value::Integer(_) | Value::Float(_) if is_constant(name, value) => act(&place, value),
            Value::Integer(_)
            | Value::Float(_)
            | Value::String(_)
            | Value::Boolean(_)
            | Value::Datetime(_) => {}
        }
    }
}

fn is_constant(name: &str, value: &Value) -> bool {
    let is_zero = value.as_float() == Some(0.0) || value.as_integer() == Some(0);
    let named = UNITS.iter().any(|unit| name.ends_with(unit)) || OTHERS.contains(&name);
    named && !is_zero
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_found_and_multiplied() {
        let places = Machine::constants("bluegene-l").expect("it is there");
        for place in [
            "network.random.peers",
            "network.tree.call_us",
            "processor.send_us",
        ] {
            assert!(places.iter().any(|own| own == place), "{place}: {places:?}");
        }
        let places = Machine::constants("fat-tree").expect("it is there");
        let cable = "network.levels.2.link.byte_ns";
        assert!(places.iter().any(|own| own == cable), "{places:?}");
        let processor = |factor| {
            let machine = Machine::with_constant("bluegene-l", "processor.send_us", factor);
            machine.expect("it can be").processor().expect("it has one")
        };
        let [once, twice] = [1.0, 2.0].map(|factor| processor(factor).send.of(0));
        assert_eq!(twice, 2 * once);
        assert!(Machine::constants("nowhere").is_err());
    }
}
