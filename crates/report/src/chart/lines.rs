//! Draws lines with markers and error bars.

use super::axis::{Axis, Direction, drawable};
use super::frame::{Frame, PLOT_HEIGHT, Words};
use super::marks::marker;
use super::paint::Paint;
use super::svg::{Area, Svg, path};
use super::tooltip::{self, has_interval};
use super::{Chart, Point, Series};

/// A series with more points has a marker on some of them only.
const CROWDED: usize = 40;
/// On about so many.
const MARKED: usize = 20;

pub(super) fn draw(chart: &Chart) -> String {
    let shown = |point: &&Point| drawable(&chart.x, point.x) && drawable(&chart.y, point.y);
    let points = || chart.series.iter().flat_map(|series| &series.points).filter(shown);
    let heights = points().flat_map(|point| {
        let ends = has_interval(point.y, point.low, point.high).then_some([point.low, point.high]);
        [point.y].into_iter().chain(ends.into_iter().flatten())
    });
    let y = Axis::new(&chart.y, heights, Direction::Vertical(PLOT_HEIGHT));
    let names: Vec<String> = chart.series.iter().map(|series| series.name.clone()).collect();
    let words = Words { title: &chart.title, y: &chart.y, names: &names, note: chart.note.as_deref() };
    let mut frame = Frame::new(&words, y.as_ref(), 0.0);
    let x = Axis::new(&chart.x, points().map(|point| point.x), Direction::Horizontal(frame.plot.width));
    let bottom = match (&x, &y) {
        (Some(x), Some(y)) => {
            let bottom = frame.draw_x(x);
            frame.draw_foot(0.0);
            for (index, series) in chart.series.iter().enumerate() {
                draw_series(&mut frame, index, series, |point| shown(&point), x, y);
            }
            bottom
        }
        _ => {
            frame.draw_foot(0.0);
            let below = frame.plot.bottom() + 8.0;
            frame.draw_x_label(&chart.x.label, below)
        }
    };
    let description = format!("{}: {} by {}, for {}", chart.title, chart.y.label, chart.x.label, names.join(", "));
    frame.finish(&words, bottom, &description, |svg, index, area| sample(svg, index, chart, area))
}

fn draw_series(frame: &mut Frame, index: usize, series: &Series, shown: impl Fn(&Point) -> bool, x: &Axis, y: &Axis) {
    let hue = Paint::Hue(index);
    let place = |frame: &Frame, point: &Point| [frame.x(x.fraction(point.x)), frame.y(y.fraction(point.y))];
    frame.svg.open_named("series", &series.name);
    let pieces = series.points.split(|point| !shown(point));
    let line: String = pieces
        .filter(|piece| piece.len() > 1)
        .map(|piece| path(&piece.iter().map(|point| place(frame, point)).collect::<Vec<_>>(), false))
        .collect();
    if !line.is_empty() {
        frame.svg.outline("line", hue, 1.8, series.dashed, &line);
    }
    let drawn: Vec<&Point> = series.points.iter().filter(|point| shown(point)).collect();
    let stride = if drawn.len() > CROWDED { drawn.len().div_ceil(MARKED) } else { 1 };
    for (number, point) in drawn.iter().enumerate() {
        // Each series starts elsewhere, so that crowded lines do not hide each other's markers.
        let marked = (number + index).is_multiple_of(stride);
        let at = place(frame, point);
        frame.svg.open("point");
        let (across, up) =
            (tooltip::value(x, point.x, point.x, point.x), tooltip::value(y, point.y, point.low, point.high));
        frame.svg.tooltip(&format!("{}\n{across}: {up}", series.name));
        if marked {
            if has_interval(point.y, point.low, point.high) {
                draw_interval(frame, hue, 1.2, at[0], [point.low, point.high], y);
            }
            marker(&mut frame.svg, index, at);
        }
        frame.svg.target(at);
        frame.svg.close();
    }
    frame.svg.close();
}

/// An error bar with caps. An end that the axis does not reach (zero on a logarithmic scale) has no cap.
pub(super) fn draw_interval(frame: &mut Frame, paint: Paint, thickness: f64, x: f64, ends: [f64; 2], axis: &Axis) {
    let fractions = ends.map(|end| axis.fraction(end));
    let reached = fractions.map(|fraction| (-1e-9..=1.0 + 1e-9).contains(&fraction));
    let [low, high] = [0, 1].map(|end| if reached[end] { frame.y(fractions[end]) } else { frame.plot.bottom() });
    frame.svg.line("interval", paint, thickness, [x, low], [x, high]);
    for (y, reached) in [(low, reached[0]), (high, reached[1])] {
        if reached {
            frame.svg.line("cap", paint, thickness, [x - 4.0, y], [x + 4.0, y]);
        }
    }
}

fn sample(svg: &mut Svg, index: usize, chart: &Chart, area: Area) {
    let middle = area.y + area.height / 2.0;
    let dashed = chart.series.get(index).is_some_and(|series| series.dashed);
    let line = path(&[[area.x, middle], [area.right(), middle]], false);
    svg.outline("sample", Paint::Hue(index), 1.8, dashed, &line);
    marker(svg, index, [area.x + area.width / 2.0, middle]);
}
