//! The shapes of networks with switches in a machine's file.

use super::{check_times, linear, picoseconds};
use allhands_core::simulate::{
    DragonflyRoutes, Eager, FatTreeRoutes, Hop, Level, MOST_LINKS, Spread,
};
use anyhow::{Context, anyhow, ensure};
use serde::Deserialize;

/// What a message pays at a link.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Cable {
    latency_us: f64,
    message_us: f64,
    byte_ns: f64,
}

impl Cable {
    fn hop(&self) -> anyhow::Result<Hop> {
        let Cable {
            latency_us,
            message_us,
            byte_ns,
        } = *self;
        check_times(&[
            ("latency_us", latency_us),
            ("message_us", message_us),
            ("byte_ns", byte_ns),
        ])?;
        Ok(Hop {
            occupies: linear(message_us, byte_ns),
            latency_ps: picoseconds(latency_us),
        })
    }
}

/// A fat tree.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tree {
    #[serde(default)]
    routes: Routes,
    eager_to_bytes: Option<u64>,
    levels: Vec<Stage>,
}

/// Which of the shortest routes messages take.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Routes {
    /// What the destination's number says.
    #[default]
    ByDestination,
    /// Any one, which the pair keeps.
    ByPair,
}

/// A level of it, from the hosts up.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stage {
    down: u32,
    up: u32,
    link: Cable,
}

impl Tree {
    /// Up to which length messages go at once, if it says.
    pub(super) fn eager(&self) -> Option<Eager> {
        self.eager_to_bytes.map(|to_bytes| Eager { to_bytes })
    }

    pub(super) fn routes(&self) -> anyhow::Result<FatTreeRoutes> {
        ensure!(!self.levels.is_empty(), "levels: at least one");
        let mut levels = Vec::new();
        for (number, stage) in (1..).zip(&self.levels) {
            let Stage { down, up, .. } = *stage;
            ensure!(
                down > 0 && up > 0,
                "level {number}: down = {down}, up = {up}: at least one child, and one parent"
            );
            let hop = stage.link.hop();
            let hop = hop.with_context(|| format!("level {number}"))?;
            levels.push(Level { down, up, hop });
        }
        let routes = FatTreeRoutes::new(levels);
        let routes = routes
            .with_context(|| format!("the tree has more than {MOST_LINKS} links: too many"))?;
        Ok(routes.spread(match self.routes {
            Routes::ByDestination => Spread::Destination,
            Routes::ByPair => Spread::Pair,
        }))
    }
}

/// A dragonfly.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Groups {
    hosts_per_router: u32,
    routers_per_group: u32,
    globals_per_router: u32,
    groups: u32,
    host: Cable,
    local: Cable,
    global: Cable,
}

impl Groups {
    pub(super) fn routes(&self) -> anyhow::Result<DragonflyRoutes> {
        let routes = DragonflyRoutes {
            hosts_per_router: self.hosts_per_router,
            routers_per_group: self.routers_per_group,
            globals_per_router: self.globals_per_router,
            groups: self.groups,
            host: self.host.hop().context("host")?,
            local: self.local.hop().context("local")?,
            global: self.global.hop().context("global")?,
        };
        routes.check().map_err(|why| anyhow!("{why}"))?;
        Ok(routes)
    }
}
