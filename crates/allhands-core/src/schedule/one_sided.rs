//! One-sided operations in a builder: what is put into windows of peers, and what is read there.

use super::{BlockList, Builder, OpKind, Side};

impl Builder {
    /// Writes `from` into blocks `into` of the window of rank `to`.
    pub fn put(&mut self, to: u32, from: impl BlockList, into: impl BlockList) {
        self.push(
            OpKind::Put {
                to,
                port: self.port,
            },
            from.sets(),
            into.sets(),
            &[],
        );
    }

    /// Combines `from` with blocks `into` of the window of rank `to`, there; what is put stands on `side`.
    pub fn put_reduce(&mut self, to: u32, side: Side, from: impl BlockList, into: impl BlockList) {
        let kind = OpKind::PutReduce {
            to,
            port: self.port,
            side,
        };
        self.push(kind, from.sets(), into.sets(), &[]);
    }

    /// Reads blocks `source` of the window of rank `from` into `into`.
    pub fn get_from(&mut self, from: u32, source: impl BlockList, into: impl BlockList) {
        self.push_get((from, false), source, into);
    }

    /// The same of blocks that nobody reads after it: they hold nothing then until they are written again.
    pub fn get_last(&mut self, from: u32, source: impl BlockList, into: impl BlockList) {
        self.push_get((from, true), source, into);
    }

    fn push_get(
        &mut self,
        (from, last): (u32, bool),
        source: impl BlockList,
        into: impl BlockList,
    ) {
        let port = self.port;
        let kind = OpKind::Get { from, port, last };
        self.push(kind, &[], into.sets(), source.sets());
    }

    /// Reads blocks `source` of the window of rank `from`, combines with `own`, writes `into`; what is read stands on
    /// `side`.
    pub fn get_reduce(
        &mut self,
        from: u32,
        side: Side,
        source: impl BlockList,
        own: impl BlockList,
        into: impl BlockList,
    ) {
        self.push_get_reduce((from, side, false), source, own, into);
    }

    /// The same of blocks that nobody reads after it: they hold nothing then until they are written again.
    pub fn get_reduce_last(
        &mut self,
        from: u32,
        side: Side,
        source: impl BlockList,
        own: impl BlockList,
        into: impl BlockList,
    ) {
        self.push_get_reduce((from, side, true), source, own, into);
    }

    fn push_get_reduce(
        &mut self,
        (from, side, last): (u32, Side, bool),
        source: impl BlockList,
        own: impl BlockList,
        into: impl BlockList,
    ) {
        let port = self.port;
        let kind = OpKind::GetReduce {
            from,
            port,
            side,
            last,
        };
        self.push(kind, own.sets(), into.sets(), source.sets());
    }
}
