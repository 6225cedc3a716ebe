//! The world: nodes, links, messages and clients at one moment. A value: clone it to come back to it.
//!
//! | file | what it is |
//! |---|---|
//! | `world/happen.rs` | what each entry of the agenda does |
//! | `world/handle.rs` | an event at a node, and the effects it asks for |
//! | `world/carry.rs`, `world/outbox.rs` | messages on the air and on wires; what waits for a transmitter |
//! | `world/hold.rs` | several messages in one frame |
//! | `world/route.rs` | messages to nodes that are not neighbours |
//! | `world/connect.rs` | links that come and go |
//! | `world/look.rs` | rules and figures over the whole network |
//! | `world/edit.rs`, `world/leave.rs` | edits of a live run; nodes that leave |
//! | `world/crash.rs`, `world/vote.rs` | nodes that crash and return; standing, and who is declared gone |

mod carry;
mod connect;
mod crash;
mod edit;
mod handle;
mod happen;
mod hold;
mod leave;
mod look;
mod outbox;
mod route;
mod vote;

use std::hash::Hasher;

use meshlock_core::NodeId;
use meshlock_protocols::{Node, Setup};
use siphasher::sip::SipHasher13;

use crate::agenda::{Agenda, Due};
use crate::clients::Clients;
use crate::frames::Frames;
use crate::geometry::{Leg, Point};
use crate::links::Links;
use crate::mobility::{MobilityError, movers};
use crate::observe::Observer;
use crate::outcome::{Kind, Limit, Outcome, Request, Storm};
use crate::random::{Purpose, Stream, Streams};
use crate::reach::Reach;
use crate::scenario::{Limits, MessageSize, Network, Radio, Scenario, Warmup, Wired};
use crate::tally::Tally;
use crate::time::Time;
use crate::topology::links_of;
use crate::watch::{self, Watch};

use crash::Faults;
use hold::Held;
use leave::Presence;
use look::Figures;
use outbox::Outbox;
use route::Letters;

/// How a protocol wants its messages carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Manner {
    /// It sends to neighbours and wants to hear of links. Others ignore links.
    pub(crate) hears_links: bool,
    /// It was built knowing the links of the start.
    pub(crate) knows_first_links: bool,
    /// Any node reaches any other at once, without links.
    pub(crate) direct: bool,
    /// Messages are routed to nodes that are not neighbours.
    pub(crate) routed: bool,
    /// It serves one request of a node at a time.
    pub(crate) one_at_a_time: bool,
    /// It relies on links that lose nothing while they are up, so broadcasts are acknowledged too.
    pub(crate) relies_on_links: bool,
}

/// Nodes, links, messages and clients at one moment.
#[derive(Clone, Debug)]
pub struct World {
    seed: u64,
    now: Time,
    end: Time,
    agenda: Agenda,
    nodes: Vec<Node>,
    manner: Manner,
    links: Links,
    medium: Medium,
    message_size: MessageSize,
    frames: Frames,
    outboxes: Vec<Outbox>,
    held: Held,
    letters: Letters,
    clients: Clients,
    watch: Watch,
    tally: Tally,
    kinds_before: Vec<Kind>,
    figures: Figures,
    /// For errors and delays on the way.
    channel: Stream,
    /// For changes of abstract networks.
    changes: Stream,
    /// By node, for timers.
    delays: Vec<Stream>,
    events: u64,
    limits: Limits,
    /// The limit that ended the run, if one did.
    storm: Option<Storm>,
    hasher: SipHasher13,
    /// Nodes have heard of their first links.
    started: bool,
    /// Since when nothing moves any more.
    frozen: Option<Time>,
    presence: Vec<Presence>,
    leaving: Vec<u32>,
    faults: Option<Faults>,
    /// How nodes are made that come while it runs.
    setup: Setup,
}

#[derive(Clone, Debug)]
enum Medium {
    Air { radio: Radio, reach: Reach },
    Wire { wired: Wired, arrivals: carry::Arrivals },
}

/// The network of a scenario before its nodes are there.
pub(crate) struct Ground {
    medium: Medium,
    links: Links,
    agenda: Agenda,
}

impl Ground {
    /// Places nodes and finds the links of the start.
    pub(crate) fn new(scenario: &Scenario, direct: bool, streams: Streams) -> Result<Self, MobilityError> {
        let mut agenda = Agenda::default();
        let mut links = Links::new(scenario.nodes as usize);
        let medium = match &scenario.network {
            Network::Radio(radio) => {
                let movers = movers(&radio.mobility, radio.area, scenario.nodes, streams)?;
                let mut reach = Reach::new(movers, radio.area, radio.range, &mut agenda);
                for (a, b) in reach.linked_at_start() {
                    links.bring_up(a, b);
                }
                reach.watch_all(&links, &mut agenda);
                Medium::Air { radio: radio.clone(), reach }
            }
            Network::Wired(wired) => {
                let mut stream = streams.stream(Purpose::Placement, 0);
                let shape = if direct { Vec::new() } else { links_of(&wired.shape, scenario.nodes, &mut stream) };
                for (a, b) in shape {
                    links.bring_up(a, b);
                }
                for (index, change) in wired.changes.script.iter().enumerate() {
                    agenda.add(Time::ZERO + change.at, Due::Scripted { index: index as u32 });
                }
                Medium::Wire { wired: wired.clone(), arrivals: carry::Arrivals::default() }
            }
        };
        Ok(Self { medium, links, agenda })
    }

    pub(crate) fn links(&self) -> Vec<(u32, u32)> {
        self.links.all().collect()
    }
}

impl World {
    /// A world before its first event.
    pub(crate) fn new(scenario: &Scenario, ground: Ground, nodes: Vec<Node>, manner: Manner, seed: u64) -> Self {
        let Ground { medium, links, mut agenda } = ground;
        let streams = Streams::new(seed);
        let end = Time::ZERO + scenario.duration;
        let count = nodes.len();
        let clients = Clients::new(&scenario.traffic, scenario.nodes, end, streams, &mut agenda);
        if let Warmup::Fixed(warmup) = scenario.warmup {
            agenda.add(Time::ZERO + warmup, Due::WarmedUp);
        }
        let (message_size, hold_back) = match &medium {
            Medium::Air { radio, .. } => (radio.message, radio.hold_back),
            Medium::Wire { wired, .. } => (wired.message, wired.hold_back),
        };
        let mut world = Self {
            seed,
            now: Time::ZERO,
            end,
            agenda,
            nodes,
            manner,
            links,
            medium,
            message_size,
            frames: Frames::default(),
            outboxes: vec![Outbox::default(); count],
            held: Held::new(hold_back),
            letters: Letters::default(),
            clients,
            watch: Watch::new(&scenario.protocol, scenario.nodes),
            tally: Tally::default(),
            kinds_before: Vec::new(),
            figures: Figures::new(scenario.duration),
            channel: streams.stream(Purpose::Channel, 0),
            changes: streams.stream(Purpose::Topology, 0),
            delays: (0..count as u32).map(|node| streams.stream(Purpose::Protocol, node)).collect(),
            events: 0,
            limits: scenario.limits,
            storm: None,
            hasher: SipHasher13::new(),
            started: false,
            frozen: None,
            presence: vec![Presence::Here; count],
            leaving: Vec::new(),
            faults: scenario.crashes.as_ref().map(|crashes| Faults::new(crashes, scenario, streams)),
            setup: scenario.protocol.setup(),
        };
        world.plan_change();
        world.plan_faults();
        world.agenda.add(Time::ZERO, Due::Sample);
        world
    }

    /// Tells every node of its first links.
    fn start(&mut self, observer: &mut dyn Observer) {
        self.started = true;
        if !self.manner.hears_links || self.manner.knows_first_links {
            return;
        }
        let links: Vec<_> = self.links.all().collect();
        for (a, b) in links {
            self.announce(a, b, true, observer);
        }
    }

    /// Lets the next thing happen. False if there is none, or a broken rule or a limit has ended the run.
    pub fn step(&mut self, observer: &mut dyn Observer) -> bool {
        if !self.started {
            self.start(observer);
        }
        if self.has_stopped() {
            return false;
        }
        let Some((at, due)) = self.agenda.next() else { return false };
        if self.frozen.is_some() && due.is_movement() {
            return true;
        }
        self.now = at;
        self.happen(due, observer);
        if !self.leaving.is_empty() {
            self.let_go(observer);
        }
        self.storm = self.exceeded();
        if self.watch.is_look_due(self.events, self.frames.in_flight()) {
            self.look_at_rules(false);
        }
        true
    }

    pub fn now(&self) -> Time {
        self.now
    }

    pub fn events(&self) -> u64 {
        self.events
    }

    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    pub fn links(&self) -> &Links {
        &self.links
    }

    pub fn requests(&self) -> &[Request] {
        &self.clients.requests
    }

    pub fn position(&self, node: NodeId) -> Option<Point> {
        self.leg(node).map(|leg| leg.position(self.now))
    }

    pub fn leg(&self, node: NodeId) -> Option<&Leg> {
        match &self.medium {
            Medium::Air { reach, .. } if (node.0 as usize) < self.nodes.len() => Some(reach.leg(node.0)),
            Medium::Air { .. } | Medium::Wire { .. } => None,
        }
    }

    /// Whether a broadcast reaches all nodes, not only neighbours.
    pub(crate) fn reaches_all(&self) -> bool {
        self.manner.direct || self.manner.routed
    }

    /// Whether a broken rule or a limit has ended the run.
    pub fn has_stopped(&self) -> bool {
        self.storm.is_some() || self.watch.must_stop()
    }

    /// The limit that ended the run, if one did.
    pub fn storm(&self) -> Option<&Storm> {
        self.storm.as_ref()
    }

    fn exceeded(&self) -> Option<Storm> {
        let (events, in_flight) = (self.events, self.frames.in_flight() as u64);
        let Limits { events: most_events, in_flight: most_in_flight } = self.limits;
        let exceeded = if events > most_events {
            Limit::Events(most_events)
        } else if in_flight > most_in_flight {
            Limit::InFlight(most_in_flight)
        } else {
            return None;
        };
        Some(Storm { exceeded, at: self.now, events, in_flight })
    }

    /// Lets time pass in which nothing happens.
    pub(crate) fn wait_until(&mut self, moment: Time) {
        if !self.has_stopped() {
            self.now = self.now.max(moment);
        }
    }

    pub(crate) fn next_at(&self) -> Option<Time> {
        self.agenda.peek()
    }

    pub(crate) fn none_waits(&self) -> bool {
        self.clients.waiting() == 0
    }

    /// Whether nothing is in flight that could change anything, as long as links stay as they are.
    pub(crate) fn is_quiet(&self) -> bool {
        let timers_matter = self.agenda.has_timers() && !self.none_waits();
        let recovers = self.faults.is_some() && self.is_recovering();
        !self.agenda.has_work() && !timers_matter && self.letters.stranded.is_empty() && !recovers
    }

    pub(crate) fn freeze(&mut self, observer: &mut dyn Observer) {
        self.frozen = Some(self.now);
        for node in (0..self.nodes.len() as u32).map(NodeId) {
            if let Some(leg) = self.leg(node).filter(|leg| leg.present && leg.velocity != Point::default()) {
                let place = leg.position(self.now);
                observer.moved(self.now, node, &Leg::rest(place, self.now, Time::NEVER));
            }
        }
    }

    /// What the run leaves behind. `quiet` is when it came to rest, if it did.
    pub(crate) fn outcome(&self, measured: Measured, choice: &crate::scenario::ProtocolChoice) -> Outcome {
        let nodes = self.nodes.len() as u32;
        Outcome {
            seed: self.seed,
            nodes,
            capacity: watch::capacity(choice, nodes),
            end: measured.end,
            quiet: measured.quiet,
            events: self.events,
            trace_hash: self.hasher.finish(),
            requests: self.clients.requests.clone(),
            kinds: measured.kinds,
            kinds_before: self.kinds_before.clone(),
            acks: measured.acks,
            network: measured.network,
            broken: self.watch.broken.clone(),
            stopped: self.has_stopped(),
            storm: self.storm,
            rejected: self.tally.rejected,
            crashes: self.faults.as_ref().map(Faults::seen),
        }
    }

    /// What is counted until now; to be taken when clients stop asking.
    pub(crate) fn measure(&mut self) -> Measured {
        Measured {
            end: self.now.min(self.end),
            quiet: None,
            kinds: self.tally.kinds(),
            acks: self.tally.acks,
            network: if self.manner.direct {
                Figures::direct(self.nodes.len(), self.tally.lost)
            } else {
                self.figures.seen(self.now, self.links.count(), self.nodes.len(), self.tally.lost)
            },
        }
    }
}

/// What was counted until clients stopped asking.
pub(crate) struct Measured {
    end: Time,
    pub(crate) quiet: Option<Time>,
    kinds: Vec<Kind>,
    acks: u64,
    network: crate::outcome::NetworkSeen,
}
