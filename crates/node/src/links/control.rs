//! What links say to each other on their own account, between the frames of their users.
//!
//! One that cannot be read is ignored: a newer meshlock may have more to say.

use std::net::SocketAddr;

use meshlock_core::NodeId;
use serde::{Deserialize, Serialize};

use super::Outgoing;
use crate::mesh::Member;

/// What links say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Control {
    /// Who is alive answers at once, with the same number.
    Challenge(u64),
    /// I am alive.
    Answer {
        number: u64,
        /// How long this process has had links.
        up_ms: u64,
    },
    /// Runs of members that are linked. Goes to all nodes, each once.
    Seen(Vec<Sighting>),
    /// I am this member, and I am not that run. Goes to all nodes.
    Contest(Contest),
    /// Two live nodes have one identity. Goes to all nodes, and to the two.
    Double(DoubleIdentity),
}

/// A run of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Sighting {
    pub(super) node: NodeId,
    pub(super) run: u64,
}

/// A member says that another run of it cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Contest {
    /// Who says so.
    pub(super) by: Sighting,
    pub(super) up_ms: u64,
    /// Where it is, as its neighbour knows.
    pub(super) address: Option<SocketAddr>,
    /// The other run.
    pub(super) against: u64,
}

/// Two live nodes have the identity of one member.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DoubleIdentity {
    /// Whose.
    pub member: Member,
    /// Its name.
    pub name: String,
    /// Where the one is that stays, if that is known.
    pub kept: Option<SocketAddr>,
    /// Where the one is that is refused.
    pub refused: Option<SocketAddr>,
    /// What shows it.
    pub why: String,
    /// Which process is refused.
    pub(super) run: u64,
}

impl std::fmt::Display for DoubleIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let place = |address: Option<SocketAddr>| address.map_or("an unknown address".to_owned(), |at| at.to_string());
        let Self { member: Member(member), name, why, .. } = self;
        write!(
            f,
            "two nodes have the identity of {name} (member {member}): one at {}, and one at {}, which is refused ({why}). \
             Locks are not safe while both run. Stop the wrong one, `meshlock mesh remove {name}`, and give each an \
             invitation of its own",
            place(self.kept),
            place(self.refused)
        )
    }
}

#[cfg(test)]
impl DoubleIdentity {
    pub(crate) fn sample() -> Self {
        let kept = Some(SocketAddr::from(([10, 0, 0, 1], 7411)));
        Self { member: Member(7), name: "cy".into(), kept, refused: None, why: "w".into(), run: 2 }
    }
}

impl Control {
    pub(super) fn encode(&self) -> Outgoing {
        // Plain data into a vector: it cannot fail.
        postcard::to_stdvec(self).unwrap_or_default().into()
    }

    pub(super) fn decode(frame: &[u8]) -> Option<Self> {
        postcard::from_bytes(frame).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_bytes_are_what_they_were() {
        let by = Sighting { node: NodeId(0x1_0007), run: 300 };
        let address = Some(SocketAddr::from(([10, 0, 0, 1], 7411)));
        for (control, bytes) in [
            (Control::Challenge(1), vec![0, 1]),
            (Control::Answer { number: 1, up_ms: 2 }, vec![1, 1, 2]),
            (Control::Seen(vec![by]), vec![2, 1, 0x87, 0x80, 4, 0xac, 2]),
            (
                Control::Contest(Contest { by, up_ms: 5, address, against: 6 }),
                vec![3, 0x87, 0x80, 4, 0xac, 2, 5, 1, 0, 10, 0, 0, 1, 0xf3, 0x39, 6],
            ),
            (
                Control::Double(DoubleIdentity::sample()),
                vec![4, 7, 2, b'c', b'y', 1, 0, 10, 0, 0, 1, 0xf3, 0x39, 0, 1, b'w', 2],
            ),
        ] {
            assert_eq!(control.encode().to_vec(), bytes, "{control:?}");
            assert_eq!(Control::decode(&bytes), Some(control));
        }
        assert_eq!(Control::decode(&[99]), None, "of a newer version");
    }
}
