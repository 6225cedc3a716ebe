//! What happens between nodes and voters, and the small form in which the agenda keeps it.

use super::Due;
use crate::time::Time;

/// What happens between nodes and voters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ballot {
    /// A node tells voters that it is there.
    Round {
        node: u32,
        life: u16,
    },
    /// Enough of them have answered a node that had no standing: it may act until this moment.
    Answered {
        node: u32,
        life: u16,
        until: Time,
    },
    /// The standing of a node is over, unless it was renewed.
    Expires {
        node: u32,
        life: u16,
    },
    /// Voters may have heard nothing of an incarnation for too long.
    Suspect {
        node: u32,
        life: u16,
    },
    /// A voter hears what most of them have found.
    Tell {
        voter: u32,
    },
    Register {
        node: u32,
    },
    Ratify {
        node: u32,
    },
}

/// Of a ballot in [`Due::Voters`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Round,
    Answered,
    Expires,
    Suspect,
    Tell,
    Register,
    Ratify,
}

impl Kind {
    /// Whether it comes again and again without an end.
    pub(super) const fn is_routine(self) -> bool {
        match self {
            Self::Round | Self::Expires | Self::Suspect => true,
            Self::Answered | Self::Tell | Self::Register | Self::Ratify => false,
        }
    }
}

impl From<Ballot> for Due {
    fn from(ballot: Ballot) -> Self {
        let (kind, node, life, until) = match ballot {
            Ballot::Round { node, life } => (Kind::Round, node, life, Time::ZERO),
            Ballot::Answered { node, life, until } => (Kind::Answered, node, life, until),
            Ballot::Expires { node, life } => (Kind::Expires, node, life, Time::ZERO),
            Ballot::Suspect { node, life } => (Kind::Suspect, node, life, Time::ZERO),
            Ballot::Tell { voter } => (Kind::Tell, voter, 0, Time::ZERO),
            Ballot::Register { node } => (Kind::Register, node, 0, Time::ZERO),
            Ballot::Ratify { node } => (Kind::Ratify, node, 0, Time::ZERO),
        };
        Self::Voters { kind, life, node, until }
    }
}

impl Ballot {
    /// From the parts in the agenda.
    pub(crate) const fn of(kind: Kind, life: u16, node: u32, until: Time) -> Self {
        match kind {
            Kind::Round => Self::Round { node, life },
            Kind::Answered => Self::Answered { node, life, until },
            Kind::Expires => Self::Expires { node, life },
            Kind::Suspect => Self::Suspect { node, life },
            Kind::Tell => Self::Tell { voter: node },
            Kind::Register => Self::Register { node },
            Kind::Ratify => Self::Ratify { node },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ballot_is_the_same_after_the_agenda() {
        let (node, life, until) = (7, 3, Time(9));
        let all = [
            Ballot::Round { node, life },
            Ballot::Answered { node, life, until },
            Ballot::Expires { node, life },
            Ballot::Suspect { node, life },
            Ballot::Tell { voter: node },
            Ballot::Register { node },
            Ballot::Ratify { node },
        ];
        for ballot in all {
            let Due::Voters { kind, life, node, until } = Due::from(ballot) else { panic!("{ballot:?}") };
            assert_eq!(Ballot::of(kind, life, node, until), ballot);
        }
    }
}
