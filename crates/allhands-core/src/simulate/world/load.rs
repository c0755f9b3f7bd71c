//! What a message is for, as the world keeps it.

use crate::simulate::network::Kind;
use crate::simulate::observer::Purpose;

/// What a message is for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Load {
    /// A receive in this lane, which is on this channel.
    Lane(u32, u16),
    /// Another, left behind by the packets of the sender's last message that is none such.
    Deposit(u32, u16),
    /// A window.
    Put,
    /// A window, where it is combined with what is there.
    PutReduce,
    /// A get, which the owner of the window answers.
    Request,
    /// The answer to a get.
    Answer,
    /// A flag of its receiver.
    Notice(u16),
    /// A look at a flag that its sender has raised on itself.
    Sight(u16),
}

impl Load {
    /// How it travels.
    pub(super) fn kind(self) -> Kind {
        match self {
            Load::Lane(..) | Load::Deposit(..) => Kind::Message,
            Load::Put | Load::PutReduce => Kind::Put,
            Load::Request => Kind::Request,
            Load::Answer => Kind::Answer,
            Load::Notice(_) | Load::Sight(_) => Kind::Notice,
        }
    }

    /// What an observer is told of it.
    pub(super) fn purpose(self) -> Purpose {
        match self {
            Load::Lane(_, channel) | Load::Deposit(_, channel) => Purpose::Message { channel },
            Load::Put => Purpose::Put,
            Load::PutReduce => Purpose::PutReduce,
            Load::Request => Purpose::Request,
            Load::Answer => Purpose::Answer,
            Load::Notice(_) => Purpose::Notice,
            Load::Sight(_) => Purpose::Sight,
        }
    }
}
