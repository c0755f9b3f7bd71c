//! Plots, an SVG for each collective and number of ranks: time over size, a line for each algorithm; bars where there is one size.

use super::bench::report::size;
use anyhow::{Context, anyhow};
use plotters::prelude::{
    BLACK, ChartBuilder, Circle, Color, DashedLineSeries, IntoDrawingArea, IntoLogRange,
    LineSeries, PathElement, RGBColor, Rectangle, SVGBackend, SeriesLabelPosition, Text, WHITE,
};
use std::collections::BTreeMap;
use std::path::Path;

/// Colours that colour-blind readers tell apart (Okabe and Ito 2008), and then darker ones.
const COLOURS: [RGBColor; 12] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
    RGBColor(120, 94, 240),
    RGBColor(150, 75, 0),
    RGBColor(128, 128, 128),
    RGBColor(0, 90, 50),
    RGBColor(170, 0, 60),
];

type Lines<'a> = BTreeMap<&'a str, Vec<(f64, f64)>>;

/// A point of a line: how long a call takes.
#[derive(Clone, Copy, Debug)]
pub struct Point<'a> {
    /// The collective.
    pub collective: &'a str,
    /// The number of ranks.
    pub ranks: u32,
    /// The algorithm, which has a line of its own.
    pub algorithm: &'a str,
    /// The size.
    pub bytes: usize,
    /// The time, in microseconds.
    pub us: f64,
}

/// Draws every collective, with `what` beside the axis of times; returns how many plots were made.
pub fn all<'a>(
    folder: &Path,
    what: &str,
    points: impl Iterator<Item = Point<'a>>,
) -> anyhow::Result<usize> {
    let mut groups: BTreeMap<(&str, u32), Lines<'_>> = BTreeMap::new();
    for point in points {
        let lines = groups.entry((point.collective, point.ranks)).or_default();
        lines
            .entry(point.algorithm)
            .or_default()
            .push((point.bytes as f64, point.us));
    }
    if !groups.is_empty() {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    }
    for ((collective, ranks), lines) in &groups {
        let path = folder.join(format!("{collective}-{ranks}.svg"));
        let title = format!("{collective}, {ranks} ranks");
        let sizes = lines.values().map(Vec::len).max();
        let draw = if sizes > Some(1) { over_size } else { bars };
        draw(&path, (&title, what), lines)
            .map_err(|error| anyhow!("cannot draw {}: {error}", path.display()))?;
    }
    Ok(groups.len())
}

fn over_size(
    path: &Path,
    (title, what): (&str, &str),
    lines: &Lines<'_>,
) -> Result<(), Box<dyn std::error::Error>> {
    let points = || lines.values().flatten();
    let bound = |pick: fn(&(f64, f64)) -> f64, least: bool| {
        let fold = if least { f64::min } else { f64::max };
        points().map(pick).reduce(fold).unwrap_or(1.0)
    };
    let sizes = bound(|p| p.0, true)..bound(|p| p.0, false);
    let times = bound(|p| p.1, true) * 0.7..bound(|p| p.1, false) * 1.5;
    let root = SVGBackend::new(path, (960, 600)).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption(title, ("sans-serif", 22))
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(sizes.log_scale().base(2.0), times.log_scale())?;
    chart
        .configure_mesh()
        .x_desc("bytes")
        .y_desc(what)
        .x_label_formatter(&|bytes| size(*bytes as usize))
        .y_label_formatter(&|us| format!("{us}"))
        .light_line_style(RGBColor(240, 240, 240))
        .draw()?;
    for (at, (algorithm, line)) in lines.iter().enumerate() {
        let colour = COLOURS[at % COLOURS.len()];
        let style = plotters::style::ShapeStyle::from(colour).stroke_width(2);
        // Where there are more lines than colours the others are dashed.
        let is_dashed = at >= COLOURS.len();
        let points = line.iter().copied();
        let drawn = match is_dashed {
            true => chart.draw_series(DashedLineSeries::new(points, 7, 5, style))?,
            false => chart.draw_series(LineSeries::new(points, style))?,
        };
        drawn.label(*algorithm).legend(move |(x, y)| {
            let end = if is_dashed { x + 7 } else { x + 18 };
            PathElement::new([(x, y), (end, y)], style)
        });
        let dots = line
            .iter()
            .map(|point| Circle::new(*point, 3, colour.filled()));
        chart.draw_series(dots)?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .border_style(BLACK)
        .background_style(WHITE)
        .draw()?;
    root.present()?;
    Ok(())
}

/// A bar for each algorithm, the fastest on top.
fn bars(
    path: &Path,
    (title, what): (&str, &str),
    lines: &Lines<'_>,
) -> Result<(), Box<dyn std::error::Error>> {
    let mut times: Vec<(&str, f64)> = lines
        .iter()
        .flat_map(|(name, line)| line.iter().map(|point| (*name, point.1)))
        .collect();
    times.sort_by(|a, b| b.1.total_cmp(&a.1));
    let most = times.first().map_or(1.0, |t| t.1);
    let root = SVGBackend::new(path, (960, 100 + 34 * times.len() as u32)).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption(title, ("sans-serif", 22))
        .margin(12)
        .x_label_area_size(44)
        .build_cartesian_2d(0.0..most * 1.4, 0.0..times.len() as f64)?;
    chart
        .configure_mesh()
        .x_desc(what)
        .disable_y_mesh()
        .disable_y_axis()
        .light_line_style(RGBColor(240, 240, 240))
        .draw()?;
    let bar = |(row, time): (f64, f64)| {
        Rectangle::new([(0.0, row + 0.15), (time, row + 0.85)], COLOURS[5].filled())
    };
    let rows = || (0..times.len()).map(|row| row as f64).zip(&times);
    chart.draw_series(rows().map(|(row, t)| bar((row, t.1))))?;
    chart.draw_series(rows().map(|(row, (name, time))| {
        let words = format!("{name} {time:.1}");
        Text::new(words, (time + most * 0.01, row + 0.65), ("sans-serif", 15))
    }))?;
    root.present()?;
    Ok(())
}
