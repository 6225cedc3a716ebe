//! How large headers and bodies may be.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, Request, StatusCode, header};
use axum::response::{IntoResponse, Response};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::time::timeout;

/// The largest header that is answered, with the line before it. Hyper stops reading soon after that, but not at once: it
/// looks at what it has read only when that is not a whole header yet.
pub const LARGEST_HEADER: usize = 32 * 1_024;

/// What a header that is too large is answered with.
pub(crate) fn refuse_large_header<B>(request: &Request<B>) -> Option<Response> {
    if header_size(request) <= LARGEST_HEADER {
        return None;
    }
    let message = format!(
        r#"{{"reason":"too-large","message":"the header is larger than {LARGEST_HEADER} bytes; nothing here needs that much"}}"#
    );
    let mut answer = (StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, message).into_response();
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    Some(answer)
}

fn header_size<B>(request: &Request<B>) -> usize {
    let uri = request.uri();
    let authority = uri.authority().map_or(0, |authority| authority.as_str().len());
    let path = uri.path_and_query().map_or(1, |path| path.as_str().len());
    let first = request.method().as_str().len() + authority + path + "  HTTP/1.1\r\n".len();
    let line =
        |(name, value): (&axum::http::HeaderName, &HeaderValue)| name.as_str().len() + value.len() + ": \r\n".len();
    first + request.headers().iter().map(line).sum::<usize>() + "\r\n".len()
}

/// Why a body is not there.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// It has more bytes than that.
    #[error("the body is larger than {0} bytes; nothing here needs that much")]
    TooLarge(usize),
    /// It took too long.
    #[error("the body did not arrive in time: send it at once after the header")]
    Late,
    /// The connection broke.
    #[error("the body could not be read: {0}")]
    Broken(Box<dyn std::error::Error + Send + Sync>),
}

/// Reads a body of so many bytes at most, if it comes in time. One that says itself that it is larger is not read.
pub async fn read_body(request: Request<Body>, most: usize, patience: Duration) -> Result<Bytes, BodyError> {
    let length = request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if length.is_some_and(|length: u64| length > most as u64) {
        return Err(BodyError::TooLarge(most));
    }
    match timeout(patience, Limited::new(request.into_body(), most).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(BodyError::TooLarge(most)),
        Ok(Err(error)) => Err(BodyError::Broken(error)),
        Err(_) => Err(BodyError::Late),
    }
}
