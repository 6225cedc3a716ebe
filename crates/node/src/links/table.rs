//! At most one link to each member, and which of two stays.
//!
//! Both ends may dial at the same time. Both must then close the same connection, without talking about it: they keep
//! the one that the smaller member dialed. A hello of another run is a new life of the member, if the old one is dead:
//! the old link is asked, and goes if it does not answer (`doubles`). A node never greets a member that it is linked to
//! or is greeting already, so a second greeting by the same dialer means that it lost the first.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use meshlock_core::NodeId;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use super::Outgoing;
use super::control::Control;
use super::doubles::Runs;
use super::hello::Hello;
use crate::mesh::Member;

/// The reason of a connection that is one too many.
pub(super) const SECOND_LINK: &str = "a second link";

/// The reason of a link to a former life.
pub(super) const NEW_LIFE: &str = "replaced: the other end was started again";

/// The reason of a link that the other end has given up already.
pub(super) const DIALED_AGAIN: &str = "replaced: the other end dialed again";

/// How long a link may take to show that it is alive.
const PROOF_LIMIT: Duration = Duration::from_secs(2);

/// What links themselves may say before it is sent; more is lost.
const MOST_SAID: usize = 256;

/// A live link answers a challenge by this.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Proof {
    pub(super) number: u64,
    pub(super) up_ms: u64,
}

/// Where what links themselves say is sent, and their answers come in.
#[derive(Clone, Debug)]
struct Line {
    say: mpsc::Sender<Outgoing>,
    proof: watch::Sender<Proof>,
}

/// A link as others see it.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub(super) member: Member,
    pub(super) name: String,
    pub(super) address: SocketAddr,
    pub(super) run: u64,
    ticket: u64,
    line: Line,
}

#[derive(Debug)]
struct Entry {
    node: NodeId,
    dialer: Member,
    link: Link,
    /// Tells the link why it must go.
    leave: watch::Sender<Option<&'static str>>,
}

/// Who is linked, and who is being greeted.
#[derive(Debug)]
pub(super) struct LinkTable {
    links: watch::Sender<BTreeMap<Member, Entry>>,
    greeting: Mutex<BTreeSet<Member>>,
    tickets: Mutex<u64>,
    pub(super) runs: Mutex<Runs>,
}

/// Who wants a link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Newcomer<'a> {
    pub(super) hello: &'a Hello,
    pub(super) name: &'a str,
    pub(super) address: SocketAddr,
    pub(super) dialer: Member,
}

/// Why there is no place for a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NoPlace {
    /// There is one already, and it stays.
    SecondLink,
    /// Another node has the same identity, unless this one is not alive.
    Suspect {
        why: &'static str,
        /// Where the other is, if it is linked.
        other: Option<SocketAddr>,
    },
}

enum Verdict {
    Entered(watch::Receiver<Option<&'static str>>, Line, mpsc::Receiver<Outgoing>),
    NoPlace(NoPlace),
    /// The other must go first; it has been told.
    Wait(u64),
    /// The other must go first if it is dead.
    Prove(Link),
}

impl LinkTable {
    pub(super) fn new() -> Self {
        Self {
            links: watch::Sender::new(BTreeMap::new()),
            greeting: Mutex::new(BTreeSet::new()),
            tickets: Mutex::new(0),
            runs: Mutex::new(Runs::default()),
        }
    }

    pub(super) fn is_linked(&self, member: Member) -> bool {
        self.links.borrow().contains_key(&member)
    }

    /// The link to this member.
    pub(super) fn link_of(&self, member: Member) -> Option<Link> {
        self.links.borrow().get(&member).map(|entry| entry.link.clone())
    }

    /// Waits until there is no link to this member.
    pub(super) async fn unlinked(&self, member: Member) {
        // The sender is ours, so there is always an answer.
        let _ = self.links.subscribe().wait_for(|links| !links.contains_key(&member)).await;
    }

    /// Waits until there is one.
    pub(super) async fn linked(&self, member: Member) {
        let _ = self.links.subscribe().wait_for(|links| links.contains_key(&member)).await;
    }

    /// Says something to all neighbours, on the links' own account.
    pub(super) fn tell_all(&self, frame: &Outgoing, except: Option<&Place<'_>>) {
        for entry in self.links.borrow().values() {
            if except.is_none_or(|place| place.ticket != entry.link.ticket) {
                // One that does not take it misses it.
                let _ = entry.link.line.say.try_send(frame.clone());
            }
        }
    }

    /// Ends the link to this run of a member, if there is one.
    pub(super) fn dismiss(&self, member: Member, run: u64, reason: &'static str) {
        if let Some(entry) = self.links.borrow().get(&member).filter(|entry| entry.link.run == run) {
            entry.leave.send_replace(Some(reason));
        }
    }

    /// Asks whether a link is alive. Nothing if it is gone, or does not answer in time.
    pub(super) async fn prove(&self, link: &Link) -> Option<Proof> {
        let number = fastrand::u64(1..);
        let mut proof = link.line.proof.subscribe();
        link.line.say.try_send(Control::Challenge(number).encode()).ok()?;
        let gone = async {
            let is_gone = |links: &BTreeMap<Member, Entry>| {
                links.get(&link.member).is_none_or(|entry| entry.link.ticket != link.ticket)
            };
            let _ = self.links.subscribe().wait_for(is_gone).await;
        };
        tokio::select! {
            proof = timeout(PROOF_LIMIT, proof.wait_for(|proof| proof.number == number)) => Some(*proof.ok()?.ok()?),
            () = gone => None,
        }
    }

    /// The right to greet a member that was dialed. Nothing if it is linked, or greeted by another connection.
    pub(super) fn greet(&self, member: Member) -> Option<Greeting<'_>> {
        let mut greeting = self.greeting.lock().unwrap_or_else(PoisonError::into_inner);
        // Made only if it is due: one that is dropped ends the greeting of another.
        (!self.is_linked(member) && greeting.insert(member)).then(|| Greeting { table: self, member })
    }

    /// A place for the link to this member whose hello has come. Waits for the end of a link that it replaces.
    pub(super) async fn enter(&self, new: Newcomer<'_>, me: Member) -> Result<(Place<'_>, Said), NoPlace> {
        let member = Member::of(new.hello.node);
        let ticket = {
            let mut tickets = self.tickets.lock().unwrap_or_else(PoisonError::into_inner);
            *tickets += 1;
            *tickets
        };
        loop {
            match self.judge(new, me, ticket) {
                Verdict::Entered(leave, line, said) => {
                    return Ok((Place { table: self, member, ticket, leave, line }, Said(said)));
                }
                Verdict::NoPlace(reason) => return Err(reason),
                Verdict::Prove(old) => {
                    if self.prove(&old).await.is_some() {
                        let why = "both are alive, with a neighbour in common";
                        return Err(NoPlace::Suspect { why, other: Some(old.address) });
                    }
                    self.dismiss(member, old.run, NEW_LIFE);
                    self.gone(member, old.ticket).await;
                }
                Verdict::Wait(other) => self.gone(member, other).await,
            }
        }
    }

    async fn gone(&self, member: Member, ticket: u64) {
        let gone = |links: &BTreeMap<Member, Entry>| links.get(&member).is_none_or(|e| e.link.ticket != ticket);
        let _ = self.links.subscribe().wait_for(gone).await;
    }

    fn judge(&self, new: Newcomer<'_>, me: Member, ticket: u64) -> Verdict {
        let Newcomer { hello, name, address, dialer } = new;
        let member = Member::of(hello.node);
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let mut verdict = Verdict::NoPlace(NoPlace::SecondLink);
        self.links.send_if_modified(|links| {
            let old = links.get(&member);
            if let Some(why) = runs.suspect(hello) {
                let other = old.filter(|old| old.link.run != hello.run).map(|old| old.link.address);
                verdict = Verdict::NoPlace(NoPlace::Suspect { why, other });
                return false;
            }
            let Some(old) = old else {
                runs.note(hello);
                let (leave, told) = watch::channel(None);
                let (say, said) = mpsc::channel(MOST_SAID);
                let line = Line { say, proof: watch::Sender::default() };
                let name = name.to_owned();
                let link = Link { member, name, address, run: hello.run, ticket, line: line.clone() };
                links.insert(member, Entry { node: hello.node, dialer, link, leave });
                verdict = Verdict::Entered(told, line, said);
                return true;
            };
            if (old.node, old.link.run) != (hello.node, hello.run) {
                verdict = Verdict::Prove(old.link.clone());
                return false;
            }
            let reason = if old.dialer == dialer {
                (dialer != me).then_some(DIALED_AGAIN)
            } else {
                (dialer < old.dialer).then_some(SECOND_LINK)
            };
            if reason.is_some() {
                old.leave.send_replace(reason);
                verdict = Verdict::Wait(old.link.ticket);
            }
            false
        });
        verdict
    }
}

/// The right to greet a member. Ends when dropped.
#[derive(Debug)]
pub(super) struct Greeting<'a> {
    table: &'a LinkTable,
    member: Member,
}

impl Drop for Greeting<'_> {
    fn drop(&mut self) {
        self.table.greeting.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.member);
    }
}

/// What a link is to send on the links' own account.
#[derive(Debug)]
pub(super) struct Said(mpsc::Receiver<Outgoing>);

impl Said {
    /// The next of it.
    pub(super) async fn next(&mut self) -> Outgoing {
        match self.0.recv().await {
            Some(frame) => frame,
            // No sender is left.
            None => std::future::pending().await,
        }
    }

    /// What waits now.
    pub(super) fn waiting(&mut self) -> Option<Outgoing> {
        self.0.try_recv().ok()
    }
}

/// The place of a link. Free for another when dropped.
#[derive(Debug)]
pub(super) struct Place<'a> {
    table: &'a LinkTable,
    member: Member,
    ticket: u64,
    leave: watch::Receiver<Option<&'static str>>,
    line: Line,
}

impl Place<'_> {
    /// To whom the link leads.
    pub(super) fn member(&self) -> Member {
        self.member
    }

    /// Says something over this link, on the links' own account.
    pub(super) fn tell(&self, frame: Outgoing) {
        let _ = self.line.say.try_send(frame);
    }

    /// The other end is alive.
    pub(super) fn answered(&self, proof: Proof) {
        self.line.proof.send_replace(proof);
    }

    /// Waits until another link takes this place; why.
    pub(super) async fn taken(&self) -> &'static str {
        let mut leave = self.leave.clone();
        let reason = leave.wait_for(Option::is_some).await.ok().and_then(|reason| *reason);
        reason.unwrap_or(SECOND_LINK)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.table.links.send_if_modified(|links| {
            let own = links.get(&self.member).is_some_and(|entry| entry.link.ticket == self.ticket);
            own && links.remove(&self.member).is_some()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: Member = Member(5);

    fn hello(node: u32, run: u64) -> Hello {
        Hello { node: NodeId(node), run, installation: 1 }
    }

    fn new(hello: &Hello, dialer: Member) -> Newcomer<'_> {
        Newcomer { hello, name: "cy", address: ([10, 0, 0, 1], 7411).into(), dialer }
    }

    /// What becomes of a second connection, and what the first is told. The first answers challenges if it is alive.
    async fn second(first: (Hello, Member), second: (Hello, Member), alive: bool) -> Result<&'static str, NoPlace> {
        let table = LinkTable::new();
        let (place, mut said) = table.enter(new(&first.0, first.1), ME).await.unwrap();
        let answering = async {
            loop {
                let frame = said.next().await;
                if let (true, Some(Control::Challenge(number))) = (alive, Control::decode(&frame)) {
                    place.answered(Proof { number, up_ms: 1 });
                }
            }
        };
        let reason = tokio::select! {
            biased;
            entered = table.enter(new(&second.0, second.1), ME) =>
                return Err(entered.map(|_| ()).expect_err("nobody enters before the other has left")),
            reason = place.taken() => reason,
            () = answering => unreachable!("it never ends"),
        };
        drop(place);
        assert!(!table.is_linked(Member(7)));
        table.enter(new(&second.0, second.1), ME).await.unwrap();
        Ok(reason)
    }

    #[tokio::test]
    async fn of_two_the_one_dialed_by_the_smaller_member_stays() {
        let same = hello(7, 1);
        assert_eq!(second((same, ME), (same, Member(7)), true).await, Err(NoPlace::SecondLink));
        assert_eq!(second((same, Member(7)), (same, ME), true).await, Ok(SECOND_LINK));
        let smaller = hello(3, 1);
        assert_eq!(second((smaller, ME), (smaller, Member(3)), true).await, Ok(SECOND_LINK));
        assert_eq!(second((smaller, Member(3)), (smaller, ME), true).await, Err(NoPlace::SecondLink));
    }

    #[tokio::test]
    async fn a_new_life_replaces_a_dead_one() {
        assert_eq!(second((hello(7, 1), ME), (hello(7, 2), Member(7)), false).await, Ok(NEW_LIFE));
        assert_eq!(second((hello(7, 1), ME), (hello(0x1_0007, 1), Member(7)), false).await, Ok(NEW_LIFE));
    }

    #[tokio::test]
    async fn nobody_replaces_one_that_is_alive() {
        for newcomer in [hello(7, 2), hello(0x1_0007, 2)] {
            let refused = second((hello(7, 1), ME), (newcomer, Member(7)), true).await;
            assert!(matches!(refused, Err(NoPlace::Suspect { other: Some(_), .. })), "{refused:?}");
        }
    }

    #[tokio::test]
    async fn what_cannot_be_a_new_life_is_suspect() {
        let table = LinkTable::new();
        for run in [1, 2] {
            table.enter(new(&hello(0x1_0007, run), ME), ME).await.unwrap();
        }
        for suspect in [
            hello(0x1_0007, 1),
            hello(7, 3),
            Hello { installation: 2, ..hello(0x1_0007, 3) },
            Hello { installation: 2, ..hello(0x2_0007, 3) },
        ] {
            let refused = table.enter(new(&suspect, ME), ME).await.map(|_| ());
            assert!(matches!(refused, Err(NoPlace::Suspect { other: None, .. })), "{suspect:?} {refused:?}");
        }
        table.enter(new(&hello(0x2_0007, 3), ME), ME).await.unwrap();
    }

    #[tokio::test]
    async fn who_dials_again_has_lost_the_first_link() {
        assert_eq!(second((hello(7, 1), Member(7)), (hello(7, 1), Member(7)), true).await, Ok(DIALED_AGAIN));
        assert_eq!(second((hello(7, 1), ME), (hello(7, 1), ME), true).await, Err(NoPlace::SecondLink));
    }

    #[tokio::test]
    async fn nobody_is_greeted_twice() {
        let table = LinkTable::new();
        let greeting = table.greet(Member(7)).unwrap();
        assert!(table.greet(Member(7)).is_none());
        drop(greeting);
        let place = table.enter(new(&hello(7, 1), ME), ME).await.unwrap();
        assert!(table.greet(Member(7)).is_none(), "it is linked");
        drop(place);
        assert!(table.greet(Member(7)).is_some());
    }
}
