//! The signature of a call: what all ranks must agree on.

use crate::element::TypeSignature;
use crate::operator::OperatorSignature;
use allhands_core::call::Collective;
use std::fmt::Write;
use std::sync::Arc;

/// What a call is, as far as all ranks must say the same.
///
/// Where ranks may lawfully differ (the counts of an irregular call) the field has one agreed value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The collective.
    pub collective: Collective,
    /// The algorithm, with its parameters.
    pub algorithm: Arc<str>,
    /// The root; 0 where there is none.
    pub root: u32,
    /// The length of the data in bytes.
    pub bytes: u64,
    /// The element type; `None` where no data travels.
    pub element: Option<TypeSignature>,
    /// The operator; `None` where nothing is reduced.
    pub operator: Option<OperatorSignature>,
}

impl Signature {
    /// 64 bits that differ for different signatures, up to chance.
    #[must_use]
    pub fn hash(&self) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325;
        absorb(&mut hash, &[self.collective as u8]);
        absorb(&mut hash, &self.root.to_le_bytes());
        absorb(&mut hash, &self.bytes.to_le_bytes());
        let element = self.element.map_or(0, TypeSignature::code);
        absorb(&mut hash, &element.to_le_bytes());
        let operator = self.operator.map_or(0, OperatorSignature::code);
        absorb(&mut hash, &operator.to_le_bytes());
        absorb(&mut hash, self.algorithm.as_bytes());
        hash
    }

    /// What differs between this signature, of rank `rank`, and that of rank `other`, in words.
    #[must_use]
    pub fn difference(&self, rank: u32, theirs: &Signature, other: u32) -> String {
        let rows: [(&str, String, String); 6] = [
            (
                "collective",
                self.collective.to_string(),
                theirs.collective.to_string(),
            ),
            ("root", self.root.to_string(), theirs.root.to_string()),
            (
                "length in bytes",
                self.bytes.to_string(),
                theirs.bytes.to_string(),
            ),
            ("element type", named(self.element), named(theirs.element)),
            ("operator", named(self.operator), named(theirs.operator)),
            (
                "algorithm",
                self.algorithm.to_string(),
                theirs.algorithm.to_string(),
            ),
        ];
        let mut text = String::new();
        for (what, mine, other_value) in rows.iter().filter(|row| row.1 != row.2) {
            let comma = if text.is_empty() { "" } else { ", " };
            let done = write!(
                text,
                "{comma}{what} {mine} on rank {rank} and {other_value} on rank {other}"
            );
            debug_assert!(done.is_ok(), "writing to a string does not fail");
        }
        text
    }
}

fn named(name: Option<impl std::fmt::Display>) -> String {
    name.map_or_else(|| "none".to_owned(), |name| name.to_string())
}

/// FNV-1a.
fn absorb(hash: &mut u64, bytes: &[u8]) {
    for byte in bytes {
        *hash = (*hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::{Operator, Sum};

    fn signature() -> Signature {
        Signature {
            collective: Collective::Reduce,
            algorithm: "binomial".into(),
            root: 1,
            bytes: 80,
            element: Some(TypeSignature::of::<f64>()),
            operator: Some(Operator::<f64>::signature(&Sum)),
        }
    }

    #[test]
    fn each_field_changes_hash_and_words() {
        let base = signature();
        let changed = [
            (
                Signature {
                    collective: Collective::Scan,
                    ..signature()
                },
                "collective reduce on rank 3 and scan on rank 5",
            ),
            (
                Signature {
                    root: 2,
                    ..signature()
                },
                "root 1 on rank 3 and 2 on rank 5",
            ),
            (
                Signature {
                    bytes: 8,
                    ..signature()
                },
                "length in bytes 80 on rank 3 and 8 on rank 5",
            ),
            (
                Signature {
                    element: Some(TypeSignature::of::<i64>()),
                    ..signature()
                },
                "element type f64 on rank 3 and i64 on rank 5",
            ),
            (
                Signature {
                    operator: None,
                    ..signature()
                },
                "operator sum on rank 3 and none on rank 5",
            ),
            (
                Signature {
                    algorithm: "linear".into(),
                    ..signature()
                },
                "algorithm binomial on rank 3 and linear on rank 5",
            ),
        ];
        for (other, words) in changed {
            assert_ne!(base.hash(), other.hash());
            assert_eq!(base.difference(3, &other, 5), words);
        }
        assert_eq!(base.hash(), signature().hash());
    }
}
