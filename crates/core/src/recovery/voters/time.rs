//! Time as a number that the driver passes in, and how long voters and nodes wait.

/// A moment on the own clock of one node, in milliseconds. That clock must go on while the machine is suspended. Moments
/// of two nodes are never compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Time(pub u64);

/// A length of time in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Span(pub u64);

impl Time {
    /// So much later. The end of time is never reached.
    #[must_use]
    pub const fn plus(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

/// How long everybody waits. The same on every node of a mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Settings {
    /// How long an answered round lets a node act: T.
    pub standing: Span,
    /// How long a voter waits before it gives a node up: W, which is longer than T by any drift of two clocks.
    pub silence: Span,
    /// How often a voter makes a round, with which it calls for those of all others; and every node that gets no answers.
    pub round: Span,
    /// How long a node that gets answers waits for a call before it makes a round by itself.
    pub patience: Span,
    /// Newcomers within this time are put on record together: one write of a voter, and one census for everybody.
    pub gather: Span,
    /// A single founding voter proposes itself and the first two other members that are ready, once they are there.
    pub grows: bool,
}

impl Settings {
    /// Clocks whose rates differ from the true one by up to 1 percent, and 200 ms for reading them.
    pub const fn of_standing(standing: Span) -> Self {
        let silence = Span(standing.0.saturating_add(standing.0 / 50).saturating_add(200));
        let round = if standing.0 < 6 { 1 } else { standing.0 / 6 };
        let patience = Span(round.saturating_add(round / 2));
        Self { standing, silence, round: Span(round), patience, gather: Span(standing.0 / 40), grows: true }
    }

    /// How long a voter waits for the call of one before it: longer than that one waits between two, and not as long as the
    /// nodes that both call for.
    pub(super) fn relief(&self) -> Span {
        Span(self.round.0.saturating_add(self.round.0 / 4).min(self.patience.0))
    }
}
