//! Bodies, queries and names as they come in, with mistakes told as problems.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use meshlock_api::{Problem, Reason, duration};
use meshlock_serve::{BodyError, read_body};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::answer::Refusal;
use super::routes::App;

/// The largest body that is read.
pub(super) const LARGEST_BODY: usize = 64 * 1_024;
/// The longest that a client may wait in one request.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// A body of JSON. Its content type is not asked for: nothing else is understood here.
pub(super) struct JsonBody<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<App> for JsonBody<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, app: &App) -> Result<Self, Refusal> {
        let body = read(request, app).await?;
        if body.is_empty() {
            return Err(Problem::bad_request("the body is empty: send a JSON object").into());
        }
        parse(&body).map(Self)
    }
}

/// A body of JSON, or none, which stands for all defaults.
pub(super) struct OptionalBody<T>(pub(super) T);

impl<T: DeserializeOwned + Default> FromRequest<App> for OptionalBody<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, app: &App) -> Result<Self, Refusal> {
        let body = read(request, app).await?;
        if body.is_empty() { Ok(Self(T::default())) } else { parse(&body).map(Self) }
    }
}

/// Fields that are lists; nothing else that comes in is one.
const LISTS: &[&str] = &["slots", "all"];

/// An object is an object: the reader would also take a list of an object's fields, in the order of our code.
fn refuse_lists(body: &[u8]) -> Result<(), Problem> {
    fn find(value: &Value, place: &str) -> Option<String> {
        match value {
            Value::Array(_) => Some(place.to_owned()),
            Value::Object(fields) => fields.iter().find_map(|(name, value)| {
                let list = value.as_array().filter(|_| LISTS.contains(&name.as_str()));
                list.map_or_else(|| find(value, name), |items| items.iter().find_map(|item| find(item, name)))
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        }
    }
    if !body.contains(&b'[') {
        return Ok(());
    }
    // What is no JSON at all is told by the reader of the body.
    match serde_json::from_slice(body).ok().and_then(|value| find(&value, "the body")) {
        Some(place) => {
            Err(Problem::bad_request(format!("{place} is a list, but an object with named fields belongs there")))
        }
        None => Ok(()),
    }
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refusal> {
    refuse_lists(body)?;
    serde_json::from_slice(body)
        .map_err(|error| Problem::bad_request(format!("the body is not what belongs here: {error}")).into())
}

async fn read(request: Request, app: &App) -> Result<Bytes, Refusal> {
    read_body(request, LARGEST_BODY, app.limits.body).await.map_err(|error| {
        let message = error.to_string();
        match error {
            BodyError::TooLarge(_) => Problem::new(Reason::TooLarge, message).into(),
            BodyError::Late => Refusal::new(StatusCode::REQUEST_TIMEOUT, Reason::BadRequest, message),
            BodyError::Broken(_) => Problem::bad_request(message).into(),
        }
    })
}

/// The query of an address.
pub(super) struct Asked<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequestParts<App> for Asked<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Refusal> {
        let query = Query::try_from_uri(&parts.uri);
        let wrong = |error| Problem::bad_request(format!("the query is not what belongs here: {error}"));
        query.map(|Query(query)| Self(query)).map_err(|error| wrong(error).into())
    }
}

/// The name in an address.
pub(super) struct Named(pub(super) String);

impl FromRequestParts<App> for Named {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Refusal> {
        let name = Path::from_request_parts(parts, app).await;
        let wrong = |error| Problem::bad_request(format!("the address is not what belongs here: {error}"));
        name.map(|Path(name)| Self(name)).map_err(|error| wrong(error).into())
    }
}

/// How long to wait for an answer.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Patience {
    block_for: Option<String>,
}

impl Patience {
    /// The time, if there is one; never more than the longest.
    pub(super) fn time(&self) -> Result<Option<Duration>, Problem> {
        self.block_for.as_deref().map(|text| time("block_for", text)).transpose()
    }
}

/// A time in a query; never more than the longest.
pub(super) fn time(name: &str, text: &str) -> Result<Duration, Problem> {
    let time = duration::parse(text).map_err(|error| Problem::bad_request(format!("{name}: {error}")))?;
    Ok(time.min(LONGEST_WAIT))
}
