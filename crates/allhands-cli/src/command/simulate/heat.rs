//! The heat map of a network: which of its links lie in the plane that is asked for.

use super::machine::Run;
use super::outputs::share;
use allhands_core::draw::chart::{HeatLink, HeatMap, Way};
use allhands_core::simulate::{Link, Place};
use anyhow::ensure;
use std::str::FromStr;

/// The most columns and rows.
const MOST: u32 = 128;
/// The columns, where there is one coordinate, or none.
const WRAP: u32 = 32;

/// A plane: for each coordinate a number, or none for those that are shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plane(Vec<Option<u32>>);

impl FromStr for Plane {
    type Err = String;

    fn from_str(text: &str) -> Result<Plane, String> {
        let part = |part: &str| match part.trim() {
            "*" => Ok(None),
            number => number.parse().map(Some).map_err(|_| {
                format!("'{part}' is neither a coordinate nor *; type a plane as *,*,3")
            }),
        };
        let parts: Vec<Option<u32>> = text.split(',').map(part).collect::<Result<_, _>>()?;
        if parts.iter().filter(|part| part.is_none()).count() > 2 {
            return Err("a plane has at most two *, as in *,*,3".into());
        }
        Ok(Plane(parts))
    }
}

impl Plane {
    /// The plane of the first two coordinates, where all others are 0.
    fn first(coordinates: usize) -> Plane {
        let part = |number| (number >= 2).then_some(0);
        Plane((0..coordinates).map(part).collect())
    }

    /// The coordinates that are shown, at most two.
    fn shown(&self) -> Vec<usize> {
        let is_shown = |number: &usize| self.0[*number].is_none();
        (0..self.0.len()).filter(is_shown).collect()
    }

    /// Which nodes are shown, if those are not all: `, of nodes *,*,0`.
    fn words(&self) -> String {
        let part = |part: &Option<u32>| part.map_or("*".into(), |number| number.to_string());
        let parts: Vec<String> = self.0.iter().map(part).collect();
        match self.shown().len() == self.0.len() {
            true => String::new(),
            false => format!("; nodes {}", parts.join(",")),
        }
    }

    fn holds(&self, place: &Place) -> bool {
        let mut both = self.0.iter().zip(&place.at);
        both.all(|(fixed, at)| fixed.is_none_or(|fixed| fixed == *at))
    }
}

/// The heat map of a run's links in a plane, by default that of the first two coordinates, which have these names.
pub fn map(
    title: &str,
    run: &Run,
    (plane, names): (Option<&Plane>, &[&str]),
) -> anyhow::Result<HeatMap> {
    ensure!(
        !run.links.is_empty(),
        "this machine's network says nothing of its links, so there is no heat map"
    );
    let places = run.links.iter().filter_map(|link| link.place.as_ref());
    let coordinates = places.map(|place| place.at.len()).max().unwrap_or(0);
    let first = Plane::first(coordinates);
    let plane = plane.unwrap_or(&first);
    ensure!(
        plane.0.len() == coordinates,
        "the plane has {} coordinates, and the network's nodes have {coordinates}",
        plane.0.len()
    );
    let shown = plane.shown();
    let mut links = Vec::new();
    for (number, link) in run.links.iter().enumerate() {
        if let Some((at, way)) = stands(number as u32, link, plane, &shown) {
            let share = share(link, run);
            let words = format!(
                "{}: {:.1} % busy, {} bytes, {} messages, at most {} waiting",
                link.name,
                100.0 * share,
                link.load.bytes,
                link.load.messages,
                link.load.longest_queue
            );
            links.push(HeatLink {
                at,
                way,
                share,
                words,
            });
        }
    }
    if links.iter().any(|link| link.at.0.max(link.at.1) >= MOST) {
        // Of a large machine that part which was used.
        links.retain(|link| link.share > 0.0);
    }
    let size = |pick: fn(&HeatLink) -> u32| links.iter().map(pick).max().map_or(0, |most| most + 1);
    let size = (size(|link| link.at.0), size(|link| link.at.1));
    ensure!(
        size.0 > 0,
        "no link lies in this plane; the coordinates of nodes start at 0"
    );
    ensure!(
        size.0 <= MOST && size.1 <= MOST,
        "the plane has {} by {} nodes, and {MOST} each way are the most: take fewer ranks, or a machine of fewer hosts",
        size.0,
        size.1
    );
    Ok(HeatMap {
        title: title.to_string(),
        subtitle: format!(
            "how much of {:.2} µs each link was busy, beside the node that it leaves{}",
            run.outcome.completion_ps() as f64 / 1e6,
            plane.words()
        ),
        size,
        axes: axes(&shown, names),
        links,
    })
}

/// The names of columns and rows. A single coordinate goes on in further rows, and what has none is numbered.
fn axes(shown: &[usize], names: &[&str]) -> [String; 2] {
    let name = |at: Option<&usize>| {
        let name = at.and_then(|at| names.get(*at));
        name.map_or(String::new(), |name| (*name).to_string())
    };
    match shown {
        [_, _, ..] => [name(shown.first()), name(shown.get(1))],
        _ => [name(shown.first()), String::new()],
    }
}

/// The column and row of a link, and where it leads; none, if it is not to be seen in the plane.
fn stands(number: u32, link: &Link, plane: &Plane, shown: &[usize]) -> Option<((u32, u32), Way)> {
    let wrapped = |number: u32| (number % WRAP, number / WRAP);
    let Some(place) = &link.place else {
        return Some((wrapped(number), Way::Out));
    };
    if !plane.holds(place) {
        return None;
    }
    let at = match *shown {
        [] => (0, 0),
        [one] => wrapped(*place.at.get(one)?),
        [one, other, ..] => (*place.at.get(one)?, *place.at.get(other)?),
    };
    let way = match place.dimension {
        None if place.forward => Way::Out,
        None => Way::In,
        Some(dimension) => {
            let axis = shown.iter().position(|n| *n == usize::from(dimension))?;
            match (axis, place.forward) {
                (0, true) => Way::East,
                (0, false) => Way::West,
                (_, true) => Way::North,
                (_, false) => Way::South,
            }
        }
    };
    Some((at, way))
}

#[cfg(test)]
mod tests {
    use super::*;
    use allhands_core::simulate::{LinkLoad, Outcome};

    fn link(at: &[u32], dimension: Option<u8>, forward: bool) -> Link {
        Link {
            name: String::new(),
            place: Some(Place {
                at: at.to_vec(),
                dimension,
                forward,
            }),
            load: LinkLoad {
                busy_ps: 50,
                ..LinkLoad::default()
            },
        }
    }

    #[test]
    fn a_plane_of_a_torus_shows_its_own_links_alone() {
        let outcome = Outcome {
            ends_ps: vec![100],
            messages: 0,
            bytes: 0,
            events: 0,
        };
        let mut links = Vec::new();
        for at in (0..2).flat_map(|x| (0..3).flat_map(move |y| (0..4).map(move |z| [x, y, z]))) {
            for dimension in 0..3 {
                links.extend([true, false].map(|forward| link(&at, Some(dimension), forward)));
            }
        }
        let run = Run { outcome, links };
        let names = ["x", "y", "z"];
        let of = |plane: &str| map("", &run, (Some(&plane.parse().expect("a plane")), &names));
        let first = map("", &run, (None, &names)).expect("there are links");
        assert_eq!((first.size, first.links.len()), ((2, 3), 2 * 3 * 4));
        let other = of("1,*,*").expect("there are links");
        assert_eq!((other.size, other.links.len()), ((3, 4), 3 * 4 * 4));
        assert_eq!(
            (first.axes, other.axes.concat()),
            (["x".into(), "y".into()], "yz".into())
        );
        assert!(other.links.iter().all(|link| link.share == 0.5));
        let said = |plane| format!("{:#}", of(plane).unwrap_err());
        assert!(said("*,*").contains("have 3"));
        assert!(said("9,*,*").contains("start at 0"));
        assert!("*,*,*".parse::<Plane>().is_err());
        assert!("x,*".parse::<Plane>().is_err());
    }
}
