//! The heat map: nodes in a plane, each with its links, and how much of the time they were busy.

use super::canvas::{Anchor, Canvas, GREY, HEAD, INK, MARGIN, PAPER, RULE, text_width};
use crate::draw::chart::{HeatMap, Way};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// From node to node, and the side of a node.
const PITCH: f64 = 44.0;
const NODE: f64 = 22.0;
/// How thick a link is.
const LINK: f64 = 7.0;
/// The space for the scale, and for the rows' numbers.
const FOOT: f64 = 66.0;
const LEFT: f64 = 28.0;

/// From no use to all of the time (ColorBrewer's YlOrRd, Brewer 2003).
const SCALE: [(u8, u8, u8); 5] = [
    (0xf4, 0xf4, 0xf2),
    (0xfe, 0xd9, 0x76),
    (0xfd, 0x8d, 0x3c),
    (0xe3, 0x1a, 0x1c),
    (0x80, 0x00, 0x26),
];

/// Draws a heat map.
#[must_use]
pub fn heat_map(map: &HeatMap) -> String {
    let mut canvas = Canvas::default();
    let (columns, rows) = map.size;
    let (left, top) = (MARGIN + LEFT, HEAD + 8.0);
    let bottom = top + f64::from(rows) * PITCH;
    let middle = |(column, row): (u32, u32)| {
        let x = left + (f64::from(column) + 0.5) * PITCH;
        // Rows count upwards, as coordinates do.
        (x, bottom - (f64::from(row) + 0.5) * PITCH)
    };
    for row in 0..rows {
        let (_, y) = middle((0, row));
        let words = format!("{row}");
        canvas.text((left - 8.0, y + 4.0), 11.0, Anchor::End, GREY, &words);
        for column in 0..columns {
            let (x, y) = middle((column, row));
            let corner = (x - NODE / 2.0, y - NODE / 2.0);
            canvas.rect(corner, (NODE, NODE), PAPER, (RULE, 1.0));
        }
    }
    for column in 0..columns {
        let (x, _) = middle((column, 0));
        let words = format!("{column}");
        canvas.text((x, bottom + 12.0), 11.0, Anchor::Middle, GREY, &words);
    }
    let [across, up] = &map.axes;
    let right = left + f64::from(columns) * PITCH;
    canvas.text((right, bottom + 12.0), 11.0, Anchor::Start, INK, across);
    canvas.text((left - 8.0, top - 1.0), 11.0, Anchor::End, INK, up);
    // Where links share a place, the busiest is on top.
    let mut links: Vec<_> = map.links.iter().collect();
    links.sort_by(|a, b| a.share.total_cmp(&b.share));
    for link in links {
        let (x, y) = middle(link.at);
        let (dx, dy, w, h) = shape(link.way);
        let fill = colour(link.share);
        canvas.titled((x + dx, y + dy), (w, h), &fill, (RULE, 0.5), &link.words);
    }
    scale(&mut canvas, (left, bottom + 44.0));
    let named = right + text_width(across, 11.0);
    let width = (left + 9.0 * PITCH).max(named) + MARGIN;
    canvas.finish((&map.title, &map.subtitle), (width, bottom + FOOT))
}

/// A link beside the middle of its node: where its rectangle starts, and its size. Links that lead from node to node keep to
/// the side on which they leave, so both directions between two nodes are to be seen.
fn shape(way: Way) -> (f64, f64, f64, f64) {
    let (edge, long) = (NODE / 2.0, (PITCH - NODE) / 2.0);
    match way {
        Way::East => (edge, -LINK / 2.0, long, LINK),
        Way::West => (-edge - long, -LINK / 2.0, long, LINK),
        Way::North => (-LINK / 2.0, -edge - long, LINK, long),
        Way::South => (-LINK / 2.0, edge, LINK, long),
        Way::Out => (-edge + 2.0, -edge + 2.0, NODE - 4.0, edge - 2.0),
        Way::In => (-edge + 2.0, 0.0, NODE - 4.0, edge - 2.0),
    }
}

/// The colour of a share from 0 to 1.
fn colour(share: f64) -> String {
    let steps = SCALE.len() - 1;
    let at = share.clamp(0.0, 1.0) * steps as f64;
    let lower = (at as usize).min(steps - 1);
    let part = at - lower as f64;
    let ((r, g, b), (r1, g1, b1)) = (SCALE[lower], SCALE[lower + 1]);
    let mix = |from: u8, to: u8| {
        let value = f64::from(from) + (f64::from(to) - f64::from(from)) * part;
        (value + 0.5) as u8
    };
    format!("#{:02x}{:02x}{:02x}", mix(r, r1), mix(g, g1), mix(b, b1))
}

fn scale(canvas: &mut Canvas, (left, top): (f64, f64)) {
    let steps = 20;
    for step in 0..steps {
        let share = f64::from(step) / f64::from(steps - 1);
        let corner = (left + f64::from(step) * 10.0, top - 10.0);
        canvas.rect(corner, (10.0, 12.0), &colour(share), ("none", 0.0));
    }
    let right = left + f64::from(steps) * 10.0 + 8.0;
    let words = "of the time busy, from 0 to 100 %";
    canvas.text((right, top), 12.0, Anchor::Start, INK, words);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::chart::HeatLink;
    use alloc::vec;

    #[test]
    fn a_colour_lies_between_those_of_the_scale() {
        let all = [-1.0, 0.0, 0.25, 0.375, 1.0, 2.0].map(colour);
        let expected = [
            "#f4f4f2", "#f4f4f2", "#fed976", "#feb359", "#800026", "#800026",
        ];
        assert_eq!(all, expected);
    }

    #[test]
    fn every_link_is_there_with_its_name() {
        let ways = [
            Way::East,
            Way::West,
            Way::North,
            Way::South,
            Way::Out,
            Way::In,
        ];
        let link = |way| HeatLink {
            at: (1, 0),
            way,
            share: 0.5,
            words: format!("a <{way:?}> link"),
        };
        let map = HeatMap {
            title: "a map".into(),
            subtitle: String::new(),
            size: (2, 1),
            axes: ["host".into(), "level".into()],
            links: ways.map(link).into_iter().collect::<vec::Vec<_>>(),
        };
        let svg = heat_map(&map);
        assert!(svg.contains(">host<") && svg.contains(">level<"));
        for way in ways {
            assert!(svg.contains(&format!("<title>a &lt;{way:?}&gt; link</title>")));
        }
    }
}
