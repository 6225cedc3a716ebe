//! Several protocols behind one type: an enum of nodes that speaks an enum of messages.
//!
//! A node runs three protocols, the checker and the simulator many more. Each of those lists is an enum whose variants
//! are protocols; its message enum has the same variants. [`Among`] ties the messages of one protocol to such an enum,
//! and [`handle`] lets one variant work on it.

use alloc::vec::Vec;

use crate::protocol::{Effect, Event, Misuse, Protocol, Rejection};

/// A protocol's messages, among those of all protocols of a list. [`messages_among!`](crate::messages_among)
/// implements it.
pub trait Among<All>: Sized {
    /// As one of all.
    fn wrap(self) -> All;

    /// Back from one of all, if it is of this protocol.
    fn unwrap(message: All) -> Option<Self>;

    /// The same by reference.
    fn look(message: &All) -> Option<&Self>;
}

/// Applies an event to a node. A message of another protocol is its sender's mistake.
pub fn handle<P, All>(node: &mut P, event: Event<All>) -> Result<Vec<Effect<All>>, Misuse>
where
    P: Protocol,
    P::Message: Among<All>,
{
    let from = if let Event::Receive { from, .. } = &event { *from } else { node.id() };
    match event.try_map(|message| P::Message::unwrap(message).ok_or(Rejection::OtherProtocol)) {
        Ok(event) => Ok(node.handle(event)?.into_iter().map(|effect| effect.map(P::Message::wrap)).collect()),
        Err(reason) => Ok([Effect::Reject { from, reason }].into()),
    }
}

/// Implements [`Among`] for the messages in the variants of an enum.
#[macro_export]
macro_rules! messages_among {
    ($all:ident { $($variant:ident($message:ty),)+ }) => {$(
        impl $crate::among::Among<$all> for $message {
            fn wrap(self) -> $all {
                $all::$variant(self)
            }

            fn unwrap(message: $all) -> Option<Self> {
                if let $all::$variant(message) = message { Some(message) } else { None }
            }

            fn look(message: &$all) -> Option<&Self> {
                if let $all::$variant(message) = message { Some(message) } else { None }
            }
        }
    )+};
}
