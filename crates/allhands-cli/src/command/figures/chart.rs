//! Charts: curves over sizes, ranks or anything, with marks, intervals and the names of the lines below.

use super::number;
use super::svg::{Anchor, SERIES, Svg, WIDTH, WORDS, width};
use crate::sizes::say;

/// How an axis goes, and how its ticks are said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Sizes, by powers of two.
    Bytes,
    /// Whole numbers, by powers of two.
    Count,
    /// By powers of ten.
    Log,
    /// Evenly, from 0 on.
    Even,
}

/// An axis: what it has, with the unit.
#[derive(Clone, Copy, Debug)]
pub struct Axis<'a> {
    pub words: &'a str,
    pub scale: Scale,
}

/// A point, and the ends of its interval, if there is one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub x: f64,
    pub y: f64,
    pub ends: Option<[f64; 2]>,
}

/// A line.
#[derive(Clone, Debug)]
pub struct Series {
    pub name: String,
    /// Which colour and mark it has.
    pub number: usize,
    /// Whether it is dashed, with hollow marks: what is predicted.
    pub is_predicted: bool,
    pub points: Vec<Point>,
}

/// What a chart shows.
#[derive(Clone, Debug)]
pub struct Chart<'a> {
    pub title: &'a str,
    pub x: Axis<'a>,
    pub y: Axis<'a>,
    pub series: Vec<Series>,
    /// Where a line goes across, if there is one: what everything is compared with.
    pub across: Option<f64>,
}

/// The sides of the area in which lines are.
const LEFT: f64 = 52.0;
const RIGHT: f64 = WIDTH - 10.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 196.0;
/// The height of a line of the legend.
const ROW: f64 = 15.0;

/// An axis with its ends, and where it lies in the picture.
struct Range {
    scale: Scale,
    least: f64,
    most: f64,
    from: f64,
    to: f64,
}

impl Range {
    fn of(scale: Scale, values: &[f64], (from, to): (f64, f64), is_y: bool) -> Range {
        let values = values.iter().copied();
        let mut least = values.clone().reduce(f64::min).unwrap_or(1.0);
        let mut most = values.reduce(f64::max).unwrap_or(1.0);
        match scale {
            Scale::Even => {
                least = least.min(0.0);
                most = if most > least { most } else { least + 1.0 };
                most += (most - least) * if is_y { 0.05 } else { 0.0 };
            }
            // A little room above and below; between the ends of x the lines begin and end.
            Scale::Log | Scale::Count | Scale::Bytes => {
                let (below, above) = if is_y { (0.8, 1.25) } else { (1.0, 1.0) };
                (least, most) = (least * below, most * above);
                if most / least < 1.5 {
                    (least, most) = (least / 1.3, most * 1.3);
                }
            }
        }
        Range {
            scale,
            least,
            most,
            from,
            to,
        }
    }

    /// Where a value lies in the picture.
    fn at(&self, value: f64) -> f64 {
        let part = match self.scale {
            Scale::Even => (value - self.least) / (self.most - self.least),
            Scale::Log | Scale::Count | Scale::Bytes => {
                (value / self.least).ln() / (self.most / self.least).ln()
            }
        };
        self.from + part.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// The values that are said, and their words.
    fn ticks(&self, values: &[f64]) -> Vec<(f64, String)> {
        let wanted: Vec<f64> = match self.scale {
            Scale::Bytes | Scale::Count => {
                let mut own = values.to_vec();
                own.sort_by(f64::total_cmp);
                own.dedup();
                own
            }
            Scale::Log => self.decades(),
            Scale::Even => {
                let step = step((self.most - self.least) / 5.0);
                (0..)
                    .map(|at| f64::from(at) * step)
                    .take_while(|value| *value <= self.most * 1.0001)
                    .collect()
            }
        };
        let words = |value: f64| match self.scale {
            Scale::Bytes => say(value as usize),
            Scale::Count => format!("{value}"),
            Scale::Log | Scale::Even => plain(value),
        };
        wanted
            .into_iter()
            .map(|value| (value, words(value)))
            .collect()
    }

    /// Powers of ten; what lies between them as well, if there are few.
    fn decades(&self) -> Vec<f64> {
        let between: &[f64] = match self.most / self.least {
            less if less < 6.0 => &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0],
            less if less < 100.0 => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let exponents = self.least.log10().floor() as i32..=self.most.log10().ceil() as i32;
        let all = exponents
            .flat_map(|exponent| between.iter().map(move |part| part * 10_f64.powi(exponent)));
        all.filter(|value| (self.least..=self.most).contains(value))
            .collect()
    }
}

/// A step of 1, 2 or 5 and zeros that is no less.
fn step(least: f64) -> f64 {
    let ten = 10_f64.powf(least.log10().floor());
    let found = [1.0, 2.0, 5.0].into_iter().find(|part| part * ten >= least);
    found.unwrap_or(10.0) * ten
}

/// A tick's number without zeros that say nothing.
fn plain(value: f64) -> String {
    match value {
        _ if value == 0.0 => "0".into(),
        _ if value.abs() >= 1e5 || value.abs() < 1e-3 => format!("{value:.0e}"),
        _ => format!("{}", (value * 1e6).round() / 1e6),
    }
}

impl Chart<'_> {
    /// Draws it; points that cannot be on a scale (0 on one of powers) are left out.
    pub fn draw(&self) -> Svg {
        let fits = |value: f64, scale| value.is_finite() && (scale == Scale::Even || value > 0.0);
        let is_in = |p: &&Point| fits(p.x, self.x.scale) && fits(p.y, self.y.scale);
        let points = || {
            self.series
                .iter()
                .flat_map(|s| s.points.iter().filter(is_in))
        };
        let xs: Vec<f64> = points().map(|point| point.x).collect();
        let ends = points().flat_map(|p| p.ends.into_iter().flatten());
        let ends = ends.filter(|end| fits(*end, self.y.scale));
        let ys = points().map(|point| point.y).chain(ends).chain(self.across);
        let ys: Vec<f64> = ys.collect();
        let x = Range::of(self.x.scale, &xs, (LEFT + 6.0, RIGHT - 6.0), false);
        let y = Range::of(self.y.scale, &ys, (BOTTOM, TOP), true);
        let mut svg = Svg::new(self.title);
        self.axes(&mut svg, (&x, &xs), &y);
        if let Some(across) = self.across {
            svg.path(&[(LEFT, y.at(across)), (RIGHT, y.at(across))], "one");
        }
        for series in &self.series {
            let own: Vec<&Point> = series.points.iter().filter(is_in).collect();
            let number = series.number % SERIES;
            let dashed = if series.is_predicted { " dashed" } else { "" };
            let path: Vec<(f64, f64)> = own.iter().map(|p| (x.at(p.x), y.at(p.y))).collect();
            if path.len() > 1 {
                svg.path(&path, &format!("line c{number}{dashed}"));
            }
            for (point, at) in own.iter().zip(&path) {
                if let Some(ends) = point.ends {
                    let ends = ends.map(|end| (at.0, y.at(end)));
                    svg.path(&ends, &format!("line c{number}"));
                }
                let says = format!("{}: {}", series.name, number_of(point));
                svg.mark(*at, series.number, series.is_predicted, &says);
            }
        }
        let end = self.legend(&mut svg, BOTTOM + 46.0);
        svg.set_height(end);
        svg
    }

    fn axes(&self, svg: &mut Svg, (x, xs): (&Range, &[f64]), y: &Range) {
        for (value, words) in y.ticks(&[]) {
            let at = y.at(value);
            svg.path(&[(LEFT, at), (RIGHT, at)], "grid");
            svg.words((LEFT - 5.0, at + 3.5), Anchor::End, "soft", &words);
        }
        // Ticks whose words would touch those before are left out.
        let mut free = f64::NEG_INFINITY;
        for (value, words) in x.ticks(xs) {
            let (at, half) = (x.at(value), width(&words) / 2.0);
            if at - half < free {
                continue;
            }
            free = at + half + 4.0;
            svg.path(&[(at, BOTTOM), (at, TOP)], "grid");
            let held = at.min(WIDTH - half);
            svg.words((held, BOTTOM + 14.0), Anchor::Middle, "soft", &words);
        }
        svg.path(&[(LEFT, TOP), (LEFT, BOTTOM), (RIGHT, BOTTOM)], "axis");
        let middle = (LEFT + RIGHT) / 2.0;
        svg.words(
            (middle, BOTTOM + 29.0),
            Anchor::Middle,
            "soft",
            self.x.words,
        );
        svg.upright((9.0, (TOP + BOTTOM) / 2.0), self.y.words);
    }

    /// The names of the lines, from here on, in two columns where they fit; where it ends.
    fn legend(&self, svg: &mut Svg, top: f64) -> f64 {
        let widest = self.series.iter().map(|series| width(&series.name));
        let widest = widest.fold(0.0, f64::max) + 34.0;
        let columns = if widest * 2.0 <= WIDTH { 2 } else { 1 };
        for (place, series) in self.series.iter().enumerate() {
            let x = 6.0 + (place % columns) as f64 * WIDTH / columns as f64;
            let y = top + (place / columns) as f64 * ROW;
            let number = series.number % SERIES;
            let dashed = if series.is_predicted { " dashed" } else { "" };
            svg.path(&[(x, y), (x + 22.0, y)], &format!("line c{number}{dashed}"));
            svg.mark((x + 11.0, y), series.number, series.is_predicted, "");
            svg.words((x + 27.0, y + WORDS / 3.0), Anchor::Start, "", &series.name);
        }
        top + self.series.len().div_ceil(columns) as f64 * ROW - 4.0
    }
}

fn number_of(point: &Point) -> String {
    let ends = point
        .ends
        .map(|[low, high]| format!(" [{}, {}]", number(low), number(high)));
    format!(
        "{} at {}{}",
        number(point.y),
        point.x,
        ends.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(series: Vec<Series>) -> String {
        let x = Axis {
            words: "bytes",
            scale: Scale::Bytes,
        };
        let y = Axis {
            words: "µs",
            scale: Scale::Log,
        };
        let chart = Chart {
            title: "a chart",
            x,
            y,
            series,
            across: None,
        };
        chart.draw().embedded()
    }

    fn series(points: &[(f64, f64)]) -> Series {
        let point = |(x, y): &(f64, f64)| Point {
            x: *x,
            y: *y,
            ends: None,
        };
        Series {
            name: "ring".into(),
            number: 0,
            is_predicted: false,
            points: points.iter().map(point).collect(),
        }
    }

    #[test]
    fn what_cannot_be_on_a_scale_is_left_out_and_nothing_is_no_number() {
        let all = chart(vec![series(&[
            (8.0, 1.0),
            (64.0, 0.0),
            (512.0, f64::NAN),
            (4096.0, 9.0),
        ])]);
        assert_eq!(all.matches("<title>ring: ").count(), 2, "{all}");
        for text in [all, chart(vec![]), chart(vec![series(&[(0.0, 1.0)])])] {
            assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
        }
        let one = chart(vec![series(&[(8.0, 1.0)])]);
        assert!(
            one.contains(">8<") && one.contains("ring: 1.00 at 8"),
            "{one}"
        );
    }

    #[test]
    fn ticks_are_round_and_do_not_touch() {
        let range = Range::of(Scale::Log, &[0.3, 4000.0], (0.0, 100.0), true);
        let ticks: Vec<String> = range.ticks(&[]).into_iter().map(|tick| tick.1).collect();
        assert_eq!(ticks, ["1", "10", "100", "1000"]);
        assert_eq!((step(0.3), step(7.0), step(1.0)), (0.5, 10.0, 1.0));
        // Twenty sizes do not all fit.
        let sizes: Vec<(f64, f64)> = (3..23).map(|e| (f64::from(1 << e), 1.0)).collect();
        let text = chart(vec![series(&sizes)]);
        let said = text.matches("class=\"soft\">").count();
        assert!((8..20).contains(&said), "{said}");
    }
}
