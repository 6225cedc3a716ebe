//! A link that can be made bad: carries the packets of one node to another, and loses as many as it is told to.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use fastrand::Rng;
use tokio::net::UdpSocket;
use tokio::task::JoinHandle;

/// The largest packet.
const LARGEST: usize = 65_536;

/// One link. It ends when this is dropped.
#[derive(Debug)]
pub(in crate::bench) struct Relay {
    /// Where the dialing node finds the other.
    pub(in crate::bench) address: SocketAddr,
    weather: Arc<Mutex<Option<Weather>>>,
    lost: Arc<AtomicU64>,
    task: JoinHandle<()>,
}

#[derive(Clone, Copy, Debug)]
struct Weather {
    percent: u8,
    both: bool,
    until: Instant,
}

impl Relay {
    /// Carries what arrives at a new address to this one, and the answers back.
    pub(in crate::bench) async fn start(to: SocketAddr, seed: u64) -> io::Result<Self> {
        let near = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let far = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        far.connect(to).await?;
        let address = near.local_addr()?;
        let (weather, lost) = (Arc::default(), Arc::default());
        let task = tokio::spawn(carry(near, far, Arc::clone(&weather), Arc::clone(&lost), Rng::with_seed(seed)));
        Ok(Self { address, weather, lost, task })
    }

    /// Loses this share of the packets for some time; of those to the dialed node only, or of both directions.
    pub(in crate::bench) fn lose(&self, percent: u8, both: bool, lasts: Duration) {
        let until = Instant::now() + lasts;
        *self.weather.lock().unwrap_or_else(PoisonError::into_inner) = Some(Weather { percent, both, until });
    }

    pub(in crate::bench) fn heal(&self) {
        *self.weather.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// How many packets were lost here so far.
    pub(in crate::bench) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn carry(
    near: UdpSocket,
    far: UdpSocket,
    weather: Arc<Mutex<Option<Weather>>>,
    lost: Arc<AtomicU64>,
    mut random: Rng,
) {
    let (mut out, mut back) = (vec![0; LARGEST], vec![0; LARGEST]);
    let mut dialer = None;
    let mut is_lost = |outbound: bool| {
        let weather = *weather.lock().unwrap_or_else(PoisonError::into_inner);
        let bad = weather.filter(|now| now.until > Instant::now() && (now.both || outbound));
        let is_lost = bad.is_some_and(|now| random.u8(0..100) < now.percent);
        lost.fetch_add(is_lost.into(), Ordering::Relaxed);
        is_lost
    };
    loop {
        // Errors tell that nobody listens at the moment. A packet that cannot be sent is lost: that is what they are for.
        tokio::select! {
            packet = near.recv_from(&mut out) => {
                let Ok((length, from)) = packet else { continue };
                dialer = Some(from);
                if !is_lost(true) {
                    let _ = far.send(out.get(..length).unwrap_or_default()).await;
                }
            }
            packet = far.recv(&mut back) => {
                let (Ok(length), Some(dialer)) = (packet, dialer) else { continue };
                if !is_lost(false) {
                    let _ = near.send_to(back.get(..length).unwrap_or_default(), dialer).await;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn packets_go_both_ways_unless_the_link_is_cut() {
        let server = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let client = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let relay = Relay::start(server.local_addr().unwrap(), 1).await.unwrap();
        let mut packet = [0; 8];
        client.send_to(b"one", relay.address).await.unwrap();
        let (length, from) = server.recv_from(&mut packet).await.unwrap();
        assert_eq!(&packet[..length], b"one");
        server.send_to(b"back", from).await.unwrap();
        assert_eq!(client.recv_from(&mut packet).await.unwrap(), (4, relay.address));

        relay.lose(100, false, Duration::from_secs(600));
        client.send_to(b"lost", relay.address).await.unwrap();
        server.send_to(b"still", from).await.unwrap();
        assert_eq!(client.recv_from(&mut packet).await.unwrap().0, 5, "the other direction works");
        while relay.lost() == 0 {
            tokio::task::yield_now().await;
        }
        relay.heal();
        client.send_to(b"two", relay.address).await.unwrap();
        let (length, _) = server.recv_from(&mut packet).await.unwrap();
        assert_eq!(&packet[..length], b"two");
    }
}
