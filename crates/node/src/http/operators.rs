//! What operators do: take away what a client holds, and see who held what.

use std::path::PathBuf;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use meshlock_api::resource::check_name;
use meshlock_api::{AuditRecord, NewRevocation, Problem, Reason, Revocation};
use serde::Deserialize;

use super::answer::{Answer, json};
use super::parts::{Asked, JsonBody, Patience};
use super::routes::{App, interrupted};
use crate::audit_log;

/// How long to wait for the client to stop if the operator does not say.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many records are told at once.
const MOST_RECORDS: usize = 10_000;

/// Take away what a client holds
///
/// Of a client of any node. The client is told at once; others are let in when it has said that it stopped, or when its lease
/// is over. `block_for` waits for that. A request that waits is cancelled.
#[utoipa::path(
    post, path = "/v1/revocations", operation_id = "revoke", tag = "mesh",
    params(("block_for" = Option<String>, Query, example = "10s",
        description = "Wait so long until the client has stopped, at most 60s; 10s if missing.")),
    request_body(content = NewRevocation, examples(
        ("with a reason" = (value = json!({"id": "job-17", "reason": "the crane is broken", "by": "ann"}))),
        ("of one node" = (value = json!({"id": "~5", "node": "forklift-3", "force": true}))),
    )),
    responses(
        (status = 200, description = "Revoked, and the client has stopped.", body = Revocation),
        (status = 202, description = "Revoked; the client has not said yet that it stopped.", body = Revocation),
        (status = 404, description = "No node in reach has such a request.", body = Problem),
        (status = 409, description = "Several nodes have a request of this id, or it is over.", body = Problem),
    ),
)]
pub(super) async fn revoke(
    State(app): State<App>,
    Asked(patience): Asked<Patience>,
    JsonBody(wanted): JsonBody<NewRevocation>,
) -> Answer {
    let patience = patience.time()?.unwrap_or(PATIENCE);
    let revoked = app.unless_stopped(app.hub.revoke(&wanted, patience)).await.ok_or_else(interrupted)??;
    Ok(json(if revoked.stopped { StatusCode::OK } else { StatusCode::ACCEPTED }, &revoked))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AuditQuery {
    resource: Option<String>,
    last: Option<usize>,
}

/// Who held what at this node
///
/// The latest records of this node's audit, the oldest first. Each node writes down what its own clients hold.
#[utoipa::path(
    get, path = "/v1/audit", operation_id = "audit", tag = "mesh",
    params(
        ("resource" = Option<String>, Query, description = "Only this one.", example = "docks"),
        ("last" = Option<u32>, Query, minimum = 1, maximum = 10000, example = 100,
            description = "So many at most, up to 10000; 100 if missing."),
    ),
    responses(
        (status = 200, description = "In order.", body = Vec<AuditRecord>),
        (status = 503, description = "This node writes no audit, or it cannot be read.", body = Problem),
    ),
)]
pub(super) async fn audit(State(app): State<App>, Asked(query): Asked<AuditQuery>) -> Answer {
    let last = query.last.unwrap_or(100);
    if !(1..=MOST_RECORDS).contains(&last) {
        return Err(Problem::bad_request(format!("last: give 1 to {MOST_RECORDS}")).into());
    }
    if let Some(name) = &query.resource {
        check_name(name).map_err(Problem::bad_request)?;
    }
    let Some(dir) = app.audit.clone() else {
        return Err(Problem::new(Reason::Unavailable, "this node writes no audit: `audit = false` in its file").into());
    };
    // What happened before the question belongs into the answer.
    tokio::time::sleep(audit_log::PAUSE).await;
    let read = move |dir: PathBuf| audit_log::latest(&dir, query.resource.as_deref(), last);
    let records = tokio::task::spawn_blocking(move || read(dir)).await;
    let unreadable = |error: String| Problem::new(Reason::Unavailable, format!("the audit cannot be read: {error}"));
    let records = records.map_err(|error| unreadable(error.to_string()))?;
    Ok(json(StatusCode::OK, &records.map_err(|error| unreadable(error.to_string()))?))
}
