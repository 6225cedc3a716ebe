//! Which function answers which address; `page/app/types.d.ts` has the list.

mod tapes;
mod updates;

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use meshlock_serve::{BodyError, Limits, read_body};
use serde_json::json;

use crate::assets;
use crate::source::{Action, Refusal, Source};

const LARGEST_ACTION: usize = 16 * 1024;

pub(crate) type Shown = Arc<dyn Source>;

pub(crate) fn routes(source: Shown) -> Router {
    Router::new()
        .route("/api/about", get(about))
        .route("/api/updates", get(updates::stream))
        .route("/api/act", post(act))
        .route("/api/tapes/{tape}", get(tapes::summary))
        .route("/api/tapes/{tape}/chunks/{chunk}", get(tapes::chunk))
        .route("/api/tapes/{tape}/next", get(tapes::next))
        .route("/api/tapes/{tape}/find", get(tapes::find))
        .route("/api/tapes/{tape}/figures", get(tapes::figures))
        .route("/api/check", get(overview))
        .route("/api/check/at/{path}", get(place))
        .route("/", get(async || file("")))
        .route("/{*name}", get(async |Path(name): Path<String>| file(&name)))
        .fallback(async || refused(StatusCode::NOT_FOUND, "there is nothing at this address"))
        .method_not_allowed_fallback(async || refused(StatusCode::METHOD_NOT_ALLOWED, "not in this way"))
        .with_state(source)
}

/// A refusal with words for people.
pub(crate) fn refused(status: StatusCode, words: impl Into<String>) -> Response {
    (status, Json(json!({ "message": words.into() }))).into_response()
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        refused(StatusCode::BAD_REQUEST, self.0)
    }
}

fn file(name: &str) -> Response {
    match assets::find(name) {
        Some((kind, text)) => ([(header::CONTENT_TYPE, kind)], text).into_response(),
        None => refused(StatusCode::NOT_FOUND, format!("the page has no file {name}")),
    }
}

async fn about(State(source): State<Shown>) -> Response {
    Json(source.about()).into_response()
}

async fn act(State(source): State<Shown>, request: Request) -> Response {
    let body = match read_body(request, LARGEST_ACTION, Limits::default().body).await {
        Ok(body) => body,
        Err(error) => {
            let status = match error {
                BodyError::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
                BodyError::Late => StatusCode::REQUEST_TIMEOUT,
                BodyError::Broken(_) => StatusCode::BAD_REQUEST,
            };
            return refused(status, error.to_string());
        }
    };
    match serde_json::from_slice::<Action>(&body) {
        Err(error) => refused(StatusCode::BAD_REQUEST, format!("this is no action: {error}")),
        Ok(action) => match source.act(action).await {
            Ok(done) => Json(done).into_response(),
            Err(refusal) => refusal.into_response(),
        },
    }
}

async fn overview(State(source): State<Shown>) -> Response {
    match source.explore() {
        Some(explore) => Json(explore.overview()).into_response(),
        None => no_model(),
    }
}

/// Following a path computes states, so it runs on a blocking thread.
async fn place(State(source): State<Shown>, Path(path): Path<String>) -> Response {
    let steps: Result<Vec<u32>, _> = match path.as_str() {
        "start" => Ok(Vec::new()),
        path => path.split('.').map(str::parse).collect(),
    };
    let Ok(steps) = steps else {
        return refused(StatusCode::BAD_REQUEST, "a path is numbers joined by dots, such as 0.3.1");
    };
    blocking(move || match source.explore() {
        None => no_model(),
        Some(explore) => match explore.at(&steps) {
            Ok(place) => Json(place).into_response(),
            Err(refusal) => refused(StatusCode::NOT_FOUND, refusal.0),
        },
    })
    .await
}

fn no_model() -> Response {
    refused(StatusCode::NOT_FOUND, "this is no model; `meshlock check MODEL --view` shows one")
}

/// Work that reads files or computes.
async fn blocking(work: impl FnOnce() -> Response + Send + 'static) -> Response {
    match tokio::task::spawn_blocking(work).await {
        Ok(answer) => answer,
        Err(error) => refused(StatusCode::INTERNAL_SERVER_ERROR, format!("this is a bug of the viewer: {error}")),
    }
}
