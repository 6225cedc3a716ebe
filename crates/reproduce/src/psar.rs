//! The claims of the report on mutual exclusion by flooding.

mod faults;
mod figures;
mod kit;
mod laws;
mod load;
mod order;
mod radio;
mod sweep;

use meshlock_sim::scenario::Name;

use crate::claim::Claim;
use crate::verdict::{BY_CHANCE, FAILS, HOLDS, UNKNOWN, at_least, at_most, between, needs, none};

/// The report's own protocol.
const FLOOD: Name = Name::Flood;

pub const CLAIMS: &[Claim] = &[
    Claim {
        id: "P-1",
        says: "An entry costs 3(N-1) messages with Lamport's algorithm and N with Ricart and Agrawala's. (And at most N \
                   with Singhal's when many ask, which is not measured here.)",
        demands: &[none(laws::OFF_CLAIM)],
        how: "Messages per entry of the baselines on a complete graph, at light and at heavy load.",
        expected: "3(N-1) for Lamport, 2(N-1) for Ricart and Agrawala (N is their later algorithm with a token), N or \
                       0 for Suzuki and Kasami.",
        expects: &[("lamport", HOLDS), ("ricart-agrawala", FAILS)],
        measure: laws::message_laws,
    },
    Claim {
        id: "P-2",
        says: "Every node repeats a request once.",
        demands: &[at_most(laws::REPETITIONS, 1.0)],
        how: "Transmissions of one request on a row of five; then per request of a node that does not have the token.",
        expected: "Without bound as printed, because the algorithm forgets what it repeated (F1); else N-1 (the holder \
                       is silent) to N.",
        expects: &[("printed", FAILS), ("printed with f1", HOLDS), ("repaired", HOLDS)],
        measure: laws::request_flood,
    },
    Claim {
        id: "P-3",
        says: "The token travels by the same flooding, so an entry costs at most 2(N-1) transmissions, and none for the \
                   holder.",
        demands: &[at_most(laws::BY_LAW, 1.0), none(laws::HOLDER)],
        how: "Transmissions per entry on an idle network of 100 nodes.",
        expected: "At most 2(N-1) = 198 (within 1 %), and 0 if the holder enters again; to the letter floods never end \
                       (F1). A protocol with routes needs a fraction.",
        expects: &[("printed", UNKNOWN), ("printed with f1 to f7", HOLDS), ("repaired", HOLDS)],
        measure: laws::transmissions_per_entry,
    },
    Claim {
        id: "P-4",
        says: "Only one node at a time is inside.",
        demands: &[none(faults::TWO_INSIDE), none(faults::TWO_TOKENS), needs(faults::ENTRIES, 1.0)],
        how: "The rules exclusion and one-token, watched on a busy radio network.",
        expected: "Broken as printed, because every copy of a token is accepted (F3); never with transfers that are \
                       numbered.",
        expects: &[
            ("printed", FAILS),
            ("printed with f1", FAILS),
            ("printed with all but f3", FAILS),
            ("printed with all but f4", HOLDS),
            ("printed with f1 to f7", HOLDS),
            ("repaired", HOLDS),
        ],
        measure: faults::one_inside,
    },
    Claim {
        id: "P-5",
        says: "Whoever asks is served.",
        demands: &[none(faults::STUCK_STILL), none(faults::STUCK_MOVING)],
        how: "Requests that still wait after a long drain, on static and on moving networks.",
        expected: "More than none as printed (F2, F6, F7), and with all switches on a moving network (F8); none when \
                       requests are remembered and repeated.",
        expects: &[
            ("printed", FAILS),
            ("printed with f1", FAILS),
            ("printed with f1 to f7", FAILS),
            ("repaired", HOLDS),
        ],
        measure: faults::nobody_stuck,
    },
    Claim {
        id: "P-6",
        says: "Requests are served first in, first out, as they arrive at the holder.",
        demands: &[none(order::AGAINST_ARRIVAL), needs(order::SERVED, 1.0)],
        how: "The order of service against the order of arrival at the holder and against the order of asking.",
        expected: "Exactly the order of arrival at the holder, which is not the order of asking, as soon as floods end \
                       (F1). The repaired flood goes around instead, and has no such order.",
        expects: &[
            ("printed", UNKNOWN),
            ("printed with f1, f2", HOLDS),
            ("printed with f1 to f7", HOLDS),
            ("repaired", UNKNOWN),
        ],
        measure: order::first_in_first_out,
    },
    Claim {
        id: "P-7",
        says: "The scenario: 100 nodes that all ask, 120 m, 1 Mb/s, 300 us, 200 bytes, 0 to 1 s between sendings, \
                   linear random movement, no contention.",
        demands: &[],
        how: "A scenario with these values; the time per hop on a quiet row.",
        expected: "1.6 ms + 0.3 ms = 1.9 ms per hop.",
        expects: &[],
        measure: radio::scenario,
    },
    Claim {
        id: "P-8",
        says: "Figure 3: the time to enter over the number of nodes.",
        demands: &[],
        how: "10 to 100 nodes, at fixed density and at fixed area, beside baselines.",
        expected: "The report has no numbers. 2 x hops x 1.9 ms when idle (within a quarter); n-1 hand-overs and stays \
                       when saturated (within a tenth), a hand-over taking fewer hops than nodes are apart.",
        expects: &[],
        measure: figures::over_nodes,
    },
    Claim {
        id: "P-9",
        says: "Figure 4: speed has little influence on the time to enter.",
        demands: &[between(figures::CHANGE, -0.5, 0.5), none(figures::STUCK)],
        how: "0 to 20 m/s, with the slope of the wait over speed within each seed. Little means: less than half from 0 to \
                  20 m/s, and nobody stuck.",
        expected: "The report has no numbers. Little influence once requests are repeated; as printed some are stuck.",
        expects: &[("printed", UNKNOWN), ("printed with f1 to f7", BY_CHANCE), ("repaired", HOLDS)],
        measure: figures::over_speed,
    },
    Claim {
        id: "P-10",
        says: "An entry costs few messages at low and medium load.",
        demands: &[at_most(load::PER_NODE, 1.0)],
        how: "Transmissions per entry over think time. Few means: not more than one per node.",
        expected: "Not few: about 2(N-1) at every load, unless the holder enters again.",
        expects: &[("printed", UNKNOWN), ("printed with f1 to f7", FAILS), ("repaired", FAILS)],
        measure: load::over_load,
    },
    Claim {
        id: "P-11",
        says: "The network is always connected.",
        demands: &[at_least(radio::CONNECTED, 1.0)],
        how: "The share of random placements that are in one part, and the mean degree.",
        expected: "For 100 nodes 0.99 at a side of 500 m, 0.92 at 600, 0.69 at 700, 0.25 at 800; for fewer nodes less.",
        expects: &[
            ("100 nodes in 500 m x 500 m", FAILS),
            ("100 nodes in 600 m x 600 m", FAILS),
            ("100 nodes in 700 m x 700 m", FAILS),
            ("100 nodes in 800 m x 800 m", FAILS),
        ],
        measure: radio::connected,
    },
    Claim {
        id: "P-12",
        says: "The channel carries it.",
        demands: &[at_most(radio::CHANNEL, 1.0)],
        how: "The airtime of all transmissions per second, in all and around one node.",
        expected: "2(N-1) transmissions of 1.6 ms per entry: tens of seconds per second at the report's load, more \
                       than one channel carries around any node.",
        expects: &[("printed", UNKNOWN), ("printed with f1 to f7", FAILS), ("repaired", FAILS)],
        measure: radio::airtime,
    },
    Claim {
        id: "P-13",
        says: "Nothing is said of lost tokens and of partitions. (Here: they do no harm.)",
        demands: &[none(faults::DEADLOCKS)],
        how: "Receptions that fail, and links that are cut and joined.",
        expected: "A deadlock after the first lost flood of the token, with F1 to F7 repaired; none for the repaired \
                       protocols. To the letter floods never end.",
        expects: &[("printed", UNKNOWN), ("printed with f1 to f7", FAILS), ("repaired", HOLDS)],
        measure: faults::loss,
    },
];
