//! Figures of measured and predicted times, as SVG that stands alone or in a page: curves, and maps of what is fastest.
//!
//! A figure is as wide as a telephone and is scaled up where there is more room. What tells its lines apart is their marks as well as
//! their colours, and the colours are names of a style sheet, which has others where the reader wants it dark.

pub mod bandwidth;
pub mod cells;
pub mod chart;
pub mod decision;
pub mod latency;
pub mod svg;

/// A figure, and the table that has the same numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// What it shows, in a line.
    pub title: String,
    /// A part of the name of a file for it.
    pub name: String,
    /// The picture.
    pub svg: svg::Svg,
    /// The same as numbers.
    pub table: Table,
}

/// Rows of words and numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// What the columns have, with units.
    pub head: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows yet.
    pub fn new(head: &[&str]) -> Table {
        Table {
            head: head.iter().map(ToString::to_string).collect(),
            rows: Vec::new(),
        }
    }
}

/// A number as a reader wants it: three or four digits that count.
pub fn number(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if !value.is_finite() => "–".to_string(),
        _ if size == 0.0 => "0".to_string(),
        _ if !(1e-3..1e6).contains(&size) => format!("{value:.2e}"),
        _ if size >= 100.0 => format!("{value:.0}"),
        _ if size >= 10.0 => format!("{value:.1}"),
        _ if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_have_the_digits_that_count() {
        for (value, text) in [
            (0.0, "0"),
            (0.05, "0.050"),
            (1.234, "1.23"),
            (56.78, "56.8"),
            (1234.5, "1234"),
            (2.5e7, "2.50e7"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(number(value), text);
        }
    }
}
