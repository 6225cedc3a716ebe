//! The rules by name. `docs/protocols/reverse-link.md` explains them; [`settle`](super::settle) has their bodies.
//!
//! They are methods of a trait only because of the checker's own tests: with the feature `mutants`, `bug.rs` gives
//! [`Node`](super::Node) an inherent method of the same name for each of them, which breaks the rule if that bug is
//! planted. `self.pass(..)` then finds the inherent method first. A product has the rules alone.

use alloc::vec::Vec;

use super::height::Height;
use super::message::Body;
use super::node::Effects;
use super::queue::{Claim, Entry};
use super::token::{Owed, Token};
use crate::protocol::Misuse;
use crate::slots::Slots;
use crate::vocabulary::{GrantId, NodeId, RequestId};

pub(super) trait Rules {
    // The queue.

    /// A request waits in the queue by rank, behind its equals, until it enters or is cancelled.
    fn enqueue(&mut self, entry: Entry);
    /// A cancelled request leaves the queue at once.
    fn on_cancel(&mut self, request: RequestId) -> Result<(), Misuse>;
    /// A neighbour has one claim in the queue; a new one replaces it.
    fn put_claim(&mut self, neighbour: NodeId, claim: Claim);
    /// An ask counts unless it is stale, or its sender is below us and about to ask elsewhere.
    fn on_ask(&mut self, from: NodeId, claim: Claim);
    /// The node that we asked says that it has the token: if that came back to it, it has forgotten what we told it.
    fn tell_claim_again(&mut self, holder: NodeId, out: &mut Effects);

    // With the token.

    /// The token and its holder both take over the newer of their capacities.
    fn agree_on_capacity(&mut self);
    /// Strikes returned grants from the ledger.
    fn hand_in_releases(&mut self);
    /// Enough units are free, and no other session is in the ledger.
    fn may_enter(&self, token: &Token, claim: &Claim) -> bool;
    /// A session lets in at most `joins` requests past a front that waits for its end.
    fn may_join(&self, token: &Token) -> bool;
    /// A front that waits for units lets at most `passes` requests past it until it is granted.
    fn may_pass(&self, owed: &Owed) -> bool;
    /// A smaller claim is about to pass the front, and is counted where it enters. If it was passed itself before a more
    /// urgent one came, that one takes over its count.
    fn owe(&mut self, front: &Claim, enters: Option<&Claim>);
    /// A front that was passed is granted, cancelled or out of reach: the next one has all its passes.
    fn settle_debt(&mut self);
    /// The units that a claim gets: the lowest that are in no grant of the ledger.
    fn number(&self, token: &Token, claim: &Claim) -> Slots;
    /// Grants a request of this node, with the next fence of the token.
    fn enter(&mut self, request: RequestId, claim: &Claim, out: &mut Effects);
    /// Gives the token to a neighbour, together with the most urgent claim that stays behind, and keeps a copy.
    fn pass(&mut self, to: NodeId, out: &mut Effects);
    /// A node that leaves gives an idle token to a neighbour that stays.
    fn pass_on_if_leaving(&mut self, out: &mut Effects);

    // Without the token.

    /// An ask is dead if no claim is left here, or if the asked node is gone or no longer below us: it has dropped our
    /// claim, or will.
    fn take_back_dead_ask(&mut self, out: &mut Effects);
    /// Without a way down: turns links if there was a recent sign of the token, otherwise first finds out whether the
    /// token is in this part of the network at all.
    fn look_if_lowest(&mut self, out: &mut Effects);
    /// Copies of a release that wait here for a way are one.
    fn merge_releases(&mut self);
    /// Sends releases down, each kept here until it is confirmed.
    fn send_releases(&mut self, out: &mut Effects);
    /// Takes over a release from a neighbour. Copies are never merged.
    fn keep_release(&mut self, grant: GrantId);
    /// The asked node, or else the lowest below us, knows exactly our most urgent claim.
    fn keep_asking(&mut self, out: &mut Effects);

    // Transfers of the token.

    /// Takes the token, unless this node promised to refuse this pass or has seen a later one.
    fn on_token(&mut self, from: NodeId, height: Height, token: Token, ask: Option<Claim>, out: &mut Effects);
    /// The new holder is below the old one.
    fn go_below(&mut self, giver: Height);
    /// A link failed. If the token was given away over it, and its arrival was not confirmed, then only an answer from the
    /// network can tell whether it arrived.
    fn doubt(&mut self, neighbour: NodeId, out: &mut Effects);
    /// That answer is asked for when it matters: somebody looks for the token in vain, or this node leaves.
    fn ask_about_copy(&mut self, out: &mut Effects);
    /// The receiver says that a pass did not arrive, and will refuse it should it still come.
    fn promise_to_refuse(&mut self, pass: u64);
    /// The token we sent did not arrive and never will: our copy is the token again. What neighbours claimed is forgotten,
    /// since some of it left with the token; they hear `here` and tell it again.
    fn recover_token(&mut self, out: &mut Effects);
    /// With the token we are below all others again: nobody else could go down meanwhile.
    fn go_back_down(&mut self, raised_from: Option<Height>);

    // What neighbours are told.

    /// Tells our height to the neighbours that must hear it. The giver of the token knows it already.
    fn tell_height(&mut self, body: Body, out: &mut Effects);
    /// The first message to the giver of the token says that it arrived.
    fn confirm_pass(&mut self, to: &[NodeId]) -> Option<u64>;
    /// The first message to a neighbour confirms all releases that came from there.
    fn confirm_releases(&mut self, to: NodeId) -> Vec<GrantId>;
    /// A neighbour that leaves waits for confirmations, and none keeps many releases for want of one.
    fn confirm_at_once(&mut self, out: &mut Effects);
    /// A new neighbour hears all open questions.
    fn tell_open_questions(&mut self, neighbour: NodeId, out: &mut Effects);

    /// A saved node goes on. There is no timer to set, and doubts are resolved over the new links.
    fn on_resume(&mut self);
}
