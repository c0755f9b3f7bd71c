//! Plots, an SVG for each collective and number of ranks: time over size, a line for each algorithm; bars where there is one size.

use crate::sizes;
use anyhow::{Context, anyhow};
use plotters::coord::Shift;
use plotters::prelude::{
    ChartBuilder, Circle, Color, DashedLineSeries, DrawingArea, IntoDrawingArea, IntoLogRange,
    LineSeries, PathElement, RGBColor, Rectangle, SVGBackend, ShapeStyle, Text, WHITE,
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

/// What is written on and about plots.
#[derive(Clone, Copy, Debug)]
pub struct Labels<'a> {
    /// What is beside the axis of times.
    pub what: &'a str,
    /// A part of the files' names that tells these plots from others in the same folder.
    pub name: &'a str,
    /// Below the title: where it was measured.
    pub line: &'a str,
}

/// The width of a plot, and of the names of its lines, which are beside it, so that they hide none.
const WIDTH: u32 = 960;
const NAMES_WIDTH: u32 = 300;

/// Draws every collective; returns how many plots were made.
pub fn all<'a>(
    folder: &Path,
    labels: &Labels<'_>,
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
        let path = folder.join(format!("{collective}-{ranks}-{}.svg", labels.name));
        let title = format!("{collective}, {ranks} ranks");
        let sizes = lines.values().map(Vec::len).max();
        let draw = if sizes > Some(1) { over_size } else { bars };
        draw(&path, (&title, labels), lines)
            .map_err(|error| anyhow!("cannot draw {}: {error}", path.display()))?;
    }
    Ok(groups.len())
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// A white picture with a title and the line below it; what is left of it.
fn titled<'a>(
    path: &'a Path,
    size: (u32, u32),
    (title, labels): (&str, &Labels<'_>),
) -> Result<Area<'a>, Box<dyn std::error::Error>> {
    let root = SVGBackend::new(path, size).into_drawing_area();
    root.fill(&WHITE)?;
    let words =
        |text: &str, y, height| Text::new(text.to_string(), (14, y), ("sans-serif", height));
    root.draw(&words(title, 10, 22))?;
    root.draw(&words(labels.line, 36, 13))?;
    Ok(root.split_vertically(52).1)
}

/// How the line of the algorithm at a place of their order is drawn; where there are more lines than colours the others are dashed.
fn style(at: usize) -> (ShapeStyle, bool) {
    let colour = COLOURS[at % COLOURS.len()];
    (
        ShapeStyle::from(colour).stroke_width(2),
        at >= COLOURS.len(),
    )
}

/// The names of the lines, the slowest at the largest size on top, as the lines are there.
fn names(area: &Area<'_>, lines: &Lines<'_>) -> Result<(), Box<dyn std::error::Error>> {
    let last = |line: &[(f64, f64)]| {
        let last = line.iter().max_by(|a, b| a.0.total_cmp(&b.0));
        last.map_or(0.0, |point| point.1)
    };
    let mut order: Vec<(usize, &str, f64)> = lines
        .iter()
        .enumerate()
        .map(|(at, (name, line))| (at, *name, last(line)))
        .collect();
    order.sort_by(|a, b| b.2.total_cmp(&a.2));
    let height = (520 / order.len().max(1) as i32).clamp(9, 22);
    for (row, (at, name, _)) in (0..).zip(order) {
        let (style, is_dashed) = style(at);
        let y = 20 + row * height;
        let strokes = match is_dashed {
            true => &[(2, 9), (16, 23), (30, 37)][..],
            false => &[(2, 37)],
        };
        for (from, to) in strokes {
            area.draw(&PathElement::new([(*from, y), (*to, y)], style))?;
        }
        area.draw(&Circle::new((19, y), 3, style.filled()))?;
        let font = ("sans-serif", (height - 3).min(14));
        area.draw(&Text::new(name.to_string(), (46, y - height / 2 + 2), font))?;
    }
    Ok(())
}

fn over_size(
    path: &Path,
    (title, labels): (&str, &Labels<'_>),
    lines: &Lines<'_>,
) -> Result<(), Box<dyn std::error::Error>> {
    let points = || lines.values().flatten();
    let bound = |pick: fn(&(f64, f64)) -> f64, least: bool| {
        let fold = if least { f64::min } else { f64::max };
        points().map(pick).reduce(fold).unwrap_or(1.0)
    };
    let sizes = bound(|p| p.0, true)..bound(|p| p.0, false);
    let times = bound(|p| p.1, true) * 0.7..bound(|p| p.1, false) * 1.5;
    let root = titled(path, (WIDTH + NAMES_WIDTH, 640), (title, labels))?;
    let (plot, beside) = root.split_horizontally(WIDTH);
    names(&beside, lines)?;
    let mut chart = ChartBuilder::on(&plot)
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(sizes.log_scale().base(2.0), times.log_scale())?;
    chart
        .configure_mesh()
        .x_desc("bytes")
        .y_desc(labels.what)
        .x_label_formatter(&|bytes| sizes::say(*bytes as usize))
        .y_label_formatter(&|us| format!("{us}"))
        .light_line_style(RGBColor(240, 240, 240))
        .draw()?;
    for (at, line) in lines.values().enumerate() {
        let (style, is_dashed) = style(at);
        let points = line.iter().copied();
        match is_dashed {
            true => chart.draw_series(DashedLineSeries::new(points, 7, 5, style))?,
            false => chart.draw_series(LineSeries::new(points, style))?,
        };
        let dots = line
            .iter()
            .map(|point| Circle::new(*point, 3, style.filled()));
        chart.draw_series(dots)?;
    }
    root.present()?;
    Ok(())
}

/// A bar for each algorithm, the fastest on top.
fn bars(
    path: &Path,
    (title, labels): (&str, &Labels<'_>),
    lines: &Lines<'_>,
) -> Result<(), Box<dyn std::error::Error>> {
    let mut times: Vec<(&str, f64)> = lines
        .iter()
        .flat_map(|(name, line)| line.iter().map(|point| (*name, point.1)))
        .collect();
    times.sort_by(|a, b| b.1.total_cmp(&a.1));
    let most = times.first().map_or(1.0, |t| t.1);
    let size = (WIDTH, 130 + 34 * times.len() as u32);
    let root = titled(path, size, (title, labels))?;
    let mut chart = ChartBuilder::on(&root)
        .margin(12)
        .x_label_area_size(44)
        .build_cartesian_2d(0.0..most * 1.4, 0.0..times.len() as f64)?;
    chart
        .configure_mesh()
        .x_desc(labels.what)
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
