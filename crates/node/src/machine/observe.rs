//! An observer of every step of every protocol at this node, such as a recorder. The machine itself writes nothing.

use std::fmt;

use meshlock_api::{Definition, What};
use meshlock_core::{Effect, Event, Misuse, NodeId, View};

use super::instance::Instance;
use super::{Machine, Now, Settings};
use crate::wire::{Entry, Number, Payload};

/// One event at one resource, and what came of it.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// The resource.
    pub entry: &'a Entry,
    /// What happened.
    pub event: &'a Event<Payload>,
    /// What the node wants done, or a caller's mistake that changed nothing.
    pub result: Result<&'a [Effect<Payload>], Misuse>,
    /// How the node looked.
    pub before: &'a View,
    /// How it looks now.
    pub after: &'a View,
    /// The name of the neighbour that the event is about.
    pub neighbour: Option<&'a str>,
}

/// What an observer has to say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Noticed {
    /// Rules that must hold and do not, in words.
    pub broken: Vec<String>,
    /// Lines for the log.
    pub notes: Vec<String>,
}

/// Looks at every step of every resource of one node, before anything comes of it. Nothing it does can change the node.
pub trait Observer: fmt::Debug {
    /// A resource is at this node when the observer comes. It is resumed if it has a past, of which its view does not
    /// tell all.
    fn begins(&mut self, entry: &Entry, view: View, resumed: bool);

    /// That was all that is at this node.
    fn has_begun(&mut self) {}

    /// An event was handled.
    fn stepped(&mut self, step: &Step<'_>) -> Noticed;

    /// The one who looks on when the node begins anew as another one, with these settings.
    fn of_next(&self, _settings: &Settings) -> Option<Box<dyn Observer + Send>> {
        None
    }
}

/// How a node looks that hears of a resource for the first time.
pub(crate) fn fresh_view(definition: &Definition, id: NodeId) -> View {
    Instance::new(definition, id, false).view()
}

impl Machine {
    /// Shows every step from now on to an observer, in place of the one before.
    pub fn set_recorder(&mut self, mut observer: Box<dyn Observer + Send>) {
        for known in self.resources.values() {
            let token_here = known.instance.holds_token();
            let fresh = Instance::new(&known.entry.definition, self.settings.id, token_here);
            observer.begins(&known.entry, known.instance.view(), known.instance != fresh);
        }
        observer.has_begun();
        self.observer = Some(observer);
    }

    /// Hands an event to a protocol, and shows it to the observer.
    pub(super) fn handle(
        &mut self,
        now: Now,
        resource: Number,
        event: Event<Payload>,
    ) -> Result<Vec<Effect<Payload>>, Misuse> {
        let Some(known) = self.resources.get_mut(&resource) else { return Ok(Vec::new()) };
        let Some(observer) = &mut self.observer else { return known.instance.handle(event) };
        let before = known.instance.view();
        let result = known.instance.handle(event.clone());
        let neighbour = neighbour_in(&event).and_then(|id| self.neighbours.get(&id));
        let noticed = observer.stepped(&Step {
            entry: &known.entry,
            event: &event,
            result: result.as_deref().map_err(|misuse| *misuse),
            before: &before,
            after: &known.instance.view(),
            neighbour: neighbour.map(|known| known.name.as_str()),
        });
        if noticed != Noticed::default() {
            let name = known.entry.name.clone();
            self.tell_noticed(now, &name, noticed);
        }
        result
    }

    fn tell_noticed(&mut self, now: Now, resource: &str, noticed: Noticed) {
        for what in noticed.broken {
            self.note(format!("a rule of {resource:?} is broken, please report it: {what}"));
            self.events.tell(now, || What::Broken { resource: resource.to_owned(), what });
        }
        for note in noticed.notes {
            self.note(note);
        }
    }
}

fn neighbour_in(event: &Event<Payload>) -> Option<NodeId> {
    if let Event::LinkUp { neighbour } = event { Some(*neighbour) } else { None }
}
