//! Elements: of which type those of a cell are, and by which operator they are combined.

use super::cell::Cell;
use super::workload::{Buffers, Workload};
use allhands::half::{bf16, f16};
use allhands::operator::{BitAnd, BitOr, BitXor, Max, Min, Operator, Product, Sum};
use allhands_core::call::Collective;
use anyhow::{Context, ensure};
use std::sync::LazyLock;

/// A type and an operator, as `--type` and `--operator` name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elements {
    element: &'static str,
    operator: &'static str,
}

impl Default for Elements {
    fn default() -> Self {
        Elements {
            element: "u64",
            operator: "sum",
        }
    }
}

/// Numbers from which the elements of inputs are made, so that a reduction is the same in every order: integers wrap around, and what
/// combines few small whole numbers is exact in every type with a point.
pub trait Sample: allhands::element::Element + Copy + PartialEq + std::fmt::Debug {
    /// What is in outputs before the call.
    const UNSEEN: Self;

    /// An input's element; `is_chosen` says that the operator chooses one of its operands.
    fn of(number: u64, is_chosen: bool) -> Self;
}

macro_rules! integers {
    ($($element:ident)*) => {$(
        impl Sample for $element {
            const UNSEEN: Self = $element::MAX;

            fn of(number: u64, _is_chosen: bool) -> Self {
                number as $element
            }
        }
    )*};
}

macro_rules! floats {
    ($($element:ident: $from:expr;)*) => {$(
        impl Sample for $element {
            const UNSEEN: Self = $element::NAN;

            fn of(number: u64, is_chosen: bool) -> Self {
                let from: fn(f32) -> $element = $from;
                match is_chosen {
                    true => from(f32::from((number >> 56) as i8)),
                    false => from(if number >> 63 == 0 { 1.0 } else { -1.0 }),
                }
            }
        }
    )*};
}

integers! { u64 i64 i32 u8 }
floats! { f64: f64::from; f32: |number| number; f16: f16::from_f32; bf16: bf16::from_f32; }

/// The most ranks whose sum is exact in every type: the whole numbers up to there are what `bf16` has.
const MOST_RANKS: u32 = 256;

/// A pair that there is, and what makes a rank's buffers of it.
struct Kind {
    elements: Elements,
    make: fn(&Cell, usize, usize) -> Box<dyn Buffers>,
}

fn kind<T: Sample, O: Operator<T> + Copy + Default + 'static>(element: &'static str) -> Kind {
    Kind {
        elements: Elements {
            element,
            operator: O::default().name(),
        },
        make: |cell, rank, ranks| Box::new(Workload::<T, O>::new(cell, rank, ranks)),
    }
}

static KINDS: LazyLock<Vec<Kind>> = LazyLock::new(|| {
    macro_rules! kinds {
        ($($element:ident: $($operator:ident)*;)*) => {
            vec![$($(kind::<$element, $operator>(stringify!($element)),)*)*]
        };
    }
    kinds! {
        u64: Sum Product Min Max BitAnd BitOr BitXor;
        i64: Sum Product Min Max BitAnd BitOr BitXor;
        i32: Sum Product Min Max BitAnd BitOr BitXor;
        u8: Sum Product Min Max BitAnd BitOr BitXor;
        f64: Sum Product Min Max;
        f32: Sum Product Min Max;
        f16: Sum Product Min Max;
        bf16: Sum Product Min Max;
    }
});

impl Elements {
    /// The pair of these names; what is not said is as usual.
    ///
    /// # Errors
    /// Which of the names nobody knows, and which there are.
    pub fn named(element: Option<&str>, operator: Option<&str>) -> anyhow::Result<Elements> {
        let usual = Elements::default();
        let element = element.unwrap_or(usual.element);
        let operator = operator.unwrap_or(usual.operator);
        let of_type = || KINDS.iter().filter(|kind| kind.elements.element == element);
        if of_type().next().is_none() {
            let all = KINDS.chunk_by(|a, b| a.elements.element == b.elements.element);
            let all: Vec<&str> = all.map(|kinds| kinds[0].elements.element).collect();
            anyhow::bail!("--type {element}: right would be {}", all.join(", "));
        }
        let found = of_type().find(|kind| kind.elements.operator == operator);
        let found = found.with_context(|| {
            let all: Vec<&str> = of_type().map(|kind| kind.elements.operator).collect();
            format!(
                "--operator {operator}: for {element} right would be {}",
                all.join(", ")
            )
        })?;
        Ok(found.elements)
    }

    /// As a call of this collective has them, of which not all have an operator.
    pub fn of(self, collective: Collective) -> Elements {
        match collective.reduces() {
            true => self,
            false => Elements {
                operator: Elements::default().operator,
                ..self
            },
        }
    }

    /// The type's name, if it is not the usual one.
    pub fn element(self) -> Option<&'static str> {
        (self.element != Elements::default().element).then_some(self.element)
    }

    /// The operator's name, if it is not the usual one.
    pub fn operator(self) -> Option<&'static str> {
        (self.operator != Elements::default().operator).then_some(self.operator)
    }

    /// Finds out whether what comes out among so many ranks can be checked.
    pub fn check(self, ranks: u32) -> anyhow::Result<()> {
        let is_exact = !["f16", "bf16"].contains(&self.element) || ranks <= MOST_RANKS;
        ensure!(
            is_exact,
            "--type {}: what {ranks} ranks combine is rounded, and nobody could check it: right would be at most {MOST_RANKS} ranks, or f32",
            self.element
        );
        Ok(())
    }

    /// Whether the operator chooses one of its operands.
    pub fn is_chosen(self) -> bool {
        ["min", "max"].contains(&self.operator)
    }

    /// A rank's buffers.
    pub fn buffers(self, cell: &Cell, rank: usize, ranks: usize) -> Box<dyn Buffers> {
        let found = KINDS.iter().find(|kind| kind.elements == self);
        // There are no others: they come from the table, of which the first are the usual ones.
        let kind = found.unwrap_or(&KINDS[0]);
        (kind.make)(cell, rank, ranks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_said() {
        let named = |element, operator| Elements::named(Some(element), Some(operator));
        assert_eq!(named("u64", "sum").unwrap(), Elements::default());
        for kind in KINDS.iter() {
            let Elements { element, operator } = kind.elements;
            let found = named(element, operator).unwrap();
            assert_eq!(found, kind.elements);
            let again = Elements::named(found.element(), found.operator()).unwrap();
            assert_eq!(again, found);
        }
        let wrong = |element, operator| named(element, operator).unwrap_err().to_string();
        assert!(wrong("f8", "sum").contains("u64, i64, i32, u8, f64, f32, f16, bf16"));
        assert!(
            wrong("f32", "bitwise and").contains("for f32 right would be sum, product, min, max")
        );
    }

    #[test]
    fn only_what_reduces_has_an_operator() {
        let most = Elements::named(Some("f32"), Some("max")).unwrap();
        assert_eq!(most.of(Collective::Scan), most);
        let sent = most.of(Collective::Broadcast);
        assert_eq!((sent.element(), sent.operator()), (Some("f32"), None));
        assert!(most.check(1000).is_ok());
        let half = Elements::named(Some("bf16"), None).unwrap();
        assert!(half.check(256).is_ok() && half.check(257).is_err());
    }
}
