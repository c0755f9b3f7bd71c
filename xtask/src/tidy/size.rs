//! The rule that files and functions are short enough to be read at a sitting.

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use syn::visit::Visit;

use super::{Finding, SourceFile, Tree};

/// The most lines of a Rust file.
pub const MAX_FILE_LINES: usize = 500;
/// The most lines of a function, from `fn` to its closing brace; nested functions count in both.
pub const MAX_FUNCTION_LINES: usize = 70;

/// Finds Rust files and functions that are too long, tests included.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust().flat_map(check_file).collect()
}

fn check_file(file: SourceFile<'_>) -> Vec<Finding> {
    let finding = |line: usize, what: String, right: String| Finding {
        file: file.path.to_owned(),
        line,
        rule: "size",
        what,
        right,
    };
    let mut findings = Vec::new();
    let lines = file.text.lines().count();
    if lines > MAX_FILE_LINES {
        findings.push(finding(
            MAX_FILE_LINES + 1,
            format!("the file has {lines} lines"),
            format!("at most {MAX_FILE_LINES}: split it where its nouns part"),
        ));
    }
    match functions(file.text) {
        Ok(functions) => {
            for function in functions.iter().filter(|f| f.lines > MAX_FUNCTION_LINES) {
                findings.push(finding(
                    function.line,
                    format!("`fn {}` has {} lines", function.name, function.lines),
                    format!("at most {MAX_FUNCTION_LINES}: give its parts names"),
                ));
            }
        }
        Err(error) => findings.push(finding(
            error.span().start().line,
            format!("this is not Rust: {error}"),
            "a file that compiles, or another ending than `.rs`".to_owned(),
        )),
    }
    findings
}

#[derive(Debug, PartialEq, Eq)]
struct Function {
    name: String,
    line: usize,
    lines: usize,
}

fn functions(text: &str) -> syn::Result<Vec<Function>> {
    let file = syn::parse_file(text)?;
    let mut collector = Collector::default();
    collector.visit_file(&file);
    Ok(collector.functions)
}

#[derive(Default)]
struct Collector {
    functions: Vec<Function>,
}

impl Collector {
    fn push(&mut self, name: String, start: Span, end: Span) {
        let line = start.start().line;
        let lines = end.end().line + 1 - line;
        self.functions.push(Function { name, line, lines });
    }

    fn push_item(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let name = signature.ident.to_string();
        let close = block.brace_token.span.close();
        self.push(name, signature.fn_token.span, close);
    }

    /// Functions inside a macro's tokens, which have no syntax tree: `fn`, then up to the first brace.
    fn push_tokens(&mut self, tokens: TokenStream) {
        let mut open: Option<(String, Span)> = None;
        let mut tokens = tokens.into_iter().peekable();
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Ident(ident) if ident == "fn" => {
                    // `fn(…)` is a type; a macro's own variable is `$name`.
                    open = match tokens.peek() {
                        Some(TokenTree::Ident(name)) => Some((name.to_string(), ident.span())),
                        Some(TokenTree::Punct(_)) => Some(("$…".to_owned(), ident.span())),
                        Some(TokenTree::Group(_) | TokenTree::Literal(_)) | None => None,
                    };
                }
                TokenTree::Group(group) => {
                    if group.delimiter() == Delimiter::Brace
                        && let Some((name, start)) = open.take()
                    {
                        self.push(name, start, group.span_close());
                    }
                    self.push_tokens(group.stream());
                }
                TokenTree::Punct(punct) if punct.as_char() == ';' => open = None,
                TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for Collector {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.push_item(&item.sig, &item.block);
        syn::visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.push_item(&item.sig, &item.block);
        syn::visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.push_item(&item.sig, block);
        }
        syn::visit::visit_trait_item_fn(self, item);
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        self.push_tokens(item.tokens.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(text: &str) -> Vec<(String, usize, usize)> {
        let found = functions(text).expect("the test's text is Rust");
        found
            .into_iter()
            .map(|function| (function.name, function.line, function.lines))
            .collect()
    }

    fn long_body(lines: usize) -> String {
        format!("{{\n{}}}\n", "    g();\n".repeat(lines - 2))
    }

    #[test]
    fn functions_of_every_kind_are_measured_from_fn_to_brace() {
        let text = "/// Docs.\n#[inline]\nfn a() {\n}\n\
                    impl S { fn b(&self) {} }\n\
                    trait T { fn c() {\n\n} fn d(); }\n\
                    macro_rules! m { ($n:ident) => { fn $n(f: fn(u8)) {\n} fn e() {\n\n\n} } }\n";
        let expected = [
            ("a", 3, 2),
            ("b", 5, 1),
            ("c", 6, 3),
            ("$…", 9, 2),
            ("e", 10, 4),
        ];
        let expected = expected.map(|(name, line, lines)| (name.to_owned(), line, lines));
        assert_eq!(lengths(text), expected);
    }

    #[test]
    fn seventy_lines_pass_and_seventy_one_do_not() {
        let short = format!("//! A.\nfn short() {}", long_body(MAX_FUNCTION_LINES));
        let long = format!("//! A.\nfn long() {}", long_body(MAX_FUNCTION_LINES + 1));
        let findings = check(&Tree::of(&[("a.rs", &short), ("b.rs", &long)]));
        assert_eq!(findings.len(), 1);
        assert_eq!((findings[0].file.as_str(), findings[0].line), ("b.rs", 2));
        assert_eq!(findings[0].what, "`fn long` has 71 lines");
    }

    #[test]
    fn five_hundred_lines_pass_and_one_more_does_not() {
        let short = "//\n".repeat(MAX_FILE_LINES);
        let long = "//\n".repeat(MAX_FILE_LINES + 1);
        let findings = check(&Tree::of(&[("a.rs", &short), ("b.rs", &long)]));
        assert_eq!(findings.len(), 1);
        assert_eq!((findings[0].file.as_str(), findings[0].line), ("b.rs", 501));
    }

    #[test]
    fn a_file_that_is_not_rust_is_found() {
        let findings = check(&Tree::of(&[("a.rs", "//! A.\nfn f( {}")]));
        assert_eq!(findings.len(), 1, "{findings:?}");
    }
}
