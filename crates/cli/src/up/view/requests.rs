//! What is asked for by hand on the page: held until it is given back by hand.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use meshlock_api::{Definition, Kind, Mode, NewRequest, Order, Protocol, Urgency};
use meshlock_core::NodeId;
use meshlock_core::group::readers_writer::Access;
use meshlock_node::hub::Hub;
use meshlock_viewer::{Done, Refusal};

use super::{LiveMesh, name_of};

/// A request lives so long without a sign; signs come far more often.
const LEASE: Duration = Duration::from_secs(60);
/// How often those that are still wanted are renewed: no lease ends after the standing of its node, which is short here.
const RENEW_EVERY: Duration = Duration::from_millis(500);

/// Requests that were made by hand and are not over.
#[derive(Debug, Default)]
pub(super) struct ByHand {
    all: Mutex<Vec<Made>>,
}

#[derive(Debug)]
pub(super) struct Made {
    resource: String,
    pub(super) node: NodeId,
    /// In the protocol, and in the trace.
    number: u64,
    id: String,
    hub: Arc<Hub>,
}

impl Made {
    /// Says that somebody still wants it. False if it is over.
    fn renew(&self) -> bool {
        self.hub.renew(&self.id, None).is_ok_and(|info| !info.state.is_over())
    }

    fn is_alive(&self) -> bool {
        self.hub.look(&self.id).is_ok_and(|info| !info.state.is_over())
    }
}

impl ByHand {
    fn with<R>(&self, what: impl FnOnce(&mut Vec<Made>) -> R) -> R {
        what(&mut self.all.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Gives back all of a kind.
    pub(super) fn give_back(&self, which: impl Fn(&Made) -> bool) {
        let gone: Vec<Made> = self.with(|all| all.extract_if(.., |made| which(made)).collect());
        for made in gone {
            // What is over needs no giving back.
            let _ = made.hub.release(&made.id);
        }
    }

    /// The node was killed, and what was asked for there is over.
    pub(super) fn forget(&self, hub: &Arc<Hub>) {
        self.with(|all| all.retain(|made| !Arc::ptr_eq(&made.hub, hub)));
    }
}

/// Renews what is wanted as long as somebody could still give it back.
pub(super) async fn keep_alive(mesh: Weak<LiveMesh>) {
    loop {
        tokio::time::sleep(RENEW_EVERY).await;
        let Some(mesh) = mesh.upgrade() else { return };
        mesh.by_hand.with(|all| all.retain(Made::renew));
    }
}

/// How long a request by hand waits for its node to take part.
const PATIENCE: Duration = Duration::from_secs(3);

impl LiveMesh {
    fn resource(&self, tape: usize) -> Result<String, Refusal> {
        let unknown = || {
            let known: Vec<String> = self.tapes.names().into_iter().map(|tape| tape.name).collect();
            let known = if known.is_empty() { "none yet".to_owned() } else { known.join(", ") };
            Refusal::new(format!("there is no resource number {tape}; there are, from 0: {known}"))
        };
        self.tapes.name(tape).ok_or_else(unknown)
    }

    /// A client at a node asks, and holds what it gets until somebody releases it.
    pub(super) async fn request(
        &self,
        tape: usize,
        node: NodeId,
        units: u32,
        priority: i32,
        session: Option<u64>,
    ) -> Result<Done, Refusal> {
        let resource = self.resource(tape)?;
        let (index, hub) = self.up(node).await?;
        let name = name_of(index);
        let Some(definition) = definition(&hub, &resource) else {
            let words = format!("{name} has not heard of {resource:?} yet: link it with the others first");
            return Err(Refusal::new(words));
        };
        let session = match session {
            Some(number) if definition.kind == Kind::Sessions => Some(self.session_name(number).await),
            other => other.map(|number| number.to_string()),
        };
        let asked = wish(&resource, &definition, units, priority, session)?;
        // A node that has just started takes part as soon as the voters know it.
        if let Err(reason) = hub.until_granting(PATIENCE).await {
            return Err(Refusal::new(format!("{name} grants nothing now: {reason}")));
        }
        let (info, number) = hub.ask_numbered(asked).map_err(|problem| Refusal::new(problem.message))?;
        let Some(number) = number else {
            let over = info.reason.filter(|_| info.state.is_over());
            let _ = hub.release(&info.id);
            if let Some(reason) = hub.with(|machine, _| machine.suspended().map(str::to_owned)) {
                return Err(Refusal::new(format!("{name} grants nothing now: {reason}")));
            }
            return Err(Refusal::new(over.unwrap_or_else(|| {
                format!(
                    "a client of {name} has a request for {resource:?} already, and its protocol serves one of a node at \
                     a time: release that first, or ask at another node"
                )
            })));
        };
        self.by_hand.with(|all| all.push(Made { resource, node, number, id: info.id, hub }));
        Ok(Done { request: Some(number), ..Done::default() })
    }

    /// Gives back what was asked for here, or gives it up.
    pub(super) async fn release(&self, tape: usize, node: NodeId, request: u64) -> Result<Done, Refusal> {
        let resource = self.resource(tape)?;
        let (index, _) = self.up(node).await?;
        let is_it = |made: &Made| made.resource == resource && made.node == node && made.number == request;
        let found = self.by_hand.with(|all| all.iter().position(is_it).map(|place| all.remove(place)));
        let name = name_of(index);
        match found {
            Some(made) if made.is_alive() => match made.hub.release(&made.id) {
                Ok(_) => Ok(Done::default()),
                Err(problem) => Err(Refusal::new(problem.message)),
            },
            Some(_) => Err(Refusal::new(format!("request {request} of {name} is over already"))),
            None => Err(Refusal::new(format!(
                "request {request} of {name} for {resource:?} was not made on this page, or is over: only the program \
                 that made it can give it back"
            ))),
        }
    }

    /// The name of the session that has this number in the trace; otherwise the number is its name. Browsers know only
    /// the first 53 bits of a number.
    async fn session_name(&self, number: u64) -> String {
        let hubs: Vec<Arc<Hub>> = match &*self.mesh.lock().await {
            Some(mesh) => mesh.nodes().map(|node| Arc::clone(node.hub())).collect(),
            None => Vec::new(),
        };
        let near = |other: u64| other as f64 == number as f64;
        let known = hubs.iter().flat_map(|hub| hub.session_names()).find(|(_, other)| near(*other));
        known.map_or_else(|| number.to_string(), |(name, _)| name)
    }
}

fn definition(hub: &Hub, resource: &str) -> Option<Definition> {
    hub.resources().into_iter().find(|info| info.name == resource).map(|info| info.definition)
}

/// What a click means, in the words of the interface for clients.
pub(in crate::up) fn wish(
    resource: &str,
    definition: &Definition,
    units: u32,
    priority: i32,
    session: Option<String>,
) -> Result<NewRequest, Refusal> {
    let urgency = match definition.order {
        Order::Priority { .. } => Urgency::Priority(priority),
        Order::Deadline => Urgency::Deadline(deadline(priority)),
    };
    let bare = NewRequest {
        resource: resource.to_owned(),
        urgency: Some(urgency),
        lease_ms: u64::try_from(LEASE.as_millis()).ok(),
        owner: Some("the page".to_owned()),
        ..NewRequest::default()
    };
    if definition.kind != Kind::ReadersWriter {
        return Ok(NewRequest { units: Some(units), session, ..bare });
    }
    // In a trace readers and writers are told apart by units, or by sessions.
    let reads = match (definition.protocol, &session) {
        (Protocol::Group, Some(session)) => *session == Access::Read.session().0.to_string(),
        (Protocol::Group, None) => false,
        (Protocol::ReverseLink | Protocol::Flood, None) if units == 1 => true,
        (Protocol::ReverseLink | Protocol::Flood, None) if units == definition.capacity => false,
        (Protocol::ReverseLink | Protocol::Flood, _) => {
            return Err(Refusal::new(format!(
                "{resource:?} has readers and writers: ask for 1 unit to read, or for all {} to write, and for no session",
                definition.capacity
            )));
        }
    };
    let mode = if reads { Mode::Read } else { Mode::Write };
    Ok(NewRequest { mode: Some(mode), ..bare })
}

/// Where deadlines decide, a step of priority is a second.
fn deadline(priority: i32) -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let now = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
    u64::try_from(now.saturating_sub(i64::from(priority) * 1_000)).unwrap_or_default()
}
