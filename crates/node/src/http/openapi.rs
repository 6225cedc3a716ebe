//! The description of the interface for programs, made of the very types and functions that serve it.

use axum::http::header;
use axum::response::{IntoResponse, Response};
use meshlock_api::{Event, Problem};
use utoipa::openapi::path::Operation;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{Components, Content, OpenApi as Document, Ref, RefOr, ResponseBuilder};
use utoipa::{Modify, OpenApi};

use super::{limits, mesh, operators, requests, resources, stream, streams};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "meshlock",
        description = "Locks, semaphores, sessions and readers-writer locks without a lock server. Every error is a \
            `Problem`; an unknown address gets 404 and a wrong method 405.",
        license(name = "MIT OR Apache-2.0"),
    ),
    paths(
        requests::ask, requests::list, requests::look, requests::renew, requests::change, requests::release,
        stream::open, streams::of_request, streams::of_node,
        resources::list, resources::look, resources::make, resources::change, resources::remove,
        operators::revoke, operators::audit, mesh::status, mesh::health, mesh::remove, mesh::metrics, serve,
    ),
    components(schemas(Problem, Event)),
    tags(
        (name = "requests", description = "Ask for a resource, keep it, give it back."),
        (name = "resources", description = "What can be locked."),
        (name = "mesh", description = "The node and its mesh."),
    ),
    security(("token" = [])),
    modifiers(&Everywhere),
)]
struct Interface;

/// What every address has in common.
struct Everywhere;

impl Modify for Everywhere {
    fn modify(&self, document: &mut Document) {
        let components = document.components.get_or_insert_with(Components::new);
        let mut token = Http::new(HttpAuthScheme::Bearer);
        token.description = Some("Over TCP. The Unix socket needs none: its file's mode decides.".into());
        components.add_security_scheme("token", SecurityScheme::Http(token));
        for item in document.paths.paths.values_mut() {
            let methods = [&mut item.get, &mut item.put, &mut item.post, &mut item.patch, &mut item.delete];
            for operation in methods.into_iter().flatten() {
                add_common_answers(operation);
                limits::constrain_address(operation);
            }
        }
        if let Some(components) = &mut document.components {
            limits::constrain_bodies(components);
        }
    }
}

fn add_common_answers(operation: &mut Operation) {
    let mut common = vec![
        ("403", "Over TCP: the request comes from a web page, or names a host that is no address and has no token."),
        ("503", "The node is shutting down, or has as many clients as it can serve."),
    ];
    if operation.security.is_none() {
        common.push(("401", "Over TCP: the bearer token is missing or wrong."));
    }
    if operation.request_body.is_some() || operation.parameters.as_ref().is_some_and(|all| !all.is_empty()) {
        common.push(("400", "The question makes no sense: the message says what is wrong."));
    }
    if operation.request_body.is_some() {
        common.push(("408", "The body did not arrive in time."));
        common.push(("413", "The body is larger than 64 KiB."));
    }
    for (status, description) in common {
        let problem = Content::new(Some(Ref::from_schema_name("Problem")));
        let response = ResponseBuilder::new().description(description).content("application/json", problem).build();
        operation.responses.responses.entry(status.into()).or_insert(RefOr::T(response));
    }
}

/// The OpenAPI document as text.
pub fn document() -> String {
    let document = Interface::openapi();
    let mut text = document.to_pretty_json().unwrap_or_default();
    text.push('\n');
    text
}

/// This document
#[utoipa::path(
    get, path = "/openapi.json", operation_id = "openapi", tag = "mesh",
    responses((status = 200, description = "OpenAPI 3.1.", body = Object, content_type = "application/json")),
)]
pub(super) async fn serve() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], document()).into_response()
}
