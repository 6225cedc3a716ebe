//! What can be asked, as methods and paths.

use std::fmt::Write;
use std::time::Duration;

use bytes::Bytes;
use hyper::{Method, StatusCode};
use meshlock_api::{
    AuditRecord, MeshStatus, NewRequest, NewResource, NewRevocation, Problem, RequestInfo, ResourceChange,
    ResourceInfo, Revocation,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::{Http, Question, Stream};
use crate::error::Error;

/// How long a node may take to answer a simple question.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

impl Http {
    /// Whether a node answers.
    pub(crate) async fn health(&self, patience: Duration) -> Result<(), Error> {
        let health: serde_json::Value = self.get("/v1/health", patience).await?;
        if let Some(mesh) = health.get("mesh").and_then(serde_json::Value::as_str) {
            // Greeted once.
            let _ = self.mesh.set(mesh.to_owned());
        }
        Ok(())
    }

    /// Asks for something, and waits for it at most so long; the node may take so much longer to answer.
    pub(crate) async fn ask(
        &self,
        asked: &NewRequest,
        block_for: Duration,
        patience: Duration,
    ) -> Result<RequestInfo, Error> {
        let path = format!("/v1/requests?block_for={}ms", block_for.as_millis());
        self.exchange(Method::POST, path, Some(asked), block_for + patience).await
    }

    pub(crate) async fn look(&self, id: &str) -> Result<RequestInfo, Error> {
        self.get(&format!("/v1/requests/{}", escaped(id)), PATIENCE).await
    }

    pub(crate) async fn renew(
        &self,
        id: &str,
        lease_ms: Option<u64>,
        patience: Duration,
    ) -> Result<RequestInfo, Error> {
        let body = lease_ms.map(|lease_ms| json!({ "lease_ms": lease_ms }));
        self.exchange(Method::POST, format!("/v1/requests/{}/renew", escaped(id)), body.as_ref(), patience).await
    }

    pub(crate) async fn release(&self, id: &str, patience: Duration) -> Result<RequestInfo, Error> {
        let path = format!("/v1/requests/{}", escaped(id));
        self.exchange(Method::DELETE, path, None::<&()>, patience).await
    }

    /// How one request is doing, at every change.
    pub(crate) async fn watch(&self, id: &str) -> Result<Stream, Error> {
        self.stream(format!("/v1/requests/{}/events", escaped(id))).await
    }

    pub(crate) async fn events(&self, resource: Option<&str>) -> Result<Stream, Error> {
        let filter = resource.map(|name| format!("?resource={}", escaped(name))).unwrap_or_default();
        self.stream(format!("/v1/events{filter}")).await
    }

    pub(crate) async fn requests(&self) -> Result<Vec<RequestInfo>, Error> {
        self.get("/v1/requests", PATIENCE).await
    }

    pub(crate) async fn resources(&self) -> Result<Vec<ResourceInfo>, Error> {
        self.get("/v1/resources", PATIENCE).await
    }

    pub(crate) async fn define(
        &self,
        name: &str,
        wanted: &NewResource,
        patience: Duration,
    ) -> Result<ResourceInfo, Error> {
        let path = format!("/v1/resources/{}?block_for={}ms", escaped(name), patience.as_millis());
        self.exchange(Method::PUT, path, Some(wanted), patience + PATIENCE).await
    }

    pub(crate) async fn revoke(&self, wanted: &NewRevocation, patience: Duration) -> Result<Revocation, Error> {
        let path = format!("/v1/revocations?block_for={}ms", patience.as_millis());
        self.exchange(Method::POST, path, Some(wanted), patience + PATIENCE).await
    }

    pub(crate) async fn audit(&self, resource: Option<&str>, last: u32) -> Result<Vec<AuditRecord>, Error> {
        let of = resource.map(|name| format!("&resource={}", escaped(name))).unwrap_or_default();
        self.get(&format!("/v1/audit?last={last}{of}"), PATIENCE).await
    }

    pub(crate) async fn full_health(&self) -> Result<serde_json::Value, Error> {
        self.get("/v1/health", PATIENCE).await
    }

    /// Puts another one in the place of a resource that no client uses.
    pub(crate) async fn replace(
        &self,
        name: &str,
        wanted: &NewResource,
        patience: Duration,
    ) -> Result<ResourceInfo, Error> {
        let path = format!("/v1/resources/{}?replace=true&block_for={}ms", escaped(name), patience.as_millis());
        self.exchange(Method::PUT, path, Some(wanted), patience + PATIENCE).await
    }

    pub(crate) async fn remove(&self, name: &str, patience: Duration) -> Result<ResourceInfo, Error> {
        let path = format!("/v1/resources/{}?block_for={}ms", escaped(name), patience.as_millis());
        self.exchange(Method::DELETE, path, None::<&()>, patience + PATIENCE).await
    }

    pub(crate) async fn change(
        &self,
        name: &str,
        change: &ResourceChange,
        patience: Duration,
    ) -> Result<ResourceInfo, Error> {
        let path = format!("/v1/resources/{}?block_for={}ms", escaped(name), patience.as_millis());
        self.exchange(Method::PATCH, path, Some(change), patience + PATIENCE).await
    }

    pub(crate) async fn status(&self, resource: Option<&str>, patience: Duration) -> Result<MeshStatus, Error> {
        let mut path = format!("/v1/status?patience={}ms", patience.as_millis());
        if let Some(name) = resource {
            path += &format!("&resource={}", escaped(name));
        }
        self.get(&path, patience + PATIENCE).await
    }

    async fn get<T: DeserializeOwned>(&self, path: &str, patience: Duration) -> Result<T, Error> {
        self.exchange(Method::GET, path.to_owned(), None::<&()>, patience).await
    }

    async fn exchange<T: DeserializeOwned>(
        &self,
        method: Method,
        path: String,
        body: Option<&impl Serialize>,
        patience: Duration,
    ) -> Result<T, Error> {
        let body = body.map(serde_json::to_vec).transpose().map_err(|error| self.garbled(error))?.unwrap_or_default();
        let (status, answer) = self.call(&Question { method, path, body: body.into() }, patience).await?;
        self.understand(status, &answer)
    }

    /// An answer; also that a request is over, which is told with status 410.
    fn understand<T: DeserializeOwned>(&self, status: StatusCode, answer: &Bytes) -> Result<T, Error> {
        if status.is_success() {
            return serde_json::from_slice(answer).map_err(|error| self.garbled(error));
        }
        if status == StatusCode::GONE
            && let Ok(info) = serde_json::from_slice(answer)
        {
            return Ok(info);
        }
        Err(self.refusal(status, answer))
    }

    /// Why something was refused.
    pub(crate) fn refusal(&self, status: StatusCode, answer: &[u8]) -> Error {
        match serde_json::from_slice::<Problem>(answer) {
            Ok(problem) => Error::Refused(problem),
            Err(_) => self.garbled(format!("HTTP {status}")),
        }
    }

    pub(crate) fn garbled(&self, cause: impl ToString) -> Error {
        Error::Garbled { place: self.place(), cause: cause.to_string() }
    }
}

/// As a part of a path or a query.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing into a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_with_a_meaning_in_addresses_are_escaped() {
        assert_eq!(escaped("dock-3.a_b~"), "dock-3.a_b~");
        assert_eq!(escaped("a/b?c#d%e@f ü"), "a%2Fb%3Fc%23d%25e%40f%20%C3%BC");
    }
}
