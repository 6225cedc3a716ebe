//! Everything a node decides, as a plain value: resources, requests, leases, questions about the whole mesh.
//!
//! No I/O, no clock, no thread. Callers pass the time in; what is to be sent comes out of [`Machine::take_outbox`], and
//! futures that wait for a request leave their wakers here. Events are applied one after the other, each to its end, so
//! the protocols see them in one order. The same value runs behind sockets and in tests with a network of vectors.
//!
//! | module | what it is |
//! |---|---|
//! | `clients` | what clients can do: ask, look, renew, change, give back |
//! | `requests` | the table of requests, and which of them are remembered after their end |
//! | `bundle` | several resources, all or none |
//! | `streams` | connections that carry requests of a client, and what their end means |
//! | `resource` | one resource at this node: its protocol, its local queue, its numbers |
//! | `instance` | the three protocols behind one face |
//! | `steps` | one event into a protocol, and what comes of it |
//! | `registry` | how resources are made and changed: under a lock of the mesh itself |
//! | `wishes` | what this node wants to do under it |
//! | `first_use` | what the first use of a name makes |
//! | `differs` | two definitions of one name, in words |
//! | `estimate` | how long a request will still wait |
//! | `revoking` | an operator takes away what a client holds |
//! | `audit` | who held what, for those who write it down |
//! | `retiring` | how a resource is removed or replaced |
//! | `network` | links and frames |
//! | `queries` | how all nodes are doing: a question that goes to each of them |
//! | `reports` | what this node answers to it, in parts |
//! | `answers` | what all nodes answered, put together |
//! | `reach` | whether tokens that are waited for are in reach |
//! | `recovery` | who is gone, and how what is lost with them is made anew |
//! | `acquaintance` | the nodes that were ever heard of |
//! | `alarms` | what has to be done at some time |
//! | `stopping`, `kept`, `saved` | a clean end, and going on after it; grants that it could not give back; the format |
//! | `events` | what happened, for those who watch |
//! | `observe` | every step of every protocol, for a recorder |
//! | `metrics` | what is counted |

mod acquaintance;
mod alarms;
mod answers;
mod audit;
mod bundle;
mod clients;
mod demand;
mod differs;
mod estimate;
mod events;
mod first_use;
mod instance;
mod kept;
mod lines;
mod metrics;
mod network;
mod observe;
mod queries;
mod reach;
mod recovery;
mod registry;
mod reports;
mod requests;
mod resource;
mod retiring;
mod revoking;
mod saved;
mod steps;
mod stopping;
mod streams;
#[cfg(test)]
mod tests;
mod wishes;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::task::Waker;

use meshlock_api::Definition;
use meshlock_core::NodeId;

use crate::links::Outgoing;
use crate::mesh::Member;
use crate::wire::{self, Number, Removals};

use acquaintance::Acquaintance;
use alarms::Alarms;
use audit::Audit;
use bundle::Bundles;
use events::Events;
use metrics::Counts;
use queries::Queries;
use reach::Reach;
use recovery::{Promises, Recovery};
use registry::Registry;
pub(crate) use requests::Request;
use requests::Requests;
use resource::Resource;
use streams::Streams;

pub(crate) use answers::Answers;
pub use clients::{COME_BACK_MS, Ticket};
pub(crate) use demand::GROUP_PRIORITIES;
pub(crate) use instance::{RETRY, is_numbered};
pub use kept::HeldGrant;
pub use lines::Detail;
pub use metrics::{Metrics, render as render_metrics};
pub(crate) use observe::fresh_view;
pub use observe::{Noticed, Observer, Step};
pub use recovery::{Disk, Promise, RecoverySetup, ToKeep};
pub use registry::Making;
pub use reports::MOST_LISTED;
pub use saved::{SavedError, saved_counter};
pub(crate) use streams::ToldPlace;
pub use streams::{ClosedBy, Origin, StreamId};

/// A moment, in nanoseconds since the node began. Never goes back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Now(pub u64);

impl Now {
    /// So many milliseconds later.
    #[must_use]
    pub const fn plus_ms(self, ms: u64) -> Self {
        Self(self.0.saturating_add(ms.saturating_mul(1_000_000)))
    }

    /// Milliseconds from `earlier` until this, zero if it is later.
    pub const fn ms_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0) / 1_000_000
    }
}

/// A frame for a neighbour.
#[derive(Clone, Debug)]
pub struct Post {
    /// Whom it is for.
    pub to: NodeId,
    /// What is sent.
    pub frame: Outgoing,
    /// Nobody waits for it: it may go with the next frame on its link.
    pub can_wait: bool,
}

/// Who a machine is, and what its node's file says.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The name of the mesh.
    pub mesh: String,
    /// This node in the protocols.
    pub id: NodeId,
    /// Its name.
    pub name: String,
    /// The registry's token begins here: only at the founder, and only when it is started for the first time.
    pub founds_registry: bool,
    /// Fences of resources made here begin above this, so that they are above those that a crash made forget.
    pub first_fence: u64,
    /// An unknown resource is made as a mutex when it is first asked for.
    pub create_on_first_use: bool,
    /// What the node's file says about resources.
    pub declared: BTreeMap<String, Definition>,
    /// The path of that file, for people.
    pub declared_in: Option<String>,
    /// For the delays that protocols leave to chance.
    pub seed: u64,
    /// Milliseconds since 1970 when the node began, for people.
    pub began_unix_ms: u64,
    /// How many requests may be queued or granted at this node at a time.
    pub most_requests: usize,
}

impl Settings {
    /// A node that founded its mesh, with nothing declared: for tests, examples, and to build upon.
    pub fn founder(mesh: &str, name: &str) -> Self {
        Self {
            mesh: mesh.to_owned(),
            id: NodeId(0),
            name: name.to_owned(),
            founds_registry: true,
            first_fence: 0,
            create_on_first_use: true,
            declared: BTreeMap::new(),
            declared_in: None,
            seed: 1,
            began_unix_ms: 0,
            most_requests: 1_000,
        }
    }
}

/// A neighbour with a link that is up.
#[derive(Clone, Debug)]
pub(crate) struct Neighbour {
    pub(crate) name: String,
    pub(crate) address: SocketAddr,
    /// The beginning of a frame that comes in pieces.
    pub(crate) pieces: Vec<u8>,
    /// It takes part in the protocols with this node. Without recovery: always.
    pub(crate) is_partner: bool,
}

/// Everything a node decides.
#[derive(Debug)]
pub struct Machine {
    pub(crate) settings: Settings,
    /// By number; the registry is 0.
    pub(crate) resources: BTreeMap<Number, Resource>,
    pub(crate) names: BTreeMap<String, Number>,
    pub(crate) registry: Registry,
    pub(crate) requests: Requests,
    pub(crate) streams: Streams,
    pub(crate) bundles: Bundles,
    pub(crate) neighbours: BTreeMap<NodeId, Neighbour>,
    pub(crate) known: BTreeMap<Member, Acquaintance>,
    pub(crate) alarms: Alarms,
    pub(crate) queries: Queries,
    pub(crate) reach: Reach,
    /// Where nodes recover from crashes.
    pub(crate) recovery: Option<Recovery>,
    pub(crate) promises: Promises,
    pub(crate) events: Events,
    pub(crate) audit: Audit,
    pub(crate) counts: Counts,
    pub(crate) random: fastrand::Rng,
    pub(crate) stopping: bool,
    /// It stops because the member was removed from the mesh.
    pub(crate) removed: bool,
    /// The resources whose protocols were told that this node leaves.
    pub(crate) left: BTreeSet<Number>,
    /// Revoked by a stop, but their clients have not said yet that they have stopped, and their leases are not over.
    /// By resource.
    pub(crate) lingering: BTreeSet<(Number, Ticket)>,
    observer: Option<Box<dyn Observer + Send>>,
    /// Those who waited for what has happened; to be woken when the event has been applied.
    pub(crate) woken: Vec<Waker>,
    outbox: Vec<Post>,
    notes: Vec<String>,
    remarks: Vec<String>,
    removals: Vec<(NodeId, Removals)>,
}

impl Machine {
    /// A node without links that knows no resource but the registry, and wants to make those of its file.
    pub fn new(settings: Settings) -> Self {
        let mut machine = Self {
            resources: BTreeMap::new(),
            names: BTreeMap::new(),
            registry: Registry::default(),
            requests: Requests::default(),
            streams: Streams::default(),
            bundles: Bundles::default(),
            neighbours: BTreeMap::new(),
            known: BTreeMap::new(),
            alarms: Alarms::default(),
            queries: Queries::default(),
            reach: Reach::default(),
            recovery: None,
            promises: Promises::default(),
            events: Events::new(settings.began_unix_ms),
            audit: Audit::default(),
            counts: Counts::default(),
            random: fastrand::Rng::with_seed(settings.seed),
            stopping: false,
            removed: false,
            left: BTreeSet::new(),
            lingering: BTreeSet::new(),
            observer: None,
            woken: Vec::new(),
            outbox: Vec::new(),
            notes: Vec::new(),
            remarks: Vec::new(),
            removals: Vec::new(),
            settings,
        };
        machine.add_registry();
        machine.declare(Now::default());
        machine
    }

    /// Frames to be sent, in order; those to nodes without a link are already left out.
    pub fn take_outbox(&mut self) -> Vec<Post> {
        std::mem::take(&mut self.outbox)
    }

    /// Whether there is something to be sent or to be logged.
    pub fn has_output(&self) -> bool {
        !self.outbox.is_empty() || !self.notes.is_empty() || !self.remarks.is_empty()
    }

    /// Those who waited for what has happened. Wake them after the machine was released: they may want it.
    pub fn take_woken(&mut self) -> Vec<Waker> {
        let mut woken = std::mem::take(&mut self.woken);
        woken.append(&mut self.registry.woken);
        woken.append(&mut self.events.woken);
        woken
    }

    /// Lines for the log, which somebody should look at.
    pub fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    /// Lines for the log that are as they should be.
    pub fn take_remarks(&mut self) -> Vec<String> {
        std::mem::take(&mut self.remarks)
    }

    /// What neighbours said about removed members, to be verified with the authority's certificate.
    pub fn take_removals(&mut self) -> Vec<(NodeId, Removals)> {
        std::mem::take(&mut self.removals)
    }

    /// Sends a frame to every neighbour but one.
    pub fn post_to_all(&mut self, frame: &Outgoing, except: Option<NodeId>) {
        let all: Vec<NodeId> = self.neighbours.keys().copied().filter(|id| Some(*id) != except).collect();
        for neighbour in all {
            self.post(neighbour, frame);
        }
    }

    /// When [`wake`](Self::wake) wants to be called next.
    pub fn next_wake(&self) -> Option<Now> {
        self.alarms.next()
    }

    /// Whether a timer that waits for that had better look again: what it was set for has been done.
    pub fn take_eased(&mut self) -> bool {
        self.alarms.take_eased()
    }

    /// Does what is due.
    pub fn wake(&mut self, now: Now) {
        while let Some(alarm) = self.alarms.take_due(now) {
            match alarm {
                alarms::Alarm::Request(ticket) => self.request_due(now, ticket),
                alarms::Alarm::Timer(resource, timer) => self.timer_due(now, resource, timer),
                alarms::Alarm::Reach => self.look_at_reach(now),
                alarms::Alarm::Report(origin, number) => self.report_more(now, origin, number),
                alarms::Alarm::Catalogue => self.catalogue_due(),
                alarms::Alarm::Promises => self.promises_due(),
                alarms::Alarm::Voting => self.voting_due(now),
                alarms::Alarm::Call(caller) => self.call_due(now, caller),
                alarms::Alarm::Places => self.places_due(now),
                alarms::Alarm::Noting => self.noting_due(now),
            }
        }
        self.requests.forget_old(now);
    }

    /// What the clock of the wall says now, in milliseconds since 1970: for people only. It may have been set.
    pub fn set_clock(&mut self, now: Now, unix_ms: u64) {
        self.settings.began_unix_ms = unix_ms.saturating_sub(now.0 / 1_000_000);
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) fn note(&mut self, line: String) {
        // A peer that makes mistakes without end must not fill the memory.
        if self.notes.len() < 1_000 {
            self.notes.push(line);
        }
    }

    pub(crate) fn post(&mut self, to: NodeId, frame: &Outgoing) {
        self.post_when(to, frame, false);
    }

    /// The same for a frame that perhaps nobody waits for.
    pub(crate) fn post_when(&mut self, to: NodeId, frame: &Outgoing, can_wait: bool) {
        let Some(neighbour) = self.neighbours.get(&to) else { return };
        match wire::pieces(frame) {
            Some(pieces) => {
                self.outbox.extend(pieces.into_iter().map(|frame| Post { to, frame, can_wait }));
            }
            None => {
                let (name, length, most) = (&neighbour.name, frame.len(), wire::LONGEST_WHOLE);
                let line = format!("a message of {length} bytes for {name} was not sent: {most} is the limit");
                self.note(line);
            }
        }
    }
}
