//! What packets' next steps will need of the routers, read ahead so that memory has it by then.

use super::{BUFFERS, CHANNELS, DIRECTIONS, LINKS, OWN, Router};

impl Router {
    /// Something of all that a packet's arrival will need, read ahead of it.
    pub(in super::super) fn look_at_arrival(&self, packet: u32) -> usize {
        let packet = &self.packets[packet as usize];
        let (node, link) = (
            packet.buffer as usize / BUFFERS,
            packet.wants.trailing_zeros() as usize,
        );
        let next = match link {
            ..DIRECTIONS => {
                self.grid.neighbour(node as u32, link) as usize * BUFFERS + link * CHANNELS
            }
            _ => packet.buffer as usize,
        };
        let rooms = [next, packet.buffer as usize].map(|at| usize::from(self.buffers[at].room));
        rooms[0] ^ rooms[1] ^ self.look_at_link(node, link)
    }

    /// The same of a packet's leaving a buffer.
    pub(in super::super) fn look_at_leaving(&self, at: usize) -> usize {
        let (buffer, node, own) = (&self.buffers[at], at / BUFFERS, at % BUFFERS);
        let before = match own {
            ..OWN => self.grid.neighbour(node as u32, (own / CHANNELS) ^ 1) as usize,
            _ => node,
        };
        let first = self.packets.get(buffer.first as usize);
        first.map_or(0, |packet| usize::from(packet.chunks))
            ^ self.look_at_link(node, usize::from(buffer.link))
            ^ self.look_at_link(before, own / CHANNELS)
    }

    fn look_at_link(&self, node: usize, link: usize) -> usize {
        let waiting = self.waiting[node * LINKS + link % LINKS] as usize;
        waiting ^ usize::from(self.busy[node])
    }
}
