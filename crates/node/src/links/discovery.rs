//! Beacons on every interface: sent, heard, and interfaces looked at again when they change, so that a node that moves to
//! another network is found there.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::UdpSocket;
use tokio::time::{Instant, sleep_until};

use super::Discovery;
use super::beacon::{Beacons, LENGTH};
use super::context::Context;
use super::dialing::heard;
use super::interfaces::Interfaces;
use super::transport::canonical;

/// The IPv6 group: local to the link, "ML".
const GROUP_V6: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x4d4c);

/// After so many beacons without any change they are sent less often.
const LIVELY: u32 = 10;

/// So many times.
const LESS_OFTEN: u32 = 4;

/// Sends and hears beacons until everything stops. `listen` is where this node's links are accepted.
pub(super) async fn discover(context: Arc<Context>, discovery: Discovery, beacons: Beacons, listen: SocketAddr) {
    let (ears, places) = ([None, None], BTreeMap::new());
    let mut medium = Medium { discovery, listen, ears, places, is_stale: true, complained: false };
    let mut interfaces = Interfaces::listen();
    let mut pace = Pace { interval: discovery.interval, said: 0 };
    let mut next = pin!(sleep_until(Instant::now()));
    let mut buffers = [[0; LENGTH + 1]; 2];
    loop {
        let [four, six] = &mut buffers;
        let heard_now = tokio::select! {
            () = context.stopped() => return,
            () = next.as_mut() => {
                if medium.is_stale || !interfaces.are_told() {
                    medium.look_again();
                }
                if let Ok(beacon) = beacons.seal(context.me, listen.port()) {
                    medium.say(&beacon);
                }
                next.as_mut().reset(Instant::now() + pace.next());
                continue;
            }
            () = interfaces.changed() => {
                medium.is_stale = true;
                let soon = next.deadline().min(Instant::now() + pace.changed());
                next.as_mut().reset(soon);
                continue;
            }
            () = context.stirred.notified() => {
                let soon = next.deadline().min(Instant::now() + pace.changed());
                next.as_mut().reset(soon);
                continue;
            }
            heard = hear(medium.ears[0].as_ref(), four) => heard.map_err(|error| (0, error)),
            heard = hear(medium.ears[1].as_ref(), six) => heard.map_err(|error| (1, error)),
        };
        match heard_now {
            Ok((beacon, from)) => match beacons.open(beacon) {
                Some((member, port)) => {
                    if heard(&context, member, with_port(from, port)) {
                        pace.changed();
                    }
                }
                None => {
                    context.foreign_beacons.fetch_add(1, Ordering::Relaxed);
                }
            },
            Err((ear, error)) => {
                tracing::debug!(%error, "cannot hear beacons for the moment");
                medium.ears[ear] = None;
                medium.places.clear();
                medium.is_stale = true;
            }
        }
    }
}

/// How often a node says that it is there: at each interval while something changes and for a while after, then less often.
/// Whoever comes is lively, and found by its own beacons. Only two nodes that have both been at rest wait longer for each
/// other.
#[derive(Debug)]
struct Pace {
    interval: Duration,
    /// Beacons since something changed.
    said: u32,
}

impl Pace {
    /// A beacon was sent. How long to wait for the next.
    fn next(&mut self) -> Duration {
        self.said = self.said.saturating_add(1);
        if self.said < LIVELY { self.interval } else { self.interval * LESS_OFTEN }
    }

    /// Something has changed. How long to wait for the next beacon at most.
    fn changed(&mut self) -> Duration {
        self.said = 0;
        self.interval
    }
}

async fn hear<'a>(ear: Option<&UdpSocket>, buffer: &'a mut [u8]) -> io::Result<(&'a [u8], SocketAddr)> {
    match ear {
        Some(ear) => ear.recv_from(buffer).await.map(|(length, from)| (&buffer[..length], canonical(from))),
        None => std::future::pending().await,
    }
}

fn with_port(mut address: SocketAddr, port: u16) -> SocketAddr {
    address.set_port(port);
    address
}

/// A place to speak from: an address on an interface.
type Place = (IpAddr, u32);

struct Medium {
    discovery: Discovery,
    listen: SocketAddr,
    /// For IPv4 and IPv6.
    ears: [Option<UdpSocket>; 2],
    /// The voices; their interfaces are listened on as well.
    places: BTreeMap<Place, Socket>,
    /// Interfaces are to be looked at: they have changed, or could not all be used.
    is_stale: bool,
    complained: bool,
}

impl Medium {
    /// Opens what is missing, forgets what has gone.
    fn look_again(&mut self) {
        self.is_stale = false;
        let now = match if_addrs::get_if_addrs() {
            Ok(interfaces) => interfaces,
            Err(error) => return self.complain(&error),
        };
        let now: Vec<Place> = now
            .iter()
            .map(|interface| (interface.ip(), interface.index.unwrap_or(0)))
            .filter(|(address, _)| self.speaks_from(*address))
            .collect();
        self.places.retain(|place, _| now.contains(place));
        for place in now {
            if !self.places.contains_key(&place) {
                match self.open(place) {
                    Ok(voice) => {
                        tracing::debug!(address = %place.0, "beacons from here");
                        self.places.insert(place, voice);
                    }
                    Err(error) => self.complain(&error),
                }
            }
        }
        self.echo();
    }

    /// Other nodes of this machine hear this one over the loopback interface, if it speaks there. Then they, and it, need not
    /// hear it on all other interfaces as well.
    fn echo(&mut self) {
        let is_at_home = self.places.keys().any(|(address, _)| address.is_loopback());
        for ((address, _), voice) in &self.places {
            let echoes = !is_at_home || address.is_loopback();
            let set = match address {
                IpAddr::V4(_) => voice.set_multicast_loop_v4(echoes),
                IpAddr::V6(_) => voice.set_multicast_loop_v6(echoes),
            };
            if let Err(error) = set {
                tracing::debug!(%address, %error, "beacons are heard by this machine as they were");
            }
        }
    }

    /// Others dial where a beacon came from, so only addresses that accept links are right.
    fn speaks_from(&self, address: IpAddr) -> bool {
        match (self.listen.ip(), address) {
            (IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V4(_)) => true,
            (IpAddr::V6(Ipv6Addr::UNSPECIFIED), IpAddr::V4(_)) => true,
            (IpAddr::V6(Ipv6Addr::UNSPECIFIED), IpAddr::V6(address)) => address.is_unicast_link_local(),
            (listen, address) => listen.to_canonical() == address,
        }
    }

    fn open(&mut self, (address, index): Place) -> io::Result<Socket> {
        match address {
            IpAddr::V4(address) => {
                let ear = ear(&mut self.ears[0], SocketAddr::from((Ipv4Addr::UNSPECIFIED, self.discovery.port)))?;
                joined(ear.join_multicast_v4(self.discovery.group, address))?;
                let voice = voice(SocketAddr::from((address, 0)))?;
                voice.set_multicast_if_v4(&address)?;
                voice.set_multicast_ttl_v4(1)?;
                Ok(voice)
            }
            IpAddr::V6(address) => {
                let ear = ear(&mut self.ears[1], SocketAddr::from((Ipv6Addr::UNSPECIFIED, self.discovery.port)))?;
                joined(ear.join_multicast_v6(&GROUP_V6, index))?;
                let scope = if address.is_unicast_link_local() { index } else { 0 };
                let voice = voice(SocketAddrV6::new(address, 0, 0, scope).into())?;
                voice.set_multicast_if_v6(index)?;
                voice.set_multicast_hops_v6(1)?;
                Ok(voice)
            }
        }
    }

    fn say(&mut self, beacon: &[u8]) {
        let (group, port) = (self.discovery.group, self.discovery.port);
        let before = self.places.len();
        self.places.retain(|(address, index), voice| {
            let to: SocketAddr = match address {
                IpAddr::V4(_) => (group, port).into(),
                IpAddr::V6(_) => SocketAddrV6::new(GROUP_V6, port, 0, *index).into(),
            };
            match voice.send_to(beacon, &to.into()) {
                Ok(_) => true,
                Err(error) => {
                    // It will be opened again if the interface is still there.
                    tracing::debug!(%address, %error, "cannot send a beacon");
                    false
                }
            }
        });
        self.is_stale |= self.places.len() < before;
    }

    fn complain(&mut self, error: &io::Error) {
        self.is_stale = true;
        if std::mem::replace(&mut self.complained, true) {
            tracing::debug!(%error, "discovery is hampered");
        } else {
            tracing::warn!(%error, port = self.discovery.port, "discovery is hampered; trying on");
        }
    }
}

/// Several nodes on one machine hear the same beacons, so they share the port.
fn ear(open: &mut Option<UdpSocket>, address: SocketAddr) -> io::Result<&UdpSocket> {
    let socket = match open.take() {
        Some(socket) => socket,
        None => {
            let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
            socket.set_reuse_address(true)?;
            #[cfg(unix)]
            socket.set_reuse_port(true)?;
            if address.is_ipv6() {
                socket.set_only_v6(true)?;
            }
            socket.set_nonblocking(true)?;
            socket.bind(&address.into())?;
            UdpSocket::from_std(socket.into())?
        }
    };
    Ok(open.insert(socket))
}

fn voice(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

/// An interface that has several addresses is joined once and heard for all of them.
fn joined(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beacons_are_sent_less_often_when_nothing_changes() {
        let interval = Duration::from_secs(1);
        let mut pace = Pace { interval, said: 0 };
        let lively = (0..100).take_while(|_| pace.next() == interval).count();
        assert_eq!(lively, 9, "with the first, ten");
        assert_eq!(pace.next(), interval * 4);
        assert_eq!(pace.changed(), interval, "the next one does not wait for longer");
        assert_eq!(pace.next(), interval);
    }

    fn medium(listen: &str) -> Medium {
        let discovery = Discovery { port: 0, ..Discovery::default() };
        let listen = listen.parse().unwrap();
        Medium { discovery, listen, ears: [None, None], places: BTreeMap::new(), is_stale: true, complained: false }
    }

    #[tokio::test]
    async fn this_machine_hears_a_node_once() {
        for listen in ["0.0.0.0:7411", "[::]:7411"] {
            let mut medium = medium(listen);
            medium.look_again();
            let is_at_home = medium.places.keys().any(|(address, _)| address.is_loopback());
            assert!(is_at_home, "{:?}", medium.places.keys());
            for ((address, _), voice) in &medium.places {
                let echoes = match address {
                    IpAddr::V4(_) => voice.multicast_loop_v4(),
                    IpAddr::V6(_) => voice.multicast_loop_v6(),
                };
                assert_eq!(echoes.unwrap(), address.is_loopback(), "{address}");
            }
        }
    }

    #[tokio::test]
    async fn a_node_that_is_not_on_the_loopback_interface_is_heard_where_it_is() {
        let mut elsewhere = medium("0.0.0.0:7411");
        elsewhere.look_again();
        elsewhere.places.retain(|(address, _), _| !address.is_loopback());
        elsewhere.echo();
        for ((address, _), voice) in &elsewhere.places {
            let echoes = match address {
                IpAddr::V4(_) => voice.multicast_loop_v4(),
                IpAddr::V6(_) => voice.multicast_loop_v6(),
            };
            assert!(echoes.unwrap(), "{address}");
        }
    }

    #[tokio::test]
    async fn interfaces_are_looked_at_again_when_a_beacon_could_not_be_sent() {
        let mut medium = medium("0.0.0.0:7411");
        medium.look_again();
        assert!(!medium.is_stale);
        // To port 0 nothing can be sent.
        medium.say(&[0; LENGTH]);
        assert!(medium.is_stale && medium.places.is_empty());
    }
}
