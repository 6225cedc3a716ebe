//! One link from its first frame to its end.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use meshlock_core::NodeId;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::coop::consume_budget;
use tokio::time::{Instant as Moment, sleep_until, timeout};

use super::context::{ANEW, Context, GATE, STOPPED};
use super::control::{Control, DoubleIdentity};
use super::doubles::{DOUBLE, last_words};
use super::frames::{BATCH, Frame, FrameReader, FrameWriter};
use super::hello::{self, Hello, NoHello};
use super::table::{Newcomer, NoPlace, Place, SECOND_LINK, Said};
use super::transport::{Carrier, Channel, Failure, HANDSHAKE_LIMIT};
use super::{FrameReceiver, LinkId, Peer};
use crate::mesh::{Member, certificate};

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
    /// It is no use to try again soon.
    pub(super) lasting: bool,
}

/// Makes a link of a connection, and serves it until its end.
pub(super) async fn live(
    context: &Arc<Context>,
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
            return Life { member: None, lived: Duration::ZERO, reason, lasting: false };
        }
    };
    let node = context.node();
    let greeted = tokio::select! {
        biased;
        () = context.stopped() => Err(Failure::harmless(STOPPED)),
        greeted = timeout(HANDSHAKE_LIMIT, greet(context, &mut channel, direction, (member, &name), node)) =>
            greeted.unwrap_or_else(|_| Err(Failure::suspicious(format!("no hello within {HANDSHAKE_LIMIT:?}")))),
    };
    drop(permit);
    let (lived, reason, flush, lasting) = match greeted {
        Err(Failure { reason, suspicious, lasting }) => {
            if suspicious {
                context.warn(address, &reason);
            } else {
                tracing::debug!(%address, reason, member = member.0, "no link");
            }
            (Duration::ZERO, reason, lasting, lasting)
        }
        Ok((hello, place, said)) => {
            let peer = Peer { node: hello.node, name, address };
            let began = Instant::now();
            context.sighted(&place, &hello);
            let (reason, flush) = serve(context, &mut channel, direction, (&peer, node), &place, said).await;
            let lasting = reason == DOUBLE;
            (began.elapsed(), reason, flush, lasting)
        }
    };
    channel.close(&reason, flush).await;
    Life { member: Some(member), lived, reason, lasting }
}

/// Hellos both ways, and a place for the link. An accepted link answers with its hello only when it has one.
async fn greet<'a>(
    context: &'a Context,
    channel: &mut Channel,
    direction: Direction,
    (member, name): (Member, &str),
    node: NodeId,
) -> Result<(Hello, Place<'a>, Said), Failure> {
    if let Some(reason) = context.refusal(member) {
        return Err(if reason == GATE { Failure::harmless(reason) } else { Failure::suspicious(reason) });
    }
    let Channel { reader, writer, carrier, address, .. } = channel;
    let mine = Hello { node, run: context.run, installation: context.installation }.encode();
    let greeting = match direction {
        // A connection to oneself is greeted as well: the other end of it can tell whether it really is.
        Direction::Dialed if member == context.me => None,
        Direction::Dialed => Some(context.table.greet(member).ok_or_else(|| Failure::harmless(SECOND_LINK))?),
        Direction::Accepted => None,
    };
    if direction == Direction::Dialed {
        say(writer, carrier, Frame::User(&mine)).await?;
    }
    let hello = loop {
        let frame = reader.next().await.map_err(|end| Failure::harmless(carrier.explain(end)))?;
        match frame {
            Frame::Control(frame) => match Control::decode(frame) {
                Some(Control::Challenge(number)) => {
                    let answer = Control::Answer { number, up_ms: context.up_ms() }.encode();
                    say(writer, carrier, Frame::Control(&answer)).await?;
                }
                Some(Control::Double(double)) => {
                    context.on_double(None, double);
                    return Err(Failure::lasting(DOUBLE));
                }
                Some(Control::Answer { .. } | Control::Seen(_) | Control::Contest(_)) | None => {}
            },
            Frame::User(frame) => match hello::read(frame, member) {
                Ok(hello) => break hello,
                Err(none) => {
                    // So that the other end can tell as well.
                    if direction == Direction::Accepted && matches!(none, NoHello::OtherVersion(_)) {
                        say(writer, carrier, Frame::User(&mine)).await?;
                    }
                    return Err(none.into());
                }
            },
        }
    };
    if member == context.me {
        if hello.run == context.run {
            return Err(Failure::harmless(MYSELF));
        }
        let why = "they reached each other".to_owned();
        let (kept, refused) = (None, Some(*address));
        let double = DoubleIdentity { member, name: name.to_owned(), kept, refused, why, run: hello.run };
        context.on_double(None, double);
        return Err(Failure::lasting(
            "another node has this node's identity; every node needs an invitation of its own",
        ));
    }
    let dialer = if direction == Direction::Dialed { context.me } else { member };
    let newcomer = Newcomer { hello: &hello, name, address: *address, dialer };
    let (place, said) = match context.table.enter(newcomer, context.me).await {
        Ok(entered) => entered,
        Err(NoPlace::SecondLink) => return Err(Failure::harmless(SECOND_LINK)),
        Err(NoPlace::Suspect { why, other }) => {
            prove(reader, writer, carrier).await?;
            let (name, refused) = (name.to_owned(), Some(*address));
            let double = DoubleIdentity { member, name, kept: other, refused, why: why.to_owned(), run: hello.run };
            say(writer, carrier, Frame::Control(&last_words(&double))).await?;
            context.on_double(None, double);
            return Err(Failure::lasting(DOUBLE));
        }
    };
    drop(greeting);
    if direction == Direction::Accepted {
        writer.add(Frame::User(&mine)).map_err(Failure::suspicious)?;
    }
    Ok((hello, place, said))
}

async fn say(writer: &mut FrameWriter, carrier: &Carrier, frame: Frame<'_>) -> Result<(), Failure> {
    writer.add(frame).map_err(Failure::suspicious)?;
    writer.flush().await.map_err(|error| Failure::harmless(carrier.explain_broken(&error)))
}

/// Has the other end show that it is alive, and not a hello that was left lying.
async fn prove(reader: &mut FrameReader, writer: &mut FrameWriter, carrier: &Carrier) -> Result<(), Failure> {
    let challenge = fastrand::u64(1..);
    say(writer, carrier, Frame::Control(&Control::Challenge(challenge).encode())).await?;
    loop {
        let frame = reader.next().await.map_err(|end| Failure::harmless(carrier.explain(end)))?;
        let Frame::Control(frame) = frame else { continue };
        if matches!(Control::decode(frame), Some(Control::Answer { number, .. }) if number == challenge) {
            return Ok(());
        }
    }
}

/// The link is up. Returns why it ended, and whether what was written before should still go out.
async fn serve(
    context: &Arc<Context>,
    channel: &mut Channel,
    direction: Direction,
    (peer, node): (&Peer, NodeId),
    place: &Place<'_>,
    mut said: Said,
) -> (String, bool) {
    if context.node() != node {
        return (ANEW.to_owned(), false); // the hello was that of the former one
    }
    let member = Member::of(peer.node);
    let link = context.next_link();
    let user = &*context.user;
    let mut outgoing = match user.up(link, peer) {
        Ok(outgoing) => outgoing,
        Err(reason) => return (reason, false),
    };
    context.stirred.notify_one();
    let overflow = outgoing.overflow();
    tracing::info!(link = link.0, peer = peer.name, node = peer.node.0, address = %peer.address, ?direction, "link up");
    let Channel { reader, writer, carrier, .. } = channel;
    // Of these only the one that is woken is polled, and not all of them for each frame.
    let mut ends: FuturesUnordered<BoxFuture<'_, String>> = FuturesUnordered::new();
    ends.push(Box::pin(context.stopped().map(|()| STOPPED.to_owned())));
    ends.push(Box::pin(context.is_other_than(node).map(|()| ANEW.to_owned())));
    ends.push(Box::pin(place.taken().map(str::to_owned)));
    ends.push(Box::pin(context.refused(member).map(str::to_owned)));
    ends.push(Box::pin(overflow.map(|full| full.to_string())));
    let (reason, mut flush) = tokio::select! {
        biased;
        Some(reason) = ends.next() => (reason, false),
        reason = receive(context, reader, carrier, link, place, peer.address) => (reason, false),
        end = send(writer, carrier, &mut outgoing, &mut said) => end,
    };
    // One that is dismissed as a double has been told why; that must go out.
    if reason == DOUBLE && writer.is_whole() {
        while let Some(frame) = said.waiting() {
            flush = writer.add(Frame::Control(&frame)).is_ok();
        }
        flush = flush && writer.flush().await.is_ok();
    }
    user.down(link, &reason);
    context.stirred.notify_one();
    tracing::info!(link = link.0, peer = peer.name, node = peer.node.0, reason, "link down");
    (reason, flush)
}

async fn receive(
    context: &Arc<Context>,
    reader: &mut FrameReader,
    carrier: &Carrier,
    link: LinkId,
    place: &Place<'_>,
    address: SocketAddr,
) -> String {
    loop {
        match reader.next().await {
            Ok(Frame::Control(frame)) => {
                if let Some(control) = Control::decode(frame) {
                    context.on_control(place, address, control);
                }
            }
            Ok(Frame::User(frame)) => {
                if let Err(reason) = context.user.received(link, frame) {
                    return reason;
                }
            }
            Err(end) => return carrier.explain(end),
        }
        // A neighbour that never pauses must not keep this task from sending.
        consume_budget().await;
    }
}

/// Sends until all senders are gone.
async fn send(
    writer: &mut FrameWriter,
    carrier: &Carrier,
    outgoing: &mut FrameReceiver,
    said: &mut Said,
) -> (String, bool) {
    let mut frames = Vec::new();
    // One alarm for all signs of life, which looks when it rings whether something was sent meanwhile.
    let keep_alive = carrier.keep_alive();
    let mut silent_since = Moment::now();
    let mut alarm = pin!(sleep_until(silent_since + keep_alive.unwrap_or_default()));
    loop {
        // The first time there may be a hello in it.
        if writer.waiting() > 0 {
            if let Err(error) = writer.flush().await {
                return (carrier.explain_broken(&error), false);
            }
            silent_since = Moment::now();
        }
        tokio::select! {
            biased;
            frame = said.next() => {
                if let Err(reason) = writer.add(Frame::Control(&frame)) {
                    return (reason, false);
                }
            }
            count = outgoing.take(&mut frames, MOST_AT_ONCE) => {
                if count == 0 {
                    return ("closed by this node".to_owned(), true);
                }
            }
            () = alarm.as_mut(), if keep_alive.is_some() => {
                let pause = keep_alive.unwrap_or_default();
                if silent_since.elapsed() >= pause {
                    silent_since = Moment::now();
                    if let Err(reason) = writer.add(Frame::User(&[])) {
                        return (reason, false);
                    }
                }
                alarm.as_mut().reset(silent_since + pause);
            }
        }
        for frame in frames.drain(..) {
            if let Err(reason) = writer.add(Frame::User(&frame)) {
                return (reason, false);
            }
            outgoing.sent(&frame);
            if writer.waiting() >= BATCH
                && let Err(error) = writer.flush().await
            {
                return (carrier.explain_broken(&error), false);
            }
        }
    }
}

/// Dials an address and serves what comes of it.
pub(super) async fn dial(context: &Arc<Context>, address: SocketAddr) -> Result<Life, Failure> {
    let channel = tokio::select! {
        () = context.stopped() => return Err(Failure::harmless(STOPPED)),
        channel = context.endpoint.connect(address) => channel?,
    };
    let life = live(context, channel, Direction::Dialed, None).await;
    if life.lasting {
        context.hold_off(address);
    }
    Ok(life)
}
