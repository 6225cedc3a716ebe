//! What this node wants to do under the registry's lock, in order. Nothing in here looks at all of them.

use std::collections::{BTreeMap, BTreeSet};

use meshlock_api::{Definition, Problem, ResourceChange};

use super::clients::Ticket;

/// One thing to be done.
#[derive(Debug)]
pub(super) struct Wish {
    pub(super) name: String,
    pub(super) to: Deed,
    /// The request for which a resource is made or looked for.
    pub(super) asker: Option<Ticket>,
}

#[derive(Debug)]
pub(super) enum Deed {
    Make(Definition),
    /// Nothing but to know all resources; a request for one that is not there is rejected for this reason.
    Find(Problem),
    Change(ResourceChange),
    /// Removes what this request holds, or puts another one in its place.
    Retire {
        ticket: Ticket,
        instead: Option<Definition>,
    },
}

/// Everything that is wished, by number.
#[derive(Debug, Default)]
pub(super) struct Wishes {
    last: u64,
    line: BTreeMap<u64, Wish>,
    /// Those that make a resource, by its name.
    makes: BTreeMap<String, BTreeSet<u64>>,
}

impl Wishes {
    pub(super) fn is_empty(&self) -> bool {
        self.line.is_empty()
    }

    /// Adds a wish at the end, and tells its number.
    pub(super) fn add(&mut self, name: &str, to: Deed) -> u64 {
        self.add_for(name, to, None)
    }

    /// The same, for a request.
    pub(super) fn add_for(&mut self, name: &str, to: Deed, asker: Option<Ticket>) -> u64 {
        self.last += 1;
        if let Deed::Make(_) = to {
            self.makes.entry(name.to_owned()).or_default().insert(self.last);
        }
        self.line.insert(self.last, Wish { name: name.to_owned(), to, asker });
        self.last
    }

    pub(super) fn take_first(&mut self) -> Option<(u64, Wish)> {
        let first = *self.line.first_key_value()?.0;
        self.take(first).map(|wish| (first, wish))
    }

    pub(super) fn take(&mut self, number: u64) -> Option<Wish> {
        let wish = self.line.remove(&number)?;
        if let Some(makes) = self.makes.get_mut(&wish.name) {
            makes.remove(&number);
            if makes.is_empty() {
                self.makes.remove(&wish.name);
            }
        }
        Some(wish)
    }

    /// Whether a wish makes this.
    pub(super) fn makes(&self, name: &str) -> bool {
        self.makes.contains_key(name)
    }

    /// Takes all that want to make this.
    pub(super) fn take_makes(&mut self, name: &str) -> Vec<(u64, Definition)> {
        let numbers = self.makes.remove(name).unwrap_or_default();
        let definition = |number| match self.line.remove(&number)?.to {
            Deed::Make(definition) => Some((number, definition)),
            Deed::Find(_) | Deed::Change(_) | Deed::Retire { .. } => None,
        };
        numbers.into_iter().filter_map(definition).collect()
    }
}
