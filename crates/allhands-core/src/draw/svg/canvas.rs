//! The canvas: shapes and words in pixels, the palette, the title and the legend.

use crate::draw::{Cell, State};
use alloc::format;
use alloc::string::String;

/// Okabe and Ito's palette, which colour-blind readers tell apart, and tints of it.
pub(super) const INK: &str = "#1f2430";
pub(super) const GREY: &str = "#8a8f99";
pub(super) const RULE: &str = "#c9ccd2";
pub(super) const PAPER: &str = "#ffffff";
pub(super) const PLAIN: &str = "#eef0f3";
pub(super) const SENT: &str = "#f6c667";
pub(super) const RECEIVED: &str = "#0072b2";
pub(super) const COMBINED: &str = "#009e73";
pub(super) const OVERHEAD: &str = "#d55e00";
/// A colour for each port, or each lane of a torus.
const PORTS: [&str; 6] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9",
];

/// The space around a picture.
pub(super) const MARGIN: f64 = 24.0;
/// The height of title and subtitle.
pub(super) const HEAD: f64 = 64.0;

/// The colour of a port.
pub(super) fn port_colour(port: u8) -> &'static str {
    PORTS[usize::from(port) % PORTS.len()]
}

/// How a cell is framed: (colour, width).
pub(super) fn frame(state: State) -> (&'static str, f64) {
    match state {
        State::Unchanged => (RULE, 1.0),
        State::Received => (RECEIVED, 2.0),
        State::Combined => (COMBINED, 2.0),
    }
}

/// The fill of a cell.
pub(super) fn fill(cell: &Cell) -> &'static str {
    match (cell.unit, cell.sent_next) {
        (None, _) => PAPER,
        (Some(_), true) => SENT,
        (Some(_), false) => PLAIN,
    }
}

/// About how wide a text is.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    text.chars().count() as f64 * size * 0.6
}

/// About how wide labels of [`Canvas::indexed`] are.
pub(super) fn labels_width(labels: &[(String, String)], size: f64) -> f64 {
    let one = |(part, ranks): &(String, String)| {
        text_width(part, size) + text_width(ranks, size * 0.75) + size
    };
    labels.iter().map(one).sum()
}

/// Where a text is held.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A picture under way.
#[derive(Default)]
pub(super) struct Canvas {
    body: String,
}

impl Canvas {
    fn push(&mut self, element: &str) {
        self.body.push_str(element);
        self.body.push('\n');
    }

    /// A rectangle: corner, size, fill, stroke and its width.
    pub(super) fn rect(
        &mut self,
        (x, y): (f64, f64),
        (w, h): (f64, f64),
        fill: &str,
        (stroke, width): (&str, f64),
    ) {
        self.push(&format!(
            r#"<rect x="{x:.1}" y="{y:.1}" width="{w:.1}" height="{h:.1}" fill="{fill}" stroke="{stroke}" stroke-width="{width}"/>"#
        ));
    }

    /// A rectangle that says something when it is pointed at.
    pub(super) fn titled(
        &mut self,
        (x, y): (f64, f64),
        (w, h): (f64, f64),
        fill: &str,
        (stroke, width): (&str, f64),
        words: &str,
    ) {
        let words = escaped(words);
        self.push(&format!(
            r#"<rect x="{x:.1}" y="{y:.1}" width="{w:.1}" height="{h:.1}" fill="{fill}" stroke="{stroke}" stroke-width="{width}"><title>{words}</title></rect>"#
        ));
    }

    /// A dotted frame with round corners.
    pub(super) fn dotted(&mut self, (x, y): (f64, f64), (w, h): (f64, f64)) {
        self.push(&format!(
            r#"<rect x="{x:.1}" y="{y:.1}" width="{w:.1}" height="{h:.1}" rx="6" fill="none" stroke="{OVERHEAD}" stroke-width="1.6" stroke-dasharray="2 4" stroke-linecap="round"/>"#
        ));
    }

    /// The circle of a rank, dotted if it does overhead.
    pub(super) fn circle(&mut self, (x, y): (f64, f64), radius: f64, fill: &str, overhead: bool) {
        let stroke = match overhead {
            true => format!(
                r#"stroke="{OVERHEAD}" stroke-width="2" stroke-dasharray="2 3.5" stroke-linecap="round""#
            ),
            false => format!(r#"stroke="{INK}" stroke-width="1.2""#),
        };
        self.push(&format!(
            r#"<circle cx="{x:.1}" cy="{y:.1}" r="{radius}" fill="{fill}" {stroke}/>"#
        ));
    }

    /// The legend of what is dotted; returns where the next one stands.
    pub(super) fn overhead_legend(&mut self, (x, y): (f64, f64)) -> f64 {
        let words = "overhead of a number of ranks that is no power of two";
        self.dotted((x, y - 11.0), (20.0, 14.0));
        self.text((x + 26.0, y), 12.0, Anchor::Start, INK, words);
        x + 46.0 + text_width(words, 12.0)
    }

    /// A line along `path` (as in SVG's `d`), with heads where asked for.
    pub(super) fn arrow(&mut self, path: &str, colour: &str, heads: (bool, bool)) {
        let number = PORTS.iter().position(|c| *c == colour).unwrap_or(0);
        let mark = |at: &str, shown: bool| match shown {
            true => format!(r#" marker-{at}="url(#head{number})""#),
            false => String::new(),
        };
        let (start, end) = (mark("start", heads.0), mark("end", heads.1));
        self.push(&format!(
            r#"<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.3" stroke-opacity="0.85"{start}{end}/>"#
        ));
    }

    /// A line along `path` that shows through, where there are many.
    pub(super) fn faint(&mut self, path: &str, colour: &str) {
        self.push(&format!(
            r#"<path d="{path}" fill="none" stroke="{colour}" stroke-width="0.6" stroke-opacity="0.3"/>"#
        ));
    }

    /// Words around `x` that cover what is behind them with their ground: (colour, ground).
    pub(super) fn haloed(
        &mut self,
        (x, y): (f64, f64),
        size: f64,
        (colour, ground): (&str, &str),
        words: &str,
    ) {
        let words = escaped(words);
        self.push(&format!(
            r#"<text x="{x:.1}" y="{y:.1}" font-size="{size}" text-anchor="middle" fill="{colour}" stroke="{ground}" stroke-width="3" paint-order="stroke">{words}</text>"#
        ));
    }

    /// A straight line.
    pub(super) fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), colour: &str) {
        self.push(&format!(
            r#"<line x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}" stroke="{colour}" stroke-width="1"/>"#
        ));
    }

    /// Words, with the baseline at `y`.
    pub(super) fn text(
        &mut self,
        (x, y): (f64, f64),
        size: f64,
        anchor: Anchor,
        colour: &str,
        words: &str,
    ) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let words = escaped(words);
        self.push(&format!(
            r#"<text x="{x:.1}" y="{y:.1}" font-size="{size}" text-anchor="{anchor}" fill="{colour}">{words}</text>"#
        ));
    }

    /// Words on a white ground, for labels that cross lines.
    pub(super) fn label(&mut self, (x, y): (f64, f64), size: f64, colour: &str, words: &str) {
        let width = text_width(words, size) + 4.0;
        self.rect(
            (x - width / 2.0, y - size * 0.85),
            (width, size * 1.1),
            PAPER,
            ("none", 0.0),
        );
        self.text((x, y), size, Anchor::Middle, colour, words);
    }

    /// Parts and, as their indices, the ranks that are combined in them, around `x`.
    pub(super) fn indexed(
        &mut self,
        (x, y): (f64, f64),
        size: f64,
        colour: &str,
        pairs: &[(String, String)],
    ) {
        let mut words = String::new();
        for (number, (part, ranks)) in pairs.iter().enumerate() {
            let gap = if number == 0 { "" } else { "  " };
            // What comes after an index stands on the line again.
            let indexed = number > 0 && !pairs[number - 1].1.is_empty();
            let shift = if indexed { -size * 0.25 } else { 0.0 };
            words.push_str(&format!(
                r#"<tspan dy="{shift:.1}">{gap}{}</tspan>"#,
                escaped(&part.replace('-', "–"))
            ));
            let small = size * 0.75;
            words.push_str(&format!(
                r#"<tspan dy="{:.1}" font-size="{small:.1}">{}</tspan>"#,
                size * 0.25,
                escaped(&ranks.replace('-', "–"))
            ));
        }
        self.push(&format!(
            r#"<text x="{x:.1}" y="{y:.1}" font-size="{size}" text-anchor="middle" fill="{colour}" xml:space="preserve">{words}</text>"#
        ));
    }

    /// A sample of the legend and its words; returns where the next one stands.
    pub(super) fn legend(
        &mut self,
        (x, y): (f64, f64),
        fill: &str,
        stroke: (&str, f64),
        words: &str,
    ) -> f64 {
        self.rect((x, y - 10.0), (18.0, 12.0), fill, stroke);
        self.text((x + 24.0, y), 12.0, Anchor::Start, INK, words);
        x + 24.0 + text_width(words, 12.0) + 20.0
    }

    /// The document, with its title and subtitle.
    pub(super) fn finish(
        self,
        (title, subtitle): (&str, &str),
        (width, height): (f64, f64),
    ) -> String {
        let least = text_width(title, 19.0).max(text_width(subtitle, 12.5)) + 2.0 * MARGIN;
        let width = width.max(least);
        let mut heads = String::new();
        for (number, colour) in PORTS.iter().enumerate() {
            heads.push_str(&format!(
                r#"<marker id="head{number}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse" markerUnits="userSpaceOnUse"><path d="M0,0.8 L8,4 L0,7.2 z" fill="{colour}"/></marker>"#
            ));
        }
        let mut top = Canvas::default();
        top.text((MARGIN, 34.0), 19.0, Anchor::Start, INK, title);
        top.text((MARGIN, 53.0), 12.5, Anchor::Start, GREY, subtitle);
        let (title, top, body) = (escaped(title), top.body, self.body);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\">\n<title>{title}</title>\n<defs>{heads}</defs>\n<rect width=\"100%\" height=\"100%\" fill=\"{PAPER}\"/>\n{top}{body}</svg>\n"
        )
    }
}

fn escaped(words: &str) -> String {
    words
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
