//! C's models beyond a blade: barriers on a cluster of Cell blades (C 6.1) and on Roadrunner (C 6.2), and a broadcast after them.
//!
//! ```text
//! SPEs of a blade ─▶ PPE (─▶ Opteron) ─ log N rounds ─ (Opteron ─▶) PPE ─▶ SPEs of a blade
//! 3 L1(1) + L2(1)    L + g  ( L3 + g3 )   Lnode + gnode   ( L3 + g3 )  L + g  3 L1(1) + L2(1)
//! ```
//!
//! What C prints for barriers takes maxima of what follows one another: a PPE cannot meet the others before its blade has told it. As
//! the network takes far longer than a blade, that is a small error on Ethernet, and a larger one on Roadrunner's Infiniband.

use crate::call::Collective;
use crate::cost::formula::{Form, Miss};
use crate::cost::pattern::Pattern;
use crate::cost::plogp::{ExtendedPlogp, Measured};
use crate::pattern::math::ceil_log2;

/// A link above the blades: it takes L + g(m) (C 3.1).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hop {
    /// L, in microseconds.
    pub latency_us: f64,
    /// g(m).
    pub gap: Measured,
}

impl Hop {
    /// L + g(m), in microseconds.
    #[must_use]
    pub fn message_us(&self, bytes: f64) -> f64 {
        self.latency_us + self.gap.at_us(bytes)
    }
}

/// Blades of 16 SPEs each under further levels.
#[derive(Clone, Copy, Debug)]
pub struct Cluster<'a> {
    /// N: what the network connects, blades (C 6.1) or triblades (C 6.2).
    pub nodes: u32,
    /// What is inside a blade.
    pub blade: &'a ExtendedPlogp,
    /// From an SPE up: to the PPE (Lspe-ppe, gspe-ppe) and, on Roadrunner, on to the Opteron (L3, g3).
    pub up: &'a [Hop],
    /// Between nodes: Lnode, gnode, or L4, g4.
    pub network: &'a Hop,
}

/// A model of a collective on clusters.
#[derive(Clone, Copy, Debug)]
pub struct ClusterModel {
    /// Paper and section.
    pub section: &'static str,
    /// The machine.
    pub machine: &'static str,
    /// Printed or corrected.
    pub form: Form,
    /// The collective.
    pub collective: Collective,
    /// Parameters of the algorithm `hierarchical`.
    pub parameters: &'static str,
    /// Its time for a vector of so many bytes, in microseconds.
    pub time_us: fn(&Cluster<'_>, f64) -> f64,
    /// Why it misses the simulated machine, if it does and not because it is a misprint.
    pub miss: Option<Miss>,
}

/// A notification's length.
const NOTICE_BYTES: f64 = 1.0;

impl Cluster<'_> {
    /// ⌈lg N⌉.
    fn rounds(&self) -> f64 {
        f64::from(ceil_log2(self.nodes))
    }

    /// 3 L1(1) + L2(1): 16 SPEs of a blade by recursive doubling, up a binomial tree, or down it.
    fn blade_us(&self) -> f64 {
        3.0 * self.blade.inside.notice_us + self.blade.between.notice_us
    }

    /// The sum of L + g(m) from an SPE to the helper that the network is at.
    fn up_us(&self, bytes: f64) -> f64 {
        self.up.iter().map(|hop| hop.message_us(bytes)).sum()
    }

    /// L and g(1) of the link with number `at` from an SPE up; 0 where there is none.
    fn link_us(&self, at: usize) -> [f64; 2] {
        self.up.get(at).map_or([0.0; 2], |hop| {
            [hop.latency_us, hop.gap.at_us(NOTICE_BYTES)]
        })
    }
}

/// C 6.1: the longest of the blade's barrier, its PPE's news and Bruck's rounds among the PPEs; then Lppe-spe and down the blade.
fn blades_printed(c: &Cluster<'_>, _: f64) -> f64 {
    let [latency_us, gap_us] = c.link_us(0);
    let inside = c.blade_us().max(latency_us + gap_us);
    let among = c.rounds() * c.network.message_us(NOTICE_BYTES);
    inside.max(among) + latency_us + c.blade_us()
}

/// C 6.2: the longer of the blade's barrier and 15 gaps at the PPE; L3; lg N rounds of L4; L3 + g3; then as C 6.1.
fn roadrunner_printed(c: &Cluster<'_>, _: f64) -> f64 {
    let ([latency_us, gap_us], [third_us, third_gap_us]) = (c.link_us(0), c.link_us(1));
    let inside = c.blade_us().max(latency_us + 15.0 * gap_us);
    let among = c.rounds() * c.network.latency_us;
    inside + third_us + among + third_us + third_gap_us + latency_us + c.blade_us()
}

/// One after another, with L + g for every link: the blade, up, the rounds, down, the blade.
fn barrier_corrected(c: &Cluster<'_>, _: f64) -> f64 {
    let among = c.rounds() * c.network.message_us(NOTICE_BYTES);
    2.0 * (c.blade_us() + c.up_us(NOTICE_BYTES)) + among
}

/// When a broadcast's message is with the blade `at`, up a binomial tree whose ranks send to the child with the longest path first, each
/// further message a gap of the network later.
fn reached_us(c: &Cluster<'_>, bytes: f64, at: u32) -> f64 {
    if at == 0 {
        return 0.0;
    }
    let lowest = |x: u32| x & x.wrapping_neg();
    let parent = at - lowest(at);
    let below = match parent {
        0 => c.nodes,
        parent => lowest(parent),
    };
    let before = (0..ceil_log2(c.nodes)).map(|k| 1 << k).filter(|distance| {
        *distance > lowest(at) && *distance < below && parent + distance < c.nodes
    });
    let gaps_us = before.count() as f64 * c.network.gap.at_us(bytes);
    let trip_us = 2.0 * c.up_us(bytes) + c.network.message_us(bytes);
    reached_us(c, bytes, parent) + gaps_us + trip_us
}

/// A binomial tree among the blades, whose messages go up, across and down; then the ordered tree of table 2 on the last blade.
fn broadcast(c: &Cluster<'_>, bytes: f64) -> f64 {
    let reached = (0..c.nodes).map(|at| reached_us(c, bytes, at));
    let tree = Pattern::OrderedTree { near: 3, far: 1 };
    let inside_us = tree.terms().time_us(c.blade, &c.blade.inside, bytes);
    reached.fold(0.0, f64::max) + inside_us
}

const IN_TURN: &str = "a PPE meets the others when its blade has told it, so the blade, the PPE and the rounds are a sum, not a maximum; and a \
     link takes L + g down as it does up";
const ONE_TELLS: &str = "one SPE, which has heard of all, tells the PPE, so there is no maximum and one gap (as in 6.1), not 15; rounds and links \
     take L + g, not L alone";
const TRIBLADE: Miss = Miss::Differs(
    "a triblade's two blades meet by a message from SPE to SPE here, over both PPEs and the Opteron and back, where C's Opteron \
     hears from both PPEs",
);

/// C's models of barriers on clusters, each corrected one behind the one as printed, and what C 6.1 leaves to be extended.
pub const CLUSTER_MODELS: [ClusterModel; 5] = [
    ClusterModel {
        section: "C 6.1",
        machine: "cell-cluster",
        form: Form::Printed,
        collective: Collective::Barrier,
        parameters: "intra=tree,inter=dissemination",
        time_us: blades_printed,
        miss: None,
    },
    ClusterModel {
        section: "C 6.1",
        machine: "cell-cluster",
        form: Form::Corrected(IN_TURN),
        collective: Collective::Barrier,
        parameters: "intra=tree,inter=dissemination",
        time_us: barrier_corrected,
        miss: None,
    },
    ClusterModel {
        section: "C 6.1",
        machine: "cell-cluster",
        form: Form::Corrected("C prints none: after its words and table 2"),
        collective: Collective::Broadcast,
        parameters: "intra=tree",
        time_us: broadcast,
        miss: None,
    },
    ClusterModel {
        section: "C 6.2",
        machine: "roadrunner",
        form: Form::Printed,
        collective: Collective::Barrier,
        parameters: "intra=tree,inter=recursive-doubling",
        time_us: roadrunner_printed,
        miss: Some(TRIBLADE),
    },
    ClusterModel {
        section: "C 6.2",
        machine: "roadrunner",
        form: Form::Corrected(ONE_TELLS),
        collective: Collective::Barrier,
        parameters: "intra=tree,inter=recursive-doubling",
        time_us: barrier_corrected,
        miss: Some(TRIBLADE),
    },
];

#[cfg(test)]
mod tests;
