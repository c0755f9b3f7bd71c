//! Machines that have algorithms of their own, as `allhands verify` takes them.

use allhands_core::algorithm::{Algorithm, Layers, Requirement};
use allhands_core::machine::{Fabrics, Torus, TorusError};

/// A machine whose own algorithms are proved.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Where its ranks are.
    pub torus: Torus,
}

impl Machine {
    /// The hardware in which its ranks meet: the interrupt wires for 32, 128, 512 and multiples of 512 nodes (B 4).
    pub fn fabrics(&self) -> Fabrics {
        let nodes = self.torus.ranks();
        Fabrics {
            tree: true,
            interrupt: matches!(nodes, 32 | 128) || nodes.is_multiple_of(512),
        }
    }
}

impl std::str::FromStr for Machine {
    type Err = String;

    fn from_str(text: &str) -> Result<Machine, String> {
        let shape = text.strip_prefix("bluegene-l:").ok_or_else(|| {
            format!("'{text}' is no machine with algorithms of its own; right would be bluegene-l:4x4x2 or bluegene-l:8x8x8:torus")
        })?;
        let torus = shape
            .parse()
            .map_err(|error: TorusError| error.to_string())?;
        Ok(Machine { torus })
    }
}

/// A hierarchical algorithm with each of those among the leaders that ask for a torus.
pub fn torus_among_leaders(
    algorithm: &'static Algorithm,
) -> impl Iterator<Item = (&'static Algorithm, String)> {
    let leaders = algorithm.layers.map_or(&[][..], |layers| layers.leaders);
    let asks = |found: &&&Algorithm| found.requires.contains(&Requirement::Torus);
    let named = move |found: &&Algorithm| (algorithm, format!("{}={}", Layers::INTER, found.name));
    leaders.iter().filter(asks).map(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_a_torus_with_what_it_has() {
        let machine = |text: &str| text.parse::<Machine>();
        let small = machine("bluegene-l:4x4x2").unwrap();
        assert_eq!(small.torus.to_string(), "4x4x2:mesh");
        assert!(small.fabrics().tree && small.fabrics().interrupt);
        let odd = machine("bluegene-l:5x3x2:torus").unwrap();
        assert_eq!(odd.torus.to_string(), "5x3x2:torus");
        assert!(!odd.fabrics().interrupt);
        for wrong in [
            "bluegene",
            "bluegene-l",
            "bluegene-l:",
            "cell:4x4",
            "bluegene-l:4x4:ring",
        ] {
            let error = machine(wrong).unwrap_err();
            assert!(error.contains("right would be"), "{error}");
        }
    }
}
