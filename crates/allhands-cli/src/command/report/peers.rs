//! Other libraries beside ours.

use super::input::Peer;
use super::page::Page;
use crate::command::figures::cells::file_name;
use crate::command::figures::chart::{Axis, Chart, Point, Scale, Series};
use crate::command::figures::{Figure, Table, number};
use crate::sizes::say;
use std::collections::BTreeMap;

/// What tells a figure from others: the collective, the ranks, and where.
type Group<'a> = (&'a str, u32, Option<&'a str>);

/// A figure for each collective and number of ranks.
pub fn section(page: &mut Page, peers: &[Peer]) {
    if peers.is_empty() {
        return;
    }
    page.section("Beside other libraries");
    page.words(
        "The peer's time by ours, each peer in its best setting, with the interval that holds in 95 of 100 cases: above the dashed line Allhands is faster.",
    );
    let mut groups: BTreeMap<Group<'_>, Vec<&Peer>> = BTreeMap::new();
    for peer in peers {
        let of = (&*peer.collective, peer.ranks, peer.place.as_deref());
        groups.entry(of).or_default().push(peer);
    }
    let mut names: Vec<&str> = peers.iter().map(|peer| &*peer.peer).collect();
    names.sort_unstable();
    names.dedup();
    for (of, own) in groups {
        page.figure(&figure(of, &best(own), &names));
    }
}

/// Of each peer and size the setting that is the fastest beside ours.
fn best(peers: Vec<&Peer>) -> Vec<&Peer> {
    let mut best: BTreeMap<(usize, &str), &Peer> = BTreeMap::new();
    for peer in peers {
        let known = best.entry((peer.bytes, &peer.peer)).or_insert(peer);
        if peer.ratio < known.ratio {
            *known = peer;
        }
    }
    best.into_values().collect()
}

fn figure((collective, ranks, place): Group<'_>, peers: &[&Peer], names: &[&str]) -> Figure {
    let has_sizes = peers.iter().any(|peer| peer.bytes > 0);
    let series = |(number, name): (usize, &&str)| {
        let own = peers.iter().filter(|peer| peer.peer == **name);
        let point = |peer: &&Peer| Point {
            x: if has_sizes { peer.bytes as f64 } else { 1.0 },
            y: peer.ratio,
            ends: peer
                .spread
                .iter()
                .all(|end| end.is_finite())
                .then_some(peer.spread),
        };
        let points: Vec<Point> = own.map(point).collect();
        (!points.is_empty()).then(|| Series {
            name: (*name).to_string(),
            number,
            is_predicted: false,
            points,
        })
    };
    let title = match place {
        None => format!("{collective}, {ranks} ranks"),
        Some(place) => format!("{collective}, {ranks} ranks ({place})"),
    };
    let chart = Chart {
        title: &title,
        x: Axis {
            words: if has_sizes { "bytes" } else { "no bytes" },
            scale: Scale::Bytes,
        },
        y: Axis {
            words: "peer's time by ours",
            scale: Scale::Log,
        },
        series: names.iter().enumerate().filter_map(series).collect(),
        across: Some(1.0),
    };
    let mut table = Table::new(&[
        "bytes",
        "peer",
        "setting",
        "ours µs",
        "peer's µs",
        "ratio",
        "95 % of it",
    ]);
    for peer in peers {
        table.rows.push(vec![
            say(peer.bytes),
            peer.peer.clone(),
            peer.setting.clone(),
            number(peer.ours_us),
            number(peer.peer_us),
            number(peer.ratio),
            format!("{} to {}", number(peer.spread[0]), number(peer.spread[1])),
        ]);
    }
    Figure {
        name: file_name(&title),
        svg: chart.draw(),
        title,
        table,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_peer_is_in_its_best_setting() {
        let peer = |name: &str, setting: &str, ratio| Peer {
            collective: "scan".into(),
            bytes: 8,
            ranks: 2,
            peer: name.into(),
            setting: setting.into(),
            ours_us: 1.0,
            peer_us: ratio,
            ratio,
            spread: [ratio, f64::NAN],
            place: None,
        };
        let all = [
            peer("mpich", "a", 3.0),
            peer("mpich", "b", 2.0),
            peer("intel", "a", 0.5),
        ];
        let found = best(all.iter().collect());
        let found: Vec<(&str, &str)> = found.iter().map(|p| (&*p.peer, &*p.setting)).collect();
        assert_eq!(found, [("intel", "a"), ("mpich", "b")]);
        let drawn = figure(
            ("scan", 2, None),
            &best(all.iter().collect()),
            &["intel", "mpich"],
        );
        assert_eq!(drawn.table.rows.len(), 2);
        assert!(drawn.svg.embedded().contains("class=\"one\""));
    }
}
