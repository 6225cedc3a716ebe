//! `[study]`: axes, variants, conditions, pictures and comparisons.

use super::keys;
use super::kind::Read;
use super::place::{Place, Problem};
use super::quantity::Quantity;
use super::reader::Reader;
use super::set;
use super::value::{Item, Value, quoted};
use super::walk::Content;
use super::{Axis, Compare, Constraint, PlotSpec, Stop, StudySpec};

/// The key of the axis made of all variants.
pub(super) const VARIANT: &str = "variant";

/// Reads the study of a document, if it has one.
pub(super) fn study(content: &Content) -> Result<Option<StudySpec>, Problem> {
    if !content.sections.contains_key("study") {
        return Ok(None);
    }
    let axes = axes(content)?;
    let mut reader = Reader::new(content);
    let mut part = reader.part("study");
    let repeat = part.get("repeat")?;
    let seed = part.get("seed")?;
    let zip = if let Some(Read::Groups(groups)) = part.any("zip")? { zip(groups, &axes)? } else { Vec::new() };
    let mut constraints = Vec::new();
    if let Some(Read::Texts(texts)) = part.any("constraints")? {
        for (text, place) in texts {
            constraints.push(constraint(content, &text, &place)?);
        }
    }
    let stop = stop(&mut reader)?;
    let plots =
        (0..reader.count("study.plot")).map(|index| plot(&mut reader, index, &axes)).collect::<Result<_, _>>()?;
    let compare =
        (0..reader.count("study.compare")).map(|index| compare(&mut reader, index, &axes)).collect::<Result<_, _>>()?;
    Ok(Some(StudySpec { axes, zip, constraints, repeat, seed, stop, plots, compare }))
}

/// The keys a variant sets, with their values, by its label.
pub(super) fn variant_sets<'a>(content: &'a Content, label: &str) -> Option<Vec<(String, &'a Item)>> {
    let index = labels(content).iter().position(|known| known == label)?;
    let prefix = format!("study.variant.{index}.");
    let sets = content.items.iter().filter_map(|(path, item)| {
        let key = path.strip_prefix(&prefix)?;
        (key != "label").then(|| (key.to_owned(), item))
    });
    Some(sets.collect())
}

pub(super) fn labels(content: &Content) -> Vec<String> {
    let label = |index| match content.items.get(&format!("study.variant.{index}.label")) {
        Some(Item { value: Value::Text(text), .. }) => text.clone(),
        Some(_) | None => String::new(),
    };
    (0..content.count("study.variant")).map(label).collect()
}

fn axes(content: &Content) -> Result<Vec<Axis>, Problem> {
    let start = |place: &Place| if let Place::Bytes { start, .. } = place { *start } else { usize::MAX };
    let mut axes: Vec<(usize, Axis)> = Vec::new();
    for (path, item) in &content.items {
        let Some(key) = path.strip_prefix("study.axes.") else { continue };
        set::known(content, key, &item.key)?;
        let values = values(content, key, item)?;
        axes.push((start(&item.key), Axis { key: key.to_owned(), values }));
    }
    if let Some(place) = content.sections.get("study.variant") {
        axes.push((start(place), variants(content, place)?));
    }
    axes.sort_by_key(|(start, _)| *start);
    Ok(axes.into_iter().map(|(_, axis)| axis).collect())
}

fn variants(content: &Content, place: &Place) -> Result<Axis, Problem> {
    let labels = labels(content);
    for (index, label) in labels.iter().enumerate() {
        let item = content.items.get(&format!("study.variant.{index}.label"));
        let place = item.map_or(place, |item| &item.place);
        if label.is_empty() {
            return Err(Problem::new(place, "`label` is missing in [[study.variant]]", "write label = \"literal\""));
        }
        if labels[..index].contains(label) {
            return Err(Problem::new(place, format!("two variants have the label `{label}`"), "give each its own"));
        }
        for (key, item) in variant_sets(content, label).unwrap_or_default() {
            if content.items.contains_key(&format!("study.axes.{key}")) {
                let help = "let one of them vary it";
                return Err(Problem::new(&item.key, format!("`{key}` is set by a variant and is an axis too"), help));
            }
            set::check(content, &key, &item.value, &item.key, &item.place)?;
        }
    }
    Ok(Axis { key: VARIANT.to_owned(), values: labels.iter().map(|label| quoted(label)).collect() })
}

/// The values of an axis, each checked as if it were set.
fn values(content: &Content, key: &str, item: &Item) -> Result<Vec<String>, Problem> {
    let list = match &item.value {
        Value::List(list) => list.clone(),
        Value::Text(text) if text.contains("..") => {
            let steps = steps(text).ok_or_else(|| {
                let help = "write \"10..100 step 10\" or \"50m..200m step 50m\" (both ends are meant)";
                Problem::new(&item.place, format!("`{text}` is not a range with a step"), help)
            })?;
            steps.into_iter().map(|value| (value, item.place.clone())).collect()
        }
        Value::Text(_) | Value::Whole(_) | Value::Real(_) | Value::Flag(_) | Value::Table => {
            let help = "write a list such as [10, 20, 50], or \"10..100 step 10\"";
            return Err(Problem::new(&item.place, format!("the axis `{key}` needs several values"), help));
        }
    };
    if list.is_empty() {
        return Err(Problem::new(&item.place, format!("the axis `{key}` has no values"), "write at least one"));
    }
    let mut values: Vec<String> = Vec::new();
    for (value, place) in &list {
        set::check(content, key, value, &item.key, place)?;
        let value = value.to_toml();
        if values.contains(&value) {
            return Err(Problem::new(place, format!("the axis `{key}` has {value} twice"), "take one out"));
        }
        values.push(value);
    }
    Ok(values)
}

/// `10..100 step 10`, with both ends; all three with the same unit or none.
fn steps(text: &str) -> Option<Vec<Value>> {
    let (ends, step) = text.split_once("step")?;
    let (low, high) = ends.split_once("..")?;
    let unit = low.trim().trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+'));
    let number = |text: &str| text.trim().strip_suffix(unit)?.parse::<f64>().ok().filter(|number| number.is_finite());
    let (low, high, step) = (number(low)?, number(high)?, number(step)?);
    let count = ((high - low) / step + 1e-9).floor();
    if step <= 0.0 || !(0.0..MOST_STEPS).contains(&count) {
        return None;
    }
    let value = |index: u32| {
        // Sums of decimals are not exact: 0.1 + 2 * 0.1 should still be told as 0.3.
        let number = ((low + f64::from(index) * step) * 1e9).round() / 1e9;
        match unit {
            "" if [low, high, step].iter().all(|number| number.fract() == 0.0) => Value::Whole(number as i64),
            "" => Value::Real(number),
            unit => Value::Text(format!("{number}{unit}")),
        }
    };
    Some((0..=count as u32).map(value).collect())
}

fn zip(groups: Vec<Vec<(String, Place)>>, axes: &[Axis]) -> Result<Vec<Vec<String>>, Problem> {
    let mut seen: Vec<String> = Vec::new();
    let mut zipped = Vec::new();
    for group in groups {
        let mut length = None;
        for (key, place) in &group {
            let count = axis(axes, key, place)?.values.len();
            if seen.contains(key) {
                return Err(Problem::new(place, format!("`{key}` is zipped twice"), "each axis at most once"));
            }
            if length.is_some_and(|length| length != count) {
                let message = format!("`{key}` has {count} values, the axes before it have {}", length.unwrap_or(0));
                return Err(Problem::new(place, message, "axes that go together need as many values"));
            }
            length = Some(count);
            seen.push(key.clone());
        }
        zipped.push(group.into_iter().map(|(key, _)| key).collect());
    }
    Ok(zipped)
}

fn axis<'a>(axes: &'a [Axis], key: &str, place: &Place) -> Result<&'a Axis, Problem> {
    let names: Vec<&str> = axes.iter().map(|axis| axis.key.as_str()).collect();
    axes.iter().find(|axis| axis.key == key).ok_or_else(|| {
        let help = if names.is_empty() { "add it to [study.axes]".to_owned() } else { super::near::help(key, &names) };
        Problem::new(place, format!("`{key}` is not an axis of this study"), help)
    })
}

fn constraint(content: &Content, text: &str, place: &Place) -> Result<Constraint, Problem> {
    // The longer operators first, or `<=` would be read as `<`.
    for op in ["<=", ">=", "==", "!=", "<", ">"] {
        if let Some((left, right)) = text.split_once(op) {
            let (left, right) = (left.trim(), right.trim());
            side(content, left, place)?;
            side(content, right, place)?;
            return Ok(Constraint { left: left.to_owned(), op: op.to_owned(), right: right.to_owned() });
        }
    }
    Err(Problem::new(place, format!("`{text}` is not a condition"), "write such as \"nodes <= 50\""))
}

/// A side of a condition is a number, an amount, a word in quotes or a key.
fn side(content: &Content, text: &str, place: &Place) -> Result<(), Problem> {
    let amount = Quantity::ALL.iter().any(|quantity| quantity.parse(text).is_ok());
    let word = text.len() >= 2 && text.starts_with(['"', '\'']);
    if amount || word || text.parse::<f64>().is_ok() || text == VARIANT {
        return Ok(());
    }
    set::known(content, text, place)
}

fn stop(reader: &mut Reader<'_>) -> Result<Option<Stop>, Problem> {
    if reader.section("study.stop").is_none() {
        return Ok(None);
    }
    let mut part = reader.part("study.stop");
    let measure = part.text("measure")?;
    Ok(Some(Stop { measure, half_width: part.get("half_width")?, most: part.get("most")? }))
}

fn plot(reader: &mut Reader<'_>, index: usize, axes: &[Axis]) -> Result<PlotSpec, Problem> {
    let mut part = reader.nth("study.plot", index);
    let x = part.text("x")?;
    axis(axes, &x, &part.place("x"))?;
    let y = part.text("y")?;
    let lines = part.optional::<String>("lines")?;
    if let Some(lines) = &lines {
        axis(axes, lines, &part.place("lines"))?;
    }
    let title = part.get_or("title", &format!("{y} over {x}"))?;
    Ok(PlotSpec { title, x, y, lines, log_x: part.get("log_x")?, log_y: part.get("log_y")? })
}

fn compare(reader: &mut Reader<'_>, index: usize, axes: &[Axis]) -> Result<Compare, Problem> {
    let mut part = reader.nth("study.compare", index);
    let key = part.text("axis")?;
    let axis = axis(axes, &key, &part.place("axis"))?;
    let baseline = if let Some(Read::Raw(value)) = part.any("baseline")? { value.to_toml() } else { String::new() };
    if !axis.values.contains(&baseline) {
        let help = format!("its values: {}", axis.values.join(", "));
        return Err(part.problem("baseline", format!("{baseline} is not a value of the axis `{key}`"), help));
    }
    let measures = match part.any("measures")? {
        Some(Read::Texts(texts)) if !texts.is_empty() => texts.into_iter().map(|(text, _)| text).collect(),
        _ => return Err(part.problem("measures", "there is nothing to compare", "write [\"wait.mean\"]")),
    };
    Ok(Compare { axis: key, baseline, measures })
}

/// All keys of a scenario, which a study can vary.
pub(super) fn variable_keys() -> Vec<&'static str> {
    keys::KEYS.iter().map(|key| key.path).filter(|path| !path.starts_with("study.") && *path != "seed").collect()
}

const MOST_STEPS: f64 = 10_000.0;
