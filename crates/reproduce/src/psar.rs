//! The claims of the report on mutual exclusion by flooding.

mod faults;
mod figures;
mod kit;
mod laws;
mod load;
mod order;
mod radio;
mod sweep;

use meshlock_sim::scenario::ProtocolName;

use crate::claim::Claim;

/// The report's own protocol.
const FLOOD: ProtocolName = ProtocolName::Flood;

/// All of them, in order.
pub fn claims() -> Vec<Claim> {
    vec![
        Claim {
            id: "P-1",
            says: "An entry costs 3(N-1) messages with Lamport's algorithm, N with Ricart and Agrawala's, and at most N \
                   with Singhal's when many ask.",
            how: "Messages per entry of the baselines on a complete graph, at light and at heavy load.",
            expected: "3(N-1) for Lamport, 2(N-1) for Ricart and Agrawala (N is their later algorithm with a token), N or \
                       0 for Suzuki and Kasami.",
            measure: laws::message_laws,
        },
        Claim {
            id: "P-2",
            says: "Every node repeats a request once.",
            how: "Transmissions per request of a node that does not have the token.",
            expected: "N-1 (the holder is silent) to N; without bound as printed, because the algorithm forgets what it \
                       repeated (F1).",
            measure: laws::request_flood,
        },
        Claim {
            id: "P-3",
            says: "The token travels by the same flooding.",
            how: "Transmissions per entry on an idle network of 100 nodes.",
            expected: "At most 2(N-1) = 198, and 0 if the holder enters again; a protocol with routes needs a fraction.",
            measure: laws::transmissions_per_entry,
        },
        Claim {
            id: "P-4",
            says: "Only one node at a time is inside.",
            how: "The rules exclusion and one-token, watched on a busy radio network.",
            expected: "Broken as printed, because every copy of a token is accepted (F3); never with transfers that are \
                       numbered.",
            measure: faults::one_inside,
        },
        Claim {
            id: "P-5",
            says: "Whoever asks is served.",
            how: "Requests that still wait after a long drain, on static and on moving networks.",
            expected: "More than none as printed (F2, F6, F7), and with all switches on a moving network (F8); none when \
                       requests are remembered and repeated.",
            measure: faults::nobody_stuck,
        },
        Claim {
            id: "P-6",
            says: "Requests are served first in, first out, as they arrive at the holder.",
            how: "The order of service against the order of arrival at the holder and against the order of asking.",
            expected: "Exactly the order of arrival at the holder, which is not the order of asking.",
            measure: order::first_in_first_out,
        },
        Claim {
            id: "P-7",
            says: "The scenario: 100 nodes that all ask, 120 m, 1 Mb/s, 300 us, 200 bytes, 0 to 1 s between sendings, \
                   linear random movement, no contention.",
            how: "A scenario with these values; the time per hop on a quiet row.",
            expected: "1.6 ms + 0.3 ms = 1.9 ms per hop.",
            measure: radio::scenario,
        },
        Claim {
            id: "P-8",
            says: "Figure 3: the time to enter over the number of nodes.",
            how: "10 to 100 nodes, at fixed density and at fixed area, beside baselines.",
            expected: "The report has no numbers. 2 x hops x 1.9 ms when idle, about (n-1) x hops x 1.9 ms when saturated.",
            measure: figures::over_nodes,
        },
        Claim {
            id: "P-9",
            says: "Figure 4: speed has little influence on the time to enter.",
            how: "0 to 20 m/s, with the slope of the wait over speed.",
            expected: "The report has no numbers. Little influence once requests are repeated.",
            measure: figures::over_speed,
        },
        Claim {
            id: "P-10",
            says: "An entry costs few messages at low and medium load.",
            how: "Transmissions per entry over think time.",
            expected: "Not few: about 2(N-1) at every load, unless the holder enters again.",
            measure: load::over_load,
        },
        Claim {
            id: "P-11",
            says: "The network is always connected.",
            how: "The share of random placements that are in one part, and the mean degree.",
            expected: "For 100 nodes 0.99 at a side of 500 m, 0.92 at 600, 0.69 at 700, 0.25 at 800; for fewer nodes less.",
            measure: radio::connected,
        },
        Claim {
            id: "P-12",
            says: "The channel carries it.",
            how: "The airtime of all transmissions per second, in all and around one node.",
            expected: "2(N-1) transmissions of 1.6 ms per entry: tens of seconds per second at the report's load, more \
                       than one channel carries around any node.",
            measure: radio::airtime,
        },
        Claim {
            id: "P-13",
            says: "Nothing is said of lost tokens and of partitions.",
            how: "Receptions that fail, and links that are cut and joined.",
            expected: "A deadlock after the first lost flood of the token as printed; none for the repaired protocols.",
            measure: faults::loss,
        },
    ]
}
