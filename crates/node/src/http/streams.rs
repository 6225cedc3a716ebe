//! Streams of server-sent events: of one request, of the whole node.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event as Sent, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{Stream, StreamExt, iter, unfold};
use meshlock_api::resource::check_name;
use meshlock_api::{Event, Problem, RequestInfo, State as Standing, What};
use meshlock_serve::stopped;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use super::answer::Answer;
use super::parts::{Asked, Named};
use super::routes::App;
use crate::hub::{Attendance, Attends, Hub};
use crate::machine::Ticket;

/// How often a quiet stream shows that it is alive.
const SIGN_OF_LIFE: Duration = Duration::from_secs(10);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EventQuery {
    resource: Option<String>,
}

/// How a request is doing, as it changes
///
/// One event `request` now and at every change of state; the stream ends when the request is over. An open stream keeps
/// a queued request alive, but not a granted one: that has to be renewed by its client.
#[utoipa::path(
    get, path = "/v1/requests/{id}/events", operation_id = "watchRequest", tag = "requests",
    params(("id" = String, Path, description = "The id of the request.", example = "job-17")),
    responses(
        (status = 200, description = "Server-sent events. The data of each is of this type; comments in between are \
            signs of life.", body = RequestInfo, content_type = "text/event-stream"),
        (status = 404, description = "No such request, or it was long ago.", body = Problem),
    ),
)]
pub(super) async fn of_request(State(app): State<App>, Named(id): Named) -> Answer {
    let ticket = app.hub.find(&id)?;
    let attendance = app.hub.attend(ticket, Attends::AsOnlooker);
    let watch = Watch { hub: Arc::clone(&app.hub), ticket, seen: None, _attendance: attendance };
    let events = unfold(watch, Watch::next).map(|info| Ok(data(Sent::default().event("request"), &info)));
    Ok(stream(&app, events))
}

struct Watch {
    hub: Arc<Hub>,
    ticket: Ticket,
    seen: Option<RequestInfo>,
    _attendance: Attendance,
}

impl Watch {
    /// The next state, until it is over.
    async fn next(mut self) -> Option<(RequestInfo, Self)> {
        if let Some(seen) = self.seen.take() {
            match seen.state {
                Standing::Queued => self.while_queued(seen.lease_ms).await,
                Standing::Granted => {
                    self.hub.changed(self.ticket, Standing::Granted).await;
                }
                Standing::Revoked | Standing::Rejected | Standing::Expired | Standing::Released => return None,
            }
        }
        let ticket = self.ticket;
        let info = self.hub.with(|machine, now| machine.look(now, ticket)).ok()?;
        self.seen = Some(info.clone());
        Some((info, self))
    }

    /// Waits for the grant. A client looks on, so the request is kept alive.
    async fn while_queued(&self, lease_ms: u64) {
        let third = Duration::from_millis(lease_ms / 3);
        while timeout(third, self.hub.changed(self.ticket, Standing::Queued)).await.is_err() {
            // Refused only for a lease out of range, and this names none.
            let _ = self.hub.with(|machine, now| machine.renew(now, self.ticket, None));
        }
    }
}

/// What happens at this node, as it happens
///
/// Every event has the number of the node's event as its id; a gap means that the reader was too slow and missed some.
#[utoipa::path(
    get, path = "/v1/events", operation_id = "watchNode", tag = "mesh",
    params(("resource" = Option<String>, Query, example = "docks",
        description = "Only what is about this resource. Links are then left out, and numbers have gaps.")),
    responses((status = 200, description = "Server-sent events. The data of each is of this type; comments in between \
        are signs of life.", body = Event, content_type = "text/event-stream")),
)]
pub(super) async fn of_node(State(app): State<App>, Asked(query): Asked<EventQuery>) -> Answer {
    if let Some(name) = &query.resource {
        check_name(name).map_err(Problem::bad_request)?;
    }
    let bunches = unfold(app.hub.events(), async |mut events| Some((events.next().await, events)));
    let events = bunches.flat_map(iter).filter_map(move |event| {
        let wanted = query.resource.as_deref().is_none_or(|name| is_about(&event.what, name));
        std::future::ready(wanted.then(|| Ok(data(Sent::default().id(event.number.to_string()), &event))))
    });
    Ok(stream(&app, events))
}

fn is_about(what: &What, name: &str) -> bool {
    match what {
        What::Request { request } => request.resource == name || request.parts.iter().any(|part| part.resource == name),
        What::TokenHere { resource }
        | What::TokenGone { resource }
        | What::ResourceRemoved { resource }
        | What::Broken { resource, .. } => resource == name,
        What::Resource { resource } => resource.name == name,
        What::LinkUp { .. } | What::LinkDown { .. } => false,
    }
}

fn data(event: Sent, value: &impl Serialize) -> Sent {
    // JSON in one line, so it can never break the stream's format. None of our types can fail.
    let text = |error: serde_json::Error| format!("{:?}", error.to_string());
    event.data(serde_json::to_string(value).unwrap_or_else(text))
}

/// Events until there are no more, or until the server ends.
fn stream(app: &App, events: impl Stream<Item = Result<Sent, Infallible>> + Send + 'static) -> Response {
    Sse::new(events.take_until(stopped(app.stop.clone())))
        .keep_alive(KeepAlive::new().interval(SIGN_OF_LIFE))
        .into_response()
}
