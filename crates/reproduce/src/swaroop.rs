//! S4-1 to S4-16: group mutual exclusion for soft real-time systems (Swaroop and Singh).
//!
//! Unless said otherwise processes reach each other directly and every message takes T = 10 ms, as the paper assumes.
//! Three texts are run: as printed, printed with all defects repaired but one, and repaired. Defects G1 to G11 are those
//! of `docs/errata.md`.

mod by_hand;
mod cost;
mod game;
mod ledger;
mod order;
mod radio;
mod safety;
mod setting;
mod sharing;
mod size;
mod switches;

use crate::claim::Claim;
use crate::verdict::{BY_CHANCE, FAILS, HOLDS, UNKNOWN, at_least, at_most, needs, none, positive};

/// The claims of the group paper, in order.
pub const CLAIMS: &[Claim] = &[
    Claim {
        id: "S4-1",
        says: "A process that enters as captain costs at most n messages: n - 1 requests and the token.",
        demands: &[none(cost::OVER), needs(cost::ENTRIES, 100.0)],
        how: "Every message is booked to the entry it was sent for, by role, on random load; n from 4 up.",
        expected: "Never more than n, and n is reached; as printed more where there are two tokens (G1).",
        expects: &[("printed", FAILS), ("printed with all but g8", HOLDS), ("repaired", HOLDS)],
        measure: cost::captain,
    },
    Claim {
        id: "S4-2",
        says: "A process that enters as follower costs at most n + 1 messages: n - 1 requests, start, complete.",
        demands: &[none(cost::OVER), needs(cost::ENTRIES, 100.0)],
        how: "As S4-1, for followers.",
        expected: "Never more than n + 1, and n + 1 is reached; as printed there may be more, as in S4-1.",
        expects: &[("printed", BY_CHANCE), ("printed with all but g8", HOLDS), ("repaired", HOLDS)],
        measure: cost::follower,
    },
    Claim {
        id: "S4-3",
        says: "In the best case an entry costs no message: an idle holder enters again.",
        demands: &[none(cost::COSTLY), none(cost::NOT_ENTERED), needs(cost::ENTRIES, 1.0)],
        how: "One of ten processes asks again and again; it starts with the token, or fetches it once.",
        expected: "0 messages, but as printed the holder waits forever after its first entry (G2).",
        expects: &[("printed", FAILS), ("printed with g1 to g10", HOLDS), ("repaired", HOLDS)],
        measure: cost::best,
    },
    Claim {
        id: "S4-4",
        says: "A request goes to at most n - 1 processes, and to fewer where few compete.",
        demands: &[none(cost::BEYOND), at_most(cost::ASKED, 0.999)],
        how: "The size of the request set used, by load, all or two of 16 asking; fewer means: fewer than n - 1 if only \
                  two ask, and seldom.",
        expected: "At most n - 1. With all repairs but G8's at light load at least a quarter less (Chang, Singhal and \
                       Liu report 40 %), and at most 2 if only two ask, but some requests may never be served (G8). As \
                       printed it stops too soon to tell. Repaired, everybody is always asked.",
        expects: &[("printed", UNKNOWN), ("printed with all but g8", HOLDS), ("repaired", FAILS)],
        measure: cost::request_sets,
    },
    Claim {
        id: "S4-5",
        says: "Request, start and complete are of constant size; the token is of size O(N).",
        demands: &[none(size::VARIES), at_most(size::OFF_LINE, 0.15), positive(size::GROWTH)],
        how: "Bytes as encoded; N processes ask at once for N sessions or for one.",
        expected: "Three constants, and a straight line (no size off it by more than 15 %).",
        expects: &[("printed", HOLDS), ("printed with g1 to g10", HOLDS), ("repaired", HOLDS)],
        measure: size::by_kind,
    },
    Claim {
        id: "S4-6",
        says: "The mean size of a message is O(1) if all ask for the same session and O(N) if all ask for different \
                   ones.",
        demands: &[none(size::COUNTS), at_most(size::ONE_GROWS, 1.5), at_least(size::MANY_GROW, 0.5)],
        how: "The two workloads; tokens, starts and completes are counted and weighed.",
        expected: "1 token, N - 1 starts, N - 1 completes, and nearly constant bytes (up to half as much again); N \
                       tokens, and bytes that grow with N (at least half as fast). As printed there is one token more.",
        expects: &[("printed", FAILS), ("printed with g1 to g10", HOLDS), ("repaired", HOLDS)],
        measure: size::on_average,
    },
    Claim {
        id: "S4-7",
        says: "All n processes can be inside together.",
        demands: &[none(sharing::LEFT_OUT)],
        how: "All ask for one session; then some ask for another one under load.",
        expected: "n at once; fewer as soon as one other session is wanted.",
        expects: &[("printed", HOLDS), ("printed with g1 to g10", HOLDS), ("repaired", HOLDS)],
        measure: sharing::everybody,
    },
    Claim {
        id: "S4-8",
        says: "While a request waits, at most min(n, m) sessions are opened with one level of priority, and at most \
                   max{min(n, m), K - 1} with K levels.",
        demands: &[none(switches::ABOVE_CLAIM), needs(switches::SETTINGS, 1.0)],
        how: "The protocol is driven message by message against an adversary that asks for the session just opened \
                  again at level K, while one waits at level 1; then against all possible ones for few processes, and \
                  against random ones.",
        expected: "Wrong: min(n-1, m) + max(K-2, 0) is reached, and not exceeded in any game played to the end. n = 11, \
                       m = 10: K = 5 gives 13, K = 10 18, K = 20 28. Waiting to be at the top and waiting for those ahead \
                       follow one another (G11).",
        expects: &[("printed", FAILS), ("printed with g1 to g10", FAILS), ("repaired", FAILS)],
        measure: switches::bound,
    },
    Claim {
        id: "S4-9",
        says: "A request at the lowest level is at the highest after at most K - 1 openings.",
        demands: &[none(switches::OFF_AGING), needs(switches::SETTINGS, 1.0)],
        how: "Its level is read from the token after every opening of S4-8.",
        expected: "Exactly K - 1. The printed text goes on beyond K, to no effect.",
        expects: &[("printed", HOLDS), ("repaired", HOLDS)],
        measure: switches::aging,
    },
    Claim {
        id: "S4-10",
        says: "The queue of the token has at most min(n, m) entries.",
        demands: &[none(switches::TOO_LONG), needs(switches::QUEUED, 1.0)],
        how: "The longest queue at any event of a run under heavy load.",
        expected: "Holds repaired, and is reached up to one; as printed a request that joins an entry gets a second \
                       one (G4).",
        expects: &[
            ("printed", FAILS),
            ("printed with all but g4", FAILS),
            ("printed with g1 to g10", HOLDS),
            ("repaired", HOLDS),
        ],
        measure: switches::queue,
    },
    Claim {
        id: "S4-11",
        says: "Under heavy load the next session starts T after the last exit of the present one in the best case, and \
                   2T after it in the worst, which is that a follower leaves last.",
        demands: &[none(order::OUTSIDE), none(order::NOT_TWO), needs(order::HAND_OVERS, 50.0)],
        how: "Every hand-over of random runs, with fixed T.",
        expected: "Always T to 2T, and 2T if a follower leaves last. Up to 15 % may lie between, where a follower left \
                       less than T before the captain. As printed it stops before there is much to see.",
        expects: &[("printed", BY_CHANCE), ("printed with g1 to g10", HOLDS), ("repaired", HOLDS)],
        measure: order::sync_delay,
    },
    Claim {
        id: "S4-12",
        says: "Who asks for the open session while nobody wants another one need not wait for anybody to leave.",
        demands: &[none(sharing::LATE), needs(sharing::ASKED, 1.0)],
        how: "Only one session is asked for; waits of those whose request arrived while it was open.",
        expected: "At most 2T, for request and start. As printed it fails: the idle token forgets its session (G3).",
        expects: &[
            ("printed", FAILS),
            ("printed with all but g3", FAILS),
            ("printed with g1 to g10", HOLDS),
            ("repaired", HOLDS),
        ],
        measure: sharing::occupancy,
    },
    Claim {
        id: "S4-13",
        says: "At equal priority requests are served in the order of their arrival.",
        demands: &[none(order::PASSED), needs(order::ENTRIES, 1.0)],
        how: "Entries that pass a request of another session that was asked for earlier; one level.",
        expected: "None pass one that was asked for more than 2T earlier, if each has its own session; as printed G1 \
                       lets some in out of order.",
        expects: &[("printed", FAILS), ("printed with g1 to g10", HOLDS), ("repaired", HOLDS)],
        measure: order::first_come,
    },
    Claim {
        id: "S4-14",
        says: "No two sessions are open at once.",
        demands: &[none(safety::TWO_SESSIONS), needs(safety::ENTRIES, 1.0)],
        how: "Watched at every event of random runs.",
        expected: "Broken as printed, by two processes that both believe to have the token (G1); never when repaired.",
        expects: &[
            ("printed", FAILS),
            ("printed with all but g1", FAILS),
            ("printed with all but g3", FAILS),
            ("printed with g1 to g10", HOLDS),
            ("repaired", HOLDS),
        ],
        measure: safety::one_session,
    },
    Claim {
        id: "S4-15",
        says: "Nobody starves: a session may be joined only while no other one is wanted.",
        demands: &[none(sharing::STUCK), needs(sharing::ENTRIES, 1.0)],
        how: "Heavy load on three sessions, against coordinators and reverse-link with and without joins; sessions \
                  chosen anew each time, or one for each process.",
        expected: "Nobody is stuck, and the longest wait is shorter than where everybody may join; throughput and \
                       concurrency are lower.",
        expects: &[("printed", FAILS), ("printed with g1 to g10", HOLDS), ("repaired", HOLDS)],
        measure: sharing::entry_rule,
    },
    Claim {
        id: "S4-16",
        says: "Requests of higher priority are favoured.",
        demands: &[positive(order::LOW_TO_MIDDLE), positive(order::MIDDLE_TO_HIGH)],
        how: "Mean wait per level under heavy load, a session each.",
        expected: "Falls with the level; aging lets some pass more urgent ones, more than without.",
        expects: &[("printed", UNKNOWN), ("printed with g1 to g10", HOLDS), ("repaired", HOLDS)],
        measure: order::levels,
    },
];
