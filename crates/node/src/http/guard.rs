//! Who may ask over TCP: clients that know the token, and no web page.

use std::net::IpAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use meshlock_api::{Problem, Reason};
use subtle::ConstantTimeEq;

use super::answer::Refusal;
use super::routes::HEALTH;

/// The routes, for those who know the token.
pub(super) fn guarded(router: Router, token: &str) -> Router {
    router.layer(from_fn_with_state(Arc::<str>::from(token), guard))
}

async fn guard(State(token): State<Arc<str>>, request: Request, next: Next) -> Response {
    let knows_token = shows(request.headers(), &token);
    let mut response = match check(&request, knows_token) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    };
    if knows_token != Token::Right {
        // Strangers do not keep a place that a client might need.
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Missing,
    Wrong,
    Right,
}

fn check(request: &Request, token: Token) -> Result<(), Refusal> {
    let forbidden = |message: &str| Err(Refusal::new(StatusCode::FORBIDDEN, Reason::Unauthorized, message));
    if request.headers().contains_key(header::ORIGIN) {
        // Only browsers send it, on behalf of whatever page is open.
        return forbidden("requests of web pages are not served (this one has an Origin header)");
    }
    if token == Token::Right {
        return Ok(());
    }
    if request.uri().path() != HEALTH {
        let how = "send the header \"Authorization: Bearer TOKEN\" with the node's token";
        let what = if token == Token::Wrong { "the bearer token is wrong" } else { "the bearer token is missing" };
        return Err(Problem::new(Reason::Unauthorized, format!("{what}: {how}")).into());
    }
    if !is_plain_address(request.headers()) {
        // A page can give its own name to this machine's address, and then needs no Origin.
        return forbidden("without a token this node answers to its IP address and to localhost only, not to a name");
    }
    Ok(())
}

fn shows(headers: &HeaderMap, token: &str) -> Token {
    let Some(value) = headers.get(header::AUTHORIZATION) else { return Token::Missing };
    let value = value.as_bytes();
    let Some((scheme, shown)) = value.split_at_checked(7) else { return Token::Wrong };
    let is_right = scheme.eq_ignore_ascii_case(b"bearer ") && bool::from(shown.ct_eq(token.as_bytes()));
    if is_right { Token::Right } else { Token::Wrong }
}

fn is_plain_address(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(header::HOST) else { return true };
    let Ok(host) = host.to_str() else { return false };
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        Some(_) | None => host,
    };
    let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost") || address.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_addresses_or_this_machine() {
        let is_plain = |host: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, HeaderValue::from_static(host));
            is_plain_address(&headers)
        };
        for good in ["localhost", "localhost:7", "127.0.0.1:80", "10.0.0.1", "[::1]:8080", "[::1]"] {
            assert!(is_plain(good), "{good}");
        }
        for bad in ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example", "", ":80"] {
            assert!(!is_plain(bad), "{bad}");
        }
    }

    #[test]
    fn tokens_are_compared_as_a_whole() {
        let shown = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, HeaderValue::from_static(value));
            shows(&headers, "secret")
        };
        assert_eq!(shown("Bearer secret"), Token::Right);
        assert_eq!(shown("bearer secret"), Token::Right);
        for wrong in ["", "secret", "Bearer", "Bearer ", "Bearer secre", "Bearer secrets", "Basic secret"] {
            assert_eq!(shown(wrong), Token::Wrong, "{wrong}");
        }
    }
}
