//! Beacons on every interface: sent, heard, and interfaces looked at again each time, so that a node that moves to
//! another network is found there.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::UdpSocket;
use tokio::time::{MissedTickBehavior, interval};

use super::Discovery;
use super::beacon::{Beacons, LENGTH};
use super::context::Context;
use super::dialing::heard;
use super::transport::canonical;

/// The IPv6 group: local to the link, "ML".
const GROUP_V6: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x4d4c);

/// Sends and hears beacons until everything stops. `listen` is where this node's links are accepted.
pub(super) async fn discover(context: Arc<Context>, discovery: Discovery, beacons: Beacons, listen: SocketAddr) {
    let mut medium = Medium { discovery, listen, ears: [None, None], places: BTreeMap::new(), complained: false };
    let mut ticks = interval(discovery.interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut buffers = [[0; LENGTH + 1]; 2];
    loop {
        let [four, six] = &mut buffers;
        let heard_now = tokio::select! {
            () = context.stopped() => return,
            _ = ticks.tick() => {
                medium.look_again();
                if let Ok(beacon) = beacons.seal(context.me, listen.port()) {
                    medium.say(&beacon);
                }
                continue;
            }
            heard = hear(medium.ears[0].as_ref(), four) => heard.map_err(|error| (0, error)),
            heard = hear(medium.ears[1].as_ref(), six) => heard.map_err(|error| (1, error)),
        };
        match heard_now {
            Ok((beacon, from)) => match beacons.open(beacon) {
                Some((member, port)) => heard(&context, member, with_port(from, port)),
                None => {
                    context.foreign_beacons.fetch_add(1, Ordering::Relaxed);
                }
            },
            Err((ear, error)) => {
                tracing::debug!(%error, "cannot hear beacons for the moment");
                medium.ears[ear] = None;
                medium.places.clear();
            }
        }
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
    complained: bool,
}

impl Medium {
    /// Opens what is missing, forgets what has gone.
    fn look_again(&mut self) {
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
                voice.set_multicast_loop_v4(true)?;
                Ok(voice)
            }
            IpAddr::V6(address) => {
                let ear = ear(&mut self.ears[1], SocketAddr::from((Ipv6Addr::UNSPECIFIED, self.discovery.port)))?;
                joined(ear.join_multicast_v6(&GROUP_V6, index))?;
                let scope = if address.is_unicast_link_local() { index } else { 0 };
                let voice = voice(SocketAddrV6::new(address, 0, 0, scope).into())?;
                voice.set_multicast_if_v6(index)?;
                voice.set_multicast_hops_v6(1)?;
                voice.set_multicast_loop_v6(true)?;
                Ok(voice)
            }
        }
    }

    fn say(&mut self, beacon: &[u8]) {
        let (group, port) = (self.discovery.group, self.discovery.port);
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
    }

    fn complain(&mut self, error: &io::Error) {
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
