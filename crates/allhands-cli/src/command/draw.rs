//! `allhands draw`: a picture of an algorithm, as text or SVG.

use crate::names;
use allhands_core::call::{Call, Collective};
use allhands_core::draw::{self, Style};
use allhands_core::machine::{Nodes, Torus};
use anyhow::{Context, anyhow};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Draw what every rank holds after every step, and what moves where
///
/// Without -o the picture is printed as text. The style follows the collective, in the style of
/// the papers' figures: tables of blocks, arcs between ranks, boxes with the ranks whose
/// contributions they hold, or, of an algorithm for a torus, the nodes in a grid.
///
/// Examples:
///   allhands draw allgather --algorithm bruck --ranks 6 -o bruck.svg
///   allhands draw allreduce --algorithm rabenseifner --ranks 13
///   allhands draw allgather --algorithm hierarchical --ranks 8 --nodes 2x4
///   allhands draw allreduce --algorithm line-broadcast:group=4 --torus 8x8 -o lines.svg
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// The collective
    #[arg(value_parser = names::collective)]
    collective: Collective,

    /// The algorithm, NAME or NAME:key=value,…
    #[arg(long)]
    algorithm: String,

    /// The number of ranks (those of the torus, or else 8)
    #[arg(long, short = 'n', value_parser = clap::value_parser!(u32).range(1..))]
    ranks: Option<u32>,

    /// The root
    #[arg(long, default_value_t = 0)]
    root: u32,

    /// Which ranks share a node: one, 4x4 (4 nodes of 4 ranks), 2x2x4 (levels, outermost first) or 3,5,2
    #[arg(long, default_value_t)]
    nodes: Nodes,

    /// Where the ranks are on a mesh or torus: 4x4x2 (a torus from 512 nodes on), 4x4x4:torus, 8x8x8:mesh or 8x4x4:x; rank = x + X·(y + Y·z)
    #[arg(long)]
    torus: Option<Torus>,

    /// Write an SVG file instead of printing text
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// The style of the SVG
    #[arg(long, value_enum)]
    style: Option<StyleName>,
}

/// A style, as typed.
#[derive(Clone, Copy, clap::ValueEnum)]
enum StyleName {
    /// A table a step: a column a rank, a row a block
    Tables,
    /// Arcs between partners
    Arcs,
    /// Parts of the vector with the ranks combined in them
    Boxes,
    /// The nodes of a mesh or torus, with its links and streams
    Grid,
}

impl From<StyleName> for Style {
    fn from(name: StyleName) -> Style {
        match name {
            StyleName::Tables => Style::Tables,
            StyleName::Arcs => Style::Arcs,
            StyleName::Boxes => Style::Boxes,
            StyleName::Grid => Style::Grid,
        }
    }
}

/// Draws.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let Arguments {
        collective, root, ..
    } = *arguments;
    // As many as the nodes have, if those are said, or as the torus.
    let on_nodes: u32 = arguments.nodes.sizes(0).iter().sum();
    let on_torus = arguments.torus.map(|torus| torus.ranks().max(on_nodes));
    let ranks = arguments.ranks.or(on_torus).unwrap_or(8);
    let (algorithm, parameters) = names::algorithm(collective, &arguments.algorithm)?;
    let shape = names::shape(
        algorithm,
        Call {
            root,
            ..Call::new(collective, ranks)
        },
        parameters,
    )?
    .on(arguments.nodes.clone())
    .on_torus(arguments.torus)
    .with(algorithm.fabrics());
    algorithm
        .admits(&shape)
        .map_err(|why| anyhow!("{collective} {}: {why}", algorithm.name))?;
    let story = draw::story(algorithm, &shape).map_err(|why| anyhow!("{why}"))?;
    match &arguments.output {
        None => write!(std::io::stdout().lock(), "{}", draw::text(&story))?,
        Some(path) => {
            let style = arguments.style.map_or(story.style, Style::from);
            let picture = draw::svg(&story, style);
            std::fs::write(path, picture)
                .with_context(|| format!("cannot write {}", path.display()))?;
            writeln!(std::io::stdout().lock(), "wrote {}", path.display())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
