//! Status codes.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use meshlock_api::{Problem, Reason, RequestInfo, State};
use serde::Serialize;

/// What a handler answers: something, or why not.
pub(super) type Answer = Result<Response, Refusal>;

/// Why something is refused, with its status code.
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    problem: Problem,
}

impl Refusal {
    /// A refusal for which there is a status code of HTTP, but no word of ours.
    pub(super) fn new(status: StatusCode, reason: Reason, message: impl Into<String>) -> Self {
        Self { status, problem: Problem::new(reason, message) }
    }
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        let status = StatusCode::from_u16(problem.reason.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self { status, problem }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = json(self.status, &self.problem);
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// Something as JSON.
pub(super) fn json(status: StatusCode, body: &impl Serialize) -> Response {
    let (status, body) = match serde_json::to_vec(body) {
        Ok(body) => (status, body),
        // None of our types can fail, and if one did the client should not hang.
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string().into_bytes()),
    };
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// How a request is doing, as the status says it: granted, waiting, over, or refused.
pub(super) fn standing(info: &RequestInfo) -> Answer {
    match info.state {
        State::Rejected => {
            let message = info.reason.clone().unwrap_or_else(|| "this request can never be granted".into());
            Err(Problem::conflict(message).into())
        }
        State::Granted | State::Queued | State::Expired | State::Revoked | State::Released => Ok(alive_or_over(info)),
    }
}

/// How a request is doing, for those who know it: granted, waiting or over.
pub(super) fn alive_or_over(info: &RequestInfo) -> Response {
    let status = match info.state {
        State::Granted => StatusCode::OK,
        State::Queued => StatusCode::ACCEPTED,
        State::Expired | State::Revoked | State::Released | State::Rejected => StatusCode::GONE,
    };
    json(status, info)
}

/// The end of a request: as its client wanted it, or otherwise.
pub(super) fn ending(info: &RequestInfo) -> Response {
    match info.state {
        State::Released => json(StatusCode::OK, info),
        State::Granted | State::Queued | State::Expired | State::Revoked | State::Rejected => alive_or_over(info),
    }
}
