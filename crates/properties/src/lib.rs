//! What must hold of a lock protocol, one rule per file, usable event by event.
//!
//! Checker, simulator and node watch the same rules: [`History`] takes in what applications see, [`check_step`] looks
//! at a node around a grant, [`check_snapshot`] at the whole network at one moment. All three are cheap enough for
//! every state of an exploration, and none of them can change what it looks at. [`Watcher`] does for a trace what can be
//! done there.
//!
//! "Quiet" means that nothing is in flight: no message, no link notice, no timer that could still change something. A
//! "part" is a set of connected nodes; a network that is not split has one.
//!
//! | rule | in words | looks at | watched by | file |
//! |---|---|---|---|---|
//! | [`exclusion`](Rule::Exclusion) | at most k units are in use | grants in use | [`History`] | `exclusion.rs` |
//! | [`one-token`](Rule::OneToken) | at most one usable token, held or on its way | every state | [`check_snapshot`] | `one_token.rs` |
//! | [`conservation`](Rule::Conservation) | free + in use + on the way back = k, and the ledger knows every grant | every state | [`check_snapshot`] | `conservation.rs` |
//! | [`nobody-waits`](Rule::NobodyWaits) | no request waits that could be served | quiet states | [`check_snapshot`] | `nobody_waits.rs` |
//! | [`grant-order`](Rule::GrantOrder) | a grant goes to the most urgent request its granter knows | steps that grant | [`check_step`] | `grant_order.rs` |
//! | [`most-urgent-known`](Rule::MostUrgentKnown) | the holder knows the most urgent request | quiet states | [`check_snapshot`] | `most_urgent_known.rs` |
//! | [`no-idle-units`](Rule::NoIdleUnits) | the most urgent request does not wait beside units that would do | quiet states | [`check_snapshot`] | `no_idle_units.rs` |
//! | [`overtaking`](Rule::Overtaking) | a waiting request sees boundedly many grants to later ones | requests and grants | [`History`] | `overtaking.rs` |
//! | [`backfill`](Rule::Backfill) | boundedly many requests pass a front that waits for units | the turns of grants | [`turns`], [`History`] | `backfill.rs` |
//! | [`numbered`](Rule::Numbered) | no unit is granted twice at a time, where units are numbered | grants in use | [`History`] | `numbered.rs` |
//! | [`one-session`](Rule::OneSession) | one session at a time | grants in use | [`History`] | `one_session.rs` |
//! | [`occupancy`](Rule::Occupancy) | no request waits for the only session in use or wanted | quiet states | [`check_snapshot`] | `occupancy.rs` |
//! | [`followers`](Rule::Followers) | captains count the followers that are there | every state | [`check_snapshot`] | `followers.rs` |
//! | [`fences`](Rule::Fences) | fences strictly grow | grants | [`History`] | `fences.rs` |
//! | [`cancelled`](Rule::Cancelled) | a cancelled request is never granted | cancellations and grants | [`History`] | `cancelled.rs` |
//! | [`unwanted-grant`](Rule::UnwantedGrant) | no node is granted what it does not wait for | requests and grants | [`History`] | `cancelled.rs` |
//! | [`forgotten`](Rule::Forgotten) | a request that waits is known to its own node | every state | [`History::check_known`] | `forgotten.rs` |
//! | [`queues`](Rule::Queues) | a queue names a neighbour once and says what it wants | every state; more in quiet ones | [`check_snapshot`] | `queues.rs` |
//! | [`roles`](Rule::Roles) | the state that a process names is the one it is in | every state | [`check_snapshot`] | `roles.rs` |
//! | [`leaving`](Rule::Leaving) | a node that leaves has nothing that others need | quiet states | [`check_snapshot`] | `leaving.rs` |
//! | [`ledger`](Rule::Ledger) | where members crash, the ledger has everything in use | every state | [`History::check_in_use`] | `repaired.rs` |
//! | [`repaired`](Rule::Repaired) | when no member is missing, one token says exactly what is in use, and there is one census | quiet states | [`History::check_in_use`], the checker | `repaired.rs` |
//! | [`ranks`](Rule::Ranks) | every decision of an heir begins above all fences given and all decisions before | decisions | [`History`] | `ranks.rs` |
//! | [`messages-end`](Rule::MessagesEnd) | messages alone come to an end | the graph of states | the checker | - |
//! | [`starvation`](Rule::Starvation) | no request starves on a fair run | the graph of states | the checker | - |
//!
//! The rules lean on each other, and each file says where: one that excuses a state names the rule that does not.

pub mod history;
pub mod rule;
pub mod snapshot;
pub mod step;
pub mod watcher;

mod backfill;
mod cancelled;
mod conservation;
mod exclusion;
mod fences;
mod followers;
mod forgotten;
mod grant_order;
mod leaving;
mod most_urgent_known;
mod no_idle_units;
mod nobody_waits;
mod numbered;
mod occupancy;
mod one_session;
mod one_token;
mod overtaking;
mod queues;
mod ranks;
mod repaired;
mod roles;
#[cfg(test)]
mod scene;
mod waiters;

pub use history::{History, Occurrence};
pub use rule::{Rule, RuleSet, Setting, Violation};
pub use snapshot::{Flight, Snapshot, check_snapshot};
pub use step::{check_step, turns};
pub use watcher::Watcher;
