//! The template of a launcher: how a program is started on a host, as in `ssh {host}`.

/// The words with which `command` is started on `host`: in place of `{command}`, as one word for a shell, or behind the rest.
///
/// # Errors
/// What is wrong with the template.
pub fn fill(template: &str, host: &str, command: &[&str]) -> Result<Vec<String>, String> {
    let words = split(template)?;
    if words.is_empty() {
        return Err("a launcher is a program and its arguments, as in 'ssh {host}'".into());
    }
    let quoted: Vec<String> = command.iter().map(|word| quote(word)).collect();
    let all = quoted.join(" ");
    let takes_command = words.iter().any(|word| word.contains("{command}"));
    let filled = words.iter();
    let filled = filled.map(|word| word.replace("{host}", host).replace("{command}", &all));
    let rest = if takes_command { Vec::new() } else { quoted };
    Ok(filled.chain(rest).collect())
}

/// A word as shells read it; ssh hands what it is given to one.
fn quote(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+=:@%,".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_string(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Words between spaces, with quotes as in a shell.
fn split(text: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(rest.next()),
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    match quote {
        Some(quote) => Err(format!(
            "the launcher '{text}' opens {quote} and does not close it"
        )),
        None => {
            words.extend(word);
            Ok(words)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_stands_where_it_is_asked_for() {
        let fill = |template| fill(template, "b", &["/a b/allhands", "agent"]).unwrap();
        assert_eq!(
            fill("ssh -p 7 {host}"),
            ["ssh", "-p", "7", "b", "'/a b/allhands'", "agent"]
        );
        assert_eq!(
            fill("sh -c {command}"),
            ["sh", "-c", "'/a b/allhands' agent"]
        );
        assert_eq!(
            fill(r#"x 'a  b' "c\"d" e\ f"#)[..4],
            ["x", "a  b", "c\"d", "e f"]
        );
        let plain = super::fill("env H={host}", "b", &["/bin/allhands", "agent"]).unwrap();
        assert_eq!(plain, ["env", "H=b", "/bin/allhands", "agent"]);
    }

    #[test]
    fn templates_that_make_no_sense_are_errors() {
        for (template, says) in [("", "ssh {host}"), ("ssh 'b", "does not close it")] {
            let error = fill(template, "b", &["x"]).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
        assert_eq!(quote("it's"), r"'it'\''s'");
    }
}
