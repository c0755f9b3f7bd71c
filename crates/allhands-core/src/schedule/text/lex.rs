//! Words and marks of a text, and errors at their places.

use super::ParseError;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// A word, a mark, or (empty) the end of the text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub text: &'a str,
    /// The byte at which it stands.
    pub at: usize,
}

/// What has not been read yet.
#[derive(Clone)]
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

/// The lines of some bytes of a text, which are in order.
pub(super) fn lines(text: &str, places: &[usize]) -> Vec<usize> {
    let (mut line, mut from) = (1, 0);
    let of = |at: &usize| {
        line += text[from..*at].matches('\n').count();
        from = *at;
        line
    };
    places.iter().map(of).collect()
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Lexer<'a> {
        Lexer { text, at: 0 }
    }

    /// The next token, which stays unread.
    pub(super) fn peek(&self) -> Token<'a> {
        self.clone().next()
    }

    /// Reads the next token: a run of letters, digits, `-` and `_`, or `..`, or any other character alone.
    pub(super) fn next(&mut self) -> Token<'a> {
        loop {
            let rest = &self.text[self.at..];
            self.at += rest.len() - rest.trim_start().len();
            if self.text[self.at..].starts_with(';') {
                self.rest_of_line();
            } else {
                break;
            }
        }
        let rest = &self.text[self.at..];
        let in_word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let word = rest.len() - rest.trim_start_matches(in_word).len();
        let length = match rest.chars().next() {
            None => 0,
            Some(_) if word > 0 => word,
            Some(_) if rest.starts_with("..") => 2,
            Some(other) => other.len_utf8(),
        };
        let token = Token {
            text: &rest[..length],
            at: self.at,
        };
        self.at += length;
        token
    }

    /// Reads what is left of the line, without its comment.
    pub(super) fn rest_of_line(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
        self.at += line.len();
        line.split(';').next().unwrap_or(line)
    }

    /// An error at byte `at`.
    pub(super) fn error(&self, at: usize, what: String, right: impl ToString) -> ParseError {
        let before = &self.text[..at];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        ParseError {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            what,
            right: right.to_string(),
        }
    }

    /// An error: `token` does not belong where it stands.
    pub(super) fn unexpected(&self, token: Token<'_>, right: impl ToString) -> ParseError {
        let what = match token.text {
            "" => String::from("the text ends here"),
            text => format!("unexpected '{text}'"),
        };
        self.error(token.at, what, right)
    }

    /// Reads the token `text` if it is next.
    pub(super) fn take(&mut self, text: &str) -> bool {
        let is_next = self.peek().text == text;
        if is_next {
            self.next();
        }
        is_next
    }

    /// Reads the token `text`.
    pub(super) fn expect(&mut self, text: &str) -> Result<(), ParseError> {
        let token = self.next();
        if token.text == text {
            Ok(())
        } else {
            Err(self.unexpected(token, format!("'{text}'")))
        }
    }

    /// Reads a number of at most `most`.
    pub(super) fn number(&mut self, what: &str, most: u32) -> Result<u32, ParseError> {
        let token = self.next();
        let number = token.text.parse().ok().filter(|n| *n <= most);
        let digits = token.text.bytes().all(|b| b.is_ascii_digit());
        number
            .filter(|_| digits)
            .ok_or_else(|| self.unexpected(token, format!("{what}, a number from 0 to {most}")))
    }

    /// Reads `word` and a number of at most `most`.
    pub(super) fn named(&mut self, word: &str, most: u32) -> Result<u32, ParseError> {
        self.expect(word)?;
        self.number(&format!("the {word}"), most)
    }
}
