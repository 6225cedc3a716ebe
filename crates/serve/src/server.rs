//! Accepts connections, finds places for them, ends in bounded time.

use std::convert::Infallible;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, header};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::delivery::Delivery;
use crate::patience::{Answering, Busy, Limits, Patient};
use crate::places::Places;
use crate::size::{LARGEST_HEADER, refuse_large_header};
use crate::takeover::{Socket, Taken, Takeover};

/// How long answers that are under way may still take when the server stops.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// What is served on a listener.
#[derive(Debug)]
pub struct Port {
    /// What answers.
    pub router: Router,
    /// How long slow peers may take.
    pub limits: Limits,
    /// How many connections there may be at a time. For one more the one that was silent for longest is closed; if all are
    /// being answered, it is refused with 503.
    pub most: usize,
    /// Becomes true when the server is about to end.
    pub stop: watch::Receiver<bool>,
}

/// Where connections come from.
pub trait Listener: Send + 'static {
    /// A connection.
    type Stream: AsyncRead + AsyncWrite + Into<Socket> + Unpin + Send + 'static;

    /// The next one.
    fn accept(&self) -> impl Future<Output = io::Result<Self::Stream>> + Send;
}

impl Listener for UnixListener {
    type Stream = tokio::net::UnixStream;

    async fn accept(&self) -> io::Result<Self::Stream> {
        Self::accept(self).await.map(|(stream, _)| stream)
    }
}

impl Listener for TcpListener {
    type Stream = tokio::net::TcpStream;

    async fn accept(&self) -> io::Result<Self::Stream> {
        let (stream, _) = Self::accept(self).await?;
        // Answers are small and a client waits for each: none is held back to be sent with the next.
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}

/// Waits until a server is about to end.
pub async fn stopped(mut stop: watch::Receiver<bool>) {
    // An error means that the server is gone already.
    let _ = stop.wait_for(|stopping| *stopping).await;
}

/// Serves until it is told to stop, and then for as long as answers that are under way take, a few seconds at most. When
/// this is dropped, all connections end at once.
pub async fn serve<L: Listener>(listener: L, port: Port) {
    let mut places = Places::new(port.most);
    let stop = stopped(port.stop.clone());
    tokio::pin!(stop);
    loop {
        let accepted = tokio::select! {
            () = &mut stop => break,
            () = places.one_ends() => continue,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok(stream) if places.make_room() => {
                let busy = Busy::default();
                places.take(busy.clone(), converse(stream, busy, port.router.clone(), port.limits, port.stop.clone()));
            }
            Ok(stream) => refuse(stream).await,
            Err(error) => {
                tracing::warn!("a connection cannot be accepted: {error}");
                // Too many open files, of this process or of all: a connection has to close before it can get better.
                if matches!(error.raw_os_error(), Some(23 | 24)) {
                    places.close_quietest();
                }
                sleep(Duration::from_millis(50)).await;
            }
        }
    }
    drop(listener);
    // Connections that are still here then are cut off, because the set is dropped.
    let _ = timeout(LAST_WORDS, places.all_end()).await;
}

/// Tells one peer too many, if it can be told without waiting.
async fn refuse(mut stream: impl AsyncWrite + Unpin) {
    const FULL: &str = concat!(
        r#"{"reason":"unavailable","message":"as many clients as can be served are being answered; "#,
        r#"try again later, or close connections that are not used"}"#
    );
    let head = "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nconnection: close";
    let answer = format!("{head}\r\ncontent-length: {}\r\n\r\n{FULL}", FULL.len());
    let _ = timeout(Duration::from_millis(10), stream.write_all(answer.as_bytes())).await;
}

/// Answers one peer until it goes.
async fn converse<S>(stream: S, busy: Busy, router: Router, limits: Limits, stop: watch::Receiver<bool>)
where
    S: AsyncRead + AsyncWrite + Into<Socket> + Unpin + Send + 'static,
{
    let io = TokioIo::new(Patient::new(stream, limits, busy.clone()));
    let delivery = Delivery::default();
    let (takeover, upgrade) = (Takeover::default(), Arc::new(Mutex::new(None)));
    let (answers, is_busy) = (delivery.clone(), busy.clone());
    let (takes_over, upgrades) = (takeover.clone(), Arc::clone(&upgrade));
    let service = service_fn(move |mut request: Request<Incoming>| {
        let until_answered = is_busy.begin();
        let mut router = router.clone();
        answers.arrived(); // a client that asks the next thing has read the last answer
        request.extensions_mut().insert(answers.clone());
        if request.headers().contains_key(header::UPGRADE) {
            *upgrades.lock().unwrap_or_else(PoisonError::into_inner) = Some(hyper::upgrade::on(&mut request));
            request.extensions_mut().insert(takes_over.clone());
        }
        async move {
            let answer = match refuse_large_header(&request) {
                Some(refused) => refused,
                None => tower_service::Service::call(&mut router, request.map(Body::new)).await?,
            };
            Ok::<_, Infallible>(answer.map(|body| Answering { body, _busy: until_answered }))
        }
    });
    let mut builder = http1::Builder::new();
    // No client needs a date, and before 1970 there is none to write.
    builder.max_buf_size(LARGEST_HEADER).header_read_timeout(None).auto_date_header(false);
    let connection = builder.serve_connection(io, service).with_upgrades();
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stopped(stop) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if busy.is_broken() {
        delivery.failed();
    }
    if let (Ok(()), Some(afterwards)) = (&ended, takeover.take()) {
        let upgrade = upgrade.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(Ok(upgraded)) = (match upgrade {
            Some(upgrade) => Some(upgrade.await),
            None => None,
        }) else {
            return;
        };
        if let Ok(parts) = upgraded.downcast::<TokioIo<Patient<S>>>() {
            let socket = parts.io.into_inner().into_inner().into();
            afterwards(Taken::new(socket, parts.read_buf, busy)).await;
        }
        return;
    }
    if let Err(error) = ended {
        // A peer that goes away or sends nonsense is its own business.
        tracing::debug!("a connection ended: {error}");
    }
}

#[cfg(test)]
mod tests;
