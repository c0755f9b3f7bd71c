//! Printing schedules.

use super::Document;
use crate::call::Call;
use crate::schedule::{Blocks, Item, List, Op, OpKind, Region, Schedule, Side, Space, Units};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Display, Formatter, Write};

/// The text that [`parse`](super::parse) reads back to the same document.
#[must_use]
pub fn print(document: &Document) -> String {
    let mut text = String::new();
    let done = write!(text, "{}", Text(document));
    debug_assert!(done.is_ok(), "writing to a string does not fail");
    text
}

struct Text<'a>(&'a Document);

impl Display for Text<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for directive in &self.0.directives {
            f.write_str(&directive.name)?;
            for word in &directive.words {
                write!(f, " {word}")?;
            }
            writeln!(f)?;
        }
        call(&self.0.call, f)?;
        writeln!(f, "parts {}", self.0.parts)?;
        self.0.schedules.iter().try_for_each(|s| rank(s, f))
    }
}

fn call(call: &Call, f: &mut Formatter<'_>) -> fmt::Result {
    write!(f, "call {} ranks {}", call.collective, call.ranks)?;
    if call.collective.rooted() || call.root != 0 {
        write!(f, " root {}", call.root)?;
    }
    if call.collective.reduces() || !call.commutative {
        f.write_str(if call.commutative {
            " commutative"
        } else {
            " ordered"
        })?;
    }
    writeln!(f, "{}", if call.in_place { " in-place" } else { "" })
}

fn rank(schedule: &Schedule, f: &mut Formatter<'_>) -> fmt::Result {
    writeln!(f, "\nrank {} {{", schedule.rank)?;
    for (space, regions) in [
        (Space::Scratch, &schedule.scratch),
        (Space::Window, &schedule.window),
    ] {
        for region in regions {
            writeln!(f, "  {}", Shown(space, region))?;
        }
    }
    for (flag, credits) in schedule.credits.iter().enumerate() {
        writeln!(f, "  flag {flag} credits {credits}")?;
    }
    strands(schedule, f)?;
    writeln!(f, "}}")
}

/// Strands stand in the order of the table of operations: a strand that goes on after another began stands there again.
fn strands(schedule: &Schedule, f: &mut Formatter<'_>) -> fmt::Result {
    let mut items: Vec<(usize, &Item)> = Vec::new();
    for (number, strand) in schedule.strands.iter().enumerate() {
        items.extend(strand.items.iter().map(|item| (number, item)));
    }
    items.sort_by_key(|(_, item)| item.ops().start);
    for run in items.chunk_by(|a, b| a.0 == b.0) {
        writeln!(f, "  strand {} {{", run[0].0)?;
        run.iter()
            .try_for_each(|(_, item)| print_item(schedule, item, f))?;
        writeln!(f, "  }}")?;
    }
    let empty = schedule.strands.iter().enumerate();
    for (number, _) in empty.filter(|(_, s)| s.items.is_empty()) {
        writeln!(f, "  strand {number} {{ }}")?;
    }
    Ok(())
}

fn print_item(schedule: &Schedule, item: &Item, f: &mut Formatter<'_>) -> fmt::Result {
    let steps: &[u32] = match item {
        Item::Step { .. } => {
            write!(f, "    step {{")?;
            &[]
        }
        Item::Repeat {
            times,
            window,
            steps,
            ..
        } => {
            write!(f, "    repeat {times} window {window} {{")?;
            steps
        }
    };
    if steps.is_empty() {
        return print_ops(schedule, &schedule.ops[item.ops()], "    ", f);
    }
    writeln!(f)?;
    let mut start = item.ops().start;
    for &end in steps {
        write!(f, "      step {{")?;
        print_ops(schedule, &schedule.ops[start..end as usize], "      ", f)?;
        start = end as usize;
    }
    writeln!(f, "    }}")
}

/// The operations between braces, on one line if there is but one.
fn print_ops(schedule: &Schedule, ops: &[Op], indent: &str, f: &mut Formatter<'_>) -> fmt::Result {
    if let [op] = ops {
        f.write_char(' ')?;
        print_op(schedule, op, f)?;
        return writeln!(f, " }}");
    }
    writeln!(f)?;
    for op in ops {
        write!(f, "{indent}  ")?;
        print_op(schedule, op, f)?;
        writeln!(f)?;
    }
    writeln!(f, "{indent}}}")
}

fn print_op(schedule: &Schedule, op: &Op, f: &mut Formatter<'_>) -> fmt::Result {
    let [from, into, other] =
        [op.from, op.into, op.other].map(|list| Sets(schedule.list(list), "nothing"));
    let message = |list: List| Sets(schedule.list(list), "token");
    match op.kind {
        OpKind::Send {
            to,
            channel,
            port,
            deposited,
        } => {
            let on = Via(port, channel);
            let how = if deposited { "deposited " } else { "" };
            write!(f, "send to {to} {on} {how}{}", message(op.from))
        }
        OpKind::Combine { .. } => print_meeting(op, &message(op.from), &into, f),
        OpKind::Recv {
            from: peer,
            channel,
            port,
        } => {
            let (on, into) = (Via(port, channel), message(op.into));
            let word = if op.into.len > 0 { "into " } else { "" };
            write!(f, "recv from {peer} {on} {word}{into}")
        }
        OpKind::RecvReduce {
            from: peer,
            channel,
            port,
            side,
        } => {
            let on = Via(port, channel);
            let side = side_name(side);
            write!(
                f,
                "recv-reduce from {peer} {on} {side} own {from} into {into}"
            )
        }
        OpKind::Copy => write!(f, "copy {from} into {into}"),
        OpKind::Reduce => write!(f, "reduce left {from} right {other} into {into}"),
        OpKind::Put { to, port } => write!(f, "put to {to} port {port} {from} into {into}"),
        OpKind::PutReduce { to, port, side } => {
            let side = side_name(side);
            write!(
                f,
                "put-reduce to {to} port {port} {side} {from} into {into}"
            )
        }
        OpKind::Get { .. } | OpKind::GetReduce { .. } => print_get(op, [&from, &other, &into], f),
        OpKind::Notify { to, flag } => write!(f, "notify {to} flag {flag}"),
        OpKind::Wait { at, flag, count } => write!(f, "wait at {at} flag {flag} count {count}"),
        OpKind::Await { strand, items } => write!(f, "await strand {strand} items {items}"),
    }
}

fn print_get(op: &Op, [own, there, into]: [&Sets<'_>; 3], f: &mut Formatter<'_>) -> fmt::Result {
    match op.kind {
        OpKind::Get { from, port, last } => {
            let last = last_word(last);
            write!(f, "get from {from} port {port} {last}{there} into {into}")
        }
        OpKind::GetReduce {
            from,
            port,
            side,
            last,
        } => {
            let (side, last) = (side_name(side), last_word(last));
            write!(
                f,
                "get-reduce from {from} port {port} {last}{side} {there} own {own} into {into}"
            )
        }
        _ => Ok(()),
    }
}

fn print_meeting(op: &Op, from: &Sets<'_>, into: &Sets<'_>, f: &mut Formatter<'_>) -> fmt::Result {
    let OpKind::Combine {
        fabric,
        gives,
        converted,
    } = op.kind
    else {
        return Ok(());
    };
    let how = if converted { "converted " } else { "" };
    write!(f, "combine {} {how}", fabric.name())?;
    match gives {
        true => from.fmt(f)?,
        false => f.write_str("others")?,
    }
    match op.into.len {
        0 => Ok(()),
        _ => write!(f, " into {into}"),
    }
}

const fn last_word(last: bool) -> &'static str {
    if last { "last " } else { "" }
}

const fn side_name(side: Side) -> &'static str {
    match side {
        Side::Left => "left",
        Side::Right => "right",
    }
}

/// The port, and the channel if it is not 0.
struct Via(u8, u16);

impl Display for Via {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "port {}", self.0)?;
        match self.1 {
            0 => Ok(()),
            channel => write!(f, " channel {channel}"),
        }
    }
}

/// Block sets, or a word for none.
struct Sets<'a>(&'a [Blocks], &'static str);

impl Display for Sets<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str(self.1);
        }
        for (at, set) in self.0.iter().enumerate() {
            let comma = if at > 0 { ", " } else { "" };
            write!(f, "{comma}{}[{}", space_name(set.space), set.first)?;
            let several = set.times != 1 || set.stride != set.run as i32;
            if set.run != 1 {
                write!(f, "..{}", set.first + set.run)?;
            }
            if several {
                write!(f, " by {} x{}", set.stride, set.times)?;
            }
            if set.advance != 0 {
                write!(f, " advance {}", set.advance)?;
            }
            f.write_char(']')?;
        }
        Ok(())
    }
}

/// The name of a space in a text.
pub(super) const fn space_name(space: Space) -> &'static str {
    match space {
        Space::Input => "in",
        Space::Output => "out",
        Space::Scratch => "scratch",
        Space::Window => "window",
    }
}

/// A region of a space.
struct Shown<'a>(Space, &'a Region);

impl Display for Shown<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Region {
            first,
            blocks,
            units,
        } = *self.1;
        write!(f, "{}[{first}..{}] ", space_name(self.0), first + blocks)?;
        match units {
            Units::Run { first, modulo } => write!(f, "run first={first} modulo={modulo}"),
            Units::Slots => f.write_str("slots"),
            Units::Transit {
                rank,
                ranks,
                weight,
                radix,
                digit,
            } => write!(
                f,
                "transit rank={rank} ranks={ranks} weight={weight} radix={radix} digit={digit}"
            ),
            Units::Pairs {
                ranks,
                first,
                source_step,
                onward,
                step,
                width,
            } => write!(
                f,
                "pairs ranks={ranks} first={first} source-step={source_step} onward={onward} step={step} width={width}"
            ),
            Units::PairsByDestination {
                ranks,
                first,
                width,
                onward,
                step,
            } => write!(
                f,
                "pairs-by-destination ranks={ranks} first={first} width={width} onward={onward} step={step}"
            ),
        }
    }
}
