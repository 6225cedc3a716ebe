//! Small meshes whose members crash, return, leave, and are declared gone.

use std::collections::VecDeque;

use meshlock_core::{Fence, Units, reverse_link};

use super::*;

/// Members on a line or in a full mesh, with what is in flight between them.
struct Mesh {
    members: Vec<Recovering>,
    links: Vec<(usize, usize)>,
    flights: VecDeque<(usize, usize, Message)>,
    grants: Vec<(usize, u64, Fence)>,
}

fn lock(member: Member, starts_with_token: bool) -> Node {
    reverse_link::Node::new(reverse_link::Config::mutex(NodeId::of(member, 0), starts_with_token)).into()
}

impl Mesh {
    /// Member 0 starts with the token.
    fn new(count: Member, links: &[(usize, usize)]) -> Self {
        let founder = |member| Recovering::founding(member, 0..count, vec![lock(member, member == 0)]);
        let members = (0..count).map(founder).collect();
        let mut mesh = Self { members, links: links.to_vec(), flights: VecDeque::new(), grants: Vec::new() };
        for link in links {
            mesh.link(*link);
        }
        mesh.settle();
        mesh
    }

    fn line(count: Member) -> Self {
        let links: Vec<_> = (1..usize::from(count)).map(|high| (high - 1, high)).collect();
        Self::new(count, &links)
    }

    fn link(&mut self, (low, high): (usize, usize)) {
        self.event(low, Event::LinkUp { neighbour: NodeId(high as u32) });
        self.event(high, Event::LinkUp { neighbour: NodeId(low as u32) });
    }

    fn event(&mut self, at: usize, event: Event<Message>) {
        for effect in self.members[at].handle(event).unwrap() {
            match effect {
                Effect::Send { to, message } => self.flights.push_back((at, to.0 as usize, message)),
                Effect::Multicast { to, message } => {
                    self.flights.extend(to.into_iter().map(|to| (at, to.0 as usize, message.clone())));
                }
                Effect::Granted { grant } => self.grants.push((at, grant.request.0, grant.fence.unwrap())),
                Effect::Broadcast { .. } | Effect::Arm { .. } => {}
                Effect::Reject { .. } => panic!("{at} rejects a frame: {effect:?}"),
            }
        }
    }

    /// Everything in flight arrives, and everything after it.
    fn settle(&mut self) {
        while let Some((from, to, message)) = self.flights.pop_front() {
            self.event(to, Event::Receive { from: NodeId(from as u32), message });
        }
    }

    fn request(&mut self, at: usize, request: u64) {
        self.event(at, Event::Request { request: RequestId(request), demand: Demand::units(1, 0) });
        self.settle();
    }

    fn release(&mut self, at: usize, request: u64) {
        self.event(at, Event::Release { request: RequestId(request), units: Units(1) });
        self.settle();
    }

    /// Its links fail with what is on them, and the others notice.
    fn crash(&mut self, at: usize) {
        self.members[at] = self.members[at].crashed().unwrap();
        self.flights.retain(|(from, to, _)| *from != at && *to != at);
        for (low, high) in self.links.clone() {
            if low == at || high == at {
                self.event(low + high - at, Event::LinkDown { neighbour: NodeId(at as u32) });
            }
        }
        self.settle();
    }

    fn start(&mut self, at: usize) {
        self.event(at, Event::Resume);
        for link in self.links.clone().into_iter().filter(|(low, high)| *low == at || *high == at) {
            self.link(link);
        }
        self.settle();
    }

    fn tell(&mut self, at: usize, facts: Census) {
        self.event(at, Event::Census { census: facts });
        self.settle();
    }

    fn granted(&self) -> Vec<(usize, u64)> {
        self.grants.iter().map(|(at, request, _)| (*at, *request)).collect()
    }

    fn holders(&self) -> Vec<usize> {
        (0..self.members.len()).filter(|at| self.members[*at].view().token.is_some()).collect()
    }
}

#[test]
fn a_token_lost_with_its_holder_is_made_anew_when_the_holder_returns() {
    let mut mesh = Mesh::line(3);
    mesh.request(2, 1);
    mesh.crash(2);
    mesh.request(1, 1);
    assert_eq!((mesh.granted(), mesh.holders()), (vec![(2, 1)], vec![]), "who is away may come back with it");
    mesh.start(2);
    assert_eq!(mesh.members[2].me(), NodeId::of(2, 1));
    assert_eq!((mesh.granted(), mesh.holders()), (vec![(2, 1), (1, 1)], vec![1]));
    assert!(mesh.grants[0].2 < mesh.grants[1].2, "fences grow over repairs: {:?}", mesh.grants);
    mesh.release(1, 1);
    mesh.request(2, 2);
    assert_eq!(mesh.granted().last(), Some(&(2, 2)));
}

#[test]
fn a_living_token_is_left_alone_and_what_the_gone_used_is_free() {
    let mut mesh = Mesh::line(3);
    mesh.request(1, 1);
    mesh.release(1, 1);
    mesh.request(2, 1);
    mesh.request(0, 1);
    mesh.crash(0);
    mesh.start(0);
    mesh.release(2, 1);
    assert_eq!((mesh.granted(), mesh.holders()), (vec![(1, 1), (2, 1)], vec![2]));
    assert!(mesh.grants.iter().all(|(_, _, fence)| fence.0 < 1 << 32), "no new token: {:?}", mesh.grants);
    mesh.crash(1);
    mesh.start(1);
    mesh.request(0, 2);
    assert_eq!(mesh.granted().last(), Some(&(0, 2)));
}

#[test]
fn a_removal_frees_what_the_removed_had() {
    let mut mesh = Mesh::new(3, &[(0, 1), (1, 2), (0, 2)]);
    mesh.request(2, 1);
    mesh.crash(2);
    mesh.request(1, 1);
    mesh.tell(0, Census::removed_fact(2));
    assert_eq!((mesh.granted(), mesh.holders()), (vec![(2, 1), (1, 1)], vec![1]));
    mesh.start(2);
    assert!(!mesh.members[2].is_running(), "it hears that it was removed, and stays down");
    assert_eq!(mesh.holders(), [1]);
}

#[test]
fn who_is_declared_gone_begins_anew_and_asks_again_when_it_is_registered() {
    let mut mesh = Mesh::line(2);
    mesh.members = mesh.members.into_iter().map(Recovering::with_voters).collect();
    mesh.request(0, 1);
    mesh.request(1, 1);
    mesh.tell(0, Census::gone_fact(NodeId::of(1, 0)));
    assert!(!mesh.members[1].is_running() && mesh.members[1].view().waiting.len() == 1);
    mesh.event(1, Event::Resume);
    mesh.settle();
    mesh.release(0, 1);
    assert_eq!((mesh.granted(), mesh.members[1].me()), (vec![(0, 1), (1, 1)], NodeId::of(1, 1)));
}

#[test]
fn with_voters_the_heir_waits_for_their_word() {
    let mut mesh = Mesh::line(2);
    mesh.members = mesh.members.into_iter().map(Recovering::with_voters).collect();
    mesh.request(1, 1);
    mesh.crash(1);
    mesh.tell(0, Census::gone_fact(NodeId::of(1, 0)));
    assert!(mesh.members[0].keeper().wants_ratification() && mesh.holders().is_empty());
    let census = mesh.members[0].keeper().census().clone();
    mesh.tell(0, census);
    assert_eq!(mesh.holders(), [0]);
}

#[test]
fn a_neighbour_with_the_same_census_ratifies_nothing() {
    let mut mesh = Mesh::line(3);
    mesh.members = mesh.members.into_iter().map(Recovering::with_voters).collect();
    mesh.crash(2);
    let gone = Census::gone_fact(NodeId::of(2, 0));
    // Both hear it from outside, so each gets from the other a census that is its own.
    mesh.event(0, Event::Census { census: gone.clone() });
    mesh.event(1, Event::Census { census: gone });
    mesh.settle();
    assert_eq!(mesh.members[0].keeper().census(), mesh.members[1].keeper().census());
    assert!(mesh.members[0].keeper().wants_ratification());
}

#[test]
fn who_leaves_says_goodbye_and_is_not_waited_for() {
    let mut mesh = Mesh::new(3, &[(0, 1), (1, 2), (0, 2)]);
    mesh.event(0, Event::Leave);
    mesh.settle();
    assert!(mesh.members[0].has_left(), "it has given the token away");
    let holder = mesh.holders()[0];
    mesh.crash(holder);
    mesh.start(holder);
    assert_eq!(mesh.holders(), [1], "the heir is the lowest of those who are left");
}

#[test]
fn a_newcomer_waits_for_all_whom_its_invitation_names() {
    let mut mesh = Mesh::line(2);
    let invitation = Census::of_living([NodeId(0), NodeId(1)]);
    mesh.members.push(Recovering::invited(2, invitation, vec![lock(2, false)]));
    mesh.event(2, Event::Resume);
    assert!(mesh.holders() == [0] && !mesh.members[2].keeper().is_ready());
    mesh.links.push((1, 2));
    mesh.link((1, 2));
    mesh.settle();
    mesh.request(2, 1);
    assert_eq!((mesh.granted(), mesh.holders()), (vec![(2, 1)], vec![2]));
    assert!(mesh.members.iter().all(|member| member.keeper().census() == mesh.members[0].keeper().census()));
}
