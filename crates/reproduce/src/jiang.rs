//! J-1 to J-16: what Jiang's paper on prioritized h-out-of-k says, and what comes out.
//!
//! | file | claims |
//! |---|---|
//! | `jiang/safety.rs` | J-1, J-2, J-3: units, special cases, the token |
//! | `jiang/order.rs` | J-4, J-12: who comes first |
//! | `jiang/waiting.rs` | J-5, J-7: nobody waits for ever |
//! | `jiang/aging.rs` | J-6: what aging adds |
//! | `jiang/concurrency.rs` | J-8, J-13, J-15: how well units are used |
//! | `jiang/links.rs` | J-9, J-10, J-16: links that change |
//! | `jiang/wires.rs` | J-11: networks that do not move |
//! | `jiang/messages.rs`, `jiang/family.rs` | J-14: messages, also in the set-up of the paper it builds on |
//!
//! The others have the scenarios (`setup`), what the requests of a finished run tell (`after`), what is seen while a
//! run goes on (`watching`), and tables and figures (`show`).

mod after;
mod aging;
mod concurrency;
mod family;
mod links;
mod messages;
mod order;
mod safety;
mod setup;
mod show;
mod waiting;
mod watching;
mod wires;

use crate::claim::Claim;
use crate::lab::Lab;

/// How many runs of a scenario, and how long, in critical sections.
fn size(lab: &Lab) -> (u64, f64) {
    lab.choose((4, 300.0), (10, 1_500.0), (30, 4_000.0))
}

/// All of them, in order.
pub fn claims() -> Vec<Claim> {
    vec![
        Claim {
            id: "J-1",
            says: "Never are more than k units in use.",
            how: "k from 1 to 8, h from 1 to k, fixed and changing links; checked at every event and again from \
                all grants.",
            expected: "No violation, in the printed text either, while k is reached in every run.",
            measure: safety::units_in_use,
        },
        Claim {
            id: "J-2",
            says: "With h = 1 it is k-mutual exclusion, with h = k = 1 mutual exclusion.",
            how: "The same program in three modes under high load; the most that were inside at once.",
            expected: "Exactly k inside at once, and exactly 1.",
            measure: safety::special_cases,
        },
        Claim {
            id: "J-3",
            says: "There is one token. Its t starts at k and stays between 0 and k.",
            how: "Tokens held and on their way are counted after every event; t, units in use and units on their \
                way back are added up in regular looks at the whole network.",
            expected: "Always one token. The sum is k on fixed links; as printed a unit can be lost where links \
                change (p11), repaired never.",
            measure: safety::one_token,
        },
        Claim {
            id: "J-4",
            says: "The highest priority is served first.",
            how: "Entries that pass a more urgent request (a) the granter knows, (b) made so long before that a \
                message could have crossed the network, (c) at all; strict priority.",
            expected: "(a) 0. (b) below 0.01 when repaired; more as printed, where urgent requests are not \
                reported on every way. (c) more than 0, about 0.12 (h = 1): nobody knows everything at once.",
            measure: order::most_urgent_first,
        },
        Claim {
            id: "J-5",
            says: "Every request is served in bounded time.",
            how: "Twelve nodes in a closed loop; who waits 200 critical sections after the last request was made \
                is stuck. And the longest wait at low priority under an overload at high priority.",
            expected: "As printed requests are lost for ever, also on fixed links (p1). Repaired: nobody is \
                stuck; under overload waits are bounded only with aging.",
            measure: waiting::bounded_delay,
        },
        Claim {
            id: "J-6",
            says: "Aging adds epsilon to every queued request whenever the token is passed on and whenever a \
                node leaves.",
            how: "Priorities in the queue in the middle of a star, over the passes of the token; then what aging \
                costs on the random graph.",
            expected: "A slope of exactly epsilon. But the request of the waiting holder does not age, so the \
                token is taken to and fro: with a large epsilon more than three times the messages. Repaired, \
                aging costs no messages.",
            measure: aging::adds_epsilon,
        },
        Claim {
            id: "J-7",
            says: "Aging bridges any gap between priorities in the end.",
            how: "Eleven nodes ask without rest at a high priority, one asks once at a low one; how many later \
                requests are served before it.",
            expected: "Repaired: at most gap x D, and one for each other node that has not heard of it. Without \
                aging: all of them.",
            measure: waiting::gap_is_bridged,
        },
        Claim {
            id: "J-8",
            says: "The token moves on while its former holder is inside, so that all units can be used.",
            how: "The share of the time in which a request waits that would fit; k = 3, h = 1, think 10.",
            expected: "About 0.85 with the printed guard at REQUEST (p3), 0.41 to 0.45 repaired, 0 for an \
                omniscient scheduler.",
            measure: concurrency::token_moves_on,
        },
        Claim {
            id: "J-9",
            says: "When links stop changing, all ways down end at the token.",
            how: "Twenty changes per unit, then none; the network comes to rest, and every node but the holder \
                is asked for a lower neighbour.",
            expected: "True in every run, after at most n a + n squared reversals, where a is the spread of \
                levels when changes stop; then nothing is sent any more.",
            measure: links::token_oriented,
        },
        Claim {
            id: "J-10",
            says: "A change of links is repaired locally.",
            how: "Messages per entry with 0, 0.2 and 1 changes per unit, on the same requests.",
            expected: "About 1 message per entry more at 0.2 changes per unit (0.4 to 2.5), about 4 more at 1 (3 \
                to 8).",
            measure: links::local_repair,
        },
        Claim {
            id: "J-11",
            says: "It works unchanged on wired networks, where two of the assumptions may be dropped.",
            how: "Six fixed networks; then links that do not keep the order of messages.",
            expected: "As printed some are lost (p1). With that repaired all are served as long as links keep \
                the order, and runs fail if they do not: order is one of the two assumptions named, and cannot \
                be dropped.",
            measure: wires::wired_networks,
        },
        Claim {
            id: "J-12",
            says: "With equal priorities it is the same without priorities.",
            how: "Entries that pass a request made before; and whether claims that stay in a queue change places.",
            expected: "First come, first served in every queue, but not in the network as a whole.",
            measure: order::equal_priorities,
        },
        Claim {
            id: "J-13",
            says: "A shared whiteboard with k = 3 pens: one for a member, all three for the moderator.",
            how: "Nine of ten requests for one, one of ten for all three, equal priorities.",
            expected: "As printed some are lost (p1). Repaired, those who want all three are served too; \
                meanwhile units stay idle for them, more than an omniscient scheduler would leave idle.",
            measure: concurrency::whiteboard,
        },
        Claim {
            id: "J-14",
            says: "Nothing is said of the number of messages.",
            how: "Messages and transmissions per entry by kind, at light and heavy load, on wires and on a \
                radio; ours beside the printed ones on the same runs; and the set-up of the paper it builds on.",
            expected: "Light load: REQUEST and TOKEN 2.0 to 2.4 each (1.7 to 2.7), LINK 8.4 to 9.2 (7 to 10.5), \
                in all 13 to 15 (12 to 16). LINK is about half or more at every load, one per neighbour and \
                pass.",
            measure: messages::per_entry,
        },
        Claim {
            id: "J-15",
            says: "In a later paper: if small amounts go first, most are inside at once.",
            how: "Amounts 1, 2 and 3 of 3 under overload; small first, first come, large first.",
            expected: "Most grants at once for small first, fewest for large first; units in use the other way \
                round. Who wants all of them starves, unless requests age.",
            measure: concurrency::priority_by_amount,
        },
        Claim {
            id: "J-16",
            says: "Networks are never parted.",
            how: "The link between two rings is cut while nobody asks.",
            expected: "As printed the part without the token never falls silent (p12). Repaired, nothing is \
                sent, and all are served when the link is back.",
            measure: links::partition,
        },
    ]
}
