//! Measuring: what the other ends have of what was written, so that rails carry by their rates.

use super::driver::TcpNetwork;
use super::socket::Socket;
use std::time::{Duration, Instant};

/// How seldom the kernel is asked, as each answer takes a call to it.
const MEASURED_EVERY: Duration = Duration::from_micros(20);

impl TcpNetwork {
    /// Tells the machine how much of what was written over several rails the other ends' kernels have.
    pub(super) fn measure(&mut self) {
        let count = self.machine.count_measured();
        if count == 0 {
            return;
        }
        let now = Instant::now();
        if now.saturating_duration_since(self.measured) < MEASURED_EVERY {
            return;
        }
        self.measured = now;
        // A rate is as good as its clock.
        self.begin();
        for place in (0..count).rev() {
            let Some(at) = self.machine.measured(place) else {
                continue;
            };
            let socket = self.sockets.get(at as usize).and_then(Option::as_ref);
            let left = socket.map_or(0, Socket::unacknowledged);
            self.machine.delivered(at, left);
        }
    }
}
