//! Questions to the whole network, and their answers.
//!
//! A node asks when it has lost its way to the token ([`About::Where`]) or cannot know whether the token it sent has
//! arrived ([`About::Pass`]). Everyone remembers the latest question of every node and passes news on once; a new
//! neighbour is told all that is open. Links lose nothing while they are up, so a node that is connected to the
//! asker for long enough hears the question, and the asker the answer. No timer is needed, and where no node can answer,
//! as in a part of the network without the token, nothing is sent.

use alloc::collections::BTreeMap;

use crate::vocabulary::NodeId;

/// What a node wants to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum About {
    /// Is the token in my part of the network? The node that has it says yes; none says no.
    Where,
    /// Did the token arrive? Any node that knows says yes; only the receiver may say no, and thereby promises to refuse it.
    Pass {
        /// The number of the pass.
        pass: u64,
        /// The node it was sent to.
        to: NodeId,
    },
}

/// The state of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Inquiry {
    /// Not answered yet.
    Open(About),
    /// Answered with yes.
    Confirmed,
    /// Answered with no.
    Denied,
}

/// One question of one node and its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct News {
    /// The node that asks.
    pub origin: NodeId,
    /// Its questions are numbered.
    pub number: u64,
    /// Its state, as far as the sender knows.
    pub inquiry: Inquiry,
}

/// What to do with a piece of news.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Novelty {
    /// Remember it and tell the others.
    New,
    /// The teller does not know the answer yet: tell it.
    Answered(News),
    /// Known already.
    Old,
}

/// The latest question of every node that ever asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub(crate) struct Questions {
    latest: BTreeMap<NodeId, (u64, Inquiry)>,
}

impl Questions {
    /// Opens a question of this node.
    pub(crate) fn open(&mut self, origin: NodeId, about: About) -> News {
        let number = self.latest.get(&origin).map_or(1, |(number, _)| number + 1);
        let inquiry = Inquiry::Open(about);
        self.latest.insert(origin, (number, inquiry));
        News { origin, number, inquiry }
    }

    /// What `origin` still wants to know.
    pub(crate) fn wants_to_know(&self, origin: NodeId) -> Option<About> {
        match self.latest.get(&origin) {
            Some((_, Inquiry::Open(about))) => Some(*about),
            Some((_, Inquiry::Confirmed | Inquiry::Denied)) | None => None,
        }
    }

    /// Compares news with what is known.
    pub(crate) fn novelty(&self, news: &News) -> Novelty {
        let Some((number, inquiry)) = self.latest.get(&news.origin) else { return Novelty::New };
        match (news.number.cmp(number), inquiry, news.inquiry) {
            (core::cmp::Ordering::Greater, ..) => Novelty::New,
            (core::cmp::Ordering::Less, ..) => Novelty::Old,
            (_, Inquiry::Open(_), Inquiry::Open(_)) => Novelty::Old,
            (_, Inquiry::Open(_), Inquiry::Confirmed | Inquiry::Denied) => Novelty::New,
            (_, Inquiry::Confirmed | Inquiry::Denied, Inquiry::Open(_)) => {
                Novelty::Answered(News { inquiry: *inquiry, ..*news })
            }
            (_, Inquiry::Confirmed | Inquiry::Denied, Inquiry::Confirmed | Inquiry::Denied) => Novelty::Old,
        }
    }

    pub(crate) fn record(&mut self, news: News) {
        self.latest.insert(news.origin, (news.number, news.inquiry));
    }

    /// Forgets what some nodes asked.
    pub(crate) fn forget(&mut self, whose: impl Fn(NodeId) -> bool) {
        self.latest.retain(|origin, _| !whose(*origin));
    }

    /// All open questions, by origin.
    pub(crate) fn open_ones(&self) -> impl Iterator<Item = News> + '_ {
        self.latest.iter().filter_map(|(origin, (number, inquiry))| match inquiry {
            Inquiry::Open(_) => Some(News { origin: *origin, number: *number, inquiry: *inquiry }),
            Inquiry::Confirmed | Inquiry::Denied => None,
        })
    }

    pub(crate) fn entries_mut(&mut self) -> impl Iterator<Item = (NodeId, &mut u64, &mut Inquiry)> {
        self.latest.iter_mut().map(|(origin, (number, inquiry))| (*origin, number, inquiry))
    }

    pub(crate) fn known_number(&self, origin: NodeId) -> u64 {
        self.latest.get(&origin).map_or(0, |(number, _)| *number)
    }
}
