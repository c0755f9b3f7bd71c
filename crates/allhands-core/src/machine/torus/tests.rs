//! Tests of the torus: texts, neighbours, routes and rectangles.

use super::*;
use alloc::vec;

fn torus(text: &str) -> Torus {
    text.parse().unwrap()
}

#[test]
fn text_round_trips() {
    for text in [
        "4x4x2:mesh",
        "8x8x8:torus",
        "4x4x4:xz",
        "5x1x1:torus",
        "2x2x1:mesh",
    ] {
        assert_eq!(torus(text).to_string(), text);
    }
    assert_eq!(torus("4x4").to_string(), "4x4x1:mesh");
    assert_eq!(torus("8x8x8").to_string(), "8x8x8:torus");
    assert_eq!(torus("8x8x4").to_string(), "8x8x4:mesh");
    assert_eq!(torus("2x2x2:torus").to_string(), "2x2x2:mesh");
    for text in [
        "",
        "x",
        "4x",
        "0x4",
        "4x4x4x4",
        "4,4",
        "4x4:",
        "4x4:ring",
        "65536x65536",
    ] {
        let error = text.parse::<Torus>().unwrap_err().to_string();
        assert!(error.contains("right would be 4x4x2"), "{error}");
    }
}

#[test]
fn ranks_go_along_x_first() {
    let torus = torus("4x3x2:torus");
    assert_eq!(torus.coordinates(1), [1, 0, 0]);
    assert_eq!(torus.coordinates(4), [0, 1, 0]);
    assert_eq!(torus.coordinates(12), [0, 0, 1]);
    assert!((0..24).all(|rank| torus.rank(torus.coordinates(rank)) == rank));
    assert!(torus.line(13, 1).eq([13, 17, 21]));
}

#[test]
fn neighbours_are_each_others() {
    for shape in ["4x4x2:torus", "5x3x2:mesh", "3x1x4:x", "1x1x1:mesh"] {
        let torus = torus(shape);
        for rank in 0..torus.ranks() {
            for direction in Direction::all() {
                let Some(next) = torus.neighbour(rank, direction) else {
                    continue;
                };
                assert_eq!(torus.neighbour(next, direction.opposite()), Some(rank));
                assert_eq!(torus.route(rank, next).len(), usize::from(next != rank));
            }
        }
    }
    assert_eq!(torus("4x4x2:torus").ways().count(), 5);
    assert_eq!(torus("4x4x2:mesh").ways().count(), 3);
}

#[test]
fn routes_are_the_shortest_along_x_then_y_then_z() {
    for shape in ["5x4x3:torus", "5x4x3:mesh", "4x4x2:y"] {
        let torus = torus(shape);
        for from in 0..torus.ranks() {
            for to in 0..torus.ranks() {
                let route = torus.route(from, to);
                let mut at = from;
                for link in &route {
                    assert_eq!(link.from, at);
                    at = torus.neighbour(at, link.direction).unwrap();
                }
                assert_eq!(at, to);
                assert!(route.is_sorted_by_key(|link| link.direction.dimension));
                let apart = |d: usize| {
                    let apart = torus.coordinates(from)[d].abs_diff(torus.coordinates(to)[d]);
                    match torus.wraps(d) {
                        true => apart.min(torus.extents()[d] - apart),
                        false => apart,
                    }
                };
                assert_eq!(route.len() as u32, apart(0) + apart(1) + apart(2));
            }
        }
    }
}

#[test]
fn rectangles_are_all_between_two_corners() {
    let torus = torus("4x4x4:torus");
    assert!(torus.is_rectangle(&[5, 6, 9, 10]));
    assert!(torus.is_rectangle(&[10, 5, 9, 6]));
    assert!(torus.is_rectangle(&[63]));
    assert!(!torus.is_rectangle(&[5, 6, 9]));
    assert!(!torus.is_rectangle(&[0, 5, 10, 15]));
    assert!(!torus.is_rectangle(&[]));
    // 3 and 0 are neighbours round the edge, but no rectangle: between the corners is the whole line.
    assert!(!torus.is_rectangle(&[3, 0]));
    let among = |members: &[u32]| torus.among(members).map(|t| t.to_string());
    assert_eq!(among(&[5, 6, 9, 10]), Some("2x2x1:mesh".to_string()));
    assert_eq!(among(&[10, 5, 9, 6]), None);
    let plane: Vec<u32> = (16..32).collect();
    assert_eq!(among(&plane), Some("4x4x1:torus".to_string()));
    let part: Vec<u32> = (16..28).collect();
    assert_eq!(among(&part), Some("4x3x1:x".to_string()));
    assert_eq!(among(&[]), None);
}

#[test]
fn samples_have_as_many_ranks() {
    for ranks in 1..200 {
        for torus in Torus::samples(ranks) {
            assert_eq!(torus.check(ranks), Ok(()));
        }
    }
    let shapes: Vec<String> = Torus::samples(12).iter().map(ToString::to_string).collect();
    assert_eq!(
        shapes,
        ["12x1x1:mesh", "12x1x1:torus", "3x2x2:mesh", "3x2x2:torus"]
    );
    assert_eq!(Torus::samples(1), vec![torus("1x1x1:mesh")]);
}

#[test]
fn other_numbers_of_ranks_are_named() {
    assert_eq!(
        torus("4x4x2").check(31).unwrap_err().to_string(),
        "the torus 4x4x2:mesh has 32 ranks and the call has 31; they must be as many"
    );
}
