//! The team: what ranks are, how many, and where they run.

use crate::command::run::Binding;
use crate::command::run::hosts::{OFI, Options, TCP};
use crate::ranks::Ranks;
use allhands::launch::Nodes;

/// What ranks are, how many, and where.
#[derive(Clone, Debug, clap::Args)]
pub struct Team {
    /// Numbers of ranks: 8, 2,4,8, 1-64 or 1..=64 [default: as many as --hosts or --nodes have, otherwise 8]
    #[arg(long, short = 'n')]
    pub ranks: Option<Ranks>,

    /// What ranks are: threads of this process, processes that share memory (shm), or processes between which there is
    /// the kernel's TCP (tcp) or libfabric (ofi)
    #[arg(long, default_value = "threads")]
    pub transport: Transport,

    /// Pretend nodes: 2x4 is two of four ranks each, with --transport tcp or ofi two hosts of four
    #[arg(long, value_name = "NODESxRANKS")]
    pub nodes: Option<Nodes>,

    #[command(flatten)]
    pub on: Options,

    #[command(flatten)]
    pub binding: Binding,
}

/// What ranks are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Transport {
    /// Threads of this process.
    Threads,
    /// Processes that share memory.
    Shm,
    /// Processes on hosts, over the kernel's TCP.
    Tcp,
    /// Processes on hosts, over libfabric.
    Ofi,
}

impl Transport {
    /// Its name in records.
    pub const fn name(self) -> &'static str {
        match self {
            Transport::Threads => "threads",
            Transport::Shm => "shm",
            Transport::Tcp => TCP,
            Transport::Ofi => OFI,
        }
    }

    /// Whether ranks are processes.
    pub const fn is_processes(self) -> bool {
        !matches!(self, Transport::Threads)
    }

    /// The network between hosts, if there are some.
    pub const fn network(self) -> Option<&'static str> {
        match self {
            Transport::Threads | Transport::Shm => None,
            Transport::Tcp | Transport::Ofi => Some(self.name()),
        }
    }
}
