//! Reading schedules from their text.

use super::lex::Lexer;
use super::print::space_name;
use super::{DIRECTIVES, Directive, Document, Lines, MOST_BLOCKS, ParseError, check, lex, op};
use crate::call::{Alias, Call, Collective};
use crate::schedule::{Item, Region, Schedule, Space, Strand, Units, repeat};
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;

/// Reads a world of schedules.
///
/// What is read is whole and well-formed: all ranks are there, and whatever an operation names (ranks,
/// blocks, flags, strands) exists. Whether it is right is for the verifier to say.
///
/// # Errors
/// A [`ParseError`] that names the place, what is wrong there and what would be right.
pub fn parse(text: &str) -> Result<Document, ParseError> {
    parse_with_lines(text).map(|(document, _)| document)
}

/// [`parse`], and the lines in which everything stands.
///
/// # Errors
/// The same.
pub fn parse_with_lines(text: &str) -> Result<(Document, Lines), ParseError> {
    let mut lexer = Lexer::new(text);
    let directives = parse_directives(&mut lexer)?;
    let call = parse_call(&mut lexer)?;
    let at = lexer.peek().at;
    let parts = lexer.named("parts", MOST_BLOCKS)?;
    if parts == 0 {
        return Err(lexer.error(at, "no parts".to_string(), "at least one"));
    }
    let mut schedules = Vec::new();
    let mut places = Vec::new();
    let mut ranks = Vec::new();
    while schedules.len() < call.ranks as usize {
        let rank = schedules.len() as u32;
        let at = lexer.peek().at;
        let (schedule, place) = parse_rank(&mut lexer, &call, rank, parts)?;
        let first = schedules.first().unwrap_or(&schedule);
        if schedule.window != first.window || schedule.flags != first.flags {
            let what =
                format!("rank {rank} has another window or another number of flags than rank 0");
            return Err(lexer.error(at, what, "the same window and as many flags on every rank"));
        }
        schedules.push(schedule);
        places.push(place);
        ranks.push(at);
    }
    let end = lexer.next();
    if !end.text.is_empty() {
        let right = format!("the end: all {} ranks have been said", call.ranks);
        return Err(lexer.unexpected(end, right));
    }
    check::check(&lexer, &call, &schedules, &places)?;
    let lines = Lines {
        ranks: lex::lines(text, &ranks),
        ops: places.iter().map(|ops| lex::lines(text, ops)).collect(),
    };
    let document = Document {
        directives,
        call,
        parts,
        schedules,
    };
    Ok((document, lines))
}

fn parse_directives(lexer: &mut Lexer<'_>) -> Result<Vec<Directive>, ParseError> {
    let mut directives = Vec::new();
    loop {
        let name = lexer.peek();
        if name.text == "call" {
            return Ok(directives);
        }
        if !DIRECTIVES.contains(&name.text) {
            let right = format!("'call' or one of {}", DIRECTIVES.join(", "));
            return Err(lexer.unexpected(name, right));
        }
        lexer.next();
        let words = lexer.rest_of_line().split_whitespace();
        directives.push(Directive {
            name: name.text.to_string(),
            words: words.map(ToString::to_string).collect(),
        });
    }
}

fn parse_call(lexer: &mut Lexer<'_>) -> Result<Call, ParseError> {
    lexer.expect("call")?;
    let name = lexer.next();
    let collective = Collective::from_name(name.text).ok_or_else(|| {
        let names = Collective::ALL.map(Collective::name).join(", ");
        lexer.unexpected(name, format!("a collective: {names}"))
    })?;
    let at = lexer.peek().at;
    let mut call = Call::new(collective, lexer.named("ranks", MOST_BLOCKS)?);
    if call.ranks == 0 {
        return Err(lexer.error(at, "no ranks".to_string(), "at least one"));
    }
    if lexer.take("root") {
        call.root = lexer.number("the root", call.ranks - 1)?;
    }
    let operator = lexer.peek();
    match operator.text {
        "ordered" | "commutative" => call.commutative = lexer.next().text == "commutative",
        _ if collective.reduces() => {
            let right =
                "'commutative' or 'ordered': whether the operator's operands may change places";
            return Err(lexer.unexpected(operator, right));
        }
        _ => {}
    }
    call.in_place = lexer.take("in-place");
    Ok(call)
}

/// One rank's part, and where in the text each of its operations stands.
fn parse_rank(
    lexer: &mut Lexer<'_>,
    call: &Call,
    rank: u32,
    parts: u32,
) -> Result<(Schedule, Vec<usize>), ParseError> {
    lexer.expect("rank")?;
    lexer.expect(&rank.to_string())?;
    lexer.expect("{")?;
    let mut places = Vec::new();
    let mut schedule = Schedule {
        rank,
        parts,
        strands: Vec::new(),
        ops: Vec::new(),
        blocks: Vec::new(),
        scratch: Vec::new(),
        window: Vec::new(),
        flags: 0,
        credits: Vec::new(),
        views: Vec::new(),
    };
    loop {
        let word = lexer.next();
        match word.text {
            "scratch" => parse_region(lexer, Space::Scratch, &mut schedule.scratch)?,
            "window" => parse_region(lexer, Space::Window, &mut schedule.window)?,
            "flag" => {
                lexer.expect(&schedule.flags.to_string())?;
                if schedule.flags == u16::MAX {
                    let what = "one flag too many".to_string();
                    return Err(lexer.error(word.at, what, "at most 65535 flags"));
                }
                schedule.flags += 1;
                schedule.credits.push(lexer.named("credits", MOST_BLOCKS)?);
            }
            "strand" => parse_strand(
                lexer,
                call.alias(rank, schedule.parts),
                &mut schedule,
                &mut places,
            )?,
            "}" => break,
            _ => return Err(lexer.unexpected(word, "scratch, window, flag, strand or '}'")),
        }
    }
    Ok((schedule, places))
}

fn parse_strand(
    lexer: &mut Lexer<'_>,
    alias: Alias,
    schedule: &mut Schedule,
    places: &mut Vec<usize>,
) -> Result<(), ParseError> {
    let number = lexer.number("the strand", u32::from(u16::MAX))? as usize;
    lexer.expect("{")?;
    if schedule.strands.len() <= number {
        schedule.strands.resize(number + 1, Strand::default());
    }
    loop {
        let word = lexer.next();
        let start = schedule.ops.len() as u32;
        let item = match word.text {
            "step" => {
                parse_body(lexer, schedule, places)?;
                let end = schedule.ops.len() as u32;
                Item::Step { start, end }
            }
            "repeat" => {
                let at = lexer.peek().at;
                let times = lexer.number("the number of iterations", MOST_BLOCKS)?;
                if times == 0 {
                    let what = "no iterations".to_string();
                    return Err(lexer.error(at, what, "at least one, or no repeat"));
                }
                let window = lexer.named("window", MOST_BLOCKS)?;
                let steps = parse_repeated(lexer, schedule, places)?;
                let body = start as usize..schedule.ops.len();
                repeat::item(schedule, alias, [times, window], body, steps)
            }
            "}" => return Ok(()),
            _ => return Err(lexer.unexpected(word, "step, repeat or '}'")),
        };
        schedule.strands[number].items.push(item);
    }
}

/// The body of a repeat, operations or steps of them; where its steps end, if it says any.
fn parse_repeated(
    lexer: &mut Lexer<'_>,
    schedule: &mut Schedule,
    places: &mut Vec<usize>,
) -> Result<Vec<u32>, ParseError> {
    let mut steps = Vec::new();
    let mut ahead = lexer.clone();
    if ahead.next().text != "{" || ahead.next().text != "step" {
        parse_body(lexer, schedule, places)?;
        return Ok(steps);
    }
    lexer.expect("{")?;
    while !lexer.take("}") {
        lexer.expect("step")?;
        parse_body(lexer, schedule, places)?;
        steps.push(schedule.ops.len() as u32);
    }
    Ok(steps)
}

fn parse_body(
    lexer: &mut Lexer<'_>,
    schedule: &mut Schedule,
    places: &mut Vec<usize>,
) -> Result<(), ParseError> {
    lexer.expect("{")?;
    while !lexer.take("}") {
        places.push(lexer.peek().at);
        op::parse(lexer, schedule)?;
    }
    Ok(())
}

fn parse_region(
    lexer: &mut Lexer<'_>,
    space: Space,
    regions: &mut Vec<Region>,
) -> Result<(), ParseError> {
    let first = regions.last().map_or(0, |r| r.first + r.blocks);
    lexer.expect("[")?;
    lexer.expect(&first.to_string())?;
    lexer.expect("..")?;
    let at = lexer.peek().at;
    let end = lexer.number("the end of the region", MOST_BLOCKS)?;
    if end < first {
        let what = format!(
            "a region of {} that ends before it starts",
            space_name(space)
        );
        return Err(lexer.error(at, what, format!("{first} or more")));
    }
    lexer.expect("]")?;
    let at = lexer.peek().at;
    let region = Region {
        first,
        blocks: end - first,
        units: parse_units(lexer)?,
    };
    check::units(&region).map_err(|(what, right)| lexer.error(at, what, right))?;
    regions.push(region);
    Ok(())
}

fn parse_units(lexer: &mut Lexer<'_>) -> Result<Units, ParseError> {
    let rule = lexer.next();
    let mut value = |key: &str| {
        lexer.expect(key)?;
        lexer.expect("=")?;
        lexer.number(key, u32::MAX)
    };
    match rule.text {
        "slots" => Ok(Units::Slots),
        "run" => Ok(Units::Run {
            first: value("first")?,
            modulo: value("modulo")?,
        }),
        "transit" => Ok(Units::Transit {
            rank: value("rank")?,
            ranks: value("ranks")?,
            weight: value("weight")?,
            radix: value("radix")?,
            digit: value("digit")?,
        }),
        "pairs" => Ok(Units::Pairs {
            ranks: value("ranks")?,
            first: value("first")?,
            source_step: value("source-step")?,
            onward: value("onward")?,
            step: value("step")?,
            width: value("width")?,
        }),
        "pairs-by-destination" => Ok(Units::PairsByDestination {
            ranks: value("ranks")?,
            first: value("first")?,
            width: value("width")?,
            onward: value("onward")?,
            step: value("step")?,
        }),
        _ => Err(lexer.unexpected(
            rule,
            "what the blocks are for: run, transit, pairs, pairs-by-destination or slots",
        )),
    }
}
