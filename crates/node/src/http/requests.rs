//! Requests: ask, look, renew, change, give back.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Extension, State};
use axum::http::StatusCode;
use axum::response::Response;
use meshlock_api::{NewRequest, Problem, RequestInfo, State as Standing, Urgency};
use meshlock_serve::Delivery;
use serde::Deserialize;
use utoipa::ToSchema;

use super::answer::{Answer, Refusal, alive_or_over, ending, json, standing};
use super::parts::{Asked, JsonBody, Named, OptionalBody, Patience};
use super::routes::App;
use crate::hub::Attends;

/// A sign of a client that is still there.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"lease_ms": 5000}))]
pub(super) struct Renewal {
    /// Another length of the lease, from now on: 100 ms to 24 h. As before if missing.
    lease_ms: Option<u64>,
}

/// What can be changed of a request that waits.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"urgency": {"priority": 7}}))]
pub(super) struct RequestChange {
    /// How urgent it is from now on.
    urgency: Urgency,
}

/// Ask for a resource
///
/// Choose an `id` and ask again with the same body if the answer was lost: that never makes a second grant. A request
/// lives as long as its lease and has to be renewed, waiting or granted; `block_for` renews it while it waits. A client
/// that closes the connection before the answer no longer waits: the request expires after two seconds, unless the client
/// asks again, renews it or waits for it in another way.
#[utoipa::path(
    post, path = "/v1/requests", operation_id = "ask", tag = "requests",
    params(("block_for" = Option<String>, Query, example = "10s",
        description = "Wait so long while it is queued, at most 60s. A number and ms, s, m or h; seconds if bare.")),
    request_body(content = NewRequest, examples(
        ("a lock" = (value = json!({"id": "job-17", "resource": "printer", "lease_ms": 30000}))),
        ("units of a semaphore" = (value = json!({
            "id": "job-18", "resource": "docks", "units": 2, "urgency": {"priority": 5}}))),
        ("several resources, all or none" = (value = json!({
            "id": "job-21", "all": [{"resource": "dock-3"}, {"resource": "lifts", "units": 2}], "timeout_ms": 60000}))),
        ("a session" = (value = json!({"id": "job-19", "resource": "track", "session": "red"}))),
        ("reading" = (value = json!({"id": "job-20", "resource": "map", "mode": "read", "timeout_ms": 2000}))),
    )),
    responses(
        (status = 200, description = "Granted.", body = RequestInfo, example = json!({
            "id": "job-17", "resource": "printer", "state": "GRANTED", "units": 1, "urgency": {"priority": 0},
            "fence": 12, "lease_ms": 30000, "expires_in_ms": 30000, "waited_ms": 3, "held_ms": 0})),
        (status = 202, description = "It waits; `place` says where.", body = RequestInfo, example = json!({
            "id": "job-17", "resource": "printer", "state": "QUEUED", "units": 1, "urgency": {"priority": 0},
            "lease_ms": 30000, "expires_in_ms": 29990, "waited_ms": 10,
            "place": {"ahead": 1, "exact": true, "estimate_ms": 4200, "estimate_low_ms": 900, "estimate_high_ms": 9000}})),
        (status = 400, description = "The body or the query makes no sense.", body = Problem, example = json!({
            "reason": "bad-request", "message": "a lease of 5 ms is out of range: give 100 ms to 24 h"})),
        (status = 404, description = "No such resource, and none is made on first use.", body = Problem),
        (status = 409, description = "It can never be granted, or the id belongs to another request.", body = Problem,
            example = json!({"reason": "conflict", "message": "4 units can never be granted: \"docks\" has 3 in all"})),
        (status = 410, description = "The id names a request that is over: expired, revoked or released. Nothing was \
            asked for; choose another id.", body = RequestInfo, example = json!({
            "id": "job-17", "resource": "printer", "state": "EXPIRED", "units": 1, "urgency": {"priority": 0},
            "fence": 12, "lease_ms": 30000, "waited_ms": 3, "held_ms": 30000,
            "reason": "its client gave no sign for 30000 ms"})),
        (status = 503, description = "The node is shutting down or has as many requests as it can.", body = Problem),
    ),
)]
pub(super) async fn ask(
    State(app): State<App>,
    Extension(delivery): Extension<Delivery>,
    Asked(patience): Asked<Patience>,
    JsonBody(asked): JsonBody<NewRequest>,
) -> Answer {
    let patience = patience.time()?;
    let info = app.hub.ask(asked)?;
    let info = wait(&app, info, patience, Attends::AsClient).await?;
    if let Ok(ticket) = app.hub.find(&info.id) {
        // The client may have been killed at this very moment, and not know of the grant.
        let hub = Arc::clone(&app.hub);
        delivery.unless_read(move || hub.unheard(ticket));
    }
    standing(&info)
}

/// All requests that are queued or granted at this node
#[utoipa::path(
    get, path = "/v1/requests", operation_id = "listRequests", tag = "requests",
    responses((status = 200, description = "In order of arrival.", body = Vec<RequestInfo>)),
)]
pub(super) async fn list(State(app): State<App>) -> Response {
    json(StatusCode::OK, &app.hub.requests())
}

/// How a request is doing
///
/// Without `block_for` this is a look only and does not renew the lease.
#[utoipa::path(
    get, path = "/v1/requests/{id}", operation_id = "lookAtRequest", tag = "requests",
    params(
        ("id" = String, Path, description = "The id of the request.", example = "job-17"),
        ("block_for" = Option<String>, Query, example = "10s",
            description = "Wait so long while it is queued, at most 60s, and keep it alive meanwhile."),
    ),
    responses(
        (status = 200, description = "Granted.", body = RequestInfo),
        (status = 202, description = "It waits.", body = RequestInfo),
        (status = 404, description = "No such request, or it was long ago.", body = Problem, example = json!({
            "reason": "unknown", "message": "this node does not know request \"job-17\": ..."})),
        (status = 409, description = "It was rejected: it can never be granted.", body = Problem),
        (status = 410, description = "It is over: expired, revoked or released.", body = RequestInfo),
    ),
)]
pub(super) async fn look(State(app): State<App>, Named(id): Named, Asked(patience): Asked<Patience>) -> Answer {
    let patience = patience.time()?;
    let info = app.hub.look(&id)?;
    standing(&wait(&app, info, patience, Attends::AsOnlooker).await?)
}

/// Waits while it is queued. If the client closes the connection meanwhile, this is dropped.
async fn wait(app: &App, info: RequestInfo, patience: Option<Duration>, who: Attends) -> Result<RequestInfo, Refusal> {
    match patience {
        Some(patience) if info.state == Standing::Queued && !patience.is_zero() => {
            let attendance = app.hub.attend(app.hub.find(&info.id)?, who);
            let waited = app.unless_stopped(app.hub.wait(&info.id, patience)).await;
            attendance.answered();
            match waited {
                Some(result) => Ok(result?),
                None => Ok(app.hub.look(&info.id)?),
            }
        }
        Some(_) | None => Ok(info),
    }
}

/// Say that the client is still there
///
/// The lease begins anew. Renew about every third of it.
#[utoipa::path(
    post, path = "/v1/requests/{id}/renew", operation_id = "renew", tag = "requests",
    params(("id" = String, Path, description = "The id of the request.", example = "job-17")),
    request_body(content = Option<Renewal>, description = "May be left out."),
    responses(
        (status = 200, description = "Granted, and renewed.", body = RequestInfo),
        (status = 202, description = "It waits, and is renewed.", body = RequestInfo),
        (status = 404, description = "No such request, or it was long ago.", body = Problem),
        (status = 410, description = "It is over. A client that believes to hold it must stop.", body = RequestInfo),
    ),
)]
pub(super) async fn renew(
    State(app): State<App>,
    Named(id): Named,
    OptionalBody(renewal): OptionalBody<Option<Renewal>>,
) -> Answer {
    Ok(alive_or_over(&app.hub.renew(&id, renewal.unwrap_or_default().lease_ms)?))
}

/// Change how urgent a waiting request is
#[utoipa::path(
    patch, path = "/v1/requests/{id}", operation_id = "changeRequest", tag = "requests",
    params(("id" = String, Path, description = "The id of the request.", example = "job-17")),
    request_body = RequestChange,
    responses(
        (status = 200, description = "Changed, and granted because of it.", body = RequestInfo),
        (status = 202, description = "Changed; it waits.", body = RequestInfo),
        (status = 404, description = "No such request, or it was long ago.", body = Problem),
        (status = 409, description = "It no longer waits, or its resource is ordered otherwise.", body = Problem,
            example = json!({"reason": "conflict",
                "message": "the request is GRANTED: only one that waits can be changed"})),
        (status = 410, description = "It ended because of the change.", body = RequestInfo),
    ),
)]
pub(super) async fn change(
    State(app): State<App>,
    Named(id): Named,
    JsonBody(change): JsonBody<RequestChange>,
) -> Answer {
    Ok(alive_or_over(&app.hub.reprioritize(&id, change.urgency)?))
}

/// Give back what is held, or no longer wait for it
///
/// Doing it twice does no harm.
#[utoipa::path(
    delete, path = "/v1/requests/{id}", operation_id = "release", tag = "requests",
    params(("id" = String, Path, description = "The id of the request.", example = "job-17")),
    responses(
        (status = 200, description = "Released, now or before.", body = RequestInfo),
        (status = 404, description = "No such request, or it was long ago.", body = Problem),
        (status = 410, description = "It was over in another way before: expired, revoked or rejected. If it was \
            granted, others may have held the resource since.", body = RequestInfo),
    ),
)]
pub(super) async fn release(State(app): State<App>, Named(id): Named) -> Answer {
    Ok(ending(&app.hub.release(&id)?))
}
