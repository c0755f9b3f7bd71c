//! Keys: what of a cell is written in its record, and by which it is found and measured again.

use super::cell::{Cell, Record};
use super::elements::Elements;
use crate::names;
use allhands_core::machine::Torus;
use serde::{Deserialize, Serialize};

/// What tells a cell from others of the same ranks, as its record says it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    collective: String,
    algorithm: String,
    pub ranks: u32,
    root: u32,
    bytes: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    layout: Option<String>,
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    element: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    operator: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    torus: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    fresh: bool,
}

impl Key {
    /// That of a record.
    pub fn of(record: &Record) -> Key {
        Key {
            collective: record.collective.to_string(),
            algorithm: record.algorithm.clone(),
            ranks: record.ranks,
            root: record.root,
            bytes: record.bytes,
            layout: record.layout.clone(),
            element: record.element.as_deref().map(str::to_string),
            operator: record.operator.as_deref().map(str::to_string),
            torus: record.torus.clone(),
            fresh: record.fresh,
        }
    }

    /// The cell; on this mesh or torus, if the record says none.
    ///
    /// # Errors
    /// What of it nobody knows, and what would be right.
    pub fn cell(&self, torus: Option<Torus>) -> anyhow::Result<Cell> {
        let collective = names::collective(&self.collective).map_err(anyhow::Error::msg)?;
        let (algorithm, parameters) = names::algorithm(collective, &self.algorithm)?;
        anyhow::ensure!(
            self.root < self.ranks,
            "the root is {}, and the ranks are 0 to {}",
            self.root,
            self.ranks.saturating_sub(1)
        );
        anyhow::ensure!(
            self.bytes.is_multiple_of(8),
            "{} bytes are no whole elements of 8",
            self.bytes
        );
        let layout = self.layout.as_deref().unwrap_or("regular");
        let own = self.torus.as_deref().map(str::parse).transpose()?;
        let torus = own.or(torus);
        if let Some(torus) = torus {
            torus.check(self.ranks)?;
        }
        let elements = Elements::named(self.element.as_deref(), self.operator.as_deref())?;
        elements.check(self.ranks)?;
        Ok(Cell {
            algorithm,
            parameters: parameters.to_string(),
            ranks: self.ranks,
            root: self.root,
            bytes: self.bytes,
            spread: layout.parse().map_err(anyhow::Error::msg)?,
            elements: elements.of(collective),
            torus,
            fresh: self.fresh,
        })
    }
}
