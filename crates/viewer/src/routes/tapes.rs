//! What is on a tape.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query as Asked, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::json;

use super::{Shown, blocking, refused};
use crate::marks::Mark;
use crate::tape::{Query, Tape};

pub(super) struct NoTape(usize);

impl IntoResponse for NoTape {
    fn into_response(self) -> Response {
        refused(StatusCode::NOT_FOUND, format!("there is no tape {}", self.0))
    }
}

fn tape(source: &Shown, place: usize) -> Result<Arc<Tape>, NoTape> {
    source.tapes().into_iter().nth(place).ok_or(NoTape(place))
}

#[derive(Deserialize)]
pub(super) struct WithHeader {
    header: Option<bool>,
}

pub(super) async fn summary(
    State(source): State<Shown>,
    Path(place): Path<usize>,
    Asked(WithHeader { header }): Asked<WithHeader>,
) -> Result<Response, NoTape> {
    Ok(Json(tape(&source, place)?.summary(header.unwrap_or(true))).into_response())
}

#[derive(Deserialize)]
pub(super) struct After {
    after: Option<u64>,
}

pub(super) async fn chunk(
    State(source): State<Shown>,
    Path((place, chunk)): Path<(usize, u64)>,
    Asked(After { after }): Asked<After>,
) -> Result<Response, NoTape> {
    let tape = tape(&source, place)?;
    let read = move || match tape.chunk(chunk, after) {
        Ok(Some(text)) => ([(header::CONTENT_TYPE, "application/json")], text).into_response(),
        Ok(None) => refused(StatusCode::NOT_FOUND, "there is no such chunk, or it is too old and was dropped"),
        Err(error) => refused(StatusCode::INTERNAL_SERVER_ERROR, format!("the trace cannot be read: {error}")),
    };
    Ok(blocking(read).await)
}

#[derive(Deserialize)]
pub(super) struct Next {
    line: u64,
    kind: Mark,
    #[serde(default)]
    back: bool,
}

pub(super) async fn next(
    State(source): State<Shown>,
    Path(place): Path<usize>,
    Asked(Next { line, kind, back }): Asked<Next>,
) -> Result<Response, NoTape> {
    let found = tape(&source, place)?.next(kind, line, back);
    let (line, at) = found.unzip();
    Ok(Json(json!({ "line": line, "at": at })).into_response())
}

pub(super) async fn find(
    State(source): State<Shown>,
    Path(place): Path<usize>,
    Asked(query): Asked<Query>,
) -> Result<Response, NoTape> {
    let tape = tape(&source, place)?;
    let search = move || match tape.find(&query) {
        Ok(found) => Json(found).into_response(),
        Err(error) => refused(StatusCode::INTERNAL_SERVER_ERROR, format!("the trace cannot be read: {error}")),
    };
    Ok(blocking(search).await)
}

#[derive(Deserialize)]
pub(super) struct Spans {
    buckets: Option<usize>,
}

pub(super) async fn figures(
    State(source): State<Shown>,
    Path(place): Path<usize>,
    Asked(Spans { buckets }): Asked<Spans>,
) -> Result<Response, NoTape> {
    let tape = tape(&source, place)?;
    Ok(blocking(move || Json(tape.figures(buckets.unwrap_or(300))).into_response()).await)
}
