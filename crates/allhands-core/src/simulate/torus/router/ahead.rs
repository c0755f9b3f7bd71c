//! What packets' next steps will need of the routers, told ahead so that memory has it by then.

use super::ports::{CHANNELS, OWN, PORTS, of_buffer};
use super::{NONE, Router};
use crate::simulate::observer::Observer;

impl Router {
    /// A packet will be at the end of a buffer soon.
    #[inline]
    pub(in super::super) fn look_at_arrival<O: Observer>(
        &self,
        (node, own): (usize, usize),
        packet: u32,
        stage: usize,
    ) {
        let (port, _) = of_buffer(own);
        match stage {
            0 => {
                self.look_at_port::<O>(node, port);
                self.look_at_packet::<O>(packet);
            }
            // It most often goes straight on.
            1 => self.look_at_port::<O>(usize::from(self.ports.at(node, port).next), port),
            _ => {}
        }
    }

    /// A packet will have left a buffer soon.
    #[inline]
    pub(in super::super) fn look_at_leaving<O: Observer>(
        &self,
        (node, own): (usize, usize),
        stage: usize,
    ) {
        let (port, at) = of_buffer(own);
        if stage == 0 {
            return self.look_at_port::<O>(node, port);
        }
        if stage > 1 {
            return;
        }
        let here = self.ports.at(node, port);
        let link = usize::from(here.link[at % CHANNELS]) % PORTS;
        match own {
            ..OWN => self.look_at_port::<O>(usize::from(here.before), port),
            _ => self.look_at_port::<O>(node, link),
        }
        self.look_at_packet::<O>(here.first[at % CHANNELS]);
    }

    /// A node's processor has a turn soon, with a packet or none; gives the number of its message, once that is known.
    #[inline]
    pub(in super::super) fn look_at_turn<O: Observer>(
        &self,
        (node, packet): (u32, u32),
        stage: usize,
    ) -> u32 {
        match stage {
            0 => self.look_at_port::<O>(node as usize, of_buffer(OWN).0),
            1 => self.look_at_packet::<O>(packet),
            _ => {
                let packet = self.packets.get(packet as usize);
                return packet.map_or(NONE, |packet| packet.message);
            }
        }
        NONE
    }

    #[inline]
    fn look_at_port<O: Observer>(&self, node: usize, port: usize) {
        O::soon(self.ports.at(node, port), |port| usize::from(port.next));
    }

    #[inline]
    fn look_at_packet<O: Observer>(&self, packet: u32) {
        if let Some(packet) = self.packets.get(packet as usize) {
            O::soon(packet, |packet| usize::from(packet.length));
        }
    }
}
