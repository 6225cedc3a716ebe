//! Streams: one connection for all requests of a client, and what its end means for them.

use std::collections::VecDeque;
use std::time::Duration;

use meshlock_api::State;
use meshlock_node::http::Limits;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, Lines, ReadHalf, WriteHalf, split,
};
use tokio::net::UnixStream;
use tokio::time::timeout;

use crate::client::{Node, TOKEN, settings};

/// Far more than anything here takes: only a hang is as long.
const HANG: Duration = Duration::from_secs(60);

/// A client on a stream that does nothing behind one's back.
struct Stream<S> {
    lines: Lines<BufReader<ReadHalf<S>>>,
    sends: WriteHalf<S>,
    hello: Value,
    /// What was pushed before the answer that was waited for.
    pushed: VecDeque<Value>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Stream<S> {
    async fn open(socket: S) -> Self {
        Self::open_with(socket, "").await
    }

    async fn open_with(mut socket: S, header: &str) -> Self {
        let token = format!("authorization: Bearer {TOKEN}\r\n");
        let ask = "GET /v1/stream HTTP/1.1\r\nhost: node\r\nconnection: Upgrade\r\nupgrade: meshlock/1\r\n";
        socket.write_all(format!("{ask}{token}{header}\r\n").as_bytes()).await.expect("sent");
        let (reads, sends) = split(socket);
        let mut lines = BufReader::new(reads).lines();
        assert_eq!(lines.next_line().await.expect("an answer").as_deref(), Some("HTTP/1.1 101 Switching Protocols"));
        while lines.next_line().await.expect("a header").is_some_and(|line| !line.is_empty()) {}
        let mut stream = Self { lines, sends, hello: Value::Null, pushed: VecDeque::new() };
        stream.hello = stream.next().await;
        stream
    }

    async fn say(&mut self, line: impl ToString) {
        self.sends.write_all(format!("{}\n", line.to_string()).as_bytes()).await.expect("sent");
    }

    async fn next(&mut self) -> Value {
        match self.pushed.pop_front() {
            Some(pushed) => pushed,
            None => self.read().await,
        }
    }

    async fn read(&mut self) -> Value {
        let line = timeout(HANG, self.lines.next_line()).await.expect("a line").expect("no error");
        serde_json::from_str(&line.expect("not the end")).expect("JSON")
    }

    /// The next line is the last.
    async fn ends(&mut self) {
        assert!(matches!(timeout(HANG, self.lines.next_line()).await.expect("the end"), Ok(None) | Err(_)));
    }

    /// Says a line, and returns its answer.
    async fn ask(&mut self, line: Value) -> Value {
        self.say(&line).await;
        loop {
            let answer = self.read().await;
            if answer["n"] == line["n"] {
                return answer;
            }
            assert_eq!(answer["n"], Value::Null, "{answer}");
            self.pushed.push_back(answer);
        }
    }

    async fn acquire(&mut self, id: &str, resource: &str) -> String {
        let request = json!({"id": id, "resource": resource, "lease_ms": 3_600_000});
        let answer = self.ask(json!({"n": 1, "do": "acquire", "request": request})).await;
        answer["request"]["state"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    async fn does(&mut self, what: &str, id: &str) -> Value {
        self.ask(json!({"n": 2, "do": what, "id": id})).await
    }
}

impl Node {
    async fn stream(&self) -> Stream<UnixStream> {
        Stream::open(self.connect().await).await
    }

    /// Waits until a request is in another state than this.
    async fn leaves(&self, id: &str, state: State) -> State {
        let ticket = self.hub.find(id).expect("known");
        timeout(HANG, self.hub.changed(ticket, state)).await.expect("it changes")
    }

    fn state(&self, id: &str) -> State {
        self.hub.look(id).expect("known").state
    }
}

#[tokio::test]
async fn a_stream_says_hello_answers_lines_and_pushes_what_changes() {
    let node = Node::start().await;
    let (mut ann, mut bob) = (node.stream().await, node.stream().await);
    assert_eq!(ann.hello["hello"]["node"], "n0");
    assert_eq!(ann.hello["hello"]["mesh"], "test");
    assert_eq!(ann.acquire("a", "r").await, "GRANTED");
    assert_eq!(bob.acquire("b", "r").await, "QUEUED");
    assert_eq!(ann.does("look", "a").await["request"]["state"], "GRANTED");
    assert_eq!(ann.does("renew", "a").await["request"]["state"], "GRANTED");
    let change = json!({"n": 9, "do": "change", "id": "b", "urgency": {"priority": 7}});
    assert_eq!(bob.ask(change).await["request"]["urgency"]["priority"], 7);
    assert_eq!(ann.ask(json!({"n": 10, "do": "ping"})).await, json!({"n": 10, "pong": true}));
    assert_eq!(ann.does("release", "a").await["request"]["state"], "RELEASED");
    let pushed = bob.next().await;
    assert_eq!((&pushed["n"], &pushed["request"]["state"]), (&Value::Null, &json!("GRANTED")));
    assert!(pushed["request"]["fence"].is_u64());
    assert_eq!(bob.does("release", "b").await["request"]["state"], "RELEASED");
}

/// What a client hears that prefers it: nothing that it said itself, and everything of what others did.
#[tokio::test]
async fn a_client_that_prefers_it_hears_in_brief() {
    let node = Node::start().await;
    let prefer = "prefer: respond-async, return=minimal\r\n";
    let mut ann: Stream<UnixStream> = Stream::open_with(node.connect().await, prefer).await;
    let mut bob: Stream<UnixStream> = Stream::open_with(node.connect().await, prefer).await;
    let acquire = |n: u64, id: &str, more: Value| {
        let mut request = json!({"id": id, "resource": "r", "lease_ms": 3_600_000});
        request.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
        json!({"n": n, "do": "acquire", "request": request})
    };
    let granted = ann.ask(acquire(1, "a", json!({}))).await;
    let fence = granted["brief"]["fence"].as_u64().expect("a fence");
    let left = granted["brief"]["expires_in_ms"].as_u64().expect("what is left of the lease");
    let brief = json!({"id": "a", "state": "GRANTED", "fence": fence, "lease_ms": 3_600_000, "expires_in_ms": left});
    assert_eq!(granted, json!({"n": 1, "brief": brief}));
    let waits = bob.ask(acquire(2, "b", json!({}))).await;
    assert_eq!((&waits["brief"]["state"], &waits["brief"]["place"]["ahead"]), (&json!("QUEUED"), &json!(0)), "{waits}");

    assert_eq!(ann.does("look", "a").await["request"]["resource"], "r", "who looks sees everything");
    let released = ann.does("release", "a").await;
    assert_eq!(released, json!({"n": 2, "brief": {"id": "a", "state": "RELEASED", "lease_ms": 3_600_000}}));
    let pushed = bob.next().await;
    assert_eq!((&pushed["brief"]["id"], &pushed["brief"]["state"]), (&json!("b"), &json!("GRANTED")), "{pushed}");

    // What its client did not do itself is told as to everybody.
    assert_eq!(node.hub.release("b").expect("held").state, State::Released);
    let pushed = bob.next().await;
    assert_eq!((&pushed["request"]["resource"], &pushed["request"]["state"]), (&json!("r"), &json!("RELEASED")));
    let again = bob.ask(acquire(3, "b", json!({}))).await;
    assert_eq!(again["request"]["state"], "RELEASED", "it was over before");
    let never = bob.ask(acquire(4, "c", json!({"units": 9}))).await;
    assert!(never["problem"].is_object() || never["request"]["state"] == "REJECTED", "{never}");
}

#[tokio::test]
async fn several_resources_are_told_of_in_brief_part_by_part() {
    let node = Node::start().await;
    let mut ann: Stream<UnixStream> = Stream::open_with(node.connect().await, "prefer: return=minimal\r\n").await;
    let request = json!({"id": "a", "all": [{"resource": "r"}, {"resource": "s"}]});
    let mut told = ann.ask(json!({"n": 1, "do": "acquire", "request": request})).await;
    while told["brief"]["state"] != "GRANTED" {
        told = ann.next().await;
    }
    let parts = told["brief"]["parts"].as_array().expect("parts");
    assert_eq!((&parts[0]["resource"], &parts[1]["resource"]), (&json!("r"), &json!("s")), "{told}");
    assert!(parts.iter().all(|part| part["fence"].is_u64()), "{told}");
}

#[tokio::test]
async fn several_resources_end_with_the_connection_as_one_does() {
    let node = Node::start().await;
    let (mut ann, mut bob) = (node.stream().await, node.stream().await);
    let both = |id: &str| json!({"id": id, "all": [{"resource": "s"}, {"resource": "r"}], "lease_ms": 3_600_000});
    let held = ann.ask(json!({"n": 1, "do": "acquire", "request": both("a")})).await;
    assert_eq!(held["request"]["parts"][1]["state"], "GRANTED", "{held}");
    let waits = bob.ask(json!({"n": 1, "do": "acquire", "request": both("b")})).await;
    assert_eq!(waits["request"]["state"], "QUEUED", "{waits}");
    drop(ann);
    loop {
        let pushed = bob.next().await;
        if pushed["request"]["state"] == "GRANTED" {
            assert!(pushed["request"]["parts"][0]["fence"].is_u64(), "{pushed}");
            break;
        }
    }
    drop(bob);
    assert_eq!(node.leaves("b", State::Granted).await, State::Expired);
}

#[tokio::test]
async fn a_release_and_the_next_acquire_need_no_answer_in_between() {
    let node = Node::start().await;
    let mut ann = node.stream().await;
    let acquire = |n, id: &str| json!({"n": n, "do": "acquire", "request": {"id": id, "resource": "r"}}).to_string();
    let release = |n, id: &str| json!({"n": n, "do": "release", "id": id}).to_string();
    ann.say([acquire(1, "a"), release(2, "a"), acquire(3, "b"), release(4, "b")].join("\n")).await;
    for (n, state) in [(1, "GRANTED"), (2, "RELEASED"), (3, "GRANTED"), (4, "RELEASED")] {
        let answer = ann.next().await;
        assert_eq!((&answer["n"], &answer["request"]["state"]), (&json!(n), &json!(state)));
    }
}

#[tokio::test]
async fn answers_that_may_wait_come_by_themselves_and_in_order() {
    let node = Node::start().await;
    let (mut ann, mut bob) = (node.stream().await, node.stream().await);
    assert_eq!(ann.acquire("a", "r").await, "GRANTED");
    let ask = |n: usize| json!({"n": n, "do": "acquire", "request": {"id": format!("b{n}"), "resource": "r"}});
    let lines: Vec<String> = (0..900).map(|n| ask(n).to_string()).collect();
    bob.say(lines.join("\n")).await;
    for n in 0..900 {
        let answer = loop {
            let line = bob.read().await;
            if !line["n"].is_null() {
                break line; // and not a place that is pushed
            }
        };
        assert_eq!((&answer["n"], &answer["request"]["state"]), (&json!(n), &json!("QUEUED")));
    }
}

#[tokio::test]
async fn requests_of_one_stream_hear_of_each_other() {
    let node = Node::start().await;
    let mut ann = node.stream().await;
    assert_eq!(ann.acquire("a", "r").await, "GRANTED");
    assert_eq!(ann.acquire("b", "r").await, "QUEUED");
    assert_eq!(ann.does("release", "a").await["request"]["state"], "RELEASED", "the answer comes first");
    let pushed = ann.next().await;
    assert_eq!((&pushed["request"]["id"], &pushed["request"]["state"]), (&json!("b"), &json!("GRANTED")));
}

#[tokio::test]
async fn a_client_that_closes_its_connection_loses_everything_at_once() {
    let node = Node::start().await;
    let (mut ann, mut bob, mut cy) = (node.stream().await, node.stream().await, node.stream().await);
    assert_eq!(ann.acquire("held", "r").await, "GRANTED");
    assert_eq!(bob.acquire("next", "r").await, "QUEUED");
    assert_eq!(cy.acquire("other", "s").await, "GRANTED");
    assert_eq!(ann.acquire("waits", "s").await, "QUEUED");
    drop(ann);
    let pushed = bob.next().await; // its lease is an hour, and two seconds would be too long as well
    assert_eq!(pushed["request"]["state"], "GRANTED");
    for id in ["held", "waits"] {
        let info = node.hub.look(id).expect("known");
        assert_eq!((info.state, info.expiry), (State::Expired, Some(meshlock_api::Expiry::Disconnect)), "{id}");
        assert!(info.reason.is_some_and(|reason| reason.contains("closed the connection")));
    }
}

#[tokio::test]
async fn a_client_that_dies_before_it_has_read_its_grant_loses_it() {
    let node = Node::start().await;
    for cut in 0..40 {
        let mut dying = node.stream().await;
        let id = format!("dying-{cut}");
        let line = json!({"n": 1, "do": "acquire", "request": {"id": id, "resource": "r"}}).to_string();
        dying.say(&line).await;
        if cut % 2 == 0 {
            while node.hub.find(&id).is_err() {
                tokio::task::yield_now().await;
            }
        }
        drop(dying);
        let mut next = node.stream().await;
        let state = next.acquire(&format!("next-{cut}"), "r").await;
        if state == "QUEUED" {
            assert_eq!(next.next().await["request"]["state"], "GRANTED");
        }
    }
}

#[tokio::test]
async fn over_tcp_a_closed_connection_is_not_the_end_of_a_client() {
    let node = Node::start().await;
    let mut ann = Stream::open(node.connect_tcp().await).await;
    assert_eq!(ann.acquire("held", "r").await, "GRANTED");
    assert_eq!(ann.acquire("waits", "r").await, "QUEUED");
    assert_eq!(ann.acquire("comes-back", "r").await, "QUEUED");
    drop(ann);
    let mut again = Stream::open(node.connect_tcp().await).await;
    assert_eq!(again.acquire("comes-back", "r").await, "QUEUED", "it keeps its place");
    assert_eq!(node.leaves("waits", State::Queued).await, State::Expired);
    assert_eq!(node.state("held"), State::Granted, "its lease is an hour");
    assert_eq!(again.acquire("held", "r").await, "GRANTED", "and it is the same grant");
    assert_eq!(again.does("release", "held").await["request"]["state"], "RELEASED");
    while again.next().await["request"]["state"] != "GRANTED" {}
    assert_eq!(node.state("comes-back"), State::Granted);
}

#[tokio::test]
async fn the_last_stream_that_acquires_an_id_has_it() {
    let node = Node::start().await;
    let (mut ann, mut bob) = (node.stream().await, node.stream().await);
    for _ in 0..10 {
        assert_eq!(ann.acquire("a", "r").await, "GRANTED");
        assert_eq!(bob.acquire("a", "r").await, "GRANTED");
    }
    let other = json!({"n": 1, "do": "acquire", "request": {"id": "a", "resource": "s"}});
    assert_eq!(ann.ask(other).await["problem"]["reason"], "conflict");
    drop(ann);
    assert_eq!(bob.does("look", "a").await["request"]["state"], "GRANTED");
    drop(bob);
    assert_eq!(node.leaves("a", State::Granted).await, State::Expired);
}

#[tokio::test]
async fn a_stream_keeps_alive_what_waits_but_not_what_is_held() {
    let node = Node::start().await;
    let (mut ann, mut bob) = (node.stream().await, node.stream().await);
    let short = |id: &str| json!({"n": 1, "do": "acquire", "request": {"id": id, "resource": "r", "lease_ms": 300}});
    assert_eq!(ann.acquire("a", "r").await, "GRANTED");
    assert_eq!(bob.ask(short("b")).await["request"]["state"], "QUEUED");
    let ticket = node.hub.find("b").expect("known");
    let end = || node.hub.with(|machine, _| machine.glance(ticket)).expect("known").2;
    let first = end();
    let later = async {
        while end() <= first {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(HANG, later).await.expect("it outlives its lease");
    ann.does("release", "a").await;
    loop {
        let pushed = bob.next().await;
        match pushed["request"]["state"].as_str().expect("a state") {
            "QUEUED" | "GRANTED" => {}
            "EXPIRED" => break assert_eq!(pushed["request"]["expiry"], "lease"),
            state => panic!("{state}"),
        }
    }
}

#[tokio::test]
async fn places_are_pushed_when_they_change() {
    let node = Node::start().await;
    let mut ann = node.stream().await;
    for id in ["a", "b", "c"] {
        ann.acquire(id, "r").await;
    }
    ann.does("release", "b").await;
    let pushed = ann.next().await;
    assert_eq!((&pushed["request"]["id"], &pushed["request"]["state"]), (&json!("c"), &json!("QUEUED")));
    assert_eq!(pushed["request"]["place"]["ahead"], 0);
}

#[tokio::test]
async fn an_anchor_keeps_a_grant_when_its_client_is_gone() {
    let node = Node::start().await;
    let (mut ann, mut anchor, mut next) = (node.stream().await, node.stream().await, node.stream().await);
    let lease = json!({"id": "a", "resource": "r", "lease_ms": 100});
    ann.ask(json!({"n": 1, "do": "acquire", "request": lease})).await;
    assert_eq!(anchor.does("anchor", "a").await["request"]["state"], "GRANTED");
    assert_eq!(next.acquire("next", "r").await, "QUEUED");
    drop(ann);
    tokio::time::sleep(Duration::from_millis(300)).await; // several leases: nothing renews it, and nothing has to
    assert_eq!(node.state("a"), State::Granted);
    drop(anchor);
    loop {
        let pushed = next.next().await;
        if pushed["request"]["state"] == "GRANTED" {
            break;
        }
    }
    assert_eq!(node.hub.look("a").expect("known").expiry, Some(meshlock_api::Expiry::Disconnect));
}

#[tokio::test]
async fn an_anchor_changes_nothing_while_its_client_is_there() {
    let node = Node::start().await;
    let (mut ann, mut anchor) = (node.stream().await, node.stream().await);
    let lease = json!({"id": "a", "resource": "r", "lease_ms": 200});
    ann.ask(json!({"n": 1, "do": "acquire", "request": lease})).await;
    anchor.does("anchor", "a").await;
    assert_eq!(node.leaves("a", State::Granted).await, State::Expired, "a client that hangs loses it");
    ann.acquire("b", "r").await;
    drop(anchor);
    assert_eq!(ann.next().await["request"]["id"], "a", "the expiry was pushed");
    assert_eq!(ann.does("look", "b").await["request"]["state"], "GRANTED");
}

#[tokio::test]
async fn anchors_are_refused_where_they_make_no_sense() {
    let node = Node::start().await;
    let (mut ann, mut anchor) = (node.stream().await, node.stream().await);
    node.post("/v1/requests", json!({"id": "http", "resource": "h"})).await.is(200, "GRANTED");
    ann.acquire("a", "r").await;
    ann.acquire("b", "s").await;
    let reason = |answer: Value| answer["problem"]["reason"].as_str().expect("a problem").to_owned();
    assert_eq!(reason(anchor.does("anchor", "nothing").await), "unknown");
    assert_eq!(reason(anchor.does("anchor", "http").await), "conflict");
    assert_eq!(reason(ann.does("anchor", "a").await), "conflict", "it has requests");
    anchor.does("anchor", "a").await;
    assert_eq!(anchor.does("anchor", "a").await["request"]["state"], "GRANTED", "twice does no harm");
    assert_eq!(reason(anchor.does("anchor", "b").await), "conflict");
    let acquire = json!({"n": 1, "do": "acquire", "request": {"id": "c", "resource": "t"}});
    assert_eq!(reason(anchor.ask(acquire).await), "conflict");
    let mut far = Stream::open(node.connect_tcp().await).await;
    assert_eq!(reason(far.does("anchor", "a").await), "conflict");
    ann.does("release", "b").await;
    assert_eq!(reason(node.stream().await.does("anchor", "b").await), "gone");
}

#[tokio::test]
async fn lines_that_make_no_sense_are_refused_and_the_rest_goes_on() {
    let node = Node::start().await;
    let mut ann = node.stream().await;
    ann.say("").await; // a blank line is none
    for (line, word) in [
        (r#"{"n":5,"do":"dance"}"#, "unknown variant"),
        (r#"{"n":5,"do":"acquire"}"#, "needs a"),
        (r#"{"n":5,"do":"renew"}"#, "id"),
        (r#"{"n":5,"do":"ping","colour":"red"}"#, "unknown field"),
        (r#"{"n":5}"#, "missing field"),
        (r#"{"n":5,"do":"change","id":"a"}"#, "does not know"),
        (r#"{"n":5,"do":"acquire","request":{"resource":"a/b"}}"#, ""),
        (r#"{"n":5,"do":"acquire","request":{"resource":"r","lease_ms":1}}"#, "lease"),
    ] {
        ann.say(line).await;
        let answer = ann.next().await;
        assert_eq!(answer["n"], 5, "{answer}");
        assert!(answer["problem"]["message"].as_str().expect("a problem").contains(word), "{line}: {answer}");
    }
    assert_eq!(ann.acquire("a", "r").await, "GRANTED");
}

#[tokio::test]
async fn garbage_ends_a_stream_but_not_the_grants_of_its_client() {
    let node = Node::start().await;
    for garbage in ["GET / HTTP/1.1", r#"{"do":"ping"}"#, "[1]", r#"{"n":-1,"do":"ping"}"#, "{\"n\":1", "\u{0}\u{1}"] {
        let mut ann = node.stream().await;
        ann.acquire("a", "r").await;
        ann.say(garbage).await;
        let answer = ann.next().await;
        assert_eq!((&answer["n"], &answer["problem"]["reason"]), (&Value::Null, &json!("bad-request")), "{garbage}");
        ann.ends().await;
        assert_eq!(node.state("a"), State::Granted, "a client that talks is alive, and has its lease");
    }
    let mut ann = node.stream().await;
    ann.acquire("b", "s").await;
    ann.sends.write_all(b"{\"n\":1,\"do\":\"rel").await.expect("sent");
    drop(ann); // half a line, then the end
    assert_eq!(node.leaves("b", State::Granted).await, State::Expired);
}

#[tokio::test]
async fn a_line_has_up_to_64_kib() {
    let node = Node::start().await;
    let mut ann = node.stream().await;
    let line = |length: usize| {
        let line = r#"{"n":1,"do":"ping"}"#;
        format!("{line}{}", " ".repeat(length - line.len()))
    };
    ann.say(line(65_536)).await;
    assert_eq!(ann.next().await["pong"], true);
    ann.say(line(65_537)).await;
    assert_eq!(ann.next().await["problem"]["reason"], "too-large");
    ann.ends().await;
    let mut endless = node.stream().await;
    endless.sends.write_all(&vec![b' '; 65_537]).await.expect("sent");
    assert_eq!(endless.next().await["problem"]["reason"], "too-large", "without a newline as well");
    endless.ends().await;
}

#[tokio::test]
async fn a_client_that_does_not_read_is_cut_off_and_keeps_its_lease() {
    let limits = Limits { stalled: Duration::from_millis(50), ..Limits::default() };
    let node = Node::with_config(|config| config.limits = limits).await;
    let mut ann = node.stream().await;
    ann.acquire("a", "r").await;
    let flood = format!("{}\n", json!({"n": 1, "do": "look", "id": "a"})).repeat(1_000);
    // It reads nothing: the node sees that it cannot send, and does not read for ever either.
    let sent = async { while ann.sends.write_all(flood.as_bytes()).await.is_ok() {} };
    timeout(HANG, sent).await.expect("it is cut off");
    assert_eq!(node.state("a"), State::Granted);
    let mut again = node.stream().await;
    assert_eq!(again.acquire("a", "r").await, "GRANTED", "it comes back and has it");
}

#[tokio::test]
async fn a_client_that_leaves_too_much_unread_is_cut_off_at_once() {
    let node = Node::start().await; // which would wait for 30 s otherwise
    let mut ann = node.stream().await;
    ann.acquire("a", "r").await;
    let flood = format!("{}\n", json!({"n": 1, "do": "look", "id": "a"})).repeat(1_000);
    let sent = async { while ann.sends.write_all(flood.as_bytes()).await.is_ok() {} };
    timeout(Duration::from_secs(25), sent).await.expect("it is cut off");
}

#[tokio::test]
async fn a_stream_carries_ten_thousand_requests() {
    let node = Node::with(meshlock_node::machine::Settings { most_requests: 20_000, ..settings() }, |_| ()).await;
    let mut ann = node.stream().await;
    for first in (0..10_000).step_by(100) {
        let line =
            |n| json!({"n": n, "do": "acquire", "request": {"id": format!("r{n}"), "resource": "r"}}).to_string();
        ann.say((first..first + 100).map(line).collect::<Vec<_>>().join("\n")).await;
        for n in first..first + 100 {
            loop {
                let answer = ann.next().await;
                if answer["n"] == n {
                    let expected = if n == 0 { "GRANTED" } else { "QUEUED" };
                    break assert_eq!(answer["request"]["state"], expected);
                }
                assert_eq!(answer["n"], Value::Null, "news of places only");
            }
        }
    }
    drop(ann);
    let none = async {
        while !node.hub.requests().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(HANG, none).await.expect("all of them end");
    assert_eq!(node.state("r0"), State::Expired);
}

#[tokio::test]
async fn a_thousand_streams_take_turns() {
    let node = Node::start().await;
    let mut streams = Vec::new();
    for number in 0..1_000 {
        let mut stream = node.stream().await;
        let state = stream.acquire(&format!("r{number}"), "r").await;
        assert_eq!(state, if number == 0 { "GRANTED" } else { "QUEUED" });
        streams.push(stream);
    }
    for (number, mut stream) in streams.into_iter().enumerate() {
        while number > 0 && stream.next().await["request"]["state"] != "GRANTED" {}
        if number % 2 == 0 {
            stream.say(json!({"n": 2, "do": "release", "id": format!("r{number}")})).await;
        }
        drop(stream); // half of them without a word
    }
}

#[tokio::test]
async fn a_busy_stream_is_never_closed_for_a_newcomer() {
    let node = Node::with_config(|config| config.max_clients = 2).await;
    let mut holder = node.stream().await;
    holder.acquire("a", "r").await;
    let mut idle = node.stream().await;
    let mut third = node.stream().await;
    idle.ends().await;
    let mut fourth = node.stream().await;
    third.ends().await;
    fourth.does("anchor", "a").await;
    let mut refused = node.connect().await;
    let mut answer = String::new();
    refused.read_to_string(&mut answer).await.expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    assert_eq!(holder.does("look", "a").await["request"]["state"], "GRANTED");
}

#[tokio::test]
async fn only_this_protocol_is_spoken() {
    let node = Node::start().await;
    let refused = node.get("/v1/stream").await;
    refused.is_problem(426, "bad-request");
    assert_eq!(refused.headers["upgrade"], "meshlock/1");
    for (headers, status) in [("upgrade: websocket\r\n", "426"), ("upgrade: meshlock/2\r\n", "426")] {
        let mut socket = node.connect().await;
        let ask = format!("GET /v1/stream HTTP/1.1\r\nhost: node\r\nconnection: Upgrade, close\r\n{headers}\r\n");
        socket.write_all(ask.as_bytes()).await.expect("sent");
        let mut answer = String::new();
        socket.read_to_string(&mut answer).await.expect("an answer");
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
    }
    let mut stranger = node.connect_tcp().await;
    let ask = "GET /v1/stream HTTP/1.1\r\nhost: localhost\r\nconnection: Upgrade\r\nupgrade: meshlock/1\r\n\r\n";
    stranger.write_all(ask.as_bytes()).await.expect("sent");
    let mut answer = String::new();
    stranger.read_to_string(&mut answer).await.expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
}

#[tokio::test]
async fn lines_may_come_together_with_the_upgrade() {
    let node = Node::start().await;
    let mut socket = node.connect().await;
    let ask = "GET /v1/stream HTTP/1.1\r\nhost: node\r\nconnection: Upgrade\r\nupgrade: meshlock/1\r\n\r\n";
    socket.write_all(format!("{ask}{}\n", json!({"n": 1, "do": "ping"})).as_bytes()).await.expect("sent");
    let mut lines = BufReader::new(socket).lines();
    loop {
        let line = timeout(HANG, lines.next_line()).await.expect("a line").expect("no error").expect("not the end");
        if line == r#"{"n":1,"pong":true}"# {
            return;
        }
    }
}

#[tokio::test]
async fn a_node_that_stops_tells_and_waits_for_the_word_of_its_clients() {
    let node = Node::start().await;
    let (mut ann, mut bob, mut hangs) = (node.stream().await, node.stream().await, node.stream().await);
    ann.acquire("a", "r").await;
    bob.acquire("b", "s").await;
    hangs.acquire("c", "t").await;
    node.hub.with(|machine, now| machine.stop(now));
    assert_eq!(ann.next().await["request"]["state"], "REVOKED");
    let lingers = |id: &str| node.hub.with(|machine, _| machine.lingering().iter().any(|held| held.id == id));
    assert!(lingers("a") && lingers("b") && lingers("c"));
    ann.does("release", "a").await;
    assert!(!lingers("a") && lingers("b"));
    drop(bob);
    let gone = async {
        while lingers("b") {
            tokio::task::yield_now().await;
        }
    };
    timeout(HANG, gone).await.expect("its client is gone for certain");
    let Node { server, hub, .. } = node;
    timeout(HANG, server.stop()).await.expect("it stops");
    while hangs.next().await["request"]["state"] != "REVOKED" {}
    hangs.ends().await;
    let held = hub.with(|machine, _| machine.lingering());
    assert_eq!(held.len(), 1, "the node closed that connection itself: its client may be at work");
}
