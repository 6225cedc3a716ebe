//! Which function answers which address.

use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::{get, post};
use meshlock_api::{Problem, Reason};
use meshlock_serve::stopped;
use tokio::sync::watch;

use super::answer::Refusal;
use super::{Limits, TakeRemoval, mesh, openapi, operators, requests, resources, stream, streams};
use crate::hub::Hub;

/// The one address that needs no token.
pub(super) const HEALTH: &str = "/v1/health";

/// What handlers know.
#[derive(Clone)]
pub(super) struct App {
    pub(super) hub: Arc<Hub>,
    /// Becomes true when the server is about to end.
    pub(super) stop: watch::Receiver<bool>,
    pub(super) removals: Option<TakeRemoval>,
    pub(super) limits: Limits,
    /// Where the audit is.
    pub(super) audit: Option<std::path::PathBuf>,
}

impl App {
    /// Something that takes its time; `None` if the server ends before.
    pub(super) async fn unless_stopped<T>(&self, what: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            result = what => Some(result),
            () = stopped(self.stop.clone()) => None,
        }
    }
}

/// The answer to a request that the end of the server interrupted.
pub(super) fn interrupted() -> Refusal {
    Problem::new(Reason::Unavailable, "this node is shutting down; ask another one").into()
}

/// All routes.
pub(super) fn routes(app: App) -> Router {
    Router::new()
        .route("/v1/requests", post(requests::ask).get(requests::list))
        .route("/v1/requests/{id}", get(requests::look).patch(requests::change).delete(requests::release))
        .route("/v1/requests/{id}/renew", post(requests::renew))
        .route("/v1/requests/{id}/events", get(streams::of_request))
        .route(meshlock_api::stream::PATH, get(stream::open))
        .route("/v1/events", get(streams::of_node))
        .route("/v1/resources", get(resources::list))
        .route("/v1/resources/{name}", {
            get(resources::look).put(resources::make).patch(resources::change).delete(resources::remove)
        })
        .route("/v1/status", get(mesh::status))
        .route(HEALTH, get(mesh::health))
        .route("/v1/revocations", post(operators::revoke))
        .route("/v1/audit", get(operators::audit))
        .route("/v1/removals", post(mesh::remove))
        .route("/metrics", get(mesh::metrics))
        .route("/openapi.json", get(openapi::serve))
        .fallback(async || Refusal::from(Problem::unknown("there is nothing at this address; see /openapi.json")))
        .method_not_allowed_fallback(async || {
            let message = "this address has other methods; the header Allow and /openapi.json tell which";
            Refusal::new(StatusCode::METHOD_NOT_ALLOWED, Reason::BadRequest, message)
        })
        .with_state(app)
}
