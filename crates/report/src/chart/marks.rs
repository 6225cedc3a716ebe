//! Markers of points and hatchings of bars: what tells series apart without colour.

use super::paint::Paint;
use super::svg::{Area, Svg, path, px};

/// How many markers there are. It has no divisor in common with the number of colours, so that the pair of marker and
/// colour repeats only after their product.
const MARKERS: usize = 10;

/// Draws the marker of the n-th series around a point.
pub(super) fn marker(svg: &mut Svg, index: usize, at: [f64; 2]) {
    let hue = Paint::Hue(index);
    let unit = |points: &[[f64; 2]], radius: f64| {
        let placed: Vec<[f64; 2]> = points.iter().map(|[x, y]| [at[0] + x * radius, at[1] + y * radius]).collect();
        path(&placed, true)
    };
    let (left, top, across) = (px(at[0] - 3.9), px(at[1]), px(7.8));
    let circle = format!("M{left} {top}a3.9 3.9 0 1 0 {across} 0a3.9 3.9 0 1 0 -{across} 0Z");
    let square = unit(&[[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]], 3.4);
    let up = unit(&[[0.0, -1.1], [1.05, 0.8], [-1.05, 0.8]], 4.4);
    let down = unit(&[[0.0, 1.1], [-1.05, -0.8], [1.05, -0.8]], 4.4);
    let diamond = unit(&[[0.0, -1.0], [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]], 4.9);
    let (shape, filled) = match index % MARKERS {
        0 => (circle, true),
        1 => (square, true),
        2 => (up, true),
        3 => (diamond, true),
        4 => (down, true),
        5 => (circle, false),
        6 => (square, false),
        7 => (up, false),
        8 => (diamond, false),
        _ => (down, false),
    };
    // A rim of paper sets filled markers apart where they overlap.
    if filled {
        svg.shape("marker", hue, Paint::Paper, 0.8, &shape);
    } else {
        svg.shape("marker", Paint::Paper, hue, 1.6, &shape);
    }
}

/// Fills an area with the look of the n-th kind of bar.
pub(super) fn filling(svg: &mut Svg, index: usize, area: Area) {
    svg.rectangle("bar", Paint::Hue(index), area);
    let lines: Vec<Slant> = match index % 6 {
        0 => vec![],
        1 => vec![Slant::Rising],
        2 => vec![Slant::Falling],
        3 => vec![Slant::Level],
        4 => vec![Slant::Rising, Slant::Falling],
        _ => vec![Slant::Upright],
    };
    let d: String = lines.into_iter().flat_map(|slant| slant.lines(area)).map(|line| path(&line, false)).collect();
    if !d.is_empty() {
        svg.outline("hatch", Paint::Paper, 0.9, false, &d);
    }
}

/// The direction of the lines of a hatching. They are cut to the area here, since a clip path would need an id that is
/// unique in the whole page.
#[derive(Clone, Copy)]
enum Slant {
    Rising,
    Falling,
    Level,
    Upright,
}

impl Slant {
    fn lines(self, area: Area) -> Vec<[[f64; 2]; 2]> {
        let (width, height) = (area.width, area.height);
        let reach = match self {
            Self::Rising | Self::Falling => width + height,
            Self::Level => height,
            Self::Upright => width,
        };
        let spacing = match self {
            Self::Rising | Self::Falling => 7.0,
            Self::Level | Self::Upright => 5.0,
        };
        // Areas are a few hundred pixels; the bound is there for areas that are not.
        let offsets = (0..2000).map(|index| (f64::from(index) + 0.5) * spacing).take_while(|offset| *offset < reach);
        let line = |offset: f64| {
            // Both ends of x + y = offset inside the area, seen from its upper left corner.
            let (from, to) =
                ([offset.min(width), (offset - width).max(0.0)], [(offset - height).max(0.0), offset.min(height)]);
            match self {
                Self::Rising => [from, to],
                Self::Falling => [from, to].map(|[x, y]| [width - x, y]),
                Self::Level => [[0.0, offset], [width, offset]],
                Self::Upright => [[offset, 0.0], [offset, height]],
            }
            .map(|[x, y]| [area.x + x, area.y + y])
        };
        offsets.map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn forty_series_look_different_and_ten_differ_without_colour() {
        let look = |index: usize| {
            let mut svg = Svg::default();
            marker(&mut svg, index, [0.0, 0.0]);
            svg.finish(1.0, 1.0, "")
        };
        let looks: BTreeSet<String> = (0..40).map(look).collect();
        assert_eq!(looks.len(), 40);
        let without_colour = |index: usize| {
            let look = look(index).replace(Paint::Hue(index).light(), "hue");
            look.replace(&Paint::Hue(index).fill_class(), "").replace(&Paint::Hue(index).stroke_class(), "")
        };
        let shapes: BTreeSet<String> = (0..10).map(without_colour).collect();
        assert_eq!(shapes.len(), 10);
    }

    #[test]
    fn hatching_stays_inside_its_area() {
        let area = Area { x: 10.0, y: 20.0, width: 31.0, height: 7.5 };
        for slant in [Slant::Rising, Slant::Falling, Slant::Level, Slant::Upright] {
            let lines = slant.lines(area);
            assert!(!lines.is_empty());
            for [x, y] in lines.into_iter().flatten() {
                assert!((area.x..=area.right()).contains(&x) && (area.y..=area.bottom()).contains(&y), "{x} {y}");
            }
        }
    }
}
