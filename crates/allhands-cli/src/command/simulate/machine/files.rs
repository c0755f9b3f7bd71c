//! The files of machines: those that are built in, and the user's own.

use anyhow::{Context, ensure};
use std::borrow::Cow;

/// The files of the machines that are built in.
pub(super) const BUILT_IN: [(&str, &str); 14] = [
    (
        "bluegene-l",
        include_str!("../../../../machines/bluegene-l.toml"),
    ),
    ("cell", include_str!("../../../../machines/cell.toml")),
    (
        "cell-blade",
        include_str!("../../../../machines/cell-blade.toml"),
    ),
    (
        "cell-cluster",
        include_str!("../../../../machines/cell-cluster.toml"),
    ),
    (
        "roadrunner",
        include_str!("../../../../machines/roadrunner.toml"),
    ),
    ("hockney", include_str!("../../../../machines/hockney.toml")),
    ("loggp", include_str!("../../../../machines/loggp.toml")),
    (
        "multirail-smp",
        include_str!("../../../../machines/multirail-smp.toml"),
    ),
    ("plogp", include_str!("../../../../machines/plogp.toml")),
    (
        "fat-tree",
        include_str!("../../../../machines/fat-tree.toml"),
    ),
    (
        "dragonfly",
        include_str!("../../../../machines/dragonfly.toml"),
    ),
    (
        "myrinet-2000",
        include_str!("../../../../machines/myrinet-2000.toml"),
    ),
    ("ibm-sp", include_str!("../../../../machines/ibm-sp.toml")),
    ("t3e-900", include_str!("../../../../machines/t3e-900.toml")),
];

/// Whether a machine is built in.
pub fn is_built_in(name: &str) -> bool {
    BUILT_IN.iter().any(|(own, _)| *own == name)
}

/// The text of a machine's file, by its name or path; a shape may follow.
///
/// # Errors
/// When there is no such machine, or its file cannot be read.
pub fn text(typed: &str) -> anyhow::Result<Cow<'static, str>> {
    let name = typed.split_once(':').map_or(typed, |(name, _)| name);
    let built_in = BUILT_IN.iter().find(|(own, _)| *own == name);
    if let Some((_, text)) = built_in {
        return Ok(Cow::Borrowed(text));
    }
    let names = || BUILT_IN.map(|(name, _)| name).join(", ");
    ensure!(
        name.ends_with(".toml"),
        "there is no machine '{name}'; there are {}, or the path of a file that ends in .toml",
        names()
    );
    let text = std::fs::read_to_string(name).with_context(|| format!("cannot read {name}"))?;
    Ok(Cow::Owned(text))
}
