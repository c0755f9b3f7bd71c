//! Helpers that exchange: what the rank that leads a blade would only hand on, its helper takes in and sends on by itself (C 6).
//!
//! ```text
//! rank ─▶ helper ─ network ─▶ helper   helper ─ network ─▶ helper   …   helper ─▶ rank
//! ```
//!
//! In a barrier the ranks of a blade tell their helper that they are there, the helpers have a barrier among themselves, and each tells
//! its blade. So of the messages without data that a rank exchanges through a network, the first goes up to its helper; those that
//! come in before the last one is sent end there, and what is sent after one has come starts there. Data is not for helpers: a rank
//! that sends any through the network sends and gets everything itself.

use crate::schedule::{OpKind, Plan};
use alloc::vec;
use alloc::vec::Vec;

/// What each rank's helper has done, and will.
#[derive(Clone, Debug)]
pub(super) struct Helpers {
    ranks: Vec<Helper>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Helper {
    /// How many messages come in before the last one is sent.
    takes: u32,
    /// How many have been sent here, …
    coming: u32,
    /// … how many of them have come, …
    came: u32,
    /// … and how many were sent from here.
    sent: u32,
}

impl Helpers {
    /// Helpers that do nothing by themselves.
    pub(super) fn idle(ranks: u32) -> Helpers {
        Helpers {
            ranks: vec![Helper::default(); ranks as usize],
        }
    }

    /// The helpers of ranks with these plans; `crosses` says which pairs are in reach through a network only.
    pub(super) fn of(plans: &[Plan], crosses: impl Fn(u32, u32) -> bool) -> Helpers {
        let helper = |plan: &Plan| {
            let (mut received, mut takes) = (0, 0);
            for op in plan.ops.iter() {
                let is_send = matches!(op.kind, OpKind::Send { .. });
                let (OpKind::Send { to: peer, .. } | OpKind::Recv { from: peer, .. }) = op.kind
                else {
                    continue;
                };
                if !crosses(plan.rank, peer) {
                    continue;
                }
                if !op.is_token() {
                    return Helper::default();
                }
                if is_send {
                    takes = received;
                } else {
                    received += 1;
                }
            }
            Helper {
                takes,
                ..Helper::default()
            }
        };
        Helpers {
            ranks: plans.iter().map(helper).collect(),
        }
    }

    /// A message is sent from one rank to another through a network: whether it starts at the sender's helper, and ends at the
    /// receiver's.
    pub(super) fn send(&mut self, from: u32, to: u32) -> [bool; 2] {
        let sender = &mut self.ranks[from as usize];
        let starts = sender.sent > 0 && (1..=sender.takes).contains(&sender.came);
        sender.sent += 1;
        let receiver = &mut self.ranks[to as usize];
        receiver.coming += 1;
        [starts, receiver.coming <= receiver.takes]
    }

    /// It has come.
    pub(super) fn come(&mut self, to: u32) {
        self.ranks[to as usize].came += 1;
    }
}
