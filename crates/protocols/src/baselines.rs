//! The classics to compare with, each as its authors meant it.
//!
//! They are written as [`Protocol`](meshlock_core::Protocol)s, so that the same code checks, simulates and measures them
//! and ours.
//!
//! | module | source | enters by | messages for one entry, n nodes |
//! |---|---|---|---|
//! | [`central`] | folklore; our admission rule | the coordinator | 3, or 0 at the coordinator |
//! | [`raymond`] | Raymond 1989 | the token, along a tree | twice the distance when idle |
//! | [`suzuki_kasami`] | Suzuki and Kasami 1985 | the token | n, or 0 at the holder |
//! | [`ricart_agrawala`] | Ricart and Agrawala 1981 | permission of all | 2(n-1) |
//! | [`lamport`] | Lamport 1978 | the first place in a queue that all keep | 3(n-1) |
//! | [`naimi_trehel`] | Naimi, Trehel and Arnold 1996 | the token, by path reversal | log n on average, n at most |
//! | [`raynal`] | Raynal 1991 | permission of all, for units | 2(n-1) to 3(n-1) |
//!
//! All assume that any node reaches any other and that no message is lost; [`lamport`] and [`central`] also need FIFO
//! channels. They ignore links and timers. Only [`central`] supports urgencies, sessions, cancelling and several requests
//! of a node; the others share [`single`]. [`central`] and [`raynal`] have units, the others are for k = 1. The member
//! with the smallest id coordinates or starts with the token.
//!
//! Tokens count their grants, so that grants have fences: an addition of ours that costs no message. Entering by
//! permission counts nothing, and those grants have no fence.
//!
//! They tolerate no faults. None of them may run on a network that loses messages.

pub mod central;
pub mod lamport;
pub mod naimi_trehel;
pub mod raymond;
pub mod raynal;
pub mod ricart_agrawala;
pub mod single;
pub mod suzuki_kasami;

use meshlock_core::protocol::Rejection;

/// Counters beyond this could overflow; no node that follows a protocol gets there.
const GREATEST: u64 = 1 << 62;

/// Refuses numbers that counting cannot have reached.
fn check_number(number: u64) -> Result<(), Rejection> {
    if number > GREATEST { Err(Rejection::NumberOutOfRange) } else { Ok(()) }
}
