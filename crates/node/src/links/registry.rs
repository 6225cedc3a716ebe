//! At most one link to each member, and which of two stays.
//!
//! Both ends may dial at the same time. Both must then close the same connection, without talking about it: they keep
//! the one that the smaller member dialed. A hello of another run, or another incarnation, is a new life of the member:
//! its old link is dead whatever it looks like, and goes at once. A node never greets a member that it is linked to or
//! is greeting already, so a second greeting by the same dialer means that it lost the first.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use meshlock_core::NodeId;
use tokio::sync::watch;

use super::hello::Hello;
use crate::mesh::Member;

/// The reason of a connection that is one too many.
pub(super) const SECOND_LINK: &str = "a second link";

/// The reason of a link to a former life.
pub(super) const NEW_LIFE: &str = "replaced: the other end was started again";

/// The reason of a link that the other end has given up already.
pub(super) const DIALED_AGAIN: &str = "replaced: the other end dialed again";

#[derive(Debug)]
struct Entry {
    node: NodeId,
    run: u64,
    dialer: Member,
    ticket: u64,
    /// Tells the link why it must go.
    leave: watch::Sender<Option<&'static str>>,
}

/// Who is linked, and who is being greeted.
#[derive(Debug)]
pub(super) struct Registry {
    links: watch::Sender<BTreeMap<Member, Entry>>,
    greeting: Mutex<BTreeSet<Member>>,
    tickets: Mutex<u64>,
}

enum Verdict {
    Entered(watch::Receiver<Option<&'static str>>),
    Refused,
    /// The other must go first; it has been told.
    Wait(u64),
}

impl Registry {
    pub(super) fn new() -> Self {
        Self {
            links: watch::Sender::new(BTreeMap::new()),
            greeting: Mutex::new(BTreeSet::new()),
            tickets: Mutex::new(0),
        }
    }

    pub(super) fn is_linked(&self, member: Member) -> bool {
        self.links.borrow().contains_key(&member)
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

    /// The right to greet a member that was dialed. Nothing if it is linked, or greeted by another connection.
    pub(super) fn greet(&self, member: Member) -> Option<Greeting<'_>> {
        let mut greeting = self.greeting.lock().unwrap_or_else(PoisonError::into_inner);
        // Made only if it is due: one that is dropped ends the greeting of another.
        (!self.is_linked(member) && greeting.insert(member)).then(|| Greeting { registry: self, member })
    }

    /// A place for the link to this member whose hello has come. Waits for the end of a link that it replaces.
    pub(super) async fn enter(&self, hello: &Hello, dialer: Member, me: Member) -> Result<Place<'_>, &'static str> {
        let member = Member::of(hello.node);
        let ticket = {
            let mut tickets = self.tickets.lock().unwrap_or_else(PoisonError::into_inner);
            *tickets += 1;
            *tickets
        };
        loop {
            match self.judge(hello, dialer, me, ticket) {
                Verdict::Entered(leave) => return Ok(Place { registry: self, member, ticket, leave }),
                Verdict::Refused => return Err(SECOND_LINK),
                Verdict::Wait(other) => {
                    let gone = |links: &BTreeMap<Member, Entry>| links.get(&member).is_none_or(|e| e.ticket != other);
                    let _ = self.links.subscribe().wait_for(gone).await;
                }
            }
        }
    }

    fn judge(&self, hello: &Hello, dialer: Member, me: Member, ticket: u64) -> Verdict {
        let mut verdict = Verdict::Refused;
        self.links.send_if_modified(|links| {
            let member = Member::of(hello.node);
            let Some(old) = links.get(&member) else {
                let (leave, told) = watch::channel(None);
                links.insert(member, Entry { node: hello.node, run: hello.run, dialer, ticket, leave });
                verdict = Verdict::Entered(told);
                return true;
            };
            let reason = if (old.node, old.run) != (hello.node, hello.run) {
                Some(NEW_LIFE)
            } else if old.dialer == dialer {
                (dialer != me).then_some(DIALED_AGAIN)
            } else {
                (dialer < old.dialer).then_some(SECOND_LINK)
            };
            if reason.is_some() {
                old.leave.send_replace(reason);
                verdict = Verdict::Wait(old.ticket);
            }
            false
        });
        verdict
    }
}

/// The right to greet a member. Ends when dropped.
#[derive(Debug)]
pub(super) struct Greeting<'a> {
    registry: &'a Registry,
    member: Member,
}

impl Drop for Greeting<'_> {
    fn drop(&mut self) {
        self.registry.greeting.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.member);
    }
}

/// The place of a link. Free for another when dropped.
#[derive(Debug)]
pub(super) struct Place<'a> {
    registry: &'a Registry,
    member: Member,
    ticket: u64,
    leave: watch::Receiver<Option<&'static str>>,
}

impl Place<'_> {
    /// Waits until another link takes this place; why.
    pub(super) async fn taken(&self) -> &'static str {
        let mut leave = self.leave.clone();
        let reason = leave.wait_for(Option::is_some).await.ok().and_then(|reason| *reason);
        reason.unwrap_or(SECOND_LINK)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.registry.links.send_if_modified(|links| {
            let own = links.get(&self.member).is_some_and(|entry| entry.ticket == self.ticket);
            own && links.remove(&self.member).is_some()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: Member = Member(5);

    fn hello(node: u32, run: u64) -> Hello {
        Hello { version: 1, node: NodeId(node), run }
    }

    /// Whether a second connection wins against the first, and what the first is told.
    async fn second(first: (Hello, Member), second: (Hello, Member)) -> Option<&'static str> {
        let registry = Registry::new();
        let place = registry.enter(&first.0, first.1, ME).await.unwrap();
        tokio::select! {
            biased;
            entered = registry.enter(&second.0, second.1, ME) => {
                assert_eq!(entered.err(), Some(SECOND_LINK), "nobody enters before the other has left");
                None
            }
            reason = place.taken() => {
                drop(place);
                assert!(!registry.is_linked(Member(7)));
                registry.enter(&second.0, second.1, ME).await.unwrap();
                Some(reason)
            }
        }
    }

    #[tokio::test]
    async fn of_two_the_one_dialed_by_the_smaller_member_stays() {
        let same = hello(7, 1);
        assert_eq!(second((same, ME), (same, Member(7))).await, None);
        assert_eq!(second((same, Member(7)), (same, ME)).await, Some(SECOND_LINK));
        let smaller = hello(3, 1);
        assert_eq!(second((smaller, ME), (smaller, Member(3))).await, Some(SECOND_LINK));
        assert_eq!(second((smaller, Member(3)), (smaller, ME)).await, None);
    }

    #[tokio::test]
    async fn a_new_life_replaces_whatever_was_there() {
        assert_eq!(second((hello(7, 1), ME), (hello(7, 2), Member(7))).await, Some(NEW_LIFE));
        assert_eq!(second((hello(7, 1), ME), (hello(0x1_0007, 1), Member(7))).await, Some(NEW_LIFE));
    }

    #[tokio::test]
    async fn who_dials_again_has_lost_the_first_link() {
        assert_eq!(second((hello(7, 1), Member(7)), (hello(7, 1), Member(7))).await, Some(DIALED_AGAIN));
        assert_eq!(second((hello(7, 1), ME), (hello(7, 1), ME)).await, None);
    }

    #[tokio::test]
    async fn nobody_is_greeted_twice() {
        let registry = Registry::new();
        let greeting = registry.greet(Member(7)).unwrap();
        assert!(registry.greet(Member(7)).is_none());
        drop(greeting);
        let place = registry.enter(&hello(7, 1), ME, ME).await.unwrap();
        assert!(registry.greet(Member(7)).is_none(), "it is linked");
        drop(place);
        assert!(registry.greet(Member(7)).is_some());
    }
}
