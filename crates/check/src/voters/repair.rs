//! Voters' lists and a token together: the heir makes a lost token anew while the voters change.
//!
//! A third member, which no node of the model is, has the token at first. A newcomer that is registered may take it from
//! there, until that member crashes and is declared gone. Then the heir, a [`Keeper`] as in every node, collects the
//! reports of all it knows of, asks the voters, and makes the token anew if no report has it. Heir and newcomer may meet
//! at any time, or never: then only the voters can tell the heir that somebody else came.

use meshlock_core::recovery::{Census, Keeper, Picture, Report, Row};
use meshlock_core::reverse_link;

use super::world::{ASKER, DEAD, HEIR};

/// The heir's part in a recovery, and where the token is.
#[derive(Clone, Debug, Hash)]
pub(super) struct Repair {
    token: Token,
    heir: Keeper,
    /// What it has asked the voters to ratify.
    asked: Option<Census>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Token {
    AtFirst,
    AtNewcomer,
    Lost,
    Anew,
    Twice,
}

const RESOURCE: u64 = 1;

impl Repair {
    pub(super) fn new(known: Census) -> Self {
        Self { token: Token::AtFirst, heir: Keeper::new(HEIR, known, true), asked: None }
    }

    /// Whether the first holder still has the token.
    pub(super) fn may_be_taken(&self) -> bool {
        self.token == Token::AtFirst
    }

    pub(super) fn take(&mut self) {
        self.token = Token::AtNewcomer;
    }

    /// Whether the first holder is still there.
    pub(super) fn may_crash(&self) -> bool {
        !self.heir.census().is_gone(DEAD)
    }

    pub(super) fn crash(&mut self) {
        if self.token == Token::AtFirst {
            self.token = Token::Lost;
        }
    }

    /// The heir knows this much. What it has to ask the voters, if anything.
    pub(super) fn learn(&mut self, known: &Census) -> Option<Census> {
        if let Some(grown) = self.heir.grown(known) {
            self.heir.learn(grown);
            self.heir.report(rows(false));
        }
        let census = Some(self.heir.census().clone()).filter(|_| self.heir.wants_ratification());
        let asks = census.filter(|census| self.asked.as_ref() != Some(census))?;
        self.asked = Some(asks.clone());
        Some(asks)
    }

    /// The voters agreed.
    pub(super) fn ratified(&mut self, census: &Census) {
        self.heir.ratified(census);
        if self.heir.decide().is_some_and(|lost| !lost.is_empty()) {
            self.token = if self.token == Token::Lost { Token::Anew } else { Token::Twice };
        }
    }

    /// Whether the heir misses what a newcomer that knows this much could tell it, or the other way round.
    pub(super) fn can_meet(&self, known: &Census) -> bool {
        let misses = self.heir.missing().any(|node| node == ASKER);
        misses || self.heir.census() != known
    }

    /// The newcomer's report of this census.
    pub(super) fn hear(&mut self, census: Census) {
        let has_token = self.token == Token::AtNewcomer;
        self.heir.hear(Report { census, node: ASKER, rows: rows(has_token) }.into());
    }

    pub(super) fn is_twice(&self) -> bool {
        self.token == Token::Twice
    }

    /// Whether there is a token for as long as all goes well.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.token, Token::Anew | Token::AtNewcomer)
    }

    /// Whether nothing can go wrong any more.
    pub(super) fn is_settled(&self) -> bool {
        self.token == Token::Anew
    }
}

fn rows(token: bool) -> Vec<(u64, Option<Row>)> {
    let picture = Picture::ReverseLink(reverse_link::Picture::default());
    vec![(RESOURCE, Some(Row { token, copy: None, accepted: 0, picture }))]
}
