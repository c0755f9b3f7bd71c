//! The reader of the text form: values and words, and a mistake with its line.

use crate::call::Collective;
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// A mistake in a table, and its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there, and what would be right.
    pub mistake: Mistake,
}

/// What is wrong in a table.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mistake {
    /// Something else should stand here.
    Unexpected {
        /// What stands here.
        found: String,
        /// What would be right.
        right: &'static str,
    },
    /// There is no such key here.
    UnknownKey {
        /// The key.
        key: String,
        /// The keys that there are.
        known: &'static str,
    },
    /// A key's value is wrong.
    Value {
        /// The key.
        key: String,
        /// What would be right.
        right: &'static str,
    },
    /// A key stands twice, or a row.
    Twice {
        /// Which.
        what: String,
    },
    /// The head or the row that begins on this line lacks a key.
    Lacks {
        /// The key.
        key: &'static str,
    },
    /// There is no such collective.
    NoSuchCollective {
        /// The name.
        name: String,
    },
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.mistake)
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mistake::Unexpected { found, right } => write!(f, "{found}, where {right} is right"),
            Mistake::UnknownKey { key, known } => {
                write!(f, "there is no key '{key}' here; there are {known}")
            }
            Mistake::Value { key, right } => write!(f, "the value of '{key}' must be {right}"),
            Mistake::Twice { what } => write!(f, "{what} stands twice"),
            Mistake::Lacks { key } => write!(f, "the key '{key}' is missing from what begins here"),
            Mistake::NoSuchCollective { name } => {
                let known = Collective::ALL.map(Collective::name).join(", ");
                write!(f, "there is no collective '{name}'; there are {known}")
            }
        }
    }
}

impl core::error::Error for TableError {}

/// A value, as far as tables have any.
pub(super) enum Value {
    Text(String),
    Number(u64),
    Truth(bool),
    List(Vec<String>),
}

/// What is left to read, and the line on which it begins.
pub(super) struct Reader<'a> {
    pub(super) rest: &'a str,
    pub(super) line: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn wrong<T>(&self, right: &'static str) -> Result<T, TableError> {
        let word: String = self.rest.chars().take_while(|c| *c != '\n').collect();
        let found = match word.trim_end() {
            "" if self.rest.is_empty() => "the file ends".to_owned(),
            "" => "the line ends".to_owned(),
            word => alloc::format!("here is `{}`", word.chars().take(40).collect::<String>()),
        };
        self.mistake(Mistake::Unexpected { found, right })
    }

    pub(super) fn mistake<T>(&self, mistake: Mistake) -> Result<T, TableError> {
        let line = self.line;
        Err(TableError { line, mistake })
    }

    /// Passes over blanks and, if `lines`, over comments and line ends.
    pub(super) fn skip(&mut self, lines: bool) {
        loop {
            self.rest = self.rest.trim_start_matches([' ', '\t', '\r']);
            if self.rest.starts_with('#') {
                self.rest = self.rest.trim_start_matches(|c| c != '\n');
            }
            match self.rest.strip_prefix('\n') {
                Some(rest) if lines => (self.rest, self.line) = (rest, self.line + 1),
                _ => return,
            }
        }
    }

    pub(super) fn take(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Letters, digits, `-` and `_`.
    pub(super) fn word(&mut self) -> &'a str {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    pub(super) fn end_of_line(&mut self) -> Result<(), TableError> {
        self.skip(false);
        if self.rest.is_empty() || self.rest.starts_with('\n') {
            return Ok(());
        }
        self.wrong("the end of the line")
    }

    pub(super) fn value(&mut self) -> Result<Value, TableError> {
        const RIGHT: &str = "a \"text\", a number, true, false or a [\"list\", \"of texts\"]";
        if self.rest.starts_with('"') {
            return self.text().map(Value::Text);
        }
        if self.take("[") {
            return self.list().map(Value::List);
        }
        let before = self.rest;
        match self.word() {
            "true" => Ok(Value::Truth(true)),
            "false" => Ok(Value::Truth(false)),
            word => match word.parse() {
                Ok(number) => Ok(Value::Number(number)),
                Err(_) => {
                    self.rest = before;
                    self.wrong(RIGHT)
                }
            },
        }
    }

    fn text(&mut self) -> Result<String, TableError> {
        if !self.take("\"") {
            return self.wrong("a \"text\"");
        }
        let mut text = String::new();
        let mut chars = self.rest.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.rest = &self.rest[at + 1..];
                    return Ok(text);
                }
                '\\' => match chars.next() {
                    Some((_, c @ ('"' | '\\'))) => text.push(c),
                    _ => return self.wrong("a text in which only \\\" and \\\\ are escaped"),
                },
                '\n' => break,
                c => text.push(c),
            }
        }
        self.wrong("a text that ends with \" on its line")
    }

    fn list(&mut self) -> Result<Vec<String>, TableError> {
        let mut list = Vec::new();
        loop {
            self.skip(true);
            if self.take("]") {
                return Ok(list);
            }
            list.push(self.text()?);
            self.skip(true);
            if !self.take(",") && !self.rest.starts_with(']') {
                return self.wrong("a comma or ]");
            }
        }
    }
}
