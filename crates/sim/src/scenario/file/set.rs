//! Sets keys of a document: from the command line, along axes, and by variants.

use super::keys::{self, RIVALS};
use super::near;
use super::place::{Place, Problem};
use super::study::{self, VARIANT};
use super::value::{Item, Value};
use super::walk::{self, Content};

/// The word that takes a key back to its default.
const DEFAULT: &str = "default";

pub(super) fn assign(content: &mut Content, key: &str, words: &str) -> Result<(), Problem> {
    let assignment = format!("{key}={words}");
    let place = Place::Set(assignment.clone());
    let value = Value::from_words(words, &assignment);
    if key == VARIANT {
        return variant(content, words, &value, &place);
    }
    check(content, key, &value, &place, &place)?;
    put(content, key, Item { value, place: place.clone(), key: place });
    Ok(())
}

/// The path in the document of a key that can be set: classes may be told by their name.
fn path_of(content: &Content, key: &str) -> Option<(String, &'static str)> {
    if let Some(known) = keys::find(key).filter(|known| plain(key, known)) {
        return Some((known.path.to_owned(), known.path));
    }
    let (class, name) = key.strip_prefix("traffic.class.")?.rsplit_once('.')?;
    let known = keys::find(&format!("traffic.{name}")).filter(|known| known.section() == "traffic")?;
    let named = |index: &usize| {
        let item = content.items.get(&format!("traffic.class.{index}.name"));
        matches!(item, Some(Item { value: Value::Text(text), .. }) if text == class)
    };
    let count = content.count("traffic.class");
    let number = || class.parse().ok().filter(|index| *index < count);
    let index = (0..count).find(named).or_else(number)?;
    Some((format!("traffic.class.{index}.{name}"), known.path))
}

/// Whether a key stands in a section that comes once.
fn plain(key: &str, known: &keys::Key) -> bool {
    key == known.path && keys::section_of(known.section()).is_some_and(|section| !section.repeated)
}

pub(super) fn known(content: &Content, key: &str, place: &Place) -> Result<(), Problem> {
    if path_of(content, key).is_some() && !key.starts_with("study.axes") {
        return Ok(());
    }
    if let Some(class) = key.strip_prefix("traffic.class.").and_then(|rest| rest.split('.').next()) {
        let names: Vec<String> = (0..content.count("traffic.class"))
            .filter_map(|index| match &content.items.get(&format!("traffic.class.{index}.name"))?.value {
                Value::Text(text) => Some(text.clone()),
                Value::Whole(_) | Value::Real(_) | Value::Flag(_) | Value::List(_) | Value::Table => None,
            })
            .collect();
        if !names.iter().any(|name| name == class) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            return Err(Problem::new(place, format!("there is no class `{class}`"), near::help(class, &names)));
        }
    }
    let (section, name) = key.rsplit_once('.').unwrap_or(("", key));
    let section_known = keys::section_of(section).is_some_and(|section| !section.repeated && !section.free);
    if section_known && !section.is_empty() {
        return Err(Problem { place: place.clone(), ..walk::unknown_key(section, name) });
    }
    let all = study::variable_keys();
    let same_name = all.iter().copied().find(|path| path.rsplit_once('.').is_some_and(|(_, last)| last == key));
    let help = match same_name.or_else(|| near::nearest(key, &all)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "keys are written with their section, such as radio.range".to_owned(),
    };
    Err(Problem::new(place, format!("unknown key `{key}`"), help))
}

/// Whether there is such a key and it takes such a value.
pub(super) fn check(
    content: &Content,
    key: &str,
    value: &Value,
    key_place: &Place,
    place: &Place,
) -> Result<(), Problem> {
    known(content, key, key_place)?;
    if *value == Value::Text(DEFAULT.to_owned()) {
        return Ok(());
    }
    let known = path_of(content, key).and_then(|(_, path)| keys::find(path));
    known.map_or(Ok(()), |known| known.kind.read(known.subject(), value, place).map(drop))
}

/// Puts a checked item in its place, and takes its rivals away.
fn put(content: &mut Content, key: &str, item: Item) {
    let Some((path, known)) = path_of(content, key) else { return };
    let (section, _) = path.rsplit_once('.').unwrap_or(("", &path));
    let section = section.to_owned();
    if item.value == Value::Text(DEFAULT.to_owned()) {
        content.items.remove(&path);
        return;
    }
    for rival in RIVALS.iter().filter(|rivals| rivals.contains(&known)).copied().flatten() {
        let name = rival.rsplit_once('.').map_or(*rival, |(_, name)| name);
        content.items.remove(&format!("{section}.{name}"));
    }
    if !section.is_empty() {
        content.sections.entry(section).or_insert_with(|| item.key.clone());
    }
    content.items.insert(path, item);
}

/// Sets everything a variant sets.
fn variant(content: &mut Content, words: &str, value: &Value, place: &Place) -> Result<(), Problem> {
    let label = if let Value::Text(text) = value { text.as_str() } else { words };
    let Some(sets) = study::variant_sets(content, label) else {
        let labels = study::labels(content);
        let names: Vec<&str> = labels.iter().map(String::as_str).collect();
        let help = if names.is_empty() { "add a [[study.variant]]".to_owned() } else { near::help(label, &names) };
        return Err(Problem::new(place, format!("there is no variant `{label}`"), help));
    };
    let sets: Vec<(String, Item)> = sets.into_iter().map(|(key, item)| (key, item.clone())).collect();
    for (key, item) in &sets {
        check(content, key, &item.value, &item.key, &item.place)?;
    }
    for (key, item) in sets {
        put(content, &key, item);
    }
    Ok(())
}

pub(super) fn value<'a>(content: &'a Content, key: &str) -> Option<&'a Value> {
    let (path, _) = path_of(content, key)?;
    content.items.get(&path).map(|item| &item.value)
}
