//! Forcing: how a rank gets the MPI to use one variant, while it runs.
//!
//! MPICH looks at its control variables in every call. Open MPI looks at them when a communicator is made, so there is a communicator for
//! each variant: of one collective only, as some algorithms call other collectives of their communicator.

use super::super::kind::Kind;
use super::super::record::{Family, Hello};
use super::super::variant::{self, Value, Variant};
use super::library::{Handle, Library};
use super::tool::{Before, Tool};
use std::collections::BTreeMap;

/// All variants of all collectives, and the one that is forced now.
pub struct Forcing {
    family: Family,
    tool: Tool,
    variants: BTreeMap<Kind, Vec<Variant>>,
    /// Of Open MPI: those of the variants of each collective.
    comms: BTreeMap<Kind, Vec<Handle>>,
    world: Handle,
    before: Option<Before>,
}

impl Forcing {
    /// Finds out which variants of these collectives the library has; every rank calls this.
    pub fn new(library: &Library, hello: &Hello, kinds: &[Kind]) -> anyhow::Result<Forcing> {
        let tool = Tool::start(library.object)?;
        let mut variants = BTreeMap::new();
        for kind in kinds {
            let mut all = variant::of(hello, *kind);
            let has = |(name, value): &(String, Value)| tool.has(name, value);
            all.retain(|variant| variant.forced.iter().all(has));
            variants.insert(*kind, all);
        }
        let mut forcing = Forcing {
            family: hello.family,
            tool,
            variants,
            comms: BTreeMap::new(),
            world: library.world,
            before: None,
        };
        if hello.family == Family::OpenMpi {
            forcing.make_communicators(library)?;
        }
        Ok(forcing)
    }

    fn make_communicators(&mut self, library: &Library) -> anyhow::Result<()> {
        for (kind, variants) in &self.variants {
            let mut comms = Vec::new();
            for variant in variants {
                let before = self.tool.set(&variant.forced)?;
                comms.push(library.duplicate()?);
                self.tool.restore(&before)?;
            }
            self.comms.insert(*kind, comms);
        }
        Ok(())
    }

    /// The variants of a collective, without the default.
    pub fn variants(&self, kind: Kind) -> &[Variant] {
        self.variants.get(&kind).map_or(&[], Vec::as_slice)
    }

    /// Has calls of a collective done by its `index`th variant, of which 0 is the default; gives the communicator for them.
    pub fn force(&mut self, kind: Kind, index: usize) -> anyhow::Result<Handle> {
        if let Some(before) = self.before.take() {
            self.tool.restore(&before)?;
        }
        let Some(at) = index.checked_sub(1) else {
            return Ok(self.world);
        };
        if self.family == Family::OpenMpi {
            return Ok(self.comms[&kind][at]);
        }
        let forced = self.variants(kind)[at].forced.clone();
        self.before = Some(self.tool.set(&forced)?);
        Ok(self.world)
    }
}
