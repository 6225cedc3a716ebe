//! What the world may do next. An action names places, not numbers, so that it means the same after renumbering.

use std::fmt;

use crate::members::Incident;

/// One thing that may happen in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// A message arrives: the one at `place` of a channel, which is the head if channels keep order.
    Deliver { channel: u16, place: u8 },
    /// One end of a link notices that it was cut.
    Notice {
        link: u16,
        /// 0 is the end with the lower id.
        end: u8,
    },
    /// An application gives back the grant at this place of its node's list.
    Release { node: u8, place: u8 },
    /// A timer runs out while nothing else is in flight.
    Expire { node: u8 },
    /// A timer runs out early.
    ExpireEarly { node: u8 },
    /// An application asks, with a demand of its list.
    Request { node: u8, demand: u8 },
    /// An application gives up a waiting request.
    Cancel { node: u8, place: u8 },
    /// An application changes the urgency of a waiting request.
    Reprioritize {
        node: u8,
        place: u8,
        /// Its place in the model's list.
        urgency: u8,
    },
    /// A link is cut.
    Cut { link: u16 },
    /// A link comes up.
    Form { link: u16 },
    /// The head of a channel (or any message, if channels keep no order) is lost.
    Lose { channel: u16, place: u8 },
    /// The resource is defined anew, and a first node hears of it.
    Resize { node: u8 },
    /// A node hears of a definition that others know.
    Learn { node: u8 },
    /// A node is about to go.
    Leave { node: u8 },
    /// A node stops in order: it cancels what waits there, closes its links and is saved with all that it knows.
    Stop { node: u8 },
    /// A node that was stopped goes on, and its links come up again.
    Start { node: u8 },
    /// Something happens to a member that recovers from crashes.
    Member {
        incident: Incident,
        node: u8,
        /// Who hears of it first, if that is another one.
        at: u8,
    },
}

impl Action {
    /// Whether fairness obliges it to happen in the end if it stays possible.
    pub const fn is_obligatory(self) -> bool {
        match self {
            Self::Deliver { .. }
            | Self::Notice { .. }
            | Self::Release { .. }
            | Self::Expire { .. }
            | Self::Learn { .. }
            | Self::Start { .. } => true,
            Self::Member { incident, .. } => incident.is_obligatory(),
            Self::ExpireEarly { .. }
            | Self::Request { .. }
            | Self::Cancel { .. }
            | Self::Reprioritize { .. }
            | Self::Cut { .. }
            | Self::Form { .. }
            | Self::Lose { .. }
            | Self::Resize { .. }
            | Self::Leave { .. }
            | Self::Stop { .. } => false,
        }
    }

    /// Four bytes for the tables of an exploration.
    pub(crate) fn pack(self) -> Packed {
        let (kind, a, b) = match self {
            Self::Deliver { channel, place } => (0, channel, [place, 0]),
            Self::Notice { link, end } => (1, link, [end, 0]),
            Self::Release { node, place } => (2, node.into(), [place, 0]),
            Self::Expire { node } => (3, node.into(), [0, 0]),
            Self::ExpireEarly { node } => (4, node.into(), [0, 0]),
            Self::Request { node, demand } => (5, node.into(), [demand, 0]),
            Self::Cancel { node, place } => (6, node.into(), [place, 0]),
            Self::Reprioritize { node, place, urgency } => (7, node.into(), [place, urgency]),
            Self::Cut { link } => (8, link, [0, 0]),
            Self::Form { link } => (9, link, [0, 0]),
            Self::Lose { channel, place } => (10, channel, [place, 0]),
            Self::Resize { node } => (11, node.into(), [0, 0]),
            Self::Learn { node } => (12, node.into(), [0, 0]),
            Self::Leave { node } => (13, node.into(), [0, 0]),
            Self::Stop { node } => (14, node.into(), [0, 0]),
            Self::Start { node } => (15, node.into(), [0, 0]),
            // Kinds have four bits and no more: the last of them has kinds of its own.
            Self::Member { incident, node, at } => (15, node.into(), [at, incident as u8 + 1]),
        };
        Packed(kind << 28 | u32::from(a) << 16 | u32::from(b[0]) << 8 | u32::from(b[1]))
    }
}

/// An [`Action`] in four bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Packed(u32);

impl Packed {
    /// Whether it is a delivery or a notice.
    pub(crate) const fn is_arrival(self) -> bool {
        self.0 >> 28 <= 1
    }

    pub(crate) const fn unpack(self) -> Action {
        let a = (self.0 >> 16 & 0xfff) as u16;
        let node = a as u8;
        let place = (self.0 >> 8) as u8;
        let last = self.0 as u8;
        match self.0 >> 28 {
            0 => Action::Deliver { channel: a, place },
            1 => Action::Notice { link: a, end: place },
            2 => Action::Release { node, place },
            3 => Action::Expire { node },
            4 => Action::ExpireEarly { node },
            5 => Action::Request { node, demand: place },
            6 => Action::Cancel { node, place },
            7 => Action::Reprioritize { node, place, urgency: last },
            8 => Action::Cut { link: a },
            9 => Action::Form { link: a },
            10 => Action::Lose { channel: a, place },
            11 => Action::Resize { node },
            12 => Action::Learn { node },
            13 => Action::Leave { node },
            14 => Action::Stop { node },
            _ if last == 0 => Action::Start { node },
            _ => Action::Member { incident: Incident::ALL[last as usize - 1], node, at: place },
        }
    }
}

impl fmt::Debug for Packed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.unpack().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_loses_nothing() {
        let actions = [
            Action::Deliver { channel: 4031, place: 255 },
            Action::Notice { link: 2015, end: 1 },
            Action::Release { node: 63, place: 7 },
            Action::Expire { node: 63 },
            Action::ExpireEarly { node: 1 },
            Action::Request { node: 63, demand: 255 },
            Action::Cancel { node: 2, place: 3 },
            Action::Reprioritize { node: 63, place: 255, urgency: 254 },
            Action::Cut { link: 2015 },
            Action::Form { link: 1 },
            Action::Lose { channel: 4031, place: 9 },
            Action::Resize { node: 63 },
            Action::Learn { node: 1 },
            Action::Leave { node: 2 },
            Action::Stop { node: 63 },
            Action::Start { node: 0 },
        ];
        let incidents = Incident::ALL.map(|incident| Action::Member { incident, node: 63, at: 62 });
        for action in actions.into_iter().chain(incidents) {
            assert_eq!(action.pack().unpack(), action);
            let is_arrival = matches!(action, Action::Deliver { .. } | Action::Notice { .. });
            assert_eq!(action.pack().is_arrival(), is_arrival, "{action:?}");
        }
    }
}
