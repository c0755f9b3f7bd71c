//! A tree of MPICH's as JSON: objects of objects, in which the order of keys counts.

use anyhow::{Context, bail, ensure};
use std::fmt::{self, Display, Formatter};

/// The deepest tree that is read.
const DEEPEST: usize = 64;

/// A node with named branches; the first whose condition holds is taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree(Vec<(String, Tree)>);

impl Tree {
    /// A node with these branches.
    pub fn of(branches: impl IntoIterator<Item = (String, Tree)>) -> Tree {
        Tree(branches.into_iter().collect())
    }

    /// A node with one branch that ends there.
    pub fn leaf(name: &str) -> Tree {
        Tree::of([(name.to_string(), Tree::default())])
    }

    /// The branch of a name.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Tree> {
        let mut branches = self.0.iter_mut();
        branches
            .find(|(known, _)| known == name)
            .map(|(_, tree)| tree)
    }

    /// The same tree with another one in place of every part that asks for something else than the communicator; `None` if there is none
    /// for one of them.
    pub fn below_communicators(&self, other: &dyn Fn(&Tree) -> Option<Tree>) -> Option<Tree> {
        let asks =
            |name: &str| name.starts_with("comm_") || name.starts_with("is_node_consecutive=");
        if self.0.is_empty() || !self.0.iter().all(|(name, _)| asks(name)) {
            return other(self);
        }
        let branches = self.0.iter();
        let branches =
            branches.map(|(name, tree)| Some((name.clone(), tree.below_communicators(other)?)));
        branches.collect::<Option<Vec<_>>>().map(Tree)
    }

    /// Reads a tree.
    ///
    /// # Errors
    /// What is none, and after how many bytes.
    pub fn parse(text: &str) -> anyhow::Result<Tree> {
        let mut reader = Reader { text, at: 0 };
        let tree = reader.object(0)?;
        reader.skip_blanks();
        ensure!(
            reader.at == text.len(),
            "byte {}: more than a tree",
            reader.at
        );
        Ok(tree)
    }

    fn print(&self, depth: usize, f: &mut Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return write!(f, "{{}}");
        }
        writeln!(f, "{{")?;
        for (at, (name, tree)) in self.0.iter().enumerate() {
            let comma = if at + 1 < self.0.len() { "," } else { "" };
            write!(f, "{:1$}\"{name}\": ", "", 2 * depth + 2)?;
            tree.print(depth + 1, f)?;
            writeln!(f, "{comma}")?;
        }
        write!(f, "{:1$}}}", "", 2 * depth)
    }
}

impl Display for Tree {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.print(0, f)
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn skip_blanks(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    /// The next character that is no blank, if it is this one.
    fn takes(&mut self, wanted: char) -> bool {
        self.skip_blanks();
        let is = self.text[self.at..].starts_with(wanted);
        self.at += if is { wanted.len_utf8() } else { 0 };
        is
    }

    fn object(&mut self, depth: usize) -> anyhow::Result<Tree> {
        ensure!(depth < DEEPEST, "byte {}: deeper than {DEEPEST}", self.at);
        ensure!(self.takes('{'), "byte {}: `{{` is missing", self.at);
        let mut branches = Vec::new();
        if self.takes('}') {
            return Ok(Tree(branches));
        }
        loop {
            ensure!(
                self.takes('"'),
                "byte {}: a name in quotes is missing",
                self.at
            );
            let rest = &self.text[self.at..];
            let end = rest
                .find('"')
                .with_context(|| format!("byte {}: a name does not end", self.at))?;
            let name = rest[..end].to_string();
            ensure!(!name.contains('\\'), "byte {}: names have no `\\`", self.at);
            self.at += end + 1;
            ensure!(self.takes(':'), "byte {}: `:` is missing", self.at);
            branches.push((name, self.object(depth + 1)?));
            if self.takes('}') {
                return Ok(Tree(branches));
            }
            if !self.takes(',') {
                bail!("byte {}: `,` or `}}` is missing", self.at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_printed_in_the_same_order() {
        let text = r#"{"z":{"b<=2":{},"a=any":{"algorithm=X":{"k=2":{}}}},"a":{}}"#;
        let tree = Tree::parse(text).unwrap();
        assert_eq!(tree.to_string().replace(['\n', ' '], ""), text);
        assert_eq!(Tree::parse(&tree.to_string()).unwrap(), tree);
    }

    #[test]
    fn what_is_no_tree_is_named_with_its_place() {
        for (text, says) in [
            ("", "byte 0: `{`"),
            (r#"{"a":1}"#, "byte 5: `{`"),
            (r#"{"a":{}"#, "byte 7: `,`"),
            (r#"{"a"#, "byte 2: a name"),
            ("{} {}", "byte 3: more"),
            (&"{\"a\":".repeat(99), "deeper"),
        ] {
            let said = Tree::parse(text).unwrap_err().to_string();
            assert!(said.contains(says), "{text}: {said}");
        }
    }
}
