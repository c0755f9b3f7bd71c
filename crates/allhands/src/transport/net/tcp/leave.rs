//! Leaving: a rank goes when all that it has sent is away.

use super::driver::TcpNetwork;
use super::socket::Socket;
use std::time::{Duration, Instant};

/// How long a rank that leaves waits until everything that it has sent is away.
const LINGERS: Duration = Duration::from_secs(5);

impl Drop for TcpNetwork {
    /// Waits until what was sent is away: a rank leaves without a word for nobody.
    fn drop(&mut self) {
        self.machine.leave();
        let until = Instant::now() + LINGERS;
        let is_away = |sockets: &[Option<Socket>]| sockets.iter().flatten().all(Socket::is_sent);
        while self.look(Duration::from_micros(200)).is_ok()
            && !(self.machine.is_drained() && is_away(&self.sockets))
            && Instant::now() < until
        {}
        self.sockets.iter_mut().flatten().for_each(Socket::close);
    }
}
