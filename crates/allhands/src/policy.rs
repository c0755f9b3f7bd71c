//! Policies: who chooses the algorithm of a call that names none.

use crate::error::Error;
use crate::operation::Operation;
use allhands_core::algorithm::{self, Algorithm};
use allhands_core::call::Call;
use allhands_core::schedule::{Layout, Shape};

/// Who chooses the algorithm of a call that names none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Policy {
    /// The cutoffs of Thakur, Rabenseifner and Gropp 2005.
    #[default]
    Mpich2005,
}

impl Policy {
    pub(crate) fn choose(
        &self,
        _operation: &Operation<'_>,
        call: &Call,
        _layout: &Layout,
    ) -> Result<(&'static Algorithm, Shape), Error> {
        let collective = call.collective;
        let first = algorithm::of(collective).find_map(|a| {
            let shape = a.shape(*call, "").ok()?;
            a.admits(&shape).ok().map(|()| (a, shape))
        });
        first.ok_or(Error::NoSuchAlgorithm {
            collective,
            name: String::new(),
            known: String::new(),
        })
    }
}
