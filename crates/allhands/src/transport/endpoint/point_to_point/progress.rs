//! Progress: how all messages of a rank are taken further.

use crate::transport::TransportError;
use crate::transport::endpoint::point_to_point::matching::Wanted;
use crate::transport::endpoint::point_to_point::message_error::Failure;
use crate::transport::endpoint::point_to_point::request::Received;
use crate::transport::endpoint::point_to_point::state::PointToPoint;
use crate::transport::endpoint::state::endpoint::Endpoint;

impl PointToPoint {
    /// Takes all messages as far as they go; those that cannot go on have ended then.
    pub(crate) fn progress(&mut self, endpoint: &Endpoint) {
        if let Err(error) = self.try_progress(endpoint) {
            endpoint.spread();
            self.fail_all(&error);
        }
    }

    fn try_progress(&mut self, endpoint: &Endpoint) -> Result<(), TransportError> {
        self.empty_mailbox(endpoint)?;
        if !self.reading.is_empty() {
            self.read_on(endpoint)?;
        }
        if !self.offered.is_empty() {
            self.look_at_offered()?;
        }
        self.say_taken_back(endpoint)?;
        if !self.contacts.is_empty() || !self.at_network.is_empty() {
            self.look_at_network(endpoint)?;
        }
        let mut at = 0;
        while let Some(to) = self.waiting.get(at).copied() {
            match self.send_waiting(endpoint, to)? {
                true => _ = self.waiting.swap_remove(at),
                false => at += 1,
            }
        }
        Ok(())
    }

    /// Whether a request has ended.
    pub(crate) fn has_ended(&self, number: usize) -> bool {
        self.requests.has_ended(number)
    }

    /// How a request ended, which is then forgotten; none if it has not ended.
    pub(crate) fn take(&mut self, number: usize) -> Option<Result<Received, Failure>> {
        self.requests.take(number)
    }

    /// The first message that is here, or comes with this look, and such a receive would meet.
    pub(crate) fn look_for(
        &mut self,
        endpoint: &Endpoint,
        wanted: Wanted,
    ) -> Result<Option<Received>, TransportError> {
        self.make_contact(endpoint, wanted.source)?;
        self.progress(endpoint);
        self.forget_withdrawn(wanted)?;
        Ok(self.probe(wanted))
    }
}
