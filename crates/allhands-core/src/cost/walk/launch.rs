//! Messages of a walk before they have a port: how their ends meet, or their sender hands them over.

use super::super::model::{Deed, Model};
use super::message::{End, Leg, Load, Message};
use super::{Walker, What};

impl<M: Model> Walker<'_, M> {
    /// An end of a two-sided message has come; if the other was there, the message is ready.
    pub(super) fn meet(
        &mut self,
        (from, to, channel): (u32, u32, u16),
        end: End,
        sends: bool,
        path: M::Path,
    ) {
        let meetings = &mut self.ranks[to as usize].meetings;
        let meeting = meetings.entry((from, channel)).or_default();
        let (own, other) = if sends {
            (&mut meeting.sends, &mut meeting.receives)
        } else {
            (&mut meeting.receives, &mut meeting.sends)
        };
        let Some(met) = other.pop_front() else {
            own.push_back(end);
            return;
        };
        if other.is_empty() {
            meetings.remove(&(from, channel));
        }
        let (send, receive) = if sends { (end, met) } else { (met, end) };
        if !M::MEETS {
            self.receive(receive.instance, from, send.units, path);
            return;
        }
        let load = Load::TwoSided {
            send: send.instance,
            receive: receive.instance,
        };
        let one_way = send.one_way && receive.one_way;
        self.offer((from, to), End { one_way, ..send }, load, path);
    }

    /// A send begins.
    pub(super) fn send(
        &mut self,
        (from, to, channel): (u32, u32, u16),
        end: End,
        deposited: bool,
        path: M::Path,
    ) {
        if M::MEETS {
            return self.meet((from, to, channel), end, true, path);
        }
        let send = end.instance;
        let carrier = self.ranks[from as usize].carrier;
        if let Some(carrier) = carrier.filter(|_| deposited && self.machine.deposits()) {
            let load = Load::Copied { send, channel };
            let copy = self.message((from, to), end, load, path);
            self.riders.entry(carrier).or_default().push(Message {
                leg: Leg::In,
                ..copy
            });
            self.complete(send, path);
            return;
        }
        self.ranks[from as usize].carrier = Some(send);
        let load = Load::Eager { send, channel };
        self.launch((from, to), end, load, Deed::Send(to), path);
    }

    /// A get begins: as a message of its own where ends meet, otherwise with a request.
    pub(super) fn get(&mut self, from: u32, end: End, path: M::Path) {
        let (get, rank) = (end.instance, end.instance.rank);
        if M::MEETS {
            return self.offer((from, rank), end, Load::Get { get }, path);
        }
        let load = Load::Request {
            get,
            units: end.units,
        };
        self.launch((rank, from), end, load, Deed::Get(from), path);
    }

    /// A rank hands a message over: its processor does its part, if it has one in this model.
    pub(super) fn launch(
        &mut self,
        ends: (u32, u32),
        end: End,
        load: Load,
        deed: Deed,
        path: M::Path,
    ) {
        if M::MEETS {
            return self.offer(ends, end, load, path);
        }
        let handed = self.worked(ends.0, &[deed], end.units, path);
        // A request has nothing of what it asks for.
        let units = match load {
            Load::Request { .. } => 0,
            _ => end.units,
        };
        let end = End { units, ..end };
        if self.time_us(&handed) <= self.time_us(&path) {
            return self.offer(ends, end, load, path);
        }
        let message = self.message(ends, end, load, handed);
        self.push_event(handed, What::Handed(self.handed.len() as u32));
        self.handed.push(message);
    }

    /// A message is ready from now on.
    pub(super) fn offer(&mut self, ends: (u32, u32), end: End, load: Load, path: M::Path) {
        let message = self.message(ends, end, load, path);
        self.ready_now(message, path);
    }

    fn message(
        &self,
        (from, to): (u32, u32),
        end: End,
        load: Load,
        path: M::Path,
    ) -> Message<M::Path> {
        Message {
            from,
            to,
            port: end.port,
            units: end.units,
            one_way: end.one_way,
            place: end.place,
            load,
            leg: if M::MEETS { Leg::Whole } else { Leg::Out },
            path,
            moment: self.moment,
            started: false,
        }
    }

    pub(super) fn ready_now(&mut self, message: Message<M::Path>, path: M::Path) {
        let moment = self.moment;
        self.fresh.push(Message {
            path,
            moment,
            started: false,
            ..message
        });
    }
}
