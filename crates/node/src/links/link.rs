//! One link from its first frame to its end.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::task::coop::consume_budget;
use tokio::time::{sleep, timeout};

use super::context::{Context, GATE, STOPPED};
use super::frames::{BATCH, FrameReader, FrameWriter};
use super::hello::{self, HELLO_VERSION, Hello};
use super::registry::{Place, SECOND_LINK};
use super::transport::{Carrier, Channel, Failure, HANDSHAKE_LIMIT};
use super::{LinkId, LinkUser, Outgoing, Peer};
use crate::mesh::{Member, certificate};
use crate::wire;

/// The reason of a connection to oneself.
pub(super) const MYSELF: &str = "this is the node itself";

/// Frames that are taken from the queue at once.
const MOST_AT_ONCE: usize = 256;

/// Who made the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Dialed,
    Accepted,
}

/// What became of a connection.
#[derive(Debug)]
pub(super) struct Life {
    /// Whom it led to, as far as that was known.
    pub(super) member: Option<Member>,
    /// How long it was a link.
    pub(super) lived: Duration,
    pub(super) reason: String,
}

/// Makes a link of a connection, and serves it until its end.
pub(super) async fn live(
    context: &Context,
    mut channel: Channel,
    direction: Direction,
    permit: Option<OwnedSemaphorePermit>,
) -> Life {
    let address = channel.address;
    let (member, name) = match certificate::read(&channel.certificate).map_err(|error| error.to_string()) {
        Ok(known) => known,
        Err(reason) => {
            context.warn(address, &reason);
            channel.close(&reason, false).await;
            return Life { member: None, lived: Duration::ZERO, reason };
        }
    };
    let greeted = tokio::select! {
        biased;
        () = context.stopped() => Err(Failure::harmless(STOPPED)),
        greeted = timeout(HANDSHAKE_LIMIT, greet(context, &mut channel, direction, member)) =>
            greeted.unwrap_or_else(|_| Err(Failure::suspicious(format!("no hello within {HANDSHAKE_LIMIT:?}")))),
    };
    drop(permit);
    let (lived, reason, flush) = match greeted {
        Err(Failure { reason, suspicious }) => {
            if suspicious {
                context.warn(address, &reason);
            } else {
                tracing::debug!(%address, reason, member = member.0, "no link");
            }
            (Duration::ZERO, reason, false)
        }
        Ok((hello, place)) => {
            let peer = Peer { node: hello.node, name, address };
            let began = Instant::now();
            let (reason, flush) = serve(context, &mut channel, direction, &peer, &place).await;
            (began.elapsed(), reason, flush)
        }
    };
    channel.close(&reason, flush).await;
    Life { member: Some(member), lived, reason }
}

/// Hellos both ways, and a place for the link. An accepted link answers with its hello only when it has one.
async fn greet<'a>(
    context: &'a Context,
    channel: &mut Channel,
    direction: Direction,
    member: Member,
) -> Result<(Hello, Place<'a>), Failure> {
    if let Some(reason) = context.refusal(member) {
        return Err(if reason == GATE { Failure::harmless(reason) } else { Failure::suspicious(reason) });
    }
    let Channel { reader, writer, carrier, .. } = channel;
    let mine = wire::encode(&Hello { version: HELLO_VERSION, node: context.node, run: context.run });
    let greeting = match direction {
        // A connection to oneself is greeted as well: the other end of it can tell whether it really is.
        Direction::Dialed if member == context.me => None,
        Direction::Dialed => Some(context.registry.greet(member).ok_or_else(|| Failure::harmless(SECOND_LINK))?),
        Direction::Accepted => None,
    };
    if direction == Direction::Dialed {
        writer.add(&mine).map_err(Failure::suspicious)?;
        writer.flush().await.map_err(|error| Failure::harmless(carrier.explain_broken(&error)))?;
    }
    let frame = reader.next().await.map_err(|end| Failure::harmless(carrier.explain(end)))?;
    let hello = hello::read(frame, member).map_err(Failure::suspicious)?;
    if member == context.me {
        return Err(if hello.run == context.run {
            Failure::harmless(MYSELF)
        } else {
            Failure::suspicious("another node has this node's identity; every node needs an invitation of its own")
        });
    }
    let dialer = if direction == Direction::Dialed { context.me } else { member };
    let place = context.registry.enter(&hello, dialer, context.me).await.map_err(Failure::harmless)?;
    drop(greeting);
    if direction == Direction::Accepted {
        writer.add(&mine).map_err(Failure::suspicious)?;
    }
    Ok((hello, place))
}

/// The link is up. Returns why it ended, and whether what was written before should still go out.
async fn serve(
    context: &Context,
    channel: &mut Channel,
    direction: Direction,
    peer: &Peer,
    place: &Place<'_>,
) -> (String, bool) {
    let member = Member::of(peer.node);
    let link = context.next_link();
    let user = &*context.user;
    let mut outgoing = user.up(link, peer);
    tracing::info!(link = link.0, peer = peer.name, node = peer.node.0, address = %peer.address, ?direction, "link up");
    let Channel { reader, writer, carrier, .. } = channel;
    let (reason, flush) = tokio::select! {
        biased;
        () = context.stopped() => (STOPPED.to_owned(), false),
        reason = place.taken() => (reason.to_owned(), false),
        reason = context.refused(member) => (reason.to_owned(), false),
        reason = receive(reader, carrier, user, link) => (reason, false),
        end = send(writer, carrier, &mut outgoing) => end,
    };
    user.down(link, &reason);
    tracing::info!(link = link.0, peer = peer.name, node = peer.node.0, reason, "link down");
    (reason, flush)
}

async fn receive(reader: &mut FrameReader, carrier: &Carrier, user: &dyn LinkUser, link: LinkId) -> String {
    loop {
        match reader.next().await {
            Ok(frame) => {
                if let Err(reason) = user.received(link, frame) {
                    return reason;
                }
            }
            Err(end) => return carrier.explain(end),
        }
        // A neighbour that never pauses must not keep this task from sending.
        consume_budget().await;
    }
}

/// Sends until nobody wants to send any more.
async fn send(
    writer: &mut FrameWriter,
    carrier: &Carrier,
    outgoing: &mut mpsc::UnboundedReceiver<Outgoing>,
) -> (String, bool) {
    let mut frames = Vec::new();
    loop {
        // The first time there may be a hello in it.
        if writer.waiting() > 0
            && let Err(error) = writer.flush().await
        {
            return (carrier.explain_broken(&error), false);
        }
        tokio::select! {
            biased;
            count = outgoing.recv_many(&mut frames, MOST_AT_ONCE) => {
                if count == 0 {
                    return ("closed by this node".to_owned(), true);
                }
            }
            () = pause(carrier.keep_alive()) => frames.push(Outgoing::from([])),
        }
        for frame in frames.drain(..) {
            if let Err(reason) = writer.add(&frame) {
                return (reason, false);
            }
            if writer.waiting() >= BATCH
                && let Err(error) = writer.flush().await
            {
                return (carrier.explain_broken(&error), false);
            }
        }
    }
}

async fn pause(limit: Option<Duration>) {
    match limit {
        Some(limit) => sleep(limit).await,
        None => std::future::pending().await,
    }
}

/// Dials an address and serves what comes of it.
pub(super) async fn dial(context: &Context, address: SocketAddr) -> Result<Life, Failure> {
    let channel = tokio::select! {
        () = context.stopped() => return Err(Failure::harmless(STOPPED)),
        channel = context.endpoint.connect(address) => channel?,
    };
    Ok(live(context, channel, Direction::Dialed, None).await)
}
