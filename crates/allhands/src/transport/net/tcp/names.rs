//! Names: what people call the hosts and rails of a network, for warnings and to know whose ranks are lost together.

use super::driver::TcpNetwork;
use super::protocol::peer::Loss;
use crate::transport::net::{LossCause, Places};
use std::net::IpAddr;

impl TcpNetwork {
    /// Says which ranks are on one host, and what the own rails are called: as many names as there are rails, or none.
    #[must_use]
    pub fn with_names(mut self, places: &Places, rails: &[String]) -> TcpNetwork {
        let ranks = 0..self.addresses.len() as u32;
        if places.ranks() == ranks.end {
            let host_of = ranks.map(|rank| places.node(rank)).collect();
            self.machine.set_hosts(host_of);
            self.places = Some(places.clone());
        }
        self.rails = rails.into();
        self
    }

    /// What people call the host of a rank, where that is known.
    pub(in crate::transport::net) fn host(&self, rank: u32) -> Option<&str> {
        self.places.as_ref()?.host(rank)
    }

    /// What is said when a rail leads to the host of a rank no more: nothing where that is an error.
    pub(super) fn warning(&self, (peer, rail): (u32, u32), loss: Loss) -> String {
        if self.needs_all_rails {
            return String::new();
        }
        let own = self
            .host(self.rank)
            .map_or(String::new(), |host| format!(" on host {host}"));
        let (rank, lost) = (self.rank, self.lost_way((peer, rail), loss));
        format!("allhands: rank {rank}{own} reaches {lost}; the other rails go on\n")
    }

    fn lost_way(&self, (peer, rail): (u32, u32), loss: Loss) -> String {
        let other = self
            .host(peer)
            .map_or(format!("rank {peer}"), |host| format!("host {host}"));
        let address = |rank: u32| -> Option<IpAddr> {
            let of_rank = self.addresses.get(rank as usize)?;
            of_rank.get(rail as usize).map(|address| address.ip())
        };
        let way = match (address(self.rank), address(peer)) {
            (Some(from), Some(to)) => format!("{from} to {to}"),
            _ => String::new(),
        };
        let way = match self.rails.get(rail as usize) {
            Some(name) => format!("{name}, {way}"),
            None => way,
        };
        format!("{other} over rail {rail} ({way}) no more: {loss}")
    }

    /// Says that a rank is lost when one rail does not lead to its host any more: whoever uses it needs all of them.
    pub(in crate::transport::net) fn need_all_rails(&mut self) {
        self.needs_all_rails = true;
    }

    /// Why a rank cannot be reached over all rails any more, if that is so.
    pub(in crate::transport::net) fn rail_loss(&self, rank: u32) -> Option<LossCause> {
        let (rail, loss) = self
            .machine
            .silent_rail(rank)
            .filter(|_| self.needs_all_rails)?;
        let lost = self.lost_way((rank, rail), loss);
        Some(LossCause::Rail(format!("this rank reaches {lost}")))
    }
}
