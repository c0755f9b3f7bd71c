//! Operators of a machine: the same one, as ranks combine by another operator, or elements of another type, than the sum of `f64`.

use super::cluster::AloneFile;
use super::{Machine, Network};
use anyhow::{Context, bail};

impl AloneFile {
    /// The name of an operator on elements of a type, as `operators` has it.
    pub fn operator_of(operator: &str, element: &str) -> String {
        format!("{operator} {element}")
    }
}

impl Machine {
    /// The same machine, as it combines by this operator elements of this type.
    ///
    /// # Errors
    /// When its file does not have that.
    pub fn combining(&self, operator: &str, element: &str) -> anyhow::Result<Machine> {
        /// What `reduce_us` is of, on every machine.
        const USUAL: &str = "sum f64";
        let name = AloneFile::operator_of(operator, element);
        let mut machine = self.clone();
        if name == USUAL {
            return Ok(machine);
        }
        let (alone, levels) = match &mut machine.network {
            Network::Cluster(file) => {
                let levels = [file.inside.as_mut(), file.between.as_mut()];
                (file.alone.as_mut(), levels)
            }
            _ => (None, [None, None]),
        };
        let alone = alone.filter(|alone| !alone.operators.is_empty());
        let alone = alone.with_context(|| {
            format!(
                "--operator and --type: {} tells of the {USUAL} alone: right would be a file that allhands calibrate has written among ranks of --transport",
                self.name
            )
        })?;
        let Some(reduce_us) = alone.operators.get(&name) else {
            let known: Vec<&str> = alone.operators.keys().map(String::as_str).collect();
            bail!(
                "--operator and --type: {} does not have {name}; it has the {USUAL}, and {}",
                self.name,
                known.join(", ")
            );
        };
        // What comes is combined by as much more as two own operands are.
        let curve = |times: &[f64]| super::table::curve(&name, &alone.bytes, times);
        let (other, usual) = (curve(reduce_us)?, curve(&alone.reduce_us)?);
        for level in levels.into_iter().flatten() {
            for (us, bytes) in level.combine_us.iter_mut().zip(&level.bytes) {
                let more_ps = other.of(*bytes) as f64 - usual.of(*bytes) as f64;
                *us = (*us + more_ps * 1e-6).max(0.0);
            }
        }
        alone.reduce_us.clone_from(reduce_us);
        Ok(machine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "name = 'a'\nabout = 'a'\n[network]\nkind = 'cluster'\n[network.between]\nbytes = [8]\n\
        send_us = [1]\nreceive_us = [1]\nlatency_us = [30]\ngap_us = [8]\nshared_us = [0]\n\
        [network.alone]\nbytes = [8]\ncopy_us = [1]\nreduce_us = [2]\n\
        [processor]\ncopy_byte_ns = 0\nreduce_byte_ns = 0\n";

    fn reduce_us(machine: &Machine) -> Vec<f64> {
        match &machine.network {
            Network::Cluster(file) => file.alone.clone().expect("it is there").reduce_us,
            _ => Vec::new(),
        }
    }

    #[test]
    fn what_comes_is_combined_by_as_much_more() {
        let file = FILE.replace("latency_us", "combine_us = [0.5]\nlatency_us");
        for (max_us, combine_us) in [(3.0, 1.5), (2.0, 0.5), (1.0, 0.0)] {
            let operators =
                format!("[network.alone.operators]\n'max f32' = [{max_us}]\n[processor]");
            let machine = Machine::parse(&file.replace("[processor]", &operators));
            let machine = machine.expect("it is right").combining("max", "f32");
            let machine = machine.expect("the file has it");
            let level = match machine.network {
                Network::Cluster(file) => file.between.expect("it is there"),
                _ => unreachable!("it is a cluster"),
            };
            assert_eq!(level.combine_us, [combine_us], "{max_us}");
        }
    }

    #[test]
    fn a_machine_combines_by_what_its_file_has() {
        let operators = "[network.alone.operators]\n'max f32' = [3]\n[processor]";
        let machine = Machine::parse(&FILE.replace("[processor]", operators)).expect("it is right");
        let by = |operator, element| machine.combining(operator, element);
        assert_eq!(reduce_us(&by("sum", "f64").expect("all have it")), [2.0]);
        assert_eq!(
            reduce_us(&by("max", "f32").expect("the file has it")),
            [3.0]
        );
        let refused = by("min", "f32").expect_err("it does not have that");
        assert!(refused.to_string().contains("the sum f64, and max f32"));
        let plain = Machine::parse(FILE).expect("it is right");
        let refused = plain.combining("max", "f32").expect_err("it has none");
        assert!(refused.to_string().contains("calibrate"));
        let short = FILE.replace(
            "[processor]",
            "[network.alone.operators]\n'max f32' = []\n[processor]",
        );
        assert!(Machine::parse(&short).is_err());
    }
}
