//! The canvas of figures: shapes, words and marks with classes for their colours, and the style sheet that says these.

use std::fmt::Write;

/// As wide as the narrowest screens, less the margin of a page.
pub const WIDTH: f64 = 340.0;
/// The size of words.
pub const WORDS: f64 = 10.5;
/// How many series are told apart by colour, and by mark.
pub const SERIES: usize = 8;

/// The colours, light and dark, and what has them. Those of series are Okabe and Ito's, darker on white, where theirs are too light
/// to be seen, and lighter on black.
pub const STYLE: &str = "\
:root{--ink:#1b1f26;--soft:#565c66;--paper:#fff;--rule:#d5d8de;--panel:#f4f5f7;\
--s0:#0072b2;--s1:#c24e00;--s2:#00795a;--s3:#a8457f;--s4:#855a00;--s5:#3d4450;--s6:#5b45c9;--s7:#a3123f}
@media (prefers-color-scheme:dark){:root{--ink:#e8eaee;--soft:#a9b0bb;--paper:#15181d;--rule:#3a404a;--panel:#1f242b;\
--s0:#56b4e9;--s1:#ff8a4c;--s2:#2fc79b;--s3:#e59ac8;--s4:#e6b84d;--s5:#b9c0cb;--s6:#a99bff;--s7:#ff7d9c}}
@media print{:root{--ink:#1b1f26;--soft:#565c66;--paper:#fff;--rule:#d5d8de;--panel:#f4f5f7;\
--s0:#0072b2;--s1:#c24e00;--s2:#00795a;--s3:#a8457f;--s4:#855a00;--s5:#3d4450;--s6:#5b45c9;--s7:#a3123f}}
svg text{fill:var(--ink);font:10.5px system-ui,'Helvetica Neue',Arial,sans-serif}
svg .soft{fill:var(--soft)}svg .strong{font-weight:600}
svg .axis{stroke:var(--soft);stroke-width:1;fill:none}svg .grid{stroke:var(--rule);stroke-width:.6;fill:none}
svg .one{stroke:var(--ink);stroke-width:1;stroke-dasharray:6 3;fill:none}
svg .ground{fill:var(--paper)}
svg .line{fill:none;stroke-width:1.6;stroke-linejoin:round}svg .dashed{stroke-dasharray:4 3}
svg .mark{stroke-width:1.4}svg .hollow{fill:var(--paper)}
svg .field{stroke:var(--paper);stroke-width:1;fill-opacity:.3}svg .other{stroke:var(--ink);stroke-width:1.8}
svg .c0{stroke:var(--s0)}svg .c1{stroke:var(--s1)}svg .c2{stroke:var(--s2)}svg .c3{stroke:var(--s3)}
svg .c4{stroke:var(--s4)}svg .c5{stroke:var(--s5)}svg .c6{stroke:var(--s6)}svg .c7{stroke:var(--s7)}
svg .f0{fill:var(--s0)}svg .f1{fill:var(--s1)}svg .f2{fill:var(--s2)}svg .f3{fill:var(--s3)}
svg .f4{fill:var(--s4)}svg .f5{fill:var(--s5)}svg .f6{fill:var(--s6)}svg .f7{fill:var(--s7)}
";

/// A picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Svg {
    body: String,
    title: String,
    height: f64,
}

/// Where words are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

impl Svg {
    /// An empty one.
    pub fn new(title: &str) -> Svg {
        Svg {
            body: String::new(),
            title: title.to_string(),
            height: 0.0,
        }
    }

    /// How high it is.
    pub fn set_height(&mut self, height: f64) {
        self.height = height;
    }

    fn push(&mut self, element: std::fmt::Arguments<'_>) {
        // A string takes whatever is written.
        let _ = self.body.write_fmt(element);
        self.body.push('\n');
    }

    /// Words, with their baseline there.
    pub fn words(&mut self, (x, y): (f64, f64), anchor: Anchor, class: &str, words: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let words = escaped(words);
        self.push(format_args!(
            r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" class="{class}">{words}</text>"#
        ));
    }

    /// Words that are read from below, in the middle of an axis.
    pub fn upright(&mut self, (x, y): (f64, f64), words: &str) {
        let words = escaped(words);
        self.push(format_args!(
            r#"<text transform="translate({x:.1} {y:.1}) rotate(-90)" text-anchor="middle" class="soft">{words}</text>"#
        ));
    }

    /// A path through points.
    pub fn path(&mut self, points: &[(f64, f64)], class: &str) {
        let mut to = String::new();
        for (at, (x, y)) in points.iter().enumerate() {
            let step = if at == 0 { 'M' } else { 'L' };
            let _ = write!(to, "{step}{x:.1} {y:.1}");
        }
        self.push(format_args!(r#"<path d="{to}" class="{class}"/>"#));
    }

    /// A rectangle that says something when it is pointed at.
    pub fn field(&mut self, (x, y): (f64, f64), (w, h): (f64, f64), class: &str, says: &str) {
        let says = escaped(says);
        self.push(format_args!(
            r#"<rect x="{x:.1}" y="{y:.1}" width="{w:.1}" height="{h:.1}" class="{class}"><title>{says}</title></rect>"#
        ));
    }

    /// The mark of the series of this number, hollow or full.
    pub fn mark(&mut self, (x, y): (f64, f64), series: usize, is_hollow: bool, says: &str) {
        let number = series % SERIES;
        let fill = match is_hollow {
            true => "hollow".to_string(),
            false => format!("f{number}"),
        };
        let shape = match number {
            0 => "M-3.2 0A3.2 3.2 0 1 0 3.2 0A3.2 3.2 0 1 0-3.2 0z",
            1 => "M-2.9-2.9H2.9V2.9H-2.9z",
            2 => "M0-3.8L3.6 2.8H-3.6z",
            3 => "M0-4.1L3.6 0L0 4.1L-3.6 0z",
            4 => "M0 3.8L3.6-2.8H-3.6z",
            5 => "M-1.2-3.8H1.2V-1.2H3.8V1.2H1.2V3.8H-1.2V1.2H-3.8V-1.2H-1.2z",
            6 => "M-3.8 0L2.8-3.6V3.6z",
            _ => "M3.8 0L-2.8-3.6V3.6z",
        };
        let says = match says {
            "" => String::new(),
            says => format!("<title>{}</title>", escaped(says)),
        };
        self.push(format_args!(
            r#"<path transform="translate({x:.1} {y:.1})" d="{shape}" class="mark c{number} {fill}">{says}</path>"#
        ));
    }

    /// As a part of a page that has the style, and says what the figure shows.
    pub fn embedded(&self) -> String {
        self.element("", 0.0)
    }

    /// As a file of its own, with these words above it.
    pub fn standalone(&self, words: &str) -> String {
        /// The height of the words.
        const HEAD: f64 = 24.0;
        let mut head = Svg::new("");
        let fits = (WIDTH / (0.6 * WORDS)) as usize;
        let short: String = words.chars().take(fits).collect();
        head.words((6.0, -9.0), Anchor::Start, "strong", &short);
        let ground = r#"<rect y="-24" width="100%" height="100%" class="ground"/>"#;
        let first = format!("<style>{STYLE}</style>\n{ground}\n{}", head.body);
        self.element(&first, HEAD)
    }

    fn element(&self, first: &str, head: f64) -> String {
        let (title, height, body) = (escaped(&self.title), self.height.ceil() + head, &self.body);
        let above = 0.0 - head;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 {above} {WIDTH} {height}\" role=\"img\" aria-label=\"{title}\">\n<title>{title}</title>\n{first}{body}</svg>\n"
        )
    }
}

/// About how wide words are.
pub fn width(words: &str) -> f64 {
    words.chars().count() as f64 * WORDS * 0.6
}

/// Text as it stands in HTML and SVG, also between quotation marks; what no document may have is left out.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' => escaped.push(' '),
            control if control.is_control() => {}
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_said_becomes_an_element() {
        let mut svg = Svg::new("a \"title\" <b>");
        svg.words((1.0, 2.0), Anchor::End, "soft", "<script>&'\u{0}");
        svg.mark((1.0, 2.0), 9, true, "</title>");
        let text = svg.standalone("<words>");
        assert!(text.contains("&lt;words&gt;</text>"));
        assert!(text.contains("&lt;script&gt;&amp;&#39;</text>"), "{text}");
        assert!(text.contains("aria-label=\"a &quot;title&quot; &lt;b&gt;\""));
        assert!(text.contains("<title>&lt;/title&gt;</title>"));
        assert!(text.contains("<style>") && !svg.embedded().contains("<style>"));
    }
}
