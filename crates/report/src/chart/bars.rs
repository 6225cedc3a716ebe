//! Draws bars, side by side or stacked.

use std::collections::BTreeMap;

use super::axis::{Axis, Direction, TICK_SIZE, drawable};
use super::frame::{Frame, PLOT_HEIGHT, Words};
use super::lines::draw_interval;
use super::marks::filling;
use super::paint::Paint;
use super::svg::{Anchor, Area, TextStyle};
use super::tooltip::{self, has_interval};
use super::{Bar, BarGroup, Bars, Scale};
use crate::text::{pixels, wrap, wrap_pixels};

/// A slanted name needs this much width, so that it does not touch the next one.
const LEAST_SLOT: f64 = 24.0;
const LEAST_BAR: f64 = 5.0;
const MOST_BAR: f64 = 56.0;
/// Slanted names are cut at this length.
const SLANTED: f64 = 170.0;

pub(super) fn draw(bars: &Bars) -> String {
    let scale = Scale { log: bars.y.log && !bars.stacked, from_zero: true, ..bars.y.clone() };
    let kinds = kinds(&bars.groups);
    let names: Vec<String> = {
        let mut names: Vec<(&usize, &&str)> = kinds.iter().map(|(name, index)| (index, name)).collect();
        names.sort();
        names.into_iter().map(|(_, name)| (*name).to_owned()).collect()
    };
    let y = Axis::new(&scale, heights(bars, &scale).into_iter(), Direction::Vertical(PLOT_HEIGHT));
    let words = Words { title: &bars.title, y: &bars.y, names: &names, note: bars.note.as_deref() };
    let beside = if bars.stacked { 1 } else { bars.groups.iter().map(|group| group.bars.len()).max().unwrap_or(0) };
    let least_slot = LEAST_SLOT.max(beside as f64 * LEAST_BAR / 0.8);
    let mut frame = Frame::new(&words, y.as_ref(), bars.groups.len() as f64 * least_slot);
    let slot = frame.plot.width / bars.groups.len().max(1) as f64;
    if let Some(y) = &y {
        for (index, group) in bars.groups.iter().enumerate() {
            let middle = frame.plot.x + (index as f64 + 0.5) * slot;
            let width = (slot * 0.8 / beside.max(1) as f64).min(MOST_BAR);
            frame.svg.open_named("group", &group.name);
            if bars.stacked {
                draw_stack(&mut frame, group, &kinds, &scale, y, middle, width);
            } else {
                draw_side_by_side(&mut frame, group, &kinds, &scale, y, middle, width);
            }
            frame.svg.close();
        }
    }
    frame.draw_foot(y.as_ref().map_or(0.0, Axis::foot));
    let bottom = draw_names(&mut frame, &bars.groups, slot);
    let groups: Vec<&str> = bars.groups.iter().map(|group| group.name.as_str()).collect();
    let description = format!("{}: {} of {}, for {}", bars.title, bars.y.label, groups.join(", "), names.join(", "));
    frame.finish(&words, bottom, &description, |svg, index, area| {
        filling(
            svg,
            index,
            Area { x: area.x + 8.0, y: area.y + 2.0, width: area.width - 8.0, height: area.height - 4.0 },
        );
    })
}

/// Each name of a bar with its place in the legend, in the order in which they first appear.
fn kinds(groups: &[BarGroup]) -> BTreeMap<&str, usize> {
    let mut kinds = BTreeMap::new();
    for bar in groups.iter().flat_map(|group| &group.bars) {
        let next = kinds.len();
        kinds.entry(bar.name.as_str()).or_insert(next);
    }
    kinds
}

/// All values that the axis must show.
fn heights(bars: &Bars, scale: &Scale) -> Vec<f64> {
    let mut heights = Vec::new();
    for group in &bars.groups {
        let drawn = group.bars.iter().filter(|bar| drawable(scale, bar.value));
        if bars.stacked {
            let values: Vec<f64> = drawn.map(|bar| bar.value).collect();
            // Parts below zero stack downwards. A group without values is no reason to show an axis.
            if !values.is_empty() {
                heights.push(values.iter().map(|value| value.max(0.0)).sum());
                heights.push(values.iter().map(|value| value.min(0.0)).sum());
            }
        } else {
            for bar in drawn {
                heights.push(bar.value);
                if has_interval(bar.value, bar.low, bar.high) {
                    heights.extend([bar.low, bar.high]);
                }
            }
        }
    }
    heights
}

fn draw_side_by_side(
    frame: &mut Frame,
    group: &BarGroup,
    kinds: &BTreeMap<&str, usize>,
    scale: &Scale,
    y: &Axis,
    middle: f64,
    width: f64,
) {
    let left = middle - width * group.bars.len() as f64 / 2.0;
    for (index, bar) in group.bars.iter().enumerate().filter(|(_, bar)| drawable(scale, bar.value)) {
        let x = left + index as f64 * width;
        open_bar(frame, group, bar, y);
        let area = between(frame, x, width * 0.92, [y.foot(), y.fraction(bar.value)]);
        filling(&mut frame.svg, kind(kinds, bar), area);
        if has_interval(bar.value, bar.low, bar.high) {
            // A rim of paper keeps it visible on the bar.
            for (paint, thickness) in [(Paint::Paper, 3.2), (Paint::Ink, 1.2)] {
                draw_interval(frame, paint, thickness, x + width * 0.46, [bar.low, bar.high], y);
            }
        }
        frame.svg.close();
    }
}

fn draw_stack(
    frame: &mut Frame,
    group: &BarGroup,
    kinds: &BTreeMap<&str, usize>,
    scale: &Scale,
    y: &Axis,
    middle: f64,
    width: f64,
) {
    let (mut above, mut below) = (0.0, 0.0);
    for bar in group.bars.iter().filter(|bar| drawable(scale, bar.value)) {
        let side = if bar.value < 0.0 { &mut below } else { &mut above };
        let foot = *side;
        *side += bar.value;
        open_bar(frame, group, bar, y);
        let area = between(frame, middle - width / 2.0, width, [y.fraction(foot), y.fraction(*side)]);
        filling(&mut frame.svg, kind(kinds, bar), area);
        // A thin line of paper between the parts of a stack.
        frame.svg.line("seam", Paint::Paper, 1.0, [area.x, area.y], [area.right(), area.y]);
        frame.svg.close();
    }
}

fn open_bar(frame: &mut Frame, group: &BarGroup, bar: &Bar, y: &Axis) {
    frame.svg.open("value");
    let value = tooltip::value(y, bar.value, bar.low, bar.high);
    frame.svg.tooltip(&format!("{}\n{}: {value}", group.name, bar.name));
}

fn kind(kinds: &BTreeMap<&str, usize>, bar: &Bar) -> usize {
    kinds.get(bar.name.as_str()).copied().unwrap_or(0)
}

fn between(frame: &Frame, x: f64, width: f64, ends: [f64; 2]) -> Area {
    let [a, b] = ends.map(|end| frame.y(end));
    Area { x, y: a.min(b), width, height: (a - b).abs() }
}

/// Names below the groups: level and wrapped if their words fit, else slanted. Returns where the room below starts.
fn draw_names(frame: &mut Frame, groups: &[BarGroup], slot: f64) -> f64 {
    let top = frame.plot.bottom() + 7.0;
    let room = slot - 6.0;
    let fits = |group: &BarGroup| {
        group.name.split_whitespace().all(|word| pixels(word, TICK_SIZE) <= room)
            && wrap(&group.name, room, |part| pixels(part, TICK_SIZE)).len() <= 3
    };
    let level = groups.iter().all(fits);
    let mut height: f64 = 0.0;
    frame.svg.open("x-axis");
    for (index, group) in groups.iter().enumerate() {
        let middle = frame.plot.x + (index as f64 + 0.5) * slot;
        if level {
            let lines = wrap_pixels(&group.name, room, TICK_SIZE, 3);
            let style = TextStyle::new("group-name", TICK_SIZE, Paint::Muted, Anchor::Middle);
            for (line, text) in lines.iter().enumerate() {
                frame.svg.text(style, [middle, top + (line as f64 + 0.5) * TICK_SIZE * 1.2], text);
            }
            height = height.max(lines.len() as f64 * TICK_SIZE * 1.2);
        } else {
            // Names of the first groups must not leave the chart on the left.
            let longest = SLANTED.min((middle - 4.0) / 0.77);
            frame.svg.open("slanted");
            frame.svg.tooltip(&group.name);
            let text = wrap_pixels(&group.name, longest, TICK_SIZE, 1).concat();
            let style =
                TextStyle { rotate: -40.0, ..TextStyle::new("group-name", TICK_SIZE, Paint::Muted, Anchor::End) };
            frame.svg.text(style, [middle + 3.0, top + 2.0], &text);
            frame.svg.close();
            height = height.max(pixels(&text, TICK_SIZE) * 0.65 + TICK_SIZE);
        }
    }
    frame.svg.close();
    top + height
}
