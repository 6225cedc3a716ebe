//! Streams: one connection that carries all requests of a client, as lines of JSON. `docs/stream.md` is the description.

use std::borrow::Cow;
use std::future::poll_fn;
use std::mem::MaybeUninit;
use std::ops::ControlFlow;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use memchr::memchr;
use meshlock_api::stream::{Act, BRIEF, ClientLine, Hello, LONGEST_LINE, NodeLine, PROTOCOL};
use meshlock_api::{Problem, Reason};
use meshlock_serve::{ReadHalf, Socket, Taken, Takeover, stopped};
use serde::Deserialize;
use socket2::{SockRef, TcpKeepalive};
use tokio::io::ReadBuf;
use tokio::time::{Instant, sleep_until};

use super::answer::Refusal;
use super::outlet::{HOLD, Outlet, Trouble};
use super::routes::App;
use crate::hub::{Hub, StreamUser};
use crate::machine::{ClosedBy, Detail, Machine, Now, Origin, StreamId, Ticket, ToldPlace};

/// What a client would like, and whether it gets it (RFC 7240).
const PREFER: HeaderName = HeaderName::from_static("prefer");
const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");
/// How much is read at once.
const CHUNK: usize = 8 << 10;

/// One connection for all requests of a client
///
/// Needs the header `Upgrade: meshlock/1`. After the answer the connection carries lines of JSON in both directions;
/// docs/stream.md describes them.
#[utoipa::path(
    get, path = "/v1/stream", operation_id = "stream", tag = "requests",
    responses(
        (status = 101, description = "The connection is a stream from now on."),
        (status = 426, description = "The header Upgrade is missing, or names a version that this node does not speak.",
            body = Problem, example = json!({
                "reason": "bad-request", "message": "this address is for streams: send the header \"Upgrade: meshlock/1\""})),
    ),
)]
pub(super) async fn open(
    State(app): State<App>,
    headers: HeaderMap,
    takeover: Option<Extension<Takeover>>,
) -> Result<Response, Response> {
    let wanted = headers.get(header::UPGRADE).and_then(|value| value.to_str().ok());
    let Some(Extension(takeover)) = takeover.filter(|_| wanted.is_some_and(names_protocol)) else {
        let message = format!("this address is for streams: send the header \"Upgrade: {PROTOCOL}\"");
        let mut refusal = Refusal::new(StatusCode::UPGRADE_REQUIRED, Reason::BadRequest, message).into_response();
        refusal.headers_mut().insert(header::UPGRADE, HeaderValue::from_static(PROTOCOL));
        return Err(refusal);
    };
    let is_brief = headers.get_all(PREFER).iter().filter_map(|value| value.to_str().ok()).any(prefers_brief);
    let detail = if is_brief { Detail::Brief } else { Detail::Full };
    takeover.then(move |taken| serve(app, taken, detail));
    let mut answer = Response::new(Body::empty());
    if is_brief {
        answer.headers_mut().insert(PREFERENCE_APPLIED, HeaderValue::from_static(BRIEF));
    }
    *answer.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    answer.headers_mut().insert(header::UPGRADE, HeaderValue::from_static(PROTOCOL));
    Ok(answer)
}

fn names_protocol(wanted: &str) -> bool {
    wanted.split(',').any(|name| name.trim().eq_ignore_ascii_case(PROTOCOL))
}

fn prefers_brief(wanted: &str) -> bool {
    wanted.split(',').any(|preference| preference.trim().eq_ignore_ascii_case(BRIEF))
}

/// Serves a client until it goes, or the node does.
async fn serve(app: App, taken: Taken, detail: Detail) {
    let Taken { socket, read, presence } = taken;
    let origin = match &socket {
        Socket::Unix(_) => Origin::Local,
        Socket::Tcp(stream) => {
            // A client that vanished without a word must not wait in queues for hours.
            let keepalive = TcpKeepalive::new()
                .with_time(Duration::from_secs(10))
                .with_interval(Duration::from_secs(5))
                .with_retries(3);
            if let Err(error) = SockRef::from(stream).set_tcp_keepalive(&keepalive) {
                tracing::debug!("a connection cannot be watched: {error}");
            }
            Origin::Remote
        }
    };
    let (reads, writes) = socket.into_split();
    let outlet = Arc::new(Outlet::new(writes, presence, detail));
    outlet.say(&NodeLine { hello: Some(Cow::Owned(hello(&app.hub))), ..NodeLine::default() });
    let id = app.hub.open_stream(origin, Arc::clone(&outlet) as Arc<dyn StreamUser>);
    let stalled = app.limits.stalled;
    // From here on the end of this future, however it comes, closes the stream.
    let mut stream = Stream {
        hub: Arc::clone(&app.hub),
        id,
        outlet,
        rest: Vec::new(),
        hurries: false,
        owes: false,
        by: ClosedBy::Node,
    };
    tokio::select! {
        biased;
        by = stream.run(reads, &read, stalled) => stream.by = by,
        () = stopped(app.stop.clone()) => stream.outlet.flush_all(),
    }
}

fn hello(hub: &Hub) -> Hello {
    hub.with(|machine, _| {
        let settings = machine.settings();
        Hello {
            node: settings.name.clone(),
            mesh: settings.mesh.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    })
}

/// A stream at this node's end.
struct Stream {
    hub: Arc<Hub>,
    id: StreamId,
    outlet: Arc<Outlet>,
    /// The beginning of a line.
    rest: Vec<u8>,
    /// Links have something to send because of what the client said.
    hurries: bool,
    /// They were let go first, and answers are to be sent now.
    owes: bool,
    by: ClosedBy,
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.hub.close_stream(self.id, self.by);
    }
}

/// A line of which only the number can be read.
#[derive(Deserialize)]
struct Numbered {
    n: u64,
}

impl Stream {
    /// Until the connection has to be closed; who is the cause.
    async fn run(&mut self, mut reads: ReadHalf, first: &[u8], stalled: Duration) -> ClosedBy {
        if let ControlFlow::Break(by) = self.take(first) {
            return by;
        }
        self.outlet.flush();
        let outlet = Arc::clone(&self.outlet);
        let mut patient_until: Option<Instant> = None;
        // For what is held back. It is not set anew for each line.
        let mut alarm = pin!(sleep_until(Instant::now()));
        let mut is_set = false;
        loop {
            if !is_set && outlet.holds() {
                alarm.as_mut().reset(Instant::now() + HOLD);
                is_set = true;
            }
            match outlet.trouble() {
                None => patient_until = None,
                Some(Trouble::Full) => patient_until = patient_until.or_else(|| Some(Instant::now() + stalled)),
                Some(Trouble::TooMuch) => return ClosedBy::Node,
                Some(Trouble::Broken) => return ClosedBy::Client,
            }
            tokio::select! {
                biased;
                () = outlet.attention.notified() => {}
                // Ahead of what is read: a client that never pauses must hear, too.
                () = alarm.as_mut(), if is_set => {
                    is_set = false;
                    outlet.flush_all();
                }
                read = poll_fn(|context| self.poll_lines(&mut reads, context)) => {
                    if let ControlFlow::Break(by) = read {
                        return by;
                    }
                }
                _ = outlet.socket.writable(), if patient_until.is_some() => {
                    outlet.go_on();
                    patient_until = None;
                }
                () = sleep_until(patient_until.unwrap_or_else(Instant::now)), if patient_until.is_some() => {
                    tracing::debug!("a client does not read its stream");
                    return ClosedBy::Node;
                }
            }
        }
    }

    /// Reads once, and handles the lines that are complete. What the client is told is sent at the end, and after what
    /// links have to send because of it: this task comes last, then. The buffer is on the stack: a stream that is silent costs
    /// none.
    fn poll_lines(&mut self, reads: &mut ReadHalf, context: &mut Context<'_>) -> Poll<ControlFlow<ClosedBy>> {
        if std::mem::take(&mut self.owes) {
            self.outlet.flush();
            return Poll::Ready(ControlFlow::Continue(())); // an answer that can wait needs its alarm
        }
        let mut chunk = [MaybeUninit::uninit(); CHUNK];
        let mut buffer = ReadBuf::uninit(&mut chunk);
        if ready!(reads.poll_read(context, &mut buffer)).is_err() || buffer.filled().is_empty() {
            return Poll::Ready(ControlFlow::Break(ClosedBy::Client));
        }
        let taken = self.take(buffer.filled());
        if std::mem::take(&mut self.hurries) && taken.is_continue() {
            // The token is for a client that waits elsewhere; this one has only to hear that it has been given back.
            self.owes = true;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.outlet.flush();
        Poll::Ready(taken)
    }

    /// Handles the lines that are complete.
    fn take(&mut self, mut bytes: &[u8]) -> ControlFlow<ClosedBy> {
        while let Some(end) = memchr(b'\n', bytes) {
            let (line, after) = (bytes.get(..end).unwrap_or_default(), bytes.get(end + 1..).unwrap_or_default());
            bytes = after;
            if self.rest.len() + line.len() > LONGEST_LINE {
                return self.too_long();
            }
            if self.rest.is_empty() {
                self.handle(line)?;
            } else {
                let mut rest = std::mem::take(&mut self.rest);
                rest.extend_from_slice(line);
                self.handle(&rest)?;
            }
        }
        self.rest.extend_from_slice(bytes);
        if self.rest.len() > LONGEST_LINE { self.too_long() } else { ControlFlow::Continue(()) }
    }

    fn too_long(&self) -> ControlFlow<ClosedBy> {
        let message = format!("a line is longer than {LONGEST_LINE} bytes; nothing here needs that much");
        self.outlet.refuse(None, &Problem::new(Reason::TooLarge, message));
        ControlFlow::Break(ClosedBy::Node)
    }

    fn handle(&mut self, line: &[u8]) -> ControlFlow<ClosedBy> {
        if line.trim_ascii().is_empty() {
            return ControlFlow::Continue(());
        }
        // Serde would take an array of the fields' values for the object.
        let is_object = line.trim_ascii_start().starts_with(b"{");
        match read(line) {
            Ok(said) if is_object => self.answer(said),
            Ok(_) => {
                self.outlet.refuse(None, &Problem::bad_request("the line is not a JSON object"));
                return ControlFlow::Break(ClosedBy::Node);
            }
            Err(error) => {
                let problem = Problem::bad_request(format!("the line is not what belongs here: {error}"));
                let number =
                    serde_json::from_slice::<Numbered>(line).ok().filter(|_| is_object).map(|Numbered { n }| n);
                self.outlet.refuse(number, &problem);
                if number.is_none() {
                    return ControlFlow::Break(ClosedBy::Node);
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn answer(&mut self, said: ClientLine<'_>) {
        let (n, id, outlet) = (said.n, self.id, &self.outlet);
        if said.act == Act::Ping {
            outlet.heard(self.hub.with(|machine, _| machine.is_stream_used(id)));
            return outlet.say(&NodeLine { n: Some(n), pong: Some(true), ..NodeLine::default() });
        }
        let detail = match said.act {
            Act::Acquire => outlet.detail,
            Act::Release if outlet.detail == Detail::Brief => Detail::BriefToTheEnd,
            // Whoever looks wants to see.
            Act::Release | Act::Renew | Act::Change | Act::Look | Act::Anchor | Act::Ping => Detail::Full,
        };
        self.hurries |= self.hub.answer(
            |machine, now| act(machine, now, id, said),
            |machine, now, done| {
                match done.and_then(|ticket| Ok((ticket, machine.line(now, ticket, detail)?))) {
                    Ok((ticket, line)) => {
                        let told = ToldPlace::in_line(&line);
                        outlet.answer(n, line);
                        machine.told(id, ticket);
                        if let Some(told) = told {
                            machine.note_place(ticket, told);
                        }
                    }
                    Err(problem) => outlet.refuse(Some(n), &problem),
                }
                outlet.heard(machine.is_stream_used(id));
            },
        );
    }
}

/// A line as what it says. Its text is looked at once as a whole, and not string by string.
fn read(line: &[u8]) -> Result<ClientLine<'_>, serde_json::Error> {
    std::str::from_utf8(line).map_or_else(|_| serde_json::from_slice(line), serde_json::from_str)
}

/// Does what a line says.
fn act(machine: &mut Machine, now: Now, stream: StreamId, said: ClientLine<'_>) -> Result<Ticket, Problem> {
    if said.act == Act::Acquire {
        let missing = || Problem::bad_request("\"acquire\" needs a \"request\" with what is wanted");
        let asked = said.request.ok_or_else(missing)?.into_owned();
        if machine.is_anchor(stream) {
            return Err(Problem::conflict("this connection is an anchor: acquire on another one"));
        }
        let ticket = machine.ask(now, asked)?;
        machine.take_over(now, stream, ticket);
        return Ok(ticket);
    }
    let missing = || Problem::bad_request("the \"id\" of the request is missing");
    let ticket = machine.find(&said.id.ok_or_else(missing)?)?;
    match said.act {
        Act::Acquire | Act::Ping | Act::Look => {}
        Act::Renew => machine.renew(now, ticket, said.lease_ms)?,
        Act::Release => machine.release(now, ticket),
        Act::Anchor => machine.anchor(stream, ticket)?,
        Act::Change => {
            let missing = || Problem::bad_request("\"change\" needs an \"urgency\", such as {\"priority\":7}");
            machine.reprioritize(now, ticket, said.urgency.ok_or_else(missing)?)?;
        }
    }
    Ok(ticket)
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Read, Write};
    use std::os::unix::net::UnixStream;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::task::{Wake, Waker};

    use meshlock_core::NodeId;
    use meshlock_serve::Presence;
    use tokio::task::yield_now;

    use super::*;
    use crate::links::{LinkId, LinkUser, Peer};
    use crate::machine::Settings;

    #[derive(Default)]
    struct Woken(AtomicBool);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    /// What the client could read at this moment.
    fn heard(mut client: &UnixStream) -> String {
        let mut bytes = [0; 4_096];
        match client.read(&mut bytes) {
            Ok(count) => String::from_utf8_lossy(&bytes[..count]).into_owned(),
            Err(error) if error.kind() == ErrorKind::WouldBlock => String::new(),
            Err(error) => panic!("{error}"),
        }
    }

    #[tokio::test]
    async fn what_a_neighbour_waits_for_goes_before_the_answer_and_nothing_else_delays_it() {
        let (hub, _) = Hub::new(Machine::new(Settings::founder("test", "n0")));
        let neighbour = Peer { node: NodeId(1), name: "n1".into(), address: ([127, 0, 0, 1], 1).into() };
        let mut frames = hub.up(LinkId(1), &neighbour).unwrap();
        frames.waiting();
        let (client, node) = UnixStream::pair().unwrap();
        client.set_nonblocking(true).unwrap();
        node.set_nonblocking(true).unwrap();
        let socket = Socket::Unix(tokio::net::UnixStream::from_std(node).unwrap());
        let (mut reads, writes) = socket.into_split();
        let outlet = Arc::new(Outlet::new(writes, Presence::default(), Detail::Full));
        let id = hub.open_stream(Origin::Local, Arc::clone(&outlet) as Arc<dyn StreamUser>);
        let mut stream =
            Stream { hub: Arc::clone(&hub), id, outlet, rest: vec![], hurries: false, owes: false, by: ClosedBy::Node };
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&woken));
        let mut context = Context::from_waker(&waker);

        // A resource that is made on the way has to be told to the neighbour.
        (&client)
            .write_all(b"{\"n\":1,\"do\":\"acquire\",\"request\":{\"id\":\"a\",\"resource\":\"dock\"}}\n")
            .unwrap();
        loop {
            woken.0.store(false, Ordering::Relaxed);
            assert!(stream.poll_lines(&mut reads, &mut context).is_pending());
            if !frames.waiting().is_empty() {
                break;
            }
            yield_now().await; // until the runtime has seen that there is something to read
        }
        assert_eq!(heard(&client), "", "not before links had their turn");
        assert!(woken.0.load(Ordering::Relaxed), "it comes back by itself");
        assert!(stream.poll_lines(&mut reads, &mut context).is_ready(), "so that an alarm is set for what can wait");
        assert!(heard(&client).contains("GRANTED"));

        (&client).write_all(b"{\"n\":2,\"do\":\"release\",\"id\":\"a\"}\n").unwrap();
        while stream.poll_lines(&mut reads, &mut context).is_pending() {
            assert_eq!(heard(&client), "");
            yield_now().await;
        }
        assert!(heard(&client).contains("RELEASED"), "nobody else waits for anything, so it is answered at once");
        assert!(frames.waiting().is_empty());
    }
}
