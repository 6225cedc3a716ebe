//! A mesh for tests: an authority that gives certificates, users of links that note everything, and strangers.

#![allow(dead_code, reason = "each test uses what it needs")]

pub(crate) mod stranger;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use meshlock_core::NodeId;
use meshlock_node::links::{
    Discovery, DoubleIdentity, FrameReceiver, FrameSender, Gate, LinkConfig, LinkId, LinkUser, Links, Outgoing, Peer,
    StartError, Transport, frame_queue,
};
use meshlock_node::mesh::{Identity, Incarnation, Member, certificate};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::sync::{mpsc, watch};

/// How long anything may take before a test gives up. Nothing is ever right or wrong because of it.
pub(crate) const GUARD: Duration = Duration::from_secs(30);

/// Waits for something that must happen.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(GUARD, future).await.unwrap_or_else(|_| panic!("waited in vain for {what}"))
}

/// An authority and a secret.
pub(crate) struct Mesh {
    issuer: Issuer<'static, KeyPair>,
    authority: CertificateDer<'static>,
    pub(crate) secret: [u8; 32],
}

impl Mesh {
    pub(crate) fn new(secret: u8) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = params.self_signed(&key).unwrap().der().clone();
        Self { issuer: Issuer::new(params, key), authority, secret: [secret; 32] }
    }

    /// The server name of this mesh.
    pub(crate) fn server_name(&self) -> String {
        certificate::server_name(&self.secret)
    }

    pub(crate) fn member(&self, number: u16, name: &str) -> Identity {
        let key = KeyPair::generate().unwrap();
        let names = vec![self.server_name(), format!("m{number}.{name}.member")];
        let certificate = CertificateParams::new(names).unwrap().signed_by(&key, &self.issuer).unwrap();
        Identity {
            mesh: "test".to_owned(),
            member: Member(number),
            name: name.to_owned(),
            certificate: certificate.der().clone(),
            key: PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
            authority: self.authority.clone(),
            secret: self.secret,
        }
    }
}

/// What a user of links was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Up(LinkId, Peer),
    Received(LinkId, Vec<u8>),
    Down(LinkId, String),
    Alarm(DoubleIdentity),
}

/// The reason with which the user in these tests refuses a frame that begins with [`GARBAGE`].
pub(crate) const REFUSED: &str = "a frame that makes no sense";

/// A frame that the user in these tests refuses.
pub(crate) const GARBAGE: &[u8] = b"garbage";

/// To whom a link leads, and what is sent over it, unless that has been let go.
type Open = (Member, Option<FrameSender>);

/// Notes what it is told, and checks the order of the calls.
#[derive(Debug)]
pub(crate) struct Recorder {
    events: mpsc::UnboundedSender<Event>,
    open: Mutex<BTreeMap<LinkId, Open>>,
    pub(crate) broken_rules: Mutex<Vec<String>>,
}

impl Recorder {
    fn new() -> (Arc<Self>, mpsc::UnboundedReceiver<Event>) {
        let (events, heard) = mpsc::unbounded_channel();
        (Arc::new(Self { events, open: Mutex::default(), broken_rules: Mutex::default() }), heard)
    }

    fn note(&self, event: Event) {
        // Whoever listened may have gone.
        let _ = self.events.send(event);
    }
}

impl LinkUser for Recorder {
    fn up(&self, link: LinkId, peer: &Peer) -> Result<FrameReceiver, String> {
        let (send, outgoing) = frame_queue();
        let member = Member::of(peer.node);
        let mut open = self.open.lock().unwrap();
        if open.values().any(|(other, _)| *other == member) {
            self.broken_rules.lock().unwrap().push(format!("two links to {member:?}"));
        }
        open.insert(link, (member, Some(send)));
        self.note(Event::Up(link, peer.clone()));
        Ok(outgoing)
    }

    fn received(&self, link: LinkId, frame: &[u8]) -> Result<(), String> {
        if !self.open.lock().unwrap().contains_key(&link) {
            self.broken_rules.lock().unwrap().push(format!("a frame on {link:?}, which is not up"));
        }
        if frame.starts_with(GARBAGE) {
            return Err(REFUSED.to_owned());
        }
        self.note(Event::Received(link, frame.to_vec()));
        Ok(())
    }

    fn down(&self, link: LinkId, reason: &str) {
        if self.open.lock().unwrap().remove(&link).is_none() {
            self.broken_rules.lock().unwrap().push(format!("{link:?} went down without being up"));
        }
        self.note(Event::Down(link, reason.to_owned()));
    }

    fn alarm(&self, double: &DoubleIdentity) {
        self.note(Event::Alarm(double.clone()));
    }
}

/// How a node of these tests is started.
pub(crate) struct Plan {
    pub(crate) identity: Arc<Identity>,
    pub(crate) incarnation: u16,
    pub(crate) installation: u64,
    pub(crate) listen: SocketAddr,
    pub(crate) peers: Vec<String>,
    pub(crate) discovery: Option<Discovery>,
    pub(crate) loss_after: Duration,
    pub(crate) transport: Transport,
}

impl Plan {
    pub(crate) fn new(identity: Identity, transport: Transport) -> Self {
        Self {
            identity: Arc::new(identity),
            incarnation: 0,
            installation: 1,
            listen: "127.0.0.1:0".parse().unwrap(),
            peers: Vec::new(),
            discovery: None,
            loss_after: Duration::from_secs(10),
            transport,
        }
    }

    pub(crate) fn again(&self) -> Self {
        Self { identity: Arc::clone(&self.identity), peers: self.peers.clone(), ..*self }
    }

    pub(crate) fn dials(mut self, other: &Node) -> Self {
        self.peers.push(other.address().to_string());
        self
    }

    pub(crate) fn start(&self) -> Node {
        self.try_start().unwrap()
    }

    pub(crate) fn try_start(&self) -> Result<Node, StartError> {
        let (removed, removed_heard) = watch::channel(BTreeSet::new());
        let (gate, gate_heard) = watch::channel(Gate::Everybody);
        let (user, events) = Recorder::new();
        let config = LinkConfig {
            identity: Arc::clone(&self.identity),
            node: watch::channel(self.identity.member.node(Incarnation(self.incarnation))).1,
            installation: self.installation,
            listen: self.listen,
            peers: self.peers.clone(),
            discovery: self.discovery,
            loss_after: self.loss_after,
            transport: self.transport,
            removed: removed_heard,
            gate: gate_heard,
        };
        let links = Links::start(config, Arc::clone(&user) as Arc<dyn LinkUser>)?;
        let me = self.identity.member;
        Ok(Node { me, links, user, events, removed, gate, up: BTreeMap::new() })
    }
}

/// A node: its links, and what it was told about them.
pub(crate) struct Node {
    pub(crate) me: Member,
    pub(crate) links: Links,
    pub(crate) user: Arc<Recorder>,
    pub(crate) events: mpsc::UnboundedReceiver<Event>,
    pub(crate) removed: watch::Sender<BTreeSet<Member>>,
    pub(crate) gate: watch::Sender<Gate>,
    /// What is up according to the events that were looked at.
    pub(crate) up: BTreeMap<Member, (LinkId, Peer)>,
}

impl Node {
    pub(crate) fn address(&self) -> SocketAddr {
        self.links.address()
    }

    pub(crate) async fn event(&mut self) -> Event {
        let event = soon("an event", self.events.recv()).await.unwrap();
        match &event {
            Event::Up(link, peer) => {
                self.up.insert(Member::of(peer.node), (*link, peer.clone()));
            }
            Event::Down(link, _) => self.up.retain(|_, (open, _)| open != link),
            Event::Received(..) | Event::Alarm(_) => {}
        }
        event
    }

    /// Waits until there is a link to this member.
    pub(crate) async fn linked(&mut self, member: u16) -> (LinkId, Peer) {
        loop {
            if let Some(link) = self.up.get(&Member(member)) {
                return link.clone();
            }
            self.event().await;
        }
    }

    /// Waits until a link goes down; which, and why.
    pub(crate) async fn down(&mut self) -> (LinkId, String) {
        loop {
            if let Event::Down(link, reason) = self.event().await {
                return (link, reason);
            }
        }
    }

    /// Waits for an alarm.
    pub(crate) async fn alarm(&mut self) -> DoubleIdentity {
        loop {
            if let Event::Alarm(double) = self.event().await {
                return double;
            }
        }
    }

    /// The next frame, on whatever link.
    pub(crate) async fn frame(&mut self) -> Vec<u8> {
        loop {
            if let Event::Received(_, frame) = self.event().await {
                return frame;
            }
        }
    }

    /// Sends on a link; in vain if it is down.
    pub(crate) fn send(&self, link: LinkId, frame: impl Into<Outgoing>) {
        if let Some((_, Some(sender))) = self.user.open.lock().unwrap().get(&link) {
            let _ = sender.send(frame.into());
        }
    }

    /// The same for a frame that nobody waits for.
    pub(crate) fn send_later(&self, link: LinkId, frame: impl Into<Outgoing>) {
        if let Some((_, Some(sender))) = self.user.open.lock().unwrap().get(&link) {
            let _ = sender.send_later(frame.into());
        }
    }

    /// Wants to send nothing more on this link.
    pub(crate) fn let_go(&self, link: LinkId) {
        if let Some((_, sender)) = self.user.open.lock().unwrap().get_mut(&link) {
            *sender = None;
        }
    }

    /// The calls came as the contract says.
    pub(crate) fn assert_orderly(&self) {
        assert_eq!(*self.user.broken_rules.lock().unwrap(), Vec::<String>::new());
    }
}

/// Says something on whatever link there is until the other hears it: links may still be replaced at the beginning.
pub(crate) async fn talk(from: &mut Node, to: &mut Node) {
    let words = format!("from {} to {}", from.me.0, to.me.0).into_bytes();
    loop {
        let (link, _) = from.linked(to.me.0).await;
        from.send(link, words.clone());
        loop {
            tokio::select! {
                event = to.event() => {
                    if matches!(event, Event::Received(_, frame) if frame == words) {
                        return;
                    }
                }
                event = from.event() => {
                    if matches!(event, Event::Down(gone, _) if gone == link) {
                        break;
                    }
                }
            }
        }
    }
}

/// The number in the protocols of a member in its first life.
pub(crate) fn first_life(member: u16) -> NodeId {
    Member(member).node(Incarnation(0))
}
