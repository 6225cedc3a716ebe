//! Resources: list, look, make, change, remove.

use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use meshlock_api::{NewResource, Problem, ResourceChange, ResourceInfo};
use serde::Deserialize;

use super::answer::{Answer, json};
use super::parts::{Asked, JsonBody, Named, OptionalBody, Patience, time};
use super::routes::{App, interrupted};

/// How long to try to reach the registry if the client does not say.
const PATIENCE: Duration = Duration::from_secs(10);

/// All resources that this node knows
#[utoipa::path(
    get, path = "/v1/resources", operation_id = "listResources", tag = "resources",
    responses((status = 200, description = "By name.", body = Vec<ResourceInfo>)),
)]
pub(super) async fn list(State(app): State<App>) -> Response {
    json(StatusCode::OK, &app.hub.resources())
}

/// One resource
#[utoipa::path(
    get, path = "/v1/resources/{name}", operation_id = "lookAtResource", tag = "resources",
    params(("name" = String, Path, description = "The name of the resource.", example = "docks")),
    responses(
        (status = 200, description = "As this node knows it.", body = ResourceInfo, example = json!({
            "name": "docks", "version": 0, "token_here": true, "definition": {
            "kind": "semaphore", "capacity": 3, "protocol": "reverse-link", "order": {"priority": {"aging": 16}},
            "joins": 0, "lease_ms": 30000, "slots": [], "policy": "strict"}})),
        (status = 404, description = "Not known here.", body = Problem),
    ),
)]
pub(super) async fn look(State(app): State<App>, Named(name): Named) -> Answer {
    let info = app.hub.with(|machine, _| machine.resource_info(&name));
    let info =
        info.ok_or_else(|| Problem::unknown(format!("there is no resource {name:?}, as far as is known here")))?;
    Ok(json(StatusCode::OK, &info))
}

/// How a resource is made.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Making {
    block_for: Option<String>,
    #[serde(default)]
    replace: bool,
}

/// Make a resource
///
/// Making one again with the same definition changes nothing. An empty body makes a mutex. With `replace=true` one that
/// is defined otherwise is replaced, if no client holds it or waits for it.
#[utoipa::path(
    put, path = "/v1/resources/{name}", operation_id = "makeResource", tag = "resources",
    params(
        ("name" = String, Path, example = "docks",
            description = "1 to 128 visible ASCII characters, none of / ? # % \" \\; not beginning with `meshlock:`."),
        ("block_for" = Option<String>, Query, example = "10s",
            description = "Try so long to reach the registry, at most 60s; 10s if missing."),
        ("replace" = Option<bool>, Query, example = false,
            description = "Whether one of another definition is replaced."),
    ),
    request_body(content = Option<NewResource>, description = "What is missing gets its default.", examples(
        ("a lock" = (value = json!({"kind": "mutex"}))),
        ("a semaphore" = (value = json!({"capacity": 3, "lease_ms": 60000}))),
        ("a semaphore of named units" = (value = json!({"slots": ["gpu-a", "gpu-b"]}))),
        ("sessions" = (value = json!({"kind": "sessions", "protocol": "group"}))),
        ("readers and a writer" = (value = json!({"kind": "readers-writer"}))),
    )),
    responses(
        (status = 200, description = "It was there, with the same definition.", body = ResourceInfo),
        (status = 201, description = "Made, or made anew.", body = ResourceInfo),
        (status = 409, description = "It is defined otherwise, the message says in what; or it is to be replaced and in \
            use.", body = Problem),
        (status = 503, description = "The mesh's registry is not in reach.", body = Problem),
    ),
)]
pub(super) async fn make(
    State(app): State<App>,
    Named(name): Named,
    Asked(how): Asked<Making>,
    OptionalBody(wanted): OptionalBody<Option<NewResource>>,
) -> Answer {
    let patience = how.block_for.map(|text| time("block_for", &text)).transpose()?.unwrap_or(PATIENCE);
    let wanted = wanted.unwrap_or_default();
    let former = app.hub.with(|machine, _| machine.resource_info(&name)).map(|info| info.definition);
    let was_there = former.is_some();
    if how.replace && former.is_some_and(|former| wanted.complete().is_ok_and(|wanted| wanted != former)) {
        let made = app.unless_stopped(app.hub.retire(&name, Some(&wanted), patience)).await;
        return Ok(json(StatusCode::CREATED, &made.ok_or_else(interrupted)??));
    }
    let made = app.unless_stopped(app.hub.define(&name, &wanted, patience)).await;
    let info = made.ok_or_else(interrupted)??;
    Ok(json(if was_there { StatusCode::OK } else { StatusCode::CREATED }, &info))
}

/// Change the capacity, the default lease or the names of slots of a resource
#[utoipa::path(
    patch, path = "/v1/resources/{name}", operation_id = "changeResource", tag = "resources",
    params(
        ("name" = String, Path, description = "The name of the resource.", example = "docks"),
        ("block_for" = Option<String>, Query, example = "10s",
            description = "Try so long to reach the registry, at most 60s; 10s if missing."),
    ),
    request_body = ResourceChange,
    responses(
        (status = 200, description = "Changed.", body = ResourceInfo),
        (status = 404, description = "Not known here.", body = Problem),
        (status = 409, description = "It cannot be changed like that.", body = Problem, example = json!({
            "reason": "conflict", "message": "a mutex has capacity 1, not 5; use kind \"semaphore\""})),
        (status = 503, description = "The mesh's registry is not in reach.", body = Problem),
    ),
)]
pub(super) async fn change(
    State(app): State<App>,
    Named(name): Named,
    Asked(patience): Asked<Patience>,
    JsonBody(change): JsonBody<ResourceChange>,
) -> Answer {
    let patience = patience.time()?.unwrap_or(PATIENCE);
    if change == ResourceChange::default() {
        return Err(Problem::bad_request("nothing to change: give a capacity, a lease_ms or slots").into());
    }
    let changed = app.unless_stopped(app.hub.change(&name, change, patience)).await;
    Ok(json(StatusCode::OK, &changed.ok_or_else(interrupted)??))
}

/// Remove a resource
///
/// Only one that no client holds or waits for. Its name can be made again, as something else; fences go on where they ended.
#[utoipa::path(
    delete, path = "/v1/resources/{name}", operation_id = "removeResource", tag = "resources",
    params(
        ("name" = String, Path, description = "The name of the resource.", example = "docks"),
        ("block_for" = Option<String>, Query, example = "10s",
            description = "Wait so long until no client uses it and the registry is reached, at most 60s; 10s if missing."),
    ),
    responses(
        (status = 200, description = "Removed; what it was.", body = ResourceInfo),
        (status = 404, description = "Not known here.", body = Problem),
        (status = 409, description = "Clients hold it or wait for it.", body = Problem),
        (status = 503, description = "The mesh's registry is not in reach.", body = Problem),
    ),
)]
pub(super) async fn remove(State(app): State<App>, Named(name): Named, Asked(patience): Asked<Patience>) -> Answer {
    let patience = patience.time()?.unwrap_or(PATIENCE);
    let removed = app.unless_stopped(app.hub.retire(&name, None, patience)).await;
    Ok(json(StatusCode::OK, &removed.ok_or_else(interrupted)??))
}
