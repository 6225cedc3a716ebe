//! Clients that send anything: every answer is one that the OpenAPI document describes, and the server goes on.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::{Method, Request};
use jsonschema::Validator;
use meshlock_node::http::openapi_document;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use crate::client::{Node, exchange};

/// All addresses, with their methods.
pub(crate) const ROUTES: &[(&str, &str)] = &[
    ("post", "/v1/requests"),
    ("get", "/v1/requests"),
    ("get", "/v1/requests/{id}"),
    ("patch", "/v1/requests/{id}"),
    ("delete", "/v1/requests/{id}"),
    ("post", "/v1/requests/{id}/renew"),
    ("get", "/v1/requests/{id}/events"),
    ("get", "/v1/stream"),
    ("get", "/v1/events"),
    ("get", "/v1/resources"),
    ("get", "/v1/resources/{name}"),
    ("put", "/v1/resources/{name}"),
    ("patch", "/v1/resources/{name}"),
    ("delete", "/v1/resources/{name}"),
    ("post", "/v1/revocations"),
    ("get", "/v1/audit"),
    ("get", "/v1/status"),
    ("get", "/v1/health"),
    ("post", "/v1/removals"),
    ("get", "/metrics"),
    ("get", "/openapi.json"),
];

const NAMES: &[&str] = &["a", "b", "c", "d", "docks", "map", "track", "~1", "~x", "%20", "%ff", "meshlock:registry"];
const WORDS: &[&str] =
    &["mutex", "semaphore", "sessions", "readers-writer", "flood", "group", "reverse-link", "read", "write"];
const QUERIES: &[&str] = &[
    "block_for=1ms",
    "block_for=0",
    "block_for=soon",
    "block_for=-1s",
    "patience=1ms",
    "patience=x",
    "resource=a",
    "resource=docks",
    "resource=%2F",
    "block_for=1ms&block_for=1ms",
    "colour=red",
    "%ff",
    "=&=",
];

/// What a client does next.
#[derive(Clone, Debug)]
enum Step {
    /// A request that is one, at least for HTTP.
    Ask { method: String, route: &'static str, path: String, body: Vec<u8> },
    /// Whatever.
    Noise(Vec<u8>),
}

fn number() -> impl Strategy<Value = Value> {
    let sensible = prop_oneof![Just(1u64), Just(2), Just(3), Just(150), Just(60_000)].prop_map(Value::from);
    prop_oneof![4 => sensible, 1 => any::<i64>().prop_map(Value::from), 1 => any::<f64>().prop_map(Value::from)]
}

fn urgency() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => (-3..12i32).prop_map(|priority| json!({"priority": priority})),
        1 => any::<u64>().prop_map(|deadline| json!({"deadline": deadline})),
        1 => Just(json!("high")),
    ]
}

fn word() -> impl Strategy<Value = Value> {
    let text = |all: &'static [&'static str]| select(all).prop_map(Value::from);
    prop_oneof![4 => text(&NAMES[..7]), 4 => text(WORDS), 1 => ".{0,20}".prop_map(Value::from)]
}

/// A value of the right kind for a field, mostly.
fn field() -> impl Strategy<Value = (&'static str, Value)> {
    prop_oneof![
        4 => (select(&["id", "session", "mode", "owner", "kind", "protocol", "policy"][..]), word()),
        2 => (select(&["units", "lease_ms", "timeout_ms", "capacity", "joins"][..]), number()),
        2 => (Just("urgency"), urgency()),
        1 => (Just("removal"), select(&["AQID", "", "?"][..]).prop_map(Value::from)),
        1 => (Just("order"), select(&[r#""deadline""#, r#"{"priority":{"aging":2}}"#, "7"][..])
                .prop_map(|text| serde_json::from_str(text).expect("JSON"))),
        1 => (select(&["colour", "resource", "id"][..]), any::<bool>().prop_map(Value::from)),
    ]
}

/// Bodies that are right, nearly right, or nothing of the kind.
fn body() -> impl Strategy<Value = Vec<u8>> {
    let small = |most| prop::collection::vec(field(), 0..most);
    let object = |fields: Vec<(&str, Value)>| {
        let fields = fields.into_iter().map(|(name, value)| (name.to_owned(), value));
        Value::Object(fields.collect()).to_string().into_bytes()
    };
    let asking = (select(&NAMES[..7]), select(&NAMES[..7]), small(2)).prop_map(move |(id, resource, mut more)| {
        more.insert(0, ("id", id.into()));
        more.insert(1, ("resource", resource.into()));
        object(more)
    });
    let making = select(&[r#"{"capacity":3}"#, r#"{"kind":"sessions"}"#, r#"{"kind":"readers-writer"}"#, "{}"][..])
        .prop_map(|text| text.as_bytes().to_vec());
    let garbage = prop::collection::vec(any::<u8>(), 0..100);
    prop_oneof![8 => asking, 3 => making, 4 => small(3).prop_map(object), 2 => Just(Vec::new()), 1 => garbage,
        1 => (60_000..70_000usize).prop_map(|length| vec![b'x'; length])]
}

fn step() -> impl Strategy<Value = Step> {
    const OTHERS: &[&str] = &["GET", "PUT", "POST", "PATCH", "DELETE", "OPTIONS"];
    let method = prop_oneof![9 => Just(None), 1 => select(OTHERS).prop_map(Some)];
    let query = prop_oneof![3 => Just(None), 1 => select(QUERIES).prop_map(Some)];
    // The first routes are those where most can go wrong.
    let route = prop_oneof![1 => select(ROUTES), 2 => select(&ROUTES[..6])];
    let ask = (route, method, select(NAMES), query, body());
    let ask = ask.prop_map(|((usual, route), method, name, query, body)| {
        let mut path = route.replace("{id}", name).replace("{name}", name);
        if let Some(query) = query {
            path = format!("{path}?{query}");
        }
        Step::Ask { method: method.map_or_else(|| usual.to_uppercase(), str::to_owned), route, path, body }
    });
    prop_oneof![30 => ask, 1 => prop::collection::vec(any::<u8>(), 0..200).prop_map(Step::Noise)]
}

/// What the document promises.
struct Promise {
    document: Value,
    validators: RefCell<HashMap<String, Validator>>,
}

impl Promise {
    fn new() -> Self {
        Self { document: serde_json::from_str(&openapi_document()).expect("JSON"), validators: RefCell::default() }
    }

    /// The schema of a body, or why this answer was not promised.
    fn check(&self, method: &str, route: &str, status: u16, kind: &str, text: Option<&str>) -> Result<(), String> {
        let operation = &self.document["paths"][route][method.to_lowercase()];
        if operation.is_null() {
            let problem = json!({"$ref": "#/components/schemas/Problem"});
            return if status == 405 { self.validate(problem, text) } else { Err("not 405".into()) };
        }
        let answer = &operation["responses"][status.to_string()];
        if answer.is_null() {
            return Err("this status is not in the document".into());
        }
        let kind = kind.split(';').next().unwrap_or_default();
        let content = &answer["content"];
        match (content.is_null(), kind) {
            (true, "") => Ok(()),
            (true, other) => Err(format!("a body of {other:?}, and none is in the document")),
            (false, kind) if content[kind].is_null() => Err(format!("a body of {kind:?} is not in the document")),
            (false, "application/json") => self.validate(content[kind]["schema"].clone(), text),
            (false, _) => Ok(()),
        }
    }

    fn validate(&self, mut schema: Value, text: Option<&str>) -> Result<(), String> {
        let Some(text) = text else { return Err("no body".into()) };
        let body = serde_json::from_str(text).map_err(|error| format!("{error}: {text:?}"))?;
        let mut validators = self.validators.borrow_mut();
        let validator = validators.entry(schema.to_string()).or_insert_with(|| {
            schema["components"] = self.document["components"].clone();
            jsonschema::validator_for(&schema).expect("a schema")
        });
        validator.validate(&body).map_err(|error| format!("{error} (at {}): {text}", error.instance_path()))
    }
}

async fn take(step: &Step, node: &Node, promise: &Promise) -> Result<(), String> {
    match step {
        Step::Noise(bytes) => {
            let mut client = node.connect().await;
            // The server may close before everything was sent.
            let _ = client.write_all(bytes).await;
            let _ = client.shutdown().await;
            let mut answer = Vec::new();
            let _ = client.read_to_end(&mut answer).await;
            let refused = answer.is_empty() || answer.starts_with(b"HTTP/1.1 4");
            if refused { Ok(()) } else { Err(String::from_utf8_lossy(&answer).into_owned()) }
        }
        Step::Ask { method, route, path, body } => {
            let wanted = Method::from_bytes(method.as_bytes()).expect("a method");
            let request = Request::builder().method(wanted).uri(path).header("host", "x");
            let request = request.body(Full::new(Bytes::copy_from_slice(body))).expect("a request");
            let response = exchange(node.connect().await, request).await;
            let (head, body) = response.into_parts();
            let kind = head.headers.get("content-type").map_or("", |kind| kind.to_str().expect("text"));
            let text = match kind {
                // Streams may go on forever.
                "text/event-stream" => None,
                _ => Some(String::from_utf8(body.collect().await.expect("a body").to_bytes().to_vec()).expect("text")),
            };
            promise.check(method, route, head.status.as_u16(), kind, text.as_deref())
        }
    }
}

#[test]
fn every_answer_is_in_the_document() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let config = Config { cases: 200, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let promise = Promise::new();
    let seen = RefCell::new(BTreeSet::new());
    let result = runner.run(&prop::collection::vec(step(), 1..30), |steps| {
        runtime.block_on(async {
            let node = Node::start().await;
            for step in &steps {
                let taken = take(step, &node, &promise);
                let taken = timeout(Duration::from_secs(30), taken).await;
                let taken = taken.unwrap_or_else(|_| Err("no answer".into()));
                taken.map_err(|why| TestCaseError::fail(format!("{step:?}: {why}")))?;
            }
            let health = node.get("/v1/health").await;
            prop_assert_eq!(health.status, 200);
            let alive = node.get("/v1/requests").await.json();
            seen.borrow_mut().insert(alive != json!([]));
            Ok(())
        })
    });
    result.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(seen.borrow().len(), 2, "the steps are such that requests are granted in some cases");
}
