//! Access: on loopback every user of this machine, elsewhere clients that know the token; and no page but ours.

use std::net::IpAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};

use crate::routes::refused;

/// Nothing but our own files is loaded, the page is never framed, and nothing leaves it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The header that tells one run of the program from the next.
const INSTANCE: HeaderName = HeaderName::from_static("meshlock-instance");

/// The routes with everything in front of them.
pub(crate) fn guarded(routes: Router, token: Option<String>, instance: &str) -> Router {
    let token: Option<Arc<str>> = token.map(Into::into);
    let instance = HeaderValue::from_str(instance).ok();
    routes.layer(from_fn_with_state(token, check)).layer(from_fn_with_state(instance, add_headers))
}

async fn add_headers(State(instance): State<Option<HeaderValue>>, request: Request, next: Next) -> Response {
    let mut answer = next.run(request).await;
    let headers = answer.headers_mut();
    if let Some(instance) = instance {
        headers.insert(INSTANCE, instance);
    }
    let all = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    for (name, value) in all {
        headers.insert(name, HeaderValue::from_static(value));
    }
    for (name, value) in
        [("cross-origin-resource-policy", "same-origin"), ("cross-origin-opener-policy", "same-origin")]
    {
        headers.insert(name, HeaderValue::from_static(value));
    }
    answer
}

async fn check(State(token): State<Option<Arc<str>>>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    match verdict(headers, request.method(), request.uri().path(), token.as_deref()) {
        Ok(()) => next.run(request).await,
        Err((status, words)) => refused(status, words).into_response(),
    }
}

type Verdict = Result<(), (StatusCode, &'static str)>;

fn verdict(headers: &HeaderMap, method: &Method, path: &str, token: Option<&str>) -> Verdict {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let host = text(header::HOST).unwrap_or_default();
    // A foreign name that resolves to this machine is how pages elsewhere reach local servers (DNS rebinding).
    if token.is_none() && !is_local(host) {
        return Err((StatusCode::FORBIDDEN, "open the page by its address, such as http://127.0.0.1:8460/"));
    }
    if !path.starts_with("/api/") {
        return Ok(());
    }
    let foreign = "this belongs to the page of this server; no other page may ask";
    let other_origin = text(header::ORIGIN).is_some_and(|origin| {
        let ours = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        ours != Some(host)
    });
    let other_site =
        text(HeaderName::from_static("sec-fetch-site")).is_some_and(|site| !matches!(site, "same-origin" | "none"));
    if other_origin || other_site {
        return Err((StatusCode::FORBIDDEN, foreign));
    }
    if let Some(token) = token
        && !knows(text(header::AUTHORIZATION).unwrap_or_default(), token)
    {
        return Err((StatusCode::UNAUTHORIZED, "a token is needed: open the page with #token=... in its address"));
    }
    let is_json = text(header::CONTENT_TYPE).is_some_and(|kind| kind.starts_with("application/json"));
    if method == Method::POST && !is_json {
        // Pages elsewhere can send anything but this without being asked first.
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, "send JSON, with content-type: application/json"));
    }
    Ok(())
}

fn is_local(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Takes as long for a wrong token as for the right one.
fn knows(authorization: &str, token: &str) -> bool {
    let Some((scheme, shown)) = authorization.split_once(' ') else { return false };
    let differs = shown.bytes().zip(token.bytes()).fold(0, |differs, (a, b)| differs | (a ^ b));
    scheme.eq_ignore_ascii_case("bearer") && shown.len() == token.len() && differs == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(method: Method, path: &str, token: Option<&str>, headers: &[(&'static str, &str)]) -> u16 {
        let headers =
            headers.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap()));
        match verdict(&headers.collect(), &method, path, token) {
            Ok(()) => 200,
            Err((status, _)) => status.as_u16(),
        }
    }

    #[test]
    fn on_loopback_only_local_names_and_our_own_page_are_served() {
        let get = |headers: &[_]| answer(Method::GET, "/api/about", None, headers);
        for host in ["127.0.0.1:8460", "localhost:8460", "localhost", "[::1]:8460", "127.0.0.2"] {
            assert_eq!(get(&[("host", host)]), 200, "{host}");
        }
        for host in ["evil.example:8460", "", "127.0.0.1.evil.example", "192.168.1.2:8460"] {
            assert_eq!(get(&[("host", host)]), 403, "{host}");
        }
        let host = ("host", "127.0.0.1:8460");
        assert_eq!(get(&[host, ("origin", "http://127.0.0.1:8460")]), 200);
        assert_eq!(get(&[host, ("origin", "http://127.0.0.1:9999")]), 403);
        assert_eq!(get(&[host, ("origin", "null")]), 403);
        assert_eq!(get(&[host, ("sec-fetch-site", "cross-site")]), 403);
        assert_eq!(get(&[host, ("sec-fetch-site", "same-origin")]), 200);
        let post = |headers: &[_]| answer(Method::POST, "/api/act", None, headers);
        assert_eq!(post(&[host, ("content-type", "text/plain")]), 415);
        assert_eq!(post(&[host, ("content-type", "application/json")]), 200);
    }

    #[test]
    fn elsewhere_only_with_the_token() {
        let host = ("host", "robot.local:8460");
        let get = |path: &str, headers: &[_]| answer(Method::GET, path, Some("secret"), headers);
        assert_eq!(get("/", &[host]), 200, "the page itself says nothing");
        assert_eq!(get("/api/about", &[host]), 401);
        assert_eq!(get("/api/about", &[host, ("authorization", "Bearer secret")]), 200);
        for wrong in ["Bearer secre", "Bearer secrets", "Basic secret", "secret", "Bearer "] {
            assert_eq!(get("/api/about", &[host, ("authorization", wrong)]), 401, "{wrong}");
        }
        assert_eq!(
            get("/api/about", &[host, ("authorization", "Bearer secret"), ("origin", "http://evil.example")]),
            403
        );
    }
}
