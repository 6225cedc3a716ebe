//! Links between nodes on this machine, over both transports, and what strangers get.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::collections::BTreeSet;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use meshlock_node::links::{Discovery, Gate, Hello, LONGEST_FRAME, Outgoing, StartError, Transport};
use meshlock_node::mesh::Member;
use meshlock_node::wire;
use support::{Event, GARBAGE, Mesh, Node, Plan, REFUSED, first_life, soon, stranger, talk};

use Transport::{Quic, Tcp};
use tokio::sync::mpsc;

macro_rules! on_both_transports {
    ($($name:ident)*) => {$(
        mod $name {
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn quic() {
                super::scenarios::$name(super::Quic).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn tcp() {
                super::scenarios::$name(super::Tcp).await;
            }
        }
    )*};
}

on_both_transports! {
    a_node_links_to_a_peer_by_address
    three_nodes_link_to_each_other
    both_dialing_gives_one_link
    frames_arrive_in_order_and_whole_in_both_directions
    a_frame_too_long_or_senseless_closes_only_that_link
    what_was_sent_before_letting_go_arrives
    what_can_wait_keeps_its_place_and_arrives_by_itself
    a_removed_member_is_cut_off_and_stays_out
    the_gate_cuts_and_restores
    a_peer_that_dies_is_noticed
    a_peer_that_is_started_again_replaces_its_link
    stopping_tells_both_ends
    a_second_node_with_one_identity_is_refused_loudly
    two_nodes_with_one_identity_find_out_without_a_common_neighbour
    a_neighbour_that_takes_too_slowly_is_dropped
}

/// Two nodes of a mesh that are linked; the second dials.
async fn pair(transport: Transport) -> (Mesh, Node, Node) {
    let mesh = Mesh::new(1);
    let mut ann = Plan::new(mesh.member(1, "ann"), transport).start();
    let mut bob = Plan::new(mesh.member(2, "bob"), transport).dials(&ann).start();
    ann.linked(2).await;
    bob.linked(1).await;
    (mesh, ann, bob)
}

fn only(members: &[u16]) -> BTreeSet<Member> {
    members.iter().copied().map(Member).collect()
}

mod scenarios {
    use super::*;

    pub(super) async fn a_node_links_to_a_peer_by_address(transport: Transport) {
        let (_, mut ann, mut bob) = pair(transport).await;
        let (_, peer) = bob.linked(1).await;
        assert_eq!((peer.node, peer.name.as_str(), peer.address), (first_life(1), "ann", ann.address()));
        let (_, peer) = ann.linked(2).await;
        assert_eq!((peer.node, peer.name.as_str()), (first_life(2), "bob"));
        talk(&mut ann, &mut bob).await;
        talk(&mut bob, &mut ann).await;
        ann.assert_orderly();
        bob.assert_orderly();
    }

    pub(super) async fn three_nodes_link_to_each_other(transport: Transport) {
        let (mesh, mut ann, mut bob) = pair(transport).await;
        let mut cy = Plan::new(mesh.member(3, "cy"), transport).dials(&ann).start();
        cy.links.add_peer(bob.address().to_string());
        talk(&mut ann, &mut bob).await;
        talk(&mut bob, &mut cy).await;
        talk(&mut cy, &mut ann).await;
        assert_eq!((ann.up.len(), bob.linked(3).await.1.name.as_str(), cy.up.len()), (2, "cy", 2));
    }

    pub(super) async fn both_dialing_gives_one_link(transport: Transport) {
        let mesh = Mesh::new(1);
        let mut ann = Plan::new(mesh.member(1, "ann"), transport).start();
        let mut bob = Plan::new(mesh.member(2, "bob"), transport).dials(&ann).start();
        ann.links.add_peer(bob.address().to_string());
        for _ in 0..3 {
            talk(&mut ann, &mut bob).await;
            talk(&mut bob, &mut ann).await;
            // Once more: both lose the link at once, and both dial.
            ann.gate.send_replace(Gate::Only(BTreeSet::new()));
            bob.gate.send_replace(Gate::Only(BTreeSet::new()));
            while !ann.up.is_empty() {
                ann.event().await;
            }
            while !bob.up.is_empty() {
                bob.event().await;
            }
            ann.gate.send_replace(Gate::Everybody);
            bob.gate.send_replace(Gate::Everybody);
        }
        ann.assert_orderly();
        bob.assert_orderly();
    }

    pub(super) async fn frames_arrive_in_order_and_whole_in_both_directions(transport: Transport) {
        let (_, mut ann, mut bob) = pair(transport).await;
        let frame = |number: usize| -> Vec<u8> {
            let length = if number == 500 { LONGEST_FRAME } else { 1 + number * number % 5000 };
            number.to_be_bytes().into_iter().cycle().take(length.max(8)).collect()
        };
        let (to_bob, to_ann) = (ann.linked(2).await.0, bob.linked(1).await.0);
        for number in 0..1000 {
            ann.send(to_bob, frame(number));
            bob.send(to_ann, frame(number));
        }
        for number in 0..1000 {
            assert!(ann.frame().await == frame(number), "frame {number} to ann");
            assert!(bob.frame().await == frame(number), "frame {number} to bob");
        }
    }

    pub(super) async fn a_frame_too_long_or_senseless_closes_only_that_link(transport: Transport) {
        let (mesh, mut ann, mut bob) = pair(transport).await;
        let mut cy = Plan::new(mesh.member(3, "cy"), transport).dials(&ann).start();
        let (to_cy, _) = ann.linked(3).await;
        let (to_bob, _) = ann.linked(2).await;
        cy.linked(1).await;

        bob.send(bob.up[&Member(1)].0, GARBAGE);
        assert_eq!(ann.down().await, (to_bob, REFUSED.to_owned()));
        let (_, reason) = bob.down().await;
        assert!(reason.contains(REFUSED), "the other end is told: {reason}");

        let (to_bob, _) = ann.linked(2).await;
        ann.send(to_bob, vec![0; LONGEST_FRAME + 1]);
        let (link, reason) = ann.down().await;
        assert_eq!(link, to_bob);
        assert!(reason.contains("1048577") && reason.contains("1048576"), "{reason}");

        ann.send(to_cy, b"still here".as_slice());
        assert_eq!(cy.frame().await, b"still here");
        assert_eq!(ann.up[&Member(3)].0, to_cy);
        ann.assert_orderly();
    }

    pub(super) async fn what_was_sent_before_letting_go_arrives(transport: Transport) {
        let (_, mut ann, mut bob) = pair(transport).await;
        let (link, _) = ann.linked(2).await;
        for number in 0..50_u8 {
            ann.send(link, vec![number; 20_000]);
        }
        ann.let_go(link);
        for number in 0..50_u8 {
            assert_eq!(bob.frame().await, vec![number; 20_000]);
        }
        assert_eq!(ann.down().await, (link, "closed by this node".to_owned()));
        bob.down().await;
    }

    pub(super) async fn what_can_wait_keeps_its_place_and_arrives_by_itself(transport: Transport) {
        let (_, mut ann, mut bob) = pair(transport).await;
        let (link, _) = ann.linked(2).await;
        ann.send_later(link, b"alone".as_slice());
        assert_eq!(bob.frame().await, b"alone");
        for number in 0..200_u8 {
            if number % 3 == 0 { ann.send(link, [number]) } else { ann.send_later(link, [number]) }
        }
        for number in 0..200_u8 {
            assert_eq!(bob.frame().await, [number]);
        }
        ann.send_later(link, b"the last".as_slice());
        ann.let_go(link);
        assert_eq!(bob.frame().await, b"the last");
        bob.down().await;
    }

    pub(super) async fn a_removed_member_is_cut_off_and_stays_out(transport: Transport) {
        let (_, mut ann, mut bob) = pair(transport).await;
        let (link, _) = ann.linked(2).await;
        ann.removed.send_replace(only(&[2]));
        assert_eq!(ann.down().await, (link, "this member was removed".to_owned()));
        let (_, reason) = bob.down().await;
        assert!(reason.contains("this member was removed"), "{reason}");
        // Bob goes on trying, and gets in only when he is a member again.
        ann.removed.send_replace(only(&[9]));
        talk(&mut bob, &mut ann).await;
    }

    pub(super) async fn the_gate_cuts_and_restores(transport: Transport) {
        let (mesh, mut ann, mut bob) = pair(transport).await;
        let mut cy = Plan::new(mesh.member(3, "cy"), transport).dials(&ann).start();
        let (to_cy, _) = ann.linked(3).await;
        let (to_bob, _) = ann.linked(2).await;
        ann.gate.send_replace(Gate::Only(only(&[3])));
        assert_eq!(ann.down().await, (to_bob, "the gate is closed to this member".to_owned()));
        bob.down().await;
        talk(&mut cy, &mut ann).await;
        assert_eq!(ann.up[&Member(3)].0, to_cy, "the others stay");
        ann.gate.send_replace(Gate::Only(only(&[2, 3])));
        talk(&mut bob, &mut ann).await;
    }

    pub(super) async fn a_peer_that_dies_is_noticed(transport: Transport) {
        let mesh = Mesh::new(1);
        let mut plan = Plan::new(mesh.member(1, "ann"), transport);
        plan.loss_after = Duration::from_millis(400);
        let mut ann = plan.start();
        let bob = Plan::new(mesh.member(2, "bob"), transport).dials(&ann);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let node = {
            let _inside = runtime.enter();
            bob.start()
        };
        let (link, _) = ann.linked(2).await;
        // All its tasks end where they are; nobody says goodbye.
        runtime.shutdown_background();
        let (gone, reason) = ann.down().await;
        assert_eq!(gone, link);
        match transport {
            Quic => assert!(reason.contains("nothing was heard"), "{reason}"),
            // The system closes the sockets of the dead.
            Tcp => assert!(!reason.is_empty()),
        }
        drop(node);
    }

    pub(super) async fn a_peer_that_is_started_again_replaces_its_link(transport: Transport) {
        let mesh = Mesh::new(1);
        let mut plan = Plan::new(mesh.member(1, "ann"), transport);
        // So long that only the new life itself can end the old link.
        plan.loss_after = Duration::from_secs(60);
        let mut ann = plan.start();
        let mut bob = Plan::new(mesh.member(2, "bob"), transport).dials(&ann);
        bob.loss_after = Duration::from_secs(60);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let first = {
            let _inside = runtime.enter();
            bob.start()
        };
        let (link, _) = ann.linked(2).await;
        bob.listen = first.address();
        tokio::task::spawn_blocking(move || runtime.shutdown_timeout(support::GUARD)).await.unwrap();
        drop(first);

        bob.incarnation = 1;
        let mut second = bob.start();
        assert_eq!(ann.down().await.0, link);
        let (_, peer) = ann.linked(2).await;
        assert_eq!(peer.node.0, 0x1_0002, "the next incarnation");
        talk(&mut ann, &mut second).await;
        ann.assert_orderly();
    }

    pub(super) async fn a_second_node_with_one_identity_is_refused_loudly(transport: Transport) {
        // A copy of the disk, the copy after a crash, and a second machine with the same invitation.
        for (incarnation, installation) in [(0, 1), (1, 1), (0, 2)] {
            let mesh = Mesh::new(1);
            let mut ann = Plan::new(mesh.member(1, "ann"), transport).start();
            let plan = Plan::new(mesh.member(2, "bob"), transport).dials(&ann);
            let mut bob = plan.start();
            let (link, peer) = ann.linked(2).await;
            let mut twin = Plan { incarnation, installation, ..plan.again() }.start();
            let told = ann.alarm().await;
            assert_eq!((told.member, told.name.as_str(), told.kept), (Member(2), "bob", Some(peer.address)));
            let words = told.to_string();
            for part in ["bob (member 2)", "mesh remove bob", &peer.address.to_string()] {
                assert!(words.contains(part), "{part} is not in {words}");
            }
            assert_eq!((twin.alarm().await.member, bob.alarm().await.member), (Member(2), Member(2)));
            assert!(twin.up.is_empty(), "it never had a link");
            talk(&mut bob, &mut ann).await;
            assert_eq!(ann.linked(2).await.0, link, "the first one goes on as if nothing had happened");
            ann.assert_orderly();
        }
    }

    pub(super) async fn two_nodes_with_one_identity_find_out_without_a_common_neighbour(transport: Transport) {
        let mesh = Mesh::new(1);
        let mut ann = Plan::new(mesh.member(1, "ann"), transport).start();
        let mut cy = Plan::new(mesh.member(3, "cy"), transport).start();
        let plan = Plan::new(mesh.member(2, "bob"), transport);
        let mut bob = plan.again().dials(&ann).start();
        let (first, _) = ann.linked(2).await;
        // Each of them was started before the other could know, in a part of the mesh of its own.
        let mut twin = plan.again().dials(&cy).start();
        let (second, _) = cy.linked(2).await;
        ann.links.add_peer(cy.address().to_string());
        for node in [&mut ann, &mut bob, &mut cy, &mut twin] {
            assert_eq!(node.alarm().await.member, Member(2));
        }
        let (gone, reason) = cy.down().await;
        assert_eq!(gone, second, "the one that was started later is refused");
        assert!(reason.contains("two nodes have this identity"), "{reason}");
        talk(&mut bob, &mut ann).await;
        assert_eq!(ann.linked(2).await.0, first);
    }

    pub(super) async fn a_neighbour_that_takes_too_slowly_is_dropped(transport: Transport) {
        let (_, mut ann, mut bob) = pair(transport).await;
        let (link, _) = ann.linked(2).await;
        let frame = Outgoing::from(vec![0; LONGEST_FRAME]);
        // Handing over costs nothing and sending does, so the queue fills.
        for _ in 0..1_000 {
            ann.send(link, frame.clone());
        }
        let (gone, reason) = ann.down().await;
        assert_eq!(gone, link);
        assert!(reason.contains("bytes wait for this neighbour"), "{reason}");
        bob.down().await;
        talk(&mut ann, &mut bob).await;
    }

    pub(super) async fn stopping_tells_both_ends(transport: Transport) {
        let (_, ann, mut bob) = pair(transport).await;
        let Node { links, mut events, user, .. } = ann;
        soon("the end", links.stop()).await;
        drop(user);
        let mut last = None;
        while let Ok(event) = events.try_recv() {
            last = Some(event);
        }
        assert!(matches!(&last, Some(Event::Down(_, reason)) if reason == "stopped"), "{last:?}");
        let (_, reason) = bob.down().await;
        assert!(reason.contains("stopped"), "{reason}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn packets_for_a_former_life_end_the_link_at_once() {
    let mesh = Mesh::new(1);
    let mut bob = Plan::new(mesh.member(2, "bob"), Quic);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let first = {
        let _inside = runtime.enter();
        bob.start()
    };
    bob.listen = first.address();
    let mut plan = Plan::new(mesh.member(1, "ann"), Quic).dials(&first);
    plan.loss_after = Duration::from_secs(60);
    let mut ann = plan.start();
    let (link, _) = ann.linked(2).await;
    tokio::task::spawn_blocking(move || runtime.shutdown_timeout(support::GUARD)).await.unwrap();
    drop(first);

    // The new life knows nobody and dials nobody. It answers what was meant for the old one.
    let mut second = bob.start();
    ann.send(link, b"are you there?".as_slice());
    let (gone, reason) = ann.down().await;
    assert_eq!((gone, reason.as_str()), (link, "lost: the other end was started again"));
    talk(&mut ann, &mut second).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_find_each_other_by_beacons() {
    // A port of its own, so that tests that run at the same time do not hear each other.
    let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let discovery = Discovery { interval: Duration::from_millis(100), port, ..Discovery::default() };
    let (mesh, other) = (Mesh::new(1), Mesh::new(2));
    let start = |mesh: &Mesh, number, name| {
        let mut plan = Plan::new(mesh.member(number, name), Quic);
        plan.discovery = Some(discovery);
        plan.start()
    };
    let mut stranger = start(&other, 4, "dora");
    let (mut ann, mut bob, mut cy) = (start(&mesh, 1, "ann"), start(&mesh, 2, "bob"), start(&mesh, 3, "cy"));
    talk(&mut ann, &mut bob).await;
    talk(&mut bob, &mut cy).await;
    talk(&mut cy, &mut ann).await;
    let heard = async {
        while stranger.links.foreign_beacons() < 10 || ann.links.foreign_beacons() < 3 {
            tokio::time::sleep(discovery.interval).await;
        }
    };
    soon("beacons of the other mesh", heard).await;
    assert!(stranger.events.try_recv().is_err(), "whoever hears only beacons of strangers links to nobody");
    for node in [&ann, &bob, &cy] {
        node.assert_orderly();
    }
}

/// Carries packets between a dialer and a node, from another port each time it is told so: as if the dialer moved.
async fn moving_relay(node: SocketAddr, mut moves: mpsc::UnboundedReceiver<()>) -> SocketAddr {
    let near = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let mut far = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = near.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut there, mut back) = (vec![0; 65536], vec![0; 65536]);
        let mut dialer = None;
        loop {
            tokio::select! {
                packet = near.recv_from(&mut there) => if let Ok((length, from)) = packet {
                    dialer = Some(from);
                    let _ = far.send_to(&there[..length], node).await;
                },
                packet = far.recv_from(&mut back) => if let (Ok((length, _)), Some(dialer)) = (packet, dialer) {
                    let _ = near.send_to(&back[..length], dialer).await;
                },
                moved = moves.recv() => match moved {
                    Some(()) => far = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap(),
                    None => return,
                },
            }
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_survives_when_the_dialer_changes_its_address() {
    let mesh = Mesh::new(1);
    let mut ann = Plan::new(mesh.member(1, "ann"), Quic).start();
    let (moves, moved) = mpsc::unbounded_channel();
    let relay = moving_relay(ann.address(), moved).await;
    let mut bob = Plan::new(mesh.member(2, "bob"), Quic);
    bob.peers.push(relay.to_string());
    let mut bob = bob.start();
    talk(&mut bob, &mut ann).await;
    let (at_ann, at_bob) = (ann.linked(2).await.0, bob.linked(1).await.0);
    for round in 0..5_u8 {
        moves.send(()).unwrap();
        bob.send(at_bob, vec![round]);
        assert_eq!(ann.event().await, Event::Received(at_ann, vec![round]), "nothing else happened");
        ann.send(at_ann, vec![round]);
        assert_eq!(bob.event().await, Event::Received(at_bob, vec![round]), "nothing else happened");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_of_silent_connections_keeps_nobody_out() {
    let mesh = Mesh::new(1);
    let mut ann = Plan::new(mesh.member(1, "ann"), Quic).start();
    // More than may come without proving their address, and none of them ever says hello.
    let idle = mesh.member(3, "cy");
    let mut crowd = Vec::new();
    for _ in 0..40 {
        crowd.push(stranger::knock(Some(&idle), &mesh.server_name(), ann.address()).await.unwrap());
    }
    let mut bob = Plan::new(mesh.member(2, "bob"), Quic).dials(&ann).start();
    talk(&mut bob, &mut ann).await;
    // They are sent away in time.
    for (_, connection) in &crowd {
        soon("the end of a silent connection", connection.closed()).await;
    }
    assert_eq!(ann.up.keys().copied().collect::<Vec<_>>(), [Member(2)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_over_ipv6() {
    if UdpSocket::bind("[::1]:0").is_err() {
        println!("skipped: needs IPv6 on the loopback interface");
        return;
    }
    let mesh = Mesh::new(1);
    for transport in [Quic, Tcp] {
        let mut ann = Plan::new(mesh.member(1, "ann"), transport);
        ann.listen = "[::]:0".parse().unwrap();
        let mut ann = ann.start();
        let port = ann.address().port();
        // One that listens on all of IPv6 is reached by IPv4 as well.
        let by_six = ("[::1]:0", format!("[::1]:{port}"));
        let by_four = ("127.0.0.1:0", format!("127.0.0.1:{port}"));
        for (number, (listen, peer)) in (2..).zip([by_six, by_four]) {
            let mut other = Plan::new(mesh.member(number, "other"), transport);
            other.listen = listen.parse().unwrap();
            other.peers.push(peer.clone());
            let mut other = other.start();
            talk(&mut other, &mut ann).await;
            talk(&mut ann, &mut other).await;
            assert_eq!(other.linked(1).await.1.address.to_string(), peer);
            assert_eq!(ann.linked(number).await.1.address.ip(), other.address().ip(), "never as IPv4 inside IPv6");
        }
    }
}

/// What a stranger sees, whoever it is.
async fn refused(identity: Option<&meshlock_node::mesh::Identity>, server_name: &str, node: &Node) -> String {
    match stranger::knock(identity, server_name, node.address()).await {
        Err(error) => error.to_string(),
        // In TLS 1.3 a client is through before the server has looked at its certificate.
        Ok((_endpoint, connection)) => stranger::say(&connection, b"hello").await,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strangers_get_nothing() {
    let (mesh, other) = (Mesh::new(1), Mesh::new(2));
    let mut ann = Plan::new(mesh.member(1, "ann"), Quic).start();
    let foreign = other.member(2, "bob");

    // Without the name there is no handshake, not even a certificate to look at.
    for (identity, name) in [(None, "example.org"), (Some(&foreign), other.server_name().as_str())] {
        let knocked = stranger::knock(identity, name, ann.address()).await;
        let error = knocked.map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("aborted by peer"), "{error}");
    }
    // With the name, but without a certificate of the mesh's authority.
    for identity in [None, Some(&foreign)] {
        let reason = refused(identity, &mesh.server_name(), &ann).await;
        assert!(reason.contains("aborted by peer") && reason.contains("error"), "{reason}");
    }
    // A node of the other mesh that was given this address by mistake tries forever, in vain.
    let mut lost = Plan::new(foreign, Quic).dials(&ann).start();

    let mut bob = Plan::new(mesh.member(2, "bob"), Quic).dials(&ann).start();
    talk(&mut bob, &mut ann).await;
    assert_eq!(ann.links.foreign_beacons(), 0);
    assert!(lost.events.try_recv().is_err());
    ann.assert_orderly();
}

fn framed(frame: &[u8]) -> Vec<u8> {
    [&u32::try_from(frame.len()).unwrap().to_be_bytes(), frame].concat()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_that_misbehave_are_told_why_they_are_refused() {
    let mesh = Mesh::new(1);
    let mut ann = Plan::new(mesh.member(1, "ann"), Quic).start();
    ann.removed.send_replace(only(&[7]));
    let (bob, former) = (mesh.member(2, "bob"), mesh.member(7, "former"));
    let hello = Hello { node: first_life(2), run: 5, installation: 1 };
    let ours = format!("speaks version {};", wire::VERSION);
    let too_long = [framed(&hello.encode()), u32::MAX.to_be_bytes().to_vec()].concat();
    let twin = mesh.member(1, "ann");
    let cases: [(&_, Vec<u8>, &[&str]); 8] = [
        (&bob, framed(&hello.encode_for(98, 99)), &["version 98 to 99", &ours]),
        (&bob, framed(&[1, 1, 2, 5]), &["version 1,", &ours]),
        (&bob, framed(b"\x02"), &["no hello", "damaged"]),
        (&bob, framed(&Hello { node: first_life(3), ..hello }.encode()), &["member 3", "certificate of 2"]),
        (&bob, u32::MAX.to_be_bytes().to_vec(), &["4294967295 bytes", "limit"]),
        (&bob, too_long, &["4294967295 bytes", "limit"]),
        (&former, framed(&Hello { node: first_life(7), ..hello }.encode()), &["this member was removed"]),
        (&twin, framed(&Hello { node: first_life(1), ..hello }.encode()), &["another node", "identity"]),
    ];
    for (identity, bytes, words) in cases {
        let (_endpoint, connection) =
            stranger::knock(Some(identity), &mesh.server_name(), ann.address()).await.unwrap();
        let reason = stranger::say(&connection, &bytes).await;
        assert!(words.iter().all(|word| reason.contains(word)), "{reason:?} should say {words:?}");
    }
    // Only the one with a proper hello was ever a link.
    assert_eq!(ann.linked(2).await.1.name, "bob");
    ann.down().await;
    let mut bob = Plan::new(bob, Quic).dials(&ann).start();
    talk(&mut bob, &mut ann).await;
    ann.assert_orderly();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn noise_on_the_port_hurts_nobody() {
    let (_, mut ann, mut bob) = pair(Quic).await;
    let noise = UdpSocket::bind("127.0.0.1:0").unwrap();
    for number in 0..2000_u32 {
        let packet: Vec<u8> =
            (0..1200_u32).map(|at| (number.wrapping_mul(2_654_435_761).wrapping_add(at * at) >> 7) as u8).collect();
        // The system may refuse some of it.
        let _ = noise.send_to(&packet[..(number as usize % 1200) + 1], ann.address());
    }
    talk(&mut bob, &mut ann).await;
    ann.assert_orderly();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_dials_itself_just_does_not_link() {
    let mesh = Mesh::new(1);
    let mut ann = Plan::new(mesh.member(1, "ann"), Quic).start();
    ann.links.add_peer(ann.address().to_string());
    ann.links.add_peer("this is no address");
    let mut bob = Plan::new(mesh.member(2, "bob"), Quic).dials(&ann).start();
    talk(&mut bob, &mut ann).await;
    assert_eq!(ann.up.keys().copied().collect::<Vec<_>>(), [Member(2)]);
}

#[tokio::test]
async fn mistakes_at_the_start_have_words() {
    let mesh = Mesh::new(1);
    let mut plan = Plan::new(mesh.member(1, "ann"), Quic);
    plan.loss_after = Duration::from_millis(99);
    assert!(matches!(plan.try_start().map(|_| ()), Err(StartError::LossAfter(_))));
    plan.loss_after = Duration::from_secs(61);
    let words = plan.try_start().map(|_| ()).unwrap_err().to_string();
    assert_eq!(words, "a neighbour cannot count as lost after 61s: choose between 100ms and 60s");

    let taken = Plan::new(mesh.member(2, "bob"), Quic).start();
    let mut plan = Plan::new(mesh.member(1, "ann"), Quic);
    plan.listen = taken.address();
    let words = plan.try_start().map(|_| ()).unwrap_err().to_string();
    assert!(words.starts_with(&format!("cannot listen on {}", taken.address())), "{words}");

    let mut borrowed = mesh.member(1, "ann");
    borrowed.certificate = mesh.member(2, "bob").certificate;
    let words = Plan::new(borrowed, Quic).try_start().map(|_| ()).unwrap_err().to_string();
    assert!(words.contains("member 2 (bob), not of 1 (ann)"), "{words}");

    let mut plan = Plan::new(mesh.member(1, "ann"), Quic);
    plan.discovery = Some(Discovery { interval: Duration::ZERO, ..Discovery::default() });
    assert!(matches!(plan.try_start().map(|_| ()), Err(StartError::Discovery(_))));
}
