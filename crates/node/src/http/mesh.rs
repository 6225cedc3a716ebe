//! The node and its mesh: status, health, metrics, removals.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use meshlock_api::{MeshStatus, OutOfReach, Problem, Reason, RecoveryStatus};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::answer::{Answer, json};
use super::parts::{Asked, JsonBody, time};
use super::routes::{App, interrupted};

/// How long others may take to answer if the client does not say.
const PATIENCE: Duration = Duration::from_secs(1);

/// Whether a node is well.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "status": "ok", "mesh": "hall-7", "node": "forklift-3", "version": "0.1.0", "links": 2, "uptime_ms": 86400000}))]
pub(super) struct Health {
    status: Condition,
    /// The name of the mesh.
    mesh: String,
    /// The name of the node.
    node: String,
    /// The version of meshlock.
    version: String,
    /// How many neighbours it is connected to.
    links: u32,
    /// How long it has run.
    uptime_ms: u64,
    /// Resources that clients of this node wait for and whose token is out of reach, ten at most.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    out_of_reach: Vec<LostResource>,
    /// What an operator has to act on, such as two nodes with one identity.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    alarms: Vec<String>,
    /// How recovery from crashes is doing; absent in a mesh that does not recover.
    #[serde(skip_serializing_if = "Option::is_none")]
    recovery: Option<RecoveryStatus>,
}

/// A resource whose token is out of reach.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct LostResource {
    /// The name of the resource.
    resource: String,
    /// For how long, and where it was last.
    #[serde(flatten)]
    token: OutOfReach,
}

/// How a node is.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Condition {
    /// It takes requests.
    Ok,
    /// It takes requests, but clients wait for tokens that are out of reach.
    Degraded,
    /// It is shutting down.
    Stopping,
}

/// A member is removed from the mesh.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"removal": "bWVzaGxvY2sgcmVtb3ZhbA=="}))]
pub(super) struct Removal {
    /// The removal as the mesh's authority signed it, in base64.
    removal: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StatusQuery {
    resource: Option<String>,
    patience: Option<String>,
}

/// Who holds what and who waits, everywhere
#[utoipa::path(
    get, path = "/v1/status", operation_id = "status", tag = "mesh",
    params(
        ("resource" = Option<String>, Query, description = "Only this one.", example = "docks"),
        ("patience" = Option<String>, Query, example = "500ms",
            description = "How long to wait for nodes that do not answer, at most 60s; 1s if missing."),
    ),
    responses(
        (status = 200, description = "From all nodes that answered in time.", body = MeshStatus),
        (status = 404, description = "No such resource.", body = Problem),
        (status = 503, description = "The node is shutting down.", body = Problem),
    ),
)]
pub(super) async fn status(State(app): State<App>, Asked(query): Asked<StatusQuery>) -> Answer {
    let patience = query.patience.map_or(Ok(PATIENCE), |text| time("patience", &text))?;
    let hub = Arc::clone(&app.hub);
    // In a task of its own: the question is answered to its end even if this client goes away.
    let asking = tokio::spawn(async move { hub.status(query.resource.as_deref(), patience).await });
    match app.unless_stopped(asking).await {
        Some(Ok(status)) => Ok(json(StatusCode::OK, &status?)),
        Some(Err(_)) | None => Err(interrupted()),
    }
}

/// Whether the node is well
///
/// The only address that needs no token over TCP.
#[utoipa::path(
    get, path = "/v1/health", operation_id = "health", tag = "mesh", security(()),
    responses((status = 200, description = "The node answers.", body = Health)),
)]
pub(super) async fn health(State(app): State<App>) -> Response {
    let alarms = app.hub.alarms();
    let health = app.hub.with(|machine, now| {
        let lost = machine.lost_resources(now, 10);
        let lost = lost.into_iter().map(|(resource, token)| LostResource { resource, token });
        let out_of_reach: Vec<LostResource> = lost.collect();
        let recovery = machine.recovery_status(now);
        let is_well =
            recovery.as_ref().is_none_or(|recovery| recovery.suspended.is_none() && recovery.repair.is_none());
        Health {
            status: match (machine.stopping, is_well && out_of_reach.is_empty() && alarms.is_empty()) {
                (true, _) => Condition::Stopping,
                (false, false) => Condition::Degraded,
                (false, true) => Condition::Ok,
            },
            mesh: machine.settings.mesh.clone(),
            node: machine.settings.name.clone(),
            version: env!("CARGO_PKG_VERSION").into(),
            links: u32::try_from(machine.neighbours.len()).unwrap_or(u32::MAX),
            uptime_ms: now.0 / 1_000_000,
            out_of_reach,
            alarms,
            recovery,
        }
    });
    json(StatusCode::OK, &health)
}

/// Remove a member from the mesh
///
/// Takes a removal that the mesh's authority signed, and passes it on to all nodes.
#[utoipa::path(
    post, path = "/v1/removals", operation_id = "removeMember", tag = "mesh",
    request_body = Removal,
    responses(
        (status = 204, description = "Accepted; it spreads from node to node."),
        (status = 400, description = "It is not a valid removal of this mesh.", body = Problem),
        (status = 503, description = "This node takes no removals.", body = Problem),
    ),
)]
pub(super) async fn remove(State(app): State<App>, JsonBody(body): JsonBody<Removal>) -> Answer {
    let Some(take) = &app.removals else {
        return Err(Problem::new(Reason::Unavailable, "this node takes no removals; give it to another one").into());
    };
    let removal = BASE64_STANDARD.decode(&body.removal);
    let removal = removal.map_err(|error| Problem::bad_request(format!("removal: this is no base64: {error}")))?;
    take(removal).map_err(Problem::bad_request)?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// What is counted, for Prometheus
#[utoipa::path(
    get, path = "/metrics", operation_id = "metrics", tag = "mesh",
    responses((status = 200, description = "The text format.", body = String, content_type = "text/plain")),
)]
pub(super) async fn metrics(State(app): State<App>) -> Response {
    // The machine knows nothing of the runtime, which is where a leak would show.
    let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let help = "# HELP meshlock_tasks Tasks of the runtime that are alive.\n# TYPE meshlock_tasks gauge\n";
    let text = format!("{}{help}meshlock_tasks {tasks}\n", app.hub.metrics());
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
}
