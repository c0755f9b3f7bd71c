//! What packets' next steps will need of the routers, read ahead so that memory has it by then.

use super::Router;
use super::ports::{CHANNELS, OWN, PORTS, of_buffer};

impl Router {
    /// Something of all that a packet's arrival will need, read ahead of it.
    pub(in super::super) fn look_at_arrival(
        &self,
        (node, own): (usize, usize),
        packet: u32,
    ) -> usize {
        let (port, at) = of_buffer(own);
        let here = self.ports.at(node, port);
        // It most often goes straight on.
        let next = self.ports.at(usize::from(here.next), port);
        usize::from(here.room[at % CHANNELS])
            ^ usize::from(self.packets[packet as usize].length)
            ^ usize::from(next.reception)
    }

    /// The same of a packet's leaving a buffer.
    pub(in super::super) fn look_at_leaving(&self, (node, own): (usize, usize)) -> usize {
        let (port, at) = of_buffer(own);
        let here = self.ports.at(node, port);
        let first = self.packets.get(here.first[at % CHANNELS] as usize);
        let beside = match own {
            ..OWN => self.ports.at(usize::from(here.before), port),
            _ => self
                .ports
                .at(node, usize::from(here.link[at % CHANNELS]) % PORTS),
        };
        first.map_or(0, |packet| usize::from(packet.length)) ^ usize::from(beside.reception)
    }
}
