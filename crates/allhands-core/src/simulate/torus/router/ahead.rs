//! What packets' next steps will need of the routers, read ahead so that memory has it by then.

use super::Router;
use super::node::{CHANNELS, Node, OWN};

impl Router {
    /// Something of all that a packet's arrival will need, read ahead of it.
    pub(in super::super) fn look_at_arrival(
        &self,
        (node, own): (usize, usize),
        packet: u32,
    ) -> usize {
        let here = &self.nodes[node];
        // It most often goes straight on.
        let next = &self.nodes[usize::from(here.neighbours[own.min(OWN - 1) / CHANNELS])];
        usize::from(here.buffers[own].room)
            ^ usize::from(self.packets[packet as usize].length)
            ^ header(here)
            ^ usize::from(next.buffers[own].room)
    }

    /// The same of a packet's leaving a buffer.
    pub(in super::super) fn look_at_leaving(&self, (node, own): (usize, usize)) -> usize {
        let here = &self.nodes[node];
        let first = self.packets.get(here.buffers[own].first as usize);
        let before = match own {
            ..OWN => header(&self.nodes[usize::from(here.neighbours[(own / CHANNELS) ^ 1])]),
            _ => 0,
        };
        first.map_or(0, |packet| usize::from(packet.length)) ^ header(here) ^ before
    }
}

/// Both lines of a node's links.
fn header(node: &Node) -> usize {
    usize::from(node.busy) ^ usize::from(node.queues[0])
}
