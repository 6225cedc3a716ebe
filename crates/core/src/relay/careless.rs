//! A relay that does not look at who is gone, for tests.
//!
//! It carries what the gone have sent, and delivers what was meant for a former incarnation of its node. A protocol that
//! recovers bears that: it looks by itself. Only in such a relay it can be seen that it does.

use super::{Message, Relayed, Rules};
use crate::planted::Planted;
use crate::protocol::Protocol;
use crate::vocabulary::NodeId;

const CARELESS: u8 = 0;

impl<P: Protocol> Relayed<P> {
    /// From now on it is careless.
    pub fn be_careless(&mut self) {
        self.planted = Planted::bug(CARELESS);
    }

    /// The protocol inside, to plant bugs into it.
    pub fn inner_mut(&mut self) -> &mut P {
        &mut self.inner
    }

    fn is_careless(&self) -> bool {
        self.planted.has(CARELESS)
    }

    pub(super) fn is_ignored(&self, from: NodeId, message: &Message<P::Message>) -> bool {
        if self.is_careless() { self.is_met(message) } else { Rules::is_ignored(self, from, message) }
    }

    pub(super) fn is_for_me(&self, message: &Message<P::Message>) -> bool {
        let to = match message {
            Message::Flood { to, .. } => *to,
            Message::Hop { to, .. } => Some(*to),
        };
        let me = self.inner.id();
        let for_former = self.is_careless()
            && message.label().origin.member() != me.member()
            && to.is_some_and(|to| to.member() == me.member());
        for_former || Rules::is_for_me(self, message)
    }
}
