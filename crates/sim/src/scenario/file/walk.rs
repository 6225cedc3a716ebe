//! From parsed TOML to a flat map of known keys: every key and section must exist, every value must be of its kind.

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys::{self, Section};
use super::near;
use super::place::{Place, Problem};
use super::value::{Item, Value, place_of};

/// What a file says. Repeated sections have a number in their path: `traffic.class.0.think`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Content {
    /// By path.
    pub(super) items: BTreeMap<String, Item>,
    /// The sections that are there, also empty ones, by path.
    pub(super) sections: BTreeMap<String, Place>,
}

pub(super) fn content(text: &str) -> Result<Content, Problem> {
    let table = DeTable::parse(text).map_err(|error| {
        let place = error.span().map_or(Place::Whole, |span| place_of(span, None));
        Problem::new(&place, format!("this is not TOML: {}", error.message()), "")
    })?;
    let mut content = Content::default();
    if let Some(top) = keys::section_of("") {
        content.section(top, "", table.get_ref())?;
    }
    Ok(content)
}

impl Content {
    /// How many sections of a repeated kind there are.
    pub(super) fn count(&self, section: &str) -> usize {
        (0..).take_while(|index| self.sections.contains_key(&format!("{section}.{index}"))).count()
    }

    fn section(&mut self, section: &'static Section, prefix: &str, table: &DeTable<'_>) -> Result<(), Problem> {
        for (key, value) in in_order(table) {
            let place = place_of(key.span(), None);
            let name = key.get_ref().as_ref();
            let path = join(section.path, name);
            let full = join(prefix, name);
            if let Some(inner) = keys::section_of(&path) {
                self.inner(inner, &full, value, &place)?;
            } else if let Some(known) = keys::find(&path) {
                let item = Item { value: Value::from_toml(value, None), place: value_place(value), key: place };
                known.kind.read(known.subject(), &item.value, &item.place)?;
                self.items.insert(full, item);
            } else if section.free {
                self.free(&full, value, &place);
            } else {
                return Err(unknown(section, name, &place, value.get_ref()));
            }
        }
        Ok(())
    }

    fn inner(
        &mut self,
        section: &'static Section,
        full: &str,
        value: &Spanned<DeValue<'_>>,
        place: &Place,
    ) -> Result<(), Problem> {
        let path = section.path;
        self.sections.insert(full.to_owned(), place.clone());
        match (value.get_ref(), section.repeated) {
            (DeValue::Table(table), false) => self.section(section, full, table),
            (DeValue::Array(list), true) => {
                for (index, item) in list.iter().enumerate() {
                    let DeValue::Table(table) = item.get_ref() else {
                        return Err(Problem::new(&value_place(item), format!("`{path}` is a section"), how(section)));
                    };
                    let full = format!("{full}.{index}");
                    self.sections.insert(full.clone(), place.clone());
                    self.section(section, &full, table)?;
                }
                Ok(())
            }
            (DeValue::Table(_), true) => {
                Err(Problem::new(place, format!("`{path}` may come several times"), how(section)))
            }
            _ => Err(Problem::new(place, format!("`{path}` is a section"), how(section))),
        }
    }

    /// Keys of axes and variants: with or without quotes, `radio.range` is one path.
    fn free(&mut self, full: &str, value: &Spanned<DeValue<'_>>, key: &Place) {
        if let DeValue::Table(table) = value.get_ref() {
            for (key, value) in in_order(table) {
                self.free(&join(full, key.get_ref()), value, &place_of(key.span(), None));
            }
        } else {
            let item = Item { value: Value::from_toml(value, None), place: value_place(value), key: key.clone() };
            self.items.insert(full.to_owned(), item);
        }
    }
}

type Entry<'t, 'i> = (&'t Spanned<std::borrow::Cow<'i, str>>, &'t Spanned<DeValue<'i>>);

/// The entries in the order of the file, so that the first mistake is told first.
fn in_order<'t, 'i>(table: &'t DeTable<'i>) -> Vec<Entry<'t, 'i>> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

fn value_place(value: &Spanned<DeValue<'_>>) -> Place {
    place_of(value.span(), None)
}

fn join(prefix: &str, name: &str) -> String {
    if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") }
}

fn how(section: &Section) -> String {
    let (open, close) = if section.repeated { ("[[", "]]") } else { ("[", "]") };
    format!("write it on a line of its own as {open}{}{close}, with its keys below", section.path)
}

fn unknown(section: &Section, name: &str, place: &Place, value: &DeValue<'_>) -> Problem {
    let tables = value.as_array().is_some_and(|list| list.iter().any(|item| item.get_ref().is_table()));
    let is_section = tables || value.is_table();
    if !is_section {
        return Problem { place: place.clone(), ..unknown_key(section.path, name) };
    }
    let full = join(section.path, name);
    let all: Vec<&str> = keys::SECTIONS.iter().map(|section| section.path).filter(|path| !path.is_empty()).collect();
    Problem::new(place, format!("unknown section `{full}`"), near::help(&full, &all))
}

pub(super) fn unknown_key(section: &str, name: &str) -> Problem {
    let keys = keys::keys_of(section).map(keys::Key::name);
    let inner = keys::SECTIONS.iter().filter_map(|inner| match inner.path.rsplit_once('.') {
        Some((parent, name)) => (parent == section).then_some(name),
        None => (section.is_empty() && !inner.path.is_empty()).then_some(inner.path),
    });
    let allowed: Vec<&str> = keys.chain(inner).collect();
    let here = if section.is_empty() { "at the top of the file".to_owned() } else { format!("in [{section}]") };
    let elsewhere = keys::KEYS.iter().find(|key| key.name() == name && !key.section().starts_with("study"));
    let help = match (near::nearest(name, &allowed), elsewhere) {
        (None, Some(key)) if !key.section().is_empty() => format!("`{name}` belongs to [{}]", key.section()),
        (None, Some(_)) => format!("`{name}` belongs to the top of the file, before the first section"),
        (Some(_), _) | (None, None) => near::help(name, &allowed),
    };
    Problem::new(&Place::Whole, format!("unknown key `{name}` {here}"), help)
}
