//! A variant: one of an MPI's algorithms with its parameters, and the control variables that force it.

use super::kind::Kind;
use super::record::{Family, Hello};
use super::{intel, mpich, openmpi};

/// The name of what the MPI chooses itself.
pub const DEFAULT: &str = "default";

/// A way to have a collective done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    pub kind: Kind,
    /// The MPI's own name of the algorithm.
    pub algorithm: &'static str,
    /// Its parameters by the names that the MPI's file has for them.
    pub parameters: &'static [(&'static str, i64)],
    /// The control variables that force it (MPI 5.0, 15.3), in the order in which they are set.
    pub forced: Vec<(String, Value)>,
}

/// The value of a control variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Number(i64),
    /// By the name that the library has for it.
    Named(&'static str),
}

impl Variant {
    /// What it is called: `pipeline:seg_size=32768`.
    pub fn name(&self) -> String {
        let parameters = self.parameters.iter();
        let parameters: Vec<String> = parameters.map(|(key, n)| format!("{key}={n}")).collect();
        match parameters.is_empty() {
            true => self.algorithm.to_string(),
            false => format!("{}:{}", self.algorithm, parameters.join(",")),
        }
    }
}

/// The variants of a collective that a library may have, besides its default; which of them it has is found out by asking it.
pub fn of(hello: &Hello, kind: Kind) -> Vec<Variant> {
    match hello.family {
        Family::Mpich => mpich::variants(hello, kind),
        Family::OpenMpi => openmpi::variants(hello, kind),
        Family::Intel => intel::variants(kind),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_have_names_of_their_own() {
        for family in [Family::Mpich, Family::OpenMpi, Family::Intel] {
            for (ranks, hosts) in [(2, 1), (8, 8), (13, 13), (16, 4)] {
                let hello = Hello {
                    family,
                    version: String::new(),
                    ranks,
                    hosts,
                    library: String::new(),
                };
                for kind in Kind::ALL {
                    let variants = of(&hello, kind);
                    assert!(variants.iter().all(|variant| variant.kind == kind));
                    let mut names: Vec<String> = variants.iter().map(Variant::name).collect();
                    names.push(DEFAULT.into());
                    names.sort();
                    let all = names.len();
                    names.dedup();
                    assert_eq!(names.len(), all, "{family:?} {kind:?}");
                }
            }
        }
    }
}
