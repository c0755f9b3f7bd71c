//! Reading operations and their blocks.

use super::lex::Lexer;
use super::print::space_name;
use super::{MOST_BLOCKS, ParseError};
use crate::machine::Fabric;
use crate::schedule::{Blocks, List, Op, OpKind, Schedule, Side, Space};
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;

/// The sets of one list of an operation.
type Sets = Vec<Blocks>;

const OPERATION: &str = "an operation (send, recv, recv-reduce, combine, copy, reduce, put, put-reduce, get, get-reduce, notify, wait, await) or '}'";

/// Reads one operation and adds it to the schedule's table.
pub(super) fn parse(lexer: &mut Lexer<'_>, schedule: &mut Schedule) -> Result<(), ParseError> {
    let word = lexer.next();
    let (mut from, mut into, mut other) = (Sets::new(), Sets::new(), Sets::new());
    let kind = match word.text {
        "send" | "recv" => {
            let kind = parse_message_kind(lexer, word.text)?;
            match word.text {
                _ if lexer.take("token") => {}
                "send" => from = parse_sets(lexer)?,
                _ => into = parse_into(lexer)?,
            }
            kind
        }
        "recv-reduce" => {
            let kind = parse_message_kind(lexer, word.text)?;
            lexer.expect("own")?;
            from = parse_sets(lexer)?;
            into = parse_into(lexer)?;
            kind
        }
        "combine" => {
            let (kind, lists) = parse_meeting(lexer)?;
            [from, into, other] = lists;
            kind
        }
        "copy" => {
            from = parse_sets(lexer)?;
            into = parse_into(lexer)?;
            OpKind::Copy
        }
        "reduce" => {
            lexer.expect("left")?;
            from = parse_sets(lexer)?;
            lexer.expect("right")?;
            other = parse_sets(lexer)?;
            into = parse_into(lexer)?;
            OpKind::Reduce
        }
        "put" | "put-reduce" | "get" | "get-reduce" => {
            let (kind, lists) = parse_window(lexer, word.text)?;
            [from, into, other] = lists;
            kind
        }
        "notify" => OpKind::Notify {
            to: lexer.number("a rank", u32::MAX)?,
            flag: parse_small(lexer, "flag")?,
        },
        "wait" => OpKind::Wait {
            at: lexer.named("at", u32::MAX)?,
            flag: parse_small(lexer, "flag")?,
            count: lexer.named("count", MOST_BLOCKS)?,
        },
        "await" => OpKind::Await {
            strand: parse_small(lexer, "strand")?,
            items: lexer.named("items", u32::MAX)?,
        },
        _ => return Err(lexer.unexpected(word, OPERATION)),
    };
    push(schedule, kind, [from, into, other]);
    Ok(())
}

/// A meeting of all ranks, with its blocks: from, into and other.
fn parse_meeting(lexer: &mut Lexer<'_>) -> Result<(OpKind, [Sets; 3]), ParseError> {
    let fabric = parse_fabric(lexer)?;
    let converted = lexer.take("converted");
    let gives = !lexer.take("others");
    let (mut from, mut into) = (Sets::new(), Sets::new());
    if gives && !lexer.take("token") {
        from = parse_sets(lexer)?;
    }
    if lexer.peek().text == "into" {
        into = parse_into(lexer)?;
    }
    let kind = OpKind::Combine {
        fabric,
        gives,
        converted,
    };
    Ok((kind, [from, into, Sets::new()]))
}

/// What a put or get, or one that reduces, does, with its blocks: from, into and other.
fn parse_window(lexer: &mut Lexer<'_>, word: &str) -> Result<(OpKind, [Sets; 3]), ParseError> {
    let puts = word.starts_with("put");
    let peer = lexer.named(if puts { "to" } else { "from" }, u32::MAX)?;
    let port = parse_port(lexer)?;
    let last = !puts && lexer.take("last");
    let side = match word {
        "put-reduce" | "get-reduce" => Some(parse_side(lexer)?),
        _ => None,
    };
    let source = parse_sets(lexer)?;
    let mut own = Sets::new();
    if word == "get-reduce" {
        lexer.expect("own")?;
        own = parse_sets(lexer)?;
    }
    let into = parse_into(lexer)?;
    let from = peer;
    let to = peer;
    Ok(match side {
        Some(side) if puts => (OpKind::PutReduce { to, port, side }, [source, into, own]),
        None if puts => (OpKind::Put { to, port }, [source, into, own]),
        Some(side) => {
            let kind = OpKind::GetReduce {
                from,
                port,
                side,
                last,
            };
            (kind, [own, into, source])
        }
        None => (OpKind::Get { from, port, last }, [own, into, source]),
    })
}

/// Adds an operation as the builder does: one without blocks names none, not an empty place in the table.
fn push(schedule: &mut Schedule, kind: OpKind, lists: [Sets; 3]) {
    let token = lists.iter().all(Vec::is_empty);
    let [from, into, other] = lists.map(|sets| {
        let list = List {
            start: schedule.blocks.len() as u32,
            len: sets.len() as u32,
        };
        schedule.blocks.extend(sets);
        if token { List::default() } else { list }
    });
    schedule.ops.push(Op {
        kind,
        from,
        into,
        other,
    });
}

/// What a send, recv or recv-reduce does, up to its blocks.
fn parse_message_kind(lexer: &mut Lexer<'_>, word: &str) -> Result<OpKind, ParseError> {
    let preposition = if word == "send" { "to" } else { "from" };
    let peer = lexer.named(preposition, u32::MAX)?;
    let port = parse_port(lexer)?;
    let channel = if lexer.peek().text == "channel" {
        parse_small(lexer, "channel")?
    } else {
        0
    };
    Ok(match word {
        "send" => OpKind::Send {
            to: peer,
            channel,
            port,
            deposited: lexer.take("deposited"),
        },
        "recv" => OpKind::Recv {
            from: peer,
            channel,
            port,
        },
        _ => OpKind::RecvReduce {
            from: peer,
            channel,
            port,
            side: parse_side(lexer)?,
        },
    })
}

fn parse_port(lexer: &mut Lexer<'_>) -> Result<u8, ParseError> {
    Ok(lexer.named("port", u32::from(u8::MAX))? as u8)
}

fn parse_small(lexer: &mut Lexer<'_>, word: &str) -> Result<u16, ParseError> {
    Ok(lexer.named(word, u32::from(u16::MAX))? as u16)
}

fn parse_fabric(lexer: &mut Lexer<'_>) -> Result<Fabric, ParseError> {
    let name = lexer.next();
    let fabric = Fabric::ALL.into_iter().find(|f| f.name() == name.text);
    fabric.ok_or_else(|| lexer.unexpected(name, "where ranks meet: tree or interrupt"))
}

fn parse_side(lexer: &mut Lexer<'_>) -> Result<Side, ParseError> {
    let side = lexer.next();
    match side.text {
        "left" => Ok(Side::Left),
        "right" => Ok(Side::Right),
        _ => Err(lexer.unexpected(
            side,
            "the side of the incoming operand: left (it comes from lower ranks) or right",
        )),
    }
}

fn parse_into(lexer: &mut Lexer<'_>) -> Result<Sets, ParseError> {
    lexer.expect("into")?;
    parse_sets(lexer)
}

fn parse_sets(lexer: &mut Lexer<'_>) -> Result<Sets, ParseError> {
    let mut sets = Sets::new();
    if lexer.take("nothing") {
        return Ok(sets);
    }
    let at = lexer.peek().at;
    loop {
        sets.push(parse_set(lexer)?);
        if !lexer.take(",") {
            break;
        }
    }
    let count: u64 = sets.iter().map(|s| u64::from(s.count())).sum();
    if count > u64::from(MOST_BLOCKS) {
        let what = format!("{count} blocks for one operation");
        return Err(lexer.error(at, what, format!("at most {MOST_BLOCKS}")));
    }
    Ok(sets)
}

fn parse_set(lexer: &mut Lexer<'_>) -> Result<Blocks, ParseError> {
    let name = lexer.next();
    let space = Space::ALL.into_iter().find(|s| space_name(*s) == name.text);
    let space = space.ok_or_else(|| {
        let spaces = Space::ALL.map(space_name).join(", ");
        lexer.unexpected(name, format!("blocks of one of {spaces}, or nothing"))
    })?;
    lexer.expect("[")?;
    let first = lexer.number("a block", MOST_BLOCKS)?;
    let mut set = Blocks::new(space, first, 1);
    if lexer.take("..") {
        let at = lexer.peek().at;
        let end = lexer.number("the end of the run", MOST_BLOCKS)?;
        if end <= first {
            let what = "an empty run of blocks".to_string();
            return Err(lexer.error(at, what, format!("an end of {} or more", first + 1)));
        }
        set = Blocks::new(space, first, end - first);
    }
    if lexer.take("by") {
        set.stride = parse_signed(lexer, "the blocks from a run to the next, such as 4 or -4")?;
        set.times = parse_times(lexer)?;
    }
    let blocks = u64::from(set.run) * u64::from(set.times);
    let runs = u64::from(set.stride.unsigned_abs()) * u64::from(set.times - 1);
    let reach = u64::from(first) + runs + u64::from(set.run);
    if blocks > u64::from(MOST_BLOCKS) || reach > u64::from(MOST_BLOCKS) {
        let what = format!("{blocks} blocks that reach {reach} blocks far");
        return Err(lexer.error(name.at, what, format!("at most {MOST_BLOCKS}")));
    }
    if lexer.take("advance") {
        set.advance = parse_signed(
            lexer,
            "the blocks to move by in an iteration, such as 1 or -1",
        )?;
    }
    lexer.expect("]")?;
    Ok(set)
}

/// `x4`: the number of runs.
fn parse_times(lexer: &mut Lexer<'_>) -> Result<u32, ParseError> {
    let token = lexer.next();
    let times = token.text.strip_prefix('x').and_then(|n| n.parse().ok());
    times
        .filter(|n| (1..=MOST_BLOCKS).contains(n))
        .ok_or_else(|| lexer.unexpected(token, "the number of runs, such as x4"))
}

fn parse_signed(lexer: &mut Lexer<'_>, right: &str) -> Result<i32, ParseError> {
    let token = lexer.next();
    let number: Option<i32> = token.text.parse().ok();
    number
        .filter(|n| n.unsigned_abs() <= MOST_BLOCKS)
        .ok_or_else(|| lexer.unexpected(token, right))
}
