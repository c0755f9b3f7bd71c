//! Imports: every path of the own crate that a file names, however it is spelled.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// `["verify", "hazard"]` of `verify/hazard.rs` below `folder`, a crate's source; `None` outside of it and for its tests.
pub(super) fn module_path(folder: &str, path: &str) -> Option<Vec<String>> {
    let inner = path.strip_prefix(folder)?.strip_suffix(".rs")?;
    let mut parts: Vec<String> = inner.split('/').map(str::to_owned).collect();
    if parts.iter().any(|part| part == "tests") {
        return None;
    }
    let last = parts.last().map(String::as_str);
    if last == Some("mod") || inner == "lib" {
        parts.pop();
    }
    Some(parts)
}

/// A path of the own crate.
pub(super) struct Import {
    /// From the crate's root on, as far as it is told; `*` stands for all names.
    pub(super) path: Vec<String>,
    /// The line, counted from 1.
    pub(super) line: usize,
}

/// Every path of the own crate that this text of module `module` names, but for what is compiled for tests alone.
pub(super) fn imports(text: &str, module: &[String]) -> Vec<Import> {
    // Text that is no Rust is what the rule of sizes reports.
    let mut found = Vec::new();
    walk(text.parse().unwrap_or_default(), module, &mut found);
    found
}

fn walk(tokens: TokenStream, module: &[String], found: &mut Vec<Import>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Punct(punct) if punct.as_char() == '#' => {
                at = after_attribute(&tokens, at);
            }
            TokenTree::Ident(ident) if ident == "mod" => {
                if let Some(TokenTree::Ident(name)) = tokens.get(at + 1)
                    && let Some(TokenTree::Group(body)) = tokens.get(at + 2)
                {
                    let inner = [module, &[name.to_string()]].concat();
                    walk(body.stream(), &inner, found);
                    at += 2;
                }
                at += 1;
            }
            TokenTree::Ident(ident) => {
                let base = match ident.to_string().as_str() {
                    "crate" => Some(&module[..0]),
                    "self" => Some(module),
                    "super" => Some(&module[..module.len().saturating_sub(1)]),
                    _ => None,
                };
                at += 1;
                if let Some(base) = base
                    && is_path_separator(&tokens, at)
                {
                    at = path(&tokens, at + 2, base.to_vec(), found);
                }
            }
            TokenTree::Group(group) => {
                if !is_visibility(group) {
                    walk(group.stream(), module, found);
                }
                at += 1;
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => at += 1,
        }
    }
}

/// Adds the paths that go on at `at` from `base`, and says where to go on.
fn path(
    tokens: &[TokenTree],
    mut at: usize,
    mut base: Vec<String>,
    found: &mut Vec<Import>,
) -> usize {
    let mut line = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Ident(ident) if ident == "super" => _ = base.pop(),
            TokenTree::Ident(ident) if ident == "self" => {}
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                let is_comma =
                    |token: &TokenTree| matches!(token, TokenTree::Punct(p) if p.as_char() == ',');
                for part in inner.split(is_comma).filter(|part| !part.is_empty()) {
                    path(part, 0, base.clone(), found);
                }
                return at + 1;
            }
            TokenTree::Ident(_) | TokenTree::Punct(_) => {
                let name = tokens[at].to_string();
                base.push(name.trim_start_matches("r#").to_owned());
            }
            // `crate::<T>` and the like are no paths of modules.
            TokenTree::Group(_) | TokenTree::Literal(_) => return at,
        }
        line = tokens[at].span().start().line;
        at += 1;
        if !is_path_separator(tokens, at) {
            break;
        }
        at += 2;
    }
    let is_macro = matches!(tokens.get(at), Some(TokenTree::Punct(p)) if p.as_char() == '!');
    if !is_macro {
        found.push(Import { path: base, line });
    }
    at
}

/// The place behind an attribute, and behind its item when that is compiled for tests alone.
fn after_attribute(tokens: &[TokenTree], hash: usize) -> usize {
    let is_inner = matches!(tokens.get(hash + 1), Some(TokenTree::Punct(p)) if p.as_char() == '!');
    let group = hash + 1 + usize::from(is_inner);
    let Some(TokenTree::Group(attribute)) = tokens.get(group) else {
        return hash + 1;
    };
    let says = attribute.stream().to_string().replace(' ', "");
    if says != "cfg(test)" && !says.starts_with("cfg(all(test,") {
        return group + 1;
    }
    if is_inner {
        return tokens.len();
    }
    let is_end = |token: &TokenTree| match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        TokenTree::Punct(punct) => punct.as_char() == ';',
        TokenTree::Ident(_) | TokenTree::Literal(_) => false,
    };
    let rest = &tokens[group + 1..];
    rest.iter()
        .position(is_end)
        .map_or(tokens.len(), |end| group + 1 + end + 1)
}

/// Whether a group is that of `pub(in path)`, which takes nothing from there; no expression begins with `in`.
fn is_visibility(group: &Group) -> bool {
    let first = group.stream().into_iter().next();
    group.delimiter() == Delimiter::Parenthesis
        && matches!(first, Some(TokenTree::Ident(word)) if word == "in")
}

fn is_path_separator(tokens: &[TokenTree], at: usize) -> bool {
    let is_colon = |token: Option<&TokenTree>| matches!(token, Some(TokenTree::Punct(p)) if p.as_char() == ':');
    is_colon(tokens.get(at)) && is_colon(tokens.get(at + 1))
}
