//! The page: one HTML file with its style, which a telephone, a wide screen, a dark one and paper show alike.

use crate::command::figures::svg::{STYLE, escaped};
use crate::command::figures::{Figure, Table};
use std::fmt::Write;

/// What is beside the style of figures. Wide tables scroll in boxes of their own; on paper they are all open.
const PAGE_STYLE: &str = "\
*{box-sizing:border-box}html{color-scheme:light dark;-webkit-text-size-adjust:100%}
body{margin:0 auto;max-width:76rem;padding:1rem .625rem 3rem;background:var(--paper);color:var(--ink);\
font:16px/1.5 system-ui,'Helvetica Neue',Arial,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.6rem;line-height:1.2;margin:.2rem 0 .6rem}h2{font-size:1.3rem;margin:2.4rem 0 .6rem;border-bottom:2px solid var(--rule)}
h3{font-size:1.05rem;margin:1.6rem 0 .4rem}p{margin:.5rem 0;max-width:46rem}.soft{color:var(--soft)}
a{color:var(--s0)}nav ul{padding:0;margin:.5rem 0;display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;list-style:none}
nav a{display:inline-block;padding:.35rem 0}
.figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,22rem),1fr));gap:1rem 1.5rem;align-items:start;margin:.6rem 0 1.4rem}
figure{margin:0;min-width:0}figcaption{font-size:.9rem;color:var(--soft);margin-bottom:.3rem}
figure svg{display:block;width:100%;max-width:34rem;height:auto}
details{margin:.4rem 0;min-width:0}summary{cursor:pointer;padding:.35rem 0;color:var(--s0);font-size:.9rem}
.scroll{overflow-x:auto;width:fit-content;max-width:100%;max-height:32rem;margin:.6rem 0;border:1px solid var(--rule)}\
table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums;overflow-wrap:normal}
th,td{padding:.25rem .6rem;text-align:right;white-space:nowrap;border-bottom:1px solid var(--rule)}
th{text-align:left;background:var(--panel);position:sticky;top:0}td.word{text-align:left}
@media print{body{max-width:none;padding:0;font-size:10pt}nav{display:none}.figures{grid-template-columns:1fr 1fr}\
figure svg{break-inside:avoid}figcaption,h2,h3{break-after:avoid}.scroll{overflow:visible;max-height:none;border:0}\
details::details-content{content-visibility:visible;display:block;height:auto}\
table{font-size:7pt}th,td{padding:1pt 3pt;white-space:normal}tr{break-inside:avoid}}
";

/// A page under way.
pub struct Page {
    title: String,
    sections: Vec<(String, String)>,
    body: String,
    is_in_figures: bool,
}

impl Page {
    /// A page with a title.
    pub fn new(title: &str) -> Page {
        Page {
            title: title.to_string(),
            sections: Vec::new(),
            body: String::new(),
            is_in_figures: false,
        }
    }

    fn push(&mut self, text: &str) {
        self.body.push_str(text);
        self.body.push('\n');
    }

    /// Figures stand beside one another where there is room, those of one thing in rows of their own: whatever else comes ends them.
    pub fn end_figures(&mut self) {
        if std::mem::take(&mut self.is_in_figures) {
            self.push("</div>");
        }
    }

    /// Begins a section.
    pub fn section(&mut self, title: &str) {
        self.end_figures();
        let id = format!("part-{}", self.sections.len() + 1);
        let words = escaped(title);
        self.push(&format!("<h2 id=\"{id}\">{words}</h2>"));
        self.sections.push((id, words));
    }

    /// Begins a part of a section.
    pub fn part(&mut self, title: &str) {
        self.end_figures();
        self.push(&format!("<h3>{}</h3>", escaped(title)));
    }

    /// A paragraph.
    pub fn words(&mut self, words: &str) {
        self.end_figures();
        self.push(&format!("<p>{}</p>", escaped(words)));
    }

    /// A figure, and behind it its table.
    pub fn figure(&mut self, figure: &Figure) {
        if !self.is_in_figures {
            self.push("<div class=\"figures\">");
            self.is_in_figures = true;
        }
        let title = escaped(&figure.title);
        let svg = figure.svg.embedded();
        self.push(&format!(
            "<figure>\n<figcaption>{title}</figcaption>\n{svg}"
        ));
        self.closed(&figure.title, &figure.table);
        self.push("</figure>");
    }

    /// A table that stands open.
    pub fn table(&mut self, name: &str, table: &Table) {
        self.end_figures();
        let table = scrolling(name, table);
        self.push(&table);
    }

    /// A table that is opened.
    pub fn details(&mut self, name: &str, table: &Table) {
        self.end_figures();
        self.closed(name, table);
    }

    fn closed(&mut self, name: &str, table: &Table) {
        let rows = table.rows.len();
        let table = scrolling(name, table);
        self.push(&format!(
            "<details><summary>The numbers ({rows} rows)</summary>\n{table}</details>"
        ));
    }

    /// The document.
    pub fn finish(mut self) -> String {
        self.end_figures();
        let mut contents = String::new();
        for (id, title) in &self.sections {
            let _ = write!(contents, "<li><a href=\"#{id}\">{title}</a></li>");
        }
        let (title, body) = (escaped(&self.title), &self.body);
        let version = env!("CARGO_PKG_VERSION");
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <link rel=\"icon\" href=\"data:,\">\n\
             <title>{title}</title>\n<style>\n{STYLE}{PAGE_STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n\
             <p class=\"soft\">Made by allhands report {version}.</p>\n\
             <nav aria-label=\"Contents\"><ul>{contents}</ul></nav>\n<main>\n{body}</main>\n</body>\n</html>\n"
        )
    }
}

/// A table in a box that scrolls, with the keyboard, too.
fn scrolling(name: &str, table: &Table) -> String {
    let mut text = format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">\n<table>\n<thead><tr>",
        escaped(name)
    );
    for head in &table.head {
        let _ = write!(text, "<th scope=\"col\">{}</th>", escaped(head));
    }
    text.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        text.push_str("<tr>");
        for field in row {
            let is_number = field.starts_with(|c: char| c.is_ascii_digit() || "+-–−".contains(c));
            let class = if is_number { "" } else { " class=\"word\"" };
            let _ = write!(text, "<td{class}>{}</td>", escaped(field));
        }
        text.push_str("</tr>\n");
    }
    text.push_str("</tbody>\n</table>\n</div>\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_files_say_is_text_and_every_element_ends() {
        let mut page = Page::new("<b>title</b>");
        page.section("a & b");
        page.part("part");
        page.words("</p><script>alert(1)</script>");
        let mut table = Table::new(&["<i>"]);
        table.rows.push(vec!["<img src=x>".into()]);
        page.details("\" onload=\"x", &table);
        let text = page.finish();
        for wrong in ["<script", "<img", "<b>", "<i>", "\" onload=\""] {
            assert!(!text.contains(wrong), "{wrong}: {text}");
        }
        for element in [
            "div", "table", "details", "main", "ul", "tr", "p", "h2", "h3",
        ] {
            let begins = text.matches(&format!("<{element}>")).count()
                + text.matches(&format!("<{element} ")).count();
            assert_eq!(
                begins,
                text.matches(&format!("</{element}>")).count(),
                "{element}"
            );
        }
        assert!(text.contains("<a href=\"#part-1\">a &amp; b</a>"));
    }
}
