//! Reads the keys of a document by name, with their defaults, and remembers what was read.
//!
//! The keys that were read are the canonical form of a scenario. A given key that was never read had no effect: that is
//! an error instead of being ignored.

use std::collections::{BTreeMap, BTreeSet};

use super::keys::{self, Given, RIVALS};
use super::kind::Read;
use super::place::{Place, Problem};
use super::value::{Item, Value};
use super::walk::Content;
use crate::distribution::Distribution;
use crate::time::Span;

pub(super) struct Reader<'a> {
    content: &'a Content,
    /// Everything that was read, by path, in TOML.
    canonical: BTreeMap<String, String>,
    used: BTreeSet<String>,
}

pub(super) struct Part<'r, 'a> {
    reader: &'r mut Reader<'a>,
    section: &'static str,
    own: String,
    /// Where keys are looked for that are not there.
    inherits: Option<&'static str>,
    shown: String,
}

impl<'a> Reader<'a> {
    pub(super) const fn new(content: &'a Content) -> Self {
        Self { content, canonical: BTreeMap::new(), used: BTreeSet::new() }
    }

    pub(super) fn part(&mut self, section: &'static str) -> Part<'_, 'a> {
        Part { reader: self, section, own: section.to_owned(), inherits: None, shown: section.to_owned() }
    }

    /// One of a repeated section.
    pub(super) fn nth(&mut self, section: &'static str, index: usize) -> Part<'_, 'a> {
        let own = format!("{section}.{index}");
        let inherits = (section == "traffic.class").then_some("traffic");
        Part { reader: self, section, shown: own.clone(), own, inherits }
    }

    /// The `[traffic]` of a file without classes: the only class.
    pub(super) fn only_class(&mut self) -> Part<'_, 'a> {
        Part {
            reader: self,
            section: "traffic",
            own: "traffic".to_owned(),
            inherits: None,
            shown: "traffic.class.0".to_owned(),
        }
    }

    /// How many sections of a repeated kind there are.
    pub(super) fn count(&self, section: &str) -> usize {
        self.content.count(section)
    }

    pub(super) fn section(&self, section: &str) -> Option<Place> {
        self.content.sections.get(section).cloned()
    }

    /// Adds what is not the value of a key, such as the content of a file.
    pub(super) fn note(&mut self, path: &str, text: String) {
        self.canonical.insert(path.to_owned(), text);
    }

    /// Everything that was read but `without` these, one key per line, sorted.
    pub(super) fn canonical(&self, without: &[&str]) -> String {
        let kept = self.canonical.iter().filter(|(path, _)| !without.contains(&path.as_str()));
        kept.map(|(path, value)| format!("{path} = {value}\n")).collect()
    }

    /// The first key in the file that was given but never read, if any.
    pub(super) fn unused(&self) -> Option<(&'a str, &'a Item)> {
        let classes = self.count("traffic.class") > 0;
        // What classes have in common need not be used by any of them: each may say otherwise.
        let common = |path: &str| classes && path.starts_with("traffic.") && !path.starts_with("traffic.class.");
        let unused = self
            .content
            .items
            .iter()
            .filter(|(path, _)| !path.starts_with("study.") && !self.used.contains(path.as_str()) && !common(path));
        let start = |item: &Item| if let Place::Bytes { start, .. } = item.key { start } else { usize::MAX };
        unused.min_by_key(|(_, item)| start(item)).map(|(path, item)| (path.as_str(), item))
    }
}

impl Part<'_, '_> {
    /// The item of a key, if it is given, and its path.
    fn item(&self, name: &str) -> Option<(String, &Item)> {
        let items = &self.reader.content.items;
        let own = format!("{}.{name}", self.own);
        let own = own.strip_prefix('.').unwrap_or(&own).to_owned();
        if let Some(item) = items.get(&own) {
            return Some((own, item));
        }
        let inherited = format!("{}.{name}", self.inherits?);
        let rivals = RIVALS.iter().find(|rivals| rivals.contains(&inherited.as_str())).copied().unwrap_or_default();
        let replaced = rivals.iter().filter_map(|rival| rival.rsplit_once('.')).any(|(_, rival)| {
            let own = format!("{}.{rival}", self.own);
            items.contains_key(&own)
        });
        if replaced { None } else { items.get(&inherited).map(|item| (inherited, item)) }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.item(name).is_some()
    }

    /// Where the value of a key stands, or else its section.
    pub(super) fn place(&self, name: &str) -> Place {
        let section = || self.reader.content.sections.get(&self.own).cloned();
        self.item(name).map(|(_, item)| item.place.clone()).or_else(section).unwrap_or(Place::Whole)
    }

    pub(super) fn problem(&self, name: &str, message: impl Into<String>, help: impl Into<String>) -> Problem {
        Problem::new(&self.place(name), message, help)
    }

    /// The value of a key or its default; `None` if it is optional and not given.
    fn read(&mut self, name: &str, otherwise: Option<&str>) -> Result<Option<Read>, Problem> {
        let path = format!("{}.{name}", self.section);
        let Some(key) = keys::find(path.strip_prefix('.').unwrap_or(&path)) else {
            return Err(Problem::new(&Place::Whole, format!("there is no key `{path}`"), ""));
        };
        let found = self.item(name).map(|(path, item)| (path, item.clone()));
        let (value, place) = match (found, key.given, otherwise) {
            (Some((path, item)), ..) => {
                self.reader.used.insert(path);
                (item.value, item.place)
            }
            (None, Given::Default(text), _) | (None, Given::Depends(_), Some(text)) => {
                (Value::from_words(text, ""), Place::Whole)
            }
            (None, Given::Needed, _) => {
                let section = self.reader.content.sections.get(&self.own).cloned().unwrap_or(Place::Whole);
                let message = format!("`{name}` is missing in [{}]", self.section);
                return Err(Problem::new(&section, message, format!("{}: {}", key.kind.how(), key.about)));
            }
            (None, Given::Optional | Given::Depends(_), _) => return Ok(None),
        };
        let read = key.kind.read(key.subject(), &value, &place)?;
        self.show(name, key.kind.canonical(&read));
        Ok(Some(read))
    }

    /// What the canonical form says of a key.
    pub(super) fn show(&mut self, name: &str, text: String) {
        let path = format!("{}.{name}", self.shown);
        self.reader.note(path.strip_prefix('.').unwrap_or(&path), text);
    }

    fn missing(&self, name: &str) -> Problem {
        self.problem(name, format!("`{name}` is missing in [{}]", self.section), "")
    }

    /// The value of a key, in the form that the list of keys promises.
    pub(super) fn get<T: FromRead>(&mut self, name: &str) -> Result<T, Problem> {
        self.optional(name)?.ok_or_else(|| self.missing(name))
    }

    /// A text, word or file.
    pub(super) fn text(&mut self, name: &str) -> Result<String, Problem> {
        self.get(name)
    }

    /// The value of a key; `otherwise` if its default depends.
    pub(super) fn get_or<T: FromRead>(&mut self, name: &str, otherwise: &str) -> Result<T, Problem> {
        self.read(name, Some(otherwise))?.and_then(T::from_read).ok_or_else(|| self.missing(name))
    }

    /// A value that may be missing.
    pub(super) fn optional<T: FromRead>(&mut self, name: &str) -> Result<Option<T>, Problem> {
        Ok(self.read(name, None)?.and_then(T::from_read))
    }

    /// A number, or an amount in the unit of our own calculations; a word if it allows one.
    pub(super) fn amount_or_word(&mut self, name: &str) -> Result<Result<f64, String>, Problem> {
        match self.read(name, None)? {
            Some(Read::Real(amount)) => Ok(Ok(amount)),
            Some(Read::Text(word)) => Ok(Err(word)),
            _ => Err(self.missing(name)),
        }
    }

    pub(super) fn any(&mut self, name: &str) -> Result<Option<Read>, Problem> {
        self.read(name, None)
    }
}

/// What a value can be read as.
pub(super) trait FromRead: Sized {
    fn from_read(read: Read) -> Option<Self>;
}

macro_rules! from_read {
    ($($type:ty: $read:pat => $value:expr,)+) => {
        $(impl FromRead for $type {
            fn from_read(read: Read) -> Option<Self> {
                if let $read = read { $value } else { None }
            }
        })+
    };
}

from_read! {
    String: Read::Text(text) => Some(text),
    bool: Read::Flag(flag) => Some(flag),
    f64: Read::Real(amount) => Some(amount),
    Span: Read::Real(seconds) => Some(Self::from_seconds(seconds)),
    u32: Read::Whole(number) => Self::try_from(number).ok(),
    u64: Read::Whole(number) => Self::try_from(number).ok(),
    Distribution: Read::Draw(draw) => Some(draw),
}
