//! From names to models: standard ones, all of a protocol, or one to be built; and near names for a wrong one.

use anyhow::{anyhow, bail};
use meshlock_check::suite::{self, Entry};
use meshlock_check::{Name, Way};

use super::args::Given;

#[derive(Debug)]
pub(super) enum Chosen {
    Standard(Vec<Entry>),
    Own(Name),
}

/// What these names stand for, if the given options fit.
pub(super) fn choose(names: &[String], given: &Given) -> anyhow::Result<Chosen> {
    let standard = suite::standard();
    let options = given.about_model();
    if names.is_empty() {
        if let Some(option) = options.first() {
            bail!(
                "{option} needs a protocol to build a model of, one of {}: for instance `meshlock check reverse-link \
                 {option} ...`",
                subjects()
            );
        }
        return Ok(Chosen::Standard(standard));
    }
    if let [name] = names
        && let Some(subject) = Name::named(name, &Name::CHECKED)
    {
        return Ok(Chosen::Own(subject));
    }
    let mut entries: Vec<Entry> = Vec::new();
    for name in names {
        if let Some(subject) = Name::named(name, &Name::CHECKED) {
            bail!(
                "{subject} is a protocol and stands alone, because the options build one model of it; for all its \
                 standard models write {subject}/"
            );
        }
        let found = matching(&standard, name);
        if found.is_empty() {
            return Err(unknown(&standard, name));
        }
        for entry in found {
            if !entries.contains(&entry) {
                entries.push(entry);
            }
        }
    }
    refuse_options(&entries, &options)?;
    Ok(Chosen::Standard(entries))
}

/// The standard models to list: all, or those of these names. Here a protocol stands for all its models.
pub(super) fn to_list(names: &[String]) -> anyhow::Result<Vec<Entry>> {
    let standard = suite::standard();
    if names.is_empty() {
        return Ok(standard);
    }
    for name in names {
        if Name::named(name, &Name::CHECKED).is_none() && matching(&standard, name).is_empty() {
            return Err(unknown(&standard, name));
        }
    }
    let is_named = |entry: &Entry| names.iter().any(|name| fits(name, entry) || fits(&format!("{name}/"), entry));
    Ok(standard.into_iter().filter(is_named).collect())
}

fn matching(standard: &[Entry], name: &str) -> Vec<Entry> {
    standard.iter().filter(|entry| fits(name, entry)).cloned().collect()
}

fn fits(name: &str, entry: &Entry) -> bool {
    entry.name == name || (name.ends_with('/') && entry.name.starts_with(name))
}

/// A standard model is what it is; only another choice of walks makes sense.
fn refuse_options(entries: &[Entry], options: &[String]) -> anyhow::Result<()> {
    let walks = entries.iter().all(|entry| matches!(entry.trial.way, Way::Walk { .. }));
    let allowed = |option: &String| walks && ["--walks", "--steps", "--seed"].contains(&option.as_str());
    let Some(option) = options.iter().find(|option| !allowed(option)) else { return Ok(()) };
    let name = entries.first().map_or("", |entry| entry.name);
    let protocol = entries.first().map_or(Name::ReverseLink, |entry| entry.trial.spec.subject);
    bail!(
        "{option} cannot change the standard model {name}, only limits and --no-reduction can be added; for a model \
         of your own write `meshlock check {protocol} {option} ...`"
    )
}

fn unknown(standard: &[Entry], name: &str) -> anyhow::Error {
    let near = near(standard, name);
    let hint = match near.as_slice() {
        [] => String::new(),
        [one] => format!("did you mean {one}? "),
        [most @ .., last] => format!("did you mean {} or {last}? ", most.join(", ")),
    };
    anyhow!(
        "no model or protocol is called {name:?}; {hint}`meshlock check --list` shows all, protocols are {}",
        subjects()
    )
}

/// Names that someone may have meant, nearest first.
fn near(standard: &[Entry], name: &str) -> Vec<String> {
    let prefixes = Name::CHECKED.map(|subject| format!("{subject}/"));
    let used = prefixes.into_iter().filter(|prefix| !matching(standard, prefix).is_empty());
    let protocols = Name::CHECKED.map(|subject| subject.name().to_owned());
    let known: Vec<String> = standard.iter().map(|entry| entry.name.to_owned()).chain(used).chain(protocols).collect();
    let mistakes = |known: &str| strsim::damerau_levenshtein(&name.to_lowercase(), known);
    let mut near: Vec<(usize, &String)> = known.iter().map(|known| (mistakes(known), known)).collect();
    near.retain(|(mistakes, _)| *mistakes <= (name.len() / 4).clamp(1, 3));
    let fewest = near.iter().map(|(mistakes, _)| *mistakes).min();
    near.retain(|(mistakes, _)| Some(*mistakes) == fewest);
    let mut near: Vec<String> = near.into_iter().map(|(_, known)| known.clone()).collect();
    // `p1` instead of `reverse-link/p1`.
    let endings = known.iter().filter(|known| known.rsplit('/').next() == Some(name) && known.as_str() != name);
    near.extend(endings.cloned());
    near.truncate(3);
    near
}

fn subjects() -> String {
    Name::CHECKED.map(Name::name).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(names: &[&str]) -> anyhow::Result<Chosen> {
        choose(&names.iter().map(ToString::to_string).collect::<Vec<_>>(), &Given::default())
    }

    fn models(names: &[&str]) -> Vec<&'static str> {
        match chosen(names).unwrap() {
            Chosen::Standard(entries) => entries.into_iter().map(|entry| entry.name).collect(),
            Chosen::Own(subject) => panic!("{subject} is to be built"),
        }
    }

    #[test]
    fn a_model_is_chosen_once_however_often_it_is_named() {
        assert_eq!(
            models(&["reverse-link/p3", "reverse-link/p1", "reverse-link/p3"]),
            ["reverse-link/p3", "reverse-link/p1"]
        );
        let all = models(&["reverse-link/"]);
        assert_eq!(models(&["reverse-link/", "reverse-link/p1"]), all);
        assert!(all.contains(&"reverse-link/p1") && all.iter().all(|name| name.starts_with("reverse-link/")));
    }

    #[test]
    fn a_protocol_alone_is_to_be_built() {
        assert!(matches!(chosen(&["group-over-relay"]), Ok(Chosen::Own(Name::GroupOverRelay))));
        let error = chosen(&["flood", "reverse-link/p1"]).unwrap_err().to_string();
        assert!(error.contains("write flood/"), "{error}");
    }

    #[test]
    fn a_wrong_name_is_answered_with_near_ones() {
        let table = [
            ("reverse-lnk/p1", "did you mean reverse-link/p1?"),
            ("reverse_link", "did you mean reverse-link?"),
            ("p12", "did you mean reverse-link/p12?"),
            ("Flod", "did you mean flood?"),
        ];
        for (name, hint) in table {
            let error = chosen(&[name]).unwrap_err().to_string();
            assert!(error.contains(hint), "{error}");
        }
        let error = chosen(&["zebra"]).unwrap_err().to_string();
        assert!(!error.contains("did you mean") && error.contains("--list"), "{error}");
    }
}
