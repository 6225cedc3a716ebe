//! A chart as a reader finds it: elements by class, and the boxes of texts.

use roxmltree::{Document, Node};

use crate::text::pixels;

pub(super) struct Drawing(Document<'static>);

/// A text with the box it takes; none for slanted text, which has no upright box.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) class: String,
    pub(super) text: String,
    pub(super) area: Option<[f64; 4]>,
}

impl Drawing {
    /// Reads a chart, and checks what holds for every one.
    pub(super) fn of(svg: String) -> Self {
        // Its elements point into the text; a test does not live long.
        let drawing = Self(Document::parse(svg.leak()).unwrap());
        drawing.check();
        drawing
    }

    /// All elements with this class, in the order of the drawing.
    pub(super) fn all(&self, class: &str) -> Vec<Node<'_, 'static>> {
        self.0.descendants().filter(|node| has_class(*node, class)).collect()
    }

    pub(super) fn tooltips(&self, class: &str) -> Vec<String> {
        let children = self.all(class).into_iter().flat_map(|node| node.children());
        children.filter(|node| node.tag_name().name() == "title").map(words).collect()
    }

    pub(super) fn texts(&self) -> Vec<Written> {
        self.0.descendants().filter(|node| node.tag_name().name() == "text").map(written).collect()
    }

    /// The texts of one class, in the order of the drawing.
    pub(super) fn words(&self, class: &str) -> Vec<String> {
        self.all(class).into_iter().map(words).collect()
    }

    /// Position and label of the ticks of an axis: along it, from the tick marks.
    pub(super) fn ticks(&self, axis: &str) -> Vec<(f64, String)> {
        let group = self.all(axis)[0];
        let along = if axis == "x-axis" { "x1" } else { "y1" };
        let marks = group.children().filter(|node| has_class(*node, "tick")).map(|node| number(node, along));
        let labels = group.children().filter(|node| has_class(*node, "tick-label")).map(words);
        marks.zip(labels).collect()
    }

    /// Where the tick with this label is.
    pub(super) fn tick(&self, axis: &str, label: &str) -> f64 {
        self.ticks(axis).into_iter().find(|(_, text)| text == label).unwrap().0
    }

    /// Left, top, right, bottom of the plot.
    pub(super) fn plot(&self) -> [f64; 4] {
        let (spine, foot) = (self.all("spine")[0], self.all("foot")[0]);
        [number(spine, "x1"), number(spine, "y1"), number(foot, "x2"), number(spine, "y2")]
    }

    fn check(&self) {
        self.numbers_are_finite();
        self.texts_keep_apart();
        self.dark_colours_are_complete();
        let [left, top, right, bottom] = self.plot();
        for target in self.0.descendants().filter(|node| node.tag_name().name() == "circle") {
            let (x, y) = (number(target, "cx"), number(target, "cy"));
            assert!((left..=right).contains(&x) && (top..=bottom).contains(&y), "{x} {y} is outside of the plot");
        }
        for bar in
            self.all("value").into_iter().flat_map(|group| group.children()).filter(|node| has_class(*node, "bar"))
        {
            let (y, height) = (number(bar, "y"), number(bar, "height"));
            assert!(y >= top - 0.02 && y + height <= bottom + 0.02, "{y} + {height} is outside of the plot");
        }
    }

    fn numbers_are_finite(&self) {
        let numeric = ["x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "width", "height", "font-size", "stroke-width"];
        for node in self.0.descendants() {
            for attribute in node.attributes().filter(|attribute| numeric.contains(&attribute.name())) {
                let value = attribute.value().trim_end_matches('%').parse::<f64>();
                assert!(value.as_ref().is_ok_and(|value| value.is_finite()), "{attribute:?}");
            }
            if let Some(path) = node.attribute("d") {
                assert!(!path.contains("NaN") && !path.contains("inf"), "{path}");
            }
        }
        for text in self.texts() {
            assert!(!text.text.contains("NaN") && !text.text.contains("inf"), "{text:?}");
        }
    }

    /// No text touches another, leaves the drawing, or lies over the plot.
    fn texts_keep_apart(&self) {
        let root = self.0.root_element();
        let (width, height) = (number(root, "width"), number(root, "height"));
        let plot = self.plot();
        let texts = self.texts();
        for (index, text) in texts.iter().enumerate() {
            let Some(area) = text.area else { continue };
            let [left, top, right, bottom] = area;
            assert!(left >= 0.0 && top >= 0.0 && right <= width && bottom <= height, "{text:?} leaves the drawing");
            assert!(text.class == "no-data" || !overlap(area, plot), "{text:?} lies over the plot {plot:?}");
            for other in &texts[index + 1..] {
                let apart = other.area.is_none_or(|other| !overlap(area, other));
                assert!(apart, "{text:?} touches {other:?}");
            }
        }
    }

    /// Every colour has a counterpart for dark screens.
    fn dark_colours_are_complete(&self) {
        let style = self.0.descendants().find(|node| node.tag_name().name() == "style").map(words).unwrap();
        for node in self.0.descendants().filter(|node| node.is_element()) {
            for class in node.attribute("class").unwrap_or("").split_whitespace() {
                if class.starts_with("f-") || class.starts_with("s-") {
                    assert!(style.contains(&format!(".{class}{{")), "{class} has no dark colour");
                }
            }
        }
    }
}

pub(super) fn number(node: Node<'_, '_>, attribute: &str) -> f64 {
    node.attribute(attribute).unwrap().parse().unwrap()
}

pub(super) fn has_class(node: Node<'_, '_>, class: &str) -> bool {
    node.attribute("class").is_some_and(|classes| classes.split_whitespace().any(|one| one == class))
}

fn words(node: Node<'_, '_>) -> String {
    node.text().unwrap_or("").to_owned()
}

fn written(node: Node<'_, '_>) -> Written {
    let (x, baseline, size) = (number(node, "x"), number(node, "y"), number(node, "font-size"));
    let text = words(node);
    let width = pixels(&text, size);
    let left = match node.attribute("text-anchor").unwrap() {
        "start" => x,
        "middle" => x - width / 2.0,
        _ => x - width,
    };
    let upright = [left, baseline - 0.8 * size, left + width, baseline + 0.2 * size];
    let area = match node.attribute("transform") {
        None => Some(upright),
        Some(transform) if transform.starts_with("rotate(-90 ") => {
            // Around (x, y), the middle of the line.
            let y = baseline - size * 0.35;
            Some([x - size / 2.0, y - width / 2.0, x + size / 2.0, y + width / 2.0])
        }
        Some(_) => None,
    };
    let class = node.attribute("class").unwrap().split_whitespace().next().unwrap().to_owned();
    Written { class, text, area }
}

fn overlap(a: [f64; 4], b: [f64; 4]) -> bool {
    a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]
}
